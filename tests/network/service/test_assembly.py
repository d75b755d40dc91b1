"""A moot goes from one roster to the next while motions are under way, nodes crash and members lie."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from msgspec.structs import replace

from folkmoot.network.service.assembly import GRACE
from folkmoot.network.storage.records import TrackRecords
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.statements import Consent
from folkmoot.network.wire.succession import Succession
from folkmoot.node.membership.roster import Roster
from folkmoot.node.transports.memory import Weather
from folkmoot.node.wire.batch import Batch
from support.network.epochs import key_of, signatures
from support.network.moot_in_memory import InMemory
from support.network.moot_of_epochs import MootOfEpochs, address, joined, left, renewed
from support.network.mutated import mutated

NAMES = ["anna", "bert", "cleo", "dora", "emil", "fred", "gina"]
VOTES = {name: np.tile(np.array([0, 1], np.int8), 10) for name in [*NAMES, "hugo", "iris"]}


def moot(seed: int = 1, weather: Weather | None = None) -> MootOfEpochs:
    return MootOfEpochs(NAMES, ["hugo", "iris", "anna 1"], VOTES, seed, weather=weather)


def decided(hall: MootOfEpochs, who: list[str], motions: int) -> None:
    """All of these have ended so many motions, and decided everything as all had voted."""
    for each in who:
        stored = hall.storages[each].motions()
        assert len(stored) == motions, each
    assert len(hall.over) == motions
    for session, _ in hall.over.values():
        assert session.verdict().decisions.tolist() == VOTES["anna"].tolist()


Change = Callable[[Roster], Succession]


def agree_to(hall: MootOfEpochs, proposer: str, change: Change, signers: list[str], at: float) -> None:
    hall.network.at(at, partial(hall.propose, proposer, change))
    for i, who in enumerate(signers):
        hall.network.at(at + 0.5 + 0.1 * i, partial(hall.sign_what_is_proposed, who))


def test_a_member_joins_in_the_middle_of_a_motion_and_takes_part_in_the_next() -> None:
    hall = moot(weather=Weather(delay=0.005))
    hall.put("bert", at=0.9, pace=0.2)  # under way when the roster changes
    agree_to(hall, "anna", joined("hugo"), ["bert", "cleo", "dora", "emil"], 0.5)
    hall.network.run(4.0)
    assert {hall.tip(who).epoch for who in NAMES} == {1}
    (old,) = {hall.tip(who).digest for who in NAMES}
    assert all(len(hall.nodes[who].halls) == 2 for who in NAMES)
    assert hall.nodes["anna"].access_of(1)[2] == (1, 20)  # what bert put before counts for it today
    hall.start("hugo", hall.tip("anna"))
    hall.put("hugo", at=5.0)
    hall.put("cleo", at=5.1)
    hall.network.run(30.0)
    decided(hall, NAMES, 3)
    moots = sorted((s.motion.created, len(s.seat.keys)) for s, _ in hall.over.values())
    assert [n for _, n in moots] == [7, 8, 8]
    assert {s.motion.moot.hex() for s, _ in hall.over.values()} == {hall.root.digest, old}
    assert len(hall.storages["hugo"].motions()) == 2  # not the one from before its time
    hall.network.run(30.0 + 2 * GRACE)
    assert all(len(node.halls) == 1 for node in hall.nodes.values())  # the old roster is not needed any more


def test_a_member_that_leaves_ends_what_was_under_way_and_cannot_ask_any_more() -> None:
    hall = moot()
    hall.put("gina", at=1.0, pace=0.2)
    agree_to(hall, "anna", left("gina"), ["bert", "cleo", "dora", "emil"], 0.5)
    hall.network.run(2.5)
    gina = hall.nodes["gina"]
    assert gina.chronicle.tip.epoch == 1
    assert not gina.present
    assert gina.open_motions == 1
    assert hall.logs["gina"].getvalue().count('"event":"not in the roster in force"') == 1
    assert hall.logs["anna"].getvalue().count('"event":"roster in force"') == 1
    hall.network.run(12.0)
    decided(hall, NAMES, 1)
    with pytest.raises(ValueError, match=r"this node is not in the roster in force \(epoch 1\)"):
        gina.propose(None, None, None)  # type: ignore[arg-type]
    hall.put("anna", at=13.0)
    hall.network.run(30.0)
    assert len(hall.storages["gina"].motions()) == 1
    assert len(hall.over) == 2


def test_a_key_is_rotated_and_the_record_stays() -> None:
    hall = moot()
    agree_to(hall, "anna", renewed("anna 1"), ["bert", "cleo", "dora", "emil"], 0.5)
    hall.put("bert", at=1.0)
    hall.network.run(15.0)
    decided(hall, NAMES, 1)
    hall.crash("anna")
    hall.start("anna 1", hall.tip("bert"))
    hall.put("anna 1", at=16.0)
    hall.network.run(40.0)
    assert len(hall.over) == 2
    assert len(hall.storages["anna 1"].motions()) == 1
    node = hall.nodes["bert"]
    for stored in node.storage.motions():
        node.storage.tell(stored.name, {0: "a"})
    records = TrackRecords(node.storage).read()
    assert records[address("anna 1").hex()].voted == 2
    assert address("anna").hex() not in records


def test_a_node_that_was_away_is_told_all_that_it_missed() -> None:
    hall = moot(weather=Weather(delay=0.01, drop=0.1))
    hall.crash("gina")
    agree_to(hall, "anna", joined("hugo"), ["bert", "cleo", "dora", "emil"], 0.5)
    agree_to(hall, "bert", joined("iris"), ["anna", "cleo", "dora", "emil", "fred"], 10.0)
    hall.network.run(60.0)
    assert {hall.tip(who).epoch for who in NAMES[:-1]} == {2}
    hall.start("gina")
    hall.network.run(80.0)
    assert hall.tip("gina") == hall.tip("anna")


def test_a_proposal_survives_the_crash_of_everybody_who_signed_it() -> None:
    hall = moot()
    agree_to(hall, "anna", joined("hugo"), ["bert", "cleo"], 0.5)
    hall.network.run(5.0)
    for who in NAMES:
        hall.crash(who)
    for who in NAMES:
        hall.start(who)
    agree_to(hall, "anna", left("gina"), ["dora", "emil"], 6.0)  # anna has signed: it proposes nothing else
    hall.network.run(20.0)
    assert {tuple(m.name for m in hall.tip(who)) for who in NAMES} == {(*NAMES, "hugo")}


def test_two_proposals_that_split_the_signatures_change_nothing_and_motions_go_on() -> None:
    hall = moot()
    agree_to(hall, "anna", joined("hugo"), [], 0.5)
    agree_to(hall, "bert", left("gina"), [], 0.5)

    def sign(who: str, which: int) -> None:
        hall.sign(who, hall.nodes[who].chronicle.proposals[which].succession)

    for who, which in zip(NAMES[2:], [0, 1, 0, 1, 0], strict=True):
        hall.network.at(3.0, partial(sign, who, which))
    hall.put("cleo", at=4.0)
    hall.network.run(60.0)
    assert {hall.tip(who).epoch for who in NAMES} == {0}
    assert all(len(hall.nodes[who].chronicle.proposals) == 2 for who in NAMES)
    assert {sum(len(p.signatures) for p in hall.nodes[who].chronicle.proposals) for who in NAMES} == {7}
    decided(hall, NAMES, 1)


# ---- messages about rosters that are not as they should be -----------------------------------


def told(
    hall: MootOfEpochs, message: m.Message, *, by: str = "gina", to: str = "bert", times: int = 1
) -> None:
    """A member says something about rosters, so many times."""
    for _ in range(times):
        hall.network.of(address(by)).send(address(to), m.encode(message))
    hall.network.run(hall.network.time + 0.01)


def successor(hall: MootOfEpochs, change: Change, *signers: str) -> m.Successor:
    made = change(hall.root)
    signed = signatures(made, hall.root, signers)
    return m.Successor(bytes.fromhex(hall.root.digest), made.content, tuple(signed.items()))


def test_forged_signatures_and_changed_contents_are_counted_and_forgotten() -> None:
    hall = moot()
    bert, right = hall.nodes["bert"], successor(hall, joined("hugo"), "gina")
    ((place, signature),) = right.signatures
    for wrong in (
        replace(right, signatures=((0, signature),)),  # in another's name
        replace(right, signatures=((place, bytes(64)),)),
        replace(right, content=right.content[:-2] + b"xx"),
    ):
        before = bert.counts["refused_forged_roster"]
        told(hall, wrong)
        assert bert.counts["refused_forged_roster"] == before + 1
    told(hall, replace(right, signatures=((99, signature), (1 << 30, signature))))  # no such places
    told(hall, replace(right, signatures=()))
    assert bert.chronicle.proposals == []
    told(hall, right)
    assert len(bert.chronicle.proposals) == 1


def test_what_a_member_has_signed_is_read_only_if_it_is_a_roster_and_short() -> None:
    hall = moot()
    bert, previous = hall.nodes["bert"], bytes.fromhex(hall.root.digest)
    for content in (b"", b"\xc1", bytes(200), joined("hugo")(hall.root).content + bytes(1_000_000)):
        consent = Consent(previous, 6, hashlib.sha256(content).digest(), bytes(64))
        signature = key_of("gina").sign(statements.succeeds(consent))
        before = bert.counts["refused_forged_roster"]
        told(hall, m.Successor(previous, content, ((6, signature),)))
        assert bert.counts["refused_forged_roster"] == before + 1
    assert bert.chronicle.proposals == []


def test_a_successor_of_a_replaced_roster_is_late_and_one_of_an_unknown_roster_asks_back() -> None:
    hall = moot()
    for who in NAMES[:5]:
        hall.sign(who, joined("hugo")(hall.root))
    hall.network.run(1.0)
    bert = hall.nodes["bert"]
    assert bert.chronicle.tip.epoch == 1
    told(hall, successor(hall, left("gina"), *NAMES))
    assert bert.counts["refused_old_roster"] == 1
    assert bert.chronicle.tip.epoch == 1
    strange = replace(successor(hall, left("gina"), *NAMES), previous=bytes(32))
    sent = bert.counts["frames_sent"]
    told(hall, strange)
    assert bert.counts["frames_sent"] == sent + 1
    told(hall, m.Held((bytes(32),), ()))
    assert bert.counts["refused_another_roster"] == 1


def test_floods_about_rosters_run_into_a_budget() -> None:
    hall = moot()
    bert = hall.nodes["bert"]
    told(hall, m.Held((bytes.fromhex(hall.root.digest),), ()), times=100)
    assert bert.counts["refused_too_often"] == 40
    told(hall, replace(successor(hall, joined("hugo"), "gina"), signatures=((0, bytes(64)),)), times=400)
    assert bert.counts["refused_too_often"] == 140
    hall.network.of(address("gina")).send(address("bert"), b"\x93\x10\x90")
    hall.network.of(address("gina")).send(address("bert"), b"\xdc\x00\x03\x10\x90\x90")  # not told by its tag
    hall.network.run(hall.network.time + 0.01)
    assert bert.counts["refused_malformed"] == 2
    hall.put("anna", at=hall.network.time)
    hall.network.run(hall.network.time + 12.0)
    decided(hall, NAMES, 1)


def test_who_signs_two_is_accused_by_all_and_no_third_is_kept() -> None:
    hall = moot()
    for change in (joined("hugo"), joined("iris"), left("anna")):
        told(hall, successor(hall, change, "gina"))
    hall.network.run(20.0)
    for who in NAMES[:-1]:
        assert hall.nodes[who].accused() == ["gina"]
        assert len(hall.nodes[who].chronicle.proposals) == 2
        assert hall.nodes[who].counts["evidence"] == 1


def test_motions_under_a_roster_that_was_replaced_long_ago_are_not_begun() -> None:
    hall = moot()
    hall.put("cleo", at=0.5, seconds=GRACE + 20.0, pace=7.0)  # keeps the old roster alive
    for who in NAMES[:5]:
        hall.network.at(1.0, partial(hall.sign, who, joined("hugo")(hall.root)))
    hall.network.run(2.0)
    assert hall.tip("bert").epoch == 1
    old = hall.nodes["gina"].halls[1]
    assert old.roster == hall.root
    batch = InMemory(list(Batch(np.arange(20, dtype="<i4")[:, None]).chunks()))
    session = old.node.sessions()[0]
    hall.network.run(GRACE - 5.0)
    motion = replace(session.motion, asker=6, nonce=bytes(16), created=1e9 + hall.network.time, seconds=9.0)
    old.node.propose(motion, batch, lambda *_: None)  # of one that does not know better: it is played
    hall.network.run(GRACE - 4.0)
    assert len(hall.storages["bert"].motions()) == 2
    hall.network.run(GRACE + 6.0)
    later = replace(motion, nonce=bytes([1] * 16), created=1e9 + hall.network.time)
    old.node.propose(later, batch, lambda *_: None)
    hall.network.run(GRACE + 7.0)
    assert len(hall.storages["bert"].motions()) == 2
    assert hall.nodes["bert"].counts["refused_old_roster"] >= 1


def test_mutated_frames_about_rosters_change_nothing() -> None:
    """Real ones of a proposal under way, so that many get past the decoder."""
    hall, rng = moot(), random.Random(4)
    real = successor(hall, joined("hugo"), *NAMES[2:6])  # one signature short
    pool = [
        m.encode(each)
        for each in (
            real,
            m.Held((real.previous, bytes(32)), ((hashlib.sha256(real.content).digest(), b"\x3c"),)),
        )
    ]
    bert = hall.nodes["bert"]
    for number in range(4000):
        bert.received(address("gina"), mutated(rng, pool[number % 2], pool))
        if number % 100 == 99:
            hall.network.run(hall.network.time + 20.0)  # the budget comes back
    counts = bert.counts
    assert min(counts[f"refused_{why}"] for why in ("malformed", "forged_roster", "another_roster")) > 50
    assert counts["refused_too_often"] < 2000
    assert {hall.tip(who).epoch for who in NAMES} == {0}
    assert all(set(p.signatures) <= {2, 3, 4, 5} for p in bert.chronicle.proposals)
    assert all(hall.nodes[who].accused() == [] for who in NAMES)
    hall.sign("anna", joined("hugo")(hall.root))
    told(hall, real)
    hall.network.run(hall.network.time + 5.0)
    assert {hall.tip(who).epoch for who in NAMES} == {1}

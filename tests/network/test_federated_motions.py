"""Federated motions among nodes in memory: who decides, who refuses, what a restart and liars change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from folkmoot.adversaries import Adversary, ConstantColour, Equivocating, Silent
from folkmoot.federated import QuorumSet, QuorumSystem
from folkmoot.network.service.admission import NO_QUORUM_SET
from folkmoot.network.service.holdout import Holdout
from folkmoot.network.storage.account import Account, account, account_of
from folkmoot.network.transports.memory import Weather
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.ballots import form_of, unpack_statement
from support.network.federated_moot import FederatedMoot, any_of, name_of
from support.network.federated_storms import OWN, SpeaksWithAnother, TakesBack, TwoFaced, TwoSets, watch


def accounts(moot: FederatedMoot) -> list[Account | None]:
    """What each node has stored of the one motion; None if nothing."""
    found: list[Account | None] = []
    for storage in moot.storages:
        stored = storage.motions()
        found.append(account(storage, stored[0]) if stored else None)
    return found


def played(votes: Any, sets: Any = None, until: float = 60.0, **options: Any) -> FederatedMoot:
    moot = FederatedMoot(np.asarray(votes, dtype=np.int8), 3, sets, **options)
    watch(moot)
    moot.put(0, seconds=20.0)
    moot.network.run(until)
    return moot


VOTES = np.array([[0, 1, 0, -1]] * 3 + [[0, 1, 1, -1]] * 2, dtype=np.int8)


def test_all_decide_what_their_quorum_sets_agree_on() -> None:
    moot = played(VOTES)
    for found in accounts(moot):
        assert found is not None
        assert found.decisions[:2] == ["a", "b"]
        assert found.decisions[2] == "a", "three of five prefer it"
        assert found.decisions[3] is None, "nobody voted on the last"
        assert found.ballots == ["decided", "decided", "decided", "nothing said"]
        assert found.signers[:2] == [5, 5]
        assert found.why_undecided[3] == "no quorum that satisfies this quorum set has accepted a label"
        assert found.quorum_sets["p004"] == "4 of p000, p001, p002, p003, p004"
        assert (found.evidence, found.refused) == ({}, {})
    assert moot.network.time == 60.0
    ((session, summary),) = moot.over.values()
    assert summary["seconds"] < 6.0, "nobody waits for an input on which nobody wants anything"
    assert session.view().ballots == {"decided": 3, "nothing said": 1}
    assert session.view().protocol == "federated"


def test_the_account_of_a_motion_under_way_has_what_is_decided_so_far() -> None:
    """Each node looks with its own set while the motion is open, as it does when it is over."""
    moot = FederatedMoot(VOTES, 3)
    moot.put(0, seconds=20.0)
    seen: set[tuple[str | None, ...]] = set()
    when = 0.0
    while not moot.over:
        when += 0.05
        moot.network.run(when)
        for node, storage in zip(moot.nodes, moot.storages, strict=True):
            for stored in storage.motions():
                if stored.closed is not None or node is None:
                    continue
                session, found = node.session(stored.name), account(storage, stored)
                assert (found.state, session is None) == ("open", False)
                assert session is not None
                own = ["ab"[colour] if colour >= 0 else None for colour in session.verdict().decisions]
                # What others signed is stored a moment later than it is heard.
                assert all(each in (None, now) for each, now in zip(found.decisions, own, strict=True))
                assert not found.decisions[3]
                seen.add(tuple(found.decisions))
    assert ("a", "b", "a", None) in seen
    assert (None,) * 4 in seen


def test_where_quorums_do_not_intersect_two_groups_decide_differently() -> None:
    """Nobody lies: nothing is promised to them, and the analysis says so beforehand."""
    sets = {place: any_of(2, 0, 1) if place < 2 else any_of(2, 2, 3) for place in range(4)}
    system = QuorumSystem({name_of(place): each for place, each in sets.items()})
    assert system.disjoint_quorums() is not None
    assert not system.intact([])
    moot = played([[0], [0], [1], [1]], sets)
    decided = [found.decisions for found in accounts(moot) if found is not None]
    assert decided == [["a"], ["a"], ["b"], ["b"]]
    (stored,) = moot.storages[0].motions()
    held = moot.storages[0].held(stored.name)
    for mine, label in ((any_of(1, 1), "a"), (any_of(1, 3), "b"), (any_of(1, 0, 2), None)):
        assert account_of(stored, held, mine).decisions == [label]
    (why,) = account_of(stored, held, any_of(1, 0, 2)).why_undecided
    assert why == "two labels are accepted: quorums do not intersect, or more lie than this quorum set bears"


def test_a_node_without_a_quorum_set_refuses_and_the_asker_reads_why() -> None:
    sets = dict.fromkeys(range(4), any_of(3, *range(5)))
    moot = played(VOTES, {**sets, 4: None})
    found = accounts(moot)
    assert found[4] is None
    assert found[0] is not None
    assert found[0].refused == {"p004": NO_QUORUM_SET}
    assert found[0].silent == ["p004"]
    assert found[0].late == []
    assert found[0].decisions[:2] == ["a", "b"]


def test_a_node_without_a_quorum_set_cannot_ask() -> None:
    moot = FederatedMoot(VOTES, 3, {0: None})
    node = moot.nodes[0]
    assert node is not None
    with pytest.raises(
        ValueError, match=r"write \[quorum_set\] with threshold and members into its node.toml"
    ):
        node.propose(*moot.motion(), lambda *_: None)


def test_who_is_not_in_a_quorum_decides_nothing_and_hinders_nobody() -> None:
    """The last one trusts two that take no part."""
    sets: dict[int, QuorumSet | None] = dict.fromkeys(range(4), any_of(3, *range(4)))
    stranger = QuorumSet(2, ["p004", "nobody", "no-one"])
    found = accounts(played(VOTES, {**sets, 4: stranger}))
    for place in range(4):
        own = found[place]
        assert own is not None
        assert own.decisions[:2] == ["a", "b"]
    assert found[4] is not None
    assert found[4].decisions == [None] * 4


@pytest.mark.parametrize(("number", "counter"), [(3, 1), (1, 2)])
def test_nodes_that_are_started_again_never_take_back_what_they_said(number: int, counter: int) -> None:
    """All four crash at once, as soon as one has said so much; and all are needed.

    ``watch`` sees every frame. On the last input they want different labels, so that it takes more counters.
    One is started with another quorum set, which is for the next motion.
    """
    votes = np.array([[0, 1, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1]], dtype=np.int8)
    sets = dict.fromkeys(range(4), any_of(4, *range(4)))
    moot = FederatedMoot(votes, 5, sets, weather=Weather(delay=0.05))
    watch(moot)
    moot.put(0, seconds=20.0)
    carry, crashed = moot.network.carry, set[int]()

    def crash() -> None:
        for place in range(4):
            moot.crash(place)
            when = moot.network.time + 0.5 + 0.2 * place
            moot.at(when, lambda place=place: moot.start(place))  # type: ignore[misc]
        moot.quorum_sets[1] = any_of(1, 0)

    def carried(sender: int, peer: int, frame: bytes) -> None:
        carry(sender, peer, frame)
        message = m.decode(frame)
        if isinstance(message, m.Ballot) and message.number >= number and not crashed:
            statement, _ = unpack_statement(message.ballots, message.quorum_set)
            if statement.counter.max() >= counter:
                crashed.add(sender)
                moot.at(moot.network.time, crash)

    moot.network.carry = carried  # type: ignore[method-assign]
    moot.network.run(60.0)
    assert crashed
    found = [each for each in accounts(moot) if each is not None]
    assert len(found) == 4
    decided = [each.decisions for each in found]
    assert all(each == decided[0] for each in decided), "and all of them decide in time"
    assert None not in decided[0]


def test_a_node_that_was_away_until_the_end_learns_what_was_decided() -> None:
    moot = FederatedMoot(VOTES, 7)
    moot.put(0, seconds=10.0)
    moot.at(0.5, lambda: moot.crash(4))
    moot.at(12.0, lambda: moot.start(4))
    moot.network.run(60.0)
    found = accounts(moot)
    assert found[4] is not None
    assert found[4].decisions[:3] == ["a", "b", "a"]


def test_with_trust_a_node_prefers_what_it_believes_among_labels_that_qualify() -> None:
    """Three of seven lie, as two of the others err: all first votes alike would give the wrong label."""
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 60).astype(np.int8)
    votes = np.tile(truth, (7, 1))
    votes[4:] = 1 - truth  # who is always wrong
    votes[3, :20] = 1 - truth[:20]
    sure = Holdout([("a", "a")] * 20 + [("b", "b")] * 20)
    decided = {}
    for trust in (False, True):
        moot = FederatedMoot(votes, 5, holdouts=dict.fromkeys(range(4), sure))
        moot.put(0, seconds=20.0, trust=trust)
        moot.network.run(60.0)
        found = accounts(moot)[0]
        assert found is not None
        decided[trust] = np.array([-1 if each is None else "ab".index(each) for each in found.decisions])
    assert (decided[False][:20] == 1 - truth[:20]).all(), "four of seven say so"
    assert (decided[True][:20] == truth[:20]).mean() > 0.9


def test_lost_frames_are_made_up_for() -> None:
    moot = FederatedMoot(VOTES, 8, weather=Weather(delay=0.01, drop=0.3))
    watch(moot)
    moot.put(0, seconds=20.0)
    moot.network.run(60.0)
    for found in accounts(moot):
        assert found is not None
        assert found.decisions[:3] == ["a", "b", "a"]


@pytest.mark.parametrize("liar", [ConstantColour(1), Equivocating(), Silent()])
def test_liars_of_the_simulation_split_nobody(liar: Adversary) -> None:
    votes = np.zeros((5, 2), dtype=np.int8)
    moot = played(votes, adversaries={2: liar})
    for place, found in enumerate(accounts(moot)):
        assert found is not None
        if place != 2:
            assert found.decisions == ["a"] * 2
            assert set(found.evidence) <= {"p002"}


@pytest.mark.parametrize(
    ("kind", "place", "what"),
    [
        (TwoFaced, 3, "two ballots"),
        (TwoFaced, 2, "two ballots"),  # which numbers them apart
        (TwoSets, 3, "two quorum sets"),
        (SpeaksWithAnother, 3, "two quorum sets"),
        (TakesBack, 3, "two ballots"),
    ],
)
def test_whoever_says_two_things_is_found_out(kind: Any, place: int, what: str) -> None:
    moot = played(np.zeros((5, 2), dtype=np.int8), hostile={place: kind()})
    found = accounts(moot)
    caught = [each.evidence for each in found if each is not None and each.evidence]
    assert len(caught) >= 2
    for evidence in caught:
        assert set(evidence) == {f"p00{place}"}
        # Two ballots with two sets are both.
        assert evidence[f"p00{place}"] in {what, "two ballots"}
    for each, own in enumerate(found):
        assert own is not None
        assert each == place or own.decisions == ["a"] * 2


@pytest.mark.parametrize("kind", ["forges ballots", "mangles ballots", "withholds", "asks for all"])
def test_other_attacks_change_nothing_and_accuse_nobody(kind: str) -> None:
    moot = played(np.zeros((5, 2), dtype=np.int8), hostile={3: OWN[kind]()})
    for place, found in enumerate(accounts(moot)):
        assert found is not None
        if place != 3:
            assert found.decisions == ["a"] * 2
            assert found.evidence == {}


def test_a_quorum_set_that_would_cost_the_others_time_is_not_taken() -> None:
    """It may name members that have left, and not thousands that never were."""
    moot = FederatedMoot(VOTES, 11)
    moot.at(0.0, lambda: moot.crash(3))
    moot.put(0, seconds=20.0)
    moot.network.run(1.0)
    node = moot.nodes[1]
    assert node is not None
    (session,) = node.sessions()
    for many, taken in ((27, False), (26, True)):
        chosen = QuorumSet(1, [f"x{i:04d}" for i in range(many)])
        bare = m.Choice(session.name, 3, form_of(chosen), bytes(64))
        signature = moot.keys[3].sign(statements.chosen(bare))
        node.received(2, m.encode(m.Choice(session.name, 3, form_of(chosen), signature)))
        assert (3 in session.minutes.choices) == taken
    assert not session.cheats


def test_frames_of_federated_motions_do_nothing_in_another_motion() -> None:
    """A session of Slush, which has neither choices nor ballots, ignores them; and so does an old one."""
    moot = FederatedMoot(VOTES, 9)
    moot.put(0, seconds=20.0)
    frames: list[bytes] = []
    carry = moot.network.carry

    def carried(sender: int, peer: int, frame: bytes) -> None:
        frames.append(frame)
        carry(sender, peer, frame)

    moot.network.carry = carried  # type: ignore[method-assign]
    moot.network.run(25.0)
    kept = [each for each in map(m.decode, frames) if isinstance(each, m.Choice | m.Ballot | m.Lacking)]
    assert kept
    moot.put(1, at=26.0, seconds=10.0, protocol="slush", k=3, alpha=2, beta=20, rounds=5)
    moot.network.run(26.0)
    node = moot.nodes[1]
    assert node is not None
    (session,) = node.sessions()
    for each in kept:
        if isinstance(each, m.Lacking):
            false: m.Message = m.Lacking(session.name, each.have)
        elif isinstance(each, m.Choice):
            false = m.Choice(session.name, each.node, each.quorum_set, each.signature)
        else:
            false = m.Ballot(
                session.name, each.node, each.number, each.quorum_set, each.ballots, each.signature
            )
        node.received(2, m.encode(false))
    moot.network.run(60.0)
    assert session.verdict().decisions[:2].tolist() == [0, 1]
    assert not session.cheats

"""How rosters follow each other, among nodes in memory: with liars, crashes and loss."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from folkmoot.node.evidence import check_evidence
from folkmoot.node.membership import roster
from folkmoot.node.membership.certificates import holds
from folkmoot.node.membership.roster import Roster
from folkmoot.node.rosters import history, successor
from folkmoot.node.rosters.history import MOST_CONSENTS
from folkmoot.node.rosters.roster_file import read_roster_text
from folkmoot.node.rosters.successor import Successor, change_of, consents
from folkmoot.node.service.interface import RosterChange
from folkmoot.node.session.frames import Told, encoded
from folkmoot.node.session.statement import Kind, Said
from folkmoot.node.wire.messages import Agreeing, Followed, Proposed, Rosters, encode
from folkmoot.testing.memory import Weather
from support.node.members import Followers


def moved(roster: Roster, place: int, port: int) -> Successor:
    """A member is at another address: the least that a successor can change."""
    member = replace(roster[place], addresses=(f"127.0.0.1:{port}",))
    return Successor.after(roster, [*(each for each in roster if each.name != member.name), member])


def propose(moot: Followers, by: int, port: int) -> str:
    node = moot.nodes[by]
    made = moved(node.history.tip, by, port)
    node.history.consent(made, node.me.key, node.me.fingerprint, 1e9)
    return made.name.hex()


def sign(moot: Followers, name: str, *members: int) -> None:
    for i in members:
        moot.nodes[i].archive.sign(name)


def same_roster(moot: Followers, but: tuple[int, ...] = ()) -> str:
    """All that are at the same epoch have the same roster; its digest."""
    tips = {node.history.tip.digest for i, node in enumerate(moot.nodes) if i not in but}
    (digest,) = tips
    return digest


@pytest.mark.parametrize("n", [1, 2, 4, 5, 7])
def test_all_go_over_to_a_roster_that_enough_have_signed(n: int) -> None:
    moot = Followers(n)
    history = moot.nodes[0].history
    name = propose(moot, 0, 9000)
    moot.run(5.0)
    needed = (n + (n - 1) // 3) // 2 + 1  # by hand: a quorum
    for i in range(1, needed):
        assert not any(node.epoch for node in moot.nodes), f"{i} of {needed} have signed"
        sign(moot, name, i)
        moot.run(5.0)
    moot.run(30.0, moot.at(1))
    assert moot.at(1)()
    assert same_roster(moot) == history.rosters[-1].digest
    for node in moot.nodes:
        data = node.archive.roster_file(1)
        shown = read_roster_text(data, moot.roster)
        assert shown.standing.complete
        assert shown.agreed is not None
        assert node.archive.roster().proposals == []
        assert node.changes >= 1
    assert not [each for node in moot.nodes for each in node.history.evidence()]


def test_consents_that_are_split_end_nothing() -> None:
    """Two of four want one roster, two the other; then somebody consents to the other one, too."""
    moot = Followers(4)
    one, other = propose(moot, 0, 9000), propose(moot, 1, 9001)
    moot.run(20.0, lambda: all(len(node.history.proposals) == 2 for node in moot.nodes))
    sign(moot, one, 2)
    sign(moot, other, 3)
    moot.run(60.0)
    assert moot.at(0)()
    sign(moot, one, 3)
    moot.run(60.0, moot.at(1))
    assert moot.at(1)()
    assert moot.nodes[2].history.tip[0].addresses == ("127.0.0.1:9000",)
    second = propose(moot, 2, 9002)
    moot.run(10.0)
    sign(moot, second, 0, 1)
    moot.run(60.0, moot.at(2))
    assert moot.at(2)()


def test_members_join_leave_and_change_their_keys() -> None:
    moot = Followers(4, more=1)
    joiner = next(each for each in moot.everybody if each.name not in {m.name for m in moot.roster})
    change = RosterChange(add=[joiner.line()], remove=[moot.roster[3].name])
    status, _ = moot.nodes[0].archive.propose(change)
    moot.run(10.0)
    sign(moot, status.proposal[:8], 1, 2)
    moot.run(60.0, moot.at(1))
    assert moot.at(1)(), "who has left knows it, too"
    names = [each.name for each in moot.nodes[3].history.tip]
    assert joiner.name in names
    assert moot.roster[3].name not in names


def test_a_node_that_was_away_catches_up_over_several_rosters() -> None:
    moot = Followers(4)
    moot.run(1.0)
    moot.network.crash(moot.nodes[3].peer)
    for epoch in range(1, 4):
        name = propose(moot, 0, 9000 + epoch)
        moot.run(10.0)
        sign(moot, name, 1, 2)
        moot.run(120.0, moot.at(epoch, but=(3,)))
    assert [node.epoch for node in moot.nodes] == [3, 3, 3, 0]
    moot.nodes[3].start()
    moot.run(60.0, moot.at(3))
    assert [each.epoch for each in moot.nodes[3].history.rosters] == [0, 1, 2, 3]
    same_roster(moot)


class CrashError(Exception):
    """The node is gone."""


def test_a_node_that_crashes_at_every_save_goes_on_and_never_contradicts_itself() -> None:
    """Before and after each record that it stores: nothing that others have heard of it is ever another."""
    moot = Followers(4, weather=Weather(delay=0.1))
    node = moot.nodes[2]
    sent: dict[tuple[int, ...], set[bytes]] = {}
    saves = 0

    def crashing() -> None:
        keep = node.history.append

        def append(old: Roster, records: Sequence[bytes]) -> None:
            nonlocal saves
            saves += bool(records)
            if records and saves % 2 == 1:
                raise CrashError
            keep(old, records)
            if records:
                raise CrashError

        node.history.append = append  # type: ignore[method-assign]

    def carry(sender: bytes, peer: bytes, frame: bytes) -> None:
        if sender == node.peer and frame[1] == 18:
            inner = msgspec.msgpack.decode(frame, type=Agreeing).frame
            if inner[1] == 0:
                for each in msgspec.msgpack.decode(inner, type=Told).said:
                    if each.member == 2:
                        sent.setdefault(each.slot, set()).add(each.value)
        carried(sender, peer, frame)

    carried = moot.network.carry
    moot.network.carry = carry  # type: ignore[method-assign]
    crashing()
    name = propose(moot, 0, 9000)
    moot.run(5.0)
    crashes = 0
    moot.network.crash(moot.nodes[3].peer)  # without it every statement of the others is needed
    sign(moot, name, 1, 2)
    while moot.network.time < 300 and not moot.at(1, but=(3,))():
        try:
            moot.run(1.0)
        except CrashError:
            crashes += 1
            try:
                node.start()
            except CrashError:
                crashes += 1
            crashing()
    assert moot.at(1, but=(3,))()
    assert crashes >= 3
    assert sent
    assert all(len(values) == 1 for values in sent.values())
    assert not [each for other in moot.nodes for each in other.history.evidence()]


def lie(moot: Followers, place: int, kinds: tuple[Kind, ...], *, both: bool = False) -> None:
    """From now on a member says two things in every statement of these kinds: one to each half, or both."""
    node = moot.nodes[place]
    exchange = node.exchange
    send = exchange._send
    halves = [bytes.fromhex(each.fingerprint) for each in moot.roster][::2]

    def two_faced(peer: bytes, message: object) -> None:
        if isinstance(message, Agreeing) and (both or peer in halves):
            told = msgspec.msgpack.decode(message.frame, type=Told) if message.frame[1] == 0 else None
            if told is not None:
                said = tuple(_other(moot, each, kinds, place) for each in told.said)
                said = (*told.said, *said) if both else said
                message = Agreeing(message.previous, encoded(msgspec.structs.replace(told, said=said)))
        send(peer, message)  # type: ignore[arg-type]

    exchange._send = two_faced  # type: ignore[method-assign]


def _other(moot: Followers, said: Said, kinds: tuple[Kind, ...], place: int) -> Said:
    if said.kind not in kinds or said.member != place:
        return said
    made = msgspec.structs.replace(said, value=bytes([said.value[0] ^ 1]) + said.value[1:])
    words = made.words(change_of(bytes.fromhex(moot.roster.digest)))
    return msgspec.structs.replace(made, signature=moot.key(place).sign(words))


def test_who_says_two_things_to_the_same_members_is_proven_to_and_the_file_shows_it() -> None:
    moot, liar = Followers(4), 3
    lie(moot, liar, (Kind.PREVOTE,), both=True)
    name = propose(moot, 0, 9000)
    moot.run(5.0)
    sign(moot, name, 1, 2)
    moot.run(60.0, moot.at(1, but=(liar,)))
    assert moot.at(1, but=(liar,))()
    found = 0
    for node in moot.nodes[:liar]:
        for told in node.archive.accusations(5):
            assert (told.participant, told.motion) == (moot.roster[liar].name, "")
            shown = check_evidence(node.archive.evidence(told.roster[:12], told.participant), moot.roster)
            assert (shown.roster, shown.what) == (moot.roster.digest, "it signed two prevotes for one slot")
            found += 1
            assert node.exchange.counts["evidence"] == 1
    assert found


def long_content(roster: Roster, number: int) -> bytes:
    """A successor with as many and as long addresses as members may have."""
    hosts = [f"{'h' * 200}{number}.example:{port}" for port in range(7000, 7016)]
    return Successor.after(roster, [replace(each, addresses=tuple(hosts)) for each in roster]).content


def test_a_quorum_that_is_claimed_costs_one_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames that name all members as signed, and hold no signature that holds, are read no further."""
    moot = Followers(4)
    node = moot.nodes[0]
    work = {"read": 0, "verified": 0}
    read, real = Successor.read, successor.agrees

    def counted(*given: object) -> bool:
        work["verified"] += 1
        return real(*given)  # type: ignore[arg-type]

    def reading(content: bytes, old: Roster) -> Successor:
        work["read"] += 1
        return read(content, old)

    monkeypatch.setattr(history, "agrees", counted)
    monkeypatch.setattr(Successor, "read", staticmethod(reading))
    previous = bytes.fromhex(moot.roster.digest)
    for number in range(20):
        content = long_content(moot.roster, number)
        claimed = tuple((place, bytes(64)) for place in range(4))
        frame = encode(Proposed(previous, bytes(32), content, claimed))
        node.received(moot.nodes[3].peer, frame)
    assert work == {"read": 0, "verified": 20}
    assert node.exchange.counts["refused_forged_roster"] == 20
    assert node.history.proposals == []


def test_what_a_member_can_have_stored_is_bounded_whatever_it_claims() -> None:
    """It signs as many successors as it likes, alone or beside forged signatures; others are not held up."""
    moot = Followers(4)
    node, liar = moot.nodes[0], 3
    previous = bytes.fromhex(moot.roster.digest)
    for number in range(30):
        content = long_content(moot.roster, number)
        name = Successor.read(content, moot.roster).name
        own = (liar, moot.key(liar).sign(consents(previous, liar, name)))
        forged = [(place, bytes(64)) for place in range(3)]
        for signed in ((own,), (*forged, own), (own, *forged)):
            moot.network.time += 1.0  # budgets fill up again
            node.received(moot.nodes[liar].peer, encode(Proposed(previous, name, content, signed)))
    assert len(node.history.proposals) == MOST_CONSENTS
    assert node.exchange.counts["refused_too_many_rosters"] > 0
    proposed = propose(moot, 1, 9000)
    moot.run(10.0)
    sign(moot, proposed, 0, 2)
    moot.run(60.0, moot.at(1))
    assert moot.at(1)()
    kept = node.storage.database.one("SELECT count(*) FROM successors")[0]
    assert kept == 1, "what was not agreed on goes"


def test_what_is_no_successor_is_read_only_so_often_although_a_member_signs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moot, reads = Followers(4), []
    node, liar = moot.nodes[0], 3
    real = Successor.read

    def reading(content: bytes, old: Roster) -> Successor:
        reads.append(content)
        return real(content, old)

    monkeypatch.setattr(Successor, "read", staticmethod(reading))
    previous = bytes.fromhex(moot.roster.digest)
    for number in range(30):
        content = b"no roster %d" % number
        name = hashlib.sha256(content).digest()
        signed = ((liar, moot.key(liar).sign(consents(previous, liar, name))),)
        node.received(moot.nodes[liar].peer, encode(Proposed(previous, name, content, signed)))
    assert len(reads) == MOST_CONSENTS
    assert node.exchange.counts["refused_too_many_rosters"] == 30 - MOST_CONSENTS


def test_frames_that_are_no_good_are_counted() -> None:
    moot = Followers(4)
    node, peer = moot.nodes[0], moot.nodes[1].peer
    previous = bytes.fromhex(moot.roster.digest)
    said = Said(1, Kind.PREVOTE, 0, 0, 0, -1, bytes(32), bytes(64))
    bad = Told(change_of(previous), (said,))
    for frame in (
        b"",
        b"\x93\x10\x00",
        encode(Agreeing(previous, b"")),
        encode(Agreeing(previous, encoded(bad))),
    ):
        node.received(peer, frame)
    assert node.exchange.counts["refused_malformed"] == 4
    for _ in range(200):
        node.received(peer, encode(Rosters(bytes(32))))
    assert node.exchange.counts["refused_too_often"] == 161, "40 at once, one of them above"


def test_many_signatures_in_few_frames_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member signs statements of rounds that nobody has reached, as many as it likes."""
    moot = Followers(4)
    node, liar = moot.nodes[0], 3
    previous = bytes.fromhex(moot.roster.digest)
    change, verified = change_of(previous), []
    real = holds

    def counted(key: Ed25519PublicKey, signature: bytes, words: bytes) -> bool:
        verified.append(words)
        return real(key, signature, words)

    monkeypatch.setattr(roster, "holds", counted)
    for start in range(1000, 1000 + 50 * 80, 80):
        told = []
        for number in range(start, start + 80):
            said = Said(liar, Kind.PREVOTE, 0, 0, number, -1, bytes(32), bytes(64))
            signature = moot.key(liar).sign(said.words(change))
            told.append(msgspec.structs.replace(said, signature=signature))
        frame = encode(Agreeing(previous, encoded(Told(change, tuple(told)))))
        node.received(moot.nodes[liar].peer, frame)
    assert 0 < len(verified) <= 200 * 8


def test_what_is_said_to_have_followed_is_in_force_only_with_a_quorum_that_holds() -> None:
    moot = Followers(4)
    moot.run(1.0)
    moot.network.crash(moot.nodes[3].peer)
    name = propose(moot, 0, 9000)
    moot.run(5.0)
    sign(moot, name, 1, 2)
    moot.run(60.0, moot.at(1, but=(3,)))
    shown = moot.nodes[0].history.after(moot.roster)
    assert shown is not None
    assert shown.agreed is not None
    previous, content = bytes.fromhex(moot.roster.digest), shown.successor.content
    signed, precommits = tuple(shown.consents.items()), shown.agreed.precommits
    another = moved(moot.roster, 1, 9001).content
    whole = Followed(previous, content, signed, shown.agreed.round, precommits)
    away = moot.nodes[3]
    away.start()
    for change in (
        {"precommits": precommits[1:]},
        {"precommits": (precommits[0], precommits[0], *precommits[1:-1])},
        {"precommits": (*precommits[:-1], (3, bytes(64)))},
        {"round": shown.agreed.round + 1},
        {"consents": signed[1:]},
        {"consents": ((signed[0][0], bytes(64)), *signed[1:])},
        {"content": another},
    ):
        away.received(moot.nodes[0].peer, encode(msgspec.structs.replace(whole, **change)))
    assert away.exchange.counts["refused_forged_roster"] == 7
    assert away.epoch == 0
    away.received(moot.nodes[0].peer, encode(whole))
    assert away.epoch == 1


def test_what_others_cannot_take_is_not_sent_to_them_again_and_again() -> None:
    """A liar gives two members eight rosters each, and not the same ones: neither takes more of it."""
    moot, liar = Followers(4), 3
    moot.run(1.0)
    moot.network.crash(moot.nodes[liar].peer)
    previous = bytes.fromhex(moot.roster.digest)
    for node, first in ((moot.nodes[0], 0), (moot.nodes[1], 100)):
        for number in range(first, first + MOST_CONSENTS):
            content = long_content(moot.roster, number)
            name = hashlib.sha256(content).digest()
            own = ((liar, moot.key(liar).sign(consents(previous, liar, name))),)
            node.received(moot.nodes[liar].peer, encode(Proposed(previous, name, content, own)))
    moot.run(10.0)
    sent = dict.fromkeys(moot.network._worlds, 0)
    carried = moot.network.carry

    def carry(sender: bytes, peer: bytes, frame: bytes) -> None:
        sent[sender] += len(frame)
        carried(sender, peer, frame)

    moot.network.carry = carry  # type: ignore[method-assign]
    moot.run(600.0)
    size = len(long_content(moot.roster, 0))
    for node in moot.nodes[:liar]:
        assert sent[node.peer] < 3 * MOST_CONSENTS * 10 * size, "ten times in ten minutes, to three peers"


@pytest.mark.parametrize("seed", range(6))
def test_no_storm_splits_a_moot_or_accuses_who_is_honest(seed: int) -> None:
    """Two proposals, f liars that say two things, loss, delays and restarts; every member signs in the end.

    Seeds 1,001 to 1,440 and 5,001 to 5,435 were played once: none split, and all ended.
    """
    rng = random.Random(seed)
    n = rng.choice([4, 5, 7])
    weather = Weather(delay=rng.choice([0.02, 0.1, 0.3]), drop=rng.choice([0.0, 0.1, 0.25]))
    moot = Followers(n, seed, weather)
    liars = rng.sample(range(n), (n - 1) // 3)
    honest = [i for i in range(n) if i not in liars]
    for liar in liars:
        kinds = rng.sample([Kind.PROPOSE, Kind.PREVOTE, Kind.PRECOMMIT], rng.randint(1, 3))
        lie(moot, liar, tuple(kinds), both=rng.random() < 0.3)
    names = [propose(moot, i, 9000 + i) for i in rng.sample(range(n), 2)]
    for _ in range(60):
        moot.run(rng.uniform(0.5, 5.0), moot.at(1, but=tuple(liars)))
        for name in names:
            known = (
                i for i in range(n) if name in {each.proposal for each in moot.nodes[i].archive.proposals()}
            )
            sign(moot, name[:12], *known)
        if rng.random() < 0.3:
            moot.nodes[rng.choice(honest)].start()
    assert {moot.nodes[i].epoch for i in honest} == {1}
    same_roster(moot, but=tuple(liars))
    accused = {each.one.member for i in honest for _, each in moot.nodes[i].history.evidence()}
    assert accused <= {*liars}

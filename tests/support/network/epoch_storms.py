"""Storms in which the roster changes, all of it from a seed, and the promises that must hold in each.

    PYTHONPATH=tests python -m support.network.epoch_storms SEED [KIND]

plays one again. Members join, leave, rotate keys and have them replaced while motions are under way, frames
are lost, nodes crash and the network is cut; in two of three storms one member of seven is hostile, of a kind
in ``KINDS``: each comes between a node and its transport.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import combinations
from typing import Final

import msgspec
import numpy as np

from folkmoot.network.service.assembly import Assembly
from folkmoot.network.storage.account import outcome_in
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.succession import Succession
from folkmoot.network.wire.verdict import Verdict
from folkmoot.node.membership.roster import Member, Roster
from folkmoot.node.transports.memory import Weather, World
from support.network.epochs import key_of, member
from support.network.message_faults import Fault, Liar, Meddling, of_family
from support.network.moot_of_epochs import (
    Interference,
    MootOfEpochs,
    address,
    joined,
    left,
    person,
    renewed,
)
from support.network.signatures import checked_once
from support.network.storms import again, assert_agree

NAMES: Final = ("anna", "bert", "cleo", "dora", "emil", "fred", "gina")
LATER: Final = ("hugo", "iris", "anna 1", "bert 1")
STORM: Final = 24.0  # seconds; then everybody is there again, and all frames arrive
CALM: Final = 70.0  # when all must get on again
END: Final = 110.0
ROUNDS: Final = 5  # of a motion: it is the rosters that are played


def _own_successor(who: str, roster: Roster, salt: int) -> m.Successor:
    """One that only this member has signed; with another salt it is another."""
    place = roster.position(person(who).fingerprint)
    made = Succession.after(roster, [*roster, member(f"puppet{salt}")])
    signature = made.signed_by(key_of(who), place or 0)
    return m.Successor(bytes.fromhex(roster.digest), made.content, ((place or 0, signature),))


def _again(world: World[bytes], wait: float, call: Callable[[], None]) -> None:
    """Once more after this time, until some time after the storm."""
    if world.now() < STORM + 6.0:
        world.later(world.now() + wait, call)


def two_successors(moot: MootOfEpochs, who: str, assembly: Assembly, world: World[bytes]) -> None:
    """Signs one roster for half of the others, and another for the rest; and whatever it is shown, too."""

    def lie() -> None:
        roster = assembly.chronicle.tip
        if roster.position(person(who).fingerprint) is None:
            return
        for i, peer in enumerate(sorted(map(address, moot.everybody))):
            world.send(peer, m.encode(_own_successor(who, roster, i % 2)))
        for proposal in assembly.chronicle.proposals:
            place = roster.position(person(who).fingerprint)
            signature = proposal.succession.signed_by(key_of(who), place or 0)
            frame = m.Successor(
                bytes.fromhex(roster.digest), proposal.succession.content, ((place or 0, signature),)
            )
            for peer in map(address, moot.everybody):
                world.send(peer, m.encode(frame))
        _again(world, 2.0, lie)

    world.later(world.now() + 0.7, lie)


def forges(moot: MootOfEpochs, who: str, assembly: Assembly, world: World[bytes]) -> None:
    """Signs in the names of others, swaps signatures, and changes contents that others have signed."""

    def lie() -> None:
        roster = assembly.chronicle.tip
        own = _own_successor(who, roster, 7)
        everybody = tuple((place, own.signatures[0][1]) for place in range(len(roster)))
        lies: list[m.Message] = [
            msgspec.structs.replace(own, signatures=everybody),
            msgspec.structs.replace(own, signatures=((1 << 30, bytes(64)),)),
            m.Held((bytes(32),), ((bytes(32), b"\xff" * 512),)),
            m.Held((bytes.fromhex(roster.digest),), ((bytes(32), b"\xff" * 512),)),
        ]
        for proposal in assembly.chronicle.proposals:
            told = tuple(sorted(proposal.signatures.items()))
            content = proposal.succession.content
            previous = bytes.fromhex(roster.digest)
            lies.append(m.Successor(previous, content[:-1] + bytes([content[-1] ^ 1]), told))
            lies.append(m.Successor(previous, own.content, told))
            lies.append(m.Successor(bytes(32), content, told))
        for peer in map(address, moot.everybody):
            for each in lies:
                world.send(peer, m.encode(each))
        _again(world, 3.0, lie)

    world.later(world.now() + 0.6, lie)


def replays(moot: MootOfEpochs, _who: str, assembly: Assembly, world: World[bytes]) -> None:
    """Says everything about rosters that it ever heard to everybody again, late."""
    heard: list[bytes] = []
    receive = assembly.received

    def received(peer: bytes, frame: bytes) -> None:
        if frame[1] in (16, 17) and frame not in heard[-50:]:
            heard.append(frame)
        receive(peer, frame)

    def tell() -> None:
        for frame in heard[-50:]:
            for peer in map(address, moot.everybody):
                world.send(peer, frame)
        _again(world, 3.0, tell)

    assembly.received = received  # type: ignore[method-assign]
    world.later(world.now() + 3.0, tell)


def withholds(_moot: MootOfEpochs, _who: str, _node: Assembly, world: World[bytes]) -> None:
    """Passes nothing on about rosters, and keeps its own signature to itself."""
    send = world.send

    def sent(peer: bytes, frame: bytes) -> None:
        if frame[1] not in (16, 17):
            send(peer, frame)

    world.send = sent  # type: ignore[method-assign]


def late(_moot: MootOfEpochs, _who: str, _node: Assembly, world: World[bytes]) -> None:
    """Says what it has to say about rosters ten seconds later."""
    send = world.send

    def sent(peer: bytes, frame: bytes) -> None:
        if frame[1] in (16, 17):
            world.later(world.now() + 10.0, lambda: send(peer, frame))
        else:
            send(peer, frame)

    world.send = sent  # type: ignore[method-assign]


def floods(moot: MootOfEpochs, who: str, assembly: Assembly, world: World[bytes]) -> None:
    """Asks all the time, and sends long contents that it has signed itself."""

    def flood() -> None:
        roster = assembly.chronicle.tip
        place = roster.position(person(who).fingerprint) or 0
        previous = bytes.fromhex(roster.digest)
        junk = random.Random(world.now()).randbytes(100_000)
        name = statements.Consent(previous, place, hashlib.sha256(junk).digest(), bytes(64))
        signature = key_of(who).sign(statements.succeeds(name))
        frames = [m.encode(m.Successor(previous, junk, ((place, signature),)))]
        frames += [m.encode(m.Held((previous,), ()))] * 20
        for peer in map(address, moot.everybody):
            for frame in frames:
                world.send(peer, frame)
        _again(world, 2.0, flood)

    world.later(world.now() + 0.3, flood)


def meddling(fault: Fault, kind: type[m.Message]) -> Interference:
    """A member with one fault of one message."""

    def meddles(moot: MootOfEpochs, who: str, assembly: Assembly, world: World[bytes]) -> None:
        rng, own = random.Random(f"{fault} {kind.__name__} {moot.seed}"), person(who).fingerprint
        liar = Liar(key_of(who), lambda: assembly.chronicle.tip.position(own) or 0, len(NAMES), rng)
        others = [address(peer) for peer in moot.everybody if peer != who]
        Meddling(fault, kind).meddle(rng, world, assembly, others, liar)

    return meddles


KINDS: Final[dict[str, Interference]] = {
    "two successors": two_successors,
    "forges": forges,
    "replays": replays,
    "withholds": withholds,
    "late": late,
    "floods": floods,
} | {name: meddling(*each) for name, each in of_family("rosters").items()}

ANY: Final = "any"  # whoever is drawn
QUICK: Final = (*[*KINDS] * 2, *[ANY] * 10)  # two storms against each kind, and some more


def address_of(each: Member) -> bytes:
    """The fingerprint of a member."""
    return bytes.fromhex(each.fingerprint)


@checked_once()
def play(seed: int, kind: str | None = None) -> MootOfEpochs:
    """One storm, and its promises."""
    try:
        moot = stormy(seed, kind)
        moot.network.run(END)
        assert_promises_hold(moot)
        return moot
    except Exception as error:
        error.add_note(f"storm of seed {seed}: {again('epoch_storms', seed, *([kind] if kind else []))}")
        raise


def stormy(seed: int, kind: str | None = None) -> MootOfEpochs:
    """Changes of the roster, motions, losses, crashes, a partition and a hostile member, from the seed."""
    rng = random.Random(f"epochs {seed}")
    drawn = rng.choice([*KINDS]) if kind is None else kind
    hostile = {rng.choice(NAMES[2:]): KINDS[drawn]} if seed % 3 or kind is not None else {}
    share = np.random.default_rng(seed)
    common = (share.random(6) < 0.5).astype(np.int8)
    votes = {
        name: np.where(share.random(6) < 0.8, common, 1 - common).astype(np.int8)
        for name in (*NAMES, "hugo", "iris")
    }
    moot = MootOfEpochs(NAMES, LATER, votes, seed, weather=weather(rng), hostile=hostile)
    honest = make_trouble(moot, rng)
    for _ in range(3):
        moot.put(rng.choice(honest), at=rng.uniform(0, 16), rounds=ROUNDS)
    moot.put(honest[0], at=CALM, rounds=ROUNDS)
    moot.put(honest[1], at=CALM, rounds=ROUNDS)
    return moot


def weather(rng: random.Random) -> Weather:
    """How frames are treated until the storm is over."""
    return Weather(delay=rng.choice([0.0, 0.01, 0.1]), drop=rng.choice([0.0, 0.03, 0.15]))


def make_trouble(moot: MootOfEpochs, rng: random.Random) -> list[str]:
    """Changes of the roster, crashes and a partition; then all is calm. Returns who is honest."""
    at = moot.network.at
    honest = [who for who in NAMES if who not in moot.hostile]
    changes: list[Callable[[Roster], Succession]] = [
        joined("hugo"), joined("iris"), left(rng.choice(NAMES[2:])), renewed("anna 1"),
        renewed("bert 1", stolen=True), joined("hugo", "iris"),
    ]  # fmt: skip
    for number, change in enumerate(rng.sample(changes, 3)):
        at(rng.uniform(0, 4) + 7 * number, partial(_tried, moot, rng.choice(honest), change))
    for who in [*honest, *LATER]:
        for _ in range(8):
            at(rng.uniform(0, STORM), partial(moot.sign_what_is_proposed, who))
    for who in rng.sample(honest, rng.randint(0, 3)):
        when = rng.uniform(0, STORM)
        at(when, partial(moot.crash, who))
        at(when + rng.uniform(0.01, 8.0), partial(_started, moot, who))
    if rng.random() < 0.5:
        side = [address(who) for who in rng.sample([*NAMES, *LATER], rng.randint(1, 5))]
        at(rng.uniform(0, 8), partial(moot.network.divide, side))
        at(rng.uniform(8, STORM), moot.network.divide)
    for second in range(1, int(STORM) + 8):
        at(float(second), partial(_newcomers, moot))

    def calm() -> None:
        moot.network.weather = Weather()
        moot.network.divide()
        for who in honest:
            _started(moot, who)

    at(STORM, calm)
    for number in range(6):
        for who in [*honest, *LATER]:
            at(STORM + 2 + 4 * number, partial(moot.sign_what_is_proposed, who))
    return honest


def _tried(moot: MootOfEpochs, who: str, change: Callable[[Roster], Succession]) -> None:
    """Propose a change that may make no sense any more."""
    with suppress(ValueError):
        moot.propose(who, change)


def _started(moot: MootOfEpochs, who: str) -> None:
    if who not in moot.nodes:
        moot.start(who)


def _newcomers(moot: MootOfEpochs) -> None:
    """Whoever is in a roster that is in force somewhere starts, with that roster; an old key's node stops."""
    tips = sorted({node.chronicle.tip for node in moot.nodes.values()}, key=lambda tip: tip.epoch)
    for who in LATER:
        root = next((tip for tip in tips if tip.position(person(who).fingerprint) is not None), None)
        if root is not None and who not in moot.nodes:
            moot.start(who, root)


def assert_promises_hold(moot: MootOfEpochs) -> None:
    """What is promised with one hostile member of seven."""
    honest = [who for who in moot.everybody if who not in moot.hostile]
    running = [who for who in honest if who in moot.nodes]
    chain = max((moot.nodes[who].chronicle.rosters for who in running), key=lambda rosters: rosters[-1].epoch)
    by_epoch = {roster.epoch: roster for roster in chain}
    for who in running:  # all go through the same rosters in the same order
        for roster in moot.nodes[who].chronicle.rosters:
            assert by_epoch.setdefault(roster.epoch, roster).digest == roster.digest
    rosters = {bytes.fromhex(roster.digest): roster for roster in by_epoch.values()}
    fair = {address(who) for who in honest}
    signed: dict[tuple[bytes, int], set[bytes]] = defaultdict(set)
    claims: dict[bytes, list[Verdict]] = defaultdict(list)
    closes: dict[tuple[bytes, int], bytes] = {}
    for who in honest:
        storage = moot.storages[who]
        for previous, node, name in storage.database.all("SELECT previous, node, name FROM consents"):
            if previous in rosters and address_of(rosters[previous][node]) in fair:
                signed[previous, node].add(name)
        for stored in storage.motions():
            roster = rosters[stored.motion.moot]
            assert stored.members == [each.fingerprint for each in roster]
            held = storage.held(stored.name)
            if not stored.motion.trust:  # there each decides by whom it trusts itself
                claims[stored.name].append(outcome_in(stored, held))
            for place, close in held.closes.items():
                if bytes.fromhex(stored.members[place]) in fair:
                    assert closes.setdefault((stored.name, place), m.encode(close)) == m.encode(close)
            for accused, _ in held.evidence:
                assert bytes.fromhex(stored.members[accused]) not in fair
            if stored.closed is None and who in moot.nodes:
                assert stored.ends > 1e9 + moot.network.time
    assert all(len(names) == 1 for names in signed.values())  # nobody honest signs two
    for each in claims.values():
        for one, other in combinations(each, 2):
            assert_agree(one, other)
    for who in running:
        for old, proof in moot.nodes[who].chronicle.evidence():
            liar = old[statements.accused(proof)]
            assert address_of(liar) not in fair
            assert statements.proves(proof, liar.public_key, address_of(liar))
    members = {each.fingerprint for each in chain[-1]}
    stayed = [who for who in running if person(who).fingerprint in members]
    for who in stayed:  # in good weather all come to the same one
        assert moot.tip(who).digest == chain[-1].digest


if __name__ == "__main__":
    hall = play(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
    print({who: node.chronicle.tip.epoch for who, node in hall.nodes.items()}, "and all promises hold")

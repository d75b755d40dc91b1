"""Storms in which members decide by quorum sets, from a seed, and what must hold in each.

    PYTHONPATH=tests python -m support.network.federated_storms SEED NODES [KIND...]

plays one again. Two of three have hostile members: those of the other storms, the adversaries of the
simulation, and some that do with the messages of federated motions whatever can be done: say two things,
show two quorum sets, take back, forge, mangle, withhold.

Quorum sets are drawn, too. Who is intact given the hostile is asked of ``QuorumSystem``, which was checked
against brute force; nothing is promised to the others.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace

from folkmoot.adversaries import ATTACKS
from folkmoot.federated import QuorumSet, QuorumSystem
from folkmoot.federated.agreement import Statement
from folkmoot.network.service.node import Node
from folkmoot.network.session.drill import PLAYABLE
from folkmoot.network.storage.account import account_of
from folkmoot.network.storage.certificate import read_certificate, write_certificate
from folkmoot.network.transports.memory import Weather, World
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.ballots import contradict, form_of, pack_statement, read_set, unpack_statement
from support.network.federated_moot import FederatedMoot, any_of, name_of
from support.network.hostile_members import KINDS, WITH_TRUST, made_hostile
from support.network.message_faults import meddlers, other_labels
from support.network.moot_in_memory import HostileKind, Moot
from support.network.signatures import checked_once
from support.network.storms import SECONDS, again, hostile_in, make_trouble, run_through

LIES: Final = tuple(f"lies: {name}" for name in PLAYABLE)
INPUTS: Final = 4


# ---- members that use the messages of federated motions against the others ----------------------


class Resigning:
    """Signs something else than its node says, to some or to all."""

    def __call__(self, moot: Moot, place: int, _node: Node, world: World[int]) -> None:
        send, key = world.send, moot.keys[place]
        rng = random.Random(f"{type(self).__name__} {moot.seed} {place}")

        def sent(peer: int, frame: bytes) -> None:
            message = m.decode(frame)
            if not isinstance(message, m.Choice | m.Ballot):
                send(peer, frame)
                return
            for told in self.told(moot, rng, place, peer, message):
                if told.node == place and told.signature == bytes(64):
                    said = (
                        statements.chosen(told) if isinstance(told, m.Choice) else statements.balloted(told)
                    )
                    told = replace(told, signature=key.sign(said))
                send(peer, m.encode(told))

        world.send = sent  # type: ignore[method-assign]

    def told(
        self, moot: Moot, rng: random.Random, place: int, peer: int, message: m.Choice | m.Ballot
    ) -> Sequence[m.Choice | m.Ballot]:
        """What it says instead; without a signature if it is to be signed."""
        raise NotImplementedError


class TwoFaced(Resigning):
    """Says the opposite to every second of the others, in the same number or in one of its own."""

    def told(
        self, _moot: Moot, _rng: random.Random, place: int, peer: int, message: m.Choice | m.Ballot
    ) -> Sequence[m.Choice | m.Ballot]:
        if isinstance(message, m.Choice) or message.node != place or peer % 2:
            return [message]
        number = message.number if place % 2 else message.number + 1000
        return [replace(message, ballots=other_labels(message), number=number, signature=bytes(64))]


class TwoSets(Resigning):
    """Shows every second of the others another quorum set, with which it speaks to them."""

    def told(
        self, _moot: Moot, _rng: random.Random, place: int, peer: int, message: m.Choice | m.Ballot
    ) -> Sequence[m.Choice | m.Ballot]:
        if message.node != place or peer % 2:
            return [message]
        other = QuorumSet(1, [name_of(place)])
        if isinstance(message, m.Choice):
            return [replace(message, quorum_set=form_of(other), signature=bytes(64))]
        return [replace(message, quorum_set=bytes.fromhex(other.digest()), signature=bytes(64))]


class SpeaksWithAnother(Resigning):
    """Speaks with another quorum set than it has shown."""

    def told(
        self, _moot: Moot, _rng: random.Random, place: int, _peer: int, message: m.Choice | m.Ballot
    ) -> Sequence[m.Choice | m.Ballot]:
        if isinstance(message, m.Choice) or message.node != place:
            return [message]
        other = QuorumSet(1, [name_of(place)])
        return [replace(message, quorum_set=bytes.fromhex(other.digest()), signature=bytes(64))]


class TakesBack(Resigning):
    """Says less in a later statement than in an earlier one."""

    def told(
        self, _moot: Moot, rng: random.Random, place: int, _peer: int, message: m.Choice | m.Ballot
    ) -> Sequence[m.Choice | m.Ballot]:
        if isinstance(message, m.Choice) or message.node != place:
            return [message]
        statement, classes = unpack_statement(message.ballots, message.quorum_set)
        said = statement.said.copy()
        said[rng.randrange(4) :] = -1
        less = pack_statement(Statement("", said, statement.counter, statement.wanted), classes)
        return [message, replace(message, ballots=less, number=message.number + 500, signature=bytes(64))]


class ForgesBallots(Resigning):
    """Says things in the name of others, which these have not signed; and relays with other numbers."""

    def told(
        self, moot: Moot, rng: random.Random, place: int, _peer: int, message: m.Choice | m.Ballot
    ) -> Sequence[m.Choice | m.Ballot]:
        other = (place + rng.randrange(1, moot.n)) % moot.n
        false: list[m.Choice | m.Ballot] = [replace(message, node=other, signature=rng.randbytes(64))]
        if isinstance(message, m.Ballot):
            false.append(replace(message, number=message.number + 1))
        return [*false, message]


class ManglesBallots(Resigning):
    """Signs what is no statement, or no quorum set: cut, swollen, of other inputs, nested, empty."""

    most = 30  # of the long ones

    def told(
        self, _moot: Moot, rng: random.Random, place: int, _peer: int, message: m.Choice | m.Ballot
    ) -> Sequence[m.Choice | m.Ballot]:
        if message.node != place:
            return [message]
        if isinstance(message, m.Choice):
            deep = message.quorum_set
            for name in "vwxyz":
                deep = m.SetForm(1, (name,), (deep,))
            odd = rng.choice([deep, m.SetForm(1, (), ()), m.SetForm(9, ("b", "a"), ())])
            return [replace(message, quorum_set=odd, signature=rng.randbytes(64))]
        data = message.ballots
        self.most -= 1
        long = bytes(400_000) if self.most > 0 else b""
        wrong = rng.choice([
            b"", data[:-1], data + b"\0", data[:4] + b"\x7f" + data[5:], b"\xff" * 5 + data[5:], long,
            data[:3] + b"\x09" + data[4:],
        ])  # fmt: skip
        return [replace(message, ballots=wrong, number=message.number + 7, signature=bytes(64))]


class Withholds(Resigning):
    """Shows its quorum set and says nothing; and passes nothing on."""

    def told(
        self, _moot: Moot, _rng: random.Random, place: int, _peer: int, message: m.Choice | m.Ballot
    ) -> Sequence[m.Choice | m.Ballot]:
        return [message] if isinstance(message, m.Choice) and message.node == place else []


class AsksForAll:
    """Asks everybody for all that it lacks, and says that it lacks all, over and over."""

    most = 300

    def __call__(self, moot: Moot, place: int, node: Node, world: World[int]) -> None:
        receive, left = node.received, self.most

        def received(peer: int, frame: bytes) -> None:
            nonlocal left
            receive(peer, frame)
            try:
                message = m.decode(frame)
            except ValueError:
                return
            if left and isinstance(message, m.Ballot):
                left -= 1
                for other in range(moot.n):
                    if other != place:
                        world.send(other, m.encode(m.Lacking(message.motion, bytes(left % 64))))

        node.received = received  # type: ignore[method-assign]


OWN: Final[dict[str, Callable[[], HostileKind]]] = meddlers("federated") | {
    "two-faced": TwoFaced,
    "two quorum sets": TwoSets,
    "speaks with another set": SpeaksWithAnother,
    "takes back": TakesBack,
    "forges ballots": ForgesBallots,
    "mangles ballots": ManglesBallots,
    "withholds": Withholds,
    "asks for all": AsksForAll,
}
CAUGHT: Final = ("two-faced", "two quorum sets", "speaks with another set", "takes back")  # if they are seen
DRAWN: Final = (*LIES, *(kind for kind in KINDS if kind not in WITH_TRUST), *OWN)
ANY: Final = "any"  # whoever is drawn
QUICK: Final = (*DRAWN, *[ANY] * 10)  # a storm against each kind, and some more


# ---- storms --------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What came of a storm, or of many; of intact nodes that were up to the end."""

    intact: int = 0  # nodes times inputs
    confirmed: int = 0
    proven: int = 0  # hostile members against whom somebody has evidence
    in_vain: int = 0  # storms without anybody intact

    def add(self, other: Tally) -> None:
        """Count that in."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@checked_once()
def play(seed: int, n: int, kinds: Sequence[str] = DRAWN, *, switched_off: bool = False) -> Tally:
    """One storm, and its promises; or the same with its hostile members switched off."""
    try:
        moot = stormy(seed, n, kinds, switched_off=switched_off)
        watch(moot)
        run_through(moot)
        return assert_promises_hold(moot)
    except Exception as error:
        error.add_note(again("federated_storms", seed, n, *(() if kinds is DRAWN else kinds)))
        raise


def stormy(seed: int, n: int, kinds: Sequence[str] = DRAWN, *, switched_off: bool = False) -> FederatedMoot:
    """Quorum sets, hostile members, losses, delays, crashes, a partition, and a motion: all from the seed."""
    rng, generator = random.Random(f"federated storm {seed}"), np.random.default_rng(seed)
    sets = quorum_sets(rng, n)
    bad = rng.sample(range(n), rng.randint(1, max(1, (n - 1) // 3))) if seed % 3 else []
    first, others = bad[:1], random.Random(f"federated sets {seed}")
    while bad and not intact_without(sets, bad):
        bad.pop()
    while not intact_without(sets, bad := bad or first):  # there is somebody hostile, and somebody intact
        sets = quorum_sets(others, n)
    drawn = {place: rng.choice(kinds) for place in bad}
    honest = [place for place in range(n) if place not in drawn]
    votes = (generator.random((n, INPUTS)) < rng.choice([0.5, 0.7, 0.9])).astype(np.int8)
    votes[rng.randrange(n), :] = -1  # somebody has no model for this
    weather = Weather(delay=rng.choice([0.0, 0.002, 0.02, 0.1]), drop=rng.choice([0.0, 0.0, 0.03, 0.15]))
    hostile = made_hostile(drawn, rng, SECONDS, honest, OWN)
    lies = {p: kind.removeprefix("lies: ") for p, kind in drawn.items() if kind in LIES}
    moot = FederatedMoot(
        votes, seed, sets, weather=weather, hostile=hostile,
        adversaries={place: ATTACKS[name]() for place, name in lies.items()},
    )  # fmt: skip
    if switched_off:
        for place in drawn:
            moot.crash(place)
    may_ask = [place for place in honest if sets[place] is not None]
    moot.put(rng.choice(may_ask), at=rng.uniform(0, 4), seconds=SECONDS)
    make_trouble(moot, rng, honest)
    return moot


def quorum_sets(rng: random.Random, n: int) -> dict[int, QuorumSet | None]:
    """One set for all, a set of each one's own choice, or two groups; now and then somebody has none."""
    everybody = range(n)
    high = (2 * n) // 3 + 1
    kind = rng.randrange(4)
    if kind == 0:
        sets: dict[int, QuorumSet | None] = dict.fromkeys(everybody, any_of(high, *everybody))
    elif kind == 1:  # each leaves one out
        sets = {p: any_of(high, *[q for q in everybody if q != (p + 1) % n]) for p in everybody}
    elif kind == 2:  # groups inside, nested
        half = n // 2
        one, other = any_of(half // 2 + 1, *range(half)), any_of((n - half) // 2 + 1, *range(half, n))
        sets = dict.fromkeys(everybody, QuorumSet(2, [], [one, other]))
    else:  # thresholds of each one's own
        sets = {p: any_of(rng.randint(high - 1, high + 1), *everybody) for p in everybody}
    if rng.random() < 0.2:
        sets[rng.randrange(n)] = None
    return sets


def intact_without(sets: Mapping[int, QuorumSet | None], bad: Collection[int]) -> list[int]:
    """Who is intact if these are hostile; that does not hang on the sets of the hostile."""
    system = QuorumSystem({name_of(place): each for place, each in sorted(sets.items())})
    found = system.intact({name_of(place) for place in bad})
    return [place for place in sets if name_of(place) in found]


def watch(moot: Moot) -> None:
    """Look at all that honest nodes send: nobody signs two quorum sets, or takes anything back."""
    honest = [place for place in range(moot.n) if place not in hostile_in(moot)]
    choices: dict[tuple[bytes, int], m.Choice] = {}
    last: dict[tuple[bytes, int], m.Ballot] = {}
    carry = moot.network.carry

    def carried(sender: int, peer: int, frame: bytes) -> None:
        if sender in honest and len(frame) > 1 and frame[1] in (24, 25):
            message = m.decode(frame)
            assert isinstance(message, m.Choice | m.Ballot)
            key = message.motion, message.node
            if message.node == sender and isinstance(message, m.Choice):
                assert choices.setdefault(key, message) == message, "two quorum sets of one honest node"
            elif message.node == sender and isinstance(message, m.Ballot) and message != last.get(key):
                if key in last:
                    assert last[key].number < message.number
                    assert not contradict(last[key], message), "an honest node takes something back"
                last[key] = message
        carry(sender, peer, frame)

    moot.network.carry = carried  # type: ignore[method-assign]


def assert_promises_hold(moot: FederatedMoot) -> Tally:
    """Intact nodes never decide differently, and nobody honest is accused; counts what they confirmed."""
    bad = hostile_in(moot)
    honest = [place for place in range(moot.n) if place not in bad]
    intact = intact_without(moot.quorum_sets, bad)
    tally = Tally(in_vain=not intact)
    decided: dict[bytes, dict[int, int]] = {}
    accused: set[int] = set()
    for place in honest:
        storage = moot.storages[place]
        for stored in storage.motions():
            held = storage.held(stored.name)
            accused |= {who for who, _ in held.evidence}
            for who, proof in held.evidence:
                assert who in bad, "somebody honest is accused"
                member = moot.roster[who]
                assert statements.proves(proof, member.public_key, bytes.fromhex(member.fingerprint))
            if place not in intact or stored.motion.asker in bad:
                continue
            account = account_of(stored, held)
            for i, label in enumerate(account.decisions):
                if label is not None:
                    colour = account.labels.index(label)
                    assert colour in moot.votes[honest, i], "a label that nobody honest voted for"
                    assert decided.setdefault(stored.name, {}).setdefault(i, colour) == colour, "a split"
            if moot.nodes[place] is not None and place in held.choices:
                tally.intact += len(account.decisions)
                tally.confirmed += sum(label is not None for label in account.decisions)
            if account.undecided < account.inputs:
                _assert_the_certificate_holds(moot, place, stored.name)
    tally.proven = len(accused)
    return tally


def _assert_the_certificate_holds(moot: FederatedMoot, place: int, name: bytes) -> None:
    """What a node holds convinces whoever needs what it needs; and says the same to each intact one."""
    storage = moot.storages[place]
    stored, held = storage.motion(name), storage.held(name)
    shown, kept = read_certificate(write_certificate(stored, held), moot.roster)
    mine = read_set(held.choices[place].quorum_set)
    assert account_of(shown, kept, mine).decisions == account_of(stored, held).decisions


if __name__ == "__main__":
    print(play(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or DRAWN), "and all promises hold")

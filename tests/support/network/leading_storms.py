"""Storms over motions with leaders, from a seed, with members that misuse their messages in all ways.

    PYTHONPATH=tests python -m support.network.leading_storms SEED NODES [KIND...]

plays one again. What must hold is what holds without leaders (``storms.py``): closes decide, so leaders can
cost rounds and nothing else. Beyond that an honest member signs one answer for each round that it is asked
in by a leader, and is accused by nobody.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from msgspec.structs import replace

from folkmoot.adversaries import ATTACKS
from folkmoot.network.membership.roster import faults
from folkmoot.network.service.node import Node
from folkmoot.network.service.policy import Policy
from folkmoot.network.transports.memory import Weather, World
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.packing import pack, unpack
from support.network.hostile_members import KINDS, WITH_TRUST, made_hostile
from support.network.message_faults import meddlers
from support.network.moot_in_memory import HostileKind, Moot
from support.network.signatures import checked_once
from support.network.storms import (
    LIES,
    SECONDS,
    SURE,
    Tally,
    again,
    assert_promises_hold,
    hostile_in,
    make_trouble,
    run_through,
)

INPUTS: Final = 6
VERSIONS: Final = 1 << 24  # of one start of a node


class Changing:
    """Sends something else than its node says in a motion with leaders."""

    def __call__(self, moot: Moot, place: int, _node: Node, world: World[int]) -> None:
        send, rng = world.send, random.Random(f"{type(self).__name__} {moot.seed} {place}")

        def sent(peer: int, frame: bytes) -> None:
            for told in self.told(moot, rng, place, peer, m.decode(frame)):
                send(peer, m.encode(told))

        world.send = sent  # type: ignore[method-assign]

    def told(
        self, moot: Moot, rng: random.Random, place: int, peer: int, message: m.AnyMessage
    ) -> Sequence[m.Message]:
        """What it says instead."""
        raise NotImplementedError


def turned(moot: Moot, votes: bytes) -> bytes:
    """The other of two labels on every input."""
    held = unpack(votes, moot.votes.shape[1], 2)
    return pack(np.where(held >= 0, 1 - held, held).astype(np.int8), 2)


class ShowsToHalf(Changing):
    """When it leads it shows some of the answers to every second of the others, and nothing to the rest."""

    def told(
        self, _moot: Moot, rng: random.Random, _place: int, peer: int, message: m.AnyMessage
    ) -> Sequence[m.Message]:
        if not isinstance(message, m.Show):
            return [message]
        kept = rng.sample(message.answers, rng.randint(1, len(message.answers)))
        return [replace(message, answers=tuple(kept))] if peer % 2 else []


class ForgesShows(Changing):
    """Shows what nobody signed: other votes, other rounds, answers of others, more than there may be."""

    def told(
        self, moot: Moot, rng: random.Random, _place: int, _peer: int, message: m.AnyMessage
    ) -> Sequence[m.Message]:
        if isinstance(message, m.Ask) and message.round < 200:  # a round that may not be its own
            answers = tuple(
                m.Shown(
                    p, rng.randrange(VERSIONS), pack(np.ones(INPUTS, np.int8), 2), *[rng.randbytes(64)] * 2
                )
                for p in range(moot.n)
            )
            return [m.Show(message.motion, message.round, answers[: rng.randint(1, moot.n)]), message]
        if not isinstance(message, m.Show):
            return [message]
        lies = [replace(each, votes=turned(moot, each.votes)) for each in message.answers]
        other = [replace(each, node=(each.node + 1) % moot.n) for each in message.answers]
        return rng.choice([
            [replace(message, answers=tuple(lies))], [replace(message, answers=tuple(other))],
            [replace(message, round=message.round + 1), message],
            [replace(message, answers=message.answers * 9)],
        ])  # fmt: skip


class TwoFacedToLeaders(Changing):
    """Tells leaders something else than others, in the same version, and each leader something of its own."""

    def told(
        self, moot: Moot, _rng: random.Random, place: int, _peer: int, message: m.AnyMessage
    ) -> Sequence[m.Message]:
        if not isinstance(message, m.Led):
            return [message]
        votes, key = turned(moot, message.votes), moot.keys[place]
        digest = hashlib.sha256(votes).digest()
        said = statements.state(message.motion, place, message.version, digest)
        bound = statements.led(message.motion, place, message.round, message.version, digest)
        return [replace(message, votes=votes, signature=key.sign(said), bound=key.sign(bound))]


class ManglesLed(Changing):
    """Tells leaders what is no vote, signed: cut, swollen, of other inputs."""

    def told(
        self, moot: Moot, rng: random.Random, place: int, _peer: int, message: m.AnyMessage
    ) -> Sequence[m.Message]:
        if not isinstance(message, m.Led):
            return [message]
        votes = rng.choice([b"", message.votes[:-1], message.votes + b"\0", b"\xff" * 40, bytes(400_000)])
        digest, key = hashlib.sha256(votes).digest(), moot.keys[place]
        version = message.version + rng.randrange(50)
        said = statements.state(message.motion, place, version, digest)
        bound = statements.led(message.motion, place, message.round, version, digest)
        return [m.Led(message.motion, message.round, version, votes, key.sign(said), key.sign(bound))]


class RevealsToHalf(Changing):
    """Shows its first votes, and so its salt, to every second of the others."""

    def told(
        self, _moot: Moot, _rng: random.Random, _place: int, peer: int, message: m.AnyMessage
    ) -> Sequence[m.Message]:
        return [] if isinstance(message, m.Reveal) and peer % 2 else [message]


class RevealsInTheTalk(Changing):
    """Shows its first votes when it is asked in the talk, and not before: each once."""

    def __init__(self) -> None:
        self.kept: dict[bytes, m.Reveal] = {}

    def told(
        self, _moot: Moot, rng: random.Random, _place: int, _peer: int, message: m.AnyMessage
    ) -> Sequence[m.Message]:
        if isinstance(message, m.Reveal):
            self.kept[message.motion] = replace(message, want=False)
            return []
        if isinstance(message, m.Answer) and message.motion in self.kept and rng.random() < 0.2:
            return [self.kept[message.motion], message]
        return [message]


class LeadsAlways(Changing):
    """Asks in every round as if it led it, for rounds to come too; and for what it does not lack."""

    def told(
        self, _moot: Moot, rng: random.Random, _place: int, _peer: int, message: m.AnyMessage
    ) -> Sequence[m.Message]:
        if not isinstance(message, m.Ask):
            return [message]
        early = rng.choice([0, 1, 3, 10**6])
        return [m.Lead(message.motion, message.round + early), m.Unseen(message.motion, b""), message]


class PassesOnForgeries(Changing):
    """Passes on first votes of others that these have not revealed."""

    def told(
        self, moot: Moot, rng: random.Random, place: int, _peer: int, message: m.AnyMessage
    ) -> Sequence[m.Message]:
        if not isinstance(message, m.Reveal):
            return [message]
        other = (place + rng.randrange(1, moot.n)) % moot.n
        forged = m.Seen(
            message.motion, other, rng.randbytes(64), message.salt, message.first, message.signature
        )
        return [forged, message]


OWN: Final[dict[str, Callable[[], HostileKind]]] = meddlers("leaders") | {
    "shows to half": ShowsToHalf,
    "forges shows": ForgesShows,
    "two-faced to leaders": TwoFacedToLeaders,
    "mangles what it tells leaders": ManglesLed,
    "reveals to half": RevealsToHalf,
    "reveals in the talk": RevealsInTheTalk,
    "leads always": LeadsAlways,
    "passes on forgeries": PassesOnForgeries,
}
DRAWN: Final = (*OWN, *LIES, *(kind for kind in KINDS if kind not in WITH_TRUST))


@checked_once()
def play(seed: int, n: int, kinds: Sequence[str] = DRAWN, *, compare: bool = True) -> Tally:
    """One storm, and its promises; beside the same one with its hostile members switched off."""
    try:
        moot = stormy(seed, n, kinds)
        watch(moot)
        run_through(moot)
        found = assert_promises_hold(moot)
        decided = sum(int(each.decided.sum()) for each in found.values())
        tally = Tally(INPUTS * len(found), decided)
        if compare and hostile_in(moot):
            quiet = stormy(seed, n, kinds, switched_off=True)
            run_through(quiet)
            without = assert_promises_hold(quiet)
            tally.storms = 1
            for name in found.keys() | without.keys():
                tally.compare(moot, found.get(name), without.get(name))
        return tally
    except Exception as error:
        error.add_note(again("leading_storms", seed, n, *(() if kinds is DRAWN else kinds)))
        raise


def stormy(seed: int, n: int, kinds: Sequence[str] = DRAWN, *, switched_off: bool = False) -> Moot:
    """Hostile members, losses, delays, crashes, a partition, and a motion with leaders: all from the seed."""
    rng = random.Random(f"leading storm {seed}")
    votes = (np.random.default_rng(seed).random((n, INPUTS)) < rng.choice([0.5, 0.7, 0.9])).astype(np.int8)
    votes[rng.randrange(n), :] = -1  # somebody has no model for this
    weather = Weather(delay=rng.choice([0.0, 0.002, 0.02, 0.1]), drop=rng.choice([0.0, 0.0, 0.03, 0.15]))
    bad = rng.sample(range(n), rng.randint(1, faults(n))) if seed % 4 else []
    drawn = {place: rng.choice(kinds) for place in bad}
    if any(kind.endswith(("Seen", "Unseen")) for kind in drawn.values()):  # who lacks nothing asks nothing
        weather = Weather(delay=0.05, drop=0.15)
    honest = [place for place in range(n) if place not in drawn]
    moot = Moot(
        votes, seed, weather=weather, hostile=made_hostile(drawn, rng, SECONDS, honest, OWN),
        policies=dict.fromkeys(range(n), Policy(least_alpha=1, least_k=1)),
        holdouts=dict.fromkeys(range(n), SURE),
        adversaries={p: ATTACKS[kind.removeprefix("lies: ")]() for p, kind in drawn.items() if kind in LIES},
    )  # fmt: skip
    if switched_off:
        for place in drawn:
            moot.crash(place)
    k = min(n - 1, rng.choice([3, 4, 5]))
    moot.put(
        rng.choice(honest), at=rng.uniform(0, 4), seconds=SECONDS, protocol="leaders", k=k,
        alpha=rng.randint(k // 2 + 1, k), rounds=12, pace=rng.choice([0.0, 0.02]), trust=rng.random() < 0.1,
    )  # fmt: skip
    make_trouble(moot, rng, honest)
    return moot


def watch(moot: Moot) -> None:
    """Look at all that honest members send: one signed answer for each round, as long as they run."""
    honest = [place for place in range(moot.n) if place not in hostile_in(moot)]
    signed: dict[tuple[bytes, int, int, int], m.Led] = {}
    carry = moot.network.carry

    def carried(sender: int, peer: int, frame: bytes) -> None:
        if sender in honest and len(frame) > 1 and frame[1] == 28:
            led = m.decode_as(frame, m.Led)
            key = led.motion, sender, led.version // VERSIONS, led.round
            assert signed.setdefault(key, led) == led, "two answers of one honest member for one round"
        carry(sender, peer, frame)

    moot.network.carry = carried  # type: ignore[method-assign]


if __name__ == "__main__":
    print(play(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or DRAWN), "and all promises hold")

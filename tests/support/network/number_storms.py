"""Storms about numbers and probabilities on the memory transport, from a seed, and what must hold in each.

    PYTHONPATH=tests python -m support.network.number_storms SEED NODES [KIND...]

plays one again. Two of three have hostile members: the kinds of the other storms that need no trust, members
that lie in numbers, and some that do with the messages of these motions whatever can be done: forge, swell,
cut, and tell two in one version.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Final

import numpy as np
from msgspec.structs import replace

from folkmoot.adversaries import NUMBER_ATTACKS, PerfectlyMalicious
from folkmoot.network.service.node import Node
from folkmoot.network.storage.account import outcome_in
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.number_verdict import NumberVerdict
from folkmoot.node.transports.memory import Weather, World
from folkmoot.votes import to_levels
from support.network.hostile_members import KINDS, WITH_TRUST, made_hostile
from support.network.message_faults import meddlers, of_family
from support.network.moot_in_memory import HostileKind, Moot
from support.network.number_moot import NumberMoot
from support.network.signatures import checked_once
from support.network.storms import (
    SECONDS,
    again,
    assert_agree,
    hostile_in,
    hostile_kinds,
    make_trouble,
    run_through,
)

LIES: Final = tuple(f"lies: {name}" for name in NUMBER_ATTACKS)
TWO_CLOSES: Final = "two closes"
TOL: Final = {"numbers": 0.5, "probabilities": 0.02}


class TwoInOneVersion:
    """Answers every second peer with other numbers than the rest, in one version."""

    def __call__(self, moot: Moot, place: int, _node: Node, world: World[int]) -> None:
        send, key = world.send, moot.keys[place]

        def sent(peer: int, frame: bytes) -> None:
            message = m.decode(frame)
            if isinstance(message, m.Answer) and peer % 2:
                votes = bytes(len(message.votes))  # zeros everywhere
                said = statements.state(
                    message.motion, place, message.version, hashlib.sha256(votes).digest()
                )
                frame = m.encode(replace(message, votes=votes, signature=key.sign(said)))
            send(peer, frame)

        world.send = sent  # type: ignore[method-assign]


class Mangles:
    """Signs answers and closes that hold no numbers: NaN of other bits, infinity, too much or too little."""

    most = 40  # of the long ones

    def __call__(self, moot: Moot, place: int, _node: Node, world: World[int]) -> None:
        send, key = world.send, moot.keys[place]
        rng, left = random.Random(f"mangles {moot.seed} {place}"), self.most

        def mangled(data: bytes) -> bytes:
            nonlocal left
            left -= 1
            kinds = [
                data[:-1],
                data + b"\0",
                b"\xff" * len(data),
                bytes(7) + b"\xf0" + data[8:],
                b"",
                data * 2,
            ]
            return rng.choice([*kinds, bytes(400_000)] if left > 0 else kinds)

        def sent(peer: int, frame: bytes) -> None:
            message = m.decode(frame)
            if isinstance(message, m.Answer):
                votes = mangled(message.votes)
                said = statements.state(
                    message.motion, place, message.version, hashlib.sha256(votes).digest()
                )
                frame = m.encode(replace(message, votes=votes, signature=key.sign(said)))
            elif isinstance(message, m.Close) and message.node == place:
                bare = replace(message, decisions=mangled(message.decisions))
                frame = m.encode(replace(bare, signature=key.sign(statements.closing(bare))))
            send(peer, frame)

        world.send = sent  # type: ignore[method-assign]


class Forges:
    """Says with every answer something else in the name of others, which these have not signed."""

    def __call__(self, moot: Moot, place: int, _node: Node, world: World[int]) -> None:
        send, rng = world.send, random.Random(f"forges {moot.seed} {place}")

        def sent(peer: int, frame: bytes) -> None:
            message = m.decode(frame)
            if isinstance(message, m.Answer):
                other = rng.randrange(moot.n)
                false = m.Close(
                    message.motion, other, message.votes, bytes(32), message.votes, "", message.signature
                )
                send(peer, m.encode(false))
                send(peer, m.encode(replace(message, votes=message.votes[::-1])))
            send(peer, frame)

        world.send = sent  # type: ignore[method-assign]


OWN: Final[dict[str, Callable[[], HostileKind]]] = meddlers("numbers") | {
    "two in one version": TwoInOneVersion, "mangles": Mangles, "forges": Forges,
}  # fmt: skip
DRAWN: Final = (*LIES, TWO_CLOSES, *(kind for kind in KINDS if kind not in WITH_TRUST), *OWN)

FAULTY: Final = tuple(of_family("numbers"))  # a storm for each fault of an answer or a close


@checked_once()
def play(seed: int, n: int, kinds: Sequence[str] = DRAWN, *, compare: bool = True) -> tuple[int, int, int]:
    """One storm: inputs claimed with the hostile and without them, of how many; its promises hold in both."""
    try:
        moot = stormy(seed, n, kinds)
        run_through(moot)
        found = assert_promises_hold(moot)
        if not compare or not hostile_in(moot):
            return found, found, moot.values.shape[1]
        quiet = stormy(seed, n, kinds, switched_off=True)
        run_through(quiet)
        return found, assert_promises_hold(quiet), moot.values.shape[1]
    except Exception as error:
        error.add_note(again("number_storms", seed, n, *(() if kinds is DRAWN else kinds)))
        raise


def stormy(seed: int, n: int, kinds: Sequence[str] = DRAWN, *, switched_off: bool = False) -> NumberMoot:
    """Hostile members, losses, delays, crashes, restarts, a partition, and a motion: all from the seed."""
    rng, generator = random.Random(f"number storm {seed}"), np.random.default_rng(seed)
    drawn = hostile_kinds(seed, n, kinds)
    honest = [place for place in range(n) if place not in drawn]
    if seed % 2:
        values = generator.normal(rng.choice([0.0, 1e9]), rng.choice([0.1, 3.0, 100.0]), (n, 3))
        values[rng.randrange(n), 0] = np.nan  # somebody's model fails on an input
    else:
        values = to_levels(generator.dirichlet(np.full(3, rng.choice([0.5, 5.0])), (n, 3))).astype(np.int16)
        values[rng.randrange(n), 0] = -1
    weather = Weather(delay=rng.choice([0.0, 0.002, 0.02, 0.1]), drop=rng.choice([0.0, 0.0, 0.03, 0.15]))
    hostile = made_hostile(drawn, rng, SECONDS, honest, OWN)
    lies = {p: kind.removeprefix("lies: ") for p, kind in drawn.items() if kind in LIES}
    moot = NumberMoot(
        values, seed, weather=weather, hostile=hostile,
        adversaries=dict.fromkeys(lies, PerfectlyMalicious()),
        number_adversaries={place: NUMBER_ATTACKS[name]() for place, name in lies.items()},
        two_faced=[place for place, kind in drawn.items() if kind == TWO_CLOSES],
    )  # fmt: skip
    if switched_off:
        for place in drawn:
            moot.crash(place)
    tol = TOL["numbers" if seed % 2 else "probabilities"]
    moot.put(
        rng.choice(honest),
        at=rng.uniform(0, 4),
        seconds=SECONDS,
        rounds=rng.choice([1, 2, 5]),
        tol=tol,
        pace=rng.choice([0.0, 0.02]),
    )
    make_trouble(moot, rng, honest)
    return moot


def assert_promises_hold(moot: NumberMoot) -> int:
    """All that is promised with f < n/5; returns how many inputs some honest node claims."""
    honest = [place for place in range(moot.n) if place not in hostile_in(moot)]
    frames: dict[tuple[bytes, int], bytes] = {}
    verdicts: dict[bytes, list[NumberVerdict]] = {}
    for place in honest:
        storage = moot.storages[place]
        for stored in storage.motions():
            motion, held = stored.motion, storage.held(stored.name)
            if motion.asker not in honest:
                continue  # of a member that floods: the others hold no numbers on these
            outcome = outcome_in(stored, held)
            assert isinstance(outcome, NumberVerdict)
            verdicts.setdefault(stored.name, []).append(outcome)
            form = motion.form
            first = form.opening(moot.values.reshape(*moot.values.shape[:2], -1)[honest].reshape(
                -1, moot.values.shape[2] if moot.values.ndim == 3 else 1
            )).reshape(len(honest), motion.inputs, -1)  # fmt: skip
            low, high = np.nanmin(first, axis=0), np.nanmax(first, axis=0)
            slack = outcome.tol / 2 + 1e-15 * np.abs(high)
            near = np.isnan(outcome.claims) | (
                (outcome.claims >= low - slack) & (outcome.claims <= high + slack)
            )
            assert near.all(), "a claim far from all that the honest said at first"
            for signer, close in held.closes.items():
                if signer in honest:
                    assert frames.setdefault((stored.name, signer), m.encode(close)) == m.encode(close)
                    said = form.unpack(close.decisions)
                    assert (np.isnan(said) | ((said >= low) & (said <= high))).all(), "beyond the honest"
            for accused, proof in held.evidence:
                assert accused not in honest
                participant = moot.roster[accused]
                fingerprint = bytes.fromhex(participant.fingerprint)
                assert statements.proves(proof, participant.public_key, fingerprint)
    claimed = np.zeros(moot.values.shape[1], dtype=bool)
    for found in verdicts.values():
        for one, other in combinations(found, 2):
            assert_agree(one, other)
        claimed |= np.any([each.claimed for each in found], axis=0)
    return int(claimed.sum())


if __name__ == "__main__":
    print(play(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or DRAWN), "and all promises hold")

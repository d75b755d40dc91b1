"""Storms over motions by peer review: bad weather, crashes, and one member of seven that cheats with rows.

    PYTHONPATH=tests python -m support.network.review_storms SEED [KIND [ANSWERS]]

plays one storm again. The promises: nobody honest is accused, and evidence holds; every node signs one close;
two honest nodes that know the map of a motion know the same one, and no two different labels of a
contributor; no row is shown twice; nobody honest is told a map before it has voted; every motion ends. Of
numbers two claims of honest nodes differ by at most tol, and lie in the honest range but for tol / 2.
"""

from __future__ import annotations

import dataclasses
import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np
from msgspec.structs import replace

from folkmoot.adversaries import ATTACKS
from folkmoot.network.session.minutes import MAP
from folkmoot.network.storage.account import outcome_of
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.forms import Answers
from folkmoot.network.wire.number_verdict import NumberVerdict
from folkmoot.network.wire.review import claims_form
from folkmoot.node.transports.memory import Weather
from support.network.message_faults import BY_ASKER, Meddling, of_family
from support.network.review_moot import ReviewMoot
from support.network.signatures import checked_once
from support.network.storms import again

NODES: Final = 7
SECONDS: Final = 10.0
SHOWN: Final = 6  # rows in a motion
TOL: Final = 0.5  # of numbers
Change = Callable[[int, Any], list[m.Message]]  # what is sent to a peer instead of a message


def between(moot: ReviewMoot, place: int, change: Change) -> None:
    """Put somebody between a node and the others."""
    world = moot.network.of(place)
    send = world.send

    def sent(peer: int, frame: bytes) -> None:
        for message in change(peer, m.decode(frame)):
            send(peer, m.encode(message))

    world.send = sent  # type: ignore[method-assign]


def honest(*_: object) -> Change:
    """As it should be."""
    return lambda _, message: [message]


def keeps_back(kind: type[m.Message], share: float = 1.0) -> Callable[..., Change]:
    """Never sends messages of a kind, or to some of the others only."""

    def make(_: ReviewMoot, __: int, rng: random.Random) -> Change:
        victims = {peer for peer in range(NODES) if rng.random() < share}
        return lambda peer, message: [] if isinstance(message, kind) and peer in victims else [message]

    return make


def two_labels(moot: ReviewMoot, place: int, _: random.Random) -> Change:
    """Opens other labels to every second one."""

    def change(peer: int, message: Any) -> list[m.Message]:
        if isinstance(message, m.Labels) and message.node == place and message.labels and peer % 2:
            form = claims_form(moot.answers, SHOWN, moot.classes)
            said = form.unpack(message.labels) + np.int8(1)
            said = said if moot.answers == "numbers" else said % np.int8(moot.classes)
            bare = replace(message, labels=form.pack(said))
            signed = replace(bare, signature=moot.keys[place].sign(statements.opens_labels(bare)))
            return [signed, message] if peer % 3 else [signed]
        return [message]

    return change


def two_maps(moot: ReviewMoot, place: int, rng: random.Random) -> Change:
    """As an asker: opens another map to every second one."""
    seed = rng.randbytes(32)

    def change(peer: int, message: Any) -> list[m.Message]:
        if isinstance(message, m.Owners) and message.node == place and peer % 2:
            bare = replace(message, seed=seed)
            return [replace(bare, signature=moot.keys[place].sign(statements.opens_owners(bare)))]
        return [message]

    return change


def forges(_: ReviewMoot, place: int, rng: random.Random) -> Change:
    """Relays openings that others have not signed, its own rows under other names, and rows that are none."""

    def change(_: int, message: Any) -> list[m.Message]:
        other = rng.choice([p for p in range(NODES) if p != place])
        if isinstance(message, m.Labels):
            return [message, replace(message, node=other), replace(message, salt=bytes(32))]
        if isinstance(message, m.Rows):
            what = message.contribution
            return [
                replace(message, contribution=replace(what, node=other)),
                replace(message, data=message.data + bytes(4)),
                replace(message, contribution=replace(what, rows=1000)),
                replace(message, data=bytes(1 << 19)),
                message,
            ]
        if isinstance(message, m.Marks):
            made_up = m.Owners(message.motion, other, rng.randbytes(32), (), rng.randbytes(64))
            return [message, made_up]
        return [message]

    return change


def replays(_: ReviewMoot, __: int, ___: random.Random) -> Change:
    """Sends everything about check rows again and again, in every motion it hears of."""
    kept: list[m.Message] = []

    def change(_: int, message: Any) -> list[m.Message]:
        again: list[m.Message] = []
        if isinstance(message, m.Labels | m.Owners | m.Rows | m.Invite | m.Unopened) and len(kept) < 40:
            kept.append(message)
        if isinstance(message, m.Commit | m.Reveal):
            for old in kept[-6:]:
                again.append(old)
                if isinstance(old, m.Labels | m.Owners | m.Unopened):
                    again.append(replace(old, motion=message.motion))
        return [message, *again]

    return change


def asks_often(_: ReviewMoot, __: int, ___: random.Random) -> Change:
    """Asks for everything that is open, with every message, and says that it has nothing."""
    return lambda _, message: (
        [message, *[m.Unopened(message.motion, b"")] * 5]
        if isinstance(message, m.Commit | m.Ask | m.Pending)
        else [message]
    )


def stalls(_: ReviewMoot, __: int, ___: random.Random) -> Change:
    """Says that it is not as far yet instead of opening anything."""
    return lambda _, message: (
        [m.Pending(message.motion)] if isinstance(message, m.Labels | m.Owners) else [message]
    )


KINDS: Final[dict[str, Callable[..., Change]]] = {
    "keeps labels back": keeps_back(m.Labels),
    "tells some its labels": keeps_back(m.Labels, 0.5),
    "keeps its map back": keeps_back(m.Owners),
    "tells some its map": keeps_back(m.Owners, 0.5),
    "keeps rows back": keeps_back(m.Rows),
    "two labels": two_labels,
    "two maps": two_maps,
    "forges": forges,
    "replays": replays,
    "asks often": asks_often,
    "stalls": stalls,
}
LIES: Final = "lies"
MEDDLING: Final = of_family("check rows")
DRAWN: Final = (*KINDS, LIES, *MEDDLING)
QUICK: Final = (*DRAWN, *DRAWN[:18])  # a storm against each kind, and some more


@checked_once()
def play(
    seed: int,
    kind: str | None = None,
    motions: int = 2,
    answers: Answers = "labels",
    *,
    switched_off: bool = False,
) -> Counter[str]:
    """One storm and its promises, or the same with its hostile member switched off; returns what happened."""
    try:
        moot, bad, early = stormy(seed, kind, motions, answers)
        if switched_off:
            moot.crash(bad)
        moot.network.run(until=motions * SECONDS + 8.0)
        return assert_promises_hold(moot, bad, early)
    except Exception as error:
        line = again("review_storms", seed, *([] if kind is None else [kind, answers]))
        error.add_note(f"review storm of seed {seed}: {line}")
        raise


def stormy(
    seed: int, kind: str | None, motions: int, answers: Answers = "labels"
) -> tuple[ReviewMoot, int, list[tuple[int, int]]]:
    """A hostile member, losses, delays, crashes, and two motions, all from the seed."""
    rng = random.Random(f"review storm {seed}")
    bad = rng.randrange(NODES)
    kind = rng.choice(DRAWN) if kind is None else kind
    fault, message = MEDDLING.get(kind, (None, None))
    weather = Weather(delay=rng.choice([0.0, 0.005, 0.05]), drop=rng.choice([0.0, 0.0, 0.03, 0.1]))
    if message is m.Unopened:  # nobody asks for what it has
        weather = Weather(delay=0.05, drop=0.15)
    liars = {bad: ATTACKS["malicious"]()} if kind == LIES else {}
    moot = ReviewMoot(
        NODES, seed, asked=20, each=2 * SHOWN, shown=SHOWN, accuracy=0.9, classes=rng.choice([2, 3]),
        weather=weather, adversaries=liars, answers=answers,
        hostile={} if fault is None or message is None else {bad: Meddling(fault, message)},
    )  # fmt: skip
    if message is m.Refuse:
        moot.policies[bad] = dataclasses.replace(moot.policies[bad], check_rows=0)
        moot.start(bad)
    early: list[tuple[int, int]] = []
    for place in range(NODES):
        if place == bad and kind in KINDS:
            between(moot, place, KINDS[kind](moot, place, rng))
        elif place != bad:
            between(moot, place, _watching(moot, early, place))
    others = [place for place in range(NODES) if place != bad]
    for number in range(motions):
        asker = bad if rng.random() < 0.35 else rng.choice(others)
        if message is not None and number == 0:  # so that there is something to meddle with
            asker = bad if message.__name__ in BY_ASKER else rng.choice(others)
        at = number * (SECONDS + 2.0)
        moot.put_review(
            asker,
            at=at,
            seconds=SECONDS,
            rounds=6,
            **({} if answers == "numbers" else {"k": 4, "alpha": 3}),
            created=1e9 + at,
            pace=rng.choice([0.0, 0.02]),
        )
    if rng.random() < 0.5:
        gone, when = rng.choice(others), rng.uniform(0.0, SECONDS)
        moot.at(when, lambda: moot.crash(gone))
        moot.at(when + rng.uniform(0.1, 4.0), lambda: moot.start(gone))
    if rng.random() < 0.3:
        side = rng.sample(range(NODES), rng.randint(1, 3))
        moot.at(rng.uniform(0, 4), lambda: moot.network.divide(side))
        moot.at(rng.uniform(4, 8), lambda: moot.network.divide())
    return moot, bad, early


def _watching(moot: ReviewMoot, early: list[tuple[int, int]], place: int) -> Change:
    """Notes maps that an honest node sends to somebody who has not voted; sees that rows are sent once."""
    given: dict[bytes, bytes] = {}

    def change(peer: int, message: Any) -> list[m.Message]:
        if isinstance(message, m.Rows):
            for i in range(0, len(message.data), 4):
                row = message.data[i : i + 4]
                assert given.setdefault(row, message.motion) == message.motion, "a row was shown twice"
        if isinstance(message, m.Owners):
            node = moot.nodes[peer]
            session = None if node is None else node.session(message.motion)
            known = None if session is None else session.minutes.voted
            if node is not None and known is None and moot.storages[peer].held(message.motion).voted is None:
                early.append((place, peer))
        return [message]

    return change


def assert_promises_hold(moot: ReviewMoot, bad: int, early: list[tuple[int, int]]) -> Counter[str]:
    """All that is promised; returns how many motions were played, how many were learnt from, and the like."""
    assert early == [], "a map was sent to somebody who had not voted"
    found: Counter[str] = Counter()
    claims: dict[bytes, list[Any]] = {}
    closes: dict[tuple[bytes, int], bytes] = {}
    maps: dict[bytes, bytes] = {}
    labels: dict[tuple[bytes, int], bytes] = {}
    for place in (p for p in range(NODES) if p != bad):
        storage = moot.storages[place]
        for stored in storage.motions():
            held = storage.held(stored.name)
            found["motions"] += 1
            found["learnt from"] += bool(stored.summary.get("anchored"))
            found["vanished"] += len(stored.summary.get("vanished", []))
            for signer, close in held.closes.items():
                if signer != bad:
                    assert closes.setdefault((stored.name, signer), m.encode(close)) == m.encode(close)
            for accused, proof in held.evidence:
                assert accused == bad
                member = moot.roster[accused]
                assert statements.proves(proof, member.public_key, bytes.fromhex(member.fingerprint))
                found[statements.kind(proof)] += 1
            for node, opened in held.opened.items():
                if node == MAP and isinstance(opened, m.Owners):
                    known = m.encode(replace(opened, signature=bytes(64)))
                    assert maps.setdefault(stored.name, known) == known
                elif isinstance(opened, m.Labels) and opened.labels:
                    assert labels.setdefault((stored.name, node), opened.labels) == opened.labels
                    _are_right(moot, node, bad, opened, held.opened[MAP])
            outcome = outcome_of(storage, stored)
            if stored.motion.asker != bad:
                found["inputs"] += len(outcome.decisions)
                found["decided"] += int((outcome.decisions >= 0).sum())
            if isinstance(outcome, NumberVerdict):
                claims.setdefault(stored.name, []).append(outcome.claims[:, 0])
                found["claimed"] += int(outcome.claimed.sum())
            ended = stored.closed is not None or moot.nodes[place] is None
            assert ended or stored.ends > 1e9 + moot.network.time, "a motion has not ended"
    for made in claims.values():
        _are_near(moot, bad, np.stack(made))
    return found


def _are_near(moot: ReviewMoot, bad: int, claims: Any) -> None:
    """Claims (node, input) of the honest: near each other, and in the range of the honest first numbers."""
    honest = np.delete(moot.told, bad, axis=0)[:, : moot.asked, 0]
    low, high = honest.min(axis=0), honest.max(axis=0)
    for i in range(moot.asked):
        made = claims[~np.isnan(claims[:, i]), i]
        if made.size:
            assert np.ptp(made) <= TOL * (1 + 1e-12)
            assert low[i] - TOL / 2 - 1e-12 <= made.min() <= made.max() <= high[i] + TOL / 2 + 1e-12


def _are_right(moot: ReviewMoot, node: int, bad: int, opened: m.Labels, owners: Any) -> None:
    """The labels of honest contributors are the truths of rows that they hold out."""
    rows = next(each.contribution.rows for each in owners.owned if each.contribution.node == node)
    truth = moot.numbers if moot.answers == "numbers" else moot.truth
    told = Counter(claims_form(moot.answers, rows, moot.classes).unpack(opened.labels).ravel().tolist())
    if node != bad:
        assert told <= Counter(truth[moot.numbers_of(node)].tolist())


if __name__ == "__main__":
    what = cast("Answers", sys.argv[3] if len(sys.argv) > 3 else "labels")
    happened = play(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None, answers=what)
    print(dict(happened), "and all promises hold")

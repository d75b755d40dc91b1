"""What a participant hears in FBA: what liars say to it, and what has arrived by now.

Liars are the Byzantine participants of the other protocols. What one would answer to a query it says here
of every ballot and in all phases at once, to whom it would answer it; one that repeats somebody repeats its
statements. Each shows the quorum set that helps it most, which it satisfies by itself. So a liar is two-
faced if its answers are, and its first vote with them. One that misstates says something else to each in
every part of its statements, drawn by the seed and the hearer, and keeps to it.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from folkmoot.adversaries import Sees
from folkmoot.arrays import Array, Bools, Colours, Ints, Words
from folkmoot.outlook.ballots import NONE, PHASES, Ballots, only
from folkmoot.outlook.evidence import Listening
from folkmoot.outlook.moot import Moot
from folkmoot.outlook.talk import counted, mix, runner_up

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Told:
    """What liars say, and to whom."""

    def __init__(self, moot: Moot, rng: np.random.Generator, repetition: int, counters: int) -> None:
        self.who = np.array(sorted(moot.adversaries), dtype=np.int64)
        self.table = moot.liars
        self.followed = np.flatnonzero(moot.honest)[self.table.target] if len(self.who) else self.who
        self.classes, self.counters = moot.classes, counters
        self.misstating = {place for place, liar in moot.adversaries.items() if liar.misstates}
        inputs = moot.votes.shape[1]
        # What is drawn for an input hangs on its key, if there are keys, and not on the batch it comes in.
        keys = np.arange(inputs) if moot.keys is None else moot.keys
        self._told: dict[tuple[int, int], tuple[Colours, Ints]] = {}  # what misstating ones have told whom
        self._words = partial(_words, _seeded(moot.seed, repetition), keys)
        shape = (len(self.who), inputs)
        self.dice: Array = np.zeros(shape, dtype=np.int64)
        if moot.keys is None:
            self.dice = rng.integers(0, moot.classes, shape)
        elif Sees.DIE.value in self.table.sees:
            self.dice = np.concatenate(
                [_below(moot.classes, self._words(-1, liar)) for liar in self.who.tolist()]
            )
        self.runner_up = runner_up(counted(moot.votes[moot.honest].T, moot.classes))
        self.away = ~moot.present[self.who] if moot.missing == "absent" else None

    def key(self, viewer: int) -> bytes:
        """The same for those who are told the same."""
        apart = viewer.to_bytes(8, "big") if self.misstating else b""
        return self._labels(viewer).tobytes() + apart

    def _labels(self, viewer: int) -> Colours:
        """(liar, input): what each says to this one; NONE for those who repeat somebody."""
        said: Colours = np.full(self.dice.shape, NONE, dtype=np.int8)
        for liar, sees in enumerate(self.table.sees.tolist()):
            if sees == Sees.TARGET.value:
                continue
            seen: Array = np.zeros(said.shape[1], dtype=np.int64)
            if sees == Sees.ASKER.value:
                seen = seen + viewer
            elif sees == Sees.DIE.value:
                seen = self.dice[liar]
            elif sees == Sees.RUNNER_UP.value:
                seen = self.runner_up
            answers: Colours = self.table.answers[liar]
            said[liar] = answers[np.arange(said.shape[1]), seen + 1]
        if self.away is not None:
            said[self.away] = NONE
        return said

    def mixed_in(
        self, viewer: int, inputs: Ints, ballots: Ballots, first: Colours
    ) -> tuple[Ballots, Colours]:
        """What this one hears, with what the liars say to it."""
        labels = self._labels(viewer)[:, inputs]
        said, counter = ballots.said.copy(), ballots.counter.copy()
        wanted, first = ballots.wanted.copy(), first.copy()
        highest = counter.max(axis=0)
        for liar, place in enumerate(self.who.tolist()):
            sees = self.table.sees[liar]
            if place in self.misstating:
                drawn, own_counter = self._anything(int(viewer), place)
                drawn = drawn[:, inputs]
                if self.away is not None:
                    drawn[:, self.away[liar, inputs]] = NONE
                said[:, :, place] = drawn[2:].reshape(said.shape[0], said.shape[1], -1)
                first[place], wanted[place] = drawn[:2]
                counter[place] = own_counter[inputs]
                continue
            if sees == Sees.TARGET.value:
                answers = self.table.answers[liar, inputs]
                held = ballots.said[:, :, self.followed[liar]].astype(np.int64)
                said[:, :, place] = answers[np.arange(len(inputs)), held + 1]
                own = ballots.wanted[self.followed[liar]].astype(np.int64)
                wanted[place] = answers[np.arange(len(inputs)), own + 1]
                counter[place] = counter[self.followed[liar]]
                if self.away is not None:
                    said[:, :, place, self.away[liar, inputs]] = NONE
                continue
            said[:, :, place] = labels[liar]
            wanted[place] = labels[liar]
            counter[place] = np.where(labels[liar] == NONE, 0, highest)
            if sees == Sees.ASKER.value:
                first[place] = labels[liar]
        return Ballots(said, counter, wanted, ballots.decided), first

    def _anything(self, viewer: int, place: int) -> tuple[Colours, Ints]:
        """(part, input), (input,): what this liar tells this hearer: labels, or NONE, as its first vote,
        its wish and for each phase and counter; and the counter that it is at.
        """
        if (viewer, place) not in self._told:
            parts = 3 + len(PHASES) * self.counters
            words = self._words(viewer, place, parts=parts)
            labels = _below(self.classes + 1, words[:-1]).astype(np.int8) - np.int8(1)
            self._told[viewer, place] = labels, _below(self.counters + 1, words[-1])
        return self._told[viewer, place]


def _seeded(*numbers: int) -> np.uint64:
    return np.uint64(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])


def _words(seed: np.uint64, keys: Ints, *purpose: int, parts: int = 1) -> Words:
    """(part, input): words of 64 bits by the key of each input."""
    start = seed ^ _seeded(*(each + 1 for each in purpose))
    own = mix((keys.astype(np.uint64) + np.uint64(1)) * _GOLDEN ^ start)
    return mix(own + np.arange(parts, dtype=np.uint64)[:, None] * _GOLDEN)


def _below(many: int, words: Array) -> Ints:
    """Numbers 0..many-1 of words."""
    return ((words >> np.uint64(33)) % np.uint64(many)).astype(np.int64)


class Post:
    """Messages that take 1 to ``delay`` rounds each; who has heard what by when."""

    def __init__(self, moot: Moot, listening: Listening, delay: int, rng: np.random.Generator) -> None:
        n = len(moot.votes)
        self.rng, self.delay = rng, delay
        self.newest = np.full((n, n), -1)  # (hearer, speaker): when the newest was sent that has arrived
        self.arriving: dict[int, list[tuple[int, Bools]]] = {}
        self.sent: dict[int, Ballots] = {}
        self.named = listening.named

    def send(self, when: int, ballots: Ballots) -> None:
        """Everybody sends what it says at the end of a round; first votes are sent at 0."""
        takes = self.rng.integers(1, self.delay + 1, self.newest.shape)
        np.fill_diagonal(takes, 1)  # what one says oneself one knows
        for delay in range(1, self.delay + 1):
            self.arriving.setdefault(when + delay, []).append((when, takes == delay))
        self.sent[when] = ballots
        for sent, which in self.arriving.pop(when + 1, []):
            self.newest = np.where(which, np.maximum(self.newest, sent), self.newest)
        for old in [each for each in self.sent if each < when - self.delay]:
            del self.sent[old]

    def delivered(self, now: int, viewer: int, ballots: Ballots) -> tuple[Ballots, Bools]:
        """What this one has heard by now, and (participant,) from whom anything."""
        newest = self.newest[viewer]
        said, counter = np.full_like(ballots.said, NONE), np.zeros_like(ballots.counter)
        wanted = np.full_like(ballots.wanted, NONE)
        for when, old in self.sent.items():
            rows = np.flatnonzero((newest == when) & (newest < now))
            said[:, :, rows] = old.said[:, :, rows]
            counter[rows], wanted[rows] = old.counter[rows], old.wanted[rows]
        return Ballots(said, counter, wanted, ballots.decided), newest >= 0

    def ready(self, now: int, rows: Ints) -> Bools:
        """(row,): who has the first votes of all whom it waits for, or of all that are to come."""
        heard = (self.newest[rows] >= 0) | ~self.named[rows]
        return np.asarray(heard.all(axis=1) | (now > self.delay))

    def go_on_with(self, inputs: Bools) -> None:
        """The other inputs are over."""
        self.sent = {when: only(each, inputs) for when, each in self.sent.items()}

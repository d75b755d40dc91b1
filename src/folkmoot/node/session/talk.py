"""A talk: before its final votes each member asks k others in each round, by the rule of a protocol.

It begins when the first votes are agreed. Nobody has to hear everything. A round ends when those asked have
answered, or three delta after it began, and a missing answer counts against alpha. The result is a final vote
in the second poll, so nothing that is said here has to be signed or stored. A member that was started again
talks again from its first votes.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from typing import Final

import numpy as np

from folkmoot.arrays import Classes, Ints
from folkmoot.node.ballots import Labels, shares_of
from folkmoot.node.session.frames import Answer, Ask
from folkmoot.node.session.signer import Signer
from folkmoot.node.session.terms import LOCAL, Terms
from folkmoot.protocols.many import Opinions, winners
from folkmoot.protocols.thresholds import batch_accuracies
from folkmoot.votes import NO_VOTE

_PATIENCE: Final = 3  # delta: a question, an answer, and some
_PAUSE: Final = 0.25  # delta, on average, before each round: so that members do not move in step
_TO_SPARE: Final = 64  # answers to a member beyond two for every round
MOST_PAST: Final = 500  # rounds that are told of
_MOST_HEARD: Final = 10_000_000  # members x inputs x labels from which a local threshold is taken


@dataclass(frozen=True)
class Past:
    """A round that is over: whom it asked, who answered, which share of these votes each label had."""

    round: int
    at: float
    asked: tuple[int, ...]
    heard: tuple[int, ...]
    changed: int  # inputs on which the member holds something else after it
    shares: dict[int, float]


class Talk:
    """One member's part in a talk. It is over when ``over`` says so; then ``held`` is its final vote."""

    def __init__(
        self, terms: Terms, first: Ints, *, delta: float, began: float, signer: Signer,
        seed: bytes = b"", holdout: tuple[int, int] = (0, 0),
    ) -> None:  # fmt: skip
        """``first`` are the agreed first votes (member, input), ``holdout`` as in ``Motion``."""
        self.terms, self.round = terms, 0
        self.n, self.me = len(first), signer.me
        self._signer, self._delta = signer, delta
        self._until = began + terms.talk_seconds
        self._random = random.Random(hashlib.sha256(b"folkmoot/3 talk\n" + seed + signer.motion).digest())
        self._rule = terms.talk(self.n, _accuracy(terms, first, self.me, holdout))
        self._form = Labels(first.shape[1], terms.labels)
        classes = len(terms.labels)
        self._opinions = Opinions(self._rule, classes, first[self.me].astype(np.int8))
        self._alpha = int(self._rule.thresholds(1)[0])
        self._packed: bytes | None = None
        self._asked: list[int] = []
        self._waiting: set[int] = set()
        self._answers: dict[int, Classes] = {}
        self._quiet: set[int] = set()  # who was silent when last asked: nobody waits for them
        self._often = [0] * self.n  # answers given to each
        self._heard = False  # has anybody answered?
        self._ends = began + self._pause()  # of the round, or of the pause before it
        self._stopped = False
        self.past: list[Past] = []  # the last rounds

    @property
    def asked(self) -> list[int]:
        """Members that it asked in this round."""
        return list(self._asked)

    @property
    def answered(self) -> list[int]:
        """Members that have answered in this round."""
        return sorted(self._answers)

    @property
    def colours(self) -> Ints:
        """Its present colours."""
        return self._opinions.answers.astype(np.int64)

    @property
    def over(self) -> bool:
        """Whether this member asks no more."""
        return self._stopped or self.round >= self.terms.rounds or self.n < 2 or not self._opinions.asking

    @property
    def held(self) -> bytes:
        """Its final vote: where the protocol decides, what it has decided. Without any answer it has none."""
        if not self._heard:
            return b""
        return self._form.pack(self._opinions.decisions.astype(np.int64))

    def step(self, now: float, *, others_are_done: bool) -> bool:
        """End a round whose time is over, begin the next; whether anything was done."""
        if self.over:
            return False
        if others_are_done:  # they wait for the votes of slow members in the window of their poll
            self._until = min(self._until, now + self.terms.window / 2)
        if now >= self._until:
            self._stopped = True
            return True
        if self._asked and (now >= self._ends or not self._waiting - self._quiet):
            self._quiet |= self._waiting
            self._react(now)
            self._ends = now + self._pause()
            return True
        if not self._asked and now >= self._ends:
            others = [i for i in range(self.n) if i != self.me]
            self._asked = self._random.sample(others, self._rule.k)
            self._waiting, self._answers = set(self._asked), {}
            self._ends = now + _PATIENCE * self._delta
            for peer in self._asked:
                self._signer.put(peer, Ask(self._signer.motion, self.round))
            return True
        return False

    def due(self) -> float | None:
        """When to step again although nothing arrives."""
        return None if self.over else min(self._ends, self._until)

    def answer(self, peer: int, ask: Ask) -> None:
        """Tell a member what this one holds, so often at the most."""
        self._often[peer] += 1
        if self._often[peer] > 2 * self.terms.rounds + _TO_SPARE:
            return
        if self._packed is None:
            self._packed = self._form.pack(self._opinions.answers.astype(np.int64))
        self._signer.put(peer, Answer(self._signer.motion, ask.round, self._packed))

    def heard(self, peer: int, answer: Answer) -> None:
        """Take in what a member holds, if it was asked in this round; ValueError if these are no votes."""
        self._quiet.discard(peer)
        if answer.round != self.round or peer not in self._waiting:
            return
        self._waiting.discard(peer)
        self._answers[peer] = self._form.unpack(answer.votes).astype(np.int8)

    def _pause(self) -> float:
        return self._random.expovariate(1 / (_PAUSE * self._delta))

    def _react(self, now: float) -> None:
        """Let the rule say what follows from the answers."""
        before = self._opinions.answers.copy()
        if self._answers:
            self._heard = True
            answered = list(self._answers)
            weights = None
            if self.terms.weights:
                silent = [peer for peer in self._asked if peer not in self._answers]
                weights = [self.terms.weights[peer] for peer in (*answered, *silent)]
            won = winners(
                list(self._answers.values()), self._alpha, len(self.terms.labels),
                asked=len(self._asked), weights=weights,
            )  # fmt: skip
            self._opinions.react(won)
            self._packed = None
        votes = np.concatenate([*self._answers.values(), np.zeros(0, dtype=np.int8)])
        changed = int((self._opinions.answers != before).sum())
        heard = tuple(sorted(self._answers))
        self.past.append(Past(self.round, now, tuple(self._asked), heard, changed, shares_of(votes)))
        del self.past[:-MOST_PAST]
        self._asked, self._waiting = [], set()
        self.round += 1


def _accuracy(terms: Terms, first: Ints, me: int, holdout: tuple[int, int]) -> float:
    """What a member can claim: by its holdout, and as far as agreement with its peers bears it out."""
    if terms.alpha != LOCAL:
        return 0.0
    inputs = first.shape[1]
    most = max(_MOST_HEARD // (len(first) * len(terms.labels)), 1000)
    some = np.unique(np.linspace(0, inputs - 1, min(inputs, most)).astype(np.int64))
    there = [i for i in range(len(first)) if i != me and (first[i] != NO_VOTE).any()]
    votes = first[[me, *there]][:, some] if there else None
    right, rows = holdout
    return float(batch_accuracies([right], [rows], votes, participants=[0])[0])

"""TALKING about labels: the protocol's rule says what follows from the answers of a round."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from folkmoot.arrays import Array, Colours
from folkmoot.network.session.asking import Asking, OwnChange
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.session.patience import Patience
from folkmoot.network.session.stance import Stance, is_first
from folkmoot.protocols.many import winners
from folkmoot.trust import heeded
from folkmoot.votes import UNCOLOURED

MOST_CHANGES: Final = 4  # of its own that a node remembers of an input
MOST_ANSWERS: Final = 2560  # and of all inputs together, counted in answers


class Query(NamedTuple):
    """What came of a query."""

    won: Colours
    alpha: int
    answers: list[tuple[int, Colours, bool]]  # of whom, what it holds, and whether that counted


class Talking(Asking):
    """The rounds of one node about labels."""

    _stance: Stance

    def __init__(
        self,
        minutes: Minutes,
        patience: Patience,
        stance: Stance,
        rng: random.Random,
        weights: Sequence[float] | None,
    ) -> None:
        super().__init__(minutes, patience, stance, rng)
        self._weights = weights
        self._noted: Counter[int] = Counter()  # changes by input
        self._unmoved: set[int] = set()  # peers who still held their first votes when they were asked

    def _told_by(self, peer: int, version: int, held: Array) -> None:
        if is_first(version):
            self._unmoved.add(peer)
        if self._minutes.judgement is not None and (held == UNCOLOURED).all():
            self._mute.add(peer)

    def _prepare_to_react(self) -> None:
        if self._minutes.local is None:  # there is no threshold to be settled
            return
        first = [held for peer, held in self._answers.items() if peer in self._unmoved]
        self._stance.settle_threshold(first or list(self._answers.values()))

    def _react(self) -> int:
        """Let the protocol's rule say what follows from the answers; on how many inputs that is new."""
        stance = self._stance
        query = self._query()
        stance.opinions.react(query.won)
        changed = int(np.count_nonzero(stance.opinions.colours != stance.colours))
        if changed:
            self._note(stance.opinions.colours, query)
            stance.change_to(stance.opinions.colours)
        return changed

    def _query(self) -> Query:
        """Which labels have won this node's query, by whose answers."""
        stance, classes = self._stance, self._minutes.motion.classes
        rule = stance.rule.scaled(self._places + 1)
        order = [*self._answers, *(p for p in self._asked if p not in self._answers)][: self._places]
        weights = None if self._weights is None else [self._weights[p] for p in order]
        assert isinstance(rule.alpha, int)  # noqa: S101 (a session has one threshold, its own)
        answers = list(self._answers.values())
        near = np.ones(len(answers), dtype=np.bool_)
        if self._minutes.anchored:
            # Honest first votes earn trust; who then says something else altogether is not heeded.
            near = heeded(stance.colours, np.stack(answers))
        heard = [
            answer if fine else np.full_like(answer, UNCOLOURED)
            for answer, fine in zip(answers, near, strict=True)
        ]
        won = winners(heard, rule.alpha, classes, asked=self._places, weights=weights)
        return Query(won, rule.alpha, list(zip(self._answers, answers, near.tolist(), strict=True)))

    def _note(self, after: Colours, query: Query) -> None:
        """Remember what the answers of this round have changed, as far as there is room."""
        before = self._stance.colours
        for i in np.flatnonzero(before != after).tolist():
            if (len(self.changes) + 1) * len(query.answers) > MOST_ANSWERS:
                return
            if self._noted[i] < MOST_CHANGES:
                self._noted[i] += 1
                said = [(peer, int(colours[i]), fine) for peer, colours, fine in query.answers]
                change = OwnChange(i, self.rounds, int(before[i]), int(after[i]), query.alpha, said)
                self.changes.append(change)

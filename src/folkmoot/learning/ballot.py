"""The votes of a moot on some inputs, and the talk of those who could vote.

Who cannot predict is not waited for: the others talk among themselves, with the protocol scaled to their
number, and in the ``Outcome`` it stands as a participant without a colour that is not honest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from folkmoot.adversaries import Adversary, Copycat, handed_in
from folkmoot.outcome import Change, Outcome
from folkmoot.protocols import Query
from folkmoot.simulation import deliberate
from folkmoot.votes import UNCOLOURED, Votes, vote_keys


@dataclass(frozen=True, eq=False)
class Ballot:
    """Votes (participant, input) as places in ``labels``; ``faults`` says who failed, and how."""

    votes: Votes
    labels: npt.NDArray[Any]
    faults: dict[int, str]

    @property
    def classes(self) -> int:
        """The number of labels."""
        return len(self.labels)

    @cached_property
    def there(self) -> npt.NDArray[np.int64]:
        """Who could vote."""
        return np.setdiff1d(np.arange(len(self.votes)), list(self.faults))

    @cached_property
    def keys(self) -> npt.NDArray[np.int64]:
        """What the randomness of each input hangs on: the votes on it."""
        return vote_keys(self.votes)

    def handed_in(self, liars: dict[int, Adversary], truth: Votes | None) -> Votes:
        """The votes that a centre would see."""
        return handed_in(self.votes, liars, truth, self.classes)

    def talk(
        self, protocol: Query[Any], liars: dict[int, Adversary], truth: Votes | None, **options: Any
    ) -> Outcome:
        """The deliberation of those who are there."""
        there = self.there
        place = {int(participant): i for i, participant in enumerate(there)}
        if len(there) < 2:
            raise ValueError(f"at least two participants must be able to answer: got {len(there)}")
        outcome = deliberate(
            self.votes[there],
            protocol.restricted(there.tolist()).scaled(len(there)),
            adversaries={place[i]: _moved(liar, place) for i, liar in liars.items()},
            truth=truth,
            classes=self.classes,
            keys=self.keys,
            **options,
        )
        return outcome if not self.faults else self._with_faulty(outcome)

    def _with_faulty(self, outcome: Outcome) -> Outcome:
        everybody = (*outcome.decisions.shape[:-2], *self.votes.shape)
        decisions = np.full(everybody, UNCOLOURED, dtype=np.int8)
        decisions[..., self.there, :] = outcome.decisions
        honest = np.zeros(len(self.votes), dtype=np.bool_)
        honest[self.there] = outcome.honest
        replay = None if outcome.replay is None else self._renumbered(outcome.replay)
        return replace(outcome, decisions=decisions, honest=honest, replay=replay)

    def _renumbered(self, replay: Callable[[int], list[Change]]) -> Callable[[int], list[Change]]:
        return lambda i: [
            change._replace(participant=int(self.there[change.participant])) for change in replay(i)
        ]

    def answers(self, outcome: Outcome) -> npt.NDArray[np.int64]:
        """The colour that most of the honest hold, the first of several that are level."""
        return np.asarray(outcome.counts.argmax(axis=-1))

    def shares(self, outcome: Outcome) -> npt.NDArray[np.float64]:
        """(input, colour): how often most of the honest hold which, over repetitions; level colours share."""
        best = outcome.counts == outcome.counts.max(axis=-1, keepdims=True)
        return np.asarray((best / best.sum(axis=-1, keepdims=True)).mean(axis=0))


def _moved(liar: Adversary, place: dict[int, int]) -> Adversary:
    """A liar that follows somebody follows the same one by its new number."""
    if isinstance(liar, Copycat):
        if liar.target not in place:
            raise ValueError(f"Copycat follows participant {liar.target}, which cannot answer")
        return replace(liar, target=place[liar.target])
    return liar

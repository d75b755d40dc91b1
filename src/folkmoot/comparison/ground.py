"""What a report rests on: votes, truth and names; and what they say of each participant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from folkmoot.arrays import Array, Floats, Ints
from folkmoot.baselines import vote_shares
from folkmoot.comparing.how_sure.certainty import Certainty
from folkmoot.comparison.who.table import ParticipantTable, describe_participants
from folkmoot.outcome import Outcome
from folkmoot.simulation.self_anchored import Listeners
from folkmoot.trust.conduct import Opinion
from folkmoot.votes import UNCOLOURED, Votes


@dataclass(frozen=True, eq=False)
class Ground:
    """What was compared, so that more can be asked of it than whose answers are right."""

    votes: Votes  # (participant, input): first votes as the models have them
    seen: Votes  # the same as they were handed in
    truth: Ints | None  # -1 where not known
    classes: int
    names: tuple[str, ...]
    labels: Sequence[Any] | Array | None
    holdout: tuple[Ints, Ints] | None = None  # right, of how many
    weights: Floats | None = None  # of a weighted protocol

    def certainty(self, outcome: Outcome) -> Certainty | None:
        """How sure the first talk's answers are by the shares of the votes; None without truth."""
        known = None if self.truth is None else np.flatnonzero(self.truth != UNCOLOURED)
        if self.truth is None or known is None or not known.size:
            return None
        likely = vote_shares(self.seen, self.classes)[known]
        decided = np.atleast_2d(outcome.decision)[0][known]
        answers = np.where(decided == UNCOLOURED, likely.argmax(axis=1), decided)
        return Certainty(self.truth[known], answers, likely, self.labels)

    def table(
        self,
        outcome: Outcome,
        listeners: Listeners[Opinion] | None,
        byzantine: Sequence[str],
        faulty: Mapping[str, str],
    ) -> ParticipantTable:
        """The row of each participant, by what a talk came to."""
        changes, undecided = _turned(self.votes, outcome)
        return describe_participants(
            self.seen,
            outcome.decision,
            names=self.names,
            classes=self.classes,
            truth=self.truth,
            labels=self.labels,
            holdout=self.holdout,
            weight=self.weights if listeners is None else median_weights(listeners),
            changes=changes,
            undecided=undecided,
            byzantine=byzantine,
            faulty=faulty,
        )


def median_weights(listeners: Listeners[Opinion]) -> Floats:
    """(participant,): what each one's vote counts for by the median of the others that anchor, else nan."""
    found = np.full(len(listeners.trusts), np.nan)
    anchored = np.flatnonzero(listeners.anchored)
    if not anchored.size:
        return found
    weights = np.stack([listeners.trusts[i].weight for i in anchored])
    for i in range(len(found)):
        others = weights[anchored != i, i]
        if others.size:
            found[i] = np.median(others)
    return found


def _turned(first: Votes, outcome: Outcome) -> tuple[Floats, Floats]:
    """(participant,) each: inputs that end with another label than at first, and without any, a repetition.

    nan for who does not follow the protocol: what it holds is its own affair.
    """
    last = outcome.decisions.reshape(-1, *outcome.decisions.shape[-2:])
    there = np.ones(first.shape, dtype=bool) if outcome.present is None else outcome.present
    open_ = ((last == UNCOLOURED) & there).sum(axis=(0, 2)) / len(last)
    spoke = (first != UNCOLOURED) & there
    other = ((last != first) & (last != UNCOLOURED) & spoke).sum(axis=(0, 2)) / len(last)
    return np.where(outcome.honest, other, np.nan), np.where(outcome.honest, open_, np.nan)

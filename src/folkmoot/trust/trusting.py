"""What a participant trusts its peers to be, and what it decides by that: a weighted vote of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.votes import UNCOLOURED, check_votes

_TIE: Final = 1e-9  # of the sum of all weights


@dataclass(frozen=True, eq=False)
class Trust:
    """One participant's view of all: what ``listen`` found."""

    own: int
    classes: int
    inputs: int
    anchored: bool
    """Whether the view hangs on the own holdout. If not, every weight is 0 and nothing is decided; or, where
    the inputs are too few to learn from, all weights are 1."""
    accuracy: Floats
    """(participant,): share of its votes that are right, as far as can be told; nan without votes."""
    standard_error: Floats
    weight: Floats
    """(participant,): what its vote counts for; below 0 it is read backwards. Log-odds times voice."""
    voice: Floats
    """(participant,): 1 for an independent witness, less for those who err together, 1/m for m copies."""
    confusion: Floats
    """(participant, true colour, vote): estimated; every row adds up to 1."""
    prior: Floats
    """(colour,): how common each colour is among the inputs."""
    camps: Ints
    """(participant,): who errs together has the same number."""
    cliques: tuple[tuple[int, ...], ...]
    """Groups of two and more whose votes are the same, up to 3%."""
    recognition: float
    """How far the own votes go along with the answer found: 0 as chance would, 1 always, below 0 against."""
    why: str
    """One sentence: on what the trust rests, or why there is none."""


def decide(votes: npt.ArrayLike, trust: Trust, *, per_class: bool = False) -> Ints:
    """The colour of each input by this participant's trust-weighted vote; -1 on a tie or without an anchor.

    ``votes`` are of the same participants, on the inputs that were listened to or others. ``per_class``
    weighs a vote by what it has meant for each colour (the confusion matrices, as Dawid and Skene) instead of
    by accuracy: better with many balanced colours, worse where some are rare (numbers in docs/trust.md).
    """
    cast = _votes_of(trust, votes)
    if not trust.weight.any():
        return np.full(cast.shape[1], UNCOLOURED)
    if per_class:
        heard = np.flatnonzero(trust.weight)
        rates = np.log(np.maximum(trust.confusion[heard], 1e-6)) * trust.voice[heard, None, None]
        score = np.repeat(np.log(np.maximum(trust.prior, 1e-6))[:, None], cast.shape[1], axis=1)
        for vote in range(trust.classes):
            score += rates[:, :, vote].T @ (cast[heard] == vote)
        scale = np.abs(rates).max(axis=(1, 2)).sum()
    else:
        score = _tally(cast, trust)
        scale = np.abs(trust.weight).sum()
    best = score.max(axis=0)
    tied = (score >= best - _TIE * scale).sum(axis=0) > 1
    return np.where(tied, UNCOLOURED, score.argmax(axis=0))


def margins(votes: npt.ArrayLike, trust: Trust) -> Floats:
    """How clear each decision is: the lead of the best colour over the next, as a share of all weight.

    Participants that anchor agree where it is large; a talk has to settle the inputs where it is small.
    """
    cast = _votes_of(trust, votes)
    scale = np.abs(trust.weight).sum()
    if not scale:
        return np.zeros(cast.shape[1])
    best = np.sort(_tally(cast, trust), axis=0)
    return np.asarray((best[-1] - best[-2]) / scale, dtype=np.float64)


def sampling_weights(trusts: Sequence[Trust], speaking: npt.ArrayLike | None = None) -> Floats:
    """(asker, peer): how likely each asks each, in proportion to positive trust; nobody asks itself.

    The row of a participant without an anchor is 0: it knows nobody to ask. ``speaking`` says who does not
    declare itself uncoloured (all, if not given); the others are not asked: there is nothing to hear.
    """
    matrix = np.maximum(np.stack([trust.weight for trust in trusts]), 0.0)
    matrix[np.arange(len(trusts)), [trust.own for trust in trusts]] = 0.0
    if speaking is not None:
        matrix[:, ~np.asarray(speaking, dtype=np.bool_)] = 0.0
    return matrix


def reputation(trusts: Sequence[Trust]) -> tuple[Floats, Floats]:
    """(participant,): the accuracy and weight that the others who anchor give it, on average; nan if none do.

    ``trusts`` are everybody's, in the order of the participants.
    """
    accuracy, weight = (np.full(len(trusts), np.nan) for _ in range(2))
    for i in range(len(trusts)):
        others = [trust for trust in trusts if trust.anchored and trust.own != i]
        if others:
            accuracy[i] = np.mean([trust.accuracy[i] for trust in others])
            weight[i] = np.mean([trust.weight[i] for trust in others])
    return accuracy, weight


def heeded(held: npt.ArrayLike, answers: npt.ArrayLike, *, least: float = 0.8) -> Bools:
    """(peer,): whose answers in the talk are near enough to what one holds oneself to be counted.

    ``held`` is (input,), ``answers`` (peer, input); inputs where either is uncoloured do not count. First
    votes earn trust, and a liar can vote honestly and lie afterwards; but all who anchor hold nearly the
    same, so that an answer to a whole batch that differs on more than 1 - ``least`` of it is no honest one.
    """
    mine, theirs = np.asarray(held), np.atleast_2d(np.asarray(answers))
    if mine.shape != theirs.shape[1:]:
        raise ValueError(f"answers must be on the same inputs {mine.shape}: got the shape {theirs.shape}")
    told = (mine != UNCOLOURED) & (theirs != UNCOLOURED)
    same = (told & (mine == theirs)).sum(axis=1)
    return np.asarray(same >= checks.probability("least", least) * told.sum(axis=1))


def _tally(cast: Ints, trust: Trust) -> Floats:
    """(colour, input): the weight of those who name it."""
    return np.stack([trust.weight @ (cast == colour) for colour in range(trust.classes)])


def _votes_of(trust: Trust, votes: npt.ArrayLike) -> Ints:
    cast = check_votes(votes, trust.classes)
    if len(cast) != len(trust.weight):
        raise ValueError(f"votes must have a row per participant ({len(trust.weight)}): got {len(cast)}")
    return cast

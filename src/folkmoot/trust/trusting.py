"""What a participant trusts its peers to be, and what it decides by that: a weighted vote of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot.accuracy import softmax
from folkmoot.arrays import Floats, Ints
from folkmoot.trust.shown import ShownView, shares
from folkmoot.votes import UNCOLOURED, Votes, check_votes

_TIE: Final = 1e-9  # of the sum of all weights
_SHARPEST: Final = np.geomspace(1, 1 / 64, 19)  # what scores may be multiplied by before they are believed


@dataclass(frozen=True, eq=False)
class Trust(ShownView):
    """One participant's view of everybody: what ``listen`` found.

    Parameters
    ----------
    own : int
        The participant whose view it is.
    classes : int
        The number of colours.
    inputs : int
        How many inputs were listened to.
    anchored : bool
        Whether the view rests on its own holdout. If not, every weight is 0 and nothing is decided; or, where
        the inputs are too few to learn from, all that voted have the weight 1.
    accuracy : ndarray of float, shape (participant,)
        The share of each one's votes that are right, as far as can be told; nan without votes.
    standard_error : ndarray of float, shape (participant,)
        The error of ``accuracy``.
    weight : ndarray of float, shape (participant,)
        What each one's vote counts for: log-odds times voice. Below 0 the vote is read backwards.
    voice : ndarray of float, shape (participant,)
        1 for an independent witness, less for those that err together, 1/m for m copies.
    confusion : ndarray of float, shape (participant, true colour, vote)
        Estimated confusion matrices; every row adds up to 1.
    prior : ndarray of float, shape (colour,)
        How common each colour is among the inputs.
    camps : ndarray of int, shape (participant,)
        The camp of each: participants that err together have the same number.
    cliques : tuple of tuple of int
        Groups of two and more whose votes are the same, up to 3%.
    recognition : float
        How far the votes of ``own`` go along with the answer found: 0 as often as by chance, 1 always, below
        0 less often than by chance; nan if no answer was looked for.
    why : str
        One sentence: on what the trust rests, or why there is none.

    Examples
    --------
    >>> from folkmoot.datasets import homogeneous_votes
    >>> from folkmoot.trust import Anchor, listen
    >>> votes = homogeneous_votes(5, p=0.8, inputs=500).votes
    >>> votes[4] = votes[3]
    >>> trust = listen(0, votes, Anchor.of_counts(right=8, held_out=10))
    >>> trust.cliques, trust.voice
    (((3, 4),), array([1. , 1. , 1. , 0.5, 0.5]))
    >>> print(trust.why)
    anchored: 8 of 10 right on its holdout, and its votes go along with the answer found (recognition 0.4...)
    """

    own: int
    classes: int
    inputs: int
    anchored: bool
    accuracy: Floats
    standard_error: Floats
    weight: Floats
    voice: Floats
    confusion: Floats
    prior: Floats
    camps: Ints
    cliques: tuple[tuple[int, ...], ...]
    recognition: float
    why: str

    def _beside(self) -> dict[str, list[str]]:
        return {
            "accuracy": shares(self.accuracy, self.standard_error),
            "voice": shares(self.voice),
            "camp": [str(each) for each in self.camps],
        }


def decide(votes: npt.ArrayLike, trust: Trust, *, per_class: bool = False) -> Ints:
    """Decide every input by one participant's trust-weighted vote.

    Parameters
    ----------
    votes : array-like of int, shape (participant, input)
        Votes of the same participants, on the inputs that were listened to or on others; -1 for none.
    trust : Trust
        The participant's view of them.
    per_class : bool, default False
        Weigh a vote by what it has meant for each colour (the confusion matrices, as Dawid and Skene) instead
        of by accuracy. It is better with many balanced colours, worse where some are rare (numbers in
        docs/trust.md).

    Returns
    -------
    ndarray of int, shape (input,)
        The colour of each input; -1 on a tie, or if nobody is trusted.

    Examples
    --------
    >>> from folkmoot.datasets import group_votes
    >>> from folkmoot.trust import Anchor, decide, listen
    >>> votes, truth, _ = group_votes([(6, 0.8), (3, 0.2)], inputs=500)
    >>> trust = listen(0, votes, Anchor.of_counts(right=8, held_out=10))
    >>> bool((decide(votes, trust) == truth).mean() > 0.97)
    True
    """
    cast = _votes_of(trust, votes)
    if not trust.weight.any():
        return np.full(cast.shape[1], UNCOLOURED)
    return _best(*_score(cast, trust, per_class))


def weighted_answer(votes: Votes, weight: Floats, classes: int) -> Ints:
    """(input,): the colour with the most weight, -1 if several are level or nothing has any."""
    scale = np.abs(weight).sum()
    if not scale:
        return np.full(votes.shape[1], UNCOLOURED)
    return _best(_tally(votes, weight, classes), float(scale))


def margins(votes: npt.ArrayLike, trust: Trust) -> Floats:
    """Say how clear each decision of ``decide`` is: the lead of the best colour, as a share of all weight.

    Participants that have an anchor agree where it is large; a talk has to settle the inputs where it is
    small.

    Parameters
    ----------
    votes : array-like of int, shape (participant, input)
        Votes of the same participants, -1 for none.
    trust : Trust
        One participant's view of them.

    Returns
    -------
    ndarray of float, shape (input,)
        The lead of the best colour over the next; 0 if nobody is trusted.

    Examples
    --------
    >>> from folkmoot.datasets import homogeneous_votes
    >>> from folkmoot.trust import Anchor, listen, margins
    >>> votes = homogeneous_votes(3, p=0.8, inputs=500).votes
    >>> trust = listen(0, votes, Anchor.of_counts(right=8, held_out=10))
    >>> lead = margins([[0, 0], [0, 0], [0, 1]], trust)
    >>> bool(lead[0] > lead[1])  # a unanimous input is clearer
    True
    """
    cast = _votes_of(trust, votes)
    scale = np.abs(trust.weight).sum()
    if not scale:
        return np.zeros(cast.shape[1])
    best = np.sort(_tally(cast, trust.weight, trust.classes), axis=0)
    return np.asarray((best[-1] - best[-2]) / scale, dtype=np.float64)


def class_probabilities(votes: npt.ArrayLike, trust: Trust) -> Floats:
    """Estimate how likely each colour is, by one participant's trust.

    The weights are log-odds, so the sums by which ``decide`` decides would be logarithms of probabilities if
    all erred independently, which they do not. So they are multiplied by the number in [1/64, 1] under which
    the others' votes, without its own, best foretell its own votes, given how often it errs
    (``Trust.confusion``).

    Parameters
    ----------
    votes : array-like of int, shape (participant, input)
        Everybody's votes on the inputs that were listened to, -1 for none.
    trust : Trust
        The participant's view of them.

    Returns
    -------
    ndarray of float, shape (input, colour)
        The probabilities; 1/C all over if nobody is trusted.

    Examples
    --------
    Nine participants that are right on 80% err independently, so their log-odds may simply be added.

    >>> from folkmoot.datasets import homogeneous_votes
    >>> from folkmoot.trust import Anchor, class_probabilities, listen
    >>> votes, truth, _ = homogeneous_votes(9, p=0.8, inputs=2000)
    >>> chances = class_probabilities(votes, listen(0, votes, Anchor.of_counts(right=8, held_out=10)))
    >>> sure = chances.max(axis=1)
    >>> bool(abs(sure.mean() - (chances.argmax(axis=1) == truth).mean()) < 0.02)
    True
    """
    cast = _votes_of(trust, votes)
    others = trust.weight.copy()
    others[trust.own] = 0.0
    own = cast[trust.own]
    there = own != UNCOLOURED
    without = _tally(cast[:, there], others, trust.classes)
    # (true colour, input): how likely the own vote is if that colour is right
    errs = np.maximum(trust.confusion[trust.own][:, own[there]], 1e-6)
    foretold = [np.log((errs * softmax(sharp * without, axis=0)).sum(axis=0)).sum() for sharp in _SHARPEST]
    # The first of several that are level: alone, with nobody to foretell its votes, it believes its log-odds.
    best = _SHARPEST[int(np.argmax(np.asarray(foretold) >= max(foretold) - _TIE * len(own)))]
    return softmax(best * _tally(cast, trust.weight, trust.classes), axis=0).T


def reputation(trusts: Sequence[Trust]) -> tuple[Floats, Floats]:
    """Average what the others think of each participant.

    Parameters
    ----------
    trusts : sequence of Trust
        Everybody's, in the order of the participants. Those that do not anchor have no say.

    Returns
    -------
    tuple of ndarray of float, shape (participant,)
        The accuracy and the weight that the others give it, on average; nan if nobody else anchors.

    Examples
    --------
    Thirty participants of accuracy .8 have held 40 inputs out each, and listen to each other.

    >>> from folkmoot.datasets import homogeneous_votes
    >>> from folkmoot.trust import Anchor, listen_all, reputation
    >>> made = homogeneous_votes(30, 0.8, 400, seed=1)
    >>> truth, answers = [0, 1] * 20, [0, 1] * 16 + [1, 0] * 4
    >>> anchors = [Anchor.of_holdout(answers, truth, 2) for _ in range(30)]
    >>> accuracy, weight = reputation(listen_all(made.votes, anchors, classes=2))
    >>> bool(abs(accuracy.mean() - 0.8) < 0.05)
    True
    """
    accuracy, weight = (np.full(len(trusts), np.nan) for _ in range(2))
    for i in range(len(trusts)):
        others = [trust for trust in trusts if trust.anchored and trust.own != i]
        if others:
            accuracy[i] = np.mean([trust.accuracy[i] for trust in others])
            weight[i] = np.mean([trust.weight[i] for trust in others])
    return accuracy, weight


def _score(cast: Votes, trust: Trust, per_class: bool) -> tuple[Floats, float]:
    """(colour, input): how much speaks for each, as logarithms; and of how much in all."""
    if not per_class:
        return _tally(cast, trust.weight, trust.classes), float(np.abs(trust.weight).sum())
    heard = np.flatnonzero(trust.weight)
    rates = np.log(np.maximum(trust.confusion[heard], 1e-6)) * trust.voice[heard, None, None]
    score = np.repeat(np.log(np.maximum(trust.prior, 1e-6))[:, None], cast.shape[1], axis=1)
    for vote in range(trust.classes):
        score += rates[:, :, vote].T @ (cast[heard] == vote)
    return score, float(np.abs(rates).max(axis=(1, 2)).sum())


def _best(score: Floats, scale: float) -> Ints:
    tied = (score >= score.max(axis=0) - _TIE * scale).sum(axis=0) > 1
    return np.where(tied, UNCOLOURED, score.argmax(axis=0))


def _tally(cast: Votes, weight: Floats, classes: int) -> Floats:
    """(colour, input): the weight of those who name it."""
    return np.stack([weight @ (cast == colour) for colour in range(classes)])


def _votes_of(trust: Trust, votes: npt.ArrayLike) -> Votes:
    cast = check_votes(votes, trust.classes)
    if len(cast) != len(trust.weight):
        raise ValueError(f"votes must have a row per participant ({len(trust.weight)}): got {len(cast)}")
    return cast

"""Truth and skill from the votes alone, by expectation-maximisation.

The equations, and how they differ from A. P. Dawid and A. M. Skene (1979), are at the top of
``folkmoot/trust/expectation.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.baselines.majority import tally
from folkmoot.outcome import most
from folkmoot.trust.expectation import OneHot, estimate, expected_votes, one_hot
from folkmoot.votes import check_votes, class_count

_TIE = 1e-9  # closer than that is a tie


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """What ``dawid_skene`` found.

    Parameters
    ----------
    decision : ndarray of int, shape (input,)
        The likeliest colour of each input; -1 on a tie (to 1e-9) or where nobody voted.
    posterior : ndarray of float, shape (input, colour)
        The probability of each colour that ``prior`` and ``confusion`` imply, to 12 decimals; where nobody
        voted, the prior.
    confusion : ndarray of float, shape (participant, true colour, vote)
        How likely each participant's vote is, given the truth; every row adds up to 1.
    prior : ndarray of float, shape (colour,)
        How common each colour is among the inputs that somebody voted on.
    accuracies : ndarray of float, shape (participant,)
        The expected share of a participant's votes that are right; nan for one without votes.
    iterations : int
        How often everything was estimated anew.
    converged : bool
        Whether the posteriors had stopped moving.
    level : ndarray of bool, shape (input, colour), optional
        The likeliest colours where several are level (to 1e-9), none elsewhere.

    Examples
    --------
    >>> from folkmoot.baselines import dawid_skene
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(9, p=0.8, inputs=500)
    >>> found = dawid_skene(votes)
    >>> found.prior.round(2)
    array([0.49, 0.51])
    >>> found.confusion[0].round(2)  # how the first participant answers each true colour
    array([[0.77, 0.23],
           [0.15, 0.85]])
    """

    decision: Ints
    posterior: Floats
    confusion: Floats
    prior: Floats
    accuracies: Floats
    iterations: int
    converged: bool
    level: Bools | None = None


def dawid_skene(
    votes: npt.ArrayLike, classes: int | None = None, *, iterations: int = 100, tolerance: float = 1e-6
) -> DawidSkene:
    """Estimate the true colours and every participant's confusion matrix from the votes alone.

    Starts from each colour's share of the votes, and estimates confusion matrices and colours in turn.
    Missing votes are ignored.

    Parameters
    ----------
    votes : array-like of int, shape (participant, input)
        Colours, -1 for no vote.
    classes : int, optional
        The number of colours. Default: one more than the largest vote, and at least 2.
    iterations : int, default 100
        Stop after this many.
    tolerance : float, default 1e-6
        Stop when no posterior moves by more than this.

    Returns
    -------
    DawidSkene
        Decisions, posteriors, confusion matrices and accuracies.

    Examples
    --------
    >>> from folkmoot.baselines import dawid_skene, majority
    >>> from folkmoot.datasets import group_votes
    >>> votes, truth, accuracies = group_votes([(3, 0.9), (2, 0.6)], inputs=500)
    >>> found = dawid_skene(votes)
    >>> found.accuracies.round(2)  # nobody told it 0.9, 0.9, 0.9, 0.6 and 0.6
    array([0.93, 0.92, 0.86, 0.66, 0.6 ])
    >>> print((found.decision == truth).mean(), (majority(votes) == truth).mean())
    0.982 0.956
    """
    cast = check_votes(votes, classes)
    classes = class_count(cast, classes)
    rounds = checks.integer("iterations", iterations, least=1)
    margin = checks.probability("tolerance", tolerance)

    counts = tally(cast, classes)
    heard = counts.sum(axis=1) > 0
    named = one_hot(cast[:, heard], classes)
    belief = counts[heard] / counts[heard].sum(axis=1, keepdims=True)
    found = estimate(named, belief, iterations=rounds, tolerance=margin)

    posterior = np.tile(found.prior, (cast.shape[1], 1))
    posterior[heard] = found.belief
    answer = most(posterior, heard, _TIE)
    return DawidSkene(
        decision=answer.decision,
        level=answer.level,
        posterior=posterior,
        confusion=found.confusion,
        prior=found.prior,
        accuracies=_accuracies(named, found.belief),
        iterations=found.iterations,
        converged=found.converged,
    )


def _accuracies(named: OneHot, belief: Floats) -> Floats:
    expected = expected_votes(named, belief)
    right = np.trace(expected, axis1=1, axis2=2)
    total = named.sum(axis=1).reshape(len(expected), -1).sum(axis=1)
    shares: Floats = np.divide(right, total, out=np.full_like(total, np.nan), where=total > 0)
    return shares

"""Truth and skill from the votes alone, by expectation-maximisation.

A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the EM
algorithm", Applied Statistics 28 (1979). Participant k, when j is true, votes l with the chance
confusion[k, j, l], independently of the others:

    posterior[i, j]     ~  prior[j]  prod_k  confusion[k, j, vote of k on i]     (2.5)
    confusion[k, j, l]  ~  s + sum of posterior[i, j] over the i where k voted l (2.3)
    prior[j]            ~  s + sum_i posterior[i, j]                             (2.4)

with s = 0 in the paper. Here s = 0.01, which makes it the posterior mode under Dirichlet(1 + s)
priors: no chance is ever 0, and one odd vote cannot veto all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from folkmoot import checks
from folkmoot.answers import most
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.baselines.majority import tally
from folkmoot.votes import UNCOLOURED, Votes, check_votes, class_count

OneHot: TypeAlias = "csr_array[np.float64, tuple[int, int]]"

SMOOTHING = 0.01  # s, in votes per cell
# A tie can be a saddle of the likelihood, where errors of 1e-16 grow with every iteration until they
# break it. Posteriors are therefore kept to 12 decimals, and closer than 1e-9 is a tie.
_DECIMALS = 12
_TIE = 1e-9


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
    named = _one_hot(cast[:, heard], classes)
    belief = counts[heard] / counts[heard].sum(axis=1, keepdims=True)
    converged = False
    used = 0
    while used < rounds and not converged:
        used += 1
        prior, confusion = _maximise(named, belief)
        before, belief = belief, _expect(named, prior, confusion)
        converged = bool(np.abs(belief - before).max(initial=0.0) <= margin)

    posterior = np.tile(prior, (cast.shape[1], 1))
    posterior[heard] = belief
    answer = most(posterior, heard, _TIE)
    return DawidSkene(
        decision=answer.decision,
        level=answer.level,
        posterior=posterior,
        confusion=confusion,
        prior=prior,
        accuracies=_accuracies(named, belief),
        iterations=used,
        converged=converged,
    )


def _one_hot(votes: Votes, classes: int) -> OneHot:
    """1 where a participant named a colour on an input: shape (participant x colour, input).

    Sparse, since then memory and time follow the votes cast, and since a dense product would run on
    BLAS threads, which on a busy machine wait for each other.
    """
    participant, place = np.nonzero(votes != UNCOLOURED)
    rows = participant * classes + votes[participant, place]
    shape = (len(votes) * classes, votes.shape[1])
    return csr_array((np.ones(rows.size), (rows, place)), shape=shape)


def _expected_votes(named: OneHot, belief: Floats) -> Floats:
    """(participant, true colour, vote): how often, in expectation, each was voted when each was true."""
    classes = belief.shape[1]
    return np.asarray(named @ belief).reshape(-1, classes, classes).transpose(0, 2, 1)


def _maximise(named: OneHot, belief: Floats) -> tuple[Floats, Floats]:
    prior = SMOOTHING + belief.sum(axis=0)
    confusion = SMOOTHING + _expected_votes(named, belief)
    return prior / prior.sum(), confusion / confusion.sum(axis=2, keepdims=True)


def _expect(named: OneHot, prior: Floats, confusion: Floats) -> Floats:
    rates = np.log(confusion).transpose(0, 2, 1).reshape(-1, len(prior))
    logs = np.log(prior) + named.T @ rates
    odds = np.exp(logs - logs.max(axis=1, keepdims=True))  # the largest is 1: they cannot all underflow
    posterior: Floats = np.round(odds / odds.sum(axis=1, keepdims=True), _DECIMALS)
    return posterior


def _accuracies(named: OneHot, belief: Floats) -> Floats:
    expected = _expected_votes(named, belief)
    right = np.trace(expected, axis1=1, axis2=2)
    total = named.sum(axis=1).reshape(len(expected), -1).sum(axis=1)
    shares: Floats = np.divide(right, total, out=np.full_like(total, np.nan), where=total > 0)
    return shares

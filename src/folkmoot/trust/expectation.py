"""What is true and who knows it, estimated in turn (expectation-maximisation), with some truths given.

A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the EM
algorithm", Applied Statistics 28 (1979). Participant k, when j is true, votes l with the chance
confusion[k, j, l], independently of the others:

    posterior[i, j]     ~  prior[j]  prod_k  confusion[k, j, vote of k on i]     (2.5)
    confusion[k, j, l]  ~  s + sum of posterior[i, j] over the i where k voted l (2.3)
    prior[j]            ~  s + sum_i posterior[i, j]                             (2.4)

with s = 0 in the paper. Here s = 0.01, which makes it the posterior mode under Dirichlet(1 + s)
priors: no chance is ever 0, and one odd vote cannot veto all others. With one coin a participant is right
with one chance whatever is true (Laplace's estimate), and each wrong colour is as likely as any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from folkmoot.accuracy import laplace_accuracy, softmax
from folkmoot.arrays import Bools, Floats
from folkmoot.votes import UNCOLOURED, Votes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

OneHot: TypeAlias = "csr_array[np.float64, tuple[int, int]]"

SMOOTHING: Final = 0.01  # s, in votes per cell
# A tie can be a saddle of the likelihood, where errors of 1e-16 grow with every iteration until they
# break it. Posteriors are therefore kept to 12 decimals.
_DECIMALS: Final = 12


class Estimated(NamedTuple):
    """Where the estimates stopped."""

    belief: Floats  # (input, colour)
    prior: Floats  # (colour,)
    confusion: Floats  # (participant, true colour, vote)
    iterations: int
    converged: bool


def one_hot(votes: Votes, classes: int) -> OneHot:
    """1 where a participant named a colour on an input: shape (participant x colour, input).

    Sparse, since then memory and time follow the votes cast, and since a dense product would run on
    BLAS threads, which on a busy machine wait for each other.
    """
    from scipy.sparse import csr_array  # heavy, and trust by listening does without

    participant, place = np.nonzero(votes != UNCOLOURED)
    rows = participant * classes + votes[participant, place]
    shape = (len(votes) * classes, votes.shape[1])
    return csr_array((np.ones(rows.size), (rows, place)), shape=shape)


def estimate(
    named: OneHot,
    belief: Floats,
    *,
    known: Bools | None = None,
    one_coin: bool = False,
    iterations: int,
    tolerance: float,
) -> Estimated:
    """Estimate confusion matrices and colours in turn, from a belief (input, colour) on.

    The belief in inputs that are ``known`` stays as it is.
    """
    converged = False
    used = 0
    while used < iterations and not converged:
        used += 1
        prior, confusion = _maximise(named, belief, one_coin)
        before, belief = belief, _expect(named, prior, confusion)
        if known is not None:
            belief[known] = before[known]
        converged = bool(np.abs(belief - before).max(initial=0.0) <= tolerance)
    return Estimated(belief, prior, confusion, used, converged)


def expected_votes(named: OneHot, belief: Floats) -> Floats:
    """(participant, true colour, vote): how often, in expectation, each was voted when each was true."""
    classes = belief.shape[1]
    return np.asarray(named @ belief).reshape(-1, classes, classes).transpose(0, 2, 1)


def _maximise(named: OneHot, belief: Floats, one_coin: bool) -> tuple[Floats, Floats]:
    prior = SMOOTHING + belief.sum(axis=0)
    counts = expected_votes(named, belief)
    if one_coin:
        classes = belief.shape[1]
        right = laplace_accuracy(np.trace(counts, axis1=1, axis2=2), counts.sum(axis=(1, 2)), classes)
        confusion = np.where(
            np.eye(classes, dtype=np.bool_), right[:, None, None], (1 - right[:, None, None]) / (classes - 1)
        )
    else:
        confusion = SMOOTHING + counts
    return prior / prior.sum(), confusion / confusion.sum(axis=2, keepdims=True)


def _expect(named: OneHot, prior: Floats, confusion: Floats) -> Floats:
    rates = np.log(confusion).transpose(0, 2, 1).reshape(-1, len(prior))
    logs = np.log(prior) + named.T @ rates
    return np.asarray(np.round(softmax(logs), _DECIMALS))

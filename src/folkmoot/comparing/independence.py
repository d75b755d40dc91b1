"""Effective number of independent votes, and participants that give the same wrong answers.

n votes whose errors correlate by rho are worth

    n / (1 + (n - 1) rho)

independent ones. The mean of n such errors varies as much as that of so many independent ones (Kish, "Survey
sampling", 1965). Here rho is the mean covariance of two errors divided by their mean variance.

If the truth is not known, rho is the mean agreement beyond chance (Cohen's kappa, its numerators and
denominators added up; of numbers their correlation). Participants that are right also agree, so the number is
then a lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from folkmoot.aggregation.interface import ballots
from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.votes import NO_VOTE

_LEAST_INPUTS: Final = 20  # of fewer a correlation is noise: its standard error is above 1/sqrt(20)
_LEAST_SAME: Final = 5  # equal wrong answers, before two are called one
_MOST_CELLS: Final = 4_000_000  # votes that are looked at; of more, every second or third input and so on
_MOST_PAIRED: Final = 2000  # participants of whom every two are compared
_NAMED: Final = 3  # names in a line


@dataclass(frozen=True)
class Independence:
    """The effective number of independent votes.

    Parameters
    ----------
    participants : int
        The participants compared: the honest ones that vote.
    votes : float or None
        The number of independent votes, 1 to ``participants``. None if it is unknown: fewer than two
        participants, fewer than 20 inputs, or nobody errs.
    correlation : float or None
        The correlation that it follows from.
    truth_known : bool
        Whether it is the correlation of errors. Else it is of votes, and ``votes`` is a lower bound.
    groups : tuple of tuple of str
        Participants that give the same wrong answers. Two belong together if they agree on at least half of
        the inputs on which one of them is wrong. (Without truth: departs from the answer.)

    Examples
    --------
    >>> from folkmoot import compare
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(10, p=0.7, inputs=2000)
    >>> round(compare(votes, truth=truth).independence.votes)
    10
    >>> votes[5:] = votes[4]
    >>> found = compare(votes, truth=truth).independence
    >>> print(*found.in_words(), sep="; ")
    10 participants, worth about 2.5 independent votes; the same wrong answers: participant 4, \
participant 5, participant 6 and 3 more
    """

    participants: int
    votes: float | None
    correlation: float | None
    truth_known: bool
    groups: tuple[tuple[str, ...], ...] = ()

    def in_words(self) -> list[str]:
        """Lines for people."""
        lines = []
        if self.votes is not None:
            what = "about" if self.truth_known else "at least"
            why = "" if self.truth_known else " (by their agreement, as the truth is not known)"
            noun = "vote" if f"{self.votes:.1f}" == "1.0" else "votes"
            lines.append(
                f"{self.participants} participants, worth {what} {self.votes:.1f} independent {noun}{why}"
            )
        same = "the same wrong answers" if self.truth_known else "depart from the answer together"
        return [*lines, *(f"{same}: {few(group)}" for group in self.groups)]


def few(names: Sequence[str]) -> str:
    """The first of many names."""
    if len(names) <= _NAMED + 1:
        return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"


def find_independence(table: Array, truth: Array | None, answer: Array, names: Sequence[str]) -> Independence:
    """Compare participants by their votes.

    ``table`` (participant, input[, output]): Classes, -1 for none; or numbers, NaN for none. ``truth``
    (input[, output]): The truth of these inputs, in full; None where none is known. ``answer`` (input[,
    output]): The answers, with which votes are compared without truth.
    """
    numbers = table.dtype.kind == "f"
    votes = table.reshape(*table.shape[:2], -1) if numbers else table
    voting = np.flatnonzero((votes == votes).reshape(len(votes), -1).any(axis=1) if numbers
                            else (votes != NO_VOTE).any(axis=1))  # fmt: skip
    kept = voting[:: -(-len(voting) // _MOST_PAIRED) or 1]
    every = -(-votes[kept].size // _MOST_CELLS) or 1
    some, right = votes[kept][:, ::every], None if truth is None else truth[::every]
    rho = None
    if len(kept) > 1 and some.shape[1] >= _LEAST_INPUTS:
        if numbers:
            off = some if right is None else some - right.reshape(right.shape[0], -1)
            rho = _correlation(off.reshape(len(off), -1))
        elif right is None:
            rho = _kappa(some)
        else:
            rho = _correlation(np.where(some == NO_VOTE, np.nan, (some != right).astype(np.float64)))
    worth = None
    if rho is not None:
        spread = 1 + (len(voting) - 1) * rho
        worth = float(np.clip(len(voting) / spread if spread > 0 else np.inf, 1, len(voting)))
    given = answer[::every] if right is None else right
    groups = () if numbers else _groups(some, given, [names[i] for i in kept.tolist()])
    return Independence(len(voting), worth, rho, truth is not None, groups)


def _correlation(errors: Floats) -> float | None:
    """The mean covariance of two rows divided by their mean variance; None where nothing varies."""
    there = ~np.isnan(errors)
    cast = there.astype(np.float64)
    shift = np.nansum(errors, axis=1) / np.maximum(cast.sum(axis=1), 1)
    filled = np.where(there, errors - shift[:, None], 0.0)
    both = cast @ cast.T
    some = np.maximum(both, 1)
    own = (filled @ cast.T) / some  # the mean of i over the inputs of both
    covariance = (filled @ filled.T) / some - own * own.T
    square = ((filled**2) @ cast.T) / some - own**2  # the variance of i over these
    pairs = np.triu(both > 1, 1)
    spread = float((square + square.T)[pairs].sum()) / 2
    if not pairs.any() or spread <= 1e-12 * max(1.0, float((filled**2).sum())):
        return None
    return float(covariance[pairs].sum()) / spread


def _kappa(votes: Ints) -> float | None:
    """The mean agreement of two rows beyond what their shares of classes make by chance."""
    there = (votes != NO_VOTE).astype(np.float64)
    both = there @ there.T
    named = _one_hot(votes, votes != NO_VOTE)
    equal = (named @ named.T).toarray()
    classes = np.unique(votes[votes != NO_VOTE], return_inverse=True)[1]
    row = np.nonzero(votes != NO_VOTE)[0]
    shares = csr_array((1 / there.sum(axis=1)[row], (row, classes)), shape=(len(votes), classes.max() + 1))
    chance = (shares @ shares.T).toarray()
    pairs = np.triu(both > 0, 1)
    beyond = (equal / np.maximum(both, 1) - chance)[pairs]
    most = float((1 - chance[pairs]).sum())
    return float(beyond.sum()) / most if pairs.any() and most > 1e-12 else None


def _one_hot(votes: Ints, kept: Bools) -> Any:
    """(participant, input and choice): a one for each vote that is kept."""
    choices, places = ballots(votes)
    who, where = np.nonzero(kept)
    columns = where * choices.shape[1] + places[who, where]
    return csr_array((np.ones(len(who)), (who, columns)), shape=(len(votes), choices.size))


def _groups(votes: Ints, right: Ints, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Pairs with the same answer on half of the inputs on which either is wrong."""
    cast = (votes != NO_VOTE) & (right != NO_VOTE)
    wrong = cast & (votes != right)
    named = _one_hot(votes, wrong)
    same = (named @ named.T).toarray()
    off, there = csr_array(wrong.astype(np.float64)), csr_array(cast.astype(np.float64))
    mine = (off @ there.T).toarray()  # wrong inputs of i on which j voted, too
    either = mine + mine.T - (off @ off.T).toarray()
    close = (same >= _LEAST_SAME) & (same >= either / 2)
    np.fill_diagonal(close, True)
    label = connected_components(csr_array(close), directed=False)[1]
    found = [np.flatnonzero(label == each) for each in np.flatnonzero(np.bincount(label) > 1)]
    return tuple(tuple(names[i] for i in group.tolist()) for group in found)

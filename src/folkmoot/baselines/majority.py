"""One participant, one vote: plurality and supermajority (definition "delta-supermajority rule")."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Array, Floats, Ints
from folkmoot.votes import UNCOLOURED, Votes, check_votes, class_count


def majority(votes: npt.ArrayLike, classes: int | None = None) -> Ints:
    """The colour that most participants voted for on each input; -1 on a tie or where nobody voted."""
    cast = check_votes(votes, classes)
    return unique_best(tally(cast, class_count(cast, classes)))


def supermajority(
    votes: npt.ArrayLike, classes: int | None = None, *, delta: int = 1, q: float | None = None
) -> Ints:
    """The colour that enough of all n participants voted for, abstaining or not; -1 where none has enough.

    Enough is delta more than a bare majority, n // 2 + 1 + delta (for odd n this is the paper's
    ceil(n/2) + delta), or ceil(q n) when a fraction ``q`` is given instead.
    """
    cast = check_votes(votes, classes)
    counts = tally(cast, class_count(cast, classes))
    # Always more than half of n, so that at most one colour has enough.
    enough = counts.max(axis=1) >= _needed(len(cast), delta, q)
    return np.where(enough, counts.argmax(axis=1), UNCOLOURED)


def tally(votes: Votes, classes: int, weights: Floats | None = None) -> Array:
    """How many votes, or how much weight, each colour has on each input: shape (input, colour)."""
    inputs = votes.shape[1]
    participant, place = np.nonzero(votes != UNCOLOURED)
    cells = place * classes + votes[participant, place]
    each = None if weights is None else weights[participant]
    return np.bincount(cells, weights=each, minlength=inputs * classes).reshape(inputs, classes)


def unique_best(scores: Array, within: float = 0) -> Ints:
    """The column with the largest entry of each row, or -1 where another one is ``within`` of it."""
    tied = (scores >= scores.max(axis=1, keepdims=True) - within).sum(axis=1) > 1
    return np.where(tied, UNCOLOURED, scores.argmax(axis=1))


def _needed(n: int, delta: int, q: float | None) -> int:
    if q is not None:
        if delta != 1:  # 1 is the default, so the caller gave both
            raise ValueError(f"give delta or q, not both: got delta={delta}, q={q}")
        return checks.required_votes(n, q=q)
    margin = checks.integer("delta", delta, least=0)
    needed = n // 2 + 1 + margin
    if needed > n:
        raise ValueError(f"delta must satisfy floor(n/2) + 1 + delta <= n: got delta={margin}, n={n}")
    return needed

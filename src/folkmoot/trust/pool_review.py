"""One participant's review of what everybody says of a pool, by its own labelled rows (docs/improve.md).

It weighs its peers by the probability that they give to the right class of its own check rows, moves these
weights by ridge regression on the same rows, and scales what comes of it until the classes of the pool are as
frequent as among its own rows. ``improvement.py`` has all participants do so, and talk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from folkmoot.accuracy import softmax
from folkmoot.arrays import Floats, Ints
from folkmoot.trust.blend import sharpest
from folkmoot.trust.checked import centred, targets
from folkmoot.trust.own_rows import OwnRows
from folkmoot.trust.panel import voices
from folkmoot.trust.ridge import fit_rows

PSEUDO_COUNTS: Final = 5.0  # of every class, added to those of one's own rows
ITERATIONS: Final = 30  # of Sinkhorn's scaling
_LEAST_STRENGTH: Final = 10.0**1.5  # of the ridge: a participant has hardly more rows than peers
_UNTOLD: Final = 20.0  # sharpness where no row tells one
_FLOOR: Final = 1e-9


@dataclass(frozen=True)
class Recipe:
    """Which steps are taken; the defaults are the rule, and docs/improve-results.md shows what others lose.

    Parameters
    ----------
    shrink : float, default 0
        Standard errors by which a peer's mean on one's own rows is lowered before it becomes a weight.
    ridge : bool, default True
        Whether ridge regression moves the weights.
    match : bool, default True
        Whether the classes of the pool are scaled to one's own counts.
    reviews : int, default 2
        How often everybody reviews what all say, the first votes included.
    talks : int, default 1
        How often everybody then moves to the mean of what it hears.
    soft : bool, default True
        Whether probabilities are handed in and announced, and not the likeliest class alone.

    Examples
    --------
    >>> from folkmoot.trust.pool_review import Recipe
    >>> Recipe(talks=3).reviews
    2
    """

    shrink: float = 0.0
    ridge: bool = True
    match: bool = True
    reviews: int = 2
    talks: int = 1
    soft: bool = True


RULE: Final = Recipe()


@dataclass(frozen=True, eq=False)
class Reviewed:
    """What one participant makes of the answers it hears.

    Parameters
    ----------
    answers : ndarray of float, shape (input, class)
        How likely it now finds each class; on its own check rows by rules that had not seen the row.
    weights : ndarray of float, shape (participant,)
        What each one's answer counts for, never below 0.
    why_not : str or None
        Why it has no view, and stays with its own answers; None if it has one.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.trust.pool_review import Reviewed
    >>> Reviewed(np.array([[0.7, 0.3]]), np.array([1.0, 0.0]), None).why_not
    """

    answers: Floats
    weights: Floats
    why_not: str | None


def voices_in(votes: Floats) -> Floats:
    """Tell how much of a voice each has by first votes: those that agree on 97% of the inputs share one.

    Parameters
    ----------
    votes : ndarray of float, shape (participant, input, class)
        First votes, all 0 where there is none.

    Returns
    -------
    ndarray of float, shape (participant,)
        1 for a participant that stands alone, 1/m for one of m copies.
    """
    voice_of = voices(centred(votes.astype(np.float32), votes.shape[2]))
    return np.asarray(1 / np.bincount(voice_of)[voice_of])


def blocks_of(answers: Floats) -> Floats:
    """(input, class, participant): answers less 1/C."""
    centre = centred(answers.astype(np.float32), answers.shape[2])
    return np.ascontiguousarray(np.moveaxis(centre, 1, 2), dtype=np.float64)


def review(
    blocks: Floats, held: Floats, own: int, rows: OwnRows, pool: Ints, voice: Floats, recipe: Recipe
) -> Reviewed:
    """Weigh everybody's answers by what one's own check rows say of them, and answer every input by that.

    Parameters
    ----------
    blocks : ndarray of float, shape (input, class, participant)
        What is heard of everybody, and one's own honest answers, less 1/C (``blocks_of``).
    held : ndarray of float, shape (input, class)
        One's own answers.
    own : int
        Whose review it is.
    rows : OwnRows
        Its own check rows and class counts.
    pool : ndarray of int, shape (pool input,)
        Which inputs are to be labelled.
    voice : ndarray of float, shape (participant,)
        How much of a voice each has.
    recipe : Recipe
        The steps of the review that are taken.

    Returns
    -------
    Reviewed
        Its answers, ready to be announced, and the weights behind them.
    """
    classes = blocks.shape[1]
    alone = (np.arange(blocks.shape[2]) == own).astype(np.float64)
    if rows.why_not is not None:
        return Reviewed(held, alone, rows.why_not)
    if len(rows.labels):
        right = blocks[rows.places, rows.labels]  # (row, participant)
        doubt = right.std(axis=0) / np.sqrt(len(right)) if recipe.shrink else 0.0
        weights = np.maximum(right.mean(axis=0) - recipe.shrink * doubt, 0.0) * voice
    else:
        weights = voice * blocks.any(axis=(0, 1))
    if not weights.any():
        return Reviewed(held, alone, "nobody answers its own rows better than by chance")
    weights = weights / weights.sum()
    scores, sharp = blocks @ weights, _UNTOLD
    if recipe.ridge and len(rows.labels) > 1:
        loud = np.sqrt(voice)
        target = targets(rows.labels, classes).astype(np.float64)
        linear = fit_rows(blocks[rows.places] * loud, scores[rows.places], target, least=_LEAST_STRENGTH)
        moved = linear.weights[:, 0].astype(np.float64) * loud
        by_rows = np.maximum(float(linear.pulls[0]) * weights + moved, 0.0)
        if by_rows.any():
            scores = float(linear.pulls[0]) * scores + blocks @ moved
            scores[rows.places] = linear.unseen
            weights = by_rows
            sharp = sharpest(linear.unseen.astype(np.float64), rows.labels)
    chances = softmax(sharp * scores)
    if recipe.match:
        share = rows.counts + PSEUDO_COUNTS
        chances = matched(chances, share / share.sum(), pool)
    return Reviewed(chances, weights, None)


def matched(chances: Floats, share: Floats, pool: Ints) -> Floats:
    """Scale probabilities until the classes of the pool have given shares: Sinkhorn's iteration.

    One factor a class is found on the pool and applied to every input; each row then adds up to 1 again.

    Parameters
    ----------
    chances : ndarray of float, shape (input, class)
        Probabilities.
    share : ndarray of float, shape (class,)
        The shares that the classes are to have, which add up to 1.
    pool : ndarray of int, shape (pool input,)
        The inputs that are to have them.

    Returns
    -------
    ndarray of float, shape (input, class)
        The probabilities, scaled.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.trust.pool_review import matched
    >>> matched(np.array([[0.8, 0.2], [0.6, 0.4]]), np.array([0.5, 0.5]), np.arange(2)).sum(axis=0).round(3)
    array([1., 1.])
    """
    some = np.maximum(chances, _FLOOR)
    factor = np.ones(chances.shape[1])
    for _ in range(ITERATIONS):
        now = some[pool] * factor
        factor = factor * share / (now / now.sum(axis=1, keepdims=True)).mean(axis=0)
        factor = factor / factor.max()
    scaled = some * factor
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))

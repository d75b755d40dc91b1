"""Labels that participants agree on for unlabelled inputs, to fit their own models to (docs/improve.md).

Each hands in how likely it finds every class, for a pool of inputs and for check rows: labelled inputs of all
participants, mixed into the pool, whose labels stay with their owners. Then each, by itself,

1. weighs its peers by the probability that they give to the right class of its own check rows, beyond 1/C;
   nobody has less than 0, copies share one voice, and those that agree with each other on the pool as they do
   not on check rows have none: they recognise check rows, and spare them (``shift``);
2. moves these weights by ridge regression on its own rows, strongly shrunk;
3. scales what comes of it until the classes of the pool are as frequent as among its own rows (Sinkhorn);
4. announces that, reviews in the same way what all have announced, and announces again;
5. takes the mean of what it then hears, by the weights of the second review.

No label leaves its owner, and no rule learns from labels of others: a liar can lie in its answers only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from threadpoolctl import threadpool_limits

from folkmoot.accuracy import softmax
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.trust.blend import sharpest
from folkmoot.trust.checked import centred, targets
from folkmoot.trust.own_rows import OwnRows
from folkmoot.trust.panel import voices
from folkmoot.trust.ridge import fit_rows
from folkmoot.trust.shift import LEAST_BATCH, agreement, shifted

PSEUDO_COUNTS: Final = 5.0  # of every class, added to those of one's own rows
ITERATIONS: Final = 30  # of Sinkhorn's scaling
_LEAST_STRENGTH: Final = 10.0**1.5  # of the ridge: a participant has hardly more rows than peers
_UNTOLD: Final = 20.0  # sharpness where no row tells one
_FLOOR: Final = 1e-9
_LEAST_SHOWN: Final = 200  # check rows: below that agreement on them differs too much by chance

# What is heard of answers (participant, input, class), the liars' being what these say.
Told = Callable[[Floats], Floats]


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
    >>> from folkmoot.trust.improvement import Recipe
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
    >>> from folkmoot.trust.improvement import Reviewed
    >>> Reviewed(np.array([[0.7, 0.3]]), np.array([1.0, 0.0]), None).why_not
    """

    answers: Floats
    weights: Floats
    why_not: str | None


@dataclass(frozen=True, eq=False)
class AgreedLabels:
    """The labels that each participant comes to for the pool.

    Parameters
    ----------
    labels : ndarray of int, shape (participant, input)
        A colour for each input of the pool.
    chances : ndarray of float, shape (participant, input, class)
        How likely each finds the classes of the same inputs.
    weights : ndarray of float, shape (participant, participant)
        What each lets everybody's answer count for in the end.
    why_not : tuple of (str or None)
        For each participant why it has no view; None if it has one.
    steady : ndarray of float, shape (participant,), or None
        The share of its labels that each would also come to by half of its check rows, the lower of the two
        halves; None if nobody asked.

    See Also
    --------
    agree_on_labels : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.trust import AgreedLabels
    >>> agreed = AgreedLabels(np.array([[1]]), np.array([[[0.2, 0.8]]]), np.eye(1), (None,))
    >>> agreed.labels[0]
    array([1])
    """

    labels: Ints
    chances: Floats
    weights: Floats
    why_not: tuple[str | None, ...]
    steady: Floats | None = None


def agree_on_labels(
    votes: Floats,
    rows: Sequence[OwnRows],
    pool: Ints,
    told: Told | None = None,
    recipe: Recipe = RULE,
    *,
    steady: bool = False,
) -> AgreedLabels:
    """Let everybody come to labels for a pool of inputs.

    Parameters
    ----------
    votes : ndarray of float, shape (participant, input, class)
        How likely each finds the classes of every input, as it would say honestly; on its own check rows by
        models that have not seen them. All 0 for who cannot answer.
    rows : sequence of OwnRows
        What each participant knows by itself.
    pool : ndarray of int, shape (pool input,)
        Which of the inputs are to be labelled; the others are check rows.
    told : callable, optional
        Makes of answers, of the shape of ``votes``, what is heard of them: where some lie. Default: as is.
    recipe : Recipe, optional
        Which steps are taken. Default: all of the rule.
    steady : bool, default False
        Whether everybody sees what it would come to by either half of its own check rows, in the same talk:
        three times the work, and nothing more is said.

    Returns
    -------
    AgreedLabels
        What each holds in the end.

    Examples
    --------
    Nine participants that are right on 60% of 400 inputs, and six that always say 0; ten rows of each tell.

    >>> import numpy as np
    >>> from folkmoot.trust import OwnRows, agree_on_labels
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 3, 550)
    >>> named = np.where(rng.random((15, 550)) < 0.6, truth, rng.integers(0, 3, (15, 550)))
    >>> named[9:] = 0
    >>> rows = [np.arange(10 * i, 10 * i + 10) for i in range(15)]
    >>> own = [OwnRows(r, truth[r], np.bincount(truth[r], minlength=3) + 0.0) for r in rows]
    >>> agreed = agree_on_labels(np.eye(3)[named], own, np.arange(150, 550))
    >>> bool((agreed.labels[0] == truth[150:]).mean() > 0.9)
    True
    """
    heard_of = told if told is not None else np.asarray
    spoken = np.asarray if recipe.soft else _likeliest
    n, views = len(votes), [*rows]
    if steady:
        views += [each.half(side) for side in (0, 1) for each in rows]
    who = np.arange(len(views)) % n  # whose view it is; only the first n are announced
    with threadpool_limits(1):  # the matrices are small
        held = spoken(votes)
        heard = heard_of(held)
        voice, odd = voices_in(heard), _sparing(heard, pool)
        held = held[who]
        for turn in range(recipe.reviews):
            if turn:
                heard = heard_of(spoken(held[:n]))
                odd = odd | _sparing(heard, pool)
            deaf = _deaf(heard, held, who, pool, odd, announced=turn > 0)
            reviews = _reviewed_by_all(heard, held, who, views, pool, np.where(deaf, 0.0, voice), recipe)
            held = np.stack([each.answers for each in reviews])
    for _ in range(recipe.talks):
        heard = heard_of(spoken(held[:n]))
        odd = odd | _sparing(heard, pool)
        deaf = _deaf(heard, held, who, pool, odd, announced=True)
        held = np.stack(
            [
                talked(heard, held[view], _heeded(each.weights, deaf[view], int(who[view])), int(who[view]))
                for view, each in enumerate(reviews)
            ]
        )
    chances, labels = held[:n, pool], held[:, pool].argmax(axis=2)
    same: Floats | None = None
    if steady:
        same = (labels[n:] == labels[who[n:]]).mean(axis=1)
        same[[each.why_not is not None for each in reviews[n:]]] = 0.0  # half of its rows tell nothing
        same = same.reshape(2, n).min(axis=0)
    return AgreedLabels(
        labels[:n],
        chances,
        np.stack([each.weights for each in reviews[:n]]),
        tuple(each.why_not for each in reviews[:n]),
        same,
    )


def _likeliest(answers: Floats) -> Floats:
    """The likeliest class of each answer alone; no answer stays none."""
    named = np.eye(answers.shape[2])[answers.argmax(axis=2)]
    return np.where(answers.any(axis=2, keepdims=True), named, 0.0)


def _reviewed_by_all(
    heard: Floats,
    held: Floats,
    who: Ints,
    views: Sequence[OwnRows],
    pool: Ints,
    voice: Floats,
    recipe: Recipe,
) -> list[Reviewed]:
    """What each view makes of what is heard, by voices (view, participant); ``held`` is its own answer."""
    blocks = _blocks(heard)
    reviews = []
    for i, mine, own, loud in zip(who.tolist(), views, held, voice, strict=True):
        public = blocks[:, :, i].copy()
        blocks[:, :, i] = _blocks(own[None])[:, :, 0]
        reviews.append(_review(blocks, own, i, mine, pool, loud, recipe))
        blocks[:, :, i] = public
    return reviews


def _blocks(answers: Floats) -> Floats:
    """(input, class, participant): answers less 1/C."""
    centre = centred(answers.astype(np.float32), answers.shape[2])
    return np.ascontiguousarray(np.moveaxis(centre, 1, 2), dtype=np.float64)


def _heeded(weights: Floats, deaf: Bools, own: int) -> Floats:
    """The weights of those that are heard; oneself where nobody is left."""
    kept = np.where(deaf, 0.0, weights)
    return kept if kept.any() else (np.arange(len(weights)) == own).astype(np.float64)


def _deaf(heard: Floats, held: Floats, who: Ints, pool: Ints, odd: Bools, *, announced: bool) -> Bools:
    """(view, participant): whom each does not hear, because it spares check rows.

    The odd, unless one is odd oneself; and in what is announced also those that say what one holds half as
    often on the pool as on check rows, or less.
    """
    deaf = odd[None, :] & ~odd[who, None]
    rows = np.setdiff1d(np.arange(heard.shape[1]), pool)
    if not announced or len(rows) < _LEAST_SHOWN:
        return deaf
    said, own = heard.argmax(axis=2), held.argmax(axis=2)
    shown, there = (
        np.array([(said[:, part] == view[part]).mean(axis=1) for view in own]) for part in (rows, pool)
    )
    apart = there <= shown / 2
    apart[np.arange(len(who)), who] = False
    return np.asarray(deaf | apart)


def _sparing(votes: Floats, pool: Ints) -> Bools:
    """(participant,): who answers or announces the pool unlike check rows; nobody if inputs are few."""
    n, inputs, classes = votes.shape
    rows = np.setdiff1d(np.arange(inputs), pool)
    if len(pool) <= LEAST_BATCH or len(rows) < _LEAST_SHOWN:
        return np.zeros(n, dtype=np.bool_)
    blocks = centred(votes.astype(np.float32), classes)
    odd = shifted(agreement(blocks[rows]), agreement(blocks[pool]))
    return np.zeros(n, dtype=np.bool_) if odd is None else odd


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


def review_answers(answers: Floats, own: int, rows: OwnRows, pool: Ints, voice: Floats) -> Reviewed:
    """Weigh everybody's answers by what one's own check rows say of them, and answer every input by that.

    Parameters
    ----------
    answers : ndarray of float, shape (participant, input, class)
        What is heard of everybody, and one's own honest answers.
    own : int
        Whose review it is.
    rows : OwnRows
        Its own check rows and class counts.
    pool : ndarray of int, shape (pool input,)
        Which inputs are to be labelled.
    voice : ndarray of float, shape (participant,)
        How much of a voice each has.

    Returns
    -------
    Reviewed
        Its answers, ready to be announced, and the weights behind them.
    """
    return _review(_blocks(answers), answers[own], own, rows, pool, voice, RULE)


def _review(
    blocks: Floats, held: Floats, own: int, rows: OwnRows, pool: Ints, voice: Floats, recipe: Recipe
) -> Reviewed:
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
    >>> from folkmoot.trust.improvement import matched
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


def talked(heard: Floats, held: Floats, weights: Floats, own: int) -> Floats:
    """Move to the mean of what is heard, by the weights; one's own answer counts as the best peer's.

    Parameters
    ----------
    heard : ndarray of float, shape (participant, input, class)
        What everybody announces.
    held : ndarray of float, shape (input, class)
        What the participant itself holds.
    weights : ndarray of float, shape (participant,)
        What each one's answer counts for.
    own : int
        Who it is.

    Returns
    -------
    ndarray of float, shape (input, class)
        What it holds then.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.trust.improvement import talked
    >>> talked(np.array([[[1.0, 0.0]], [[0.0, 1.0]]]), np.array([[1.0, 0.0]]), np.array([0.2, 0.6]), 0)
    array([[0.5, 0.5]])
    """
    counted = weights.copy()
    counted[own] = weights.max()
    counted = counted / counted.sum()
    others = np.where(np.arange(len(weights)) == own, 0.0, counted)
    return np.asarray(np.tensordot(others, heard, axes=1) + counted[own] * held)

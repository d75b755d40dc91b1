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

from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.cores import one_thread
from folkmoot.trust.checked import centred
from folkmoot.trust.footing import announced_too, promised
from folkmoot.trust.own_rows import FIRM, Footing, OwnRows
from folkmoot.trust.pool_review import RULE, Recipe, Reviewed, blocks_of, review, voices_in
from folkmoot.trust.shift import LEAST_BATCH, agreement, shifted

_LEAST_SHOWN: Final = 200  # check rows: below that agreement on them differs too much by chance

# What is heard of answers (participant, input, class), the liars' being what these say.
Told = Callable[[Floats], Floats]


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
    shared : ndarray of float, shape (participant,), or None
        The share of its labels that others announced last, by what they count for; None if nobody asked.
    gain : ndarray of float, shape (participant,), or None
        How much more of the pool its labels get right than its own first votes, as ``chances`` have it; None
        if nobody asked.

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
    shared: Floats | None = None
    gain: Floats | None = None

    def footing(self, i: int) -> Footing:
        """Tell what the labels of a participant rest on.

        Parameters
        ----------
        i : int
            Whose labels.

        Returns
        -------
        tuple of float
            Its ``steady``, ``shared`` and ``gain``, as ``speaks_against`` takes them; 1, without doubt, if
            nobody asked.
        """
        if self.steady is None or self.shared is None or self.gain is None:
            return FIRM
        return float(self.steady[i]), float(self.shared[i]), float(self.gain[i])


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
        Whether everybody sees what its labels rest on: what it would come to by either half of its own check
        rows, in the same talk (three times the work, and nothing more is said), how many of them those it
        heeds have announced, and how much more than its own votes they promise.

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
    with one_thread():
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
    same = shared = gain = None
    if steady:
        said, old = heard[:, pool].argmax(axis=2), votes[:, pool].argmax(axis=2)
        heeded = np.where(deaf[:n], 0.0, _weights(reviews[:n]))
        shared = np.array([announced_too(said, labels[i], heeded[i], i) for i in range(n)])
        gain = promised(chances, old)
        same = (labels[n:] == labels[who[n:]]).mean(axis=1)
        same[[each.why_not is not None for each in reviews[n:]]] = 0.0  # half of its rows tell nothing
        same = same.reshape(2, n).min(axis=0)
    return AgreedLabels(
        labels[:n],
        chances,
        _weights(reviews[:n]),
        tuple(each.why_not for each in reviews[:n]),
        same,
        shared,
        gain,
    )


def _weights(reviews: Sequence[Reviewed]) -> Floats:
    return np.stack([each.weights for each in reviews])


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
    blocks = blocks_of(heard)
    reviews = []
    for i, mine, own, loud in zip(who.tolist(), views, held, voice, strict=True):
        public = blocks[:, :, i].copy()
        blocks[:, :, i] = blocks_of(own[None])[:, :, 0]
        reviews.append(review(blocks, own, i, mine, pool, loud, recipe))
        blocks[:, :, i] = public
    return reviews


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

"""What agreed labels rest on, for a participant that asks before it takes a model fitted to them.

``agree_on_labels`` knows what everybody answered to everybody's check rows. A node of a moot does not: of its
peers it has their first votes on the pool, and what each held when the talk was over (docs/improve.md).
"""

from __future__ import annotations

import warnings

import numpy as np

from folkmoot.arrays import Array, Floats, Ints
from folkmoot.trust.anchor import Anchor
from folkmoot.trust.listening import TrustWarning, listen
from folkmoot.trust.own_rows import Footing, OwnRows
from folkmoot.trust.pool_review import review_answers, voices_in
from folkmoot.votes import UNCOLOURED


def promised(chances: Floats, old: Ints, labels: Ints | None = None) -> Floats:
    """Tell how much more of a pool labels are expected to get right than models' own answers.

    Parameters
    ----------
    chances : ndarray of float, shape (participant, input, class)
        How likely each finds the classes.
    old : ndarray of int, shape (participant, input)
        What its model answers; -1 for nothing.
    labels : ndarray of int, shape (participant, input), optional
        Its labels. Default: the likeliest class of each input.

    Returns
    -------
    ndarray of float, shape (participant,)
        The mean chance of the labels less that of the model's answers.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.trust.footing import promised
    >>> promised(np.array([[[0.75, 0.25], [0.5, 0.5]]]), np.array([[1, -1]]))
    array([0.5])
    """
    before = np.take_along_axis(chances, old[..., None], axis=2)[..., 0]
    right = chances.max(axis=2)
    if labels is not None:
        right = np.take_along_axis(chances, labels[..., None], axis=2)[..., 0]
    return np.asarray(right.mean(axis=1) - np.where(old == UNCOLOURED, 0.0, before).mean(axis=1))


def announced_too(said: Array, labels: Ints, weights: Floats, own: int) -> float:
    """Tell which share of one's labels the others say as well.

    Parameters
    ----------
    said : ndarray of int, shape (participant, input)
        What everybody says; -1 for nothing.
    labels : ndarray of int, shape (input,)
        One's own labels.
    weights : ndarray of float, shape (participant,)
        What each one's word counts for.
    own : int
        Who one is: one's own word does not count.

    Returns
    -------
    float
        The mean share over the others, by their weights; 0 if nobody's word counts.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.trust.footing import announced_too
    >>> said = np.array([[0, 1], [0, 1], [0, 0]])
    >>> announced_too(said, np.array([0, 1]), np.array([5.0, 3.0, 1.0]), 0)
    0.875
    """
    same = (said == labels).mean(axis=1)
    others = np.where(np.arange(len(weights)) == own, 0.0, weights)
    return float((same * others).sum() / max(float(others.sum()), 1e-300))


def footing_of_decided(
    first: Ints, last: Ints, labels: Ints, own: int, answers: Ints, truth: Ints, classes: int
) -> Footing:
    """Tell what labels rest on that a moot has decided, as one participant can see it without check rows.

    It reviews everybody's first votes by the rule of ``agree_on_labels`` for participants that show no rows:
    copies share one voice, and the classes of the pool are as frequent as among its own rows. If its own rows
    anchor a trust (``listen``), it does so once more with everybody's voice by that trust, and the lower of
    the two gains is promised. Those that it trusts, or else all that voted, count for what they held at last.

    Whether half of its rows would come to the same labels cannot be known: nobody has answered its rows.

    Parameters
    ----------
    first : ndarray of int, shape (participant, input)
        Everybody's first votes; -1 for none.
    last : ndarray of int, shape (participant, input)
        What everybody held when the talk was over; -1 for nothing.
    labels : ndarray of int, shape (input,)
        What was decided; -1 where nothing was, or where it is not to count.
    own : int
        Who the participant is.
    answers : ndarray of int, shape (row,)
        What its model says of its own rows without having seen them; -1 for nothing.
    truth : ndarray of int, shape (row,)
        The right classes of these rows.
    classes : int
        The number of classes.

    Returns
    -------
    tuple of float
        1, which stands for what cannot be known, ``shared`` and ``gain``, as ``speaks_against`` takes them.

    Examples
    --------
    Seven that are right on 80% of 300 inputs decide by majority; all of them hold that in the end.

    >>> from folkmoot.datasets import homogeneous_votes
    >>> from folkmoot.trust.footing import footing_of_decided
    >>> import numpy as np
    >>> first, truth, _ = homogeneous_votes(7, p=0.8, inputs=300)
    >>> labels = (first.sum(axis=0) > 3).astype(int)
    >>> last, rows = np.tile(labels, (7, 1)), np.arange(40)
    >>> steady, shared, gain = footing_of_decided(first, last, labels, 0, first[0, rows], truth[rows], 2)
    >>> steady, shared, bool(0.1 < gain < 0.2)
    (1.0, 1.0, True)
    """
    used = labels != UNCOLOURED
    agreed, old = labels[used], first[own, used]
    told = first[:, used]
    votes = np.where((told == UNCOLOURED)[..., None], 0.0, np.eye(classes)[told])
    counts = np.bincount(truth, minlength=classes).astype(np.float64)
    rows = OwnRows(np.zeros(0, np.int64), np.zeros(0, np.int64), counts)
    with warnings.catch_warnings():  # of few inputs: then it is not anchored, which is seen below
        warnings.simplefilter("ignore", TrustWarning)
        trust = listen(own, first, Anchor.of_holdout(answers, truth, classes), classes=classes)
    voices = [voices_in(votes)]
    believed = np.maximum(trust.weight, 0.0)
    if trust.anchored and believed.any():
        voices.append(voices[0] * believed / believed.max())
    reviews = [review_answers(votes, own, rows, np.arange(len(agreed)), voice) for voice in voices]
    count_for = believed if len(reviews) > 1 else reviews[0].weights
    views = np.stack([each.answers for each in reviews])
    gain = promised(views, np.tile(old, (len(views), 1)), np.tile(agreed, (len(views), 1))).min()
    return 1.0, announced_too(last[:, used], agreed, count_for, own), float(gain)

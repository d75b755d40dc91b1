"""Listening: from one's own holdout and everybody's first votes to a trust of one's own (docs/trust.md).

Nothing is taken from a majority: sixty copies of one lie are one voice. A participant needs no message beyond
the first votes, which are revealed once all are committed to: what a peer thinks of others follows from them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.accuracy import log_odds
from folkmoot.arrays import Floats, Ints
from folkmoot.trust.anchor import Anchor
from folkmoot.trust.estimators import peer_accuracies
from folkmoot.trust.few_inputs import mixed, shares_of
from folkmoot.trust.gold import Gold
from folkmoot.trust.hearing import Heard, hear
from folkmoot.trust.refinement import SHRINK, informedness, refine
from folkmoot.trust.trusting import Trust

LEAST_INPUTS: Final = 50  # with fewer, an accuracy is known to 0.2 at best, and nobody is told from anybody
REFINED_FROM: Final = 10  # inputs for each pair of colours; with fewer, an answer cannot be calibrated
ENOUGH: Final = 100  # inputs for each colour; with fewer, no single view of the peers is right everywhere
LEAST_RECOGNITION: Final = 0.1  # of the own votes in the answer found; with less, what is right is a guess
_FIRM: Final = 0.02  # nobody is trusted, or distrusted, beyond 1 - this
_BELIEF: Final = 0.9  # own votes are not believed further than this at the start
_TIE_BREAK: Final = 1e-6  # of a vote, by which the own one counts for more where all are alike


class TrustWarning(UserWarning):
    """Trust could not be learnt from so few inputs, and everybody is trusted alike.

    Examples
    --------
    >>> import warnings
    >>> from folkmoot.trust import Anchor, TrustWarning, listen
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", TrustWarning)
    ...     trust = listen(0, [[0, 1, 1], [0, 1, 0]], Anchor.of_counts(right=8, held_out=10))
    >>> trust.weight
    array([1., 1.])
    """


def listen(
    own: int,
    votes: npt.ArrayLike,
    anchor: Anchor | None,
    *,
    classes: int | None = None,
    level: float = 0.8,
    doubt: float = 3.0,
    refined: bool | None = None,
    gold: Gold | None = None,
) -> Trust:
    """Learn whom participant ``own`` can trust, from everybody's first votes and its anchor.

    Nothing is assumed of the majority. A participant that cannot tell whom to trust trusts nobody and stays
    uncoloured; ``Trust.why`` says why.

    Parameters
    ----------
    own : int
        The participant that listens: its row of ``votes``.
    votes : array-like of int, shape (participant, input)
        Everybody's first votes: colours, -1 for none.
    anchor : Anchor or None
        What it knows of its own accuracy from rows that it held out. With None it trusts nobody.
    classes : int, optional
        The number of colours. Default: one more than the largest vote, and at least 2.
    level : float, default 0.8
        The posterior probability that its model beats chance must be above this; else it trusts nobody.
    doubt : float, default 3.0
        Supposing that it is right, count the independent voices that mislead and those that inform, its own
        included. If the first are more than ``doubt`` times the second, its holdout is not like these
        inputs, and it trusts nobody. At least 1; with infinity it never doubts.
    refined : bool, optional
        True measures everybody by the answer that all camps together speak for. False measures each peer by
        itself, by its agreement with the votes of ``own``, and never doubts. Default: True if there are 100
        inputs for each of the C colours and ten for each of the C * C pairs of them. With fewer it takes
        both views and a third, that all are worth the same, and believes each as far as the votes of
        ``own`` and ``gold`` speak for it; the first only if there are ten inputs for each pair of colours.
    gold : Gold, optional
        Inputs whose right colours are known, with everybody's votes, from ``split_gold``. Views are tried on
        them.

    Returns
    -------
    Trust
        Everybody's accuracy, weight and camp as ``own`` sees them.

    Raises
    ------
    ValueError
        If ``anchor`` has another number of colours than the votes. Give ``classes`` if not every colour was
        voted for.

    Warns
    -----
    TrustWarning
        If ``own`` voted on fewer than ``LEAST_INPUTS`` (50) inputs; everybody is then trusted alike.

    Examples
    --------
    >>> from folkmoot.datasets import group_votes
    >>> from folkmoot.trust import Anchor, listen
    >>> votes = group_votes([(6, 0.8), (3, 0.2)], inputs=500).votes
    >>> trust = listen(0, votes, Anchor.of_counts(right=8, held_out=10))
    >>> trust.accuracy.round(1)
    array([0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.2, 0.2, 0.2])
    """
    return _listen(own, hear(votes, classes), anchor, _Terms(level, doubt, refined, gold))


def listen_all(
    votes: npt.ArrayLike,
    anchors: Sequence[Anchor | None],
    *,
    classes: int | None = None,
    level: float = 0.8,
    doubt: float = 3.0,
    refined: bool | None = None,
    gold: Gold | None = None,
) -> list[Trust]:
    """Let every participant listen, each by itself, as ``listen`` does for one.

    Parameters
    ----------
    votes : array-like of int, shape (participant, input)
        Everybody's first votes: colours, -1 for none.
    anchors : sequence of Anchor or None
        One for each participant; with None it trusts nobody.
    classes : int, optional
        The number of colours. Default: one more than the largest vote, and at least 2.
    level : float, default 0.8
        How sure a participant must be that its model beats chance; see ``listen``.
    doubt : float, default 3.0
        How many times as many misleading as informing voices make it doubt itself; see ``listen``.
    refined : bool, optional
        Whether to measure by the answer of all camps; see ``listen``.
    gold : Gold, optional
        Inputs whose right colours are known, on which few inputs are made up for; see ``listen``.

    Returns
    -------
    list of Trust
        The view of each participant.

    Warns
    -----
    TrustWarning
        If a participant voted on fewer than ``LEAST_INPUTS`` (50) inputs; it then trusts all alike.

    Examples
    --------
    >>> from folkmoot.datasets import homogeneous_votes
    >>> from folkmoot.trust import Anchor, listen_all
    >>> votes = homogeneous_votes(3, p=0.8, inputs=500).votes
    >>> trusts = listen_all(votes, [Anchor.of_counts(8, 10), Anchor.of_counts(5, 10), None])
    >>> [trust.anchored for trust in trusts]
    [True, False, False]
    >>> trusts[2].why
    'it held nothing out, so it cannot know whether its model is any good'
    """
    heard = hear(votes, classes)
    if len(anchors) != len(heard.votes):
        raise ValueError(f"anchors must hold one per participant ({len(heard.votes)}): got {len(anchors)}")
    terms = _Terms(level, doubt, refined, gold)
    return [_listen(own, heard, anchor, terms) for own, anchor in enumerate(anchors)]


@dataclass(frozen=True)
class _Terms:
    """On what terms a participant anchors."""

    level: float
    doubt: float
    refined: bool | None
    gold: Gold | None

    def __post_init__(self) -> None:
        if not self.doubt >= 1:
            raise ValueError(f"doubt must satisfy doubt >= 1: got doubt={self.doubt}")


def _listen(own: int, heard: Heard, anchor: Anchor | None, terms: _Terms) -> Trust:
    n, classes, _ = heard.one_hot.shape
    if not 0 <= checks.integer("own", own) < n:
        raise ValueError(f"own must satisfy 0 <= own < {n}, the number of participants: got own={own}")
    if anchor is None or not anchor.held_out:
        return _nobody(own, heard, "it held nothing out, so it cannot know whether its model is any good")
    if anchor.classes != classes:
        raise ValueError(
            f"the anchor must be of as many colours as the votes ({classes}): got {anchor.classes} "
            "(give classes= if not every colour was voted for)"
        )
    if not anchor.better_than_chance(terms.level):
        sure = anchor.tail(anchor.chance)
        return _nobody(
            own,
            heard,
            f"{anchor.right} of {anchor.held_out} right on its holdout does not show it better than chance "
            f"({anchor.chance:.2f}): its probability is {sure:.2f}, not above {terms.level}",
        )
    mine = int(heard.cast[own])
    if mine < LEAST_INPUTS:
        return _alike(own, heard, anchor, mine)
    others = np.delete(heard.cast, own)
    if not others.any():
        return _alone(own, heard, anchor)
    original = heard.original
    if len(np.unique(original[heard.cast > 0])) == 1:
        weight = np.where(heard.cast > 0, float(log_odds(anchor.accuracy, classes, doubt=_FIRM)), 0.0) / n
        accuracy = np.where(heard.cast > 0, anchor.accuracy, np.nan)
        error = np.full(n, anchor.standard_error)
        return _by_accuracy(own, heard, accuracy, error, weight, original, "everybody votes alike")
    if terms.refined is False:
        return _by_agreement(own, heard, anchor)
    inputs = heard.votes.shape[1]
    if terms.refined or inputs >= max(ENOUGH * classes, REFINED_FROM * classes**2):
        return _by_answer(own, heard, anchor, terms.doubt)
    return _by_evidence(own, heard, anchor, terms, refined=inputs >= REFINED_FROM * classes**2)


def _by_evidence(own: int, heard: Heard, anchor: Anchor, terms: _Terms, *, refined: bool) -> Trust:
    """The trust of few inputs: every view that there is, each believed as far as can be told."""
    base = _by_answer(own, heard, anchor, terms.doubt) if refined else _by_agreement(own, heard, anchor)
    if not base.anchored:
        return base
    views = _views(own, heard, anchor, base.weight if refined else None)
    views = {name: weight for name, weight in views.items() if weight.any()}
    learnt = [
        _views(own, each, anchor, _by_answer(own, each, anchor, terms.doubt).weight if refined else None)
        for each in heard.without_a_fold
    ]
    others = heard.original != heard.original[own]
    shares = shares_of(own, heard.votes, anchor, learnt, views, others, terms.gold)
    scale = sum(shares[name] * np.abs(weight).sum() for name, weight in views.items())
    believed = ", ".join(f"{share:.0%} {name}" for name, share in shares.items())
    why = f"anchored: {anchor.right} of {anchor.held_out} right on its holdout; few inputs: {believed}"
    return replace(base, weight=mixed(views, shares) * scale, why=why)


def _views(own: int, heard: Heard, anchor: Anchor, refined: Floats | None) -> dict[str, Floats]:
    """What everybody's vote is worth, seen in each way; 0 all over where a view cannot be had."""
    agreeing = _by_agreement(own, heard, anchor).weight
    voices = (heard.cast > 0) / heard.sharing
    # All alike are worth what they are on average by agreement, and the own vote decides between level ones.
    worth = np.abs(agreeing).sum() or float(log_odds(anchor.accuracy, anchor.classes, doubt=_FIRM))
    alike = voices * worth / voices.sum()
    alike[own] *= 1 + _TIE_BREAK
    views = {"everybody alike": alike, "by agreement": agreeing}
    if refined is not None:
        views["by the answer of all camps"] = refined
    return views


def _by_answer(own: int, heard: Heard, anchor: Anchor, doubt: float) -> Trust:
    """The refined trust: everybody measured by the answer that its own votes lead to."""
    if np.count_nonzero(heard.one_hot[own].any(axis=1)) < 2:
        return _nobody(own, heard, "its own votes name one colour only, so agreement with it means nothing")
    n, classes, inputs = heard.one_hot.shape
    belief = min(max(anchor.accuracy, 1.1 / classes), _BELIEF)
    found = refine(own, heard.votes, heard.one_hot, heard.agreements, belief)
    if found is None:
        return _nobody(own, heard, "nobody agrees or disagrees with it more often than chance would")
    counts = found.confusion_counts
    informed, recognised = informedness(counts)
    recognition = float(recognised[own])
    if recognition < LEAST_RECOGNITION:
        return _nobody(
            own,
            heard,
            f"its votes go along with no answer on these inputs (recognition {recognition:.2f}, "
            f"below {LEAST_RECOGNITION}), so it cannot tell a right answer from its opposite",
            recognition,
        )
    accuracy = _share(np.trace(counts, axis1=1, axis2=2), heard.cast)
    error = np.sqrt(_share(accuracy * (1 - accuracy), heard.cast))
    weight = _weights(accuracy, error, classes)
    # A common colour makes a constant voter look good; what it knows is whether it tells colours apart.
    weight[np.sign(weight) != np.sign(informed)] = 0.0
    others = np.arange(n) != own
    against = found.camps.voice[others & (weight < 0)].sum()
    along = found.camps.voice[others & (weight > 0)].sum() + 1
    if against > doubt * along:
        return _nobody(
            own,
            heard,
            f"if it were right, {against:.1f} independent voices would be wrong more often than not and only "
            f"{along:.1f} right, its own included: its holdout is not like these inputs",
            recognition,
        )
    if not weight.any():  # it would decide nothing
        return _nobody(
            own,
            heard,
            "nobody, itself included, is surely better or worse than chance on these inputs",
            recognition,
        )
    smooth = counts + 1 / classes
    return Trust(
        own=own,
        classes=classes,
        inputs=inputs,
        anchored=True,
        accuracy=accuracy,
        standard_error=error,
        weight=weight * found.camps.voice,
        voice=found.camps.voice,
        confusion=smooth / smooth.sum(axis=2, keepdims=True),
        prior=found.answer.mean(axis=1),
        camps=found.camps.label,
        cliques=found.camps.cliques,
        recognition=recognition,
        why=f"anchored: {anchor.right} of {anchor.held_out} right on its holdout, and its votes go along "
        f"with the answer found (recognition {recognition:.2f})",
    )


def _by_agreement(own: int, heard: Heard, anchor: Anchor) -> Trust:
    """The plain trust: the formula for every peer by itself, copies sharing one voice."""
    found = peer_accuracies(heard.packed, own, anchor)
    accuracy = np.clip(found.value, 0.0, 1.0)
    weight = _weights(accuracy, found.sampling_error, anchor.classes)
    why = f"anchored: {anchor.right} of {anchor.held_out} right on its holdout; peers by agreement alone"
    weight = weight / heard.sharing
    return _by_accuracy(own, heard, accuracy, found.standard_error, weight, heard.original, why)


def _alike(own: int, heard: Heard, anchor: Anchor, inputs: int) -> Trust:
    """Equal trust, with the uncertainty that forbids better."""
    found = peer_accuracies(heard.packed, own, anchor)
    peers = np.delete(found.standard_error, own)
    known = peers[np.isfinite(peers)]
    typical = f"known to {np.median(known):.2f}" if known.size else "not known at all"
    why = (
        f"trust needs at least {LEAST_INPUTS} inputs on which this one voted: got {inputs}, so a peer's "
        f"accuracy is {typical}; everybody is trusted alike"
    )
    warnings.warn(why, TrustWarning, stacklevel=4)
    weight = (heard.cast > 0).astype(np.float64)
    accuracy, alone = np.clip(found.value, 0.0, 1.0), np.arange(len(weight))
    return _by_accuracy(own, heard, accuracy, found.standard_error, weight, alone, why, anchored=False)


def _alone(own: int, heard: Heard, anchor: Anchor) -> Trust:
    n = len(heard.votes)
    accuracy, error, weight = np.full(n, np.nan), np.full(n, np.nan), np.zeros(n)
    accuracy[own], error[own] = anchor.accuracy, anchor.standard_error
    weight[own] = log_odds(anchor.accuracy, anchor.classes, doubt=_FIRM)
    why = "no peer has voted: it has its own votes only"
    return _by_accuracy(own, heard, accuracy, error, weight, np.arange(n), why)


def _nobody(own: int, heard: Heard, why: str, recognition: float = float("nan")) -> Trust:
    n = len(heard.votes)
    nothing = np.full(n, np.nan)
    trust = _by_accuracy(own, heard, nothing, nothing, np.zeros(n), np.arange(n), why, anchored=False)
    return replace(trust, recognition=recognition)


def _by_accuracy(
    own: int,
    heard: Heard,
    accuracy: Floats,
    error: Floats,
    weight: Floats,
    original: Ints,
    why: str,
    *,
    anchored: bool = True,
) -> Trust:
    """A trust from accuracies alone: equally likely colours, and no wrong answer likelier than another."""
    n, classes, inputs = heard.one_hot.shape
    p = np.where(np.isnan(accuracy), 1 / classes, accuracy)
    confusion = np.repeat(((1 - p) / (classes - 1))[:, None], classes * classes, axis=1)
    confusion = confusion.reshape(n, classes, classes)
    confusion[:, np.arange(classes), np.arange(classes)] = p[:, None]
    _, label, sharing = np.unique(original, return_inverse=True, return_counts=True)
    cliques = [tuple(np.flatnonzero(label == k).tolist()) for k in np.flatnonzero(sharing > 1)]
    return Trust(
        own=own,
        classes=classes,
        inputs=inputs,
        anchored=anchored,
        accuracy=accuracy,
        standard_error=error,
        weight=weight,
        voice=1 / sharing[label],
        confusion=confusion,
        prior=np.full(classes, 1 / classes),
        camps=label.astype(np.int64),
        cliques=tuple(cliques),
        recognition=float("nan"),
        why=why,
    )


def _weights(accuracy: Floats, error: Floats, classes: int) -> Floats:
    """Log-odds of the accuracy moved towards chance by two standard errors; 0 where it is not known."""
    over = accuracy - 1 / classes
    sure = np.sign(over) * np.maximum(np.abs(over) - SHRINK * error, 0.0)
    weight = log_odds(np.clip(1 / classes + sure, 0, 1), classes, doubt=_FIRM)
    return np.where(np.isfinite(weight) & (sure != 0), weight, 0.0)


def _share(part: Floats, whole: Ints) -> Floats:
    shares: Floats = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
    return shares

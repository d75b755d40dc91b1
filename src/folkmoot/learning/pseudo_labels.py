"""Labels that participants agree on for unlabelled inputs, to fit their own models to (docs/improve.md).

Each hands in its probability of every class, for a pool of inputs and for validation rows. These are labelled
inputs of all participants, mixed into the pool, whose labels stay with their owners. Then each, by itself,

1. weighs its peers by the probability that they give to the right class of its validation rows, beyond 1/C.
   Nobody has less than 0, and copies share one voice. Those that agree with each other on the pool as they do
   not on validation rows have none: they recognise validation rows, and spare them (``changed``);
2. moves these weights by ridge regression on its own rows, strongly shrunk;
3. scales what comes of it until the classes of the pool are as frequent as among its own rows (Sinkhorn),
   unless fewer of its own validation rows are then right;
4. announces that, reviews in the same way what all have announced, and announces again;
5. takes the mean of what it then hears, by the weights of the second review.

No label leaves its owner, and no rule learns from labels of others. So a liar can lie in its answers only.
docs/benchmarks.md shows what it brings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from scipy.special import softmax

from folkmoot.aggregation.panel import centred, sharpest
from folkmoot.aggregation.ridge import STRENGTHS, fit
from folkmoot.aggregation.telling_apart import changed, copies
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.machine import one_thread
from folkmoot.votes import NO_VOTE

# Of every class, added to those among one's own rows: fewer, and a class that is missing there is lost on the
# pool; more, and own counts tell nothing.
PSEUDO_COUNTS: Final = 5.0
# Of Sinkhorn's scaling: shares are then within 1e-3 of what they should be.
_ITERATIONS: Final = 30
# The least strength of the ridge. A participant has hardly more rows than peers: less follows its own rows
# into their mistakes (-.06 with stealthy liars), more is no ridge.
_LEAST_STRENGTH: Final = 30.0
# What scores are multiplied by where no row tells: the likeliest class of even a narrow lead is nearly sure.
_UNTOLD: Final = 20.0
_FLOOR: Final = 1e-9  # of a probability, so that every class can be scaled
# Check rows of all below which agreement on them differs too much by chance to compare it with the pool's.
_LEAST_SHOWN: Final = 200

Footing: TypeAlias = tuple[float, float, float]  # what labels rest on: steady, shared, gain (below)
FIRM: Final[Footing] = (1.0, 1.0, 1.0)  # where nobody has asked
# What is heard of answers (participant, input, class), the liars' being what these say.
Told: TypeAlias = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class OwnRows:
    """A participant's own knowledge: its validation rows, their labels, its class counts."""

    places: Ints  # (row,): places of its validation rows among the inputs that all answer
    labels: Ints  # (row,): their right classes
    counts: Floats  # (class,): all its rows, shown or not, by class

    def half(self, side: int) -> OwnRows:
        """Every other validation row of each class."""
        order = np.argsort(self.labels, kind="stable")
        kept = np.zeros(len(order), dtype=np.bool_)
        kept[order[side::2]] = True
        out = np.bincount(self.labels[~kept], minlength=len(self.counts))
        return OwnRows(self.places[kept], self.labels[kept], self.counts - out)

    @property
    def why_not(self) -> str | None:
        """Why these rows cannot weigh peers; None if they can, or if there are no validation rows."""
        if (self.counts > 0).sum() < 2:
            return "its rows are of one class only, so it cannot tell who is right"
        return None


@dataclass(frozen=True)
class Recipe:
    """Which steps are taken; the defaults are the rule, and docs/benchmarks.md shows what it brings."""

    ridge: bool = True  # whether ridge regression moves the weights
    match: bool = True  # whether the classes of the pool are scaled to one's own counts
    reviews: int = 2  # how often everybody reviews what all say, the first votes included
    talks: int = 1  # how often everybody then moves to the mean of what it hears
    soft: bool = True  # whether probabilities are handed in and announced, and not the likeliest class alone


RULE: Final = Recipe()


@dataclass(frozen=True, eq=False)
class AgreedLabels:
    """The labels that each participant comes to for the pool."""

    labels: Ints  # (participant, input): a class for each input of the pool
    chances: Floats  # (participant, input, class): how likely each finds the classes of the same inputs
    weights: Floats  # (participant, participant): the final weight of everybody's answer for each participant
    why_not: tuple[str | None, ...]  # for each participant why it has no view; None if it has one
    # For each participant what its labels rest on, as ``speaks_against`` takes it: the share of them that
    # it would also come to by half of its validation rows, the lower of the two halves; the share that others
    # announced last, by what they count for; and how much more of the pool they get right than its own
    # first votes, as ``chances`` have it. None if nobody asked.
    footings: tuple[Footing, ...] | None = None

    def footing(self, i: int) -> Footing:
        """Tell what the labels of participant ``i`` rest on; 1, without doubt, if nobody asked."""
        return FIRM if self.footings is None else self.footings[i]


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

    ``votes`` (participant, input, class): How likely each finds the classes of every input, as it would say
    honestly; on its validation rows by models that have not seen them. A participant that cannot answer has
    all 0. ``pool`` (pool input,): Which of the inputs are to be labelled; the others are validation rows.
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
    weights = np.stack([each.weights for each in reviews[:n]])
    footings = None
    if steady:
        heeded = np.where(deaf[:n], 0.0, weights)
        same = (labels[n:] == labels[who[n:]]).mean(axis=1)
        same[[each.why_not is not None for each in reviews[n:]]] = 0.0  # half of its rows tell nothing
        footings = tuple(
            zip(
                same.reshape(2, n).min(axis=0).tolist(),
                _announced(heard[:, pool].argmax(axis=2), labels[:n], heeded).tolist(),
                _promised(chances, votes[:, pool].argmax(axis=2)).tolist(),
                strict=True,
            )
        )
    why_not = tuple(each.why_not for each in reviews[:n])
    return AgreedLabels(labels[:n], chances, weights, why_not, footings)


def _announced(said: Ints, labels: Ints, weights: Floats) -> Floats:
    """(participant,): the share of labels (participant, input) that others say, by what they count for."""
    others = weights * (1 - np.eye(len(weights)))
    same = (said[None] == labels[:, None]).mean(axis=2)
    return np.asarray((same * others).sum(axis=1) / np.maximum(others.sum(axis=1), 1e-300))


def _promised(chances: Floats, old: Ints) -> Floats:
    """(participant,): the mean chance of its labels less that of its model's answers (participant, input)."""
    before = np.take_along_axis(chances, old[..., None], axis=2)[..., 0]
    return np.asarray(chances.max(axis=2).mean(axis=1) - before.mean(axis=1))


def _likeliest(answers: Floats) -> Floats:
    """The likeliest class of each answer alone; no answer stays none."""
    named = np.eye(answers.shape[2])[answers.argmax(axis=2)]
    return np.where(answers.any(axis=2, keepdims=True), named, 0.0)


def _heeded(weights: Floats, deaf: Bools, own: int) -> Floats:
    """The weights of those that are heard; oneself where nobody is left."""
    kept = np.where(deaf, 0.0, weights)
    return kept if kept.any() else (np.arange(len(weights)) == own).astype(np.float64)


def _deaf(heard: Floats, held: Floats, who: Ints, pool: Ints, odd: Bools, *, announced: bool) -> Bools:
    """(view, participant): whom each does not hear, because it spares validation rows.

    The odd, unless one is odd oneself; and in what is announced also those that say what one holds half as
    often on the pool as on validation rows, or less.
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
    """(participant,): who answers or announces the pool unlike validation rows; nobody if inputs are few."""
    rows = np.setdiff1d(np.arange(votes.shape[1]), pool)
    named = _named(votes)
    odd = changed(named[:, rows], named[:, pool]) if len(rows) >= _LEAST_SHOWN else None
    return np.zeros(len(votes), dtype=np.bool_) if odd is None else odd


def _named(votes: Floats) -> Ints:
    """(participant, input): the class that each finds likeliest, -1 for no answer."""
    return np.where(votes.any(axis=2), votes.argmax(axis=2), NO_VOTE)


def voices_in(votes: Floats) -> Floats:
    """(participant,): how much of a voice each has by votes (participant, input, class): copies share one."""
    group = copies(_named(votes))
    return np.asarray(1 / np.bincount(group)[group])


def talked(heard: Floats, held: Floats, weights: Floats, own: int) -> Floats:
    """Move to the mean of what is heard, by the weights; one's own answer counts as the best peer's.

    ``heard`` (participant, input, class) is what everybody announces, ``held`` what ``own`` itself holds.
    """
    counted = weights.copy()
    counted[own] = weights.max()
    counted = counted / counted.sum()
    others = np.where(np.arange(len(weights)) == own, 0.0, counted)
    return np.asarray(np.tensordot(others, heard, axes=1) + counted[own] * held)


@dataclass(frozen=True, eq=False)
class ReviewedPeers:
    """One participant's result from the answers that it hears."""

    answers: Floats  # (input, class): chances; on its own validation rows by rules that had not seen the row
    weights: Floats  # (participant,): what each one's answer counts for, never below 0
    why_not: str | None  # why it has no view, and stays with its own answers


def _reviewed_by_all(
    heard: Floats,
    held: Floats,
    who: Ints,
    views: Sequence[OwnRows],
    pool: Ints,
    voice: Floats,
    recipe: Recipe,
) -> list[ReviewedPeers]:
    """What each view makes of what is heard, by voices (view, participant); ``held`` is its own answer."""
    blocks = blocks_of(heard)
    reviews = []
    for i, mine, own, loud in zip(who.tolist(), views, held, voice, strict=True):
        public = blocks[:, :, i].copy()
        blocks[:, :, i] = blocks_of(own[None])[:, :, 0]
        reviews.append(review(blocks, own, i, mine, pool, loud, recipe))
        blocks[:, :, i] = public
    return reviews


def blocks_of(answers: Floats) -> Floats:
    """(input, class, participant): answers (participant, input, class) less 1/C, 0 for none."""
    centre = centred(answers, answers.shape[2])
    return np.ascontiguousarray(np.moveaxis(centre, 1, 2), dtype=np.float64)


def review(
    blocks: Floats, held: Floats, own: int, rows: OwnRows, pool: Ints, voice: Floats, recipe: Recipe
) -> ReviewedPeers:
    """Weigh everybody's answers by what one's validation rows say of them, and answer every input by that.

    ``blocks`` (input, class, participant) are what is heard of everybody and one's own honest answers, less
    1/C; ``held`` (input, class) are one's own answers, and ``voice`` says how much of a voice each has.
    """
    alone = (np.arange(blocks.shape[2]) == own).astype(np.float64)
    if rows.why_not is not None:
        return ReviewedPeers(held, alone, rows.why_not)
    if len(rows.labels):
        right = blocks[rows.places, rows.labels]  # (row, participant)
        weights = np.maximum(right.mean(axis=0), 0.0) * voice
    else:
        weights = voice * blocks.any(axis=(0, 1))
    if not weights.any():
        return ReviewedPeers(held, alone, "nobody answers its own rows better than by chance")
    weights = weights / weights.sum()
    scores, sharp = blocks @ weights, _UNTOLD
    if recipe.ridge and len(rows.labels) > 1:
        loud = np.sqrt(voice)
        pull, moved, unseen = _by_ridge(blocks[rows.places] * loud, scores[rows.places], rows.labels)
        moved = moved * loud
        by_rows = np.maximum(pull * weights + moved, 0.0)
        if by_rows.any():
            scores = pull * scores + blocks @ moved
            scores[rows.places] = unseen
            weights = by_rows
            sharp = sharpest(unseen, rows.labels)
    chances = softmax(sharp * scores, axis=1)
    if recipe.match:
        share = rows.counts + PSEUDO_COUNTS
        scaled = matched(chances, share / share.sum(), pool)
        if _right(scaled, rows) >= _right(chances, rows):
            chances = scaled
    return ReviewedPeers(chances, weights, None)


def _right(chances: Floats, rows: OwnRows) -> int:
    """How many of one's own validation rows are answered right."""
    return int((chances[rows.places].argmax(axis=1) == rows.labels).sum())


def _by_ridge(features: Floats, base: Floats, labels: Ints) -> tuple[float, Floats, Floats]:
    """The pull of the base (row, class), a weight per peer, and scores by rules that had not seen the row.

    ``features`` are (row, class, peer). A peer has one weight for all classes; whole rows are left out.
    """
    rows, classes, peers = features.shape
    target = (np.eye(classes)[labels] - 1 / classes).reshape(-1, 1)
    strengths = tuple(each for each in STRENGTHS if each >= _LEAST_STRENGTH)
    found = fit(
        features.reshape(-1, peers),
        base.reshape(1, -1, 1),
        target,
        np.repeat(np.arange(rows), classes),
        strengths,
    )
    return float(found.pulls[0]), found.weights[:, 0], found.unseen.reshape(rows, classes)


def matched(chances: Floats, share: Floats, pool: Ints) -> Floats:
    """Scale probabilities (input, class) until the pool's classes have given shares: Sinkhorn's iteration.

    One factor per class is found on the pool and applied to every input; each row then adds up to 1 again.
    """
    some = np.maximum(chances, _FLOOR)
    factor = np.ones(chances.shape[1])
    for _ in range(_ITERATIONS):
        now = some[pool] * factor
        factor = factor * share / (now / now.sum(axis=1, keepdims=True)).mean(axis=0)
        factor = factor / factor.max()
    scaled = some * factor
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))

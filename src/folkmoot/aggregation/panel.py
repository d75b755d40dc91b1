"""Peer review of classes: whose labels a judge accepts, and the rule on votes that it learns from them.

A judge begins with the rule of its own rows. It accepts the owners whose labels this rule predicts better
than chance, learns from their rows and its own, and does so once more. Owners that stand apart from its side
are not accepted. One whose rows tell nothing stays near the plurality, from which ridge regression starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
from scipy.special import softmax

from folkmoot.aggregation.ridge import Decomposed, Linear, fit
from folkmoot.aggregation.telling_apart import copies, sides
from folkmoot.arrays import Array, Bools, Features, Floats, Ints, Singles
from folkmoot.votes import NO_VOTE

PUBLIC: Final = -1
# Up to so many participants their votes on their own rows count: these are few, and out of fold. Among more
# a liar would answer its own rows as it labels them, and a rule of own rows hears who is right everywhere
# (-.15 with twenty regions).
_FEW: Final = 10
_HARD: Final = 5  # rows that somebody misses, from which a few participants are told from copies
_ON_HARD: Final = 0.9  # of these, on which copies name the same class
# Share of all weights that one of a few voices may have. At half it decides alone: .000 came of one liar of
# five that answers rows rightly.
_MOST_OF_ALL: Final = 0.45
_VOICES: Final = 4  # from which that holds
# Features, or rows if these are fewer, up to which a participant has a weight for each pair of class and
# vote. These tell on which class each is good (+.06 on FEMNIST digits), and a fit takes the number's cube.
_MOST: Final = 2000
# Standard deviations above chance from which labels are believed. More costs small moots their few owners
# (-.02 with five); less lets liars with random labels in.
_BELIEVED: Final = 1.0
# Rows that speak for each forecast of a participant's own kind of inputs before any is seen: the common rule,
# that of its own rows, and its own vote, which is what it has. More costs those with ten rows what they know.
_BELIEFS: Final = np.array([0.5, 0.1, 3.0])
_STEPS: Final = 50  # of expectation-maximisation; shares move by less than .001 after these
_SURE: Final = np.linspace(0.0, 0.98, 50)


@dataclass(frozen=True, eq=False)
class Review:
    """Result of a judge's learning: accepted owners, the rule, and the reason if it cannot tell."""

    accepted: Bools
    linear: Linear
    rows: Ints
    why: str | None
    heard: tuple[str, ...] = ()  # further voters, by name


class Voter(Protocol):
    """A voter beside the participants: it answers rows and inputs by whose rows are accepted."""

    def on_rows(self, accepted: Bools) -> Singles:
        """(row, class): its votes less 1/C, each by what has not seen the row."""

    def on_inputs(self, accepted: Bools) -> Singles:
        """(input, class): its votes less 1/C."""

    def overall(self, accepted: Bools) -> Floats:
        """(participant,): the shares of everybody's votes in its own."""

    def deaf_to(self, who: Bools) -> Voter:
        """The same for those who do not hear these participants."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Votes on rows whose labels are told, as features, and the rules learnt from them so far."""

    votes: Features
    """(row, participant, class): votes less 1/C, all 0 for no vote."""
    truth: Ints
    owner: Ints
    kept: float
    voters: Mapping[str, Voter] = field(default_factory=dict)
    deaf: Bools | None = None

    def deaf_to(self, who: Bools) -> Panel:
        """The same for those who do not hear these participants."""
        return replace(self, deaf=who, voters={name: each.deaf_to(who) for name, each in self.voters.items()})

    @property
    def classes(self) -> int:
        """How many there are."""
        return int(self.votes.shape[2])

    @property
    def few(self) -> bool:
        """Whether there are so few that votes on one's own rows count."""
        return bool(self.votes.shape[1] <= _FEW)

    @cached_property
    def voice(self) -> Ints:
        """(participant,): the number of each group of copies.

        A few good models agree on easy rows without being copies: rows that somebody misses count.
        """
        named = _named(self.votes)
        if self.few:
            hard = ((named != self.truth) & (named != NO_VOTE)).any(axis=0)
            if hard.sum() >= _HARD:
                return copies(named[:, hard], _ON_HARD)
        return copies(named)

    @cached_property
    def _others(self) -> Features:
        """The votes, without those of owners on their own rows."""
        if self.few:
            return self.votes
        others = self.votes.copy()
        owned = np.flatnonzero(self.owner != PUBLIC)
        others[owned, self.owner[owned]] = 0
        return others

    @cached_property
    def _full(self) -> bool:
        """Whether a participant has a weight for each pair of classes. With two classes one says all."""
        features = (int(self.voice.max()) + 1) * self.classes
        return self.classes > 2 and min(features, len(self.truth)) <= _MOST

    @cached_property
    def _heard(self) -> tuple[Features, Features]:
        return self._hear(self._others)

    @cached_property
    def _target(self) -> Floats:
        return np.eye(self.classes)[self.truth] - 1 / self.classes

    @cached_property
    def _rows_of(self) -> list[Ints]:
        return [np.flatnonzero(self.owner == q) for q in range(self.votes.shape[1])]

    @cached_property
    def _side(self) -> Bools | None:
        """One of two sides of owners who prove different participants right."""
        named = _named(self._others)
        cast: Bools = np.asarray(named.T != NO_VOTE)
        hit = (self.truth[:, None] == named.T) & cast
        rates = np.zeros((self.classes, self.votes.shape[1]))
        for label in np.unique(self.truth).tolist():
            of_label = self.truth == label
            rates[label] = (hit[of_label].sum(axis=0) + 0.5) / (cast[of_label].sum(axis=0) + 1)
        expected = np.where(cast, rates[self.truth], 0.0)
        more = np.where(cast, hit - expected, 0.0)
        level = more.sum(axis=1) / np.maximum(cast.sum(axis=1), 1)
        voice = 1 / np.bincount(self.voice)[self.voice]
        return sides(np.where(cast, more - level[:, None], 0.0), expected, self.owner, voice)

    @cached_property
    def _learnt(self) -> dict[tuple[bytes, tuple[str, ...]], tuple[Linear, Ints]]:
        """Rules by the rows that they were learnt from: many judges learn the same."""
        return {}

    @cached_property
    def _reviews(self) -> dict[int, Review]:
        return {}

    @cached_property
    def _widened(self) -> dict[bytes, tuple[Bools, tuple[str, ...]]]:
        """Whom judges accept and hear in the end, by whom they accepted before."""
        return {}

    @cached_property
    def _first(self) -> dict[bytes, Floats]:
        """Scores of all rows by first rules, by whose rows were accepted."""
        return {}

    @cached_property
    def _sharp(self) -> dict[tuple[bytes, tuple[str, ...]], float]:
        """What makes scores logarithms of odds, by whose rows were accepted."""
        return {}

    @cached_property
    def _told(self) -> dict[int, tuple[Features, Features, Features]]:
        """Votes on inputs, as all judges hear them: the votes themselves, features and means."""
        return {}

    def review(self, judge: int) -> Review:
        """Learn as a judge."""
        if judge not in self._reviews:
            self._reviews[judge] = self._review(judge)
        return self._reviews[judge]

    def _review(self, judge: int) -> Review:
        mine = np.arange(self.votes.shape[1]) == judge
        sure = int((self.owner == PUBLIC).sum() + (self.owner == judge).sum())
        if sure < 2:
            few = f"it has {sure} rows whose labels it can trust, and needs 2 to begin with"
            return Review(
                mine, Linear(np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0))), np.zeros(0, int), few
            )
        allowed = (
            np.ones(len(mine), dtype=np.bool_) if self._side is None else self._side == self._side[judge]
        )
        alone, _ = self.rule(mine)
        scores = self._scores(alone, *self._heard, None)
        accepted = mine | (allowed & self._believed(scores))
        accepted = mine | (allowed & self._believed(self._vetting(accepted)))
        heard: tuple[str, ...] = ()
        if self.voters:
            from folkmoot.aggregation.widening import widened  # which knows panels

            key = accepted.tobytes() + allowed.tobytes()
            if key not in self._widened:
                self._widened[key] = widened(self, accepted, allowed)
            accepted, heard = self._widened[key]
        linear, rows = self.rule(accepted, heard)
        return Review(accepted, linear, rows, None, heard)

    def of_public(self) -> Review:
        """Learn as everybody does from public rows alone."""
        nobody = np.zeros(self.votes.shape[1], dtype=np.bool_)
        linear, rows = self.rule(nobody)
        return Review(nobody, linear, rows, None)

    def unseen(self, review: Review) -> Floats:
        """(row, class): the scores of the rows of a review by rules that had not seen them."""
        return self._unseen(review.linear)

    def scores(self, review: Review, votes: Features) -> Floats:
        """(input, class): how much speaks for each class by votes (input, participant, class)."""
        return self._scores(review.linear, *self._on(votes), self._inputs(review.accepted, review.heard))

    def likely_of_own(self, review: Review, judge: int, votes: Features) -> Floats:
        """(input, class): how likely each class is for inputs of the judge's own kind.

        Sites that are unlike each other know best what they see themselves. This mixes three forecasts, which
        have not seen the judge's rows, in the shares that fit these rows best. They are the rule learnt with
        others, the rule of its own rows alone, and its own vote. Without votes on one's own rows the first
        stands alone.
        """
        heard = self._on(votes)
        mine = np.arange(self.votes.shape[1]) == judge
        keen = self.sharpness(review) if review.why is None else 0.0
        common = softmax(keen * self.scores(review, votes), axis=1)
        rows = self._rows_of[judge]
        if len(rows) < 2 or not self.votes[rows, judge].any():
            return common
        linear, known = self.rule(mine)
        own = replace(review, accepted=mine, linear=linear, rows=known, heard=())
        sharp, truth = self.sharpness(own), self.truth[rows]
        sure = _trust_in(self.votes[rows, judge], truth)
        unseen = (
            softmax(keen * self._unseen(review.linear)[self.owner[review.rows] == judge], axis=1),
            softmax(sharp * self._unseen(linear)[self.owner[known] == judge], axis=1),
            _forecast(self.votes[rows, judge], sure),
        )
        share = mixture(np.stack([each[np.arange(len(rows)), truth] for each in unseen], axis=1))
        alone = softmax(sharp * self._scores(linear, *heard, None), axis=1)
        return np.asarray(share[0] * common + share[1] * alone + share[2] * _forecast(votes[:, judge], sure))

    def sharpness(self, review: Review) -> float:
        """The factor that makes scores log-odds, by the likelihood of labels that the scores had not seen."""
        key = review.accepted.tobytes(), review.heard
        if key not in self._sharp:
            sharp = sharpest(self._unseen(review.linear), self.truth[review.rows], self.told(review.rows))
            self._sharp[key] = sharp
        return self._sharp[key]

    def told(self, rows: Ints) -> Floats:
        """(row,): how likely labels are told as they are."""
        return np.where(self.owner[rows] == PUBLIC, 1.0, self.kept)

    def weight(self, review: Review) -> Floats:
        """(participant,): what its naming a class adds to that class beyond the others, on average."""
        voices = int(self.voice.max()) + 1
        each = self._by_voice(review.linear) + review.linear.pulls[0] / voices
        result = each[self.voice] / np.bincount(self.voice)[self.voice]
        for name, pull in zip(review.heard, review.linear.pulls[1:].tolist(), strict=True):
            result = result + pull * self.voters[name].overall(review.accepted)
        return np.asarray(result if self.deaf is None else np.where(self.deaf, 0.0, result))

    def rule(self, accepted: Bools, heard: tuple[str, ...] = ()) -> tuple[Linear, Ints]:
        """The rule of public rows and those of accepted owners, and these rows."""
        key = accepted.tobytes(), heard
        if key not in self._learnt:
            rows = np.flatnonzero((self.owner == PUBLIC) | accepted[self.owner])
            said = [self.voters[name].on_rows(accepted) for name in heard]
            linear = self._fit(rows, np.stack(said) if said else None)
            if self.few:
                linear = replace(linear, weights=self._bounded(linear) * linear.weights)
            self._learnt[key] = linear, rows
        return self._learnt[key]

    def _bounded(self, linear: Linear) -> float:
        """How much of what was learnt is kept, so that no voice counts for half of all or more."""
        voices = int(self.voice.max()) + 1
        if voices < _VOICES:  # one may be all that is right
            return 1.0
        each, plain = self._by_voice(linear), linear.pulls[0] / voices
        for share in np.linspace(1, 0, 21).tolist():
            weight = share * each + plain
            if weight.max() <= _MOST_OF_ALL * np.abs(weight).sum():
                return float(share)
        return 0.0

    def _by_voice(self, linear: Linear) -> Floats:
        """(voice,): what its naming a class adds to that class beyond the others, on average."""
        voices, weights = int(self.voice.max()) + 1, linear.weights
        if not self._full:
            return np.asarray(weights[:voices, 0])
        blocks = weights[: voices * self.classes].reshape(voices, self.classes, self.classes)
        same = np.einsum("gcc->g", blocks) / self.classes
        return np.asarray(same - (blocks.sum(axis=(1, 2)) / self.classes - same) / (self.classes - 1))

    def _inputs(self, accepted: Bools, heard: tuple[str, ...]) -> Features | None:
        said = [self.voters[name].on_inputs(accepted) for name in heard]
        return np.stack(said) if said else None

    def _believed(self, scores: Floats) -> Bools:
        """(participant,): owners whose labels the scores of their rows predict better than chance."""
        z = permutation_z(scores, self.truth, self.owner, self.votes.shape[1])
        count = np.bincount(self.owner[self.owner != PUBLIC], minlength=self.votes.shape[1])
        return np.asarray((count > 1) & (z > attainable(_BELIEVED, count)))

    def _on(self, votes: Features) -> tuple[Features, Features]:
        """Features and means of inputs, made once for all judges."""
        if id(votes) not in self._told:
            self._told[id(votes)] = (votes, *self._hear(votes))
        return self._told[id(votes)][1:]

    def _hear(self, votes: Features) -> tuple[Features, Features]:
        """Features (row, column, feature): what each voice says; and the mean vote (row, class).

        A rule has one column with a weight for each pair of class and vote. Where a voice has one weight it
        has a column for each class, of two classes for the second.
        """
        heard: Array = (
            votes if self.deaf is None else np.where(self.deaf[None, :, None], np.float32(0), votes)
        )
        cast: Array = np.asarray(heard.any(axis=2), dtype=np.float32)
        voices = int(self.voice.max()) + 1
        if voices < votes.shape[1]:
            member = (self.voice[:, None] == np.arange(voices)).astype(np.float32)
            count = cast @ member
            heard = np.einsum("rnc,ng->rgc", heard, member, optimize=True) / np.maximum(count, 1)[:, :, None]
            cast = (count > 0).astype(np.float32)
        mean = heard.sum(axis=1) / np.maximum(cast.sum(axis=1), 1)[:, None]
        if self._full:
            return heard.reshape(len(heard), 1, -1), mean
        return np.ascontiguousarray(self._columns(heard).transpose(0, 2, 1)), mean

    def _fit(self, rows: Ints, said: Features | None) -> Linear:
        heard, mean = self._heard
        features = heard[rows].reshape(-1, heard.shape[2])
        bases = self._bases(mean[rows], None if said is None else said[:, rows])
        target: Features = self._target[rows]
        single = np.arange(len(rows))
        if not self._full:
            target, single = self._columns(target).reshape(-1, 1), np.repeat(single, self._kinds)
        return fit(features, bases, target, single)

    @cached_property
    def _decomposed(self) -> Decomposed:
        heard = self._heard[0]
        return Decomposed.of(heard.reshape(-1, heard.shape[2]))

    def _vetting(self, accepted: Bools) -> Floats:
        """(row, class): scores of all rows by nearly the rule of accepted owners.

        Judges with ten rows accept hundreds of different sets at first, and nearly the same ones in the end.
        """
        key = accepted.tobytes()
        if key not in self._first:
            rows = np.flatnonzero((self.owner == PUBLIC) | accepted[self.owner])
            columns = 1 if self._full else self._kinds
            target = self._target[rows] if self._full else self._columns(self._target[rows]).reshape(-1, 1)
            places = (rows[:, None] * columns + np.arange(columns)).ravel()
            bases = self._bases(self._heard[1], None)
            self._first[key] = self._whole(self._decomposed.scores(places, bases, target))
        return self._first[key]

    def _scores(self, linear: Linear, heard: Features, mean: Features, said: Features | None) -> Floats:
        features = heard.reshape(-1, heard.shape[2])
        return self._whole(linear.scores(features, self._bases(mean, said)))

    def _unseen(self, linear: Linear) -> Floats:
        return self._whole(linear.unseen)

    @property
    def _kinds(self) -> int:
        """Scores per row, where a participant has one weight: of two classes one says all."""
        return 1 if self.classes == 2 else self.classes

    def _columns(self, by_class: Features) -> Features:
        return by_class[..., 1:] if self.classes == 2 else by_class

    def _bases(self, mean: Features, said: Features | None) -> Features:
        """(base, row, column): the mean vote, and what further voters say, of each column."""
        bases = mean[None] if said is None else np.concatenate([mean[None], said])
        return bases if self._full else self._columns(bases).reshape(len(bases), -1, 1)

    def _whole(self, scores: Floats) -> Floats:
        """(row, class) scores of (row, column) or of a column for each class of a row."""
        if self._full:
            return scores
        by_row = scores.reshape(-1, self._kinds)
        return np.concatenate([-by_row, by_row], axis=1) if self.classes == 2 else by_row


def centred(table: Array, classes: int) -> Features:
    """(input, participant, class): classes or probabilities less 1/C, all 0 for no vote."""
    if table.ndim == 2:
        hot = (table.T[:, :, None] == np.arange(classes)).astype(np.float32)
    else:
        hot = np.nan_to_num(np.moveaxis(table, 0, 1)).astype(np.float32)
    return np.where(hot.any(axis=2, keepdims=True), hot - np.float32(1 / classes), np.float32(0))


def sharpest(scores: Floats, labels: Ints, kept: Floats | float = 1.0) -> float:
    """The factor that makes scores (row, class) log-odds: the one under which these labels are likeliest.

    A label that is told by randomised response, as it is with the chance ``kept``, is likely as it was told.
    """
    return float(
        max(
            np.geomspace(0.1, 50.0, 64).tolist(),
            key=lambda sharp: float(log_chances(scores, labels, sharp, kept).sum()),
        )
    )


def log_chances(scores: Floats, labels: Ints, sharpness: float, kept: Floats | float = 1.0) -> Floats:
    """(row,): the logarithm of how likely each label is by scores made logarithms of odds."""
    other = (1 - np.asarray(kept)) / (scores.shape[1] - 1)
    behind = scores - scores[np.arange(len(labels)), labels][:, None]
    likely = 1 / np.exp(np.minimum(sharpness * behind, 700)).sum(axis=1)
    return np.asarray(np.log(likely * (kept - other) + other + 1e-12))


def mixture(likelihoods: Floats) -> Floats:
    """(forecaster,): the shares in which forecasters fit rows best; ``likelihoods`` is (row, forecaster).

    By expectation-maximisation, from the beliefs of ``_BELIEFS``, which count as so many rows.
    """
    share = _BELIEFS / _BELIEFS.sum()
    for _ in range(_STEPS):
        due = likelihoods * share + 1e-300
        share = (due / due.sum(axis=1, keepdims=True)).sum(axis=0) + _BELIEFS
        share = share / share.sum()
    return np.asarray(share)


def _forecast(votes: Features, sure: float) -> Floats:
    """(row, class): one participant's votes, as ``centred`` makes them, believed so far."""
    return np.asarray((sure * votes + 1 / votes.shape[1]).astype(np.float64))


def _trust_in(votes: Features, truth: Ints) -> float:
    """How far to believe votes, so that these rows are likeliest."""
    places = np.arange(len(truth)), truth
    fits = [float(np.log(_forecast(votes, float(sure))[places]).sum()) for sure in _SURE]
    return float(_SURE[int(np.argmax(fits))])


def permutation_z(scores: Floats, labels: Ints, part: Ints, parts: int) -> Floats:
    """(part,): how much better labels go with scores (row, class) than in a random order, in deviations.

    The sum of ``scores[r, labels[r]]`` over all orders of the labels has a mean and a variance that are known
    exactly (Hoeffding, 1951): with d the matrix ``scores[r, labels[s]]``, doubly centred, the trace of d over
    the root of ``sum d^2 / (m - 1)``. Columns of one label are alike, so they are counted, not repeated.
    ``part`` (row,) numbers whose rows these are, -1 for nobody's.
    """
    there = part >= 0
    scores, labels, part = scores[there].astype(np.float64), labels[there], part[there]
    classes = scores.shape[1]
    rows = np.bincount(part, minlength=parts)
    count = np.bincount(part * classes + labels, minlength=parts * classes).reshape(parts, classes)
    share = (count / np.maximum(rows, 1)[:, None])[part]
    cell = (part[:, None] * classes + np.arange(classes)).ravel()
    total: Floats = np.bincount(cell, scores.ravel(), parts * classes).astype(np.float64)
    column = (total.reshape(parts, classes) / np.maximum(rows, 1)[:, None])[part]
    whole = (share * column).sum(axis=1)
    centred = scores - column + (whole - (share * scores).sum(axis=1))[:, None]
    squares = np.bincount(part, (count[part] * centred**2).sum(axis=1), parts)
    trace = np.bincount(part, centred[np.arange(len(part)), labels], parts)
    variance = squares / np.maximum(rows - 1, 1)
    sure = (rows > 1) & (variance > 1e-12)
    return np.asarray(np.divide(trace, np.sqrt(variance), out=np.zeros(parts), where=sure))


def attainable(bound: float, rows: Any) -> Any:
    """The bound, or what so few rows can exceed: the z of m rows is at most sqrt(m - 1)."""
    return np.minimum(bound, 0.99 * np.sqrt(np.maximum(np.asarray(rows) - 1, 0)))


def _named(votes: Features) -> Ints:
    """(participant, row): the class that each names."""
    return np.where(votes.any(axis=2), votes.argmax(axis=2), NO_VOTE).T

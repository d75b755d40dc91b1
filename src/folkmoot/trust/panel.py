"""Everybody's checked answers in the shapes that a review needs, made once for all who judge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Final

import numpy as np

from folkmoot.arrays import Bools, Floats, Ints, Singles
from folkmoot.trust.camps import copies
from folkmoot.trust.checked import PUBLIC, CheckedAnswers, centred, folds, targets
from folkmoot.trust.counting import agreement_counts, pack_votes
from folkmoot.trust.ridge import Linear, fit_alone, fit_folds, fit_given
from folkmoot.trust.shift import agreement
from folkmoot.trust.vetting import sides
from folkmoot.votes import UNCOLOURED

FEW_PARTICIPANTS: Final = 10  # up to which a publisher's votes on its own rows count (they are out of fold)
MOST_FEATURES: Final = 5000  # above which a peer has one weight for all colours
_ALONE: Final = 200  # rows up to which they are left out one at a time
_SOME: Final = 1000  # rows that the strength of a rule is chosen on
_ENOUGH: Final = 3000  # rows of others that a test on one's own rows is learnt from
_LOUD: Final = 3.0  # how much stronger an expert's features are than a peer's: it is shrunk less


@dataclass(frozen=True, eq=False)
class Rule:
    """A linear rule on votes: the scores of colours."""

    linear: Linear
    per_colour: Floats | None
    """(colour,): its factor where a peer has one weight; None if peers have a weight for each colour."""
    rows: Ints
    unseen: Singles
    """(row, colour): scores of ``rows`` by rules that had seen no row of the same publisher."""


class Panel:
    """Checked answers as features; rules learnt from them are kept, since many judges learn the same."""

    def __init__(self, checked: CheckedAnswers, muted: Bools | None = None) -> None:
        self.checked = checked
        self.participants, self.classes = checked.participants, checked.classes
        self.muted = np.zeros(self.participants, dtype=bool) if muted is None else muted
        self.blocks = centred(checked.votes, checked.classes)
        self.voice_of = voices(self.blocks)
        own = np.flatnonzero(checked.publisher != PUBLIC)
        if self.participants > FEW_PARTICIPANTS:
            self.blocks[own, checked.publisher[own]] = 0
        self.target = targets(checked.truth, checked.classes)
        self.rows_of: list[Ints] = [np.flatnonzero(checked.publisher == q) for q in range(self.participants)]
        self.published: Ints = np.array([len(rows) for rows in self.rows_of])
        self.public: Ints = np.flatnonzero(checked.publisher == PUBLIC)
        self._features, self._mean = self._heard(self.blocks)
        self._learnt: dict[bytes, Rule] = {}

    @cached_property
    def voice(self) -> Floats:
        """(participant,): its share of a voice."""
        return np.asarray(1 / np.bincount(self.voice_of)[self.voice_of])

    @cached_property
    def full(self) -> bool:
        """Whether every colour of every voice has weights of its own."""
        return (int(self.voice_of.max()) + 1) * self.classes <= MOST_FEATURES

    @cached_property
    def sides(self) -> list[Bools]:
        """Ways in which publishers stand apart."""
        return sides(self.blocks, self.checked.truth, self.rows_of, self.voice)

    @cached_property
    def agreement(self) -> Floats:
        """(participant, participant): how often two agree on checked rows."""
        return agreement(self.blocks)

    def rows(self, accepted: Bools) -> Ints:
        """The public rows and those of accepted publishers."""
        publisher = self.checked.publisher
        return np.flatnonzero((publisher == PUBLIC) | accepted[publisher])

    def alone(self, own: int) -> Rule:
        """What a participant learns from its own rows and public ones."""
        mine = np.arange(self.participants) == own
        rows = self.rows(mine)
        if len(rows) > _ALONE:
            return self.learnt(mine)
        features, bases, target = self._table(rows, None)
        return self._rule(fit_alone(features, bases, target), rows, np.arange(len(rows)))

    def learnt(self, accepted: Bools, expert: Singles | None = None) -> Rule:
        """The rule of public rows and those of accepted publishers.

        ``expert`` (row, colour) is one more voter on all checked rows, as ``centred`` makes votes.
        """
        key = accepted.tobytes() + told(expert)
        if key in self._learnt:
            return self._learnt[key]
        rows = self.rows(accepted)
        features, bases, target = self._table(rows, expert)
        enough = _SOME if self.full else _SOME // self.classes
        some = np.arange(len(rows))
        if len(rows) > enough:
            some = np.linspace(0, len(rows) - 1, enough).astype(np.int64)
        fold, places = folds(self.checked.publisher[rows]), some
        if not self.full:  # a row is a row of the table for each colour
            fold = np.repeat(fold, self.classes)
            places = (some[:, None] * self.classes + np.arange(self.classes)).ravel()
        self._learnt[key] = self._rule(fit_folds(features, bases, target, fold, places), rows, some)
        return self._learnt[key]

    def without(self, own: int, accepted: Bools, rule: Rule, expert: Singles | None = None) -> Singles:
        """(row, colour): what such a rule says of a participant's rows if it has not learnt from them."""
        mine = self.rows_of[own]
        sampled = self.checked.publisher[rule.rows] == own
        if sampled.sum() == len(mine):
            return np.asarray(rule.unseen[sampled])
        others = np.setdiff1d(self.rows(accepted), mine)
        if len(others) > _ENOUGH:
            others = others[np.linspace(0, len(others) - 1, _ENOUGH).astype(np.int64)]
        linear = fit_given(*self._table(others, expert), rule.linear.strength)
        features, bases, _ = self._table(mine, expert)
        scores = linear.scores(features, bases).reshape(-1, self.classes)
        return scores if rule.per_colour is None else (scores * rule.per_colour).astype(np.float32)

    def scores(self, rule: Rule, blocks: Singles | None = None, expert: Singles | None = None) -> Singles:
        """(row, colour): what a rule says of votes (row, participant, colour), by default the checked."""
        heard = (self._features, self._mean) if blocks is None else self._heard(blocks)
        features, bases, _ = self._shaped(*heard, expert, heard[1])
        scores = rule.linear.scores(features, bases).reshape(-1, self.classes)
        return scores if rule.per_colour is None else (scores * rule.per_colour).astype(np.float32)

    def weight(self, rule: Rule) -> Floats:
        """(participant,): what its naming a colour adds to that colour beyond the others, on average."""
        voices = int(self.voice_of.max()) + 1
        mean = float(rule.linear.pulls[0]) / voices
        if self.full:
            blocks = rule.linear.weights[: voices * self.classes].reshape(voices, self.classes, self.classes)
            same = np.einsum("gcc->g", blocks) / self.classes
            cross = (blocks.sum(axis=(1, 2)) - same * self.classes) / (self.classes * (self.classes - 1))
            each = same - cross
        else:
            each = rule.linear.weights[:voices, 0]
        return np.asarray((each + mean)[self.voice_of] * self.voice * ~self.muted, dtype=np.float64)

    def _heard(self, blocks: Singles) -> tuple[Singles, Singles]:
        """The votes of each voice (row, voice, colour), and their mean (row, colour)."""
        heard = np.where(self.muted[None, :, None], np.float32(0), blocks)
        cast = heard.any(axis=2).astype(np.float32)
        voices = int(self.voice_of.max()) + 1
        if voices < self.participants:
            member = (self.voice_of[:, None] == np.arange(voices)).astype(np.float32)
            count = cast @ member
            heard = np.einsum("rnc,ng->rgc", heard, member, optimize=True) / np.maximum(count, 1)[:, :, None]
            cast = (count > 0).astype(np.float32)
        return heard, heard.sum(axis=1) / np.maximum(cast.sum(axis=1), 1)[:, None]

    def _table(self, rows: Ints, expert: Singles | None) -> tuple[Singles, Singles, Singles]:
        said = None if expert is None else expert[rows]
        return self._shaped(self._features[rows], self._mean[rows], said, self.target[rows])

    def _shaped(
        self, heard: Singles, mean: Singles, expert: Singles | None, target: Singles
    ) -> tuple[Singles, Singles, Singles]:
        """The table to regress: a row for each input, or (one weight a peer) for each of its colours."""
        bases = mean[None]
        if expert is not None:
            bases = np.stack([mean, expert])
            heard = np.concatenate([heard, np.float32(_LOUD) * expert[:, None, :]], axis=1)
        if self.full:
            return heard.reshape(len(heard), heard.shape[1] * self.classes), bases, target
        features = np.ascontiguousarray(heard.transpose(0, 2, 1)).reshape(-1, heard.shape[1])
        return features, bases.reshape(len(bases), -1, 1), target.reshape(-1, 1)

    def _rule(self, linear: Linear, rows: Ints, some: Ints) -> Rule:
        unseen = linear.unseen.reshape(-1, self.classes)
        if self.full:
            return Rule(linear, None, rows[some], unseen)
        target = self.target[rows[some]]
        product, square = (unseen * target).sum(axis=0), (unseen**2).sum(axis=0)
        doubt = max(float(square.mean()) / 10, 1e-9)  # a colour's own factor is shrunk towards 1
        factor = np.maximum((product + doubt) / (square + doubt), 0.0).astype(np.float64)
        return Rule(linear, factor, rows[some], (unseen * factor).astype(np.float32))


def told(expert: Singles | None) -> bytes:
    """What tells an expert's votes from others, to keep what was learnt with them by."""
    return b"" if expert is None else blake2b(np.ascontiguousarray(expert).data, digest_size=16).digest()


def voices(blocks: Singles) -> Ints:
    """(participant,): the number of its voice; copies have the same."""
    named, cast = blocks.argmax(axis=2).T, blocks.any(axis=2).T
    packed = pack_votes(np.where(cast, named, UNCOLOURED), blocks.shape[2])
    return np.unique(copies(agreement_counts(packed)), return_inverse=True)[1]

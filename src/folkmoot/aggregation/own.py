"""Common parts of own aggregations: the rows that a judge may use, and its answer if it cannot tell.

A judge of ``PeerReview`` may use all rows: their inputs, everybody's votes on them and their labels as told
are public. A judge of ``HoldoutTrust`` may use public rows (owner -1) and the rows that it owns, and of these
only the votes that are in the table: its own, and those of participants that it has asked about them. Nobody
may use ``Known.truth``: a judge that knew the answers would need no aggregation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Final

import numpy as np

from folkmoot.aggregation.interface import Aggregation, Answers, FinalVotes, Kind, Known, Rows, smoothed
from folkmoot.aggregation.median import Median
from folkmoot.aggregation.plurality import Plurality
from folkmoot.aggregation.pool import Pool
from folkmoot.arrays import Array, Floats, Ints, Progress
from folkmoot.votes import NO_VOTE

# How votes of each kind count if nothing is known of anybody.
ALIKE: Final[Mapping[Kind, Aggregation]] = {
    "labels": Plurality(),
    "probabilities": Pool(),
    "numbers": Median(),
}
_MOST_CELLS = 1 << 26  # of probabilities (judge, input, class), 512 MiB; beyond it final votes have none


def kind_of(table: Array, rows: Rows | None) -> Kind:
    """The kind of votes in a table. Truths of numbers may have several dimensions; chances have classes."""
    if table.dtype.kind != "f":
        return "labels"
    if table.ndim == 3 and (rows is None or np.ndim(rows.truth) == 1):
        return "probabilities"
    return "numbers"


def judges_of(table: Array, known: Known) -> Ints:
    """The participants whose final votes are wanted."""
    return np.arange(len(table)) if known.judges is None else np.asarray(known.judges, dtype=np.int64)


def named(table: Array, kind: Kind) -> Ints:
    """(participant, input): the class that each votes for or finds likeliest, -1 for none."""
    if kind == "labels":
        return table
    there = ~np.isnan(table).any(axis=2)
    return np.where(there, np.nan_to_num(table).argmax(axis=2), NO_VOTE)


class Codes:
    """The classes that occur, numbered from 0, so that memory follows what was voted, not all classes."""

    def __init__(self, *labels: Ints, all_of: int | None = None) -> None:
        there = np.unique(np.concatenate([each.ravel() for each in labels]))
        self.labels = there[there != NO_VOTE] if all_of is None else np.arange(all_of)
        self.count = max(2, len(self.labels))

    def of(self, labels: Ints) -> Ints:
        """The numbers of classes."""
        return np.where(labels == NO_VOTE, NO_VOTE, np.searchsorted(self.labels, labels))

    def back(self, codes: Ints) -> Ints:
        """The classes of numbers."""
        return np.where(codes == NO_VOTE, NO_VOTE, self.labels[np.minimum(codes, len(self.labels) - 1)])

    def spread(self, likely: Floats, classes: int) -> Floats:
        """(input, class): (input, number) with a column for every class."""
        result = np.zeros((len(likely), classes))
        result[:, self.labels] = likely[:, : len(self.labels)]
        total = result.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(result, total, out=np.full_like(result, 1 / classes), where=total > 0))


_WATCHING: ContextVar[Progress | None] = ContextVar("_WATCHING", default=None)


@contextmanager
def watching(progress: Progress | None) -> Iterator[None]:
    """Call ``progress`` with (done, all) as judges come to final votes, wherever that happens inside.

    Estimators and reports ask for final votes several layers below; ``Known.progress`` is for one table.

    Parameters
    ----------
    progress : callable, optional
        The function to call; None for nobody.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.aggregation import HoldoutTrust, Known
    >>> from folkmoot.aggregation.own import watching
    >>> with watching(lambda done, whole: print(f"{done} of {whole}")):
    ...     votes = HoldoutTrust().aggregate(np.array([[0, 1], [1, 1]]), Known())
    1 of 2
    2 of 2
    """
    token = _WATCHING.set(progress)
    try:
        yield
    finally:
        _WATCHING.reset(token)


def likely_by(rule: Aggregation, answers: Answers, table: Array, classes: int) -> Floats:
    """(input, class): how likely each class is by a public rule; shares of a plurality are smoothed."""
    likely = answers.probabilities(classes)
    return smoothed(likely, (table != NO_VOTE).sum(axis=0)) if isinstance(rule, Plurality) else likely


class Finals:
    """Final votes as judges come to them."""

    def __init__(self, table: Array, kind: Kind, known: Known) -> None:
        self._table, self._kind, self._known = table, kind, known
        n, inputs = table.shape[:2]
        self._plain: Answers | None = None
        self.votes: Array = (
            np.full(table.shape, np.nan) if kind == "numbers" else np.full((n, inputs), NO_VOTE)
        )
        self.classes = known.classes or 2
        if known.classes is None and kind != "numbers":
            rows = [] if known.rows is None else [known.rows.votes, known.rows.truth]
            largest = max(int(np.max(each, initial=NO_VOTE)) for each in (table, *rows))
            self.classes = table.shape[2] if kind == "probabilities" else max(2, largest + 1)
        self.probabilities: Floats | None = None
        if kind != "numbers" and n * inputs * self.classes <= _MOST_CELLS:
            self.probabilities = np.full((n, inputs, self.classes), np.nan)
        self.weights = np.zeros((n, n))
        self.fell_back: dict[int, str] = {}
        self._done, self._whole = 0, len(judges_of(table, known))

    @property
    def plain(self) -> Answers:
        """The answer if all count alike: plurality, mean of probabilities, or median."""
        if self._plain is None:
            self._plain = ALIKE[self._kind].aggregate(self._table, replace(self._known, rows=None))
        return self._plain

    def hold(self, judge: int, votes: Array, weight: Floats, likely: Floats | None = None) -> None:
        """A judge's final votes; where it has none it takes the plurality."""
        if self._kind != "numbers":
            votes = np.where(votes == NO_VOTE, self._untied(judge), votes)
        self.votes[judge] = votes
        self.weights[judge] = weight
        if self.probabilities is not None:
            if likely is None:
                likely = likely_by(ALIKE[self._kind], self.plain, self._table, self.classes)
            self.probabilities[judge] = likely
        self._done += 1
        if (progress := self._known.progress or _WATCHING.get()) is not None:
            progress(self._done, self._whole)

    def fall_back(self, judge: int, why: str) -> None:
        """A judge that cannot tell whom to believe takes the plurality, and says why."""
        everybody = np.ones(len(self._table))
        votes = self.plain.decision if self._kind == "numbers" else self._untied(judge)
        self.hold(judge, votes, everybody)
        self.fell_back[judge] = why

    def _untied(self, judge: int) -> Ints:
        """The plurality; its own vote decides between classes that are tied."""
        plain = self.plain
        own = named(self._table[judge][None], self._kind)[0]
        if plain.choices is None or plain.tied is None:
            return plain.decision
        among = ((plain.choices == own[:, None]) & plain.tied).any(axis=1)
        return np.where(among, own, plain.decision)

    def done(self) -> FinalVotes:
        """All of them."""
        return FinalVotes(self.votes, self.probabilities, self.weights, self.fell_back)

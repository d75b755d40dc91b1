"""A node's model as a voter: labels become colours, and what it cannot answer becomes an abstention
with a reason.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Array
from folkmoot.network.wire.motion import Motion
from folkmoot.node.service.models import Model
from folkmoot.node.wire.schema import Alignment, MismatchError, Schema
from folkmoot.votes import UNCOLOURED

MOST_CALLS: Final = 64  # of the model for one chunk, to find the rows that it fails on


class ChunkVotes(NamedTuple):
    """Votes on a chunk. ``reason`` is told to all; ``detail`` may hold what is private, and stays here."""

    votes: Array  # as the motion's form has first votes
    reason: str = ""
    detail: str = ""
    unchecked: str = ""  # why columns were taken by position


class Voter:
    """Votes on chunks of inputs; whatever the model does, the node goes on."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def check(self, motion: Motion) -> None:
        """MismatchError unless the model can take the columns of a motion, and give such answers."""
        self.model.check(motion.schema, motion.columns, motion.answers)

    def vote(
        self,
        inputs: Array,
        labels: Sequence[str],
        wanted: Callable[[], bool] = lambda: True,
        schema: Schema = (),
    ) -> ChunkVotes:
        """A colour for every row, or -1; and why, if the model could not answer some of them.

        ``wanted`` is asked before every call of the model: once the votes are not, it is not called again.
        ``schema`` says what the columns are. They are put in the model's order; a model that has other ones,
        or another unit, answers nothing, and no row with a value out of range is shown to it.
        """
        none = np.full(len(inputs), UNCOLOURED, dtype=np.int8)
        return self._within(inputs, schema, none, lambda rows: self._votes(rows, labels, wanted))

    def numbers(self, inputs: Array, motion: Motion, wanted: Callable[[], bool] = lambda: True) -> ChunkVotes:
        """A number for every row, or the levels of its probabilities; and why, if some have none."""
        none = motion.form.nothing(len(inputs))
        try:
            self.model.check_answers(motion.answers)
        except MismatchError as error:
            return ChunkVotes(none, error.why, str(error))
        return self._within(inputs, motion.schema, none, lambda rows: self._numbers(rows, motion, wanted))

    def _within(
        self, inputs: Array, schema: Schema, none: Array, ask: Callable[[Array], ChunkVotes]
    ) -> ChunkVotes:
        """The votes on the rows that the model can be shown; ``none`` are no votes on any."""
        try:
            fit = self.model.fit(schema, inputs.shape[1])
        except MismatchError as error:
            return ChunkVotes(none, error.why, str(error))
        arranged = fit.arranged(inputs)
        outside = fit.outside(arranged)
        within = ~outside.any(axis=1)
        if within.all():
            return ask(arranged)._replace(unchecked=fit.unchecked)
        why, detail = _out_of_range(fit, arranged, outside)
        if within.any():
            ballot = ask(arranged[within])
            none[within] = ballot.votes
            why = f"{why}; {ballot.reason}" if ballot.reason else why
            detail = f"{detail}; {ballot.detail}" if ballot.detail else detail
        return ChunkVotes(none, why, detail, fit.unchecked)

    def _votes(self, inputs: Array, labels: Sequence[str], wanted: Callable[[], bool]) -> ChunkVotes:
        questions = _Questions(self.model.predict, inputs, wanted)
        with self.model.during(wanted):
            said, why, detail = questions.put()
        colour = {label: number for number, label in enumerate(labels)}
        votes = [UNCOLOURED if label is None else colour.get(label, UNCOLOURED) for label in said]
        strange = next((label for label in said if label is not None and label not in colour), None)
        if strange is not None and not why:
            why = "its model gives labels that are not among those of the motion"
            detail = f"the model says {strange!r:.60}, and the motion has {', '.join(labels):.200}"
        return ChunkVotes(np.array(votes, dtype=np.int8), why, detail)

    def _numbers(self, inputs: Array, motion: Motion, wanted: Callable[[], bool]) -> ChunkVotes:
        labels = motion.labels if motion.answers == "probabilities" else None
        questions = _Questions(lambda rows: self.model.numbers(rows, labels), inputs, wanted)
        with self.model.during(wanted):
            said, why, detail = questions.put()
        votes = motion.form.nothing(len(inputs))
        for row, numbers in enumerate(said):
            if numbers is not None:
                votes[row] = numbers
        if labels is not None and not why and (votes < 0).any():
            why = "its model gives labels that are not among those of the motion"
        return ChunkVotes(votes, why, detail)


def _out_of_range(fit: Alignment, inputs: Array, outside: npt.NDArray[np.bool_]) -> tuple[str, str]:
    """What is told to all, and what stays here: the first value, and the range that it is out of."""
    rows = int(outside.any(axis=1).sum())
    row, column = (int(each[0]) for each in np.nonzero(outside))
    what = "1 input has a value" if rows == 1 else f"{rows} inputs have values"
    such = f", such as that of {fit.names[column]!r:.80}" if fit.names else ""
    value, low, high = inputs[row, column], fit.low[column], fit.high[column]
    detail = f"the model's column {column} is {value} in one, and must be {low} to {high}"
    return f"{what} outside a declared range{such}", detail


class _Questions:
    """The calls of a model for one chunk: all rows at once, and if that fails those it does not fail on.

    Many models refuse a whole batch for one bad cell. Rows with missing or infinite values are asked about
    apart from the others, since some models take them and most do not. Among the others those that the model
    fails on are found by halving, the largest part first, so that as many as possible are answered when the
    calls are used up.
    """

    def __init__(
        self, ask: Callable[[Array], Iterable[Any]], inputs: Array, wanted: Callable[[], bool]
    ) -> None:
        self._ask, self._inputs, self._wanted = ask, inputs, wanted
        self._said: list[Any] = [None] * len(inputs)
        self._calls = 0
        self._detail = ""

    def put(self) -> tuple[list[Any], str, str]:
        """An answer to every row, or None; why and how the model failed, if it did."""
        everything = np.arange(len(self._inputs))
        if self._answered(everything):
            return self._said, "", ""
        finite = np.isfinite(self._inputs).all(axis=1)
        missing = ~finite & ~np.isinf(self._inputs).any(axis=1)
        odd = [rows for rows in map(np.flatnonzero, (missing, ~finite & ~missing)) if len(rows)]
        whole = np.flatnonzero(finite)
        if odd and len(odd[0]) < len(everything):  # else it has failed on just these rows
            for rows in odd:
                self._answered(rows)
        self._halve(whole, failed=len(whole) == len(everything))
        open_rows = np.array([label is None for label in self._said])
        failed, strange = int((open_rows & finite).sum()), int((open_rows & ~finite).sum())
        if not open_rows.any():
            return self._said, "", ""
        if open_rows.all():
            return self._said, "its model failed", self._detail
        why = [f"cannot answer the {strange} inputs with missing or infinite values"] if strange else []
        why += [f"failed on {failed} input{'' if failed == 1 else 's'}"] if failed else []
        return self._said, f"its model {' and '.join(why)}", self._detail

    def _halve(self, rows: npt.NDArray[np.intp], *, failed: bool) -> None:
        parts = [(-len(rows), int(rows[0]), rows, failed)] if len(rows) else []
        while parts and self._may_ask():
            _, _, part, known = heapq.heappop(parts)
            if (known or not self._answered(part)) and len(part) > 1:
                for half in np.array_split(part, 2):
                    heapq.heappush(parts, (-len(half), int(half[0]), half, False))

    def _may_ask(self) -> bool:
        return self._calls < MOST_CALLS and self._wanted()

    def _answered(self, rows: npt.NDArray[np.intp]) -> bool:
        """Whether the model may be asked and answers these rows."""
        if not self._may_ask():
            return False
        self._calls += 1
        asked = self._inputs if len(rows) == len(self._inputs) else self._inputs[rows]
        try:
            answers = self._ask(asked)
        except Exception as error:
            if not self._detail:
                self._detail = f"{type(error).__name__}: {' '.join(str(error).split())}"[:1000]
            return False
        for row, answer in zip(rows.tolist(), answers, strict=True):
            self._said[row] = answer
        return True

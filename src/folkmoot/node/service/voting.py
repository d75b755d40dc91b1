"""A node's model as a voter: its answers become votes or choices, and what it cannot answer no vote.

Choices among proposed texts are made by its own model, by an embedding, or by staying with its own text;
``folkmoot.texts.choosing`` has the three ways. Whatever the model does, the node goes on: an input without an
answer has no vote, with a reason.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from folkmoot.aggregation.texts import Candidate, Choice
from folkmoot.arrays import Array, Bools, Ints
from folkmoot.node.ballots import ballots_by
from folkmoot.node.service.models import Model, ModelAnswers
from folkmoot.node.session.header import Header
from folkmoot.node.wire.schema import Alignment, MismatchError
from folkmoot.texts.choosing import Choose, UnreadableError, nearest, own, prompt_for, read_reply, shuffled

MOST_CALLS: Final = 64  # of the model for one chunk, to find the rows that it fails on
_SILENT: Final = "its model gives no answer to some inputs"


class ModelVotes(NamedTuple):
    """Votes or choices on some inputs. All are told ``reason``; ``detail`` may be private, and stays here."""

    votes: Any  # as ``Ballots`` has them; of choices a list, None for none
    reason: str = ""
    detail: str = ""
    unchecked: str = ""  # why columns were taken by position
    failed: int = 0  # inputs that the model could not answer


def nothing(header: Header, rows: int) -> Ints:
    """No vote on so many inputs."""
    return ballots_by(header.terms, rows).nothing()


def votes_on(
    model: Model,
    header: Header,
    inputs: Array,
    wanted: Callable[[], bool] = lambda: True,
    left: Callable[[], float] = lambda: math.inf,
) -> ModelVotes:
    """A model's votes on inputs of a motion; whatever it does, the node goes on.

    ``wanted`` is asked before every call of the model: once the votes are not, it is not called again.
    ``left`` says how many seconds there are: what a service has not answered then is no vote.
    Columns are put in the model's order. A model that has other ones, or another unit, answers nothing, and
    no row with a value out of range is shown to it. A label that the motion does not have is no vote.
    """
    none = nothing(header, len(inputs))
    try:
        fit = model.fit(header.schema, header.columns, header.dtype)
        model.check_answers(header.terms.answers)
    except MismatchError as error:
        return ModelVotes(none, error.why, str(error))
    arranged = fit.arranged(inputs)
    outside = fit.outside(arranged)
    within = ~outside.any(axis=1)
    if within.all():
        return _asked(model, header, fit, arranged, wanted, left)._replace(unchecked=fit.unchecked)
    why, detail = _out_of_range(fit, arranged, outside)
    if within.any():
        found = _asked(model, header, fit, arranged[within], wanted, left)
        none[within] = found.votes
        why = f"{why}; {found.reason}" if found.reason else why
        detail = f"{detail}; {found.detail}" if found.detail else detail
        return ModelVotes(none, why, detail, fit.unchecked, found.failed)
    return ModelVotes(none, why, detail, fit.unchecked)


def _asked(
    model: Model,
    header: Header,
    fit: Alignment,
    inputs: Array,
    wanted: Callable[[], bool],
    left: Callable[[], float],
) -> ModelVotes:
    terms = header.terms
    questions = _Questions(
        lambda rows: model.ask(rows, terms.answers, terms.labels, left(), fit.names),
        inputs,
        wanted,
        halves=not model.is_remote,
    )
    with model.during(wanted):
        said, why, detail = questions.put()
    failed = sum(answer is None for answer in said)
    votes, strange, what = ballots_by(terms, header.inputs).of_model(said)
    if strange and not why:
        why, detail = strange, what or detail
    return ModelVotes(votes, why, detail, failed=failed)


def _out_of_range(fit: Alignment, inputs: Array, outside: npt.NDArray[np.bool_]) -> tuple[str, str]:
    """What is told to all, and what stays here: the first value, and the range that it is out of."""
    rows = int(outside.any(axis=1).sum())
    row, column = (int(each[0]) for each in np.nonzero(outside))
    what = "1 input has a value" if rows == 1 else f"{rows} inputs have values"
    such = f", such as that of {fit.names[column]!r:.80}" if fit.names else ""
    value, low, high = inputs[row, column], fit.low[column], fit.high[column]
    detail = f"the model's column {column} is {value} in one, and must be {low} to {high}"
    return f"{what} outside a declared range{such}", detail


def _whole(inputs: Array) -> tuple[Bools, Bools]:
    """Which inputs have all values, and which of the others lack some but have no infinite one."""
    if inputs.ndim == 1:
        return np.ones(len(inputs), dtype=bool), np.zeros(len(inputs), dtype=bool)
    if inputs.dtype == object:
        lacking = np.array([None in row for row in inputs.tolist()], dtype=bool)
        return ~lacking, lacking
    finite = np.asarray(np.isfinite(inputs).all(axis=1))
    infinite = np.asarray(np.isinf(inputs).any(axis=1))
    return finite, ~finite & ~infinite


class _Questions:
    """The calls of a model for one chunk: all rows at once, and if that fails those it does not fail on.

    Many models refuse a whole batch for one bad cell. Rows with missing or infinite values are asked about
    apart from the others, since some models take them and most do not. Among the others those that the model
    fails on are found by halving, the largest part first, so that as many as possible are answered when the
    calls are used up.
    """

    def __init__(
        self,
        ask: Callable[[Array], ModelAnswers],
        inputs: Array,
        wanted: Callable[[], bool],
        *,
        halves: bool,
    ) -> None:
        """``halves``: whether to look for the rows that it fails on; a service is not asked for that."""
        self._ask, self._inputs, self._wanted = ask, inputs, wanted
        self._said: list[Any] = [None] * len(inputs)
        self._calls, self._halves = 0, halves
        self._why = self._detail = ""

    def put(self) -> tuple[list[Any], str, str]:
        """An answer to every row, or None; why and how the model failed, if it did."""
        everything = np.arange(len(self._inputs))
        if self._answered(everything):
            return self._said, self._why, self._detail
        if not self._halves:
            return self._said, "its model failed", self._detail
        finite, missing = _whole(self._inputs)
        odd = [rows for rows in map(np.flatnonzero, (missing, ~finite & ~missing)) if len(rows)]
        whole = np.flatnonzero(finite)
        if odd and len(odd[0]) < len(everything):  # else it has failed on just these rows
            for rows in odd:
                self._answered(rows)
        self._halve(whole, failed=len(whole) == len(everything))
        open_rows = np.array([label is None for label in self._said])
        failed, strange = int((open_rows & finite).sum()), int((open_rows & ~finite).sum())
        if not open_rows.any():
            return self._said, self._why, self._detail
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
            answers, why, detail = self._ask(asked)
        except Exception as error:
            if not self._detail:
                self._detail = f"{type(error).__name__}: {' '.join(str(error).split())}"[:1000]
            return False
        for row, answer in zip(rows.tolist(), answers, strict=True):
            self._said[row] = answer
        silent = any(answer is None for answer in answers)
        if not self._why and (why or silent):
            self._why, self._detail = why or _SILENT, self._detail or detail
        return True


# Choices among proposed texts


def chosen_by(
    how: Choose,
    say: Callable[[Sequence[str]], ModelAnswers] | None,
    member: int,
    questions: Sequence[Any],
    options: Sequence[tuple[Candidate, ...]],
    secret: bytes,
) -> ModelVotes:
    """Choose on each question, None for no choice: ``folkmoot.texts.choosing`` has the three ways.

    ``say`` asks the model whole prompts, and ``secret`` is what its orders follow from. A member stays with
    its own proposals if its model takes no prompts, or if the questions are gone.
    """
    found: list[Choice | None] = [None] * len(options)
    asks: dict[int, list[int]] = {}
    for k, each in enumerate(options):
        if not each:
            continue
        if how == "embedding":
            found[k] = nearest(each)
        elif how == "same" or say is None or (len(each) == 1 and member in each[0].proposers):
            choice = own(member, each)
            found[k] = None if choice.best is None else choice
        else:
            order_of = hashlib.sha256(secret + k.to_bytes(4, "big")).digest()
            asks[k] = shuffled(len(each), order_of)
    if not asks or say is None:
        return ModelVotes(found)
    texts = {k: [each.text for each in options[k]] for k in asks}
    said = say([prompt_for(questions[k], texts[k], order) for k, order in asks.items()])
    why = detail = ""
    for (k, order), text in zip(asks.items(), said.values, strict=True):
        try:
            if text is None:
                raise UnreadableError(said.reason)
            found[k] = read_reply(text, order)
        except UnreadableError as error:
            why = why or str(error)
            detail = detail or said.detail or f"it said {' '.join((text or '').split())!r:.200}"
    return ModelVotes(found, why, detail, failed=sum(found[k] is None for k in asks))


def question_of(header: Header, row: Any) -> Any:
    """An input as a model is shown it: by the names of its columns, if these have names."""
    cells = row.tolist() if hasattr(row, "tolist") else row
    if header.schema and isinstance(cells, list):
        return dict(zip((column.name for column in header.schema), cells, strict=True))
    return cells

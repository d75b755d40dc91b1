"""The columns of inputs: names, units and ranges; and whether a model can take them.

A motion may carry this, and so may a model. If both have names, columns are matched by name and never by
position.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Array, Floats
from folkmoot.files.tabular import shortened

LONGEST_COLUMN: Final = 200  # characters of a name; a unit may have a quarter
LONGEST_UNIT: Final = 50
NO_NAMES: Final = "the columns of the inputs have no names"
NO_SCHEMA: Final = "its model has no names for its columns: give it a schema"


class Column(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One column of the inputs of a motion, or of a model.

    Examples
    --------
    >>> from folkmoot.node.wire.schema import Column
    >>> Column("age", unit="years", low=0, high=120)
    Column(name='age', unit='years', low=0.0, high=120.0, kind='number')
    >>> Column("age", low=5, high=1)
    Traceback (most recent call last):
        ...
    ValueError: column 'age' must have low <= high: got low=5.0, high=1.0
    """

    name: str  # what it is called; upper and lower case differ
    unit: str = ""  # in what it is measured, "" if that is not said
    # The least and the largest value that it may have; None is no bound.
    low: float | None = None
    high: float | None = None
    # Its values. Inputs that are rows of numbers have numbers alone.
    kind: Literal["number", "text", "boolean"] = "number"

    def __post_init__(self) -> None:
        if self.kind != "number" and not (self.low is None and self.high is None):
            raise ValueError(
                f"column {self.name!r:.40} must be of numbers to have low or high: it is {self.kind}"
            )
        if not 1 <= len(self.name) <= LONGEST_COLUMN:
            raise ValueError(
                f"a column must have a name of 1 to {LONGEST_COLUMN} characters: got {self.name!r:.40}"
            )
        if len(self.unit) > LONGEST_UNIT:
            raise ValueError(f"a unit must have at most {LONGEST_UNIT} characters: got {self.unit!r:.60}")
        for field in ("low", "high"):
            value = getattr(self, field)
            if value is not None:
                if math.isnan(value):
                    raise ValueError(f"{field} of column {self.name!r} must be a number: got {value}")
                msgspec.structs.force_setattr(self, field, float(value))  # one encoding: 0 is 0.0
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(
                f"column {self.name!r} must have low <= high: got low={self.low}, high={self.high}"
            )


Schema = tuple[Column, ...]


class MismatchError(ValueError):
    """Inputs that a model cannot take. ``why`` may be told to all; the message names the model's columns."""

    def __init__(self, why: str, detail: str) -> None:
        super().__init__(detail)
        self.why = why


@dataclass(frozen=True)
class Alignment:
    """How the columns of inputs become those of a model."""

    order: npt.NDArray[np.intp] | None  # None: as they come
    low: Floats
    high: Floats
    names: tuple[str, ...]  # of the columns in the model's order; none if nobody names them
    unchecked: str  # why the columns were taken by position; "" if they were not

    def arranged(self, inputs: Array) -> Array:
        """The inputs with the columns where the model has them."""
        return inputs if self.order is None else inputs[:, self.order]

    def outside(self, arranged: Array) -> npt.NDArray[np.bool_]:
        """Which values lie outside the declared ranges; a missing value does not."""
        if arranged.ndim == 1:  # texts
            return np.zeros((len(arranged), 1), dtype=bool)
        if arranged.dtype != object:
            return (arranged < self.low) | (arranged > self.high)
        found = np.zeros(arranged.shape, dtype=bool)
        for column in np.flatnonzero(np.isfinite(self.low) | np.isfinite(self.high)).tolist():
            values = np.array(
                [np.nan if each is None else each for each in arranged[:, column]], dtype=np.float64
            )
            found[:, column] = (values < self.low[column]) | (values > self.high[column])
        return found


def check_schema(schema: Schema, columns: int, what: str) -> None:
    """ValueError unless a schema names all columns, each differently; one without columns is none at all."""
    if schema and len(schema) != columns:
        raise ValueError(f"{what} must name all columns: got {len(schema)} names for {columns} columns")
    counted = Counter(column.name for column in schema)
    if len(counted) < len(schema):
        twice, _ = counted.most_common(1)[0]
        raise ValueError(f"{what} must name columns differently: got {twice!r} more than once")


def described(names: Sequence[str], declared: Schema, what: str) -> Schema:
    """Columns of these names, with what is declared of each; ValueError unless the names are the same."""
    by_name = {column.name: column for column in declared}
    if set(by_name) != set(names):
        raise ValueError(f"{what}: {_difference(names, by_name)}")
    return tuple(by_name[name] for name in names)


def align(model: Schema, inputs: Schema, columns: int) -> Alignment:
    """Match inputs of so many columns with a model; MismatchError if it cannot take them.

    Without names on one side columns are taken as they come, and the alignment says so. Ranges of both sides
    hold. A unit is compared where both sides give one: numbers are never converted.
    """
    if not model or not inputs:
        if model and len(model) != columns:
            raise another_number(len(model), columns)
        low, high = _bounds([model or inputs], columns)
        return Alignment(
            None, low, high, tuple(each.name for each in inputs), NO_SCHEMA if inputs else NO_NAMES
        )
    place = {column.name: number for number, column in enumerate(inputs)}
    if set(place) != {column.name for column in model}:
        raise _other_columns([column.name for column in model], place)
    order = [place[column.name] for column in model]
    for own, number in zip(model, order, strict=True):
        given = inputs[number].unit
        if own.unit and given and own.unit != given:
            raise MismatchError(
                f"the inputs have {own.name!r:.80} in {given!r:.60}, and its model takes another unit",
                f"the model takes {own.name!r} in {own.unit!r}, and the inputs have it in {given!r}",
            )
    low, high = _bounds([model, [inputs[number] for number in order]], columns)
    same = order == list(range(columns))
    names = tuple(column.name for column in model)
    return Alignment(None if same else np.array(order), low, high, names, "")


def another_number(own: int, given: int) -> MismatchError:
    """Inputs with more or fewer columns than a model takes."""
    why = "the inputs do not have the columns that its model takes"
    return MismatchError(why, f"the model takes {own} columns, and the inputs have {given}")


def _bounds(schemas: Sequence[Sequence[Column]], columns: int) -> tuple[Floats, Floats]:
    low, high = np.full(columns, -np.inf), np.full(columns, np.inf)
    for schema in schemas:
        for number, column in enumerate(schema):
            low[number] = max(low[number], -np.inf if column.low is None else column.low)
            high[number] = min(high[number], np.inf if column.high is None else column.high)
    return low, high


def _other_columns(own: Sequence[str], given: Mapping[str, object]) -> MismatchError:
    """What is missing is the model's own business; what it does not know is in the motion, and public."""
    known = set(own)
    strange = [name for name in given if name not in known]
    missing = sum(name not in given for name in own)
    told = [f"{missing} {'is' if missing == 1 else 'are'} missing"] if missing else []
    told += [f"it does not know {_quoted(strange)}"] if strange else []
    why = f"the inputs do not have the columns that its model takes: {', and '.join(told)}"
    return MismatchError(why, f"the columns of the model and of the inputs differ: {_difference(given, own)}")


def _difference(
    given: Sequence[str] | Mapping[str, object], wanted: Sequence[str] | Mapping[str, object]
) -> str:
    both = set(wanted) & set(given)  # a motion of others may have many columns
    missing = [name for name in wanted if name not in both]
    strange = [name for name in given if name not in both]
    told = [f"{_quoted(missing)} missing"] if missing else []
    return " and ".join(told + ([f"{_quoted(strange)} not known"] if strange else []))


def _quoted(names: Sequence[str]) -> str:
    return shortened([repr(name[:40]) for name in names[:4]]) + (
        f" and {len(names) - 4} more" if len(names) > 4 else ""
    )

"""What model a node runs, from a file of skops, ONNX or pickle or a Python function: rows in, labels out.

Labels travel between nodes as text, so every kind of label must become the same text on every node: a 3 is
"3" whether a model calls it 3, 3.0 or "3". Nothing heavy is imported before the model that needs it.
"""

from __future__ import annotations

import errno
import functools
import importlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from folkmoot.aggregation import LARGEST
from folkmoot.arrays import Array, Floats
from folkmoot.files.skops_files import told
from folkmoot.files.tabular import shortened
from folkmoot.node.service.schema_files import read_schema, schema_beside
from folkmoot.node.session.terms import Answers
from folkmoot.node.wire.schema import (
    Alignment,
    Column,
    MismatchError,
    Schema,
    align,
    another_number,
    check_schema,
    described,
)
from folkmoot.sandbox.loading import PICKLES, SUFFIXES, Loaded, columns_of, load, load_sandboxed
from folkmoot.sandbox.process import Sandboxed, WorkerError
from folkmoot.votes import to_levels

KINDS = "FILE.skops, FILE.onnx, FILE.pkl, FILE.joblib or package.module:function"

_OFF = 1e-3  # by how much probabilities of a row may miss 1: models of float32 do a little
_FUNCTION = re.compile(r"\w+(\.\w+)*:\w+(\.\w+)*")


def load_model(
    spec: str,
    *,
    allow: Sequence[str] = (),
    trust_pickle: bool = False,
    schema: Path | None = None,
    hidden: Path | None = None,
    labels: Sequence[str] | Mapping[str, str] | None = None,
) -> Model:
    """The model that ``spec`` names; ``allow`` has types that a skops file may hold besides harmless ones.

    ``schema`` is a file that declares its columns; without one, that beside the model, if there is any.
    ``hidden`` is a folder: a model in a file is then loaded and asked in a sandbox, a process that cannot
    open it. A function is code of this machine's owner, and runs in this process either way. ``labels`` are
    those that it knows, where it does not say so; or by each of its labels what the moot calls it.
    """
    model = _loaded(spec, allow, trust_pickle, hidden)
    declared = schema if schema is not None else schema_beside(spec)
    if declared is not None:
        model.declare(read_schema(declared), str(declared))
    if isinstance(labels, Mapping):
        model.rename(labels)
    elif labels is not None:
        model.know(labels)
    return model


def _loaded(spec: str, allow: Sequence[str], trust_pickle: bool, hidden: Path | None) -> Model:
    path, suffix = Path(spec), Path(spec).suffix.lower()
    if suffix in SUFFIXES:
        if suffix in PICKLES and not trust_pickle:
            raise ValueError(
                f"model {spec} must be trusted before it is loaded, as unpickling runs whatever code is in "
                "the file: save it with skops instead, or add --trust-pickle if you made it yourself"
            )
        if not path.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), spec)
        if hidden is None:
            if suffix != ".onnx":
                _make_current_folder_importable()  # types that are allowed may be there
            return _fitted(spec, load(path.read_bytes(), spec, allow))
        try:
            found, worker = load_sandboxed(spec, allow, hidden=hidden)
        except WorkerError as error:
            raise ValueError(f"model {spec} must be one that can be loaded in a sandbox: {error}") from None
        return _fitted(spec, found, worker)
    if is_function(spec):
        return _function(spec)
    raise ValueError(f"model must be {KINDS}: got {spec!r}")


def _fitted(spec: str, found: Loaded, worker: Sandboxed[Any] | None = None) -> Model:
    return Model(
        spec,
        found.predict,
        labels=found.labels,
        columns=columns_of(spec, found.columns),
        names=found.names,
        chances=found.chances,
        worker=worker,
    )


def is_function(spec: str) -> bool:
    """Whether a model is named as a function of a module, and not as a file."""
    return _FUNCTION.fullmatch(spec) is not None


class ModelFacts:
    """What is known of a model before it answers anything: labels, columns, with what it can answer."""

    def __init__(
        self,
        spec: str,
        labels: Sequence[str] | None,
        columns: int | None,
        schema: Schema = (),
        *,
        chances: bool = False,
    ) -> None:
        """``chances``: whether it gives probabilities."""
        self.spec, self.columns, self.schema, self._has_chances = spec, columns, schema, chances
        self.labels = None if labels is None else list(labels)

    def fit(self, schema: Schema, columns: int) -> Alignment:
        """How inputs with this schema become what the model takes; MismatchError if they cannot."""
        if not self.schema and self.columns is not None and self.columns != columns:
            raise another_number(self.columns, columns)
        return align(self.schema, schema, columns)

    def kinds(self) -> list[Answers]:
        """With what the model can answer: labels, probabilities, numbers; the likeliest kind first.

        A model that does not say which labels it knows may be a regressor, or one that is told of them.
        """
        found: list[Answers] = ["numbers", "labels"] if self.labels is None else ["labels"]
        return [*found, "probabilities"] if self.labels is not None and self._has_chances else found

    def check_answers(self, answers: Answers) -> None:
        """MismatchError if the model cannot answer so: with labels, probabilities or numbers."""
        if answers in self.kinds():
            return
        if answers == "numbers":
            raise MismatchError(
                "its model gives labels, not numbers",
                f"model {self.spec} gives labels, not numbers: {shortened(self.labels or [])}",
            )
        raise MismatchError(
            "its model gives no probabilities",
            f"model {self.spec} gives no probabilities: it must be an estimator with predict_proba",
        )

    def check(self, schema: Schema, columns: int, answers: Answers) -> None:
        """MismatchError if the model cannot take such columns, or give such answers."""
        self.fit(schema, columns)
        self.check_answers(answers)


class Model(ModelFacts):
    """A function from rows to labels; what it answers is checked, and so is what it is asked."""

    def __init__(
        self,
        spec: str,
        answer: Callable[[Array], Any],
        *,
        labels: Iterable[object] | None = None,
        columns: int | None = None,
        names: Sequence[str] = (),
        chances: Callable[[Array], Any] | None = None,
        worker: Sandboxed[Any] | None = None,
    ) -> None:
        """``worker`` keeps the process in which it is; None: it is in this one."""
        self.worker = worker
        super().__init__(
            spec, None, columns, tuple(Column(name) for name in names), chances=chances is not None
        )
        self._names: Mapping[str, str] = {}  # of its labels, in the moot
        self._columns = None if labels is None else self._texts(labels)  # labels by column of probabilities
        self.labels = self._columns
        self._answer, self._chances = answer, chances

    def during(self, wanted: Callable[[], bool]) -> AbstractContextManager[None]:
        """End a sandboxed model that is still at work when its answers are not wanted any more."""
        return nullcontext() if self.worker is None else self.worker.during(wanted)

    @property
    def confinement(self) -> str:
        """What keeps it from doing harm, in one line."""
        if self.worker is None:
            return "none: it runs in the node's own process"
        return self.worker.confinement.in_words()

    def declare(self, schema: Schema, source: str) -> None:
        """Say what the columns are: their names, if the model has none, and units and ranges."""
        if self.columns is not None:
            check_schema(schema, self.columns, f"{source}, the schema of {self.spec},")
        names = [column.name for column in self.schema or schema]
        self.schema = described(names, schema, f"{source} does not have the columns of {self.spec}")
        self.columns = len(schema)

    def know(self, labels: Sequence[str]) -> None:
        """Say which labels it knows; ValueError if it knows one of them not."""
        known = labels if self.labels is None else self.labels
        strange = next((label for label in labels if label not in known), None)
        if strange is not None:
            raise ValueError(
                f"labels of {self.spec} must be among those of the model, {', '.join(known)}: got {strange!r}"
            )
        if self.labels is None:
            self.labels = self._columns = list(labels)

    def rename(self, names: Mapping[str, str]) -> None:
        """Give its labels the names that they have in the moot; several may have the same."""
        own = self._columns or list(names)
        if set(own) != set(names):
            raise ValueError(
                f"labels of {self.spec} must have a name in the moot for each of {', '.join(own)}: "
                f"got names of {', '.join(names)}"
            )
        self._names, self._columns = dict(names), [names[label] for label in own]
        self.labels = list(dict.fromkeys(self._columns))

    def predict(self, X: npt.ArrayLike) -> list[str]:
        """One label a row."""
        rows = np.asarray(X)
        answers = self._called(self._answer, rows)
        return self._texts(self._one_a_row(answers, len(rows)))

    def numbers(self, X: npt.ArrayLike, labels: Sequence[str] | None = None) -> Array:
        """(row, 1): a number each; or, with ``labels``, (row, label): the levels of their probabilities.

        Levels are -1 in a row of which the model finds none of the labels likely.
        """
        rows = np.asarray(X)
        if labels is not None:
            return self._levels(rows, labels)
        answers = self._one_a_row(self._called(self._answer, rows), len(rows))
        try:
            found = np.array(answers, dtype=np.float64)
        except (ValueError, TypeError):
            raise ValueError(f"model {self.spec} must answer with numbers: got {answers[0]!r:.60}") from None
        wrong = ~(np.abs(found) <= LARGEST)
        if wrong.any():
            raise ValueError(
                f"model {self.spec} must answer with numbers within -{LARGEST:g}..{LARGEST:g}: "
                f"got {found[wrong][0]}"
            )
        return found[:, None]

    def _levels(self, rows: Array, labels: Sequence[str]) -> Array:
        likely = self.probabilities(rows, labels)
        unknown = np.isnan(likely).any(axis=1, keepdims=True)
        levels = to_levels(np.where(unknown, 0.0, likely)).astype(np.int16)
        return np.where(unknown, np.int16(-1), levels)

    def probabilities(self, X: npt.ArrayLike, labels: Sequence[str]) -> Floats:
        """(row, label): how likely it finds these labels; NaN in a row of which it finds none likely."""
        rows = np.asarray(X)
        self.check_answers("probabilities")
        known, ask = self._columns or [], self._chances or self._answer
        try:
            given = np.asarray(self._called(ask, rows), dtype=np.float64).reshape(len(rows), len(known))
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"model {self.spec} must give a probability for each of its {len(known)} labels: {error}"
            ) from None
        if not (np.isfinite(given).all() and (given >= 0).all()):
            raise ValueError(f"model {self.spec} must give probabilities: got what is none")
        total = given.sum(axis=1)
        off = np.abs(total - 1.0) > _OFF
        if off.any():
            raise ValueError(f"probabilities of {self.spec} must add up to 1: got {total[off][0]:.6g}")
        column = {label: number for number, label in enumerate(labels)}
        likely = np.zeros((len(rows), len(labels)))
        for number, label in enumerate(known):
            if label in column:
                likely[:, column[label]] += given[:, number]
        found = likely.sum(axis=1, keepdims=True)
        return np.where(found > 0, likely / np.where(found > 0, found, 1.0), np.nan)

    def _called(self, answer: Callable[[Array], Any], rows: Array) -> Any:
        """What the model says to rows, if they are such as it takes."""
        if rows.ndim != 2:
            raise ValueError(f"inputs of {self.spec} must be rows of columns: got shape {rows.shape}")
        if self.columns is not None and rows.shape[1] != self.columns:
            raise ValueError(
                f"inputs of {self.spec} must have {self.columns} columns: got {rows.shape[1]} columns"
            )
        if not len(rows):
            return np.empty((0, 1))
        try:
            with warnings.catch_warnings():
                # Fitted on a data frame, asked with an array: the columns are counted above.
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                return answer(rows)
        except Exception as error:
            said = str(error) if isinstance(error, WorkerError) else told(error)
            raise ValueError(
                f"model {self.spec} must answer {len(rows)} rows of {rows.shape[1]} columns: it failed with "
                f"{said}"
            ) from error

    def _one_a_row(self, answers: object, rows: int) -> list[object]:
        try:
            array = np.asarray(answers)
        except ValueError:  # lists of unequal lengths
            array = np.empty((0, 0))
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.shape != (rows,):
            got = f"shape {array.shape}" if array.ndim and array.size else type(answers).__name__
            raise ValueError(f"model {self.spec} must answer one label a row, {rows} in all: got {got}")
        return list(array)

    def _texts(self, labels: Iterable[object]) -> list[str]:
        """Labels as text, if they are labels, and such as the model has said it knows."""
        try:
            texts = [_text(label) for label in labels]
        except ValueError as error:
            raise ValueError(f"model {self.spec} must answer with labels: {error}") from None
        texts = [self._names.get(label, label) for label in texts]
        known = getattr(self, "labels", None)
        stranger = None if known is None else next((each for each in texts if each not in known), None)
        if known is not None and stranger is not None:
            raise ValueError(
                f"model {self.spec} must answer with one of its labels {', '.join(known)}: got {stranger!r}"
            )
        return texts


def as_labels(values: Iterable[object]) -> list[str]:
    """Labels as text, written as those of models are."""
    return [_text(value) for value in values]


def _text(label: object) -> str:
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (bool, int)):
        return str(value)
    if isinstance(value, float) and np.isfinite(value):
        # As the model's own type shows it: the nearest double of a float32 has digits that nobody meant.
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else str(label)
    raise ValueError(f"a label must be text or a finite number: got {label!r}")


def _function(spec: str) -> Model:
    """A function of a module, of an installed package or in the current folder."""
    function = imported(spec, "model")
    columns = columns_of(spec, getattr(function, "columns", None))
    return Model(spec, function, labels=getattr(function, "labels", None), columns=columns)


def imported(spec: str, what: str) -> Callable[..., Any]:
    """The function that ``package.module:function`` names; ValueError, with ``what`` it is, if none does."""
    name, _, attribute = spec.partition(":")
    _make_current_folder_importable()
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
            raise ValueError(
                f"{what} {spec} must name a module that can be imported: there is no {error.name}, neither "
                "installed nor in the current folder"
            ) from None
        raise ValueError(f"{what} {spec} must name a module that can be imported: {told(error)}") from error
    try:
        function = functools.reduce(getattr, attribute.split("."), module)
    except AttributeError:
        raise ValueError(f"{what} {spec} must name a function of {name}: there is no {attribute}") from None
    if not callable(function):
        predicts = what == "model" and callable(getattr(function, "predict", None))
        hint = f"; give {spec}.predict" if predicts else ""
        raise ValueError(
            f"{what} {spec} must name a function: {attribute} is a {type(function).__name__}{hint}"
        )
    found: Callable[..., Any] = function
    return found


def _make_current_folder_importable() -> None:
    """As with ``python -m``; it stays so, for what a module imports only when it is called."""
    here = str(Path.cwd())
    if not {"", here} & set(sys.path):
        sys.path.insert(0, here)

"""A node's model: from a file of skops, ONNX or pickle, from Python, or behind a service.

Labels travel between nodes as text, so every kind of label must become the same text on every node. A 3 is
"3" whether a model calls it 3, 3.0 or "3". Nothing heavy is imported before the model that needs it.
"""

from __future__ import annotations

import errno
import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from folkmoot.aggregation.rule import LARGEST
from folkmoot.arrays import Array, Floats
from folkmoot.checks import ArgumentError
from folkmoot.files.skops_files import error_text
from folkmoot.files.tabular import shortened
from folkmoot.models.labels import as_labels, label_text
from folkmoot.node.service.input_files import read_schema, schema_beside
from folkmoot.node.service.node_file import SERVICES, ModelTable, read_model_file
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
from folkmoot.node.wire.things import RECORDS, TEXTS
from folkmoot.sandbox.loading import (
    PICKLES,
    SUFFIXES,
    Loaded,
    columns_of,
    load,
    load_object,
    load_object_apart,
    load_sandboxed,
)
from folkmoot.sandbox.messages import given
from folkmoot.sandbox.process import Sandboxed, WorkerError
from folkmoot.sandbox.python_objects import is_object, make_current_folder_importable

if TYPE_CHECKING:
    from folkmoot.node.service.remote import Remote

KINDS = "FILE.skops, FILE.onnx, FILE.pkl, FILE.joblib, FILE.toml or package.module:object"

_OFF = 1e-3  # by how much probabilities of a row may miss 1: models of float32 do a little


def load_model(which: str | ModelTable, *, trust_pickle: bool = False, hidden: Path | None = None) -> Model:
    """The model of a table of ``node.toml``; a text is a file, ``module:object`` or a file with a table.

    ``hidden`` is a folder: a model in a file is then loaded and asked in a sandbox, a process that cannot
    open it. One in Python is code of this machine's owner: it then has a process too, but it is not confined.
    """
    table = which if isinstance(which, ModelTable) else ModelTable("file", which)
    declared, labels = table.schema, table.labels
    if table.kind in SERVICES:
        model, labels = _behind_service(table, hidden), None  # the service was told of them
    else:
        if table.spec.lower().endswith(".toml"):
            model = load_model(read_model_file(Path(table.spec)), trust_pickle=trust_pickle, hidden=hidden)
        else:
            model = _loaded(table.spec, table.allow, trust_pickle, hidden)
        declared = declared or schema_beside(table.spec)
    if declared is not None:
        model.declare(read_schema(declared), str(declared))
    if table.columns is not None:
        model.name_columns(table.columns)
    if isinstance(labels, Mapping):
        model.rename(labels)
    elif labels is not None:
        model.know(labels)
    return model


def _loaded(spec: str, allow: Sequence[str], trust_pickle: bool, hidden: Path | None) -> Model:
    path, suffix = Path(spec), Path(spec).suffix.lower()
    if suffix in SUFFIXES:
        if suffix in PICKLES and not trust_pickle:
            raise ArgumentError(
                "model {model!s} must be trusted before it is loaded, as unpickling runs whatever code is in "
                "the file: save it with skops instead, or add {trust_pickle} if you made it yourself",
                model=spec,
            )
        if not path.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), spec)
        if hidden is None:
            if suffix != ".onnx":
                make_current_folder_importable()  # types that are allowed may be there
            return _fitted(spec, load(path.read_bytes(), spec, allow))
        try:
            found, worker = load_sandboxed(spec, allow, hidden=hidden)
        except WorkerError as error:
            raise ValueError(f"model {spec} must be one that can be loaded in a sandbox: {error}") from None
        return _fitted(spec, found, worker)
    if is_object(spec):
        if hidden is None:
            return _fitted(spec, load_object(spec))
        try:
            return _fitted(spec, *load_object_apart(spec))
        except WorkerError as error:
            raise ValueError(f"model {spec} must be one that can be loaded: {error}") from None
    raise ValueError(f"model must be {KINDS}: got {spec!r}")


def _behind_service(table: ModelTable, hidden: Path | None) -> Model:
    from folkmoot.node.service.remote import Remote

    try:
        remote = Remote(table, hidden)
    except (TypeError, ValueError) as error:
        raise ValueError(f"[model]: {error}") from None
    return Model(
        table.spec, remote.predict, labels=remote.labels, names=list(table.columns or ()),
        chances=None if remote.labels is None else remote.chances, worker=remote.worker, remote=remote,
    )  # fmt: skip


def _fitted(spec: str, found: Loaded, worker: Sandboxed[Any] | None = None) -> Model:
    return Model(
        spec, found.predict, labels=found.labels, columns=columns_of(spec, found.columns), names=found.names,
        chances=found.chances, worker=worker,
    )  # fmt: skip


class ModelAnswers(NamedTuple):
    """Answers to some rows: a label, a number or probabilities per row, and why rows have none."""

    values: Sequence[Any] | Array
    reason: str = ""
    detail: str = ""


class Model:
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
        remote: Remote | None = None,
    ) -> None:
        """``worker`` keeps the process in which it is; None: it is in this one. ``remote`` asks a service."""
        self.spec, self.columns, self.worker, self._remote = spec, columns, worker, remote
        self.schema: Schema = tuple(Column(name) for name in names)
        self._names: Mapping[str, str] = {}  # of its labels, in the moot
        self._framed, self._own_names, self._given = bool(names), list(names), list(names)
        # Labels by column of probabilities.
        self._columns = None if labels is None else self._labels(labels)
        self.labels = self._columns
        self._answer, self._chances = answer, chances
        # Asks it whole prompts, for so many seconds; None: it takes none.
        self.say: Callable[[Sequence[str], float], ModelAnswers] | None = None
        if remote is not None and remote.takes_prompts:
            self.say = lambda prompts, seconds: ModelAnswers(
                remote.say(prompts, seconds), remote.reason, remote.detail
            )

    def fit(self, schema: Schema, columns: int, dtype: str = "<f8") -> Alignment:
        """How inputs with this schema become what the model takes; MismatchError if they cannot."""
        if dtype == TEXTS:
            if self.columns is not None:
                raise MismatchError(
                    "the inputs are texts, and its model takes columns",
                    f"the model takes {self.columns} columns, and the inputs are texts",
                )
            return replace(align((), schema, columns), unchecked="")
        if dtype == RECORDS and self.columns is not None and not self.schema:
            raise MismatchError(
                "the inputs are records, and its model takes rows of numbers",
                f"the model takes {self.columns} numbers without names, and the inputs are records",
            )
        if dtype == RECORDS and not self.schema:  # it is shown them by name
            return replace(align((), schema, columns), unchecked="")
        if not self.schema and self.columns is not None and self.columns != columns:
            raise another_number(self.columns, columns)
        return align(self.schema, schema, columns)

    def kinds(self) -> list[Answers]:
        """With what the model can answer: labels, probabilities, numbers; the likeliest kind first.

        A model that does not say which labels it knows may be a regressor, or one that is told of them.
        """
        found: list[Answers] = ["numbers", "labels", "text"] if self.labels is None else ["labels"]
        if self.labels is None and self.say is not None:
            found = ["text", "labels", "numbers"]
        return [*found, "probabilities"] if self.labels is not None and self._chances is not None else found

    def check_answers(self, answers: Answers) -> None:
        """MismatchError if the model cannot answer so: with labels, probabilities or numbers."""
        if answers in self.kinds():
            return
        if answers == "probabilities":
            why, detail = "gives no probabilities", "it must be an estimator with predict_proba"
        else:
            plural = "texts" if answers == "text" else answers
            why, detail = f"gives labels, not {plural}", shortened(self.labels or [])
        raise MismatchError(f"its model {why}", f"model {self.spec} {why}: {detail}")

    def check(self, schema: Schema, columns: int, answers: Answers, dtype: str = "<f8") -> None:
        """MismatchError if the model cannot take such columns, or give such answers."""
        self.fit(schema, columns, dtype)
        self.check_answers(answers)

    def during(self, wanted: Callable[[], bool]) -> AbstractContextManager[None]:
        """End a sandboxed model that is still at work when its answers are not wanted any more."""
        return nullcontext() if self.worker is None else self.worker.during(wanted)

    @property
    def is_remote(self) -> bool:
        """Whether a service answers for it."""
        return self._remote is not None

    @property
    def at_once(self) -> int:
        """Rows that it had better be asked about together: a service answers several at the same time."""
        return 1 if self._remote is None else self._remote.parallel

    @property
    def usage(self) -> dict[str, int]:
        """Costs of a service so far; nothing for other models."""
        return {} if self._remote is None else self._remote.usage

    @property
    def confinement(self) -> str:
        """The confinement of its process, in one line."""
        if self.worker is None:
            return "none: it runs in the node's own process"
        held = self.worker.confinement
        return "none: code of this node's owner, in a process of its own" if held is None else held.in_words()

    def declare(self, schema: Schema, source: str) -> None:
        """Say what the columns are: their names, if the model has none, and units and ranges."""
        if self.columns is not None:
            check_schema(schema, self.columns, f"{source}, the schema of {self.spec},")
        names = [column.name for column in self.schema or schema]
        self.schema = described(names, schema, f"{source} does not have the columns of {self.spec}")
        self.columns = len(schema)

    def name_columns(self, names: Sequence[str] | Mapping[str, str]) -> None:
        """Give its columns the names that they have in the moot; all in their order, or some by their own."""
        own = [column.name for column in self.schema]
        moots = list(names.values()) if isinstance(names, Mapping) else list(names)
        if own and isinstance(names, Mapping):
            strange = next((name for name in names if name not in own), None)
            if strange is not None:
                raise ValueError(
                    f"columns of {self.spec} must be among those of the model, {shortened(own)}: "
                    f"got {strange!r}"
                )
            moots = [names.get(name, name) for name in own]
        many = len(own) or self.columns
        if many is not None and len(moots) != many:
            raise ValueError(
                f"columns of {self.spec} must have names for all {many}, in its order: got {len(moots)}"
            )
        described = self.schema or tuple(Column(name) for name in moots)
        renamed = tuple(
            msgspec.structs.replace(column, name=name) for column, name in zip(described, moots, strict=True)
        )
        check_schema(renamed, len(renamed), f"columns of {self.spec}")
        self.schema, self.columns = renamed, len(renamed)

    def know(self, labels: Sequence[str]) -> None:
        """Say which labels it knows; ValueError if it says itself that these are others."""
        if self.labels is None:
            self.labels = self._columns = list(labels)
        elif set(labels) != set(self.labels):
            raise ValueError(
                f"labels of {self.spec} must be those of the model, {', '.join(self.labels)}: got "
                f"{', '.join(labels)}; leave them out, since the model knows them"
            )

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

    def ask(
        self,
        X: npt.ArrayLike,
        answers: Answers,
        labels: Sequence[str],
        seconds: float = math.inf,
        names: Sequence[str] = (),
    ) -> ModelAnswers:
        """Ask it as a motion does, with why rows have no vote; a service has so many seconds."""
        if self._remote is not None:
            self._remote.seconds = seconds
        self._given = self._own_names or list(names)
        values: Sequence[Any] | Array
        if answers == "labels":
            values = self.predict(X)
        elif answers == "numbers":
            values = self.numbers(X)
        elif answers == "text":
            values = self.texts(X)
        else:
            values = self.probabilities(X, labels)
        if self._remote is not None:
            return ModelAnswers(values, self._remote.reason, self._remote.detail)
        return ModelAnswers(values)

    def predict(self, X: npt.ArrayLike) -> list[str | None]:
        """One label a row; None is no vote."""
        rows = np.asarray(X)
        answers = self._called(self._answer, rows)
        return self._texts(self._one_a_row(answers, len(rows)))

    def texts(self, X: npt.ArrayLike) -> list[str | None]:
        """One text a row; None where it gives none."""
        rows = np.asarray(X)
        found = self._one_a_row(self._called(self._answer, rows), len(rows))
        for each in found:
            if each is not None and not isinstance(each, str):
                raise ValueError(f"model {self.spec} must answer with texts: got {each!r:.60}")
        return [each if isinstance(each, str) else None for each in found]

    def numbers(self, X: npt.ArrayLike) -> Floats:
        """One number a row; NaN where it gives none."""
        rows = np.asarray(X)
        answers = self._one_a_row(self._called(self._answer, rows), len(rows))
        try:
            found = np.array([np.nan if each is None else each for each in answers], dtype=np.float64)
        except (ValueError, TypeError):
            raise ValueError(f"model {self.spec} must answer with numbers: got {answers[0]!r:.60}") from None
        missing = np.array([each is None for each in answers], dtype=bool)
        wrong = ~(np.abs(found) <= LARGEST) & ~missing
        if wrong.any():
            raise ValueError(
                f"model {self.spec} must answer with numbers within -{LARGEST:g}..{LARGEST:g}: "
                f"got {found[wrong][0]}"
            )
        return found

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
        missing = np.atleast_1d(np.isnan(given).all(axis=1))
        given = np.where(missing[:, None], 1 / len(known), given)
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
        there = (found > 0) & ~missing[:, None]
        return np.where(there, likely / np.where(there, found, 1.0), np.nan)

    def _called(self, answer: Callable[[Array], Any], rows: Array) -> Any:
        """What the model says to rows, if they are such as it takes."""
        texts = rows.ndim == 1 and rows.dtype == object
        if rows.ndim != 2 and not (texts and self.columns is None):
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
                if rows.dtype != object:
                    return answer(rows)
                if self.worker is not None or self._remote is not None:
                    return answer(rows, self._given)  # type: ignore[call-arg]
                return answer(given(rows, self._given, framed=self._framed))
        except Exception as error:
            said = str(error) if isinstance(error, WorkerError) else error_text(error)
            raise ValueError(
                f"model {self.spec} must answer {_described(rows)}: it failed with {said}"
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
            raise ValueError(f"model {self.spec} must answer one label per row, {rows} in all: got {got}")
        return list(array)

    def _labels(self, labels: Iterable[object]) -> list[str]:
        try:
            return as_labels(labels)
        except ValueError as error:
            raise ValueError(f"model {self.spec} must answer with labels: {error}") from None

    def _texts(self, labels: Iterable[object]) -> list[str | None]:
        """Labels as text, if they are labels, and such as the model has said it knows; None stays."""
        try:
            texts = [None if label is None else label_text(label) for label in labels]
        except ValueError as error:
            raise ValueError(f"model {self.spec} must answer with labels: {error}") from None
        texts = [None if label is None else self._names.get(label, label) for label in texts]
        known = self.labels
        stranger = next((each for each in texts if known and each is not None and each not in known), None)
        if known and stranger is not None:
            raise ValueError(
                f"model {self.spec} must answer with one of its labels {', '.join(known)}: got {stranger!r}"
            )
        return texts


def _described(rows: Array) -> str:
    return f"{len(rows)} texts" if rows.ndim == 1 else f"{len(rows)} rows of {rows.shape[1]} columns"

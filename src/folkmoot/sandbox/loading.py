"""Fitted models in files of skops, ONNX and pickle: loaded here, or in a worker that answers for them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from folkmoot.arrays import Array
from folkmoot.files.skops_files import error_text, loaded_skops
from folkmoot.machine import to_install
from folkmoot.sandbox.messages import AnyArray, Labels, Numbers, given, packed
from folkmoot.sandbox.onnx_files import check_self_contained
from folkmoot.sandbox.process import Limits, Sandboxed
from folkmoot.sandbox.python_objects import imported, is_object

PICKLES: Final = (".pkl", ".pickle", ".joblib")
SUFFIXES: Final = (".skops", ".onnx", *PICKLES)

_ONNX_TYPES: Final = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
}
_FOR_A_ROW: Final = 1024  # bytes of an answer, at most: a label
_FOR_A_LABEL: Final = 16  # a probability, and something to spare
_TIMES: Final = 8  # the size of the file: what is given to a large one besides
_MOST_BYTES: Final = 1 << 31


class Loaded(NamedTuple):
    """A model as its file has it; nothing of it has been checked but that it can be asked."""

    predict: Callable[[Array], Any]
    labels: Any = None
    columns: int | None = None
    names: Sequence[str] = ()
    chances: Callable[[Array], Any] | None = None


class _Facts(msgspec.Struct, frozen=True):
    labels: AnyArray | None
    columns: int | None
    names: list[str]
    chances: bool


def load(data: bytes, spec: str, allow: Sequence[str]) -> Loaded:
    """The model in the bytes of the file ``spec``; ValueError, with what is wrong, if there is none.

    ``allow`` has types that a skops file may hold besides harmless ones. A pickle runs code of its maker.
    """
    suffix = Path(spec).suffix.lower()
    if suffix == ".onnx":
        return _onnx(data, spec)
    return _estimator(spec, loaded_skops(data, spec, allow) if suffix == ".skops" else _unpickled(data, spec))


def load_sandboxed(
    spec: str, allow: Sequence[str], *, hidden: Path, limits: Limits | None = None
) -> tuple[Loaded, Sandboxed[_Facts]]:
    """The same in a process that can open no file of ``hidden``, and what keeps that process."""
    worker = Sandboxed(
        f"{__name__}:served",
        spec,
        [spec, list(allow)],
        _Facts,
        private=[hidden],
        working_folder=bool(allow) or Path(spec).suffix.lower() in PICKLES,  # own types may be there
        limits=limits or Limits(Limits.memory + _TIMES * Path(spec).stat().st_size),
    )
    return _answered_by(worker), worker


def _answered_by(worker: Sandboxed[_Facts]) -> Loaded:
    facts = worker.facts
    labels = None if facts.labels is None else facts.labels.array
    classes = 0 if labels is None else labels.size

    def asked(method: str) -> Callable[[Array], Array]:
        def ask(rows: Array, names: Sequence[str] = ()) -> Array:
            each = _FOR_A_ROW + _FOR_A_LABEL * classes
            most = min(_MOST_BYTES, 4096 + len(rows) * each)
            told = np.array(list(names), dtype=object)
            found: Numbers | Labels = worker.ask(method, rows, told, reply=Numbers | Labels, most=most)  # type: ignore[arg-type]
            return found.array

        return ask

    chances = asked("chances") if facts.chances else None
    return Loaded(asked("predict"), labels, facts.columns, facts.names, chances)


def load_object(spec: str) -> Loaded:
    """The model in Python that ``module:object`` names."""
    found = imported(spec)
    if hasattr(found, "predict"):
        return _estimator(spec, found)
    return Loaded(found, getattr(found, "labels", None), columns_of(spec, getattr(found, "columns", None)))


def load_object_apart(spec: str) -> tuple[Loaded, Sandboxed[_Facts]]:
    """The same in a process that is not confined, and what keeps that process."""
    worker = Sandboxed(f"{__name__}:served", None, [spec, []], _Facts, confined=False)
    return _answered_by(worker), worker


def served(data: bytes, spec: str, allow: Sequence[str]) -> tuple[_Facts, dict[str, Callable[..., AnyArray]]]:
    """Facts of a model for its node, and the methods that can be asked; of one in Python there is no file."""
    found = load_object(spec) if is_object(spec) else load(data, spec, allow)
    labels = None if found.labels is None else packed(found.labels)
    framed = bool(found.names)
    methods: dict[str, Callable[..., AnyArray]] = {
        "predict": lambda rows, names: packed(found.predict(given(rows, names.tolist(), framed=framed)))
    }
    if found.chances is not None:
        ask = found.chances
        methods["chances"] = lambda rows, names: packed(ask(given(rows, names.tolist(), framed=framed)))
    return _Facts(labels, found.columns, list(found.names), found.chances is not None), methods


def columns_of(spec: str, value: object) -> int | None:
    """The number of columns that a model takes."""
    if value is None:
        return None
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ValueError(f"columns of {spec} must be a number of at least 1: got {value!r}")
    return int(value)


def _estimator(spec: str, estimator: Any) -> Loaded:
    """A fitted estimator with scikit-learn's manners."""
    if not callable(getattr(estimator, "predict", None)):
        raise ValueError(f"model {spec} must have a method predict: it is a {type(estimator).__name__}")
    names = getattr(estimator, "feature_names_in_", None)
    return Loaded(
        estimator.predict,
        getattr(estimator, "classes_", None),
        columns_of(spec, getattr(estimator, "n_features_in_", None)),
        [] if names is None else [str(name) for name in names],
        getattr(estimator, "predict_proba", None),
    )


def _unpickled(data: bytes, spec: str) -> Any:
    import io

    import joblib  # reads what pickle wrote, too

    try:
        return joblib.load(io.BytesIO(data))
    except Exception as error:
        raise ValueError(
            f"model {spec} must be a pickle that can be loaded here: {error_text(error)}"
        ) from error


def _onnx(data: bytes, spec: str) -> Loaded:
    """An ONNX model on one thread, all of it in one file.

    Its first output is the labels, as converters write it. A second one is probabilities: (row, class), or a
    map by label for each row (ZipMap), which names the labels, too.
    """
    try:
        import onnxruntime
    except ModuleNotFoundError:
        raise ValueError(f"model {spec} needs onnxruntime: {to_install('onnx')}") from None

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only; they are raised as well
    options.add_session_config_entry("session.load_model_format", "ONNX")  # not onnxruntime's own
    try:
        check_self_contained(data)
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except ValueError as error:
        raise ValueError(f"model {spec} must be an ONNX model in one file: {error}") from None
    except Exception as error:  # onnxruntime's errors have no base of their own
        raise ValueError(f"model {spec} must be an ONNX model: {error_text(error)}") from error
    inputs = session.get_inputs()
    if len(inputs) != 1:
        names = ", ".join(each.name for each in inputs)
        raise ValueError(f"model {spec} must have one input, all columns: it has {len(inputs)} ({names})")
    (given,) = inputs
    if given.type not in _ONNX_TYPES:
        raise ValueError(f"model {spec} must take numbers: its input {given.name} is a {given.type}")
    if len(given.shape) != 2 or isinstance(given.shape[0], int):
        raise ValueError(
            f"model {spec} must take any number of rows of columns: its input {given.name} has shape "
            f"{given.shape}; export it with a first dimension that is free"
        )
    dtype, (first, *others) = _ONNX_TYPES[given.type], session.get_outputs()
    width = given.shape[1] if isinstance(given.shape[1], int) else None

    def run(output: str, rows: Array) -> Any:
        return session.run([output], {given.name: np.ascontiguousarray(rows, dtype=dtype)})[0]

    chances, labels = None, None
    second = others[0] if others else None
    if second is not None and second.type.startswith("seq(map("):
        mapped = second.name
        known = [*run(mapped, np.zeros((1, width)))[0]] if width is not None else []

        def by_label(rows: Array) -> Array:
            return np.array([[each[label] for label in known] for each in run(mapped, rows)])

        if width is not None:
            labels, chances = known, by_label
    elif second is not None and second.type in ("tensor(float)", "tensor(double)") and len(second.shape) == 2:
        chances = functools.partial(run, second.name)
    return Loaded(functools.partial(run, first.name), labels, width, chances=chances)

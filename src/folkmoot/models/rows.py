"""A model behind HTTP that takes rows: KServe's V2 protocol, MLflow's ``/invocations``, or a plain JSON form.

KServe V2, also called Open Inference Protocol, is spoken by KServe, Triton, MLServer and OpenVINO:
https://kserve.github.io/website/docs/concepts/architecture/data-plane/v2-protocol. MLflow:
https://mlflow.org/docs/latest/ml/deployment/deploy-model-locally.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from folkmoot import checks
from folkmoot.models.labels import classes_of, label_text, pairs_of
from folkmoot.models.posting import NONSENSE, Endpoint, ServiceError, in_parallel
from folkmoot.models.prompts import as_json
from folkmoot.models.remote import OTHER, ModelAnswer, RemoteModel, inputs_of

Protocol = Literal["v2", "mlflow", "json"]
PROTOCOLS: Final[tuple[Protocol, ...]] = ("v2", "mlflow", "json")

_MOST: Final = 16 << 20  # bytes of an answer
_OFF: Final = 1e-3  # by how much probabilities of a row may miss 1


class HTTPModel(RemoteModel):
    """A model that takes rows by POST.

    Parameters
    ----------
    url : str
        Address for rows, such as ``http://127.0.0.1:8080/v2/models/heart/infer``,
        ``http://127.0.0.1:5000/invocations`` or the address of a service with the plain form.
    labels : sequence or mapping, optional
        The labels in the order of the service's probabilities, or the label that each of its answers means:
        ``{0: "benign", 1: "malignant"}``. Without them answers are numbers or texts as they come.
    protocol : str, default 'json'
        ``'v2'`` is KServe's Open Inference Protocol, ``'mlflow'`` that of ``/invocations``. With ``'json'``
        the service gets ``{"inputs": [...]}``, and ``"columns"`` if they have names. It answers with
        ``{"labels": [...]}``, ``{"probabilities": [[...]]}`` or both; null is no vote.
    columns : sequence of str, optional
        The service's names of the columns, where inputs have none.
    outputs : sequence of str, optional
        Names of V2's outputs to ask for, such as ``["predict_proba"]`` of MLServer.
    api_key_env : str, optional
        The environment variable that holds a key. The key itself is never a parameter.
    batch : int, default 64
        Rows per request, at most.
    timeout : float, default 30.0
        Seconds for one request.
    parallel : int, default 4
        Requests at the same time, at most.
    retries : int, default 2
        Further tries after a request that may succeed later.

    Examples
    --------
    >>> from folkmoot.models import HTTPModel
    >>> url, labels = "http://127.0.0.1:5000/invocations", {0: "benign", 1: "malignant"}
    >>> model = HTTPModel(url, labels, protocol="mlflow")
    >>> model.classes_
    array(['benign', 'malignant'], dtype='<U9')
    >>> model.predict([[14.2, 20.1]])  # doctest: +SKIP
    array(['benign'], dtype=object)
    """

    def __init__(
        self,
        url: str,
        labels: Sequence[Any] | Mapping[Any, Any] | None = None,
        *,
        protocol: Protocol = "json",
        columns: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        api_key_env: str | None = None,
        batch: int = 64,
        timeout: float = 30.0,
        parallel: int = 4,
        retries: int = 2,
    ) -> None:
        self.url = url
        self.labels = labels
        self.protocol = protocol
        self.columns = columns
        self.outputs = outputs
        self.api_key_env = api_key_env
        self.batch = batch
        self.timeout = timeout
        self.parallel = parallel
        self.retries = retries

    def check(self) -> Endpoint:
        """Check the parameters; returns the service."""
        endpoint = self._endpoint(self.url, "url")
        checks.one_of("protocol", self.protocol, PROTOCOLS)
        checks.integer("batch", self.batch, least=1)
        for name in ("columns", "outputs"):
            value = getattr(self, name)
            if isinstance(value, str) or not all(isinstance(each, str) for each in value or ()):
                raise ValueError(f"{name} must be a list of names: got {value!r:.200}")
        return endpoint

    def answers(self, X: Any, *, chances: bool = False, until: float | None = None) -> list[ModelAnswer]:
        """Ask about each input, with a reason for each that gets no vote; as in the base."""
        endpoint, inputs = self.check(), inputs_of(X)
        parts = [inputs[start : start + self.batch] for start in range(0, len(inputs), self.batch)]
        found = in_parallel(lambda part: self._said(endpoint, part, chances, until), parts, self.parallel)
        return [said for part in found for said in part]

    def _said(
        self, endpoint: Endpoint, part: list[Any], chances: bool, until: float | None
    ) -> list[ModelAnswer]:
        ask, read = _FORMS[self.protocol]
        try:
            body = as_json(ask(part, self.columns, self.outputs)).encode(errors="replace")
            raw = endpoint.post("", body, most=_MOST, until=until)
            try:
                found = read(json.loads(raw, parse_constant=_no_constant), len(part))
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                self.usage.add(failed=1)
                detail = f"{self.url}: {endpoint.quoted(f'{type(error).__name__}: {error}')}"
                raise ServiceError(NONSENSE, detail) from None
        except ServiceError as error:
            return [ModelAnswer(reason=error.reason, detail=error.detail)] * len(part)
        return [self._read(endpoint, found, row, chances) for row in range(len(part))]

    def _read(self, endpoint: Endpoint, found: _Found, row: int, chances: bool) -> ModelAnswer:
        said = None if found.labels is None else found.labels[row]
        likely = None if found.chances is None else found.chances[row]
        if self.labels is None:
            plain = isinstance(said, str | int) or (isinstance(said, float) and math.isfinite(said))
            return (
                ModelAnswer(said) if plain else ModelAnswer(reason=OTHER, detail="it gives no number or text")
            )
        pairs, classes = pairs_of(self.labels), classes_of(self.labels)
        shares = None if likely is None else _shares(likely, pairs, classes)
        if said is None:
            label = None if shares is None else classes[max(range(len(classes)), key=shares.__getitem__)]
        else:
            label = dict(pairs).get(_plain_text(said))
        if label is None:
            return ModelAnswer(
                reason=OTHER, detail=f"it says {endpoint.quoted(repr(said if likely is None else likely))}"
            )
        if chances and shares is None:
            return ModelAnswer(reason=NONSENSE, detail="it gives no probabilities")
        return ModelAnswer(label, chances=shares if chances else None)


class _Found(NamedTuple):
    """An answer of a service, row by row; nothing in it is checked but its lengths."""

    labels: list[Any] | None
    chances: list[Any] | None


def _shares(
    likely: Any, pairs: Sequence[tuple[str, Any]], classes: Sequence[Any]
) -> tuple[float, ...] | None:
    """Probabilities by class, from a list in the order of the labels or from a mapping."""
    if isinstance(likely, dict):
        likely = [likely.get(said, 0.0) for said, _ in pairs]
    if not isinstance(likely, list) or len(likely) != len(pairs):
        return None
    if not all(isinstance(p, int | float) and not isinstance(p, bool) and 0 <= p <= 1 + _OFF for p in likely):
        return None
    total = math.fsum(likely)
    if abs(total - 1) > _OFF:
        return None
    mass = dict.fromkeys(classes, 0.0)
    for (_, label), p in zip(pairs, likely, strict=True):
        mass[label] += p / total
    return tuple(mass.values())


def _plain_text(said: Any) -> str:
    try:
        return label_text(said)
    except ValueError:
        return ""


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


# ---- the plain form ------------------------------------------------------------------------------


def _plain_body(part: list[Any], columns: Any, outputs: Any) -> dict[str, Any]:
    """``outputs`` are V2's alone."""
    del outputs
    named = {"columns": list(columns)} if columns is not None and isinstance(part[0], list) else {}
    return {"inputs": [_cleared(each) for each in part], **named}


def _plain_answer(told: Any, rows: int) -> _Found:
    if not isinstance(told, dict) or not {"labels", "probabilities"} & set(told):
        raise ValueError('an answer must be {"labels": [...]}, {"probabilities": [[...]]} or both')
    return _Found(
        _of_length(told.get("labels"), rows, "labels"),
        _of_length(told.get("probabilities"), rows, "probabilities"),
    )


def _of_length(values: Any, rows: int, what: str) -> list[Any] | None:
    if values is not None and (not isinstance(values, list) or len(values) != rows):
        raise ValueError(f"{what} must be a list with one entry per input, {rows} in all")
    found: list[Any] | None = values
    return found


def _cleared(value: Any) -> Any:
    """NaN and infinity, which JSON does not have, are null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list | tuple):
        return [_cleared(each) for each in value]
    if isinstance(value, Mapping):
        return {str(name): _cleared(each) for name, each in value.items()}
    return value


# ---- MLflow ----------------------------------------------------------------------------------------


def _mlflow_body(part: list[Any], columns: Any, outputs: Any) -> dict[str, Any]:
    del outputs
    rows = [_cleared(each) for each in part]
    if isinstance(rows[0], Mapping):
        names = list(rows[0])
        data = [[row.get(name) for name in names] for row in rows]
        return {"dataframe_split": {"columns": names, "data": data}}
    if columns is not None and isinstance(rows[0], list):
        return {"dataframe_split": {"columns": list(columns), "data": rows}}
    return {"inputs": rows}


def _mlflow_answer(told: Any, rows: int) -> _Found:
    values = _of_length(told["predictions"], rows, "predictions")
    if values is None:
        raise ValueError("predictions must be a list")
    if all(isinstance(each, dict) and "label" in each for each in values):  # a pipeline of transformers
        return _Found([each["label"] for each in values], None)
    if all(isinstance(each, list | dict) and len(each) > 1 for each in values):
        return _Found(None, values)
    return _Found([each[0] if isinstance(each, list) and len(each) == 1 else each for each in values], None)


# ---- V2 --------------------------------------------------------------------------------------------


def _v2_body(part: list[Any], columns: Any, outputs: Any) -> dict[str, Any]:
    rows = [_cleared(each) for each in part]
    wanted = {} if outputs is None else {"outputs": [{"name": each} for each in outputs]}
    if isinstance(rows[0], Mapping):
        names = list(rows[0])
        tensors = [_tensor(name, [row.get(name) for row in rows], 1) for name in names]
    elif isinstance(rows[0], list) and columns is not None:
        tensors = [_tensor(name, [row[place] for row in rows], 1) for place, name in enumerate(columns)]
    elif isinstance(rows[0], list):
        tensors = [_tensor("input-0", [value for row in rows for value in row], len(rows[0]))]
    else:
        tensors = [_tensor("input-0", rows, 1)]
    return {"inputs": tensors, **wanted}


def _tensor(name: str, values: list[Any], width: int) -> dict[str, Any]:
    kinds = {bool: "BOOL", str: "BYTES", int: "INT64"}
    found = {type(each) for each in values if each is not None}
    datatype = (
        kinds.get(next(iter(found)), "FP64") if len(found) == 1 else "BYTES" if str in found else "FP64"
    )
    return {"name": name, "shape": [len(values) // width, width], "datatype": datatype, "data": values}


def _v2_answer(told: Any, rows: int) -> _Found:
    """Labels are the first output with one element per row, probabilities the first with more."""
    labels = chances = None
    for output in told["outputs"]:
        data, shape = output["data"], output["shape"]
        while isinstance(data, list) and data and all(isinstance(each, list) for each in data):
            data = [value for each in data for value in each]  # some servers send nested lists
        width = len(data) // rows
        if shape[:1] != [rows] or len(data) != rows * width or math.prod(shape) != len(data) or not width:
            raise ValueError(f"an output must have {rows} rows in its shape and its data")
        if width == 1 and labels is None:
            labels = list(data)
        elif width > 1 and chances is None:
            chances = [list(data[row * width : (row + 1) * width]) for row in range(rows)]
    if labels is None and chances is None:
        raise ValueError("an answer must have an output")
    return _Found(labels, chances)


_FORMS: Final[dict[str, tuple[Callable[..., dict[str, Any]], Callable[[Any, int], _Found]]]] = {
    "json": (_plain_body, _plain_answer),
    "mlflow": (_mlflow_body, _mlflow_answer),
    "v2": (_v2_body, _v2_answer),
}

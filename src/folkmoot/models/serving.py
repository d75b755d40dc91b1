"""A model behind a service, as a worker of ``folkmoot.sandbox`` serves it: with the network, without files.

The key of the service comes over the pipe with the order. It stands in the environment of the worker alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
import numpy as np

from folkmoot.arrays import Array
from folkmoot.models.labels import classes_of
from folkmoot.models.openai import OpenAIModel
from folkmoot.models.remote import ModelAnswer, RemoteModel
from folkmoot.models.rows import HTTPModel
from folkmoot.sandbox.messages import AnyArray, given, packed

KINDS: Final[dict[str, type[RemoteModel]]] = {"openai": OpenAIModel, "http": HTTPModel}
_KEY: Final = "FOLKMOOT_WORKER_KEY"


class Facts(msgspec.Struct, frozen=True):
    """A model before it is asked: its labels as texts, and its requests at the same time."""

    labels: list[str] | None
    parallel: int


class Replies(msgspec.Struct, frozen=True, tag=True):
    """Answers to some rows.

    ``values`` are labels, where None is no vote, or probabilities, where NaN is. ``reason`` and ``detail``
    are those of the first row without a vote. ``usage`` is what was spent since the worker began.
    """

    values: AnyArray
    reason: str
    detail: str
    usage: dict[str, int]


def made(kind: str, settings: Mapping[str, Any]) -> RemoteModel:
    """The model of these settings; ValueError or TypeError, in one line, if they are none."""
    return KINDS[kind](**settings)


def port_of(model: RemoteModel) -> int:
    """The port at which its service answers."""
    parts = urlsplit(str(getattr(model, "base_url", None) or getattr(model, "url", "")))
    return parts.port or (443 if parts.scheme == "https" else 80)


def asked(model: RemoteModel, rows: Any, chances: bool, seconds: float) -> Replies:
    """Ask a model about these rows, for so many seconds."""
    said = model.answers(rows, chances=chances, until=time.monotonic() + seconds)
    found = _replies(model, said)
    if not chances:
        return found
    none = (np.nan,) * len(classes_of(model.labels))
    likely = np.array([each.chances or none for each in said]).reshape(len(said), len(none))
    return msgspec.structs.replace(found, values=packed(likely))


def replied(model: OpenAIModel, prompts: Sequence[str], seconds: float) -> Replies:
    """Ask a language model whole prompts, for so many seconds."""
    return _replies(model, model.say(prompts, until=time.monotonic() + seconds))


def _replies(model: RemoteModel, said: Sequence[ModelAnswer]) -> Replies:
    """Answers without probabilities."""
    values = np.empty(len(said), dtype=object)
    values[:] = [each.label for each in said]
    first = next((each for each in said if each.label is None), None)
    reason, detail = ("", "") if first is None else (first.reason, first.detail)
    return Replies(packed(values), reason, detail, model.usage.counts())


def facts_of(model: RemoteModel) -> Facts:
    """Facts of a model before it is asked."""
    labels = None if model.labels is None else [str(label) for label in classes_of(model.labels)]
    return Facts(labels, model.parallel)


def served(
    data: bytes, kind: str, settings: dict[str, Any], key: str | None
) -> tuple[Facts, dict[str, Callable[..., Replies]]]:
    """Make the model of a worker: facts of it, and its methods."""
    del data  # there is no file
    if key is not None:
        os.environ[_KEY] = key
        settings = settings | {"api_key_env": _KEY}
    model = made(kind, settings)
    model.check()

    def answers(rows: Array, how: Array, names: Array) -> Replies:
        things = given(rows, names.tolist(), framed=False)
        return asked(model, things, bool(how[0]), float(how[1]))

    def replies(prompts: Array, how: Array) -> Replies:
        if not isinstance(model, OpenAIModel):
            raise TypeError("this service takes no prompts")
        return replied(model, prompts.tolist(), float(how[0]))

    return facts_of(model), {"answers": answers, "replies": replies}

"""A node's model behind a service: asked in a worker that has the network and no files, and what it costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from folkmoot.arrays import Array
from folkmoot.models.labels import classes_of
from folkmoot.models.openai import OpenAIModel
from folkmoot.models.posting import key_from
from folkmoot.models.serving import Facts, Replies, asked, facts_of, made, port_of, replied
from folkmoot.node.service.node_file import ModelTable
from folkmoot.sandbox.messages import given
from folkmoot.sandbox.process import Limits, Sandboxed, WorkerError

_SECONDS: Final = 60.0  # for one call, where nobody says how long it may take
_MORE: Final = 5.0  # seconds in which a worker that has given up in time says so
_FOR_A_LABEL, _FOR_A_TEXT = 1024, 1 << 16  # bytes of the answer to a row, at most


class Remote:
    """Asks the service of ``[model]``; a call gives labels or probabilities, and keeps why rows have none."""

    def __init__(self, table: ModelTable, hidden: Path | None) -> None:
        """``hidden`` is the node's folder; None: the service is asked in the node's own process."""
        settings = dict(table.settings)
        if table.labels is not None:
            settings["labels"] = table.labels
        if table.columns is not None and table.kind == "http":
            settings["columns"] = list(table.columns)
        model = made(table.kind, settings)
        model.check()  # here, since a worker's error would be one of somebody else's file
        key = key_from(settings.get("api_key_env"))
        self.labels = None if table.labels is None else [str(label) for label in classes_of(table.labels)]
        self.parallel = facts_of(model).parallel
        self.reason = self.detail = ""
        self.seconds = math.inf  # that the next call may take
        self.worker: Sandboxed[Facts] | None = None
        self._spent: Counter[str] = Counter()  # by workers that have ended
        self._now: dict[str, int] = dict.fromkeys(model.usage.counts(), 0)
        self._ask: Callable[[Array, Sequence[str], bool, float], Replies]
        self._reply: Callable[[Array, float], Replies]
        self.takes_prompts = isinstance(model, OpenAIModel)
        if hidden is None:
            if isinstance(model, OpenAIModel):
                self._reply = lambda prompts, seconds: replied(model, prompts.tolist(), seconds)
            self._ask = lambda rows, names, chances, seconds: asked(
                model, given(rows, names, framed=False), chances, seconds
            )
            return
        worker = self.worker = Sandboxed(
            "folkmoot.models.serving:served", None, [table.kind, settings, key], Facts,
            private=[hidden], ports=[port_of(model)], limits=Limits(seconds=_SECONDS + _MORE),
        )  # fmt: skip

        def in_worker(rows: Array, names: Sequence[str], chances: bool, seconds: float) -> Replies:
            each = _FOR_A_TEXT if self.labels is None else _FOR_A_LABEL + 16 * len(self.labels)
            how = np.array([float(chances), seconds])
            most = 1 << 16 | len(rows) * each
            columns = np.array(list(names), dtype=object)
            return worker.ask(
                "answers", rows, how, columns, reply=Replies, most=most, seconds=seconds + _MORE
            )

        self._ask = in_worker
        self._reply = lambda prompts, seconds: worker.ask(
            "replies", prompts, np.array([seconds]), reply=Replies,
            most=1 << 16 | len(prompts) * _FOR_A_TEXT, seconds=seconds + _MORE,
        )  # fmt: skip

    def say(self, prompts: Sequence[str], seconds: float) -> list[str | None]:
        """Ask a language model whole prompts: a text each, None where there is none."""
        texts = np.empty(len(prompts), dtype=object)
        texts[:] = list(prompts)
        allowed = max(0.0, min(seconds, _SECONDS))
        values = self._counted(lambda: self._reply(texts, allowed)).tolist()
        return [each if isinstance(each, str) else None for each in values]

    def predict(self, rows: Array, names: Sequence[str] = ()) -> Array:
        """A label or number per row, None for no vote."""
        return self._asked(rows, names, chances=False)

    def chances(self, rows: Array, names: Sequence[str] = ()) -> Array:
        """(row, label): probabilities, NaN in a row without a vote."""
        return self._asked(rows, names, chances=True)

    @property
    def usage(self) -> dict[str, int]:
        """Counts since it was loaded: requests, failures and tokens."""
        return {name: count + self._spent[name] for name, count in self._now.items()}

    def _asked(self, rows: Array, names: Sequence[str], *, chances: bool) -> Array:
        seconds = max(0.0, min(self.seconds, _SECONDS))
        return self._counted(lambda: self._ask(rows, names, chances, seconds))

    def _counted(self, ask: Callable[[], Replies]) -> Array:
        """The answers, with what they cost added to the counts."""
        try:
            found = ask()
        except WorkerError:
            self._spent.update(self._now)
            self._now = dict.fromkeys(self._now, 0)
            raise
        if any(count < self._now.get(name, 0) for name, count in found.usage.items()):  # another worker
            self._spent.update(self._now)
        self._now = {name: max(0, found.usage.get(name, 0)) for name in self._now}
        self.reason, self.detail = found.reason[:200], found.detail[:1000]
        return found.values.array

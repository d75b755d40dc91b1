"""Which model votes in a motion: that of ``node.toml``, or one that was adopted before it was opened."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from folkmoot.network.service.holdout import Holdout
from folkmoot.network.service.improve.candidates import MODEL, Candidates
from folkmoot.network.service.improve.interfaces import CurrentModel
from folkmoot.network.service.interfaces import AnyVoter
from folkmoot.network.service.models import Model, ModelFacts
from folkmoot.network.service.voter import ChunkVotes, Voter
from folkmoot.network.storage.adoptions import Adoptions
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.schema import Schema
from folkmoot.votes import UNCOLOURED


class LateVoter:
    """A model that is loaded when it first votes, in the model's thread: the node does not wait for it."""

    def __init__(self, load: Callable[[], AnyVoter], facts: ModelFacts) -> None:
        """``facts`` are known before the model is loaded."""
        self._load, self._facts = load, facts
        self._loaded: AnyVoter | None = None
        self._one = threading.Lock()

    def check(self, motion: Motion) -> None:
        """MismatchError if it cannot take the columns of a motion, or give such answers."""
        self._facts.check(motion.schema, motion.columns, motion.answers)

    def vote(
        self, inputs: Any, labels: Sequence[str], wanted: Callable[[], bool], schema: Schema
    ) -> ChunkVotes:
        """A colour for every row; none if the model cannot be loaded."""
        try:
            return self._voter().vote(inputs, labels, wanted, schema)
        except (ValueError, OSError) as error:
            none = np.full(len(inputs), UNCOLOURED, dtype=np.int8)
            return ChunkVotes(none, "its model failed", f"the adopted model cannot be loaded: {error}")

    def numbers(self, inputs: Any, motion: Motion, wanted: Callable[[], bool]) -> ChunkVotes:
        """The same for probabilities."""
        try:
            return self._voter().numbers(inputs, motion, wanted)
        except (ValueError, OSError) as error:
            none = motion.form.nothing(len(inputs))
            return ChunkVotes(none, "its model failed", f"the adopted model cannot be loaded: {error}")

    def _voter(self) -> AnyVoter:
        with self._one:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded


class Choice:
    """The models of one node."""

    def __init__(
        self,
        base: Model,
        base_id: str,
        holdout: Holdout,
        candidates: Candidates,
        adoptions: Adoptions,
        load: Callable[[str], AnyVoter],
        labels: Callable[[ModelFacts], Sequence[str] | None],
    ) -> None:
        """``base`` is the model of ``node.toml``; ``load`` loads an adopted one, by its motion.

        ``labels`` says which labels of a model the operator lets it answer with.
        """
        self._base, self._voter, self._base_id, self._holdout = base, Voter(base), base_id, holdout
        self._candidates, self._adoptions, self._load, self._labels = candidates, adoptions, load, labels
        self._voters: dict[str, AnyVoter] = {}
        self._facts: dict[str, ModelFacts] = {"": base}

    def current(self) -> str:
        """The adopted model that votes from the next motion on; "" if it is that of ``node.toml``."""
        return self._adoptions.current(self._base_id)

    def current_model(self) -> CurrentModel:
        """What is known of it; read once, so that all that depends on it changes at the same time."""
        id_, facts, labels = self.current_facts()
        return CurrentModel(
            id_, labels, lambda motion: facts.check(motion.schema, motion.columns, motion.answers)
        )

    def current_facts(self) -> tuple[str, ModelFacts, Sequence[str] | None]:
        """Which model that is, what it takes and answers with, and the labels that it may give."""
        model = self.current()
        facts = self._facts_of(model)
        return model, facts, self._labels(facts)

    def _facts_of(self, model: str) -> ModelFacts:
        """Known from the report, without loading it; a candidate takes the columns that the base takes."""
        if model not in self._facts:
            try:
                report = self._candidates.report(model)
            except ValueError:  # its files are gone: its votes will say so
                return self._base
            base = self._base
            self._facts[model] = ModelFacts(
                str(self._candidates.place(model) / MODEL), report.knows or base.labels, base.columns,
                base.schema, chances=report.probabilities,
            )  # fmt: skip
        return self._facts[model]

    def of(self, motion: bytes) -> tuple[AnyVoter, Holdout]:
        """Who votes in a motion, and what is known of it."""
        model = self._adoptions.of(motion)
        if not model:
            return self._voter, self._holdout
        if model not in self._voters:
            for old in list(self._voters)[:-1]:  # sessions hold on to theirs
                del self._voters[old]
            self._voters[model] = LateVoter(lambda: self._load(model), self._facts_of(model))
        return self._voters[model], self._anchored(model)

    def _anchored(self, model: str) -> Holdout:
        """What the holdout says of the adopted model: by the answers of one that has not seen own rows."""
        try:
            anchor = self._candidates.report(model).anchor
        except ValueError:
            anchor = []
        pairs = [(truth, said) for truth, said, times in anchor for _ in range(times)]
        return Holdout(pairs) if pairs else self._holdout

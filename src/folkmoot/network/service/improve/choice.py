"""Which model votes in a motion: that of ``node.toml``, or one that was adopted before it was opened."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from folkmoot.network.service.holdout import Holdout
from folkmoot.network.service.improve.candidates import Candidates
from folkmoot.network.service.interfaces import AnyVoter
from folkmoot.network.service.voter import ChunkVotes
from folkmoot.network.storage.adoptions import Adoptions
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.schema import Schema
from folkmoot.votes import UNCOLOURED


class LateVoter:
    """A model that is loaded when it first votes, in the model's thread: the node does not wait for it."""

    def __init__(self, load: Callable[[], AnyVoter], base: AnyVoter) -> None:
        """``base`` takes the same columns, and says so before the model is loaded."""
        self._load, self._base = load, base
        self._loaded: AnyVoter | None = None
        self._one = threading.Lock()

    def check(self, motion: Motion) -> None:
        """MismatchError if it cannot take the columns of a motion."""
        self._base.check(motion)

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
        base: AnyVoter,
        base_id: str,
        holdout: Holdout,
        candidates: Candidates,
        adoptions: Adoptions,
        load: Callable[[str], AnyVoter],
    ) -> None:
        """``base`` is the model of ``node.toml``; ``load`` loads an adopted one, by its motion."""
        self._base, self._base_id, self._holdout = base, base_id, holdout
        self._candidates, self._adoptions, self._load = candidates, adoptions, load
        self._voters: dict[str, AnyVoter] = {}

    def current(self) -> str:
        """The adopted model that votes from the next motion on; "" if it is that of ``node.toml``."""
        return self._adoptions.current(self._base_id)

    def of(self, motion: bytes) -> tuple[AnyVoter, Holdout]:
        """Who votes in a motion, and what is known of it."""
        model = self._adoptions.of(motion)
        if not model:
            return self._base, self._holdout
        if model not in self._voters:
            for old in list(self._voters)[:-1]:  # sessions hold on to theirs
                del self._voters[old]
            self._voters[model] = LateVoter(lambda: self._load(model), self._base)
        return self._voters[model], self._anchored(model)

    def _anchored(self, model: str) -> Holdout:
        """What the holdout says of the adopted model: by the answers of one that has not seen own rows."""
        try:
            anchor = self._candidates.report(model).anchor
        except ValueError:
            anchor = []
        pairs = [(truth, said) for truth, said, times in anchor for _ in range(times)]
        return Holdout(pairs) if pairs else self._holdout

"""A moot whose members show check rows: input i holds the number i, and its truth is known to the test."""

from __future__ import annotations

from typing import Any

import numpy as np

from folkmoot.network.service.check_rows import LabelledRows
from folkmoot.network.service.interfaces import Inputs
from folkmoot.network.service.policy import Policy
from folkmoot.network.wire.batch import Batch
from folkmoot.network.wire.motion import Motion
from support.network.moot_in_memory import Moot

LABELS = ("a", "b", "c")


class ReviewMoot(Moot):
    """The first ``asked`` inputs are the asker's; each participant holds some of the others out."""

    def __init__(
        self,
        n: int,
        seed: int,
        *,
        asked: int = 60,
        each: int = 10,
        accuracy: float = 0.8,
        classes: int = 2,
        shown: int | None = None,
        **more: Any,
    ) -> None:
        rng = np.random.default_rng(seed)
        inputs = asked + n * each
        self.asked, self.each, self.classes = asked, each, classes
        self.truth = rng.integers(0, classes, inputs)
        off = (self.truth + rng.integers(1, classes, (n, inputs))) % classes
        votes = np.where(rng.random((n, inputs)) < accuracy, self.truth, off).astype(np.int8)
        for liar in more.get("adversaries") or {}:
            votes[liar] = self.truth  # its model knows the answers, so that it can avoid them
        rows = {place: self._rows_of(place) for place in range(n)}
        most = each if shown is None else shown
        policies = {place: Policy(check_rows=most, least_alpha=1, least_k=1) for place in range(n)}
        given: dict[str, Any] = {"rows": rows, "policies": policies} | more
        super().__init__(votes, seed, **given)

    def numbers_of(self, place: int) -> Any:
        """The inputs that a participant holds out."""
        return self.asked + place * self.each + np.arange(self.each)

    def _rows_of(self, place: int) -> LabelledRows:
        numbers = self.numbers_of(place)
        return LabelledRows(numbers[:, None].astype(float), [LABELS[self.truth[i]] for i in numbers])

    def put_review(self, asker: int = 0, *, at: float = 0.0, **changes: Any) -> list[str]:
        """Let a node ask with peer review; returns a list in which it says why it could not."""
        refused: list[str] = []

        def ready(motion: Motion | str, inputs: Inputs) -> None:
            node = self.nodes[asker]
            if isinstance(motion, str):
                refused.append(motion)
            elif node is not None:
                node.propose(motion, inputs, lambda session, summary: self._over(session, summary))

        def put() -> None:
            node = self.nodes[asker]
            if node is not None:
                batch = Batch(np.arange(self.asked, dtype="<i4")[:, None])
                terms = {"trust": True, "labels": LABELS[: self.classes], "k": min(5, self.n - 1)} | changes
                motion, inputs = self.motion(asker, batch, **terms)
                node.reviews.invite(motion, inputs, ready)

        self.network.at(at, put)
        return refused

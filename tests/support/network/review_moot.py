"""A moot whose members show check rows: input i holds the number i, and its truth is known to the test."""

from __future__ import annotations

from typing import Any

import numpy as np

from folkmoot.arrays import Array
from folkmoot.network.service.check_rows import LabelledRows
from folkmoot.network.service.interfaces import Inputs
from folkmoot.network.service.policy import Policy
from folkmoot.network.wire.forms import Answers
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.review import to_be_invited
from folkmoot.node.wire.batch import Batch
from folkmoot.votes import to_levels
from support.network.moot_in_memory import ChunkVotes, Moot

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
        answers: Answers = "labels",
        **more: Any,
    ) -> None:
        rng = np.random.default_rng(seed)
        inputs = asked + n * each
        self.asked, self.each, self.classes = asked, each, classes
        self.truth = rng.integers(0, classes, inputs)
        off = (self.truth + rng.integers(1, classes, (n, inputs))) % classes
        votes = np.where(rng.random((n, inputs)) < accuracy, self.truth, off).astype(np.int8)
        self.answers: Answers = answers
        for liar in more.get("adversaries") or {}:
            votes[liar] = self.truth  # its model knows the answers, so that it can avoid them
        self.numbers = rng.normal(0, 3, inputs)
        if answers != "labels":
            self.told = self._levels(votes, rng) if answers == "probabilities" else self._guesses(n, rng)
            more = {"voters": {place: ChunkVotes(each) for place, each in enumerate(self.told)}} | more
        rows = {place: self._rows_of(place) for place in range(n)}
        most = each if shown is None else shown
        policies = {place: Policy(check_rows=most, least_alpha=1, least_k=1) for place in range(n)}
        given: dict[str, Any] = {"rows": rows, "policies": policies} | more
        super().__init__(votes, seed, **given)

    def _levels(self, votes: Array, rng: np.random.Generator) -> Array:
        """(participant, row, class): how likely each finds what; its vote is the likeliest."""
        chances = rng.dirichlet(np.ones(self.classes), votes.shape)
        voted, top = votes[..., None].astype(np.int64), chances.argmax(axis=2)[..., None]
        most, other = (np.take_along_axis(chances, which, axis=2) for which in (top, voted))
        np.put_along_axis(chances, top, other, axis=2)
        np.put_along_axis(chances, voted, most, axis=2)
        return to_levels(chances).astype(np.int16)

    def _guesses(self, n: int, rng: np.random.Generator) -> Array:
        """(participant, row, 1): the right number and an error, which is larger the later a place."""
        off = rng.normal(0, 1, (n, len(self.numbers))) * np.linspace(0.3, 2.0, n)[:, None]
        return (self.numbers + off)[..., None]

    def numbers_of(self, place: int) -> Any:
        """The inputs that a participant holds out."""
        return self.asked + place * self.each + np.arange(self.each)

    def _rows_of(self, place: int) -> LabelledRows:
        numbers = self.numbers_of(place)
        labels = [LABELS[self.truth[i]] for i in numbers]
        if self.answers == "numbers":
            labels = [str(float(self.numbers[i])) for i in numbers]
        return LabelledRows(numbers[:, None].astype(float), labels)

    def terms(self) -> dict[str, Any]:
        """How a motion is put unless something else is said."""
        of_labels = {"trust": True, "labels": LABELS[: self.classes], "k": min(5, self.n - 1)}
        if self.answers == "labels":
            return of_labels
        terms = {"answers": self.answers, "review": to_be_invited(self.asked, learnt=False)}
        if self.answers == "probabilities":
            return of_labels | terms
        by_rule = {"protocol": "trimmed-mean", "alpha": 0, "beta": 1, "tol": 0.5, "labels": ()}
        return terms | by_rule | {"k": self.n - 1, "trust": False}

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
                motion, inputs = self.motion(asker, batch, **self.terms() | changes)
                node.reviews.invite(motion, inputs, ready)

        self.network.at(at, put)
        return refused

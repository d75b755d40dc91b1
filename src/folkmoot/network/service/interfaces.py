"""What a node asks of its model and of whoever keeps the inputs of its motions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from folkmoot.network.service.voter import ChunkVotes
from folkmoot.network.wire.motion import Motion
from folkmoot.node.wire.schema import Schema


class AnyVoter(Protocol):
    """Who votes on chunks of inputs: a ``Voter``."""

    def check(self, motion: Motion) -> None:
        """MismatchError if its model cannot take the columns of a motion, or give such answers."""

    def vote(
        self, inputs: Any, labels: Sequence[str], wanted: Callable[[], bool], schema: Schema
    ) -> ChunkVotes:
        """A colour for every row, and why some have none; ``wanted`` says whether they still are."""

    def numbers(self, inputs: Any, motion: Motion, wanted: Callable[[], bool]) -> ChunkVotes:
        """The same for a motion about numbers or probabilities."""


class Inputs(Protocol):
    """Where the asker's node keeps the inputs of a motion until it is over."""

    def read(self, index: int) -> bytes:
        """A chunk."""

    def discard(self) -> None:
        """They are not needed any more."""

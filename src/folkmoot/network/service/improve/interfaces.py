"""What a node asks of those who choose its model and make better ones, without knowing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from folkmoot.network.service.holdout import Holdout
from folkmoot.network.service.interfaces import AnyVoter
from folkmoot.network.wire.motion import Motion


class CurrentModel(NamedTuple):
    """The model that votes in motions that are opened now; what is asked of it goes by one such answer."""

    id: str  # the motion of an adopted one; "" is that of node.toml
    labels: Sequence[str] | None  # that it knows, by itself or by node.toml; None if nobody says
    check: Callable[[Motion], None]  # MismatchError if it cannot take a motion's columns, or answer so


class Choosing(Protocol):
    """Which model votes in a motion: a ``Choice``."""

    def current_model(self) -> CurrentModel:
        """The model that votes in new motions."""

    def of(self, motion: bytes) -> tuple[AnyVoter, Holdout]:
        """Who votes in a motion, and what is known of it."""


class Keeping(Protocol):
    """Keeps a pool, chunk by chunk: a ``Pool``."""

    def keep(self, index: int, data: bytes) -> None:
        """A chunk of it."""


class Learning(Protocol):
    """Makes better models of pools: an ``Improving``."""

    def pool(self, name: bytes, motion: Motion, asker: str, *, again: bool = False) -> Keeping | None:
        """Where the inputs of a motion are kept; None if they are not."""

    def over(self, name: bytes) -> None:
        """A motion is over."""

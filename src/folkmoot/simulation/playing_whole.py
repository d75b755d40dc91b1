"""Protocols that play whole deliberations in their own way: which function plays each kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from folkmoot.federated.protocol import Federated
from folkmoot.outcome import Outcome
from folkmoot.protocols import WholeProtocol
from folkmoot.simulation.federated_talk import deliberate_federated


def play_whole(
    votes: npt.ArrayLike, protocol: WholeProtocol, *, refused: Mapping[str, bool], **options: Any
) -> Outcome:
    """What comes of it; ``refused`` names options that no such protocol takes, and whether they are given."""
    name = type(protocol).__name__
    given = next((option for option, is_given in refused.items() if is_given), None)
    if given is not None:
        raise ValueError(
            f"{name} takes no {given}: {given.split('=')[0]} is for Slush, Snowflake and Snowball"
        )
    if isinstance(protocol, Federated):
        return deliberate_federated(votes, protocol, **options)
    raise TypeError(f"nothing here plays {name}")

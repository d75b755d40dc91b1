"""Protocols that play whole deliberations in their own way: which function plays each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from folkmoot.adversaries import Adversary
from folkmoot.federated.protocol import Federated
from folkmoot.outcome import Outcome
from folkmoot.protocols import Hierarchy, WholeProtocol
from folkmoot.simulation.federated_talk import deliberate_federated
from folkmoot.simulation.team_talk import deliberate_in_teams
from folkmoot.votes import Votes

# Options of ``deliberate`` that say how queries are drawn and played, and mean nothing where there are
# none.
_OF_QUERIES: Final = ("batch", "device", "keys", "permute", "schedule", "threads")


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
    if isinstance(protocol, Hierarchy):
        kept = {option: value for option, value in options.items() if option not in ("device", "permute")}
        return deliberate_in_teams(votes, protocol, **kept)
    if isinstance(protocol, Federated):
        kept = {option: value for option, value in options.items() if option not in _OF_QUERIES}
        return deliberate_federated(votes, protocol, **kept)
    raise TypeError(f"nothing here plays {name}")


def play_whole_among(
    there: Sequence[int],
    votes: Votes,
    protocol: WholeProtocol,
    *,
    adversaries: Mapping[int, Adversary],
    sampling: object = None,
    leaning: Votes | None = None,
    **options: Any,
) -> Outcome:
    """The same where only those ``there`` can answer; the others stay members, and nothing is scaled for
    them.

    ``leaning`` (participant, input) is what each would take before all others; ``options`` are
    ``deliberate``'s.
    """
    mask = np.zeros(len(votes), dtype=np.bool_)
    mask[list(there)] = True
    refused = {
        "sampling": sampling is not None,
        "least_likeness": bool(options.pop("least_likeness", 0)),
    }
    liars = {i: liar for i, liar in adversaries.items() if mask[i]}
    return play_whole(
        votes, protocol, refused=refused, there=mask, leaning=leaning, adversaries=liars, **options
    )

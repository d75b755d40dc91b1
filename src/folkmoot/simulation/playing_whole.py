"""Protocols that play whole deliberations in their own way: which function plays each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from folkmoot.adversaries import Adversary
from folkmoot.federated.protocol import Federated
from folkmoot.outcome import Outcome
from folkmoot.played import Schedule
from folkmoot.protocols import Hierarchy, WholeProtocol
from folkmoot.sampling import Trusting
from folkmoot.simulation.federated_talk import deliberate_federated
from folkmoot.simulation.play_options import Batch, check_batch, check_schedule, check_threads
from folkmoot.simulation.team_talk import deliberate_in_teams
from folkmoot.votes import Votes


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
    options.pop("device", None)
    if isinstance(protocol, Hierarchy):
        return deliberate_in_teams(votes, protocol, **options)
    if isinstance(protocol, Federated):
        return deliberate_federated(votes, protocol, **_of_messages(**options))
    raise TypeError(f"nothing here plays {name}")


def _of_messages(
    *,
    schedule: Schedule = "one",
    batch: Batch = "independent",
    threads: int | None = None,
    permute: bool = True,  # noqa: ARG001
    asks: Trusting | None = None,  # noqa: ARG001
    **options: Any,
) -> dict[str, Any]:
    """The options of a talk in which all tell all: those of queries are checked, and have nothing to change.

    It goes in rounds, one message carries all inputs, and its bits hang on no number of threads.
    """
    check_schedule(schedule)
    check_batch(batch)
    check_threads(threads)
    return options


def play_whole_among(
    there: Sequence[int],
    votes: Votes,
    protocol: WholeProtocol,
    *,
    adversaries: Mapping[int, Adversary],
    sampling: object = None,
    leaning: Votes | None = None,
    asks: Trusting | None = None,
    **options: Any,
) -> Outcome:
    """The same where only those ``there`` can answer; the others stay members, and nothing is scaled for
    them.

    In a talk by trust ``leaning`` (participant, input) is what each would take before all others, and
    ``asks`` whom it would ask; ``options`` are ``deliberate``'s.
    """
    mask = np.zeros(len(votes), dtype=np.bool_)
    mask[list(there)] = True
    refused = {
        "sampling": sampling is not None,
        "least_likeness": bool(options.pop("least_likeness", 0)),
    }
    liars = {i: liar for i, liar in adversaries.items() if mask[i]}
    return play_whole(
        votes, protocol, refused=refused, there=mask, leaning=leaning, asks=asks, adversaries=liars, **options
    )

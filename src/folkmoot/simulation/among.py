"""A talk of some of the participants.

The others are not waited for: in the ``Outcome`` they stand without a colour and do not count as honest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from folkmoot.adversaries import Adversary
from folkmoot.outcome import Outcome
from folkmoot.protocols import SnowProtocol
from folkmoot.protocols.sampling import Sampling
from folkmoot.simulation.engine import deliberate
from folkmoot.simulation.run import SnowRun
from folkmoot.votes import UNCOLOURED, Votes


def deliberate_among(
    there: Sequence[int],
    votes: Votes,
    protocol: SnowProtocol[Any],
    *,
    adversaries: Mapping[int, Adversary],
    sampling: Sampling | None = None,
    **options: Any,
) -> Outcome:
    """``deliberate`` among the participants ``there``, the protocol scaled to their number, if it can be.

    Participants keep their numbers, in ``adversaries``, in ``sampling`` and in the outcome. ``options`` are
    ``deliberate``'s.
    """
    place = {int(participant): i for i, participant in enumerate(there)}
    if len(place) < 2:
        raise ValueError(f"at least two participants must be able to answer: got {len(place)}")
    rows = list(place)
    moved = {place[i]: _moved(liar, place) for i, liar in adversaries.items() if i in place}
    if options.get("missing") == "absent" and (votes[rows] == UNCOLOURED).any():
        return _absent_too(rows, votes, protocol, adversaries, sampling, options)
    outcome = deliberate(
        votes[rows],
        protocol.restricted(rows).scaled(len(rows)),
        adversaries=moved,
        sampling=None if sampling is None else sampling.restricted(rows),
        **options,
    )
    return outcome if len(rows) == len(votes) else _among_all(outcome, rows, votes, adversaries)


def _absent_too(
    there: list[int],
    votes: Votes,
    protocol: SnowProtocol[Any],
    adversaries: Mapping[int, Adversary],
    sampling: Sampling | None,
    options: dict[str, Any],
) -> Outcome:
    """Whoever is not there is absent on every input, as the others are on some: one scaling for both."""
    cast = np.full_like(votes, UNCOLOURED)
    cast[there] = votes[there]
    outcome = deliberate(cast, protocol, adversaries=adversaries, sampling=sampling, **options)
    return replace(outcome, honest=outcome.honest & np.isin(np.arange(len(votes)), there))


def _among_all(
    outcome: Outcome, there: list[int], votes: Votes, adversaries: Mapping[int, Adversary]
) -> Outcome:
    """The outcome under the participants' own numbers."""
    held, participants = outcome.decisions, len(votes)
    decisions = np.full((*held.shape[:-2], participants, held.shape[-1]), UNCOLOURED, dtype=np.int8)
    decisions[..., there, :] = held
    honest = np.zeros(participants, dtype=np.bool_)
    honest[there] = outcome.honest
    run = outcome.run
    if isinstance(run, SnowRun):
        mine = {i: liar for i, liar in adversaries.items() if i in there}
        run = replace(run, there=np.array(there), cast=votes, adversaries=mine)
    return replace(outcome, decisions=decisions, honest=honest, run=run)


def _moved(liar: Adversary, place: dict[int, int]) -> Adversary:
    """A liar that follows somebody follows the same one by its new number."""
    if liar.follows is not None and liar.follows not in place:
        raise ValueError(f"{type(liar).__name__} follows participant {liar.follows}, which cannot answer")
    return liar.renumbered(place)

"""The talk: all announce their consensus; each takes for an object the cluster that those it trusts name.

Names of clusters mean nothing between participants, so a listener first matches the clusters of each speaker
with its own (the Hungarian method on shared objects). Nobody has to agree on names, and a liar gains nothing
by renaming. In every round a speaker counts by the listener's trust in what it revealed, times the agreement
of its present statement with what the listener holds. So one that revealed the truth to be trusted, and lies
in the talk, is ignored.

Two camps can stay that differ in one object on which they are level. So after two rounds each takes a whole
partition instead. Of those that it hears, this is the one most like all partitions of participants it trusts.
All that trust the same then hold the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from folkmoot.arrays import Floats, Ints
from folkmoot.clustering.listening import Revealed, beyond_chance
from folkmoot.clustering.partitions import UNSEEN, Crossing, cross, matching, renamed
from folkmoot.votes import numbered

_OWN: Final = 1e-9  # ties go to what one holds
_BY_OBJECT: Final = 2  # rounds, before whole partitions are taken


@dataclass(frozen=True, eq=False)
class PartitionRounds:
    """The result."""

    held: Ints  # (participant, object): what each says at the end, liars included
    rounds: int
    unanimous: bool


def talk(
    announced: Ints, weights: Floats, listeners: Ints, counted: Ints, rounds: int, revealed: Revealed
) -> PartitionRounds:
    """Have the listeners talk until those that count hold one partition, or the rounds are over."""
    held = numbered(announced)
    played = 0
    while played < rounds and not _one(held[counted]):
        crossing = cross(held)
        trust = weights * beyond_chance(crossing)
        if played < _BY_OBJECT:
            held = _by_object(held, crossing, trust, listeners)
        else:
            held = _whole(held, weights, trust, listeners, revealed)
        played += 1
    return PartitionRounds(held, played, _one(held[counted]))


def _by_object(held: Ints, crossing: Crossing, trust: Floats, listeners: Ints) -> Ints:
    """What each holds after a round in which it takes the cluster that most of its trust names."""
    heard = held.copy()
    for i in listeners:
        row = trust[i]
        row[i] = row.max() or 1.0
        speakers = np.flatnonzero(row > 0)
        names = [matching(crossing.block(int(i), int(j))) for j in speakers]
        said = [renamed(held[j], own) for j, own in zip(speakers, names, strict=True)]
        heard[i] = plurality(said, row[speakers], held[i])
    return numbered(heard)


def _whole(held: Ints, weights: Floats, trust: Floats, listeners: Ints, revealed: Revealed) -> Ints:
    """What each holds after a round in which it takes the best of the partitions that it hears.

    Voices alone weigh what was revealed: with its own weights each camp would find its own partition best.
    """
    likeness = cross(held, revealed.said).rand
    heard = held.copy()
    for i in listeners:
        speakers = np.flatnonzero((trust[i] > 0) | (np.arange(len(held)) == i))
        scores = likeness[speakers] @ (revealed.voices * (weights[i] > 0))
        heard[i] = held[speakers[np.argmax(scores)]]
    return heard


def plurality(said: Sequence[Ints], weights: Floats, own: Ints) -> Ints:
    """(object,): the cluster with the most weight; one's own where it is level, -1 where nobody says any."""
    clusters = 1 + max(int(each.max()) for each in [*said, own])
    objects = np.arange(len(own))
    scores = np.zeros((len(own), clusters + 1))  # the last is that of objects not seen
    for each, weight in zip(said, weights / weights.sum(), strict=True):
        scores[objects, each] += weight
    scores[objects, own] += _OWN
    scores[:, UNSEEN] = 0
    return np.where(scores.any(axis=1), scores.argmax(axis=1), UNSEEN)


def _one(partitions: Ints) -> bool:
    """Whether all are one partition."""
    return bool((partitions == partitions[0]).all())

"""Rounds: all announce their consensus; each takes for an object the cluster that most of its trust names.

Cluster numbers differ between participants, so a listener first matches the clusters of each speaker with its
own (the Hungarian method on shared objects). Renaming gains a malicious participant nothing. In a round the
weight of a speaker is the listener's trust in its revealed partition, times its present agreement with the
listener. So a participant that revealed the truth and then lies is ignored.

Two groups can remain that differ in one object on which they are tied. So after two rounds each takes a whole
partition instead: of the announced ones, that most like all that was revealed by participants it trusts.
Participants with the same trust then hold the same.
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

_OWN: Final = 1e-9  # ties keep the present cluster
_BY_OBJECT: Final = 2  # rounds, before whole partitions are taken


@dataclass(frozen=True, eq=False)
class PartitionRounds:
    """The partitions at the end of the rounds."""

    held: Ints  # (participant, object): what each announces at the end, the malicious too
    rounds: int
    unanimous: bool


def agree(
    announced: Ints, weights: Floats, listeners: Ints, counted: Ints, rounds: int, revealed: Revealed
) -> PartitionRounds:
    """Play rounds until those that count hold one partition, or the rounds are over."""
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
    """The partitions after a round by object: each takes the cluster with most of its trust."""
    after = held.copy()
    for i in listeners:
        row = trust[i]
        row[i] = row.max() or 1.0
        speakers = np.flatnonzero(row > 0)
        names = [matching(crossing.block(int(i), int(j))) for j in speakers]
        said = [renamed(held[j], own) for j, own in zip(speakers, names, strict=True)]
        after[i] = plurality(said, row[speakers], held[i])
    return numbered(after)


def _whole(held: Ints, weights: Floats, trust: Floats, listeners: Ints, revealed: Revealed) -> Ints:
    """The partitions after a round in which each takes the best of the announced ones.

    Effective votes alone weigh revealed partitions: by its own weights each group would find its own best.
    """
    likeness = cross(held, revealed.partitions).rand
    after = held.copy()
    for i in listeners:
        speakers = np.flatnonzero((trust[i] > 0) | (np.arange(len(held)) == i))
        scores = likeness[speakers] @ (revealed.effective_votes * (weights[i] > 0))
        after[i] = held[speakers[np.argmax(scores)]]
    return after


def plurality(said: Sequence[Ints], weights: Floats, own: Ints) -> Ints:
    """(object,): the cluster with the most weight; one's own if tied, -1 if nobody names any."""
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

"""How long a participant takes to agree on clusters: 10,000 objects, 31 participants, 18 of them in a clique.

    python benchmarks/cluster.py [--json] [--record]

Planted partitions: 10 clusters, each participant puts 35% of the objects anywhere. Seconds are of processor
time, of the whole of ``folkmoot.cluster`` by honest participant; beside it in the same run a plain bipartite
consensus, which a centre does once, and evidence accumulation on 2,000 objects, which holds a number for each
pair of them.
"""

from __future__ import annotations

import time

import numpy as np

from folkmoot import cluster
from folkmoot.arrays import Ints
from folkmoot.clustering.adversaries import ColludingPartition
from folkmoot.clustering.consensus_partitions import bipartite_consensus, evidence_accumulation
from timing import best_of, report

PARTICIPANTS, LIARS, OBJECTS, CLUSTERS = 31, 18, 10_000, 10
TARGET = 2.0  # seconds a participant


def partitions(objects: int) -> Ints:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, CLUSTERS, objects)
    wrong = rng.random((PARTICIPANTS, objects)) < 0.35
    return np.where(wrong, rng.integers(0, CLUSTERS, (PARTICIPANTS, objects)), truth)


def measure() -> dict[str, object]:
    many, few = partitions(OBJECTS), partitions(2000)
    honest, lied = seconds_each(many, 0), seconds_each(many, LIARS)
    once = best_of(2, lambda: bipartite_consensus(many, CLUSTERS), clock=time.process_time)
    pairs = best_of(1, lambda: evidence_accumulation(few, CLUSTERS), clock=time.process_time)
    agreed = best_of(1, lambda: cluster(few, CLUSTERS), clock=time.process_time)
    return {
        f"{OBJECTS:,} objects, nobody lies: a participant": judged(honest),
        f"{OBJECTS:,} objects, {LIARS} of {PARTICIPANTS} lie: a participant": judged(lied),
        "a participant beside one plain bipartite consensus, times": round(honest / once, 2),
        "2,000 objects: all participants beside evidence accumulation, times": round(agreed / pairs, 2),
    }


def seconds_each(said: Ints, liars: int) -> float:
    """Of processor time: what others do on this machine meanwhile does not count."""
    clique = dict.fromkeys(range(liars), ColludingPartition())
    whole = best_of(1, lambda: cluster(said, CLUSTERS, adversaries=clique), clock=time.process_time)
    return whole / (PARTICIPANTS - liars)


def judged(seconds: float) -> dict[str, object]:
    return {"seconds": round(seconds, 3), "target": TARGET, "reached": seconds < TARGET}


if __name__ == "__main__":
    report(measure, __doc__)

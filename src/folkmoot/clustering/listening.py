"""How much a participant trusts each partition, by its own partition and all revealed ones.

With A the adjusted Rand indices of all partitions:

* the effective votes of j are 1 / sum over k of max(A_jk, 0)^4: copies share one, and so nearly do noisy
  copies;
* the weight of j for i is max(A_ij - t, 0)^1.5 times the effective votes of j. Unrelated partitions reach
  t = max(0.02, 4 / objects both have seen) by chance. The weight of i itself is that of its best peer. (The
  power keeps the best from counting least. Partitions most like the truth are also most like each other, so
  each has fewer effective votes.)
* i makes a consensus of all partitions with these weights (``clustering/consensus_partitions.py``), then
  weighs everybody by that instead of its own partition, and does so once more.

Honest partitions are alike because they are of the same objects. A lie is like an honest partition only as
far as it is true. So a malicious majority is ignored in the same way as a minority.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import numpy as np

from folkmoot.arrays import Floats, Ints
from folkmoot.clustering.consensus_partitions import Bipartite
from folkmoot.clustering.partitions import Crossing, cross

_BY_CHANCE: Final = 0.02
_LIKENESS: Final = 4  # the power of A that separates copies from peers
_COPIES: Final = 32  # the same for an outside reader, which must not take honest peers for copies
_AGAIN: Final = 2
_STEEP: Final = 1.5  # the power of what an index is beyond chance, in weights
_MIDDLE: Final = (0.1, 0.9)  # of the weight: between which numbers of clusters the spectrum chooses
ENOUGH_VOTES: Final = 2.5  # three, rounded: three with slightly different weights are enough


@dataclass(frozen=True, eq=False)
class Revealed:
    """The revealed partitions, and public functions of them."""

    partitions: Ints  # (participant, object)
    graph: Bipartite
    indices: Floats  # (participant, participant)
    effective_votes: Floats
    beyond: Floats  # indices less chance

    @classmethod
    def of(cls, said: Ints) -> Revealed:
        """These partitions, clusters numbered from 0."""
        graph = Bipartite.of(said)
        indices = graph.crossing.rand
        return cls(said, graph, indices, effective_votes(indices), beyond_chance(graph.crossing))

    @property
    def numbers(self) -> Ints:
        """(participant,): how many clusters each has made."""
        return np.asarray(self.partitions.max(axis=1) + 1)

    @property
    def outside_votes(self) -> Floats:
        """(participant,): effective votes for a reader that is no participant and trusts nobody.

        Only near copies share one. With the power that participants use, honest partitions that are alike
        would have fewer than a small noisy colluding group. With this one only a noisy majority wins.
        """
        return effective_votes(self.indices, _COPIES)

    def first_weights(self, i: int) -> Floats:
        """The weights of all for participant i, by its own partition."""
        weights: Floats = self.beyond[i] ** _STEEP * self.effective_votes
        weights[i] = 0.0
        weights[i] = weights.max() or 1.0
        return weights

    def votes_in(self, weights: Floats) -> float:
        """The effective number of the weights, without the power."""
        beyond = (weights / self.effective_votes) ** (1 / _STEEP)
        return effective_number(beyond * self.effective_votes)

    def consensus(
        self, weights: Floats, clusters: int, known: dict[bytes, tuple[Ints, Floats]]
    ) -> tuple[Ints, Floats]:
        """The consensus of a participant with these first weights, and the weights that it comes to.

        ``known`` holds what follows from labels: several participants come to the same ones.
        """
        labels = self.graph.cut(weights, clusters)
        for _ in range(_AGAIN):
            key = blake2b(labels.tobytes(), digest_size=16).digest()
            if key not in known:
                again = (
                    beyond_chance(cross(labels[None], self.partitions))[0] ** _STEEP * self.effective_votes
                )
                known[key] = (self.graph.cut(again, clusters) if again.any() else labels, again)
            if not known[key][1].any():
                break
            labels, weights = known[key]
        return labels, weights


def effective_votes(indices: Floats, power: int = _LIKENESS) -> Floats:
    """(participant,): 1 for a partition unlike all others, 1/m for each of m copies."""
    likeness = np.maximum(indices, 0) ** power
    np.fill_diagonal(likeness, 1.0)
    return np.asarray(1 / likeness.sum(axis=1))


def beyond_chance(crossing: Crossing) -> Floats:
    """Adjusted Rand indices less what unrelated partitions reach by chance; never below 0."""
    chance = np.maximum(_BY_CHANCE, 4 / np.maximum(crossing.shared, 1))
    return np.maximum(crossing.rand - chance, 0)


def effective_number(weights: Floats) -> float:
    """The effective number of weights (L. Kish): n for equal ones, 1 for one that outweighs all."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def weighted_quantile(values: Ints, weights: Floats, share: float = 0.5) -> int:
    """Weighted quantile."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return int(values[order][np.searchsorted(reached, reached[-1] * share)])


def agreed_numbers(revealed: Revealed, weights: Floats, listeners: Ints) -> Ints:
    """The number of clusters that each listener wants, by the numbers of those that it trusts.

    First it takes, of the middle 80% of the numbers they have made, the one after which the spectrum of its
    own weights falls most. Then it takes the weighted median of all. The malicious repeat the number they
    revealed.
    """
    made = revealed.numbers
    numbers = made.copy()
    for i in listeners:
        least, most = (max(2, weighted_quantile(made, weights[i], share)) for share in _MIDDLE)
        numbers[i] = least if least == most else revealed.graph.eigengap(weights[i], least, most)
    medians = [weighted_quantile(numbers, weights[i]) for i in listeners]
    numbers[listeners] = medians
    return np.maximum(numbers, 2)

"""A participant's trust in others' clusters, from its own partition and all revealed ones.

With A the adjusted Rand indices of all partitions:

* the voice of j is 1 / sum over k of max(A_jk, 0)^4: copies share one, and so nearly do noisy copies;
* what i thinks of j is max(A_ij - t, 0)^1.5 times the voice of j, where t = max(0.02, 4 / objects both have
  seen) is what unrelated partitions reach by chance; i counts as much as the best of its peers. (The power
  keeps the best from counting least: those most like the truth are also most like each other, so that each
  has less of a voice.)
* i makes a consensus of all partitions with these weights (``clustering/consensus_partitions.py``), then
  weighs everybody by that instead of its own partition, and does so once more.

Honest partitions are alike because they are of the same objects; a lie is like an honest partition only as
far as it is true. The number of liars does not enter: a majority of them is ignored in the same way.
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
_LIKENESS: Final = 4  # the power of A by which copies are told from peers
_COPIES: Final = 32  # the same power for a reader from outside, who must not take honest peers for copies
_AGAIN: Final = 2
_STEEP: Final = 1.5  # the power of what an index is beyond chance, in weights
_MIDDLE: Final = (0.1, 0.9)  # of the weight: between which numbers of clusters the spectrum chooses
ENOUGH_VOICES: Final = 2.5  # three, to the nearest: three that are weighed a little differently are enough


@dataclass(frozen=True, eq=False)
class Revealed:
    """All partitions once they are revealed, and what anybody can compute from them."""

    said: Ints  # (participant, object)
    graph: Bipartite
    indices: Floats  # (participant, participant)
    voices: Floats
    beyond: Floats  # indices less chance

    @classmethod
    def of(cls, said: Ints) -> Revealed:
        """These partitions, clusters numbered from 0."""
        graph = Bipartite.of(said)
        indices = graph.crossing.rand
        return cls(said, graph, indices, voices(indices), beyond_chance(graph.crossing))

    @property
    def numbers(self) -> Ints:
        """(participant,): how many clusters each has made."""
        return np.asarray(self.said.max(axis=1) + 1)

    @property
    def outside_voices(self) -> Floats:
        """(participant,): voices as they count for a reader who is no participant, and trusts nobody.

        Only near copies share one. With the power by which participants listen, honest ones that are alike
        would have fewer voices than a noisy clique of a few; so a clique must be noisy, and the majority.
        """
        return voices(self.indices, _COPIES)

    def first_weights(self, i: int) -> Floats:
        """Weights of all participants for participant i, by its own partition."""
        weights: Floats = self.beyond[i] ** _STEEP * self.voices
        weights[i] = 0.0
        weights[i] = weights.max() or 1.0
        return weights

    def voices_in(self, weights: Floats) -> float:
        """How many voices weights come to, by what is beyond chance itself and not its power."""
        beyond = (weights / self.voices) ** (1 / _STEEP)
        return effective_number(beyond * self.voices)

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
                again = beyond_chance(cross(labels[None], self.said))[0] ** _STEEP * self.voices
                known[key] = (self.graph.cut(again, clusters) if again.any() else labels, again)
            if not known[key][1].any():
                break
            labels, weights = known[key]
        return labels, weights


def voices(indices: Floats, power: int = _LIKENESS) -> Floats:
    """(participant,): 1 for a partition unlike all others, 1/m for each of m copies."""
    likeness = np.maximum(indices, 0) ** power
    np.fill_diagonal(likeness, 1.0)
    return np.asarray(1 / likeness.sum(axis=1))


def beyond_chance(crossing: Crossing) -> Floats:
    """Adjusted Rand indices less what unrelated partitions reach by chance; never below 0."""
    chance = np.maximum(_BY_CHANCE, 4 / np.maximum(crossing.shared, 1))
    return np.maximum(crossing.rand - chance, 0)


def effective_number(weights: Floats) -> float:
    """How many voices weights come to (L. Kish): n for equal ones, 1 for one that outweighs all."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def weighted_quantile(values: Ints, weights: Floats, share: float = 0.5) -> int:
    """The least value that so much of the weight is not above."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return int(values[order][np.searchsorted(reached, reached[-1] * share)])


def agreed_numbers(revealed: Revealed, weights: Floats, listeners: Ints) -> Ints:
    """How many clusters each listener asks for, by what those it trusts have made.

    First it takes, of the middle 80% of the numbers they have made, the one after which the spectrum of its
    own weights falls most; then the weighted median of what all say. Liars repeat the number they revealed.
    """
    made = revealed.numbers
    said = made.copy()
    for i in listeners:
        least, most = (max(2, weighted_quantile(made, weights[i], share)) for share in _MIDDLE)
        said[i] = least if least == most else revealed.graph.eigengap(weights[i], least, most)
    heard = [weighted_quantile(said, weights[i]) for i in listeners]
    said[listeners] = heard
    return np.maximum(said, 2)

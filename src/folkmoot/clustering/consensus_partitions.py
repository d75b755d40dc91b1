"""Consensus clustering by a central aggregator that trusts all partitions.

* Evidence accumulation: A. Fred and A. K. Jain, "Combining multiple clusterings using evidence accumulation",
  IEEE TPAMI 27 (2005). The share of participants that put two objects together is their similarity, and
  average linkage does the rest. It holds a number for every pair of objects.
* Bipartite consensus: X. Z. Fern and C. E. Brodley, "Solving cluster ensemble problems by bipartite graph
  partitioning", ICML 2004. Objects and clusters are the two sides of a graph, which is cut by its spectrum.
  Written here with a weight for each participant, so that ``folkmoot.cluster`` calls the same function. No
  pair of objects is ever formed: the eigenvectors are those of a (cluster, cluster) matrix.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Floats, Ints
from folkmoot.clustering.partitions import UNSEEN, Crossing, check_partitions, cross, indicator
from folkmoot.votes import numbered

if TYPE_CHECKING:
    from scipy import sparse

MOST_OBJECTS: Final = 5000  # evidence accumulation beyond that would need gigabytes
_COLUMNS: Final = 512  # of the (object, cluster) matrix that are made dense at once
_MOST_CLUSTERS: Final = 20  # that the eigengap is looked for among
_STARTS: Final = 3  # of k-means on clusters, which are few
_STEPS: Final = 50  # of k-means on objects, from there


def check_clusters(n_clusters: object, objects: int) -> int:
    """The number of clusters: at least 2, and not above the number of objects."""
    clusters = checks.integer("n_clusters", n_clusters)
    if not 2 <= clusters <= objects:
        raise checks.ArgumentError(
            f"{{n_clusters}} must satisfy 2 <= {{n_clusters:bare}} <= the number of objects ({objects}): got "
            f"{{n_clusters=}}",
            n_clusters=clusters,
        )
    return clusters


def evidence_accumulation(partitions: npt.ArrayLike, n_clusters: int) -> Ints:
    """Cluster objects by how many participants put each two of them together.

    Average linkage on one less the share of participants that have seen both objects and put them together.

    ``partitions`` (participant, object): The cluster of each object by each participant; -1 for one that it
    has not seen.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    said = numbered(check_partitions(partitions))
    objects = said.shape[1]
    clusters = check_clusters(n_clusters, objects)
    if objects > MOST_OBJECTS:
        raise ValueError(
            "evidence accumulation must hold a number for each pair of objects: "
            f"{objects} objects are more than {MOST_OBJECTS}; take bipartite_consensus"
        )
    both = _shared_columns((said >= 0).T.astype(np.float32))
    together = _shared_columns(indicator(said)[0])
    apart = 1 - np.divide(together, both, out=np.zeros_like(both), where=both > 0)
    np.fill_diagonal(apart, 0.0)
    tree = linkage(squareform(apart, checks=False), "average")
    labels = np.asarray(fcluster(tree, clusters, "maxclust"), dtype=np.int64)
    found: Ints = numbered(labels[None])[0]
    return found


def _shared_columns(matrix: Any) -> Floats:
    """(row, row): in how many columns of a matrix of 0 and 1 both have 1; dense, some columns at a time."""
    found = np.zeros((matrix.shape[0],) * 2, dtype=np.float32)  # whole numbers to 2^24 are exact
    for start in range(0, matrix.shape[1], _COLUMNS):
        some = matrix[:, start : start + _COLUMNS]
        dense = np.asarray(some if isinstance(some, np.ndarray) else some.toarray(), dtype=np.float32)
        found += dense @ dense.T
    return found.astype(np.float64)


def bipartite_consensus(
    partitions: npt.ArrayLike, n_clusters: int, weights: npt.ArrayLike | None = None
) -> Ints:
    """Cluster objects by cutting the graph of objects and clusters, with a weight for each participant.

    ``partitions`` (participant, object): The cluster of each object by each participant; -1 for one that it
    has not seen. ``weights`` (participant,): Weights of the participants. Default: equal.
    """
    said = numbered(check_partitions(partitions))
    clusters = check_clusters(n_clusters, said.shape[1])
    each = np.ones(len(said)) if weights is None else np.asarray(weights, dtype=np.float64)
    if each.shape != (len(said),) or not (np.isfinite(each) & (each >= 0)).all() or not each.any():
        raise ValueError("weights must be one number >= 0 for each participant, not all of them 0")
    found: Ints = numbered(Bipartite.of(said).cut(each, clusters)[None])[0]
    return found


@dataclass(frozen=True, eq=False)
class Bipartite:
    """The graph of objects and clusters, ready to be cut with other weights again and again."""

    matrix: sparse.csr_matrix  # (object, cluster)
    crossing: Crossing
    complete: bool  # has everybody seen everything?

    @classmethod
    def of(cls, partitions: Ints) -> Bipartite:
        """The graph of these partitions."""
        return cls(indicator(partitions)[0], cross(partitions), bool((partitions >= 0).all()))

    def cut(self, weights: Floats, clusters: int) -> Ints:
        """The labels of the objects with these weights; -1 where nobody of weight has seen one.

        With normalised weights B the similarity of clusters is B^T B. k-means runs on the clusters'
        eigenvectors, which are few. Then it runs from the centres found there on those of the objects.
        """
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning

        side = self._side(weights)
        clusters = min(clusters, len(side.kept))
        space = self._vectors(side, clusters)[1]
        points = _unit(side.part @ (side.scale[:, None] * space))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different points than clusters
            first = KMeans(clusters, n_init=_STARTS, random_state=0).fit(
                _unit(space), sample_weight=side.mass
            )
            found = KMeans(clusters, n_init=1, init=first.cluster_centers_, max_iter=_STEPS).fit(points)
        labels = np.asarray(found.labels_, dtype=np.int64)
        return np.where(side.load > 0, labels, UNSEEN)

    def eigengap(self, weights: Floats, least: int = 2, most: int = _MOST_CLUSTERS) -> int:
        """The number of clusters, of these, after which the spectrum falls most: a hint, not a proof."""
        side = self._side(weights)
        values = self._vectors(side, min(len(side.kept), most + 1))[0]
        values = np.pad(values, (0, max(0, least + 1 - len(values))))
        falls = values[least - 1 : -1] - values[least:]
        return least + int(falls.argmax())

    def _side(self, weights: Floats) -> _Side:
        each = np.repeat(weights, np.diff(self.crossing.rows))
        kept = np.flatnonzero(each > 0)
        heavy = each[kept]
        part = self.matrix if len(kept) == len(each) else self.matrix[:, kept]
        mass = np.diag(self.crossing.table)[kept] * heavy
        return _Side(kept, part, part @ heavy, mass, heavy / np.sqrt(mass))

    def _vectors(self, side: _Side, count: int) -> tuple[Floats, Floats]:
        """The largest eigenvalues of the similarity of clusters, largest first, and their vectors."""
        from scipy import sparse
        from scipy.linalg import eigh

        kept, scale = side.kept, side.scale
        share = np.divide(1.0, side.load, out=np.zeros_like(side.load), where=side.load > 0)
        if self.complete:  # every object's load is the same, and the product is there already
            table = self.crossing.table[np.ix_(kept, kept)]
            similarity = table * (scale[:, None] * scale[None, :] * share[0])
        else:
            half = sparse.diags(np.sqrt(share)) @ side.part @ sparse.diags(scale)
            similarity = (half.T @ half).toarray()
        values, vectors = eigh(similarity, subset_by_index=[len(kept) - count, len(kept) - 1])
        return values[::-1], vectors[:, ::-1]


@dataclass(frozen=True, eq=False)
class _Side:
    """The clusters of those who have a weight."""

    kept: Ints  # which they are
    part: sparse.csr_matrix  # (object, kept)
    load: Floats  # (object,): the weight of those who have seen it
    mass: Floats  # (kept,): weight times objects
    scale: Floats  # (kept,): what normalises them


def _unit(rows: Floats) -> Floats:
    """Rows of length 1."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-12))

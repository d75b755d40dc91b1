"""
Clusters agreed among liars
===========================

Learn how participants agree on one clustering without labels, while more and more of them tell the same lie.

Fifteen labs cluster the same wines, each by five of thirteen columns. A server that accumulates everybody's
evidence follows the lie as soon as the liars are many; participants that weigh each other by how far their
clusterings agree do not, because a clique of any size is one voice to them.

``python examples/plot_clusters.py [FILE]``
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale

from folkmoot import cluster

LABS, COLUMNS = 15, 5


def accumulated(said: np.ndarray) -> np.ndarray:
    """Evidence accumulation (Fred and Jain 2005): wines are near that many labs put together."""
    together = (said[:, :, None] == said[:, None, :]).mean(axis=0)
    tree = AgglomerativeClustering(3, metric="precomputed", linkage="average")
    return np.asarray(tree.fit_predict(1 - together))


def main(path: str = "clusters.png") -> None:
    X, truth = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    said = np.array(
        [
            KMeans(3, n_init=3, random_state=lab).fit_predict(scale(X)[:, rng.permutation(13)[:COLUMNS]])
            for lab in range(LABS)
        ]
    )
    alone = np.mean([adjusted_rand_score(truth, row) for row in said])
    lie = rng.integers(0, 3, len(X))
    counts = [0, 2, 4, 6, 8, 10]
    agreed, centre = [], []
    for liars in counts:
        agreed.append(adjusted_rand_score(truth, cluster(said, 3, adversaries=liars).labels))
        handed = np.vstack([said[: LABS - liars], np.tile(lie, (liars, 1))])
        centre.append(adjusted_rand_score(truth, accumulated(handed)))
        print(f"{liars} of {LABS} lie: agreed {agreed[-1]:.2f}, evidence accumulation {centre[-1]:.2f}")
    figure = Figure(figsize=(6.0, 3.8), layout="constrained")
    axes = figure.subplots()
    axes.plot(counts, agreed, color="tab:blue", marker="o", label="agreed by the participants")
    axes.plot(counts, centre, "--", color="grey", marker="o", label="evidence accumulation by a server")
    axes.axhline(alone, color="silver", lw=1, label="the mean participant alone")
    axes.set(xlabel=f"labs of {LABS} that lie together", ylabel="adjusted Rand index with the truth")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])

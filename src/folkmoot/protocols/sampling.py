"""Sampling laws: whom a node may ask, and the law of the answers it gets (appendix A.1).

A query draws k different nodes, each with the same probability. On the complete graph the number of answers
of one class is then hypergeometric. Its logarithm is summed factor by factor here, so it stays exact where
the probability is below the smallest double.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.machine import cores

# Entries of a table of log-binomials made at once (512 KiB, which stays in the cache), and how many such
# blocks are worth threads.
_BLOCK = 1 << 16
_WORTH_THREADS = 8
_IN_CACHE = 1 << 12  # columns of a table of tails made at once


class SamplingLaw(Protocol):
    """The number of peers from which a node draws k."""

    def peer_count(self, n: int, k: int) -> int:
        """The number of peers; ValueError if fewer than k."""


@dataclass(frozen=True)
class Everyone:
    """The paper's law H(n, b, k, alpha): k of all n nodes, the asker included.

    Examples
    --------
    Two of three are blue, and all answers must be the same. While the red one also asks itself it cannot
    turn; if it asks the two others only, it does.

    >>> from folkmoot import Everyone, Others
    >>> from folkmoot.theory import SlushChain
    >>> print(SlushChain(3, k=3, alpha=3, sampling=Everyone()).blue)
    [0. 0. 0. 1.]
    >>> print(SlushChain(3, k=2, alpha=2, sampling=Others()).blue)
    [0. 0. 1. 1.]
    """

    def peer_count(self, n: int, k: int) -> int:
        """All n nodes, or ValueError if they are fewer than k."""
        if checks.integer("k", k, least=1) > n:
            raise checks.ArgumentError("{k} must satisfy 1 <= k <= n: got {k=}, {n=}", k=k, n=n)
        return n

    def check(self, n: int, k: int) -> None:
        """There are at least k of the n participants to ask."""
        self.peer_count(n, k)


@dataclass(frozen=True)
class Others:
    """The law of a real node: k of the n - 1 others. It does not ask itself.

    Examples
    --------
    Three of five are right at the start. All end right a little less often if nobody can ask itself:

    >>> from folkmoot import Everyone, Others
    >>> from folkmoot.theory import SlushChain
    >>> print(f"{SlushChain(5, k=3, alpha=2, sampling=Others()).blue[3]:.3f}")
    0.700
    >>> print(f"{SlushChain(5, k=3, alpha=2, sampling=Everyone()).blue[3]:.3f}")
    0.719
    """

    def peer_count(self, n: int, k: int) -> int:
        """The n - 1 others, or ValueError if they are fewer than k."""
        if checks.integer("k", k, least=1) > n - 1:
            raise checks.ArgumentError(
                "{k} must satisfy 1 <= k <= n-1 when the asker does not ask itself: got {k=}, {n=}",
                k=k,
                n=n,
            )
        return n - 1

    def check(self, n: int, k: int) -> None:
        """There are at least k others of the n participants."""
        self.peer_count(n, k)


def log_tail(population: int, k: int, counts: Bools, marked: Ints) -> Floats:
    """log P(the number of marked nodes drawn is one that ``counts`` allows), for each ``marked``.

    ``counts[j]`` says whether j marked nodes among the k drawn count, j = 0..k. With
    ``counts = (j >= alpha)`` this is log H(population, marked, k, alpha), the sum of
    C(marked, j) C(population - marked, k - j) / C(population, k). All terms are positive: nothing cancels.
    """
    allowed = np.flatnonzero(counts)
    result = np.full(marked.shape, -np.inf)
    if allowed.size == 0:
        return result
    total = float(log_binomials(np.array([population]), k)[k, 0])
    width = max(1, _BLOCK // (k + 1))

    def fill(start: int) -> None:
        block = marked[start : start + width]
        terms = log_binomials(block, int(allowed.max()))[allowed]
        terms += log_binomials(population - block, int(k - allowed.min()))[k - allowed]
        result[start : start + width] = np.logaddexp.reduce(terms, axis=0)

    starts = range(0, marked.size, width)
    if len(starts) < _WORTH_THREADS:
        for start in starts:
            fill(start)
    else:
        with ThreadPoolExecutor(cores()) as pool:  # numpy lets go of the interpreter in such loops
            list(pool.map(fill, starts))
    # A sure event can exceed 0 by a rounding error; a probability never exceeds 1.
    return np.minimum(result - total, 0.0)


def tails(population: int, k: int, counts: Bools, marked: Ints) -> Floats:
    """P(the number of marked nodes drawn is one that a row of ``counts`` allows): (row, marked).

    What ``log_tail`` gives the logarithm of, by additions, multiplications and divisions alone. IEEE 754
    rounds these alike on every processor, unlike ``exp`` and ``log``. So runs drawn by such a table are the
    same on every machine. Each term follows from the one before, from the likeliest outwards.
    """
    result = np.empty((len(counts), marked.size))
    for start in range(0, marked.size, _IN_CACHE):
        block = slice(start, start + _IN_CACHE)
        result[:, block] = _tails(population, k, counts, marked[block])
    return result


def _tails(population: int, k: int, counts: Bools, marked: Ints) -> Floats:
    least, most = np.maximum(0, k - population + marked), np.minimum(k, marked)
    likeliest = np.clip((k + 1) * (marked + 1) // (population + 2), least, most)
    x, rest = marked.astype(np.float64), (population - k - marked).astype(np.float64)
    total, wanted = np.ones(marked.size), counts[:, likeliest].astype(np.float64)
    term, at = np.ones(marked.size), likeliest
    while (term := np.where(at < most, term, 0.0)).any():  # C(x, j) C(population - x, k - j), j one more
        at = at + 1
        term = term * ((x - at + 1) * (k - at + 1) / np.maximum(at * (rest + at), 1))
        total += term
        wanted += counts[:, np.minimum(at, k)] * term
    term, at = np.ones(marked.size), likeliest
    while (term := np.where(at > least, term, 0.0)).any():  # j one less
        term = term * (at * (rest + at) / np.maximum((x - at + 1) * (k - at + 1), 1))
        at = at - 1
        total += term
        wanted += counts[:, np.maximum(at, 0)] * term
    return wanted / total  # at most 1: the same terms, or fewer, were added in the same order


def log_binomials(x: Ints, most: int) -> Floats:
    """log C(x, j) for j = 0..most (rows) and each x (columns); -inf where j > x.

    Summed factor by factor. For the small j of a query this is more accurate than the difference of
    log-gammas, whose absolute error grows with x log x.
    """
    table = np.zeros((most + 1, x.size))
    for j in range(1, most + 1):
        with np.errstate(divide="ignore"):
            factor = np.log(np.maximum(x - j + 1, 0) / j)
        np.add(table[j - 1], factor, out=table[j])
    return table


class Neighbours:
    """k of a node's neighbours on a graph.

    Parameters
    ----------
    graph : array-like, sparse matrix or networkx graph, shape (n, n)
        An adjacency matrix whose row i says whom participant i may ask (what is not 0), or a graph whose
        nodes are 0..n-1. Edges may have a direction; nobody is its own neighbour.

    Raises
    ------
    ValueError
        If the matrix is not square, the nodes are not 0..n-1, or a node is its own neighbour.

    Examples
    --------
    On a ring of four everybody can ask two:

    >>> from folkmoot import Neighbours
    >>> ring = Neighbours([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    >>> ring.check(n=4, k=2)
    >>> ring.check(n=4, k=3)
    Traceback (most recent call last):
        ...
    folkmoot.checks.ArgumentError: every node must have at least k=3 neighbours: node 0 has 2
    """

    def __init__(self, graph: Any) -> None:
        if hasattr(graph, "adjacency") and hasattr(graph, "nodes"):
            if set(graph.nodes) != set(range(len(graph.nodes))) or not len(graph.nodes):
                raise ValueError("the graph's nodes must be 0..n-1, the participants: relabel them first")
            lists = [sorted(graph.adj[node]) for node in range(len(graph.nodes))]
        elif hasattr(graph, "tocsr"):
            sparse = graph.tocsr()
            _square(sparse.shape)
            rows = zip(sparse.indptr, sparse.indptr[1:], strict=False)
            lists = [sorted(sparse.indices[a:b][sparse.data[a:b] != 0].tolist()) for a, b in rows]
        else:
            try:
                matrix = np.asarray(graph, dtype=np.float64)
            except (TypeError, ValueError):
                raise TypeError("graph must be an adjacency matrix or a networkx graph") from None
            _square(matrix.shape)
            lists = [np.flatnonzero(row).tolist() for row in matrix]
        for node, peers in enumerate(lists):
            if node in peers:
                raise ValueError(f"the graph must have no loops: node {node} is its own neighbour")
        self._lay_out(lists)

    def _lay_out(self, lists: Sequence[Sequence[int]]) -> None:
        self.starts = np.cumsum([0, *map(len, lists)])
        self.peers = np.array([peer for peers in lists for peer in peers], dtype=np.int64)

    def check(self, n: int, k: int) -> None:
        """Every one of the n participants has a node, and at least k neighbours."""
        if self.starts.size - 1 != n:
            raise ValueError(f"the graph must have a node per participant ({n}): got {self.starts.size - 1}")
        degrees = np.diff(self.starts)
        if np.any(degrees < k):
            node = int(np.flatnonzero(degrees < k)[0])
            raise checks.ArgumentError(
                f"every node must have at least {{k=}} neighbours: node {node} has {degrees[node]}",
                k=k,
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Neighbours):
            return NotImplemented
        return np.array_equal(self.starts, other.starts) and np.array_equal(self.peers, other.peers)

    def __hash__(self) -> int:
        return hash((self.starts.tobytes(), self.peers.tobytes()))

    def __repr__(self) -> str:
        return f"Neighbours(<{self.starts.size - 1} nodes>)"


# The laws.
Sampling: TypeAlias = Everyone | Others | Neighbours


def check_sampling(sampling: Sampling | None) -> Sampling:
    """The sampling law as given, or ``Others()``."""
    law = Others() if sampling is None else sampling
    if not isinstance(law, (Everyone, Others, Neighbours)):
        raise TypeError(f"sampling must be Others(), Everyone() or Neighbours(graph): got {sampling!r}")
    return law


def _square(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise ValueError(f"the adjacency matrix must be square: got shape {shape}")

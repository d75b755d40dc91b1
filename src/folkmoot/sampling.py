"""Sampling laws: whom a node may ask, and the law of the answers it gets (appendix A.1).

A query draws k different nodes, all alike or (``Trusting``) in proportion to the asker's trust. On the
complete graph the number of answers of one colour is then hypergeometric; its logarithm is built here from
its own factors, so that it stays exact where the probability itself is below the smallest double.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.cores import cores

# Entries of a table of log-binomials made at once (512 KiB, which stays in the cache), and how many such
# blocks are worth threads.
_BLOCK = 1 << 16
_WORTH_THREADS = 8
_IN_CACHE = 1 << 12  # columns of a table of tails made at once


class SamplingLaw(Protocol):
    """How many nodes stand in the urn from which a node of a moot of n draws its k peers."""

    def urn(self, n: int, k: int) -> int:
        """The size of the urn, or ValueError if it holds fewer than k."""


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

    def urn(self, n: int, k: int) -> int:
        """All n nodes, or ValueError if they are fewer than k."""
        if checks.integer("k", k, least=1) > n:
            raise checks.ArgumentError("{k} must satisfy 1 <= k <= n: got {k=}, {n=}", k=k, n=n)
        return n

    def check(self, n: int, k: int) -> None:
        """There are at least k of the n participants to ask."""
        self.urn(n, k)

    def restricted(self, participants: Sequence[int]) -> Self:  # noqa: ARG002
        """The same law among some of the participants."""
        return self


@dataclass(frozen=True)
class Others:
    """What a real node does: k of the n - 1 others. It does not ask itself.

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

    def urn(self, n: int, k: int) -> int:
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
        self.urn(n, k)

    def restricted(self, participants: Sequence[int]) -> Self:  # noqa: ARG002
        """The same law among some of the participants."""
        return self


def log_tail(urn: int, k: int, counts: Bools, marked: Ints) -> Floats:
    """log P(the number of marked nodes drawn is one that ``counts`` allows), for each ``marked``.

    ``counts[j]`` says whether j marked nodes among the k drawn count, j = 0..k. With
    ``counts = (j >= alpha)`` this is log H(urn, marked, k, alpha), the sum of
    C(marked, j) C(urn - marked, k - j) / C(urn, k). All terms are positive: nothing cancels.
    """
    allowed = np.flatnonzero(counts)
    result = np.full(marked.shape, -np.inf)
    if allowed.size == 0:
        return result
    total = float(log_binomials(np.array([urn]), k)[k, 0])
    width = max(1, _BLOCK // (k + 1))

    def fill(start: int) -> None:
        block = marked[start : start + width]
        terms = log_binomials(block, int(allowed.max()))[allowed]
        terms += log_binomials(urn - block, int(k - allowed.min()))[k - allowed]
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


def tails(urn: int, k: int, counts: Bools, marked: Ints) -> Floats:
    """P(the number of marked nodes drawn is one that a row of ``counts`` allows): (row, marked).

    What ``log_tail`` gives the logarithm of, by additions, multiplications and divisions alone: IEEE 754
    rounds these the same on every processor, and ``exp`` and ``log`` not. So talks that are drawn by such a
    table are the same on every machine. Each term follows from the one before, from the likeliest outwards.
    """
    result = np.empty((len(counts), marked.size))
    for start in range(0, marked.size, _IN_CACHE):
        block = slice(start, start + _IN_CACHE)
        result[:, block] = _tails(urn, k, counts, marked[block])
    return result


def _tails(urn: int, k: int, counts: Bools, marked: Ints) -> Floats:
    least, most = np.maximum(0, k - urn + marked), np.minimum(k, marked)
    likeliest = np.clip((k + 1) * (marked + 1) // (urn + 2), least, most)
    x, rest = marked.astype(np.float64), (urn - k - marked).astype(np.float64)
    total, wanted = np.ones(marked.size), counts[:, likeliest].astype(np.float64)
    term, at = np.ones(marked.size), likeliest
    while (term := np.where(at < most, term, 0.0)).any():  # C(x, j) C(urn - x, k - j), j one more
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

    Summed factor by factor: for the small j of a query this is more accurate than the difference
    of log-gammas, whose absolute error grows with x log x.
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

    def restricted(self, participants: Sequence[int]) -> Neighbours:
        """The graph among some of the participants; the others are gone, with their edges."""
        place = {int(participant): i for i, participant in enumerate(participants)}
        rows = [self.peers[self.starts[i] : self.starts[i + 1]].tolist() for i in participants]
        result = Neighbours.__new__(Neighbours)
        result._lay_out([sorted(place[peer] for peer in row if peer in place) for row in rows])
        return result

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Neighbours):
            return NotImplemented
        return np.array_equal(self.starts, other.starts) and np.array_equal(self.peers, other.peers)

    def __hash__(self) -> int:
        return hash((self.starts.tobytes(), self.peers.tobytes()))

    def __repr__(self) -> str:
        return f"Neighbours(<{self.starts.size - 1} nodes>)"


class Trusting:
    """k of those an asker trusts, drawn in proportion to trust.

    Peers are drawn one after the other, each in proportion to trust among those not drawn yet (successive
    sampling; Plackett-Luce). So a query hears k different voices: with replacement one much trusted peer
    could fill it and reach alpha by itself. Equal trust is ``Others()``, and trust of 0 and 1 ``Neighbours``.
    The price: a peer is asked at most once a query, so that shares of the answers lag behind shares of trust
    where k is not small.

    An asker that trusts fewer than k asks all of those, with k and alpha scaled by ``SnowProtocol.scaled``:
    two of two instead of ten of ten. One that trusts nobody asks nobody and keeps its colour.

    Parameters
    ----------
    trust : array-like of float, shape (asker, peer)
        Row i is the trust of asker i. Trust of 0 or less means never asked; the diagonal is ignored; in a row
        only ratios matter.
    weighted : bool, default False
        With True, an answer also weighs as much as the asker trusts the peer that gave it, rescaled to k.
        Trust then counts twice, in who is asked and in what is heard. With False, k voices are k votes.

    Examples
    --------
    Participant 0 trusts nobody but participant 1; participant 2 trusts nobody:

    >>> from folkmoot import Trusting
    >>> law = Trusting([[0, 1, 0], [2, 0, 4], [0, 0, 0]])
    >>> law.trusted
    array([1, 2, 0])
    >>> law.weights[1]
    array([0.5, 0. , 1. ])
    """

    def __init__(self, trust: npt.ArrayLike, *, weighted: bool = False) -> None:
        try:
            matrix = np.array(trust, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError("trust must be an (n, n) matrix of numbers, a row per asker") from None
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
            raise ValueError(f"trust must be an (n, n) matrix, a row per asker: got shape {matrix.shape}")
        if not isinstance(weighted, (bool, np.bool_)):
            raise TypeError(f"weighted must be True or False: got weighted={weighted!r}")
        for asker, row in enumerate(matrix):
            row[:] = trust_weights(row, asker)
        matrix.flags.writeable = False
        self.weights = matrix  # (asker, peer): what ``trust_weights`` makes of each row
        self.weighted = bool(weighted)

    def check(self, n: int, k: int) -> None:
        """Every one of the n participants has a row, and k is not more than all others."""
        if len(self.weights) != n:
            raise ValueError(f"trust must have a row per participant ({n}): got {len(self.weights)}")
        Others().check(n, k)

    @property
    def trusted(self) -> Ints:
        """(asker,): how many peers it trusts."""
        return np.asarray(np.count_nonzero(self.weights, axis=1), dtype=np.int64)

    def restricted(self, participants: Sequence[int]) -> Trusting:
        """The same trust among some of the participants."""
        return Trusting(self.weights[np.ix_(participants, participants)], weighted=self.weighted)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trusting):
            return NotImplemented
        return self.weighted == other.weighted and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash((self.weighted, self.weights.tobytes()))

    def __repr__(self) -> str:
        return f"Trusting(<{len(self.weights)} x {len(self.weights)}>, weighted={self.weighted})"


# Whom a participant may ask.
Sampling: TypeAlias = Everyone | Others | Neighbours | Trusting


def check_sampling(sampling: Sampling | None) -> Sampling:
    """The sampling law as given, or ``Others()``."""
    law = Others() if sampling is None else sampling
    if not isinstance(law, (Everyone, Others, Neighbours, Trusting)):
        raise TypeError(
            f"sampling must be Others(), Everyone(), Neighbours(graph) or Trusting(trust): got {sampling!r}"
        )
    return law


def trust_weights(trust: npt.ArrayLike, asker: int) -> Floats:
    """One asker's trust as weights: what is not positive and its own entry are 0, the largest is 1."""
    row = np.array(trust, dtype=np.float64)
    row[asker] = 0.0
    bad = np.flatnonzero(~np.isfinite(row))
    if bad.size:
        raise ValueError(f"trust must be finite: got trust[{asker}, {bad[0]}]={row[bad[0]]}")
    np.maximum(row, 0.0, out=row)
    most = row.max() or 1.0
    # Only ratios matter, and so sums stay finite. Who is trusted ever so little stays trusted.
    return np.maximum(row / most, np.finfo(np.float64).tiny, where=row > 0, out=np.zeros_like(row))


def draw(weights: npt.ArrayLike, k: int, uniform: Callable[[], float]) -> list[int]:
    """The peers of one query under ``Trusting``, in the order drawn; ``weights`` as of ``trust_weights``.

    ``uniform`` gives a number in [0, 1) whenever it is called, such as ``random.Random(7).random``. Who has
    no more than k peers of positive weight asks all of them, and no number is drawn.
    """
    left = np.array(weights, dtype=np.float64)
    peers = np.flatnonzero(left > 0)
    if peers.size <= checks.integer("k", k, least=1):
        return [int(peer) for peer in peers]
    drawn: list[int] = []
    while len(drawn) < k:
        sums = np.cumsum(left[peers])
        place = int(np.searchsorted(sums, uniform() * sums[-1], side="right"))
        place = min(place, peers.size - 1)  # the product can round up to the whole sum
        drawn.append(int(peers[place]))
        peers = np.delete(peers, place)
    return drawn


def _square(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise ValueError(f"the adjacency matrix must be square: got shape {shape}")

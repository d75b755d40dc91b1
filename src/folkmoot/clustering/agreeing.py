"""``cluster``: one agreed partition, even if a majority of participants is malicious."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Bools, Floats, Ints, Progress
from folkmoot.clustering.adversaries import ColludingPartition, PartitionAdversary, views
from folkmoot.clustering.clustering import Clustering, ClusteringWarning
from folkmoot.clustering.consensus_partitions import check_clusters
from folkmoot.clustering.listening import ENOUGH_VOTES, Revealed, agreed_numbers, weighted_quantile
from folkmoot.clustering.partitions import UNSEEN, check_partitions, cross, matching, medoid, renamed
from folkmoot.clustering.rounds import agree, plurality
from folkmoot.votes import numbered

ROUNDS: Final = 10


def cluster(
    partitions: npt.ArrayLike,
    n_clusters: int | None = None,
    *,
    adversaries: int | Mapping[int, PartitionAdversary] | None = None,
    rounds: int = ROUNDS,
    names: Sequence[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Clustering:
    """Let participants agree on one clustering of objects, from the clusterings that each has made.

    Each weighs the others by the agreement of their partitions with its own (copies share one effective
    vote). It makes a weighted consensus of all partitions. In rounds those that trust each other come to one
    partition. Cluster numbers may differ between participants. More than half of the participants may lie.

    Parameters
    ----------
    partitions : array-like of int, shape (participant, object)
        The cluster of each object by each participant, by any numbers >= 0; -1 for one that it has not seen.
    n_clusters : int, optional
        How many clusters to agree on. Default: of the numbers of trusted participants (the middle 80%), the
        one after which the spectrum of their consensus falls most. ``unsure`` says if that is doubtful.
    adversaries : int or mapping of int to PartitionAdversary, optional
        Byzantine participants: how many (the last ones, colluding), or which. They are not counted in the
        result. Default: everybody follows the rule from the partition that it gave, whatever that is.
    rounds : int, default 10
        The most rounds. They end when all judges hold one partition.
    names : sequence of str, optional
        Names of the participants.
    seed : int, default 0
        Seeds the draws of adversaries. Nothing else is random.
    progress : callable, optional
        Called with (done, all) whenever a participant has made its consensus.

    Returns
    -------
    Clustering
        The agreed cluster of each object, weights, judges, and agreement.

    Raises
    ------
    ValueError
        If the partitions are no table of cluster numbers, or ``n_clusters`` is below 2 or above the number of
        objects.

    Warns
    -----
    ClusteringWarning
        If there is nothing to agree on, or nobody finds anybody to agree with.

    Examples
    --------
    Five participants put nine objects into three clusters, each with another mistake. Three others tell
    the same lie.

    >>> from folkmoot import cluster
    >>> truth = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    >>> partitions = [truth[:i] + [(truth[i] + 1) % 3] + truth[i + 1 :] for i in (0, 2, 4, 6, 8)]
    >>> lie = [0, 1, 2] * 3
    >>> agreed = cluster(partitions + [lie] * 3, n_clusters=3)
    >>> agreed.labels
    array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    >>> agreed.likeness.round(2)
    array([ 0.64,  0.64,  0.64,  0.64,  0.64, -0.33, -0.33, -0.33])
    """
    said = numbered(check_partitions(partitions))
    n, objects = said.shape
    clusters = None if n_clusters is None else check_clusters(n_clusters, objects)
    most = checks.integer("rounds", rounds, least=1)
    malicious = _malicious(adversaries, n)
    called = _names(names, n)
    handed, lies = with_lies(said, malicious, clusters, checks.integer("seed", seed, least=0))
    honest = np.ones(n, dtype=np.bool_)
    honest[list(malicious)] = False
    if not honest.any():
        raise ValueError("adversaries must leave at least one honest participant: got all of them")
    return conclude(propose(handed, honest, clusters, progress), honest, lies, most, called)


def with_lies(
    said: Ints, malicious: Mapping[int, PartitionAdversary], clusters: int | None, seed: int
) -> tuple[Ints, dict[int, Ints]]:
    """All revealed partitions, and those that the malicious announce in rounds."""
    handed, announced = said.copy(), {}
    for who, view in views(said, malicious, clusters, seed).items():
        handed[who] = _as_read(malicious[who].reveal(view), said.shape[1])
        announced[who] = _as_read(malicious[who].announce(view), said.shape[1])
    return handed, announced


@dataclass(frozen=True, eq=False)
class Proposals:
    """The consensus of each listener before rounds, and its weights.

    Participants are in an order that depends on the partitions alone, so names change nothing.
    """

    revealed: Revealed
    order: Ints  # (place,): the participant there
    numbers: Ints  # (place,): how many clusters each asks for
    announced: Ints  # (place, object): its consensus
    weights: Floats  # (place, place)
    given: bool


def propose(
    said: Ints, listening: Bools, clusters: int | None, progress: Progress | None = None
) -> Proposals:
    """Have every listener weigh the revealed partitions and make its consensus."""
    _, rank = np.unique(said, axis=0, return_inverse=True)
    order = np.argsort(rank.ravel(), kind="stable")
    revealed = Revealed.of(said[order])
    listeners = np.flatnonzero(listening[order])
    numbers, announced, weights = _listen(revealed, listeners, clusters, progress)
    return Proposals(revealed, order, numbers, announced, weights, clusters is not None)


def conclude(
    proposals: Proposals, honest: Bools, lies: Mapping[int, Ints], rounds: int, names: tuple[str, ...]
) -> Clustering:
    """Play the rounds of the honest, with lies (by participant) announced by the others."""
    revealed, order = proposals.revealed, proposals.order
    n, back = len(order), np.argsort(order)
    announced, listeners = proposals.announced.copy(), np.flatnonzero(honest[order])
    for who, lie in lies.items():
        announced[back[who]] = lie
    weights = np.where(honest[order][:, None], proposals.weights, 0.0)
    judges = np.zeros(n, dtype=np.bool_)
    judges[listeners] = [revealed.votes_in(weights[i]) >= ENOUGH_VOTES for i in listeners]
    counted = np.flatnonzero(judges) if judges.any() else listeners
    end = agree(announced, weights, listeners, counted, rounds, revealed)

    outside = revealed.outside_votes
    labels, held, agreement = _as_an_outsider(end.held, counted, outside)
    held[~honest[order]] = UNSEEN
    pivot = _pivot(end.held, counted, outside)
    result = Clustering(
        labels=labels,
        weights=(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))[np.ix_(back, back)],
        judges=judges[back],
        agreement=agreement,
        held=held[back],
        honest=honest,
        effective_votes=revealed.effective_votes[back],
        likeness=cross(revealed.partitions, labels[None]).rand[back, 0],
        rounds=end.rounds,
        unanimous=end.unanimous,
        asked_clusters=int(proposals.numbers[pivot]),
        given=proposals.given,
        suggested_clusters=revealed.graph.eigengap(weights[pivot]),
        usual_clusters=weighted_quantile(revealed.numbers, weights[pivot]),
        names=names,
    )
    _warn(result, revealed)
    return result


def _listen(
    revealed: Revealed, listeners: Ints, clusters: int | None, progress: Progress | None
) -> tuple[Ints, Ints, Floats]:
    """The number of clusters, consensus and weights of each; equal partitions only once."""
    said = revealed.partitions
    weights = np.zeros((len(said), len(said)))
    for i in listeners:
        weights[i] = revealed.first_weights(int(i))
    if clusters is None:
        numbers = agreed_numbers(revealed, weights, listeners)
    else:
        numbers = np.full(len(said), clusters)
    announced = said.copy()
    known: dict[int, dict[bytes, tuple[Ints, Floats]]] = {int(number): {} for number in numbers}
    for done, i in enumerate(listeners):
        before = listeners[done - 1] if done else None
        if before is not None and numbers[before] == numbers[i] and (said[before] == said[i]).all():
            announced[i], weights[i] = announced[before], weights[before]
        else:
            number = int(numbers[i])
            announced[i], weights[i] = revealed.consensus(weights[i], number, known[number])
        if progress:
            progress(done + 1, len(listeners))
    return numbers, announced, weights


def _pivot(held: Ints, counted: Ints, votes: Floats) -> int:
    """The counted participant most like all of them, by effective votes."""
    return int(counted[medoid(held[counted], votes[counted])])


def _as_an_outsider(held: Ints, counted: Ints, votes: Floats) -> tuple[Ints, Ints, Floats]:
    """The labels, what each holds by the same names, and the share of those that count who hold them.

    Near copies share one effective vote here, too: also those that follow the rule from a common lie.
    """
    own = held[_pivot(held, counted, votes)]
    crossing = cross(own[None], held)
    same = np.stack([renamed(held[j], matching(crossing.block(0, j))) for j in range(len(held))])
    labels = plurality(list(same[counted]), votes[counted], own)
    agreement = (same[counted] == labels).mean(axis=0)
    final = numbered(labels[None])[0]
    names = np.arange(same.max() + 1)
    for old, new in zip(labels[labels >= 0].tolist(), final[labels >= 0].tolist(), strict=True):
        names[old] = new
    unused = np.setdiff1d(np.arange(same.max() + 1), labels)
    names[unused] = final.max() + 1 + np.arange(len(unused))
    return final, renamed(same, names), agreement


def _malicious(given: int | Mapping[int, PartitionAdversary] | None, n: int) -> dict[int, PartitionAdversary]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        _, count = checks.population(n, checks.integer("adversaries", given))
        return {i: ColludingPartition() for i in range(n - count, n)}
    for who, adversary in given.items():
        if not isinstance(adversary, PartitionAdversary):
            raise TypeError(f"adversaries must map participants to PartitionAdversary: got {adversary!r}")
        if not 0 <= checks.integer("a Byzantine participant", who) < n:
            raise ValueError(f"adversaries must name participants 0..{n - 1}: got {who}")
    return {int(who): adversary for who, adversary in given.items()}


def _names(names: Sequence[str] | None, n: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"participant {i}" for i in range(n))
    if len(names) != n:
        raise ValueError(f"names must hold one for each participant ({n}): got {len(names)}")
    return tuple(map(str, names))


def _as_read(lie: Ints, objects: int) -> Ints:
    """The partition of a malicious participant as others read it."""
    if np.shape(lie) != (objects,):
        raise ValueError(
            f"an adversary must give a cluster for each of {objects} objects: got {np.shape(lie)}"
        )
    read: Ints = numbered(np.asarray(lie, dtype=np.int64)[None])[0]
    return read


def _warn(result: Clustering, revealed: Revealed) -> None:
    said = revealed.partitions
    if (said == said[0]).all():
        message = (
            "all partitions are the same, so there was nothing to agree on: the labels are that partition"
        )
    elif not result.judges.any():
        message = (
            "no participant found enough others to agree with: the partitions are too few or too unlike "
            "each other, and the labels may mean nothing"
        )
    elif result.given and result.n_clusters < result.asked_clusters:
        message = (
            f"the agreed clustering has {result.n_clusters} clusters, fewer than n_clusters="
            f"{result.asked_clusters}: the partitions tell no more apart"
        )
    else:
        return
    warnings.warn(message, ClusteringWarning, stacklevel=4)

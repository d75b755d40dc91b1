"""``cluster``: partitions in, one agreed partition out, whoever lies."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Bools, Floats, Ints, Progress
from folkmoot.clustering import CliquePartition, PartitionAdversary
from folkmoot.clustering.adversaries import views
from folkmoot.clustering.clustering import Clustering, ClusteringWarning
from folkmoot.clustering.consensus_partitions import check_clusters
from folkmoot.clustering.listening import ENOUGH_VOICES, Revealed, agreed_numbers, weighted_quantile
from folkmoot.clustering.partitions import UNSEEN, check_partitions, cross, matching, medoid, renamed
from folkmoot.clustering.talking import plurality, talk
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

    Each weighs the others by how far their partitions agree with its own (copies share a voice), makes a
    weighted consensus of all partitions, and talks with those it trusts until they hold one partition. Names
    of clusters mean nothing, and no labels are needed. More than half of the participants may lie.

    Parameters
    ----------
    partitions : array-like of int, shape (participant, object)
        The cluster of each object by each participant, by any numbers >= 0; -1 for one that it has not seen.
    n_clusters : int, optional
        How many clusters to agree on. Default: of the numbers that those have made whom a participant trusts
        (the middle 80%), the one after which the spectrum of their consensus falls most. The result says when
        it is unsure.
    adversaries : int or mapping of int to PartitionAdversary, optional
        Byzantine participants: how many (the last ones, in a clique), or which. They are not counted in the
        result. Default: everybody follows the rule from the partition that it gave, whatever that is.
    rounds : int, default 10
        The most rounds to talk; it ends when all that anchor hold one partition.
    names : sequence of str, optional
        What the participants are called.
    seed : int, default 0
        Seeds what liars draw. Nothing else is random.
    progress : callable, optional
        Called with (done, all) whenever a participant has made its consensus.

    Returns
    -------
    Clustering
        The agreed cluster of each object, who trusts whom, who anchors, and how far they agree.

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
    Five participants put nine objects into three clusters, each with a mistake of its own. Three others tell
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
    liars = _liars(adversaries, n)
    called = _names(names, n)
    handed, lies = lied(said, liars, clusters, checks.integer("seed", seed, least=0))
    honest = np.ones(n, dtype=np.bool_)
    honest[list(liars)] = False
    if not honest.any():
        raise ValueError("adversaries must leave at least one honest participant: got all of them")
    return conclude(hear(handed, honest, clusters, progress), honest, lies, most, called)


def lied(
    said: Ints, liars: Mapping[int, PartitionAdversary], clusters: int | None, seed: int
) -> tuple[Ints, dict[int, Ints]]:
    """What everybody reveals, and what liars announce in the talk."""
    handed, announced = said.copy(), {}
    for liar, view in views(said, liars, clusters, seed).items():
        handed[liar] = _told(liars[liar].reveal(view), said.shape[1])
        announced[liar] = _told(liars[liar].announce(view), said.shape[1])
    return handed, announced


@dataclass(frozen=True, eq=False)
class HeardPartitions:
    """What listeners make of the partitions that were revealed, before they talk.

    Participants are in an order that hangs on the partitions alone, so that nothing depends on who is called
    what.
    """

    revealed: Revealed
    order: Ints  # (place,): which participant is there
    numbers: Ints  # (place,): how many clusters each asks for
    announced: Ints  # (place, object): its consensus
    weights: Floats  # (place, place)
    given: bool


def hear(
    said: Ints, listening: Bools, clusters: int | None, progress: Progress | None = None
) -> HeardPartitions:
    """Have everybody that listens weigh what was revealed, and make its consensus."""
    _, rank = np.unique(said, axis=0, return_inverse=True)
    order = np.argsort(rank.ravel(), kind="stable")
    revealed = Revealed.of(said[order])
    listeners = np.flatnonzero(listening[order])
    numbers, announced, weights = _listen(revealed, listeners, clusters, progress)
    return HeardPartitions(revealed, order, numbers, announced, weights, clusters is not None)


def conclude(
    heard: HeardPartitions, honest: Bools, lies: Mapping[int, Ints], rounds: int, names: tuple[str, ...]
) -> Clustering:
    """Have those that are honest talk, with lies (by participant) announced by the others."""
    revealed, order = heard.revealed, heard.order
    n, back = len(order), np.argsort(order)
    announced, listeners = heard.announced.copy(), np.flatnonzero(honest[order])
    for liar, lie in lies.items():
        announced[back[liar]] = lie
    weights = np.where(honest[order][:, None], heard.weights, 0.0)
    anchored = np.zeros(n, dtype=np.bool_)
    anchored[listeners] = [revealed.voices_in(weights[i]) >= ENOUGH_VOICES for i in listeners]
    counted = np.flatnonzero(anchored) if anchored.any() else listeners
    came = talk(announced, weights, listeners, counted, rounds, revealed)

    outside = revealed.outside_voices
    labels, held, agreement = _seen_from_outside(came.held, counted, outside)
    held[~honest[order]] = UNSEEN
    pivot = _pivot(came.held, counted, outside)
    result = Clustering(
        labels=labels,
        weights=(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))[np.ix_(back, back)],
        anchored=anchored[back],
        agreement=agreement,
        held=held[back],
        honest=honest,
        voices=revealed.voices[back],
        likeness=cross(revealed.said, labels[None]).rand[back, 0],
        rounds=came.rounds,
        unanimous=came.unanimous,
        asked_clusters=int(heard.numbers[pivot]),
        given=heard.given,
        suggested_clusters=revealed.graph.eigengap(weights[pivot]),
        usual_clusters=weighted_quantile(revealed.numbers, weights[pivot]),
        names=names,
    )
    _warn(result, revealed)
    return result


def _listen(
    revealed: Revealed, listeners: Ints, clusters: int | None, progress: Progress | None
) -> tuple[Ints, Ints, Floats]:
    """How many clusters each asks for, its consensus, and its weights; equal partitions only once."""
    said = revealed.said
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


def _pivot(held: Ints, counted: Ints, voices: Floats) -> int:
    """Who of those that count is most like all of them, by their voices."""
    return int(counted[medoid(held[counted], voices[counted])])


def _seen_from_outside(held: Ints, counted: Ints, voices: Floats) -> tuple[Ints, Ints, Floats]:
    """The labels, what each holds by the same names, and the share of those that count who hold them.

    Near copies share a voice: a clique that follows the rule from its lie is one voice here, too.
    """
    own = held[_pivot(held, counted, voices)]
    crossing = cross(own[None], held)
    same = np.stack([renamed(held[j], matching(crossing.block(0, j))) for j in range(len(held))])
    labels = plurality(list(same[counted]), voices[counted], own)
    agreement = (same[counted] == labels).mean(axis=0)
    final = numbered(labels[None])[0]
    names = np.arange(same.max() + 1)
    for old, new in zip(labels[labels >= 0].tolist(), final[labels >= 0].tolist(), strict=True):
        names[old] = new
    unused = np.setdiff1d(np.arange(same.max() + 1), labels)
    names[unused] = final.max() + 1 + np.arange(len(unused))
    return final, renamed(same, names), agreement


def _liars(given: int | Mapping[int, PartitionAdversary] | None, n: int) -> dict[int, PartitionAdversary]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        _, count = checks.population(n, checks.integer("adversaries", given))
        return {i: CliquePartition() for i in range(n - count, n)}
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


def _told(lie: Ints, objects: int) -> Ints:
    """What a liar says, as everybody else reads it."""
    if np.shape(lie) != (objects,):
        raise ValueError(
            f"an adversary must say a cluster for each of {objects} objects: got {np.shape(lie)}"
        )
    told: Ints = numbered(np.asarray(lie, dtype=np.int64)[None])[0]
    return told


def _warn(result: Clustering, revealed: Revealed) -> None:
    said = revealed.said
    if (said == said[0]).all():
        message = (
            "all partitions are the same, so there was nothing to agree on: the labels are that partition"
        )
    elif not result.anchored.any():
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

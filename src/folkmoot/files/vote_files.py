"""Votes and truths in files: columns ``task, worker, label`` and ``task, label`` (crowd-kit's names).

Clusterings are read in the same way, by columns ``object, participant, cluster``. Labels are any strings; a
vote that is not there is -1. ``folkmoot.files.tabular`` says what can be read.
"""

from __future__ import annotations

import math
import os
from array import array
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Ints
from folkmoot.files.tabular import Table, open_table, shortened
from folkmoot.partitions import numbered
from folkmoot.votes import UNCOLOURED, Votes

__all__ = ["PartitionTable", "VoteTable", "read_partitions", "read_votes"]

Source: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True)
class VoteTable:
    """Votes with the names of their rows (workers), columns (tasks) and colours (labels).

    Parameters
    ----------
    votes : ndarray of int, shape (worker, task)
        The colour that each worker named for each task: a place in ``labels``; -1 for no vote.
    workers : list of str
        The name of each row, sorted: numbers by value, then words.
    tasks : list of str
        The name of each column, in the order in which the file first names them.
    labels : list of str
        The name of each colour, sorted like the workers.
    truth : ndarray of int, shape (task,), or None
        The right colour of each task, -1 where it is not known; None if no truth was read.
    gold : ndarray of int, shape (task,), optional
        The same for gold tasks, which anchor the workers' trust.
    left_out : list of str
        Tasks that the files of truth and gold name and nobody voted on. They are in no column.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot import VoteTable
    >>> votes = np.array([[0, 1], [1, -1]])
    >>> table = VoteTable(votes, ["ann", "bob"], ["t1", "t2"], ["no", "yes"], truth=None)
    >>> table.labels[table.votes[1, 0]]
    'yes'
    """

    votes: Votes
    workers: list[str]
    tasks: list[str]
    labels: list[str]
    truth: Ints | None
    gold: Ints | None = None
    left_out: list[str] = field(default_factory=list)


def read_votes(
    path: Source,
    truth: Source | None = None,
    gold: Source | None = None,
    *,
    task: str = "task",
    worker: str = "worker",
    label: str = "label",
) -> VoteTable:
    """Read votes from a file with a row for each, and the right labels from others.

    A file is text with commas, semicolons or tabs between its cells, gzipped or not, or parquet. Labels are
    any strings.

    Parameters
    ----------
    path : str or path-like
        The file of votes, with the columns ``task``, ``worker`` and ``label``. Further columns are ignored.
    truth : str or path-like, optional
        A file with the columns ``task`` and ``label``: the right labels of the tasks that it names. Tasks
        without votes are left out.
    gold : str or path-like, optional
        The same for gold tasks, whose right labels anchor the workers' trust.
    task : str, default "task"
        The name of the column that says what was voted on, in all of the files.
    worker : str, default "worker"
        The name of the column that says who voted.
    label : str, default "label"
        The name of the column that says what was voted.

    Returns
    -------
    VoteTable
        The votes, with the names of workers, tasks and labels.

    Raises
    ------
    ValueError
        If a column is missing, a cell is empty, a worker votes twice on a task, nobody voted on any task of
        the truth, or all labels are the same. The message names the file and the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from folkmoot import read_votes
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "votes.csv")
    ...     _ = path.write_text("task;who;label\\nt1;ann;no\\nt1;bob;yes\\nt2;ann;yes\\n")
    ...     table = read_votes(path, worker="who")
    >>> table.workers, table.labels
    (['ann', 'bob'], ['no', 'yes'])
    >>> table.votes
    array([[ 0,  1],
           [ 1, -1]])
    """
    cast = _cast(path, {"task": task, "worker": worker, "label": label})
    told, golden = _told(truth, "truth", task, label), _told(gold, "label", task, label)
    left_out = [name for name in {**told, **golden} if name not in cast.tasks]
    told = _voted_on(told, cast, "task", truth, path)
    golden = _voted_on(golden, cast, "task", gold, path)
    workers = sorted(cast.workers, key=_natural)
    labels = sorted({*cast.labels, *told.values(), *golden.values()}, key=_natural)
    if len(labels) < 2:
        raise ValueError(f"{path}: all votes are {labels[0]!r}; there is nothing to deliberate")
    votes = np.full((len(workers), len(cast.tasks)), UNCOLOURED, dtype=np.int64)
    votes[_places(cast.workers, workers)[cast.by], cast.on] = _places(cast.labels, labels)[cast.said]
    colour = {name: i for i, name in enumerate(labels)}

    def known(named: dict[str, str]) -> Ints:
        return np.array([colour[named[t]] if t in named else UNCOLOURED for t in cast.tasks], dtype=np.int64)

    return VoteTable(
        votes,
        workers,
        list(cast.tasks),
        labels,
        None if truth is None else known(told),
        None if gold is None else known(golden),
        left_out,
    )


@dataclass(frozen=True)
class PartitionTable:
    """Clusterings with the names of their rows (participants) and columns (objects).

    Parameters
    ----------
    partitions : ndarray of int, shape (participant, object)
        The cluster of each object by each participant, numbered for each by itself; -1 where it names none.
    participants : list of str
        The name of each row, sorted: numbers by value, then words.
    objects : list of str
        The name of each column, in the order in which the file first names them.
    truth : ndarray of int, shape (object,), or None
        The true cluster of each object, -1 where it is not known; None if no truth was read.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot import PartitionTable
    >>> table = PartitionTable(np.array([[0, 0], [0, 1]]), ["ann", "bob"], ["o1", "o2"], truth=None)
    >>> table.participants
    ['ann', 'bob']
    """

    partitions: Ints
    participants: list[str]
    objects: list[str]
    truth: Ints | None


def read_partitions(
    path: Source,
    truth: Source | None = None,
    *,
    object: str = "object",  # noqa: A002
    participant: str = "participant",
    cluster: str = "cluster",
) -> PartitionTable:
    """Read clusterings from a file with a row for each object and participant, and the truth from another.

    A file is text with commas, semicolons or tabs between its cells, gzipped or not, or parquet. Clusters are
    any strings, and mean nothing between participants. What a participant says nothing of, it has not seen.

    Parameters
    ----------
    path : str or path-like
        The file, with the columns ``object``, ``participant`` and ``cluster``. Further columns are ignored.
    truth : str or path-like, optional
        A file with the columns ``object`` and ``cluster``: the true clusters of the objects that it names.
        Objects that nobody has seen are left out.
    object : str, default "object"
        The name of the column of objects, in both files.
    participant : str, default "participant"
        The name of the column that says whose clustering it is.
    cluster : str, default "cluster"
        The name of the column of clusters, in both files.

    Returns
    -------
    PartitionTable
        The clusterings, with the names of participants and objects.

    Raises
    ------
    ValueError
        If a column is missing, a cell is empty, a participant names two clusters for an object, or nobody has
        seen any object of the truth. The message names the file and the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from folkmoot import read_partitions
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "labels.csv")
    ...     _ = path.write_text("object,participant,cluster\\no1,ann,x\\no1,bob,x\\no2,ann,y\\n")
    ...     table = read_partitions(path)
    >>> table.partitions
    array([[ 0,  1],
           [ 0, -1]])
    """
    cast = _cast(
        path, {"object": object, "participant": participant, "cluster": cluster}, "names a cluster of"
    )
    told = _told(truth, "cluster", object, cluster, "object")
    told = _voted_on(told, cast, "object", truth, path)
    names = sorted(cast.workers, key=_natural)
    said = np.full((len(names), len(cast.tasks)), UNCOLOURED, dtype=np.int64)
    said[_places(cast.workers, names)[cast.by], cast.on] = cast.said
    true: Ints | None = None
    if truth is not None:
        number = {name: i for i, name in enumerate(dict.fromkeys(told.values()))}
        true = np.array([number[told[o]] if o in told else UNCOLOURED for o in cast.tasks], dtype=np.int64)
    return PartitionTable(numbered(said), names, list(cast.tasks), true)


class _Cast(NamedTuple):
    """Votes in the order of their rows; names are numbered in the order in which they occur."""

    tasks: dict[str, int]
    workers: dict[str, int]
    labels: dict[str, int]
    on: Ints  # the task of each vote
    by: Ints
    said: Ints


def _cast(path: Source, names: dict[str, str], said_before: str = "has voted on") -> _Cast:
    what, who, which = names
    if len(set(names.values())) < len(names):
        raise ValueError(
            f"{what}, {who} and {which} must be different columns: got {', '.join(names.values())}"
        )
    tasks: dict[str, int] = {}
    workers: dict[str, int] = {}
    labels: dict[str, int] = {}
    codes = array("q")
    with open_table(path) as table:
        _check_columns(table, names)
        for line, cells in table.rows(list(names.values())):
            task, worker, label = cells
            if "" in cells:
                raise ValueError(f"{table.where(line)}: {[*names.values()][list(cells).index('')]} is empty")
            codes.append(tasks.setdefault(task, len(tasks)))
            codes.append(workers.setdefault(worker, len(workers)))
            codes.append(labels.setdefault(label, len(labels)))
            codes.append(line)
        on, by, said, lines = np.array(codes, dtype=np.int64).reshape(-1, 4).T
        _, first = np.unique(on * len(workers) + by, return_index=True)
        if first.size < on.size:
            again = np.setdiff1d(np.arange(on.size), first)[0]
            raise ValueError(
                f"{table.where(lines[again])}: {who} {[*workers][by[again]]!r} {said_before} {what} "
                f"{[*tasks][on[again]]!r} already"
            )
    return _Cast(tasks, workers, labels, on, by, said)


def _check_columns(table: Table, names: dict[str, str]) -> None:
    for what, name in names.items():
        if name not in table.columns:
            raise checks.ArgumentError(
                "{path!s} has no column {name!r}: it has {columns!s}; "
                f"say which one it is with {{{what}=}}",
                path=table.path,
                name=name,
                columns=shortened(table.columns),
                **{what: "NAME"},
            )


def _told(path: Source | None, what: str, task: str, label: str, kind: str = "task") -> dict[str, str]:
    """The label of each task that a file of columns task,label names."""
    told: dict[str, str] = {}
    if path is None:
        return told
    with open_table(path) as table:
        _check_columns(table, {kind: task, what if kind != "task" else "label": label})
        for line, cells in table.rows([task, label]):
            if "" in cells:
                raise ValueError(f"{table.where(line)}: {label if cells[0] else task} is empty")
            if cells[0] in told:
                raise ValueError(f"{table.where(line)}: {kind} {cells[0]!r} has a {what} already")
            told[cells[0]] = cells[1]
    return told


def _voted_on(
    told: dict[str, str], cast: _Cast, kind: str, file: Source | None, votes: Source
) -> dict[str, str]:
    """Those of the tasks that somebody voted on: a truth may be of more tasks than there are votes."""
    kept = {name: label for name, label in told.items() if name in cast.tasks}
    if told and not kept:
        raise ValueError(
            f"{file}: none of its {kind}s is among the {kind}s of {votes}: got {next(iter(told))!r}, "
            f"expected names such as {next(iter(cast.tasks))!r}"
        )
    return kept


def _places(numbered: dict[str, int], ordered: list[str]) -> Ints:
    """Where each name that was numbered stands in the order."""
    place = {name: i for i, name in enumerate(ordered)}
    return np.array([place[name] for name in numbered], dtype=np.int64)


def _natural(text: str) -> tuple[bool, float, str]:
    """Numbers before words, and by value; "nan" and "inf" are words, as they have no place in an order."""
    try:
        value = float(text)
    except ValueError:
        return True, 0.0, text
    return (False, value, text) if math.isfinite(value) else (True, 0.0, text)

"""Tables of votes: files and data frames, long (a row per vote) or wide (a column per worker).

A long table has the columns ``task, worker, label`` (crowd-kit's names), a wide one ``task`` and a column for
each worker. Truths have ``task, label``. Labels are any strings; a vote that is not there is -1. Clusterings
are read in the same way, by columns ``object, participant, cluster``. ``folkmoot.files.tabular`` says what
can be read.
"""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Array, Ints
from folkmoot.files.tabular import Table, is_frame, opened, shortened, written
from folkmoot.votes import NO_VOTE, Votes, numbered

__all__ = ["PartitionTable", "VoteTable", "read_partitions", "read_votes"]

EMPTY: Final = 10_000_000  # cells that any table may have,
EMPTY_EACH: Final = 1000  # and else so many for each vote: a file of others may name as many as it likes
Source: TypeAlias = str | os.PathLike[str]
# Besides files and frames: labels by task, or one for each task in their order.
Labels: TypeAlias = Any


@dataclass(frozen=True)
class VoteTable:
    """Votes with the names of their rows (workers), columns (tasks) and classes (labels).

    Parameters
    ----------
    votes : ndarray of int, shape (worker, task)
        The class that each worker named for each task: a place in ``labels``; -1 for no vote.
    workers : list of str
        The name of each row, sorted: numbers by value, then words; of a wide table in the order of its
        columns.
    tasks : list of str
        The name of each column, in the order in which the file first names them.
    labels : list of str
        The name of each class, sorted like the workers.
    truth : ndarray of int, shape (task,), or None
        The right class of each task, -1 where it is not known; None if no truth was read.
    gold : ndarray of int, shape (task,), optional
        The same for gold tasks, whose labels are given to aggregations.
    left_out : list of str
        Tasks that the files of truth and gold name and nobody voted on. They are in no column.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.files.vote_files import VoteTable
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
    votes: Source | Any,
    truth: Source | Labels = None,
    gold: Source | Labels = None,
    *,
    task: str = "task",
    worker: str = "worker",
    label: str = "label",
    skip_unlabelled: bool = False,
    last_vote: bool = False,
) -> VoteTable:
    """Read votes from a file or a data frame, and the right labels from others.

    A file is text with commas, semicolons or tabs between its cells, gzipped or not, or parquet. A table is
    long, with one row per vote. If it has neither of the columns ``worker`` and ``label`` it is wide, with
    one row per task and one column per worker. Labels are any strings.

    Parameters
    ----------
    votes : str, path-like or data frame
        The votes, with the columns ``task``, ``worker`` and ``label``; further columns are ignored. Or a wide
        table: ``task`` (in a data frame the index, if there is no such column) and one column per worker. An
        empty cell is no vote.
    truth : str, path-like, data frame, mapping, Series or sequence, optional
        The right labels: a table with the columns ``task`` and ``label``, labels by task, or one label per
        task in their order. Tasks without votes are left out.
    gold : str, path-like, data frame, mapping, Series or sequence, optional
        The same for gold tasks, whose right labels aggregations may use.
    task : str, default "task"
        The name of the column that says what was voted on, in all tables.
    worker : str, default "worker"
        The name of the column that says who voted.
    label : str, default "label"
        The name of the column that says what was voted.
    skip_unlabelled : bool, default False
        Whether to leave out rows without a label, of votes, truth and gold. Default: they are refused.
    last_vote : bool, default False
        Whether the last vote counts where a worker votes twice on a task. Default: it is refused.

    Returns
    -------
    VoteTable
        The votes, with the names of workers, tasks and labels.

    Raises
    ------
    ValueError
        If a column is missing, a cell is empty, or a worker votes twice on a task. Or if nobody voted on
        any task of the truth, or all labels are the same. The message names the file and the line.

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

    The same as a wide data frame:

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"ann": ["no", "yes"], "bob": ["yes", None]}, index=["t1", "t2"])
    >>> read_votes(frame, truth={"t2": "yes"}).truth
    array([-1,  1])
    """
    cast = _cast(
        votes, {"task": task, "worker": worker, "label": label}, skip=skip_unlabelled, last=last_vote
    )
    told = _told(truth, cast, "truth", task, label, skip_unlabelled)
    golden = _told(gold, cast, "label", task, label, skip_unlabelled)
    left_out = [name for name in {**told, **golden} if name not in cast.tasks]
    told = _voted_on(told, cast, "task", truth, votes)
    golden = _voted_on(golden, cast, "task", gold, votes)
    workers = list(cast.workers) if cast.wide else sorted(cast.workers, key=_natural)
    labels = sorted({*cast.labels, *told.values(), *golden.values()}, key=_natural)
    if len(labels) < 2:
        raise ValueError(f"{_called(votes)}: all votes are {labels[0]!r}; there is nothing to deliberate")
    table = np.full((len(workers), len(cast.tasks)), NO_VOTE, dtype=np.int64)
    table[_places(cast.workers, workers)[cast.by], cast.on] = _places(cast.labels, labels)[cast.said]
    number = {name: i for i, name in enumerate(labels)}

    def known(named: dict[str, str]) -> Ints:
        return np.array([number[named[t]] if t in named else NO_VOTE for t in cast.tasks], dtype=np.int64)

    return VoteTable(
        table,
        workers,
        list(cast.tasks),
        labels,
        None if truth is None else known(told),
        None if gold is None else known(golden),
        left_out,
    )


class NamedVotes(NamedTuple):
    """Votes of a table, with names of participants and classes."""

    votes: Array
    names: list[str]
    labels: list[str] | None
    truth: Array | None
    gold: Ints | None


def named_votes(votes: Any, truth: Any = None) -> NamedVotes | None:
    """The votes of a ``VoteTable`` or a data frame; None for anything else.

    A frame of numbers, some of them with decimals, is one of numbers: a row per input and a column per
    participant. Any other is read by ``read_votes``.
    """
    if isinstance(votes, VoteTable):
        right = votes.truth if truth is None else np.asarray(truth)
        return NamedVotes(votes.votes, votes.workers, votes.labels, right, votes.gold)
    if not is_frame(votes):
        return None
    numbers = _numbers(votes)
    if numbers is not None:
        right = None if truth is None else np.asarray(truth, dtype=np.float64)
        return NamedVotes(numbers.T, [str(name) for name in votes.columns], None, right, None)
    try:
        table = read_votes(votes, truth)
    except checks.ArgumentError as error:  # of an option that only read_votes has
        ways = {name: f"read_votes(frame, {name}=True)" for name in ("last_vote", "skip_unlabelled")}
        of = " of read_votes" if "NAME" in error.message or "NAME" in error.given.values() else ""
        raise ValueError(error.named(ways) + of) from None
    return NamedVotes(table.votes, table.workers, table.labels, table.truth, None)


def _numbers(frame: Any) -> Array | None:
    """The cells as numbers, NaN for none, if all are and some have decimals."""
    try:
        cells = frame.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        return None
    there = cells[~np.isnan(cells)]
    return np.asarray(cells) if (there != np.round(there)).any() else None


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
    >>> from folkmoot.files.vote_files import PartitionTable
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
    any strings, and mean nothing between participants. A participant has not seen the objects without a row
    of its own.

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
        If a column is missing, a cell is empty, or a participant names two clusters for an object. Or if
        nobody has seen any object of the truth. The message names the file and the line.

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
    told = _told(truth, cast, "cluster", object, cluster, kind="object")
    told = _voted_on(told, cast, "object", truth, path)
    names = sorted(cast.workers, key=_natural)
    said = np.full((len(names), len(cast.tasks)), NO_VOTE, dtype=np.int64)
    said[_places(cast.workers, names)[cast.by], cast.on] = cast.said
    true: Ints | None = None
    if truth is not None:
        number = {name: i for i, name in enumerate(dict.fromkeys(told.values()))}
        true = np.array([number[told[o]] if o in told else NO_VOTE for o in cast.tasks], dtype=np.int64)
    return PartitionTable(numbered(said), names, list(cast.tasks), true)


class _Cast(NamedTuple):
    """Votes in the order of their rows; names are numbered in the order in which they occur."""

    tasks: dict[str, int]
    workers: dict[str, int]
    labels: dict[str, int]
    on: Ints  # the task of each vote
    by: Ints
    said: Ints
    wide: bool


def _called(source: Any) -> str:
    """A table in messages."""
    return str(source) if isinstance(source, (str, os.PathLike)) else type(source).__name__


def _cast(
    source: Any,
    names: dict[str, str],
    said_before: str = "has voted on",
    *,
    skip: bool = False,
    last: bool = False,
) -> _Cast:
    what, who, which = names
    if len(set(names.values())) < len(names):
        raise ValueError(
            f"{what}, {who} and {which} must be different columns: got {', '.join(names.values())}"
        )
    tasks: dict[str, int] = {}
    workers: dict[str, int] = {}
    labels: dict[str, int] = {}
    codes = array("q")
    with opened(source) as table:
        wide = what == "task" and _is_wide(table, names)
        for line, task, worker, label in _wide(table, names) if wide else _long(table, names, skip):
            codes.append(tasks.setdefault(task, len(tasks)))
            codes.append(workers.setdefault(worker, len(workers)))
            codes.append(labels.setdefault(label, len(labels)))
            codes.append(line)
        if not codes:
            raise ValueError(f"{table.path} holds no votes: every label is empty")
        on, by, said, lines = np.array(codes, dtype=np.int64).reshape(-1, 4).T
        cell = on * len(workers) + by
        _, first = np.unique(cell, return_index=True)
        if first.size < on.size and not last:
            again = np.setdiff1d(np.arange(on.size), first)[0]
            way = "; take the last vote of each with {last_vote}" if what == "task" else ""
            raise checks.ArgumentError(
                "{where!s}: {who!s} {worker!r} {before!s} {what!s} {task!r} already" + way,
                where=table.where(int(lines[again])),
                who=who,
                worker=[*workers][by[again]],
                before=said_before,
                what=what,
                task=[*tasks][on[again]],
            )
        if wide:
            _check_shared(table, labels, workers, by, said)
        if len(workers) * len(tasks) > max(EMPTY, EMPTY_EACH * on.size):
            raise ValueError(
                f"{table.path}: {on.size:,} votes of {len(workers):,} x {len(tasks):,} must fill more of "
                f"their table than one cell in {EMPTY_EACH:,}: is the right column that of {what} and {who}?"
            )
    if last:
        kept = np.sort(on.size - 1 - np.unique(cell[::-1], return_index=True)[1])
        on, by, said = on[kept], by[kept], said[kept]
    return _Cast(tasks, workers, labels, on, by, said, wide)


def _is_wide(table: Table, names: dict[str, str]) -> bool:
    """Whether there is a column for each worker: neither a column of workers nor one of labels."""
    task, worker, label = names.values()
    if worker in table.columns or label in table.columns:
        return False
    return len(table.columns) > 2 if task in table.columns else table.index is not None


def _long(table: Table, names: dict[str, str], skip: bool) -> Iterator[tuple[int, str, str, str]]:
    """Line, task, worker and label of every vote."""
    _check_columns(table, names)
    for line, cells in table.rows(list(names.values())):
        task, worker, label = cells
        if skip and not label:
            continue
        if "" in cells:
            raise _empty(table, line, [*names.values()][list(cells).index("")], not label)
        yield line, task, worker, label


def _empty(table: Table, line: int, column: str, unlabelled: bool) -> ValueError:
    way = "; leave such rows out with {skip_unlabelled}" if unlabelled else ""
    return checks.ArgumentError(
        "{where!s}: {column!s} is empty" + way, where=table.where(line), column=column
    )


def _wide(table: Table, names: dict[str, str]) -> Iterator[tuple[int, str, str, str]]:
    """The same of a table with a column for each worker; an empty cell is no vote."""
    task = names["task"]
    workers = [name for name in table.columns if name != task]
    known = [*table.columns].index(task) if task in table.columns else None
    places = [place for place, name in enumerate(table.columns) if name != task]
    for number, (line, cells) in enumerate(table.rows()):
        called = (table.index or [])[number] if known is None else cells[known]
        if not called:
            raise ValueError(f"{table.where(line)}: {task} is empty")
        for worker, place in zip(workers, places, strict=True):
            if cells[place]:
                yield line, called, worker, cells[place]


def _check_shared(
    table: Table, labels: dict[str, int], workers: dict[str, int], by: Ints, said: Ints
) -> None:
    """ValueError if a column has labels of its own alone: then it is hardly one of votes."""
    who, what = np.divmod(np.unique(by * len(labels) + said), len(labels))
    shared = np.bincount(what, minlength=len(labels)) > 1
    alone = np.bincount(who[shared[what]], minlength=len(workers)) == 0
    if alone.any():
        name = [*workers][int(alone.argmax())]
        raise checks.ArgumentError(
            "{path!s}: column {name!r} shares no label with another, so it is not one of a worker; of a "
            "table with a row for each vote say which columns hold {task=}, {worker=} and {label=}",
            path=table.path,
            name=name,
            task="NAME",
            worker="NAME",
            label="NAME",
        )


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


def _told(
    source: Any, cast: _Cast, what: str, task: str, label: str, skip: bool = False, kind: str = "task"
) -> dict[str, str]:
    """The label of each task that a table of columns task,label names, or labels by task."""
    told: dict[str, str] = {}
    if source is None:
        return told
    if not isinstance(source, (str, os.PathLike)) and not is_frame(source):
        return _labels_by_task(source, cast, what)
    with opened(source) as table:
        _check_columns(table, {kind: task, what if kind != "task" else "label": label})
        for line, cells in table.rows([task, label]):
            if skip and not cells[1]:
                continue
            if "" in cells:
                raise _empty(table, line, label if cells[0] else task, bool(cells[0]) and kind == "task")
            if cells[0] in told:
                raise ValueError(f"{table.where(line)}: {kind} {cells[0]!r} has a {what} already")
            told[cells[0]] = cells[1]
    return told


def _labels_by_task(given: Any, cast: _Cast, what: str) -> dict[str, str]:
    """Labels by task, of a mapping or a Series; or one for each task in their order, None where not known."""
    if isinstance(given, Mapping) or hasattr(given, "items"):
        pairs = [*given.items()]
    elif isinstance(given, (Sequence, np.ndarray)):
        if len(given) != len(cast.tasks):
            raise ValueError(f"{what} must hold one per task ({len(cast.tasks)}): got {len(given)}")
        pairs = [*zip(cast.tasks, given, strict=True)]
    else:
        raise TypeError(
            f"{what} must be a file, a data frame, labels by task, or one for each task: got {given!r}"
        )
    named = {written(task): written(label) for task, label in pairs}
    return {task: label for task, label in named.items() if label}


def _voted_on(told: dict[str, str], cast: _Cast, kind: str, file: Any, votes: Any) -> dict[str, str]:
    """Those of the tasks that somebody voted on: a truth may be of more tasks than there are votes."""
    kept = {name: label for name, label in told.items() if name in cast.tasks}
    if told and not kept:
        raise ValueError(
            f"{_called(file)}: none of its {kind}s is among the {kind}s of {_called(votes)}: got "
            f"{next(iter(told))!r}, expected names such as {next(iter(cast.tasks))!r}"
        )
    return kept


def _places(numbered: dict[str, int], ordered: list[str]) -> Ints:
    """The place of each numbered name in the order."""
    place = {name: i for i, name in enumerate(ordered)}
    return np.array([place[name] for name in numbered], dtype=np.int64)


def _natural(text: str) -> tuple[bool, float, str]:
    """Numbers before words, and by value; "nan" and "inf" are words, as they have no place in an order."""
    try:
        value = float(text)
    except ValueError:
        return True, 0.0, text
    return (False, value, text) if math.isfinite(value) else (True, 0.0, text)

"""Votes and truths as CSV: columns ``task, worker, label`` and ``task, label`` (crowd-kit's names).

Labels are any strings; a vote that is not there is uncoloured. Every error names the file and the line.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from folkmoot.arrays import Ints
from folkmoot.votes import UNCOLOURED, Votes


@dataclass(frozen=True)
class VoteTable:
    """Votes with the names of their rows (workers), columns (tasks) and colours (labels)."""

    votes: Votes
    workers: list[str]
    tasks: list[str]
    labels: list[str]
    truth: Ints | None
    gold: Ints | None = None


def read_votes(path: Path, truth: Path | None = None, gold: Path | None = None) -> VoteTable:
    """The table in ``path``, and the right labels in ``truth`` and ``gold`` for the tasks that they name."""
    cast: dict[tuple[str, str], str] = {}
    for line, (task, worker, label) in _rows(path, ("task", "worker", "label")):
        if (task, worker) in cast:
            raise ValueError(f"{path}, line {line}: worker {worker!r} has voted on task {task!r} already")
        cast[task, worker] = label
    told, golden = _told(truth, "truth"), _told(gold, "label")
    tasks = list(dict.fromkeys(task for task, _ in cast))
    voted = set(tasks)
    for file, named in ((truth, told), (gold, golden)):
        unknown = next((task for task in named if task not in voted), None)
        if unknown is not None:
            raise ValueError(f"{file}: task {unknown!r} is not among the tasks of {path}")
    workers = sorted({worker for _, worker in cast}, key=_natural)
    labels = sorted({*cast.values(), *told.values(), *golden.values()}, key=_natural)
    if len(labels) < 2:
        raise ValueError(f"{path}: all votes are {labels[0]!r}; there is nothing to deliberate")
    colour = {label: i for i, label in enumerate(labels)}
    row = {worker: i for i, worker in enumerate(workers)}
    column = {task: i for i, task in enumerate(tasks)}
    votes = np.full((len(workers), len(tasks)), UNCOLOURED, dtype=np.int64)
    for (task, worker), label in cast.items():
        votes[row[worker], column[task]] = colour[label]

    def known(named: dict[str, str]) -> Ints:
        return np.array(
            [colour[named[task]] if task in named else UNCOLOURED for task in tasks], dtype=np.int64
        )

    return VoteTable(
        votes, workers, tasks, labels, known(told) if truth else None, known(golden) if gold else None
    )


def _told(path: Path | None, what: str) -> dict[str, str]:
    """The label of each task that a file of columns task,label names."""
    told: dict[str, str] = {}
    for line, (task, label) in _rows(path, ("task", "label")) if path else ():
        if task in told:
            raise ValueError(f"{path}, line {line}: task {task!r} has a {what} already")
        told[task] = label
    return told


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The cells of the columns wanted, with their line; what is wrong is said with the file's name."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        try:
            yield from _cells(path, reader, columns)
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not a text file in UTF-8") from None
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: {error}") from None


def _cells(path: Path, reader: Any, columns: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    header = next(reader, None)
    if header is None:
        raise ValueError(f"{path} is empty: expected a first line with the columns {','.join(columns)}")
    names = [name.strip() for name in header]
    missing = [column for column in columns if column not in names]
    if missing:
        raise ValueError(
            f"{path} has no column {missing[0]!r}: expected {','.join(columns)}, found {','.join(names)}"
        )
    places = [names.index(column) for column in columns]
    found = False
    for row in reader:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) <= max(places):
            raise ValueError(f"{path}, line {reader.line_num}: expected {len(names)} cells, got {len(row)}")
        cells = tuple(row[place].strip() for place in places)
        if "" in cells:
            raise ValueError(f"{path}, line {reader.line_num}: {columns[cells.index('')]} is empty")
        found = True
        yield reader.line_num, cells
    if not found:
        raise ValueError(f"{path} has a header and no rows")


def _natural(text: str) -> tuple[bool, float, str]:
    """Numbers before words, and by value; "nan" and "inf" are words, as they have no place in an order."""
    try:
        value = float(text)
    except ValueError:
        return True, 0.0, text
    return (False, value, text) if math.isfinite(value) else (True, 0.0, text)

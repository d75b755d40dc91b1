"""``folkmoot deliberate --trust --gold``: labelled tasks anchor the workers, and are not decided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from folkmoot.simulation.self_anchored import Listeners
from folkmoot.trust import Anchor
from folkmoot.vote_files import VoteTable, read_votes


@dataclass(frozen=True)
class Gold:
    """The tasks that are to be decided, and what the others say of each worker."""

    table: VoteTable
    anchors: list[Anchor]
    tasks: int


def check_gold(trust: bool, gold: Path | None) -> None:
    """--trust and --gold go together."""
    if trust and gold is None:
        raise ValueError("--trust needs --gold GOLD.csv: labelled tasks that show each worker how good it is")
    if gold is not None and not trust:
        raise ValueError("--gold is for --trust: labelled tasks that anchor the workers")


def read_gold(votes: Path, truth: Path | None, gold: Path, **columns: str) -> Gold:
    """The votes on what is not gold, and every worker's anchor from its votes on what is."""
    table = read_votes(votes, truth, gold, **columns)
    known = np.asarray(table.gold)
    is_gold = known >= 0
    if is_gold.all():
        raise ValueError(f"{gold} names every task of {votes}: there is nothing left to decide")
    anchors = [Anchor.of_holdout(row[is_gold], known[is_gold], len(table.labels)) for row in table.votes]
    left = ~is_gold
    rest = replace(
        table,
        votes=table.votes[:, left],
        tasks=[task for task, kept in zip(table.tasks, left, strict=True) if kept],
        truth=None if table.truth is None else table.truth[left],
        gold=None,
    )
    return Gold(rest, anchors, int(is_gold.sum()))


def trust_in_words(gold: Gold, listeners: Listeners | None, honest: int) -> str:
    """One line for people."""
    anchored = 0 if listeners is None else int(listeners.anchored.sum())
    then = "they alone decide, and the agreement is theirs" if anchored else "so trust is left out"
    noun = "task" if gold.tasks == 1 else "tasks"
    return f"trust: {anchored} of {honest} honest participants anchor by {gold.tasks} gold {noun}; {then}"


def trust_as_dict(gold: Gold, listeners: Listeners | None) -> dict[str, Any]:
    """For ``--json``: how many anchored, and of every worker what it did on gold and what others think of it.

    ``accuracy`` and ``weight`` are means over the other workers that anchor, null if there are none.
    """
    workers = []
    for i, (worker, anchor) in enumerate(zip(gold.table.workers, gold.anchors, strict=True)):
        line: dict[str, Any] = {"worker": worker, "gold": anchor.held_out, "right": anchor.right}
        line |= {"anchored": False, "accuracy": None, "weight": None}
        if listeners is not None:
            others = [t for t in listeners.trusts if t.anchored and t.own != i]
            line["anchored"] = bool(listeners.anchored[i])
            line["accuracy"] = float(np.mean([t.accuracy[i] for t in others])) if others else None
            line["weight"] = float(np.mean([t.weight[i] for t in others])) if others else None
        workers.append(line)
    anchored = 0 if listeners is None else int(listeners.anchored.sum())
    return {"gold": gold.tasks, "anchored": anchored, "trust": workers}

"""``folkmoot deliberate --trust --gold``: labelled tasks anchor the workers, and are not decided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from folkmoot.comparison import Report
from folkmoot.trust import Gold, Trust, reputation, split_gold
from folkmoot.vote_files import VoteTable, read_votes


@dataclass(frozen=True)
class GoldenTable:
    """The tasks that are to be decided, and what gold says of each worker."""

    table: VoteTable
    gold: Gold


def check_gold(trust: bool, gold: Path | None) -> None:
    """--trust and --gold go together."""
    if trust and gold is None:
        raise ValueError("--trust needs --gold GOLD.csv: labelled tasks that show each worker how good it is")
    if gold is not None and not trust:
        raise ValueError("--gold is for --trust: labelled tasks that anchor the workers")


def read_gold(votes: Path, truth: Path | None, gold: Path, **columns: str) -> GoldenTable:
    """The votes on what is not gold, and every worker's anchor from its votes on what is."""
    table = read_votes(votes, truth, gold, **columns)
    if table.gold is None or (table.gold >= 0).all():
        raise ValueError(f"{gold} names every task of {votes}: there is nothing left to decide")
    found = split_gold(table.votes, table.gold, len(table.labels))
    rest = replace(
        table,
        votes=table.votes[:, found.left],
        tasks=[task for task, kept in zip(table.tasks, found.left, strict=True) if kept],
        truth=None if table.truth is None else table.truth[found.left],
        gold=None,
    )
    return GoldenTable(rest, found)


def trust_in_words(gold: Gold, report: Report) -> str:
    """One line for people."""
    honest = report.participants - len(report.byzantine)
    then = "they alone decide, and the agreement is theirs" if report.anchored else "so trust is left out"
    noun = "task" if gold.inputs == 1 else "tasks"
    who = f"{report.anchored} of {honest} honest participants"
    return f"trust: {who} anchor by {gold.inputs} gold {noun}; {then}"


def trust_as_dict(gold: Gold, report: Report, workers: list[str]) -> dict[str, Any]:
    """For ``--json``: how many anchored, and of every worker what it did on gold and what others think of it.

    ``accuracy`` and ``weight`` are means over the other workers that anchor, null if there are none.
    """
    lines: list[dict[str, Any]] = [
        {
            "worker": worker, "gold": anchor.held_out, "right": anchor.right,
            "anchored": False, "accuracy": None, "weight": None,
        }
        for worker, anchor in zip(workers, gold.anchors, strict=True)
    ]  # fmt: skip
    if report.listeners is not None:
        trusts = [each for each in report.listeners.trusts if isinstance(each, Trust)]
        thought = zip(report.listeners.anchored, *reputation(trusts), strict=True)
        for line, (anchored, accuracy, weight) in zip(lines, thought, strict=True):
            line |= {"anchored": bool(anchored), "accuracy": float(accuracy), "weight": float(weight)}
    return {"gold": gold.inputs, "anchored": report.anchored, "trust": lines}

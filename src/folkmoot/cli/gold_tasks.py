"""``folkmoot deliberate --gold``: labelled tasks anchor the workers, or teach them; they are not decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from folkmoot.arrays import Floats
from folkmoot.comparison import Report
from folkmoot.files.vote_files import VoteTable, read_votes
from folkmoot.trust import Gold, GoldReview, Trust, reputation, split_gold
from folkmoot.trust.conduct import Opinion
from folkmoot.trust.gold_rules import LEAST_GOLD


@dataclass(frozen=True)
class GoldenTable:
    """The tasks that are to be decided, and what gold says of each worker."""

    table: VoteTable
    gold: Gold


def check_gold(trust: bool, peer_review: bool, gold: Path | None) -> None:
    """One of --trust and --peer-review goes with --gold."""
    if trust and peer_review:
        raise ValueError("give --trust or --peer-review, not both: each learns from --gold in its own way")
    if trust and gold is None:
        raise ValueError("--trust needs --gold GOLD.csv: labelled tasks that show each worker how good it is")
    if peer_review and gold is None:
        raise ValueError("--peer-review needs --gold GOLD.csv: labelled tasks that show who is right on what")
    if gold is not None and not (trust or peer_review):
        raise ValueError(
            "--gold is for --trust or --peer-review: labelled tasks that anchor the workers, or teach them"
        )


def check_enough(golden: GoldenTable, path: Path | None) -> None:
    """--peer-review learns from at least five gold tasks with votes, of two labels."""
    if golden.gold.inputs < LEAST_GOLD:
        raise ValueError(
            f"--peer-review needs at least {LEAST_GOLD} gold tasks: {path} has {golden.gold.inputs}"
        )
    labels = np.unique(golden.gold.truth)
    if len(labels) < 2:
        raise ValueError(
            f"--peer-review needs gold tasks of at least two labels: in {path} all are "
            f"{golden.table.labels[labels[0]]!r}"
        )


def read_gold(votes: Path, truth: Path | None, gold: Path, **columns: Any) -> GoldenTable:
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
    honest = report.n_participants - len(report.byzantine)
    then = "they alone decide, and the agreement is theirs" if report.anchored else "so trust is left out"
    if report.anchored_by == "gold" and report.listeners is not None:
        shares = _common(report.listeners.trusts).shares
        most = sorted(shares, key=lambda name: -shares[name])
        then += "; " + ", ".join(f"{shares[name]:.0%} {name}" for name in most if shares[name] >= 0.005)
    noun = "task" if gold.inputs == 1 else "tasks"
    who = f"{report.anchored} of {honest} honest participants"
    what = "peer review" if report.anchored_by == "gold" else "trust"
    return f"{what}: {who} anchor by {gold.inputs} gold {noun}; {then}"


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
        thought = zip(report.listeners.anchored, *_thought(report.listeners.trusts), strict=True)
        for line, (anchored, accuracy, weight) in zip(lines, thought, strict=True):
            line |= {"anchored": bool(anchored), "accuracy": float(accuracy), "weight": float(weight)}
    told: dict[str, Any] = {"gold": gold.inputs, "anchored": report.anchored, "trust": lines}
    if report.anchored_by == "gold":
        told["rules"] = {} if report.listeners is None else _common(report.listeners.trusts).shares
    return told


def _thought(opinions: Sequence[Opinion]) -> tuple[Floats, Floats]:
    """(participant,): the accuracy and the weight that the others give each, on average."""
    trusts = [each for each in opinions if isinstance(each, Trust)]
    if trusts:
        return reputation(trusts)
    weight = _common(opinions).weight
    return _common(opinions).accuracy, weight


def _common(opinions: Sequence[Opinion]) -> GoldReview:
    """What all who anchor have learnt from gold, which is the same."""
    return next(each for each in opinions if isinstance(each, GoldReview) and each.anchored)

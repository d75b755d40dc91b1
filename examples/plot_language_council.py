"""
A deceptive member in a council
===============================

Learn what one deceptive member of six costs: under a chairman, by a majority, and in a moot.

Ten language detectors that others made have voted on 1,500 messages of Django in 25 languages. The votes are
in ``experiments/deceptive_member``. In a moot of six one member lies on everything. It knows all
honest votes, and gives the wrong label that most honest members gave.

``python examples/plot_language_council.py [FILE]``
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from folkmoot import aggregate
from folkmoot.aggregation import Auto, DawidSkene, Known, Plurality, Rows

MEMBERS, SHOWN = 6, 10


def found_votes() -> Path:
    """The file, from wherever this is run."""
    name = "experiments/deceptive_member/votes.json"
    here = Path(globals().get("__file__", "examples/plot_language_council.py")).resolve()
    return next(path / name for path in [*here.parents, *Path.cwd().parents] if (path / name).exists())


def main(path: str = "language_council.png") -> None:
    found = json.loads(found_votes().read_text())
    labels = sorted({*found["truth"], *(each for said in found["votes"].values() for each in said if each)})
    place = {label: i for i, label in enumerate(labels)} | {None: -1}
    everybody = np.array([[place[each] for each in said] for said in found["votes"].values()])
    truth = np.array([place[each] for each in found["truth"]])
    rng = np.random.default_rng(0)
    order = rng.permutation(len(truth))
    shown, scored = order[: MEMBERS * SHOWN], order[MEMBERS * SHOWN :]
    owner = np.arange(len(shown)) % MEMBERS
    scores: dict[str, list[float]] = {}
    for lies in (False, True):
        votes = everybody[:MEMBERS].copy()
        told = truth.copy()
        if lies:
            counts = np.stack([(votes[1:] == each).sum(axis=0) for each in range(len(labels))])
            counts[truth, np.arange(len(truth))] = -1
            votes[0] = np.where(counts.max(axis=0) > 0, counts.argmax(axis=0), (truth + 1) % len(labels))
            told = votes[0]
        answers = np.where(owner == 0, told[shown], truth[shown])
        known = Known(rows=Rows(votes[:, shown], answers, owner))
        table = votes[:, scored]
        plural = aggregate(table, Plurality()).decision
        chaired = [table[0] if lies else plural, *[plural] * (MEMBERS - 1)]  # whoever has the chair decides
        ways = {
            "a chairman": np.mean([(each == truth[scored]).mean() for each in chaired]),
            "majority": (plural == truth[scored]).mean(),
            "moot, Dawid-Skene": (aggregate(table, DawidSkene()).decision == truth[scored]).mean(),
            "moot, auto": (Auto().aggregate(table, known).decision == truth[scored]).mean(),
        }
        for way, accuracy in ways.items():
            scores.setdefault(way, []).append(float(accuracy))
            print(f"{'one lies' if lies else 'nobody lies'}, {way}: {accuracy:.3f}")
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    for i, (lying, colour) in enumerate((("nobody lies", "#9db8d9"), ("one of six lies", "#c0504d"))):
        heights = [each[i] for each in scores.values()]
        axes.bar(np.arange(len(scores)) + 0.36 * i, heights, 0.34, label=lying, color=colour)
    axes.set_xticks(np.arange(len(scores)) + 0.18, list(scores))
    axes.set(ylabel="accuracy", ylim=(0.6, 1.0))
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""
Trust against a majority of liars
=================================

Learn what is left of a majority, of a talk and of learnt trust when more than half of the participants lie.

101 participants of skill 0.7, each with ten rows of its own held out, answer 2,000 inputs. Liars tell one
story that has nothing to do with the truth. The majority and Slush follow whoever is more; a participant
that listens weighs each peer by how it agrees with itself, and its own held-out rows tell it how far to
believe itself.

``python examples/plot_trust.py [FILE]``
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure

from folkmoot import Slush, aggregate, deliberate
from folkmoot.adversaries import colluding_votes
from folkmoot.aggregation import HoldoutTrust, Known, Rows

N, INPUTS, SKILL, HELD_OUT = 101, 2000, 0.7, 10


def main(path: str = "trust.png") -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, INPUTS)
    honest = np.where(rng.random((N, INPUTS)) < SKILL, truth, 1 - truth)
    labels = np.arange(HELD_OUT) % 2
    answers = np.where(np.arange(HELD_OUT) < round(SKILL * HELD_OUT) + 1, labels, 1 - labels)
    held_out = np.full((N, HELD_OUT), -1)
    held_out[0] = answers
    known = Known(rows=Rows(held_out, labels, np.zeros(HELD_OUT, dtype=int)), judges=np.array([0]))
    counts = list(range(0, 81, 10))
    lines: dict[str, list[float]] = {"majority": [], "Slush, k = 10, alpha = 6": [], "learnt trust": []}
    for count in counts:
        votes = honest.copy()
        votes[N - count :] = colluding_votes(INPUTS, 2, seed=1)
        trusted = HoldoutTrust().final_votes(votes, known).votes[0]
        talk = deliberate(votes, Slush(10, 6))
        for name, accuracy in zip(
            lines,
            ((aggregate(votes).decision == truth).mean(), talk.accuracy(truth), (trusted == truth).mean()),
            strict=True,
        ):
            lines[name].append(float(accuracy))
        print(
            f"{count:>3} liars: " + "   ".join(f"{name} {values[-1]:.3f}" for name, values in lines.items())
        )
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    for (name, values), colour in zip(lines.items(), ("silver", "tab:orange", "tab:green"), strict=True):
        axes.plot(counts, values, "o-", ms=4, color=colour, label=name)
    axes.axvline(N / 2, color="grey", ls=":", lw=1)
    axes.set_xlabel(f"participants of {N} that tell one story")
    axes.set_ylabel("accuracy")
    axes.set_ylim(0.3, 1.03)
    axes.legend(frameon=False, loc="lower left")
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])

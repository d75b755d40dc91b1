"""The honest comparison: what one participant, or a centre that saw all votes, would have answered.

Printed beside every consensus result. Accuracies are over the inputs whose truth is known (not -1); an
undecided input is not right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.baselines.dawid_skene import dawid_skene
from folkmoot.baselines.majority import majority, supermajority
from folkmoot.baselines.weighted import log_odds, weighted_majority
from folkmoot.outcome import share_right
from folkmoot.votes import UNCOLOURED, Votes


class Verdict(NamedTuple):
    """One line of a comparison; ``accuracy`` is None without truth, ``undecided`` for participants."""

    name: str
    accuracy: float | None
    undecided: float | None


def participant_accuracies(votes: Votes, truth: npt.ArrayLike) -> Floats:
    """Share of each participant's cast votes that are right; nan for one that cast none on known inputs."""
    right = np.asarray(truth)
    cast = (votes != UNCOLOURED) & (right != UNCOLOURED)
    total = cast.sum(axis=1)
    hits = ((votes == right) & cast).sum(axis=1)
    return np.asarray(np.where(total > 0, hits / np.maximum(total, 1), np.nan), dtype=np.float64)


def centralised(
    votes: Votes,
    classes: int,
    truth: npt.ArrayLike | None,
    honest: Bools,
    skills: Floats | None = None,
) -> list[Verdict]:
    """Mean and best honest participant, majority, supermajority, weighted majority, Dawid-Skene.

    Nothing here uses the truth but the accuracies: the weights are log-odds of ``skills``, what each
    participant says its accuracy is, or else of what Dawid-Skene estimates from the votes alone.
    """
    estimated = dawid_skene(votes, classes)
    if skills is None:
        skills = np.nan_to_num(estimated.accuracies, nan=1 / classes)
    rules: dict[str, Ints] = {"majority": majority(votes, classes)}
    if len(votes) > 2:
        rules["supermajority"] = supermajority(votes, classes)
    rules["weighted majority"] = weighted_majority(votes, log_odds(skills, classes), classes)
    rules["Dawid-Skene"] = estimated.labels
    lines = [
        Verdict(
            name,
            None if truth is None else float(share_right(labels, truth)),
            int((labels == UNCOLOURED).sum()),
        )
        for name, labels in rules.items()
    ]
    if truth is None:
        return lines
    each = participant_accuracies(votes[honest], truth)
    each = each[~np.isnan(each)]
    mean, best = (float(each.mean()), float(each.max())) if each.size else (np.nan, np.nan)
    return [Verdict("mean participant", mean, None), Verdict("best participant", best, None), *lines]

"""The first thing a newcomer runs: 101 participants, non-iid digits, different small models, some liars.

A participant has 13 rows of few classes, and the fifth that it holds out lets about a quarter of all anchor.
Cross-validated anchors (``holdout=None``) let nearly half, which takes twice the time (docs/trust.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.arrays import PartProgress
from folkmoot.datasets import load_digits_moot
from folkmoot.learning import ConsensusClassifier
from folkmoot.learning.base_learners import MIXED, models_for
from folkmoot.learning.moot import SELF_ANCHORED
from folkmoot.protocols import Slush
from folkmoot.runs.study import Study, study


@dataclass(frozen=True)
class Demo:
    """What the demo shows; 10 of the 101 are the malicious ones that are looked at closely."""

    participants: int = 101
    alpha_dirichlet: float = 1.0
    byzantine: tuple[int, ...] = (0, 5, 10, 15, 20, 30, 60)
    watched: int = 10
    k: int = 10
    alpha: int = 6
    repeats: int = 10


def demo(
    config: Demo, seed: int, *, n_jobs: int | None = None, progress: PartProgress | None = None
) -> Study:
    """Play it."""
    data = load_digits_moot(config.participants, config.alpha_dirichlet, seed)
    classifier = ConsensusClassifier(
        models_for(MIXED, config.participants),
        protocol=Slush(config.k, config.alpha),
        trust=SELF_ANCHORED,
        n_jobs=n_jobs,
        random_state=seed,
    )
    return study(
        classifier, data, config.byzantine, watched=config.watched, repeats=config.repeats, progress=progress
    )

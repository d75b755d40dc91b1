"""Traitors that vote honestly but on some inputs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Ints
from folkmoot.votes import NO_VOTE, check_truth


def stealthy_votes(
    votes: npt.ArrayLike, truth: npt.ArrayLike, classes: int, *, share: float = 0.1, seed: int
) -> Ints:
    """Votes of traitors: their own, but wrong together on a ``share`` of the inputs.

    The inputs are drawn by the seed; on them all name the same wrong class, as ``PerfectlyMalicious`` does.

    ``votes`` (participant, input) or (input,): The answers of the traitors' models: classes, -1 for none.
    ``truth`` (input,): The right classes.
    """
    own = np.asarray(votes, dtype=np.int64)
    right = check_truth(truth, own.shape[-1], checks.integer("classes", classes, least=2))
    if own.min(initial=0) < NO_VOTE or own.max(initial=0) >= classes:
        raise ValueError(f"votes must satisfy -1 <= class < {classes}: got {own.min()} to {own.max()}")
    rng = np.random.default_rng(checks.integer("seed", seed, least=0))
    struck = rng.random(right.size) < checks.probability("share", share)
    return np.where(struck, (right + 1) % classes, own)

"""Opinion pools of probabilities on 256 levels: their mean, or the mean of their logarithms."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from folkmoot.arrays import Bools, Ints
from folkmoot.node.rules.fixed import log2
from folkmoot.node.rules.votes import decide

LEVELS: Final = 255  # that of certainty


def pool(
    levels: Ints,
    there: Bools,
    *,
    rule: Literal["mean", "log"],
    trim: int,
    least: int,
    coin: bytes | None = None,
) -> Ints:
    """Decide each input by the class that the members together find likeliest.

    ``levels`` (member, input, class) are whole numbers within 0..255, ``there`` (member, input) says who gave
    any. Of each class the ``trim`` lowest and highest do not count. A class needs ``least`` members that find
    it likeliest, or as likely as any.
    """
    if levels.min(initial=0) < 0 or levels.max(initial=0) > LEVELS:
        raise ValueError(f"levels must be within 0..{LEVELS}: got others")
    inputs, classes = levels.shape[1:]
    # That of nothing is half a level: one member that rules a class out has no veto.
    scale = log2(np.maximum(2 * np.arange(LEVELS + 1), 1)) + 1 if rule == "log" else np.arange(LEVELS + 1)
    scores = np.zeros((inputs, classes), dtype=np.int64)
    for voters in np.unique(there.T, axis=0):
        who, columns = np.flatnonzero(voters), np.flatnonzero((voters == there.T).all(axis=1))
        if not who.size:
            continue
        block = np.sort(scale[levels[np.ix_(who, columns)]], axis=0)
        cut = min(trim, (len(who) - 1) // 2)
        found = block[cut : len(who) - cut].sum(axis=0)
        flat = found.max(axis=1) <= 0  # nothing is left of any class
        found[flat] = block[:, flat].sum(axis=0)
        scores[columns] = found
    favoured = (levels == levels.max(axis=2, keepdims=True)) & there[:, :, None] & (levels > 0)
    choices = np.tile(np.arange(classes), (inputs, 1))
    return decide(choices, scores, favoured.sum(axis=0), least, coin)

"""Gold: inputs whose right colours are told. They anchor the participants and are not decided."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Bools
from folkmoot.trust.anchor import Anchor
from folkmoot.votes import UNCOLOURED, Votes


class Gold(NamedTuple):
    """What gold says of each participant, and which inputs are left to be decided."""

    anchors: list[Anchor]
    left: Bools
    """(input,): those that are not gold."""
    inputs: int
    """How many are gold."""


def split_gold(votes: Votes, gold: npt.ArrayLike, classes: int) -> Gold:
    """Everybody's anchor from its votes on gold; ``gold`` has the right colours, -1 for all other inputs."""
    told = np.asarray(gold)
    known = told != UNCOLOURED
    if known.all():
        raise ValueError("every input is gold: there is nothing left to decide")
    anchors = [Anchor.of_holdout(row[known], told[known], classes) for row in votes]
    return Gold(anchors, ~known, int(known.sum()))

"""propose(): quorum sets from trust, or from a track record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.outlook.quorum_set import QuorumSet

MOST: Final = 7  # of whom five are enough: two may be away, and three have to lie to split it


def propose(
    trust: npt.ArrayLike, names: Sequence[str] | None = None, *, most: int = MOST
) -> dict[str, QuorumSet]:
    """For each participant: any ceil(2m/3) of the m whom it trusts most, itself among them.

    Nodes without its trust (a weight of 0 or below) are not taken, so m may be smaller than ``most``. Between
    equals those who come first are taken. Whether the sets intersect is another question: ``analyse`` says
    it.

    ``trust`` (participant, peer) or (peer,): The trust of each in each, such as weights, or one record for
    all, such as accuracies.
    """
    checks.integer("most", most, least=1)
    weights = np.asarray(trust, float)
    if weights.ndim == 1:
        weights = np.broadcast_to(weights, (weights.size, weights.size))
    if weights.ndim != 2 or weights.shape[0] != weights.shape[1] or not weights.size:
        raise ValueError(
            f"trust must have shape (participant, peer), or one number for each peer: got {weights.shape}"
        )
    if np.isnan(weights).any():
        raise ValueError("trust must not be NaN; write 0 for a peer that is not known")
    called = [str(i) for i in range(len(weights))] if names is None else list(names)
    if len(set(called)) != len(weights):
        raise ValueError(
            f"names must be as many as participants, each its own: got {len(called)} names, "
            f"{len(set(called))} of them different, for {len(weights)}"
        )
    sets = {}
    for i, name in enumerate(called):
        order = np.argsort(-weights[i], kind="stable")
        peers = [int(j) for j in order if j != i and weights[i, j] > 0][: most - 1]
        members = [name, *(called[j] for j in peers)]
        sets[name] = QuorumSet(-(-2 * len(members) // 3), members)
    return sets

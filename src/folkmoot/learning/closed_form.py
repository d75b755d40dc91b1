"""Where theory knows how likely each answer of a moot is.

Two classes, Slush, one alpha, all others asked alike, everybody honest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from folkmoot.arrays import Floats
from folkmoot.learning.ballot import Ballot
from folkmoot.protocols import Slush, SnowProtocol
from folkmoot.sampling import Others, Sampling
from folkmoot.votes import UNCOLOURED, Votes


def has_closed_form(protocol: SnowProtocol[Any], sampling: Sampling | None, ballot: Ballot) -> bool:
    """Whether the law of the answers to these votes is that of ``SlushChain``, if nobody lies."""
    return (
        type(protocol) is Slush
        and isinstance(protocol.alpha, int)
        and protocol.weights is None
        and isinstance(sampling, Others | None)
        and ballot.listeners is None
        and ballot.classes == 2
        and not ballot.faults
        and bool((ballot.votes != UNCOLOURED).all())
    )


def absorption(protocol: SnowProtocol[Any], votes: Votes) -> Floats:
    """The chances that all end up red or blue, from the number of blue first votes."""
    from folkmoot.theory import SlushChain

    chain = SlushChain(len(votes), protocol.k, protocol.thresholds(1)[0], sampling=Others())
    count = votes.sum(axis=0)
    chances = np.exp(np.stack([chain.log_red[count], chain.log_blue[count]], axis=1))
    # Where neither colour can win a query nobody ever moves: the first votes are the answer.
    stuck = chances.sum(axis=1) == 0
    split = np.sign(2 * count[stuck] - len(votes)) / 2
    chances[stuck] = np.stack([0.5 - split, 0.5 + split], axis=1)
    return np.asarray(chances)

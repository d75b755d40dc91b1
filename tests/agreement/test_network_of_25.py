"""The network against theory where a query asks ten of twenty-four: real nodes on the memory transport.

``test_network.py`` says why the two are comparable; its seven nodes ask more than half of the others.
"""

from __future__ import annotations

import numpy as np
import pytest

from agreement.test_network import EACH, held_at_the_end, votes_with
from folkmoot import Others
from folkmoot.theory import SlushChain
from support.statistics_of_agreement import assert_mean

MOTIONS = 8
ROUNDS = 12


@pytest.mark.slow
def test_slush_among_25_is_absorbed_as_theory_says() -> None:
    n, starts = 25, [9, 11, 12, 13, 14, 16]
    chain = SlushChain(n, 10, 6, sampling=Others())
    shares = np.empty((MOTIONS, len(starts)))
    for motion in range(MOTIONS):
        votes = votes_with(starts, n, np.random.default_rng(motion))
        held = held_at_the_end(votes, motion, k=10, alpha=6, rounds=ROUNDS)
        assert (held == held[0]).all(axis=0).mean() > 0.98
        shares[motion] = (held == 1).mean(axis=0).reshape(len(starts), EACH).mean(axis=1)
    for column, blue in enumerate(starts):
        # Each asks ROUNDS times, so all together n ROUNDS times, and by then the law hardly changes any more.
        law = chain.distribution(np.eye(n + 1)[blue], n * ROUNDS)
        assert_mean(shares[:, column], float(law @ np.arange(n + 1) / n))

"""A batch is nothing but its inputs one by one: the scalar rule is the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot import Slush, Snowball, Snowflake
from folkmoot.protocols.many import Opinions, winners
from folkmoot.protocols.snow import winner


@given(
    asked=st.integers(1, 12),
    silent=st.integers(0, 3),
    classes=st.integers(2, 5),
    seed=st.integers(0, 10**6),
    weighted=st.booleans(),
)
def test_winners_are_those_of_every_single_tally(
    asked: int, silent: int, classes: int, seed: int, weighted: bool
) -> None:
    rng = np.random.default_rng(seed)
    answered = max(1, asked - silent)
    answers = [rng.integers(-1, classes, 30).astype(np.int8) for _ in range(answered)]
    weights = rng.integers(0, 4, asked).astype(float) if weighted else np.ones(asked)
    alpha = int(rng.integers(asked // 2 + 1, asked + 1))
    won = winners(answers, alpha, classes, asked=asked, weights=weights.tolist() if weighted else None)
    for i in range(30):
        tally = [
            sum(w for a, w in zip(answers, weights, strict=False) if a[i] == colour)
            for colour in range(classes)
        ]
        whole = weights.sum()
        expected = winner([t * asked / whole for t in tally], alpha) if whole else -1
        # Whole weights of at most 3 and a dozen peers: a tally is off by far more than rounding, or by none.
        assert won[i] == expected


@pytest.mark.parametrize(
    "protocol", [Slush(5, 3), Snowflake(5, 3, 3), Snowball(5, 3, 3), Snowball(5, 3, 50), Slush(5, 4)]
)
def test_opinions_on_a_batch_follow_the_rule_on_every_input(protocol: Any) -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(-1, 4, 60).astype(np.int8)
    opinions = Opinions(protocol, 4, first)
    states = [protocol.start(int(vote)) for vote in first]
    for _ in range(40):
        won = rng.choice(np.array([-1, 0, 0, 0, 1, 2, 3], dtype=np.int8), 60)
        opinions.react(won)
        states = [protocol.react(state, int(w)) for state, w in zip(states, won, strict=True)]
        assert opinions.answers.tolist() == [protocol.class_of(state) for state in states]
        decided = [protocol.decided(state) for state in states]
        assert opinions.asking == (not all(decided))
        expected = [
            protocol.class_of(state) if done or not protocol.decides else -1
            for state, done in zip(states, decided, strict=True)
        ]
        assert opinions.decisions.tolist() == expected

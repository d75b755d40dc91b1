from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from folkmoot import Slush, Snowball, Snowflake
from folkmoot.protocols.machine import tabulate


@pytest.mark.parametrize(
    ("protocol", "colours", "states"),
    [
        (Slush(5, 3), 2, 3),
        (Slush(5, 3), 4, 5),
        (Snowflake(5, 3, 4), 2, 1 + 2 * 5),  # voteless; per colour streaks 0..3 and decided
        (Snowflake(5, 3, 1), 3, 1 + 3 * 2),
    ],
)
def test_every_state_is_there_once(protocol: Any, colours: int, states: int) -> None:
    assert len(tabulate(protocol, colours).after) == states


@pytest.mark.parametrize("protocol", [Snowflake(5, 3, 3), Snowball(5, 3, 3), Snowball(5, 3, 200)])
def test_a_decided_node_never_changes(protocol: Any) -> None:
    machine = tabulate(protocol, 3)
    assert machine.decides
    decided = np.flatnonzero(machine.asking == 0)
    assert decided.size
    for state in decided:
        assert (machine.after[state] == state).all()


@pytest.mark.parametrize("protocol", [Slush(5, 3), Snowflake(5, 3, 3), Snowball(5, 3, 3), Snowball(5, 3, 90)])
def test_every_walk_through_the_table_is_the_rule(protocol: Any) -> None:
    """With the wins counted by the walker, as the kernels do."""
    rng = np.random.default_rng(0)
    machine = tabulate(protocol, 4)
    for _ in range(200):
        vote = int(rng.integers(-1, 4))
        state, number = protocol.start(vote), machine.start[vote + 1]
        wins = [0] * 4
        for won in rng.choice([-1, 0, 1, 2, 3], p=[0.2, 0.3, 0.3, 0.1, 0.1], size=60).tolist():
            ahead = 0
            if won >= 0 and machine.asking[number]:
                wins[won] += 1
                held = machine.class_of[number]
                ahead = int(held < 0 or wins[won] > wins[held])
            state, number = protocol.react(state, won), machine.after[number, won + 1, ahead]
            assert machine.class_of[number] == protocol.class_of(state)
            assert machine.asking[number] == (not protocol.decided(state))


def test_too_many_states_are_refused() -> None:
    with pytest.raises(ValueError, match="Snowball with 60 classes has more than 5,000 states"):
        tabulate(Snowball(5, 3, 100), 60, most_states=5000)

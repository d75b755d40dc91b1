from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from folkmoot import Slush, Snowball, Snowflake
from folkmoot.simulation.machine import OFF_TABLE, tabulate


@pytest.mark.parametrize(
    ("protocol", "colours", "states"),
    [
        (Slush(5, 3), 2, 3),
        (Slush(5, 3), 4, 5),
        (Snowflake(5, 3, 4), 2, 1 + 2 * 5),  # uncoloured; per colour streaks 0..3 and decided
        (Snowflake(5, 3, 1), 3, 1 + 3 * 2),
    ],
)
def test_finite_protocols_close(protocol: Any, colours: int, states: int) -> None:
    machine = tabulate(protocol, colours, depth=50)
    assert machine.complete
    assert len(machine.after) == states


@pytest.mark.parametrize("protocol", [Snowflake(5, 3, 3), Snowball(5, 3, 3)])
def test_a_decided_node_never_changes(protocol: Any) -> None:
    machine = tabulate(protocol, 3, depth=12)
    assert machine.decides
    for state in np.flatnonzero(machine.decided):
        assert (machine.after[state] == state).all()


@pytest.mark.parametrize("protocol", [Slush(5, 3), Snowflake(5, 3, 3), Snowball(5, 3, 3)])
def test_every_walk_through_the_table_is_the_rule(protocol: Any) -> None:
    rng = np.random.default_rng(0)
    machine = tabulate(protocol, 3, depth=40)
    for _ in range(200):
        vote = int(rng.integers(-1, 3))
        state, number = protocol.start(vote), machine.start[vote + 1]
        for won in rng.integers(-1, 3, size=40).tolist():
            state, number = protocol.react(state, won), machine.after[number, won + 1]
            assert machine.colour[number] == protocol.colour(state)
            assert machine.decided[number] == protocol.decided(state)


def test_unbounded_counters_end_at_the_depth_asked_for() -> None:
    shallow, deep = (tabulate(Snowball(5, 3, 100), 2, depth=depth) for depth in (3, 9))
    assert (shallow.after == OFF_TABLE).any()
    assert len(deep.after) > len(shallow.after)


def test_too_many_states_are_refused() -> None:
    with pytest.raises(ValueError, match="too many states to tabulate"):
        tabulate(Snowball(5, 3, 100), 6, depth=30, most_states=5000)

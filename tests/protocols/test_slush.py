from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot import Slush
from folkmoot.votes import BLUE, NO_VOTE, RED
from support.strategies import queries


@pytest.mark.parametrize("colour", [NO_VOTE, RED, BLUE, 2])
def test_takes_the_colour_that_reaches_alpha_and_else_keeps_its_own(colour: int) -> None:
    rule = Slush(k=10, alpha=7)
    assert rule.update(colour, (3, 7, 0)) == BLUE
    assert rule.update(colour, (8, 2, 0)) == RED
    assert rule.update(colour, (0, 0, 10)) == 2
    assert rule.update(colour, (6, 4, 0)) == colour
    assert rule.update(colour, (0, 0, 0)) == colour  # nobody had an answer


@given(queries(), st.lists(st.integers(0, 20), min_size=2, max_size=4))
def test_relabelling_the_colours_relabels_the_answer(query: tuple[int, int], counts: list[int]) -> None:
    rule = Slush(*query)
    tally = []
    left = rule.k
    for count in counts:
        tally.append(min(count, left))
        left -= tally[-1]
    after = rule.update(0, tally)
    mirrored = rule.update(len(tally) - 1, tally[::-1])
    assert mirrored == len(tally) - 1 - after


@pytest.mark.parametrize(("k", "alpha"), [(10, 5), (10, 11), (9, 4), (1, 0)])
def test_threshold_outside_its_range(k: int, alpha: int) -> None:
    with pytest.raises(ValueError, match=f"alpha must satisfy k/2 < alpha <= k: got alpha={alpha}, k={k}"):
        Slush(k, alpha)


def test_is_a_value() -> None:
    assert Slush(10, 7) == Slush(k=10, alpha=7)
    assert hash(Slush(10, 7)) == hash(Slush(10, 7))
    with pytest.raises(TypeError, match=r"alpha must be an integer: got alpha=6\.5"):
        Slush(10, 6.5)  # type: ignore[arg-type]

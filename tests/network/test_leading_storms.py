"""Motions with leaders in storms, one or more of the members hostile: what is promised without them holds."""

from __future__ import annotations

import pytest

from support.network.leading_storms import DRAWN, OWN, play
from support.network.message_faults import played
from support.network.storms import Tally


def test_the_promises_hold_in_storms_with_leaders() -> None:
    """Against every member that misuses messages of leaders; seeds that are no multiple of 4 have one."""
    whole = Tally()
    for each in played([*OWN], 0, lambda seed, kind: play(4 * seed + 1, 7, [kind], compare=False)):
        whole.add(each)
    assert whole.decided > whole.inputs / 3, f"{whole}"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_the_promises_hold_in_hundreds_of_storms_with_leaders(part: int) -> None:
    whole = Tally()
    for i in range(60):
        whole.add(play(1000 + 60 * part + i, 6 + i % 6))
    assert whole.decided > 0.5 * whole.inputs, f"{whole}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", DRAWN)
def test_no_kind_of_member_keeps_the_others_from_deciding_with_leaders(kind: str) -> None:
    whole = Tally()
    for seed in [seed for seed in range(5000, 5040) if seed % 4]:
        whole.add(play(seed, 7, [kind]))
    assert whole.carried_both >= 0.9 * whole.carried_without, f"{whole}"

"""In storms of ``make test`` every new message is forged, replayed, oversized, late, withheld, two-faced."""

from __future__ import annotations

from typing import get_args

import pytest

from folkmoot.network.wire import messages as m
from support.network import epoch_storms, number_storms, review_storms
from support.network.message_faults import FAULTS, MESSAGES, Meddling, of_family, played

# Those of the hardened node, whose faults are in hostile_members.py, test_hostile.py and test_fuzz.py.
OLD = (
    m.Hello, m.Announce, m.Unknown, m.Fetch, m.Chunk, m.Commit, m.Pending, m.Marks, m.Reveal, m.Ask, m.Answer,
    m.Unready, m.Close, m.Want,
)  # fmt: skip
PLAYED = {
    "numbers": number_storms.FAULTY,
    "rosters": epoch_storms.QUICK,
    "check rows": review_storms.QUICK,
}


def test_every_message_that_is_new_has_every_fault() -> None:
    """By what the code has, not by a list: a message more fails here until its faults are in storms."""
    new = {*get_args(m.AnyMessage)} - {*OLD}
    assert new <= {message for messages in MESSAGES.values() for message in messages}
    for family, messages in MESSAGES.items():
        wanted = {f"{fault}: {message.__name__}" for message in messages for fault in FAULTS}
        assert {*of_family(family)} == wanted
        assert wanted <= {*PLAYED[family]}


def test_a_fault_for_which_there_never_was_a_message_fails() -> None:
    with pytest.raises(AssertionError, match="never a message for 'late: Labels'"):
        played(["late: Labels"], 0, lambda seed, _: seed)
    assert played(["replays"], 0, lambda seed, kind: (seed, kind)) == [(1, "replays")]


def test_a_fault_that_was_played_the_second_time_is_enough() -> None:
    def play(seed: int, kind: str) -> int:
        Meddling.done[kind] += seed > 1
        return seed

    assert played(["late: Labels", "two closes"], 0, play) == [1, 4, 37]

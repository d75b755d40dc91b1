"""A decided label is one that an honest participant voted for at first: by trying everything among few."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from folkmoot.arrays import Colours
from folkmoot.network.wire import messages as m
from folkmoot.network.wire.motion import Motion, read_header
from folkmoot.network.wire.packing import pack
from folkmoot.network.wire.verdict import verdict
from folkmoot.node.membership.roster import faults, quorum
from support.network.one_session import motion_of

STATES = list(product((-1, 0, 1), repeat=2))  # first vote and close; (-1, -1) is like having no close


def everything(n: int) -> tuple[Colours, Colours, int]:
    """First votes and closes, (participant, case), of all moots of n; the last ones, as many as may, lie.

    Participants of one kind can be told apart by nothing, so one order of each is enough.
    """
    honest = list(combinations_with_replacement(range(len(STATES)), n - faults(n)))
    lying = list(combinations_with_replacement(range(len(STATES)), faults(n)))
    cases = np.hstack(
        [
            np.repeat(np.array(honest, dtype=np.int8), len(lying), axis=0),
            np.tile(np.array(lying, dtype=np.int8).reshape(len(lying), -1), (len(honest), 1)),
        ]
    )
    told = np.array(STATES, dtype=np.int8)[cases]
    return told[:, :, 0].T, told[:, :, 1].T, n - faults(n)


def closes_of(motion: Motion, first: Colours, held: Colours) -> dict[int, m.Close]:
    return {
        place: m.Close(
            bytes(32), place, pack(held[place], motion.classes), bytes(32),
            pack(first[place], motion.classes), "", bytes(64),
        )
        for place in range(len(first))
    }  # fmt: skip


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7, 11])
def test_nothing_is_decided_that_no_honest_participant_voted_for(n: int) -> None:
    first, held, honest = everything(n)
    motion = motion_of(n, inputs=first.shape[1])
    decided = verdict(motion, n, closes_of(motion, first, held)).decisions
    voted = (first[:honest] == decided).any(axis=0)
    assert voted[decided >= 0].all()
    for colour in (0, 1):  # where all honest ones that voted did so alike, or none voted
        alike = ((first[:honest] == colour) | (first[:honest] == -1)).all(axis=0)
        assert (decided[alike] != 1 - colour).all()
    # The rule itself, counted once more; and it asks for no vote too many: f would not do.
    f, wrong = faults(n), np.zeros(first.shape[1], dtype=bool)
    for colour in (0, 1):
        signed, votes = (held == colour).sum(axis=0), (first == colour).sum(axis=0)
        assert ((decided == colour) == ((signed >= quorum(n)) & (votes > f))).all()
        wrong |= (signed >= quorum(n)) & (votes >= f) & ~(first[:honest] == colour).any(axis=0)
    assert wrong.any()


def test_who_adopts_a_label_counts_and_who_crashed_does_not_help() -> None:
    """Two of seven voted, three had no vote and hold the same at the end, two are gone: enough."""
    motion = motion_of(7, inputs=1)
    first = np.array([[0], [0], [-1], [-1], [-1], [0], [0]], dtype=np.int8)
    closes = closes_of(motion, first, np.zeros((7, 1), dtype=np.int8))
    assert verdict(motion, 7, {place: closes[place] for place in range(5)}).why_undecided() == [None]
    assert verdict(motion, 7, {place: closes[place] for place in range(1, 5)}).why_undecided() == [
        "fewer than 5 signed the same"
    ]
    first[1:] = -1
    closes = closes_of(motion, first, np.zeros((7, 1), dtype=np.int8))
    assert verdict(motion, 7, closes).why_undecided() == ["only 1 of 7 voted so at first, and 2 must"]
    del closes[0]  # a voter that crashed before it closed shows no vote
    assert verdict(motion, 7, closes).why_undecided() == ["0 of 7 voted so at first, and 2 must"]


def test_the_votes_of_proven_cheats_are_not_votes() -> None:
    motion = motion_of(11, inputs=1)
    first = np.array([[0]] * 3 + [[-1]] * 8, dtype=np.int8)
    closes = closes_of(motion, first, np.zeros((11, 1), dtype=np.int8))
    assert verdict(motion, 11, closes).decisions.tolist() == [0]
    found = verdict(motion, 11, closes, {2})
    assert found.decisions.tolist() == [-1]
    assert found.why_undecided() == ["only 2 of 11 voted so at first, and 3 must"]


@pytest.mark.parametrize(("asked", "needed"), [(0, 2), (1, 2), (2, 2), (3, 3), (7, 7), (8, 8)])
def test_a_motion_may_ask_for_more_first_votes_and_not_for_fewer(asked: int, needed: int) -> None:
    motion = motion_of(7, inputs=8, least_voters=asked)
    first = np.where(np.arange(7)[:, None] < np.arange(8), 0, -1).astype(np.int8)  # i votes on input i
    found = verdict(motion, 7, closes_of(motion, first, np.zeros((7, 8), dtype=np.int8)))
    assert found.least_voters == needed
    assert found.voters.tolist() == list(range(8))
    assert found.decisions.tolist() == [0 if votes >= needed else -1 for votes in range(8)]


def test_a_header_that_asks_for_nothing_more_is_as_short_as_before() -> None:
    plain, more = motion_of(7), motion_of(7, least_voters=3)
    assert plain.encoded()[0:3] == b"\xdc\x00\x13"  # an array of 19
    assert more.encoded()[0:3] == b"\xdc\x00\x14"
    assert read_header(more.encoded()).least_voters == 3
    assert read_header(plain.encoded()) == plain
    longer = b"\xdc\x00\x14" + plain.encoded()[3:] + b"\x00"
    with pytest.raises(ValueError, match="encoded in the one right way"):
        read_header(longer)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"least_voters": -1}, "least_voters must be 0 to 4,096: got -1"),
        ({"least_voters": 4097}, "least_voters must be 0 to 4,096: got 4097"),
        ({"least_voters": 2, "trust": True}, "least_voters must not be given with trust"),
    ],
)
def test_headers_that_ask_for_too_much(changes: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        motion_of(7, **changes).check()

"""Votes as bits, against a string of bits written out by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest

from folkmoot.network.wire.packing import pack, packed_size, unpack


def by_hand(votes: list[int], classes: int) -> bytes:
    """A byte that says whether some are uncoloured, then each vote in as few bits as its values need."""
    open_votes = -1 in votes
    values = classes + open_votes
    width = 1
    while 2**width < values:
        width += 1
    number = sum((classes if vote < 0 else vote) << (width * place) for place, vote in enumerate(votes))
    return bytes([open_votes]) + number.to_bytes(-(-width * len(votes) // 8), "little")


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 8, 100, 127])
def test_packed_votes_are_what_the_page_on_the_wire_says(classes: int) -> None:
    rng = random.Random(classes)
    for least in (0, -1):
        for inputs in (1, 2, 7, 8, 9, 64, 101):
            votes = [rng.randint(least, classes - 1) for _ in range(inputs)]
            packed = pack(np.array(votes, dtype=np.int8), classes)
            assert packed == by_hand(votes, classes)
            assert len(packed) == packed_size(inputs, classes, open_votes=-1 in votes)
            assert unpack(packed, inputs, classes).tolist() == votes


def test_a_vote_has_one_form_only() -> None:
    """Every byte string of the right length is refused, or is what ``pack`` makes of the votes in it."""
    for classes, inputs in [(2, 3), (3, 2), (2, 7)]:
        accepted = set()
        for flag in range(3):
            for value in range(256):
                data = bytes([flag, value])
                try:
                    votes = unpack(data, inputs, classes)
                except ValueError:
                    continue
                assert pack(votes, classes) == data
                accepted.add(tuple(votes.tolist()))
        fitting = {1 + flag for flag in (0, 1) if packed_size(inputs, classes, open_votes=bool(flag)) == 2}
        whole = (classes**inputs if 1 in fitting else 0) + (
            (classes + 1) ** inputs - classes**inputs if 2 in fitting else 0
        )
        assert len(accepted) == whole


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "must begin with 0 or 1"),
        (b"\x02\x00", "must begin with 0 or 1"),
        (b"\x00", "another length"),
        (b"\x00\x00\x00", "another length"),
        (b"\x00\x10", "zero bits"),
        (b"\x01\x00", "none is"),
        (b"\x01\xfe", "colours below 2"),
    ],
)
def test_what_is_no_vote_on_four_inputs_says_why(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        unpack(data, 4, 2)

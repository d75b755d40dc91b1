"""What terms and headers are refused, each with the option that is wrong."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from folkmoot.checks import ArgumentError
from folkmoot.node.session.header import Header, read_header
from folkmoot.node.session.terms import Terms

TWO = ("a", "b")
HEADER = Header(bytes(32), 0, bytes(16), 0.0, Terms(labels=TWO), 3)


@pytest.mark.parametrize(
    "given",
    [
        {"labels": TWO},
        {"labels": TWO, "rule": "dawid-skene", "coin": True, "least": 4},
        {"labels": TWO, "rule": "weighted", "weights": (1, 2, 0, 4)},
        {"answers": "probabilities", "labels": TWO, "rule": "log"},
        {"answers": "numbers", "rule": "median", "step": 0.5},
        {"labels": TWO, "believe": "own", "rows": 10},
        {"answers": "numbers", "believe": "own"},
        {"labels": TWO, "protocol": "slush", "k": 3, "alpha": 2, "weights": (1, 2, 0, 4)},
        {"labels": TWO, "protocol": "snowball", "alpha": "local", "beta": 5},
    ],
    ids=lambda given: " ".join(given),
)
def test_terms_that_members_vote_on(given: dict[str, Any]) -> None:
    terms = Terms.of(given)
    terms.check(4)
    header = msgspec.structs.replace(HEADER, terms=terms)
    assert read_header(header.encoded(), 4) == header


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"labels": ("a",)}, "labels"),
        ({"labels": ("a", "a")}, "labels"),
        ({"labels": TWO, "rule": "mean"}, "rule"),
        ({"labels": TWO, "rule": "weighted"}, "weights"),
        ({"labels": TWO, "weights": (1, 1, 1, 1)}, "weights"),
        ({"labels": TWO, "rule": "weighted", "weights": (1, 1)}, "weights"),
        ({"labels": TWO, "rule": "weighted", "weights": (0, 0, 0, 0)}, "weights"),
        ({"labels": TWO, "least": 5}, "least"),
        ({"labels": TWO, "seconds": 0.5}, "seconds"),
        ({"labels": TWO, "seconds": float("nan")}, "seconds"),
        ({"labels": TWO, "window_share": 0.9}, "window_share"),
        ({"answers": "numbers", "labels": TWO}, "labels"),
        ({"answers": "numbers", "coin": True}, "coin"),
        ({"labels": TWO, "step": 0.5}, "step"),
        ({"answers": "numbers", "step": 0.0}, "step"),
        ({"labels": TWO, "rows": 3}, "rows"),
        ({"labels": TWO, "believe": "own", "rule": "dawid-skene"}, "rule"),
        ({"labels": TWO, "believe": "own", "rows": 5000}, "rows"),
        ({"labels": TWO, "believe": "own", "protocol": "slush"}, "believe"),
        ({"labels": TWO, "k": 3}, "k"),
        ({"labels": TWO, "protocol": "paxos"}, "protocol"),
        ({"labels": TWO, "protocol": "slush", "k": 3, "alpha": 1}, "alpha"),
        ({"labels": TWO, "protocol": "slush", "rounds": 0}, "rounds"),
        ({"answers": "numbers", "protocol": "slush"}, "protocol"),
        ({"labels": tuple(map(str, range(128))), "protocol": "slush"}, "labels"),
        ({"labels": tuple(map(str, range(100))), "protocol": "snowball"}, "protocol"),
        ({"labels": TWO, "believe": "me"}, "believe"),
        ({"labels": TWO, "alpha": "much"}, "alpha"),
        ({"labels": TWO, "coin": 3}, "coin"),
        ({"labels": TWO, "colour": 3}, None),
    ],
    ids=str,
)
def test_terms_that_are_none(given: dict[str, Any], named: str | None) -> None:
    with pytest.raises(ArgumentError) as refused:
        Terms.of(given).check(4)
    if named is not None:
        assert f"--{named}" in refused.value.named({named: f"--{named}"})


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"inputs": 0}, "1 to 100,000 inputs"),
        ({"asker": 4}, "the asker"),
        ({"created": float("inf")}, "the time a number"),
        ({"dtype": "<U9"}, "columns of numbers"),
        ({"chunks": (bytes(32),) * 2}, "whole chunks"),
        ({"columns": 1 << 18}, "inputs of a chunk must have at most"),
        ({"columns": 1 << 62}, "inputs of a chunk must have at most"),
        ({"columns": 1 << 16, "chunk_rows": 1 << 62}, "inputs of a chunk must have at most"),
        ({"rows": 1}, "validation rows"),
        ({"shown": bytes(32)}, "validation rows"),
        ({"seal": bytes(32)}, "an invitation must be to show rows"),
    ],
    ids=lambda what: str(what)[:20],
)
def test_headers_that_are_none(changes: dict[str, Any], what: str) -> None:
    header = msgspec.structs.replace(HEADER, **changes)
    with pytest.raises(ValueError, match=what):
        read_header(header.encoded(), 4)


def test_an_invitation_is_of_as_many_rows_as_its_terms_say() -> None:
    terms = Terms(labels=TWO, believe="own", rows=8)
    fine = msgspec.structs.replace(HEADER, terms=terms, inputs=8, columns=100, seal=bytes(32))
    assert read_header(fine.encoded(), 4).polls == 1
    for changes in ({"inputs": 9}, {"seal": bytes(31)}, {"columns": 10_000}, {"rows": 2}):
        with pytest.raises(ValueError, match=r"invitation|validation rows"):
            read_header(msgspec.structs.replace(fine, **changes).encoded(), 4)


def test_a_header_is_encoded_in_one_way() -> None:
    with pytest.raises(ValueError, match="one right way"):
        read_header(HEADER.encoded().replace(b"\xa3<f8", b"\xd9\x03<f8"), 4)


@pytest.mark.parametrize(
    ("n", "labels", "given", "most"),
    [
        (4, 2, {}, 100_000),
        (101, 2, {}, 8_000_000 // 101),
        (7, 2, {"rule": "dawid-skene"}, 100_000),
        (7, 8, {"rule": "dawid-skene"}, 8_000_000 // (7 * 4 * 7)),
        (101, 8, {"rule": "dawid-skene"}, 8_000_000 // (101 * 4 * 8)),
        (5, 2, {"believe": "own"}, 100_000),
        (80, 100, {"believe": "own"}, 8_000_000 // (80 * 4 * 100)),
        (101, 8, {"answers": "probabilities"}, 8_000_000 // (101 * 8)),
    ],
)
def test_a_motion_is_no_larger_than_its_answer_can_be_computed_at_once(
    n: int, labels: int, given: dict[str, Any], most: int
) -> None:
    terms = Terms(labels=tuple(map(str, range(labels))), **given)
    msgspec.structs.replace(HEADER, terms=terms, inputs=most).check(n)
    with pytest.raises(ValueError, match=f"1 to {min(most, 100_000):,} inputs"):
        msgspec.structs.replace(HEADER, terms=terms, inputs=most + 1).check(n)

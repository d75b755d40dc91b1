"""Which motions a node takes part in, and what it says about the others."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from folkmoot.node.service.policy import Policy
from folkmoot.node.session.header import Header
from folkmoot.node.session.terms import LOCAL, Terms

ANYTHING = Policy(
    least_alpha=1, least_k=1, most_rounds=10_000, least_seconds=1.0, most_labels=5000,
    most_header_bytes=1 << 20, known_labels=False,
)  # fmt: skip
TALK = {"protocol": "slush", "k": 4, "alpha": 3}


def header(inputs: int = 5, **terms: Any) -> Header:
    return Header(bytes(32), 0, bytes(16), 0.0, Terms(**{"labels": ("a", "b")} | terms), inputs)


@pytest.mark.parametrize(
    ("terms", "why"),
    [
        ({}, None),
        (TALK, None),
        (TALK | {"k": 2, "alpha": 2}, "k must be at least 3 in a moot of 7: got k=2"),
        (TALK | {"k": 3, "alpha": 2}, "alpha must be at least 3 in a moot of 7: got alpha=2"),
        (TALK | {"k": 3, "alpha": LOCAL}, "got 'local' with k=3, which can be 2"),
        (TALK | {"alpha": LOCAL}, None),
        (TALK | {"rounds": 500}, None),
        (TALK | {"rounds": 501}, "rounds must be at most 500: got 501"),
        ({"seconds": 2.0}, None),
        ({"seconds": 1.9}, "the deadline must be at least 2 s away: got 1.9 s"),
        ({"labels": tuple(map(str, range(100)))}, None),
        ({"labels": tuple(map(str, range(101)))}, "a motion may name 100 labels at the most: got 101"),
    ],
)
def test_terms_within_and_beyond_the_policy(terms: dict[str, Any], why: str | None) -> None:
    said = Policy().objection(header(**terms), 500, 7)
    assert said is None if why is None else said is not None and said.endswith(why)
    assert ANYTHING.objection(header(**terms), 500, 7) is None


def test_long_headers_many_inputs_and_strange_labels() -> None:
    assert Policy().objection(header(), 262_144, 7, ["b", "c"]) is None
    assert Policy().objection(header(), 262_145, 7) == (
        "the header of a motion may have 262,144 bytes at the most: got 262,145"
    )
    assert (
        Policy(most_inputs=4).objection(header(), 500, 7) == "a motion may hold 4 inputs at the most: got 5"
    )
    unknown = "none of the labels is one that the model of this node knows"
    assert Policy().objection(header(), 500, 7, ["x", "y"]) == unknown
    assert ANYTHING.objection(header(), 500, 7, ["x", "y"]) is None


def test_a_talk_by_default_is_no_weapon_in_moots_of_every_size() -> None:
    for n in range(2, 300):
        f = max(f for f in range(n) if Fraction(f) < Fraction(n, 3))
        assert Policy().least(n) == (min(f + 1, 6), min(3, n - 1))
        for alpha in (0, LOCAL):
            assert Policy().objection(header(protocol="slush", alpha=alpha), 500, n) is None


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({"rounds": 5}, "'rounds' must be one of least_alpha, least_k, most_rounds, least_seconds"),
        ({"most_rounds": 0}, "most_rounds must be a whole number >= 1: got 0"),
        ({"most_rounds": 5.5}, "most_rounds must be a whole number: got 5.5"),
        ({"most_rounds": True}, "most_rounds must be a whole number: got True"),
        ({"least_seconds": 0.5}, "least_seconds must be a number >= 1.0: got 0.5"),
        ({"least_seconds": float("nan")}, "least_seconds must be a number >= 1.0: got nan"),
        ({"least_seconds": "2s"}, "least_seconds must be a number: got '2s'"),
        ({"known_labels": 1}, "known_labels must be true or false: got 1"),
        (7, "policy must be a table"),
    ],
)
def test_a_policy_that_is_none(table: object, why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("[", r"\[")):
        Policy.read(table)


def test_a_policy_that_is_read() -> None:
    assert Policy.read({}) == Policy()
    read = Policy.read({"least_alpha": 4, "least_seconds": 10, "known_labels": False})
    assert read == Policy(least_alpha=4, least_seconds=10, known_labels=False)

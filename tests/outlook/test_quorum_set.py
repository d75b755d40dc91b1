"""QuorumSet: what it takes, what it refuses, and the form of public lists."""

from __future__ import annotations

import re
from typing import cast

import pytest
from hypothesis import given, settings

from folkmoot.outlook import QuorumSet
from outlook import brute_force as brute
from outlook.systems import names, quorum_sets


@settings(max_examples=60, deadline=None, derandomize=True)
@given(quorum_sets(names(5), depth=3))
def test_satisfied_and_blocked_by_all_subsets(quorum_set: QuorumSet) -> None:
    everyone = frozenset(names(5))
    for nodes in brute.subsets(everyone):
        assert quorum_set.satisfied_by(nodes) == brute.enough(quorum_set, nodes)
        assert quorum_set.blocked_by(nodes) == (not brute.enough(quorum_set, everyone - nodes))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(quorum_sets(names(6), depth=4))
def test_written_and_read(quorum_set: QuorumSet) -> None:
    assert QuorumSet.from_dict(quorum_set.to_dict()) == quorum_set


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: QuorumSet(0, ["a"]), ValueError, "threshold must satisfy threshold >= 1: got threshold=0"),
        (lambda: QuorumSet(3, ["a", "b"]), ValueError, "got threshold=3 of 2"),
        (lambda: QuorumSet(cast(int, 1.5), ["a", "b"]), TypeError, "threshold must be an integer"),
        (lambda: QuorumSet(1, ["a", "a"]), ValueError, "names nobody twice: got 'a' again"),
        (lambda: QuorumSet(1, ["a"], [QuorumSet(1, ["a"])]), ValueError, "names nobody twice"),
        (lambda: QuorumSet(1, "ab"), TypeError, "write ['ab']"),
        (lambda: QuorumSet(1, [""]), TypeError, "a member is named by a text"),
        (lambda: QuorumSet(1, [], [cast(QuorumSet, 3)]), TypeError, "inner must hold quorum sets: got 3"),
        (lambda: nested(5), ValueError, "may be nested 4 levels deep: got 5"),
    ],
)
def test_refused(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        make()  # type: ignore[operator]


def nested(levels: int) -> QuorumSet:
    made = QuorumSet(1, ["a"])
    for _ in range(levels - 1):
        made = QuorumSet(1, [], [made])
    return made


def test_four_levels_are_fine() -> None:
    assert nested(4).depth == 4
    assert nested(4).satisfied_by({"a"})


def test_a_list_may_say_never() -> None:
    never = QuorumSet.from_dict({"threshold": 9007199254740991, "validators": ["a"]})
    assert not never.satisfiable
    inside = QuorumSet.from_dict(
        {"threshold": 1, "validators": ["b"], "innerQuorumSets": [{"threshold": 2, "validators": ["a"]}]}
    )
    assert inside.satisfied_by({"b"})
    assert not inside.satisfied_by({"a"})
    assert QuorumSet.from_dict(never.to_dict()) == never

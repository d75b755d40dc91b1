"""Which motions a node is willing to play, and what it says about the others."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest

from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.checks import default_query
from folkmoot.network.service.policy import Policy
from folkmoot.network.storage.account import account, find
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import LOCAL, Motion
from support.network.moot_in_memory import Moot

ANYTHING = Policy(
    least_alpha=1, least_k=1, most_rounds=10_000, least_seconds=1.0, most_inputs=3_600_000,
    most_labels=127, most_header_bytes=1 << 20, known_labels=False,
)  # fmt: skip


@pytest.fixture(scope="module")
def motion() -> Motion:
    return Moot(np.zeros((7, 4), dtype=np.int8), 0).motion(0, k=4, alpha=3)[0]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, None),
        ({"k": 3, "alpha": 2}, None),
        ({"k": 2, "alpha": 2}, "k must be at least 3 in a moot of 7: got k=2"),
        ({"k": 3, "alpha": 1}, "alpha must be at least 2 in a moot of 7: got alpha=1"),
        ({"k": 3, "alpha": LOCAL}, None),
        ({"rounds": 500}, None),
        ({"rounds": 501}, "rounds must be at most 500: got 501"),
        ({"seconds": 2.0}, None),
        ({"seconds": 1.9}, "the deadline must be at least 2 s away: got 1.9 s"),
        ({"inputs": 100_000}, None),
        ({"inputs": 100_001}, "a motion may hold 100,000 inputs at the most: got 100,001"),
        ({"labels": tuple(map(str, range(100)))}, None),
        ({"labels": tuple(map(str, range(101)))}, "a motion may name 100 labels at the most: got 101"),
    ],
)
def test_parameters_within_and_beyond_the_policy(
    motion: Motion, changes: dict[str, Any], why: str | None
) -> None:
    changed = msgspec.structs.replace(motion, **changes)
    assert Policy().objection(changed, 500, 7) == why
    assert ANYTHING.objection(changed, 500, 7) is None


def test_long_headers_and_strange_labels(motion: Motion) -> None:
    assert Policy().objection(motion, 262_144, 7, ["b", "c"]) is None
    assert Policy().objection(motion, 262_145, 7) == (
        "the header of a motion may have 262,144 bytes at the most: got 262,145"
    )
    unknown = "none of the labels is one that the model of this node knows"
    assert Policy().objection(motion, 500, 7, ["x", "y"]) == unknown
    assert ANYTHING.objection(motion, 500, 7, ["x", "y"]) is None


def test_the_least_alpha_and_k_of_moots_of_every_size(motion: Motion) -> None:
    for n in range(2, 300):
        f = max(f for f in range(n) if Fraction(f) < Fraction(n, 5))
        assert Policy().least(n) == (min(f + 1, 6), min(3, n - 1))
        k, alpha = default_query(n)
        for threshold in (alpha, LOCAL):  # what is asked by default is played, in small moots too
            default = msgspec.structs.replace(motion, k=k, alpha=threshold)
            assert Policy().objection(default, 500, n) is None
    few = msgspec.structs.replace(motion, k=5, alpha=LOCAL)
    assert Policy().objection(few, 500, 25) == (
        "alpha must be at least 5 in a moot of 25: got 'local' with k=5, which can be 3"
    )


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({"rounds": 5}, "'rounds' must be one of least_alpha, least_k, most_rounds, least_seconds"),
        ({"most_rounds": 0}, "most_rounds must be a whole number from 1 to 10,000: got 0"),
        ({"most_rounds": 5.5}, "most_rounds must be a whole number from 1 to 10,000: got 5.5"),
        ({"most_rounds": True}, "most_rounds must be a whole number from 1 to 10,000: got True"),
        ({"least_seconds": 0.5}, "least_seconds must be a number from 1 to 86,400: got 0.5"),
        ({"least_seconds": float("nan")}, "least_seconds must be a number from 1 to 86,400: got nan"),
        ({"least_seconds": "2s"}, "least_seconds must be a number from 1 to 86,400: got '2s'"),
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


FEW = {"k": 1, "alpha": 1, "rounds": 1500}


@pytest.mark.parametrize(
    ("policy", "labels", "changes", "why"),
    [
        (Policy(), None, FEW, "k must be at least 3 in a moot of 7: got k=1"),
        (Policy(least_k=1), None, FEW, "alpha must be at least 2 in a moot of 7: got alpha=1"),
        (Policy(least_k=1, least_alpha=1), None, FEW, "rounds must be at most 500: got 1,500"),
        (
            Policy(least_k=1, least_alpha=1, most_rounds=1500),
            ("a", "b"),
            FEW | {"labels": ("x", "y")},
            "none of the labels is one that the model of this node knows",
        ),
    ],
)
def test_parameters_are_no_weapon(policy: Policy, labels: Any, changes: dict[str, Any], why: str) -> None:
    """Six of one mind, or without votes, and a seventh that always answers the other label."""
    votes = np.zeros((7, 8), dtype=np.int8)
    if labels is not None:
        votes[:6] = -1  # a model that knows none of the labels has no votes
    hall = Moot(
        votes, 1, adversaries={6: PerfectlyMalicious()},
        policies=dict.fromkeys(range(6), policy) | {6: ANYTHING},
        labels={} if labels is None else dict.fromkeys(range(6), labels),
    )  # fmt: skip
    hall.put(6, seconds=120.0, **changes)
    hall.network.run(130.0)
    ((name, (session, _)),) = hall.over.items()
    assert not (session.verdict().decisions == 1).any()
    for place in range(6):
        assert not hall.storages[place].knows(name)
    told = account(hall.storages[6], find(hall.storages[6], name.hex()))
    assert told.refused == {f"p00{place}": why for place in range(6)}


def test_the_others_go_on_without_one_that_refuses() -> None:
    """They are told so, and do not wait for its votes: 4 s in a motion of 30 s."""
    hall = Moot(np.zeros((6, 8), dtype=np.int8), 1, labels={3: ("x", "y")})
    hall.put(0)
    hall.network.run(60.0)
    ((name, (session, summary)),) = hall.over.items()
    assert summary["seconds"] < 2.0
    assert session.verdict().decisions.tolist() == [0] * 8
    assert list(session.refusals) == [3]
    told = [account(hall.storages[place], find(hall.storages[place], name.hex())) for place in (0, 1)]
    assert [each.silent for each in told] == [["p003"], ["p003"]]
    assert told[0].refused == told[1].refused


@pytest.mark.parametrize("refusing", [3, 5])
def test_nobody_waits_for_the_deadline_if_so_many_refuse_that_nothing_can_be_decided(refusing: int) -> None:
    """Four of six must sign the same. The motion has an hour."""
    hall = Moot(np.zeros((6, 8), dtype=np.int8), 1, labels=dict.fromkeys(range(6 - refusing, 6), ("x", "y")))
    hall.put(0, seconds=3600.0)
    hall.network.run(4000.0)
    ((name, (session, summary)),) = hall.over.items()
    assert summary["seconds"] < 30.0
    assert session.verdict().undecided == 8
    told = account(hall.storages[0], find(hall.storages[0], name.hex()))
    assert len(told.refused) == refusing
    for place in range(6 - refusing):  # nor do the others that take part
        stored = find(hall.storages[place], name.hex())
        assert stored.closed is not None
        assert stored.summary["seconds"] < 30.0


def test_two_that_refuse_leave_a_quorum_which_decides() -> None:
    hall = Moot(np.zeros((6, 8), dtype=np.int8), 1, labels=dict.fromkeys((4, 5), ("x", "y")))
    hall.put(0)
    hall.network.run(60.0)
    ((_, (session, summary)),) = hall.over.items()
    assert session.verdict().decisions.tolist() == [0] * 8
    assert summary["rounds"] > 5


def test_nobody_refuses_for_another() -> None:
    hall = Moot(np.zeros((6, 8), dtype=np.int8), 1)
    hall.put(0)
    hall.network.run(0.0)
    node = hall.nodes[0]
    assert node is not None
    ((name, running),) = node._running.items()
    said = statements.refusal(name, 3, "no")
    genuine = m.Refuse(name, 3, "no", hall.keys[3].sign(said))
    forged = m.Refuse(name, 3, "no", hall.keys[5].sign(said))
    for teller, refuse in (
        (5, genuine),
        (5, forged),
        (3, forged),
        (5, m.Refuse(name, 5, "no", forged.signature)),
    ):
        node.received(teller, m.encode(refuse))
        assert running.session.minutes.refusals == {}
    node.received(3, m.encode(genuine))
    assert running.session.minutes.refusals == {3: "no"}
    hall.network.run(60.0)  # it takes part after all
    assert running.session.refusals == {}
    assert 3 in running.session.closes


def test_what_is_refused_is_not_asked_about_again_and_again() -> None:
    hall = Moot(np.zeros((6, 8), dtype=np.int8), 1, labels={3: ("x", "y")})
    node = hall.nodes[3]
    assert node is not None
    hall.put(0)
    hall.network.run(60.0)
    assert node.counts["refused_policy"] == 1
    assert not node._asked_for


def test_a_node_does_not_put_what_it_would_not_play() -> None:
    hall = Moot(np.zeros((7, 8), dtype=np.int8), 1, labels={0: ("x", "y")})
    node = hall.nodes[0]
    assert node is not None
    motion, inputs = hall.motion(0, k=1, alpha=1)
    with pytest.raises(ValueError, match=r"k must be at least 3 in a moot of 7: got k=1; others refuse"):
        node.propose(motion, inputs, lambda *_: None)
    hall.put(0, k=3, alpha=2)  # labels that only others know may be asked about
    hall.network.run(60.0)
    assert len(hall.over) == 1


def test_an_asker_is_told_why_there_is_no_place() -> None:
    hall = Moot(np.zeros((6, 8), dtype=np.int8), 1)
    hall.storages[3].has_room = False
    hall.put(0)
    hall.network.run(60.0)
    ((_, (session, _)),) = hall.over.items()
    assert session.refusals == {3: "the disk of this node is nearly full"}

"""Every search beside its definition over all subsets, on systems drawn at random and some worked by hand."""

from __future__ import annotations

import random
import tracemalloc
from itertools import islice
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot.outlook import QuorumSet
from folkmoot.outlook.search import Clock, NotFinishedError, minimal_quorums
from folkmoot.outlook.system import QuorumSystem
from outlook import brute_force as brute
from outlook.systems import Sets, organisations, systems

DRAWS = 150


@settings(max_examples=DRAWS, deadline=None, derandomize=True)
@given(systems())
def test_minimal_quorums_and_blocking_sets_are_those_of_the_definitions(sets: Sets) -> None:
    system = QuorumSystem(sets)
    assert_same(system.minimal_quorums(), brute.least(brute.quorums(sets)))
    blocking = brute.least(brute.blocking(sets))
    assert_same(system.minimal_blocking_sets(), blocking if brute.quorums(sets) else set())
    assert system.top_tier() == frozenset().union(*brute.least(brute.quorums(sets)))


@settings(max_examples=DRAWS, deadline=None, derandomize=True)
@given(systems())
def test_splitting_sets_and_disjoint_quorums_are_those_of_the_definitions(sets: Sets) -> None:
    system = QuorumSystem(sets)
    assert_same(system.minimal_splitting_sets(), brute.least(brute.shared_by_two(sets)))
    pair = system.disjoint_quorums()
    assert (pair is not None) == brute.disjoint(sets)
    if pair is not None:
        least = brute.least(brute.quorums(sets))
        assert pair[0] in least
        assert pair[1] in least
        assert not pair[0] & pair[1]
    named = {name for each in sets.values() if each is not None for name in each.everyone()} & set(sets)
    liars = [each for each in brute.subsets(named) if each and brute.disjoint(sets, each)]
    fewest = min((len(each) for each in liars), default=0)
    few = {each for each in liars if len(each) == fewest}
    assert_same(system.smallest_misstating(2), few if fewest <= 2 else set())


@settings(max_examples=DRAWS, deadline=None, derandomize=True)
@given(systems(most=5), st.data())
def test_what_one_asks_of_a_set_of_nodes_is_what_the_definitions_say(sets: Sets, data: st.DataObject) -> None:
    system = QuorumSystem(sets)
    nodes = frozenset(data.draw(st.lists(st.sampled_from(sorted(sets)), unique=True)))
    found = brute.quorums(sets)
    assert system.is_quorum(nodes) == (nodes in found)
    assert system.greatest_quorum(nodes) == frozenset().union(*(each for each in found if each <= nodes))
    assert system.is_blocking(nodes) == all(each & nodes for each in found)
    assert system.is_splitting(nodes) == any(each <= nodes for each in brute.shared_by_two(sets))
    assert system.splits_by_lying(nodes) == brute.disjoint(sets, nodes)
    assert system.intact(nodes) == brute.intact(sets, nodes)


def assert_same(found: list[frozenset[str]], expected: set[frozenset[str]]) -> None:
    assert len(found) == len(set(found)), "something came twice"
    assert set(found) == expected
    assert [len(each) for each in found] == sorted(len(each) for each in expected)


@pytest.mark.parametrize(
    ("many", "inside", "of", "outside"), [(7, 2, 3, 5), (4, 2, 3, 3), (5, 1, 2, 4), (3, 3, 5, 2)]
)
def test_organisations_have_as_many_as_one_counts_by_hand(
    many: int, inside: int, of: int, outside: int
) -> None:
    """An office speaks by ``inside`` of its nodes, and is silent without of - inside + 1 of them."""
    system = QuorumSystem(organisations(many, inside, of, outside, followers=150))
    quorums = system.minimal_quorums()
    assert len(quorums) == comb(many, outside) * comb(of, inside) ** outside
    assert {len(each) for each in quorums} == {outside * inside}
    silent, offices = of - inside + 1, many - outside + 1
    blocking = system.minimal_blocking_sets()
    assert len(blocking) == comb(many, offices) * comb(of, silent) ** offices
    assert {len(each) for each in blocking} == {offices * silent}
    # two quorums share at least 2 outside - many offices, and of each at least 2 inside - of nodes
    common, nodes = 2 * outside - many, 2 * inside - of
    splitting = system.minimal_splitting_sets()
    if nodes > 0:
        assert len(splitting) == comb(many, common) * comb(of, nodes) ** common
        assert {len(each) for each in splitting} == {common * nodes}
        assert system.disjoint_quorums() is None
    else:
        assert splitting == [frozenset()]
        assert system.disjoint_quorums() is not None
    assert system.top_tier() == frozenset(name for name in system.names if "follower" not in name)


def test_one_quorum_in_all_quorums_splits_those_who_follow_it() -> None:
    """Everybody follows ``a``: if it lies, ``b`` and ``c`` may hear different things."""
    sets = {"a": QuorumSet(1, ["a"]), "b": QuorumSet(2, ["a", "b"]), "c": QuorumSet(2, ["a", "c"])}
    assert QuorumSystem(sets).minimal_splitting_sets() == [frozenset("a")]


def test_a_liar_need_not_keep_to_its_own_set() -> None:
    """``x`` waits for all, but if it lies it tells ``a`` and ``b`` what each wants: they share only it."""
    sets = {
        "a": QuorumSet(2, ["a", "x"]),
        "b": QuorumSet(2, ["b", "x"]),
        "x": QuorumSet(3, ["a", "b", "x"]),
    }
    system = QuorumSystem(sets)
    assert system.minimal_splitting_sets() == []
    assert system.splits_by_lying(["x"])
    assert system.intact(["x"]) == frozenset()


def test_ten_thousand_nodes_that_wait_in_a_row_are_told_apart_at_once() -> None:
    """Each follows the one before; the first three are a quorum, and they alone are searched."""
    three = QuorumSet(2, ["0", "1", "2"])
    sets = {str(i): three if i < 3 else QuorumSet(1, [str(i - 1)]) for i in range(10_000)}
    system = QuorumSystem(sets)
    assert system.cores() == [frozenset("012")]
    assert len(system.minimal_quorums()) == 3
    assert len(system.greatest_quorum()) == 10_000
    assert system.is_blocking(["0", "1"])
    shuffled = random.Random(1).sample(sorted(sets), len(sets))  # the row falls at once in any order
    assert QuorumSystem({name: sets[name] for name in shuffled}).is_blocking(["0", "1"])
    # Whoever is followed can tell its follower anything.
    assert len(system.smallest_misstating(1)) == 9_999


def test_sets_of_like_nodes_come_one_by_one() -> None:
    """There are 2.7 million of them: the time that a search is given ends it before they fill the memory."""
    half = QuorumSet(12, [str(i) for i in range(24)])
    system = QuorumSystem(dict.fromkeys(half.members, half))
    assert next(minimal_quorums(system._bits, Clock()))  # what is imported then is not counted
    tracemalloc.start()
    found = list(islice(minimal_quorums(system._bits, Clock()), 1000))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(set(found)) == 1000
    assert most < 1 << 20


def test_time_that_is_over_is_said() -> None:
    with pytest.raises(NotFinishedError, match="not finished in 0 s; give it more time"):
        QuorumSystem(organisations(7, 2, 3, 5)).minimal_quorums(seconds=0)


def test_an_unknown_name_is_named() -> None:
    with pytest.raises(ValueError, match="no node is called 'zoe'"):
        QuorumSystem({"a": None}).is_quorum(["zoe"])

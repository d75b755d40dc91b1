"""Two intact nodes never decide differently, and can always still decide: every reachable state is looked
at.

One input, two labels, counters 1 and 2, timers at any moment, at most one liar that says anything to
anybody.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import islice, permutations
from typing import Any

import numpy as np
import pytest

from folkmoot.outlook import ballots
from folkmoot.outlook.analysis import analyse
from outlook.exploring import BITS, Explored, Local, Rules, explore, local_table, stuck
from outlook.small_systems import GREATEST, LIAR, System, among, greatest, stands_for, systems


@cache
def table(counters: int) -> Local:
    return local_table(counters)


@cache
def whole(weights: tuple[int, ...]) -> Explored:
    """Every state of the most permissive rules, under all names."""
    return explore(table(2), greatest(weights)._replace(alike=()), (1 << len(weights)) - 1)


def everyone(rules: Rules) -> int:
    return (1 << rules.nodes) - 1


def of_intact(system: System) -> tuple[Rules, Rules] | None:
    """The rules among its intact nodes, the others lying, and the others silent; None if fewer than two."""
    intact = system.intact()
    if intact.bit_count() < 2:
        return None
    return among(system.rules(), intact), among(system.rules(lying=False), intact, silent=True)


def distinct(several: Iterable[System]) -> list[tuple[Rules, Rules]]:
    """What differs among them for intact nodes: the rules if all others lie, and if all others are silent."""
    found: dict[object, tuple[Rules, Rules]] = {}
    for system in several:
        rules = of_intact(system)
        if rules is not None:
            ways = permutations(range(rules[0].nodes))
            key = min(tuple(renamed(each, way) for each in rules) for way in ways)
            found.setdefault(key, rules)
    return list(found.values())


def widest(several: list[tuple[Rules, Rules]]) -> list[tuple[Rules, Rules]]:
    """Those that stand for all of them.

    Rules that move whoever others move reach every state that these reach; and a delivery that lets all
    decide is one still if more are moved by what the intact nodes say. So of pairs of rules, with the others
    lying and with them silent, one stands for another, under some names, if the former move as many or more
    and the latter as many or fewer.
    """
    ways = list(permutations(range(several[0][0].nodes)))
    bits = [[_bits(renamed(each, way)) for each in pair] for pair in several for way in ways]
    named = np.array(bits, dtype=np.uint64).reshape(len(several), len(ways), 2)
    kept: list[int] = []

    def many(bits: np.uint64) -> int:
        return int(bits).bit_count()

    # One that stands for another moves more, less what it moves alone: it comes first.
    for i in sorted(range(len(several)), key=lambda i: many(named[i, 0, 1]) - many(named[i, 0, 0])):
        lying, silent = named[i, 0]
        others = named[kept].reshape(-1, 2)
        if not ((lying & ~others[:, 0] == 0) & (others[:, 1] & ~silent == 0)).any():
            kept.append(i)
    return [several[i] for i in kept]


def _bits(moved: tuple[tuple[int, ...], ...]) -> int:
    """Who is moved by which set, as one number of at most 64 bits."""
    return sum(who << 3 * i for i, who in enumerate(x for each in moved for x in each))


def renamed(rules: Rules, way: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Who is moved by whom if node i is called ``way[i]``."""
    new = [sum(1 << way[i] for i in range(rules.nodes) if x >> i & 1) for x in range(1 << rules.nodes)]
    back = sorted(range(len(new)), key=new.__getitem__)
    return tuple(tuple(new[int(each[x])] for x in back) for each in (rules.quorum, rules.blocked))


def assert_never_split_and_never_stuck(several: Iterable[tuple[Rules, Rules]]) -> int:
    """Safe in every state, and from each all intact nodes can decide; how many states there were."""
    many = 0
    for lying, silent in several:
        names_of_labels = lying._replace(
            alike=tuple(range(lying.nodes))
        )  # one state for two that mirror each other
        result = explore(table(2), names_of_labels, everyone(lying), alone=silent)
        assert result.split == 0, lying
        asked = result.states[result.heard]
        assert stuck(table(2), table(3), lying, silent, asked) == 0, (lying, silent)
        many += len(result.states)
    return many


@pytest.mark.parametrize("weights", [each for each in GREATEST if len(each) < 4])
def test_the_most_permissive_rules_never_split(weights: tuple[int, ...]) -> None:
    found = explore(table(2), greatest(weights), (1 << len(weights)) - 1)
    assert found.split == 0
    # One state stands for all that are the same but for names: together they are all of them.
    assert len(found.states) == {(1, 0): 2047, (1, 0, 0): 120_045, (1, 1, 1): 24_066}[weights]
    assert _of_all_names(found.states, weights) == len(whole(weights).states)


def _of_all_names(states: np.ndarray[tuple[int, ...], np.dtype[np.int64]], weights: tuple[int, ...]) -> int:
    """How many states there are under all names of nodes with equal weights, and of labels."""
    nodes = len(weights)
    own = np.stack([states >> (BITS * node) & ((1 << BITS) - 1) for node in range(nodes)])
    ways = [
        way for way in permutations(range(nodes)) if all(weights[i] == weights[w] for i, w in enumerate(way))
    ]
    named = [sum(each[place] << (BITS * node) for node, place in enumerate(way))
             for each in (own, table(2).mirror[own]) for way in ways]  # fmt: skip
    return int(np.unique(np.concatenate(named)).size)


@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_every_family_whose_sets_meet_lies_in_one_of_these(nodes: int) -> None:
    """All families of sets of so many nodes that hold with a set every larger one: 168 of four nodes."""
    sets = range(1, 1 << nodes)
    covers = {
        sum(1 << x for x in sets if greatest(way).quorum[x])
        for weights in GREATEST if len(weights) == nodes for way in permutations(weights)
    }  # fmt: skip
    grown, meeting = 0, 0
    for family in range(0, 1 << (1 << nodes), 2):  # without the empty set
        held = [x for x in sets if family >> x & 1]
        if all(family >> (x | 1 << i) & 1 for x in held for i in range(nodes)):
            grown += 1
            if all(x & y for x in held for y in held):
                meeting += 1
                assert any(family & ~cover == 0 for cover in covers)
    assert grown == {2: 5, 3: 19, 4: 167}[nodes]  # Dedekind's numbers 6, 20, 168 less the family of all sets
    assert meeting > nodes


@pytest.mark.parametrize(("honest", "liar"), [(2, False), (2, True), (3, False)])
def test_every_system_of_three_nodes_is_covered_by_one_of_these(honest: int, liar: bool) -> None:
    several = list(systems(honest, liar=liar))
    assert len(several) == {(2, False): 10, (2, True): 78, (3, False): 328}[honest, liar]
    assert_covered(several)


def assert_covered(several: list[System]) -> int:
    many = 0
    for system in several:
        found = of_intact(system)
        if found is not None:
            rules = found[0]
            alike = [each for each in GREATEST if len(each) == rules.nodes]
            assert any(stands_for(weights, rules) for weights in alike), system
            many += 1
    return many


@pytest.mark.slow
def test_a_system_reaches_no_state_that_its_cover_does_not_reach() -> None:
    """The reduction by brute force: a part of the systems of three nodes, each beside its cover."""
    tried = 0
    for system in [*systems(2, liar=True), *islice(systems(3, liar=False), 7, None, 80)]:
        found = of_intact(system)
        if found is None:
            continue
        rules = found[0]
        states = explore(table(2), rules, everyone(rules)).states
        for weights in (each for each in GREATEST if len(each) == rules.nodes):
            for way in sorted(set(permutations(weights))):
                most = greatest(way)
                if (rules.quorum & ~most.quorum).any() or (rules.blocked & ~most.blocked).any():
                    continue
                assert np.isin(states, whole(way).states).all(), system
                tried += 1
                break
    assert tried > 15


def test_systems_of_three_nodes_are_safe_and_can_go_on_from_every_state() -> None:
    """All with a liar; of those without, a part here and all in the slow suite."""
    assert assert_never_split_and_never_stuck(distinct(systems(2, liar=True))) > 10_000
    some = islice(systems(3, liar=False), 0, None, 60)
    assert assert_never_split_and_never_stuck(distinct(some)) > 10_000


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 12])
def test_where_quorums_do_not_intersect_a_split_is_found_and_had_been_announced(every: int) -> None:
    apart = [
        system for system in systems(3, liar=False) if analyse(system.named()).quorum_intersection is False
    ]
    assert len(apart) == 124
    for system in apart[::every]:
        rules = system.rules()
        assert explore(table(2), rules, everyone(rules), first=True).split > 0, system
    for system in list(systems(2, liar=True))[::every]:
        rules = system.rules()
        found = explore(table(2), rules, everyone(rules), first=True).split > 0
        if system.named().splits_by_lying([LIAR]):
            assert found, system
        if found:  # who is not intact has been promised nothing, and the check says who is
            assert system.intact().bit_count() < 2, system


def test_exploring_finds_the_split_if_a_rule_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that accept what contradicts what they have accepted decide differently."""
    monkeypatch.setattr(ballots, "_others", lambda said, label: np.zeros(said.shape[1:], dtype=np.bool_))  # noqa: ARG005
    careless = local_table(2)
    assert explore(careless, greatest((1, 1, 1)), 0b111, first=True).split > 0


def test_exploring_finds_states_without_a_way_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """If whoever voted to commit voted no more; it is found though only some states have to be asked."""
    vote = ballots.StatedBallots.vote

    def sulking(self: ballots.StatedBallots, counter: int, free: Any, when: Any) -> None:
        vote(self, counter, free, when & (self.locked() == ballots.NONE))

    rules = System(((3, 0b111),) * 3, liar=False).rules()
    kept = explore(table(2), rules, everyone(rules))
    assert stuck(table(2), table(3), rules, rules, kept.states) == 0
    assert 0 < kept.heard.sum() < len(kept.states)
    monkeypatch.setattr(ballots.StatedBallots, "vote", sulking)
    two, three = local_table(2), local_table(3)
    found = explore(two, rules, everyone(rules))
    assert stuck(two, three, rules, rules, found.states[found.heard]) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weights", "many"),
    [((2, 1, 1, 1), 3_284_600), ((1, 1, 1, 0), 3_375_067), ((1, 0, 0, 0), 6_844_006)],
)
def test_the_most_permissive_rules_of_four_never_split(weights: tuple[int, ...], many: int) -> None:
    found = explore(table(2), greatest(weights), (1 << len(weights)) - 1)
    assert found.split == 0
    assert len(found.states) == many


@pytest.mark.slow
def test_every_system_of_four_nodes_is_covered_by_one_of_these() -> None:
    with_liar = list(systems(3, liar=True))
    assert len(with_liar) == 5728
    assert assert_covered(with_liar) == 660 + 426


@pytest.mark.slow
def test_all_systems_of_three_nodes_are_safe_and_can_go_on_from_every_state() -> None:
    several = distinct(systems(3, liar=False))
    assert len(several) == 204
    assert assert_never_split_and_never_stuck(several) == 15_834_884


@pytest.mark.slow
def test_all_systems_of_four_nodes_with_a_liar_are_safe_and_can_go_on_from_every_state() -> None:
    several = distinct(systems(3, liar=True))
    found = []
    for nodes in (2, 3):  # that are intact
        some = [each for each in several if each[0].nodes == nodes]
        kept = widest(some)
        found.append((len(some), len(kept), assert_never_split_and_never_stuck(kept)))
    assert found == [(21, 2, 4_094), (660, 52, 10_503_900)]

"""Texts: normal forms, candidates, classes of those that mean the same, and the answer."""

from __future__ import annotations

import hashlib
import unicodedata
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage

from folkmoot.aggregation.texts import (
    Candidate,
    Choice,
    candidates,
    classes,
    is_same,
    normal,
    quorum,
    same_of,
    verdict,
)
from support.oracles.texts import joined

EQUAL = [
    ("Paris", "  paris. "),
    ("“Paris”", "**PARIS**!"),
    ("`Paris`", "'paris'"),
    ("New-York", "new  york"),
    ("the answer:\n42", "The answer - 42."),
    ("Stra\u00dfe", "STRASSE"),
    ("ros\u00e9", "rose\u0301"),
    ("\uff21\uff22\uff11\uff12", "ab12"),
    ("\u0663\u0664", "34"),
    ("\ufb01ne", "fine"),
    ("don\u2019t", "don't"),
    ("1,000,000", "1000000"),
    ("1\u202f000", "1000"),
    ("1'000", "1000"),
    ("3.0", "3"),
    ("1,000.00", "1000"),
    ("\u22125", "-5"),
    ("so\u00adlar", "solar"),
    ("heart \u2764\ufe0f", "heart \u2764"),
    ("Paris\u200b", "Paris"),
]
DIFFERENT = [
    ("5", "-5"),
    ("5", "5%"),
    ("5", "$5"),
    ("10\u00b2", "102"),
    ("\u00bd", "1 2"),
    ("3.1", "3.10"),
    ("1.000", "1"),
    ("12,5", "125"),
    ("12.5", "125"),
    ("C", "C++"),
    ("C", "C#"),
    ("1/2", "12"),
    ("we're", "were"),
    ("u.s", "us"),
    ("x < 5", "x > 5"),
    ("1,2,3", "123"),
    ("12,34", "1234"),
    ("007", "7"),
    ("2024-05-01", "20240501"),
]


@pytest.mark.parametrize(("one", "other"), EQUAL, ids=range(len(EQUAL)))
def test_what_does_not_change_the_meaning_does_not_count(one: str, other: str) -> None:
    assert normal(one) == normal(other) != ""


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=range(len(DIFFERENT)))
def test_what_may_change_the_meaning_counts(one: str, other: str) -> None:
    assert normal(one) != normal(other)


@given(st.text(max_size=40))
@settings(max_examples=300, deadline=None)
def test_a_normal_form_is_normal(text: str) -> None:
    assert normal(normal(text)) == normal(text)


@given(st.text(max_size=30), st.sampled_from([" ", "\n", "\t", "\u3000", "\u2003"]), st.sampled_from('"!?*'))
@settings(max_examples=200, deadline=None)
def test_white_space_and_marks_around_a_text_do_not_count(text: str, space: str, mark: str) -> None:
    assert normal(f"{space}{mark}{space}{text}{space}{mark}") == normal(text)


@given(st.text(st.characters(max_codepoint=0x2FF), max_size=30))
@settings(max_examples=200, deadline=None)
def test_upper_case_does_not_count(text: str) -> None:
    known = [each for each in text if "Cn" not in map(unicodedata.ucd_3_2_0.category, each + each.upper())]
    plain = "".join(each for each in known if each not in "\u0130\u0131\u017f")  # not pairs of one letter
    assert normal(plain.upper()) == normal(plain.lower())


def test_letters_newer_than_unicode_3_2_stay_as_they_are() -> None:
    """Versions of Python know different ones of them; members of a network must not differ."""
    newer = [
        chr(code) for code in range(0x250, 0x2FA20)
        if unicodedata.ucd_3_2_0.category(chr(code)) == "Cn" and not 0xFE00 <= code < 0xFE10
    ]  # fmt: skip
    assert len(newer) > 50_000
    for start in range(0, len(newer), 500):
        text = "".join(newer[start : start + 500])
        assert normal(text) == text


def test_candidates_are_numbered_by_hash_and_shown_as_most_spelt_them() -> None:
    salt = b"some salt"
    found = candidates({0: "Paris", 1: "paris.", 2: "Lyon", 3: "paris.", 4: "\u2026", 5: "  ", 6: ""}, salt)
    assert {each.normal: (each.text, each.proposers) for each in found} == {
        "paris": ("paris.", (0, 1, 3)), "lyon": ("Lyon", (2,)), "\u2026": ("\u2026", (4,))
    }  # fmt: skip
    marks = [hashlib.sha256(b"folkmoot/3 text\n" + salt + each.normal.encode()).digest() for each in found]
    assert marks == sorted(marks)


@given(st.lists(st.sampled_from(["a", "A.", "b", "B!", "c", ""]), max_size=6), st.binary(max_size=4))
def test_candidates_do_not_depend_on_who_proposed_what(texts: list[str], salt: bytes) -> None:
    told = [(each.text, each.normal) for each in candidates(dict(enumerate(texts)), salt)]
    for mixed in list(permutations(texts))[:24]:
        assert [(each.text, each.normal) for each in candidates(dict(enumerate(mixed)), salt)] == told


def _partitions(many: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(0, max(many - 1, 0)), min_size=many, max_size=many).map(
        lambda labels: tuple(labels.index(each) for each in labels)
    )


@given(st.data(), st.integers(0, 6), st.integers(0, 7))
@settings(max_examples=300, deadline=None)
def test_classes_are_those_of_complete_linkage(data: st.DataObject, many: int, voters: int) -> None:
    said = data.draw(st.lists(_partitions(many), min_size=voters, max_size=voters))
    needed = data.draw(st.integers(1, voters + 1))
    found = classes([Choice(None, each) for each in said], many, needed)
    assert is_same(found, many)
    sets = {frozenset(i for i in range(many) if found[i] == first) for first in found}
    assert sets == joined(said, many, needed)
    for each in sets:  # whatever the order of joining: all pairs of a class have a quorum
        for a, b in combinations(sorted(each), 2):
            assert sum(one[a] == one[b] for one in said) >= needed


def test_classes_are_those_of_scipy_where_no_two_pairs_are_equal() -> None:
    """Voters that call one pair the same each, so that every pair has another number of them."""
    draw = np.random.default_rng(5)
    for _ in range(40):
        many = int(draw.integers(2, 7))
        pairs = list(combinations(range(many), 2))
        counts = draw.permutation(len(pairs)) + 1
        said = [
            Choice(None, same_of([pair], many))
            for pair, count in zip(pairs, counts, strict=True)
            for _ in range(count)
        ]
        needed = int(draw.integers(1, len(pairs) + 1))
        tree = linkage((1000 - counts).astype(float), "complete")
        peer = fcluster(tree, 1000 - needed + 0.5, "distance")
        found = classes(said, many, needed)
        assert {tuple(np.flatnonzero(peer == each)) for each in peer} == {
            tuple(i for i in range(many) if found[i] == first) for first in found
        }


@given(st.integers(1, 60), st.data())
def test_two_quorums_share_an_honest_voter(voters: int, data: st.DataObject) -> None:
    faults = data.draw(st.integers(0, voters))
    needed = quorum(voters, faults)
    assert 2 * needed - voters > faults
    assert 2 * (needed - 1) - voters <= faults, "one less would not do"


def _found(*texts: str) -> list[Candidate]:
    return [Candidate(text, text, (i,)) for i, text in enumerate(texts)]


def test_liars_alone_can_neither_join_nor_decide() -> None:
    found = _found("right", "wrong", "also wrong")
    honest = {i: Choice(0, (0, 1, 2)) for i in range(5)}
    liars = {i: Choice(1, (0, 0, 0)) for i in range(5, 7)}
    seen = verdict(found, honest | liars, faults=2)
    assert seen.classes == (0, 1, 2)
    assert seen.answer == "right"
    assert verdict(found, liars, faults=2).answer is None


def test_joined_candidates_count_together_and_show_the_most_chosen_spelling() -> None:
    found = _found("the capital is Paris", "Paris", "Lyon")
    same = (0, 0, 2)
    choices = {0: Choice(0, same), 1: Choice(1, same), 2: Choice(1, same), 3: Choice(2, same)}
    seen = verdict(found, choices, faults=1)
    assert (seen.votes, seen.classes, seen.answer) == ({0: 3, 2: 1}, (0, 0, 2), "Paris")
    apart = {member: Choice(each.best, (0, 1, 2)) for member, each in choices.items()}
    assert verdict(found, apart, faults=1).votes == {0: 1, 1: 2, 2: 1}


@pytest.mark.parametrize(
    ("choices", "faults", "least", "answer", "tied"),
    [
        ({0: 0, 1: 0, 2: 1, 3: 1}, 1, 0, None, (0, 1)),
        ({0: 0, 1: 1}, 1, 0, None, ()),
        ({0: 0, 1: 1}, 0, 0, None, (0, 1)),
        ({0: 0}, 0, 0, "a", (0,)),
        ({0: 0, 1: 0}, 0, 3, None, ()),
        ({}, 0, 0, None, ()),
    ],
    ids=["a tie", "too few", "a tie of one each", "one member", "more wanted", "nobody"],
)
def test_what_is_undecided(
    choices: dict[int, int], faults: int, least: int, answer: str | None, tied: tuple[int, ...]
) -> None:
    cast = {member: Choice(best, (0, 1)) for member, best in choices.items()}
    seen = verdict(_found("a", "b"), cast, faults=faults, least=least)
    assert (seen.answer, seen.tied) == (answer, tied)


@pytest.mark.parametrize(
    "bad", [Choice(2, (0, 1)), Choice(-1, (0, 1)), Choice(0, (0,)), Choice(0, (1, 1)), Choice(0, (0, 5))],
    ids=["beyond", "below", "short", "later first", "unknown"],
)  # fmt: skip
def test_a_choice_that_does_not_fit_is_none(bad: Choice) -> None:
    seen = verdict(_found("a", "b"), {0: bad, 1: Choice(1, (0, 1))}, faults=0)
    assert (seen.votes, seen.answer) == ({1: 1}, "b")


@given(st.lists(st.lists(st.integers(0, 4), max_size=5), max_size=4))
def test_groups_that_share_a_candidate_are_one(groups: list[list[int]]) -> None:
    found = same_of(groups, 5)
    assert is_same(found, 5)
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(5))
    for group in groups:
        graph.add_edges_from((group[0], other) for other in group[1:])
    for part in networkx.connected_components(graph):
        assert {found[i] for i in part} == {min(part)}

"""``[policy]`` of node.toml: which motions a node takes part in, who may ask, and how much a day."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from folkmoot.node.service.node_file import read_node_file
from folkmoot.node.service.policy import DAY, Approval, Limits, Policy, Spent
from folkmoot.node.session.header import Header
from folkmoot.node.session.terms import LOCAL, Terms
from folkmoot.node.wire.schema import Column

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


def test_a_policy_that_is_no_table() -> None:
    with pytest.raises(ValueError, match="policy must be a table"):
        Policy.read(7)


def test_a_policy_that_is_read() -> None:
    assert Policy.read({}) == Policy()
    read = Policy.read({"least_alpha": 4, "least_seconds": 10, "known_labels": False})
    assert read == Policy(least_alpha=4, least_seconds=10, known_labels=False)


def test_the_window_slides() -> None:
    spent = Spent(Policy(motions_a_day=2, rows_a_day=10))
    spent.count("a", 0.0, 4)
    spent.count("a", 100.0, 4)
    assert spent.objection("a", 1, 200.0) is not None
    assert spent.objection("b", 10, 200.0) is None
    assert spent.objection("b", 11, 200.0) == "b may put 10 rows a day at this node and has 10 left: got 11"
    assert spent.objection("a", 6, DAY) is None, "the first is a day old"
    assert spent.objection("a", 7, DAY) is not None


AGE = (Column("age", "years"), Column("dose", "mg"))


@pytest.mark.parametrize(
    ("approval", "schema", "covered"),
    [
        (Approval(("p000",)), AGE, True),
        (Approval(("p001",)), AGE, False),
        (Approval(None, AGE), AGE, True),
        (Approval(None, AGE), AGE[::-1], True),
        (Approval(None, AGE), AGE[:1], False),
        (Approval(None, AGE), (AGE[0], Column("dose", "g")), False),
        (Approval(None, AGE), (), False),
        (Approval(("p000",), AGE), AGE, True),
        (Approval(("p002",), AGE), AGE, False),
    ],
)
def test_an_approval_covers_an_asker_and_columns(
    approval: Approval, schema: tuple[Column, ...], covered: bool
) -> None:
    why = Policy(approved=(approval,)).objection_to_asker("p000", schema)
    assert (why is None) == covered
    if why is not None:
        assert why == "the operator of this node has approved no motions of p000 with these columns"


def test_names_that_the_roster_does_not_have_are_named() -> None:
    names, file = {"p000", "p001", "p002"}, Path("north/node.toml")
    Policy(askers=("p001",)).check_names(names, file)
    with pytest.raises(ValueError, match="must name members of the roster, p000, p001, p002: got 'east'"):
        Policy(members={"east": Limits()}).check_names(names, file)


def write(folder: Path, text: str) -> Path:
    (folder / "node.toml").write_text(f'name = "north"\nlisten = "127.0.0.1:0"\n{text}\n')
    return folder


def test_node_toml_says_who_may_ask(tmp_path: Path) -> None:
    (tmp_path / "triage.schema.toml").write_text('[[column]]\nname = "age"\nunit = "years"\n')
    text = """[policy]
most_rounds = 100
askers = ["north", "mid"]
motions_a_day = 50
[policy.members.north]
rows_a_day = 9
[[policy.approved]]
askers = ["mid"]
schema = "triage.schema.toml"
"""
    policy = read_node_file(write(tmp_path, text)).policy
    approval = Approval(("mid",), (Column("age", "years"),))
    assert policy == Policy(
        most_rounds=100,
        askers=("north", "mid"),
        motions_a_day=50,
        members={"north": Limits(None, 9)},
        approved=(approval,),
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('askers = "north"', "askers must be a list: got 'north'"),
        ('askers = ["no rth"]', r"askers 1 must be text matching regex .*: got 'no rth'"),
        ("motions_a_day = 1.5", "motions_a_day must be a whole number: got 1.5"),
        ("motions_a_day = true", "motions_a_day must be a whole number: got True"),
        ("rows_a_day = -1", "rows_a_day must be a whole number >= 0: got -1"),
        ("members = 3", "members must be a table: got 3"),
        ("[policy.members.north]\nrows = 3", "members: 'rows' must be left out"),
        ("[policy.members]\nnorth = 3", "members.* must be a table"),
        ("[policy.approved]\naskers = []", "approved must be a list: got"),
        ("[[policy.approved]]", "must name askers or a schema"),
        ("[[policy.approved]]\nwho = 3", "approved 1: 'who' must be left out"),
        ("[[policy.approved]]\nschema = 3", "approved: schema must be a file"),
        ('[[policy.approved]]\nschema = "gone.toml"', "gone.toml"),
        ("ask = 3", "ask"),
        ("rounds = 5", "'rounds' must be one of least_alpha, least_k, most_rounds, least_seconds"),
        ("most_rounds = 0", "most_rounds must be a whole number >= 1: got 0"),
        ("least_seconds = 0.5", "least_seconds must be a number >= 1.0: got 0.5"),
        ("least_seconds = nan", "least_seconds must be a number >= 1.0: got nan"),
        ('least_seconds = "2s"', "least_seconds must be a number: got '2s'"),
        ("known_labels = 1", "known_labels must be true or false: got 1"),
    ],
)
def test_what_is_wrong_in_node_toml_is_one_line(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises((ValueError, OSError), match=why) as error:
        read_node_file(write(tmp_path, f"[policy]\n{text}"))
    assert "\n" not in str(error.value)

"""Who may ask, how much a day, and what is approved: as it stands in node.toml, and what follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from folkmoot.node.service.node_file import read_node_file
from folkmoot.node.service.policy import DAY, Approval, Limits, Policy, Spent
from folkmoot.node.wire.schema import Column


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
    ],
)
def test_what_is_wrong_in_node_toml_is_one_line(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises((ValueError, OSError), match=why) as error:
        read_node_file(write(tmp_path, f"[policy]\n{text}"))
    assert "\n" not in str(error.value)

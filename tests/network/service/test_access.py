"""Who may ask a node, how much a day, what is approved; and that the asker reads why it was refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot.network.service.access import DAY, Access, Approval, Limits, Spent
from folkmoot.network.service.node_file import read_node_file
from folkmoot.network.service.operation import check_access
from folkmoot.network.service.policy import Policy
from folkmoot.network.storage.account import account, find
from folkmoot.node.wire.batch import Batch
from folkmoot.node.wire.schema import Column
from support.network.moot_in_memory import Moot, keys_and_roster

VOTES = np.ones((7, 5), dtype=np.int8)


def played(policies: dict[int, Policy], motions: int = 1, asker: int = 0, **changes: Any) -> Moot:
    moot = Moot(VOTES, 1, policies=policies)
    for number in range(motions):
        moot.put(asker, at=20.0 * number, seconds=8.0, k=4, alpha=3, created=1e9 + number, **changes)
    moot.network.run(until=20.0 * motions + 20.0)
    return moot


def refusals(moot: Moot, place: int = 0) -> list[dict[str, str]]:
    """What the asker reads, motion by motion."""
    return [account(moot.storages[place], each).refused for each in moot.storages[place].motions()]


def test_one_that_is_not_on_the_list_is_refused_and_told_so() -> None:
    only = Policy(access=Access(askers=("p001", "p002")))
    moot = played({3: only})
    assert refusals(moot) == [{"p003": "p000 is not among those who may ask this node"}]
    assert not moot.storages[3].count()
    node = moot.nodes[3]
    assert node is not None
    assert node.counts["refused_access"] >= 1
    assert refusals(played({3: only}, asker=1), 1) == [{}]


def test_motions_of_a_day_are_counted_and_come_back() -> None:
    moot = played({2: Policy(access=Access(limits=Limits(motions_a_day=2)))}, motions=3)
    told = refusals(moot)
    assert told[:2] == [{}, {}]
    assert told[2] == {"p002": "p000 may put 2 motions a day at this node; room comes back in 23 h 59 min"}
    assert moot.storages[2].count() == 2
    node = moot.nodes[2]
    assert node is not None
    assert node.access_of(0) == (True, Limits(motions_a_day=2), (2, 10))


def test_rows_of_a_day_are_counted_and_a_member_may_have_more() -> None:
    few = Access(limits=Limits(rows_a_day=7), members={"p001": Limits(rows_a_day=100)})
    told = refusals(played({2: Policy(access=few)}, motions=2))
    assert told[0] == {}
    assert told[1]["p002"].startswith("p000 may put 7 rows a day at this node and has 2 left: got 5; room")
    assert refusals(played({2: Policy(access=few)}, motions=2, asker=1), 1) == [{}, {}]


def test_a_restart_does_not_give_the_day_back() -> None:
    policy = {2: Policy(access=Access(limits=Limits(motions_a_day=1)))}
    moot = Moot(VOTES, 1, policies=policy)
    moot.put(0, seconds=8.0, k=4, alpha=3)
    moot.at(15.0, lambda: moot.crash(2))
    moot.at(16.0, lambda: moot.start(2))
    moot.put(0, at=20.0, seconds=8.0, k=4, alpha=3, created=1e9 + 1)
    moot.network.run(until=40.0)
    assert [set(each) for each in refusals(moot)] == [set(), {"p002"}]


def test_own_motions_are_the_operators() -> None:
    nothing = Policy(access=Access(askers=(), limits=Limits(motions_a_day=0)))
    moot = played({0: nothing})
    assert refusals(moot) == [{}]
    assert account(moot.storages[0], find(moot.storages[0], "last")).undecided == 0


def test_the_window_slides() -> None:
    spent = Spent(Access(limits=Limits(motions_a_day=2, rows_a_day=10)), ["a", "b"])
    spent.count(0, 0.0, 4)
    spent.count(0, 100.0, 4)
    assert spent.objection(0, 1, 200.0) is not None
    assert spent.objection(1, 10, 200.0) is None
    assert spent.objection(1, 11, 200.0) == "b may put 10 rows a day at this node and has 10 left: got 11"
    assert spent.objection(0, 6, DAY) is None, "the first is a day old"
    assert spent.objection(0, 7, DAY) is not None


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
    batch = Batch(np.ones((5, max(1, len(schema)))), schema=schema)
    motion, _ = Moot(VOTES, 1).motion(0, batch)
    why = Access(approved=(approval,)).objection("p000", motion)
    assert (why is None) == covered
    if why is not None:
        assert why == "the operator of this node has approved no motions of p000 with these columns"
    both = Access(approved=(Approval(("nobody",)), approval))
    assert (both.objection("p000", motion) is None) == covered, "one is enough"


def test_names_that_the_roster_does_not_have_stop_a_node() -> None:
    roster = keys_and_roster(3)[1]
    check_access(Policy(access=Access(askers=("p001",))), roster, Path("north"))
    with pytest.raises(ValueError, match="must name members of the roster, p000, p001, p002: got 'east'"):
        check_access(Policy(access=Access(members={"east": Limits()})), roster, Path("north"))


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
        access=Access(("north", "mid"), Limits(50), {"north": Limits(None, 9)}, (approval,)),
    )
    assert policy.access.strangers(["mid"]) == ["north"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('askers = "north"', "askers must be a list of names"),
        ('askers = ["no rth"]', "name must be 1 to 64 letters"),
        ("motions_a_day = 1.5", "motions_a_day must be a whole number from 0"),
        ("motions_a_day = true", "motions_a_day must be a whole number from 0"),
        ("rows_a_day = -1", "rows_a_day must be a whole number from 0"),
        ("members = 3", r"members must be tables, such as \[policy.members.north\]"),
        ("[policy.members.north]\nrows = 3", "members.north: "),
        ("[policy.members]\nnorth = 3", "members.north must be a table"),
        ("[policy.approved]\naskers = []", r"approved must be tables, such as \[\[policy.approved\]\]"),
        ("[[policy.approved]]", "approved must name askers or a schema"),
        ("[[policy.approved]]\nwho = 3", "approved: "),
        ("[[policy.approved]]\nschema = 3", "approved: schema must be a file"),
        ('[[policy.approved]]\nschema = "gone.toml"', "gone.toml"),
        ("ask = 3", "ask"),
    ],
)
def test_what_is_wrong_in_node_toml_is_one_line(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises((ValueError, OSError), match=why) as error:
        read_node_file(write(tmp_path, f"[policy]\n{text}"))
    assert "\n" not in str(error.value)

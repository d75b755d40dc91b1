"""Which rows a node shows, to whom and how often; what an invitation must be."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from folkmoot.network.service.check_rows import Contributor, LabelledRows
from folkmoot.network.service.holdout import read_holdout
from folkmoot.network.service.inviting import MOST_BYTES, TOO_OFTEN
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.invitation import Invitation
from folkmoot.node.membership.identity import create
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.models import Model
from folkmoot.node.wire.schema import Column, MismatchError
from support.command import assert_refused, run
from support.network.review_moot import ReviewMoot


def wanted(**changes: Any) -> Invitation:
    fields: dict[str, Any] = {
        "moot": bytes(32), "asker": 0, "nonce": bytes(16), "created": 1e9, "seconds": 5.0,
        "labels": ("a", "b"), "inputs": 10, "columns": 2, "dtype": "<f8", "schema": (),
    } | changes  # fmt: skip
    return Invitation(**fields)


def model_of(*columns: Column) -> Model:
    model = Model("rules:a", lambda X: ["a"] * len(X), labels=("a", "b"), columns=2)
    model.declare(columns, "the test")
    return model


def test_numbers_of_a_regressor_are_told_and_labels_of_a_classifier_are_none(tmp_path: Path) -> None:
    path = tmp_path / "held-out.csv"
    path.write_text("a,b,label\n1,10,0.1\n2,20,3\n3,30,none\n4,40,1e200\n5,50,-2.5e-3\n6,60,nan\n")
    regressor = Model("rules:half", lambda X: X[:, 0] / 2, columns=2)
    rows = read_holdout(path, regressor).rows
    assert rows is not None
    _, fine = rows.arranged(wanted(labels=()))
    assert fine.tolist() == [0, 1, 4], "neither what is no number, nor one that is out of bounds"
    moot = ReviewMoot(3, 1, answers="numbers")
    node = moot.nodes[1]
    assert node is not None
    shows = Contributor(node.seat, moot.storages[1], rows, 2, random.Random(1))
    told = shows.rows_for(wanted(labels=()))
    given = shows._given[wanted(labels=()).name][1]
    by_row = {10.0: 0.1, 20.0: 3.0, 50.0: -2.5e-3}
    sent = np.frombuffer(told.data, "<f8").reshape(2, 2)[:, 1]
    np.testing.assert_array_equal(np.frombuffer(given.labels, "<f8"), [by_row[each] for each in sent])
    numbered = tmp_path / "classes.csv"
    numbered.write_text("a,b,label\n1,10,0\n2,20,1\n3,30,1\n")
    classifier = Model("rules:zero", lambda X: [0] * len(X), labels=(0, 1), columns=2)
    labelled = read_holdout(numbered, classifier).rows
    assert labelled is not None
    assert labelled.arranged(wanted(labels=("0", "1")))[1].tolist() == [0, 1, 2]
    with pytest.raises(MismatchError) as refused:
        labelled.some(np.arange(2)).arranged(wanted(labels=()))
    assert refused.value.why == "its check rows have labels, not numbers"


def test_classes_come_in_turn_and_numbers_in_an_order_that_is_drawn() -> None:
    labels = [*"aaaaaabbbc"]
    order = LabelledRows(np.arange(10.0)[:, None], labels).in_turn()
    assert sorted(order.tolist()) == list(range(10))
    assert sorted(labels[i] for i in order[:3]) == ["a", "b", "c"]
    assert sorted(labels[i] for i in order[3:5]) == ["a", "b"]
    assert [labels[i] for i in order[7:]] == ["a", "a", "a"]


def test_rows_are_put_into_the_askers_columns_and_type(tmp_path: Path) -> None:
    path = tmp_path / "held-out.csv"
    path.write_text("b,a,label\n1,10,a\n2,20.5,b\n3,130,b\n4,40,c\n5,50,a\n")
    rows = read_holdout(path, model_of(Column("a", "years", 0, 120), Column("b"))).rows
    assert rows is not None
    swapped = (Column("b"), Column("a", "years"))
    given, fine = rows.arranged(wanted(schema=swapped))
    assert given[:2].tolist() == [[1.0, 10.0], [2.0, 20.5]]
    assert fine.tolist() == [0, 1, 4], "not what is out of the model's range, nor labels that nobody asks for"
    given, fine = rows.arranged(wanted(schema=(Column("a"), Column("b")), dtype="<i2"))
    assert given[fine].tolist() == [[10, 1], [50, 5]], "20.5 is no whole number"
    assert given.dtype == "<i2"
    with pytest.raises(MismatchError):
        rows.arranged(wanted(schema=(Column("a"), Column("c"))))
    with pytest.raises(MismatchError):
        rows.arranged(wanted(schema=(Column("a", "months"), Column("b"))))
    with pytest.raises(MismatchError):
        rows.arranged(wanted(columns=3))


def test_missing_values_stay_missing_where_the_type_has_them() -> None:
    rows = LabelledRows(np.array([[1.0, np.nan], [1e300, 2.0], [3.0, 4.0]]), ["a", "b", "a"])
    assert rows.arranged(wanted())[1].tolist() == [0, 1, 2]
    assert rows.arranged(wanted(dtype="<f4"))[1].tolist() == [0, 2], "1e300 does not fit"
    assert rows.arranged(wanted(dtype="<i8"))[1].tolist() == [2]


@pytest.fixture
def asked() -> ReviewMoot:
    return ReviewMoot(5, 20, shown=3, each=9)


def answers(moot: ReviewMoot, invitation: Invitation, peer: int = 0, key: int = 0) -> list[m.AnyMessage]:
    """What node 1 sends when a peer shows it an invitation."""
    node, sent = moot.nodes[1], list[m.AnyMessage]()
    assert node is not None
    node.reviews._transmit = lambda _, frame: sent.append(m.decode(frame))
    signature = moot.keys[key].sign(statements.invites(invitation.name, invitation.asker))
    node.received(peer, m.encode(m.Invite(invitation.encoded(), signature)))
    return sent


def own(of: ReviewMoot, **changes: Any) -> Invitation:
    fields: dict[str, Any] = {"moot": bytes.fromhex(of.roster.digest), "columns": 1, "dtype": "<i4"}
    return wanted(**fields | changes)


def test_an_invitation_is_answered_the_same_when_it_comes_again(asked: ReviewMoot) -> None:
    (first,) = answers(asked, own(asked))
    (again,) = answers(asked, own(asked))
    (other,) = answers(asked, own(asked, nonce=bytes(15) + b"1"))
    assert isinstance(first, m.Rows)
    assert isinstance(other, m.Rows)
    assert first == again
    assert not set(np.frombuffer(first.data, "<i4")) & set(np.frombuffer(other.data, "<i4"))
    shown = [
        entry.details for entry in asked.storages[1].audit.entries() if entry.details["event"] == "showed"
    ]
    assert [(each["asker"], each["rows"]) for each in shown] == [("p000", 3), ("p000", 3)]


@pytest.mark.parametrize(
    ("changes", "peer", "key"),
    [
        ({}, 2, 0),  # shown by another than its asker
        ({}, 0, 2),  # signed by another
        ({"moot": bytes(32)}, 0, 0),
        ({"created": 1e9 - 1e5}, 0, 0),  # an old one
        ({"labels": ("a", "a")}, 0, 0),
        ({"dtype": "<U4"}, 0, 0),
        ({"seconds": float("nan")}, 0, 0),
        ({"asker": 4096}, 0, 0),
    ],
)
def test_forged_old_and_broken_invitations_get_nothing(
    asked: ReviewMoot, changes: dict[str, Any], peer: int, key: int
) -> None:
    assert answers(asked, own(asked, **changes), peer, key) == []
    node = asked.nodes[1]
    assert node is not None
    assert node.counts["check_rows_shown"] == 0


def test_a_member_cannot_draw_all_rows_at_once() -> None:
    moot = ReviewMoot(5, 21, shown=2, each=60)
    got = [answers(moot, own(moot, nonce=bytes(15) + bytes([i]))) for i in range(14)]
    assert [isinstance(each, m.Rows) for (each,) in got] == [True] * 10 + [False] * 4
    (refused,) = got[-1]
    assert isinstance(refused, m.Refuse)
    assert refused.reason == TOO_OFTEN
    (again,) = answers(moot, own(moot, nonce=bytes(15) + bytes([3])))
    assert again == got[3][0], "one that was answered is answered again"
    moot.network.run(60.5)
    (later,) = answers(moot, own(moot, nonce=bytes(15) + b"z"))
    assert isinstance(later, m.Rows), "one more a minute"


def test_columns_that_its_model_does_not_take_are_refused_in_words(asked: ReviewMoot) -> None:
    (refused,) = answers(asked, own(asked, columns=2))
    assert isinstance(refused, m.Refuse)
    assert "columns" in refused.reason
    assert refused.motion == own(asked, columns=2).name


def test_rows_that_are_late_forged_or_too_many_are_not_taken(asked: ReviewMoot) -> None:
    node = asked.nodes[0]
    assert node is not None
    motion, inputs = asked.motion(0, trust=True)
    node.reviews.invite(motion, inputs, lambda *_: None)
    ((name, invited),) = node.reviews._under_way.items()
    (rows,) = answers(asked, invited.invitation)
    assert isinstance(rows, m.Rows)
    what = rows.contribution
    for bad in (
        replace(rows, data=rows.data[:-4]),
        replace(rows, data=rows.data + bytes(4)),
        replace(rows, motion=bytes(32)),
        replace(rows, contribution=replace(what, rows=2)),
        replace(rows, contribution=replace(what, commitment=bytes(32))),
        replace(rows, contribution=replace(what, node=2)),
    ):
        node.received(1, m.encode(bad))
        assert 1 not in invited.rows
    node.received(2, m.encode(rows))
    assert not {1, 2} & invited.rows.keys(), "what another has signed is not its own"
    node.received(1, m.encode(rows))
    assert invited.rows[1] == rows
    asked.network.run(20.0)
    assert name not in node.reviews._under_way
    node.received(1, m.encode(rows))  # late: nobody minds


def test_inputs_that_are_too_many_to_be_shuffled_are_refused_before_anybody_is_asked(
    asked: ReviewMoot,
) -> None:
    node = asked.nodes[0]
    assert node is not None
    motion, inputs = asked.motion(0, trust=True)
    large = replace(motion, columns=MOST_BYTES // motion.inputs)
    with pytest.raises(ValueError, match="may have 64 MB of inputs: got"):
        node.reviews.invite(large, inputs, lambda *_: None)
    with pytest.raises(ValueError, match="the deadline must be at least"):
        node.reviews.invite(replace(motion, seconds=1.0), inputs, lambda *_: None)
    assert node.reviews._under_way == {}


def test_a_node_that_is_to_show_rows_must_have_some(tmp_path: Path) -> None:
    me = create(tmp_path / "north", name="north", listen="127.0.0.1:7653")
    Roster([me.member()]).write(tmp_path / "roster.toml")
    settings = tmp_path / "north" / "node.toml"
    settings.write_text(settings.read_text() + "\n[policy]\ncheck_rows = 10\n")
    (tmp_path / "rules_of_rows.py").write_text(
        "def odd(X):\n    return ['a'] * len(X)\nodd.labels = ['a', 'b']\n"
    )
    command = [
        "node",
        "run",
        tmp_path / "north",
        "--roster",
        tmp_path / "roster.toml",
        "--model",
        "rules_of_rows:odd",
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        assert_refused(
            "must be 0 unless the node has labelled rows to show: give --holdout FILE, or", *command
        )
        answers_only = tmp_path / "answers.csv"
        answers_only.write_text("label,answer\na,a\nb,a\n")
        assert_refused("must be 0 unless the node has labelled", *command, "--holdout", answers_only)
    (tmp_path / "north" / "held-out.csv").write_text("x,label\n1,a\n2,b\n3,a\n")
    looked = {each["what"]: each for each in _looked(tmp_path)}
    assert (
        looked["check rows"]["note"] == "10 in a motion, of rows that node run must be given with --holdout"
    )
    settings.write_text(settings.read_text().replace("# holdout =", 'holdout = "held-out.csv" #'))
    looked = {each["what"]: each for each in _looked(tmp_path)}
    assert looked["check rows"]["note"].startswith("10 in a motion, of 3 rows with labels in ")
    (tmp_path / "north" / "held-out.csv").write_text("label,answer\na,a\n")
    looked = {each["what"]: each for each in _looked(tmp_path)}
    assert looked["check rows"]["fine"] is False
    text = settings.read_text()
    for given in ("-1", "1001", "true", '"ten"', "2.5"):
        settings.write_text(text.replace("check_rows = 10", f"check_rows = {given}"))
        assert_refused("check_rows must be a whole number from 0 to 1,000: got", *command)


def _looked(folder: Path) -> list[dict[str, Any]]:
    """What ``folkmoot node check`` says, line by line; nobody else is there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        shown = run(
            "node",
            "check",
            folder / "north",
            "--roster",
            folder / "roster.toml",
            "--model",
            "rules_of_rows:odd",
            "--json",
        )
    found: list[dict[str, Any]] = json.loads(shown.stdout)["checks"]
    return found

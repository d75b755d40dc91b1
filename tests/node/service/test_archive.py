"""What a node tells from its folder, against counts made here from the votes that were put in."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import pytest

from folkmoot.node.certificate import verify
from folkmoot.node.evidence import check_evidence
from folkmoot.node.membership.roster import Member, Roster
from folkmoot.node.rosters.successor import Successor
from folkmoot.node.service.archive import NodeArchive
from folkmoot.node.service.interface import NotFoundError, Record, RefusedError, RosterChange
from folkmoot.node.session.header import Header, motion_of
from folkmoot.node.session.poll import order_of
from folkmoot.node.session.terms import Terms
from folkmoot.node.storage.audit import check_export
from folkmoot.node.storage.database import DamagedError
from support.node.filed import CLOCK, archive_of, file
from support.node.signed import SignedWorld, Twice, keys_and_roster, member, play

LABELS = ("cat", "dog", "owl")
VOTES: list[list[int | None]] = [[0, 1, 0, 2], [0, 1, 1, None], [0, 1, 0, 1], [0, 2, 1, 0]]
TERMS = Terms(labels=LABELS, seconds=4.0)
NAMES = [each.name for each in keys_and_roster(4)[1]]

Result = TypeVar("Result")


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run(coroutine)


@pytest.fixture(scope="module")
def world() -> SignedWorld:
    return play(TERMS, VOTES)


@pytest.fixture
def archive() -> Iterator[NodeArchive]:
    found = archive_of(4)
    yield found
    found.storage.close()


def plurality(place: int) -> str | None:
    """By hand: the label with most votes, if it has two at least and no other has as many."""
    votes = Counter(LABELS[vote] for row in VOTES if (vote := row[place]) is not None)
    (label, most), *others = votes.most_common()
    return label if most >= 2 and all(each < most for _, each in others) else None


def test_an_account_says_who_voted_what_and_what_was_decided(
    archive: NodeArchive, world: SignedWorld
) -> None:
    name = file(archive.storage, world, bytes_sent=17)
    account = run(archive.account(archive.find(name.hex()[:8])))
    assert account.decisions == [plurality(i) for i in range(4)] == ["cat", "dog", None, None]
    for i in range(4):
        votes = Counter(LABELS[vote] for row in VOTES if (vote := row[i]) is not None)
        assert account.first_votes[i] == votes
        assert account.shares[i] == pytest.approx(max(votes.values()) / sum(votes.values()), abs=1e-6)
    assert account.own_votes == [None if vote is None else LABELS[vote] for vote in VOTES[0]]
    assert (account.effective_votes, account.alike) == (None, [])  # of four inputs nothing can be told
    assert account.why_undecided[:2] == [None, None]
    assert account.why_undecided[2] == "cat and dog have 2 votes each"
    assert "at most 1 of 4 voted alike at first" in str(account.why_undecided[3])
    assert (account.state, account.took_part, account.bytes_sent) == ("decided", NAMES, 17)
    assert account.abstained == {NAMES[1]: "has no vote on 1 of 4 inputs"}
    assert verify(run(archive.certificate(name)), keys_and_roster(4)[1]).motion == name


def test_why_has_the_table_of_votes_and_computes_the_answer_again(
    archive: NodeArchive, world: SignedWorld
) -> None:
    name = file(archive.storage, world)
    text, data = run(archive.why(name, 1))
    assert [each["first"] for each in data["voters"]] == ["dog", "dog", "dog", "owl"]
    assert [each["name"] for each in data["voters"]] == NAMES
    assert (data["decision"], data["holds"], data["undecided"]) == ("dog", True, "")
    assert all(name in text for name in NAMES)
    assert "gives the answer that was decided" in text
    text, data = run(archive.why(name, 2))
    assert data["undecided"] == "cat and dog have 2 votes each"
    assert data["undecided"] in text
    with pytest.raises(ValueError, match="0 to 3: got 4"):
        run(archive.why(name, 4))


def test_an_answer_that_does_not_follow_from_the_votes_is_said_to_be_another(
    archive: NodeArchive, world: SignedWorld
) -> None:
    name = file(archive.storage, world)
    stored = archive.storage.motion(name)
    assert stored.answer is not None
    db = archive.storage.database
    row = db.one("SELECT * FROM results WHERE motion = ?", name)
    with db.writing():  # sealed, as a faulty rule would have written it
        db.toggle(name, "results", row)
        db.change("DELETE FROM results WHERE motion = ?", name)
        db.add("results", name, bytes([stored.answer[0] ^ 1]), row[2])
    text, data = run(archive.why(name, 0))
    assert data["holds"] is False
    assert "GIVES ANOTHER ANSWER" in text


def test_why_tells_final_votes_and_own_weights(archive: NodeArchive) -> None:
    terms = Terms(labels=LABELS, believe="own", seconds=4.0)
    world = play(terms, VOTES)
    name = file(archive.storage, world, weights={NAMES[3]: 0.25})
    text, data = run(archive.why(name, 0))
    assert [each["final"] for each in data["voters"]] == ["cat"] * 4
    assert [each["own_weight"] for each in data["voters"]] == [None, None, None, 0.25]
    assert "0.25" in text
    assert "final vote" in run(archive.play(name))


def test_numbers_and_probabilities_are_told_as_people_read_them(archive: NodeArchive) -> None:
    numbers = play(Terms(answers="numbers", step=0.1, seconds=4.0), [[3], [3], [4], [90]])
    _, data = run(archive.why(file(archive.storage, numbers), 0))
    assert [each["first"] for each in data["voters"]] == [0.3, 0.3, 0.4, 9.0]
    likely = [[255, 0, 0]], [[204, 51, 0]], [[255, 0, 0]], [[0, 0, 255]]
    chances = play(Terms(answers="probabilities", labels=LABELS, seconds=4.0), likely)
    name = file(archive.storage, chances)
    _, data = run(archive.why(name, 0))
    assert data["voters"][1]["first"] == {"cat": 0.8, "dog": 0.2}
    assert data["decision"] == "cat"
    assert "cat" in run(archive.play(name))
    with pytest.raises(ValueError, match="is about numbers"):
        run(archive.play(numbers.motion))


def test_what_is_not_there_is_said(archive: NodeArchive, world: SignedWorld) -> None:
    with pytest.raises(NotFoundError, match="no motion 'last'"):
        archive.find("last")
    with pytest.raises(NotFoundError):
        run(archive.account(bytes(32)))
    storage = archive.storage
    storage.open_motion(world.motion, world.header.encoded(), bytes(64), world.people, 1, CLOCK, CLOCK + 60)
    with pytest.raises(RefusedError, match="is still open"):
        run(archive.certificate(world.motion))
    _, data = run(archive.why(world.motion, 0))
    assert (data["state"], data["holds"]) == ("open", None)
    assert run(archive.account(world.motion)).state == "open"
    storage.stop(world.motion, "the roster ended", CLOCK + 9)
    assert run(archive.account(world.motion)).state == "stopped"
    assert (archive.count(), archive.names()) == (1, [world.motion])
    with pytest.raises(RefusedError, match="was given up"):
        run(archive.certificate(world.motion))
    storage.database.change("UPDATE motions SET summary = '{}'")
    with pytest.raises(DamagedError):
        run(archive.account(world.motion))


def test_rounds_of_a_talk_are_those_that_were_kept(archive: NodeArchive, world: SignedWorld) -> None:
    kept = {"round": 1, "seconds": 0.5, "asked": ["a"], "heard": [], "changed": 2, "shares": {"cat": 1.0}}
    name = file(archive.storage, world, rounds=[kept], rounds_played=501)
    rounds, many = run(archive.rounds(name))
    assert many == 501
    assert (rounds[0].changed, rounds[0].shares) == (2, {"cat": 1.0})


def test_truths_make_records_and_agreement_is_not_taken_for_truth(
    archive: NodeArchive, world: SignedWorld
) -> None:
    name = file(archive.storage, world)
    told = run(archive.tell(name, b"input,label\n0,cat\n1,owl\n", "truths.csv"))
    right = [[row[0] == 0, row[1] == 2] for row in VOTES]
    assert told.told == 2
    assert {who: (each.right, each.voted) for who, each in archive.records().items()} == {
        NAMES[i]: (sum(row), 2) for i, row in enumerate(right)
    }
    assert isinstance(told.records[NAMES[0]], Record)
    assert told.warning == ""
    assert "agreement is not truth" in run(archive.tell(name, {0: "cat", 1: "dog"}, "labels")).warning
    for bad, what in (
        (b"input,label\n4,cat\n", "line 2: input must be 0 to 3"),
        (b"input,label\n0,cow\n", "line 2: label must be one of"),
        (b"label\ncat\ndog\nowl\ncat\ncat\n", "line 6: the motion has 4 inputs"),
        (b"input,label\n0,cat\n0,cat\n", "line 3: input 0 has a truth already"),
        (b"a,b\n1,2\n", "must have the columns"),
        ({9: "cat"}, "input 9: input must be 0 to 3"),
    ):
        with pytest.raises(ValueError, match=what):
            run(archive.tell(name, bad, "t.csv"))


def test_evidence_is_listed_and_its_file_proves_it(archive: NodeArchive) -> None:
    # Not a motion in which it proposes first, since it would propose a set with one of its commitments.
    motions = (play(TERMS, VOTES, seed=seed, kinds={2: Twice}) for seed in range(1, 100))
    world = next(each for each in motions if order_of(each.motion, 0, len(VOTES))[0] != 2)
    name = file(archive.storage, world)
    (accused,) = archive.accusations(5)
    assert (accused.motion, accused.participant) == (name.hex(), NAMES[2])
    data = archive.evidence(name.hex()[:10], NAMES[2])
    assert check_evidence(data, keys_and_roster(4)[1]).participant.name == NAMES[2]
    with pytest.raises(NotFoundError, match=f"there is against {NAMES[2]}"):
        archive.evidence("last", NAMES[1])
    assert run(archive.account(name)).struck == [NAMES[2]]


def test_the_audit_log_is_signed_and_refused_once_it_was_changed(
    archive: NodeArchive, world: SignedWorld
) -> None:
    file(archive.storage, world)
    entries, node = check_export(run(archive.audit()).decode(), keys_and_roster(4)[1])
    assert node == NAMES[0]
    assert entries[0].details["event"] == "asked"
    archive.storage.database.change("UPDATE audit SET entry = replace(entry, 'asked', 'Asked')")
    with pytest.raises(RefusedError, match="was changed"):
        run(archive.audit())


def test_invitations_that_came_to_nothing_are_told(archive: NodeArchive) -> None:
    _, roster = keys_and_roster(4)
    people = [(each.fingerprint, each.name) for each in roster]
    terms = Terms(labels=LABELS, believe="own", rows=3, seconds=4.0)
    for asker, why in ((0, "nobody has shown rows"), (1, "nobody has shown rows"), (0, "")):
        nonce = hashlib.sha256(f"{asker}{why}".encode()).digest()[:16]
        header = Header(bytes.fromhex(roster.digest), asker, nonce, CLOCK, terms, 3, seal=bytes(32))
        name = motion_of(header.encoded())
        archive.storage.open_motion(name, header.encoded(), bytes(64), people, 1, CLOCK, CLOCK + 4)
        if why:
            archive.storage.stop(name, why, CLOCK + 4)
    (told,) = archive.invited()
    assert (told.why, told.inputs, told.created) == ("nobody has shown rows", 3, CLOCK)


def test_rosters_are_proposed_signed_and_passed_on_as_files(archive: NodeArchive) -> None:
    other = archive_of(4, place=1)
    keys, roster = keys_and_roster(4)
    new = keys_and_roster(5)[1]
    joiner = next(each for each in new if each.name not in NAMES)
    status, data = archive.propose(RosterChange(add=[joiner.line()], remove=[NAMES[3]]))
    assert (status.joined, status.left, status.signed) == ([joiner.name], [NAMES[3]], [NAMES[0]])
    assert (status.counted, status.needed, status.in_force) == (1, 3, False)
    assert archive.roster().proposals == [status]
    signed, data = other.sign(data)
    assert signed.signed == NAMES[:2]
    back, _ = archive.sign(data)
    assert back.signed == NAMES[:2]
    assert other.sign(status.proposal[:6])[0].signed == NAMES[:2]
    assert archive.roster_file() == archive.roster_file(0)
    assert Roster.parse(archive.roster_file(), "it").digest == roster.digest
    assert Roster.parse(data, "it").epoch == 1
    altered = data.replace(b"7004", b"7005") if b"7004" in data else data.replace(b"7000", b"7009")
    with pytest.raises(ValueError, match="does not hold"):
        other.sign(altered)
    renewed = member(NAMES[2], keys[0]), member("nobody", keys[0])
    for change, what in (
        (RosterChange(), "give what changes"),
        (RosterChange(add=[roster[1].line()]), "takes part already"),
        (RosterChange(remove=["nobody"]), "must name members"),
        (RosterChange(rotate=[roster[1].line()]), "has this key already"),
        (RosterChange(replace=[renewed[1].line()]), "takes no part"),
    ):
        with pytest.raises(ValueError, match=what):
            archive.propose(change)
    with pytest.raises(NotFoundError, match="4 or more of its digits"):
        archive.sign("abc")
    with pytest.raises(NotFoundError, match="epoch must be one"):
        archive.roster_file(7)
    events = [json.loads(row[0])["event"] for row in archive.storage.database.all("SELECT entry FROM audit")]
    assert events == ["signed a roster"]
    other.storage.close()


def test_a_node_signs_a_bounded_number_of_successors(archive: NodeArchive) -> None:
    _, roster = keys_and_roster(4)
    for port in range(8):
        moved = [*(each for each in roster if each.name != NAMES[0])]
        line = roster[0].line().replace("127.0.0.1:7000", f"127.0.0.1:{8000 + port}")
        assert line != roster[0].line()
        successor = Successor.after(roster, [*moved, Member.parse(line)])
        archive._consent(successor)
    with pytest.raises(ValueError, match="at most 8 successors"):
        archive.propose(RosterChange(remove=[NAMES[1]]))
    assert len(archive.roster().proposals) == 8

"""What a node knows of rosters: stored before it is shown, signed once, the same after a restart."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from folkmoot.network.storage.chronicle import Chronicle, Proposal, Renewals
from folkmoot.network.storage.storage import Storage
from folkmoot.network.wire import statements
from folkmoot.network.wire.succession import Succession
from folkmoot.node.membership.roster import Roster
from support.network.epochs import key_of, member, roster_of, signatures

NAMES = ["anna", "bert", "cleo", "dora", "emil", "fred", "gina"]
OLD = roster_of(NAMES)
ONE = Succession.after(OLD, [*OLD, member("hugo")])
OTHER = Succession.after(OLD, [*OLD, member("iris")])
THIRD = Succession.after(OLD, [*OLD, member("jane")])


def proposal(succession: Succession, *names: str, old: Roster = OLD) -> Proposal:
    return Proposal(old, succession, signatures(succession, old, names))


def chronicle(path: Path | str = ":memory:") -> Chronicle:
    return Chronicle(Storage(path), OLD, 0.0)


def test_signatures_gather_until_a_quorum_has_signed_and_a_restart_finds_them(tmp_path: Path) -> None:
    path = tmp_path / "moot.db"
    found = chronicle(path)
    for number, name in enumerate(NAMES[:5], 1):
        assert found.learn(proposal(ONE, name), float(number))
        assert not found.learn(proposal(ONE, name), 99.0)  # said again, nothing is new
        found = chronicle(path)
        assert len(found.rosters) == (1 if number < 5 else 2)
    assert found.tip == ONE.roster
    assert found.since[1] == 5.0  # when it came into force, not when it was read again
    link = found.after(OLD)
    assert link is not None
    assert link.standing.complete
    assert found.after(ONE.roster) is None
    assert (found.roster(bytes.fromhex(OLD.digest)), found.roster(bytes(32))) == (OLD, None)


def test_a_node_signs_one_successor_of_a_roster_and_no_other_even_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "moot.db"
    key, fingerprint = key_of("anna"), OLD[0].fingerprint
    signed = chronicle(path).sign(ONE, key, fingerprint, 1.0)
    assert signed.signatures == signatures(ONE, OLD, ["anna"])
    again = chronicle(path)
    assert again.own(OLD) == ONE.name
    with pytest.raises(ValueError, match="this node has signed another successor of epoch 0"):
        again.sign(OTHER, key, fingerprint, 2.0)
    assert again.sign(ONE, key, fingerprint, 2.0).signatures == signed.signatures
    assert [each.succession for each in again.proposals] == [ONE]
    assert list(again.evidence()) == []
    again.learn(proposal(ONE, *NAMES[1:5]), 3.0)  # in the next epoch it may sign again
    later = Succession.after(ONE.roster, OLD)
    assert again.sign(later, key, fingerprint, 4.0).succession == later


def test_nothing_is_signed_that_could_not_be_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "moot.db"
    found = chronicle(path)

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(found, "_store", full)
    with pytest.raises(sqlite3.OperationalError):
        found.sign(ONE, key_of("anna"), OLD[0].fingerprint, 1.0)
    again = chronicle(path)
    assert again.own(OLD) is None
    assert again.proposals == []
    assert again.sign(OTHER, key_of("anna"), OLD[0].fingerprint, 1.0).succession == OTHER


def test_only_members_of_the_roster_in_force_sign_and_only_its_successors() -> None:
    found = chronicle()
    with pytest.raises(ValueError, match="this node is none"):
        found.sign(ONE, key_of("hugo"), member("hugo").fingerprint, 1.0)
    found.learn(proposal(ONE, *NAMES[:5]), 1.0)
    with pytest.raises(ValueError, match="a successor must follow the roster of epoch 1"):
        found.sign(OTHER, key_of("anna"), OLD[0].fingerprint, 1.0)
    assert not found.learn(proposal(OTHER, *NAMES), 2.0)  # late: another one is in force
    assert found.tip == ONE.roster


def test_forged_signatures_are_not_kept() -> None:
    found = chronicle()
    forged = Proposal(OLD, ONE, dict.fromkeys(range(7), bytes(64)) | {9: bytes(64)})
    assert not found.learn(forged, 1.0)
    swapped = Proposal(OLD, ONE, signatures(OTHER, OLD, NAMES))
    assert not found.learn(swapped, 1.0)
    assert found.proposals == []


def test_two_signatures_are_evidence_and_a_third_is_not_kept() -> None:
    found = chronicle()
    for each in (ONE, OTHER, THIRD):
        found.learn(proposal(each, "cleo"), 1.0)
    assert len(found.proposals) == 2
    ((old, proof),) = found.evidence()
    cleo = old[statements.accused(proof)]
    assert cleo.name == "cleo"
    assert statements.proves(proof, cleo.public_key, bytes.fromhex(cleo.fingerprint))
    found.learn(proposal(THIRD, "cleo", *NAMES[3:]), 2.0)  # but with it the others are a quorum, so it counts
    assert found.tip == THIRD.roster
    assert len(list(found.evidence())) == 1  # the past is not forgotten


def test_if_more_lie_than_may_the_first_that_held_stays(tmp_path: Path) -> None:
    path = tmp_path / "moot.db"
    found = chronicle(path)
    found.learn(proposal(OTHER, *NAMES[:4]), 1.0)
    assert found.learn(proposal(ONE, *NAMES[2:]), 2.0)  # three sign both
    storage = Storage(path)
    with storage.database.writing():
        for place, signature in signatures(OTHER, OLD, NAMES).items():
            row = (bytes.fromhex(OLD.digest), place, OTHER.name, signature)
            storage.database.change("INSERT OR IGNORE INTO consents VALUES (?, ?, ?, ?)", *row)
    assert found.tip == ONE.roster
    assert chronicle(path).tip == ONE.roster


def test_what_a_command_has_stored_is_seen_by_the_node_that_runs(tmp_path: Path) -> None:
    path = tmp_path / "moot.db"
    node = chronicle(path)
    assert node.changed()  # as far as it knows
    assert not node.changed()
    chronicle(path).learn(proposal(ONE, *NAMES[:5]), 1.0)
    assert node.changed()
    assert node.refresh(2.0)
    assert node.tip == ONE.roster
    assert not node.refresh(3.0)


def test_damaged_rows_count_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "moot.db"
    chronicle(path).learn(proposal(ONE, *NAMES[:5]), 1.0)
    for change in (
        "UPDATE consents SET signature = zeroblob(64) WHERE node = 2",
        "UPDATE successors SET content = x'93'",
    ):
        with sqlite3.connect(path) as file:
            file.execute(change)
        assert chronicle(path).tip == OLD


def test_records_follow_a_member_through_its_certificates() -> None:
    storage = Storage(":memory:")
    found = Chronicle(storage, OLD, 0.0)
    first, second = OLD[0].fingerprint, member("anna", 1).fingerprint
    rotated = Succession.after(OLD, [member("anna", 1), *OLD.participants[1:]])
    found.learn(proposal(rotated, *NAMES[:5]), 1.0)
    assert Renewals(storage).newest(first) == second
    back = Succession.after(rotated.roster, OLD)  # and back to the first
    signed = signatures(back, rotated.roster, NAMES[1:]) | {0: back.signed_by(key_of("anna", 1), 0)}
    found.learn(Proposal(rotated.roster, back, signed), 2.0)
    assert len(found.rosters) == 3
    assert [Renewals(storage).newest(each) for each in (first, second)] == [first, first]
    assert Renewals(storage).newest(OLD[1].fingerprint) == OLD[1].fingerprint


def test_a_name_that_left_and_came_back_is_somebody_else() -> None:
    storage = Storage(":memory:")
    found = Chronicle(storage, OLD, 0.0)
    left = Succession.after(OLD, OLD.participants[1:])
    found.learn(proposal(left, *NAMES[:5]), 1.0)
    new = Succession.after(left.roster, [*left.roster, member("anna", 1)])
    found.learn(proposal(new, *NAMES[1:], old=left.roster), 2.0)
    assert len(found.rosters) == 3
    assert Renewals(storage).newest(OLD[0].fingerprint) == OLD[0].fingerprint


def test_the_audit_log_tells_what_was_signed_and_what_came_into_force() -> None:
    storage = Storage(":memory:")
    found = Chronicle(storage, OLD, 0.0)
    for _ in range(2):  # said again, nothing more is noted
        found.sign(ONE, key_of("anna"), OLD[0].fingerprint, 1.0)
    found.learn(proposal(ONE, *NAMES[1:5]), 2.0)
    Chronicle(storage, OLD, 3.0)
    told = [entry.details for entry in storage.check_audit()]
    assert [(each["event"], each["at"], each["epoch"]) for each in told] == [
        ("signed a roster", 1.0, 1),
        ("roster in force", 2.0, 1),
    ]
    assert {each["moot"] for each in told} == {ONE.roster.digest}
    assert told[1]["signed_by"] == NAMES[:5]

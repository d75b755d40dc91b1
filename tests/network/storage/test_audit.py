"""The audit log: what it tells, what pruning leaves, and every way of tampering that is found."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot.network.service.access import Access
from folkmoot.network.service.policy import Policy
from folkmoot.network.storage.audit import (
    START,
    Entry,
    TamperedError,
    check_chain,
    check_export,
    check_goes_on,
    export_log,
)
from folkmoot.network.storage.storage import Storage
from folkmoot.node.membership.roster import Roster
from support.network.moot_in_memory import Moot, keys_and_roster

VOTES = np.ones((7, 5), dtype=np.int8)


@pytest.fixture(scope="module")
def moot() -> Moot:
    """Two motions of p000 at all, one that p003 refuses, a truth, and a member that signs two closes."""
    only = Policy(access=Access(askers=("p000",)))
    found = Moot(VOTES, 1, policies={3: only}, two_faced=[5])
    for number in range(2):
        found.put(0, at=20.0 * number, seconds=8.0, k=4, alpha=3, created=1e9 + number)
    found.put(1, at=45.0, seconds=8.0, k=4, alpha=3, created=1e9 + 9)
    found.network.run(until=80.0)
    storage = found.storages[3]
    storage.tell(storage.names()[0], {0: "a", 2: "b"})
    return found


def entries_of(moot: Moot, place: int = 3) -> list[Entry]:
    return list(moot.storages[place].audit.entries())


def test_it_tells_who_asked_what_and_what_was_answered_and_learnt(moot: Moot) -> None:
    entries = entries_of(moot)
    told = [entry.details for entry in entries]
    names = [name.hex() for name in moot.storages[3].names()]
    assert [each["seq"] for each in told] == list(range(1, len(told) + 1))
    asked = [each for each in told if each["event"] == "asked"]
    assert [(each["asker"], each["inputs"], each["motion"]) for each in asked] == [
        ("p000", 5, name) for name in names
    ]
    assert asked[0]["at"] == pytest.approx(1e9, abs=1.0)
    for name in names:
        events = [each["event"] for each in told if each["motion"] == name]
        assert events[:2] == ["asked", "answered"]
        assert "over" in events
    (refused,) = [each for each in told if each["event"] == "refused"]
    assert (refused["asker"], refused["why"]) == ("p001", "p001 is not among those who may ask this node")
    held = moot.storages[3].held(bytes.fromhex(names[0]))
    (answered,) = [each for each in told if each["event"] == "answered" and each["motion"] == names[0]]
    assert held.voted is not None
    assert answered["first"] == hashlib.sha256(held.voted.first).hexdigest()
    assert answered["commitment"] == held.voted.commit.commitment.hex()
    (learnt,) = [each for each in told if each["event"] == "learnt"]
    assert (learnt["truths"], learnt["motion"]) == (2, names[0])
    assert learnt["digest"] == hashlib.sha256(b'{"0":"a","2":"b"}').hexdigest()
    evidence = [each for s in range(7) for each in _details(moot, s) if each["event"] == "evidence"]
    assert {(each["against"], each["what"]) for each in evidence} == {(5, "two closes")}


def _details(moot: Moot, place: int) -> list[dict[str, Any]]:
    return [entry.details for entry in entries_of(moot, place)]


def test_links_are_hashes_by_hand(moot: Moot) -> None:
    link = START
    for entry in entries_of(moot):
        assert entry.text is not None
        assert entry.text == json.dumps(
            json.loads(entry.text), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        link = hashlib.sha256(link + hashlib.sha256(entry.text.encode()).digest()).digest()
        assert entry.link == link
    assert check_chain(entries_of(moot)) == (len(entries_of(moot)), link)


def exported(moot: Moot) -> tuple[str, Roster]:
    roster = moot.roster
    return export_log(entries_of(moot), "p003", roster[3].fingerprint, moot.keys[3]), roster


def test_an_export_holds_and_says_whose_it_is(moot: Moot) -> None:
    text, roster = exported(moot)
    entries, node = check_export(text, roster)
    assert (entries, node) == (entries_of(moot), "p003")
    with pytest.raises(TamperedError, match="not in the roster"):
        check_export(text, Roster(keys_and_roster(7)[1].participants[:3]))


def edit(lines: list[str]) -> None:
    lines[1] = lines[1].replace("p000", "p001")


def edit_with_its_digest(lines: list[str]) -> None:
    """Whoever edits may make a new digest, and even new links, but not the signature."""
    entry = json.loads(lines[1])
    entry["entry"] = entry["entry"].replace("p000", "p001")
    entry["digest"] = hashlib.sha256(entry["entry"].encode()).hexdigest()
    lines[1] = json.dumps(entry, sort_keys=True, separators=(",", ":"))


def write_anew(lines: list[str]) -> None:
    """All links after the edit are right again."""
    edit_with_its_digest(lines)
    link = START
    for i in range(1, len(lines) - 1):
        entry = json.loads(lines[i])
        link = hashlib.sha256(link + bytes.fromhex(entry["digest"])).digest()
        lines[i] = json.dumps(entry | {"link": link.hex()}, sort_keys=True, separators=(",", ":"))
    foot = json.loads(lines[-1])
    lines[-1] = json.dumps(foot | {"head": link.hex()}, sort_keys=True, separators=(",", ":"))


def delete(lines: list[str]) -> None:
    del lines[3]


def delete_first(lines: list[str]) -> None:
    del lines[1]


def delete_last(lines: list[str]) -> None:
    del lines[-2]


def truncate(lines: list[str]) -> None:
    del lines[4:]


def reorder(lines: list[str]) -> None:
    lines[2], lines[3] = lines[3], lines[2]


def reorder_with_numbers(lines: list[str]) -> None:
    one, other = json.loads(lines[2]), json.loads(lines[3])
    one["seq"], other["seq"] = other["seq"], one["seq"]
    lines[2], lines[3] = (json.dumps(x, sort_keys=True, separators=(",", ":")) for x in (other, one))


def drop_a_text(lines: list[str]) -> None:
    """As if its motion had been forgotten: the digest stays, so this is no tampering with what is told."""
    entry = json.loads(lines[1])
    entry["entry"] += " "
    lines[1] = json.dumps(entry, sort_keys=True, separators=(",", ":"))


def changed_field(line: str, **fields: Any) -> str:
    return json.dumps(json.loads(line) | fields, sort_keys=True, separators=(",", ":"))


def a_number_for_a_text(lines: list[str]) -> None:
    lines[1] = changed_field(lines[1], entry=5)


def half_a_character(lines: list[str]) -> None:
    lines[1] = lines[1].replace('"entry":"', '"entry":"\\ud800', 1)


def a_list_for_a_foot(lines: list[str]) -> None:
    """The right words, but nothing that they stand for."""
    lines[-1] = json.dumps([*json.loads(lines[-1])], separators=(",", ":"))


def beyond_all_numbers(lines: list[str]) -> None:
    """As if all but the last entry had been let go, and there had been very many."""
    far = 1 << 70
    del lines[1:-2]
    lines[1] = changed_field(lines[1], seq=far)
    entry = json.loads(lines[1])
    del entry["entry"]
    lines[1] = json.dumps(entry, sort_keys=True, separators=(",", ":"))
    lines[-1] = changed_field(lines[-1], first=far, last=far, head=entry["link"])


def another_case(lines: list[str]) -> None:
    signature = json.loads(lines[-1])["signature"]
    lines[-1] = lines[-1].replace(signature, signature.upper())


def a_real_number(lines: list[str]) -> None:
    lines[-1] = changed_field(lines[-1], first=1.0)


def another_name(lines: list[str]) -> None:
    lines[-1] = changed_field(lines[-1], node="p004")


def nested(lines: list[str]) -> None:
    lines[1] = "[" * 100_000


def another_format(lines: list[str]) -> None:
    lines[1] = lines[1].replace(":", ": ", 1)


@pytest.mark.parametrize(
    "change",
    [
        edit, edit_with_its_digest, write_anew, delete, delete_first, delete_last, truncate, reorder,
        reorder_with_numbers, drop_a_text, another_format, a_number_for_a_text, half_a_character,
        a_list_for_a_foot, beyond_all_numbers, nested, another_case, a_real_number, another_name,
    ],
)  # fmt: skip
def test_tampering_with_an_export_is_found(moot: Moot, change: Callable[[list[str]], None]) -> None:
    text, roster = exported(moot)
    lines = text.splitlines()
    change(lines)
    with pytest.raises(TamperedError):
        check_export("\n".join(lines) + "\n", roster)


def test_every_byte_of_an_export_is_looked_at(moot: Moot) -> None:
    text, roster = exported(moot)
    data = bytearray(text.encode())
    for where in range(0, len(data), 97):
        changed = bytes(data[:where]) + bytes([data[where] ^ 1]) + bytes(data[where + 1 :])
        with pytest.raises((TamperedError, UnicodeDecodeError)):
            check_export(changed.decode(), roster)
        with pytest.raises(TamperedError):
            check_export(text[:where], roster)


def test_a_log_goes_on_from_its_earlier_export_or_was_written_anew(moot: Moot) -> None:
    entries = entries_of(moot)
    check_goes_on(entries, entries[:4])
    check_goes_on(entries, [])
    with pytest.raises(TamperedError, match="cut short"):
        check_goes_on(entries[:3], entries[:4])
    other = [Entry(e.seq, e.digest, bytes(32) if e.seq == 3 else e.link, e.text) for e in entries]
    with pytest.raises(TamperedError, match="entry 3 is another than in the earlier export"):
        check_goes_on(other, entries[:4])
    with pytest.raises(TamperedError, match="cannot be compared"):
        check_goes_on(entries[5:], entries[:4])


def stored(tmp_path: Path, moot: Moot) -> Path:
    """The database of p003 as a file."""
    path = tmp_path / "moot.db"
    copy = sqlite3.connect(path)
    moot.storages[3]._db._db.backup(copy)
    copy.close()
    return path


@pytest.mark.parametrize(
    "query",
    [
        "UPDATE audit SET entry = replace(entry, 'p000', 'p001') WHERE seq = 1",
        "UPDATE audit SET digest = zeroblob(32) WHERE seq = 2",
        "UPDATE audit SET link = zeroblob(32) WHERE seq = 2",
        "DELETE FROM audit WHERE seq = 3",
        "DELETE FROM audit WHERE seq > 2",
        "DELETE FROM audit WHERE seq < 4",
        "DELETE FROM audit",
        "UPDATE audit SET seq = CASE seq WHEN 2 THEN -3 ELSE -2 END WHERE seq IN (2, 3);"
        "UPDATE audit SET seq = -seq WHERE seq < 0",
        "UPDATE audit SET entry = NULL WHERE seq = 1",
    ],
)
def test_tampering_with_the_database_is_found(query: str, moot: Moot, tmp_path: Path) -> None:
    path = stored(tmp_path, moot)
    fine = Storage(path)
    assert len(fine.check_audit()) == len(entries_of(moot))
    fine.close()
    database = sqlite3.connect(path)
    database.executescript(query)
    database.close()
    changed = Storage(path)
    with pytest.raises(TamperedError):
        changed.check_audit()
    changed.close()


def test_forgotten_motions_leave_their_digests(moot: Moot, tmp_path: Path) -> None:
    storage = Storage(stored(tmp_path, moot))
    before = storage.check_audit()
    names = [name.hex() for name in storage.names()]
    assert storage.prune(2e9, target=0) == 2
    after = storage.check_audit()
    assert [entry.link for entry in after[: len(before)]] == [entry.link for entry in before]
    texts = {entry.seq for entry in after if entry.text is not None}
    about = {entry.seq for entry in before if entry.details["motion"] in names}
    assert not texts & about
    assert len(texts) == len(after) - len(about)
    forgotten = [entry.details for entry in after if entry.details.get("event") == "forgotten"]
    assert sorted(each["motion"] for each in forgotten) == sorted(names)
    assert all(len(each["digest"]) == 64 for each in forgotten)
    check_goes_on(after, before)
    text = export_log(after, "p003", moot.roster[3].fingerprint, moot.keys[3])
    assert check_export(text, moot.roster)[0] == after
    storage.audit.shorten(most=3)
    kept = storage.check_audit()
    assert [entry.seq for entry in kept] == [entry.seq for entry in after[-3:]]
    storage.close()


def test_refusals_of_one_asker_do_not_fill_the_log() -> None:
    moot = Moot(VOTES, 2, policies={3: Policy(access=Access(askers=()))})
    node = moot.nodes[3]
    assert node is not None
    noted = sum(node._admission.notes_refusal(0, 1.0) for _ in range(5000))
    assert noted <= 101
    assert node._admission.notes_refusal(1, 1.0)

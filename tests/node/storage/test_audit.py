"""The audit log: what it tells, what forgetting leaves, and every way of tampering that is found."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from folkmoot.node.membership.roster import Roster
from folkmoot.node.session.book import Evidence
from folkmoot.node.storage.audit import (
    FORMAT_OF_0_2,
    START,
    Entry,
    TamperedError,
    check_chain,
    check_export,
    check_goes_on,
    export_log,
    linked,
)
from folkmoot.node.storage.storage import Storage
from node.storage.test_storage import fill, name_of, record, said
from support.node.signed import keys_and_roster

KEYS, ROSTER = keys_and_roster(4)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two motions, one refused, a truth, evidence."""
    storage = Storage(":memory:")
    fill(storage, 1, 3)
    storage.refused(name_of(9), "south", "south is not among those who may ask this node", 9.0)
    storage.tell(name_of(1), {0: "a", 2: "b"}, 10.0)
    storage.accuse(name_of(2), Evidence(name_of(2), said(1), said(2)), 11.0)
    path = tmp_path_factory.mktemp("lived") / "moot.db"
    storage.database.change("VACUUM INTO ?", str(path))
    storage.close()
    return path


@pytest.fixture(scope="module")
def entries(lived: Path) -> list[Entry]:
    storage = Storage(lived)
    found = list(storage.audit.entries())
    storage.close()
    return found


def test_it_tells_who_asked_what_and_what_was_answered_and_learnt(entries: list[Entry]) -> None:
    told = [entry.details for entry in entries]
    assert [each["seq"] for each in told] == list(range(1, len(told) + 1))
    for number in (1, 2):
        events = [each for each in told if each["motion"] == name_of(number).hex()]
        assert [each["event"] for each in events][:4] == ["asked", "answered", "answered", "over"]
        assert events[0]["asker"] == "north"
        assert events[0]["inputs"] == 3
        votes = hashlib.sha256(bytes(32) + bytes(1)).hexdigest()
        assert (events[1]["votes"], events[1]["poll"]) == (votes, 0)
        assert events[3]["certificate"] == hashlib.sha256(b"certificate %d" % number).hexdigest()
    (refused,) = [each for each in told if each["event"] == "refused"]
    assert refused["why"] == "south is not among those who may ask this node"
    (learnt,) = [each for each in told if each["event"] == "learnt"]
    assert learnt["digest"] == hashlib.sha256(b'{"0":"a","2":"b"}').hexdigest()
    (evidence,) = [each for each in told if each["event"] == "evidence"]
    assert evidence["against"] == 3


def test_links_are_hashes_by_hand(entries: list[Entry]) -> None:
    link = START
    for entry in entries:
        assert entry.text is not None
        assert entry.text == json.dumps(json.loads(entry.text), sort_keys=True, separators=(",", ":"))
        link = hashlib.sha256(link + hashlib.sha256(entry.text.encode()).digest()).digest()
        assert entry.link == link
    assert check_chain(entries) == (len(entries), link)


def exported(entries: list[Entry], base: tuple[int, bytes] = (1, START)) -> str:
    return export_log(entries, base, "south", ROSTER[2].fingerprint, KEYS[2])


def shortened(entries: list[Entry], first: int) -> str:
    """An export of a log that let its first entries go."""
    return exported(entries[first - 1 :], (first, entries[first - 2].link))


def test_an_export_holds_and_says_whose_it_is(entries: list[Entry]) -> None:
    assert ROSTER[2].name == "south"
    assert check_export(exported(entries), ROSTER) == (entries, "south")
    assert check_export(shortened(entries, 4), ROSTER) == (entries[3:], "south")
    with pytest.raises(TamperedError, match="not in the roster"):
        check_export(exported(entries), Roster(ROSTER.participants[:2]))


def dumped(found: dict[str, Any]) -> str:
    return json.dumps(found, sort_keys=True, separators=(",", ":"))


def changed_field(line: str, **fields: Any) -> str:
    return dumped(json.loads(line) | fields)


def edit(lines: list[str]) -> None:
    lines[1] = lines[1].replace("north", "south")


def edit_with_its_digest(lines: list[str]) -> None:
    """An editor may make a new digest, and even new links, but not the signature."""
    entry = json.loads(lines[1])
    entry["entry"] = entry["entry"].replace("north", "south")
    entry["digest"] = hashlib.sha256(entry["entry"].encode()).hexdigest()
    lines[1] = dumped(entry)


def write_anew(lines: list[str]) -> None:
    """All links after the edit are right again."""
    edit_with_its_digest(lines)
    link = START
    for i in range(1, len(lines) - 1):
        entry = json.loads(lines[i])
        link = linked(link, bytes.fromhex(entry["digest"]))
        lines[i] = changed_field(lines[i], link=link.hex())
    lines[-1] = changed_field(lines[-1], head=link.hex())


def delete(lines: list[str]) -> None:
    del lines[3]


def delete_first(lines: list[str]) -> None:
    del lines[1]


def delete_last(lines: list[str]) -> None:
    del lines[-2]


def delete_last_and_say_so(lines: list[str]) -> None:
    del lines[-2]
    last = json.loads(lines[-2])
    lines[-1] = changed_field(lines[-1], last=last["seq"], head=last["link"])


def reorder(lines: list[str]) -> None:
    lines[2], lines[3] = lines[3], lines[2]


def drop_a_text(lines: list[str]) -> None:
    entry = json.loads(lines[1])
    entry["entry"] += " "
    lines[1] = dumped(entry)


def a_number_for_a_text(lines: list[str]) -> None:
    lines[1] = changed_field(lines[1], entry=5)


def half_a_character(lines: list[str]) -> None:
    lines[1] = lines[1].replace('"entry":"', '"entry":"\\ud800', 1)


def a_list_for_a_foot(lines: list[str]) -> None:
    lines[-1] = json.dumps([*json.loads(lines[-1])], separators=(",", ":"))


def beyond_all_numbers(lines: list[str]) -> None:
    """As if all but the last entry had been let go, and there had been very many."""
    far = 1 << 70
    del lines[1:-2]
    lines[1] = changed_field(lines[1], seq=far)
    lines[-1] = changed_field(lines[-1], first=far, last=far, head=json.loads(lines[1])["link"])


def another_case(lines: list[str]) -> None:
    signature = json.loads(lines[-1])["signature"]
    lines[-1] = lines[-1].replace(signature, signature.upper())


def a_real_number(lines: list[str]) -> None:
    lines[-1] = changed_field(lines[-1], first=1.0)


def another_name(lines: list[str]) -> None:
    lines[-1] = changed_field(lines[-1], node="north")


def another_beginning(lines: list[str]) -> None:
    lines[-1] = changed_field(lines[-1], before="00" * 32)


def no_beginning(lines: list[str]) -> None:
    """As an export of 0.2, whose foot has none."""
    edit_with_its_digest(lines)
    foot = json.loads(lines[-1])
    del foot["before"]
    lines[-1] = dumped(foot)


def nested(lines: list[str]) -> None:
    lines[1] = "[" * 100_000


def another_format(lines: list[str]) -> None:
    lines[1] = lines[1].replace(":", ": ", 1)


CHANGES = [
    edit, edit_with_its_digest, write_anew, delete, delete_first, delete_last, delete_last_and_say_so,
    reorder, drop_a_text, another_format, a_number_for_a_text, half_a_character, a_list_for_a_foot,
    beyond_all_numbers, nested, another_case, a_real_number, another_name, another_beginning, no_beginning,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("first", [1, 5])
def test_tampering_with_an_export_is_found(
    entries: list[Entry], change: Callable[[list[str]], None], first: int
) -> None:
    """Of a whole log, and of one that let its first entries go: there the first could be rewritten in 0.2."""
    text = exported(entries) if first == 1 else shortened(entries, first)
    lines = text.splitlines()
    change(lines)
    with pytest.raises(TamperedError):
        check_export("\n".join(lines) + "\n", ROSTER)


def test_every_byte_of_an_export_is_looked_at(entries: list[Entry]) -> None:
    text = shortened(entries, 3)
    data = bytearray(text.encode())
    for where in range(0, len(data), 61):
        changed = bytes(data[:where]) + bytes([data[where] ^ 1]) + bytes(data[where + 1 :])
        with pytest.raises((TamperedError, UnicodeDecodeError)):
            check_export(changed.decode(), ROSTER)
        with pytest.raises(TamperedError):
            check_export(text[:where], ROSTER)


def as_0_2_wrote_it(text: str) -> str:
    lines = text.splitlines()
    foot = json.loads(lines[-1])
    del foot["before"]
    return "\n".join([dumped({"format": FORMAT_OF_0_2}), *lines[1:-1], dumped(foot)]) + "\n"


def test_exports_of_0_2_are_read_and_their_first_entry_tells_nothing_if_others_came_before(
    entries: list[Entry],
) -> None:
    assert check_export(as_0_2_wrote_it(exported(entries)), ROSTER) == (entries, "south")
    lines = as_0_2_wrote_it(shortened(entries, 5)).splitlines()
    assert "south is not" not in lines[1]
    edit_with_its_digest(lines)
    found, _ = check_export("\n".join(lines) + "\n", ROSTER)
    assert found[0].text is None
    assert found[1:] == entries[5:]


def test_a_log_goes_on_from_its_earlier_export_or_was_written_anew(entries: list[Entry]) -> None:
    check_goes_on(entries, entries[:4])
    check_goes_on(entries, [])
    with pytest.raises(TamperedError, match="cut short"):
        check_goes_on(entries[:3], entries[:4])
    other = [Entry(e.seq, e.digest, bytes(32) if e.seq == 3 else e.link, e.text) for e in entries]
    with pytest.raises(TamperedError, match="entry 3 is another than in the earlier export"):
        check_goes_on(other, entries[:4])
    with pytest.raises(TamperedError, match="cannot be compared"):
        check_goes_on(entries[5:], entries[:4])


@pytest.mark.parametrize(
    "query",
    [
        "UPDATE audit SET entry = replace(entry, 'north', 'south') WHERE seq = 1",
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
def test_tampering_with_the_database_is_found(query: str, lived: Path, tmp_path: Path) -> None:
    path = tmp_path / "moot.db"
    path.write_bytes(lived.read_bytes())
    with sqlite3.connect(path) as database:
        database.executescript(query)
    database.close()
    changed = Storage(path)
    with pytest.raises(TamperedError):
        changed.check_audit()
    changed.close()


def test_forgotten_motions_leave_their_digests(lived: Path, tmp_path: Path) -> None:
    path = tmp_path / "moot.db"
    path.write_bytes(lived.read_bytes())
    storage = Storage(path)
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
    check_goes_on(after, before)
    assert check_export(exported(after, storage.audit.base()), ROSTER)[0] == after
    storage.audit.shorten(most=3)
    kept = storage.check_audit()
    assert [entry.seq for entry in kept] == [entry.seq for entry in after[-3:]]
    assert check_export(exported(kept, storage.audit.base()), ROSTER)[0] == kept
    storage.append(name_of(1), [record(1)], 3.0)
    storage.close()

"""The audit log of a node: who asked what and when, what was answered and learnt, in a chain of hashes.

An entry is JSON with sorted keys and no spaces. Its **digest** is the SHA-256 of that text, and its **link**
the SHA-256 of the link before it and the digest. So an entry that is changed, taken out, put in or moved
gives another link from there on. Anybody who knows one link knows all that came before it. Entries are
written in the transaction that stores what they tell of.

When a motion is forgotten to make room, the texts of its entries go and their digests stay. An entry holds a
digest of all that was forgotten. Beyond ``MOST`` entries the oldest go as a whole.

The chain proves nothing against the owner of the file, who can write all of it anew. An export is signed with
the node's key, and any later one must go on from it: those who keep exports find out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.node.membership.certificates import holds
from folkmoot.node.membership.roster import Roster
from folkmoot.node.storage.database import Database

FORMAT: Final = "folkmoot audit 2"
FORMAT_OF_0_2: Final = "folkmoot audit 1"  # its foot does not have the link before the first entry
MOST: Final = 1_000_000  # entries: about a hundred bytes each, once their motions are forgotten
START: Final = hashlib.sha256(FORMAT_OF_0_2.encode()).digest()  # the link before the first entry of all
_PREFIX: Final = b"folkmoot/2 audit\0"  # of both formats: the head covers the link before the first entry
_FOOT: Final = {"node", "fingerprint", "first", "last", "head", "signature"}


class TamperedError(ValueError):
    """An audit log is not as it was written; the message says where and how."""


@dataclass(frozen=True)
class Entry:
    """One line of the log; ``text`` is None once its motion was forgotten."""

    seq: int
    digest: bytes
    link: bytes
    text: str | None

    @property
    def details(self) -> dict[str, Any]:
        """The entry's fields; nothing if its text is gone."""
        return {} if self.text is None else dict(json.loads(self.text))


class AuditLog:
    """The log in a node's database."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, event: str, at: float, **details: Any) -> None:
        """One more entry, in the transaction under way; ``motion`` in the details is its name in hex."""
        last = self._db.one("SELECT seq, link FROM audit ORDER BY seq DESC LIMIT 1")
        seq, link = (1, START) if last is None else (last[0] + 1, last[1])
        text = written({"seq": seq, "at": round(at, 3), "event": event, **details})
        digest = hashlib.sha256(text.encode()).digest()
        self._db.change(
            "INSERT INTO audit VALUES (?, ?, ?, ?, ?)",
            seq, details.get("motion", ""), digest, linked(link, digest), text,
        )  # fmt: skip

    def forget(self, motion: str) -> None:
        """The texts of a motion's entries go; their digests stay."""
        self._db.change("UPDATE audit SET entry = NULL WHERE motion = ?", motion)

    def shorten(self, most: int = MOST) -> None:
        """Let the oldest entries go as a whole, if there are too many."""
        (count,) = self._db.one("SELECT count(*) FROM audit")
        if count > most:
            (last,) = self._db.one("SELECT max(seq) FROM audit")
            (link,) = self._db.one("SELECT link FROM audit WHERE seq = ?", last - most)
            self._db.change("DELETE FROM audit WHERE seq <= ?", last - most)
            self._db.keep("audit", link)
            self._db.keep("audit first", last - most + 1)

    def base(self) -> tuple[int, bytes]:
        """The number of the first entry that was not let go, and the link before it."""
        first, link = self._db.kept("audit first"), self._db.kept("audit")
        return (1, START) if first is None or link is None else (first, link)

    def head(self) -> tuple[int, str]:
        """The number of the last entry and its link, in hexadecimal; 0 and "" if there is none."""
        row = self._db.one("SELECT seq, link FROM audit ORDER BY seq DESC LIMIT 1")
        return (0, "") if row is None else (row[0], row[1].hex())

    def entries(self) -> Iterator[Entry]:
        """All of them, the oldest first."""
        for seq, _, digest, link, text in self._db.all("SELECT * FROM audit ORDER BY seq"):
            yield Entry(seq, digest, link, text)


def written(details: dict[str, Any]) -> str:
    """The one way to write an entry."""
    return json.dumps(details, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def linked(before: bytes, digest: bytes) -> bytes:
    """The link of an entry, after the one before it."""
    return hashlib.sha256(before + digest).digest()


def check_chain(entries: Iterable[Entry], base: tuple[int, bytes] | None = None) -> tuple[int, bytes]:
    """The number of the last entry, and its link; TamperedError if they are no chain.

    ``base`` is the number of the first and the link before it. Without one, as in an export of 0.2, the first
    that is there may be a later one. Then its link is believed, and nothing protects it.
    """
    count = 0
    expected, link = (1, START) if base is None else base
    for entry in entries:
        if count == 0 and entry.seq > 1 and base is None:
            expected, link = entry.seq, b""
        if entry.seq != expected:
            raise TamperedError(
                f"entry {expected} is missing: entry {entry.seq} comes in its place (deleted, or moved)"
            )
        if entry.text is not None and hashlib.sha256(entry.text.encode()).digest() != entry.digest:
            raise TamperedError(f"entry {entry.seq} was changed: its text does not have its digest")
        if entry.text is not None and _seq(entry) != entry.seq:
            raise TamperedError(f"entry {entry.seq} was moved: it says that it is another")
        if link and linked(link, entry.digest) != entry.link:
            raise TamperedError(
                f"entry {entry.seq} does not follow from the one before it: its link is another"
            )
        link, expected, count = entry.link, entry.seq + 1, count + 1
    return expected - 1, link


def _seq(entry: Entry) -> object:
    try:
        return entry.details.get("seq")
    except (ValueError, TypeError):
        return None


# Exports


@dataclass(frozen=True)
class Export:
    """A log as its node wrote it into a file: entries, the link before the first, and the signature."""

    entries: tuple[Entry, ...]
    node: str
    fingerprint: str
    signature: bytes
    before: bytes | None  # None in an export of 0.2

    @property
    def first(self) -> int:
        """The number of the first entry."""
        return self.entries[0].seq if self.entries else 1

    def checked(self) -> tuple[int, bytes]:
        """The number of the last entry and its link; TamperedError if the entries are no chain."""
        if self.before is None:
            return check_chain(self.entries)
        if self.first == 1 and self.before != START:
            raise TamperedError("the link before its first entry is another: something in it was changed")
        return check_chain(self.entries, (self.first, self.before))

    def said(self) -> bytes:
        """The bytes that the node signs: the entries from the first to the last, which has this link."""
        last, head = self.checked()
        numbers = self.first.to_bytes(8, "big") + last.to_bytes(8, "big")
        return _PREFIX + bytes.fromhex(self.fingerprint) + numbers + head

    def text(self) -> str:
        """JSON lines: a head, an entry each, and a foot that the node has signed."""
        last, head = self.checked()
        lines = [written({"format": FORMAT_OF_0_2 if self.before is None else FORMAT})]
        for each in self.entries:
            line = {"seq": each.seq, "digest": each.digest.hex(), "link": each.link.hex()}
            lines.append(written(line if each.text is None else line | {"entry": each.text}))
        foot = {
            "node": self.node, "fingerprint": self.fingerprint, "first": self.first, "last": last,
            "head": head.hex(), "signature": self.signature.hex(),
        }  # fmt: skip
        if self.before is not None:
            foot["before"] = self.before.hex()
        return "\n".join([*lines, written(foot)]) + "\n"


def export_log(
    entries: Sequence[Entry], base: tuple[int, bytes], name: str, fingerprint: str, key: Ed25519PrivateKey
) -> str:
    """A log as its node exports it, signed; ``base`` is what ``AuditLog.base`` gives."""
    unsigned = Export(tuple(entries), name, fingerprint, b"", base[1])
    return replace(unsigned, signature=key.sign(unsigned.said())).text()


def check_export(text: str, roster: Roster) -> tuple[list[Entry], str]:
    """The entries of an export and the name of its node; TamperedError unless the node has signed them.

    The first entry of an export of 0.2 that does not begin with entry 1 comes without its text: nothing in
    the file holds it.
    """
    found = read_export(text)
    place = roster.position(found.fingerprint)
    if place is None:
        raise TamperedError(f"its node {found.node!r:.80} is not in the roster")
    own = roster[place]
    if not holds(own.public_key, found.signature, found.said()):
        raise TamperedError(f"it was not signed by {own.name}, or some of its entries were cut off")
    if found.node != own.name:
        raise TamperedError(f"its last line is not as {own.name} wrote it: something in it was changed")
    entries = list(found.entries)
    if found.before is None and found.first > 1:
        entries[0] = replace(entries[0], text=None)
    return entries, own.name


def read_export(text: str) -> Export:
    """An export, its chain checked but not its signature; TamperedError if it is none, or not whole."""
    lines = text.split("\n")
    try:
        head = json.loads(lines[0])
        if lines.pop() != "" or head not in ({"format": FORMAT}, {"format": FORMAT_OF_0_2}):
            raise TamperedError(f"it is not a whole export of an audit log ({FORMAT})")
        told = [json.loads(line) for line in lines[1:]]
        foot = told.pop()
        keys = _FOOT if head["format"] == FORMAT_OF_0_2 else _FOOT | {"before"}
        if not isinstance(foot, dict) or set(foot) != keys:
            raise TamperedError("its last line is not what the node signed: it was cut short")
        before = bytes.fromhex(foot["before"]) if "before" in foot else None
        if len(foot["fingerprint"]) != 64 or not isinstance(foot["node"], str):
            raise ValueError("its node must have a name and a fingerprint")
        bytes.fromhex(foot["fingerprint"])
        entries = tuple(_entry(each) for each in told)
        signature = bytes.fromhex(foot["signature"])
        found = Export(entries, foot["node"], foot["fingerprint"], signature, before)
    except TamperedError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise TamperedError(f"it is not an export of an audit log: {error}") from None
    if found.text() != text:
        raise TamperedError("it is not to the byte as folkmoot writes an export: something in it was changed")
    return found


def _entry(line: dict[str, Any]) -> Entry:
    """An entry of an export; ValueError, KeyError or TypeError if it is none."""
    seq, text = line["seq"], line.get("entry")
    if not (isinstance(seq, int) and 0 < seq < 1 << 63) or not isinstance(text, str | None):
        raise ValueError("an entry must have its number and its text")
    if text is not None:
        text.encode()  # a ValueError if it is none that could have been written
    return Entry(seq, bytes.fromhex(line["digest"]), bytes.fromhex(line["link"]), text)


def check_goes_on(entries: Sequence[Entry], earlier: Sequence[Entry]) -> None:
    """TamperedError unless a log goes on from an earlier export of it."""
    if not earlier:
        return
    last = earlier[-1]
    now = {entry.seq: entry for entry in entries}
    if last.seq not in now and entries and entries[0].seq > last.seq:
        raise TamperedError(
            f"it begins with entry {entries[0].seq}, after the {last.seq} of the earlier export: they cannot "
            "be compared; keep exports closer together"
        )
    if last.seq not in now:
        raise TamperedError(f"it has no entry {last.seq}, the last of the earlier export: it was cut short")
    for before in earlier:
        if before.seq in now and now[before.seq].link != before.link:
            raise TamperedError(
                f"entry {before.seq} is another than in the earlier export: it was written anew"
            )

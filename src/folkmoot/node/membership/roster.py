"""The roster: names, certificates and addresses in one TOML file that every participant holds.

Nobody is found or let in by the network itself. A moot is the list of those who agreed to hold one. A roster
may replace an earlier one: then it has an epoch and names the digest of that one (``rosters/successor.py``).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from folkmoot.files.durable import replace_file
from folkmoot.node.membership.certificates import check_certificate, fingerprint_of, holds, key_of
from folkmoot.node.membership.fields import (
    check_addresses,
    check_keys,
    check_name,
    check_organisation,
    parse_toml,
    toml_string,
    toml_strings,
)
from folkmoot.node.session.statement import Members, most_faults

# What may stand in a file: the last three say who let it replace the one before (``rosters/roster_file.py``).
KEYS = ("faults", "epoch", "previous", "participants", "replaced", "signatures", "agreed")
HEADER = """\
# Who takes part in this moot; the same for all of them. Each line is what `folkmoot node init` printed.
# `folkmoot roster add`, `remove` and `check` look after it; they keep no comments but these.
"""


@dataclass(frozen=True)
class Member:
    """One who takes part; its certificate (DER) is what it is known by."""

    name: str
    organisation: str
    fingerprint: str
    addresses: tuple[str, ...]
    certificate: bytes = field(repr=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        check_organisation(self.organisation)
        object.__setattr__(self, "addresses", check_addresses(self.addresses))
        own = fingerprint_of(self.certificate)
        if self.fingerprint != own:
            raise ValueError(
                f"fingerprint must be that of the certificate, {own}: got {self.fingerprint!r}; "
                "one of the two was changed, so ask for the line again"
            )
        check_certificate(self.certificate, self.name)

    @cached_property
    def public_key(self) -> Ed25519PublicKey:
        """The key that verifies its signatures."""
        return key_of(self.certificate)

    @cached_property
    def peer(self) -> bytes:
        """Its fingerprint in bytes, by which transports know it."""
        return bytes.fromhex(self.fingerprint)

    def line(self) -> str:
        """The participant on one line: an entry of a roster, for a letter or a clipboard."""
        return (
            f"{{ name = {toml_string(self.name)}, organisation = {toml_string(self.organisation)}, "
            f"fingerprint = {toml_string(self.fingerprint)}, addresses = {toml_strings(self.addresses)}, "
            f"certificate = {toml_string(base64.b64encode(self.certificate).decode())} }}"
        )

    @classmethod
    def parse(cls, line: str) -> Member:
        """The participant of a line such as ``line()`` makes, with or without the comma after it."""
        wanted = f"a participant's line must be as folkmoot node init prints it: got {_start(line)!r}"
        try:
            table = parse_toml(f"participants = [ {line.strip().rstrip(',')} ]".encode(), "it")
        except ValueError:
            raise ValueError(
                f"{wanted}, which is not TOML; if the shell took the quotes away, type - and paste the line"
            ) from None
        entries = table.pop("participants")
        if table or len(entries) != 1:
            raise ValueError(f"{wanted}, which is not one line of one participant")
        participant, problems, _ = _entry(entries[0])
        if participant is None:
            raise ValueError(f"{wanted}: {problems[0]}")
        return participant


@dataclass(frozen=True)
class Roster:
    """The participants of a moot by name; a position in it is a participant's number."""

    participants: tuple[Member, ...]
    epoch: int = 0  # how many rosters came before it
    previous: str = ""  # the digest of the one before it, in hex; the first has none
    tolerated: int | None = None  # how many may lie, if the members agreed on fewer than n allows

    def __init__(
        self,
        participants: Iterable[Member],
        *,
        epoch: int = 0,
        previous: str = "",
        tolerated: int | None = None,
    ) -> None:
        found = tuple(sorted(participants, key=lambda each: each.name))
        for problem in (*_lineage(epoch, previous), *_tolerance(tolerated, len(found))):
            raise ValueError(problem)
        object.__setattr__(self, "tolerated", tolerated)
        object.__setattr__(self, "epoch", epoch)
        object.__setattr__(self, "previous", previous)
        if not found:
            raise ValueError("a roster must have at least one participant: got none")
        for clash in _clashes(map(_seat, found)):
            raise ValueError(clash)
        object.__setattr__(self, "participants", found)

    @classmethod
    def read(cls, path: Path | str) -> Roster:
        """The roster in a file, all of it checked."""
        return cls.parse(Path(path).read_bytes(), str(path))

    @classmethod
    def parse(cls, data: bytes, where: str) -> Roster:
        """The roster in the bytes of a file, all of it checked; ``where`` is what messages call it."""
        participants, problems, table = _examined(data)
        if problems:
            more = (
                f" (and {len(problems) - 1} more: run folkmoot roster check {where})" if problems[1:] else ""
            )
            raise ValueError(f"{where}: {problems[0]}{more}")
        return cls(
            participants, epoch=table.get("epoch", 0), previous=table.get("previous", ""),
            tolerated=table.get("faults"),
        )  # fmt: skip

    def write(self, path: Path | str) -> None:
        """Put the roster into a file, which at any moment holds the old one or the new one whole."""
        replace_file(Path(path), f"{HEADER}{self.toml()}".encode())

    def toml(self) -> str:
        """The roster as it stands in a file, below the comments."""
        lines = "".join(f"  {each.line()},\n" for each in self.participants)
        lineage = f'epoch = {self.epoch}\nprevious = "{self.previous}"\n' if self.epoch else ""
        if self.tolerated is not None:
            lineage = f"faults = {self.tolerated}\n{lineage}"
        return f"{lineage}participants = [\n{lines}]\n"

    def add(self, participant: Member) -> Roster:
        """The roster with one more: by hand, so the first of another moot."""
        return Roster((*self.participants, participant), tolerated=self.tolerated)

    def remove(self, name: str) -> Roster:
        """The roster without the one of that name: by hand, so the first of another moot."""
        left = tuple(each for each in self.participants if each.name != name)
        if len(left) == len(self.participants):
            names = ", ".join(each.name for each in self.participants)
            raise ValueError(f"name must be one of {names}: got {name!r}")
        if not left:
            raise ValueError(f"a roster must have at least one participant: {name!r} is the last")
        return Roster(left, tolerated=self.tolerated)

    @property
    def faults(self) -> int:
        """How many members may lie: the largest f with 3 f < n, or fewer if the roster says so."""
        return most_faults(len(self)) if self.tolerated is None else self.tolerated

    @cached_property
    def digest(self) -> str:
        """The digest that names a moot: SHA-256 of names, organisations and fingerprints in order, in hex.

        Addresses are left out, so that a participant can move house without making another moot. Every
        field is its length in four bytes, then its UTF-8. With an epoch, it and the digest before come first;
        before these, if the roster says how many may lie, that number.
        """
        told = hashlib.sha256(b"folkmoot roster 1\n")
        lineage = self.epoch.to_bytes(8, "big") + bytes.fromhex(self.previous)
        if self.tolerated is not None:
            told = hashlib.sha256(b"folkmoot roster 3\n" + self.tolerated.to_bytes(4, "big") + lineage)
        elif self.epoch:
            told = hashlib.sha256(b"folkmoot roster 2\n" + lineage)
        for each in self.participants:
            for text in (each.name, each.organisation, each.fingerprint):
                data = text.encode()
                told.update(len(data).to_bytes(4, "big") + data)
        return told.hexdigest()

    @cached_property
    def moot(self) -> bytes:
        """The digest, by which headers and frames name it."""
        return bytes.fromhex(self.digest)

    @cached_property
    def members(self) -> Members:
        """How many there are, how many may lie, and how their signatures are verified."""
        keys = [each.public_key for each in self]
        return Members(
            len(keys), self.faults, lambda member, words, signature: holds(keys[member], signature, words)
        )

    @cached_property
    def names(self) -> list[str]:
        """Names of the members, by place."""
        return [each.name for each in self]

    @cached_property
    def peers(self) -> list[bytes]:
        """By what transports know members, by place."""
        return [each.peer for each in self]

    @cached_property
    def places(self) -> dict[bytes, int]:
        """The places of members, by what transports know them by."""
        return {peer: place for place, peer in enumerate(self.peers)}

    def position(self, fingerprint: str) -> int | None:
        """The place of the participant with that fingerprint, if there is one."""
        return self._positions.get(fingerprint)

    def __len__(self) -> int:
        return len(self.participants)

    def __iter__(self) -> Iterator[Member]:
        return iter(self.participants)

    def __getitem__(self, position: int) -> Member:
        return self.participants[position]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {each.fingerprint: i for i, each in enumerate(self.participants)}


def examine(path: Path | str) -> tuple[list[Member], list[str]]:
    """The participants of a file in its order, and everything that is wrong with it, a line each."""
    participants, problems, _ = _examined(Path(path).read_bytes())
    return participants, problems


def _examined(data: bytes) -> tuple[list[Member], list[str], dict[str, Any]]:
    """What ``examine`` finds, and the tables of the file."""
    try:
        table = parse_toml(data, "a roster")
    except ValueError as error:
        return [], [str(error)], {}
    problems = [
        f"{key!r} must not be in a roster, only {', '.join(KEYS)}" for key in table if key not in KEYS
    ]
    problems += _lineage(table.get("epoch", 0), table.get("previous", ""))
    entries = table.get("participants", [])
    problems += _tolerance(table.get("faults"), len(entries) if isinstance(entries, list) else 0)
    if not isinstance(entries, list):
        return [], [*problems, f"participants must be a list of tables: got {_start(repr(entries))}"], table
    if not entries:
        problems.append("a roster must have at least one participant: add some with folkmoot roster add")
    participants = []
    rows: list[tuple[str, str, bytes | None]] = []
    for number, entry in enumerate(entries, 1):
        participant, wrong, values = _entry(entry)
        shown = f"participant {number}" + (f" ({values['name']})" if "name" in values else "")
        problems += [f"{shown}: {each}" for each in wrong]
        if participant is not None:
            participants.append(participant)
            rows.append(_seat(participant))
        elif {"name", "fingerprint"} <= values.keys():
            rows.append((values["name"], values["fingerprint"], None))
    return participants, [*problems, *_clashes(rows)], table


def _lineage(epoch: object, previous: object) -> list[str]:
    """What is wrong with the epoch of a roster and the digest of the one before it."""
    if not isinstance(epoch, int) or isinstance(epoch, bool) or not 0 <= epoch < 1 << 62:
        return [f"epoch must be a whole number from 0 on: got {epoch!r}"]
    hexadecimal = isinstance(previous, str) and len(previous) == 64 and not previous.strip("0123456789abcdef")
    if epoch and not hexadecimal:
        return [f"previous must be the digest of the roster before, 64 hexadecimal digits: got {previous!r}"]
    if not epoch and previous != "":
        return [f"previous must not be given with epoch 0, which has none before it: got {previous!r}"]
    return []


def _tolerance(tolerated: object, n: int) -> list[str]:
    """What is wrong with how many of n members may lie, if anything is said of it."""
    if tolerated is None or n == 0:
        return []
    most = most_faults(n)
    if isinstance(tolerated, int) and not isinstance(tolerated, bool) and 0 <= tolerated <= most:
        return []
    return [f"faults must be a whole number from 0 to {most} with {n} participants: got {tolerated!r}"]


def _entry(entry: object) -> tuple[Member | None, list[str], dict[str, Any]]:
    """A participant from its table, or everything that is wrong with it, and what of it makes sense."""
    if not isinstance(entry, dict):
        return None, [f"must be a table such as {{ name = ... }}: got {_start(repr(entry))}"], {}
    problems = check_keys(entry, list(_FIELDS), optional=["organisation"])
    values: dict[str, Any] = {"organisation": ""}
    for key, check in _FIELDS.items():
        if key in entry:
            try:
                values[key] = check(entry[key])
            except ValueError as error:
                problems.append(str(error))
    if problems:
        return None, problems, values
    try:
        return Member(**values), [], values
    except ValueError as error:
        return None, [str(error)], values


def _fingerprint(value: object) -> str:
    """Lowercase hex; by hand also as OpenSSL prints it, in capitals with colons."""
    digits = value.replace(":", "").lower() if isinstance(value, str) else ""
    if len(digits) != 64 or digits.strip("0123456789abcdef"):
        raise ValueError(f"fingerprint must be 64 hexadecimal digits: got {value!r}")
    return digits


def _certificate(value: object) -> bytes:
    """DER from base64, which may be broken into lines."""
    try:
        return base64.b64decode("".join(value.split()) if isinstance(value, str) else "!", validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"certificate must be base64 of DER: got {_start(str(value))!r}") from None


_FIELDS: dict[str, Callable[[object], object]] = {
    "name": check_name,
    "organisation": check_organisation,
    "fingerprint": _fingerprint,
    "addresses": check_addresses,
    "certificate": _certificate,
}


def _clashes(rows: Iterable[tuple[str, str, bytes | None]]) -> Iterator[str]:
    """Participants that are too much alike, by name, fingerprint and key; a line for each pair."""
    names: dict[str, str] = {}
    prints: dict[str, str] = {}
    keys: dict[bytes, str] = {}
    for name, fingerprint, key in rows:
        namesake = names.get(name.lower())
        if namesake == name and prints.get(fingerprint) == name:
            yield f"members must differ: got {name!r} twice, with the same fingerprint; leave one out"
        elif namesake == name:
            yield f"names must differ: got {name!r} twice, with two fingerprints; one needs another name"
        elif namesake is not None:
            yield f"names must differ in more than capitals: got {namesake!r} and {name!r}"
        if prints.get(fingerprint, name) != name:
            yield f"fingerprints must differ: {prints[fingerprint]!r} and {name!r} both have {fingerprint}"
        elif key is not None and keys.get(key, name) != name:
            yield f"keys must differ: {keys[key]!r} and {name!r} have certificates of the same key"
        names.setdefault(name.lower(), name)
        prints.setdefault(fingerprint, name)
        if key is not None:
            keys.setdefault(key, name)


def _seat(participant: Member) -> tuple[str, str, bytes]:
    return participant.name, participant.fingerprint, participant.public_key.public_bytes_raw()


def _start(text: str) -> str:
    """Enough of a text to know it by."""
    return text if len(text) <= 40 else text[:37] + "..."

"""Rosters: what is written is read again, whatever it says; what is wrong with a file is all said."""

from __future__ import annotations

import base64
import hashlib
import itertools
import os
import stat
import tomllib
from collections.abc import Sequence
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot.node.membership.certificates import fingerprint_of, make_certificate
from folkmoot.node.membership.roster import Member, Roster, examine
from folkmoot.node.session.statement import Members, most_faults

KEYS = [Ed25519PrivateKey.from_private_bytes(bytes([i]) * 32) for i in range(4)]


def participant(
    name: str, key: Ed25519PrivateKey, organisation: str = "", addresses: Sequence[str] = ("host:7654",)
) -> Member:
    certificate = make_certificate(name, key)
    return Member(name, organisation, fingerprint_of(certificate), tuple(addresses), certificate)


EAST, NORTH, SOUTH = (
    participant(*each) for each in zip(["east", "north", "south"], KEYS[:3], ["E", "N", "S"], strict=True)
)


def other_certificate(name: str, *, elliptic: bool = False, subject: str | None = None) -> bytes:
    """One that folkmoot would not make: of another kind of key, or signed by another's key."""
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject or name)])
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key() if elliptic else KEYS[0].public_key()
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(
        issuer, own, public, x509.random_serial_number(), now, now + timedelta(days=1)
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.DER)


def entry(**changes: object) -> dict[str, object]:
    """North as a table, changed; None takes a key away."""
    table = {
        "name": NORTH.name,
        "organisation": NORTH.organisation,
        "fingerprint": NORTH.fingerprint,
        "addresses": list(NORTH.addresses),
        "certificate": base64.b64encode(NORTH.certificate).decode(),
    } | changes
    return {key: value for key, value in table.items() if value is not None}


def table_line(table: dict[str, object]) -> str:
    def shown(value: object) -> str:
        if isinstance(value, list):
            return "[" + ", ".join(map(shown, value)) + "]"
        return f"'{value}'" if isinstance(value, str) else str(value)

    return "{ " + ", ".join(f"{key} = {shown(value)}" for key, value in table.items()) + " }"


def with_certificate(certificate: bytes, **changes: object) -> dict[str, object]:
    return entry(
        certificate=base64.b64encode(certificate).decode(),
        fingerprint=hashlib.sha256(certificate).hexdigest(),
        **changes,
    )


organisations = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]) | st.sampled_from("\"\\'#{}[]=,\u00a0\u3000"),
    max_size=60,
)


@given(organisations)
def test_a_line_says_all_and_is_one_line(organisation: str) -> None:
    whole = replace(NORTH, organisation=organisation, addresses=("north.example:1", "[::1]:2"))
    assert len(whole.line().splitlines()) == 1
    assert Member.parse(whole.line()) == whole == Member.parse(f"  {whole.line()},\r\n")
    found = tomllib.loads(f"x = {whole.line()}")["x"]
    assert found == entry(organisation=organisation, addresses=["north.example:1", "[::1]:2"])


def test_a_file_of_any_organisations(tmp_path: Path) -> None:
    path = tmp_path / "roster.toml"

    @settings(max_examples=25)  # each waits for the disk
    @given(st.tuples(organisations, organisations))
    def round_trip(texts: tuple[str, str]) -> None:
        roster = Roster([replace(SOUTH, organisation=texts[0]), replace(EAST, organisation=texts[1])])
        roster.write(path)
        assert Roster.read(path) == roster

    round_trip()


def test_order_length_and_places() -> None:
    for order in itertools.permutations([EAST, NORTH, SOUTH]):
        roster = Roster(order)
        assert list(roster) == [EAST, NORTH, SOUTH]
        assert (len(roster), roster[1], roster[-1]) == (3, NORTH, SOUTH)
        assert [roster.position(each.fingerprint) for each in roster] == [0, 1, 2]
        assert roster.position("0" * 64) is None
        assert roster.digest == Roster([EAST, NORTH, SOUTH]).digest
    assert Roster([EAST, NORTH]).add(SOUTH) == roster
    assert roster.remove("north") == Roster([EAST, SOUTH])
    with pytest.raises(FrozenInstanceError):
        roster.participants = ()  # type: ignore[misc]


def test_public_keys_verify_what_keys_signed() -> None:
    for each, key in zip([EAST, NORTH, SOUTH], KEYS, strict=False):
        each.public_key.verify(key.sign(b"yes"), b"yes")


def test_the_digest_is_of_who_and_not_of_where() -> None:
    roster = Roster([NORTH, EAST])
    data = b"folkmoot roster 1\n"
    for each in (EAST, NORTH):
        for text in (each.name, each.organisation, hashlib.sha256(each.certificate).hexdigest()):
            data += len(text).to_bytes(4, "big") + text.encode()
    assert roster.digest == hashlib.sha256(data).hexdigest()
    assert Roster([NORTH, replace(EAST, addresses=("elsewhere:1",))]).digest == roster.digest
    others = [
        Roster([NORTH]),
        Roster([NORTH, SOUTH]),
        Roster([NORTH, EAST, SOUTH]),
        Roster([NORTH, replace(EAST, organisation="E2")]),
        Roster([NORTH, participant("east", KEYS[3], "E")]),
        Roster([participant("northe", KEYS[1], "N"), EAST]),
    ]
    assert len({each.digest for each in [roster, *others]}) == 7


def test_quorums_overlap_in_an_honest_member() -> None:
    for n in range(1, 300):
        f = max(each for each in range(n) if 3 * each < n)
        members = Members(n, most_faults(n), lambda *_: True)
        assert members.faults == f
        smallest = next(q for q in range(n + 1) if 2 * q - n > f)
        assert members.quorum == smallest <= members.least == n - f


def test_files_that_people_have_edited(tmp_path: Path) -> None:
    path = tmp_path / "roster.toml"
    code = base64.b64encode(NORTH.certificate).decode()
    shouted = NORTH.fingerprint.upper()
    path.write_text(
        "\ufeff# ours\r\n[[participants]]\r\naddresses = [\r\n  'host:7654', # the cellar\r\n]\r\n"
        f"name = 'north'\r\norganisation = 'N'\r\ncertificate = '''\r\n{code[:64]}\r\n{code[64:]}'''\r\n"
        + 'fingerprint = "'
        + ":".join(shouted[i : i + 2] for i in range(0, 64, 2))
        + '"\r\n',
        encoding="utf-8",
        newline="",
    )
    assert Roster.read(path) == Roster([NORTH])
    path.write_text(f"participants = [{table_line(entry(organisation=None))}]")
    assert Roster.read(path) == Roster([replace(NORTH, organisation="")])


def test_writing_keeps_what_it_replaces_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, link = tmp_path / "roster.toml", tmp_path / "link.toml"
    Roster([NORTH]).write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    path.chmod(0o660)
    link.symlink_to(path)
    Roster([NORTH, EAST]).write(link)
    assert link.is_symlink()
    assert Roster.read(path) == Roster([NORTH, EAST])
    assert stat.S_IMODE(path.stat().st_mode) == 0o660

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        Roster([SOUTH]).write(path)
    assert Roster.read(path) == Roster([NORTH, EAST])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.toml", "roster.toml"]


TWIN = participant("twin", KEYS[1])  # north's key under another name


@pytest.mark.parametrize(
    ("tables", "messages"),
    [
        (
            [entry(), entry()],
            ["members must differ: got 'north' twice, with the same fingerprint; leave one out"],
        ),
        (
            [entry(), with_certificate(make_certificate("North", KEYS[3]), name="North")],
            ["names must differ in more than capitals: got 'north' and 'North'"],
        ),
        (
            [entry(), entry(name="south")],
            [
                "participant 2 (south): name must be that in the certificate (CN=north): got 'south'; ",
                f"fingerprints must differ: 'north' and 'south' both have {NORTH.fingerprint}",
            ],
        ),
        (
            [entry(), with_certificate(TWIN.certificate, name="twin")],
            ["keys must differ: 'north' and 'twin' have certificates of the same key"],
        ),
        (
            [entry(fingerprint="0" * 64)],
            [f"participant 1 (north): fingerprint must be that of the certificate, {NORTH.fingerprint}: got"],
        ),
        (
            [entry(fingerprint="12")],
            ["participant 1 (north): fingerprint must be 64 hexadecimal digits: got '12'"],
        ),
        ([entry(fingerprint=7)], ["fingerprint must be 64 hexadecimal digits: got 7"]),
        (
            [with_certificate(other_certificate("north", elliptic=True))],
            ["certificate must be of an Ed25519 key: got "],
        ),
        ([with_certificate(other_certificate("north"))], ["certificate must be signed by its own key"]),
        (
            [with_certificate(other_certificate("east", subject="north"))],
            ["certificate must be signed by its own key"],
        ),
        ([with_certificate(b"\x30\x03abc")], ["certificate must be X.509 in DER"]),
        ([with_certificate(NORTH.certificate + b"\0")], ["certificate must be X.509 in DER"]),
        ([entry(certificate="not base64")], ["certificate must be base64 of DER: got 'not base64'"]),
        ([entry(certificate=7)], ["certificate must be base64 of DER: got '7'"]),
        ([entry(certificate="é")], ["certificate must be base64 of DER: got 'é'"]),
        ([entry(addresses=[])], ["addresses must name at least one HOST:PORT"]),
        ([entry(addresses="host:7654")], ["addresses must be a list such as"]),
        ([entry(addresses=7)], ["addresses must be a list such as"]),
        ([entry(addresses=["host"])], ["address must be HOST:PORT, such as"]),
        ([entry(addresses=[7])], ["address must be HOST:PORT, such as"]),
        ([entry(name="a b")], ["participant 1: name must be 1 to 64 letters"]),
        ([entry(name=7)], ["participant 1: name must be 1 to 64 letters"]),
        ([entry(organisation=7)], ["organisation must be text: got 7"]),
        (
            [entry(phone="7")],
            ["'phone' must be one of name, organisation, fingerprint, addresses, certificate"],
        ),
        (
            [entry(addresses=[], name=None, certificate="?"), {}],
            [
                "participant 1: name is missing",
                "participant 1: addresses must name",
                "participant 1: certificate must be base64",
                "participant 2: name is missing",
                "participant 2: fingerprint is missing",
                "participant 2: addresses is missing",
                "participant 2: certificate is missing",
            ],
        ),
        ([7], ["participant 1: must be a table such as { name = ... }: got 7"]),
        ([], ["a roster must have at least one participant"]),
    ],
)
def test_everything_that_is_wrong_is_said(
    tmp_path: Path, tables: list[dict[str, object] | int], messages: list[str]
) -> None:
    path = tmp_path / "roster.toml"
    lines = ",\n".join(table_line(each) if isinstance(each, dict) else str(each) for each in tables)
    path.write_text(f"participants = [{lines}]", encoding="utf-8")
    _, problems = examine(path)
    assert len(problems) == len(messages)
    for problem, message in zip(problems, messages, strict=True):
        assert message in problem
    with pytest.raises(ValueError, match=r"roster\.toml: ") as refused:
        Roster.read(path)
    assert messages[0] in str(refused.value)
    assert (f"(and {len(messages) - 1} more: run folkmoot roster check" in str(refused.value)) == (
        len(messages) > 1
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "at least one participant"),
        (b"participants = 7", "participants must be a list of tables: got 7"),
        (b"participants = [\n{ name = \n]", "a roster must be TOML: .*line 2"),
        (b"participants = [", "a roster must be TOML"),
        (b"\n\n# \xff", "a roster must be text in UTF-8: line 3 is not"),
        (b"a = " + b"[" * 5000, "a roster must be TOML: it is nested too deeply"),
        (b"a = " + b"9" * 5000, "a roster must be TOML"),
    ],
    ids=["nothing", "a number", "a broken table", "a broken list", "not UTF-8", "nested", "a long number"],
)
def test_what_is_no_roster(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "roster.toml").write_bytes(content)
    with pytest.raises(ValueError, match=rf"roster\.toml: .*{message}"):
        Roster.read(tmp_path / "roster.toml")


def test_unknown_keys_beside_the_participants(tmp_path: Path) -> None:
    path = tmp_path / "roster.toml"
    Roster([NORTH]).write(path)
    path.write_text("title = 'ours'\n" + path.read_text())
    assert examine(path) == (
        [NORTH],
        [
            "'title' must not be in a roster, only faults, epoch, previous, participants, replaced, "
            "signatures, agreed"
        ],
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "which is not one line of one participant"),
        ("north", "not TOML; if the shell took the quotes away, type - and paste the line"),
        (f"{NORTH.line()}, {EAST.line()}", "which is not one line of one participant"),
        (f"{NORTH.line()} ]\nx = [1", "which is not one line of one participant"),
        ("7", "must be a table"),
        (table_line(entry(addresses=[])), "addresses must name at least one"),
    ],
    # Certificates are made anew in every process; names of cases must be the same in all.
    ids=["nothing", "a word", "two participants", "a bracket too many", "a number", "no address"],
)
def test_what_is_no_participant_s_line(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Member.parse(line)


def test_what_no_roster_can_be() -> None:
    with pytest.raises(ValueError, match="at least one participant: got none"):
        Roster([])
    with pytest.raises(
        ValueError, match="members must differ: got 'north' twice, with the same fingerprint; leave one out"
    ):
        Roster([NORTH]).add(NORTH)
    with pytest.raises(ValueError, match="names must differ: got 'north' twice, with two fingerprints"):
        Roster([NORTH]).add(participant("north", KEYS[3]))
    with pytest.raises(ValueError, match="keys must differ: 'north' and 'twin'"):
        Roster([NORTH, TWIN])
    with pytest.raises(ValueError, match="name must be one of east, north: got 'west'"):
        Roster([NORTH, EAST]).remove("west")
    with pytest.raises(ValueError, match="'north' is the last"):
        Roster([NORTH]).remove("north")


def test_a_roster_may_say_that_fewer_may_lie(tmp_path: Path) -> None:
    path = tmp_path / "roster.toml"
    four = [NORTH, EAST, SOUTH, participant("west", KEYS[3], "W")]
    Roster(four, tolerated=0).write(path)
    assert Roster.read(path).faults == 0
    assert Roster.read(path).remove("west").tolerated == 0
    assert Roster(four).faults == 1
    text = path.read_text()
    for wrong in ("2", "-1", "true", "1.0", "'1'"):
        path.write_text(text.replace("faults = 0", f"faults = {wrong}"))
        with pytest.raises(ValueError, match="faults must be a whole number from 0 to 1 with 4 participants"):
            Roster.read(path)

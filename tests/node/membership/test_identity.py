"""Nodes on disk: what others can read of them, what OpenSSL makes of them, and what is refused."""

from __future__ import annotations

import hashlib
import os
import ssl
import stat
import tomllib
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from folkmoot.node.membership.certificates import key_of, make_certificate
from folkmoot.node.membership.fields import parse_address
from folkmoot.node.membership.identity import Identity, create, load


def context(folder: Path, trusted: list[Identity], side: int) -> ssl.SSLContext:
    """TLS 1.3 as one node, with other nodes' certificates as the only trust anchors."""
    found = ssl.SSLContext(side)
    found.minimum_version = ssl.TLSVersion.TLSv1_3
    found.check_hostname = False
    found.verify_mode = ssl.CERT_REQUIRED
    found.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    for each in trusted:
        found.load_verify_locations(cadata=each.certificate)
    return found


def handshake(client: ssl.SSLContext, server: ssl.SSLContext) -> tuple[bytes | None, bytes | None]:
    """The certificates that client and server have seen of each other, over memory."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(3):
        for end in ends:
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()
    assert ends[0].version() == ends[1].version() == "TLSv1.3"
    return ends[0].getpeercert(binary_form=True), ends[1].getpeercert(binary_form=True)


def test_files_of_a_node(tmp_path: Path) -> None:
    made = create(
        tmp_path / "north", name="north", organisation='St "N" \\ Öst', addresses=["n.example:1", "[::1]:2"]
    )
    folder = tmp_path / "north"
    assert sorted(each.name for each in folder.iterdir()) == ["certificate.pem", "key.pem", "node.toml"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "key.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "certificate.pem").stat().st_mode) == 0o600
    assert tomllib.loads((folder / "node.toml").read_text(encoding="utf-8")) == {
        "name": "north",
        "organisation": 'St "N" \\ Öst',
        "listen": "127.0.0.1:7654",
        "addresses": ["n.example:1", "[::1]:2"],
    }
    certificate = x509.load_pem_x509_certificate((folder / "certificate.pem").read_bytes())
    key = load_pem_private_key((folder / "key.pem").read_bytes(), None)
    assert isinstance(key, Ed25519PrivateKey)
    assert certificate.public_key() == key.public_key() == made.key.public_key()
    assert certificate.subject == certificate.issuer
    assert certificate.subject.rfc4514_string() == "CN=north"
    assert certificate.not_valid_before_utc < datetime.now(UTC)
    assert certificate.not_valid_after_utc.year == 9999
    der = certificate.public_bytes(Encoding.DER)
    assert (made.certificate, made.fingerprint) == (der, hashlib.sha256(der).hexdigest())
    assert len(der) < 300


def test_a_node_loads_as_it_was_made(tmp_path: Path) -> None:
    made = create(tmp_path / "a", name="a", organisation="A", listen="0.0.0.0:70", addresses=["a.example:70"])
    found = load(tmp_path / "a")
    assert found == made
    assert found.key.sign(b"hello") == made.key.sign(b"hello")
    participant = found.member()
    participant.public_key.verify(made.key.sign(b"hello"), b"hello")
    assert (participant.name, participant.organisation, participant.addresses) == (
        "a",
        "A",
        ("a.example:70",),
    )
    assert (participant.fingerprint, participant.certificate) == (made.fingerprint, made.certificate)


@pytest.mark.parametrize("mask", [0, 0o077])
def test_the_key_is_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        create(tmp_path / "a", name="a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a" / "key.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


def test_certificates_are_each_others_trust_anchors(tmp_path: Path) -> None:
    names = ["north", "south", "east", "north.west"]
    nodes = [create(tmp_path / name, name=name) for name in names]
    client = context(tmp_path / "north", nodes, ssl.PROTOCOL_TLS_CLIENT)
    for name, node in zip(names, nodes, strict=True):
        server = context(tmp_path / name, nodes, ssl.PROTOCOL_TLS_SERVER)
        assert handshake(client, server) == (node.certificate, nodes[0].certificate)


def test_a_stranger_is_not_trusted(tmp_path: Path) -> None:
    north, _, east = (create(tmp_path / name, name=name) for name in ("north", "south", "east"))
    with pytest.raises(ssl.SSLCertVerificationError, match="self-signed"):
        handshake(
            context(tmp_path / "north", [east], ssl.PROTOCOL_TLS_CLIENT),
            context(tmp_path / "south", [north], ssl.PROTOCOL_TLS_SERVER),
        )


def test_of_two_anchors_with_one_subject_openssl_sees_one(tmp_path: Path) -> None:
    """Why a certificate must bear its participant's name, and names differ in more than capitals."""
    south = create(tmp_path / "south", name="south")
    nodes = [create(tmp_path / f"{i}", name=name) for i, name in enumerate(["north", "North"])]
    client = context(tmp_path / "south", nodes, ssl.PROTOCOL_TLS_CLIENT)
    outcomes = []
    for i in range(2):
        try:
            handshake(client, context(tmp_path / f"{i}", [south], ssl.PROTOCOL_TLS_SERVER))
            outcomes.append(True)
        except ssl.SSLCertVerificationError:
            outcomes.append(False)
    assert sorted(outcomes) == [False, True]


def test_a_folder_has_one_node(tmp_path: Path) -> None:
    made = create(tmp_path, name="a")
    with pytest.raises(ValueError, match="has a node already"):
        create(tmp_path, name="b")
    assert load(tmp_path) == made


def test_nothing_half_made_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "node.toml").write_text("mine")
    with pytest.raises(ValueError, match=r"has a node\.toml already"):
        create(tmp_path / "mine", name="a")
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["node.toml"]

    written = []

    def full(handle: int) -> None:
        written.append(handle)
        if len(written) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        create(tmp_path / "new", name="a")
    assert not (tmp_path / "new").exists()
    written.clear()
    (tmp_path / "old").mkdir()
    with pytest.raises(OSError, match="No space left"):
        create(tmp_path / "old", name="a")
    assert list((tmp_path / "old").iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": ""}, "name must be 1 to 64 letters .*: got ''"),
        ({"name": "a" * 65}, "name must be 1 to 64 letters"),
        ({"name": "a b"}, "name must be 1 to 64 letters"),
        ({"name": "nörd"}, "name must be 1 to 64 letters"),
        ({"name": "a\n"}, "name must be 1 to 64 letters"),
        ({"organisation": "a\nb"}, "organisation must be one line"),
        ({"organisation": "\x1b[31m"}, "organisation must be one line"),
        ({"organisation": "\udc80"}, "organisation must be one line"),
        ({"organisation": "x" * 201}, "organisation must have at most 200 characters: got 201"),
        ({"listen": "here"}, "listen: address must be HOST:PORT"),
        ({"listen": "0.0.0.0:7654"}, r"listens on 0\.0\.0\.0:7654: give address=north"),
        ({"listen": "[::]:7654"}, "give address=north"),
        ({"listen": "127.0.0.1:0"}, "give address=north"),
        ({"addresses": []}, "at least one HOST:PORT"),
        ({"addresses": ["a:1", "b"]}, "address must be HOST:PORT.*: got 'b'"),
        ({"addresses": ["a:0"]}, "port from 1 to 65535: got 'a:0'"),
        ({"addresses": ["0.0.0.0:1"]}, "nobody can reach '0.0.0.0:1'"),
        ({"addresses": ["a:1", "a:1"]}, "addresses must differ: got 'a:1' twice"),
    ],
)
def test_what_no_node_can_be(tmp_path: Path, wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        create(tmp_path / "a", **{"name": "a", **wrong})  # type: ignore[arg-type]
    assert not (tmp_path / "a").exists()


def test_no_folder_to_make_it_in(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be in a folder that exists"):
        create(tmp_path / "no" / "a", name="a")


def test_what_is_no_node(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(ValueError, match=r"must hold a node: run folkmoot node init .* --model FILE"):
            load(folder)


def test_keys_that_others_can_read_are_refused(tmp_path: Path) -> None:
    create(tmp_path, name="a")
    for mode in (0o640, 0o604, 0o622):
        (tmp_path / "key.pem").chmod(mode)
        with pytest.raises(ValueError, match=r"readable by its owner only: run chmod 600 .*key\.pem"):
            load(tmp_path)
    (tmp_path / "key.pem").chmod(0o400)
    load(tmp_path)


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    for name in ("a", "b"):
        create(tmp_path / name, name=name)
    (tmp_path / "a" / "certificate.pem").write_bytes((tmp_path / "b" / "certificate.pem").read_bytes())
    with pytest.raises(ValueError, match="they do not belong together"):
        load(tmp_path / "a")


def test_damaged_files_are_named(tmp_path: Path) -> None:
    create(tmp_path, name="a")
    whole = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    private = (Encoding.PEM, PrivateFormat.PKCS8)
    locked = Ed25519PrivateKey.generate().private_bytes(*private, BestAvailableEncryption(b"secret"))
    other = X25519PrivateKey.generate().private_bytes(*private, NoEncryption())
    settings = whole["node.toml"].decode()
    for name, content, message in [
        ("key.pem", whole["key.pem"][:-40], r"key\.pem must be an Ed25519 private key in PEM: it is damaged"),
        ("key.pem", b"", r"key\.pem must be an Ed25519 private key in PEM"),
        ("key.pem", locked, r"key\.pem must be a key without a password"),
        ("key.pem", other, r"key\.pem must be an Ed25519 private key: it is of another kind"),
        ("certificate.pem", b"\xff", r"certificate\.pem must be a certificate"),
        ("certificate.pem", None, r"there is no certificate\.pem"),
        ("node.toml", None, r"there is no node\.toml"),
        ("node.toml", b"name = ", r"^[^:]*node\.toml must be TOML"),
        ("node.toml", b"name = 'a'", r"node\.toml: listen is missing"),
        ("node.toml", (settings + "x = 1\n").encode(), r"node\.toml: 'x' must be one of name, org"),
        (
            "node.toml",
            settings.replace('"a"', '"b"').encode(),
            r"name must be that in the certificate \(CN=a\)",
        ),
        ("node.toml", settings.replace(":7654", ":x").encode(), r"node\.toml: listen: address must be"),
    ]:
        if content is None:
            (tmp_path / name).unlink()
        else:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=message):
            load(tmp_path)
        (tmp_path / name).write_bytes(whole[name])
        (tmp_path / name).chmod(0o600)
    load(tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost:7654", ("localhost", 7654)),
        ("node-1.north.example:65535", ("node-1.north.example", 65535)),
        ("192.0.2.7:1", ("192.0.2.7", 1)),
        ("[::1]:7000", ("::1", 7000)),
        ("[2001:db8::7]:80", ("2001:db8::7", 80)),
        ("[fe80::1%eth0]:80", ("fe80::1%eth0", 80)),
    ],
)
def test_addresses(text: str, expected: tuple[str, int]) -> None:
    assert parse_address(text) == parse_address(text, any_port=True) == expected


@pytest.mark.parametrize(
    "text",
    ["", ":", "host", "host:", ":80", "host:80:", "::1:80", "[::1]", "[::1:80", "[1.2.3.4]:80", "[]:80",
     "1.2.3:80", "256.1.1.1:80", "a b:80", "host:65536", "host:-1", "host:+1", "host:080000", "host:\u0661",
     "host:1 ", "-a:80", "http://host:80", "hőst:80", "user@host:80", "host/x:80", "host:1e3", "host:1\n",
     None, 7],
)  # fmt: skip
def test_what_is_no_address(text: object) -> None:
    with pytest.raises(ValueError, match="address must be HOST:PORT"):
        parse_address(text)


def test_port_0_only_where_any_port_will_do() -> None:
    assert parse_address("host:0", any_port=True) == ("host", 0)
    with pytest.raises(ValueError, match="port from 1 to 65535: got 'host:0'"):
        parse_address("host:0")


@pytest.mark.filterwarnings("default")
def test_a_certificate_without_a_positive_serial_number_is_refused() -> None:
    """RFC 5280 has none; the reader warns of it today, and will fail."""
    key = Ed25519PrivateKey.generate()
    data = bytearray(make_certificate("north", key))
    at = data.index(b"\xa0\x03\x02\x01\x02\x02") + 7  # [0] version 2, then INTEGER, its length, its bytes
    data[at] |= 0x80
    with pytest.raises(ValueError, match=r"certificate must be X\.509 in DER: Parsed a serial number"):
        key_of(bytes(data))

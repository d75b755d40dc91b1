"""An address and a node, tied by the signatures of both, or refused; checked with eth-keys and by hand."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from eth_keys.datatypes import PrivateKey
from eth_utils import keccak as their_keccak

from chain_support.node import make_node
from folkmoot_chain.ties import Node, Tie, read_participants, statement
from folkmoot_chain.wallets import sign_text, signer_of

KEY, OTHER = b"\1" * 32, b"\2" * 32


def address_of(key: bytes) -> str:
    return str(PrivateKey(key).public_key.to_checksum_address())


def tied(me: Node, key: bytes = KEY) -> Tie:
    where = address_of(key)
    return me.tied(where, sign_text(key, statement(me.name, me.fingerprint, where)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("nodes")


@pytest.fixture(scope="module")
def north(folder: Path) -> Node:
    return make_node(folder / "north", "north")


@pytest.fixture(scope="module")
def south(folder: Path) -> Node:
    return make_node(folder / "south", "south")


def test_a_wallet_signs_the_text_with_the_prefix_of_eip_191(north: Node) -> None:
    text = statement(north.name, north.fingerprint, address_of(KEY))
    hashed = their_keccak(b"\x19Ethereum Signed Message:\n" + str(len(text)).encode() + text.encode())
    by_hand = PrivateKey(KEY).sign_msg_hash(hashed)
    made = sign_text(KEY, text)
    assert made[:64] == by_hand.to_bytes()[:64]
    assert made[64] - 27 == by_hand.to_bytes()[64]
    assert signer_of(text, made) == address_of(KEY)
    assert signer_of(text + " ", made) != address_of(KEY)
    for nonsense in (bytes(65), b"\xff" * 65, made[:64] + b"\5"):
        assert signer_of(text, nonsense) != address_of(KEY)
    assert all(each in text for each in (north.name, north.fingerprint, address_of(KEY)))


def test_a_node_is_known_by_the_hash_of_its_certificate(north: Node, folder: Path) -> None:
    read = x509.load_pem_x509_certificate((folder / "north" / "certificate.pem").read_bytes())
    assert north.fingerprint == hashlib.sha256(read.public_bytes(Encoding.DER)).hexdigest()
    # folkmoot signs nothing that begins so; the tie's own signature is of this text and no other.
    text = statement("north", north.fingerprint, address_of(KEY))
    read.public_key().verify(tied(north).by_node, b"folkmoot chain address 1\n" + text.encode())  # type: ignore[union-attr,call-arg]


def test_a_line_carries_it_and_is_read_again(north: Node, south: Node, tmp_path: Path) -> None:
    tie, path = tied(north), tmp_path / "roster.txt"
    assert tie.line().startswith(f"{address_of(KEY)} ")
    assert tie.line().endswith("  # north")
    path.write_text(
        f"{tie.line()}\n\n{address_of(OTHER).lower()} # Ann\n{tied(south, b'3' * 32).line().lower()[:42]}\n"
    )
    assert read_participants(path) == [tie, address_of(OTHER), address_of(b"3" * 32)]
    assert (tie.name, tie.fingerprint) == ("north", north.fingerprint)
    words = tie.line().split()[:4]
    assert Tie.parse([words[0].lower(), *words[1:]]) == tie


def test_a_line_that_lacks_or_forges_a_signature_is_refused(north: Node, south: Node, tmp_path: Path) -> None:
    address, certificate, by_node, by_chain = tied(north).line().split()[:4]
    _, south_certificate, south_by_node, south_by_chain = tied(south).line().split()[:4]
    other, _, other_by_node, other_by_chain = tied(north, OTHER).line().split()[:4]
    no_node, no_chain = "A" * 86 + "==", "0x" + "00" * 65
    node, chain = "the node's signature must be that of", "the address's signature must be that of"
    for line, why in [
        ([address, certificate, by_node], "four words that folkmoot-chain tie prints: got 3 words"),
        ([address, certificate, no_node, by_chain], f"{node} north's key for {address}: it is not, so make"),
        ([address, certificate, "AAAA", by_chain], f"{node} north's key"),
        ([address, certificate, "!", by_chain], "the second and third are not base64"),
        ([address, certificate, by_node, no_chain], f"{chain} {address} for north"),
        ([address, certificate, by_node, "0xzz"], "must be 130 hexadecimal digits: got '0xzz'"),
        (["0x12", certificate, by_node, by_chain], "an address is 0x and 40 hexadecimal digits: got '0x12'"),
        ([address, "AAAA", by_node, by_chain], "a node's certificate must be X.509"),
        # What south signed does not serve north, on either side; nor what another address signed.
        ([address, certificate, south_by_node, by_chain], f"{node} north's key"),
        ([address, certificate, by_node, south_by_chain], f"{chain} {address} for north"),
        ([address, south_certificate, by_node, by_chain], f"{node} south's key"),
        ([address, south_certificate, south_by_node, by_chain], f"{chain} {address} for south"),
        ([other, certificate, by_node, by_chain], f"{node} north's key for {other}"),
        ([other, certificate, other_by_node, by_chain], f"{chain} {other} for north"),
        ([address, certificate, by_node, other_by_chain], f"{chain} {address} for north"),
    ]:
        path = tmp_path / "roster.txt"
        path.write_text(f"{address}\n{' '.join(line)}\n")
        with pytest.raises(ValueError, match=re.escape(why)) as refused:
            read_participants(path)
        assert str(refused.value).startswith(f"{path}: line 2: ")


def test_one_address_is_one_nodes_and_a_node_has_one(north: Node, south: Node, tmp_path: Path) -> None:
    path = tmp_path / "roster.txt"
    path.write_text(f"{tied(north).line()}\n{tied(south).line()}\n")
    with pytest.raises(ValueError, match=f"'north' and 'south' both have {address_of(KEY)}"):
        read_participants(path)
    path.write_text(f"{tied(north).line()}\n{tied(north, OTHER).line()}\n")
    with pytest.raises(ValueError, match=f"one address: it has {address_of(KEY)} and {address_of(OTHER)}"):
        read_participants(path)
    # Two certificates with one name are two nodes.
    path.write_text(f"{tied(north).line()}\n{tied(make_node(tmp_path / 'again', 'north')).line()}\n")
    with pytest.raises(ValueError, match="'north' and 'north' both have"):
        read_participants(path)
    path.write_text("# nobody\n")
    with pytest.raises(ValueError, match="must have an address in each line: it has none"):
        read_participants(path)


def test_another_folder_is_no_nodes(folder: Path, tmp_path: Path, north: Node, south: Node) -> None:
    assert north.key != south.key
    with pytest.raises(ValueError, match=r"must be the folder of a node, with key.pem: there is none"):
        Node.read(tmp_path)
    made = tmp_path / "made"
    make_node(made, "made")
    whole = (made / "certificate.pem").read_bytes()
    (made / "certificate.pem").unlink()
    with pytest.raises(ValueError, match=r"with certificate.pem: there is none"):
        Node.read(made)
    (made / "certificate.pem").write_bytes((folder / "north" / "certificate.pem").read_bytes())
    with pytest.raises(ValueError, match=r"must be the key of certificate.pem beside it: it is another one"):
        Node.read(made)
    (made / "certificate.pem").write_text("nonsense")
    with pytest.raises(ValueError, match=r"certificate\.pem: "):
        Node.read(made)
    (made / "certificate.pem").write_bytes(whole)
    for pem in (
        b"nonsense",
        generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    ):
        (made / "key.pem").write_bytes(pem)
        with pytest.raises(ValueError, match=r"key\.pem must be "):
            Node.read(made)

"""An address in a roster's line: signed by both keys, or refused; checked with eth-keys and by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from eth_keys.datatypes import PrivateKey
from eth_utils import keccak as their_keccak

from folkmoot.network.membership.chain_address import ChainAddress, sign_by_node, statement
from folkmoot.network.membership.identity import Identity, create, load, tie
from folkmoot.network.membership.roster import Member, Roster, examine
from folkmoot.wallets import sign_text, signer_of

KEY, OTHER = b"\1" * 32, b"\2" * 32


def address_of(key: bytes) -> str:
    return str(PrivateKey(key).public_key.to_checksum_address())


def tied(me: Identity, key: bytes = KEY) -> ChainAddress:
    where = address_of(key)
    text = statement(me.name, me.fingerprint, where)
    return ChainAddress(where, sign_by_node(me.key, me.name, me.fingerprint, where), sign_text(key, text))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("nodes")
    for name in ("north", "south"):
        create(made / name, name=name)
    return made


@pytest.fixture(scope="module")
def north(folder: Path) -> Identity:
    return load(folder / "north")


@pytest.fixture(scope="module")
def south(folder: Path) -> Identity:
    return load(folder / "south")


def test_a_wallet_signs_the_text_with_the_prefix_of_eip_191(north: Identity) -> None:
    text = statement(north.name, north.fingerprint, address_of(KEY))
    hashed = their_keccak(b"\x19Ethereum Signed Message:\n" + str(len(text)).encode() + text.encode())
    key = PrivateKey(KEY)
    by_hand = key.sign_msg_hash(hashed)
    made = sign_text(KEY, text)
    assert made[:64] == by_hand.to_bytes()[:64]
    assert made[64] - 27 == by_hand.to_bytes()[64]
    assert signer_of(text, made) == address_of(KEY)
    assert signer_of(text + " ", made) != address_of(KEY)
    for nonsense in (bytes(65), b"\xff" * 65, made[:64] + b"\5"):
        assert signer_of(text, nonsense) != address_of(KEY)
    assert all(each in text for each in (north.name, north.fingerprint, address_of(KEY)))


def test_a_line_carries_it_and_is_read_again(north: Identity, south: Identity, tmp_path: Path) -> None:
    member = replace(north.member(), chain=tied(north))
    line = member.line()
    assert f'chain = "{address_of(KEY)}"' in line
    assert Member.parse(line) == member
    lower = line.replace(address_of(KEY), address_of(KEY).lower())
    assert Member.parse(lower) == member
    roster = Roster([member, south.member()])
    roster.write(tmp_path / "roster.toml")
    assert Roster.read(tmp_path / "roster.toml") == roster
    assert roster.digest == Roster([north.member(), south.member()]).digest  # the same moot as without it


def changed(me: Identity, **fields: object) -> str:
    """A member's line with parts of what ties it changed; None leaves one out."""
    chain = tied(me)
    values = {
        "chain": chain.address,
        "signed_by_node": chain.by_node.hex(),
        "signed_by_chain": "0x" + chain.by_chain.hex(),
    } | fields
    kept = "".join(f", {key} = {value!r}" for key, value in values.items() if value is not None)
    return me.member().line()[:-2] + kept + " }"


def test_a_line_that_lacks_or_forges_a_signature_is_refused(north: Identity, south: Identity) -> None:
    assert Member.parse(changed(north)).chain == tied(north)
    others = tied(south)  # south's own, all in order
    theirs = tied(north, OTHER)  # of another address, in order
    refused: list[tuple[dict[str, object], str]] = [
        (
            {"signed_by_chain": None},
            "chain must stand with signed_by_node, signed_by_chain: signed_by",
        ),
        ({"signed_by_node": None}, "signed_by_node is missing; folkmoot chain tie DIR makes the line"),
        ({"chain": None}, "signed_by_node must stand with chain, signed_by_chain: chain is missing"),
        ({"signed_by_node": None, "signed_by_chain": None}, "signed_by_node is missing"),
        ({"signed_by_node": "00" * 64}, "signed_by_node must be the signature of north's key for"),
        ({"signed_by_chain": "0x" + "00" * 65}, "signed_by_chain must be the signature of"),
        ({"signed_by_node": "00" * 63}, "signed_by_node must be 128 hexadecimal digits: got '00"),
        ({"signed_by_chain": "0xzz"}, "signed_by_chain must be 130 hexadecimal digits: got '0xzz'"),
        ({"chain": "0x12"}, "an address is 0x and 40 hexadecimal digits: got '0x12'"),
        # What south signed does not serve north, on either side; nor what another address signed.
        ({"signed_by_node": others.by_node.hex()}, "signed_by_node must be the signature of north's key"),
        ({"signed_by_chain": others.by_chain.hex()}, "for north: it is not, so make the line again"),
        ({"signed_by_chain": theirs.by_chain.hex()}, "for north: it is not"),
        ({"chain": theirs.address}, "signed_by_node must be the signature of north's key"),
        ({"chain": theirs.address, "signed_by_node": theirs.by_node.hex()}, "signed_by_chain must be"),
    ]
    for fields, why in refused:
        with pytest.raises(ValueError, match=re.escape(why)):
            Member.parse(changed(north, **fields))
    for value in (3, ["0x12"]):
        line = changed(north, chain=value)
        with pytest.raises(ValueError, match="chain must be an address"):
            Member.parse(line)


def test_one_address_is_one_members(north: Identity, south: Identity, tmp_path: Path) -> None:
    both = [replace(each.member(), chain=tied(each)) for each in (north, south)]
    said = f"chain addresses must differ: 'north' and 'south' both have {address_of(KEY)}"
    with pytest.raises(ValueError, match=said):
        Roster(both)
    path = tmp_path / "roster.toml"
    path.write_text("participants = [\n" + ",\n".join(each.line() for each in both) + "\n]\n")
    assert examine(path)[1] == [said]


def test_a_node_keeps_it_in_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "north"
    me = create(folder, name="north")
    assert load(folder).chain is None
    assert tie(folder, tied(me)).member() == load(folder).member()
    path = folder / "chain.toml"
    assert path.stat().st_mode & 0o777 == 0o600
    assert load(folder).chain == tied(me)
    with pytest.raises(ValueError, match="signed_by_chain must be the signature"):
        tie(folder, replace(tied(me), by_chain=bytes(65)))
    assert load(folder).chain == tied(me)  # a forged one changes nothing
    whole = path.read_text()
    for old, new, why in [
        (
            tied(me).by_node.hex()[:6],
            "123456",
            "chain.toml: signed_by_node must be the signature of north",
        ),
        ("signed_by_node", "signed", "chain.toml: signed_by_node is missing"),
    ]:
        path.write_text(whole.replace(old, new))
        with pytest.raises(ValueError, match=why):
            load(folder)

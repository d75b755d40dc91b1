"""``folkmoot-chain tie``: with a keystore, or with a wallet elsewhere that signs the text; and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chain_support.command import assert_refused, run, run_json
from chain_support.node import make_node
from chain_support.world import Account
from folkmoot_chain.keys import address_of
from folkmoot_chain.ties import Node, Tie
from folkmoot_chain.wallets import sign_text

KEY = b"\7" * 32


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_node(tmp_path / "north", "north")
    weak = Account.encrypt(KEY, "correct horse", kdf="pbkdf2", iterations=2)
    (tmp_path / "me.json").write_text(json.dumps(weak))
    (tmp_path / "passphrase").write_text("correct horse\n")
    return tmp_path


def test_with_a_keystore(folder: Path) -> None:
    key = ["--keystore", folder / "me.json", "--passphrase-file", folder / "passphrase"]
    before = {path.name: path.read_bytes() for path in (folder / "north").iterdir()}
    said = run("tie", folder / "north", *key)
    assert said.returncode == 0, said.stderr
    tie = Tie.parse(said.stdout.split("#")[0].split())
    assert (tie.address, tie.name) == (address_of(KEY), "north")
    assert tie.fingerprint == Node.read(folder / "north").fingerprint
    assert f"north is {address_of(KEY)}: give it to those who weigh" in said.stderr
    told = run_json("tie", folder / "north", *key)
    assert (told["address"], told["name"]) == (address_of(KEY), "north")
    assert told["fingerprint"] == tie.fingerprint
    assert f"{told['line']}\n" == said.stdout  # both signatures are the same each time
    assert before == {path.name: path.read_bytes() for path in (folder / "north").iterdir()}


def test_with_a_wallet_that_signs_the_text(folder: Path) -> None:
    typed = ["tie", folder / "north", "--address", address_of(KEY).lower()]
    said = run(*typed)
    text = said.stdout.rstrip("\n")
    assert "type the command again with --signature 0x..." in " ".join(said.stderr.split())
    assert run_json(*typed)["text"] == text
    told = run_json(*typed, "--signature", "0x" + sign_text(KEY, text).hex())
    assert Tie.parse(told["line"].split("#")[0].split()).address == address_of(KEY)
    wrong = sign_text(b"\10" * 32, text).hex()
    assert_refused("the address's signature must be that of", *typed, "--signature", wrong)


def test_bad_input_is_one_line(folder: Path) -> None:
    north, someone = folder / "north", "0x" + "12" * 20
    (folder / "wrong").write_text("wrong horse\n")
    key, wrong = ["--keystore", folder / "me.json"], ["--passphrase-file", folder / "wrong"]
    for message, *arguments in [
        ("tie must have either --keystore FILE or --address 0x...", north),
        ("tie must have either", north, *key, "--address", someone),
        ("--signature must be given with --address", north, *key, "--signature", "0x"),
        ("an address is 0x and 40 hexadecimal digits", north, "--address", "0x12"),
        (
            "an address's signature must be 130 hexadecimal digits: got '0x12'",
            *(north, "--address", someone, "--signature", "0x12"),
        ),
        ("nowhere must be the folder of a node", folder / "nowhere", "--address", someone),
        ("none.json: No such file", north, "--keystore", folder / "none.json", *wrong),
        ("the passphrase does not open", north, *key, *wrong),
    ]:
        assert_refused(str(message), "tie", *arguments)

"""``folkmoot chain tie``: with a keystore, or with a wallet elsewhere that signs the text; and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from folkmoot.chain.keys import address_of
from folkmoot.network.membership.identity import create, load
from folkmoot.network.membership.roster import Member
from folkmoot.wallets import sign_text
from support.chain import Account
from support.command import assert_refused, run, run_json

KEY = b"\7" * 32


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    create(tmp_path / "north", name="north")
    weak = Account.encrypt(KEY, "correct horse", kdf="pbkdf2", iterations=2)
    (tmp_path / "me.json").write_text(json.dumps(weak))
    (tmp_path / "passphrase").write_text("correct horse\n")
    return tmp_path


def test_with_a_keystore(folder: Path) -> None:
    key = ["--keystore", folder / "me.json", "--passphrase-file", folder / "passphrase"]
    said = run("chain", "tie", folder / "north", *key)
    assert said.returncode == 0, said.stderr
    member = Member.parse(said.stdout)
    assert member == load(folder / "north").member()
    assert member.chain is not None
    assert member.chain.address == address_of(KEY)
    assert f"north is {address_of(KEY)} from now on" in said.stderr
    told = run_json("chain", "tie", folder / "north", *key)
    assert (told["address"], told["name"]) == (address_of(KEY), "north")
    roster = folder / "roster.toml"
    assert run("roster", "add", roster, told["line"]).returncode == 0
    assert run_json("roster", "show", roster)["participants"][0]["chain"] == address_of(KEY)
    assert f"north is {address_of(KEY)} on a chain" in run("roster", "show", roster).stdout
    broken = roster.read_text().replace(f'chain = "{address_of(KEY)}", ', "")
    roster.write_text(broken)
    assert_refused("signed_by_node must stand with chain, signed_by_chain", "roster", "show", roster)


def test_with_a_wallet_that_signs_the_text(folder: Path) -> None:
    typed = ["chain", "tie", folder / "north", "--address", address_of(KEY).lower()]
    said = run(*typed)
    text = said.stdout.rstrip("\n")
    assert "type the command again with --signature 0x..." in " ".join(said.stderr.split())
    assert run_json(*typed)["text"] == text
    assert load(folder / "north").chain is None
    told = run_json(*typed, "--signature", "0x" + sign_text(KEY, text).hex())
    assert Member.parse(told["line"]).chain == load(folder / "north").chain
    wrong = sign_text(b"\10" * 32, text).hex()
    assert_refused("signed_by_chain must be the signature of", *typed, "--signature", wrong)


def test_bad_input_is_one_line(folder: Path) -> None:
    north, someone = folder / "north", "0x" + "12" * 20
    (folder / "wrong").write_text("wrong horse\n")
    key, wrong = ["--keystore", folder / "me.json"], ["--passphrase-file", folder / "wrong"]
    for message, *arguments in [
        ("tie must have either --keystore FILE or --address 0x...", north),
        ("tie must have either", north, *key, "--address", someone),
        (
            "--signature must be given with --address",
            north,
            "--keystore",
            folder / "me.json",
            "--signature",
            "0x",
        ),
        ("an address is 0x and 40 hexadecimal digits", north, "--address", "0x12"),
        (
            "--signature must be 130 hexadecimal digits: got '0x12'",
            north,
            "--address",
            someone,
            "--signature",
            "0x12",
        ),
        ("must hold a node: run folkmoot node init", folder / "nowhere", "--address", someone),
        (
            "none.json: No such file",
            north,
            "--keystore",
            folder / "none.json",
            "--passphrase-file",
            folder / "wrong",
        ),
        (
            "the passphrase does not open",
            north,
            *(*key, *wrong),
        ),
    ]:
        assert_refused(str(message), "chain", "tie", *arguments)

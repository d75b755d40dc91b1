"""Every command of ``folkmoot-chain`` that signs: with --dry-run and --json, and with what does not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chain_support.command import assert_refused, run, run_json
from chain_support.server import serving
from chain_support.town import Town
from folkmoot_chain.anvil import AnvilRpc
from folkmoot_chain.in_process import InProcess

VOTES = [0, 1, 1, 0]


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    rpc = InProcess(1)
    with serving(rpc) as url:
        yield Town.made(rpc, url, tmp_path_factory.mktemp("town"))


@pytest.fixture
def snapshot(town: Town) -> Iterator[None]:
    before = town.rpc.tester.take_snapshot()
    yield
    town.rpc.tester.revert_to_snapshot(before)


def later(town: Town, deadline: int) -> None:
    clock = AnvilRpc(town.url, 0)
    clock.travel(deadline)
    clock.mine()


def tried_and_done(town: Town, name: str, command: str, *arguments: object) -> dict[str, object]:
    """With --dry-run nothing is sent and the gas is that of the call itself; then the call."""
    before = town.rpc.nonce(town.addresses[name]), town.rpc.block("latest").number
    dry = run_json(*town.by(name, command, *arguments, "--dry-run"))
    if command in ("put", "claim"):  # for people; all others are shown by the same lines
        said = run(*town.by(name, command, *arguments, "--dry-run"))
        shown = re.match(rf"{command} would take ([\d,]+) gas at ", said.stdout)
        assert shown is not None, said.stderr
        # A seal is made anew each time, and a byte of it that is zero is cheaper.
        assert abs(int(shown[1].replace(",", "")) - dry["gas"]) < 200
        assert said.stdout.endswith("; nothing was sent\n")
    assert (town.rpc.nonce(town.addresses[name]), town.rpc.block("latest").number) == before
    assert (dry["call"], dry["dry_run"]) == (command, True)
    assert int(dry["fee"]) == dry["gas"] * int(dry["gas_price"])
    done: dict[str, object] = town.did(name, command, *arguments)
    assert done["call"] == command
    assert isinstance(done["gas"], int)
    assert done["gas"] - 200 < dry["gas"] < 1.3 * done["gas"]  # refunds are not counted, and a 63rd more
    assert town.rpc.nonce(town.addresses[name]) == before[0] + 1
    return done


def test_each_with_dry_run_and_json(town: Town, snapshot: None) -> None:  # noqa: ARG001
    roster = town.file("roster.txt", [town.addresses["ann"], town.addresses["bob"]])
    right, wrong = town.file("right.txt", VOTES), town.file("wrong.txt", [1, 1, 0, 0])
    put = tried_and_done(town, "sam", "put", *town.terms(VOTES, roster=roster, deposit="8wei"))
    motion, ends = put["motion"], put["deadlines"]
    assert isinstance(ends, list)
    tried_and_done(town, "sam", "fund", motion, "2wei")
    for name, votes in (("ann", right), ("bob", wrong)):
        tried_and_done(town, name, "commit", motion, "--votes", votes, "--roster", roster)
    assert not list(town.folder.glob("*.moot/outbox.json"))
    later(town, ends[0])
    for name in ("ann", "bob"):
        tried_and_done(town, name, "reveal", motion)
    later(town, ends[1])
    tried_and_done(town, "bob", "post", motion)
    tried_and_done(town, "sam", "tell", motion)
    tried_and_done(town, "ann", "score", motion)
    later(town, ends[3])
    # Two seats are cleared, for which a fifth of the gas comes back: the estimate does not count on it.
    tried_and_done(town, "ann", "claim", motion)
    tried_and_done(town, "ann", "withdraw")
    refusals = {
        "fund": (motion, "1wei"),
        "reveal": (motion,),
        "post": (motion,),
    }
    for command, arguments in refusals.items():
        message = f"the contract refused {command}: not in the "
        town.refused(message, "ann", command, *arguments)
        line = run(*town.by("ann", command, *arguments)).stderr
        assert f"motion {motion}: commit until 20" in line
        assert "; the chain's clock shows 20" in line
    town.refused("is right: a dispute would only cost gas", "ann", "dispute", motion)
    town.refused("is told already", "sam", "tell", motion)
    assert town.did("ann", "score", motion)["transactions"] == []
    assert town.did("ann", "claim", motion)["transactions"] == []


def commands(town: Town) -> dict[str, list[object]]:
    votes = town.file("votes.txt", VOTES)
    return {
        "put": town.terms(VOTES),
        "fund": [0, "1wei"],
        "commit": [0, "--votes", votes, "--open"],
        **{name: [0] for name in ("reveal", "post", "dispute", "tell", "score", "claim")},
        "withdraw": [],
        "watch": ["--once"],
    }


def test_a_wrong_node_key_or_contract_is_one_line_for_each(town: Town, tmp_path: Path) -> None:
    (tmp_path / "wrong").write_text("wrong horse\n")
    every = commands(town)
    for command, arguments in every.items():
        wrong: list[tuple[str, str, object]] = [
            ("no answer from the node at http://127.0.0.1:9", "--rpc", "http://127.0.0.1:9"),
            ("--rpc must be an address such as http", "--rpc", "localhost"),
            ("the node must be one of chain 1: it is one of", "--chain-id", 1),
            ("the passphrase does not open", "--passphrase-file", tmp_path / "wrong"),
            (
                "none.json must be a keystore file: there is none; folkmoot-chain key",
                "--keystore",
                "none.json",
            ),
            ("wrong must be a V3 keystore file: it is not JSON", "--keystore", tmp_path / "wrong"),
            ("there is no contract at 0x1212121212121212", "--contract", "0x" + "12" * 20),
            ("an address is 0x and 40 hexadecimal digits: got '0x1'", "--contract", "0x1"),
        ]
        for message, option, value in wrong if command == "fund" else wrong[:5:4]:  # they open the same way
            town.refused(message, "ann", command, *arguments, option, value)


@pytest.mark.parametrize(
    ("message", "command", "arguments"),
    [
        ("expected the number of a motion, 0 or more", "fund", [2**256, "1wei"]),
        ("expected a whole number, got 'x'", "claim", ["x"]),
        ("there is no motion 9: there are 0", "fund", [9, "1wei"]),
        ("there is no motion 9: there are 0", "claim", [9]),
        ("AMOUNT must be at least 1wei: got '0'", "fund", [0, "0"]),
        ("AMOUNT must be an amount such as", "fund", [0, "x"]),
        ("an address is 0x and 40 hexadecimal digits: got '0x1'", "withdraw", ["--to", "0x1"]),
        ("has no credit to withdraw", "withdraw", []),
        ("--every must be at least 50ms", "watch", ["--every", "0s"]),
    ],
)
def test_bad_values_are_one_line(town: Town, message: str, command: str, arguments: list[object]) -> None:
    town.refused(message, "ann", command, *arguments)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"stake": "0"}, "--stake must be 1 wei to 2^80 - 1 wei: got '0'"),
        ({"stake": "10000000"}, "--stake must be 1 wei to 2^80 - 1 wei: got '10000000'"),
        ({"deposit": "2000000000000"}, "--deposit must be below 2^100 wei"),
        ({"deposit": "1000"}, "must hold 1000000000000000000000 wei to send them: it holds"),
        ({"windows": "1h,1h,1h,20000000h"}, "--windows must end before 2^36 s, in the year 4147"),
        ({"windows": "1h,1h,1h,100.5s"}, "--windows must be whole seconds: got '100.5s'"),
    ],
)
def test_what_a_motion_cannot_be(town: Town, changed: dict[str, Any], message: str) -> None:
    town.refused(message, "sam", "put", *town.terms(VOTES, **changed), "--confirmations", 0)


def test_deploy_record_and_dispute(town: Town, snapshot: None) -> None:  # noqa: ARG001
    key = ["--keystore", town.folder / "sam.json", "--passphrase-file", town.folder / "passphrase"]
    for window in ("0s", "5000000h"):
        assert_refused(
            "--least-window must be 1 s to 2^32 - 1 s",
            *("deploy", "--rpc", town.url, *key, "--least-window", window),
        )
    roster = town.file("roster.txt", [town.addresses["ann"]])
    record = ["record", "--rpc", town.url, "--contract", town.contract, "--subject", "x"]
    sam = ["--supplier", town.addresses["sam"]]
    assert_refused("an address is 0x", *record, "--supplier", "sam", "--roster", roster)
    assert_refused(
        "/nowhere/w.json must be in a folder that exists: there is no /nowhere",
        *(*record, *sam, "--roster", roster, "--weights", "/nowhere/w.json"),
    )
    assert run_json(*record, *sam, "--roster", roster)["records"][town.addresses["ann"]]["asked"] == 0
    put = town.did("sam", "put", *town.terms(VOTES))
    town.did("ann", "commit", 0, "--votes", town.file("votes.txt", VOTES), "--open")
    later(town, put["deadlines"][0])
    town.did("ann", "reveal", 0)
    later(town, put["deadlines"][1])
    town.refused("nobody posted an answer to motion 0", "ann", "dispute", 0)
    town.did("ann", "post", 0)
    for word in (-1, 1):
        town.refused(
            f"--word must satisfy 0 <= word < 1 for 4 inputs: got {word}",
            "ann",
            "dispute",
            0,
            "--word",
            word,
        )

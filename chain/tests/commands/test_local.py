"""``folkmoot-chain local``: a motion in one command, and what it says."""

from __future__ import annotations

from typing import Any

import pytest

from chain_support.command import assert_refused, run, run_json
from folkmoot_chain.anvil import find_anvil
from folkmoot_chain.cli.amounts import parse_coins, shown_coins


@pytest.fixture(scope="module")
def small() -> dict[str, Any]:
    found: dict[str, Any] = run_json(
        "local",
        "--participants",
        4,
        "--silent",
        1,
        "--cheats",
        1,
        "--inputs",
        30,
        "--node",
        "in-process",
    )
    return found


def test_a_motion_adds_up(small: dict[str, Any]) -> None:
    people = small["participants"]
    assert sorted(line["conduct"] for line in people) == ["cheat", "honest", "honest", "silent"]
    stake, deposit = int(small["stake"]), int(small["deposit"])
    lost = [line for line in people if line["conduct"] != "honest"]
    assert all(int(line["earned"]) == -stake for line in lost)
    # Whoever revealed shares the deposit and the two stakes by points, to the last wei.
    paid = [line for line in people if line["conduct"] == "honest"]
    assert sum(int(line["earned"]) for line in paid) == deposit + 2 * stake
    points = [line["points"] for line in paid]
    for line in paid:
        record = small["records"][line["address"]]
        assert record["asked"] == 30
        assert line["points"] == max(0, 10 * record["right"] - 30)
        assert line["accuracy"] == pytest.approx(record["right"] / 30)
        exact = (deposit + 2 * stake) * line["points"] / sum(points)
        assert abs(int(line["earned"]) - exact) < 10**4  # floats end there
    assert small["left"] == "0"
    assert small["refused"] == ["not what was sealed"]
    assert set(small["accuracy"]) == {"answer", "majority", "best"}


def test_gas_is_counted_by_call(small: dict[str, Any]) -> None:
    gas = small["gas"]
    assert {name: of["count"] for name, of in gas.items()} == {
        "deploy": 1,
        "put": 1,
        "commit": 4,
        "reveal": 2,
        "post": 1,
        "tell": 1,
        "score": 1,
        "claim": 1,
        "withdraw": 2,
    }
    assert small["gas_of_the_motion"] == sum(of["sum"] for name, of in gas.items() if name != "deploy")
    assert gas["commit"]["median"] < 61_000
    assert gas["reveal"]["median"] < 44_000


def test_it_prints_tables() -> None:
    result = run(
        "local",
        "--participants",
        2,
        "--silent",
        0,
        "--cheats",
        0,
        "--inputs",
        5,
        "--node",
        "in-process",
    )
    assert result.returncode == 0, result.stderr
    for words in (
        "5 digits put to 2 participants",
        "participant 01",
        "the chain's answer",
        "withdraw",
        "README",
    ):
        assert words in result.stdout


def test_anvil_where_it_is_installed() -> None:
    if find_anvil() is None:
        assert_refused(
            "--node anvil needs anvil, which is not installed: npm install",
            "local",
            "--node",
            "anvil",
        )
        pytest.skip("anvil is not installed: npm install @foundry-rs/anvil, or name it by FOLKMOOT_ANVIL")
    found = run_json(
        "local", "--participants", 3, "--silent", 1, "--cheats", 0, "--inputs", 9, "--node", "anvil"
    )
    assert (found["node"], found["left"]) == ("anvil", "0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--participants", "1"], "2 <= participants <= 100"),
        (["--participants", "x"], "expected a whole number"),
        (["--silent", "20", "--cheats", "5"], "must leave one participant that reveals: got 25 of 25"),
        (["--silent", "-1"], "--silent must satisfy silent >= 0: got silent=-1"),
        (["--inputs", "450"], "1 <= inputs <= 449"),
        (["--stake", "x"], "--stake must be an amount such as 0.01 (coins), 5gwei or 100wei: got 'x'"),
        (["--deposit", "0.5wei"], "--deposit must be an amount"),
        (["--node", "geth"], "--node must be one of auto, anvil, in-process: got 'geth'"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str) -> None:
    assert_refused(message, "local", *arguments)


@pytest.mark.parametrize(
    ("text", "wei"),
    [("1", 10**18), ("0.01", 10**16), ("5gwei", 5 * 10**9), ("100wei", 100), ("1.5 GWEI", 15 * 10**8)],
)
def test_amounts(text: str, wei: int) -> None:
    assert parse_coins(text, "--stake") == wei
    assert parse_coins(shown_coins(wei), "--stake") == wei
    assert shown_coins(-wei) == "-" + shown_coins(wei)


@pytest.mark.parametrize("text", ["", "-1", "nan", "inf", "1e-19", "0.1wei", "1eth", "1" + "0" * 70])
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(ValueError, match="--stake must be an amount"):
        parse_coins(text, "--stake")

"""What is committed is what the source compiles to; and its pure functions, called one by one."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chain_support.oracle import RecordModel
from folkmoot_chain import interface
from folkmoot_chain.in_process import InProcess
from folkmoot_chain.interface import artifact
from folkmoot_chain.rpc import Message
from folkmoot_chain.sending import Sender

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "compile_contract.py"))
SOURCE: Path = TOOL["SOURCE"]


def test_what_is_committed_was_compiled_from_this_source() -> None:
    assert artifact()["source_sha256"] == TOOL["source_hash"](SOURCE)


@pytest.mark.slow
def test_the_committed_bytecode_is_what_the_source_compiles_to() -> None:
    made = TOOL["compiled"]()
    assert TOOL["written"](made) == TOOL["ARTIFACT"].read_text()
    assert json.loads(TOOL["written"](made)) == made == artifact()
    assert made["source_sha256"] == TOOL["source_hash"](SOURCE)
    assert artifact()["compiler"].startswith("vyper 0.4.3")
    assert all("# pragma evm-version cancun" in path.read_text() for path in SOURCE.glob("*.vy"))


def test_the_contract_fits_the_limits_of_code() -> None:
    assert len(artifact()["bytecode_runtime"]) // 2 - 1 <= 24_576  # EIP-170
    assert len(artifact()["bytecode"]) // 2 - 1 <= 49_152  # EIP-3860


def test_nobody_owns_it_and_nothing_can_be_changed() -> None:
    functions = {
        each["name"]: each["stateMutability"] for each in artifact()["abi"] if each["type"] == "function"
    }
    paid = {name for name, kind in functions.items() if kind == "payable"}
    views = {name for name, kind in functions.items() if kind == "view"}
    assert paid == {"put", "fund", "commit", "post"}
    assert views == {"motions", "seats", "records", "weight", "credit", "motion_count", "LEAST_WINDOW"}
    assert set(functions) - paid - views == {
        "reveal",
        "dispute",
        "tell",
        "score",
        "close",
        "claim",
        "withdraw",
    }
    text = "".join(path.read_text() for path in SOURCE.glob("*.vy"))
    assert text.count("raw_call(") == text.count("@nonreentrant") == 1  # money leaves in one place
    assert not any(word in text for word in ("delegate", "selfdestruct", "create_", "send(", "tx.origin"))


HARNESS = """# pragma version 0.4.3
# pragma evm-version cancun
import bits

@external
@pure
def ones(x: uint256) -> uint256:
    return bits.ones(x)

@external
@pure
def weight(x: uint256, labels: uint256) -> uint256:
    return bits.weight(x, labels)

@external
@pure
def added(x: uint256, right: uint256, asked: uint256) -> uint256:
    return bits.added(x, right, asked)
"""


@pytest.fixture(scope="module")
def pure(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., int]:
    from eth_abi import encode
    from vyper.cli.vyper_compile import compile_files
    from vyper.compiler.settings import Settings

    from folkmoot_chain.wallets import keccak

    path = tmp_path_factory.mktemp("harness") / "harness.vy"
    path.write_text(HARNESS)
    (made,) = compile_files(
        [str(path)], ["bytecode"], paths=[str(path.parent), str(SOURCE)], settings=Settings()
    ).values()
    rpc = InProcess(1)
    sender = Sender(rpc, rpc.rich()[0])
    address = sender.send(None, bytes.fromhex(made["bytecode"][2:])).contract

    def call(name: str, *values: int) -> int:
        types = ["uint256"] * len(values)
        data = keccak(f"{name}({','.join(types)})".encode())[:4] + encode(types, values)
        return int.from_bytes(rpc.call(Message(sender.address, address, data)), "big")

    return call


words = st.one_of(st.integers(0, 2**256 - 1), st.sampled_from([0, 1, 2**256 - 1, 2**255, 2**256 // 3]))


@settings(max_examples=40, deadline=None)
@given(x=words)
def test_population_count(pure: Callable[..., int], x: int) -> None:
    assert pure("ones", x) == x.bit_count()


@settings(max_examples=25, deadline=None)
@given(right=st.integers(0, 2**32 - 1), more=st.integers(0, 2**32 - 1), labels=st.integers(2, 16))
def test_weights_are_1_to_15_and_rise_with_what_was_right(
    pure: Callable[..., int], right: int, more: int, labels: int
) -> None:
    asked = max(right, more)
    found = pure("weight", asked << 32 | right, labels)
    assert found == RecordModel(right, asked).weight(labels)
    assert 1 <= found <= 15


@settings(max_examples=25, deadline=None)
@given(
    asked=st.one_of(st.integers(0, 2**32 - 1), st.integers(2**32 - 40_000, 2**32 - 1)),
    new=st.integers(0, 32_768),
    above=st.integers(0, 2**192 - 1),
)
def test_sums_that_are_full_are_halved(pure: Callable[..., int], asked: int, new: int, above: int) -> None:
    found = pure("added", above << 64 | asked << 32 | asked // 2, new // 3, new)
    right, total = asked // 2 + new // 3, asked + new
    if total >= 2**32:
        right, total = right // 2, total // 2
    assert found == above << 64 | total << 32 | right


def test_an_unknown_event_or_function_is_an_error() -> None:
    with pytest.raises(KeyError, match="no function steal"):
        interface.calldata("steal", [])

"""One suite over both ways to a chain: an EVM in this process, and anvil over JSON-RPC where it is there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from folkmoot_chain.anvil import find_anvil, running_anvil
from folkmoot_chain.contract import Contract
from folkmoot_chain.history import History, block_at
from folkmoot_chain.in_process import InProcess
from folkmoot_chain.rpc import LocalRpc, RevertedError
from folkmoot_chain.sending import Sender, confirmed, finality

TRUTH = np.arange(300) % 3
KNOWN = np.ones(300, dtype=bool)
SALT = b"s" * 32
STAKE = 1000


@pytest.fixture(scope="module", params=["in-process", "anvil"])
def rpc(request: pytest.FixtureRequest) -> Iterator[LocalRpc]:
    if request.param == "in-process":
        yield InProcess(5)
        return
    program = find_anvil()
    if program is None:
        pytest.skip("anvil is not installed: npm install @foundry-rs/anvil, or name it by FOLKMOOT_ANVIL")
    with running_anvil(program, 5) as started:
        yield started


@pytest.fixture(scope="module")
def people(rpc: LocalRpc) -> list[Sender]:
    return [Sender(rpc, key) for key in rpc.rich()]


@pytest.fixture(scope="module")
def contract(people: list[Sender]) -> Contract:
    return Contract.deploy(people[0], 600)[0]


def test_what_a_node_is_asked(rpc: LocalRpc, people: list[Sender]) -> None:
    assert rpc.chain_id() > 0
    latest = rpc.block("latest")
    assert rpc.block(latest.number) == latest
    assert rpc.block("safe").number <= latest.number
    with pytest.raises(LookupError):
        rpc.block(latest.number + 1000)
    assert rpc.balance(people[1].address) > 10**20
    assert rpc.balance("0x" + "77" * 20) == rpc.nonce("0x" + "77" * 20) == 0
    assert rpc.code("0x" + "77" * 20) == b""
    assert rpc.receipt("0x" + "12" * 32) is None


def test_a_transaction_is_paid_for_and_counted(rpc: LocalRpc, people: list[Sender]) -> None:
    who, other = people[1], "0x" + "aa" * 20
    before, nonce = rpc.balance(who.address), rpc.nonce(who.address)
    cost = who.cost(other, b"", 5)
    receipt = who.send(other, b"", 5)
    assert (receipt.succeeded, receipt.gas_used, receipt.contract, receipt.logs) == (True, 21_000, None, ())
    assert cost.gas >= 21_000
    assert cost.fee == cost.gas * cost.gas_price > 0
    assert rpc.balance(who.address) == before - 5 - 21_000 * receipt.gas_price
    assert rpc.nonce(who.address) == nonce + 1
    assert rpc.receipt(receipt.transaction) == receipt
    assert confirmed(rpc, receipt, 0)
    assert not confirmed(rpc, receipt, 1000)
    assert finality(rpc, 0) == 0


def test_a_poor_sender_is_told_what_it_must_hold(rpc: LocalRpc) -> None:
    poor = Sender(rpc, b"\1" * 32)
    with pytest.raises(ValueError, match=r"must hold \d+ wei for this transaction: it holds 0"):
        poor.send("0x" + "aa" * 20, b"", 0, gas=21_000)


def test_a_refusal_says_why_before_and_after_it_is_paid_for(contract: Contract, people: list[Sender]) -> None:
    with pytest.raises(RevertedError, match=r"^no credit$"):
        contract.withdraw()
    with pytest.raises(RevertedError, match=r"transaction 0x\w+ failed: no credit"):
        contract.send("withdraw", people[0].address, gas=100_000)
    with pytest.raises(RevertedError, match="ran out of gas"):
        contract.send("withdraw", people[0].address, gas=22_100)
    with pytest.raises(ValueError, match="no motion 99"):
        contract.motions(99)


def test_a_whole_motion_and_its_history(rpc: LocalRpc, contract: Contract, people: list[Sender]) -> None:
    assert rpc.code(contract.address)
    start = rpc.block("latest").timestamp + 60
    ends = [start + 600 * place for place in range(1, 5)]
    motion, receipt = contract.put(
        TRUTH, KNOWN, SALT, subject="x", labels=3, seats=3, stake=STAKE, deadlines=ends, deposit=77
    )
    votes = {people[1].address: TRUTH, people[2].address: (TRUTH + (np.arange(300) < 100)) % 3}
    for who in people[1:3]:
        contract.by(who).commit(motion, votes[who.address], SALT)
    rpc.travel(ends[0])
    for who in people[1:3]:
        contract.by(who).reveal(motion, votes[who.address], SALT)
    rpc.travel(ends[1])
    history = History(contract, motion)
    assert {each.who: history.votes(each.ballot).tolist() for each in history.revealed()} == {
        who: row.tolist() for who, row in votes.items()
    }
    assert [each.weight for each in history.revealed()] == [1, 1]
    assert history.posted() is None
    answer = history.answer()
    wrong = answer.copy()
    wrong[299] = (wrong[299] + 1) % 3
    contract.by(people[3]).post(motion, wrong)
    assert history.wrong_words() == [1]
    contract.dispute(motion, 1)
    assert history.wrong_words() == []
    assert history.votes(history.posted() or []).tolist() == answer.tolist()
    with pytest.raises(ValueError, match="was not told"):
        history.told()
    contract.tell(motion, TRUTH, KNOWN, SALT)
    assert len(contract.score(motion)) == 1
    assert history.score() == []
    assert [contract.seats(motion, who).points for who in votes] == [600, 300]
    rpc.travel(ends[3])
    assert len(history.claim()) == 1
    assert history.claim() == []
    # Half of the bond was lost to the pool; two thirds of it, then what is left, in the order of claims.
    left, points, shares = 77 + STAKE // 2, {people[1].address: 600, people[2].address: 300}, {}
    for address in sorted(points, key=str.lower):
        shares[address] = left * points[address] // sum(points.values())
        left -= shares[address]
        points[address] = 0
        assert contract.credit(address) == STAKE + shares[address]
    first = block_at(rpc, ends[0])
    assert rpc.block(first).timestamp >= ends[0] > rpc.block(first - 1).timestamp
    assert block_at(rpc, 2**39) == rpc.block("latest").number + 1
    assert receipt.block < first


def test_keys_and_a_chain_in_this_process_leave_the_recursion_limit_alone() -> None:
    code = "import sys; before = sys.getrecursionlimit(); from folkmoot_chain.in_process import InProcess; "
    code += "from folkmoot_chain.keys import address_of; address_of(b'1' * 32); "
    code += "InProcess(1); sys.exit(sys.getrecursionlimit() != before)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

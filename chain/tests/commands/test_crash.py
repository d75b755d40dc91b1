"""``folkmoot-chain watch`` killed at the worst moments and started again; Ctrl-C while a command waits."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chain_support.process import assert_control_c_says_interrupted, start
from chain_support.server import Moment, serving
from chain_support.town import Town
from folkmoot_chain.anvil import AnvilRpc
from folkmoot_chain.contract import Contract
from folkmoot_chain.in_process import InProcess
from folkmoot_chain.interface import event, topic
from folkmoot_chain.rpc import Receipt

SEND = "eth_sendRawTransaction"


class Trap:
    """Holds the next transaction up, before or after the chain takes it, until it is told to let go."""

    def __init__(self) -> None:
        self.when: Moment | None = None
        self.caught, self.go = threading.Event(), threading.Event()

    def set(self, when: Moment) -> None:
        self.caught.clear()
        self.go.clear()
        self.when = when

    def __call__(self, moment: Moment, method: str) -> None:
        if method == SEND and moment == self.when:
            self.when = None
            self.caught.set()
            assert self.go.wait(60)
            if moment == "before":
                raise ValueError("the connection was gone before this came through")


@contextmanager
def watching(town: Town) -> Iterator[subprocess.Popen[str]]:
    with start(*town.by("ann", "watch", "--every", "50ms")) as process:
        try:
            yield process
        finally:
            process.kill()


def logs_of(town: Town, name: str) -> int:
    """How often an event was logged for Ann."""
    last = town.rpc.block("latest").number
    found = town.rpc.logs(town.contract, [topic(name)], 0, last)
    return sum(event(log)[1]["who"] == town.addresses["ann"] for log in found)


def test_watch_killed_twice_does_everything_once(tmp_path: Path) -> None:
    rpc, trap = InProcess(1), Trap()
    with serving(rpc, trap) as url:
        town = Town.made(rpc, url, tmp_path)
        chain = AnvilRpc(url, 0)
        truth = [0, 1, 1, 0]
        put = town.did("sam", "put", *town.terms(truth, deposit="8wei"))
        votes = town.file("votes.txt", truth)
        town.did("ann", "commit", put["motion"], "--votes", votes, "--open")

        def later(phase: int) -> None:
            chain.travel(put["deadlines"][phase])
            chain.mine()

        with watching(town) as first:  # killed when the chain has its reveal, and it does not know
            assert first.stdout is not None
            assert first.stdout.readline() == "motion 0: commitments are open\n"
            trap.set("after")
            later(0)
            assert trap.caught.wait(60)
            first.kill()
            first.wait()
            trap.go.set()
        assert (tmp_path / "ann.json.moot" / "outbox.json").exists()
        assert logs_of(town, "Revealed") == 1
        later(1)
        town.did("sam", "tell", put["motion"])
        trap.set("before")
        with watching(town) as second:  # killed when its score is written down, and not on the chain yet
            assert trap.caught.wait(60)
            second.kill()
            second.wait()
            trap.go.set()
        assert (tmp_path / "ann.json.moot" / "outbox.json").exists()
        assert (logs_of(town, "Revealed"), logs_of(town, "Scored")) == (1, 0)
        with watching(town) as third:
            assert third.stdout is not None
            assert third.stdout.readline() == "motion 0: scored\n"  # what was written down was sent first
            assert (logs_of(town, "Scored"), logs_of(town, "Claimed")) == (1, 0)
            later(3)
            said, wrong = third.communicate(timeout=60)
            assert third.returncode == 0, wrong
            assert said.startswith("claim: ")
            assert said.endswith("motion 0: done\n")
        assert not (tmp_path / "ann.json.moot" / "outbox.json").exists()
        assert [logs_of(town, name) for name in ("Committed", "Revealed", "Scored", "Claimed")] == [
            1,
            1,
            1,
            1,
        ]
        assert rpc.nonce(town.addresses["ann"]) == 4  # and nothing else was ever paid for
        assert Contract(rpc, town.contract).credit(town.addresses["ann"]) == 10**9 + 8


class Deaf(InProcess):
    """A chain that for a while knows of no receipt, as if blocks had no room."""

    deaf = False

    def receipt(self, transaction: str) -> Receipt | None:
        return None if self.deaf else super().receipt(transaction)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    rpc = Deaf(1)
    with serving(rpc) as url:
        made = Town.made(rpc, url, tmp_path_factory.mktemp("town"))
        made.did("sam", "put", *made.terms([0, 1]))
        made.did("ann", "commit", 0, "--votes", made.file("votes.txt", [0, 1]), "--open")
        yield made


def test_control_c_while_it_watches(town: Town) -> None:
    assert_control_c_says_interrupted(*town.by("ann", "watch", "--json"), inside="cli/participating.py")


@pytest.mark.slow
def test_control_c_while_a_block_is_not_deep_enough(town: Town) -> None:
    before = town.rpc.nonce(town.addresses["sam"])
    waiting = town.by("sam", "fund", 0, "5wei", "--confirmations", 1000)
    assert_control_c_says_interrupted(*waiting, inside="cli/session.py")
    assert town.rpc.nonce(town.addresses["sam"]) == before + 1


@pytest.mark.slow
def test_control_c_while_no_block_has_it_and_then_it_is_finished(town: Town) -> None:
    before = town.rpc.nonce(town.addresses["bob"])
    town.rpc.deaf = True
    assert_control_c_says_interrupted(*town.by("bob", "fund", 0, "5wei"), inside="folkmoot_chain/sending.py")
    town.rpc.deaf = False
    assert (town.folder / "bob.json.moot" / "outbox.json").exists()
    town.did("bob", "fund", 0, "7wei")  # which first waits for the other
    assert not (town.folder / "bob.json.moot" / "outbox.json").exists()
    assert town.rpc.nonce(town.addresses["bob"]) == before + 2


@pytest.mark.slow
def test_control_c_in_a_motion_on_this_machine() -> None:
    assert_control_c_says_interrupted("local", "--node", "in-process", inside="site-packages/")  # of the EVM

"""A model as a voter: rows that it fails on cost their own votes and no others; stale jobs cost nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import numpy as np
import pytest

from folkmoot.arrays import Array
from folkmoot.network.service.voter import MOST_CALLS, ChunkVotes, Voter
from folkmoot.network.session.phases import Phase
from folkmoot.node.service.models import Model
from folkmoot.node.transports.worker import Worker
from support.network.moot_in_memory import Moot

ROWS = 2500
LABELS = ("even", "odd")


class Picky:
    """Odd or even; raises where the second column is poison, or where a value is not finite."""

    def __init__(self, *, takes_missing: bool = False, takes_infinite: bool = False) -> None:
        self.calls = 0
        self._takes_missing, self._takes_infinite = takes_missing, takes_infinite

    def __call__(self, X: Array) -> Array:
        self.calls += 1
        if (
            (X[:, 1] == 666).any()
            or (not self._takes_missing and np.isnan(X).any())
            or (not self._takes_infinite and np.isinf(X).any())
        ):
            raise ValueError("it hurts")
        return np.where(X[:, 0].astype(int) % 2, "odd", "even")


def rows(poisoned: list[int], missing: list[int] = [], infinite: list[int] = []) -> Array:  # noqa: B006
    inputs = np.zeros((ROWS, 2))
    inputs[:, 0] = np.arange(ROWS)
    inputs[poisoned, 1] = 666
    inputs[missing, 1] = np.nan
    inputs[infinite, 1] = np.inf
    return inputs


def vote(inputs: Array, model: Picky) -> ChunkVotes:
    found = Voter(Model("picky", model, labels=LABELS)).vote(inputs, LABELS)
    assert model.calls <= 64
    assert MOST_CALLS == 64
    return found


@pytest.mark.parametrize("place", [0, 1, 1249, 1250, 2498, 2499])
def test_one_poison_cell_costs_one_vote(place: int) -> None:
    model = Picky()
    found = vote(rows([place]), model)
    wanted = np.arange(ROWS) % 2
    wanted[place] = -1
    assert found.votes.tolist() == wanted.tolist()
    assert found.reason == "its model failed on 1 input"
    assert "it hurts" in found.detail
    assert "hurts" not in found.reason  # what a model says may be private
    assert model.calls <= 1 + 2 * 12  # ceil(log2(2500)) = 12 halvings, both halves asked


def test_missing_values_are_set_aside_before_poison_is_sought() -> None:
    model = Picky()
    missing, infinite = [*range(0, 2500, 5)], [*range(1, 2500, 50)]
    found = vote(rows([777], missing, infinite), model)
    wanted = np.arange(ROWS) % 2
    wanted[[777, *missing, *infinite]] = -1
    assert found.votes.tolist() == wanted.tolist()
    assert found.reason == (
        f"its model cannot answer the {len(missing) + len(infinite)} inputs with missing or infinite values "
        "and failed on 1 input"
    )


def test_a_model_that_takes_missing_values_votes_on_them() -> None:
    missing, infinite = [3, 4, 5], [9, 10]
    found = vote(rows([777], missing, infinite), Picky(takes_missing=True))
    wanted = np.arange(ROWS) % 2
    wanted[[777, *infinite]] = -1
    assert found.votes.tolist() == wanted.tolist()
    assert vote(rows([], missing), Picky(takes_missing=True)).reason == ""


@pytest.mark.parametrize("count", [2, 3, 10, 100, 2500])
def test_much_poison_costs_at_most_64_calls(count: int) -> None:
    """Rows without poison get right votes or none, and those with poison none."""
    poisoned = np.random.default_rng(count).choice(ROWS, count, replace=False).tolist()
    model = Picky()
    found = vote(rows(poisoned), model)
    voted = np.flatnonzero(found.votes >= 0)
    assert not set(voted.tolist()) & set(poisoned)
    assert (found.votes[voted] == voted % 2).all()
    if count == 2:
        assert len(voted) == ROWS - 2
    if count == 10:  # 64 calls cut to parts of 2500/16 at least: nine parts of ten are free of poison
        assert len(voted) >= 0.9 * ROWS - 10 * 2500 / 32
    if count == ROWS:
        assert found.reason == "its model failed"


def test_the_model_is_not_called_for_votes_that_nobody_wants() -> None:
    model = Picky()
    answers = iter([True, True, True, False])
    Voter(Model("picky", model)).vote(rows([7]), LABELS, lambda: next(answers, False))
    assert model.calls <= 3


# ---- jobs that wait --------------------------------------------------------------------------


def test_a_job_that_is_cancelled_while_it_waits_is_not_run() -> None:
    ran: list[str] = []

    async def play() -> None:
        worker = Worker(asyncio.get_running_loop())
        begun, go = threading.Event(), threading.Event()
        done = asyncio.Event()

        def slow() -> None:
            begun.set()
            assert go.wait(20.0)
            ran.append("slow")

        worker.put(slow, lambda _: None)
        cancel = worker.put(lambda: ran.append("stale"), lambda _: None)
        worker.put(lambda: ran.append("next"), lambda _: done.set())
        assert await asyncio.to_thread(begun.wait, 20.0)
        cancel()
        cancel()  # as often as one likes
        go.set()
        await asyncio.wait_for(done.wait(), 20.0)
        worker.close()

    asyncio.run(play())
    assert ran == ["slow", "next"]


@pytest.mark.parametrize("trust", [False, True])
def test_the_jobs_of_a_motion_are_cancelled_when_it_has_no_use_for_them(trust: bool) -> None:
    """Node 1's model never comes to its jobs: when the time for votes is over they are taken back."""
    votes = np.zeros((5, 40), dtype=np.int8)
    moot = Moot(votes, seed=1)
    world, waiting = moot.network.of(1), dict[int, str]()

    def work(*_: object) -> Callable[[], None]:
        number = len(waiting)
        waiting[number] = "waits"
        return lambda: waiting.__setitem__(number, "cancelled")

    world.work = work  # type: ignore[method-assign, assignment]
    moot.put(0, at=1.0, k=3, alpha=2, chunk_rows=40, trust=trust)
    moot.network.run(60.0)
    assert waiting
    assert set(waiting.values()) == {"cancelled"}
    for session, _ in moot.over.values():
        assert session.phase is Phase.OVER

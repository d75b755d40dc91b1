"""Real processes killed, paused and started again: nothing stored is lost, nothing signed is denied."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from folkmoot.network.service.control import MotionProgress
from folkmoot.runs.processes import Nodes
from support.network.real_moot import (
    ask,
    check_consistency,
    own_close,
    real_moot,
    rows_of_closed_motions,
    until,
)

RIGHT = ["even", "odd"]


class Faults:
    """Once the moot talks: kill some, pause some, start the killed ones again."""

    def __init__(self, nodes: Nodes, killed: list[int], paused: list[int], pause: float = 0.5) -> None:
        self._nodes, self._killed, self._paused, self._pause = nodes, killed, paused, pause
        self._begun = False

    def __call__(self, state: MotionProgress) -> None:
        if state.phase == "talking" and not self._begun:
            self._begun = True
            for place in self._killed:
                self._nodes.kill(place)
            for place in self._paused:
                self._nodes.signal(place, signal.SIGSTOP)
            time.sleep(self._pause)
            for place in self._killed:
                self._nodes.start(place)

    def repair(self) -> None:
        """All are there again."""
        for place in self._paused:
            self._nodes.signal(place, signal.SIGCONT)
        self._nodes.wait(range(len(self._nodes.settings)), 60.0)
        assert self._begun


def everything(nodes: Nodes) -> dict[int, set[tuple[object, ...]]]:
    return {place: rows_of_closed_motions(nodes, place) for place in range(len(nodes.settings))}


def assert_only_added(before: dict[int, set[tuple[object, ...]]], nodes: Nodes) -> None:
    for place, rows in everything(nodes).items():
        assert before[place] <= rows, f"node {place} has lost or changed {len(before[place] - rows)} rows"


def test_nodes_are_killed_paused_and_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with real_moot(tmp_path, 6, monkeypatch) as nodes:
        before = everything(nodes)
        for number, (killed, paused) in enumerate([([3], [4]), ([2], []), ([], [])]):
            faults = Faults(nodes, killed, paused)
            account = ask(nodes, number % 2, faults)
            faults.repair()
            assert account.state == "closed"
            assert account.evidence == {}
            assert account.undecided == 0 or killed
            assert all(x in (None, RIGHT[i % 2]) for i, x in enumerate(account.decisions))
            assert_only_added(before, nodes)
            before = everything(nodes)
    assert_only_added(before, nodes)
    assert len(check_consistency(nodes)) == 3


@contextmanager
def killed_when(nodes: Nodes, place: int, due: Callable[[], bool]) -> Iterator[None]:
    """Beside the block, once it is due, a node is killed and started again; at its end, that has happened."""

    def work() -> None:
        until(due, "it never came to that", 60.0)
        nodes.kill(place)
        nodes.start(place)

    with ThreadPoolExecutor(1) as thread:
        working = thread.submit(work)
        yield
        working.result()
    nodes.wait(range(len(nodes.settings)), 60.0)


def test_a_node_killed_right_after_its_close_stands_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with real_moot(tmp_path, 5, monkeypatch) as nodes:
        for number in range(1, 3):
            with killed_when(nodes, 2, lambda number=number: own_close(nodes, 2, number)):  # type: ignore[misc]
                account = ask(nodes, rounds=20)
            assert account.undecided == 0
    check_consistency(nodes)


def killed_at_random(nodes: Nodes, seed: int, times: int) -> None:
    """One node of five is killed at random moments of motions, and started again each time."""
    rng = random.Random(seed)
    for _ in range(times):
        began, delay = time.monotonic(), rng.uniform(0.0, 1.2)
        due = lambda began=began, delay=delay: time.monotonic() > began + delay  # noqa: E731
        with killed_when(nodes, 3, due):
            account = ask(nodes, rounds=20)
        assert account.state == "closed"
        assert all(x in (None, RIGHT[i % 2]) for i, x in enumerate(account.decisions))


def test_a_node_is_killed_at_random_moments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with real_moot(tmp_path, 5, monkeypatch) as nodes:
        killed_at_random(nodes, 30, 4)
    assert len(check_consistency(nodes)) == 4


@pytest.mark.slow
def test_a_node_is_killed_at_random_moments_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with real_moot(tmp_path, 5, monkeypatch) as nodes:
        killed_at_random(nodes, 31, 40)
    assert len(check_consistency(nodes)) == 40


@pytest.mark.slow
def test_thirty_motions_among_twenty_five_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five are killed and started again and two are paused in every one of them."""
    rng = random.Random(32)
    with real_moot(tmp_path, 25, monkeypatch) as nodes:
        before = everything(nodes)
        decided = 0
        for number in range(30):
            asker, *others = rng.sample(range(25), 25)
            faults = Faults(nodes, others[:5], others[5:7], pause=1.0)
            account = ask(nodes, asker, faults, seconds=30.0)
            faults.repair()
            assert account.state == "closed", number
            assert len(account.took_part) >= account.quorum
            assert all(x in (None, RIGHT[i % 2]) for i, x in enumerate(account.decisions))
            decided += account.inputs - account.undecided
            assert_only_added(before, nodes)
            before = everything(nodes)
        assert decided >= 0.95 * 30 * 40
    assert_only_added(before, nodes)
    assert len(check_consistency(nodes)) == 30

"""Large motions of one member leave all models time for small ones: whole nodes, on a virtual clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from folkmoot.arrays import Array
from folkmoot.node import certificate
from folkmoot.node.answer import answer_of
from folkmoot.node.certificate import verify as check
from folkmoot.node.session import motion as session
from folkmoot.node.session.header import Header
from folkmoot.testing.memory import Network, World
from support.node.moot import Moot, model

COST = 2e-3  # seconds that each model takes for a row
LABELS = ("even", "odd")


def work(self: World[bytes], job: Callable[[], Any], done: Callable[[Any], None]) -> Callable[[], None]:
    """A thread of the model: the job takes as long as the model has moved the clock."""
    network = self._network
    began = network.time
    result = job()
    ended, network.time = network.time, began
    return self.later(ended, lambda: done(result))


def test_the_answer_of_a_large_motion_is_computed_once_and_not_by_the_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With 21,000 rows and four members by Dawid-Skene; a small motion after it is answered by the node."""
    jobs: list[int] = []
    computed: list[int] = []

    def counted(header: Header, *rest: Any) -> bytes:
        computed.append(header.inputs)
        return answer_of(header, *rest)

    def compute(self: World[bytes], job: Callable[[], Any], done: Callable[[Any], None]) -> None:
        before = len(computed)
        result = job()
        jobs.append(len(computed) - before)
        self.later(self.now() + 1.0, lambda: done(result))

    monkeypatch.setattr(session, "answer_of", counted)
    monkeypatch.setattr(certificate, "answer_of", counted)
    monkeypatch.setattr(World, "compute", compute)
    moot = Moot([model(lambda X: [LABELS[int(each) % 2] for each in X[:, 0]], LABELS) for _ in range(4)])
    for rows, expected in ((21_000, [1, 1, 1, 1]), (10, [])):
        jobs.clear()
        computed.clear()
        name = moot.put(0, np.arange(float(rows))[:, None], labels=list(LABELS), rule="dawid-skene")
        accounts = moot.play(name)
        assert accounts[0].decisions == [*LABELS] * (rows // 2)
        assert (jobs, computed) == (expected, [rows] * 4)
        data = moot.storages[0].motion(name).certificate
        assert data is not None
        check(data, moot.roster)  # computes it anew


def test_four_legal_motions_of_100_000_rows_leave_an_honest_one_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Asked in the order in which they came, each model would be busy for 800 seconds."""
    monkeypatch.setattr(World, "work", work)
    networks: list[Network[bytes]] = []

    def answer(X: Array) -> list[str]:
        if networks:
            networks[0].time += COST * len(X)
        return [LABELS[int(each) % 2] for each in X[:, 0]]

    moot = Moot([model(answer, LABELS) for _ in range(4)])
    networks.append(moot.network)
    large = np.zeros((100_000, 1), dtype=np.uint8)
    for number in range(4):
        large[0] = number
        moot.put(0, large, labels=list(LABELS), seconds=3600.0)
    moot.run(5.0)
    began = moot.network.time
    name = moot.put(1, np.arange(100.0)[:, None], labels=list(LABELS), seconds=20.0)
    accounts = moot.play(name, seconds=20.0)
    assert moot.network.time - began < 5.0
    for account in accounts:
        assert account.decisions == list(LABELS) * 50
        assert not account.refused

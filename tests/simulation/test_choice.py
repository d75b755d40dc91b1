"""Which kernel plays what: the first that can, and no other place has a say in it."""

from __future__ import annotations

from functools import partial
from typing import Any

import networkx
import numpy as np
import pytest

import folkmoot
from folkmoot import Everyone, Neighbours, Slush, Snowball
from folkmoot.adversaries import ConstantClass, Silent
from folkmoot.adversaries.behaviours import RandomClass
from folkmoot.adversaries.interface import Knows
from folkmoot.simulation.kernels import bitsliced, choice, explicit, flip, table
from folkmoot.simulation.kernels.arguments import Results
from folkmoot.simulation.setting import Options, Setting
from folkmoot.simulation.sharing import Piece

# Participants without a vote ask and are asked, as in the paper.
deliberate = partial(folkmoot.deliberate, missing="present")

N = 20
VOTES = np.random.default_rng(0).integers(0, 2, (N, 70))
GAPS = np.where(np.random.default_rng(1).random((N, 70)) < 0.1, -1, VOTES)
GRAPH = Neighbours(networkx.circulant_graph(N, [1, 2, 3]))
LOCAL = Slush(5, [3 + i % 2 for i in range(N)])
SHARED: dict[str, Any] = {"batch": "shared"}


@pytest.mark.parametrize(
    ("kernel", "votes", "protocol", "options"),
    [
        (flip, VOTES, Slush(5, 3), {}),
        (flip, VOTES, LOCAL, {"sampling": Everyone()}),
        (flip, VOTES, Slush(5, 3), {"adversaries": {3: ConstantClass(1)}}),
        (table, GAPS, Slush(5, 3), {}),
        (table, VOTES, Slush(5, 3), {"classes": 3}),
        (table, VOTES, Slush(5, 3), {"schedule": "lockstep"}),
        (table, VOTES, Snowball(5, 3, 4), {}),
        (explicit, VOTES, Slush(5, 3), {"record": True}),
        (explicit, VOTES, Slush(5, 3), {"sampling": GRAPH}),
        (explicit, VOTES, Slush(5, 3, weights=[1.0] * N), {}),
        (explicit, VOTES, Slush(5, 3), {"adversaries": {3: RandomClass()}}),
        (bitsliced, VOTES, Slush(5, 3), SHARED),
        (bitsliced, VOTES, Slush(15, 8), SHARED),
        (bitsliced, VOTES, Slush(5, 3), SHARED | {"sampling": GRAPH, "adversaries": {3: Silent()}}),
        (bitsliced, VOTES, LOCAL, SHARED),
        (bitsliced, VOTES, LOCAL, SHARED | {"adversaries": {3: Silent()}, "permute": False}),
        (explicit, VOTES, LOCAL, SHARED | {"adversaries": {3: Silent()}}),
        (explicit, VOTES, Slush(16, 9), SHARED),
        (explicit, GAPS, Slush(5, 3), SHARED),
        (explicit, VOTES, Snowball(5, 3, 4), SHARED),
        (explicit, VOTES, Slush(5, 3), SHARED | {"schedule": "lockstep"}),
        (explicit, VOTES, Slush(5, 3), SHARED | {"adversaries": {3: RandomClass()}}),
        (explicit, VOTES, Slush(5, 3), SHARED | {"record": True}),
    ],
)
def test_the_fastest_that_can(
    kernel: Any, votes: Any, protocol: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[str] = []

    def watched(module: Any) -> Any:
        def pieces(setting: Setting, options: Options, results: Results) -> list[Piece]:
            played.append(module.__name__)
            return list(module.pieces(setting, options, results))

        return type("Watched", (), {"plays": staticmethod(module.plays), "pieces": staticmethod(pieces)})()

    monkeypatch.setattr(choice, "KERNELS", tuple(watched(module) for module in choice.KERNELS))
    deliberate(votes, protocol, rounds=20, **options)
    assert played == [kernel.__name__]


def test_a_batch_silent_on_some_inputs_only_is_not_for_the_bitsliced_kernel() -> None:
    options = Options.checked(
        70, seed=0, keys=None, repeats=1, batch="shared", record=False, permute=True, threads=1
    )
    for liar, kernel in ((Silent(), bitsliced), (ConstantClass(1), bitsliced), (_Shy(), explicit)):
        setting = Setting.checked(VOTES, Slush(5, 3), {4: liar}, None, None, "one", 10, None)
        assert choice.kernel_for(setting, options) is kernel


class _Shy(ConstantClass):
    """Silent where its own vote was 1."""

    knows = Knows.OWN_VOTE

    def answer(self, seen: int, *, vote: int, truth: int, classes: int) -> int:  # noqa: ARG002
        return -1 if vote == 1 else 0


def test_a_kernel_for_another_device_is_one_more_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stubborn:
        """Plays batches of seventy inputs: nobody changes its mind."""

        @staticmethod
        def plays(setting: Setting, options: Options) -> bool:
            return setting.votes.shape[1] == 70 and options.threads == 2

        @staticmethod
        def pieces(setting: Setting, options: Options, results: Results) -> list[Piece]:  # noqa: ARG004
            def half(first: int, last: int) -> Piece:
                def play(halt: Any) -> None:
                    assert halt[0] == 0
                    results.decisions[first:last] = setting.honest_votes[first:last]

                return Piece(last - first, play)

            return [half(0, 30), half(30, 70)]

    monkeypatch.setattr(choice, "KERNELS", (Stubborn(), *choice.KERNELS))
    done: list[tuple[int, int]] = []
    outcome = deliberate(VOTES, Slush(5, 3), threads=2, progress=lambda *told: done.append(told))
    assert np.array_equal(outcome.decisions, VOTES)
    assert done == [(30, 70), (70, 70)]
    assert not np.array_equal(deliberate(VOTES, Slush(5, 3), threads=1).decisions, VOTES)

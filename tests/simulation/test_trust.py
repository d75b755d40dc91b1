"""What holds bit for bit, or by construction, when participants ask whom they trust."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import folkmoot
from folkmoot import Slush, Snowball, Snowflake, Trusting
from folkmoot.adversaries import ConstantClass, PerfectlyMalicious, Silent
from folkmoot.outcome import Batch
from support.outcomes import assert_bits_depend_on_the_seed_alone, same

# Participants without a vote ask and are asked, as in the paper.
deliberate = partial(folkmoot.deliberate, missing="uncoloured")

BATCHES = ["independent", "shared"]
KINDS: list[Any] = [
    {"batch": batch, "schedule": schedule} for batch in BATCHES for schedule in ("one", "lockstep")
]


def trust(n: int, seed: int = 0) -> npt.NDArray[np.float64]:
    """Of both signs: some trust few, or nobody."""
    return np.random.default_rng(seed).normal(np.linspace(-1.5, 2, n)[:, None], 1, (n, n))


@pytest.mark.parametrize("options", KINDS, ids=lambda x: "-".join(x.values()))
@pytest.mark.parametrize("protocol", [Slush(4, 3), Snowball(4, 3, 5)], ids=lambda p: type(p).__name__)
def test_same_seed_same_bits_whatever_the_threads(protocol: Any, options: dict[str, Any]) -> None:
    assert_bits_depend_on_the_seed_alone(protocol, options | {"sampling": Trusting(trust(15))})


@pytest.mark.parametrize("options", KINDS, ids=lambda x: "-".join(x.values()))
def test_an_input_does_not_depend_on_the_rest_of_the_batch(options: dict[str, Any]) -> None:
    votes = np.random.default_rng(3).integers(0, 2, (15, 40))
    whole = deliberate(votes, Slush(4, 3), sampling=Trusting(trust(15)), **options)
    cut = deliberate(votes[:, :7], Slush(4, 3), sampling=Trusting(trust(15)), **options)
    assert np.array_equal(whole.decisions[:, :7], cut.decisions)
    assert np.array_equal(whole.rounds[:7], cut.rounds)


@pytest.mark.parametrize("batch", BATCHES)
def test_trust_is_ratios(batch: Batch) -> None:
    votes = np.random.default_rng(4).integers(0, 3, (15, 60))
    matrix = trust(15)
    scale = 2.0 ** np.arange(15)[:, None]
    one = deliberate(votes, Slush(4, 3), sampling=Trusting(matrix), batch=batch)
    assert same(one, deliberate(votes, Slush(4, 3), sampling=Trusting(matrix * scale), batch=batch))
    assert not same(one, deliberate(votes, Slush(4, 3), batch=batch))


@pytest.mark.parametrize("batch", BATCHES)
def test_who_trusts_nobody_keeps_its_colour_and_asks_nobody(batch: Batch) -> None:
    matrix = np.ones((6, 6))
    matrix[2] = [-1, 0, 5, 0, -2, 0]
    votes = np.zeros((6, 30), dtype=np.int64)
    votes[2, :10], votes[2, 10:20] = 1, -1
    for protocol in (Slush(3, 2), Snowflake(3, 2, 3)):
        outcome = deliberate(votes, protocol, sampling=Trusting(matrix), rounds=20, batch=batch)
        assert np.array_equal(outcome.decisions[2], votes[2])
        assert (outcome.decisions[[0, 1, 3, 4, 5]] == 0).all()
        settled = outcome.settled.tolist()  # Snowflake: the hermit never decides
        assert settled == ([False] * 20 + [True] * 10 if isinstance(protocol, Slush) else [False] * 30)
    nobody = deliberate(votes, Slush(3, 2), sampling=Trusting(-np.ones((6, 6))), rounds=5, batch=batch)
    assert np.array_equal(nobody.decisions, votes)
    assert nobody.queries == 0


@pytest.mark.parametrize("batch", BATCHES)
def test_queries_are_counted_as_they_are_asked(batch: Batch) -> None:
    # In lockstep everybody asks once a round: k = 3, but 0 trusts one, 1 nobody and 2 two; never settled.
    matrix = np.ones((5, 5))
    matrix[0], matrix[1], matrix[2] = [0, 1, 0, 0, 0], 0, [0, 1, 0, 1, 0]
    votes = np.array([[0], [1], [0], [1], [0]]).repeat(4, axis=1)
    options: dict[str, Any] = {"batch": batch, "schedule": "lockstep", "rounds": 7}
    outcome = deliberate(votes, Slush(3, 3), sampling=Trusting(matrix), **options)
    played = outcome.rounds
    assert outcome.queries == (1 + 0 + 2 + 3 + 3) * (played.sum() if batch == "independent" else played.max())


@pytest.mark.parametrize("batch", BATCHES)
def test_liars_whom_nobody_trusts_do_not_prolong_a_talk(batch: Batch) -> None:
    n, liars = 21, range(12, 21)
    matrix = np.ones((n, n))
    matrix[:, 12:] = -1
    votes = np.random.default_rng(5).integers(0, 2, (n, 50))
    malicious = {i: PerfectlyMalicious() for i in liars}
    truth = np.ones(50, dtype=np.int64)
    options: dict[str, Any] = {"adversaries": malicious, "truth": truth, "rounds": 60, "batch": batch}
    outcome = deliberate(votes, Slush(5, 3), sampling=Trusting(matrix), **options)
    assert outcome.settled.mean() > 0.9
    assert (outcome.rounds[outcome.settled] < 60).all()
    # One honest participant trusts three of them: it can be turned again, so no talk is over.
    matrix[4, 12:15] = 1
    outcome = deliberate(votes, Slush(5, 3), sampling=Trusting(matrix), **options)
    blue = outcome.counts[:, 1] == 12
    assert not outcome.settled[blue].any()
    # With two it cannot, unless answers are weighted.
    matrix[4, 12] = 0
    assert deliberate(votes, Slush(5, 3), sampling=Trusting(matrix), **options).settled.mean() > 0.9
    weighted = deliberate(votes, Slush(5, 3), sampling=Trusting(matrix, weighted=True), **options)
    assert not weighted.settled[weighted.counts[:, 1] == 12].any()


@pytest.mark.parametrize("options", [{}, {"batch": "shared"}, {"record": True}], ids=str)
def test_participants_keep_their_numbers(options: dict[str, Any]) -> None:
    """Numbering them otherwise, liars anywhere among them, changes the order of the rows and nothing else.

    How often each ends blue, 4,000 games, within 5 standard errors.
    """
    n, games = 8, 4000
    column = np.array([0, 0, 1, 0, 1, 1, 0, 1])
    matrix = trust(n, 4)
    liars: dict[int, Any] = {0: Silent(), 4: ConstantClass(1), 6: ConstantClass(0)}

    def blue(order: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.float64]:
        place = np.argsort(order)
        shared = "batch" in options
        outcome = deliberate(
            np.repeat(column[order][:, None], 1 if shared else games, axis=1),
            Slush(3, 2), sampling=Trusting(matrix[np.ix_(order, order)], weighted=True),
            adversaries={int(place[i]): liar for i, liar in liars.items()},
            rounds=2, repeats=games if shared else 1, seed=seed, **options,
        )  # fmt: skip
        return np.asarray((outcome.decisions == 1).mean(axis=0 if shared else 1).ravel()[place])

    straight = blue(np.arange(n), 1)
    shuffled = blue(np.array([5, 0, 3, 7, 1, 4, 2, 6]), 2)
    assert np.abs(straight - shuffled).max() < 5 * np.sqrt(2 * 0.25 / games)
    assert len(np.unique(np.round(straight[[1, 2, 3, 5, 7]], 2))) > 2  # the test could tell them apart


def test_explain_tells_the_tally_of_a_scaled_query() -> None:
    matrix = np.zeros((4, 4))
    matrix[0, 1:3] = [1, 5]  # asks two of k = 3: both must agree
    matrix[1:, 1:] = 1
    votes = np.array([[0], [1], [1], [1]])
    for weighted in (False, True):
        law = Trusting(matrix, weighted=weighted)
        outcome = deliberate(votes, Slush(3, 3), sampling=law, record=True, rounds=30)
        (change,) = outcome.turns(0).changes
        assert (change.participant, change.before, change.after) == (0, 0, 1)
        assert change.tally == (0, 2)

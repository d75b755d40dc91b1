"""``agree`` against plain Python with exact fractions; when it stops, what it keeps, what it refuses."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chi2

from folkmoot import Agreement, agree
from folkmoot.adversaries import (
    NUMBER_ATTACKS,
    ConstantNumber,
    FarAway,
    NumberAdversary,
    Observation,
    PerfectlyMalicious,
    RandomNumber,
    Silent,
    Stalling,
)
from folkmoot.aggregation import RULES, Median, TrimmedMean
from folkmoot.arrays import Floats
from folkmoot.simulation import approximate
from folkmoot.simulation.approximate_draws import draw_peers, throw_dice
from support.first_numbers import liars, numbers
from support.oracles import approximate as oracle

# ---- against plain Python ----------------------------------------------------------------------

COMBINE: dict[str, oracle.Combine] = {
    "trimmed-mean": lambda held: oracle.trimmed_mean(held, oracle.safe_trim(len(held))),
    "median": oracle.median,
    "krum": lambda held: oracle.krum(held, min(oracle.safe_trim(len(held)), max(0, (len(held) - 3) // 2))),
    "mean": oracle.mean,
}
LIES: dict[str, tuple[NumberAdversary, oracle.Lie]] = {
    "stalling": (Stalling(), oracle.stalling),
    "silent": (Silent(), lambda _honest, _asker, _own, _liar: None),
    "constant": (
        ConstantNumber(3.5),
        lambda _honest, asker, _own, _liar: tuple(Fraction(7, 2) for _ in asker),
    ),
    "far-away": (
        FarAway(-40.0),
        lambda honest, _asker, _own, _liar: tuple(low - 40 for low, _ in oracle.honest_range(honest)),
    ),
}


@pytest.mark.parametrize("rule", COMBINE)
@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize(("k", "outputs"), [(None, None), (None, 2), (4, None), (4, 2)])
def test_every_round_is_the_oracle_s(rule: str, lie: str, k: int | None, outputs: int | None) -> None:
    n, inputs, seed = 7, 3, 11
    values = numbers(n, inputs, outputs)
    adversary, answer = LIES[lie]
    byzantine = liars(2, adversary)
    honest = [i for i in range(n) if i not in byzantine]

    def peers(turn: int, node: int) -> Sequence[int]:
        if k is None:
            return [i for i in range(n) if i != node]
        drawn: list[int] = draw_peers(seed, turn, n, np.array([node]), k)[0].tolist()
        return drawn[1:]

    got = agree(
        values, RULES[rule](), adversaries=byzantine, k=k, rounds=4, relative=0.23, seed=seed, record=True
    )
    assert got.history is not None
    for i in range(inputs):
        first = [oracle.number(*np.atleast_1d(values[p, i])) for p in range(n)]
        target = oracle.spread([first[p] for p in honest]) * Fraction(23, 100)
        last, played, spreads = oracle.play(
            first, COMBINE[rule], dict.fromkeys(byzantine, answer), peers, 4, target
        )
        expected = np.array(last, dtype=np.float64).reshape(got.numbers[honest, i].shape)
        np.testing.assert_allclose(got.numbers[honest, i], expected, rtol=1e-11)
        assert got.rounds[i] == played
        assert got.settled[i] == (spreads[-1] <= target)
        spreads += [spreads[-1]] * (4 - played)
        np.testing.assert_allclose(got.history[i], np.array(spreads, dtype=np.float64), rtol=1e-9, atol=1e-11)
        assert got.spread[i] == got.history[i, -1]
    assert np.isnan(got.numbers[list(byzantine)]).all()
    assert got.queries == got.rounds.max() * len(honest) * (k or n - 1)
    assert got.honest.tolist() == [p in honest for p in range(n)]


def test_the_decision_is_the_median_of_the_honest() -> None:
    for n, outputs in ((6, None), (7, 3)):
        got = agree(numbers(n, 4, outputs), TrimmedMean(), adversaries={0: Stalling()}, k=3, rounds=1)
        held = got.numbers[1:].reshape(n - 1, 4, -1)
        expected = [[statistics.median(held[:, i, o]) for o in range(held.shape[2])] for i in range(4)]
        assert got.decision.reshape(4, -1).tolist() == expected
        assert got.decision.shape == got.numbers.shape[1:]


@pytest.mark.parametrize("rule", [TrimmedMean(), Median()])
def test_outputs_are_agreed_on_one_by_one(rule: Any) -> None:
    values = numbers(9, 5, 3)
    together = agree(values, rule, adversaries=liars(2, Stalling()), k=5, rounds=6, tolerance=0)
    for o in range(3):
        alone = agree(values[:, :, o], rule, adversaries=liars(2, Stalling()), k=5, rounds=6, tolerance=0)
        np.testing.assert_array_equal(together.numbers[:, :, o], alone.numbers)


# ---- an input by itself ------------------------------------------------------------------------


@pytest.mark.parametrize("attack", NUMBER_ATTACKS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("k", [None, 5])
def test_an_input_does_not_depend_on_its_batch(
    rule: str, attack: str, k: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = numbers(10, 7, 2) * (10.0 ** np.arange(-3, 4))[:, None]

    def play(batch: Floats) -> Agreement:
        lies = liars(3, NUMBER_ATTACKS[attack]())
        return agree(batch, RULES[rule](), adversaries=lies, k=k, rounds=5, relative=0.05, seed=3)

    whole = play(values)
    order = np.random.default_rng(1).permutation(7)
    batches = [order, np.array([4, 4]), *np.arange(7)[:, None]]
    for piece, some in ((1, batches[:4]), (400, batches[:1]), (approximate._PIECE, batches)):
        monkeypatch.setattr(approximate, "_PIECE", piece)
        for batch in some:
            part = play(values[:, batch])
            for name in ("numbers", "decision"):
                np.testing.assert_array_equal(
                    np.moveaxis(getattr(part, name), -2, 0), np.moveaxis(getattr(whole, name), -2, 0)[batch]
                )
            for name in ("spread", "settled", "rounds"):
                np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[batch])


def test_the_same_seed_gives_the_same_bits_and_another_others() -> None:
    values = numbers(12, 3)
    one, again, other = (agree(values, TrimmedMean(), k=4, rounds=3, seed=s).numbers for s in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


def test_more_rounds_go_on_from_fewer() -> None:
    values = numbers(12, 5)
    lies = liars(2, RandomNumber())
    long = agree(values, TrimmedMean(), adversaries=lies, k=4, rounds=6, tolerance=0, record=True)
    short = agree(values, TrimmedMean(), adversaries=lies, k=4, rounds=3, tolerance=0, record=True)
    assert long.history is not None
    assert short.history is not None
    np.testing.assert_array_equal(long.history[:, :4], short.history)


# ---- whom a node asks --------------------------------------------------------------------------


def test_peers_are_others_and_drawn_once() -> None:
    for n, k in ((2, 1), (6, 5), (30, 7)):
        for turn in range(20):
            who = draw_peers(5, turn, n, np.arange(n), k)
            assert who.shape == (n, k + 1)
            assert (who[:, 0] == np.arange(n)).all()
            for row in who.tolist():
                assert len(set(row)) == k + 1
                assert set(row) <= set(range(n))
            # A node's draw is its own, whoever else asks.
            np.testing.assert_array_equal(draw_peers(5, turn, n, np.array([n - 1]), k)[0], who[-1])


def test_every_set_of_peers_is_equally_likely() -> None:
    draws = [tuple(sorted(draw_peers(0, turn, 6, np.array([2]), 3)[0, 1:].tolist())) for turn in range(6000)]
    counts = np.unique(draws, axis=0, return_counts=True)[1]
    assert len(counts) == math.comb(5, 3)
    assert ((counts - 600.0) ** 2 / 600.0).sum() < chi2.isf(1e-4, 9)


def test_dice_are_uniform_and_differ_by_asker_liar_and_output() -> None:
    dice = np.concatenate([throw_dice(0, turn, np.arange(20), 7, 3) for turn in range(100)])
    assert len(np.unique(dice)) == dice.size
    counts = np.histogram(dice, bins=10, range=(0, 1))[0]
    assert ((counts - 600.0) ** 2 / 600.0).sum() < chi2.isf(1e-4, 9)
    assert not np.isin(throw_dice(0, 0, np.arange(20), 8, 3), dice).any()
    np.testing.assert_array_equal(throw_dice(0, 99, np.array([19]), 7, 3), dice[-1:])


# ---- when it stops, and what it keeps ----------------------------------------------------------


def test_tolerance_is_in_the_unit_of_the_values_and_relative_a_share() -> None:
    values = np.array([[0.0, 0.0, 5.0, 1e9], [1.0, 100.0, 5.0, 1e9 + 1e-7], [0.2, 30.0, 5.0, 1e9]])
    spreads = np.array([1.0, 100.0, 0.0, np.ptp(values[:, 3])])
    for options, target in (
        ({"tolerance": 1.0}, [1.0] * 4),
        ({"tolerance": 0.0}, [0.0] * 4),
        ({"relative": 1.0}, spreads),
        ({"relative": 0.0}, [1e-15, 1e-13, 1e-14, 1e-6]),  # what rounding leaves is settled
        ({}, [1e-3, 0.1, 1e-14, 1e-6]),
    ):
        got = agree(values, Median(), rounds=0, **options)  # type: ignore[arg-type]
        assert got.settled.tolist() == (spreads <= np.asarray(target)).tolist()
        np.testing.assert_array_equal(got.spread, spreads)
        assert got.undecided == 4 - got.settled.sum()
        assert got.queries == 0
        np.testing.assert_array_equal(got.numbers, values)


def test_silence_and_nonsense_count_as_the_asker_s_own_number() -> None:
    @dataclass(frozen=True)
    class Nonsense(NumberAdversary):
        said: float

        def answer_number(self, seen: Observation) -> npt.ArrayLike:
            answer = np.broadcast_to(seen.low, seen.asker.shape).copy()
            answer[..., -1] = self.said  # one output spoils the answer
            return answer

    values = numbers(7, 3, 2)
    silent = agree(values, TrimmedMean(), adversaries=liars(2, Silent()), rounds=3)
    for said in (math.nan, math.inf, -1e101):
        got = agree(values, TrimmedMean(), adversaries=liars(2, Nonsense(said)), rounds=3)
        np.testing.assert_array_equal(got.numbers, silent.numbers)


def test_one_participant_and_two() -> None:
    got = agree([[3.0, 4.0]], TrimmedMean())
    assert got.decision.tolist() == [3.0, 4.0]
    assert got.settled.all()
    assert agree([[0], [2]], TrimmedMean()).decision.tolist() == [1.0]
    alone = agree([[0.0], [2.0]], TrimmedMean(), adversaries={1: Silent()})
    assert alone.decision.tolist() == [0.0]


def test_the_caller_s_numbers_are_untouched() -> None:
    values = numbers(6, 4)
    before = values.copy()
    agree(values, TrimmedMean(), adversaries={2: FarAway()}, k=3)
    np.testing.assert_array_equal(values, before)


def test_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approximate, "_PIECE", 6 * 6 * 2)
    told: list[tuple[int, int]] = []
    agree(numbers(6, 5), TrimmedMean(), progress=lambda done, everything: told.append((done, everything)))
    assert told == [(2, 5), (4, 5), (5, 5)]


def test_plot() -> None:
    values = numbers(20, 30)
    got = agree(values, TrimmedMean(), adversaries=liars(3, Stalling()), k=8, rounds=5, record=True)
    axes = got.plot().axes[0]
    assert axes.get_yscale() == "log"
    assert len(axes.lines) == 30
    assert got.history is not None
    line = np.asarray(axes.lines[0].get_ydata(), dtype=np.float64)
    np.testing.assert_array_equal(line, got.history[0, : got.rounds[0] + 1])
    # All agreed from the start: nothing to draw on a logarithmic scale, and no warning.
    agree(np.ones((3, 2)), TrimmedMean(), record=True).plot().canvas.draw()
    with pytest.raises(ValueError, match=r"record: agree\(..., record=True\)"):
        agree(values, TrimmedMean()).plot()


# ---- bad input ---------------------------------------------------------------------------------

GOOD = np.zeros((6, 3))


def with_entry(value: float) -> Floats:
    spoiled = GOOD.copy()
    spoiled[4, 2] = value
    return spoiled


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (np.zeros(5), {}, r"shape \(participant, input\[, output\]\): got \(5,\)"),
        (np.zeros((6, 0)), {}, "at least one number"),
        ([[1.0], [1.0, 2.0]], {}, "got unequal rows"),
        (with_entry(np.nan), {}, "participant 4 has nan on input 2"),
        (with_entry(-np.inf), {}, "participant 4 has -inf on input 2"),
        (with_entry(1e101), {}, r"participant 4 has 1e\+101 on input 2"),
        (GOOD, {"k": 0}, "k must satisfy k >= 1: got k=0"),
        (GOOD, {"k": 6}, "1 <= k <= n-1 .*got k=6, n=6"),
        (GOOD, {"rule": TrimmedMean(3)}, "2 trim < m, the values held: got trim=3, m=6"),
        (GOOD, {"rule": TrimmedMean(1), "k": 1}, "2 trim < m, the values held: got trim=1, m=2"),
        (GOOD, {"rounds": -1}, "rounds >= 0"),
        (GOOD, {"rounds": 10**7}, "rounds <= 1,000,000"),
        (GOOD, {"tolerance": -1.0}, "tolerance must satisfy tolerance >= 0: got tolerance=-1.0"),
        (GOOD, {"relative": math.nan}, "relative must be finite: got relative=nan"),
        (GOOD, {"tolerance": 1.0, "relative": 0.1}, "give tolerance or relative, not both"),
        (GOOD, {"seed": -1}, "seed >= 0"),
        (GOOD, {"seed": 2**63}, r"seed < 2\^63"),
        (GOOD, {"adversaries": {6: Silent()}}, "participants 0..5: got 6"),
        (GOOD, {"adversaries": {-1: Silent()}}, "participants 0..5: got -1"),
        (GOOD, {"adversaries": {i: Silent() for i in range(6)}}, "at least one participant must be honest"),
    ],
)
def test_bad_input(values: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        agree(values, **{"rule": TrimmedMean(), **options})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: agree(GOOD, "median"), "rule must be a Rule such as TrimmedMean"),  # type: ignore[arg-type]
        (lambda: agree(GOOD, Median(), k=2.5), "k must be an integer"),  # type: ignore[arg-type]
        (lambda: agree([["a", "b"]], Median()), "values must be real numbers"),
        (lambda: agree(GOOD + 1j, Median()), "values must be real numbers"),
        (
            lambda: agree(GOOD, Median(), adversaries={0: PerfectlyMalicious()}),  # type: ignore[dict-item]
            "adversaries must map participants to NumberAdversary",
        ),
        (lambda: agree(GOOD, Median(), adversaries=[1]), "adversaries must map"),  # type: ignore[arg-type]
    ],
)
def test_bad_types(call: Callable[[], Agreement], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()

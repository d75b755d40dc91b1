"""A record changes nothing: what is recorded or explained is the run that answered, by whichever kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from folkmoot import Everyone, Others, Slush, Snowball, Snowflake, deliberate
from folkmoot.adversaries import PerfectlyMalicious, Silent
from folkmoot.adversaries.behaviours import RandomClass
from folkmoot.adversaries.interface import Adversary
from folkmoot.outcome import Outcome

N, INPUTS = 13, 30
LIARS: list[dict[int, Adversary]] = [{}, {2: PerfectlyMalicious(), 5: Silent()}, {3: RandomClass()}]
RULES = [
    Slush(5, 3),
    Snowflake(5, 3, beta=3),
    Snowball(5, 3, beta=3),
    Slush(5, alpha=[3, 4, 5] * 4 + [3]),
    Slush(5, 3, weights=list(range(1, N + 1))),
]


def run(classes: int, rule: Any, missing: str, **options: Any) -> Outcome:
    rng = np.random.default_rng([classes, N])
    votes = rng.integers(-1 if missing == "holes" else 0, classes, (N, INPUTS))
    how: Any = {"missing": "absent"} if missing == "holes" else {}
    truth = rng.integers(0, classes, INPUTS)
    return deliberate(
        votes, rule, truth=truth, classes=classes, repeats=2, rounds=12, seed=4, **how, **options
    )


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("missing", ["nobody", "holes"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_record_changes_nothing(classes: int, missing: str, rule: Any) -> None:
    for liars in LIARS:
        for schedule in ("one", "lockstep"):
            for batch in ("independent", "shared") if missing == "nobody" else ("independent",):
                how: Any = {"adversaries": liars, "schedule": schedule, "batch": batch}
                plain = run(classes, rule, missing, **how)
                recorded = run(classes, rule, missing, **how, record=True)
                for field in ("decisions", "converged", "rounds", "queries"):
                    np.testing.assert_array_equal(
                        getattr(plain, field), getattr(recorded, field), err_msg=field
                    )
                assert recorded.history is not None
                np.testing.assert_array_equal(recorded.history[:, :, -1], plain.counts)
                for i in range(0, INPUTS, 7):
                    held = _after(plain, i)
                    honest = plain.honest if plain.present is None else plain.honest & plain.present[:, i]
                    np.testing.assert_array_equal(held[honest], plain.decisions[0, honest, i])


def _after(outcome: Outcome, i: int) -> Any:
    """What all hold after the turns, one after the other; in lockstep it is that of their own last turn."""
    assert outcome.votes is not None
    held = outcome.votes[:, i].copy()
    for turn in outcome.turns(i):
        assert turn.before == held[turn.participant]
        held[turn.participant] = turn.after
    return held


@pytest.mark.parametrize("law", [Others(), Everyone()])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_peers_of_a_turn_have_their_law(classes: int, law: Any) -> None:
    """Answers per turn against the hypergeometric law, given what everybody held (seeds 0 and 1).

    The kernels that answer draw only who wins; the peers are drawn by what was decided. If they depended on
    it in another way, their counts would not have this mean and variance.
    """
    votes = np.random.default_rng(classes).integers(0, classes, (11, 150))
    k = 4
    for seed in (0, 1):
        outcome = deliberate(votes, Slush(k, 3), sampling=law, seed=seed, rounds=8)
        off, variance, squares, fourth = 0.0, 0.0, 0.0, 0.0
        for i in range(150):
            held = votes[:, i].copy()
            for turn in outcome.turns(i):
                everybody = len(held) - isinstance(law, Others)
                named = (held == 0).sum() - (isinstance(law, Others) and turn.before == 0)
                share = named / everybody  # the hypergeometric law of k answers
                mean = k * share
                var = k * share * (1 - share) * (everybody - k) / (everybody - 1)
                gap = turn.tally[0] - mean
                off, variance = off + gap, variance + var
                squares += gap**2 - var
                fourth += gap**4
                held[turn.participant] = turn.after
        assert abs(off) < 4 * np.sqrt(variance)
        assert abs(squares) < 4 * np.sqrt(fourth)

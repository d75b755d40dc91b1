"""``outlook``: crowds and what is known of them, averages and leads by hand, findings both ways."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from experiments.outlook import favouring
from experiments.outlook.crowds import BOASTED, HOLDOUT, SHUFFLED, TRUE, beta_crowd
from experiments.outlook.favouring import Config, OutlookPoint, OutlookResult, rows_of, verdict
from experiments.outlook.methods import FINAL, NOTHING, TRUST, Said, Scene, Talking, said_by_all, teams_of

pytestmark = pytest.mark.slow

SMALL = Config(
    n=15, variances=(0.02,), draws=2, inputs=60, shares=(0.0, 0.2), trust_shares=(0.0, 0.2),
    talking=Talking(k=4, alpha=3, slices=(4,), team=5, rounds=30),
)  # fmt: skip


@pytest.fixture(scope="module")
def found() -> OutlookResult:
    result = favouring.EXPERIMENT.run(SMALL, 0)
    assert isinstance(result, OutlookResult)
    return result


def test_every_way_is_played_with_every_kind_of_knowledge(found: OutlookResult) -> None:
    played = {(each.method, each.known) for each in found.rows if each.share == 0.2}
    favoured = {"weighted majority", "weighted Slush", "local Slush", "weighted leaders", "federated, 4 each"}
    assert {each for each in played if each[1] in (TRUE, HOLDOUT, BOASTED, SHUFFLED)} == {
        (method, known) for method in favoured for known in (TRUE, HOLDOUT, BOASTED, SHUFFLED)
    }
    plain = {method for method, known in played if known == NOTHING}
    assert plain == {"majority", "Slush", "Snowball", "leaders", "teams", "teams, honest delegates"}
    assert {method for method, known in played if known == TRUST} == {FINAL}
    assert not any(
        each.known == BOASTED for each in found.rows if each.share == 0
    )  # nobody is there to boast
    figures = favouring.figures(found)
    assert set(figures) == {"outlook", "messages"}
    assert "FEMNIST writers were left out: give --data." in found.notes


def test_exact_values_are_exact(found: OutlookResult) -> None:
    # The majority of fifteen by enumeration, for the accuracies of each draw and the liars among them.
    for point in found.points:
        crowd = beta_crowd(0.6, 0.02, 15, 60, 20, point.seed)
        liars = crowd.liars(point.share)
        assert len(liars) == point.liars == round(15 * point.share)
        p = [Fraction(0) if i in liars else Fraction(float(crowd.accuracies[i])) for i in range(15)]
        law = [Fraction(1)]
        for each in p:
            law = [
                (law[b] if b < len(law) else 0) * (1 - each) + (law[b - 1] * each if b else 0)
                for b in range(len(law) + 1)
            ]
        said = next(each for each in point.said if each.method == "majority")
        assert said.exact == pytest.approx(float(sum(law[8:])), abs=1e-12)
        assert sum(law) == 1
    judged = found.findings[-1]
    assert judged.quantity == "simulated against exact"
    assert judged.holds


def test_what_accuracies_are_taken_for() -> None:
    crowd = beta_crowd(0.6, 0.02, 40, 50, 20, seed=3)
    few, many = crowd.liars(0.1), crowd.liars(0.3)
    assert set(few) < set(many)
    own = crowd.rows.votes[crowd.rows.owner, np.arange(len(crowd.rows.owner))]
    right = np.bincount(crowd.rows.owner, weights=own == crowd.rows.truth, minlength=40)
    assert (crowd.known(HOLDOUT, many) == (right + 1) / 22).all()
    boasted = crowd.known(BOASTED, many)
    honest = [i for i in range(40) if i not in many]
    assert (boasted[list(many)] == 21 / 22).all()
    assert (boasted[honest] == crowd.known(HOLDOUT, many)[honest]).all()
    others = crowd.known(SHUFFLED, many)
    assert sorted(others) == sorted(crowd.known(TRUE, many))
    assert (others != crowd.accuracies).mean() > 0.8
    assert abs((crowd.votes == crowd.truth).mean() - crowd.accuracies.mean()) < 0.05


def test_teams_hold_everybody_once() -> None:
    teams = teams_of(101, 10, seed=2)
    assert sorted(i for team in teams for i in team) == list(range(101))
    assert {len(team) for team in teams} == {10, 11}


def test_a_lie_that_all_believe_wins() -> None:
    """All who claim the best are heard alone: what they say is what is decided."""
    crowd = beta_crowd(0.6, 0.005, 15, 60, 20, seed=1)
    said = {(s.method, s.known): s for s in said_by_all(Scene(crowd, crowd.liars(0.4), SMALL.talking))}
    assert said["federated, 4 each", BOASTED].accuracy == 0.0
    assert said["majority", NOTHING].messages == 15
    assert said["weighted majority", TRUE].accuracy > said["weighted majority", BOASTED].accuracy


def made(known_gain: float = 0.1) -> list[OutlookPoint]:
    points = []
    for seed, share in product((0, 1), (0.0, 0.2)):
        base = 0.8 + 0.02 * seed - 2 * share
        said = [
            Said("Slush", NOTHING, base, agreement=1.0, rounds=5.0, messages=100.0),
            Said("weighted Slush", TRUE, base + known_gain, agreement=1.0),
            Said("weighted Slush", HOLDOUT, base + known_gain - 0.02, agreement=1.0),
            Said("weighted majority", HOLDOUT, 0.99),  # needs a centre
            Said("weighted Slush", SHUFFLED, base - 0.1, agreement=1.0),
            Said(FINAL, TRUST, 0.95, agreement=0.9),
        ]
        if share:
            said.append(Said("weighted Slush", BOASTED, 0.0, agreement=1.0))
        points.append(OutlookPoint("beta, variance 0.02", seed, share, round(15 * share), said))
    return points


def test_averages_and_leads_by_hand() -> None:
    rows = {(each.method, each.known, each.share): each for each in rows_of(made())}
    row = rows["weighted Slush", HOLDOUT, 0.0]
    assert row.accuracy == pytest.approx((0.88 + 0.90) / 2)
    assert row.error == pytest.approx(0.01)  # of 0.88 and 0.90
    assert row.lead == pytest.approx(0.08)
    assert row.lead_error == pytest.approx(0.0, abs=1e-12)  # the same on both draws
    assert rows["Slush", NOTHING, 0.2].messages == 100.0


def test_the_answer_in_three_sentences_both_ways() -> None:
    yes = verdict(rows_of(made()))
    assert yes.startswith("Yes (beta, variance 0.02): Slush is right on 0.810")
    assert "weighted Slush by what each held out on 0.890" in yes
    assert "With the accuracies of others weighted Slush falls to 0.710" in yes
    assert "and 0.000 ± 0 once liars claim the best holdout" in yes
    assert yes.endswith("0.950 ± 0 with 20% lying.")
    assert verdict(rows_of(made(known_gain=0.0))).startswith("No (beta")
    blind = [replace(each, said=[s for s in each.said if s.known != TRUST]) for each in made()]
    assert verdict(rows_of(blind)).endswith("Trust could not be learnt.")

"""``mechanism``: old beside new, held to counts by hand and to what the frozen files say."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.mechanism.beside import EXPERIMENT, Compared, Config, MechanismResult, compare_moot
from experiments.mechanism.frozen import arrays, heard, index


@pytest.fixture(scope="module")
def found() -> MechanismResult:
    result = EXPERIMENT.run(Config(moots=("wine-3", "heart-4-logistic-s1000", "numbers-10-d1")), 0)
    assert isinstance(result, MechanismResult)
    return result


def test_every_setting_stands_there_once(found: MechanismResult) -> None:
    told = [(each.moot, each.rule, each.lie) for each in found.compared]
    assert len(set(told)) == len(told)
    settings = {
        (moot, rule, lie)
        for each in index()["settings"]
        for moot, _, name in [each["name"].partition("/")]
        for rule, _, lie in [name.partition(".")]
        if moot in {row.moot for row in found.compared}
        and not rule.endswith("-k5")  # whom each asked in 0.2; in a council all hear all
        and ("anchored" not in each["figures"] or each["figures"]["anchored"] > 0)
    }
    assert {(moot, rule.partition(",")[0], lie) for moot, rule, lie in told} >= settings


def test_a_plain_consensus_is_counted_by_hand(found: MechanismResult) -> None:
    for row in found.compared:
        if row.rule != "plain":
            continue
        kept = arrays(row.moot)
        votes, truth = heard(kept, row.lie), kept["truth"].astype(int)
        right = 0.0
        for column, label in zip(votes.T.tolist(), truth.tolist(), strict=True):
            counts = {each: column.count(each) for each in column if each != -1}
            best = [each for each, many in counts.items() if many == max(counts.values())]
            right += (label in best) / len(best)
        assert row.new == pytest.approx(right / len(truth))


def test_seeds_that_nothing_was_chosen_by(found: MechanismResult) -> None:
    assert {index()["moots"][row.moot]["use"] for row in found.compared} == {"judge"}


def test_worse_is_accuracy_lost_or_a_share_of_the_error() -> None:
    assert Compared("a", "trust", "nobody", "accuracy", 0.9, 0.8).worse == pytest.approx(0.1)
    assert Compared("a", "mean", "random-7", "error", 50.0, 60.0).worse == pytest.approx(0.2)
    lies = [
        Compared("a", "trust", lie, "accuracy", 0, 0).liars for lie in ("nobody", "clique-48", "story-60%")
    ]
    assert lies == [0, 48, 60]


def test_the_mean_of_final_votes_of_those_who_decided_in_0_2() -> None:
    rows = {(row.rule, row.lie): row for row in compare_moot("heart-4-logistic-s1000")}
    figures = {each["name"]: each["figures"] for each in index()["settings"]}
    row = rows["peer-10", "malicious-1"]
    assert row.old == figures["heart-4-logistic-s1000/peer-10.malicious-1"]["mean/final"]
    assert row.new > 0.99  # one liar of four that is always wrong tells all that is right
    assert np.isclose(rows["plain", "nobody"].undecided * len(arrays("heart-4-logistic-s1000")["truth"]),
                      figures["heart-4-logistic-s1000/plain.nobody"]["undecided/decision"])  # fmt: skip

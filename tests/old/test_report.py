"""The report: every number in it by hand, and what it looks like."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from folkmoot import Slush
from folkmoot.adversaries import ConstantClass
from folkmoot.comparison import Report
from folkmoot.old import ConsensusClassifier
from support.models import Threshold

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=300) > 0, "yes", "no")


@pytest.fixture(scope="module")
def moot() -> ConsensusClassifier:
    return ConsensusClassifier([GaussianNB()] * 15, random_state=0).fit(X[:150], Y[:150])


def test_every_line_by_hand(moot: ConsensusClassifier) -> None:
    report = moot.report(X[150:], Y[150:], repeats=4)
    answers = np.array([model.predict(X[150:]) for model in moot.estimators_])
    right = (answers == Y[150:]).mean(axis=1)
    assert report.accuracy("mean participant") == pytest.approx(right.mean())
    assert report.accuracy("best participant") == right.max()
    most = [Counter(column).most_common(1)[0] for column in answers.T]
    assert report.accuracy("majority") == np.mean([w == t for (w, _), t in zip(most, Y[150:], strict=True)])
    # Supermajority: one more than the 8 of 15 that a majority needs.
    agreed = [w == t and times >= 9 for (w, times), t in zip(most, Y[150:], strict=True)]
    assert report.accuracy("supermajority") == np.mean(agreed)
    # Weighted majority: log-odds of (right + 1) / (held out + 2) on each one's holdout.
    odds = [np.log((p.right + 1) / (p.held_out + 1 - p.right)) for p in moot.participants_]
    weighted = np.where(np.where(answers == "yes", 1, -1).T @ odds > 0, "yes", "no")
    assert report.accuracy("weighted majority") == np.mean(weighted == Y[150:])
    outcome = moot.deliberate(X[150:], repeats=4)
    each = (np.array(["no", "yes"])[outcome.decision] == Y[150:]).mean(axis=1)
    assert report.accuracy() == pytest.approx(each.mean())
    assert report.lines[-1].standard_error == pytest.approx(each.std(ddof=1) / 2)
    longest = outcome.rounds.max(axis=1).mean()
    assert report.queries == round(longest * 15 * 10)
    assert report.bytes == report.queries * -(-150 // 8)


def test_printed(moot: ConsensusClassifier) -> None:
    report = moot.set_params(adversaries=2).report(X[150:], Y[150:])
    moot.set_params(adversaries=None)
    text = str(report)
    assert text.startswith("15 participants, 150 inputs, 2 classes; Slush, k=10, alpha=6")
    assert "stacking" in text
    assert "a server with labelled inputs" in text
    assert "2 participants are Byzantine; mean and best are of the honest ones" in text
    assert json.loads(json.dumps(report.to_dict()))["lines"][-1]["name"] == "consensus"
    assert report._repr_html_().count("<tr>") == len(report.lines) + 1
    assert len(report.plot().axes[0].patches) == len(report.lines)
    with pytest.raises(ValueError, match="name must be one of mean participant, best participant"):
        report.accuracy("nobody")


def test_sweep_is_the_report_for_each_number(moot: ConsensusClassifier) -> None:
    seen: list[tuple[int, int]] = []
    swept = moot.sweep(X[150:], Y[150:], [0, 3], repeats=2, progress=lambda *step: seen.append(step))
    single = [moot.set_params(adversaries=f).report(X[150:], Y[150:], repeats=2) for f in (0, 3)]
    moot.set_params(adversaries=None)
    assert swept == single
    assert seen == [(1, 2), (2, 2)]
    assert isinstance(swept[0], Report)


def test_liars_hand_in_their_votes_to_every_rule() -> None:
    # Three of four always say 1; so do all rules that see the votes.
    models = [Threshold(0.0, (0, 1)) for _ in range(4)]
    moot = ConsensusClassifier(models, prefit=True, protocol=Slush(3, 2))
    moot.set_params(adversaries={i: ConstantClass(1) for i in range(3)}).fit()
    report = moot.report(np.array([[-1.0]] * 10), np.zeros(10, dtype=int), stacking=False)
    assert report.accuracy("mean participant") == report.accuracy("best participant") == 1
    assert report.accuracy("majority") == report.accuracy() == 0

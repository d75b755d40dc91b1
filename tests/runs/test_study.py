"""Studies: what is counted, what the page says, and what is left as it was."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from folkmoot.aggregation import PeerReview
from folkmoot.datasets import load_digits_moot
from folkmoot.datasets.moot_data import MootData
from folkmoot.learning.classifier import ConsensusClassifier
from folkmoot.report.study_page import in_short, page, pictures, score_by_malicious, table
from folkmoot.runs.study import malicious_counts, study


@pytest.mark.parametrize(
    ("participants", "most", "counts"),
    [
        (101, None, [0, 10, 20, 30]),
        (4, None, [0, 1]),
        (2, None, [0, 1]),
        (10, None, [0, 1, 2, 3]),
        (10, 0, [0]),
        (10, 9, [0, 3, 6, 9]),
    ],
)
def test_numbers_of_liars(participants: int, most: int | None, counts: list[int]) -> None:
    assert malicious_counts(participants, most) == counts


def test_study() -> None:
    data = load_digits_moot(12, seed=0)
    moot = ConsensusClassifier(
        [GaussianNB(var_smoothing=0.1)], aggregation=PeerReview(rows=5), random_state=0
    )
    seen: list[tuple[str, int, int]] = []
    found = study(moot, data, [0, 2], progress=lambda *step: seen.append(step))
    assert [len(report.malicious) for report in found.reports] == [0, 2]
    assert found.report(2) is found.reports[1]
    assert seen[11] == ("fitting", 12, 12)
    assert seen[-1] == ("comparing", 2, 2)
    assert found.report(0).score() == moot.score(data.X_test, data.y_test)
    header, rows = table(found)
    assert header == ["malicious", "0", "2"]
    by_name = {row[0]: row[1:] for row in rows}
    assert by_name["consensus"] == [f"{report.score():.4f}" for report in found.reports]
    drawn = {
        str(line.get_label()): line.get_ydata() for line in score_by_malicious(found).axes[0].get_lines()
    }
    assert np.asarray(drawn["majority"]).tolist() == [report.score("majority") for report in found.reports]
    whole = page(found, "digits", pictures(found))
    assert all(line in whole.replace("&#x27;", "'") for line in in_short(found.reports[0]))
    assert "60 rows of 12 participants" in whole


def test_data_without_test_rows() -> None:
    data = MootData(np.zeros((4, 1)), np.array([0, 1, 0, 1]), np.arange(4), ("a",), np.array([0, 1]), "made")
    with pytest.raises(ValueError, match="data must have test rows"):
        study(ConsensusClassifier([GaussianNB()]), data, [0])


def test_a_study_tells_of_final_votes() -> None:
    data, seen = load_digits_moot(5), []
    moot = ConsensusClassifier([GaussianNB()], aggregation=PeerReview(5), random_state=0)
    study(moot, data, [0], progress=lambda *step: seen.append(step))
    counts = [done for what, done, whole in seen if what == "final votes" and whole == 5]
    assert counts[:5] == [1, 2, 3, 4, 5]

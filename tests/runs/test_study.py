"""Studies: what is counted, and what is left as it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from folkmoot import Slush
from folkmoot.datasets import MootData, load_digits_moot
from folkmoot.old import ConsensusClassifier
from folkmoot.report.study_page import accuracy_by_liars, page, pictures, table
from folkmoot.runs.study import liar_counts, study, with_peer_review


@pytest.mark.parametrize(
    ("participants", "most", "counts"),
    [
        (101, None, [0, 5, 10, 15, 20, 25, 30]),
        (4, None, [0, 1]),
        (2, None, [0, 1]),
        (10, None, [0, 1, 2, 3]),
        (10, 0, [0]),
        (10, 9, [0, 2, 3, 4, 6, 8, 9]),
    ],
)
def test_numbers_of_liars(participants: int, most: int | None, counts: list[int]) -> None:
    assert liar_counts(participants, most) == counts


def test_study() -> None:
    data = load_digits_moot(12, seed=0)
    moot = ConsensusClassifier([GaussianNB(var_smoothing=0.1)], protocol=Slush(4, 3), random_state=0)
    seen: list[tuple[str, int, int]] = []
    found = study(moot, data, [0, 2], watched=2, repeats=2, progress=lambda *step: seen.append(step))
    assert [len(report.byzantine) for report in found.reports] == [0, 2]
    assert found.report(2) is found.reports[1]
    assert (~found.talk.honest).sum() == 2
    assert found.talk.history is not None
    assert moot.adversaries is None  # as it was given
    assert seen[11] == ("fitting", 12, 12)
    assert seen[-1] == ("deliberating", 2, 2)


def test_data_without_test_rows() -> None:
    data = MootData(np.zeros((4, 1)), np.array([0, 1, 0, 1]), np.arange(4), ("a",), np.array([0, 1]), "made")
    with pytest.raises(ValueError, match="data must have test rows"):
        study(ConsensusClassifier([GaussianNB()]), data, [0], watched=0)


def test_trust_is_learnt_from_the_whole_batch() -> None:
    data = load_digits_moot(12, seed=0)
    moot = ConsensusClassifier(
        [GaussianNB(var_smoothing=0.1)], protocol=Slush(4, 3), trust="self-anchored", random_state=0
    )
    found = study(moot, data, [0, 7], watched=7, repeats=2)
    assert [report.anchored is not None and 0 < report.anchored <= 12 for report in found.reports] == [
        True
    ] * 2
    assert data.y_test is not None
    assert found.talk.decision.shape == data.y_test.shape
    assert found.talk.honest.sum() == found.report(7).anchored
    header, rows = table(found)
    assert header == ["malicious", "0", "7"]
    assert [row[0] for row in rows][-5:] == [
        "talk without trust", "consensus by trust", "  anchored", "  agreement", "  undecided",
    ]  # fmt: skip
    axes = accuracy_by_liars(found).axes[0]
    labels = {line.get_label() for line in axes.get_lines()}
    assert {"talk without trust", "consensus by trust"} <= labels


def test_peer_review_is_one_more_line() -> None:
    """The line is what the same moot decides by peer review, where all who never lie learn."""
    data = load_digits_moot(12, seed=0)
    moot = ConsensusClassifier(
        [GaussianNB(var_smoothing=0.1)], protocol=Slush(4, 3), trust="peer-review", random_state=0
    )
    by_review = study(moot, data, [0, 7], watched=7, repeats=2)
    assert by_review.reviewed
    assert by_review.shown is not None
    assert by_review.shown.rows == 12 * 10
    assert [row[0] for row in table(by_review)[1]][-4] == "consensus by peer review"
    assert "120 rows of 12 participants" in page(by_review, "review", pictures(by_review))

    moot.trust = "self-anchored"
    reports = tuple(moot.sweep(data.X_test, data.y_test, [0, 7], repeats=2))
    plain = replace(by_review, reports=reports, reviewed=False, shown=None)
    found = with_peer_review(plain, moot, 5)
    assert found.shown is not None
    assert found.shown.anchored[1] == by_review.report(7).anchored
    assert found.report(7).accuracy("peer review") == by_review.report(7).accuracy("consensus")
    for before, after in zip(reports, found.reports, strict=True):
        assert tuple(line for line in after.lines if line.name != "peer review") == before.lines
    assert [row[0] for row in table(found)[1]][-5:-3] == ["peer review", "consensus by trust"]
    labels = {line.get_label() for line in accuracy_by_liars(found).axes[0].get_lines()}
    assert {"peer review", "consensus by trust"} <= labels
    assert "but for the line of peer review" in page(found, "trust", pictures(found))
    few = with_peer_review(plain, moot, 2)
    assert few.shown is not None
    assert few.shown.reviewers == 2
    assert max(few.shown.anchored) <= 2


@pytest.mark.parametrize("place", [0, 1])
def test_nobody_anchors_for_some_numbers_of_liars(place: int) -> None:
    """Such a report has one talk instead of two: its accuracy stands in both rows."""
    data = load_digits_moot(12, seed=0)
    moot = ConsensusClassifier(
        [GaussianNB(var_smoothing=0.1)], protocol=Slush(4, 3), trust="self-anchored", random_state=0
    )
    found = study(moot, data, [0, 2], watched=0, repeats=1)
    moot.trust = None
    reports = list(found.reports)
    alone = replace(moot.sweep(data.X_test, data.y_test, [0, 2], repeats=1)[place], anchored=0)
    reports[place] = alone
    mixed = replace(found, reports=tuple(reports))
    rows = {row[0]: row[1:] for row in table(mixed)[1]}
    told = f"{alone.accuracy('consensus'):.3f}"
    assert rows["talk without trust"][place] == rows["consensus by trust"][place] == told
    assert rows["talk without trust"][1 - place] == f"{reports[1 - place].accuracy('talk without trust'):.3f}"
    lines = {line.get_label(): line.get_ydata() for line in accuracy_by_liars(mixed).axes[0].get_lines()}
    assert np.shape(lines["talk without trust"]) == (2,)

"""``improve``: lies by their definition, points by hand, goals judged both ways."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from experiments.catalogue import experiment
from experiments.experiment import cells_of
from experiments.femnist.writer_votes import CASE, DIGITS
from experiments.femnist.writers import Choice, choose
from experiments.improvement import improve, points
from experiments.improvement.points import (
    CLIQUE,
    LATE,
    NEAREST,
    NOBODY,
    OURS,
    SELF,
    SPARING,
    STEALTHY,
    WRONG,
    Point,
    Trial,
    improve_writers,
    labels_by,
    liars_in,
    story_of,
)
from experiments.improvement.writers import LOGISTIC, Setting, Voted, Writers, draw, vote, who_takes_part
from folkmoot.learning.known_rows import places_to_show
from folkmoot.learning.pseudo_labels import OwnRows, agree_on_labels
from folkmoot.votes import NO_VOTE
from support.femnist_samples import make_rows, write_parquet

pytestmark = pytest.mark.slow

N, ROWS, INPUTS = 10, 12, 200
SETTING = Setting(None, "case", LOGISTIC, N, inputs=INPUTS, tested=300)


@pytest.fixture(scope="module")
def drawn() -> Writers:
    """Two classes, four numbers of which each tells a little."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N * ROWS + INPUTS + 300, 4)).astype(np.float32)
    y = (X.sum(axis=1) + rng.normal(size=len(X)) > 0).astype(np.int64)
    own, pool, rest = np.split(np.arange(len(X)), [N * ROWS, N * ROWS + INPUTS])
    owner = np.repeat(np.arange(N), ROWS)
    return Writers(SETTING, 5, X[own], y[own], owner, X[pool], y[pool], X[rest], y[rest])


@pytest.fixture(scope="module")
def voted(drawn: Writers) -> Voted:
    return vote(drawn)


def test_liars_are_six_of_ten_and_tell_what_their_name_says(drawn: Writers) -> None:
    truth = np.concatenate([drawn.y, drawn.pool_truth])
    assert len(liars_in(drawn, NOBODY)) == 0
    assert len(liars_in(drawn, CLIQUE)) == 6
    assert (story_of(drawn, NOBODY) == NO_VOTE).all()
    assert (story_of(drawn, WRONG) == 1 - truth).all()
    assert 0.35 < (story_of(drawn, CLIQUE) == truth).mean() < 0.65
    spared = story_of(drawn, SPARING)
    assert (spared[: N * ROWS] == NO_VOTE).all()  # honest on rows that anybody shows
    np.testing.assert_array_equal(spared[N * ROWS :], story_of(drawn, CLIQUE)[N * ROWS :])
    struck = story_of(drawn, STEALTHY) != NO_VOTE
    assert 0.15 < struck.mean() < 0.35
    assert (story_of(drawn, STEALTHY)[struck] != truth[struck]).all()


def test_writers_who_wrote_no_digit_leave_their_place_to_the_next(tmp_path: Path) -> None:
    rows = make_rows([f"w{i:02d}" for i in range(30)], each=80)
    rows = [row for row in rows if row.label >= 10 or int(row.writer[1:]) % 3]  # ten of the thirty
    data = str(write_parquet(tmp_path / "digits.parquet", rows, row_group_size=500))
    setting = Setting(data, DIGITS, LOGISTIC, 8, test_writers=5, inputs=20, tested=20)
    plain = choose(data, 1, 30 - 5, 5)
    wrote = [name for name in plain.train if int(name[1:]) % 3]
    assert plain.train[:8] != tuple(wrote[:8])  # else nothing is tried here
    assert who_takes_part(setting, 1) == Choice(tuple(wrote[:8]), plain.test)
    assert np.bincount(draw(setting, 1).owner).min() >= 10
    letters = replace(setting, task=CASE)
    assert who_takes_part(letters, 1).train == plain.train[:8]
    everybody = replace(setting, writers=40)  # fewer are there: those that can take part, and no more
    assert all(int(name[1:]) % 3 for name in who_takes_part(everybody, 1).train)


def test_rows_that_are_not_shown_are_heard_of_by_nobody(drawn: Writers, voted: Voted) -> None:
    """Answers to them may be anything; and all rows shown is the rule of ``agree_on_labels`` itself."""
    trial = Trial(CLIQUE, rows=5)
    found = labels_by(drawn, voted.votes, trial)
    chances = found.chances
    assert found.why_not == (None,) * N
    some = np.random.default_rng([drawn.seed, 13])
    shown = np.concatenate(
        [
            rows[places_to_show(drawn.y[rows], 5, some)]
            for rows in (np.arange(i * ROWS, (i + 1) * ROWS) for i in range(N))
        ]
    )
    hidden = np.setdiff1d(np.arange(N * ROWS), shown)
    other = voted.votes.copy()
    other[:, hidden] = other[:, hidden][..., ::-1]
    np.testing.assert_allclose(labels_by(drawn, other, trial).chances, chances)

    def told(answers: Any) -> Any:
        heard = answers.copy()
        heard[liars_in(drawn, CLIQUE)] = np.eye(2)[story_of(drawn, CLIQUE)]
        return heard

    own = [
        OwnRows(rows, drawn.y[rows], np.bincount(drawn.y[rows], minlength=2).astype(np.float64))
        for rows in (np.arange(i * ROWS, (i + 1) * ROWS) for i in range(N))
    ]
    whole = agree_on_labels(voted.votes, own, np.arange(N * ROWS, N * ROWS + INPUTS), told)
    np.testing.assert_allclose(labels_by(drawn, voted.votes, Trial(CLIQUE)).chances, whole.chances)


def test_late_liars_hand_in_honest_first_votes(drawn: Writers, voted: Voted) -> None:
    honest = np.setdiff1d(np.arange(N), liars_in(drawn, LATE))
    late, early = (labels_by(drawn, voted.votes, Trial(lie)).chances[honest] for lie in (LATE, STEALTHY))
    assert not np.allclose(late, early)


def test_prediction_consensus_weighs_by_the_cosine(drawn: Writers, voted: Voted) -> None:
    chances = labels_by(drawn, voted.votes, Trial(NEAREST, NEAREST)).chances
    flat = [each.ravel() for each in voted.votes]
    cosine = [float(flat[2] @ other / np.sqrt((flat[2] @ flat[2]) * (other @ other))) for other in flat]
    expected = sum(c * v for c, v in zip(cosine, voted.votes, strict=True)) / sum(cosine)
    np.testing.assert_allclose(chances[2], expected[N * ROWS :])


def test_a_point_is_what_models_of_own_and_agreed_rows_are_worth(
    drawn: Writers, voted: Voted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(points, "draw", lambda *_: drawn)
    found = improve_writers(SETTING, 5, [Trial(WRONG, careful=True), Trial(NOBODY, SELF, few=2)])
    honest = np.setdiff1d(np.arange(N), liars_in(drawn, WRONG))
    labels = labels_by(drawn, voted.votes, Trial(WRONG)).chances.argmax(axis=2)
    worth, before = [], []
    for i in honest:
        rows = np.arange(i * ROWS, (i + 1) * ROWS)
        before.append(LogisticRegression().fit(drawn.X[rows], drawn.y[rows]).score(drawn.tested, drawn.truth))
        X, y = np.concatenate([drawn.X[rows], drawn.pool]), np.concatenate([drawn.y[rows], labels[i]])
        worth.append(LogisticRegression().fit(X, y).score(drawn.tested, drawn.truth))
    first, alone = found
    assert (first.liars, first.judged, first.participants) == (6, 4, N)
    assert first.before == pytest.approx(np.mean(before))
    assert first.after == pytest.approx(np.mean(worth))
    assert first.worst == pytest.approx(min(worth))
    assert first.harmed == sum(a < b for a, b in zip(worth, before, strict=True))
    assert first.hurt == sum(a < b - 0.01 for a, b in zip(worth, before, strict=True))
    assert first.labels == pytest.approx((labels[honest] == drawn.pool_truth).mean())
    assert first.safe_accepted is not None
    assert first.safe_accepted <= 4
    assert (alone.judged, alone.way, alone.safe) == (2, SELF, None)
    assert first.pooled == pytest.approx(
        LogisticRegression().fit(drawn.X, drawn.y).score(drawn.tested, drawn.truth)
    )


def point(lie: str, after: float, **changes: Any) -> Point:
    given = Point(
        task="digits", model=LOGISTIC, participants=25, seed=3, lie=lie, way=OURS, rows=None, liars=0,
        judged=25, labels=0.7, before=0.3, worst_before=0.2, after=after, worst=after - 0.02, harmed=0,
        hurt=0, refused=0, safe=0.7, safe_worst=0.6, safe_harmed=0, safe_hurt=0, safe_accepted=20,
        pooled=0.75,
    )  # fmt: skip
    return replace(given, **changes)


@pytest.mark.parametrize("reached", [True, False])
def test_goals_are_judged_both_ways(reached: bool) -> None:
    off = 0.03 if reached else -0.03
    digits = [point(lie, goal + off) for lie, goal in improve.GOALS.items()]
    digits = [replace(each, safe_harmed=0 if reached else 1) for each in digits]
    digits[1] = replace(digits[1], harmed=0 if reached else 1)
    case = [point(NOBODY, 0.67 + off, harmed=1 if reached else 9, safe_harmed=0 if reached else 1)]
    forests = [point(CLIQUE, 0.70 + off, participants=101)]
    ways = [point(NOBODY, 0.5, way=SELF), point(NOBODY, 0.6, rows=5)]
    found: improve.Improved = {
        "digits": {3: digits}, "case": {3: case}, "forests": {3: forests}, "ways": {3: ways}
    }  # fmt: skip
    result = improve.result(improve.EXPERIMENT.quick, found)
    judged = [each.holds for each in result.findings if each.holds is not None]
    assert judged == [reached] * len(judged)
    assert len(judged) == 4 + 4 + 2 + 1 + 3
    assert any("5 check rows" in each.quantity for each in result.findings)
    assert ("14 of 14" in result.verdict) is reached
    assert set(improve.figures(result)) == {"improve"}


def test_it_is_in_the_catalogue_with_ten_seeds_and_every_way() -> None:
    found = experiment("improve")
    plan = found.cells(found.full, 3)
    assert len(cells_of(plan)) == 10 + 10 + 10 + 10
    assert len({joblib.hash(cell.keywords) for cell in cells_of(plan)}) == 40

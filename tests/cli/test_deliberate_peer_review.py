"""``folkmoot deliberate --peer-review --gold``: a crowd that mostly lies, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from folkmoot.cli.gold_tasks import read_gold
from folkmoot.trust import check_answers, review_gold
from support.command import assert_refused, run, run_json
from support.crowds import sparse_crowd, write_crowd

GOLD = 22


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("review")
    votes, truth = write_crowd(folder, *sparse_crowd(60, 250, 4, 9, seed=2))
    gold = folder / "gold.csv"
    gold.write_text("".join(truth.read_text().splitlines(keepends=True)[: GOLD + 1]))
    return votes, truth, gold


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def test_most_workers_lie(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    votes, truth, gold = files
    asked = ("deliberate", votes, "--truth", truth, "--peer-review", "--gold", gold, "--repeats", 2)
    result = run_json(*asked, "--byzantine", 36, "--seed", 1, "--out", tmp_path / "decisions.csv")
    table = read_gold(votes, truth, gold)
    liars = np.random.default_rng(1).permutation(len(table.table.workers))[:36]
    on_gold, rest = table.gold.votes.copy(), table.table.votes.copy()
    right = table.table.truth
    assert right is not None
    for cast, known in ((on_gold, table.gold.truth), (rest, right)):
        cast[liars] = np.where(cast[liars] >= 0, 1 - known, -1)
    review = review_gold(check_answers(on_gold, table.gold.truth, classes=2), rest)
    assert result["consensus"] == pytest.approx((review.decide() == right).mean())
    assert result["consensus"] > 0.95
    assert result["majority"] < 0.3
    assert result["without_trust"] < 0.4
    assert result["agreement"] == 1.0
    assert (result["gold"], result["inputs"], result["byzantine"]) == (GOLD, 250 - GOLD, 36)
    honest = np.setdiff1d(np.arange(len(rest)), liars)
    assert result["anchored"] == np.count_nonzero((rest[honest] >= 0).any(axis=1))
    assert result["rules"] == pytest.approx(review.shares)
    weights = {line["worker"]: line["weight"] for line in result["trust"]}
    np.testing.assert_allclose([weights[worker] for worker in table.table.workers], review.weight)
    assert len((tmp_path / "decisions.csv").read_text().splitlines()) == 1 + 250 - GOLD

    shown = run(*asked)
    assert shown.returncode == 0
    assert "honest participants anchor by 22 gold tasks; they alone decide" in shown.stdout
    assert "slush by peer review, 2 times" in shown.stdout
    assert "without trust" in shown.stdout


def test_bad_input(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    votes, truth, gold = files
    asked = ("deliberate", votes, "--peer-review")
    assert_refused("--peer-review needs --gold GOLD.csv", *asked)
    assert_refused("give --trust or --peer-review, not both", *asked, "--trust", "--gold", gold)
    assert_refused("--gold is for --trust or --peer-review", "deliberate", votes, "--gold", gold)
    rows = truth.read_text().splitlines()
    few = write(tmp_path / "few.csv", *rows[:5])
    assert_refused("--peer-review needs at least 5 gold tasks: ", *asked, "--gold", few)
    zeros = write(tmp_path / "zeros.csv", rows[0], *[row for row in rows if row.endswith("label 0")])
    assert_refused("needs gold tasks of at least two labels: in", *asked, "--gold", zeros)
    assert_refused("all are 'label 0'", *asked, "--gold", zeros)
    assert_refused("names every task of", *asked, "--gold", truth)
    assert_refused("--attack malicious must know the truth", *asked, "--gold", gold, "--byzantine", 3)

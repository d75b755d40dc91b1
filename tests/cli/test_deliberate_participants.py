"""``folkmoot deliberate``: the table of workers, and the scores beside accuracy as scikit-learn has them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from folkmoot.datasets import homogeneous_votes
from support.command import assert_refused, run, run_json

LABELS = np.array(["cat", "dog"])
WORKERS, TASKS = 30, 120


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Thirty workers: the third is always wrong, the fifth says dog, the seventh copies the first."""
    made = homogeneous_votes(WORKERS, p=0.75, inputs=TASKS, seed=3)
    votes, truth = made.votes.copy(), made.truth
    votes[3], votes[5], votes[7] = 1 - truth, 1, votes[1]
    folder = tmp_path_factory.mktemp("workers")
    with (folder / "votes.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "worker", "label"])
        for worker in range(WORKERS):
            for task in range(TASKS):
                writer.writerow([f"t{task:03}", f"w{worker:02}", LABELS[votes[worker, task]]])
    with (folder / "truth.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "label"])
        writer.writerows([f"t{task:03}", LABELS[truth[task]]] for task in range(TASKS))
    return folder / "votes.csv", folder / "truth.csv"


def columns(path: Path) -> dict[str, np.ndarray[tuple[int], np.dtype[np.str_]]]:
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def test_json_has_a_row_for_each_worker_and_the_count_keeps_its_key(files: tuple[Path, Path]) -> None:
    found = run_json("deliberate", files[0], "--truth", files[1])
    assert found["participants"] == WORKERS
    votes, truth = columns(files[0]), columns(files[1])
    right = dict(zip(truth["task"], truth["label"], strict=True))
    for row in found["participant_table"]:
        own = votes["worker"] == row["name"]
        hits = [
            right[task] == label for task, label in zip(votes["task"][own], votes["label"][own], strict=True)
        ]
        assert row["accuracy"] == pytest.approx(np.mean(hits))
    findings = {row["name"]: row["finding"] for row in found["participant_table"] if row["finding"]}
    assert findings == {
        "w03": "always wrong (0 of 120 right)",
        "w05": "constant (always 'dog')",
        "w01": "the same wrong answers as w07",
        "w07": "the same wrong answers as w01",
    }


def test_scores_stand_beside_accuracy(files: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "answers.csv"
    arguments = ["deliberate", files[0], "--truth", files[1], "--believe", "dawid-skene", "--out", out]
    found = run_json(*arguments)
    told, right = columns(out)["label"], columns(files[1])["label"]
    scores = {line["name"]: line["scores"] for line in found["lines"]}
    assert "" not in told
    assert scores["consensus"]["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(right, told))
    assert {"majority", "Dawid-Skene", "mean participant"} <= set(scores)
    assert "balanced" in run(*arguments).stdout
    plain = run("deliberate", files[0]).stdout
    assert "balanced" not in plain
    assert "against the answer" in plain


def test_many_workers_print_as_those_to_look_at_unless_all_are_wanted(files: tuple[Path, Path]) -> None:
    arguments = ["deliberate", files[0], "--truth", files[1]]
    short, whole = run(*arguments).stdout, run(*arguments, "--participants").stdout
    assert "30 participants, 4 with a finding" in short
    assert "more: --participants shows all, --json has them" in short
    named = [name for name in (f"w{i:02}" for i in range(WORKERS)) if f"\n {name} " in short]
    assert {"w03", "w05", "w07"} <= set(named)
    assert len(named) <= 9
    assert all(f"\n w{i:02} " in whole for i in range(WORKERS))
    assert "more:" not in whole


def test_participants_takes_no_value(files: tuple[Path, Path]) -> None:
    assert_refused("'--participants' does not take a value", "deliberate", files[0], "--participants=3")

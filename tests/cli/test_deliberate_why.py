"""``folkmoot deliberate --why``: answers of a vote file, explained at the prompt."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.command import assert_refused, run, run_json

WORKERS = ["ann", "bob", "cid", "dora", "eve", "finn", "gus", "hal"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    rng = np.random.default_rng(1)
    folder = tmp_path_factory.mktemp("why")
    truth = {f"t{i}": str(rng.choice(["cat", "dog", "owl"])) for i in range(80)}
    votes = [
        (task, worker, label if rng.random() < 0.6 else str(rng.choice(["cat", "dog", "owl"])))
        for task, label in truth.items()
        for worker in sorted(rng.permutation(WORKERS)[: rng.integers(3, 9)].tolist())
    ]
    tables: dict[str, list[Any]] = {
        "votes": [("task", "worker", "label"), *votes],
        "gold": [("task", "label"), *list(truth.items())[:25]],
    }
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    return {name: folder / f"{name}.csv" for name in tables}


def cast(files: dict[str, Path], task: str) -> dict[str, str]:
    with files["votes"].open() as file:
        return {row["worker"]: row["label"] for row in csv.DictReader(file) if row["task"] == task}


def test_facts_are_those_of_the_file_and_of_the_answers(files: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "answers.csv"
    tasks = [f"t{i}" for i in range(0, 80, 7)]
    options = [each for task in tasks for each in ("--why", task)]
    result = run_json("deliberate", files["votes"], "--protocol", "slush", "--out", out, *options)
    with out.open() as file:
        answers = {row["task"]: row["label"] or None for row in csv.DictReader(file)}
    assert [each["called"] for each in result["why"]] == tasks
    for task, why in zip(tasks, result["why"], strict=True):
        assert why["answer"] == answers[task]
        voted = {voice["name"]: voice["voted"] for voice in why["voices"] if voice["voted"] is not None}
        assert voted == cast(files, task)
        assert {each["name"] for each in why["unheard"]} == set(WORKERS) - set(voted)
        held = dict(voted)
        for change in why["changes"]:
            assert held[change["name"]] == change["before"]
            assert {answer["name"] for answer in change["answers"]} <= set(voted)
            held[change["name"]] = change["after"]
        assert {voice["name"]: voice["holds"] for voice in why["voices"] if voice["voted"]} == held
    assert any(why["changes"] for why in result["why"])


def test_for_people(files: dict[str, Path]) -> None:
    result = run("deliberate", files["votes"], "--why", "t17")
    assert result.returncode == 0
    assert "\nt17: " in result.stdout
    assert " was the answer because " in result.stdout or "There is no answer" in result.stdout
    for worker in WORKERS:
        assert worker in result.stdout
    assert "why" not in run_json("deliberate", files["votes"])


def test_of_a_council(files: dict[str, Path]) -> None:
    options = ("--believe", "peer-review", "--gold", files["gold"], "--why", "t30")
    (why,) = run_json("deliberate", files["votes"], *options)["why"]
    voted = {voice["name"]: voice["voted"] for voice in why["voices"] if voice["voted"] is not None}
    assert voted == cast(files, "t30")
    assert why["changes"] == []
    assert "\nt30: " in run("deliberate", files["votes"], *options).stdout


def test_bad_names(files: dict[str, Path]) -> None:
    votes = files["votes"]
    task_of = f"--why must name a task of {votes}"
    assert_refused(f"{task_of}, such as t77, t17, ", "deliberate", votes, "--why", "t177")
    assert_refused("such as t0, t1, t2, t3, t4: got 'zebra'", "deliberate", votes, "--why", "zebra")

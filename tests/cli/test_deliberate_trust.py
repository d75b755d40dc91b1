"""``folkmoot deliberate --trust --gold``: votes of known workers, most of whom lie."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from folkmoot import Slush, read_votes
from folkmoot.adversaries import PerfectlyMalicious, handed_in
from folkmoot.baselines import majority
from folkmoot.cli.gold_tasks import read_gold
from folkmoot.simulation.self_anchored import listen_first
from folkmoot.trust import Anchor
from support.command import assert_refused, run, run_json

WORKERS, TASKS, GOLD = 31, 180, 30
LABELS = np.array(["no", "yes"])


class Files:
    """A vote file, the truth of all tasks, and the first tasks as gold."""

    def __init__(self, folder: Path) -> None:
        rng = np.random.default_rng(0)
        self.truth_of = rng.integers(0, 2, TASKS)
        right = rng.random((WORKERS, TASKS)) < 0.75
        self.cast = np.where(right, self.truth_of, 1 - self.truth_of)
        self.cast[0, :GOLD] = 1 - self.truth_of[:GOLD]  # bad on gold: it does not anchor
        self.votes, self.truth, self.gold = (folder / f"{name}.csv" for name in ("votes", "truth", "gold"))
        with self.votes.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["task", "worker", "label"])
            for i in range(WORKERS):
                for j in range(TASKS):
                    writer.writerow([f"t{j:03}", f"w{i:02}", LABELS[self.cast[i, j]]])
        known = [f"t{j:03},{LABELS[self.truth_of[j]]}" for j in range(TASKS)]
        self.truth.write_text("\n".join(["task,label", *known]))
        self.gold.write_text("\n".join(["task,label", *known[:GOLD]]))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("trust"))


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def test_gold_anchors_and_is_left_out(files: Files) -> None:
    found = read_gold(files.votes, files.truth, files.gold)
    assert found.gold.inputs == GOLD
    assert found.table.tasks == [f"t{j:03}" for j in range(GOLD, TASKS)]
    np.testing.assert_array_equal(found.table.votes, files.cast[:, GOLD:])
    np.testing.assert_array_equal(found.table.truth, files.truth_of[GOLD:])
    for i, anchor in enumerate(found.gold.anchors):
        assert (anchor.held_out, anchor.right) == (
            GOLD,
            (files.cast[i, :GOLD] == files.truth_of[:GOLD]).sum(),
        )
    assert read_votes(files.votes, files.truth).gold is None


def test_most_workers_lie(files: Files, tmp_path: Path) -> None:
    out, plot = tmp_path / "decisions.csv", tmp_path / "talk.png"
    arguments = (
        "deliberate", files.votes, "--truth", files.truth, "--trust", "--gold", files.gold,
        "--byzantine", 18, "--repeats", 3, "--seed", 1,
    )  # fmt: skip
    result = run_json(*arguments, "--out", out, "--plot", plot)
    table = read_gold(files.votes, files.truth, files.gold).table
    order = np.random.default_rng(1).permutation(WORKERS).tolist()
    liars = {i: PerfectlyMalicious() for i in order[:18]}
    truth = files.truth_of[GOLD:]
    anchors = [Anchor.of_holdout(files.cast[i, :GOLD], files.truth_of[:GOLD], 2) for i in range(WORKERS)]
    listeners = listen_first(files.cast[:, GOLD:], anchors, adversaries=liars, truth=truth, classes=2)
    assert listeners is not None
    outcome = listeners.talk(Slush(10, 6), liars, truth=truth, classes=2, repeats=3, seed=1)
    assert result["consensus"] == pytest.approx(outcome.accuracy(truth))
    assert result["consensus"] > 0.9
    assert result["agreement"] == pytest.approx(outcome.agreement.mean())
    seen = handed_in(table.votes, liars, truth, 2)
    assert result["majority"] == pytest.approx((majority(seen, 2) == truth).mean())
    assert result["majority"] < 0.1
    assert result["without_trust"] < 0.1
    assert (result["inputs"], result["gold"], result["byzantine"]) == (TASKS - GOLD, GOLD, 18)
    assert result["anchored"] == listeners.anchored.sum() > 8
    workers = {line["worker"]: line for line in result["trust"]}
    assert len(workers) == WORKERS
    assert not workers["w00"]["anchored"]
    for i in order[:18]:  # known to be wrong more often than not
        assert workers[f"w{i:02}"]["accuracy"] < 0.3
        assert workers[f"w{i:02}"]["weight"] <= 0
    assert len(out.read_text().splitlines()) == 1 + TASKS - GOLD
    assert plot.stat().st_size > 10_000

    shown = run(*arguments)
    assert shown.returncode == 0
    assert f"trust: {result['anchored']} of 13 honest participants anchor by 30 gold tasks" in shown.stdout
    assert "slush by trust, 3 times" in shown.stdout
    assert "without trust" in shown.stdout


@pytest.mark.slow
def test_without_truth_or_liars(files: Files) -> None:
    result = run_json("deliberate", files.votes, "--trust", "--gold", files.gold, "--protocol", "snowball")
    assert result["consensus"] is None
    assert result["anchored"] >= 28
    assert result["agreement"] > 0.99


def test_where_trust_cannot_be_learnt(files: Files, tmp_path: Path) -> None:
    rows = files.truth.read_text().splitlines()
    one = write(tmp_path / "one.csv", "task,label", "t000,no")
    result = run("deliberate", files.votes, "--trust", "--gold", one, "--repeats", 2)
    assert result.returncode == 0
    assert "nobody can anchor its trust, so everybody is trusted alike" in result.stderr
    assert "0 of 31 honest participants anchor by 1 gold task; so trust is left out" in result.stdout
    most = write(tmp_path / "most.csv", *rows[:150])
    found = run_json("deliberate", files.votes, "--trust", "--gold", most)
    assert found["anchored"] == 0
    assert (
        "trust needs at least 50 inputs in a batch: got 31; everybody is trusted alike" in found["warnings"]
    )


def test_bad_input(files: Files, tmp_path: Path) -> None:
    asked = ("deliberate", files.votes, "--trust")
    assert_refused("--trust needs --gold GOLD.csv", *asked)
    assert_refused("--gold is for --trust", "deliberate", files.votes, "--gold", files.gold)
    strange = write(tmp_path / "strange.csv", "task,label", "t999,no")
    assert_refused("strange.csv: none of its tasks is among the tasks of", *asked, "--gold", strange)
    wrong = {
        "line 3: task 't000' has a label already": ("task,label", "t000,yes", "t000,no"),
        "has a header and no rows": ("task,label",),
        "has no column 'task'": ("a,b", "1,2"),
        "names every task of": tuple(files.truth.read_text().splitlines()),
    }
    for message, lines in wrong.items():
        with pytest.raises(ValueError, match=message):
            read_gold(files.votes, None, write(tmp_path / "wrong.csv", *lines))
    assert_refused("No such file", *asked, "--gold", tmp_path / "none.csv")
    assert_refused("--attack malicious must know the truth", *asked, "--gold", files.gold, "--byzantine", 3)

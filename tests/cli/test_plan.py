"""``folkmoot plan`` says what ``folkmoot.plan`` says, and bad input is one line."""

from __future__ import annotations

import csv
from dataclasses import asdict
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from folkmoot import plan
from support.command import assert_refused, run, run_json


def test_json_has_everything() -> None:
    result = run_json("plan", "--n", 40, "--malicious", 5, "--p", 0.8, "--protocol", "slush")
    found = plan(40, 0.8, byzantine=5, protocol="slush")
    first = result["settings"][0]
    assert first == asdict(found.settings[0])
    assert {
        "protocol",
        "k",
        "alpha",
        "rounds",
        "accuracy",
        "agreement",
        "in_time",
        "messages",
        "bytes",
    } <= set(first)
    assert first["k"] < 39
    assert result["majority"] == found.majority
    assert result["broadcast"] == asdict(found.broadcast)
    assert result["breaks_at"] == asdict(found.breaks_at)
    assert result["target"] is None
    assert result["warnings"] == []


def test_the_table_says_it_in_words() -> None:
    out = run("plan", "--n", 40, "--malicious", 5, "--p", 0.8).stdout
    assert out.startswith("40 participants, 5 Byzantine, right with 0.8 on average, 2 labels, 100 inputs")
    assert "all send their votes to all: 1,560 messages" in out
    assert "that is cheaper, and gives the majority" in out
    assert "snowflake, beta 3" in out
    assert "±" in out
    assert "lines without it are exact" in out


def test_groups_and_lists() -> None:
    groups = run_json("plan", "--p", "3x0.7,4x0.8", "--malicious", 1, "--protocol", "slush")
    listed = run_json(
        "plan", "--n", 7, "--p", "0.7,0.7,0.7,0.8,0.8,0.8,0.8", "--malicious", 1, "--protocol", "slush"
    )
    assert groups == listed
    assert groups["n"] == 7
    assert (
        groups["settings"][0]["accuracy"]
        == plan(7, [0.7] * 3 + [0.8] * 4, byzantine=1, protocol="slush").settings[0].accuracy
    )


def write_votes(folder: Path, names: tuple[str, str, str] = ("task", "worker", "label")) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    votes, truth = folder / "votes.csv", folder / "truth.csv"
    with votes.open("w", newline="") as one, truth.open("w", newline="") as other:
        cast, right = csv.writer(one), csv.writer(other)
        cast.writerow(names)
        right.writerow([names[0], names[2]])
        for task in range(80):
            said = rng.random(9) < 0.7
            right.writerow([task, "yes"])
            cast.writerows([task, f"w{who}", "yes" if yes else "no"] for who, yes in enumerate(said))
    return votes, truth


def test_votes_from_a_file(tmp_path: Path) -> None:
    from folkmoot import read_votes

    votes, truth = write_votes(tmp_path)
    result = run_json("plan", "--votes", votes, "--truth", truth, "--protocol", "slush", "--malicious", "10%")
    table = read_votes(votes, truth)
    found = plan(votes=table.votes, truth=table.truth, byzantine=0.1, protocol="slush")
    assert result["n"] == 9
    assert result["byzantine"] == 1
    assert result["settings"] == [asdict(each) for each in found.settings]
    assert result["settings"][0]["standard_error"] > 0
    assert any("resampled from 80 tasks" in line for line in result["remarks"])


def test_columns_of_other_names(tmp_path: Path) -> None:
    votes, truth = write_votes(tmp_path, ("item", "who", "answer"))
    columns = ["--task-column", "item", "--worker-column", "who", "--label-column", "answer"]
    assert run_json("plan", "--votes", votes, "--truth", truth, "--protocol", "slush", *columns)["n"] == 9


def test_target() -> None:
    result = run_json("plan", "--p", 0.8, "--accuracy", 0.95, "--protocol", "slush")
    # Condorcet's table: five and six have .942, seven .967.
    assert result["n"] == result["target"]["n"] == 7
    assert result["target"]["setting"]["accuracy"] >= 0.95
    out = run(
        "plan", "--n", 20, "--p", 0.6, "--malicious", "20%", "--accuracy", 0.95, "--protocol", "slush"
    ).stdout
    assert "no number of participants reaches 0.95 while 20% of them lie" in out
    assert out.startswith("20 participants, 4 Byzantine")


def test_labels_are_simulated() -> None:
    result = run_json("plan", "--n", 7, "--p", 0.6, "--classes", 3, "--protocol", "slush", "--seed", 4)
    assert result["labels"] == 3
    assert not result["settings"][0]["exact"]
    assert result["settings"][0]["standard_error"] > 0


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_plot_is_a_picture(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"plan.{suffix}"
    result = run("plan", "--n", 15, "--p", 0.8, "--protocol", "slush", "--plot", path)
    assert result.returncode == 0, result.stderr
    assert result.stderr == f"wrote {path}\n"
    if suffix == "png":
        picture = matplotlib.image.imread(path)
        assert picture.shape[0] > 400
        assert picture.std() > 0.05


def test_the_plot_goes_into_axes_that_are_given() -> None:
    from matplotlib.figure import Figure

    found = plan(15, 0.8, byzantine=1, protocol="slush", target=0.9)
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert found.plot(ax=right) is figure
    assert not left.lines
    told = right.lines[-3:]
    drawn = [tuple(line.get_xydata()[0]) for line in right.lines]
    assert (found.broadcast.messages, found.majority) in drawn
    assert (found.settings[0].messages, found.settings[0].accuracy) in drawn
    assert {float(line.get_ydata()[0]) for line in told} >= {found.mean_participant, 0.9}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "--p is missing: give the accuracy of the participants, such as --p 0.8, or --votes FILE"),
        ("--p 0.8", "--n is missing: give the number of participants, such as --n 40"),
        ("--n ten --p 0.8", "'--n': expected a whole number, got 'ten'"),
        ("--n 1 --p 0.8", "--n must satisfy n >= 2: got --n 1"),
        ("--n 10 --p good", "--p must be a number, a list such as 0.7,0.6 or groups"),
        ("--n 10 --p 1.8", "--p must satisfy 0 <= p <= 1: got --p 1.8"),
        ("--n 10 --p 3x0.8,1x0.7", "one accuracy for each of the 10 participants"),
        (
            "--n 10 --p 0.8 --malicious 10",
            "--malicious must satisfy 0 <= malicious < n: got --malicious 10, --n 10",
        ),
        (
            "--n 10 --p 0.8 --malicious few",
            "--malicious must be a whole number such as 5, or a share below 100% such as 12%: got 'few'",
        ),
        ("--n 10 --p 0.8 --malicious 120%", "or a share below 100% such as 12%: got '120%'"),
        ("--n 10 --p 0.8 --malicious=-1", "--malicious must satisfy malicious >= 0: got --malicious -1"),
        ("--n 10 --p 0.8 --classes 1", "--classes must satisfy classes >= 2: got --classes 1"),
        ("--n 10 --p 0.8 --classes many", "'--classes': expected a whole number, got 'many'"),
        ("--n 10 --p 0.8 --inputs 0", "--inputs must satisfy inputs >= 1: got --inputs 0"),
        ("--n 10 --p 0.8 --rounds 0", "--rounds must satisfy rounds >= 1: got --rounds 0"),
        ("--n 10 --p 0.8 --rounds 1001", "--rounds must satisfy rounds <= 1000: got --rounds 1001"),
        (
            "--n 10 --p 0.8 --protocol raft",
            "--protocol must be one of all, slush, snowflake, snowball: got 'raft'",
        ),
        ("--n 10 --p 0.8 --accuracy 2", "--accuracy must satisfy 0 <= accuracy <= 1: got --accuracy 2.0"),
        ("--n 10 --p 0.8 --accuracy high", "'--accuracy': expected a number, got 'high'"),
        ("--n 10 --p 0.8 --seed -1", "seed must satisfy 0 <= seed < 2^32, got -1"),
        ("--n 10 --p 0.8 --plot plan.txt", "--plot must name a file ending in .png, .svg, .pdf"),
        ("--n 10 --p 0.8 --plot nowhere/plan.png", "there is no nowhere"),
        ("--n 10 --p 0.8 --truth truth.csv", "--truth goes with --votes: give --votes FILE, too"),
        ("--votes nowhere.csv", "nowhere.csv: No such file or directory"),
        ("--n 9000 --p 0.8", "--n must satisfy n <= 5,000: got --n 9000"),
    ],
)
def test_bad_input_is_one_line(arguments: str, message: str) -> None:
    assert_refused(message, "plan", *arguments.split())


def test_votes_and_accuracies_are_either_or(tmp_path: Path) -> None:
    votes, _ = write_votes(tmp_path)
    alone = tmp_path / "alone.csv"
    alone.write_text("task,worker,label\n1,Ann,yes\n2,Ann,no\n")
    assert_refused("at least two workers: all are of 'Ann'; is --worker-column", "plan", "--votes", alone)
    assert_refused("--p or --votes, not both", "plan", "--votes", votes, "--p", 0.8)
    assert_refused("give --classes or --votes, not both", "plan", "--votes", votes, "--classes", 3)
    assert_refused("has no column 'answer'", "plan", "--votes", votes, "--label-column", "answer")

"""``folkmoot deliberate`` on real files says what the library says."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import matplotlib.image
import numpy as np
import pytest

from folkmoot import Slush, StrongConfidence, deliberate, read_votes
from folkmoot.accuracy import participant_accuracies
from folkmoot.baselines import dawid_skene, majority, supermajority
from support.command import assert_refused, run, run_json
from support.crowds import sparse_crowd, write_crowd
from support.oracles.ties import fair_accuracy
from support.page_data import held_in
from support.process import assert_control_c_says_interrupted

PARTICIPANTS, INPUTS = 21, 60
LABELS = ["no", "yes"]


def deliberately(*arguments: object) -> CompletedProcess[str]:
    return run("deliberate", *arguments)


def as_json(*arguments: object) -> Any:
    return run_json("deliberate", *arguments)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """VOTES.csv with a tenth of the votes missing, and TRUTH.csv."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, INPUTS)
    folder = tmp_path_factory.mktemp("votes")
    with (folder / "votes.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["worker", "task", "label", "comment"])
        for task in range(INPUTS):
            for worker in range(PARTICIPANTS):
                if rng.random() < 0.9:
                    right = rng.random() < 0.5 + worker / 50
                    writer.writerow([f"w{worker}", f"t{task}", LABELS[truth[task] ^ (not right)], "x, y"])
    rows = "".join(f"t{task},{LABELS[label]}\n" for task, label in enumerate(truth))
    (folder / "truth.csv").write_text("task,label\n" + rows)
    return folder / "votes.csv", folder / "truth.csv"


def test_reading_keeps_names_and_missing_votes(files: tuple[Path, Path]) -> None:
    table = read_votes(*files)
    assert table.workers == sorted(f"w{i}" for i in range(PARTICIPANTS))
    assert table.tasks == [f"t{i}" for i in range(INPUTS)]
    assert table.labels == LABELS
    assert table.truth is not None
    with files[0].open() as file:
        for row in csv.DictReader(file):
            i, j = table.workers.index(row["worker"]), table.tasks.index(row["task"])
            assert table.labels[table.votes[i, j]] == row["label"]
    assert (table.votes >= 0).sum() == len(files[0].read_text().splitlines()) - 1


def test_json_holds_what_the_library_says(files: tuple[Path, Path]) -> None:
    votes, truth = files
    result = as_json(
        votes, "--truth", truth, "--k", 7, "--alpha", 5, "--rounds", 20, "--repeats", 4, "--seed", 3
    )
    table = read_votes(votes, truth)
    outcome = deliberate(table.votes, Slush(7, 5), rounds=20, repeats=4, seed=3, classes=2, missing="absent")
    assert table.truth is not None
    accuracy = outcome.accuracies(table.truth)
    assert result["slush"] == result["consensus"] == pytest.approx(accuracy.mean())
    assert result["standard_error"] == pytest.approx(accuracy.std(ddof=1) / 2)
    assert result["participants"] == PARTICIPANTS
    assert result["inputs"] == INPUTS
    assert result["classes"] == 2
    assert result["agreement"] == pytest.approx(outcome.agreement.mean())
    assert result["undecided"] == outcome.undecided / 4
    assert result["queries"] == pytest.approx(outcome.queries.mean())
    assert result["seconds"] > 0
    assert (majority(table.votes, 2) == -1).any()
    assert result["majority"] == pytest.approx(float(fair_accuracy(table.votes, table.truth)))
    for key, decision in {
        "supermajority": supermajority(table.votes, 2),
        "dawid_skene": dawid_skene(table.votes, 2).decision,
    }.items():
        assert result[key] == (decision == table.truth).mean()
    each = participant_accuracies(table.votes, table.truth)
    assert (result["mean_participant"], result["best_participant"]) == (each.mean(), each.max())


def test_level_labels_share(tmp_path: Path) -> None:
    """Four workers: two say yes and two no about a, three say yes about b; one round changes nothing."""
    rows = [f"{task},{who},{label}" for task, said in {"a": "yynn", "b": "yyyn"}.items()
            for who, label in enumerate(said)]  # fmt: skip
    (tmp_path / "votes.csv").write_text("\n".join(["task,worker,label", *rows]))
    (tmp_path / "truth.csv").write_text("task,label\na,n\nb,y\n")
    command = [tmp_path / "votes.csv", "--truth", tmp_path / "truth.csv", "--rounds", 0, "--repeats", 2]
    result = as_json(*command)
    assert (result["majority"], result["consensus"]) == (0.75, 0.75)
    assert (result["undecided"], result["tied"]) == (1.0, 1.0)
    assert result["supermajority"] == 0.0  # all four would have to agree
    shown = deliberately(*command).stdout
    assert "undecided inputs count as wrong here, and level labels share: a tie of two counts as one" in shown


def test_the_table_has_every_line(files: tuple[Path, Path]) -> None:
    result = deliberately(files[0], "--truth", files[1])
    for name in ("mean participant", "best participant", "majority", "supermajority", "weighted majority",
                 "Dawid-Skene", "slush, 10 times", "±"):  # fmt: skip
        assert name in result.stdout
    assert result.stderr == ""  # no progress bar when nobody watches


def test_a_sparse_crowd_is_answered(tmp_path: Path) -> None:
    votes, truth = write_crowd(tmp_path, *sparse_crowd(109, 400, 3, 10, seed=1))
    result: Any = as_json(votes, "--truth", truth, "--out", tmp_path / "out.csv")
    assert result["undecided"] < 4
    assert result["consensus"] > result["majority"] - 0.03
    with (tmp_path / "out.csv").open() as file:
        assert sum(row["label"] == "" for row in csv.DictReader(file)) < 4
    assert result["warnings"] == []
    # As the paper has it every task stays open, and a line says so and what to type.
    result = deliberately(votes, "--missing", "uncoloured", "--repeats", 1, "--json")
    (line,) = json.loads(result.stdout)["warnings"]
    assert line.startswith("400 of 400 inputs stay open: no label has the 6 equal first votes")
    assert line.endswith("missing='absent' (--missing absent)")
    assert line in result.stderr
    assert line.partition(";")[0] in deliberately(votes, "--missing", "uncoloured", "--repeats", 1).stdout
    assert_refused(
        "--missing must be absent or uncoloured: got 'gone'", "deliberate", votes, "--missing", "gone"
    )


@pytest.mark.parametrize("protocol", ["snowflake", "snowball"])
def test_other_protocols(files: tuple[Path, Path], protocol: str) -> None:
    result = as_json(files[0], "--truth", files[1], "--protocol", protocol, "--beta", 5)
    assert result["protocol"] == protocol
    assert result[protocol] == result["consensus"] > 0.7
    assert result["slush"] is None
    assert result["settled"] > 0.5


@pytest.mark.parametrize(
    "attack",
    ["malicious", "constant", "random", "silent", "faulty", "stalling", "equivocating", "copycat", "sleeper"],
)
def test_every_attack(files: tuple[Path, Path], attack: str) -> None:
    result = as_json(files[0], "--truth", files[1], "--byzantine", 4, "--attack", attack, "--repeats", 2)
    assert result["byzantine"] == 4
    again = as_json(files[0], "--truth", files[1], "--byzantine", 4, "--attack", attack, "--repeats", 2)
    assert {k: v for k, v in result.items() if k != "seconds"} == {
        k: v for k, v in again.items() if k != "seconds"
    }


def test_local_thresholds_without_truth_come_from_the_votes_and_say_so(files: tuple[Path, Path]) -> None:
    result = as_json(files[0], "--alpha", "local", "--repeats", 1)
    assert "estimated without labels" in result["warnings"][0]
    assert result["slush"] is None
    table = read_votes(files[0])
    skills = dawid_skene(table.votes, 2).accuracies
    outcome = deliberate(table.votes, Slush(10, StrongConfidence(skills)), classes=2, missing="absent")
    assert result["queries"] == outcome.queries
    informed = as_json(files[0], "--truth", files[1], "--alpha", "local")
    assert "on the truth itself" in informed["warnings"][0]


def test_truth_for_part_of_the_tasks(files: tuple[Path, Path], tmp_path: Path) -> None:
    some = tmp_path / "gold.csv"
    some.write_text("".join(files[1].read_text().splitlines(keepends=True)[:11]))
    result = as_json(files[0], "--truth", some)
    assert result["majority"] * 10 == pytest.approx(round(result["majority"] * 10))
    refused = deliberately(files[0], "--truth", some, "--byzantine", 2)
    assert refused.returncode == 2
    assert "must know every truth: --truth does not name task 't10'" in refused.stderr


def test_out_and_plot(files: tuple[Path, Path], tmp_path: Path) -> None:
    out, picture = tmp_path / "decisions.csv", tmp_path / "picture.png"
    result = deliberately(
        files[0], "--truth", files[1], "--out", out, "--plot", picture, "--repeats", 1, "--seed", 5
    )
    assert result.returncode == 0
    assert matplotlib.image.imread(picture).std() > 0.05
    table = read_votes(*files)
    outcome = deliberate(table.votes, Slush(10, 6), seed=5, classes=2, missing="absent")
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["task"] for row in rows] == table.tasks
    assert [row["label"] for row in rows] == [LABELS[i] for i in outcome.decision]
    plain = tmp_path / "plain.png"
    assert (
        deliberately(files[0], "--plot", plain).returncode == 0
    )  # without truth: agreement instead of accuracy
    assert plain.exists()


def test_play_writes_the_talk_with_names_of_tasks_and_workers(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    path = tmp_path / "talk.html"
    result = deliberately(files[0], "--truth", files[1], "--byzantine", 2, "--repeats", 2, "--play", path)
    assert result.returncode == 0, result.stderr
    assert f"wrote {path} (open it in a browser)" in result.stderr
    data = held_in(path.read_text(encoding="utf-8"))
    assert data["labels"] == LABELS
    table = read_votes(*files)
    [moot] = data["moots"]
    assert moot["names"] == list(table.workers)
    assert list(moot["liars"].values()) == ["PerfectlyMalicious()"] * 2
    assert table.truth is not None
    for each in data["inputs"]:
        assert each["truth"] == table.truth[list(table.tasks).index(each["name"])]


def test_other_formats_and_columns(files: tuple[Path, Path], tmp_path: Path) -> None:
    """A spreadsheet's semicolons, gzipped, with columns of their own: the same votes, the same talk."""
    with files[0].open() as file:
        rows = list(csv.DictReader(file))
    lines = ["Urteil;Frage;Wer", *(f"{row['label']};{row['task']};{row['worker']}" for row in rows)]
    votes, truth = tmp_path / "votes.csv.gz", tmp_path / "truth.tsv"
    votes.write_bytes(gzip.compress("\n".join(lines).encode("utf-8-sig")))
    truth.write_text(
        files[1].read_text().replace("task,label", "Frage\tUrteil").replace(",", "\t"), encoding="utf-8"
    )
    columns = ["--task-column", "Frage", "--worker-column", "Wer", "--label-column", "Urteil"]
    found, usual = (
        as_json(*some, "--repeats", 1)
        for some in ((votes, "--truth", truth, *columns), (files[0], "--truth", files[1]))
    )
    assert found | {"seconds": 0} == usual | {"seconds": 0}


def test_parquet_without_pyarrow_is_one_line_that_says_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "votes.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert_refused('pip install "folkmoot[data]"', "deliberate", tmp_path / "votes.parquet")


def test_few_participants_adapt_k_and_say_so(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(
        "task,worker,label\n" + "".join(f"{t},{w},{(t + w) % 3 == 0}\n" for t in range(5) for w in range(4))
    )
    result = as_json(path)
    assert result["warnings"] == ["only 4 participants: k = 3"]


HEADER = "task,worker,label\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty: expected a first line with the names of the columns"),
        (HEADER, "has a header and no rows"),
        (
            "a,b,c\n1,2,3\n",
            "has no column 'task': it has a, b, c; say which one it is with --task-column NAME",
        ),
        ("1,2,3\n", "has no column 'task'"),
        (HEADER + "t,w,a\nt,w,b\n", "line 3: worker 'w' has voted on task 't' already"),
        (HEADER + "t,w\n", "line 2: expected 3 cells, got 2"),
        (HEADER + "t,,a\n", "line 2: worker is empty"),
        (HEADER + "t,v,a\nt,w,a\n", "all votes are 'a'; there is nothing to deliberate"),
        (HEADER + "t,v,a\n", "all votes are 'a'"),
    ],
)
def test_bad_vote_files(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(content)
    assert_refused(message, "deliberate", path, "--out", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--protocol", "paxos"],
            "one of slush, snowflake, snowball: got 'paxos'",
        ),
        (["--attack", "ddos"], "--attack must be one of malicious, constant"),
        (["--byzantine", "21"], "0 <= byzantine < n: got --byzantine 21, n=21"),
        (["--byzantine", "3"], "--attack malicious must know the truth: give --truth TRUTH.csv"),
        (["--k", "21"], "1 <= k <= n-1 when the asker does not ask itself: got --k 21, n=21"),
        (
            ["--k", "21", "--alpha", "local"],
            "1 <= k <= n-1 when the asker does not ask itself: got --k 21, n=21",
        ),
        (["--k", "0"], "--k must satisfy k >= 1: got --k 0"),
        (["--alpha", "5"], "k/2 < alpha <= k: got --alpha 5, --k 10"),
        (["--alpha", "many"], "--alpha must be a whole number or 'local': got 'many'"),
        (["--beta", "0", "--protocol", "snowball"], "beta >= 1: got --beta 0"),
        (["--rounds", "x"], "'--rounds': expected a whole number, got 'x'"),
        (["--repeats", "0"], "repeats >= 1: got --repeats 0"),
        (["--seed", "-1"], "seed must satisfy 0 <= seed < 2^32, got -1"),
        (["--rounds", "99999999999999999999"], "rounds <= 1,000,000,000"),
        (["--plot", "picture.txt"], "--plot must name a file ending in"),
        (["--play", "talk.pdf"], "--play must name a file ending in .html, .htm: got talk.pdf"),
        (["--play", "nowhere/talk.html"], "--play must name a file in a folder that exists: there is no"),
        (["--out", "nowhere/out.csv"], "there is no nowhere"),
        (["--truth", "missing.csv"], "missing.csv: No such file or directory"),
    ],
)
def test_bad_options(files: tuple[Path, Path], arguments: list[str], message: str) -> None:
    assert_refused(message, "deliberate", files[0], *arguments)


def test_bad_truth_files(files: tuple[Path, Path], tmp_path: Path) -> None:
    truth = tmp_path / "truth.csv"
    for content, message in (
        ("task,label\nt0,yes\nt0,no\n", "line 3: task 't0' has a truth already"),
        ("task,label\nelsewhere,yes\n", "truth.csv: none of its tasks is among the tasks of"),
        ("task,worker\nt0,w0\n", "has no column 'label'"),
    ):
        truth.write_text(content)
        result = deliberately(files[0], "--truth", truth)
        assert result.returncode == 2
        assert message in result.stderr


def test_a_truth_of_tasks_that_nobody_voted_on(files: tuple[Path, Path], tmp_path: Path) -> None:
    plain = as_json(files[0], "--truth", files[1], "--repeats", 1)
    more = tmp_path / "more.csv"
    more.write_text(files[1].read_text() + "new1,yes\nnew2,perhaps\n")
    result = as_json(files[0], "--truth", more, "--repeats", 1)
    assert result.pop("warnings") == ["2 labelled tasks have no votes, such as 'new1': left out"]
    assert plain.pop("warnings") == []
    timed = {"seconds"}
    assert {k: v for k, v in result.items() if k not in timed} == {
        k: v for k, v in plain.items() if k not in timed
    }


def test_files_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_bytes(b"task,worker,label\n\xff\xfe\x00,b,c\n")
    quote = tmp_path / "quote.csv"
    quote.write_text('task,worker,label\nt,w,"' + "x" * 200_000)
    for bad in (path, quote, tmp_path, tmp_path / "missing.csv"):
        result = deliberately(bad)
        assert result.returncode == 2
        (line,) = result.stderr.splitlines()
        assert str(bad) in line


def test_words_that_look_like_numbers_have_a_place_in_the_order(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("task,worker,label\n1,nan,nan\n1,2,10\n1,10,9\n1,inf,inf\n")
    table = read_votes(path)
    assert table.labels == ["9", "10", "inf", "nan"]
    assert table.workers == ["2", "10", "inf", "nan"]


def test_control_c_exits_130_and_says_so(files: tuple[Path, Path]) -> None:
    assert_control_c_says_interrupted(
        "deliberate", files[0], "--repeats", 400_000, "--rounds", 500, inside="folkmoot/simulation/"
    )


def test_one_worker_is_no_moot(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("task,worker,label\n1,a,yes\n2,a,no\n")
    assert_refused(
        "must hold votes of at least two workers: all are of 'a'; is --worker-column worker the column",
        "deliberate",
        path,
    )

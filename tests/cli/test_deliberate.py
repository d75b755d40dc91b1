"""``folkmoot deliberate`` on real files says what the library says."""

from __future__ import annotations

import csv
import gzip
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import matplotlib.image
import numpy as np
import pytest

from folkmoot import Slush, StrongConfidence, deliberate, read_votes
from folkmoot.aggregation import DawidSkene, Known
from folkmoot.aggregation.aggregating import aggregate
from folkmoot.aggregation.naming import aggregation_called
from support.command import assert_refused, run, run_json
from support.crowds import sparse_crowd, write_crowd
from support.oracles.ties import fair_accuracy
from support.page_data import held_in
from support.process import assert_control_c_says_interrupted

PARTICIPANTS, INPUTS = 21, 60
LABELS = ["no", "yes"]
SLUSH = ("--protocol", "slush")
LIES = (*SLUSH, "--repeats", 2, "--malicious")


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
        votes, "--truth", truth, *SLUSH, "--k", 7, "--alpha", 5, "--rounds", 20, "--repeats", 4, "--seed", 3
    )
    table = read_votes(votes, truth)
    outcome = deliberate(table.votes, Slush(7, 5), rounds=20, repeats=4, seed=3, classes=2, missing="absent")
    assert table.truth is not None
    assert result["consensus"] == pytest.approx(outcome.accuracy(table.truth))
    assert (result["participants"], result["inputs"], result["classes"]) == (PARTICIPANTS, INPUTS, 2)
    assert (result["protocol"], result["how"]) == ("slush", "Slush, k=7, alpha=5")
    assert result["agreement"] == pytest.approx(outcome.agreement.mean())
    assert result["queries"] == pytest.approx(outcome.queries.mean())
    assert (aggregate(table.votes).decision == -1).any()
    assert result["majority"] == pytest.approx(float(fair_accuracy(table.votes, table.truth)))
    council = as_json(votes, "--truth", truth)
    assert council["consensus"] == council["majority"] == result["majority"]
    known = aggregate(table.votes, DawidSkene(), classes=2).decision
    assert result["dawid_skene"] == (known == table.truth).mean()
    right = (table.votes == table.truth).mean(axis=1)  # no answer is not right
    assert result["mean_participant"] == pytest.approx(right.mean())
    assert result["best_participant"] == pytest.approx(right.max())


def test_level_labels_share(tmp_path: Path) -> None:
    """Four workers: two say yes and two no about a, three say yes about b; one round changes nothing."""
    rows = [f"{task},{who},{label}" for task, said in {"a": "yynn", "b": "yyyn"}.items()
            for who, label in enumerate(said)]  # fmt: skip
    (tmp_path / "votes.csv").write_text("\n".join(["task,worker,label", *rows]))
    (tmp_path / "truth.csv").write_text("task,label\na,n\nb,y\n")
    command = [tmp_path / "votes.csv", "--truth", tmp_path / "truth.csv"]
    for options in ([], [*SLUSH, "--rounds", 0, "--repeats", 2]):
        result = as_json(*command, *options)
        assert (result["majority"], result["consensus"]) == (0.75, 0.75)
        assert [line["ties"] for line in result["lines"] if line["name"] == "consensus"] == [1.0]
    shown = deliberately(*command).stdout
    assert "consensus: 1 ties, left undecided; they count as the share of right classes" in shown


def test_the_table_has_every_line(files: tuple[Path, Path]) -> None:
    result = deliberately(files[0], "--truth", files[1])
    for name in ("mean participant", "best participant", "majority", "Dawid-Skene", "consensus", "±",
                 "Council, Plurality", "independent votes"):  # fmt: skip
        assert name in result.stdout
    assert result.stderr == ""  # no progress bar when nobody watches


def test_a_sparse_crowd_is_answered(tmp_path: Path) -> None:
    votes, truth = write_crowd(tmp_path, *sparse_crowd(109, 400, 3, 10, seed=1))
    result: Any = as_json(votes, "--truth", truth, *SLUSH, "--out", tmp_path / "out.csv")
    assert result["consensus"] > result["majority"] - 0.03
    with (tmp_path / "out.csv").open() as file:
        assert sum(row["label"] == "" for row in csv.DictReader(file)) < 4
    assert result["warnings"] == []
    # As the paper has it every task stays open.
    result = as_json(votes, *SLUSH, "--missing", "present", "--repeats", 1)
    assert [line["coverage"] for line in result["lines"] if line["name"] == "consensus"] == [0.0]
    assert_refused(
        "--missing must be absent or present: got 'gone'", "deliberate", votes, "--missing", "gone"
    )


@pytest.mark.parametrize("protocol", ["snowflake", "snowball"])
def test_other_protocols(files: tuple[Path, Path], protocol: str) -> None:
    result = as_json(files[0], "--truth", files[1], "--protocol", protocol, "--beta", 5)
    assert result["protocol"] == protocol
    assert result["consensus"] > 0.7
    assert result["converged"] > 0.5


@pytest.mark.parametrize("believe", ["dawid-skene", "plurality(least=12)"])
def test_what_is_believed_is_what_the_library_makes_of_the_votes(
    files: tuple[Path, Path], believe: str
) -> None:
    table = read_votes(*files)
    found = aggregate(table.votes, aggregation_called(believe), classes=2)
    result = as_json(files[0], "--truth", files[1], "--believe", believe)
    assert table.truth is not None
    assert result["consensus"] == pytest.approx((found.decision == table.truth).mean(), abs=0.01)
    assert_refused(
        "--believe is for --protocol council", "deliberate", files[0], "--believe", believe, *SLUSH
    )


def test_gold_tasks_teach_and_are_not_scored(tmp_path: Path) -> None:
    """Most workers lie; five and more gold tasks tell, and the rest is answered."""
    votes, truth = write_crowd(tmp_path, *sparse_crowd(60, 250, 4, 9, seed=2))
    gold = tmp_path / "gold.csv"
    gold.write_text("".join(truth.read_text().splitlines(keepends=True)[:23]))
    asked = (votes, "--truth", truth, "--gold", gold, "--malicious", 36, "--seed", 1)
    result = as_json(*asked, "--believe", "peer-review")
    assert (result["scored"], result["inputs"], len(result["malicious"])) == (250 - 22, 250, 36)
    assert result["mean_final_vote"] > 0.9
    assert result["majority"] < 0.3


@pytest.mark.parametrize(
    "attack",
    ["malicious", "constant", "random", "silent", "faulty", "stalling", "equivocating", "copycat", "sleeper"],
)
def test_every_attack(files: tuple[Path, Path], attack: str) -> None:
    result = as_json(
        files[0], "--truth", files[1], *SLUSH, "--malicious", 4, "--attack", attack, "--repeats", 2
    )
    assert len(result["malicious"]) == 4
    again = as_json(
        files[0], "--truth", files[1], *SLUSH, "--malicious", 4, "--attack", attack, "--repeats", 2
    )
    assert result == again


def test_local_thresholds_without_truth_come_from_the_votes_and_say_so(files: tuple[Path, Path]) -> None:
    result = as_json(files[0], *SLUSH, "--alpha", "local", "--repeats", 1)
    assert "estimated without labels" in result["warnings"][0]
    assert result["consensus"] is None
    table = read_votes(files[0])
    skills = np.asarray(DawidSkene().aggregate(table.votes, Known(classes=2)).skills)
    outcome = deliberate(table.votes, Slush(10, StrongConfidence(skills)), classes=2, missing="absent")
    assert result["queries"] == outcome.queries
    informed = as_json(files[0], "--truth", files[1], *SLUSH, "--alpha", "local")
    assert "on the truth itself" in informed["warnings"][0]


def test_truth_for_part_of_the_tasks(files: tuple[Path, Path], tmp_path: Path) -> None:
    some = tmp_path / "gold.csv"
    some.write_text("".join(files[1].read_text().splitlines(keepends=True)[:11]))
    result = as_json(files[0], "--truth", some)
    assert result["majority"] * 10 == pytest.approx(round(result["majority"] * 10))
    refused = deliberately(files[0], "--truth", some, "--malicious", 2)
    assert refused.returncode == 2
    assert "must know every truth: --truth does not name task 't10'" in refused.stderr


def test_every_task_has_probabilities_with_rounds_too(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Whom each worker holds in the end is counted by hand, over all repetitions."""
    as_json(files[0], *SLUSH, "--repeats", 3, "--seed", 5, "--out", tmp_path / "out.csv")
    table = read_votes(files[0])
    outcome = deliberate(table.votes, Slush(10, 6), seed=5, repeats=3, classes=2, missing="absent")
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    for i, row in enumerate(rows):
        held = [c for ends in outcome.decisions for c in ends[:, i].tolist() if c >= 0]
        for c, label in enumerate(table.labels):
            assert float(row[f"p({label})"]) == pytest.approx(held.count(c) / len(held), abs=1e-4)


def test_out_and_plot(files: tuple[Path, Path], tmp_path: Path) -> None:
    out, picture = tmp_path / "decisions.csv", tmp_path / "picture.png"
    result = deliberately(
        files[0], "--truth", files[1], *SLUSH, "--out", out, "--plot", picture, "--repeats", 1, "--seed", 5
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
    path = tmp_path / "deliberation.html"
    result = deliberately(
        files[0], "--truth", files[1], *SLUSH, "--malicious", 2, "--repeats", 2, "--play", path
    )
    assert result.returncode == 0, result.stderr
    assert f"wrote {path} (open it in a browser)" in result.stderr
    data = held_in(path.read_text(encoding="utf-8"))
    assert data["labels"] == LABELS
    table = read_votes(*files)
    [moot] = data["moots"]
    assert moot["names"] == list(table.workers)
    assert list(moot["malicious"].values()) == ["PerfectlyMalicious()"] * 2
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
        as_json(*some) for some in ((votes, "--truth", truth, *columns), (files[0], "--truth", files[1]))
    )
    assert found == usual


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
    result = as_json(path, *SLUSH)
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
            "one of council, slush, snowflake, snowball: got 'paxos'",
        ),
        (["--attack", "ddos"], "--attack must be one of malicious, constant"),
        (["--malicious", "21"], "< n: got --malicious 21, n=21"),
        (["--k", "5"], "--k is for protocols with rounds: add --protocol slush"),
        (["--play", "deliberation.html"], "--play is for protocols with rounds: add --protocol slush"),
        (["--believe", "mean"], "--believe mean is for numbers, and"),
        (["--malicious", "3"], "--attack malicious must know the truth: give --truth TRUTH.csv"),
        ([*SLUSH, "--k", "21"], "1 <= k <= n-1 when the asker does not ask itself: got --k 21, n=21"),
        (
            [*SLUSH, "--k", "21", "--alpha", "local"],
            "1 <= k <= n-1 when the asker does not ask itself: got --k 21, n=21",
        ),
        ([*SLUSH, "--k", "0"], "--k must satisfy k >= 1: got --k 0"),
        ([*SLUSH, "--alpha", "5"], "k/2 < alpha <= k: got --alpha 5, --k 10"),
        ([*SLUSH, "--alpha", "many"], "--alpha must be a whole number or 'local': got 'many'"),
        (["--beta", "0", "--protocol", "snowball"], "beta >= 1: got --beta 0"),
        (["--rounds", "x"], "'--rounds': expected a whole number, got 'x'"),
        ([*SLUSH, "--repeats", "0"], "repeats >= 1: got --repeats 0"),
        (["--seed", "-1"], "seed must satisfy 0 <= seed < 2^32, got -1"),
        ([*SLUSH, "--rounds", "99999999999999999999"], "rounds <= 1,000,000,000"),
        (["--plot", "picture.txt"], "--plot must name a file ending in"),
        (["--play", "talk.pdf"], "--play must name a file ending in .html, .htm: got talk.pdf"),
        (
            ["--play", "nowhere/deliberation.html"],
            "--play must name a file in a folder that exists: there is no",
        ),
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
    plain = as_json(files[0], "--truth", files[1])
    more = tmp_path / "more.csv"
    more.write_text(files[1].read_text() + "new1,yes\nnew2,perhaps\n")
    result = as_json(files[0], "--truth", more)
    assert result.pop("warnings") == ["2 labelled tasks have no votes, such as 'new1': left out"]
    assert plain.pop("warnings") == []
    assert result == plain


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
        "deliberate", files[0], *SLUSH, "--repeats", 400_000, "--rounds", 500, inside="folkmoot/simulation/"
    )


def test_one_worker_is_no_moot(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("task,worker,label\n1,a,yes\n2,a,no\n")
    assert_refused(
        "must hold votes of at least two workers: all are of 'a'; is --worker-column worker the column",
        "deliberate",
        path,
    )

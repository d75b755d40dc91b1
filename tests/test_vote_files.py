"""Votes in files of every format are one table, compared with the votes that were written."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import folkmoot
from folkmoot import aggregate, deliberate, read_partitions, read_votes
from folkmoot.files.vote_files import VoteTable

WORKERS, TASKS, LABELS = 6, 25, ["1,5", "10,5", "x y", "ß"]


@pytest.fixture(scope="module")
def cast() -> pd.DataFrame:
    """Some of the votes of all workers on all tasks, in no order."""
    rng = np.random.default_rng(3)
    rows = [
        (f"t{task}", worker, LABELS[rng.integers(4)], float(rng.integers(5)))
        for task in range(TASKS)
        for worker in range(WORKERS)
        if rng.random() < 0.8
    ]
    return pd.DataFrame(rows, columns=["task", "worker", "label", "note"]).sample(frac=1.0, random_state=0)


def written(cast: pd.DataFrame, path: Path) -> Path:
    """As the name of the file says."""
    if path.suffix == ".parquet":
        cast.astype({name: "category" for name in cast if name in ("label", "Antwort")}).to_parquet(path)
    else:
        separator = {".tsv": "\t", ".txt": ";"}.get(path.suffix, ",")
        text = cast.to_csv(None, sep=separator, index=False, quoting=csv.QUOTE_NONNUMERIC)
        data = text.encode("utf-8-sig" if path.suffix == ".txt" else "utf-8")
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def assert_holds(table: VoteTable, cast: pd.DataFrame) -> None:
    """Every vote is where its names say, and there is no other."""
    assert table.tasks == list(dict.fromkeys(cast["task"]))
    assert table.workers == [str(worker) for worker in range(WORKERS)]
    assert table.labels == sorted(set(cast["label"]))
    for vote in cast.itertuples():
        found = table.votes[table.workers.index(str(vote.worker)), table.tasks.index(str(vote.task))]
        assert table.labels[found] == vote.label
    assert (table.votes >= 0).sum() == len(cast)
    assert table.votes.min() == -1


@pytest.mark.parametrize("name", ["v.csv", "v.tsv", "v.txt", "v.csv.gz", "v.parquet"])
def test_every_format_is_the_same_table(cast: pd.DataFrame, tmp_path: Path, name: str) -> None:
    assert_holds(read_votes(written(cast, tmp_path / name)), cast)


def test_columns_by_name_hold_for_truth_and_gold_too(cast: pd.DataFrame, tmp_path: Path) -> None:
    names: dict[str, Any] = {"task": "Frage", "worker": "Wer", "label": "Antwort"}
    path = written(cast.rename(columns=names), tmp_path / "v.txt")
    known = cast.drop_duplicates("task").rename(columns=names).sort_values("Frage")
    truth = written(known.iloc[:9], tmp_path / "truth.parquet")
    gold = written(known.iloc[9:12], tmp_path / "gold.tsv")
    table = read_votes(str(path), truth, gold, **names)
    assert_holds(table, cast)
    for found, rows in ((table.truth, known.iloc[:9]), (table.gold, known.iloc[9:12])):
        assert found is not None
        told = {task: table.labels[i] for task, i in zip(table.tasks, found, strict=True) if i >= 0}
        assert told == dict(zip(rows["Frage"], rows["Antwort"], strict=True))
    with pytest.raises(
        ValueError, match=r"v.txt has no column 'task': it has Frage, Wer, Antwort, note; say"
    ):
        read_votes(path)
    with pytest.raises(ValueError, match="must be different columns: got Wer, Wer, label"):
        read_votes(path, task="Wer", worker="Wer")


def test_numbers_of_a_data_frame_are_the_names_in_a_csv_file(tmp_path: Path) -> None:
    """pandas keeps whole numbers as 1.0 where one of them is missing; a truth in CSV says 1."""
    votes = {"task": [7.0, 7.0, 8.0, 8.0], "worker": [1, 2, 1, 2], "label": [0.0, 1.0, 1.0, 1.0]}
    pd.DataFrame(votes).to_parquet(tmp_path / "v.parquet")
    (tmp_path / "truth.csv").write_text("task,label\n8,1\n")
    table = read_votes(tmp_path / "v.parquet", tmp_path / "truth.csv")
    assert (table.tasks, table.labels) == (["7", "8"], ["0", "1"])
    assert table.truth is not None
    assert table.truth.tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("task;worker;label\nt;v;a\nt;;b\n", "line 3: worker is empty"),
        (
            "task;worker;label\nt;v;a\nt;w;b\nt;v;b\nt;v;a\n",
            "line 4: worker 'v' has voted on task 't' already",
        ),
        ("task;worker;label\nt;v;a\nt;w;a\n", "all votes are 'a'; there is nothing to deliberate"),
        ("task;worker;label\nt;v\n", "line 2: expected 3 cells, got 2"),
    ],
)
def test_votes_that_are_none(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "v.csv").write_text(content)
    with pytest.raises(ValueError, match=f"v.csv.*{message}"):
        read_votes(tmp_path / "v.csv")


def test_a_table_that_is_nearly_all_empty_is_refused_before_it_is_made(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i},{i % 2}\n" for i in range(4000))
    (tmp_path / "v.csv").write_text("task,worker,label\n" + rows)
    with pytest.raises(ValueError, match="4,000 votes of 4,000 x 4,000 must fill more"):
        read_votes(tmp_path / "v.csv")


def test_a_missing_vote_of_a_data_frame_is_said(tmp_path: Path) -> None:
    pd.DataFrame({"task": ["a", "b"], "worker": ["v", "v"], "label": ["x", None]}).to_parquet(
        tmp_path / "v.pq"
    )
    with pytest.raises(ValueError, match=r"v.pq, row 2: label is empty"):
        read_votes(tmp_path / "v.pq")


def test_a_truth_with_an_empty_cell(cast: pd.DataFrame, tmp_path: Path) -> None:
    votes = written(cast, tmp_path / "v.csv")
    for content, message in (("t0,\n", "label is empty"), (",x y\n", "task is empty")):
        (tmp_path / "truth.csv").write_text("task,label\n" + content)
        with pytest.raises(ValueError, match=f"truth.csv, line 2: {message}"):
            read_votes(votes, tmp_path / "truth.csv")


def test_a_table_can_be_deliberated(cast: pd.DataFrame, tmp_path: Path) -> None:
    table = read_votes(written(cast, tmp_path / "v.parquet"))
    outcome: Any = deliberate(table.votes, folkmoot.Slush(5, 3), classes=len(table.labels), seed=1)
    assert outcome.decision.shape == (TASKS,)


def test_a_truth_of_more_tasks_than_there_are_votes(tmp_path: Path) -> None:
    votes, truth = tmp_path / "votes.csv", tmp_path / "truth.csv"
    votes.write_text("task,worker,label\nt1,ann,no\nt1,bob,yes\nt2,ann,yes\n")
    truth.write_text("task,label\nt9,perhaps\nt2,yes\nt8,no\n")
    for table in (read_votes(votes, truth), read_votes(votes, truth, truth)):
        assert table.tasks == ["t1", "t2"]
        assert table.labels == ["no", "yes"]  # a label of a task without votes is none
        assert table.truth is not None
        assert table.truth.tolist() == [-1, 1]
        assert table.left_out == ["t9", "t8"]
    assert read_votes(votes).left_out == []
    truth.write_text("task,label\nt9,yes\nt8,no\n")
    for files in ((truth, None), (None, truth)):
        with pytest.raises(
            ValueError, match=r"truth.csv: none of its tasks is among the tasks of .*votes.csv: got 't9'"
        ):
            read_votes(votes, *files)


def test_a_true_clustering_of_more_objects_than_anybody_has_seen(tmp_path: Path) -> None:
    labels, truth = tmp_path / "labels.csv", tmp_path / "truth.csv"
    labels.write_text("object,participant,cluster\no1,ann,x\no1,bob,x\no2,ann,y\n")
    truth.write_text("object,cluster\no3,a\no2,b\n")
    assert read_partitions(labels, truth).truth is not None
    np.testing.assert_array_equal(read_partitions(labels, truth).truth, [-1, 0])


LONG = pd.DataFrame(
    {
        "task": ["t1", "t1", "t2", "t2", "t3"],
        "worker": ["bob", "ann", "bob", "ann", "ann"],
        "label": ["no", "yes", "yes", "yes", "no"],
    }
)
WIDE = pd.DataFrame({"bob": ["no", "yes", None], "ann": ["yes", "yes", "no"]}, index=["t1", "t2", "t3"])


def votes_by_name(table: VoteTable) -> dict[tuple[str, str], str]:
    return {
        (task, worker): table.labels[table.votes[i, j]]
        for i, worker in enumerate(table.workers)
        for j, task in enumerate(table.tasks)
        if table.votes[i, j] >= 0
    }


def test_long_and_wide_frames_and_files_are_the_same_votes(tmp_path: Path) -> None:
    expected = {(row.task, row.worker): row.label for row in LONG.itertuples()}
    named = WIDE.rename_axis("task")
    named.to_csv(tmp_path / "wide.csv")
    named.reset_index().to_parquet(tmp_path / "wide.parquet")
    for source in (LONG, WIDE, named, named.reset_index(), tmp_path / "wide.csv", tmp_path / "wide.parquet"):
        assert votes_by_name(read_votes(source)) == expected
    assert read_votes(WIDE).workers == ["bob", "ann"]  # as the columns stand
    assert read_votes(LONG).workers == ["ann", "bob"]


def test_numbers_in_a_wide_frame_are_labels_as_they_stand_in_files() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [1.0, None, 3.0]})
    table = read_votes(frame)
    assert (table.labels, table.tasks) == (["1", "2", "3"], ["0", "1", "2"])
    assert table.votes.tolist() == [[0, 1, 2], [0, -1, 2]]


@pytest.mark.parametrize(
    "truth",
    [
        {"t1": "yes", "t3": "no"},
        pd.Series({"t1": "yes", "t3": "no"}),
        ["yes", None, "no"],
        pd.DataFrame({"task": ["t3", "t1"], "label": ["no", "yes"]}),
    ],
)
def test_truth_in_every_form(truth: Any) -> None:
    for frame in (LONG, WIDE):
        table = read_votes(frame, truth, gold=truth)
        assert table.truth is not None
        assert table.gold is not None
        assert table.truth.tolist() == table.gold.tolist() == [1, -1, 0]


def test_rows_without_labels_and_second_votes_have_a_way_on(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("task,worker,label\nt1,ann,no\nt1,bob,\nt1,ann,yes\nt2,bob,no\n")
    with pytest.raises(ValueError, match="line 3: label is empty; leave such rows out with skip_unlabelled"):
        read_votes(path)
    with pytest.raises(
        ValueError,
        match=r"line 4: worker 'ann' has voted on task 't1' already; .* with last_vote",
    ):
        read_votes(path, skip_unlabelled=True)
    table = read_votes(path, skip_unlabelled=True, last_vote=True)
    assert votes_by_name(table) == {("t1", "ann"): "yes", ("t2", "bob"): "no"}
    (tmp_path / "truth.csv").write_text("task,label\nt1,yes\nt2,\n")
    with pytest.raises(ValueError, match=r"truth.csv, line 3: label is empty"):
        read_votes(LONG, tmp_path / "truth.csv")
    found = read_votes(LONG, tmp_path / "truth.csv", skip_unlabelled=True).truth
    assert found is not None
    assert found.tolist() == [1, -1, -1]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            pd.DataFrame({"q": ["t1", "t1"], "who": ["ann", "bob"], "said": ["x", "y"]}),
            "DataFrame: column 'q' shares no label with another, so it is not one of a worker; .* task=NAME, "
            "worker=NAME and label=NAME",
        ),
        (LONG.drop(columns="task"), "DataFrame has no column 'task'"),
        (LONG.assign(label=[None, "a", "b", "a", "b"]), "DataFrame, row 1: label is empty"),
        (WIDE.iloc[:0], "DataFrame is empty: it has 2 columns and no rows"),
        (WIDE.map(lambda _: None), "DataFrame holds no votes: every label is empty"),
    ],
)
def test_frames_that_hold_no_votes(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_votes(frame)


def test_truths_that_are_none() -> None:
    with pytest.raises(ValueError, match=r"truth must hold one per task \(3\): got 1"):
        read_votes(WIDE, ["yes"])
    with pytest.raises(TypeError, match="truth must be a file, a data frame, labels by task"):
        read_votes(WIDE, 7)
    with pytest.raises(ValueError, match="dict: none of its tasks is among the tasks of DataFrame: got 'x'"):
        read_votes(WIDE, {"x": "yes"})


def test_what_a_frame_lacks_is_told_with_what_can_be_typed() -> None:
    """The advice is followed to the letter: ``deliberate`` itself has no such options."""
    long = pd.DataFrame({"task": list("aabb"), "worker": list("xyxy"), "label": list("pqqq")})
    twice = pd.concat([long, long.iloc[:1]])
    with pytest.raises(ValueError, match=r"each with read_votes\(frame, last_vote=True\)"):
        deliberate(twice)
    assert deliberate(read_votes(twice, last_vote=True)).decision.shape == (2,)
    gaps = pd.concat([long, pd.DataFrame({"task": ["c"], "worker": ["x"], "label": [""]})])
    with pytest.raises(ValueError, match=r"out with read_votes\(frame, skip_unlabelled=True\)"):
        deliberate(gaps)
    assert deliberate(read_votes(gaps, skip_unlabelled=True)).decision.shape == (2,)
    other = long.rename(columns={"task": "question", "worker": "who", "label": "said"})
    with pytest.raises(ValueError, match=r"say which .* task=NAME.* of read_votes$"):
        deliberate(other)
    assert deliberate(read_votes(other, task="question", worker="who", label="said")).decision.shape == (2,)
    with pytest.raises(TypeError, match=r"of words or a frame make them with read_votes\(...\).votes"):
        aggregate(long)
    assert aggregate(read_votes(long).votes).decision.shape == (2,)

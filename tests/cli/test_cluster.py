"""``folkmoot cluster`` on real files says what the library says."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from folkmoot import cluster, read_partitions
from folkmoot.arrays import Ints
from folkmoot.clustering.consensus_partitions import evidence_accumulation
from support.command import assert_refused, run, run_json
from support.planted import planted

N, OBJECTS = 9, 120
SAID, TRUTH = planted(N, OBJECTS, 3, 0.25, seed=20, unseen=0.2)


def write(path: Path, said: Ints) -> Path:
    lines = ["object,participant,cluster"]
    for i, row in enumerate(said):
        lines += [f"o{j},p{i},c{label}" for j, label in enumerate(row.tolist()) if label >= 0]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("clusters")
    truth = folder / "truth.csv"
    truth.write_text("object,cluster\n" + "".join(f"o{j},t{c}\n" for j, c in enumerate(TRUTH.tolist())))
    return write(folder / "labels.csv", SAID), truth


def test_it_is_what_the_library_says(files: tuple[Path, Path]) -> None:
    told = run_json("cluster", files[0], "--n-clusters", 3, "--truth", files[1])
    table = read_partitions(*files)
    assert sorted(table.participants) == [f"p{i}" for i in range(N)]
    order = [int(name[1:]) for name in table.objects]
    agreed = cluster(SAID[:, order], 3)
    assert told["labels"] == agreed.labels.tolist()
    assert told["objects"] == table.objects
    for key, labels in (
        ("agreed", agreed.labels),
        ("evidence_accumulation", evidence_accumulation(SAID[:, order], 3)),
    ):
        assert told["scores"][key]["truth"] == pytest.approx(adjusted_rand_score(TRUTH[order], labels))
    alone = [adjusted_rand_score(TRUTH[row >= 0], row[row >= 0]) for row in SAID]
    assert told["scores"]["mean_participant"]["truth"] == pytest.approx(np.mean(alone))
    assert told["scores"]["agreed"]["truth"] > 0.9 > np.mean(alone)
    assert [each["name"] for each in told["participants"]] == [f"p{i}" for i in range(N)]


def test_the_table_and_the_file(files: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "agreed.csv"
    result = run("cluster", files[0], "--n-clusters", 3, "--truth", files[1], "--participants", "--out", out)
    assert result.returncode == 0, result.stderr
    for words in (
        *("who decides", "mean participant", "evidence accumulation", "medoid participant", "agreed"),
        *("like the truth", "9 participants, 120 objects: 3 clusters", "adjusted Rand", "p8"),
    ):
        assert words in result.stdout
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["object", "cluster", "agreement"]
    found = [int(row["cluster"]) for row in rows]
    assert adjusted_rand_score(TRUTH[[int(row["object"][1:]) for row in rows]], found) > 0.9


def test_liars_and_the_view_of_one(files: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "agreed.csv"
    options = ("--n-clusters", 3, "--truth", files[1], "--malicious", 5, "--seed", 1)
    told = run_json("cluster", files[0], *options)
    assert sum(not each["honest"] for each in told["participants"]) == 5
    assert told["scores"]["agreed"]["truth"] > 0.65
    assert told["scores"]["evidence_accumulation"]["truth"] < 0.1
    assert run_json("cluster", files[0], *options)["labels"] == told["labels"]
    honest = next(each["name"] for each in told["participants"] if each["honest"])
    liar = next(each["name"] for each in told["participants"] if not each["honest"])
    assert run("cluster", files[0], *options, "--as", honest, "--out", out).returncode == 0
    assert_refused(f"--malicious made '{liar}' lie", "cluster", files[0], *options, "--as", liar)


def test_a_picture(files: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "weights.png"
    assert run("cluster", files[0], "--n-clusters", 3, "--plot", path).returncode == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("who;what;where\n" + "".join(f"{w};{o};{o // 3}\n" for w in "abc" for o in range(6)))
    options = ("--object-column", "what", "--participant-column", "who", "--cluster-column", "where")
    result = run("cluster", path, *options)
    assert result.returncode == 0
    assert "all partitions are the same" in result.stderr
    assert "2 clusters of 3, 3 objects" in result.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("object,participant\no1,a\n", "has no column 'cluster'"),
        ("object,participant,cluster\no1,a,\n", "line 2: cluster is empty"),
        (
            "object,participant,cluster\no1,a,x\no2,a,x\no1,a,y\n",
            "line 4: participant 'a' names a cluster of object 'o1' already",
        ),
        ("object,participant,cluster\n", "a header and no rows"),
        ("object,participant,cluster\no1,a,x\no2,a,y\n", "at least two participants"),
        ("object,participant,cluster\no1,a,x\no1,b,y\n", "at least two objects"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text)
    assert_refused(message, "cluster", path)


def test_options_that_cannot_be_meant(files: tuple[Path, Path], tmp_path: Path) -> None:
    path = files[0]
    assert_refused("--n-clusters must satisfy 2", "cluster", path, "--n-clusters", 1)
    assert_refused("objects (120)", "cluster", path, "--n-clusters", 121)
    assert_refused("--attack must be one of random, clique", "cluster", path, "--attack", "malicious")
    assert_refused("malicious < n", "cluster", path, "--malicious", 9)
    assert_refused("such as p1", "cluster", path, "--as", "p11")
    assert_refused("there is no", "cluster", path, "--out", tmp_path / "none" / "out.csv")
    assert_refused("--rounds must satisfy", "cluster", path, "--rounds", 0)
    assert_refused("labels.csv", "cluster", tmp_path / "labels.csv")
    strange = tmp_path / "strange.csv"
    strange.write_text("object,cluster\nnowhere,1\n")
    assert_refused("none of its objects is among the objects", "cluster", path, "--truth", strange)
    strange.write_text("object,cluster\no1,1\no1,2\n")
    assert_refused("object 'o1' has a cluster already", "cluster", path, "--truth", strange)
    assert_refused("must be different columns", "cluster", path, "--object-column", "cluster")

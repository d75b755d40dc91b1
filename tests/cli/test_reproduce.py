"""``folkmoot reproduce``: results, resuming, and what goes wrong."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import matplotlib.image
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from folkmoot.paper.catalogue import MODULES, experiment
from folkmoot.paper.experiment import cells_of
from folkmoot.paper.store import MISSING, Store
from support.browser import look_at
from support.command import assert_refused, run, run_json
from support.femnist_samples import make_rows, write_parquet
from support.network.real_moot import until
from support.process import start
from support.shared_data import FEMNIST, needs

THEORY = ["absorption", "homogeneous", "thresholds", "performance-groups", "byzantine-theory"]


def test_list() -> None:
    lines = run("reproduce", "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(MODULES)
    assert list(run_json("reproduce", "--list")) == list(MODULES)


def test_one_experiment_and_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = run_json("reproduce", "absorption", "--out", out)
    assert set(first) == {"absorption"}
    assert first["absorption"]["failure"] is None
    for ending in ("json", "png", "svg"):
        assert (out / f"absorption.{ending}").stat().st_size > 1000
    assert matplotlib.image.imread(out / "absorption.png").std() > 0.03
    (cell,) = (out / "cells").iterdir()
    before = cell.stat()
    run("reproduce", "absorption", "--out", out)
    assert cell.stat().st_mtime_ns == before.st_mtime_ns  # kept, not computed again

    cell.write_bytes(cell.read_bytes()[:100])  # as if the power had failed
    result = run("reproduce", "absorption", "--out", out)
    assert result.returncode == 0
    assert "is damaged or cut off" in result.stderr
    assert cell.stat().st_size == before.st_size


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    cells = tmp_path / "out" / "cells"
    with start("reproduce", "beta", "--jobs", 1, "--out", cells.parent) as process:
        until(lambda: len(list(cells.glob("*.json"))) >= 3, "three cells are computed", 600.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out, err) == (130, "", "folkmoot: interrupted\n")
    kept = {path: path.stat().st_mtime_ns for path in cells.glob("*.json")}
    assert len(kept) >= 3
    store = Store(cells)
    config = experiment("beta").full
    planned = cells_of(experiment("beta").cells(config, 0))
    whole = [cell for cell in planned if store.load(cell) is not MISSING]
    assert len(whole) == len(kept)  # nothing half written
    assert store.complaints == []


@pytest.mark.slow
def test_the_page_keeps_what_was_finished_before(tmp_path: Path) -> None:
    run("reproduce", "absorption", "--out", tmp_path)
    run("reproduce", "thresholds", "--quick", "--out", tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "<h2>absorption</h2>" in page
    assert "<h2>thresholds</h2>" in page


@pytest.mark.slow
def test_quick_from_end_to_end(tmp_path: Path) -> None:
    """All but the CNN, on handwriting that the test makes; then the page in a real browser."""
    data = write_parquet(
        tmp_path / "letters.parquet", make_rows([f"w{i:03}" for i in range(45)], each=60), 500
    )
    out = tmp_path / "out"
    found = run_json("reproduce", "--quick", "--data", data, "--out", out, "--jobs", 2)
    assert set(found) == set(MODULES) - {"femnist-cnn"}
    for name, each in found.items():
        assert each["failure"] is None, (name, each["failure"])
        assert each["verdict"]
        assert each["findings"]
        assert json.loads((out / f"{name}.json").read_text())["verdict"] == each["verdict"]
        assert matplotlib.image.imread(out / f"{name}.png").std() > 0.02
        assert (out / f"{name}.svg").read_text().lstrip().startswith("<?xml")
    for name in THEORY:  # exact, so they must hold whatever the data
        judged = [finding for finding in found[name]["findings"] if finding["holds"] is not None]
        assert judged
    seen = look_at(out / "report.html", tmp_path)
    assert len(seen.pictures) == len(found) + 2  # trust and peer-review have two
    assert min(seen.pictures) > 100
    assert seen.fetched == []


@pytest.mark.slow
@needs(FEMNIST)
def test_real_handwriting_with_networks(tmp_path: Path) -> None:
    """The FEMNIST experiments in quick settings, the CNN among them, on real letters if they are at hand."""
    names = [name for name in MODULES if name.startswith(("femnist", "training"))]
    result = run(
        "reproduce",
        *names,
        "--quick",
        "--data",
        FEMNIST,
        "--out",
        tmp_path,
        "--json",
        "--jobs",
        2,
        seconds=900,
    )
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert list(found) == names
    generalises = found["femnist-cnn"]["findings"][0]
    assert generalises["quantity"].startswith("mean accuracy on 10 new writers: networks of groups")
    numbers = json.loads((tmp_path / "femnist-individual.json").read_text())
    forests = numbers["families"][0]
    assert len(forests["validation"]) == 25
    assert sum(forests["tests"][-1]["accuracies"]) / 25 > 0.55  # real letters can be learnt


@pytest.mark.slow
def test_missing_parts_do_not_stop_the_others(tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    other.write_bytes(b"not a parquet file")
    result = run("reproduce", "training-sizes", "absorption", "--data", other, "--out", tmp_path / "out")
    assert result.returncode == 1
    assert "training-sizes was not run: " in result.stderr
    assert "must be a parquet file" in result.stderr
    assert "absorption: Reproduced" in result.stdout
    assert "Not run: " in (tmp_path / "out" / "report.html").read_text()
    pq.write_table(pa.table({"image": [1], "writer": ["a"]}), other)
    result = run("reproduce", "training-sizes", "--data", other, "--out", tmp_path / "out")
    assert (
        "other.parquet: must have the columns image.bytes, writer_id, character: there is no" in result.stderr
    )


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)  # as if it were not installed
    data = write_parquet(
        tmp_path / "letters.parquet", make_rows([f"w{i:03}" for i in range(30)], each=30), 500
    )
    result = run(
        "reproduce", "femnist-individual", "--quick", "--data", data, "--out", tmp_path / "out", "--jobs", 1
    )
    assert result.returncode == 1
    assert 'pip install "folkmoot[boost]"' in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absorbtion"], "there is no experiment 'absorbtion'; did you mean 'absorption'?"),
        (["x"], "there is no experiment 'x' (there are absorption"),
        (
            ["absorption", "--data", "nowhere"],
            "--data must name a file or a folder of FEMNIST: there is no nowhere",
        ),
        (["absorption", "--jobs", "0"], "--jobs must be a number of processes"),
        (["absorption", "--jobs", "many"], "expected a whole number, got 'many'"),
        (
            ["absorption", "--ray", "127.0.0.1:9"],
            "there is no Ray cluster at 127.0.0.1:9: Connection refused",
        ),
        (
            ["absorption", "--ray", "nowhere"],
            "--ray must be HOST:PORT of a cluster, or 'local': got 'nowhere'",
        ),
        (["absorption", "--seed", "-1"], "seed must satisfy 0 <= seed < 2^32, got -1"),
    ],
)
def test_bad_input(tmp_path: Path, arguments: list[str], message: str) -> None:
    assert_refused(message, "reproduce", *arguments, "--out", tmp_path / "out")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert_refused("--out must name a folder", "reproduce", "absorption", "--out", file)
    assert_refused("file/under: Not a directory", "reproduce", "absorption", "--out", file / "under")
    assert file.read_text() == "mine"

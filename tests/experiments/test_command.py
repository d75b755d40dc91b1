"""``python -m experiments``: results, resuming, and what goes wrong."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import matplotlib.image
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.__main__ import BAD_INPUT, FAILED, INTERRUPTED, main
from experiments.catalogue import MODULES
from support.femnist_samples import make_rows, write_parquet
from support.kept_cells import kept

ROOT = Path(__file__).parents[2]
THEORY = ["absorption", "homogeneous", "thresholds", "performance-groups", "byzantine-theory"]


def run(*arguments: object) -> int:
    return main([*map(str, arguments), "--jobs", "1"])


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(MODULES)
    assert main(["--list", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == list(MODULES)


def test_one_experiment_again_and_fresh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("absorption", "--out", tmp_path, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    found = json.loads((tmp_path / "absorption.json").read_text())
    assert said == {"absorption": found}
    assert found["made"]["command"] == "python -m experiments absorption"
    assert found["made"]["settings"] == "full"
    assert [each["seed"] for each in found["runs"]] == found["made"]["seeds"] == [0]
    assert matplotlib.image.imread(tmp_path / "absorption.png").std() > 0.03

    before = kept(tmp_path)
    assert len(before) == 1
    assert run("absorption", "--out", tmp_path) == 0
    assert kept(tmp_path) == before
    assert run("absorption", "--out", tmp_path, "--fresh") == 0
    assert kept(tmp_path).keys() == before.keys()
    assert kept(tmp_path) != before


def test_the_page_has_a_row_for_each_finding_and_prefers_full_results(tmp_path: Path) -> None:
    def rows(name: str) -> list[list[str]]:
        lines = (tmp_path / "results.md").read_text().split("## How")[0].splitlines()
        cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
        return [row for row in cells if row and row[0].split(",")[0].split(" (")[0] == name]

    assert run("absorption", "byzantine-theory", "--quick", "--seeds", 0, 1, "--out", tmp_path) == 0
    saved = json.loads((tmp_path / "absorption-quick.json").read_text())
    assert [row[0] for row in rows("absorption")] == [
        f"absorption, seed {each['seed']} (quick)" for each in saved["runs"] for _ in each["findings"]
    ]
    first = saved["runs"][0]["findings"][0]
    assert rows("absorption")[0][1:] == [first["quantity"], first["paper"], first["ours"], "yes"]
    assert rows("beta") == [["beta", "", "", "no result yet: `make paper`", ""]]

    assert run("absorption", "--out", tmp_path) == 0
    assert {row[0] for row in rows("absorption")} == {"absorption"}
    assert (tmp_path / "absorption-quick.json").exists()
    assert "(quick)" in rows("byzantine-theory")[0][0]


def interrupted_with(least: int, folder: Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a run that Ctrl-C hits once so many cells are kept."""
    command = [sys.executable, "-m", "experiments", "design", "--jobs", "1", "--out", str(folder)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 300
        while len(kept(folder)) < least:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err
    finally:
        process.kill()
        process.wait()


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    said = "experiments: interrupted; the same command goes on from here\n"
    assert interrupted_with(1, tmp_path) == (INTERRUPTED, "", said)
    before = kept(tmp_path)
    interrupted_with(len(before) + 1, tmp_path)
    assert before.items() <= kept(tmp_path).items()  # none was computed again


@pytest.mark.slow
def test_quick_from_end_to_end(tmp_path: Path) -> None:
    """All but the CNN, on handwriting that the test makes."""
    data = write_parquet(
        tmp_path / "letters.parquet", make_rows([f"w{i:03}" for i in range(45)], each=60), 500
    )
    out = tmp_path / "out"
    assert main(["--quick", "--data", str(data), "--out", str(out), "--jobs", "2"]) == 0
    names = set(MODULES) - {"femnist-cnn"}
    assert {path.name for path in out.glob("*.json")} == {f"{name}-quick.json" for name in names}
    page = (out / "results.md").read_text()
    for name in names:
        found = json.loads((out / f"{name}-quick.json").read_text())
        (done,) = found["runs"]
        assert done["verdict"]
        assert done["findings"]
        assert f"| {name} (quick) |" in page
        assert matplotlib.image.imread(out / f"{name}-quick.png").std() > 0.02
        if name in THEORY:  # exact, so they hold whatever the data
            assert any(each["holds"] is not None for each in done["findings"])
    assert str(tmp_path) not in page


@pytest.mark.slow
def test_real_handwriting_with_networks(tmp_path: Path) -> None:
    """The FEMNIST experiments in quick settings, the CNN among them, on real letters if they are at hand."""
    pytest.importorskip("torch", reason='pip install "folkmoot[torch]"')
    data = ROOT.parent / "shared" / "data" / "femnist"
    if not data.exists():
        pytest.skip("no FEMNIST beside this clone")
    names = [name for name in MODULES if name.startswith(("femnist", "training"))]
    assert main([*names, "--quick", "--data", str(data), "--out", str(tmp_path), "--jobs", "2"]) == 0
    networks = json.loads((tmp_path / "femnist-cnn-quick.json").read_text())["runs"][0]
    assert networks["findings"][0]["quantity"].startswith("mean accuracy on 10 new writers: networks of")
    single = json.loads((tmp_path / "femnist-individual-quick.json").read_text())["runs"][0]
    forests = single["families"][0]
    assert len(forests["validation"]) == 25
    assert sum(forests["tests"][-1]["accuracies"]) / 25 > 0.55  # real letters can be learnt


def test_missing_data_do_not_stop_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.parquet"
    other.write_bytes(b"not a parquet file")
    assert run("training-sizes", "absorption", "--data", other, "--out", tmp_path / "out") == FAILED
    said = capsys.readouterr()
    assert "experiments: training-sizes was not run: " in said.err
    assert "must be a parquet file" in said.err
    assert "absorption, seed 0: Reproduced" in said.out
    assert "| training-sizes |  |  | no result yet" in (tmp_path / "out" / "results.md").read_text()
    pq.write_table(pa.table({"image": [1], "writer": ["a"]}), other)
    assert run("training-sizes", "--data", other, "--out", tmp_path / "out") == FAILED
    assert (
        "other.parquet: must have the columns image.bytes, writer_id, character: there is no"
        in capsys.readouterr().err
    )


def test_a_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)  # as if they were not installed
    monkeypatch.setitem(sys.modules, "ray.util.joblib", None)
    data = write_parquet(
        tmp_path / "letters.parquet", make_rows([f"w{i:03}" for i in range(30)], each=30), 500
    )
    out = tmp_path / "out"
    assert run("femnist-individual", "--quick", "--data", data, "--out", out) == FAILED
    assert 'pip install "folkmoot[boost]"' in capsys.readouterr().err
    assert run("absorption", "--backend", "ray", "--out", out) == BAD_INPUT
    assert 'pip install "folkmoot[ray]"' in capsys.readouterr().err


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
        (["absorption", "--seeds", "-1"], "--seeds must satisfy 0 <= seed < 2^32: got -1"),
        (["liveness", "--device", "cuda"], "--device cuda is for beta and design: liveness is not"),
    ],
)
def test_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main([*arguments, "--out", str(tmp_path / "out")]) == BAD_INPUT
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("experiments: ")
    assert message in line


@pytest.mark.parametrize("arguments", [["--backend", "mpi"], ["--jobs", "many"], ["--seeds"]])
def test_options_that_are_none(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["absorption", *arguments])
    assert ended.value.code == BAD_INPUT
    assert arguments[0] in capsys.readouterr().err


def test_a_folder_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    for out in (file, file / "under"):
        assert run("absorption", "--out", out) == BAD_INPUT
        assert str(file) in capsys.readouterr().err
    assert file.read_text() == "mine"


@pytest.mark.slow
def test_a_ray_cluster_finds_what_processes_here_find(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason='pip install "folkmoot[ray]"')
    for backend in ("loky", "ray"):
        done = subprocess.run(
            [sys.executable, "-m", "experiments", "thresholds", "--quick", "--jobs", "2",
             "--backend", backend, "--out", str(tmp_path / backend)],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    one, two = ((tmp_path / each / "thresholds-quick.json").read_text() for each in ("loky", "ray"))
    assert one == two

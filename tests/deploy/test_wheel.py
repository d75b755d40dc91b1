"""The wheel holds all of the package, and works without a checkout beside it."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import tarfile
import time
import tomllib
import zipfile
from contextlib import closing
from email.message import Message
from email.parser import Parser
from http.client import HTTPConnection
from pathlib import Path

import pytest

from folkmoot import __version__
from folkmoot.machine import EXTRAS, ExtraName, to_install
from folkmoot.node.client import SOCKET, Client
from support.fresh import ROOT, Fresh, build
from support.onnx_files import write_onnx

MOST_PACKAGES = 35  # of the base install, folkmoot included, without pip and setuptools
PACKAGE = ROOT / "src" / "folkmoot"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


def _source() -> dict[str, bytes]:
    """Every file of the package in the checkout."""
    return {
        f"folkmoot/{path.relative_to(PACKAGE)}": path.read_bytes()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def _metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [each for each in archive.namelist() if each.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}
        (entry_points,) = [each for each in archive.namelist() if each.endswith("entry_points.txt")]
        assert "folkmoot = folkmoot.cli.main:main" in archive.read(entry_points).decode()
    assert held == _source()
    static = {Path(name).suffix for name in held} - {".py"}
    assert static >= {".html", ".css", ".js", ".svg", ".pyi", ".typed", ".cu"}


def test_the_wheel_says_what_the_project_says(wheel: Path) -> None:
    told = _metadata(wheel)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert told["Version"] == __version__
    assert told["Requires-Python"] == project["requires-python"]
    assert set(told.get_all("Provides-Extra") or []) == set(project["optional-dependencies"])
    assert "Operating System :: POSIX :: Linux" in (told.get_all("Classifier") or [])


def test_the_source_archive_is_enough_to_build_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    archive = build("sdist", tmp_path)
    with tarfile.open(archive) as tar:
        names = {Path(*Path(name).parts[1:]) for name in tar.getnames()}
        tar.extractall(tmp_path, filter="data")
    assert {
        Path(each) for each in ("LICENSE", "README.md", "constraints.txt", "deploy/Containerfile")
    } <= names
    foreign = {".venv", "build", "dist", "shared", "__pycache__", ".git", ".mypy_cache"}
    assert not [name for name in names if foreign & set(name.parts)]
    (tmp_path / "again").mkdir()
    again = build("wheel", tmp_path / "again", tmp_path / archive.name.removesuffix(".tar.gz"))
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert {name: one.read(name) for name in one.namelist()} == {
            name: other.read(name) for name in other.namelist()
        }


# ---- in fresh environments; minutes, as everything is compiled anew ------------------------------


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    return Fresh(tmp_path_factory.mktemp("base"), wheel)


@pytest.mark.slow
def test_the_base_install_is_small(base: Fresh) -> None:
    packages = base.packages()
    assert "folkmoot" in packages
    assert len(packages) <= MOST_PACKAGES, sorted(packages)


@pytest.mark.slow
def test_the_demo_works_from_the_wheel_alone_and_nodes_say_what_they_need(base: Fresh) -> None:
    before = base.installed()
    assert base.folkmoot("--version").stdout == f"folkmoot {__version__}\n"
    demo = base.folkmoot("demo", "--out", "demo")
    assert demo.returncode == 0, demo.stderr
    assert '<script type="application/json"' in (base.work / "demo" / "report.html").read_text()
    local = base.folkmoot("local", "--nodes", 5, "--json")
    assert local.returncode == 2
    assert re.fullmatch(
        r'folkmoot: a node needs \w+, which .*: pip install "folkmoot\[page\]"\n', local.stderr
    )
    assert base.installed() == before, "nothing is written beside the installed package"


@pytest.mark.slow
def test_experiments_need_the_wheel_with_plots_alone(wheel: Path, tmp_path: Path) -> None:
    """Without the data the experiments that need it say which extra they miss; the others run."""
    base = Fresh(tmp_path, wheel, ["plots"])
    _with_experiments(base)
    quick = base.python(
        f"from experiments.__main__ import main\n"
        f"print(main(['--quick', '--out', 'quick', '--data', {str(base.work)!r}, '--jobs', '1']))"
    )
    lacking = re.findall(r"^experiments: (\S+) was not run", quick.stderr, flags=re.M)
    assert all(re.match("femnist|training|mechanism|ablation|improve|outlook", name) for name in lacking), (
        quick.stderr
    )
    assert {"absorption-quick.json", "thresholds-quick.json", "beta-quick.json", "results.md"} <= {
        path.name for path in (base.work / "quick").iterdir()
    }


def _with_experiments(fresh: Fresh) -> None:
    """The experiments of the checkout beside the installed wheel."""
    ignored = shutil.ignore_patterns("__pycache__", "results", "frozen_*")
    copy = fresh.work / "experiments"
    shutil.copytree(ROOT / "experiments", copy, ignore=ignored, dirs_exist_ok=True)


@pytest.mark.slow
def test_a_page_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    fresh = Fresh(tmp_path, wheel, ["page"])
    local = fresh.folkmoot("local", "--nodes", 5, "--json")
    assert local.returncode == 0, local.stderr
    told = json.loads(local.stdout)
    assert len(told["took_part"]) == 5
    assert told["decided"] > 0.5
    (fresh.work / "odd.py").write_text(
        "import numpy\ndef odd(X):\n    return numpy.where(X[:, 0] % 2 == 1, 'odd', 'even')\n"
        "odd.labels, odd.columns = ['even', 'odd'], 1\n"
    )
    listen = ("--listen", "127.0.0.1:0", "--address", "127.0.0.1:1")
    made = fresh.folkmoot("node", "init", "north", "--model", "odd:odd", *listen)
    assert made.returncode == 0, made.stderr
    made = fresh.folkmoot("roster", "make", "north/north.line")
    assert made.returncode == 0, made.stderr
    command = fresh.command("node", "run", "--node", "north")
    with (fresh.work / "log").open("wb") as log:
        node = subprocess.Popen(
            [*command, "--page", "127.0.0.1:0"], cwd=fresh.work, env=fresh.environ, stderr=log
        )
    try:
        end = time.monotonic() + 120
        while not (fresh.work / "north" / SOCKET).exists():
            assert node.poll() is None, (fresh.work / "log").read_text()
            assert time.monotonic() < end, (fresh.work / "log").read_text()
            time.sleep(0.1)
        url, _, token = str(Client(fresh.work / "north").access()["page"]).partition("/#token=")
        found = json.loads(_get(url, "/v2/status", Authorization=f"Bearer {token}"))
        assert (found["node"], found["participants"]) == ("north", 1)
        page = _get(url, "/").decode()
        files = set(re.findall(r'(?:src|href)="([^"#]+\.(?:js|css|svg))"', page))
        assert {Path(name).suffix for name in files} >= {".js", ".css"}
        for name in files:
            assert _get(url, f"/{name.lstrip('./')}")
    finally:
        node.send_signal(signal.SIGTERM)
        assert node.wait(60) == 0


def _get(url: str, path: str, **headers: str) -> bytes:
    with closing(HTTPConnection(url.removeprefix("http://"), timeout=20)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        data = answer.read()
        assert answer.status == 200, path
        return data


# What each extra promises, as a piece of Python that prints "yes"; without the extra it must name the line.
_CUDA = """
from folkmoot.simulation.kernels.gpu.cuda import why_not
why = why_not()
# CuPy is there; a driver and a GPU need not be.
print("yes" if why is None or why.startswith("CUDA finds no ") else why)
"""
PROMISES: dict[ExtraName, str] = {
    "boost": """
import numpy as np
from experiments.femnist.writer_votes import model_of
X, y = np.random.default_rng(0).random((60, 4)), np.arange(60) % 2
answers = [model_of(each, 5).fit(X, y).predict(X) for each in ("xgboost", "lightgbm")]
print("yes" if [len(each) for each in answers] == [60, 60] else "no")
""",
    "data": """
from pathlib import Path
from folkmoot.datasets.download import _pooch
from folkmoot.files.vote_files import read_votes
_pooch()
import pyarrow as pa, pyarrow.parquet as pq
votes = {"task": [1, 1, 2, 2], "worker": ["a", "b"] * 2, "label": [0, 0, 1, 1]}
pq.write_table(pa.table(votes), "votes.parquet")
print("yes" if len(read_votes(Path("votes.parquet")).workers) == 2 else "no")
""",
    "embedding": """
from folkmoot.aggregation.texts import candidates
from folkmoot.texts.choosing import nearest
from folkmoot.texts.embedding import local_embedding
odd = "The docks came to life later"
texts = ["The doctor came too late", "A physician arrived after the hour", "The surgeon was not on time", odd]
found = candidates(dict(enumerate(texts)))
print(local_embedding().words)
print("no" if found[nearest(found).best].text == odd else "yes")
""",
    "gpu": _CUDA,
    "gpu12": _CUDA,
    "onnx": """
import numpy as np
from folkmoot.node.service.models import load_model
print("yes" if len(load_model("model.onnx").predict(np.eye(3))) == 3 else "no")
""",
    "plots": """
import numpy as np
from folkmoot import compare
compare(np.array([[0, 1], [0, 1], [1, 1]])).plot().savefig("picture.png")
print("yes")
""",
    "page": """
from folkmoot.node.service.operation import web_server
from folkmoot.node.web.metrics import Metrics
web_server().Page("127.0.0.1:0")
Metrics()
print("yes")
""",
    "ray": """
import joblib
from experiments.__main__ import on_backend
with on_backend("ray", 2):
    print("yes" if joblib.Parallel()(joblib.delayed(abs)(x) for x in (-1, -2)) == [1, 2] else "no")
""",
    "torch": """
from experiments.femnist.cnn import _torch
print("yes" if _torch().ones(2).sum() == 2 else "no")
""",
    "uvloop": """
from folkmoot.node.service.operation import loop_factory
print("yes" if loop_factory().__module__ == "uvloop" else "no")
""",
}
# Those for a GPU differ in the CUDA that CuPy is built for.
WITHIN: dict[str, set[str]] = {"gpu": {"gpu12"}, "gpu12": {"gpu"}}
WORKS_WITHOUT = {"uvloop"}  # a node then runs on asyncio, slower


@pytest.mark.slow
@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_an_extra_alone_gives_what_it_promises(extra: ExtraName, wheel: Path, tmp_path: Path) -> None:
    fresh = Fresh(tmp_path, wheel, [extra])
    write_onnx(fresh.work / "model.onnx")
    _with_experiments(fresh)
    told = fresh.python(PROMISES[extra])
    assert told.stdout.strip().splitlines()[-1:] == ["yes"], told.stderr
    report = json.loads(fresh.folkmoot("doctor", "--json").stdout)["machine"]
    states = {each["what"]: each["state"] for each in report if each["what"].startswith("extra ")}
    with_it = {extra, *WITHIN.get(extra, ())}
    assert states == {f"extra {name}": "ok" if name in with_it else "missing" for name in EXTRAS}


@pytest.mark.slow
@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_without_an_extra_there_is_a_line_to_type(extra: ExtraName, base: Fresh) -> None:
    if extra in WORKS_WITHOUT:
        told = base.python("from folkmoot.node.service.operation import loop_factory\nprint(loop_factory())")
        assert told.stdout.strip() == "None", told.stderr
    else:
        write_onnx(base.work / "model.onnx")
        _with_experiments(base)
        told = base.python(PROMISES[extra])
        assert to_install(extra) in told.stdout + told.stderr


def test_every_extra_has_a_promise() -> None:
    assert set(PROMISES) == set(EXTRAS)

"""The examples in the help of commands of the library can be typed, in this order."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from folkmoot.cli.examples import EXAMPLES
from support.command import run


def test_examples_of_the_library_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [
        f"{age:.2f},{dose:.2f},clinic {i % 6},{('no', 'yes')[int(age + dose > 0)]}"
        for i, (age, dose) in enumerate(rng.normal(size=(90, 2)))
    ]
    Path("patients.csv").write_text("\n".join(["age,dose,clinic,ill", *rows]))
    Path("new.csv").write_text("dose,age\n0.3,0.1\n-1,-2\n")
    truth = rng.choice(["cat", "dog"], 20)
    votes = [
        f"photo-{t},w{w},{right if rng.random() < 0.7 else 'cat'}"
        for t, right in enumerate(truth)
        for w in range(9)
    ]
    Path("votes.csv").write_text("\n".join(["task,worker,label", *votes]))
    Path("truth.csv").write_text("\n".join(["task,label", *(f"photo-{t},{x}" for t, x in enumerate(truth))]))
    said = [f"o{o},p{p},{o % 3 if rng.random() < 0.9 else 0}" for o in range(30) for p in range(7)]
    Path("labels.csv").write_text("\n".join(["object,participant,cluster", *said]))
    keys = ["a", "b", "c", "d"]
    quorum = {"threshold": 3, "validators": keys}
    nodes = [{"publicKey": key, "name": key.upper(), "active": True, "quorumSet": quorum} for key in keys]
    Path("nodes.json").write_text(json.dumps(nodes))
    theory = [path for path in EXAMPLES if path.startswith("theory ")]
    assert len(theory) == 5
    for path in ("learn", "predict", "deliberate", "plan", "cluster", *theory):
        for line in EXAMPLES[path]:
            result = run(*line.split())
            assert result.returncode == 0, f"{line}: {result.stderr}"
    assert Path("folkmoot-learn/moot.skops").is_file()
    assert len(Path("answers.csv").read_text().splitlines()) == 21
    assert len(Path("agreed.csv").read_text().splitlines()) == 31
    rows = json.loads(run(*EXAMPLES["theory rounds"][1].split()).stdout)
    assert rows["rounds"] == 20 * 101


@pytest.mark.slow  # tests/cli/test_demo.py runs the first
def test_the_other_example_of_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*EXAMPLES["demo"][1].split()).returncode == 0
    assert Path("demo-1/report.html").is_file()


def test_every_example_is_run_by_a_test() -> None:
    """By files of this folder, which take them from the list by the name of the command."""
    files = [each.read_text(encoding="utf-8") for each in Path(__file__).parent.rglob("test_*.py")]
    read = "".join(each for each in files if "import EXAMPLES" in each)
    assert [path for path in EXAMPLES if f'"{path}"' not in read and not path.startswith("theory ")] == []

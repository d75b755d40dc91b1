"""The examples in the help of commands of the library can be typed, in this order."""

from __future__ import annotations

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
    for path in ("learn", "predict", "deliberate", "plan"):
        for line in EXAMPLES[path]:
            result = run(*line.split())
            assert result.returncode == 0, f"{line}: {result.stderr}"
    assert Path("folkmoot-learn/moot.skops").is_file()
    assert len(Path("answers.csv").read_text().splitlines()) == 21

"""``folkmoot demo``: what a newcomer sees first."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from folkmoot.cli.examples import EXAMPLES
from folkmoot.datasets import load_digits_moot
from support.command import assert_refused, run
from support.page_data import held_in


def test_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out = Path("folkmoot-demo")
    result = run(*EXAMPLES["demo"][0].split())
    assert result.returncode == 0, result.stderr
    assert str(out / "report.html") in result.stderr

    found = json.loads((out / "results.json").read_text())
    assert found["malicious"] == [0, 30]
    nobody, thirty = ({line["name"]: line["accuracy"] for line in each["lines"]} for each in found["reports"])
    rows = {line.strip()[:20].strip(): line.split()[-2:] for line in result.stdout.splitlines()}
    for said, name in (("one participant alone", "mean participant"), ("the majority of all", "majority"),
                       ("the moot, by peer re", "mean final vote")):  # fmt: skip
        assert rows[said[:20].strip()] == [f"{each[name]:.3f}" for each in (nobody, thirty)]
    # What a moot is for, what the majority cannot bear, and what peer review can:
    assert nobody["majority"] > nobody["best participant"] + 0.1
    assert thirty["majority"] < 0.3
    assert nobody["mean final vote"] > nobody["majority"] + 0.05
    assert thirty["mean final vote"] > 0.95  # who is always wrong is read backwards
    # Everybody shows up to ten rows, but no more than half of them.
    data = load_digits_moot(101, 1.0, seed=0)
    sizes = np.unique(data.groups, return_counts=True)[1]
    shown = np.minimum(sizes // 2, 10).sum()
    assert f"shown to everybody: {shown} rows of {(sizes >= 2).sum()} participants" in result.stdout
    assert [report["participants"] for report in found["reports"]] == [101] * 2
    assert len(found["reports"][1]["malicious"]) == 30

    # What four nodes signed can be checked as the screen says, and not once it is changed.
    assert len(result.stdout.splitlines()) <= 24
    assert max(map(len, result.stdout.splitlines())) <= 110
    (verify,) = re.findall(r"^ *folkmoot (verify .*)$", result.stdout, flags=re.M)
    checked = run(*verify.split())
    assert checked.returncode == 0, checked.stderr
    assert "the certificate holds" in checked.stdout
    certificate = out / "motion.json"
    told = certificate.read_text()
    place = told.index('"precommits":[[0,"') + len('"precommits":[[0,"')
    certificate.write_text(told[:place] + ("A" if told[place] != "A" else "B") + told[place + 1 :])
    assert run(*verify.split()).returncode == 2

    with (out / "participants.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert [row["name"] for row in table] == [row["name"] for row in found["reports"][0]["participant_table"]]
    page = (out / "report.html").read_text()
    assert "Who is off" in page
    assert not re.search(r"(src|href)=[\"'](?!data:)|@import|url\(", page)  # asks nothing of the network
    # It opens with runs of Slush, without liars and with 30, who win.
    talks = held_in(page)
    moots = {moot["name"]: moot for moot in talks["moots"]}
    assert list(moots) == ["Slush, nobody malicious", "Slush, 30 malicious"]
    assert [len(moot["malicious"]) for moot in moots.values()] == [0, 30]
    assert [moot["score"]["right"] > 0.5 for moot in moots.values()] == [True, False]
    assert len(talks["inputs"]) == 24
    assert all(each["image"].startswith("data:image/png") for each in talks["inputs"])
    drawn = {line["name"]: line["points"] for line in held_in(page, "accuracy")["lines"]}
    assert drawn["majority"] == [
        [f, round(each["majority"], 5)] for f, each in zip(found["malicious"], (nobody, thirty), strict=True)
    ]
    counts = {each["name"]: sum(each["counts"]) for each in held_in(page, "rows")["columns"]}
    assert sorted(counts.values()) == sorted(sizes)
    for name in ("accuracy", "data"):
        assert matplotlib.image.imread(out / f"{name}.png").std() > 0.03


def test_bad_input(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert_refused(f"--out must name a folder: {file} is a file", "demo", "--out", file)
    assert_refused("Not a directory", "demo", "--out", file / "below")
    assert file.read_text() == "mine"
    assert_refused("seed must satisfy 0 <= seed < 2^32, got -1", "demo", "--seed", -1, "--out", tmp_path)

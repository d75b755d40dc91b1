"""``folkmoot demo``: what a newcomer sees first."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import matplotlib.image
import numpy as np

from folkmoot.datasets import load_digits_moot
from support.command import assert_refused, run
from support.page_data import held_in


def test_demo(tmp_path: Path) -> None:
    out = tmp_path / "a" / "report"
    result = run("demo", "--out", out)
    assert result.returncode == 0, result.stderr
    header = next(line for line in result.stdout.splitlines() if "malicious  " in line)
    assert header.split() == ["malicious", "0", "5", "10", "15", "20", "30", "60"]
    assert str(out / "report.html") in result.stderr

    found = json.loads((out / "results.json").read_text())
    assert found["byzantine"] == [0, 5, 10, 15, 20, 30, 60]
    by_liars = [{line["name"]: line["accuracy"] for line in report["lines"]} for report in found["reports"]]
    rows = {line.strip()[:18].strip(): line.split() for line in result.stdout.splitlines()}
    assert rows["consensus by trust"][3:] == [f"{each['consensus']:.3f}" for each in by_liars]
    assert rows["talk without trust"][3:] == [f"{each['talk without trust']:.3f}" for each in by_liars]
    anchored = [report["anchored"] for report in found["reports"]]
    assert [line.split()[1:] for line in result.stdout.splitlines() if "  anchored" in line] == [
        list(map(str, anchored))
    ]
    assert 41 > anchored[-1] > 5
    # What the talk is for, what it cannot bear, and what trust can:
    assert by_liars[0]["talk without trust"] > by_liars[0]["best participant"] + 0.1
    assert by_liars[-2]["talk without trust"] < 0.1
    assert by_liars[-1]["majority"] == 0
    for each in by_liars:
        assert each["consensus"] > by_liars[0]["majority"] - 0.07
    # Everybody shows up to ten rows, but no more than half of them.
    told, data = found["peer_review"], load_digits_moot(101, 1.0, seed=0)
    sizes = np.unique(data.groups, return_counts=True)[1]
    assert told["rows_shown"] == np.minimum(sizes // 2, 10).sum()
    assert told["participants_showing"] == (sizes >= 2).sum()
    assert f"shown to everybody: {told['rows_shown']} rows of 101 participants" in result.stdout
    assert rows["peer review"][2:] == [f"{each['peer review']:.3f}" for each in by_liars]
    assert by_liars[0]["peer review"] > by_liars[0]["majority"] + 0.05
    assert all(each["peer review"] > 0.95 for each in by_liars)  # who is always wrong is read backwards
    assert told["reviewers"] == 10
    assert all(5 <= each <= 10 for each in told["anchored"])
    assert [report["participants"] for report in found["reports"]] == [101] * 7
    assert len(found["reports"][2]["byzantine"]) == 10

    with (out / "participants.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    watched = found["reports"][2]
    assert [row["name"] for row in table] == [row["name"] for row in watched["participant_table"]]
    lying = [row["name"] for row in table if row["role"] == "byzantine"]
    assert sorted(lying) == sorted(watched["byzantine"])
    always = [row["name"] for row in table if row["finding"].startswith("always wrong (0 of 450 right)")]
    assert set(lying) <= set(always)
    assert "more: --participants shows all" in result.stdout

    page = (out / "report.html").read_text()
    assert "Who is off" in page
    assert page.count("always wrong (0 of 450 right)") == len(always)
    assert f"{told['rows_shown']} rows of 101 participants" in page
    assert not re.search(r"(src|href)=[\"'](?!data:)|@import|url\(", page)  # asks nothing of the network
    # It opens with the talks of 30 liars, who win without trust and lose with it.
    talks = held_in(page)
    moots = {moot["name"]: moot for moot in talks["moots"]}
    assert list(moots) == ["no liars", "30 liars", "30 liars, with trust"]
    assert [len(moot["liars"]) for moot in moots.values()] == [0, 30, 30]
    assert len(talks["inputs"]) == 24
    assert all(each["image"].startswith("data:image/png") for each in talks["inputs"])
    for name, line, column in (("no liars", "talk without trust", 0), ("30 liars", "talk without trust", -2),
                               ("30 liars, with trust", "consensus", -2)):  # fmt: skip
        assert abs(moots[name]["score"]["right"] - by_liars[column][line]) < 0.02  # once, and the mean of ten
    drawn = {line["name"]: line["points"] for line in held_in(page, "accuracy")["lines"]}
    assert drawn["majority"] == [
        [f, round(each["majority"], 5)] for f, each in zip(found["byzantine"], by_liars, strict=True)
    ]
    assert len(held_in(page, "convergence")["lines"]) == 60
    counts = {each["name"]: sum(each["counts"]) for each in held_in(page, "rows")["columns"]}
    assert sorted(counts.values()) == sorted(sizes)
    for name in ("accuracy", "convergence", "data"):
        assert matplotlib.image.imread(out / f"{name}.png").std() > 0.03


def test_bad_input(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert_refused(f"--out must name a folder: {file} is a file", "demo", "--out", file)
    assert file.read_text() == "mine"
    assert_refused("seed must satisfy 0 <= seed < 2^32, got -1", "demo", "--seed", -1, "--out", tmp_path)

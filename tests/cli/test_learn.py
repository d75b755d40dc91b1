"""``folkmoot learn``: a user's own table."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot import Slush, read_moot
from folkmoot.aggregation import Auto, HoldoutTrust, PeerReview
from folkmoot.cli.output import print_table
from folkmoot.datasets import read_table
from folkmoot.learning.base_learners import for_table, models_for
from folkmoot.learning.classifier import ConsensusClassifier
from support.command import assert_refused, run, run_json
from support.process import start


def write_table(path: Path, groups: int = 12, rows: int = 20, seed: int = 0) -> Path:
    """Two numbers and a word decide; some numbers are missing."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "pressure", "town", "clinic", "ill"])
        for i in range(groups * rows):
            age, pressure, town = rng.normal(), rng.normal(), str(rng.choice(["ely", "york", "bath"]))
            ill = age + pressure + 2 * (town == "york") > 1
            shown = "" if rng.random() < 0.05 else f"{pressure:.3f}"
            writer.writerow([f"{age:.3f}", shown, town, f"clinic {i % groups}", "yes" if ill else "no"])
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_table(tmp_path / "patients.csv")


def learn(table: Path, *more: Any) -> list[Any]:
    out = table.parent / "out"
    return ["learn", table, "--target", "ill", "--group", "clinic", "--out", out, "--overwrite", *more]


BRIEF = ("--malicious", 0)  # where liars are not looked at


def scores(found: Any, place: int = 0) -> dict[str, float]:
    return {line["name"]: line["accuracy"] for line in found["reports"][place]["lines"]}


def fitted(table: Path, model: str, **options: Any) -> tuple[Any, ConsensusClassifier]:
    """The data, and a moot as ``learn`` makes it."""
    data = read_table(table, "ill", "clinic", seed=0)
    made = for_table(models_for(model, 1)[0], len(data.feature_names), data.categorical)
    moot = ConsensusClassifier([made], random_state=0, **options)
    return data, moot.fit(data.X, data.classes[data.y], data.groups)


def test_table_for_people(table: Path) -> None:
    result = run(*learn(table, "--model", "tree"))
    assert result.returncode == 0, result.stderr
    first, title = result.stdout.splitlines()[:2]
    assert first == "Classification: ill is 2 classes."
    assert title == "10 participants, 40 inputs, 2 classes; Council, Auto."
    for name in ("mean participant", "best participant", "majority", "weighted", "Dawid-Skene", "stacking",
                 "mean final vote", "consensus", "independent votes"):  # fmt: skip
        assert name in result.stdout
    assert (table.parent / "out" / "report.html").is_file()
    assert "folkmoot.read_moot(" in result.stderr


def test_held_out_groups_take_no_part(table: Path) -> None:
    found = run_json(*learn(table, "--model", "tree"))
    report = found["reports"][0]
    assert (report["participants"], report["inputs"], found["training_rows"]) == (10, 40, 200)
    assert found["malicious"] == [0, 1, 2, 3]
    assert [len(each["malicious"]) for each in found["reports"]] == [0, 1, 2, 3]
    assert scores(found)["consensus"] > 0.7  # of 40 rows; a coin would have 0.5
    assert json.loads((table.parent / "out" / "results.json").read_text())["malicious"] == [0, 1, 2, 3]


def test_a_file_of_test_rows_and_a_share_of_rows(table: Path, tmp_path: Path) -> None:
    other = write_table(tmp_path / "new.csv", groups=3, rows=10, seed=5)
    found = run_json(*learn(table, "--test", other, "--model", "tree", *BRIEF))
    assert (found["reports"][0]["participants"], found["reports"][0]["inputs"]) == (12, 30)
    found = run_json(*learn(table, "--test-rows", 0.3, "--model", "tree", *BRIEF))
    assert (found["reports"][0]["participants"], found["reports"][0]["inputs"]) == (12, 72)
    assert sum(row["rows"] for row in found["reports"][0]["joining"]) == 72


@pytest.mark.parametrize("model", ["logistic", "nearest", "bayes", "svm", "boosting", "mixed"])
def test_models(table: Path, model: str) -> None:
    data = read_table(table, "ill", "clinic")
    models = [for_table(each, len(data.feature_names), data.categorical) for each in models_for(model, 10)]
    moot = ConsensusClassifier(models, random_state=0).fit(data.X, data.y, data.groups)
    assert 0.3 < moot.score(data.X_test, data.y_test) <= 1


@pytest.mark.parametrize(
    ("typed", "options"),
    [
        ([], {"aggregation": Auto()}),
        (["--believe", "plurality"], {}),
        (["--protocol", "slush"], {"protocol": Slush(9, 5)}),
        (["--believe", "own"], {"aggregation": HoldoutTrust()}),
        (["--believe", "peer-review(rows=5)"], {"aggregation": PeerReview(rows=5)}),
        (["--answers", "probabilities"], {"voting": "probabilities", "aggregation": Auto()}),
    ],
    ids=["default", "plurality", "slush", "own", "peer-review", "probabilities"],
)
def test_it_is_the_moot_of_the_estimator(table: Path, typed: list[str], options: dict[str, Any]) -> None:
    found = run_json(*learn(table, "--model", "bayes", "--malicious", 2, *typed))
    data, moot = fitted(table, "bayes", **options)
    right = data.classes[data.y_test]
    for place, liars in enumerate(found["malicious"]):
        report = moot.report(data.X_test, right, adversaries=liars or None, stacking=False)
        assert scores(found, place)["consensus"] == report.score()
    assert scores(found)["consensus"] == moot.score(data.X_test, right)


def test_what_peer_review_shows(table: Path) -> None:
    """Ten clinics of 20 rows show ten each, half of them; one that is always wrong is read backwards."""
    options = ["--model", "tree", "--malicious", 1, "--believe", "peer-review(label_epsilon=3.0)"]
    result = run(*learn(table, *options))
    assert result.returncode == 0, result.stderr
    told = "shown to everybody: 100 rows of 10 participants, inputs, and labels with noise (epsilon 3)"
    assert told in result.stdout.splitlines()
    page = (table.parent / "out" / "report.html").read_text()
    assert told[1:] in page
    assert "only votes were exchanged" not in page
    found = json.loads((table.parent / "out" / "results.json").read_text())
    assert found["shown"] == told


def test_the_default_says_that_rows_are_shown_and_how_to_show_none(table: Path) -> None:
    """Ten clinics of 20 rows show ten each; the file of the moot holds just these."""
    result = run(*learn(table, "--model", "bayes", *BRIEF))
    assert "shown to everybody: 100 rows of 10 participants, inputs and labels" in result.stdout
    (line,) = [each for each in result.stderr.splitlines() if each.startswith("Each group shows rows")]
    assert line.endswith("moot.skops holds these. To show none: --believe plurality")
    rows = read_moot(table.parent / "out").moot.shown_
    assert rows is not None
    assert np.bincount(rows.owner).tolist() == [10] * 10


def test_nothing_is_shown_with_plurality(table: Path) -> None:
    result = run(*learn(table, "--model", "bayes", "--believe", "plurality", *BRIEF))
    assert "shown" not in result.stdout
    assert "Each group shows" not in result.stderr
    assert read_moot(table.parent / "out").moot.shown_ is None
    assert json.loads((table.parent / "out" / "results.json").read_text())["shown"] is None
    assert "only votes were exchanged" in (table.parent / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "sick"], "patients.csv has no column 'sick': it has age, pressure, town, clinic, ill"),
        (["--group", "ill"], "--group must be another column than the target: got --target 'ill'"),
        (["--target", "town", "--answers", "numbers"], "line 2: town must be a number: got"),
        (["--answers", "ranking"], "--answers must be one of labels, probabilities, numbers: got 'ranking'"),
        (["--score", "f1_makro"], "--score must name scikit-learn's scorers: got 'f1_makro'; did you mean"),
        (["--score", ""], "--score must name scikit-learn's scorers: got ''"),
        (["--target", "age", "--score", "accuracy", "--model", "tree"],
         "--score 'accuracy' cannot be computed here"),
        (["--believe", "whom"], "--believe must be one of plurality, dawid-skene"),
        (["--believe", "plurality(most=2)"], "--believe: plurality has no 'most'; it takes least"),
        (["--believe", "median"], "--believe: Median takes numbers, not labels: it is for a target of num"),
        (["--believe", "pool"], "--believe: Pool takes probabilities, not labels: it needs --answers prob"),
        (["--believe", "own", "--answers", "probabilities"], "HoldoutTrust takes labels, not probabilities"),
        (["--believe", "own", "--protocol", "slush"], "leave out --believe, or take a council as --protocol"),
        (["--answers", "probabilities", "--protocol", "slush"], "leave out --answers probabilities, or take"),
        (["--model", "a/north.skops"], "got 'a/north.skops'; each group fits its own, and files of fitted"),
        (["--model", "linear"], "model must be one of rf, logistic, nearest, tree, bayes, svm, boost"),
        (["--target", "age", "--protocol", "snowball"],
         "--protocol snowball is for labels, and age holds numbers"),
        (["--target", "age", "--model", "logistic"],
         "model must be one of rf, linear, nearest, tree, svm, boosting, mixed where numbers are predicted"),
        (["--drop", "hight"], "has no column 'hight'"),
        (["--drop", "age,pressure,town"], "must have a column to predict 'ill' from"),
        (["--model", "xgboost"], "model must be one of rf, logistic, nearest, tree"),
        (["--protocol", "snow"], "--protocol must be one of council, slush, snowflake, snowball: got 'snow'"),
        (["--test-rows", "0.2", "--test", "nowhere.csv"], "got --test nowhere.csv, --test-rows 0.2"),
        (["--drop", "ill"], "--drop must not name the target or the group: got 'ill'"),
        (["--test-rows", "0.001"], "leaves no row to test on"),
        (["--malicious", "10"], "--malicious must satisfy 0 <= malicious < n: got --malicious 10, n=10"),
        (["--test", "nowhere.csv"], "nowhere.csv: No such file or directory"),
        (["--jobs", "two"], "expected a whole number, got 'two'"),
    ],
)  # fmt: skip
def test_bad_options(table: Path, options: list[str], message: str) -> None:
    assert_refused(message, *learn(table, *options))
    assert not (table.parent / "out").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty: expected a first line with the names of the columns"),
        ("1,2,clinic 1,yes\n", "has no header: its first line is 1, 2, clinic 1, yes"),
        ("age,clinic,ill\n", "has a header and no rows"),
        ("age,age,ill\n1,2,yes\n", "must have different column names: got 'age' more than once"),
        ("age,clinic,ill\n1,a\n", "line 2: expected 3 cells, got 2"),
        (
            "age,clinic,ill\n1,,yes\n",
            "line 2: clinic is empty; it must say whose row it is, or the row must go",
        ),
        ("age,clinic,ill\n1,a,\n", "line 2: ill is empty; it must say its class, or the row must go"),
        (
            "1,1,clinic 1,yes\n",
            "must have different column names: got '1' more than once; is its",
        ),
        ("age;clinic;ill\n1;a;yes\n1;b\n", "line 3: expected 3 cells, got 2"),
        (
            'age,clinic,ill\n"1,234.5",a,yes\n"2,345.0",b,no\n',
            "line 2: age must be a number, as in other rows: got '1,234.5', with thousands separators",
        ),
        (
            "age,clinic,ill\n12.5%,a,yes\n7 %,b,no\n",
            "line 2: age must be a number, as in other rows: got '12.5%', with a unit: write the number",
        ),
        (
            'age,clinic,ill\n"$1,234.50",a,yes\n$2,b,no\n',
            "line 2: age must be a number, as in other rows: got '$1,234.50', with thousands separators",
        ),
        (
            "age;clinic;ill\n1,5;a;yes\n2.5;b;no\n3;c;no\n",
            "line 3: expected the same decimal mark in all of a column, got '2.5' after '1,5' in line 2",
        ),
        (
            f"age,clinic,ill\n{'1,a,yes' + chr(10)}" * 1 + "1,b,no\n" * 9 + "1.2O,a,no\n",
            "line 12: age must be a number",
        ),
        (
            "age,clinic,ill\n" + '"1,5",a,yes\n"2,5",b,no\n',
            "line 2: age must be a number, as in other rows: got '1,5'",
        ),
        ("age,clinic,ill\n1,a,yes\n2,b,yes\n", "ill must have at least two classes: all rows say 'yes'"),
        ("age,clinic,ill\n1,a,yes\n2,b,no\n", "2 groups are too few to leave 1 out"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    assert_refused(message, *learn(path))


def test_a_mistake_in_a_column_of_numbers(tmp_path: Path) -> None:
    path = write_table(tmp_path / "patients.csv", groups=4)
    text = path.read_text().splitlines()
    text[30] = text[30].replace(text[30].split(",")[0], "1.2O", 1)
    path.write_text("\n".join(text))
    assert_refused(
        "line 31: age must be a number, as in other rows: got '1.2O'; correct it, leave", *learn(path)
    )


@pytest.mark.slow
def test_names_that_look_like_nothing(tmp_path: Path) -> None:
    """Numbers as column names, NA as a group, none as a class, 1 and 1.0 as one class."""
    path = tmp_path / "odd.csv"
    rows = [
        f"{i % 7},{i % 5},{('NA', 'ZA', '9', '10')[i % 4]},{('none', 'mild')[i % 7 > 3]}" for i in range(80)
    ]
    path.write_text("\n".join(["", "0,1,land,pain", *rows]))
    found = run_json(
        "learn", path, "--target", "pain", "--group", "land", "--out", tmp_path / "out", "--model", "tree"
    )
    assert found["reports"][0]["classes"] == 2
    assert found["reports"][0]["participants"] == 3
    path.write_text(
        "\n".join(
            ["a,id,empty,g,y", *(f"{i % 9},x{i},,{i % 4},{('1', '1.0', '0')[i % 3]}" for i in range(80))]
        )
    )
    found = run_json(
        "learn", path, "--target", "y", "--group", "g", "--out", tmp_path / "again", "--model", "tree"
    )
    assert found["reports"][0]["classes"] == 2
    assert found["warnings"][:2] == [
        "left out, as they have no values: empty",
        "id has a different word in nearly every row: is it an id? Then drop it",
    ]


def test_the_report_is_there_even_if_nobody_reads_the_table(table: Path) -> None:
    with start(*learn(table, *BRIEF, "--model", "tree")) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(timeout=120) == 1
        assert process.stderr.read() == ""
    assert (table.parent / "out" / "report.html").is_file()


def test_narrow_terminals_cut_no_number(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    rows = [[f"row {i}", *(f"0.{j}2345" for j in range(9))] for i in range(3)]
    print_table("title", ["who", *"abcdefghi"], rows, "note")
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["row", "1", *(f"0.{j}2345" for j in range(9))] in printed


def test_bad_test_files(table: Path, tmp_path: Path) -> None:
    other = tmp_path / "new.csv"
    other.write_text("age,pressure,town,ill\n1,2,ely,perhaps\n")
    assert_refused(
        "new.csv, line 2: ill is 'perhaps', which no row of patients.csv has", *learn(table, "--test", other)
    )
    other.write_text("age,town,ill\n1,ely,yes\n")
    assert_refused("new.csv has no column 'pressure'", *learn(table, "--test", other))
    other.write_text("age,pressure,town,ill\n1,high,ely,yes\n")
    assert_refused("new.csv, line 2: pressure must be a number: got 'high'", *learn(table, "--test", other))
    other.write_bytes(b"\xff\xfe,")
    assert_refused("new.csv is not a text file in UTF-8", *learn(table, "--test", other))


def test_auto_says_what_it_took_and_is_kept(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    typed = ("learn", table, "--target", "ill", "--group", "clinic", "--model", "tree", "--malicious", "1")
    result = run(*typed, "--out", out)
    assert result.returncode == 0, result.stderr
    (line,) = [each for each in result.stdout.splitlines() if each.startswith("auto took ")]
    assert "plurality 0." in line
    assert "peer review 0." in line
    again = run("predict", out / "moot.skops", table)
    assert again.returncode == 0, again.stderr


def test_who_could_not_be_scored_is_not_in_the_table(tmp_path: Path) -> None:
    """Tested on one group: whole groups are left out by stacking, and none would be left."""
    rows = [f"{i % 7},{i % 5},{'ny'[i % 7 > 3]}" for i in range(100)]
    (tmp_path / "table.csv").write_text("\n".join(["age,clinic,ill", *rows]))
    result = run(
        "learn", tmp_path / "table.csv", "--target", "ill", "--group", "clinic", "--model", "tree",
        "--malicious", 0, "--out", tmp_path / "out",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "majority" in result.stdout
    assert "stacking" not in result.stdout

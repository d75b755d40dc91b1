"""``folkmoot learn``: a user's own table."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot import ConsensusClassifier, Slush
from folkmoot.cli.output import print_table
from folkmoot.datasets import read_table
from folkmoot.learning.base_learners import for_table, models_for
from folkmoot.trust import TrustWarning
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


BRIEF = (
    "--repeats",
    1,
    "--byzantine",
    0,
    "--no-save",
)  # where neither liars nor the saved models are looked at


def accuracies(found: Any, place: int = 0) -> dict[str, float]:
    return {line["name"]: line["accuracy"] for line in found["reports"][place]["lines"]}


def test_table_for_people(table: Path) -> None:
    result = run(*learn(table, "--no-save"))
    assert result.returncode == 0, result.stderr
    assert "10 participants, 40 inputs, 2 classes; Slush, k=9, alpha=5" in result.stdout
    for name in ("mean participant", "best participant", "majority", "supermajority", "weighted majority",
                 "Dawid-Skene", "stacking", "consensus", "agreement", "undecided"):  # fmt: skip
        assert name in result.stdout
    assert (table.parent / "out" / "report.html").is_file()


def test_held_out_groups_take_no_part(table: Path) -> None:
    found = run_json(*learn(table, "--test-groups", 0.5, "--model", "tree"))
    report = found["reports"][0]
    assert (report["participants"], report["inputs"], found["training_rows"]) == (6, 120, 120)
    assert found["byzantine"] == [0, 1, 2]
    assert accuracies(found)["consensus"] > 0.7  # of 120 rows; a coin would have 0.5
    assert json.loads((table.parent / "out" / "results.json").read_text())["byzantine"] == [0, 1, 2]


def test_a_file_of_test_rows_and_a_share_of_rows(table: Path, tmp_path: Path) -> None:
    other = write_table(tmp_path / "new.csv", groups=3, rows=10, seed=5)
    found = run_json(*learn(table, "--test", other, "--model", "tree", *BRIEF))
    assert (found["reports"][0]["participants"], found["reports"][0]["inputs"]) == (12, 30)
    found = run_json(*learn(table, "--test-rows", 0.3, "--model", "tree", *BRIEF))
    assert (found["reports"][0]["participants"], found["reports"][0]["inputs"]) == (12, 72)


@pytest.mark.parametrize("model", ["logistic", "nearest", "bayes", "svm", "boosting", "mixed"])
def test_models(table: Path, model: str) -> None:
    data = read_table(table, "ill", "clinic")
    assert data.X_test is not None
    models = [for_table(each, len(data.feature_names), data.categorical) for each in models_for(model, 10)]
    moot = ConsensusClassifier(models, protocol=Slush(9, 5), random_state=0).fit(data.X, data.y, data.groups)
    assert 0.3 < moot.score(data.X_test, data.y_test) <= 1


def test_models_are_fitted_on_all_rows_unless_told_otherwise(table: Path) -> None:
    data = read_table(table, "ill", "clinic", seed=0)
    assert data.X_test is not None
    model = for_table(models_for("bayes", 1)[0], len(data.feature_names), data.categorical)
    found = {}
    for option, refit in ((["--refit"], True), (["--no-refit"], False), ([], True)):
        told = run_json(*learn(table, "--model", "bayes", *BRIEF, *option))
        moot = ConsensusClassifier([model], refit=refit, random_state=0).fit(data.X, data.y, data.groups)
        votes = np.asarray(moot.classes_)[moot.votes(data.X_test)]
        by_hand = np.mean(votes == data.y_test)
        assert accuracies(told)["mean participant"] == pytest.approx(by_hand)
        found[refit] = by_hand
    assert found[True] != found[False]


@pytest.mark.slow
def test_protocols_and_the_same_seed(table: Path) -> None:
    options = ["--protocol", "snowball", "--k", 4, "--alpha", 3, "--beta", 5, "--seed", 3, "--byzantine", 2]
    one, two = (run_json(*learn(table, *options, "--jobs", jobs)) for jobs in (1, 2))
    assert one["reports"] == two["reports"]
    assert one["reports"][0]["protocol"] == "Snowball, k=4, alpha=3, beta=5"
    assert one["byzantine"] == [0, 1, 2]
    local = ["--alpha", "local", "--holdout", 0.4, "--repeats", 2, "--rounds", 20, "--drop", "town,age"]
    other = run_json(*learn(table, *local, "--byzantine", 0))
    assert "local alpha" in other["reports"][0]["protocol"]
    assert accuracies(other)["mean participant"] < accuracies(one)["mean participant"]


def test_trust_is_that_of_the_estimator(tmp_path: Path) -> None:
    table = write_table(tmp_path / "patients.csv", groups=10, rows=80)
    options = ["--model", "bayes", "--trust", "--byzantine", 2, "--holdout", 0.5, "--repeats", 2]
    found = run_json(*learn(table, *options, "--no-save"))
    data = read_table(table, "ill", "clinic")
    model = for_table(models_for("bayes", 1)[0], 3, data.categorical)
    moot = ConsensusClassifier([model], trust="self-anchored", holdout=0.5, random_state=0)
    moot.fit(data.X, data.y, data.groups)
    reports = moot.sweep(data.X_test, data.y_test, [0, 1, 2], repeats=2)
    assert min(report.anchored or 0 for report in reports) > 0
    for told, report in zip(found["reports"], reports, strict=True):
        assert told["anchored"] == report.anchored
        assert told["lines"][-1]["accuracy"] == report.accuracy()


def test_peer_review(table: Path) -> None:
    """Ten clinics of 20 rows show ten each, half of them; one that is always wrong is read backwards."""
    options = ["--model", "tree", "--repeats", 1, "--byzantine", 1]
    result = run(*learn(table, "--peer-review", *options))
    assert result.returncode == 0, result.stderr
    printed = result.stdout.splitlines()
    assert "shown to everybody: 100 rows of 10 participants, inputs and labels" in printed
    assert sum("shown to everybody" in line for line in printed) == 1
    assert "consensus by peer review" in result.stdout
    page = (table.parent / "out" / "report.html").read_text()
    assert "100 rows of 10 participants" in page
    assert "only votes were exchanged" not in page
    found = json.loads((table.parent / "out" / "results.json").read_text())
    assert [report["anchored"] for report in found["reports"]] == found["peer_review"]["anchored"]
    assert found["peer_review"]["check_rows"] == 10
    # Of two classes, who is always wrong tells the truth.
    assert accuracies(found, 1)["consensus"] == 1.0 > accuracies(found, 1)["majority"]


@pytest.mark.parametrize(
    ("options", "settings", "words"),
    [
        (["--check-rows", "3"], (3, None, "labels", 30), "inputs and labels"),
        (["--check-rows", "15"], (15, None, "labels", 100), "inputs and labels"),  # at most half
        (
            ["--check-rows", "all", "--privacy", "1.5", "--voting", "probabilities", "--k", "4"],
            ("all", 1.5, "probabilities", 200),
            "inputs, and labels with noise (epsilon 1.5)",
        ),
    ],
)
def test_what_peer_review_shows(
    table: Path, options: list[str], settings: tuple[Any, ...], words: str
) -> None:
    result = run(*learn(table, "--peer-review", *options, "--model", "bayes", *BRIEF))
    assert result.returncode == 0, result.stderr
    assert f"shown to everybody: {settings[-1]} rows of 10 participants, {words}" in result.stdout
    told = json.loads((table.parent / "out" / "results.json").read_text())["peer_review"]
    assert tuple(told[key] for key in ("check_rows", "privacy", "voting", "rows_shown")) == settings
    assert told["participants_showing"] == 10
    # What the estimator says of the same settings.
    data = read_table(table, "ill", "clinic", seed=0)
    model = for_table(models_for("bayes", 1)[0], len(data.feature_names), data.categorical)
    moot = ConsensusClassifier(
        [model], trust="peer-review", check_rows=settings[0], privacy=settings[1], voting=settings[2],
        random_state=0,
    ).fit(data.X, data.y, data.groups)  # fmt: skip
    assert data.X_test is not None
    with warnings.catch_warnings():  # three rows each let nobody anchor
        warnings.simplefilter("ignore", TrustWarning)
        assert told["anchored"] == [sum(review.anchored for review in moot.reviews(data.X_test))]


def test_an_expert_is_that_of_the_estimator(table: Path) -> None:
    options = ("--peer-review", "--check-rows", "all", "--expert", "bayes", "--model", "tree")
    result = run(*learn(table, *options, *BRIEF, "--json"))
    assert result.returncode == 0, result.stderr
    data = read_table(table, "ill", "clinic", seed=0)
    tree, bayes = (
        for_table(models_for(name, 1)[0], len(data.feature_names), data.categorical)
        for name in ("tree", "bayes")
    )
    moot = ConsensusClassifier([tree], trust="peer-review", check_rows="all", random_state=0)
    scores = [
        moot.set_params(expert=expert).fit(data.X, data.y, data.groups).score(data.X_test, data.y_test)
        for expert in (bayes, None)
    ]
    lines = json.loads(result.stdout)["reports"][0]["lines"]
    (told,) = (line["accuracy"] for line in lines if line["name"] == "consensus")
    assert told == pytest.approx(scores[0])
    assert scores[0] != scores[1]


def test_nothing_is_shown_unless_asked_for(table: Path) -> None:
    result = run(*learn(table, "--model", "bayes", *BRIEF))
    assert "shown" not in result.stdout
    assert json.loads((table.parent / "out" / "results.json").read_text())["peer_review"] is None
    assert "only votes were exchanged" in (table.parent / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "sick"], "patients.csv has no column 'sick': it has age, pressure, town, clinic, ill"),
        (["--group", "ill"], "--group must be another column than the target: got --target 'ill'"),
        (["--target", "town", "--task", "regression"], "line 2: town must be a number: got"),
        (["--task", "ranking"], "--task must be classification or regression: got 'ranking'"),
        (["--score", "f1_makro"], "--score must name scikit-learn's scorers: got 'f1_makro'; did you mean"),
        (["--score", ""], "--score must name scikit-learn's scorers: got ''"),
        (["--target", "age", "--score", "accuracy", "--model", "tree"],
         "--score 'accuracy' cannot be computed here"),
        (["--trust", "--peer-review"], "--trust learns from votes alone and --peer-review from shown rows"),
        (["--trust", "--voting", "probabilities"], "--trust is for --voting labels: leave it out"),
        (["--model", "a/north.skops"], "got 'a/north.skops'; every group fits its own, and files of fitted"),
        (["--model", "linear"], "model must be one of rf, logistic, nearest, tree, bayes, svm, boost"),
        (["--target", "age", "--protocol", "snowball"], "--protocol is for classes, and age holds numbers"),
        (["--target", "age", "--trust"], "--trust is for classes, and age holds numbers: leave it out, or"),
        (["--target", "age", "--no-refit"], "--no-refit is for classes, and age holds numbers"),
        (["--target", "age", "--model", "logistic"],
         "model must be one of rf, linear, nearest, tree, svm, boosting, mixed where numbers are predicted"),
        (["--target", "age", "--k", "10"], "1 <= k <= n-1 when the asker does not ask itself: got --k 10"),
        (["--target", "age", "--trim", "5"], "--trim must satisfy 0 <= 2 trim < 10"),
        (["--drop", "hight"], "has no column 'hight'"),
        (["--drop", "age,pressure,town"], "must have a column to predict 'ill' from"),
        (["--model", "xgboost"], "model must be one of rf, logistic, nearest, tree"),
        (["--protocol", "snow"], "snowflake, snowball: got 'snow'"),
        (["--alpha", "most"], "--alpha must be a whole number or 'local': got 'most'"),
        (["--k", "4", "--alpha", "2"], "--alpha must satisfy k/2 < alpha <= k: got --alpha 2, --k 4"),
        (["--k", "10"], "1 <= k <= n-1 when the asker does not ask itself: got --k 10, n=10"),
        (["--k", "0"], "--k must satisfy k >= 1: got --k 0"),
        (["--test-groups", "0.95"], "12 groups are too few to leave 11 of them out"),
        (["--test-rows", "0.2", "--test-groups", "0.2"], "--test-rows: got --test-groups 0.2, --test-rows"),
        (["--drop", "ill"], "--drop must not name the target or the group: got 'ill'"),
        (["--test-groups", "0"], "--test-groups must satisfy 0 < test_groups < 1"),
        (["--test-rows", "0.001"], "leaves no row to test on"),
        (["--byzantine", "10"], "--byzantine must satisfy 0 <= byzantine < n: got --byzantine 10, n=10"),
        (["--holdout", "1"], "--holdout must satisfy 0 <= holdout < 1"),
        (["--test", "nowhere.csv"], "nowhere.csv: No such file or directory"),
        (["--jobs", "two"], "expected a whole number, got 'two'"),
        (["--check-rows", "5"], "--check-rows is for rows that are shown: add --peer-review"),
        (["--privacy", "1"], "--privacy is for rows that are shown: add --peer-review"),
        (["--expert", "rf"], "--expert is for rows that are shown: add --peer-review"),
        (["--peer-review", "--expert", "no"], "--expert must be one of rf, logistic, nearest, tree"),
        (["--peer-review", "--privacy", "0"], "--privacy must be above 0, or left out"),
        (["--peer-review", "--privacy", "nan"], "--privacy must be finite"),
        (["--peer-review", "--privacy", "much"], "expected a number, got 'much'"),
        (["--peer-review", "--check-rows", "-1"], "number of at least 1, or 'all': got '-1'"),
        (["--peer-review", "--check-rows", "0"], "number of at least 1, or 'all': got '0'"),
        (["--peer-review", "--check-rows", "some"], "number of at least 1, or 'all': got 'some'"),
        (["--peer-review", "--pool", "log"], "--pool is for agreeing on probabilities"),
        (["--peer-review", "--voting", "probabilities", "--trim", "1"], "--trim is for agreeing on prob"),
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
        ("age,clinic,ill\n1,,yes\n", "line 2: clinic is empty; it must say whose row it is"),
        ("age,clinic,ill\n1,a,\n", "line 2: ill is empty; it must say its class"),
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
        ("age,clinic,ill\n1,a,yes\n2,b,no\n", "2 groups are too few to leave 1 of them out"),
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
        "learn", path, "--target", "y", "--group", "g", "--out", tmp_path / "out", "--model", "tree"
    )
    assert found["reports"][0]["classes"] == 2
    assert found["warnings"][:2] == [
        "left out, as they have no values: empty",
        "id has a different word in nearly every row: is it an id? --drop id",
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


def test_voting_in_probabilities(table: Path) -> None:
    found = run_json(*learn(table, "--model", "logistic", "--voting", "probabilities"))
    data = read_table(table, "ill", "clinic")
    models = [
        for_table(each, len(data.feature_names), data.categorical) for each in models_for("logistic", 10)
    ]
    moot = ConsensusClassifier(models, voting="probabilities", random_state=0)
    moot.fit(data.X, data.y, data.groups)
    for place, report in enumerate(moot.sweep(data.X_test, data.y_test, found["byzantine"])):
        assert accuracies(found, place)["consensus"] == report.accuracy()
    assert "probabilities, all ask all, 3 trimmed at either end" in found["reports"][0]["protocol"]
    result = run(*learn(table, "--model", "svm", "--voting", "probabilities", "--pool", "log", "--trim", 0))
    assert result.returncode == 0, result.stderr
    assert "logarithms of probabilities, all ask all, 0 trimmed" in result.stdout
    for name in ("talk about labels", "mean of probabilities", "consensus"):
        assert name in result.stdout
    assert "the model has no predict_proba" in result.stderr
    assert (table.parent / "out" / "report.html").is_file()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--voting", "ranks"], "--voting must be labels or probabilities: got 'ranks'"),
        (["--voting", "probabilities", "--pool", "median"], "--pool must be mean or log: got 'median'"),
        (["--voting", "probabilities", "--alpha", 6], "--alpha is for --voting labels: leave it out"),
        (["--voting", "probabilities", "--k", 5], "--k is for --voting labels: leave it out"),
        (["--voting", "probabilities", "--protocol", "snowball"], "--protocol is for --voting labels"),
        (["--pool", "log"], "--pool is for probabilities: add --voting probabilities"),
        (["--trim", 1], "--trim is for probabilities: add --voting probabilities"),
        (["--voting", "probabilities", "--trim", 5], "--trim must satisfy 0 <= 2 trim < 10"),
        (["--voting", "probabilities", "--trim", -1], "--trim must satisfy 0 <= 2 trim < 10"),
    ],
)
def test_bad_ways_to_vote(table: Path, options: list[Any], why: str) -> None:
    assert_refused(why, *learn(table, *options))

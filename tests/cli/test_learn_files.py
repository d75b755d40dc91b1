"""What ``folkmoot learn`` leaves in its folder, of classes, numbers and texts; models fitted by hand."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score, log_loss, mean_absolute_error, r2_score, root_mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from folkmoot.aggregation import PeerReview
from folkmoot.cli.learn_checks import new_folder
from folkmoot.datasets import read_table
from folkmoot.learning.base_learners import for_table, models_for
from folkmoot.learning.classifier import ConsensusClassifier
from folkmoot.learning.regressor import ConsensusRegressor
from support.command import assert_refused, run, run_json


@pytest.fixture(scope="module")
def cancer() -> pd.DataFrame:
    """Breast cancer of six hospitals, unlike in size."""
    found = load_breast_cancer(as_frame=True)
    frame = found.frame.iloc[:, :6].rename(columns=lambda name: name.replace(" ", "_"))
    rng = np.random.default_rng(0)
    frame["hospital"] = rng.choice(["ely", "york", "bath", "hull", "diss", "wells"], len(frame))
    frame["tumour"] = np.array(["malignant", "benign"])[found.target]
    return frame


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def learn(table: Path, target: str, group: str, *more: Any) -> list[Any]:
    return ["learn", table, "--target", target, "--group", group, "--out", table.parent / "out", *more]


def test_predictions_are_those_of_models_fitted_by_hand(cancer: pd.DataFrame, tmp_path: Path) -> None:
    """Each hospital's pipeline fitted by scikit-learn alone; unanimous rows have one answer only."""
    table = tmp_path / "cancer.csv"
    cancer.to_csv(table, index=False)
    typed = ["--model", "logistic", "--seed", 4, "--believe", "plurality"]
    found = run_json(*learn(table, "tumour", "hospital", *typed))
    (left_out,) = found["test_groups"]
    assert found["task"] == "classification"
    told = rows_of(tmp_path / "out" / "predictions.csv")
    tested = cancer[cancer["hospital"] == left_out]
    assert found["tested"] == (f"tested on the {len(tested)} rows of one group that take no part: {left_out}")
    assert [int(row["line"]) for row in told] == (tested.index + 2).tolist()
    assert [row["truth"] for row in told] == tested["tumour"].tolist()
    assert {row["group"] for row in told} == {left_out}
    columns = cancer.columns[:6]
    votes = np.array(
        [
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            .fit(rows[columns].to_numpy(), rows["tumour"])
            .predict(tested[columns].to_numpy())
            for name, rows in cancer.groupby("hospital")
            if name != left_out
        ]
    )
    share = (votes == "benign").mean(axis=0)
    np.testing.assert_allclose([float(row["p(benign)"]) for row in told], (5 * share + 0.5) / 6, atol=6e-5)
    for row, each in zip(told, share, strict=True):
        if each in (0, 1):
            assert row["answer"] == ("benign" if each else "malignant")
            assert (row["agreement"], row["undecided"]) == ("1.000", "false")
    assert found["reports"][0]["lines"][0]["accuracy"] == pytest.approx(
        np.mean(votes == tested["tumour"].to_numpy())
    )


def test_groups_left_out_are_named_for_people_and_on_the_page(cancer: pd.DataFrame, tmp_path: Path) -> None:
    table = tmp_path / "cancer.csv"
    cancer.to_csv(table, index=False)
    result = run(*learn(table, "tumour", "hospital", "--model", "bayes"))
    assert result.returncode == 0, result.stderr
    (name,) = {row["group"] for row in rows_of(tmp_path / "out" / "predictions.csv")}
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("Tested on")]
    assert line.endswith(f"rows of one group that take no part: {name}.")
    assert line in (tmp_path / "out" / "report.html").read_text()
    data = read_table(table, "tumour", "hospital", test_rows=0.25)
    assert data.tested == "tested on 142 rows, 25% of every group's"
    data = read_table(table, "tumour", "hospital", test=table)
    assert data.tested == "tested on the 569 rows of cancer.csv"


def test_numbers_are_agreed_on(tmp_path: Path) -> None:
    """Eight clinics with a ridge each; the errors are those that scikit-learn gives by hand."""
    data = load_diabetes(as_frame=True, scaled=False)
    frame = data.frame.rename(columns={"target": "progression"})
    frame["clinic"] = np.random.default_rng(1).integers(1, 9, len(frame))
    table = tmp_path / "diabetes.csv"
    frame.to_csv(table, index=False)
    scores = ["--score", "r2,neg_mean_absolute_error"]
    typed = ["--model", "linear", "--malicious", 2, "--believe", "trimmed-mean", *scores]
    result = run(*learn(table, "progression", "clinic", *typed))
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    assert (found["task"], found["malicious"]) == ("regression", [0, 1, 2])
    left_out = [int(name) for name in found["test_groups"]]
    tested, train = frame[frame["clinic"].isin(left_out)], frame[~frame["clinic"].isin(left_out)]
    columns = data.data.columns
    each = np.array(
        [
            make_pipeline(StandardScaler(), Ridge()).fit(rows[columns].to_numpy(), rows["progression"])
            .predict(tested[columns].to_numpy())
            for _, rows in train.groupby("clinic")
        ]
    )  # fmt: skip
    truth = tested["progression"].to_numpy()
    errors = {line["name"]: line["error"] for line in found["reports"][0]["lines"]}
    assert errors["mean participant"] == pytest.approx(
        np.mean([root_mean_squared_error(truth, own) for own in each])
    )
    assert errors["mean"] == pytest.approx(root_mean_squared_error(truth, each.mean(axis=0)))
    told = rows_of(tmp_path / "out" / "predictions.csv")
    answers = np.array([float(row["answer"]) for row in told])
    # What is agreed on is within what they say, one trimmed at either end.
    inside = np.sort(each, axis=0)[1:-1]
    assert (answers >= inside.min(axis=0) - 1e-3).all()
    assert (answers <= inside.max(axis=0) + 1e-3).all()
    assert root_mean_squared_error(truth, answers) == pytest.approx(errors["consensus"], rel=1e-4)
    assert "Error, by how many are malicious:" in result.stdout
    scored = {line["name"]: line["scores"] for line in found["reports"][0]["lines"]}
    assert scored["consensus"]["r2"] == pytest.approx(r2_score(truth, answers), abs=1e-5)
    assert scored["mean participant"]["neg_mean_absolute_error"] == pytest.approx(
        -np.mean([mean_absolute_error(truth, own) for own in each])
    )
    people, names = rows_of(tmp_path / "out" / "participants.csv"), sorted(set(train["clinic"]))
    for row, own, name in zip(people, each, names, strict=True):
        assert row["name"] == str(name)
        assert float(row["error"]) == pytest.approx(root_mean_squared_error(truth, own))
    assert found["reports"][0]["joining"] == []
    assert "test on a share of every group's rows" in result.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert "only numbers were exchanged" in page
    assert f"{errors['consensus']:.4g}" in page


def test_whole_numbers_may_be_classes_or_numbers(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"size": rng.normal(size=240), "who": rng.integers(0, 5, 240)})
    frame["grade"] = rng.integers(1, 21, 240)
    frame["mark"] = rng.integers(1, 22, 240)
    table = tmp_path / "grades.csv"
    frame.to_csv(table, index=False)
    for target, numeric in (("grade", False), ("mark", True)):
        assert read_table(table, target, "who").numeric == numeric
        forced = read_table(table, target, "who", task="regression")
        assert (forced.numeric, forced.classes.tolist()) == (True, [])
        assert forced.y_test is not None
        assert sorted([*forced.y, *forced.y_test]) == sorted(frame[target])
        assert read_table(table, target, "who", task="classification").classes.tolist() == [
            str(i) for i in sorted(set(frame[target]))
        ]
    found = run_json(
        *learn(table, "mark", "who", "--answers", "labels", "--model", "tree"),
        "--malicious", 0,
    )  # fmt: skip
    assert (found["task"], found["reports"][0]["classes"]) == ("classification", 21)
    shown = run(*learn(table, "grade", "who", "--model", "tree", "--malicious", 0, "--overwrite")).stdout
    assert shown.startswith("Classification: grade is 20 classes (--answers numbers if it should not be).")


def test_peer_review_of_numbers_is_that_of_the_estimator(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"a": rng.normal(size=200), "who": rng.integers(0, 6, 200)})
    frame["b"] = frame["a"] * 3 + rng.normal(size=200)
    table = tmp_path / "t.csv"
    frame.to_csv(table, index=False)
    options = ("--model", "linear", "--malicious", 0)
    found = run_json(*learn(table, "b", "who", *options, "--believe", "peer-review"))
    data = read_table(table, "b", "who")
    rows = int(np.minimum(10, data.summary().sizes // 2).sum())
    assert found["shown"] == f"shown to everybody: {rows} rows of 5 participants, inputs and numbers"
    assert f"S{found['shown'][1:]}" in (tmp_path / "out" / "report.html").read_text()
    model = for_table(models_for("linear", 1, numbers=True)[0], 1, ())
    moot = ConsensusRegressor([model], aggregation=PeerReview(), holdout=0.2, random_state=0)
    moot.fit(data.X, data.y, data.groups)
    report = moot.report(data.X_test, data.y_test)
    errors = {line["name"]: line["error"] for line in found["reports"][0]["lines"]}
    assert errors["consensus"] == report.score()
    assert errors["consensus"] != errors["trimmed mean"]


def test_scores_are_scikit_learn_s(cancer: pd.DataFrame, tmp_path: Path) -> None:
    """Of the answers in predictions.csv, computed by scikit-learn from the file."""
    table = tmp_path / "cancer.csv"
    cancer.to_csv(table, index=False)
    options = ["--model", "bayes", "--malicious", 0, "--score", "f1_macro, neg_log_loss,f1_micro"]
    found = run_json(*learn(table, "tumour", "hospital", *options))
    told = pd.DataFrame(rows_of(tmp_path / "out" / "predictions.csv"))
    lines = {line["name"]: line["scores"] for line in found["reports"][0]["lines"]}
    scores = lines["consensus"]
    assert {"f1_macro", "neg_log_loss", "f1_micro"} <= set(scores)
    assert scores["f1_macro"] == pytest.approx(f1_score(told["truth"], told["answer"], average="macro"))
    assert scores["f1_micro"] == pytest.approx(f1_score(told["truth"], told["answer"], average="micro"))
    chances = told[["p(benign)", "p(malignant)"]].astype(float)
    assert scores["neg_log_loss"] == pytest.approx(-log_loss(told["truth"], chances), abs=1e-4)
    assert "neg_log_loss" not in lines["majority"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "neg_log_loss" in page
    assert f"{scores['f1_micro']:.3f}" in page


def test_notes_name_the_classes(tmp_path: Path) -> None:
    """One class of 19 in 20, of which accuracy and macro F1 tell different stories."""
    rng = np.random.default_rng(0)
    shops = rng.choice(["ely", "york", "bath", "hull"], 600)
    frame = pd.DataFrame({"a": rng.normal(size=600), "shop": shops})
    frame["state"] = np.where((frame["a"] > 1.3) & (rng.random(600) < 0.6), "broken", "sound")
    table = tmp_path / "t.csv"
    frame.to_csv(table, index=False)
    options = ["--model", "logistic", "--malicious", 0, "--test-rows", 0.3]
    result = run(*learn(table, "state", "shop", *options), "--score", "f1_macro")
    assert "some classes are answered much worse than others" in result.stdout
    assert "\nf1_macro, by how many" in result.stdout


def test_nothing_is_overwritten_silently(
    cancer: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancer.to_csv(tmp_path / "cancer.csv", index=False)
    monkeypatch.chdir(tmp_path)
    for name in ("folkmoot-learn", "folkmoot-learn-2"):
        assert new_folder(None, overwrite=False) == Path(name)
        (tmp_path / name).mkdir()
        (tmp_path / name / "moot.skops").write_text("of an earlier run")
    assert new_folder(None, overwrite=True) == Path("folkmoot-learn")
    bare = ["learn", "cancer.csv", "--target", "tumour", "--group", "hospital", "--model", "bayes"]
    options = ["--malicious", 0, "--test-rows", 0.2]
    assert_refused(
        "--out would overwrite folkmoot-learn/moot.skops: name another place, or add --overwrite",
        *bare, *options, "--out", "folkmoot-learn",
    )  # fmt: skip
    assert (tmp_path / "folkmoot-learn" / "moot.skops").read_text() == "of an earlier run"
    result = run(*bare, *options, "--out", "folkmoot-learn", "--overwrite")
    assert "wrote folkmoot-learn/report.html" in result.stderr
    assert (tmp_path / "folkmoot-learn" / "moot.skops").read_bytes()[:2] == b"PK"


def test_texts(tmp_path: Path) -> None:
    """Three words of eight tell; without the texts nothing does."""
    rng = np.random.default_rng(0)
    good, bad = ["fresh", "warm", "kind", "sunny"], ["stale", "cold", "rude", "rainy"]
    plain = ["room", "bread", "street", "boat", "garden", "market"]
    with (tmp_path / "reviews.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["stars", "review", "town", "shop", "verdict"])
        for i in range(240):
            label = rng.integers(0, 2)
            words = [*rng.choice(good if label else bad, 3), *rng.choice(plain, 5)]
            text = "" if i == 5 else " ".join(rng.permutation(words))
            town = rng.choice(["ely", "york"])
            writer.writerow([rng.integers(1, 6), text, town, f"shop {i % 4}", ("no", "yes")[label]])
    table = tmp_path / "reviews.csv"
    for model in ("logistic", "svm", "tree"):
        with pytest.warns(UserWarning, match=r"review holds texts: .* \(TF-IDF\), unless it is dropped"):
            data = read_table(table, "verdict", "shop")
        assert (data.texts, data.categorical, data.X[0, 1]) == ((1,), (2,), rows_of(table)[0]["review"])
        without = read_table(table, "verdict", "shop", drop=["review"])
        right = []
        for each in (data, without):
            models = [
                for_table(m, len(each.feature_names), each.categorical, each.texts)
                for m in models_for(model, 3)
            ]
            moot = ConsensusClassifier(models, random_state=0).fit(each.X, each.y, each.groups)
            right.append(moot.score(each.X_test, each.y_test))
        assert right[0] > right[1] + 0.15
    found = run_json(*learn(table, "verdict", "shop", "--model", "logistic", "--malicious", 0))
    assert found["reports"][0]["lines"][-1]["accuracy"] > 0.7


@pytest.mark.parametrize(
    ("columns", "group", "message"),
    [
        ("id,a,y", "id", "--group must name the column of owners, and 'id' is another in every row of"),
        ("all,a,y", "all", "--group must name a column of at least two participants: in 'all' all rows of"),
    ],
)
def test_groups_that_are_none(tmp_path: Path, columns: str, group: str, message: str) -> None:
    rows = [f"{f'n{i}' if group == 'id' else 'one'},{i % 7},{('no', 'yes')[i % 2]}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join([columns, *rows]))
    assert_refused(message, *learn(tmp_path / "t.csv", "y", group))


def test_groups_that_are_nearly_none(tmp_path: Path) -> None:
    rows = [f"{i if i < 30 else 'shared'},{i % 7},{('no', 'yes')[i % 2]}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["id,a,y", *rows]))
    with pytest.warns(UserWarning, match=r"30 of 31 groups have one row to .*: is 'id' the column of owners"):
        read_table(tmp_path / "t.csv", "y", "id")


@pytest.mark.parametrize(("first", "warned"), [(0, True), (1, True), (2, False)])
def test_a_row_counter_is_told_of(tmp_path: Path, first: int, warned: bool) -> None:
    rows = [f"{i + first},{i % 7},{i % 4},{('no', 'yes')[i % 7 > 3]}" for i in range(40)]
    table = tmp_path / "t.csv"
    table.write_text("\n".join([",a,who,y", *rows]))
    line = "the column without a name numbers the rows, which cannot help with new ones: drop it"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_table(table, "y", "who")
    assert any(str(each.message).startswith(line) for each in caught) == warned
    if first == 0:
        options = ["--model", "bayes", "--malicious", 0]
        assert run_json(*learn(table, "y", "who", *options, "--drop", ""))["warnings"] == []

"""``folkmoot predict``: a moot from a file answers new rows as the estimator does; bad files in one line."""

from __future__ import annotations

import csv
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

from folkmoot import Snowball, StrongConfidence
from folkmoot.aggregation import Auto, HoldoutTrust, PeerReview, Plurality, Pool
from folkmoot.cli.output import collected_warnings
from folkmoot.datasets import read_table
from folkmoot.learning.base_learners import for_table, models_for
from folkmoot.learning.classifier import ConsensusClassifier
from folkmoot.learning.regressor import ConsensusRegressor
from folkmoot.runs.learned import LearnedMoot, read_moot
from support.command import assert_refused, run, run_json

TOWNS = ["ely", "york", "bath"]


def write_rows(path: Path, rows: int, seed: int, *, header: bool = True) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    written = []
    for i in range(rows):
        age, pressure, town = rng.normal(), rng.normal(), str(rng.choice(TOWNS))
        ill = age + pressure + (town == "york") + 0.5 * rng.normal() > 0.5
        shown = "" if i == 3 else f"{pressure:.4f}"
        written.append([f"{age:.4f}", shown, town, f"clinic {i % 5}", "yes" if ill else "no"])
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["age", "pressure", "town", "clinic", "ill"]] * header + written)
    return written


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that ``learn`` has filled."""
    folder = tmp_path_factory.mktemp("learnt")
    write_rows(folder / "patients.csv", 150, 0)
    result = run(
        "learn", folder / "patients.csv", "--target", "ill", "--group", "clinic", "--out", folder / "out",
        "--model", "tree", "--malicious", 0, "--believe", "plurality",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert f"for new rows: folkmoot predict {folder / 'out' / 'moot.skops'} NEW.csv" in result.stderr
    return folder / "out"


@pytest.fixture
def new(tmp_path: Path) -> Path:
    write_rows(tmp_path / "new.csv", 40, 1)
    return tmp_path / "new.csv"


def by_hand(learnt: Path) -> tuple[Any, ConsensusClassifier]:
    data = read_table(learnt.parent / "patients.csv", "ill", "clinic")
    model = for_table(models_for("tree", 1)[0], 3, (2,))
    return data, ConsensusClassifier([model], random_state=0).fit(data.X, data.classes[data.y], data.groups)


def test_new_rows_are_answered_as_the_estimator_would(learnt: Path, new: Path, tmp_path: Path) -> None:
    _, moot = by_hand(learnt)
    found = run_json("predict", learnt, new, "--out", tmp_path / "answers.csv")
    with new.open(newline="") as file:
        rows = list(csv.DictReader(file))
    X = np.array(
        [[float(r["age"]), float(r["pressure"] or "nan"), sorted(TOWNS).index(r["town"])] for r in rows]
    )
    with collected_warnings():
        answers, likely = moot.predict(X), moot.predict_proba(X)
        outcome = moot.deliberate(X)
    assert found["answers"] == answers.tolist()
    assert found["classes"] == ["no", "yes"]
    np.testing.assert_allclose(found["probabilities"], likely)
    np.testing.assert_allclose(found["agreement"], outcome.agreement)
    assert found["undecided"] == (outcome.decision == -1).tolist()
    assert found["lines"] == list(range(2, 42))
    assert (found["rows"], found["participants"], found["target"]) == (40, 4, "ill")
    assert found["accuracy"] == np.mean(answers == [r["ill"] for r in rows])
    with (tmp_path / "answers.csv").open(newline="") as file:
        told = list(csv.DictReader(file))
    assert [(r["line"], r["group"], r["truth"], r["answer"]) for r in told] == [
        (str(i + 2), r["clinic"], r["ill"], answer)
        for i, (r, answer) in enumerate(zip(rows, answers, strict=True))
    ]
    np.testing.assert_allclose([float(r["p(yes)"]) for r in told], likely[:, 1], atol=6e-5)


def test_columns_are_found_by_name_in_any_order(learnt: Path, new: Path, tmp_path: Path) -> None:
    with new.open(newline="") as file:
        rows = list(csv.DictReader(file))
    other = tmp_path / "other.csv"
    with other.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["note", "town", "pressure", "age"])
        writer.writerows(
            ["x", r["town"], r["pressure"].replace(".", ","), r["age"].replace(".", ",")] for r in rows
        )
    one, two = run_json("predict", learnt / "moot.skops", new), run_json("predict", learnt, other)
    assert one["answers"] == two["answers"]
    assert "accuracy" not in two
    assert two["warnings"][0] == "not used, as the moot did not learn from them: note"
    assert not any("not used" in line for line in one["warnings"])


def test_for_people(learnt: Path, new: Path) -> None:
    result = run("predict", learnt, new)
    assert result.returncode == 0, result.stderr
    assert "ill of 40 rows, by 4 participants:" in result.stdout
    assert "... and 20 more: --all shows them" in result.stdout
    assert "right: 0." in result.stdout
    assert len(run("predict", learnt, new, "--all").stdout.splitlines()) > 40
    new.write_text("age,pressure,town\n0.3,0.1,leeds\n")
    result = run("predict", learnt, new)
    assert "ill of 1 row, by 4 participants:" in result.stdout
    assert (
        "town has words that the moot has not seen, so it ignores them: leeds (it knows bath, ely, york)"
        in result.stderr
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age,town\n1,ely\n", "new.csv has no column 'pressure', from which the moot learnt: it has age"),
        ("town\nely\n", "new.csv has no columns 'age', 'pressure', from which the moot learnt"),
        ("age,Pressure,town\n1,2,ely\n", "Pressure, town; is 'Pressure' what was 'pressure'? rename it"),
        ("age,presure,town\n1,2,ely\n", "is 'presure' what was 'pressure'? rename it"),
        ("age,pressure,town\n1,high,ely\n", "new.csv, line 2: pressure must be a number: got 'high'"),
        ("age,pressure,town\n", "has a header and no rows"),
        ("1,2,ely\n3,4,ely\n", "has no header: its first line is 1, 2, ely"),
        ("", "is empty: expected a first line"),
        ("age,pressure,town\n1,2\n", "line 2: expected 3 cells, got 2"),
    ],
)  # fmt: skip
def test_bad_rows(learnt: Path, new: Path, text: str, message: str) -> None:
    new.write_text(text)
    assert_refused(message, "predict", learnt, new)


def test_bad_places(learnt: Path, new: Path, tmp_path: Path) -> None:
    assert_refused("nowhere.csv: No such file or directory", "predict", learnt, "nowhere.csv")
    assert_refused("nowhere.skops: No such file or directory", "predict", "nowhere.skops", new)
    assert_refused("moot.skops: No such file or directory", "predict", tmp_path, new)
    assert_refused("--out must name a file", "predict", learnt, new, "--out", tmp_path)
    assert_refused(
        "--out must name a file in a folder that exists",
        "predict",
        learnt,
        new,
        "--out",
        tmp_path / "a" / "b",
    )
    (tmp_path / "there.csv").write_text("mine")
    assert_refused("--out would overwrite", "predict", learnt, new, "--out", tmp_path / "there.csv")
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert run("predict", learnt, new, "--out", tmp_path / "there.csv", "--overwrite").returncode == 0


def rewritten(source: Path, target: Path, change: Callable[[Any], None]) -> Path:
    """The file with another schema."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as made:
        for name in old.namelist():
            content = old.read(name)
            if name == "schema.json":
                schema = json.loads(content)
                change(schema)
                content = json.dumps(schema).encode()
            made.writestr(name, content)
    return target


def entry(schema: Any, key: str) -> Any:
    return schema["content"][key]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: entry(s, "folkmoot").update(content='"0.1.0"'), "was made by folkmoot 0.1.0, and this is"),
        (lambda s: entry(s, "what").update(content='"something"'), "must be a moot of folkmoot learn"),
        (lambda s: s["content"].pop("layout"), "is damaged: KeyError: 'layout'"),
        (lambda s: entry(entry(s, "layout"), "features")["content"].pop(),
         "is damaged: ValueError: expected that every column is numbers, words or texts"),
        (lambda s: entry(s, "moot").update(__class__="Popen", __module__="subprocess"),
         "must hold allowed types only: it has subprocess.Popen"),
        (lambda s: entry(s, "moot").update(__class__="Nothing", __module__="folkmoot.learning.classifier"),
         "allowed types only: it has folkmoot.learning.classifier.Nothing; folkmoot learn makes no such"),
        (lambda s: s.clear(), "must be a file that skops wrote"),
    ],
)  # fmt: skip
def test_files_that_were_changed(
    learnt: Path, new: Path, tmp_path: Path, change: Callable[[Any], None], message: str
) -> None:
    changed = rewritten(learnt / "moot.skops", tmp_path / "changed.skops", change)
    assert_refused(message, "predict", changed, new)


def test_other_files(learnt: Path, new: Path, tmp_path: Path) -> None:
    other = tmp_path / "model.skops"
    skops.io.dump(LogisticRegression().fit([[0], [1]], [0, 1]), other)
    assert_refused(
        "must be a moot of folkmoot learn (moot.skops): it holds a LogisticRegression", "predict", other, new
    )
    skops.io.dump({"what": FunctionTransformer(os.getcwd)}, other)
    assert_refused("it has posix.getcwd (which can run code)", "predict", other, new)
    other.write_text("no archive")
    assert_refused("must be a file that skops wrote", "predict", other, new)
    shutil.copy(learnt / "moot.skops", other)
    whole = other.read_bytes()
    other.write_bytes(whole[: len(whole) // 2])
    assert_refused("must be a file that skops wrote", "predict", other, new)
    other.write_bytes(whole[:5000] + bytes(50) + whole[5050:])  # an array that is not what it was
    assert_refused("must be a file that skops wrote", "predict", other, new)
    assert_refused("must be a file that skops wrote", "predict", new, new)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("nearest", {"aggregation": PeerReview(rows=5)}),
        ("bayes", {"aggregation": PeerReview(label_epsilon=2.0), "voting": "probabilities"}),
        ("bayes", {"aggregation": HoldoutTrust()}),
        ("tree", {"aggregation": Plurality(least=2)}),
        ("tree", {"aggregation": Auto()}),
        ("mixed", {"voting": "probabilities", "aggregation": Pool("log")}),
        ("svm", {"protocol": Snowball(2, StrongConfidence(), 4)}),
    ],
)
def test_every_kind_of_moot_comes_back_the_same(
    learnt: Path, tmp_path: Path, model: str, options: dict[str, Any]
) -> None:
    data = read_table(learnt.parent / "patients.csv", "ill", "clinic", test_rows=0.4)
    models = [for_table(each, 3, (2,)) for each in models_for(model, 5)]
    moot = ConsensusClassifier(models, random_state=0, **options)
    moot.fit(data.X, data.classes[data.y], data.groups)
    assert data.layout is not None
    assert data.X_test is not None
    learned = LearnedMoot(moot, data.layout)
    learned.save(tmp_path / "moot.skops")
    again = read_moot(tmp_path)
    with collected_warnings():
        one, two = learned.answers(data.X_test), again.answers(data.X_test)
        assert one.answer.tolist() == moot.predict(data.X_test).tolist()
    assert one.to_dict() == two.to_dict()
    assert again.layout == data.layout


@pytest.mark.parametrize("model", ["tree", "mixed"])
def test_moots_on_numbers(learnt: Path, tmp_path: Path, model: str) -> None:
    table = learnt.parent / "patients.csv"
    data = read_table(table, "age", "clinic", test_rows=0.4)
    models = [for_table(each, 3, data.categorical) for each in models_for(model, 5, numbers=True)]
    moot = ConsensusRegressor(models, aggregation=PeerReview(), random_state=0)
    moot.fit(data.X, data.y, data.groups)
    assert data.layout is not None
    LearnedMoot(moot, data.layout).save(tmp_path / "moot.skops")
    found = run_json("predict", tmp_path / "moot.skops", table)
    whole = data.layout.rows(read_again(table))
    np.testing.assert_allclose(found["answers"], moot.predict(whole))
    np.testing.assert_allclose(read_moot(tmp_path).predict(table), moot.predict(whole))
    frame = pd.read_csv(table, dtype=str)
    np.testing.assert_allclose(read_moot(tmp_path).predict(frame), moot.predict(whole))
    each = np.array([own.predict(whole) for own in moot.estimators_])
    np.testing.assert_allclose(found["spread"], each.max(axis=0) - each.min(axis=0))
    with table.open(newline="") as file:
        truth = [float(row["age"]) for row in csv.DictReader(file)]
    assert found["error"] == pytest.approx(np.sqrt(np.mean((np.array(found["answers"]) - truth) ** 2)))
    assert "root mean squared error: " in run("predict", tmp_path, table).stdout


def read_again(path: Path) -> Any:
    from folkmoot.datasets.sheets import read_sheet

    return read_sheet(path, ["age"])


def test_a_moot_that_reads_texts(tmp_path: Path) -> None:
    """Hashed words: what the file holds says none of them."""
    words = ["fresh warm kind", "stale cold rude"]
    plain = ["room", "bread", "street", "boat", "garden"]
    rng = np.random.default_rng(0)
    rows = [
        f"{' '.join([words[i % 2], *rng.choice(plain, 4)])},{i // 2 % 3},{('yes', 'no')[i % 2]}"
        for i in range(90)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["review,shop,good", *rows]))
    with pytest.warns(UserWarning, match="review holds texts"):
        data = read_table(tmp_path / "t.csv", "good", "shop", test_rows=0.3)
    models = [for_table(each, 1, (), data.texts) for each in models_for("logistic", 3)]
    moot = ConsensusClassifier(models, random_state=0).fit(data.X, data.classes[data.y], data.groups)
    assert data.layout is not None
    LearnedMoot(moot, data.layout).save(tmp_path / "moot.skops")
    (tmp_path / "new.csv").write_text("review\na warm and kind boat\nhow rude and cold\n\n")
    found = run_json("predict", tmp_path, tmp_path / "new.csv")
    assert found["answers"] == ["yes", "no"]
    assert found["answers"] == moot.predict(data.layout.rows(read_again(tmp_path / "new.csv"))).tolist()
    with zipfile.ZipFile(tmp_path / "moot.skops") as archive:
        assert not any(b"rude" in archive.read(name) for name in archive.namelist())

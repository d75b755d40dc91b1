"""Models of every kind, in files that this test makes, beside what the models themselves answer."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
import pandas
import pytest
import skops.io
from onnx import TensorProto
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from folkmoot.node.service.models import Model, load_model
from folkmoot.node.service.node_file import ModelTable
from support.onnx_files import write_onnx

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
CLASSES = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
WORDS = np.array(["lär", "ma lign", "unsure"])[CLASSES]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in, and no trace of its modules afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize(("labels", "known"), [(CLASSES, ["0", "1", "2"]), (WORDS, sorted(set(WORDS)))])
def test_skops(here: Path, labels: npt.NDArray[Any], known: list[str]) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, labels)
    skops.io.dump(model, "model.skops")
    found = load_model("model.skops")
    assert found.predict(X) == [str(each) for each in model.predict(X)]
    assert (found.labels, found.columns, found.spec) == (known, 3, "model.skops")
    assert found.predict(np.empty((0, 3))) == []
    assert load_model(str(here / "model.skops")).predict(X.tolist()) == found.predict(X)


@pytest.mark.usefixtures("here")
def test_a_tree_loads_without_being_asked_about() -> None:
    model = DecisionTreeClassifier(max_depth=3).fit(X, CLASSES.astype(float))
    skops.io.dump(model, "tree.skops")
    found = load_model(ModelTable("file", "tree.skops", allow=("something.else",)))
    assert found.predict(X) == [str(int(each)) for each in model.predict(X)]
    assert found.labels == ["0", "1", "2"]


def test_allowed_types_of_the_current_folder(here: Path) -> None:
    (here / "homemade.py").write_text(
        "class Sign:\n    classes_ = [-1, 1]\n    def __init__(self): self.column = 1\n"
        "    def predict(self, X): return [1 if row[self.column] > 0 else -1 for row in X]\n"
    )
    sys.path.insert(0, str(here))
    import homemade  # type: ignore[import-not-found]

    skops.io.dump(homemade.Sign(), "sign.skops")
    joblib.dump(homemade.Sign(), "sign.joblib")
    right = ["1" if each > 0 else "-1" for each in X[:, 1]]
    sys.path.remove(str(here))
    for spec in ("sign.skops", "sign.joblib"):
        del sys.modules["homemade"]
        found = load_model(ModelTable("file", spec, allow=("homemade.Sign",)), trust_pickle=True)
        assert found.predict(X) == right
    with pytest.raises(ValueError, match=r"it has homemade\.Sign"):
        load_model("sign.skops")


@pytest.mark.parametrize("suffix", ["pkl", "pickle", "joblib"])
@pytest.mark.usefixtures("here")
def test_pickles_only_when_they_are_trusted(suffix: str) -> None:
    class Boom:
        def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
            return Path.touch, (Path("boom"),)  # type: ignore[return-value]

    Path(f"evil.{suffix}").write_bytes(pickle.dumps(Boom()))
    with pytest.raises(ValueError, match=r"unpickling runs whatever code .* skops .* add trust_pickle"):
        load_model(f"evil.{suffix}")
    assert not Path("boom").exists()

    model = DecisionTreeClassifier(max_depth=3).fit(X, WORDS)
    for library in (pickle, joblib):
        with Path(f"model.{suffix}").open("wb") as file:
            library.dump(model, file)
        found = load_model(f"model.{suffix}", trust_pickle=True)
        assert found.predict(X) == model.predict(X).tolist()
        assert (found.labels, found.columns) == (sorted(set(WORDS)), 3)


@pytest.mark.parametrize("type_", [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64])
@pytest.mark.parametrize("words", [None, ["röd", "grön", "blå"]])
@pytest.mark.usefixtures("here")
def test_onnx(words: list[str] | None, type_: int) -> None:
    write_onnx(Path("model.onnx"), words=words, type_=type_)
    inputs = np.round(X * 50)
    found = load_model("model.onnx")
    names = words or ["10", "20", "30"]
    assert found.predict(np.asfortranarray(inputs)) == [names[each] for each in inputs.argmax(axis=1)]
    assert (found.labels, found.columns) == (None, 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": 2}, r"have one input, all columns: it has 2 \(x0, x1\)"),
        ({"shape": (1, 3)}, r"its input x0 has shape \[1, 3\]; export it with a first dimension"),
        ({"shape": ("rows",)}, "its input x0 has shape"),
        ({"type_": TensorProto.STRING}, r"take numbers: its input x0 is a tensor\(string\)"),
    ],
)
@pytest.mark.usefixtures("here")
def test_onnx_that_no_node_can_run(changes: dict[str, Any], message: str) -> None:
    write_onnx(Path("model.onnx"), **changes)
    with pytest.raises(ValueError, match=rf"^model model\.onnx must .*{message}"):
        load_model("model.onnx")


@pytest.mark.usefixtures("here")
def test_onnx_of_any_width_and_of_scores_first() -> None:
    write_onnx(Path("model.onnx"), shape=("rows", "columns"))
    assert load_model("model.onnx").columns is None
    write_onnx(Path("scores.onnx"), scores=True)
    with pytest.raises(
        ValueError, match=r"scores\.onnx must answer one label per row, 40 in all: got shape \(40, 3\)"
    ):
        load_model("scores.onnx").predict(X)


@pytest.mark.usefixtures("here")
def test_without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    write_onnx(Path("model.onnx"))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ValueError, match=r'needs onnxruntime: pip install "folkmoot\[onnx\]"$'):
        load_model("model.onnx")


def test_functions_of_the_current_folder(here: Path) -> None:
    (here / "rules").mkdir()
    (here / "rules" / "__init__.py").write_text("")
    (here / "rules" / "signs.py").write_text(
        "import numpy\ndef sign(X):\n    from rules import late\n    return numpy.sign(X[:, 0])\n"
        "sign.labels = (-1, 0.0, '1')\nsign.columns = 3\n"
        "class Kept:\n    def predict(self, X): return [True] * len(X)\nkept = Kept()\nnumber = 7\n"
        "class Demanding(Kept):\n    def __init__(self, x): pass\n"
    )
    (here / "rules" / "late.py").write_text("")
    found = load_model("rules.signs:sign")
    assert (found.labels, found.columns) == (["-1", "0", "1"], 3)
    assert found.predict(X) == ["1" if each > 0 else "-1" for each in X[:, 0]]
    for spec in ("kept.predict", "kept", "Kept"):
        assert load_model(f"rules.signs:{spec}").predict(X) == ["True"] * 40
    for spec, message in [
        ("rules.signs:nothing", r"must name something in rules\.signs: there is no nothing"),
        ("rules.signs:number", "must be a function, or an object with a method predict: number is a int"),
        ("rules.signs:Demanding", "must be a class that needs no arguments: TypeError"),
        ("rules.none:f", r"there is no rules\.none, neither installed nor in the current folder"),
        ("nowhere.none:f", "there is no nowhere, neither installed nor in the current folder"),
    ]:
        with pytest.raises(ValueError, match=message):
            load_model(spec)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def f(:", "SyntaxError"),
        ("raise SystemExit('usage: f')", "SystemExit: usage: f"),
        (
            "def f(X): pass\nf.columns = 'three'",
            "columns of broken:f must be a number of at least 1: got 'three'",
        ),
        ("def f(X): pass\nf.labels = [None]", "model broken:f must answer with labels: .*got None"),
    ],
)
def test_modules_that_fail_are_told_with_their_error(here: Path, code: str, message: str) -> None:
    (here / "broken.py").write_text(code)
    with pytest.raises(ValueError, match=message):
        load_model("broken:f")


def test_the_command_s_folder_is_importable_without_python_m(here: Path) -> None:
    """A script's own folder is the first of its path, not the current one."""
    (here / "scripts").mkdir()
    (here / "mine.py").write_text("def f(X): return [row.sum() > 0 for row in X]")
    script = here / "scripts" / "command.py"
    script.write_text(
        "import sys\nfrom folkmoot.node.service.models import load_model\n"
        "print(*load_model('mine:f').predict([[1.0], [-1.0]]))\n"
        "assert not {'sklearn', 'skops', 'joblib', 'onnxruntime'} & set(sys.modules)\n"
    )
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("True False\n", "")


@pytest.mark.parametrize(
    ("answers", "texts"),
    [
        ([1, 2], ["1", "2"]),
        ([1.0, -0.0], ["1", "0"]),
        ([0.5, 1e300], ["0.5", "1e+300"]),
        (np.array([0.1, 3], dtype=np.float32), ["0.1", "3"]),
        (np.array([[3], [4]], dtype=np.uint8), ["3", "4"]),
        (["a", "b c"], ["a", "b c"]),
        (np.array(["1", 2], dtype=object), ["1", "2"]),
        (np.array([b"x", "ö".encode()]), ["x", "ö"]),
        (np.array([True, False]), ["True", "False"]),
        (pandas.Series(["x", "y"], index=[5, 3]), ["x", "y"]),
        (pandas.Series(["x", "y"], dtype="category"), ["x", "y"]),
    ],
)
def test_labels_as_text(answers: Any, texts: list[str]) -> None:
    found = Model("m:f", lambda _: answers).predict(X[:2])
    assert found == texts
    assert {type(each) for each in found} == {str}


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (["a"], r"model m:f must answer one label per row, 2 in all: got shape \(1,\)"),
        (["a", "b", "c"], r"got shape \(3,\)"),
        (np.zeros((2, 3)), r"got shape \(2, 3\)"),
        ([["a"], ["b", "c"]], "must answer one label per row, 2 in all: got list"),
        ("ab", "got str"),
        (None, "got NoneType"),
        ([], "got list"),
        (["a", {}], "model m:f must answer with labels: a label must be text or a finite number: got {}"),
        ([0.5, np.nan], "must answer with labels: .*got .*nan"),
        (np.array([1 + 2j, 1]), "must answer with labels"),
        (np.array([b"\xff", b"a"]), "must answer with labels"),
    ],
)
def test_answers_that_are_no_labels(answers: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Model("m:f", lambda _: answers).predict(X[:2])


def test_none_is_no_vote() -> None:
    assert Model("m:f", lambda _: ["a", None]).predict(X[:2]) == ["a", None]


@pytest.mark.parametrize("sandbox", [True, False])
def test_an_object_or_a_class_of_python_is_asked_as_an_estimator(here: Path, sandbox: bool) -> None:
    (here / "own_model.py").write_text(
        "import os, numpy as np\nclass Heart:\n    classes_ = ['no', 'yes']\n    n_features_in_ = 3\n"
        "    def predict(self, X):\n        if X[0, 0] == 99: os._exit(7)\n"
        "        return [self.classes_[int(row[0] > 0)] for row in X]\n"
        "    def predict_proba(self, X): return np.array([[0.25, 0.75]] * len(X))\nheart = Heart()\n"
    )
    for spec in ("own_model:heart", "own_model:Heart"):
        found = load_model(spec, hidden=here if sandbox else None)
        assert (found.labels, found.columns) == (["no", "yes"], 3)
        assert found.predict(X) == ["yes" if each > 0 else "no" for each in X[:, 0]]
        assert found.probabilities(X[:1], ["yes", "no"]).tolist() == [[0.75, 0.25]]
        if found.worker is not None:
            assert "code of this node's owner, in a process of its own" in found.confinement
            with pytest.raises(ValueError, match="its process has ended with code 7"):
                found.predict(np.full((1, 3), 99.0))
            assert found.predict(X[:1]) == ["yes" if X[0, 0] > 0 else "no"]  # another process
            found.worker.close()


@pytest.mark.parametrize("words", [None, ["röd", "grön", "blå"]])
@pytest.mark.parametrize("zipmap", [True, False])
@pytest.mark.usefixtures("here")
def test_probabilities_of_onnx(words: list[str] | None, zipmap: bool) -> None:
    """As converters write them: a map by label for each row, or a column for each."""
    write_onnx(Path("model.onnx"), words=words, chances=True, zipmap=zipmap)
    names = words or ["10", "20", "30"]
    found = load_model(ModelTable("file", "model.onnx", labels=None if zipmap else tuple(names)))
    assert sorted(found.labels or []) == sorted(names)
    powers = np.exp(X.astype(np.float32))
    wanted = powers / powers.sum(axis=1, keepdims=True)
    order = [2, 0, 1]
    likely = found.probabilities(X, [names[i] for i in order])
    np.testing.assert_allclose(likely, wanted[:, order], atol=1e-6)
    renamed = load_model(
        ModelTable("file", "model.onnx", labels={names[0]: "x", names[1]: "y", names[2]: "x"})
    )
    both = renamed.probabilities(X, ["x", "y"])
    np.testing.assert_allclose(both[:, 0], wanted[:, [0, 2]].sum(axis=1), atol=1e-6)


@pytest.mark.usefixtures("here")
def test_columns_have_the_names_of_the_moot() -> None:
    frame = pandas.DataFrame(X, columns=["mean_radius", "b", "c"])
    skops.io.dump(LogisticRegression().fit(frame, CLASSES), "model.skops")
    found = load_model(ModelTable("file", "model.skops", columns={"mean_radius": "mean radius"}))
    assert [each.name for each in found.schema] == ["mean radius", "b", "c"]
    assert found.predict(X) == load_model("model.skops").predict(X)
    wrong: list[tuple[dict[str, str] | tuple[str, ...], str]] = [
        ({"radius": "x"}, "columns of model.skops must be among those of the model, mean_radius, b, c: got"),
        ({"b": "c"}, "columns of model.skops must name columns differently: got 'c' more than once"),
        (("a", "b"), "columns of model.skops must have names for all 3, in its order: got 2"),
    ]
    for columns, message in wrong:
        with pytest.raises(ValueError, match=message):
            load_model(ModelTable("file", "model.skops", columns=columns))


def test_what_a_model_does_not_know() -> None:
    model = Model("m:f", lambda rows: ["yes", "perhaps"][: len(rows)], labels=["no", "yes"], columns=3)
    assert model.predict(X[:1]) == ["yes"]
    with pytest.raises(ValueError, match="m:f must answer with one of its labels no, yes: got 'perhaps'"):
        model.predict(X[:2])
    with pytest.raises(ValueError, match="inputs of m:f must have 3 columns: got 2 columns"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match=r"inputs of m:f must be rows of columns: got shape \(3,\)"):
        model.predict(X[0])
    failing = Model("m:f", lambda rows: rows["a"])
    with pytest.raises(
        ValueError, match="model m:f must answer 2 rows of 3 columns: it failed with IndexError"
    ):
        failing.predict(X[:2])


@pytest.mark.usefixtures("here")
def test_models_fitted_on_data_frames_do_not_warn() -> None:
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = LogisticRegression().fit(frame, CLASSES)
    skops.io.dump(model, "model.skops")
    assert load_model("model.skops").predict(X) == [str(each) for each in model.predict(frame)]


@pytest.mark.usefixtures("here")
def test_what_is_no_model() -> None:
    for spec in ("model.txt", "model", "", "a b:c", ":f", "a:", "a:b:c", "https://x/y"):
        with pytest.raises(
            ValueError, match=r"model must be FILE\.skops, .* or package\.module:object: got '"
        ):
            load_model(spec)
    for spec in ("none.skops", "none.onnx"):
        with pytest.raises(FileNotFoundError, match=spec.replace(".", r"\.")):
            load_model(spec)
    for spec, message in [
        ("junk.skops", r"junk\.skops must be a file that skops wrote: BadZipFile"),
        ("junk.onnx", r"junk\.onnx must be an ONNX model in one file: "),
        ("junk.pkl", r"junk\.pkl must be a pickle that can be loaded here: "),
    ]:
        Path(spec).write_bytes(b"junk")
        with pytest.raises(ValueError, match=message):
            load_model(spec, trust_pickle=True)
    skops.io.dump({"a": 1}, "dict.skops")
    with pytest.raises(ValueError, match=r"dict\.skops must have a method predict: it is a dict"):
        load_model("dict.skops")
    skops.io.dump(KMeans(2, n_init=1).fit(X), "clusters.skops")
    assert load_model("clusters.skops").labels is None


def test_labels_of_the_moot_for_those_of_a_model() -> None:
    chances = np.array([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    kinds = ["flu", "cold", "well"]
    model = Model(
        "m:f", lambda rows: [kinds[i] for i in chances[: len(rows)].argmax(axis=1)], labels=kinds,
        chances=lambda rows: chances[: len(rows)],
    )  # fmt: skip
    with pytest.raises(ValueError, match="a name in the moot for each of flu, cold, well: got names of flu"):
        model.rename({"flu": "ill"})
    model.rename({"flu": "ill", "cold": "ill", "well": "well"})
    assert model.labels == ["ill", "well"]
    assert model.predict(X[:3]) == ["ill", "well", "ill"]
    likely = model.probabilities(X[:3], ["well", "ill"])  # those of labels that have one name are added
    assert likely.tolist() == [[0.25, 0.75], [1.0, 0.0], [0.0, 1.0]]


def test_labels_that_a_function_knows() -> None:
    model = Model("m:f", lambda rows: ["b"] * len(rows))
    model.know(["a", "b"])
    assert model.labels == ["a", "b"]
    with pytest.raises(ValueError, match="labels of m:f must be those of the model, a, b: got a, c"):
        model.know(["a", "c"])

"""Harmless types that are told to do harm: refused before anything of the file is made.

Each file was tried on folkmoot 0.2: it told a key, wrote files, ran code, crashed the process, or was loaded.
"""

from __future__ import annotations

import copy
import io
import json
import operator
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from scipy import sparse as scipy_sparse
from sklearn.base import BaseEstimator
from sklearn.cluster import OPTICS, FeatureAgglomeration
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multioutput import ClassifierChain
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer, StandardScaler
from sklearn.svm import SVC

import folkmoot.files.harmless
from folkmoot.files.skops_files import read_skops
from folkmoot.node.membership import identity
from folkmoot.node.service.models import load_model
from support.hostile_skops import attribute, dumped, key_speller, text

sparse: Any = scipy_sparse  # whose stubs know formats by their names alone
X = np.random.default_rng(0).random((60, 4))
Y = np.where(X[:, 0] + X[:, 1] > 1, "yes", "no")


def refused(path: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_skops(path)


# ---- attributes ------------------------------------------------------------------------------


def test_the_key_of_a_node_is_not_told_by_its_votes(tmp_path: Path) -> None:
    """64 rows spelt the key out; here eight. What is read instead of refused must be the key itself."""
    identity.create(tmp_path / "north", name="north")
    key = tmp_path / "north" / "key.pem"
    first = len("-----BEGIN PRIVATE KEY-----\n") + 40
    path = dumped(tmp_path / "model.skops", key_speller(str(key), first, 8))
    votes, why = "", ""
    try:
        votes = "".join(map(str, load_model(path).predict(np.arange(8.0)[:, None])))
    except ValueError as error:
        why = str(error)
    assert votes != key.read_text()[first : first + 8], "eight votes are eight characters of the key"
    assert "input of a sklearn.feature_extraction.text.CountVectorizer in it must be 'content'" in why


def test_the_same_stack_without_files_is_loaded(tmp_path: Path) -> None:
    """So it is refused for what it reads: with its words inside it answers, as any stack does."""
    path = dumped(tmp_path / "model.skops", key_speller("0123456789", 2, 4, reads="content"))
    assert "".join(map(str, load_model(path).predict(np.arange(4.0)[:, None]))) == "2345"


def test_a_pipeline_writes_no_cache(tmp_path: Path) -> None:
    """joblib would write there, and unpickle what lies there."""
    steps = [("scale", StandardScaler()), ("vote", GaussianNB())]
    path = dumped(tmp_path / "model.skops", Pipeline(steps, memory=str(tmp_path / "cache")))
    refused(path, "memory of a sklearn.pipeline.Pipeline in it must be None, .*: got '")
    assert not (tmp_path / "cache").exists()


def told(model: BaseEstimator, **attributes: Any) -> BaseEstimator:
    """The same, with attributes that its class would not take."""
    vars(model).update(attributes)
    return model


STACK = StackingClassifier([("a", GaussianNB())], cv=2).fit(X, Y)

HOSTILE = {
    "file": (CountVectorizer(input="file"), "input"),
    "hashing": (HashingVectorizer(input="filename"), "input"),
    "tfidf": (TfidfVectorizer(input="filename"), "input"),
    "no plain text": (told(CountVectorizer(), input=np.array("filename")), "input"),
    "one of a list": (told(CountVectorizer(), input=["filename"]), "input"),
    "codec": (CountVectorizer(encoding="zlib_codec"), "encoding"),
    "tokenizer": (told(CountVectorizer(), tokenizer=GaussianNB()), "tokenizer"),
    "in a union": (FeatureUnion([("a", Pipeline([("b", StandardScaler())], memory="x"))]), "memory"),
    "in columns": (ColumnTransformer([("a", CountVectorizer(input="filename"), 0)]), "input"),
    "in a dict": ({"a": {"b": [Pipeline([("b", StandardScaler())], memory="x")]}}, "memory"),
    "in an array": (np.array([None, CountVectorizer(input="filename")], dtype=object), "input"),
    "cache of clusters": (FeatureAgglomeration(memory="x"), "memory"),
    "cache of OPTICS": (OPTICS(memory="x"), "memory"),
    "cache that is an object": (told(Pipeline([("b", StandardScaler())]), memory=GaussianNB()), "memory"),
    "method of a stack": (told(copy.deepcopy(STACK), stack_method_=["set_params"]), "stack_method_"),
    "method as an array": (told(copy.deepcopy(STACK), stack_method_=np.array(["fit"])), "stack_method_"),
    "method to come": (StackingClassifier([("a", GaussianNB())], stack_method="fit"), "stack_method"),
    "method of an array": (
        told(copy.deepcopy(STACK), estimators_=[np.zeros(3)], stack_method_=["tofile"]), "stack_method_",
    ),
    "method of a threshold": (
        FixedThresholdClassifier(GaussianNB(), response_method="fit"), "response_method",
    ),
    "method of a chain": (ClassifierChain(GaussianNB(), chain_method="fit"), "chain_method"),
    "path of an attribute": (
        SelectFromModel(GaussianNB(), importance_getter="__init__.__globals__"), "importance_getter",
    ),
    "format": (
        told(ColumnTransformer([]), verbose_feature_names_out="{feature_name.__class__}"),
        "verbose_feature_names_out",
    ),
    "expression": (GridSearchCV(GaussianNB(), {}, pre_dispatch="__import__('os')"), "pre_dispatch"),
    "function that is an object": (told(FunctionTransformer(), func=GaussianNB()), "func"),
    "jobs": (RandomForestClassifier(n_jobs=100_000), "n_jobs"),
    "callbacks": (told(GaussianNB(), _skl_callbacks=[GaussianNB()]), "_skl_callbacks"),
    "containers": (
        told(StandardScaler(), _sklearn_output_config={"transform": "os"}), "_sklearn_output_config",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("model", "name"), HOSTILE.values(), ids=HOSTILE)
def test_an_attribute_that_does_harm_is_refused(model: Any, name: str, tmp_path: Path) -> None:
    refused(dumped(tmp_path / "m.skops", model), rf"must be harmless: {name} of a \S+ in it must be .*: got")


@pytest.mark.parametrize(
    "name", ["predict", "get_params", "__sklearn_tags__", "_joint_log_likelihood", "__class__"]
)
def test_an_attribute_in_the_place_of_a_method_is_refused(name: str, tmp_path: Path) -> None:
    model = told(GaussianNB().fit(X, Y), **{name: np.exp})
    refused(
        dumped(tmp_path / "m.skops", model),
        f"must be harmless: .*GaussianNB in it replaces its method {name}",
    )


@pytest.mark.parametrize("name", folkmoot.files.harmless.ATTRIBUTES)
def test_no_attribute_of_the_table_may_be_an_object(name: str, tmp_path: Path) -> None:
    path = dumped(tmp_path / "m.skops", told(CountVectorizer(), **{name: GaussianNB()}))
    refused(path, rf"{name} of a \S+CountVectorizer in it must be .*: got GaussianNB \(an object\)")


def test_what_was_allowed_by_name_may_be_called(tmp_path: Path) -> None:
    model = make_pipeline(FunctionTransformer(operator.attrgetter("T")), LogisticRegression())
    path = dumped(tmp_path / "m.skops", model)
    with pytest.raises(ValueError, match=r"operator\.attrgetter .which can run code."):
        read_skops(path)
    assert type(read_skops(path, ["operator.attrgetter"])) is Pipeline


# ---- schemas that skops does not write -----------------------------------------------------------


def as_plain_value(schema: dict[str, Any]) -> None:
    """Attributes as one JSON text, which skops reads as a dict."""
    schema["content"] = text({"input": "filename"})
    schema["content"]["content"] = json.dumps({"input": "filename", "encoding": "utf-8"})


def as_pairs(schema: dict[str, Any]) -> None:
    pair = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode"}
    pairs = [pair | {"content": [text("_response_method"), text("fit")]}]
    schema["__module__"], schema["__class__"] = "sklearn.metrics._scorer", "_Scorer"
    schema["content"] = pair | {"content": pairs}


def by_another_type_of_key(schema: dict[str, Any]) -> None:
    for each in schema["content"]["key_types"]["content"]:
        each["__module__"], each["__class__"] = "numpy", "str_"


def by_a_function_of_keys(schema: dict[str, Any]) -> None:
    function = {"__class__": "exp", "__module__": "numpy", "__loader__": "FunctionNode"}
    keys = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": [function]}
    words = {"__class__": "dict", "__module__": "builtins", "__loader__": "DictNode", "key_types": keys}
    schema["content"]["content"]["stop_words"] = words | {"content": {"a": text(1)}}


def by_a_number_used_twice(schema: dict[str, Any]) -> None:
    """skops takes what it made under a number: here "filename", which is a word of the vocabulary."""
    attribute(schema, "encoding")["__id__"] = 7
    attribute(schema, "encoding")["content"] = '"filename"'
    attribute(schema, "input")["__id__"] = 7


def with_a_type_that_is_called(schema: dict[str, Any]) -> None:
    schema["content"]["content"]["tokenizer"] = {
        "__module__": "sklearn.metrics._scorer", "__class__": "_Scorer", "__loader__": "TypeNode"
    }  # fmt: skip


def with_a_list_of_another_type(schema: dict[str, Any]) -> None:
    node = {
        "__module__": "sklearn.metrics._classification",
        "__class__": "f1_score",
        "__loader__": "ListNode",
    }
    schema["content"]["content"]["stop_words"] = node | {"content": []}


def with_a_matrix_as_an_object(schema: dict[str, Any]) -> None:
    schema["__module__"], schema["__class__"] = "scipy.sparse._csc", "csc_matrix"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (as_plain_value, "attributes in a form that skops does not write"),
        (as_pairs, "attributes in a form that skops does not write"),
        (by_another_type_of_key, "names that are no texts"),
        (by_a_function_of_keys, "made by something else than a type"),
        (by_a_number_used_twice, "object 7 in it is two different things"),
        (with_a_type_that_is_called, "is a TypeNode, and is known as a ObjectNode only"),
        (with_a_list_of_another_type, "is a ListNode, and is known as a FunctionNode only"),
        (with_a_matrix_as_an_object, "is a ObjectNode, and is known as a SparseMatrixNode only"),
    ],
)
def test_a_schema_that_says_it_in_another_way_is_refused(
    change: Callable[[dict[str, Any]], None], why: str, tmp_path: Path
) -> None:
    read_skops(dumped(tmp_path / "plain.skops", CountVectorizer()))
    refused(dumped(tmp_path / "m.skops", CountVectorizer(), change), why)


def test_nothing_is_made_of_a_file_that_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr(CountVectorizer, "__setstate__", lambda *given: made.append(given))
    with pytest.raises(ValueError, match="must be harmless"):
        read_skops(dumped(tmp_path / "m.skops", [CountVectorizer(), CountVectorizer(input="filename")]))
    assert made == []


# ---- sparse matrices -------------------------------------------------------------------------


def lying(matrix: Any, **parts: Any) -> Any:
    for name, value in parts.items():
        setattr(matrix, name, value)
    return matrix


def npz(matrix: Any, **parts: Any) -> bytes:
    """A file of scipy, with parts that no matrix has."""
    made = io.BytesIO()
    own = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": matrix.shape}
    np.savez(made, **(own | {"format": matrix.format.encode()} | parts))
    return made.getvalue()


def swapped(path: Path, model: Any, data: bytes) -> str:
    """A skops file whose sparse matrices are replaced."""
    dumped(path, model)
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, old in files.items():
            archive.writestr(name, data if name.endswith(".npz") else old)
    return str(path)


PLACES: dict[str, Callable[[Any], Any]] = {
    "attribute": lambda matrix: told(LogisticRegression().fit(X, Y), coef_=matrix),
    "array": lambda matrix: np.array([None, matrix], dtype=object),
    "dict": lambda matrix: {"a": [({"b": matrix},)]},
    "support vectors": lambda _: SVC().fit(sparse.csr_matrix(X), Y),
}
WRONG: dict[str, dict[str, Any]] = {
    "index beyond": {"indices": np.array([0, 9_999_999])},
    "index before": {"indices": np.array([0, -1])},
    "start beyond": {"indptr": np.array([0, 1, 9_999_999])},
    "start back": {"indptr": np.array([0, 7, 2])},
    "start late": {"indptr": np.array([1, 1, 2])},
    "starts too few": {"indptr": np.array([0, 2])},
    "numbers as indices": {"indices": np.array([0.0, 9e6])},
    "objects of text": {"data": np.array(["a", "b"])},
    "two-dimensional": {"indices": np.array([[0, 1]]), "data": np.array([[1.0, 2.0]])},
}


@pytest.mark.parametrize("kind", ["csc", "csr"])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_sparse_matrix_that_points_outside_itself_is_refused(wrong: str, kind: str, tmp_path: Path) -> None:
    matrix = sparse.eye(2, format=kind)
    for made in PLACES.values():
        path = swapped(tmp_path / "m.skops", made(sparse.csr_matrix(matrix)), npz(matrix, **WRONG[wrong]))
        with pytest.raises(ValueError, match=r"m\.skops must be harmless: "):
            read_skops(path)


def test_a_matrix_of_false_indices_does_not_crash(tmp_path: Path) -> None:
    """In a process of its own, since 0.2 wrote where the indices said."""
    matrix = sparse.eye(2, format="csc")
    model = make_pipeline(
        StandardScaler(), told(LogisticRegression().fit(X, Y), coef_=sparse.csc_matrix(matrix))
    )
    bad = npz(matrix, indices=np.array([0, 2**30], dtype=np.int32))
    path = swapped(tmp_path / "m.skops", model, bad)
    code = (
        "import sys; from folkmoot.files.skops_files import read_skops\n"
        "try: model = read_skops(sys.argv[1])\n"
        "except ValueError as error: sys.exit('refused' if 'sparse matrix' in str(error) else str(error))\n"
        "model[-1].coef_.toarray()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, timeout=900, check=False
    )
    assert (ran.returncode, ran.stderr.strip()) == (1, "refused")


@pytest.mark.parametrize("kind", ["bsr", "coo", "dia"])
def test_other_formats_are_refused(kind: str, tmp_path: Path) -> None:
    other = io.BytesIO()
    sparse.save_npz(other, sparse.eye(4, format=kind))
    path = swapped(tmp_path / "m.skops", {"a": sparse.csr_matrix(np.eye(4))}, other.getvalue())
    refused(path, f"a sparse matrix in it is in the format {kind}")


def test_whole_sparse_matrices_are_read(tmp_path: Path) -> None:
    for number, matrix in enumerate(
        [
            sparse.random(7, 5, 0.3, format="csc", random_state=0),
            sparse.csr_matrix((0, 3)),
            sparse.csc_matrix((3, 0)),
            sparse.csr_matrix(np.eye(3, dtype=bool)),
        ]
    ):
        path = dumped(tmp_path / f"{number}.skops", {"a": sparse.csr_matrix(matrix), "b": [matrix.tocsc()]})
        found = read_skops(path)
        assert (found["a"] != matrix).nnz == 0
        assert (found["b"][0] != matrix).nnz == 0


# ---- sizes ---------------------------------------------------------------------------------------


def test_a_file_that_unpacks_to_very_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folkmoot.files.harmless, "_UNPACKED", 1_000_000)
    path = tmp_path / "m.skops"
    skops.io.dump(np.zeros(200_000), path, compression=zipfile.ZIP_DEFLATED)
    refused(str(path), r"it unpacks to \d+ MB, and 1 MB is the most")
    # The same array again and again, under other numbers.
    many = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    small = np.arange(10_000)

    def repeat(schema: dict[str, Any]) -> None:
        node = copy.deepcopy(schema)
        del node["protocol"]
        schema.clear()
        schema.update(
            many, protocol=skops.io._protocol.PROTOCOL, content=[node | {"__id__": i} for i in range(99)]
        )

    refused(dumped(path, small, repeat), r"it unpacks to \d+ MB")
    read_skops(dumped(path, small))


def test_a_sparse_matrix_that_unpacks_to_very_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folkmoot.files.harmless, "_UNPACKED", 1_000_000)
    data = io.BytesIO()
    sparse.save_npz(data, sparse.csr_matrix((1_000_000, 2)))
    path = swapped(tmp_path / "m.skops", sparse.csr_matrix(np.eye(2)), data.getvalue())
    refused(path, r"it unpacks to \d+ MB")


# ---- other buffers that compiled code follows ------------------------------------------------


def spline(**parts: Any) -> BaseEstimator:
    model = SplineTransformer().fit(X)
    own = vars(model.bsplines_[0])
    for name, value in parts.items():
        own[f"_{name}" if f"_{name}" in own else name] = value
    return model


SVM = SVC().fit(X, np.arange(60) % 3)
NEAR = KNeighborsClassifier(3, algorithm="brute").fit(X, Y)
BROKEN = {
    "degree": (spline(k=500), "knots"),
    "knots": (spline(t=np.zeros(3)), "knots"),
    "counts": (
        told(copy.deepcopy(SVM), _n_support=np.array([9, 9, 99_999], dtype=np.int32)),
        "support vectors",
    ),
    "weights": (told(copy.deepcopy(SVM), _dual_coef_=np.zeros((1, 1))), "support vectors"),
    "intercepts": (told(copy.deepcopy(SVM), _intercept_=np.zeros(1)), "support vectors"),
    "labels": (told(copy.deepcopy(NEAR), _y=np.full(60, 10**9)), "labels that do not exist"),
    "numbers": (told(copy.deepcopy(NEAR), _y=np.full(60, 1e9)), "labels that do not exist"),
}


@pytest.mark.parametrize(("model", "why"), BROKEN.values(), ids=BROKEN)
def test_arrays_that_do_not_fit_together_are_refused(model: Any, why: str, tmp_path: Path) -> None:
    # SciPy 1.18 writes the attributes of a spline that was changed in another form, which is refused as such.
    form = "|must be harmless: .*BSpline in it has its attributes" if why == "knots" else ""
    refused(dumped(tmp_path / "m.skops", model), f"must be whole: .*{why}{form}")


def test_the_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is checked is what is loaded: it may be another file a moment later."""
    good, reads = Path(dumped(tmp_path / "m.skops", GaussianNB())), []
    whole = Path.read_bytes

    def replaced(self: Path) -> bytes:
        data = whole(self)
        reads.append(self)
        dumped(good, CountVectorizer(input="filename"))
        return data

    monkeypatch.setattr(Path, "read_bytes", replaced)
    assert type(read_skops(str(good))) is GaussianNB
    assert reads == [good]

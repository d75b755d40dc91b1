"""A model behind HTTP that takes rows: the same answers as the model itself, in three protocols."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from folkmoot import ConsensusClassifier
from folkmoot.models import HTTPModel
from folkmoot.models.posting import NONSENSE, TOO_SLOW
from folkmoot.models.posting import REFUSED as HTTP_REFUSED
from folkmoot.models.remote import OTHER
from support.scripted_rows import BROKEN, RowServer, row_server

X, Y = load_iris(return_X_y=True)
FITTED = LogisticRegression(max_iter=1000).fit(X, Y)
NAMES = {0: "setosa", 1: "versicolor", 2: "virginica"}
WANTED = [NAMES[each] for each in FITTED.predict(X).tolist()]


def table(rows: list[Any]) -> Any:
    return np.array([list(row.values()) if isinstance(row, dict) else row for row in rows], dtype=float)


@pytest.fixture(scope="module")
def server() -> Iterator[RowServer]:
    with row_server(
        lambda rows: FITTED.predict(table(rows)).tolist(),
        lambda rows: FITTED.predict_proba(table(rows)).tolist(),
    ) as found:
        yield found


CASES = [
    ("json", "labels"), ("json", "probabilities"), ("json", "both"), ("mlflow", "invocations"),
    ("mlflow", "invocations-proba"), ("v2", "v2/models/iris/infer"),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "path"), CASES)
def test_answers_are_those_of_the_model(server: RowServer, protocol: Any, path: str) -> None:
    model = HTTPModel(f"{server.url}/{path}", NAMES, protocol=protocol, batch=40)
    assert model.predict(X).tolist() == WANTED
    assert model.usage.counts()["requests"] == 4
    assert model.classes_.tolist() == list(NAMES.values())


@pytest.mark.parametrize(
    ("protocol", "path", "given"),
    [
        ("json", "probabilities", {}), ("json", "both", {}), ("mlflow", "invocations-proba", {}),
        ("v2", "infer", {"outputs": ["predict_proba"]}),
        ("v2", "infer", {"outputs": ["predict", "predict_proba"]}),
    ],
)  # fmt: skip
def test_probabilities_are_those_of_the_model(
    server: RowServer, protocol: Any, path: str, given: Any
) -> None:
    model = HTTPModel(f"{server.url}/{path}", NAMES, protocol=protocol, **given)
    np.testing.assert_allclose(model.predict_proba(X), FITTED.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    ("protocol", "path"), [("json", "labels"), ("mlflow", "invocations"), ("v2", "infer")]
)
def test_records_and_named_columns_arrive_by_name(server: RowServer, protocol: Any, path: str) -> None:
    pd = pytest.importorskip("pandas")
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    before = len(server.asked)
    url = f"{server.url}/{path}"
    frame = pd.DataFrame(X[:3], columns=names)
    assert HTTPModel(url, NAMES, protocol=protocol).predict(frame).tolist() == WANTED[:3]
    assert HTTPModel(url, NAMES, protocol=protocol, columns=names).predict(X[:3]).tolist() == WANTED[:3]
    for _, _, told in server.asked[before:]:
        assert all(name in json.dumps(told) for name in names)


@pytest.mark.parametrize(
    ("protocol", "path"), [("json", "labels"), ("mlflow", "invocations"), ("v2", "infer")]
)
def test_texts_arrive_as_texts(protocol: Any, path: str) -> None:
    def loud(rows: list[Any]) -> list[Any]:
        return ["shout" if text.isupper() else "talk" for text in rows]

    with row_server(loud, loud) as server:
        model = HTTPModel(f"{server.url}/{path}", ["shout", "talk"], protocol=protocol)
        assert model.predict(["STOP", 'well, "well"\n', "ÄÖ"]).tolist() == ["shout", "talk", "shout"]


def test_numbers_need_no_labels(server: RowServer) -> None:
    assert HTTPModel(f"{server.url}/labels").predict(X[:3]).tolist() == FITTED.predict(X[:3]).tolist()


@pytest.mark.parametrize("form", BROKEN)
@pytest.mark.parametrize("protocol", ["json", "mlflow", "v2"])
def test_a_broken_answer_is_no_vote(server: RowServer, protocol: Any, form: str) -> None:
    for labels in (["a", "b"], None):
        said = HTTPModel(f"{server.url}/{form}", labels, protocol=protocol, retries=0).answers(X[:3])
        assert len(said) == 3
        for each in said:
            if labels is None and form in ("strange", "infinite", "objects") and each.label is not None:
                assert isinstance(each.label, str | int)
                continue
            assert (each.label, each.reason in (OTHER, NONSENSE)) == (None, True)
            assert each.detail.isprintable()
            assert len(each.detail) < 600


def test_a_slow_or_refusing_service_is_no_vote_in_time(server: RowServer) -> None:
    start = time.monotonic()
    (said,) = HTTPModel(f"{server.url}/slow", NAMES, timeout=0.3, retries=0).answers(X[:1])
    assert (said.label, said.reason) == (None, TOO_SLOW)
    assert time.monotonic() - start < 10
    (said,) = HTTPModel(f"{server.url}/none", NAMES).answers(X[:1])
    assert (said.label, said.reason) == (None, HTTP_REFUSED)


def test_missing_values_are_null(server: RowServer) -> None:
    HTTPModel(f"{server.url}/labels", NAMES, retries=0).predict([[1.0, np.nan, np.inf, 2.0]])
    assert server.asked[-1][2]["inputs"] == [[1.0, None, None, 2.0]]


def test_a_moot_of_a_service_and_models(server: RowServer) -> None:
    tree = LogisticRegression(max_iter=1000, C=0.01).fit(X, [NAMES[each] for each in Y])
    service = HTTPModel(f"{server.url}/both", NAMES)
    moot = ConsensusClassifier([tree, service, service], prefit=True, voting="probabilities").fit()
    assert np.mean(moot.predict(X) == np.array(WANTED)) > 0.9


def test_wrong_parameters_are_one_clear_line() -> None:
    for given, line in (
        ({"protocol": "grpc"}, "protocol must be 'v2' or 'mlflow' or 'json': got 'grpc'"),
        ({"columns": "age"}, "columns must be a list of names: got 'age'"),
        ({"url": "heart"}, "url must be an address such as"),
        ({"batch": 0}, "batch must satisfy batch >= 1"),
    ):
        with pytest.raises(ValueError, match=r"must") as caught:
            HTTPModel("http://127.0.0.1:1/x").set_params(**given).predict(X)
        assert line in str(caught.value)

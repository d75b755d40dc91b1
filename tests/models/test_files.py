"""A model in a file as an estimator: its labels and columns have the names of the moot."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from folkmoot import ConsensusClassifier
from folkmoot.models import FileModel
from support.onnx_files import write_onnx

pandas = pytest.importorskip("pandas")
X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
NAMES = {0: "low", 1: "mid", 2: "low"}


def test_skops_with_labels_and_columns_of_the_moot(tmp_path: Path) -> None:
    own = pandas.DataFrame(X, columns=["mean_radius", "b", "c"])
    fitted = LogisticRegression().fit(own, Y)
    skops.io.dump(fitted, tmp_path / "m.skops")
    model = FileModel(tmp_path / "m.skops", NAMES, {"mean_radius": "mean radius"})
    theirs = own.rename(columns={"mean_radius": "mean radius"})[["c", "mean radius", "b"]]
    assert model.predict(theirs).tolist() == [NAMES[each] for each in fitted.predict(own)]
    assert model.classes_.tolist() == ["low", "mid"]
    likely = fitted.predict_proba(own)
    np.testing.assert_allclose(model.predict_proba(theirs)[:, 0], likely[:, 0] + likely[:, 2], atol=1e-12)
    plain = FileModel(tmp_path / "m.skops")
    assert plain.predict(own).tolist() == fitted.predict(own).tolist()
    moot = ConsensusClassifier([model, model, model], prefit=True, voting="probabilities").fit()
    assert set(moot.predict(theirs)) <= {"low", "mid"}


@pytest.mark.parametrize("zipmap", [True, False])
def test_onnx_with_probabilities(tmp_path: Path, zipmap: bool) -> None:
    write_onnx(tmp_path / "m.onnx", chances=True, zipmap=zipmap)
    model = FileModel(tmp_path / "m.onnx", {10: "a", 20: "b", 30: "c"})
    assert model.predict(X).tolist() == [["a", "b", "c"][each] for each in X.argmax(axis=1)]
    powers = np.exp(X.astype(np.float32))
    np.testing.assert_allclose(model.predict_proba(X), powers / powers.sum(axis=1, keepdims=True), atol=1e-6)
    for copied in (clone(model), pickle.loads(pickle.dumps(model))):  # noqa: S301 (ours)
        assert copied.predict(X[:5]).tolist() == model.predict(X[:5]).tolist()


def test_a_model_without_probabilities_or_labels_has_none(tmp_path: Path) -> None:
    write_onnx(tmp_path / "m.onnx")
    assert not hasattr(FileModel(tmp_path / "m.onnx"), "classes_")
    assert not hasattr(FileModel(tmp_path / "m.onnx"), "predict_proba")
    with pytest.raises(ValueError, match=r"file must be \.skops or \.onnx"):
        FileModel(tmp_path / "m.pkl").predict(X)

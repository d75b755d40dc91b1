"""Ordinary scikit-learn models load without being asked about; what can run code is named, and is not run."""

from __future__ import annotations

import functools
import json
import operator
import os
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from folkmoot.files.harmless import HARMLESS, check_buffers
from folkmoot.node.service.models import load_model

X = np.random.default_rng(0).random((60, 4))
Y = np.where(X[:, 0] + X[:, 1] > 1, "yes", "no")

ORDINARY = [
    LogisticRegression(), RidgeClassifier(), SGDClassifier(random_state=0), LinearSVC(), SVC(), GaussianNB(),
    LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(), DecisionTreeClassifier(),
    ExtraTreeClassifier(), RandomForestClassifier(5, random_state=np.random.RandomState(0)),
    ExtraTreesClassifier(5), BaggingClassifier(n_estimators=3), AdaBoostClassifier(n_estimators=3),
    GradientBoostingClassifier(n_estimators=3), HistGradientBoostingClassifier(max_iter=3),
    KNeighborsClassifier(3), KNeighborsClassifier(3, algorithm="ball_tree", metric="manhattan"),
    KNeighborsClassifier(3, algorithm="brute"), MLPClassifier(4, max_iter=5),
    MLPClassifier(4, solver="sgd", max_iter=5),
    GaussianProcessClassifier(), CalibratedClassifierCV(GaussianNB(), cv=2),
    VotingClassifier([("a", GaussianNB()), ("b", DecisionTreeClassifier())]),
    StackingClassifier([("a", GaussianNB()), ("b", DecisionTreeClassifier())]),
    GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2),
    GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2, scoring="accuracy"),
    make_pipeline(SimpleImputer(), StandardScaler(), SelectKBest(k=2), RandomForestClassifier(3)),
    make_pipeline(FunctionTransformer(np.log1p), LogisticRegression()),
]  # fmt: skip


@pytest.mark.parametrize("model", ORDINARY, ids=lambda model: str(model).split("(")[0])
def test_ordinary_models_load_and_answer_the_same(model: Any, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that five steps are few
        model.fit(X, Y)
    path = str(tmp_path / "model.skops")
    skops.io.dump(model, path)
    assert load_model(path).predict(X) == model.predict(X).tolist()


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (os.system, "posix.system"),
        (subprocess.check_output, "subprocess.check_output"),
        (functools.partial(os.getcwd), "functools.partial"),
        (operator.attrgetter("x"), "operator.attrgetter"),
        (eval, "builtins.eval"),
        (np.load, "numpy.load"),
    ],
)
def test_what_can_run_code_is_named(function: Callable[..., Any], name: str, tmp_path: Path) -> None:
    path = str(tmp_path / "model.skops")
    skops.io.dump(make_pipeline(FunctionTransformer(function), LogisticRegression()), path)
    with pytest.raises(ValueError, match=f"{name} .which can run code.*add allow=.*{name}"):
        load_model(path)


def test_a_distance_that_calls_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    skops.io.dump(KNeighborsClassifier(3).fit(X, Y), path)
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files["schema.json"] = files["schema.json"].replace(b"EuclideanDistance64", b"PyFuncDistance64")
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    with pytest.raises(ValueError, match=r"PyFuncDistance64 \(which can run code\)"):
        load_model(str(path))


def test_a_module_that_a_file_names_is_not_imported(tmp_path: Path) -> None:
    """A strange type is refused by its name: nothing of its module has run."""
    path = tmp_path / "model.skops"
    skops.io.dump(LogisticRegression().fit(X, Y), path)
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(files["schema.json"])
    for name in ("sklearn.evil.LogisticRegression", "antigravity.Model"):
        module, _, kind = name.rpartition(".")
        schema["__module__"], schema["__class__"] = module, kind
        files["schema.json"] = json.dumps(schema).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for each, data in files.items():
                archive.writestr(each, data)
        with pytest.raises(ValueError, match=f"it has {name}"):
            load_model(str(path))
        assert module not in sys.modules


def test_the_list_names_types_and_no_modules() -> None:
    import importlib

    assert all("*" not in name for name in HARMLESS)
    missing = []
    for name in HARMLESS:
        module, _, attribute = name.rpartition(".")
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError):
            missing.append(name)  # of another version of scikit-learn
            continue
        assert callable(found)
    assert len(missing) < 0.1 * len(HARMLESS), missing


# ---- buffers that compiled code follows ------------------------------------------------------


def broken_tree(place: str, value: int) -> Any:
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
    state = model.tree_.__getstate__()
    state["nodes"] = state["nodes"].copy()
    state["nodes"][place][0] = value
    model.tree_.__setstate__(state)
    return model


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("left_child", 10_000, "point outside"),
        ("right_child", 0, "or back"),
        ("feature", 4, "column that does not exist"),
        ("feature", -7, "column that does not exist"),
    ],
)
def test_a_tree_that_points_outside_itself_is_refused(
    tmp_path: Path, place: str, value: int, message: str
) -> None:
    path = str(tmp_path / "model.skops")
    for model in (broken_tree(place, value), make_pipeline(StandardScaler(), broken_tree(place, value))):
        skops.io.dump(model, path)
        with pytest.raises(ValueError, match=f"must be whole: .*{message}"):
            load_model(path)


def test_other_trees_that_point_outside_themselves_are_refused() -> None:
    boosted = HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2).fit(X, Y)
    check_buffers(boosted)
    nodes = boosted._predictors[0][0].nodes
    for field, value in (("left", 60_000), ("feature_idx", 4)):
        old = nodes[field][0]
        nodes[field][0] = value
        with pytest.raises(ValueError, match="in it"):
            check_buffers(boosted)
        nodes[field][0] = old
    check_buffers(boosted)
    for algorithm in ("kd_tree", "ball_tree"):
        near = KNeighborsClassifier(3, algorithm=algorithm, leaf_size=5).fit(X, Y)
        check_buffers(near)
        state = list(near._tree.__getstate__())
        index = np.array(state[1])
        index[0] = 10**9
        near._tree.__setstate__((state[0], index, *state[2:]))
        with pytest.raises(ValueError, match="point outside"):
            check_buffers(near)

"""Which types a model file may hold without being asked about: an explicit list, never a module as a whole.

skops itself knows scikit-learn's public estimators, numpy's arrays, scalars and random states, and the
mathematical functions of numpy and scipy. Here is what ordinary fitted models hold besides: trees and their
buffers, kernels, distances, losses, optimisers, and the few functions that select features or score. None of
them runs what a file says. What does (functions, methods, ``functools.partial``, ``PyFuncDistance``) is not
in the list, and is named as what it is.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

_DISTANCES: Final = (
    "BrayCurtis", "Canberra", "Chebyshev", "Dice", "Euclidean", "Hamming", "Haversine", "Jaccard",
    "Mahalanobis", "Manhattan", "Matching", "Minkowski",
    "RogersTanimoto", "RussellRao", "SEuclidean", "SokalMichener",
    "SokalSneath",
)  # fmt: skip
_KERNELS: Final = (
    "CompoundKernel", "ConstantKernel", "DotProduct", "ExpSineSquared", "Exponentiation", "Matern", "Product",
    "RBF", "RationalQuadratic", "Sum", "WhiteKernel",
)  # fmt: skip
_SPLITS: Final = (
    "GroupKFold", "KFold", "LeaveOneOut", "RepeatedKFold", "RepeatedStratifiedKFold", "ShuffleSplit",
    "StratifiedGroupKFold", "StratifiedKFold", "StratifiedShuffleSplit", "TimeSeriesSplit",
)  # fmt: skip
_SCORES: Final = (
    "accuracy_score", "balanced_accuracy_score", "f1_score", "log_loss", "precision_score", "recall_score",
)  # fmt: skip

HARMLESS: Final = frozenset(
    [
        "numpy.dtype",
        "numpy.mean",
        "scipy._lib.array_api_compat.numpy._aliases.asarray",
        "scipy.interpolate._bsplines.BSpline",
        "scipy.sparse._csc.csc_matrix",
        "scipy.sparse._csr.csr_matrix",
        "sklearn._loss.loss.HalfTweedieLoss",
        "sklearn._loss.loss.HalfTweedieLossIdentity",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.calibration._TemperatureScaling",
        "sklearn.cluster._bisect_k_means._BisectingTree",
        "sklearn.cluster._kmeans._kmeans_single_elkan",
        "sklearn.cluster._kmeans._kmeans_single_lloyd",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.feature_selection._mutual_info.mutual_info_classif",
        "sklearn.feature_selection._mutual_info.mutual_info_regression",
        "sklearn.feature_selection._univariate_selection.chi2",
        "sklearn.feature_selection._univariate_selection.f_classif",
        "sklearn.feature_selection._univariate_selection.f_regression",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        "sklearn.metrics._ranking.roc_auc_score",
        "sklearn.metrics._scorer._CurveScorer",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.metrics._scorer._Scorer",
        "sklearn.multiclass._ConstantPredictor",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._ball_tree.BallTree32",
        "sklearn.neighbors._ball_tree.BallTree64",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neighbors._kd_tree.KDTree32",
        "sklearn.neighbors._kd_tree.KDTree64",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",
        "sklearn.utils._metadata_requests.MetadataRequest",
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
        *(f"sklearn.metrics._dist_metrics.{each}Distance{bits}" for each in _DISTANCES for bits in (32, 64)),
        *(f"sklearn.gaussian_process.kernels.{each}" for each in _KERNELS),
        *(f"sklearn.model_selection._split.{each}" for each in _SPLITS),
        *(f"sklearn.metrics._classification.{each}" for each in _SCORES),
    ]
)

# Objects of a skops file that are called when the model is used, or that call something.
_CALLING: Final = ("FunctionNode", "MethodNode", "OperatorFuncNode", "PartialNode", "TypeNode")
_CALLERS: Final = ("PyFuncDistance", "PyFuncDistance32", "PyFuncDistance64")


def calling(path: str) -> set[str]:
    """The names of everything in a skops file that can be called; nothing of it is imported."""
    with zipfile.ZipFile(path) as archive:
        schema = json.loads(archive.read("schema.json"))
    return {
        f"{node.get('__module__')}.{node.get('__class__')}"
        for node in _nodes(schema)
        if node.get("__loader__") in _CALLING or node.get("__class__") in _CALLERS
    }


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def check_buffers(model: object) -> None:
    """ValueError if a tree in a model points outside itself: compiled code follows pointers unchecked."""
    seen: set[int] = set()
    waiting: list[tuple[object, int | None]] = [(model, None)]
    while waiting:
        each, columns = waiting.pop()
        if id(each) in seen or isinstance(each, (str, bytes, int, float, type(None))):
            continue
        seen.add(id(each))
        kind = type(each).__name__
        if kind == "Tree" and type(each).__module__ == "sklearn.tree._tree":
            _check_tree(each, columns)
        elif kind == "TreePredictor":
            _check_predictor(each, columns)
        elif kind.startswith(("KDTree", "BallTree")):
            _check_neighbours(each)
        if isinstance(each, dict):
            waiting += [(value, columns) for value in each.values()]
        elif isinstance(each, (list, tuple, set, frozenset)):
            waiting += [(value, columns) for value in each]
        elif isinstance(each, np.ndarray):
            if each.dtype == object:
                waiting += [(value, columns) for value in each.ravel().tolist()]
        elif isinstance(getattr(each, "__dict__", None), dict):
            own = vars(each).get("n_features_in_", columns)
            waiting += [(value, own) for value in vars(each).values()]


def _check_tree(tree: Any, columns: int | None) -> None:
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    inner = left != -1
    _check_children("Tree", inner, left, right)
    most = min(tree.n_features, tree.n_features if columns is None else columns)
    if np.any((feature[inner] < 0) | (feature[inner] >= most)):
        raise ValueError("a Tree in it asks for a column that does not exist")


def _check_predictor(predictor: Any, columns: int | None) -> None:
    nodes = predictor.nodes
    inner = nodes["is_leaf"] == 0
    _check_children("TreePredictor", inner, nodes["left"].astype(np.int64), nodes["right"].astype(np.int64))
    feature = nodes["feature_idx"][inner]
    if columns is None or np.any((feature < 0) | (feature >= columns)):
        raise ValueError("a TreePredictor in it asks for a column that does not exist")
    category = nodes["bitset_idx"][inner & (nodes["is_categorical"] != 0)]
    if np.any(category >= len(predictor.raw_left_cat_bitsets)):
        raise ValueError("a TreePredictor in it asks for categories that do not exist")


def _check_children(kind: str, inner: Any, left: Any, right: Any) -> None:
    """Children come after their parent, so that every way down ends, and are nodes of the tree."""
    place = np.flatnonzero(inner)
    for child in (left[inner], right[inner]):
        if np.any((child <= place) | (child >= len(inner))):
            raise ValueError(f"a {kind} in it has nodes that point outside of it or back")


def _check_neighbours(tree: Any) -> None:
    data, index, nodes, bounds = (np.asarray(each) for each in tree.__getstate__()[:4])
    count = len(nodes)
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    fits = (
        count > 0
        and index.shape == (len(data),)
        and np.all((index >= 0) & (index < len(data)))
        and np.all((nodes["idx_start"] >= 0) & (nodes["idx_start"] <= nodes["idx_end"]))
        and np.all(nodes["idx_end"] <= len(data))
        and np.all(2 * inner + 2 < count)
        and bounds.shape[1:] == (count, data.shape[1])
        and tree.__getstate__()[6] == count
    )
    if not fits:
        raise ValueError(f"a {type(tree).__name__} in it has nodes that point outside of it")

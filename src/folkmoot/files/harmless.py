"""Types that a model file may hold unasked, and the values of their attributes.

The types are an explicit list, never a module as a whole. The list of skops has scikit-learn's public
estimators, numpy's arrays, scalars and random states, and mathematical functions of numpy and scipy. This
list adds what ordinary fitted models hold besides. These are trees and their buffers, kernels, distances,
losses, optimisers, and the few functions that select features or score. Types that run code by themselves
(functions, methods, ``functools.partial``, ``PyFuncDistance``) are not in the list, and a refusal says so.

A harmless type can be told to do harm. A vectorizer can read files, a pipeline can write a cache and unpickle
it, and a stack calls any method that its file names. ``ATTRIBUTES`` says what may stand in such attributes.
The schema of a file lists every object of it, so it is checked before any object is made.

This is no sandbox. Compiled code trusts its arrays, and ``check_buffers`` knows only those of trees,
neighbours, support vectors and splines. Nor does the table limit how long a model runs.
"""

from __future__ import annotations

import importlib
import inspect
import io
import json
import re
import zipfile
from collections.abc import Callable, Collection, Iterator
from functools import cached_property
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

_FUNCTIONS: Final = (
    "numpy.mean",
    "scipy._lib.array_api_compat.numpy._aliases.asarray",
    "sklearn.cluster._kmeans._kmeans_single_elkan",
    "sklearn.cluster._kmeans._kmeans_single_lloyd",
    "sklearn.feature_selection._mutual_info.mutual_info_classif",
    "sklearn.feature_selection._mutual_info.mutual_info_regression",
    "sklearn.feature_selection._univariate_selection.chi2",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.feature_selection._univariate_selection.f_regression",
    "sklearn.metrics._ranking.roc_auc_score",
    *(f"sklearn.metrics._classification.{each}" for each in _SCORES),
)
_STATES_OF_C: Final = (
    *(f"sklearn.neighbors._{kind}_tree.{name}{bits}"
      for kind, name in (("ball", "BallTree"), ("kd", "KDTree")) for bits in ("", 32, 64)),
    *(f"sklearn.metrics._dist_metrics.{each}Distance{bits}" for each in _DISTANCES for bits in (32, 64)),
)  # fmt: skip
_OBJECTS: Final = (
    "scipy.interpolate._bsplines.BSpline",
    "scipy.interpolate._bsplines._BSpline",  # its name from SciPy 1.18 on
    "sklearn._loss.loss.HalfTweedieLoss",
    "sklearn._loss.loss.HalfTweedieLossIdentity",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.cluster._bisect_k_means._BisectingTree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.metrics._scorer._CurveScorer",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.multiclass._ConstantPredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
    *_STATES_OF_C,
    *(f"sklearn.gaussian_process.kernels.{each}" for each in _KERNELS),
    *(f"sklearn.model_selection._split.{each}" for each in _SPLITS),
)

# The harmless types, each with the node of a schema that may name it: none is called but a function.
HARMLESS: Final = {
    **dict.fromkeys(_FUNCTIONS, "FunctionNode"),
    **dict.fromkeys(_OBJECTS, "ObjectNode"),
    "numpy.dtype": "DTypeNode",
    "scipy.sparse._csc.csc_matrix": "SparseMatrixNode",
    "scipy.sparse._csr.csr_matrix": "SparseMatrixNode",
    "sklearn.tree._tree.Tree": "TreeNode",
    "sklearn.utils._bunch.Bunch": "DictNode",
}

# Objects of a skops file that are called when the model is used, or that call something.
_CALLING: Final = ("FunctionNode", "MethodNode", "OperatorFuncNode", "PartialNode", "TypeNode")
_CALLERS: Final = ("PyFuncDistance", "PyFuncDistance32", "PyFuncDistance64")


# Limits of the unpacked size: bytes, or multiples of the file.
_UNPACKED: Final = 1 << 30
_TIMES: Final = 10


class _Other:
    """A value of an attribute that is no plain value: an object, an array."""

    def __init__(self, node: dict[str, Any]) -> None:
        self.called = node.get("__loader__") in _CALLING  # a function or type that is known, or was allowed
        self._name = node.get("__class__")

    def __repr__(self) -> str:
        return f"{self._name} (an object)"


_METHODS: Final = frozenset(
    (
        "auto", "decision_function", "predict", "predict_log_proba", "predict_proba", "score_samples",
        "transform",
    )
)  # fmt: skip
_ENCODINGS: Final = ("ascii", "cp1252", "iso-8859-1", "latin-1", "latin1", "utf-8", "utf8", "utf-16")
_MOST_JOBS: Final = 256


def _nothing(value: Any) -> bool:
    return value is None


def _one_of(*texts: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in texts


def _like(pattern: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII) is not None


def _method(value: Any) -> bool:
    if isinstance(value, list):
        return all(_method(each) for each in value)
    return value is None or (isinstance(value, str) and value in _METHODS)


def _function(value: Any) -> bool:
    return value is None or (isinstance(value, _Other) and value.called)


def _jobs(value: Any) -> bool:
    return value is None or (isinstance(value, int) and abs(value) <= _MOST_JOBS)


def _containers(value: Any) -> bool:
    known = (None, "default", "pandas", "polars")
    return isinstance(value, dict) and all(each in known for each in value.values())


def _either(*tests: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: any(test(value) for test in tests)


_A_METHOD: Final = (_method, "a method of models, such as predict_proba")
_A_FUNCTION: Final = (_function, "a function that is harmless or allowed")

# Allowed values of attributes in a file, as a test and in words.
ATTRIBUTES: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    # Vectorizers open the files that rows name, and call what they are given.
    "input": (_one_of("content"), "'content', as anything else reads files"),
    "encoding": (_one_of(*_ENCODINGS), f"one of {', '.join(_ENCODINGS)}"),
    "analyzer": (_either(_one_of("char", "char_wb", "word"), _function), "char, char_wb, word or a function"),
    "preprocessor": _A_FUNCTION,
    "tokenizer": _A_FUNCTION,
    "strip_accents": (_either(_one_of("ascii", "unicode"), _function), "ascii, unicode or a function"),
    # joblib writes its cache where this says, and unpickles what lies there.
    "memory": (_nothing, "None, as a cache is written to files, and read with pickle"),
    # Names of methods that are called, of objects of the file.
    "stack_method": _A_METHOD,
    "stack_method_": _A_METHOD,
    "chain_method": _A_METHOD,
    "chain_method_": _A_METHOD,
    "response_method": _A_METHOD,
    "_response_method": _A_METHOD,
    # Paths of attributes, formats and expressions that are worked out.
    "importance_getter": (
        _either(_like(r"auto|([A-Za-z]\w*\.)*(coef_|feature_importances_)"), _function),
        "auto, coef_ or feature_importances_, or those of a part",
    ),
    "verbose_feature_names_out": (
        _either(lambda value: isinstance(value, bool), _like(r"([^{}]|\{(transformer|feature)_name\})*")),
        "true, false, or a text with {transformer_name} and {feature_name} alone",
    ),
    "pre_dispatch": (
        _either(_nothing, lambda value: isinstance(value, int), _like(r"all|(\d{1,3} ?\* ?)?n_jobs")),
        "a number, all or 2*n_jobs",
    ),
    # Functions that are called with rows.
    "func": _A_FUNCTION,
    "inverse_func": _A_FUNCTION,
    "pooling_func": _A_FUNCTION,
    "score_func": _A_FUNCTION,
    "_score_func": _A_FUNCTION,
    "_skl_callbacks": (lambda value: value == [], "empty"),
    "_sklearn_output_config": (_containers, "default, pandas or polars for each method"),
    # Processes and threads that a vote may start.
    "n_jobs": (_jobs, f"None or within -{_MOST_JOBS}..{_MOST_JOBS}"),
}


def schema_of(archive: zipfile.ZipFile, size: int) -> dict[str, Any]:
    """The schema of a skops file of so many bytes; ValueError if it is too large or ambiguous.

    skops makes an object once for each ``__id__`` and reuses it, whatever stands at the later places. So
    everything with the same ``__id__`` must say the same: then what is checked is what is made.
    """
    most = max(_UNPACKED, _TIMES * size)
    _check_size(archive.getinfo("schema.json").file_size, most)
    schema = json.loads(archive.read("schema.json"))
    total = sum(each.file_size for each in archive.infolist())
    read: set[Any] = set()
    for node in _nodes(schema):
        file, number = node.get("file"), node.get("__id__")
        if isinstance(file, str) and number not in read:  # read anew for each object, also from one file
            total += archive.getinfo(file).file_size
            if node.get("__loader__") == "SparseMatrixNode":
                with zipfile.ZipFile(io.BytesIO(archive.read(file))) as arrays:
                    total += sum(each.file_size for each in arrays.infolist())
            _check_size(total, most)
            read.add(number)
    _check_size(total, most)
    _form(schema, {}, {})
    return schema if isinstance(schema, dict) else {}


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise ValueError(f"it unpacks to {size / 1e6:,.0f} MB, and {most / 1e6:,.0f} MB is the most")


def _form(part: Any, forms: dict[Any, int], numbered: dict[Any, int]) -> int:
    """A number for what a part of a schema says, but for numbers of objects and names of files."""
    key: tuple[Any, ...]
    if isinstance(part, dict):
        key = (
            "object",
            *(
                (name, _form(value, forms, numbered))
                for name, value in sorted(part.items())
                if isinstance(value, (dict, list)) or name not in ("__id__", "file")
            ),
        )
    elif isinstance(part, list):
        key = ("list", *(_form(each, forms, numbered) for each in part))
    else:
        key = (type(part).__name__, repr(part))
    form = forms.setdefault(key, len(forms))
    if isinstance(part, dict) and part.get("__id__") and numbered.setdefault(part["__id__"], form) != form:
        raise ValueError(f"object {part['__id__']!r:.40} in it is two different things")
    return form


def calling(schema: dict[str, Any]) -> set[str]:
    """The names of everything in a skops file that can be called; nothing of it is imported."""
    return {
        _name(node)
        for node in _nodes(schema)
        if node.get("__loader__") in _CALLING or node.get("__class__") in _CALLERS
    }


def check_schema(schema: dict[str, Any], archive: zipfile.ZipFile, allow: Collection[str]) -> None:
    """ValueError if what a skops file of known types would make could do harm; nothing of it is made."""
    for node in _nodes(schema):
        loader = node.get("__loader__")
        if not isinstance(loader, str):
            continue
        name = _name(node)
        if name in HARMLESS and loader != HARMLESS[name] and name not in allow:
            raise ValueError(f"{name} in it is a {loader}, and is known as a {HARMLESS[name]} only")
        if loader == "DictNode":
            _check_keys(node)
        elif loader == "ObjectNode":
            _check_object(node, name, allow)
        elif loader == "SparseMatrixNode":
            _check_sparse(archive.read(node["file"]))


def _name(node: dict[str, Any]) -> str:
    return f"{node.get('__module__')}.{node.get('__class__')}"


def _check_keys(node: dict[str, Any]) -> None:
    """Keys are made by calling what stands for their types."""
    types = node["key_types"]
    if types["__loader__"] != "ListNode" or any(
        each["__loader__"] != "TypeNode" for each in types["content"]
    ):
        raise ValueError("keys of a dict in it are made by something else than a type")


def _check_object(node: dict[str, Any], name: str, allow: Collection[str]) -> None:
    state = node.get("content")
    form = None if state is None else (state["__loader__"], _name(state))
    if form in (None, ("JsonNode", "builtins.str")) and (form is None or _plain(state) is None):
        return
    if form == ("TupleNode", "builtins.tuple") and (name in _STATES_OF_C or name in allow):
        return
    if state is None or form != ("DictNode", "builtins.dict"):
        raise ValueError(f"a {name} in it has its attributes in a form that skops does not write")
    if any(_name(each) != "builtins.str" for each in state["key_types"]["content"]):
        raise ValueError(f"a {name} in it has attributes with names that are no texts")
    kind = getattr(importlib.import_module(node["__module__"]), node["__class__"])
    for key, value in state["content"].items():
        if key.startswith("__") or _is_method(inspect.getattr_static(kind, key, None)):
            raise ValueError(f"a {name} in it replaces its method {key}")
        if key in ATTRIBUTES:
            test, expected = ATTRIBUTES[key]
            found = _plain(value)
            if not test(found):
                raise ValueError(f"{key} of a {name} in it must be {expected}: got {found!r:.60}")


def _is_method(found: object) -> bool:
    """Whether an attribute of a class is looked up to be called, or computed; not one that keeps a result."""
    return (callable(found) or hasattr(type(found), "__get__")) and not isinstance(found, cached_property)


def _plain(node: Any) -> Any:
    """The value of a node, if it is plain."""
    loader, content = node["__loader__"], node.get("content")
    if loader == "JsonNode":
        return json.loads(node["content"])
    if loader in ("ListNode", "TupleNode") and isinstance(content, list):
        return [_plain(each) for each in content]
    if loader == "DictNode" and isinstance(content, dict):
        return {key: _plain(value) for key, value in content.items()}
    return _Other(node)


def _check_sparse(file: bytes) -> None:
    """Compiled code follows the indices of a sparse matrix unchecked."""
    import scipy.sparse

    matrix: Any = scipy.sparse.load_npz(io.BytesIO(file))
    if matrix.format not in ("csc", "csr"):
        raise ValueError(f"a sparse matrix in it is in the format {matrix.format}, not in csc or csr")
    rows, columns = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
    start, index = matrix.indptr, matrix.indices
    fits = (
        start.dtype.kind == index.dtype.kind == "i"
        and matrix.data.dtype.kind in "bfiu"
        and start.shape == (rows + 1,)
        and index.shape == matrix.data.shape == (len(index),)
        and start[0] == 0
        and start[-1] == len(index)
        and np.all(np.diff(start) >= 0)
        and np.all((index >= 0) & (index < columns))
    )
    if not fits:
        raise ValueError("a sparse matrix in it has indices that point outside of it")


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
    """ValueError if arrays of a model point outside themselves: compiled code follows them unchecked."""
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
        elif kind in ("BSpline", "_BSpline"):
            _check_spline(each)
        if isinstance(each, dict):
            waiting += [(value, columns) for value in each.values()]
        elif isinstance(each, (list, tuple, set, frozenset)):
            waiting += [(value, columns) for value in each]
        elif isinstance(each, np.ndarray) and each.dtype == object:
            waiting += [(value, columns) for value in each.ravel().tolist()]
        if isinstance(getattr(each, "__dict__", None), dict):
            own = vars(each).get("n_features_in_", columns)
            waiting += [(value, own) for value in vars(each).values()]
            if "_n_support" in vars(each):
                _check_support(each)
            if "_fit_X" in vars(each) and "_y" in vars(each) and "classes_" in vars(each):
                _check_labels(each)


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


def _check_spline(spline: Any) -> None:
    knots, weights, degree = np.asarray(spline.t), np.asarray(spline.c), spline.k
    fits = (
        isinstance(degree, (int, np.integer))
        and 0 <= degree < len(knots)
        and knots.ndim == 1
        and knots.dtype.kind == weights.dtype.kind == "f"
        and np.all(np.isfinite(knots))
        and np.all(np.diff(knots) >= 0)
        and weights.ndim >= 1
        and len(weights) >= len(knots) - degree - 1 > degree
        and getattr(spline, "axis", 0) == 0
    )
    if not fits:
        raise ValueError("a BSpline in it has knots that do not fit its weights")


def _check_support(machine: Any) -> None:
    """A support vector machine: libsvm takes the sizes of its arrays from each other."""
    own = vars(machine)
    support, each = np.asarray(own["support_"]), np.asarray(own["_n_support"])
    weights, columns = own["_dual_coef_"], own["shape_fit_"][0]
    count, classes = len(support), len(each)
    pairs = classes * (classes - 1) // 2
    fits = (
        support.ndim == each.ndim == 1
        and classes >= 2
        and weights.shape == (classes - 1, count)
        and np.size(weights.data) == weights.shape[0] * count
        and np.shape(own["_intercept_"]) == (pairs,)
        and all(np.size(own[name]) in (0, pairs) for name in ("_probA", "_probB"))
    )
    if machine.kernel == "precomputed":  # vectors are columns of a row
        fits = fits and np.all((support >= 0) & (support < columns))
    else:
        fits = fits and own["support_vectors_"].shape[0] == count
    if machine._impl in ("c_svc", "nu_svc"):  # others have no counts of classes
        fits = fits and np.all(each >= 0) and int(each.sum()) == count
    if not fits:
        raise ValueError(f"a {type(machine).__name__} in it has support vectors that do not fit together")


def _check_labels(neighbours: Any) -> None:
    """Votes of neighbours are counted at the places that their labels say."""
    own = vars(neighbours)
    labels, classes, rows = np.asarray(own["_y"]), own["classes_"], own["_fit_X"].shape[0]
    each = classes if isinstance(classes, list) else [classes]
    fits = labels.shape in ((rows,), (rows, len(each))) and labels.dtype.kind in "iu"
    columns = labels.reshape(rows, -1).T if fits else ()
    if not fits or any(
        np.any((column < 0) | (column >= len(known))) for column, known in zip(columns, each, strict=True)
    ):
        raise ValueError(f"a {type(neighbours).__name__} in it has neighbours with labels that do not exist")

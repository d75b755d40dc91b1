"""Base learners by name, for participants with a few dozen rows each; what the prompt offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier


def _small_forest() -> Any:
    return RandomForestClassifier(n_estimators=20)


def _logistic() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def _nearest() -> Any:
    return make_pipeline(StandardScaler(), KNeighborsClassifier(n_neighbors=1))


def _tree() -> Any:
    return DecisionTreeClassifier(min_samples_leaf=2)


def _bayes() -> Any:
    return GaussianNB(var_smoothing=1e-2)


def _svm() -> Any:
    return make_pipeline(StandardScaler(), SVC())


# No seeds here: the estimators seed what has none.
MODELS: Final[dict[str, Callable[[], Any]]] = {
    "rf": RandomForestClassifier,
    "logistic": _logistic,
    "nearest": _nearest,
    "tree": _tree,
    "bayes": _bayes,
    "svm": _svm,
    "boosting": HistGradientBoostingClassifier,
}
MIXED: Final = "mixed"
_SMALL = (_small_forest, _logistic, _nearest, _tree, _bayes)


def models_for(name: str, participants: int) -> list[Any]:
    """A model for each participant: all of one name, or ``mixed``, five small families in turn."""
    if name == MIXED:
        return [_SMALL[i % len(_SMALL)]() for i in range(participants)]
    if name not in MODELS:
        raise ValueError(f"model must be one of {', '.join([*MODELS, MIXED])}: got {name!r}")
    return [MODELS[name]() for _ in range(participants)]


def for_table(model: Any, features: int, categorical: Sequence[int]) -> Any:
    """The model behind what a raw table needs: words one-hot, missing numbers by its owner's median.

    A column of which a participant has no value at all is 0 to it.
    """
    numbers = [i for i in range(features) if i not in categorical]
    return make_pipeline(
        make_column_transformer(
            (SimpleImputer(strategy="median", keep_empty_features=True), numbers),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), list(categorical)),
        ),
        model,
    )

"""Base learners by name, for participants with a few dozen rows each; what the prompt offers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from folkmoot import checks

# No seeds here: the estimators seed what has none.
MODELS: Final[dict[str, Callable[[], Any]]] = {
    "rf": RandomForestClassifier,
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "nearest": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(n_neighbors=1)),
    "tree": lambda: DecisionTreeClassifier(min_samples_leaf=2),
    "bayes": lambda: GaussianNB(var_smoothing=1e-2),
    "svm": lambda: make_pipeline(StandardScaler(), SVC()),
    "boosting": HistGradientBoostingClassifier,
}
# The same where numbers are predicted; what has no like there is left out.
REGRESSORS: Final[dict[str, Callable[[], Any]]] = {
    "rf": RandomForestRegressor,
    "linear": lambda: make_pipeline(StandardScaler(), Ridge()),
    "nearest": lambda: make_pipeline(StandardScaler(), KNeighborsRegressor(n_neighbors=1)),
    "tree": lambda: DecisionTreeRegressor(min_samples_leaf=2),
    # Its margin is in units of what is predicted.
    "svm": lambda: TransformedTargetRegressor(
        make_pipeline(StandardScaler(), SVR()), transformer=StandardScaler()
    ),
    "boosting": HistGradientBoostingRegressor,
}
MIXED: Final = "mixed"
_SMALL = (
    lambda: RandomForestClassifier(n_estimators=20),
    *(MODELS[name] for name in ("logistic", "nearest", "tree", "bayes")),
)
_SMALL_REGRESSORS = (
    lambda: RandomForestRegressor(n_estimators=20),
    *(REGRESSORS[name] for name in ("linear", "nearest", "tree", "svm")),
)
_WORDS_OF_TEXTS: Final = 1024  # features that the words of a text are hashed into


def models_for(name: str, participants: int, *, numbers: bool = False) -> list[Any]:
    """A model for each participant: all of one name, or ``mixed``, five small families in turn.

    With ``numbers`` they are regressors.
    """
    known, small = (REGRESSORS, _SMALL_REGRESSORS) if numbers else (MODELS, _SMALL)
    if name == MIXED:
        return [small[i % len(small)]() for i in range(participants)]
    if name not in known:
        what = " where numbers are predicted" if numbers else ""
        other = "; {task} says whether numbers or classes are predicted" if numbers and name in MODELS else ""
        if "." in name or "/" in name:  # a path
            other = "; each group fits its own, and files of fitted models are for folkmoot node init --model"
        names = ", ".join([*known, MIXED])
        raise checks.ArgumentError(
            f"{{model}} must be one of {names}{what}: got {{name!r}}{other}", name=name
        )
    return [known[name]() for _ in range(participants)]


def for_table(model: Any, features: int, categorical: Sequence[int], texts: Sequence[int] = ()) -> Any:
    """Put a model behind what a raw table needs: words one-hot, missing numbers by its owner's median.

    A column of which a participant has no value at all is 0 to it. Of texts it has the TF-IDF weights of
    their words, hashed, so that the model holds no word of its owner's.

    Parameters
    ----------
    model : model
        A classifier or regressor for numbers, not fitted.
    features : int
        How many columns the table has.
    categorical : sequence of int
        The columns that hold words.
    texts : sequence of int, default ()
        The columns that hold texts of several words.

    Returns
    -------
    Pipeline
        The model, not fitted, for rows of the raw table.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot import for_table
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rows = np.array([[60.0, "yes"], [np.nan, "yes"], [20.0, "no"]], dtype=object)
    >>> model = for_table(DecisionTreeClassifier(), features=2, categorical=[1]).fit(rows, [1, 1, 0])
    >>> model.predict(np.array([[25.0, "no"]], dtype=object))
    array([0])
    """
    numbers = [i for i in range(features) if i not in (*categorical, *texts)]
    return make_pipeline(
        make_column_transformer(
            (SimpleImputer(strategy="median", keep_empty_features=True), numbers),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), list(categorical)),
            *((_words_of_texts(), each) for each in texts),
            sparse_threshold=0.0 if texts else 0.3,
        ),
        model,
    )


def _words_of_texts() -> Any:
    words = HashingVectorizer(n_features=_WORDS_OF_TEXTS, alternate_sign=False, norm=None)
    return make_pipeline(words, TfidfTransformer())

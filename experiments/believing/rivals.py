"""What anybody can make of the votes on shown rows without vetting: dynamic selection, stacking, a forest.

KNORA-U (Ko, Sabourin and Britto 2008) counts a participant's vote as often as it is right on the nearest
rows. Weights by log-odds of accuracy are those of Nitzan and Paroush (1982).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.preprocessing import OneHotEncoder

from folkmoot.aggregation import Rows
from folkmoot.aggregation.space import Space
from folkmoot.arrays import Array, Floats, Ints

_NEIGHBOURS: Final = 7  # DESlib's default


def _nearest(rows: Rows, inputs: Array) -> Ints:
    apart = Space(rows.inputs).distances(inputs)
    return np.argsort(apart, axis=1)[:, :_NEIGHBOURS]


def _counted(votes: Ints, weights: Floats, classes: int) -> Ints:
    """The class with the most weight; ``weights`` is (participant, input) or (participant, 1)."""
    return np.asarray(np.stack([((votes == c) * weights).sum(axis=0) for c in range(classes)]).argmax(axis=0))


def knora_u(rows: Rows, votes: Ints, inputs: Array, classes: int) -> Ints:
    """Each vote counts as often as its participant is right on the nearest rows."""
    right = rows.votes == rows.truth
    competence = right[:, _nearest(rows, inputs)].sum(axis=2).astype(np.float64)
    competence[:, competence.sum(axis=0) == 0] = 1.0
    return _counted(votes, competence, classes)


def log_odds(rows: Rows, votes: Ints, inputs: Array, classes: int) -> Ints:  # noqa: ARG001
    """Votes by the log-odds of accuracy on all rows."""
    sure = ((rows.votes == rows.truth).sum(axis=1) + 1) / (len(rows.truth) + classes)
    return _counted(votes, np.log(sure * (classes - 1) / (1 - sure))[:, None], classes)


def stacking(rows: Rows, votes: Ints, inputs: Array, classes: int) -> Ints:  # noqa: ARG001
    """Logistic regression on votes."""
    hot = OneHotEncoder(categories=[np.arange(classes)] * len(votes), handle_unknown="ignore")
    model = LogisticRegression(max_iter=1000)
    return np.asarray(model.fit(hot.fit_transform(rows.votes.T), rows.truth).predict(hot.transform(votes.T)))


def forest(rows: Rows, votes: Ints, inputs: Array, classes: int) -> Ints:  # noqa: ARG001
    """A forest on the shown rows, which needs no votes."""
    return np.asarray(
        RandomForestClassifier(100, random_state=0).fit(rows.inputs, rows.truth).predict(inputs)
    )


def stacked_numbers(rows: Rows, values: Floats, inputs: Array) -> Floats:  # noqa: ARG001
    """Ridge regression on everybody's numbers."""
    model = RidgeCV(np.geomspace(0.1, 1e4, 11)).fit(rows.votes.T, rows.truth)
    return np.asarray(model.predict(values.T))


def forest_numbers(rows: Rows, values: Floats, inputs: Array) -> Floats:  # noqa: ARG001
    """A forest on the shown rows."""
    return np.asarray(RandomForestRegressor(100, random_state=0).fit(rows.inputs, rows.truth).predict(inputs))


def ridge_numbers(rows: Rows, values: Floats, inputs: Array) -> Floats:  # noqa: ARG001
    """Ridge regression on the inputs of the shown rows."""
    space = Space(rows.inputs)
    model = RidgeCV(np.geomspace(0.1, 1e4, 11)).fit(space.placed(rows.inputs), rows.truth)
    return np.asarray(model.predict(space.placed(inputs)))


def nearest_numbers(rows: Rows, values: Floats, inputs: Array) -> Floats:
    """Numbers by the inverse squared error on the nearest rows."""
    squares = ((rows.votes - rows.truth) ** 2)[:, _nearest(rows, inputs)].mean(axis=2)
    weights = 1 / (squares + 1e-3 * squares.mean())
    return np.asarray((weights * values).sum(axis=0) / weights.sum(axis=0))


LABELS: Final[dict[str, Callable[[Rows, Ints, Array, int], Ints]]] = {
    "KNORA-U": knora_u,
    "log-odds": log_odds,
    "stacking": stacking,
    "forest on shown rows": forest,
}
NUMBERS: Final[dict[str, Callable[[Rows, Floats, Array], Floats]]] = {
    "stacking": stacked_numbers,
    "nearest rows": nearest_numbers,
    "ridge on shown rows": ridge_numbers,
    "forest on shown rows": forest_numbers,
}

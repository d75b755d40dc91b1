"""``[improve]`` in ``node.toml``: of whose pools better models are made, by which rows and estimator."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np

from folkmoot.arrays import Floats
from folkmoot.network.membership.fields import check_keys, check_name
from folkmoot.network.service.holdout import read_labelled
from folkmoot.network.service.models import imported, is_function
from folkmoot.network.wire.motion import MOST_INPUTS
from folkmoot.network.wire.schema import Column, MismatchError, Schema, align, another_number
from folkmoot.skops_files import read_skops, told
from folkmoot.tabular import shortened

_NEEDED: Final = ("rows", "estimator")
_BOUNDS: Final[dict[str, tuple[int, int]]] = {
    "most_rows": (1, MOST_INPUTS),
    "most_seconds": (1, 86_400),
    "most_megabytes": (512, 1 << 20),
    "pools_a_day": (1, 1000),
}


@dataclass(frozen=True)
class Improve:
    """What a node needs to make a better model of what a moot has decided.

    Parameters
    ----------
    rows : Path
        Its own labelled rows: an .npz file with X and y, or a table.
    estimator : str
        What is fitted to them and to the pool: a skops file of an estimator that is not fitted, or
        ``package.module:factory``, which returns one.
    target : str, default "label"
        The column of a table that holds the labels.
    askers : tuple of str
        Names of the members whose pools it takes, besides its own.
    most_rows : int, default 20_000
        How many inputs a pool may hold.
    most_seconds : int, default 300
        How long a refit may take; then it is ended.
    most_megabytes : int, default 4096
        How much memory a refit may take; then it fails, and the node goes on.
    pools_a_day : int, default 10
        How many pools it takes in 24 hours.
    adopt_by_page : bool, default False
        Whether the page and the HTTP API may adopt a model and undo that. Else whoever has their token, and
        may ask, could put a pool of its own choice and let what comes of it vote.

    Examples
    --------
    >>> from pathlib import Path
    >>> from folkmoot.network.service.improve.settings import Improve
    >>> Improve.read({"rows": "own.csv", "estimator": "trees:new", "askers": ["north"]}, Path("east")).rows
    PosixPath('east/own.csv')
    >>> Improve.read({"rows": "own.csv", "estimator": "forest.onnx"}, Path("east"))
    Traceback (most recent call last):
        ...
    ValueError: estimator must be FILE.skops or package.module:factory: got 'forest.onnx'
    """

    rows: Path
    estimator: str
    target: str = "label"
    askers: tuple[str, ...] = ()
    most_rows: int = 20_000
    most_seconds: int = 300
    most_megabytes: int = 4096
    pools_a_day: int = 10
    adopt_by_page: bool = False

    @classmethod
    def read(cls, table: object, folder: Path) -> Improve:
        """What stands in a table of ``node.toml`` in ``folder``; ValueError if it is wrong."""
        if not isinstance(table, Mapping):
            raise ValueError(f"improve must be a table, such as [improve] above its lines: got {table!r}")
        names = [each.name for each in fields(cls)]
        for problem in check_keys(table, names, optional=[name for name in names if name not in _NEEDED]):
            raise ValueError(f"[improve]: {problem}")
        for key in ("rows", "estimator", "target"):
            value = table.get(key, "label")
            if not isinstance(value, str) or not value:
                raise ValueError(f"{key} in [improve] must be text: got {value!r}")
        by_page = table.get("adopt_by_page", False)
        if not isinstance(by_page, bool):
            raise ValueError(f"adopt_by_page in [improve] must be true or false: got {by_page!r}")
        estimator = table["estimator"]
        if not is_function(estimator) and Path(estimator).suffix.lower() != ".skops":
            raise ValueError(f"estimator must be FILE.skops or package.module:factory: got {estimator!r}")
        return cls(
            folder / table["rows"],
            estimator if is_function(estimator) else str(folder / estimator),
            table.get("target", "label"),
            _askers(table.get("askers", [])),
            adopt_by_page=by_page,
            **{name: _whole(name, table[name]) for name in _BOUNDS if name in table},
        )

    def takes(self, asker: str, own: str) -> bool:
        """Whether it takes the pools of this member; ``own`` is the node's own name."""
        return asker == own or asker in self.askers

    def strangers(self, names: Collection[str]) -> list[str]:
        """Whom it lists that are not among these members."""
        return sorted(name for name in self.askers if name not in names)


@dataclass(frozen=True, eq=False)
class OwnTable:
    """A node's own labelled rows, with the columns where its model has them."""

    X: Floats
    labels: list[str]


def own_rows(improve: Improve, schema: Schema, columns: int | None) -> OwnTable:
    """The rows that ``[improve]`` names; ``schema`` and ``columns`` are those of the node's model."""
    found = labelled_rows(improve.rows, improve.target, schema, columns)
    known = sorted(set(found.labels))
    if len(known) < 2:
        raise ValueError(f"{improve.rows} must hold rows of two labels at least: it has {shortened(known)}")
    return found


def labelled_rows(path: Path, target: str, schema: Schema, columns: int | None) -> OwnTable:
    """Labelled rows in a file, with the columns where the model has them; ValueError if they do not fit."""
    X, labels, names = read_labelled(path, target)
    try:
        if columns is not None and X.shape[1] != columns:
            raise another_number(columns, X.shape[1])
        fit = align(schema, tuple(Column(name) for name in names), X.shape[1])
    except MismatchError as error:
        raise ValueError(f"{path} must have the columns of the model, and {target!r}: {error}") from None
    return OwnTable(np.asarray(fit.arranged(X), dtype=np.float64), labels)


def unfitted_estimator(spec: str, allow: Sequence[str]) -> Any:
    """The estimator that ``[improve]`` names; ValueError unless it can be cloned and was not fitted."""
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    what = f"estimator {spec} in [improve]"
    if is_function(spec):
        try:
            found = imported(spec, "estimator")()
        except ValueError:
            raise
        except Exception as error:
            raise ValueError(f"{what} must be a function without arguments: {told(error)}") from error
    else:
        if not Path(spec).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), spec)
        found = read_skops(spec, allow, what="estimator")
    if isinstance(found, type) or not all(callable(getattr(found, n, None)) for n in ("fit", "predict")):
        kind = found.__name__ if isinstance(found, type) else type(found).__name__
        raise ValueError(f"{what} must be an estimator with fit and predict: got {kind}")
    try:
        check_is_fitted(found)
    except NotFittedError:
        pass
    except TypeError as error:
        raise ValueError(f"{what} must be an estimator of scikit-learn's kind: {error}") from None
    else:
        raise ValueError(f"{what} must not be fitted: give one that has seen no rows")
    try:
        clone(found)
    except Exception as error:  # any estimator may be here
        raise ValueError(f"{what} must be one that scikit-learn can clone: {told(error)}") from None
    return found


def _askers(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f'askers in [improve] must be a list of names, such as ["north"]: got {value!r}')
    return tuple(check_name(name) for name in value)


def _whole(name: str, value: object) -> int:
    least, most = _BOUNDS[name]
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(
            f"{name} in [improve] must be a whole number from {least:,} to {most:,}: got {value!r}"
        )
    return value

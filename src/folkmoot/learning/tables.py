"""Rows and columns of inputs: arrays, sparse matrices, data frames, texts and other objects.

Inputs of one dimension (a list of texts, a Series, a list of dictionaries) go to the models unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_array, validate_data

from folkmoot.arrays import Array, Ints


def column_names(X: Any) -> list[Any] | None:
    """The names of the columns of a data frame, else None."""
    names = getattr(X, "columns", None)
    return None if names is None else list(names)


def refuse_name(argument: str, given: Any, what: str) -> None:
    """TypeError for the name of a column in place of the column."""
    if isinstance(given, str):
        raise TypeError(
            f"{argument} must say {what}, one entry per row: got the text {given!r}; give the column itself, "
            f"such as frame[{given!r}], and leave it out of X"
        )


def group_column(groups: Any) -> Array:
    """The participant of each row, as it was given."""
    refuse_name("groups", groups, "whose each row is")
    values: Array = np.asarray(groups)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"groups must be one column: got the shape {values.shape}")
    return values


def is_missing(value: object) -> bool:
    """None, NaN, NaT and pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True  # pandas' NA is neither equal nor unequal to itself


def check_inputs(estimator: Any, X: Any, *, reset: bool, compare: bool = True) -> Any:
    """X, checked for dimensions and columns as in ``fit``; models check the rest, such as NaN.

    Data frames stay data frames, since models may choose columns by name. Inputs of one dimension stay
    unchanged.
    """
    fitted = None if reset else vars(estimator).get("_one_dimensional")
    one = _is_one_dimensional(X, fitted)
    if fitted and not one:
        raise ValueError(
            f"X must have one dimension, as in fit: got {_shape_of(X)}; of a data frame give one column, "
            "such as X['text']"
        )
    if reset:
        estimator._one_dimensional = one
    if one and fitted is not False:
        if _num_samples(X) == 0:
            raise ValueError("X must hold at least one row: got 0 sample(s)")
        return X
    if column_names(X) is not None:
        if compare:
            validate_data(estimator, X, reset=reset, skip_check_array=True)
        if _num_samples(X) == 0:
            raise ValueError("X must hold at least one row: got 0 sample(s)")
        return X
    X = check_array(X, accept_sparse="csr", dtype=None, ensure_all_finite=False, estimator=estimator)
    if X.dtype == object:
        for (row, column), value in np.ndenumerate(X):
            if isinstance(value, (dict, list, set, tuple)):
                kind = type(value).__name__
                raise TypeError(
                    f"every argument must be a string or a number: X[{row}, {column}] is a {kind}"
                )
    if compare:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    return X


def _is_one_dimensional(X: Any, fitted: bool | None) -> bool:
    """Whether the rows of X are single things, such as texts, and not rows of columns.

    Lists of equally many things each can be either: then it is as in ``fit``, or rows of columns.
    """
    if sparse.issparse(X) or column_names(X) is not None:
        return False
    if hasattr(X, "shape"):
        return len(X.shape) == 1
    if not isinstance(X, (list, tuple)):
        return hasattr(X, "__array__") and np.asarray(X).ndim == 1
    many = {len(row) if _holds_columns(row) else None for row in X}
    return fitted is True or len(many) > 1 or None in many


def _holds_columns(row: Any) -> bool:
    return isinstance(row, (list, tuple)) or (hasattr(row, "__array__") and np.asarray(row).ndim > 0)


def _shape_of(X: Any) -> str:
    if hasattr(X, "shape"):
        return f"the shape {tuple(X.shape)}"
    return f"a {type(X).__name__}"


def rows_in(X: Any) -> int:
    """The number of rows of X."""
    return int(_num_samples(X))


def rows_of(X: Any, rows: Ints) -> Any:
    """These rows of X."""
    return _safe_indexing(X, rows, axis=0)


def stacked(parts: Sequence[Any]) -> Any:
    """The rows of all parts, which are of one kind, below each other."""
    first = parts[0]
    if sparse.issparse(first):
        return sparse.vstack(parts, format="csr")
    if isinstance(first, list):
        return [row for part in parts for row in part]
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    if type(first).__module__.startswith("polars"):
        import polars

        return polars.concat(parts)
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


def columns_of(X: Any, columns: Any) -> Any:
    """These columns of X; all of them for None."""
    if columns is None:
        return X
    if sparse.issparse(X):
        return X[:, columns]  # type: ignore[index]
    return _safe_indexing(X, list(columns), axis=1)


def columns_each(columns: Any, names: Sequence[str]) -> list[list[Any] | None]:
    """The columns of each participant, from ``columns=``: None, one entry for each, or a mapping by name."""
    if columns is None:
        return [None] * len(names)
    if isinstance(columns, Mapping):
        unknown = next((name for name in columns if str(name) not in names), None)
        if unknown is not None:
            raise ValueError(f"columns names {unknown!r}, which is no participant: {_some(names)}")
        by_name = {str(name): value for name, value in columns.items()}
        return [_as_list(by_name.get(name), name) for name in names]
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise TypeError(
            f"columns must be a list with one entry per participant, or a mapping by name: got {columns!r}"
        )
    if len(columns) != len(names):
        raise ValueError(
            f"columns must hold one entry per participant ({len(names)}): got {len(columns)} entries"
        )
    return [_as_list(value, name) for value, name in zip(columns, names, strict=True)]


def check_columns(each: Sequence[list[Any] | None], names: Sequence[str], X: Any) -> None:
    """ValueError for the first column of a participant that X does not have."""
    chosen = next((name for wanted, name in zip(each, names, strict=True) if wanted is not None), None)
    if chosen is None:
        return
    if _is_one_dimensional(X, None):
        raise ValueError(
            f"columns must be None where X has one dimension, which has none: participant {chosen!r} wants "
            "some; let its model choose what it needs"
        )
    there, width = column_names(X), X.shape[1]
    for wanted, name in zip(each, names, strict=True):
        for column in wanted or ():
            if isinstance(column, str):
                if there is None:
                    raise ValueError(
                        f"participant {name!r} wants the column {column!r}, but X has no column names: "
                        f"give X as a data frame, or columns as numbers below {width}"
                    )
                if column not in there:
                    raise ValueError(
                        f"participant {name!r} wants the column {column!r}, which X has not: {_some(there)}"
                    )
            elif not -width <= column < width:
                raise ValueError(
                    f"participant {name!r} wants column {column}, but X has {width} columns (0..{width - 1})"
                )


def _as_list(value: Any, name: str) -> list[Any] | None:
    if value is None:
        return None
    items = [value] if isinstance(value, str) or np.ndim(value) == 0 else list(value)
    whole = all(isinstance(item, (int, np.integer)) and not isinstance(item, bool) for item in items)
    if not items or not (whole or all(isinstance(item, str) for item in items)):
        raise TypeError(
            f"columns of participant {name!r} must be a list of names or of numbers: got {value!r}"
        )
    return [int(item) for item in items] if whole else items


def _some(names: Sequence[Any]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"there are {', '.join(map(repr, names[:12]))}{more}"

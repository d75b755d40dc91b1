"""How near inputs are to shown rows: squared distances in features that are comparable.

Numbers are divided by their standard deviation among shown rows. Each category that differs counts like two
numbers that are one deviation apart. Texts are TF-IDF weights of their words, compared by the cosine.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from scipy import sparse

from folkmoot.arrays import Array, Floats, Ints

# Different values of a text column from which it holds texts, where its values have several words.
_TEXTS: Final = 30


class Space:
    """The features of shown rows, and the way from inputs to these."""

    def __init__(self, rows: Any) -> None:
        parts = _parts(rows)
        self._columns = [_Column(part) for part in parts]
        self._rows = self._placed(parts)
        self._sizes = _squares(self._rows)

    def distances(self, inputs: Any) -> Floats:
        """(input, row): squared distances from inputs to shown rows."""
        return self._apart(self.placed(inputs))

    def placed(self, inputs: Any) -> Any:
        """(input, feature): inputs as numbers, which any model takes."""
        return self._placed(_parts(inputs))

    def between(self) -> Floats:
        """(row, row): squared distances among shown rows."""
        return self._apart(self._rows)

    def _apart(self, places: Any) -> Floats:
        product: Any = places @ self._rows.T
        dense = product.toarray() if hasattr(product, "toarray") else product
        return np.asarray(np.maximum(_squares(places)[:, None] + self._sizes - 2 * dense, 0.0))

    def _placed(self, parts: list[Any]) -> Any:
        if len(parts) != len(self._columns):
            raise ValueError(
                f"inputs must have the {len(self._columns)} columns of the shown rows: got {len(parts)}"
            )
        done = [column.placed(part) for column, part in zip(self._columns, parts, strict=True)]
        if any(sparse.issparse(each) for each in done):
            blocks: list[Any] = [each if sparse.issparse(each) else sparse.csr_array(each) for each in done]
            return sparse.hstack(blocks, format="csr")
        return np.concatenate(done, axis=1)


def space_of(rows: Any) -> Space | None:
    """The space of shown rows; None if nothing tells how near they are, as of objects of any other kind."""
    if rows is None:
        return None
    try:
        return Space(rows)
    except (TypeError, ValueError):
        return None


class _Column:
    """One block of columns: numbers, one category, or one text."""

    def __init__(self, values: Any) -> None:
        self._words: Any = None
        self._known: Array | None = None
        if sparse.issparse(values):
            return
        if values.dtype.kind in "biuf":
            numbers = values.astype(np.float64)
            self._middle = _median(numbers)
            filled = np.where(np.isnan(numbers), self._middle, numbers)
            spread = filled.std(axis=0)
            self._spread = np.where(spread > 1e-12, spread, 1.0)
            return
        texts = _as_texts(values)
        self._known = np.unique(texts)
        if len(self._known) > _TEXTS and np.mean([" " in each for each in self._known.tolist()]) > 0.5:
            from sklearn.feature_extraction.text import TfidfVectorizer

            self._words = TfidfVectorizer().fit(texts.tolist())

    def placed(self, values: Any) -> Any:
        """(row, feature)."""
        if sparse.issparse(values):
            matrix: Any = values
            sizes = np.sqrt(_squares(matrix))
            return sparse.diags(1 / np.where(sizes > 0, sizes, 1.0)) @ matrix
        if self._words is not None:
            return self._words.transform(_as_texts(values).tolist())
        if self._known is not None:
            return (_as_texts(values)[:, None] == self._known).astype(np.float64)
        numbers = values.astype(np.float64)
        return (np.where(np.isnan(numbers), self._middle, numbers) - self._middle) / self._spread


def _parts(X: Any) -> list[Any]:
    """Blocks of columns: all numbers of an array together, else one for each column."""
    if sparse.issparse(X):
        return [X]
    names = getattr(X, "columns", None)
    if names is not None:
        return [_typed(np.asarray(X[name])) for name in names]
    array = np.asarray(X)
    if array.ndim == 1:
        return [_typed(array)]
    if array.ndim != 2:
        raise ValueError(f"rows must have one or two dimensions: got {array.ndim}")
    if array.dtype.kind in "biuf":
        return [array]
    return [_typed(column) for column in array.T]


def _typed(column: Array) -> Array:
    """One column: numbers as (row, 1), if it holds nothing else, or as it is."""
    if column.dtype.kind in "biuf":
        return column.reshape(-1, 1)
    if not all(isinstance(each, (str, float, int, np.generic, type(None))) for each in column.tolist()):
        raise TypeError("only numbers, categories and texts have a distance")
    if any(isinstance(each, str) for each in column.tolist()):
        return column
    try:
        return column.astype(np.float64).reshape(-1, 1)
    except (TypeError, ValueError):
        return column


def _as_texts(values: Array) -> Array:
    return np.array([str(each) for each in values.ravel().tolist()])


def _median(numbers: Floats) -> Floats:
    there = ~np.isnan(numbers)
    safe = np.where(there.any(axis=0), numbers, 0.0)
    return np.asarray(np.nanmedian(safe, axis=0))


def _squares(places: Any) -> Floats:
    squares: Any = places
    if sparse.issparse(places):
        return np.asarray(squares.multiply(places).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray((places**2).sum(axis=1))


def places_in(space: Space, inputs: Any, some: Ints | slice) -> Floats:
    """(input, row): distances of some of the inputs."""
    from sklearn.utils import _safe_indexing

    return space.distances(_safe_indexing(inputs, some, axis=0))

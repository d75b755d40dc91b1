"""Inputs as models take them: numbers as they are, texts as a list, records as a data frame or dicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from folkmoot.arrays import Array


def given(rows: Array, names: Sequence[str], *, framed: bool) -> Any:
    """The rows as a model is shown them.

    ``framed``: it was fitted on a data frame, so records are one, with its columns by name. Others get a
    dictionary per record, as ``DictVectorizer`` takes them.
    """
    if rows.dtype != object:
        return rows
    if rows.ndim == 1:
        return rows.tolist()
    if not framed:
        return [dict(zip(names, row, strict=True)) for row in rows.tolist()]
    import pandas as pd

    return pd.DataFrame(rows, columns=list(names)).infer_objects()

"""MootData: columns that fit, and who has which rows."""

from __future__ import annotations

import numpy as np
import pytest

from folkmoot.datasets.moot_data import MootData

X = np.arange(8.0).reshape(4, 2)
Y = np.array([1, 0, 1, 1])


def made(groups: list[str], **test: object) -> MootData:
    names = np.array(["absent", "present"])
    return MootData(X, Y, np.array(groups), ("a", "b"), names, "made", **test)  # type: ignore[arg-type]


def test_rows_and_participants() -> None:
    data = made(["va", "basel", "va", "basel"])
    assert data.participants.tolist() == ["basel", "va"]
    assert data.rows("va").tolist() == [0, 2]
    summary = data.summary()
    assert summary.classes.tolist() == ["absent", "present"]
    assert summary.counts.tolist() == [[1, 1], [0, 2]]
    with pytest.raises(KeyError, match="no participant is called 'zurich'"):
        data.rows("zurich")
    with pytest.raises(KeyError, match="no participant is called 0"):
        data.rows(0)


def test_columns_must_fit() -> None:
    with pytest.raises(ValueError, match=r"groups must hold one value per row of X \(4\): got 3"):
        made(["va", "va", "va"])
    with pytest.raises(ValueError, match=r"y_test must hold one value per row of X_test \(2\): got 4"):
        made(["va"] * 4, X_test=X[:2], y_test=Y)
    with pytest.raises(ValueError, match=r"y_test must hold one value per row of X_test \(0\): got 4"):
        made(["va"] * 4, y_test=Y)
    assert made(["va"] * 4, X_test=X).y_test is None

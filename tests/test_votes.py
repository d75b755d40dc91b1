from __future__ import annotations

import numpy as np
import pytest

from folkmoot.votes import check_votes, class_count


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64, np.uint8])
def test_any_integers_will_do(dtype: type) -> None:
    votes = check_votes(np.array([[0, 1], [2, 0]], dtype=dtype))
    assert votes.dtype == np.int64
    assert votes.tolist() == [[0, 1], [2, 0]]


def test_colours_are_counted_where_the_caller_does_not_say() -> None:
    assert class_count(check_votes([[0, 3, -1]])) == 4
    assert class_count(check_votes([[-1, 0]])) == 2
    assert class_count(check_votes([[0, 1]]), 5) == 5


@pytest.mark.parametrize(
    ("votes", "classes", "error", "message"),
    [
        ([[0, 1], [1, 5]], 2, ValueError, r"votes\[1, 1\] must satisfy -1 <= class < 2: got 5"),
        ([[0, 1], [2, 5]], 2, ValueError, r"votes\[1, 0\] must satisfy -1 <= class < 2: got 2"),
        ([[0, -2]], 3, ValueError, r"votes\[0, 1\] must satisfy -1 <= class < 3: got -2"),
        ([[0, -2]], None, ValueError, r"votes\[0, 1\] must satisfy -1 <= class: got -2"),
        (np.array([[255]], dtype=np.uint8), 2, ValueError, "got 255"),  # not -1
        ([0, 1], 2, ValueError, r"the shape \(participant, input\): got the shape \(2,\)"),
        ([[[0]]], 2, ValueError, r"got the shape \(1, 1, 1\)"),
        ([[], []], 2, ValueError, r"at least one vote: got the shape \(2, 0\)"),
        ([[0, 1], [1]], 2, ValueError, "got unequal rows"),
        ([[0.0, 1.0]], 2, TypeError, "must be integers: got an array of float64"),
        ([[True, False]], 2, TypeError, "must be integers: got an array of bool"),
        ([[0, None]], 2, TypeError, "must be integers: got an array of object"),
        ([[0, 0]], 1, ValueError, "classes >= 2: got classes=1"),
        ([[0, 1]], 2.0, TypeError, "classes must be an integer: got classes=2.0"),
    ],
)
def test_bad_votes_are_named(votes: object, classes: int, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        check_votes(votes, classes)  # type: ignore[arg-type]

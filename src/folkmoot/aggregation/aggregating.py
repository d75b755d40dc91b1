"""``aggregate``: votes in, answers out; the one place where tables for aggregations are checked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.aggregation.interface import Aggregation, Answers, Kind, Known, Rows
from folkmoot.aggregation.own import kind_of
from folkmoot.aggregation.plurality import Plurality
from folkmoot.arrays import Array
from folkmoot.votes import NO_VOTE, check_truth, check_votes


def aggregate(
    votes: npt.ArrayLike,
    aggregation: Aggregation | str | None = None,
    *,
    truth: npt.ArrayLike | None = None,
    classes: int | None = None,
) -> Answers:
    """Make one answer per input of what all participants said.

    Parameters
    ----------
    votes : array-like
        Each participant's answer to each input. Classes: integers 0..C-1, -1 or NaN for no vote, of
        shape (participant, input). Probabilities: shape (participant, input, class), NaN for none.
        Numbers: shape (participant, input) or (participant, input, d), NaN for none.
    aggregation : Aggregation or str, optional
        How: any class of ``folkmoot.aggregation``, or its name. Default: ``Plurality()``.
    truth : array-like of int, shape (input,), optional
        The right classes that are known, -1 elsewhere, for ``DawidSkene``.
    classes : int, optional
        The number of classes. Default: one more than the largest vote.

    Returns
    -------
    Answers
        The decisions, and for classes their shares of the vote and the ties.

    Raises
    ------
    ValueError
        If the votes are not of a kind that the aggregation takes.

    Examples
    --------
    >>> from folkmoot import aggregate
    >>> from folkmoot.aggregation import Median
    >>> aggregate([[0, 1], [0, 1], [1, 1]]).decision
    array([0, 1])
    >>> aggregate([[0.5, 1.0], [0.7, float("nan")], [9.0, 3.0]], Median()).decision
    array([0.7, 2. ])
    """
    rule = check_aggregation(Plurality() if aggregation is None else aggregation)
    table, kind = check_table(votes, rule, classes)
    if kind != "labels":
        return rule.aggregate(table, Known(classes=classes))
    most = None if classes is None else checks.integer("classes", classes, least=1)
    right = None if truth is None else check_truth(truth, table.shape[1], complete=False)
    return rule.aggregate(table, Known(truth=right, classes=most))


def check_aggregation(rule: object) -> Aggregation:
    """The aggregation, also by its name as people type it; TypeError if it is none."""
    if isinstance(rule, str):
        from folkmoot.aggregation.naming import aggregation_called  # which loads all of them

        return aggregation_called(rule)
    if not isinstance(rule, Aggregation):
        raise TypeError(f"aggregation must be one of folkmoot.aggregation, such as Plurality(): got {rule!r}")
    return rule


def check_table(
    votes: npt.ArrayLike, rule: Aggregation, classes: int | None, rows: Rows | None = None
) -> tuple[Array, Kind]:
    """The table, and its kind, which its type and shape, validation rows and the aggregation tell."""
    try:
        array = np.asarray(votes)
    except ValueError:
        raise ValueError(
            "votes must hold one row of equal length per participant: got unequal rows"
        ) from None
    kind = _kind(array, rule, rows)
    if kind == "labels":
        if array.dtype.kind == "f" and (np.isnan(array) | (array == np.trunc(array))).all():
            if np.isinf(array).any():
                raise ValueError("votes must be classes, or NaN where there is none: got an infinite one")
            array = np.nan_to_num(array, nan=NO_VOTE).astype(np.int64)  # pandas has labels with gaps so
        if array.dtype.kind == "f":
            raise ValueError(
                f"{type(rule).__name__} takes classes, integers: got numbers with decimals; for those take "
                "Median() or TrimmedMean(), for probabilities Pool()"
            )
        return check_votes(array, classes), kind
    if array.dtype.kind not in "fiu":
        raise TypeError(f"votes must be numbers: got an array of {array.dtype}")
    table = array.astype(np.float64)
    shapes = (3,) if kind == "probabilities" else (2, 3)
    what = "(participant, input, class)" if kind == "probabilities" else "(participant, input[, dimension])"
    if table.ndim not in shapes or not table.size:
        raise ValueError(f"{type(rule).__name__} takes an array of shape {what}: got shape {array.shape}")
    if np.isinf(table).any():
        raise ValueError("votes must be finite, or NaN where there is none: got an infinite one")
    if kind == "probabilities" and ((table < 0) | (table > 1)).any():
        raise ValueError("probabilities must be within 0..1: got others")
    return table, kind


def _kind(array: Array, rule: Aggregation, rows: Rows | None) -> Kind:
    """What a table holds, of the kinds that the aggregation takes: integers are classes if it takes these."""
    if "labels" in rule.takes and (array.dtype.kind != "f" or len(rule.takes) == 1):
        return "labels"
    if "numbers" not in rule.takes:
        return "probabilities"
    return kind_of(array, rows) if "probabilities" in rule.takes else "numbers"

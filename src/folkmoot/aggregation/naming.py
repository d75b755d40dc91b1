"""Aggregations as people type them: ``dawid-skene``, ``plurality(least=2)``, ``peer-review(rows=5)``."""

from __future__ import annotations

import ast
import re
from dataclasses import MISSING, fields
from typing import Any, Final

from folkmoot import checks
from folkmoot.aggregation.auto import Auto
from folkmoot.aggregation.dawid_skene import DawidSkene
from folkmoot.aggregation.geometric_median import GeometricMedian
from folkmoot.aggregation.holdout_trust import HoldoutTrust
from folkmoot.aggregation.interface import Aggregation
from folkmoot.aggregation.krum import Krum
from folkmoot.aggregation.mean import Mean
from folkmoot.aggregation.median import Median
from folkmoot.aggregation.peer_review import PeerReview
from folkmoot.aggregation.plurality import Plurality
from folkmoot.aggregation.pool import Pool
from folkmoot.aggregation.rule import Rule
from folkmoot.aggregation.trimmed_mean import TrimmedMean
from folkmoot.aggregation.weighted import Weighted

AGGREGATIONS: Final[dict[str, type[Aggregation]]] = {
    "plurality": Plurality,
    "dawid-skene": DawidSkene,
    "weighted": Weighted,
    "peer-review": PeerReview,
    "own": HoldoutTrust,
    "pool": Pool,
    "trimmed-mean": TrimmedMean,
    "median": Median,
    "geometric-median": GeometricMedian,
    "krum": Krum,
    "mean": Mean,
    "auto": Auto,
}
# The rules for numbers.
RULES: Final[dict[str, type[Rule]]] = {
    "trimmed-mean": TrimmedMean,
    "median": Median,
    "geometric-median": GeometricMedian,
    "krum": Krum,
    "mean": Mean,
}
_TYPED: Final = re.compile(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


def aggregation_called(typed: str) -> Aggregation:
    """Make the aggregation of a name, with parameters in parentheses.

    Parameters
    ----------
    typed : str
        A key of ``AGGREGATIONS``, such as "dawid-skene", or the name of its class; then perhaps its
        parameters, as in "plurality(least=2)".

    Returns
    -------
    Aggregation
        The aggregation.

    Raises
    ------
    ValueError
        If there is none of this name, or it does not take a parameter; the message says what there is.

    Examples
    --------
    >>> from folkmoot.aggregation.naming import aggregation_called
    >>> aggregation_called("plurality(least=2)")
    Plurality(least=2)
    >>> aggregation_called("DawidSkene")
    DawidSkene(one_coin=None, iterations=100, tolerance=1e-06, unvoted=False)
    """
    found = _TYPED.fullmatch(typed)
    names = {name.replace("-", ""): kind for name, kind in AGGREGATIONS.items()}
    names |= {kind.__name__.lower(): kind for kind in AGGREGATIONS.values()}
    kind = None if found is None else names.get(re.sub("[-_]", "", found[1]).lower())
    if found is None or kind is None:
        raise checks.ArgumentError(
            "{aggregation} must be one of {known!s}, perhaps with parameters, as plurality(least=2): "
            "got {typed!r}",
            known=", ".join(AGGREGATIONS),
            typed=typed,
        )
    given = _parameters(found[1], found[2] or "")
    taken = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    unknown = [name for name in given if name not in taken]
    lacking = [name for name, each in taken.items() if each.default is MISSING and name not in given]
    if unknown or lacking:
        what = f"has no {unknown[0]!r}" if unknown else f"needs {lacking[0]}=..."
        has = f"it takes {', '.join(taken)}" if taken else "it takes no parameters"
        raise checks.ArgumentError(
            "{aggregation}: {typed!s} {what!s}; {has!s}", typed=found[1], what=what, has=has
        )
    try:
        return kind(**given)
    except (TypeError, ValueError) as error:
        raise checks.ArgumentError("{aggregation} {typed!s}: {why!s}", typed=found[1], why=error) from None


def _parameters(name: str, typed: str) -> dict[str, Any]:
    """What stands in the parentheses: keywords with plain values."""
    try:
        call = ast.parse(f"f({typed})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(each.arg is None for each in call.keywords):
            raise ValueError
        return {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    except (SyntaxError, ValueError):
        raise checks.ArgumentError(
            "{aggregation}: parameters must be as in {name!s}(name=value, ...): got {typed!r}",
            name=name,
            typed=f"({typed})",
        ) from None

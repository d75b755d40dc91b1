"""Five models that are no more than a rule each: what a real one brings is a file of skops or ONNX."""

from __future__ import annotations

from typing import Any


def _above(column: int, least: float) -> Any:
    def rule(rows: Any) -> list[str]:
        return ["treat" if row[column] > least else "wait" for row in rows]

    rule.labels = ["treat", "wait"]  # type: ignore[attr-defined]
    rule.columns = 2  # type: ignore[attr-defined]
    return rule


north, south, west = _above(0, 60), _above(0, 65), _above(0, 70)  # by age
east, mid = _above(1, 2.0), _above(1, 2.5)  # by dose

"""scikit-learn's diagram of an estimator in a notebook, with participants and their models side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

MOST: Final = 12  # participants that are drawn


def diagram(named: Sequence[tuple[str, Any]]) -> Any:
    """Make the block that scikit-learn draws: a box for each participant; the last says how many more."""
    try:
        from sklearn.utils._repr_html.estimator import _VisualBlock
    except ImportError:  # before scikit-learn 1.7
        from sklearn.utils._estimator_html_repr import _VisualBlock

    shown = [(str(name), model) for name, model in named[:MOST]]
    if len(named) > MOST:
        shown.append(("...", f"and {len(named) - MOST} more participants"))
    return _VisualBlock("parallel", [model for _, model in shown], names=[name for name, _ in shown])

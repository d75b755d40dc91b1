"""Pictures of a comparison: every way to answer as a bar, the consensus in blue."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np

from folkmoot.arrays import Floats

_BLUE: Final = "#1f5fa8"
_PALE: Final = "#9aa5b1"


def draw_bars(
    axes: Any,
    values: dict[str, float],
    *,
    label: str,
    agreed: Collection[str],
    errors: Sequence[float] | None = None,
    digits: str = ".3f",
) -> None:
    """Named values as horizontal bars in matplotlib axes, the first on top, those of ``agreed`` in blue."""
    bars = axes.barh(
        list(values),
        list(values.values()),
        color=[_BLUE if name in agreed else _PALE for name in values],
        xerr=errors,
    )
    axes.bar_label(bars, labels=[f"{value:{digits}}" for value in values.values()], padding=3)
    axes.invert_yaxis()
    axes.set_xlabel(label)
    axes.spines[["top", "right"]].set_visible(False)


def draw_agreement(axes: Any, agreement: Floats) -> None:
    """Agreement over the inputs, for comparisons without truth."""
    axes.hist(agreement.ravel(), bins=np.linspace(0, 1, 21), color=_BLUE)
    axes.set_xlabel("share of honest participants that agree")
    axes.set_ylabel("inputs")
    axes.spines[["top", "right"]].set_visible(False)

"""The sample sizes and thresholds that are tried."""

from __future__ import annotations

from collections.abc import Iterator

from folkmoot.checks import least_alpha

_SIZES = (*range(1, 13), 15, 20, 25, 30, 40, 50, 65, 80, 100)
_FEW_SIZES = (3, 5, 7, 9, 11, 15, 20, 30, 50)  # if many participants take long to compute
_MANY = 400  # participants
_SMALL = 12  # up to this sample size every threshold is tried
_THRESHOLDS, _FEW_THRESHOLDS = 5, 3  # beyond it


def queries(n: int, *, few: bool = False) -> Iterator[tuple[int, int]]:
    """Sample sizes up to all others, each with thresholds from the least majority on.

    Of large samples thresholds go up to three quarters: beyond that hardly anybody is ever turned.
    """
    few = few or n > _MANY
    sizes = [k for k in (_FEW_SIZES if few else _SIZES) if k < n - 1]
    for k in [*sizes, n - 1]:
        least = least_alpha(k)
        span = k - least if k <= _SMALL else max(0, round(0.75 * k) - least)
        most = _FEW_THRESHOLDS if few else span + 1 if k <= _SMALL else _THRESHOLDS
        count = min(span + 1, most)
        for place in range(count):
            yield k, least + (round(place * span / (count - 1)) if count > 1 else 0)

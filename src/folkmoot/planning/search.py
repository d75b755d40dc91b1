"""Tries settings: every one that theory reaches, and by simulation those that are left worth trying."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from folkmoot.arrays import Progress
from folkmoot.checks import least_alpha
from folkmoot.planning.costs import Sizes
from folkmoot.planning.evaluation import PlannedMoot
from folkmoot.planning.setting import IN_TIME, Figures, PlannedSetting, best_first, usable
from folkmoot.protocols.naming import PROTOCOLS, named_protocol
from folkmoot.protocols.slush import Slush

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


_BETAS: Final = (3, 10)
_PAIRS: Final = 1  # of k and alpha, the best for Slush, that protocols which decide are tried with
_ROUNDS: Final = (2, 3, 5, 8, 12, 18, 25, 35, 50)  # where each number of rounds is simulated


def tried(
    moot: PlannedMoot, protocols: Sequence[str], rounds: int, progress: Progress | None = None
) -> list[PlannedSetting]:
    """All settings of these protocols that were tried."""
    exact = moot.crowd.classes == 2
    pairs = list(queries(moot.n, few=not exact))
    deciding = [name for name in protocols if PROTOCOLS[name].decides]
    whole = len(pairs) + len(deciding)
    found: list[PlannedSetting] = []
    for done, (k, alpha) in enumerate(pairs, start=1):
        found += _exact_slush(moot, k, alpha, rounds) if exact else _simulated_slush(moot, k, alpha, rounds)
        if progress:
            progress(done, whole)
    best = list(dict.fromkeys((each.k, each.alpha) for each in best_first(found)))[:_PAIRS]
    for done, name in enumerate(deciding, start=1):
        found += [each for k, alpha in best for each in _deciding(moot, name, k, alpha, rounds)]
        if progress:
            progress(len(pairs) + done, whole)
    return [each for each in found if each.protocol in protocols]


def cheapest_that_reaches(
    moot: PlannedMoot, target: float, protocols: Sequence[str], rounds: int
) -> PlannedSetting | None:
    """The cheapest setting of this accuracy that agrees in time; None if there is none.

    By Slush, if it is among the protocols: theory tells what it reaches. A simulated setting must reach it
    for sure.
    """
    if moot.crowd.classes == 2 and moot.most() < target:
        return None
    those = ["slush"] if "slush" in protocols else protocols
    reach = [each for each in usable(tried(moot, those, rounds)) if each.sure >= target]
    return min(reach, key=lambda each: (each.messages, -each.accuracy), default=None)


def _exact_slush(moot: PlannedMoot, k: int, alpha: int, rounds: int) -> Iterator[PlannedSetting]:
    for done, figures in enumerate(moot.slush_by_round(k, alpha, rounds), start=1):
        yield _planned(moot, "slush", k, alpha, None, done, figures, simulated=False)


def _simulated_slush(moot: PlannedMoot, k: int, alpha: int, rounds: int) -> Iterator[PlannedSetting]:
    for many in [*(r for r in _ROUNDS if r < rounds), rounds]:
        figures = moot.simulated(Slush(k, alpha), many)
        yield _planned(moot, "slush", k, alpha, None, many, figures)
        if figures.in_time > (1 + IN_TIME) / 2:
            return


def _deciding(moot: PlannedMoot, name: str, k: int, alpha: int, rounds: int) -> Iterator[PlannedSetting]:
    for beta in _BETAS:
        figures = moot.simulated(named_protocol(name, k, alpha, beta=beta), rounds)
        yield _planned(moot, name, k, alpha, beta, rounds, figures)


def _planned(
    moot: PlannedMoot,
    name: str,
    k: int,
    alpha: int,
    beta: int | None,
    rounds: int,
    figures: Figures,
    *,
    simulated: bool = True,
) -> PlannedSetting:
    messages, size = Sizes.of(moot.n, moot.inputs, moot.crowd.classes, rounds).of_queries(figures.queries)
    accuracy, exact, error, agreement, in_time, _ = figures
    return PlannedSetting(
        name, k, alpha, beta, rounds, accuracy, agreement, in_time, messages, size, exact, simulated, error
    )

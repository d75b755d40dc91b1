"""Limits of a setting, and the number of participants that an accuracy takes.

A setting breaks at the number of malicious participants, or the accuracy, from which on it does not beat the
mean participant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Final

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Progress
from folkmoot.planning.crowd import Skilled
from folkmoot.planning.evaluation import PlannedMoot
from folkmoot.planning.search import cheapest_that_reaches
from folkmoot.planning.setting import PlannedSetting

_MORE: Final = 1e-9  # more than rounding
_PARITY: Final = (
    3  # an even number can tie, so one more malicious participant may seem to help; nothing reaches further
)
_MOST: Final = 1000  # participants that are tried for a target; a tenth of that where settings are simulated


@dataclass(frozen=True)
class BreaksAt:
    """The limits up to which the first setting of a plan beats the mean participant.

    Parameters
    ----------
    byzantine : int or None
        The largest number of malicious participants for which it does; None if it never does.
    p : float or None
        The least accuracy of equal, independent participants for which it does with the planned number of
        malicious ones; None if there is none.
    exact : bool
        Whether both come from theory alone.

    Examples
    --------
    >>> from folkmoot import plan
    >>> plan(n=15, p=0.8, byzantine=1, protocol="slush").breaks_at
    BreaksAt(byzantine=4, p=0.545004, exact=True)
    """

    byzantine: int | None
    p: float | None
    exact: bool


@dataclass(frozen=True)
class Target:
    """The number of participants that an accuracy takes.

    Parameters
    ----------
    accuracy : float
        The target.
    n : int or None
        The least number of participants with which some setting reaches it; None if none does.
    byzantine : int or None
        How many of these are malicious.
    setting : PlannedSetting or None
        The cheapest setting that does; None also if a single participant is enough.
    reason : str
        The result in words.

    Examples
    --------
    >>> from folkmoot import plan
    >>> print(plan(p=0.8, target=0.95, protocol="slush").target.reason)
    7 participants reach 0.95
    """

    accuracy: float
    n: int | None
    byzantine: int | None
    setting: PlannedSetting | None
    reason: str


@dataclass(frozen=True)
class Malicious:
    """The number of malicious participants: a count, or a share of all, rounded up."""

    given: int | float

    @classmethod
    def checked(cls, byzantine: object) -> Malicious:
        """The number or share, or ValueError."""
        if isinstance(byzantine, float | np.floating):
            if not 0 <= byzantine < 1:
                raise checks.ArgumentError(
                    "{byzantine} must be a count, or a share of the participants in [0, 1): got {byzantine=}",
                    byzantine=byzantine,
                )
            return cls(float(byzantine))
        return cls(checks.integer("byzantine", byzantine, least=0))

    def among(self, n: int) -> int:
        """The number of n; a share counts as the decimal that it prints as, so that 0.1 of 30 is 3."""
        return self.given if isinstance(self.given, int) else ceil(Fraction(repr(self.given)) * n)

    def most_with(self, byzantine: int) -> int:
        """Of a share: the most participants of whom so many lie."""
        return int(byzantine / Fraction(repr(self.given)))

    @property
    def share(self) -> float:
        """The share among very many participants."""
        return 0.0 if isinstance(self.given, int) else self.given


def breaks_at(moot: PlannedMoot, setting: PlannedSetting) -> BreaksAt:
    """The limits up to which this setting beats the mean participant."""

    def beats(byzantine: int) -> bool:
        other = replace(moot, byzantine=byzantine)
        return _accuracy(other, setting) > moot.crowd.mean + _MORE

    most = _last(beats, moot.n - 1)
    exact = setting.protocol == "slush" and moot.crowd.classes == 2
    return BreaksAt(most, _least_p(moot, setting, exact), exact and setting.exact)


def _accuracy(moot: PlannedMoot, setting: PlannedSetting) -> float:
    if setting.protocol == "slush" and moot.crowd.classes == 2:
        start = moot.start
        found = moot.slush_accuracies(setting.k, setting.alpha, setting.rounds, start.laws)
        return float(start.weights @ found)
    return moot.simulated(setting.rule, setting.rounds).accuracy


def _last(holds: Callable[[int], bool], top: int) -> int | None:
    """The largest number up to ``top`` for which it holds, if it holds up to there and not far beyond."""
    if not holds(0):
        return next((i for i in range(min(_PARITY, top), 0, -1) if holds(i)), None)
    low, high = 0, top + 1  # holds at low, not at high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return next((i for i in range(min(low + _PARITY, top), low, -1) if holds(i)), low)


def _least_p(moot: PlannedMoot, setting: PlannedSetting, exact: bool) -> float | None:
    """By theory to six digits, as many accuracies at a time; simulated, to two."""
    low, high = 0.0, 1.0
    for _ in range(3 if exact else 1):
        grid = np.linspace(low, high, 101 if exact else 21)[1:]
        crowds = [Skilled(float(p), moot.crowd.classes) for p in grid]
        if exact:
            laws = np.concatenate([crowd.start(moot.honest).laws for crowd in crowds])
            found = moot.slush_accuracies(setting.k, setting.alpha, setting.rounds, laws)
        else:
            found = np.array([_accuracy(replace(moot, crowd=crowd), setting) for crowd in crowds])
        better = np.flatnonzero(found > grid + _MORE)
        if not better.size:
            return None
        low, high = float(grid[better[0]]) - (grid[1] - grid[0]), float(grid[better[0]])
    return round(high, 6)


def needed(
    moot: PlannedMoot,
    malicious: Malicious,
    target: float,
    protocols: Sequence[str],
    rounds: int,
    progress: Progress | None = None,
) -> Target:
    """The least number of participants with which some setting reaches the target."""
    if moot.crowd.mean >= target and malicious.among(1) == 0:
        return Target(target, 1, 0, None, f"a single participant reaches {target:g}, without deliberation")
    crowd = moot.crowd
    if target == 1 and isinstance(crowd, Skilled):  # rounding would reach it in the end
        reason = "no number of participants reaches 1: each errs at times, so all may at once"
        return Target(target, None, None, None, reason)
    top = _MOST if crowd.classes == 2 else _MOST // 10
    hopeless = crowd.limit(malicious.share) < target
    if hopeless:
        top = min(top, max(64, crowd.size or 0))  # only few participants could do what more cannot
    found: dict[int, PlannedSetting | None] = {}

    def setting(n: int) -> PlannedSetting | None:
        byzantine = malicious.among(n)
        if n not in found:
            other = replace(moot, n=n, byzantine=byzantine)
            possible = n >= 2 and byzantine < n
            found[n] = cheapest_that_reaches(other, target, protocols, rounds) if possible else None
            if progress:
                progress(len(found), len(found) + 1)
        return found[n]

    def reached(n: int) -> bool:
        return setting(n) is not None

    if malicious.share:  # one more participant may be one more malicious one, so first find their number
        least = _least(lambda many: reached(malicious.most_with(many)), 1, malicious.among(top))
        high = (
            None
            if least is None
            else _least(reached, malicious.most_with(least - 1) + 1, malicious.most_with(least))
        )
    else:
        high = _least(reached, 2, top)
    if high is None:
        return Target(target, None, None, None, _too_few(target, top, hopeless, malicious))
    byzantine = malicious.among(high)
    among = f", {byzantine} of them Byzantine," if byzantine else ""
    return Target(target, high, byzantine, setting(high), f"{high} participants{among} reach {target:g}")


def _least(holds: Callable[[int], bool], low: int, top: int) -> int | None:
    """The least number from ``low`` to ``top`` for which it holds, if it holds from there on."""
    start, below, high = low, low - 1, low  # does not hold at below
    while not holds(high):
        if high >= top:
            return None
        below, high = high, min(max(high + 1, high * 5 // 4), top)
    while high - below > 1:
        middle = (below + high) // 2
        below, high = (below, middle) if holds(middle) else (middle, high)
    return next((i for i in range(max(start, high - _PARITY), high) if holds(i)), high)


def _too_few(target: float, top: int, hopeless: bool, malicious: Malicious) -> str:
    if not hopeless:
        return f"more than {top:,} participants are needed for {target:g}"
    share = f" while {100 * malicious.share:g}% of them lie" if malicious.share else ""
    return f"no number of participants reaches {target:g}{share}: more of them make the majority no better"

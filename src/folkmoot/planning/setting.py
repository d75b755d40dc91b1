"""One setting with its figures and costs; and the choice of settings to list, best first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from folkmoot.protocols.naming import named_protocol
from folkmoot.protocols.snow import SnowProtocol

NEAR: Final = 0.005  # accuracies that differ by less are as good as each other
IN_TIME: Final = 0.95  # how likely all must agree within the rounds
_WORTH: Final = 0.001  # a more expensive setting is listed if it gains so much accuracy


class Figures(NamedTuple):
    """Figures of a setting: probabilities, and whether they are exact."""

    accuracy: float
    exact: bool
    standard_error: float | None  # of the accuracy
    agreement: float
    in_time: float
    queries: float  # requests to single peers, by all honest participants


@dataclass(frozen=True)
class PlannedSetting:
    """A protocol with its parameters, as ``plan`` lists it.

    Parameters
    ----------
    protocol : str
        "slush", "snowflake" or "snowball".
    k : int
        Peers asked per query.
    alpha : int
        Equal answers that win it.
    beta : int or None
        Wins in a row after which a participant stops; None for Slush, which goes on to the last round.
    rounds : int
        How often each participant asks, at the most.
    accuracy : float
        The chance that more than half of the honest participants end right; a tie counts one half.
    agreement : float
        The share of the honest participants that hold the most common answer at the end, on average.
    in_time : float
        The chance that all honest participants hold the same answer when the rounds are over; where a
        protocol stops by itself, that all have.
    messages : float
        Queries of the honest participants about one batch, and the answers.
    bytes : float
        Their size, as nodes count it: encoded messages without length and TLS.
    exact : bool
        Whether the probabilities come from theory alone.
    simulated : bool
        Whether the setting was simulated. If neither, theory was applied to given tasks.
    standard_error : float or None
        Of the accuracy; None if it is exact.

    Examples
    --------
    >>> from folkmoot import plan
    >>> best = plan(n=40, p=0.8, byzantine=5, protocol="slush").settings[0]
    >>> best.k, best.alpha, best.rounds, round(best.accuracy, 4), best.messages
    (9, 7, 7, 0.9956, 4410.0)
    """

    protocol: str
    k: int
    alpha: int
    beta: int | None
    rounds: int
    accuracy: float
    agreement: float
    in_time: float
    messages: float
    bytes: float
    exact: bool
    simulated: bool
    standard_error: float | None

    @property
    def sure(self) -> float:
        """The accuracy that a simulated setting has for sure, two standard errors less; else the accuracy."""
        return self.accuracy - 2 * (self.standard_error or 0.0) if self.simulated else self.accuracy

    @property
    def rule(self) -> SnowProtocol[Any]:
        """The protocol itself, for ``deliberate`` and ``ConsensusClassifier``."""
        return named_protocol(self.protocol, self.k, self.alpha, beta=self.beta)


def usable(settings: Sequence[PlannedSetting]) -> list[PlannedSetting]:
    """Those that agree in time; if none does, those that come as close to the best in that."""
    most = max(each.in_time for each in settings)
    least = IN_TIME if most >= IN_TIME else most - (1 - IN_TIME)
    return [each for each in settings if each.in_time >= least]


def best_first(settings: Sequence[PlannedSetting], alone: float = 0.0) -> list[PlannedSetting]:
    """The cheapest that is as good as the best, then those worth a look, each better or cheaper.

    Of each protocol those are kept that nothing cheaper matches, and that beat a participant ``alone``. First
    come those within ``NEAR`` of the best accuracy, the cheapest in front, then the others, the most accurate
    in front. Beside settings that are not simulated, those that are count for what they have for sure: else
    the luckiest would win.
    """
    fit = usable(settings)
    mixed = not all(each.simulated for each in fit)

    def worth(each: PlannedSetting) -> float:
        return each.sure if mixed else each.accuracy

    best = _rounded_down(max(map(worth, fit)))
    first = min((each for each in fit if worth(each) >= best - NEAR), key=_by_cost)
    shown = [first]
    for name in dict.fromkeys(each.protocol for each in fit):
        ours = [each for each in fit if each.protocol == name]
        most = _rounded_down(max(each.accuracy for each in ours))
        top = min((each for each in ours if each.accuracy >= most), key=_by_cost)
        reached = alone - _WORTH
        for each in sorted(ours, key=_by_cost):
            if each.accuracy >= reached + _WORTH or each is top:
                shown.append(each)
                reached = each.accuracy
            if each is top:
                break
    shown = list(dict.fromkeys(shown))
    near = [each for each in shown if worth(each) >= best - NEAR]
    far = [each for each in shown if worth(each) < best - NEAR]
    return [*sorted(near, key=_by_cost), *sorted(far, key=lambda each: -each.accuracy)]


def _rounded_down(accuracy: float) -> float:
    """To six digits: nobody pays a hundred times as much for the seventh."""
    return math.floor(accuracy * 1e6) / 1e6


def _by_cost(each: PlannedSetting) -> tuple[float, float]:
    return each.messages, -each.accuracy

"""Closeness: the number of first votes that, moved to the runner-up, would make the answer unlikely.

If ``theory.SlushChain`` applies, the probabilities are exact; otherwise runs are simulated.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from folkmoot.arrays import Floats, Ints
from folkmoot.checks import ByzantineThresholdWarning
from folkmoot.outcome import Outcome
from folkmoot.simulation.run import SnowRun
from folkmoot.votes import BLUE, NO_VOTE, RED

if TYPE_CHECKING:
    from folkmoot.protocols.sampling import Others

_HALF: Final = 0.5 - 1e-9  # a tie is one half, whatever the rounding
_TIMES: Final = 400  # replays for a chance: a standard error of .025 at the most


@dataclass(frozen=True)
class Closeness:
    """Closeness of an answer.

    Parameters
    ----------
    votes : int or None
        The least number of first votes that, moved to the runner-up, bring the probability of the answer
        below one half; 0 if it already is. None if not even all of them do. Votes with the largest weights
        are moved first.
    chance : float
        The probability of the answer over new runs from these first votes.
    moved_chance : float or None
        Its probability after so many votes are moved.
    exact : bool
        Whether the probabilities are exact, by theory. If not, they are simulated.
    error : float
        The largest standard error of the probabilities; 0 if they are exact.
    times : int
        The number of simulated runs per probability; 0 if they are exact.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate, explain
    >>> close = explain(deliberate([[0]] * 6 + [[1]] * 3, Slush(k=3, alpha=2)), 0).closeness
    >>> close.votes, round(close.chance, 3), round(close.moved_chance, 3), close.exact
    (2, 0.821, 0.383, True)
    """

    votes: int | None
    chance: float
    moved_chance: float | None
    exact: bool
    error: float = 0.0
    times: int = 0


def closeness(
    outcome: Outcome, i: int, answer: int, runner_up: int, first: Ints, counts: Floats
) -> Closeness | None:
    """The closeness of the answer to input i; None if the outcome does not know its run.

    ``first`` (participant,) are the first votes on it, ``counts`` (participant,) what each counts for.
    """
    run = outcome.run
    if run is None:
        return None
    voters = np.flatnonzero(first == answer)
    voters = voters[~np.isin(voters, list(run.adversaries))]
    voters = voters[np.argsort(-counts[voters], kind="stable")]
    law = _exact(run, i, answer)
    if law is not None:
        return _least(lambda moved: float(law[len(voters) - moved]), len(voters), exact=True)
    chance = cache(_simulated(run, (run.seed + 1) % 2**63, i, answer, runner_up, first, voters))
    return _least(chance, len(voters), exact=False, error=0.5 / math.sqrt(_TIMES), times=_TIMES)


def _exact(run: SnowRun, i: int, answer: int) -> Floats | None:
    """(honest holders of the answer,): the chance that more than half of the honest hold it in the end.

    None where ``theory.SlushChain`` is not the law: unless input i is run by two-class Slush with one
    threshold, one participant at a time, where all vote and the malicious always name one class.
    """
    own, place = run.setting_of(i)
    if own is None or not (own.exchangeable and own.two_class_slush) or own.lockstep:
        return None
    named, alphas, malicious = own.fixed_counts[place], np.unique(own.honest_alpha), len(own.adversaries)
    if alphas.size > 1 or (own.honest_votes[place] == NO_VOTE).any() or named.max(initial=0) < malicious:
        return None
    from folkmoot.theory import SlushChain  # with scipy, which takes its time to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ByzantineThresholdWarning)  # of absorption, which is not asked for
        chain = SlushChain(
            len(own.votes),
            own.protocol.k,
            int(alphas[0]),
            byzantine=malicious,
            sampling=cast("Others", own.sampling),
        )
    # The chain's Byzantine nodes are red. So blue is the answer unless they name it.
    end = RED if malicious and int(named.argmax()) == answer else BLUE
    law = chain.ahead_after(own.rounds * chain.honest, end)
    return law if end == BLUE else law[::-1]


def _simulated(
    run: SnowRun, seed: int, i: int, answer: int, runner_up: int, first: Ints, voters: Ints
) -> Callable[[int], float]:
    def chance(moved: int) -> float:
        votes = first.copy()
        votes[voters[:moved]] = runner_up
        return float(np.mean(run.decided(i, votes[:, None], _TIMES, seed) == answer))

    return chance


def _least(
    chance: Callable[[int], float], most: int, *, exact: bool, error: float = 0.0, times: int = 0
) -> Closeness:
    """By halving: with every vote that is moved, the answer is less likely."""
    now = chance(0)
    if now < _HALF:
        return Closeness(0, now, now, exact, error, times)
    if most == 0 or chance(most) >= _HALF:
        return Closeness(None, now, None, exact, error, times)
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) < _HALF else (middle, high)
    return Closeness(high, now, chance(high), exact, error, times)

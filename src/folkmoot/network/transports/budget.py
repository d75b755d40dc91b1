"""A budget that fills up with time (a token bucket): what one peer may cost us."""

from __future__ import annotations


class Allowances:
    """What each asker may make a node store: bytes that fill up with time, apart for every asker.

    Parameters
    ----------
    askers : int
        How many there are; none can use up what is another's.
    most : int
        Bytes that all of them together may have stored at any time.
    seconds : float
        How long what they have stored has to be kept. Whatever each asks for in so many seconds, all of it
        fits into ``most``: a quarter of each one's share can be had at once, the rest fills up.

    Examples
    --------
    >>> from folkmoot.network.transports.budget import Allowances
    >>> allowances = Allowances(askers=2, most=8000, seconds=300.0)
    >>> allowances.pay(0, now=0.0, cost=1000)
    0.0
    >>> allowances.pay(0, now=0.0, cost=10)  # 10 bytes a second are its own
    1.0
    >>> allowances.pay(1, now=0.0, cost=1000)
    0.0
    >>> allowances.pay(1, now=9.0, cost=1001)  # more than it can ever save up
    inf
    """

    def __init__(self, askers: int, most: int, seconds: float) -> None:
        share = most / askers
        self._burst = share / 4
        self._each = [Budget(0.75 * share / seconds, self._burst) for _ in range(askers)]

    def pay(self, asker: int, now: float, cost: int) -> float:
        """Pay, and 0.0; or the seconds after which there will be enough, infinity if there never will."""
        return self._each[asker].pay(now, cost) if cost <= self._burst else float("inf")


class Budget:
    """``rate`` tokens a second, saved up to ``burst``."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._tokens = burst
        self._counted = float("-inf")

    def pay(self, now: float, cost: float = 1.0) -> float:
        """Pay, and 0.0; or the seconds after which there will be enough."""
        if self._counted < now:
            self._tokens = min(self._burst, self._tokens + (now - self._counted) * self._rate)
            self._counted = now
        if self._tokens >= cost:
            self._tokens -= cost
            return 0.0
        return (cost - self._tokens) / self._rate

"""A budget that fills up with time (a token bucket): what one peer may cost us."""

from __future__ import annotations


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

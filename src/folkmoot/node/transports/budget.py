"""Bounds of what others cost us: a budget that fills up with time (a token bucket), and shares of a store."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Hashable


class Allowances:
    """Shares of what a node stores: an equal part of the room for every asker.

    A byte that is stored counts until it may be forgotten. So all that the node must keep at any time fits
    into the room, and no asker can use up what is another's.

    ``most`` is how many bytes all of them together may have stored at any time. Assign ``share`` when they
    become more or fewer.

    Examples
    --------
    >>> from folkmoot.node.transports.budget import Allowances
    >>> allowances = Allowances(askers=2, most=8000)
    >>> allowances.pay(0, now=0.0, cost=3000, until=60.0)
    True
    >>> allowances.pay(0, now=59.0, cost=3000, until=120.0)
    False
    >>> allowances.pay(1, now=59.0, cost=3000, until=120.0)
    True
    >>> allowances.pay(0, now=60.0, cost=3000, until=120.0)
    True
    """

    def __init__(self, askers: int, most: int) -> None:
        self.share = most // askers
        self._kept: defaultdict[Hashable, list[tuple[float, int]]] = defaultdict(list)  # heaps, by until when
        self._sums: Counter[Hashable] = Counter()

    def pay(self, asker: Hashable, now: float, cost: int, until: float) -> bool:
        """Store so many bytes until then; False, and nothing is counted, if there is no room for them."""
        kept = self._kept[asker]
        while kept and kept[0][0] <= now:
            self._sums[asker] -= heapq.heappop(kept)[1]
        if self._sums[asker] + cost > self.share:
            return False
        self.count(asker, cost, until)
        return True

    def count(self, asker: Hashable, cost: int, until: float) -> None:
        """So many bytes are stored until then already, whether they fit or not."""
        heapq.heappush(self._kept[asker], (until, cost))
        self._sums[asker] += cost


class Budgets(dict[bytes, "Budget"]):
    """A budget for each peer, made when it is first asked for."""

    def __init__(self, rate: float, burst: float) -> None:
        super().__init__()
        self._rate, self._burst = rate, burst

    def __missing__(self, peer: bytes) -> Budget:
        return self.setdefault(peer, Budget(self._rate, self._burst))


class Budget:
    """``rate`` tokens a second, saved up to ``burst``."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._tokens = burst
        self._counted = float("-inf")

    def pay(self, now: float, cost: float = 1.0) -> float:
        """Pay, and 0.0; or the seconds after which there will be enough."""
        self._earn(now)
        if self._tokens >= cost:
            self._tokens -= cost
            return 0.0
        return (cost - self._tokens) / self._rate

    def change(self, rate: float, burst: float) -> None:
        """Earn and save up another amount from now on."""
        self._rate, self._burst = rate, burst
        self._tokens = min(self._tokens, burst)

    def owe(self, now: float, cost: float) -> float:
        """Pay for what was had already; the seconds until the debt is paid."""
        self._earn(now)
        self._tokens -= cost
        return max(0.0, -self._tokens / self._rate)

    def _earn(self, now: float) -> None:
        if self._counted < now:
            tokens = self._tokens + (now - self._counted) * self._rate
            self._tokens = tokens if tokens < self._burst else self._burst
            self._counted = now

"""How long a node keeps others waiting: the delay of its event loop."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import Final

TICK: Final = 0.05  # seconds between two looks
KEPT: Final = 1200  # looks: a minute


class LoopDelay:
    """What one who comes at any time has to wait, over the last minute.

    A loop that is held up for six seconds is late once. All who came in these seconds had to wait, so it
    counts as often as it would have been looked at meanwhile: 6 s, 5.95 s, 5.9 s and so on.

    Examples
    --------
    >>> from folkmoot.node.service.loop_delay import LoopDelay
    >>> delay = LoopDelay()
    >>> delay.late(0.2)
    >>> [round(delay.quantile(share), 2) for share in (0.0, 0.5, 1.0)]
    [0.05, 0.1, 0.2]
    """

    def __init__(self) -> None:
        self._waits: deque[float] = deque(maxlen=KEPT)

    def late(self, seconds: float) -> None:
        """A look came so much later than it should have."""
        looks = max(1, min(KEPT, math.ceil(round(seconds / TICK, 6))))
        self._waits.extend(seconds - look * TICK for look in reversed(range(looks)))

    def quantile(self, share: float) -> float:
        """The wait that this share of those who came did not exceed; 0.0 before anybody did."""
        waits = sorted(self._waits)
        return max(0.0, waits[max(0, math.ceil(share * len(waits)) - 1)]) if waits else 0.0

    async def watch(self) -> None:
        """Look again and again, until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + TICK
            await asyncio.sleep(TICK)
            self.late(loop.time() - due)

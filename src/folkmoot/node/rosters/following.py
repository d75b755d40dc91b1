"""The rosters of a moot at a running node: it tells others what is proposed, and agrees with them.

``Following`` is the ``Succession`` of ``service/interface.py``.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence

from folkmoot.node.log import Journal
from folkmoot.node.membership.identity import Identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.rosters.chronicle import Chronicle
from folkmoot.node.transports.transport import Transport


class Following:
    """One node's part in how the rosters of its moot follow each other.

    It sends frames of its own (kinds 16 to 19) through ``transport``, which knows peers by fingerprint. It
    does not attach itself: whoever receives frames hands these kinds to ``received``. What it refuses is
    counted in ``counts``, as ``refused_...``.
    """

    def __init__(
        self, chronicle: Chronicle, transport: Transport[bytes], me: Identity, *, rng: random.Random,
        counts: Counter[str] | None = None, log: Journal | None = None,
    ) -> None:  # fmt: skip
        self.chronicle, self.transport = chronicle, transport
        self.counts: Counter[str] = Counter() if counts is None else counts
        self._me, self._rng = me, rng
        self._log = log or Journal("error")

    @property
    def rosters(self) -> Sequence[Roster]:
        """Those that this node has gone through, from the one in its file to the one in force."""
        return self.chronicle.rosters

    @property
    def since(self) -> Sequence[float]:
        """When each came into force here, in seconds since 1970; of the first it is not known."""
        return self.chronicle.since

    def start(self, changed: Callable[[], None]) -> None:
        """Begin to tell others. ``changed`` is called when a proposal, or the roster in force, is another."""
        raise NotImplementedError

    def received(self, peer: bytes, frame: bytes) -> None:
        """A frame about rosters, of a peer known by its fingerprint; one that is no good is counted."""
        raise NotImplementedError

    def reached(self, peer: bytes) -> None:
        """There is a connection with a peer: it may have missed something."""
        raise NotImplementedError

    def look_again(self) -> None:
        """Another process may have stored a proposal or a signature; called every second."""
        raise NotImplementedError

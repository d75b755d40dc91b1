"""Frames about a motion that overtook its announcement: a few are kept, and need not be asked for."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Final

MOST_FRAMES: Final = 32  # of a peer
MOST_BYTES: Final = 1 << 16  # of a peer


class Early:
    """Frames of peers about motions that are not known here yet; of each peer the last, up to a bound."""

    def __init__(self) -> None:
        self._kept: defaultdict[bytes, deque[tuple[bytes, bytes]]] = defaultdict(deque)

    def keep(self, peer: bytes, motion: bytes, frame: bytes) -> None:
        """Keep a frame, and let go what is too much."""
        kept = self._kept[peer]
        kept.append((motion, frame))
        while len(kept) > MOST_FRAMES or sum(len(each) for _, each in kept) > MOST_BYTES:
            kept.popleft()

    def take(self, motion: bytes) -> list[tuple[bytes, bytes]]:
        """The frames about a motion, with who sent them."""
        found = []
        for peer, kept in self._kept.items():
            found += [(peer, frame) for name, frame in kept if name == motion]
            self._kept[peer] = deque(each for each in kept if each[0] != motion)
        return found

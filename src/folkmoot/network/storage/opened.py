"""What was opened of check rows, as it is stored: the map of owners, and labels."""

from __future__ import annotations

from folkmoot.network.session.minutes import Opened
from folkmoot.network.wire import messages as m
from folkmoot.network.wire.motion import read_header
from folkmoot.network.wire.review import OwnerMap, read_map


def read_opened(frame: bytes) -> Opened:
    """A stored frame."""
    opened = m.decode(frame)
    if not isinstance(opened, m.Owners | m.Labels):
        raise ValueError(f"what was opened must be a map or labels: got {type(opened).__name__}")
    return opened


def read_owners(opened: Opened | None, header: bytes, n: int) -> OwnerMap | None:
    """The map of owners of a motion among n, which was found to be right before it was stored."""
    motion = read_header(header)
    if not isinstance(opened, m.Owners) or motion.review is None:
        return None
    return read_map(opened.seed, motion.review, opened.owned, motion.inputs, n)

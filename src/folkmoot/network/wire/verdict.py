"""What a motion came to: a pure function of the signed closes, the same for whoever holds the same ones.

Agreement on an input is claimed for a colour only if a quorum of the roster has signed it. Two quorums share
an honest participant while fewer than a fifth of the roster lie, and an honest one signs once: so no two
honest nodes ever claim different colours, whatever the network does to their messages.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Colours, Floats
from folkmoot.network.membership.roster import quorum
from folkmoot.network.wire.messages import Close
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.packing import unpack
from folkmoot.votes import UNCOLOURED


@dataclass(frozen=True, eq=False)
class Verdict:
    """Decisions with how many stand behind them; participants by their place in the roster."""

    decisions: Colours  # (input,): the colour that a quorum has signed, else -1
    agreement: Floats  # (input,): share of those who closed that hold the most common colour
    quorum: int
    closed: list[int]  # who signed a close that counts
    silent: list[int]  # who did not
    abstained: dict[int, str]  # who had no vote at first, and why

    @property
    def undecided(self) -> int:
        """Inputs on which no quorum agrees."""
        return int((self.decisions == UNCOLOURED).sum())


def verdict(
    motion: Motion,
    n: int,
    closes: Mapping[int, Close],
    cheats: Collection[int] = (),
    own: int | None = None,
    trust: npt.ArrayLike | None = None,
) -> Verdict:
    """What the closes say, those of proven cheats left out.

    In a motion with trust no number of signatures can claim anything, since most may lie: then it is what
    participant ``own`` holds, and how far those whom it trusts hold the same.
    """
    if motion.trust:
        return _by_trust(motion, n, closes, cheats, own, trust)
    counted = [place for place in sorted(closes) if place not in cheats]
    held = [unpack(closes[place].decisions, motion.inputs, motion.classes) for place in counted]
    most, needed = np.zeros(motion.inputs, dtype=np.int32), quorum(n)
    leader = np.zeros(motion.inputs, dtype=np.int8)
    for colour in range(motion.classes):  # one at a time: inputs times labels may be a lot
        count = np.zeros(motion.inputs, dtype=np.int32)
        for each in held:
            count += each == colour
        leader[count > most] = colour
        np.maximum(most, count, out=most)
    decisions = np.where(most >= needed, leader, UNCOLOURED).astype(np.int8)
    return Verdict(
        decisions=decisions,
        agreement=most / max(1, len(counted)),
        quorum=needed,
        closed=counted,
        silent=[place for place in range(n) if place not in closes],
        abstained={place: closes[place].reason for place in counted if closes[place].reason},
    )


def _by_trust(
    motion: Motion,
    n: int,
    closes: Mapping[int, Close],
    cheats: Collection[int],
    own: int | None,
    trust: npt.ArrayLike | None,
) -> Verdict:
    counted = [place for place in sorted(closes) if place not in cheats]
    held = np.full(motion.inputs, UNCOLOURED, dtype=np.int8)
    if own is not None and own in closes:
        held = unpack(closes[own].decisions, motion.inputs, motion.classes)
    weights = np.maximum(np.zeros(n) if trust is None else np.asarray(trust, dtype=np.float64), 0.0)
    same, whole = np.zeros(motion.inputs), np.zeros(motion.inputs)
    for place in counted:
        if place != own and weights[place] > 0:
            theirs = unpack(closes[place].decisions, motion.inputs, motion.classes)
            whole += weights[place] * (theirs != UNCOLOURED)
            same += weights[place] * ((theirs != UNCOLOURED) & (theirs == held))
    share = same / np.where(whole > 0, whole, 1.0)
    return Verdict(
        decisions=np.where(share > 0.5, held, UNCOLOURED).astype(np.int8),
        agreement=share,
        quorum=0,
        closed=counted,
        silent=[place for place in range(n) if place not in closes],
        abstained={place: closes[place].reason for place in counted if closes[place].reason},
    )


def first_votes(motion: Motion, n: int, closes: Mapping[int, Close], committed: Collection[int]) -> Colours:
    """(participant, input): the first votes revealed by those who had committed to them in time, else -1."""
    votes = np.full((n, motion.inputs), UNCOLOURED, dtype=np.int8)
    for place, close in closes.items():
        if place in committed:
            votes[place] = unpack(close.first, motion.inputs, motion.classes)
    return votes

"""What a motion came to: a pure function of the signed closes, the same for whoever holds the same ones.

A colour is decided on an input if two things hold of the closes, with f the largest number below n/5:

- *Agreement*: a quorum of the roster has signed it. Two quorums share more than f participants, so an honest
  one while at most f lie, and an honest one signs once: no two honest nodes ever claim different colours,
  whatever the network does to their messages.
- *Validity*: more than f of them show it as their first vote (``least_voters``; a motion may ask for more).
  A participant has one close and a close one first vote on an input, so at most f of these votes are liars'.
  At least one is of an honest participant, whose close shows what its model said. So a colour that no honest
  participant voted for is never decided, whatever was said in the talk; and where all honest ones that
  voted did so alike, nothing else can be. With f votes instead of f + 1 the liars alone could have cast them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Colours, Floats, Ints
from folkmoot.network.wire.messages import Close
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.packing import unpack
from folkmoot.network.wire.review import OwnerMap, first_of_asker
from folkmoot.node.membership.roster import faults, quorum
from folkmoot.votes import UNCOLOURED


@dataclass(frozen=True, eq=False)
class Verdict:
    """Decisions with how many stand behind them; participants by their place in the roster."""

    decisions: Colours  # (input,): the colour that a quorum has signed and enough had voted, else -1
    agreement: Floats  # (input,): share of those who closed that hold the most common colour
    signed: Ints  # (input,): how many do
    voters: Ints  # (input,): how many of those who closed had voted for that colour at first
    participants: int
    quorum: int
    least_voters: int  # a decision needs so many first votes
    closed: list[int]  # who signed a close that counts
    silent: list[int]  # who did not
    abstained: dict[int, str]  # who had no vote at first, and why

    @property
    def undecided(self) -> int:
        """Inputs without a decision."""
        return int((self.decisions == UNCOLOURED).sum())

    def why_undecided(self) -> list[str | None]:
        """Why an input has no decision, for each; None if it has one."""
        few = f"fewer than {self.quorum} signed the same"
        rows = zip(self.decisions.tolist(), self.signed.tolist(), self.voters.tolist(), strict=True)
        return [
            None if colour != UNCOLOURED else few if signed < self.quorum else self._few_voters(voters)
            for colour, signed, voters in rows
        ]

    def _few_voters(self, voters: int) -> str:
        only = "only " if voters else ""
        return f"{only}{voters} of {self.participants} voted so at first, and {self.least_voters} must"


def least_voters(motion: Motion, n: int) -> int:
    """How many first votes a decision needs: more than may lie, or more than that if the motion says so."""
    return max(faults(n) + 1, motion.least_voters)


def verdict(
    motion: Motion,
    n: int,
    closes: Mapping[int, Close],
    cheats: Collection[int] = (),
    own: int | None = None,
    trust: npt.ArrayLike | None = None,
    owners: OwnerMap | None = None,
) -> Verdict:
    """What the closes say, those of proven cheats left out.

    In a motion with trust no number of signatures can claim anything, since most may lie: then it is what
    participant ``own`` holds, and how far those whom it trusts hold the same. ``owners`` is the map of
    a motion with check rows, if it was opened: without it first votes say nothing of the inputs.
    """
    if not motion.is_labels:
        from folkmoot.network.wire.number_verdict import number_verdict  # which extends what is here

        return number_verdict(motion, n, closes, cheats, owners)
    if motion.trust:
        return _by_trust(motion, n, closes, cheats, own, trust, owners)
    counted = [place for place in sorted(closes) if place not in cheats]
    held = [unpack(closes[place].decisions, motion.inputs, motion.classes) for place in counted]
    most, needed, least = np.zeros(motion.inputs, dtype=np.int64), quorum(n), least_voters(motion, n)
    leader = np.zeros(motion.inputs, dtype=np.int8)
    for colour in range(motion.classes):  # one at a time: inputs times labels may be a lot
        count = np.zeros(motion.inputs, dtype=np.int64)
        for each in held:
            count += each == colour
        leader[count > most] = colour
        np.maximum(most, count, out=most)
    voters = voters_of(motion, closes, counted, leader)
    decided = (most >= needed) & (voters >= least)
    return Verdict(
        decisions=np.where(decided, leader, UNCOLOURED).astype(np.int8),
        agreement=most / max(1, len(counted)),
        signed=most,
        voters=voters,
        participants=n,
        quorum=needed,
        least_voters=least,
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
    owners: OwnerMap | None,
) -> Verdict:
    counted = [place for place in sorted(closes) if place not in cheats]
    held = np.full(motion.asked, UNCOLOURED, dtype=np.int8)
    if own is not None and own in closes:
        held = unpack(closes[own].decisions, motion.asked, motion.classes)
    weights = np.maximum(np.zeros(n) if trust is None else np.asarray(trust, dtype=np.float64), 0.0)
    same, whole = np.zeros(motion.asked), np.zeros(motion.asked)
    for place in counted:
        if place != own and weights[place] > 0:
            theirs = unpack(closes[place].decisions, motion.asked, motion.classes)
            whole += weights[place] * (theirs != UNCOLOURED)
            same += weights[place] * ((theirs != UNCOLOURED) & (theirs == held))
    share = same / np.where(whole > 0, whole, 1.0)
    return Verdict(
        decisions=np.where(share > 0.5, held, UNCOLOURED).astype(np.int8),
        agreement=share,
        signed=np.zeros(motion.asked, dtype=np.int64),
        voters=voters_of(motion, closes, counted, held, owners),
        participants=n,
        quorum=0,
        least_voters=0,
        closed=counted,
        silent=[place for place in range(n) if place not in closes],
        abstained={place: closes[place].reason for place in counted if closes[place].reason},
    )


def voters_of(
    motion: Motion,
    closes: Mapping[int, Close],
    counted: Sequence[int],
    colours: Colours,
    owners: OwnerMap | None = None,
) -> Ints:
    """(input,): how many of those who closed had voted for this colour at first."""
    form, voters = motion.form, np.zeros(motion.asked, dtype=np.int64)
    for place in counted:
        first = form.unpack_first(closes[place].first)
        said = form.first_colours(first_of_asker(first, owners, motion.review))
        voters += (said == colours) & (said != UNCOLOURED)
    return voters


def first_votes(
    motion: Motion,
    n: int,
    closes: Mapping[int, Close],
    committed: Collection[int],
    owners: OwnerMap | None = None,
) -> Colours:
    """(participant, input): the first votes revealed by those who had committed to them in time, else -1.

    Check rows are left out, by the map of ``owners``; while that is not known, there are no first votes.
    """
    form, votes = motion.form, np.full((n, motion.asked), UNCOLOURED, dtype=np.int8)
    for place, close in closes.items():
        if place in committed:
            first = form.unpack_first(close.first)
            votes[place] = form.first_colours(first_of_asker(first, owners, motion.review))
    return votes


def last_votes(motion: Motion, n: int, closes: Mapping[int, Close]) -> Colours:
    """(participant, input): what those who closed held at the end, else -1."""
    votes = np.full((n, motion.asked), UNCOLOURED, dtype=np.int8)
    for place, close in closes.items():
        votes[place] = motion.form.colours(motion.form.unpack(close.decisions))
    return votes

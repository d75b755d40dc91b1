"""Comparing: in a motion with trust, nodes make sure that they hold the same commitments before they listen.

Without it a participant could commit to some, read the first votes that these then show, and commit to
copies of them towards a node that is still gathering. So a node **freezes** the commitments it holds when
its gathering ends, before it shows its own first votes, and tells all others a signed vector of marks, one a
participant (``statements.mark``; zeros where it holds none). Where the marks of two nodes differ and neither
is zero, each sends the other the signed commitment that it holds. Two signed commitments of one participant
are evidence against it.

Node i has **compared** with node j when it has j's marks and, wherever they differ from its own, the
commitment that j holds. A node listens when it has compared with all who sent it marks, and every live
participant has sent them or was reminded in vain; or at ``reveal_by``, whatever is missing then. It listens
to no participant that it has evidence against, and to none whose commitment came after the freeze: that one
is late.

**No two honest nodes of which one has compared with the other listen to different first votes of one
participant.** Let i have compared with j before it listened. An honest node listens only to votes that open
the commitment which it had frozen, and no one finds two openings of one SHA-256. So to listen to different
first votes of p, i and j must have frozen different commitments of p. Then j's mark of p differs from what i
computes with j's salt. (The salt was drawn when j froze. For commitments made before, they are equal with a
chance of 2^-64; a commitment made after, with the salt known, would have to hit one given mark, which takes
2^64 hashes.) Neither mark is zero. So i has seen j's commitment of p beside its own; both are signed by p
and prove that p contradicts itself; i does not listen to p.

A participant whose commitment more than f of the others (or more than one, if f is 0) did not hold when they
froze is late, too. So what a node listens to was fixed before all but so many of those that it compared with
had shown their votes to anybody: neither its author nor an ally who passed them on can have copied more.

A participant that stays silent, holds nothing, or claims a mark that it cannot show proves nothing against
anybody: absence is never evidence, and a mark by itself is none.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from folkmoot.network.session.minutes import Minutes
from folkmoot.network.session.phases import Phase
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.node.membership.roster import faults

NONE: Final = bytes(8)  # the mark of a commitment that is not there
_MOST_VECTORS: Final = (
    16  # of one peer, that are looked at: it sends one, reminders, and again after a restart
)


class Comparing:
    """The commitments that one node held when its gathering ended, beside those of others."""

    def __init__(self, minutes: Minutes, secrets: random.Random) -> None:
        self._minutes, self._secrets = minutes, secrets
        self._frozen: dict[int, m.Commit] | None = None
        self._own: m.Marks | None = None
        self._told: dict[int, m.Marks] = {}  # the last vector of each peer
        self._differ: dict[int, set[int]] = {}  # by peer: whose commitments it has still to show
        self._vectors = [0] * minutes.seat.n

    def freeze(self) -> None:
        """Keep the commitments that are there; what comes from now on is late."""
        if self._frozen is not None:
            return
        minutes = self._minutes
        self._frozen = {p: commit for p, commit in minutes.commits.items() if p not in minutes.late}
        salt = self._secrets.randbytes(16)
        marks = b"".join(self._mark(salt, place) for place in range(minutes.seat.n))
        bare = m.Marks(minutes.name, salt, marks, bytes(64), want=False)
        signature = minutes.seat.key.sign(statements.marked(bare, minutes.seat.place))
        self._own = replace(bare, signature=signature)
        for peer in self._told:
            self._compare(peer)

    def owing(self, peers: Iterable[int]) -> set[int]:
        """Those with whom this node has not compared yet."""
        return {p for p in peers if p not in self._told or self._differ[p] - self._minutes.cheats}

    def late_elsewhere(self) -> set[int]:
        """Participants whose commitments more than f of the others did not hold when they froze."""
        n = self._minutes.seat.n
        most = max(1, faults(n))  # a single one may just have missed it
        vectors = self._told.values()
        lacking = Counter(place for told in vectors for place in range(n) if _mark_of(told, place) == NONE)
        late = {place for place, count in lacking.items() if count > most}
        return late - {self._minutes.seat.place}

    def late_at(self, peer: int) -> set[int]:
        """Participants whose commitments a peer did not hold when it froze; none if it has not said so."""
        if peer not in self._told:
            return set()
        marks = self._told[peer]
        return {p for p in range(self._minutes.seat.n) if _mark_of(marks, p) == NONE} - {peer}

    def tell(self, peer: int, *, want: bool) -> None:
        """Send a peer our marks."""
        self.freeze()
        assert self._own is not None  # noqa: S101
        self._minutes.tell(peer, replace(self._own, want=want))

    def on_marks(self, peer: int, message: m.Marks) -> bool:
        """A peer says which commitments it holds, at any time; whether it may be so."""
        minutes = self._minutes
        if not minutes.motion.reveals or len(message.marks) != 8 * minutes.seat.n:
            return False
        self._vectors[peer] += 1
        if self._vectors[peer] > _MOST_VECTORS:
            return False
        if not statements.holds(minutes.seat.keys[peer], message.signature, statements.marked(message, peer)):
            return False
        self._told[peer] = message
        self._differ[peer] = set()
        if minutes.phase in (Phase.VOTING, Phase.GATHERING):
            if message.want:
                minutes.tell(peer, m.Pending(minutes.name))
            return True
        self.freeze()
        self._compare(peer)
        if message.want:
            self.tell(peer, want=False)
        return True

    def on_relayed(self, peer: int, commit: m.Commit) -> bool:
        """A peer shows a commitment of another that it holds; whether that was wanted."""
        minutes, node = self._minutes, commit.node
        if self._frozen is None or node not in self._differ.get(peer, ()):
            return False
        said = statements.committed(minutes.name, node, commit.commitment)
        if not statements.holds(minutes.seat.keys[node], commit.signature, said):
            return False
        minutes.accuse(node, statements.TwoCommits(self._frozen[node], commit))
        self._differ[peer].discard(node)
        return True

    def _compare(self, peer: int) -> None:
        """Find out where a peer holds other commitments, and show it ours."""
        minutes, theirs = self._minutes, self._told[peer]
        assert self._frozen is not None  # noqa: S101
        differ = set()
        for place, commit in self._frozen.items():
            same = (NONE, self._mark(theirs.salt, place))
            if place != minutes.seat.place and _mark_of(theirs, place) not in same:
                differ.add(place)
                minutes.tell(peer, replace(commit, want=False))
        self._differ[peer] = differ

    def _mark(self, salt: bytes, place: int) -> bytes:
        assert self._frozen is not None  # noqa: S101
        return statements.mark(salt, self._frozen[place]) if place in self._frozen else NONE


def _mark_of(marks: m.Marks, place: int) -> bytes:
    return marks.marks[8 * place : 8 * place + 8]

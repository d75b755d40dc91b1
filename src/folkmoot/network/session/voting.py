"""VOTING: the inputs come chunk by chunk, the model votes on them, and the node commits to what it said."""

from __future__ import annotations

import random
from typing import Final

from folkmoot.arrays import Array
from folkmoot.network.session.minutes import Minutes, Voted
from folkmoot.network.session.patience import Patience
from folkmoot.network.session.phases import Event, Phase
from folkmoot.network.session.stance import Holding
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import Motion

_AHEAD: Final = 2  # chunks under way at a time: what a node holds of the inputs


class Fetching:
    """First votes under way, chunk by chunk."""

    def __init__(self, motion: Motion) -> None:
        self.votes: Array = motion.form.nothing(motion.inputs)
        self.due: dict[int, float] = {}  # chunk -> when to ask for it (again)
        self._motion = motion
        self._next = 0
        self._voted: set[int] = set()

    @property
    def complete(self) -> bool:
        """Whether all chunks have been voted on."""
        return len(self._voted) == len(self._motion.chunks)

    def more(self) -> list[int]:
        """The chunks to begin with now."""
        begin = []
        while self._next < len(self._motion.chunks) and self._next - len(self._voted) < _AHEAD:
            begin.append(self._next)
            self._next += 1
        return begin

    def arrived(self, index: int) -> bool:
        """A chunk is there; False if it was not asked for."""
        return self.due.pop(index, None) is not None

    def voted(self, index: int, votes: Array) -> None:
        """The model has voted on a chunk."""
        start = index * self._motion.chunk_rows
        self.votes[start : start + len(votes)] = votes
        self._voted.add(index)


class Voting:
    """The first votes of one node; ends when they are fixed."""

    def __init__(
        self,
        minutes: Minutes,
        patience: Patience,
        stance: Holding,
        secrets: random.Random,
        fetching: Fetching,
    ) -> None:
        self._fetching = fetching
        self._minutes, self._patience, self._stance, self._secrets = minutes, patience, stance, secrets
        self._reason = ""

    def begin(self, now: float) -> None:
        """Nothing to prepare: a session begins with it."""

    def tick(self, now: float) -> Event | float:
        """Fetch, or commit if all is voted on or there is no more time."""
        fetching, minutes = self._fetching, self._minutes
        if fetching.complete or now >= self._patience.commit_by:
            if not fetching.complete and not self._reason:
                self._reason = "the inputs or the model's votes on them did not come in time"
            voted = self._vote()
            minutes.saves.append(voted)
            return self.resume(voted)
        for index in fetching.more():
            if minutes.motion.asker == minutes.seat.place:
                minutes.work.append((index, None))
            else:
                fetching.due[index] = now
        for index, when in fetching.due.items():
            if now >= when:
                minutes.tell(minutes.motion.asker, m.Fetch(minutes.name, index))
                fetching.due[index] = now + self._patience.answer
        return min([self._patience.commit_by, *fetching.due.values()])

    def on_chunk(self, peer: int, message: m.Chunk) -> bool:
        """A chunk of the inputs; whether it was wanted."""
        minutes = self._minutes
        wanted = minutes.phase is Phase.VOTING and peer == minutes.motion.asker
        if not wanted or not self._fetching.arrived(message.index):
            return False
        minutes.work.append((message.index, message.data))
        return True

    def predicted(self, index: int, votes: Array, reason: str) -> None:
        """The model's votes on a chunk; a reason if it could not vote on all of it."""
        self._fetching.voted(index, votes)
        self._reason = self._reason or reason[: m.LONGEST_REASON]

    def resume(self, voted: Voted) -> Event:
        """Go on from first votes that are fixed."""
        minutes = self._minutes
        minutes.voted = voted
        minutes.commits[minutes.seat.place] = voted.commit
        form = minutes.motion.form
        self._stance.begin_with(form.opening(form.unpack_first(voted.first)))
        return Event.CLOSED_BEFORE if minutes.seat.place in minutes.closes else Event.VOTED

    def first_votes(self) -> Array:
        """What this node commits to."""
        return self._fetching.votes

    def _vote(self) -> Voted:
        name, seat = self._minutes.name, self._minutes.seat
        first = self._minutes.motion.form.pack_first(self.first_votes())
        salt = self._secrets.randbytes(32)
        commitment = statements.commitment_to(name, seat.fingerprints[seat.place], salt, first)
        signature = seat.key.sign(statements.committed(name, seat.place, commitment))
        return Voted(m.Commit(name, seat.place, commitment, signature, want=True), salt, first, self._reason)

"""The quorum sets and statements of all in a federated motion, as one node holds them: signed, one each.

Two quorum sets of one node, a ballot with another set than was chosen, or two ballots of which the later
takes back what the earlier says, are evidence. Anybody may relay them, so that what was lost is found, and
whoever says two things is found out.
"""

from __future__ import annotations

import hashlib
import random
from typing import Final

from folkmoot.federated.agreement import Statement
from folkmoot.federated.quorum_set import QuorumSet
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.ballots import read_set, takes_back, unpack_statement

RELAYED_BYTES: Final = 1 << 19  # of choices and ballots, in reply to one Lacking
MOST_CHANGES: Final = 4096  # of one node's statement that are listened to
MOST_STRANGERS: Final = (
    16  # names in a quorum set, beyond two for each place: a long one costs all others time
)
_MARK: Final = 16  # bytes


class BallotBox:
    """Choices and ballots by place; they are kept in the minutes, where a restarted session finds them."""

    def __init__(self, minutes: Minutes, rng: random.Random) -> None:
        self._minutes, self._rng = minutes, rng
        self._heard_of = [0] * minutes.seat.n  # ballots of each that were listened to
        self._read_last: dict[int, Statement] = {}  # of others, by place
        self._sets: dict[int, tuple[QuorumSet, bytes]] = {}  # that were chosen, by place, and their hashes

    def take(self, message: m.Choice | m.Ballot) -> bool:
        """Keep what a node has signed, from whoever relays it; whether it is new and as it should be."""
        minutes, node = self._minutes, message.node
        if node >= minutes.seat.n or node == minutes.seat.place or node in minutes.cheats:
            return False
        return self._on_choice(message) if isinstance(message, m.Choice) else self._on_ballot(message)

    def _on_choice(self, message: m.Choice) -> bool:
        minutes, node = self._minutes, message.node
        known = minutes.choices.get(node)
        if known == message:
            return False
        try:
            said = statements.chosen(message)
            named = sum(1 for _ in read_set(message.quorum_set).everyone())
        except ValueError:
            return False
        if named > 2 * minutes.seat.n + MOST_STRANGERS:
            return False
        if not statements.holds(minutes.seat.keys[node], message.signature, said):
            return False
        if known is not None:
            minutes.accuse(node, statements.TwoQuorumSets(known, message))
            return False
        minutes.choices[node] = message
        minutes.saves.append(message)
        ballot = minutes.ballots.get(node)
        if ballot is not None:
            self._compare(message, ballot)
        return True

    def _on_ballot(self, message: m.Ballot) -> bool:
        minutes, node = self._minutes, message.node
        known = minutes.ballots.get(node)
        if known == message or self._heard_of[node] >= MOST_CHANGES:
            return False
        if not statements.holds(minutes.seat.keys[node], message.signature, statements.balloted(message)):
            return False
        self._heard_of[node] += 1
        try:
            statement = self.read(message)
        except ValueError:
            return False
        if known is not None and self._excludes(known, message, statement):
            minutes.accuse(node, statements.TwoBallots(known, message))
            return False
        choice = minutes.choices.get(node)
        if choice is not None and not self._compare(choice, message):
            return False
        if known is not None and known.number >= message.number:
            return False
        minutes.ballots[node] = message
        self._read_last[node] = statement
        minutes.saves.append(message)
        return True

    def _excludes(self, known: m.Ballot, message: m.Ballot, statement: Statement) -> bool:
        """Whether a ballot and the last of the same node exclude each other (``contradict``)."""
        if known.quorum_set != message.quorum_set:
            return True
        if known.number == message.number:
            return known.ballots != message.ballots
        before, after = self.last_of(known), statement
        return takes_back(before, after) if known.number < message.number else takes_back(after, before)

    def last_of(self, ballot: m.Ballot) -> Statement:
        """What the last ballot of a node says; read once."""
        if ballot.node not in self._read_last:
            self._read_last[ballot.node] = self.read(ballot)
        return self._read_last[ballot.node]

    def _compare(self, choice: m.Choice, ballot: m.Ballot) -> bool:
        """Whether a ballot was said with the quorum set that was chosen; else that is evidence."""
        if self.set_of(choice)[1] == ballot.quorum_set:
            return True
        self._minutes.accuse(choice.node, statements.TwoQuorumSets(choice, ballot))
        return False

    def relay(self, peer: int, message: m.Lacking) -> None:
        """A peer wants what it lacks, or what differs from what it holds, by its marks."""
        minutes, have, room = self._minutes, message.have, RELAYED_BYTES
        places = [*minutes.choices.keys() | minutes.ballots.keys()]
        self._rng.shuffle(places)  # who asks again gets others
        for place in places:
            theirs = have[_MARK * place : _MARK * place + _MARK].ljust(_MARK, b"\0")
            mine = self.mark(place)
            choice, ballot = minutes.choices.get(place), minutes.ballots.get(place)
            if choice is not None and theirs[:8] != mine[:8]:
                minutes.tell(peer, choice)
            if ballot is not None and theirs[8:12] <= mine[8:12] and theirs[8:] != mine[8:]:
                room -= len(ballot.ballots) + 200
                if room < 0:
                    break
                minutes.tell(peer, ballot)

    def mark(self, place: int) -> bytes:
        """Sixteen bytes that tell what is known of a place: its choice, and its last ballot."""
        choice, ballot = self._minutes.choices.get(place), self._minutes.ballots.get(place)
        one = bytes(8) if choice is None else self.set_of(choice)[1][:8]
        if ballot is None:
            return one + bytes(8)
        return one + ballot.number.to_bytes(4, "big") + hashlib.sha256(ballot.ballots).digest()[:4]

    def set_of(self, choice: m.Choice) -> tuple[QuorumSet, bytes]:
        """The quorum set that a node has chosen, and its hash; read once."""
        if choice.node not in self._sets:
            found = read_set(choice.quorum_set)
            self._sets[choice.node] = found, bytes.fromhex(found.digest())
        return self._sets[choice.node]

    def read(self, ballot: m.Ballot) -> Statement:
        """The statement in a ballot; ValueError unless it is one on the inputs of this motion."""
        motion = self._minutes.motion
        statement, classes = unpack_statement(ballot.ballots, ballot.quorum_set)
        if classes != motion.classes or len(statement.counter) != motion.inputs:
            raise ValueError("a ballot must be on the inputs and labels of its motion")
        return statement

"""Schedules written by hand: who hears what, and a puppet that says what it is told to, when it is told to.

Frames take 0.05 s, delta is 0.1 s, and a ``heard`` rule says which are lost. Nobody asks for what is lost
unless ``asking`` is set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from folkmoot.node.review import ballots_of
from folkmoot.node.session.agreement import Agreement
from folkmoot.node.session.frames import Body, Reveal, Told, encoded, read
from folkmoot.node.session.poll import order_of
from folkmoot.node.session.sets import Commitments, read_commitments, value_of
from folkmoot.node.session.sets import encoded as encoded_set
from folkmoot.node.session.statement import NIL, NO_ROUND, Kind, Said, commitment, words
from folkmoot.node.session.terms import Terms
from support.node.world import Node, Weather, World, sign_of

LABELS = ("a", "b")


class Puppet(Node):
    """A liar that does nothing by itself and remembers what it hears."""

    honest = False

    def __init__(self, world: World, me: int, votes: list[bytes]) -> None:
        super().__init__(world, me, votes)
        self.bodies: list[Body] = []
        self.reveals: list[Reveal] = []
        self.salt = hashlib.sha256(b"puppet").digest()

    def start(self) -> None:
        """It has nothing to do."""

    def received(self, _peer: int, frame: bytes) -> None:
        """It keeps sets and votes."""
        message = read(frame)
        if isinstance(message, Told):
            self.bodies += message.bodies
            self.reveals += message.reveals

    def say(
        self, to: list[int], kind: Kind, number: int, value: bytes, *, just: int = NO_ROUND, stage: int = 0
    ) -> None:
        """Say something signed to some."""
        motion = self.world.motion
        text = words(motion, self.me, (kind, 0, stage, number), just, value)
        said = Said(self.me, kind, 0, stage, number, just, value, sign_of(self.me)(text))
        self.tell(to, Told(motion, (said,)))

    def tell(self, to: list[int], told: Told) -> None:
        """Send something to some."""
        for peer in to:
            self.world.carry(self.me, peer, encoded(told))

    def commit(self, to: list[int]) -> None:
        """Commit to its votes before some."""
        value = commitment(self.world.motion, 0, NIL, self.me, self.salt, self.votes[0])
        self.say(to, Kind.COMMIT, 0, value)

    def renamed(self) -> tuple[bytes, Body]:
        """The set that was proposed, with itself as proposer: another value."""
        found = read_commitments(self.bodies[0].body)
        body = encoded_set(Commitments(self.me, found.entries))
        return value_of(self.world.motion, 0, 0, body), Body(0, 0, body)


class Schedule(World):
    """Four members, of whom the proposer of the second round is a puppet."""

    def __init__(
        self, heard: Callable[[int, int, Told], bool], *, seed: int = 3, asking: bool = False
    ) -> None:
        super().__init__(
            seed, 4, Terms(labels=LABELS, seconds=4.0), weather=Weather(delay=1e9, most=0.05), inputs=1
        )
        self.heard, self.asking = heard, asking
        self.order = order_of(self.motion, 0, 4)
        form = ballots_of(self.header, 0)
        self.puppet = Puppet(self, self.order[1], [form.pack(np.array([1]))])
        for i in range(4):
            self.nodes.append(
                self.puppet if i == self.order[1] else Node(self, i, [form.pack(np.array([0]))])
            )

    def carry(self, sender: int, peer: int, frame: bytes) -> None:
        """Lose what is not heard."""
        message = read(frame)
        if not isinstance(message, Told):
            lost = not self.asking
        else:
            lost = sender != self.puppet.me and not self.heard(sender, peer, message)
        if not lost:
            super().carry(sender, peer, frame)

    def stage(self, member: int, stage: int = 0) -> Agreement | None:
        """A member's agreement on a set of the first poll."""
        motion = self.nodes[member].motion
        assert motion is not None
        found = motion.polls[0].agreements
        return found[stage] if stage < len(found) else None

    def decided(self, stage: int = 0) -> list[bytes]:  # type: ignore[override]
        """The values that honest members decided."""
        found = [self.stage(node.me, stage) for node in self.honest]
        return [each.decided for each in found if each is not None and each.decided is not None]


def says(told: Told, kind: Kind, number: int | None = None) -> bool:
    """Whether a message has such a statement."""
    return any(said.kind == kind and number in (None, said.round) for said in told.said)


def relocking(*, just: int) -> Schedule:
    """One honest member decides A in round 0; in round 1 the puppet proposes B, with a justification or none.

    The first and third in order lock A, the fourth does not; the first decides, and is not heard any more.
    A member that keeps its lock, and believes no justification that it does not hold, keeps B from a quorum.
    """

    def heard(sender: int, peer: int, told: Told) -> bool:
        if says(told, Kind.PREVOTE, 0) and (sender, peer) == (first, fourth):
            return False
        late = says(told, Kind.PRECOMMIT) or says(told, Kind.RESULT) or bool(told.reveals)
        return not (sender == first and late)

    world = Schedule(heard)
    first, _, third, fourth = world.order
    puppet = world.puppet

    def prevote() -> None:
        value = value_of(world.motion, 0, 0, puppet.bodies[0].body)
        puppet.say([first, third], Kind.PREVOTE, 0, value)
        puppet.say([fourth], Kind.PREVOTE, 0, NIL)

    def precommit() -> None:
        value = value_of(world.motion, 0, 0, puppet.bodies[0].body)
        puppet.say([first], Kind.PRECOMMIT, 0, value)
        puppet.say([third, fourth], Kind.PRECOMMIT, 0, NIL)

    def another() -> None:
        other, body = puppet.renamed()
        both = [third, fourth]
        puppet.say(both, Kind.PROPOSE, 1, other, just=just)
        puppet.tell(both, Told(world.motion, bodies=(body,)))
        puppet.say(both, Kind.PREVOTE, 1, other, just=just)
        puppet.say(both, Kind.PRECOMMIT, 1, other)

    world.at(0.0, lambda: puppet.commit([first, third, fourth]))
    world.at(0.12, prevote)
    world.at(0.2, precommit)
    world.at(0.35, another)
    return world

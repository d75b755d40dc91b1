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
from folkmoot.node.session.sets import Commitments, Revealed, read_commitments, value_of
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
        self.said: list[Said] = []
        self.bodies: list[Body] = []
        self.reveals: list[Reveal] = []
        self.salt = hashlib.sha256(b"puppet").digest()

    def start(self) -> None:
        """It has nothing to do."""

    def received(self, _peer: int, frame: bytes) -> None:
        """It keeps statements, sets and votes."""
        message = read(frame)
        if isinstance(message, Told):
            self.said += message.said
            self.bodies += message.bodies
            self.reveals += message.reveals

    def say(
        self, to: list[int], kind: Kind, number: int, value: bytes, *, just: int = NO_ROUND, stage: int = 0
    ) -> None:
        """Say something signed to some."""
        motion = self.world.motion
        text = words(motion, self.me, (kind, 0, stage, number), just, value)
        said = Said(self.me, kind, 0, stage, number, just, value, sign_of(self.me)(text))
        self.said.append(said)
        self.tell(to, Told(motion, (said,)))

    def tell(self, to: list[int], told: Told) -> None:
        """Send something to some."""
        for peer in to:
            self.world.carry(self.me, peer, encoded(told))

    def commit(self, to: list[int]) -> None:
        """Commit to its votes before some."""
        value = commitment(self.world.motion, 0, NIL, self.me, self.salt, self.votes[0])
        self.say(to, Kind.COMMIT, 0, value)

    def reveal(self, to: list[int]) -> None:
        """Open its commitment before some."""
        reveal = Reveal(0, self.me, self.salt, self.votes[0])
        self.tell(to, Told(self.world.motion, reveals=(reveal,)))

    def set_of_all(self, proposer: int | None = None) -> tuple[bytes, Body]:
        """The set of all commitments that it has heard of, with itself or somebody else as proposer."""
        found = {
            said.member: ((said.value, said.signature),) for said in self.said if said.kind == Kind.COMMIT
        }
        entries = tuple(found.get(i, ()) for i in range(self.world.n))
        body = encoded_set(Commitments(self.me if proposer is None else proposer, entries))
        return value_of(self.world.motion, 0, 0, body), Body(0, 0, body)

    def propose(self, to: list[int], number: int, made: tuple[bytes, Body], *, stage: int = 0) -> None:
        """Propose a set before some."""
        value, body = made
        self.say(to, Kind.PROPOSE, number, value, stage=stage)
        self.tell(to, Told(self.world.motion, bodies=(body,)))

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


class HeldUp(World):
    """Seven members; the first proposer and the last in order are liars, and hold up two of the others.

    The liars' statements of stage 0 reach three honest members only: with them these decide at once. The two
    others decide when somebody tells them. In stage 1 the same liar proposes a set without them. All frames
    between honest members take less than delta; those of the two take almost as long.

    With ``hidden``, nothing tells the two that they lack anything: they are given the set and a reason to
    prevote nil, the liars reveal to them before anybody else, and keep telling them something new.
    """

    def __init__(self, *, hidden: bool) -> None:
        super().__init__(3, 7, Terms(labels=LABELS, seconds=8.0), inputs=1)
        order = order_of(self.motion, 0, 7)
        form = ballots_of(self.header, 0)
        self.early, self.held_up = order[1:4], order[4:6]
        self.proposer = Puppet(self, order[0], [form.pack(np.array([1]))])
        self.other = Puppet(self, order[6], [form.pack(np.array([1]))])
        liars = {each.me: each for each in (self.proposer, self.other)}
        honest = form.pack(np.array([0]))
        self.nodes = [liars.get(i) or Node(self, i, [honest]) for i in range(7)]
        self.at(0.0, self._commit)
        self.at(0.2, self._split)
        if hidden:
            self.at(0.2, self._hide)
            for number in range(1, 30):
                self.at(0.3 + 0.15 * number, lambda number=number: self._distract(number))  # type: ignore[misc]
        self.at(0.21, self._leave_out)

    def carry(self, sender: int, peer: int, frame: bytes) -> None:
        """The two are far from the rest of the honest."""
        far = {sender, peer} & {*self.held_up}
        near = {sender, peer} & {self.proposer.me, self.other.me}
        delay = 0.095 if far and not near else 0.001
        self.at(self.time + delay, lambda: self._deliver(sender, peer, frame))

    def _commit(self) -> None:
        for liar in (self.proposer, self.other):
            liar.commit([i for i in range(7) if i != liar.me])

    def _split(self) -> None:
        made = self.proposer.set_of_all()
        self.proposer.propose(self.early, 0, made)
        for liar in (self.proposer, self.other):
            liar.say(self.early, Kind.PREVOTE, 0, made[0])
            liar.say(self.early, Kind.PRECOMMIT, 0, made[0])

    def _hide(self) -> None:
        value, body = self.proposer.set_of_all()
        self.other.say(self.held_up, Kind.PREVOTE, 0, value)
        self.proposer.propose(self.held_up, 0, self.proposer.set_of_all(self.other.me))
        self.proposer.tell(self.held_up, Told(self.motion, bodies=(body,)))
        for liar in (self.proposer, self.other):
            liar.reveal(self.held_up)

    def _distract(self, number: int) -> None:
        self.other.say(self.held_up, Kind.PREVOTE, number, NIL)

    def _leave_out(self) -> None:
        agreed, _ = self.proposer.set_of_all()
        there = [*self.early, self.proposer.me, self.other.me]
        body = encoded_set(Revealed.of(agreed, sorted(there), 7))
        value = value_of(self.motion, 0, 1, body)
        honest = [*self.early, *self.held_up]
        self.proposer.propose(honest, 0, (value, Body(0, 1, body)), stage=1)
        for liar in (self.proposer, self.other):
            liar.reveal(self.early)
            liar.say(honest, Kind.PREVOTE, 0, value, stage=1)
            liar.say(honest, Kind.PRECOMMIT, 0, value, stage=1)


class Rushed(World):
    """Ten members, the first three in order liars. Two waste their rounds, the third leaves one out.

    The window for votes lasts 10 delta. The slow member commits 4 delta before its end. The first two rounds
    end at once, since their proposals name another proposer. In the third the set lacks the slow member.
    """

    def __init__(self) -> None:
        terms = Terms(labels=LABELS, seconds=4.0, window_share=0.25)
        super().__init__(3, 10, terms, weather=Weather(delay=1e9, most=0.095), inputs=1)
        order = order_of(self.motion, 0, 10)
        form = ballots_of(self.header, 0)
        self.puppets = [Puppet(self, i, [form.pack(np.array([1]))]) for i in order[:3]]
        self.others, self.slow = order[3:], order[9]
        liars = {each.me: each for each in self.puppets}
        honest = form.pack(np.array([0]))
        self.nodes = [liars.get(i) or Node(self, i, [honest]) for i in range(10)]
        self.nodes[self.slow].delays = [terms.window - 4 * self.delta]
        self.at(0.0, self._commit)
        self.at(0.1, lambda: self._waste(0))
        self.at(0.35, lambda: self._waste(1))
        self.at(0.65, self._leave_out)

    def _commit(self) -> None:
        for puppet in self.puppets:
            puppet.commit([i for i in range(10) if i != puppet.me])

    def _waste(self, number: int) -> None:
        proposer, other = self.puppets[number], self.puppets[2]
        proposer.propose(self.others, number, proposer.set_of_all(other.me))
        for puppet in self.puppets:
            puppet.say(self.others, Kind.PREVOTE, number, NIL)
            puppet.say(self.others, Kind.PRECOMMIT, number, NIL)

    def _leave_out(self) -> None:
        proposer = self.puppets[2]
        proposer.said = [said for said in proposer.said if said.member != self.slow]
        made = proposer.set_of_all()
        proposer.propose(self.others, 2, made)
        for puppet in self.puppets:
            puppet.say(self.others, Kind.PREVOTE, 2, made[0])
            puppet.say(self.others, Kind.PRECOMMIT, 2, made[0])
            puppet.reveal(self.others)

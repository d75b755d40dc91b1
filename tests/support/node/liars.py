"""Members that break the rules, one way each: what they send is what an honest member would, twisted.

Liars know each other and share a plan: who is their victim, and which half of the honest hears what.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import msgspec

from folkmoot.node.session.frames import MARK, MOST_BYTES, Body, Frame, Have, Reveal, Told, encoded, read
from folkmoot.node.session.motion import Motion
from folkmoot.node.session.sets import (
    Commitments,
    Revealed,
    read_commitments,
    read_revealed,
    value_of,
)
from folkmoot.node.session.sets import encoded as encoded_set
from folkmoot.node.session.statement import NIL, NO_ROUND, Kind, Said, words
from support.node.world import Node, World, sign_of

Sent = bytes | tuple[float, bytes]
Twist = Callable[["Liar", int, Frame], Iterator[Sent]]

TWISTS: Final[dict[str, Twist]] = {}


class Plan:
    """What liars of a storm agreed on."""

    def __init__(self, world: World, liars: list[int]) -> None:
        rng = random.Random(f"plan {world.seed}")
        self.liars = frozenset(liars)
        self.honest = [i for i in range(world.n) if i not in self.liars]
        self.victim = rng.choice(self.honest)
        self.half = frozenset(rng.sample(self.honest, (len(self.honest) + 1) // 2))
        self.confidant = rng.choice([i for i in self.honest if i != self.victim])
        self.random = rng


class Liar(Node):
    """A member whose frames are twisted before they are sent."""

    honest = False

    def __init__(self, world: World, me: int, votes: list[bytes], plan: Plan, twist: Twist) -> None:
        super().__init__(world, me, votes)
        self.plan, self.twist = plan, twist
        self.seen: list[bytes] = []  # frames of others

    def received(self, peer: int, frame: bytes) -> None:
        """As others do, and it remembers."""
        if len(self.seen) < 400:
            self.seen.append(frame)
        super().received(peer, frame)

    def send(self, peer: int, frame: bytes) -> None:
        """Not quite what it should."""
        for sent in self.twist(self, peer, read(frame)):
            if isinstance(sent, bytes):
                self.world.carry(self.me, peer, sent)
            else:
                pause, late = sent
                self.world.after(pause, partial(self.world.carry, self.me, peer, late))

    def say(self, like: Said, **changes: object) -> Said:
        """A signed statement of its own, like another but for these fields."""
        said = msgspec.structs.replace(like, member=self.me, **changes)
        text = words(self.world_motion, self.me, said.slot, said.just, said.value)
        return msgspec.structs.replace(said, signature=sign_of(self.me)(text))

    @property
    def world_motion(self) -> bytes:
        """The name of the motion."""
        assert self.motion is not None
        return self.motion.name


class Forgetful(Node):
    """A member without a journal: after a crash it knows nothing of what it signed."""

    honest = False

    def start(self) -> None:
        """Anew each time."""
        self.journal = []
        super().start()


def kind(function: Twist) -> Twist:
    """A kind of liar, named after its function."""
    TWISTS[function.__name__.replace("_", " ")] = function
    return function


def own(liar: Liar, message: Frame, *kinds: Kind) -> list[Said]:
    """Its own statements of these kinds in a message."""
    if not isinstance(message, Told):
        return []
    return [said for said in message.said if said.member == liar.me and said.kind in kinds]


def without(message: Told, dropped: list[Said]) -> Told:
    """A message without some statements."""
    return msgspec.structs.replace(message, said=tuple(said for said in message.said if said not in dropped))


def swapped(
    liar: Liar, message: Frame, kinds: tuple[Kind, ...], change: Callable[[Said], Said | None]
) -> bytes:
    """A message with its own statements of these kinds changed, or left out."""
    if not isinstance(message, Told):
        return encoded(message)
    mine = own(liar, message, *kinds)
    said = [change(each) if each in mine else each for each in message.said]
    return encoded(msgspec.structs.replace(message, said=tuple(each for each in said if each is not None)))


def some_value(liar: Liar, number: int = 0) -> bytes:
    """A value of nothing."""
    return hashlib.sha256(b"nothing %d %d" % (liar.me, number)).digest()


@kind
def votes_for_the_wrong_label(_liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    yield encoded(message)


@kind
def silent(_liar: Liar, _peer: int, _message: Frame) -> Iterator[Sent]:
    yield from ()


@kind
def sends_everything_late(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    yield liar.plan.random.uniform(0, 12) * liar.world.delta, encoded(message)


@kind
def sends_to_half(liar: Liar, peer: int, message: Frame) -> Iterator[Sent]:
    if peer in liar.plan.half:
        yield encoded(message)


@kind
def keeps_from_one(liar: Liar, peer: int, message: Frame) -> Iterator[Sent]:
    if peer != liar.plan.victim:
        yield encoded(message)


@kind
def commits_twice(liar: Liar, peer: int, message: Frame) -> Iterator[Sent]:
    yield encoded(message)
    for said in own(liar, message, Kind.COMMIT):
        if peer in liar.plan.half:
            yield encoded(Told(liar.world_motion, (liar.say(said, value=some_value(liar)),)))


@kind
def commits_otherwise_to_half(liar: Liar, peer: int, message: Frame) -> Iterator[Sent]:
    other = peer in liar.plan.half
    yield swapped(
        liar, message, (Kind.COMMIT,), lambda said: liar.say(said, value=some_value(liar)) if other else said
    )


@kind
def commits_to_one(liar: Liar, peer: int, message: Frame) -> Iterator[Sent]:
    yield swapped(liar, message, (Kind.COMMIT,), lambda said: said if peer == liar.plan.victim else None)


@kind
def commits_late(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    pause = liar.world.terms.window + liar.plan.random.uniform(0, 8) * liar.world.delta
    yield (pause, encoded(message)) if own(liar, message, Kind.COMMIT) else encoded(message)


@kind
def commits_to_nothing(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    yield swapped(liar, message, (Kind.COMMIT,), lambda said: liar.say(said, value=some_value(liar)))


def _changed_reveals(liar: Liar, message: Frame, change: Callable[[Reveal], Reveal | None]) -> bytes:
    if not isinstance(message, Told):
        return encoded(message)
    found = [change(each) if each.member == liar.me else each for each in message.reveals]
    return encoded(
        msgspec.structs.replace(message, reveals=tuple(each for each in found if each is not None))
    )


@kind
def withholds_its_reveal(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    yield _changed_reveals(liar, message, lambda _: None)


@kind
def reveals_to_one(liar: Liar, peer: int, message: Frame) -> Iterator[Sent]:
    yield _changed_reveals(liar, message, lambda each: each if peer == liar.plan.victim else None)


@kind
def reveals_late(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    late = isinstance(message, Told) and any(each.member == liar.me for each in message.reveals)
    yield (liar.plan.random.uniform(2, 9) * liar.world.delta, encoded(message)) if late else encoded(message)


@kind
def reveals_other_votes(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    yield _changed_reveals(liar, message, lambda each: msgspec.structs.replace(each, votes=b""))


@kind
def reveals_no_ballot(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    yield _changed_reveals(liar, message, lambda each: msgspec.structs.replace(each, votes=b"\xff" * 33))


def _proposal(liar: Liar, message: Frame) -> tuple[Said, Body] | None:
    mine = own(liar, message, Kind.PROPOSE)
    if not mine or not isinstance(message, Told) or not message.bodies:
        return None
    return mine[0], message.bodies[0]


def _proposing(liar: Liar, said: Said, body: Body, other: bytes) -> bytes:
    value = value_of(liar.world_motion, body.poll, body.stage, other)
    told = liar.say(said, value=value, just=NO_ROUND)
    return encoded(Told(liar.world_motion, (told,), (Body(body.poll, body.stage, other),)))


def left_out(liar: Liar, body: Body) -> bytes:
    """The set without the victim."""
    n = liar.world.n
    if body.stage == 1:
        there = read_revealed(body.body)
        return encoded_set(
            Revealed.of(there.commitments, [i for i in there.members if i != liar.plan.victim], n)
        )
    found = read_commitments(body.body)
    entries = tuple(() if i == liar.plan.victim else entry for i, entry in enumerate(found.entries))
    return encoded_set(Commitments(liar.me, entries))


@kind
def proposes_a_set_without_the_victim(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    found = _proposal(liar, message)
    if found is None:
        yield encoded(message)
    else:
        yield _proposing(liar, *found, left_out(liar, found[1]))


@kind
def holds_up_the_victim_and_leaves_it_out(liar: Liar, peer: int, message: Frame) -> Iterator[Sent]:
    """The victim learns late which commitments were agreed, and its reveal is not in the set."""
    found = _proposal(liar, message)
    agreeing = (Kind.PROPOSE, Kind.PREVOTE, Kind.PRECOMMIT)
    if found is not None and found[1].stage == 1:
        yield _proposing(liar, *found, left_out(liar, found[1]))
    elif peer == liar.plan.victim:
        yield swapped(liar, message, agreeing, lambda said: said if said.stage == 1 else None)
    else:
        yield encoded(message)


@kind
def proposes_two_sets(liar: Liar, peer: int, message: Frame) -> Iterator[Sent]:
    found = _proposal(liar, message)
    if found is None or peer not in liar.plan.half:
        yield encoded(message)
    else:
        yield _proposing(liar, *found, left_out(liar, found[1]))


@kind
def proposes_no_set(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    found = _proposal(liar, message)
    yield encoded(message) if found is None else _proposing(liar, *found, b"\x92\x00\x90")


@kind
def proposes_its_reveal_that_nobody_holds(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    found = _proposal(liar, message)
    if found is None or found[1].stage == 0:
        yield _changed_reveals(liar, message, lambda _: None)
    else:
        there = read_revealed(found[1].body)
        members = sorted({*there.members, liar.me})
        yield _proposing(liar, *found, encoded_set(Revealed.of(there.commitments, members, liar.world.n)))


@kind
def proposes_to_half(liar: Liar, peer: int, message: Frame) -> Iterator[Sent]:
    if not own(liar, message, Kind.PROPOSE) or peer in liar.plan.half:
        yield encoded(message)


@kind
def proposes_without_the_set(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    found = _proposal(liar, message)
    yield encoded(message) if found is None else encoded(Told(liar.world_motion, (found[0],)))


@kind
def never_proposes(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    if not own(liar, message, Kind.PROPOSE):
        yield encoded(message)


@kind
def prevotes_nothing(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    yield swapped(liar, message, (Kind.PREVOTE,), lambda said: liar.say(said, value=NIL, just=NO_ROUND))


@kind
def precommits_nothing(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    yield swapped(liar, message, (Kind.PRECOMMIT,), lambda said: liar.say(said, value=NIL))


@kind
def never_precommits(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    yield swapped(liar, message, (Kind.PRECOMMIT,), lambda _: None)


@kind
def votes_for_nothing_before_half(liar: Liar, peer: int, message: Frame) -> Iterator[Sent]:
    kinds = (Kind.PREVOTE, Kind.PRECOMMIT)
    half = peer in liar.plan.half
    yield swapped(
        liar, message, kinds, lambda said: liar.say(said, value=NIL, just=NO_ROUND) if half else said
    )


@kind
def votes_for_everything(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    yield encoded(message)
    for said in own(liar, message, Kind.PREVOTE, Kind.PRECOMMIT):
        values = [NIL, some_value(liar)]
        if liar.motion is not None:
            values += liar.motion.polls[said.poll].agreements[said.stage].bodies
        for value in values:
            if value != said.value:
                yield encoded(Told(liar.world_motion, (liar.say(said, value=value, just=NO_ROUND),)))


@kind
def precommits_whatever_is_proposed(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    yield encoded(message)
    for said in own(liar, message, Kind.PREVOTE):
        if said.value != NIL:
            yield encoded(Told(liar.world_motion, (liar.say(said, kind=Kind.PRECOMMIT, just=NO_ROUND),)))


@kind
def claims_a_just_that_nobody_holds(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    kinds = (Kind.PREVOTE, Kind.PROPOSE)
    yield swapped(
        liar, message, kinds,
        lambda said: liar.say(said, just=said.round - 1) if said.round and said.value != NIL else said,
    )  # fmt: skip
    for said in own(liar, message, Kind.PREVOTE, Kind.PROPOSE):
        late = liar.say(said, round=said.round + 1, just=said.round, value=some_value(liar))
        yield encoded(Told(liar.world_motion, (late,)))


@kind
def breaks_its_lock(liar: Liar, peer: int, message: Frame) -> Iterator[Sent]:
    """It prevotes any proposal of a round, whatever it precommitted before."""
    yield encoded(message)
    assert liar.motion is not None
    stage = liar.motion.polls[-1].stage
    if stage.round and own(liar, message, Kind.PREVOTE, Kind.PRECOMMIT):
        for said in liar.motion.book.all_of((Kind.PROPOSE, stage.poll, stage.stage, stage.round)):
            if peer in liar.plan.half:
                yield encoded(Told(liar.world_motion, (liar.say(said, kind=Kind.PREVOTE, just=NO_ROUND),)))


@kind
def runs_ahead(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    yield encoded(message)
    for said in own(liar, message, Kind.PREVOTE, Kind.PRECOMMIT):
        for far in (1, 2, 50, 10_000):
            ahead = liar.say(said, round=said.round + far, value=NIL, just=NO_ROUND)
            yield encoded(Told(liar.world_motion, (ahead,)))


@kind
def replays_what_it_heard(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    yield encoded(message)
    if liar.seen:
        yield liar.plan.random.choice(liar.seen)


@kind
def forges_statements_of_others(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    yield encoded(message)
    for said in own(liar, message, *Kind):
        yield encoded(Told(liar.world_motion, (msgspec.structs.replace(said, member=liar.plan.victim),)))


@kind
def sends_rubbish(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    frame = encoded(message)
    yield frame
    cut = liar.plan.random.randrange(len(frame))
    yield frame[:cut]
    yield frame[:cut] + bytes([frame[cut] ^ 0x55]) + frame[cut + 1 :]
    if liar.plan.random.random() < 0.02:
        yield bytes(MOST_BYTES + 1)


@kind
def asks_all_the_time(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    yield encoded(message)
    motion = liar.world_motion
    yield encoded(Have(motion, liar.plan.random.randrange(2), liar.plan.random.randrange(2), 0, b""))
    yield encoded(Have(motion, 0, 0, 5, bytes(MARK * 3)))
    yield encoded(Have(motion, 0, 0, 0, bytes(3)))


@kind
def tells_one_half_what_the_other_said(liar: Liar, peer: int, message: Frame) -> Iterator[Sent]:
    """It helps nobody, and asks nobody."""
    if isinstance(message, Told) and (own(liar, message, *Kind) or peer not in liar.plan.half):
        yield encoded(message)


@kind
def signs_another_result(liar: Liar, _peer: int, message: Frame) -> Iterator[Sent]:
    yield swapped(liar, message, (Kind.RESULT,), lambda said: liar.say(said, value=some_value(liar)))


@kind
def says_many_values(liar: Liar, peer: int, message: Frame) -> Iterator[Sent]:
    for said in own(liar, message, Kind.PREVOTE, Kind.PRECOMMIT):
        for number in range(6):
            told = liar.say(said, value=some_value(liar, 10 * peer + number), just=NO_ROUND)
            yield encoded(Told(liar.world_motion, (told,)))
    yield encoded(message)


class TwoFaced(Node):
    """Two members with one key: each half of the honest hears of one, and all liars know both."""

    honest = False

    def __init__(self, world: World, me: int, votes: list[list[bytes]], plan: Plan) -> None:
        super().__init__(world, me, votes[0])
        self.plan, self.faces = plan, votes
        self.motions: list[Motion] = []
        self._due: list[float | None] = [None, None]

    def start(self) -> None:
        """Both faces."""
        self.motions = [self.make_motion([], self.world.time) for _ in range(2)]
        for face in range(2):
            self._turn(face)

    def received(self, peer: int, frame: bytes) -> None:
        """What an honest member says is for the face that it knows."""
        if self.motions:
            self.heard(int(peer in self.plan.half), peer, frame)

    def heard(self, face: int, peer: int, frame: bytes) -> None:
        """A face hears."""
        if self.motions:
            try:
                self.motions[face].received(peer, frame, self.world.time)
            except ValueError:
                return
            self._turn(face)

    def _turn(self, face: int) -> None:
        motion, world = self.motions[face], self.world
        for to, frame in motion.take().frames:
            for peer in range(world.n) if to is None else [to]:
                if peer in self.plan.liars:
                    fellow = world.nodes[peer]
                    if isinstance(fellow, TwoFaced) and fellow is not self:
                        world.after(0.001, partial(fellow.heard, face, self.me, frame))
                elif (peer in self.plan.half) == bool(face):
                    world.carry(self.me, peer, frame)
        if motion.wanted is not None:
            poll = motion.wanted
            salt = hashlib.sha256(b"%d %d %d" % (self.me, face, poll)).digest()
            world.after(0.0, lambda: self._vote(face, poll, salt), key=(self.me, face, poll))
        due = motion.due(world.time)
        if due is not None and due != self._due[face]:
            self._due[face] = due
            world.at(due, lambda: self._wake(face, due))

    def _vote(self, face: int, poll: int, salt: bytes) -> None:
        self.motions[face].vote(poll, self.faces[face][poll], salt, self.world.time)
        self._turn(face)

    def _wake(self, face: int, due: float) -> None:
        if self._due[face] == due:
            self.motions[face].wake(self.world.time)
            self._turn(face)


KINDS: Final = (*TWISTS, "two-faced", "forgetful")

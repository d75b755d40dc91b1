"""Each rule of the agreement is taken away once, and something that is promised breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from folkmoot.node.review import ballots_of
from folkmoot.node.session import agreement, poll
from folkmoot.node.session.agreement import Agreement
from folkmoot.node.session.catchup import CatchUp
from folkmoot.node.session.frames import Reveal, Told, read
from folkmoot.node.session.poll import Poll, RevealSource
from folkmoot.node.session.sets import value_of
from folkmoot.node.session.statement import NIL, Kind
from folkmoot.node.session.terms import Terms
from support.node.schedule import HeldUp, Rushed, Schedule, relocking, says
from support.node.splits import found_together, is_split, two_faced
from support.node.storms import check, play
from support.node.world import Node, World

YES, NO = agreement._Verdict.YES, agreement._Verdict.NO


@pytest.mark.parametrize("just", [-1, 0])
def test_a_lock_holds_against_a_proposal_of_another_set(just: int) -> None:
    """The puppet claims no justification, or one that nobody holds."""
    world = relocking(just=just)
    world.run(3.0)
    assert len(set(world.decided())) == 1


def test_without_locks_it_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Agreement, "lock", lambda _: None)
    world = relocking(just=-1)
    world.run(3.0)
    assert len(set(world.decided())) == 2


def test_without_a_look_at_the_justification_it_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Agreement.has_quorum

    def believing(self: Agreement, number: int, value: bytes) -> bool:
        return number < self.round or real(self, number, value)

    monkeypatch.setattr(Agreement, "has_quorum", believing)
    world = relocking(just=0)
    world.run(3.0)
    assert len(set(world.decided())) == 2


@pytest.mark.parametrize("seed", range(4))
def test_two_liars_of_four_can_split_and_are_both_found_out(seed: int) -> None:
    for n, liars in ((4, 2), (7, 3), (10, 4)):
        world = two_faced(seed, n, liars)
        world.run(40.0)
        assert is_split(world)
        assert sorted(found_together(world)) == list(range(n - liars, n))


@pytest.mark.parametrize("seed", range(4))
def test_a_quorum_of_one_less_splits(seed: int) -> None:
    """2 f + 1 of five: two halves of the honest, each with the liar."""
    for less in (False, True):
        world = two_faced(seed, 5, 1, quorum_one_less=less)
        world.run(40.0)
        assert is_split(world) == less


def test_without_the_rule_of_inclusion_a_proposer_leaves_out_whom_it_likes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = ["proposes a set without the victim"]
    seeds = range(3000, 3030)
    for seed in seeds:
        play(seed, 4, kinds)
    monkeypatch.setattr(Agreement, "_include_ok", lambda *_: YES)
    left_out = 0
    for seed in seeds:
        try:
            play(seed, 4, kinds)
        except AssertionError as error:
            left_out += "left out" in str(error)
    assert left_out > 0


def left_out_by_a_liar(*, hidden: bool) -> set[int]:
    """Members that were held up in stage 0 and are not in the table."""
    world = HeldUp(hidden=hidden)
    world.run(30.0, world.decided)
    assert world.decided()
    return {*world.held_up} - tables(world)[0].keys()


@pytest.mark.parametrize("hidden", [False, True], ids=["in the open", "hidden"])
def test_who_learnt_late_what_to_reveal_is_not_left_out(hidden: bool) -> None:
    assert not left_out_by_a_liar(hidden=hidden)


def test_without_a_longer_wait_for_reveals_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poll, "HELD_UP", 0)
    assert left_out_by_a_liar(hidden=False)


def test_where_only_the_first_to_reveal_is_asked_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Liars reveal before anybody else, and keep a member from asking others."""
    monkeypatch.setattr(CatchUp, "_hurried", property(lambda self: dict(list(self._overtaken.items())[:1])))
    assert left_out_by_a_liar(hidden=True)


def left_out_after_two_rounds() -> bool:
    """Whether a slow member is left out by whom proposes after two rounds that liars wasted."""
    world = Rushed()
    world.run(30.0, world.decided)
    assert world.decided()
    return world.slow not in tables(world)[0]


def test_wasted_rounds_do_not_leave_the_slowest_out() -> None:
    assert not left_out_after_two_rounds()


def test_where_a_statement_must_be_held_longer_in_later_rounds_they_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = Agreement._include_ok

    def growing(self: Agreement, body: bytes, now: float) -> Any:
        long = now - 2 * self.pace.of(self.round)
        new = all(self.source.since.get(i, now) > long for i in self.source.lacks(body))
        return YES if new and now >= self._from(4) else real(self, body, now)

    monkeypatch.setattr(Agreement, "_include_ok", growing)
    assert left_out_after_two_rounds()


def locked_without_the_slowest() -> tuple[Schedule, int]:
    """One member locks a set without the slowest, whose commitment comes after that to all."""

    def heard(sender: int, peer: int, told: Told) -> bool:
        alone = says(told, Kind.PREVOTE, 0) and not says(told, Kind.PROPOSE)
        return not (alone and sender == first and peer != first)

    world = Schedule(heard)
    first, _, second, slow = world.order
    puppet = world.puppet
    world.nodes[slow].delays = [1.3]
    said: list[int] = []

    def vote() -> None:
        if puppet.bodies and not said:
            said.append(0)
            value = value_of(world.motion, 0, 0, puppet.bodies[0].body)
            puppet.say([first], Kind.PREVOTE, 0, value)
            puppet.say([second, slow], Kind.PREVOTE, 0, NIL)
        world.after(0.01, vote)

    world.at(0.0, lambda: puppet.commit([first, second, slow]))
    world.at(0.1, vote)
    return world, first


def test_a_locked_set_is_taken_although_it_lacks_somebody() -> None:
    world, first = locked_without_the_slowest()
    world.run(20.0)
    stage = world.stage(first)
    assert stage is not None
    assert len(world.decided()) == 3
    lock = stage.lock()
    assert lock is not None
    assert lock[1] == stage.decided


def test_without_that_exemption_nobody_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Agreement._judge

    def strict(self: Agreement, proposal: Any, now: float) -> Any:
        verdict = real(self, proposal, now)
        return self._include_ok(self.bodies[proposal.value], now) if verdict == YES else verdict

    monkeypatch.setattr(Agreement, "_judge", strict)
    world, _ = locked_without_the_slowest()
    world.run(60.0)
    assert not world.decided()


def test_who_prevotes_without_the_reveals_decides_what_nobody_can_compute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = ["proposes its reveal that nobody holds"]
    seeds = range(3100, 3110)
    for seed in seeds:
        play(seed, 4, kinds)
    monkeypatch.setattr(RevealSource, "holds", lambda self, body: self.well_formed(body, None))
    failed = 0
    for seed in seeds:
        try:
            play(seed, 4, kinds)
        except (AssertionError, KeyError):
            failed += 1
    assert failed > 0


class Copycat(Node):
    """A liar that waits for others' votes and then commits to the same."""

    honest = False
    copied = b""

    def vote(self, poll: int) -> None:
        """Not before it has seen any."""
        if self.copied:
            super().vote(poll)

    def received(self, peer: int, frame: bytes) -> None:
        """It looks for reveals."""
        message = read(frame)
        if isinstance(message, Told) and message.reveals and not self.copied:
            self.copied = message.reveals[0].votes
            self.votes = [self.copied]
            self.world.after(0.0, lambda: self.vote(0))
        super().received(peer, frame)


def copying() -> tuple[World, Copycat]:
    """Three honest members of whom one is slow, and a copycat."""
    terms = Terms(labels=("a", "b"), seconds=8.0)
    world = World(5, 4, terms, inputs=8)
    form = ballots_of(world.header, 0)
    votes = np.random.default_rng(0).integers(0, 2, (3, 8))
    world.nodes = [Node(world, i, [form.pack(votes[i])]) for i in range(3)]
    world.nodes[2].delays = [1.5]
    copycat = Copycat(world, 3, [b""])
    world.nodes.append(copycat)
    return world, copycat


def tables(world: World) -> list[dict[int, bytes]]:
    """What each honest member agreed to."""
    return [node.motion.tables[0] for node in world.honest if node.motion is not None]


def test_nobody_votes_who_has_seen_votes() -> None:
    world, copycat = copying()
    world.run(30.0, world.decided)
    check(world)
    assert copycat.copied
    assert all(3 not in table for table in tables(world))


def test_reveals_before_the_commitments_are_agreed_can_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., None] = Poll.commit

    def hasty(self: Poll, votes: bytes, salt: bytes) -> None:
        real(self, votes, salt)
        self.signer.send(None, [Reveal(self.number, self.signer.me, salt, votes)])

    monkeypatch.setattr(Poll, "commit", hasty)
    world, copycat = copying()
    world.run(30.0, world.decided)
    assert all(table[3] == copycat.copied for table in tables(world))

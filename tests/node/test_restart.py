"""A member that crashes at any save goes on from its journal and says nothing else than before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from folkmoot.node.review import ballots_of
from folkmoot.node.rosters.change import Change
from folkmoot.node.session.book import contradict
from folkmoot.node.session.frames import Secret, Told, encoded, read_stored
from folkmoot.node.session.header import Header
from folkmoot.node.session.motion import Motion
from folkmoot.node.session.statement import NIL, NO_ROUND, Kind, Said, words
from folkmoot.node.session.terms import Terms
from support.node.signed import keys_and_roster
from support.node.storms import check
from support.node.world import Node, Weather, World


class WithoutJournal(Node):
    """A member that keeps nothing."""

    def start(self) -> None:
        """As if it had never been there."""
        self.journal = []
        super().start()


def played(crashes: list[int], kind: type[Node] = Node, believe: str = "own") -> World:
    """Four members; the first crashes before record i (2 i) or after it (2 i + 1)."""
    terms = Terms(labels=("a", "b"), seconds=4.0, believe=believe)  # type: ignore[arg-type]
    world = World(11, 4, terms, weather=Weather(delay=0.03, most=0.11), inputs=3)
    for i in range(4):
        votes = [ballots_of(world.header, poll).pack(np.array([0, 1, i % 2])) for poll in range(terms.polls)]
        node = kind(world, i, votes, crashes) if i == 0 else Node(world, i, votes)
        world.nodes.append(node)
    world.run(120.0, world.decided)
    return world


def own_statements(node: Node) -> list[Said]:
    """What it signed, according to its journal."""
    found = []
    for record in node.journal:
        frame = read_stored(record)
        if not isinstance(frame, Secret):
            found += [said for said in frame.said if said.member == node.me]
    return found


RECORDS = len(played([]).nodes[0].journal)


def test_a_motion_of_two_polls_has_few_records() -> None:
    """In a poll votes, commitment, table, and in each stage prevote, precommit, decision."""
    assert 18 <= RECORDS <= 24


@pytest.mark.parametrize("crash", range(2 * 18))
def test_it_can_crash_at_every_save(crash: int) -> None:
    world = played([crash])
    check(world)
    said = own_statements(world.nodes[0])
    assert not any(contradict(one, other) for one in said for other in said)
    assert world.nodes[0].starts == 2


def test_it_can_crash_at_all_of_them() -> None:
    world = played(list(range(2 * RECORDS)))
    check(world)
    assert world.nodes[0].starts > RECORDS


def test_without_a_journal_it_contradicts_itself() -> None:
    accused = 0
    for crash in range(2, 2 * 18):
        world = played([crash], WithoutJournal)
        others = [node.motion for node in world.nodes[1:] if node.motion is not None]
        accused += any(0 in motion.evidence for motion in others)
    assert accused > 0


def of_a_motion(records: list[bytes]) -> Motion:
    keys, roster = keys_and_roster(4)
    header = Header(bytes.fromhex(roster.digest), 0, bytes(16), 1e9, Terms(labels=("a", "b")), inputs=1)
    return Motion(header, roster.members, 0, keys[0].sign, delta=0.25, records=records)


def of_a_change(records: list[bytes]) -> Change:
    keys, roster = keys_and_roster(4)
    return Change(roster, 0, keys[0].sign, lambda: [b"s" * 32], delta=0.5, records=records)


@pytest.mark.parametrize("begin", [of_a_motion, of_a_change])
def test_it_knows_what_it_said_however_many_rounds_that_took(
    begin: Callable[[list[bytes]], Motion | Change],
) -> None:
    """The others vote for nothing 70 times; a stranger may be at most 32 rounds ahead."""
    keys, _ = keys_and_roster(4)
    journal: list[bytes] = []
    one = begin([])
    now = 0.0

    def hear(kind: Kind, number: int, value: bytes) -> None:
        slot = int(kind), 0, 0, number
        said = tuple(
            Said(i, *slot, NO_ROUND, value, keys[i].sign(words(one.name, i, slot, NO_ROUND, value)))
            for i in (1, 2, 3)
        )
        one.received(1, encoded(Told(one.name, said)), now)
        one.wake(now)
        journal.extend(one.take().records)

    hear(Kind.COMMIT, 0, b"c" * 32)
    for number in range(70):
        now += 1000.0
        hear(Kind.PREVOTE, number, NIL)
        hear(Kind.PRECOMMIT, number, NIL)
    said = {each for each in one.book.everything() if each.member == 0}
    assert max(each.round for each in said) >= 69
    again = begin(journal)
    assert {each for each in again.book.everything() if each.member == 0} == said

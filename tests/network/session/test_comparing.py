"""Marks of the commitments: which are compared with whom, what is shown, and what is evidence."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from folkmoot.network.session.comparing import _MOST_VECTORS
from folkmoot.network.session.phases import Phase
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from support.network.one_session import PATIENCE, SECONDS, Table, colours

OWN, THEIRS, OTHER = colours(0, 1, 0, 1), colours(1, 1, 0, 0), colours(0, 0, 0, 0)


def revealing(**options: object) -> Table:
    table = Table(trust=True, **options)  # type: ignore[arg-type]
    table.vote(OWN)
    table.gather(THEIRS)
    assert table.phase() is Phase.REVEALING
    return table


def everybody_reveals(table: Table, now: float = 0.0) -> None:
    for place in table.others:
        table.session.receive(now, place, table.reveal(place, THEIRS))


def second(table: Table, place: int) -> m.Commit:
    """Another commitment of a participant than the one that the session holds."""
    return table.commit(place, OTHER)


def test_at_the_end_of_the_gathering_everybody_is_told_the_same_signed_marks() -> None:
    table = revealing()
    told = table.sent(m.Marks)
    assert sorted(told) == table.others
    (marks,) = set(told.values())
    assert isinstance(marks, m.Marks)
    assert marks.want
    assert statements.holds(table.seat.keys[1], marks.signature, statements.marked(marks, 1))
    said = [statements.mark(marks.salt, table.session.commits[place]) for place in range(5)]
    assert marks.marks == b"".join(said)


def test_nobody_is_listened_to_before_all_who_are_there_have_told_their_marks() -> None:
    table = revealing()
    everybody_reveals(table)
    assert table.session.minutes.study is None
    for place in table.others:
        assert table.session.minutes.study is None
        table.session.receive(0.0, place, table.marks(place, table.session.commits))
    assert table.session.minutes.study is not None


def test_who_does_not_tell_its_marks_is_waited_for_no_longer_than_for_anything_else() -> None:
    table = revealing()
    everybody_reveals(table)
    for place in (0, 2, 3):
        table.session.receive(0.0, place, table.marks(place, table.session.commits))
    table.out()
    table.session.tick(PATIENCE)
    assert [(peer, type(message)) for peer, message in table.out()] == [(4, m.Marks)]
    table.session.tick(2 * PATIENCE)
    study = table.session.minutes.study
    assert study is not None
    assert study[4].tolist() == THEIRS.tolist(), "absence is no evidence"
    assert not table.session.cheats


def test_where_marks_differ_commitments_are_shown_and_two_are_evidence() -> None:
    table = revealing()
    everybody_reveals(table)
    table.out()
    table.saves()
    for place in (2, 3, 4):
        table.session.receive(0.0, place, table.marks(place, table.session.commits))
    assert table.out() == []
    held, other = table.session.commits[4], second(table, 4)
    table.session.receive(0.0, 0, table.marks(0, {**table.session.commits, 4: other}, want=True))
    assert [(peer, type(message)) for peer, message in table.out()] == [(0, m.Commit), (0, m.Marks)]
    assert table.session.minutes.study is None, "it has not yet compared with the first"
    table.session.receive(0.0, 0, other)
    (proof,) = table.saves()
    assert proof == statements.TwoCommits(held, other)
    study = table.session.minutes.study
    assert study is not None
    assert study.tolist() == [THEIRS.tolist(), OWN.tolist(), THEIRS.tolist(), THEIRS.tolist(), [-1] * 4]


def test_marks_that_came_before_the_own_freeze_are_compared_at_it() -> None:
    table = Table(trust=True)
    table.vote(OWN)
    for place in (0, 2, 3):
        table.session.receive(0.0, place, table.commit(place, THEIRS))
    table.out()
    other = second(table, 2)
    theirs = {**table.session.commits, 2: other, 4: table.commit(4, THEIRS)}
    table.session.receive(0.0, 0, table.marks(0, theirs, want=True))
    assert table.out() == [(0, m.Pending(table.name))]
    table.session.receive(0.0, 4, table.commit(4, THEIRS))
    assert table.phase() is Phase.REVEALING
    shown = table.sent(m.Commit)
    assert shown == {0: replace(table.session.commits[2], want=False)}
    table.session.receive(0.0, 0, other)
    assert table.session.cheats == {2}


def test_a_mark_without_a_commitment_is_no_evidence_and_silences_nobody() -> None:
    table = revealing()
    everybody_reveals(table)
    for place in (2, 3, 4):
        table.session.receive(0.0, place, table.marks(place, table.session.commits))
    made_up = replace(second(table, 4), signature=bytes(64))
    table.session.receive(0.0, 0, table.marks(0, {**table.session.commits, 4: made_up}))
    table.session.receive(0.0, 0, made_up)
    for now in (PATIENCE, 2 * PATIENCE):
        assert table.session.minutes.study is None
        table.session.tick(now)
    study = table.session.minutes.study
    assert study is not None
    assert study[4].tolist() == THEIRS.tolist()
    assert not table.session.cheats


def test_a_relayed_commitment_that_nobody_asked_for_changes_nothing() -> None:
    """It takes neither the place of a participant's own, nor is it evidence without marks."""
    table = Table(trust=True)
    table.vote(OWN)
    table.session.receive(0.0, 0, table.commit(4, THEIRS))
    assert 4 not in table.session.commits
    table = revealing()
    table.out()
    table.session.receive(0.0, 0, second(table, 4))
    assert table.out() == []
    assert not table.session.cheats


def test_marks_of_nobody_are_not_compared() -> None:
    """Zeros: one of the two has no commitment of that participant."""
    table = revealing()
    everybody_reveals(table)
    table.out()
    for place in table.others:
        table.session.receive(0.0, place, table.marks(place, {}))
    assert table.session.minutes.study is not None
    assert not table.sent(m.Commit)


@pytest.mark.parametrize("lacking", [1, 2, 3])
def test_a_commitment_that_several_did_not_hold_is_late(lacking: int) -> None:
    """Its author may have seen what they showed; one of them may just have missed it."""
    table = revealing()
    everybody_reveals(table)
    table.saves()
    for place in table.others:
        held = dict(table.session.commits)
        if place < lacking + (lacking > 1):  # of 0, 2, 3
            del held[4]
        table.session.receive(0.0, place, table.marks(place, held))
    study = table.session.minutes.study
    assert study is not None
    assert study[4].tolist() == (THEIRS.tolist() if lacking == 1 else [-1] * 4)
    assert study[:4].tolist() == [THEIRS.tolist(), OWN.tolist(), THEIRS.tolist(), THEIRS.tolist()]
    assert table.session.late == (set() if lacking == 1 else {4})
    assert not table.session.cheats, "absence is no evidence"
    assert table.saves() == []


def test_wrong_marks_are_ignored() -> None:
    table = revealing()
    table.out()
    right = table.marks(0, table.session.commits, want=True)
    table.session.receive(0.0, 0, replace(right, marks=right.marks[:-1]))
    table.session.receive(0.0, 0, replace(right, salt=b"x" * 16))
    table.session.receive(0.0, 2, right)  # signed by another
    assert table.out() == []
    table = Table()
    table.vote(OWN)
    table.gather(THEIRS)
    table.out()
    table.session.receive(0.0, 0, table.marks(0, table.session.commits, want=True))
    assert table.out() == [], "without trust there is nothing to compare"


def test_marks_again_and_again_draw_no_more_replies() -> None:
    table = revealing()
    table.out()
    marks = table.marks(0, {**table.session.commits, 4: second(table, 4)}, want=True)
    for _ in range(10 * _MOST_VECTORS):
        table.session.receive(0.0, 0, marks)
    assert len(table.out()) == 2 * _MOST_VECTORS


def test_it_ends_at_the_time_for_reveals_whatever_is_missing() -> None:
    table = revealing()
    everybody_reveals(table)
    for when in range(15):
        table.session.receive(float(when), 0, m.Pending(table.name))
        table.session.tick(float(when))
        assert table.session.minutes.study is None
    table.session.tick(0.5 * SECONDS)
    assert table.session.minutes.study is not None


def test_a_node_that_was_started_again_after_its_close_still_tells_its_marks() -> None:
    """Others wait for them."""
    from folkmoot.network.session.minutes import Memory, Voted

    former = revealing()
    (voted,) = (save for save in former.saves() if isinstance(save, Voted))
    commits = {place: former.session.commits[place] for place in former.others}
    close = former.close(1, OWN, OWN)
    table = Table(trust=True, memory=Memory(voted, commits, {1: close}), incarnation=2)
    assert table.phase() is Phase.CLOSING
    table.out()
    table.session.receive(0.0, 0, table.marks(0, former.session.commits, want=True))
    ((peer, marks),) = table.out()
    assert peer == 0
    assert isinstance(marks, m.Marks)
    assert bytes(8) not in {marks.marks[i : i + 8] for i in range(0, 40, 8)}

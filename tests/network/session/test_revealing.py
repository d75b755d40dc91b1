"""First votes are shown after all commitments, and listened to before the talk."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from folkmoot.network.session.judgement import Judgement
from folkmoot.network.session.phases import Phase
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.packing import unpack
from support.network.one_session import PATIENCE, SECONDS, Table, colours

OWN, THEIRS = colours(0, 1, 0, 1), colours(1, 1, 0, 0)


def show(table: Table, now: float, place: int) -> None:
    """A peer tells its marks, which are those of this session, and reveals."""
    table.session.receive(now, place, table.marks(place, table.session.commits))
    table.session.receive(now, place, table.reveal(place, THEIRS))


def revealing() -> Table:
    table = Table(trust=True)
    table.vote(OWN)
    table.gather(THEIRS)
    assert table.phase() is Phase.REVEALING
    return table


def test_nothing_is_shown_before_the_commitments_are_there() -> None:
    table = Table(trust=True)
    table.vote(OWN)
    table.session.receive(0.0, 2, table.commit(2, THEIRS))
    table.out()
    table.session.receive(0.0, 2, table.reveal(2, THEIRS, want=True))
    assert table.out() == [(2, m.Pending(table.name))]
    for place in (0, 3, 4):
        table.session.receive(0.0, place, table.commit(place, THEIRS))
    shown = table.sent(m.Reveal)
    assert sorted(shown) == table.others
    for peer, message in shown.items():
        assert isinstance(message, m.Reveal)
        assert unpack(message.first, 4, 2).tolist() == OWN.tolist()
        assert message.want == (peer != 2)


def test_all_that_was_revealed_is_listened_to_and_nothing_else() -> None:
    table = revealing()
    show(table, 0.0, 0)
    show(table, 0.0, 2)
    unsigned = replace(table.reveal(3, THEIRS), signature=bytes(64))
    table.session.receive(0.0, 3, unsigned)
    for now in (PATIENCE, 2 * PATIENCE):
        assert table.session.minutes.study is None
        table.session.receive(now, 4, m.Pending(table.name))
        table.session.tick(now)
    table.session.tick(0.5 * SECONDS)
    study = table.session.minutes.study
    assert study is not None
    nothing = [-1] * 4
    assert study.tolist() == [THEIRS.tolist(), OWN.tolist(), THEIRS.tolist(), nothing, nothing]


def test_nobody_is_told_anything_before_the_talk() -> None:
    table = revealing()
    table.out()
    table.session.receive(0.0, 2, m.Ask(table.name, 0, None))
    assert table.out() == [(2, m.Unready(table.name, 0))]


def test_a_judgement_begins_the_talk_with_what_it_says() -> None:
    table = revealing()
    for place in table.others:
        show(table, 0.0, place)
    start = colours(1, -1, 1, 0)
    weights = np.array([0.0, 0.0, 3.0, 0.0, 0.0])
    table.session.judged(0.1, Judgement(weights, start, np.zeros(4, np.float32), True, ""))
    assert table.phase() is Phase.TALKING
    assert list(table.sent(m.Ask)) == [2]
    table.session.receive(0.2, 3, m.Ask(table.name, 0, None))
    ((_, told),) = table.out()
    assert isinstance(told, m.Answer)
    assert unpack(told.votes, 4, 2).tolist() == start.tolist()
    table.session.judged(0.3, None)  # too late
    assert table.session.judgement is not None
    assert table.session.judgement.anchored


def test_without_time_to_listen_nothing_is_decided() -> None:
    table = revealing()
    for place in table.others:
        show(table, 0.0, place)
    table.session.tick(0.85 * SECONDS)
    assert table.session.judgement is not None
    assert table.session.judgement.why == "there was no time to listen"
    assert unpack(table.session.closes[1].decisions, 4, 2).tolist() == [-1] * 4


def test_who_trusts_nobody_asks_nobody_and_closes() -> None:
    table = revealing()
    for place in table.others:
        show(table, 0.0, place)
    nobody = Judgement(np.zeros(5), colours(-1, -1, -1, -1), np.zeros(4, np.float32), True, "nobody")
    table.session.judged(0.1, nobody)
    assert table.phase() is Phase.CLOSING
    assert not table.sent(m.Ask)


def test_votes_that_were_not_committed_to_are_evidence_and_not_heard() -> None:
    table = revealing()
    table.saves()
    table.session.receive(0.0, 3, table.reveal(3, OWN))
    (proof,) = table.saves()
    assert isinstance(proof, statements.BrokenReveal)
    assert statements.proves(proof, table.seat.keys[3], table.seat.fingerprints[3])
    for place in (0, 2, 4):
        show(table, 0.0, place)
    study = table.session.minutes.study
    assert study is not None
    assert study[3].tolist() == [-1] * 4


def test_who_commits_late_is_not_heard_and_shown_nothing_before_all_have_compared() -> None:
    """Or it could read these votes, and commit to a copy of them where the gathering still goes on."""
    table = Table(trust=True)
    table.vote(OWN)
    for place in (0, 2, 4):
        table.session.receive(0.0, place, table.commit(place, THEIRS))
    for now in (PATIENCE, 2 * PATIENCE):  # the fourth is reminded in vain
        table.session.tick(now)
    assert table.phase() is Phase.REVEALING
    table.out()
    now = 2 * PATIENCE + 0.1
    table.session.receive(now, 3, table.commit(3, THEIRS))
    table.session.receive(now, 3, table.reveal(3, THEIRS, want=True))
    assert table.out() == [(3, m.Pending(table.name))]
    for place in (0, 2, 4):
        show(table, now, place)
    study = table.session.minutes.study
    assert study is not None
    assert study[3].tolist() == [-1] * 4
    table.out()
    table.session.receive(now, 3, table.reveal(3, THEIRS, want=True))
    ((peer, shown),) = table.out()
    assert peer == 3
    assert isinstance(shown, m.Reveal)
    assert unpack(shown.first, 4, 2).tolist() == OWN.tolist()


def test_who_only_says_that_it_is_not_as_far_holds_nobody_up() -> None:
    """Of six one may be a liar: the others took no time, so it has a second."""
    table = Table(6, trust=True)
    table.vote(OWN)
    table.gather(THEIRS)
    for place in (0, 2, 3, 4):
        show(table, 0.0, place)
    table.session.receive(0.9, 5, m.Pending(table.name))
    table.session.tick(0.9)
    assert table.session.minutes.study is None
    table.session.tick(1.0)
    study = table.session.minutes.study
    assert study is not None
    assert study[5].tolist() == [-1] * 4
    assert not table.session.cheats

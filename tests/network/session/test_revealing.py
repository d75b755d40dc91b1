"""First votes are shown after all commitments, and listened to before the talk."""

from __future__ import annotations

import numpy as np

from folkmoot.network.session.judgement import Judgement
from folkmoot.network.session.phases import Phase
from folkmoot.network.wire import messages as m
from folkmoot.network.wire.packing import pack, unpack
from support.network.one_session import PATIENCE, SECONDS, Table, colours

OWN, THEIRS = colours(0, 1, 0, 1), colours(1, 1, 0, 0)


def reveal(table: Table, want: bool = False, salt: bytes = bytes(32)) -> m.Reveal:
    return m.Reveal(table.name, salt, pack(THEIRS, 2), want)


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
    table.session.receive(0.0, 2, reveal(table, want=True))
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
    table.session.receive(0.0, 0, reveal(table))
    table.session.receive(0.0, 2, reveal(table))
    table.session.receive(0.0, 3, reveal(table, salt=bytes(31) + b"x"))  # not what it committed to
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
        table.session.receive(0.0, place, reveal(table))
    start = colours(1, -1, 1, 0)
    weights = np.array([0.0, 0.0, 3.0, 0.0, 0.0])
    table.session.judged(0.1, Judgement(weights, start, np.ones(start.size, dtype=np.float32), True, ""))
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
        table.session.receive(0.0, place, reveal(table))
    table.session.tick(0.85 * SECONDS)
    assert table.session.judgement is not None
    assert table.session.judgement.why == "there was no time to listen"
    assert unpack(table.session.closes[1].decisions, 4, 2).tolist() == [-1] * 4


def test_who_trusts_nobody_asks_nobody_and_closes() -> None:
    table = revealing()
    for place in table.others:
        table.session.receive(0.0, place, reveal(table))
    table.session.judged(
        0.1, Judgement(np.zeros(5), colours(-1, -1, -1, -1), np.zeros(4, dtype=np.float32), True, "nobody")
    )
    assert table.phase() is Phase.CLOSING
    assert not table.sent(m.Ask)

"""One session, phase by phase; the test plays all its peers."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from folkmoot.network.session.minutes import Ended, Memory, Voted
from folkmoot.network.session.phases import Phase
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.packing import unpack
from support.network.one_session import PATIENCE, SECONDS, Table, colours

ALL_A, ALL_B = colours(0, 0, 0, 0), colours(1, 1, 1, 1)


def talking(**options: Any) -> Table:
    """A table at which everybody has committed, and whose session has asked its first question."""
    table = Table(**options)
    table.vote(ALL_A)
    table.gather(ALL_B)
    assert table.phase() is Phase.TALKING
    return table


def answers(table: Table, votes: np.ndarray, now: float) -> list[int]:
    """Everybody who was asked answers; who they were."""
    asked = table.sent(m.Ask)
    for peer, question in asked.items():
        assert isinstance(question, m.Ask)
        table.session.receive(now, peer, table.answer(peer, votes, round_=question.round))
    return sorted(asked)


# ---- voting ----------------------------------------------------------------------------------


def test_inputs_are_fetched_two_chunks_ahead_and_asked_for_again() -> None:
    table = Table(inputs=5, chunk_rows=1, chunks=(bytes(32),) * 5)
    assert table.out() == [(0, m.Fetch(table.name, 0)), (0, m.Fetch(table.name, 1))]
    assert table.session.wake == PATIENCE
    table.session.receive(0.1, 2, m.Chunk(table.name, 0, b"not from the asker"))
    table.session.receive(0.1, 0, m.Chunk(table.name, 4, b"not asked for"))
    assert table.session.minutes.work == []
    table.session.receive(0.1, 0, m.Chunk(table.name, 0, b"data"))
    assert table.session.minutes.work == [(0, b"data")]
    assert table.out() == []  # two are under way until one is voted on
    table.session.predicted(0.2, 0, colours(1))
    assert table.out() == [(0, m.Fetch(table.name, 2))]
    table.session.tick(PATIENCE)
    assert table.out() == [(0, m.Fetch(table.name, 1))]


def test_the_asker_fetches_from_itself() -> None:
    table = Table(place=0, inputs=3, chunk_rows=1, chunks=(bytes(32),) * 3)
    assert table.session.minutes.work == [(0, None), (1, None)]
    assert table.out() == []


def test_the_commitment_is_saved_before_it_is_told_and_opens_to_the_votes() -> None:
    table = Table()
    table.vote(colours(0, 1, -1, 1))
    (voted,) = table.saves()
    assert isinstance(voted, Voted)
    assert unpack(voted.first, 4, 2).tolist() == [0, 1, -1, 1]
    told = table.sent(m.Commit)
    assert sorted(told) == table.others
    own = table.seat.fingerprints[table.place]
    assert statements.commitment_to(table.name, own, voted.salt, voted.first) == voted.commit.commitment
    assert all(isinstance(c, m.Commit) and c.commitment == voted.commit.commitment for c in told.values())


def test_what_does_not_come_in_time_stays_uncoloured_with_the_reason() -> None:
    table = Table()
    table.session.tick(0.35 * SECONDS - 0.01)
    assert table.phase() is Phase.VOTING
    table.session.tick(0.35 * SECONDS)
    (voted,) = [each for each in table.saves() if isinstance(each, Voted)]
    assert unpack(voted.first, 4, 2).tolist() == [-1] * 4
    assert "did not come in time" in voted.reason
    table.session.predicted(11.0, 0, ALL_B)  # too late
    assert table.session.minutes.own == voted


# ---- gathering -------------------------------------------------------------------------------


def test_the_talk_begins_when_the_last_has_committed() -> None:
    table = Table()
    table.vote(ALL_A)
    for place in (0, 2, 3):
        table.session.receive(0.1, place, table.commit(place, ALL_B))
        assert table.phase() is Phase.GATHERING
    table.session.receive(0.1, 4, table.commit(4, ALL_B))
    assert table.phase() is Phase.TALKING


def test_who_does_not_commit_is_reminded_and_benched_and_not_waited_for() -> None:
    table = Table()
    table.vote(ALL_A)
    for place in (0, 2, 3):
        table.session.receive(0.1, place, table.commit(place, ALL_B))
    table.out()
    table.session.tick(PATIENCE)
    assert list(table.sent(m.Commit)) == [4]
    assert table.phase() is Phase.GATHERING
    table.session.tick(2 * PATIENCE)
    assert table.phase() is Phase.TALKING
    assert not table.health.live(4, 2 * PATIENCE)
    assert 4 not in table.sent(m.Ask)


def test_who_says_that_it_is_still_voting_is_waited_for_until_the_time_for_votes_is_over() -> None:
    table = Table()
    table.vote(ALL_A)
    for place in (0, 2, 3):
        table.session.receive(0.1, place, table.commit(place, ALL_B))
    now = 0.0
    while now + 1.0 < 0.35 * SECONDS:
        now += 1.0
        table.session.receive(now, 4, m.Pending(table.name))
        table.session.tick(now)
        assert table.phase() is Phase.GATHERING
    table.session.tick(0.35 * SECONDS)
    assert table.phase() is Phase.TALKING


def test_commitments_that_are_none() -> None:
    table = Table()
    table.vote(ALL_A)
    good = table.commit(2, ALL_A)
    table.session.receive(0.0, 3, good)  # another's
    table.session.receive(0.0, 2, m.Commit(table.name, 2, bytes(32), good.signature, want=False))
    assert set(table.session.commits) == {1}
    table.session.receive(0.0, 2, good)
    table.session.receive(0.0, 2, good)
    assert not table.session.cheats
    table.session.receive(0.0, 2, table.commit(2, ALL_B))
    assert table.session.cheats == {2}
    (proof,) = [each for each in table.saves() if isinstance(each, statements.TwoCommits)]
    assert statements.proves(proof, table.seat.keys[2], table.seat.fingerprints[2])


def test_a_commitment_that_is_wanted_is_given_or_promised() -> None:
    table = Table()
    table.session.receive(0.0, 2, table.commit(2, ALL_A, want=True))
    assert (2, m.Pending(table.name)) in table.out()
    table.vote(ALL_A)
    table.out()
    table.session.receive(0.0, 3, table.commit(3, ALL_A, want=True))
    ((peer, told),) = table.out()
    assert peer == 3
    assert isinstance(told, m.Commit)
    assert (told.node, told.want) == (1, False)


def test_who_commits_in_the_talk_is_late_and_is_not_kept_as_a_voter() -> None:
    table = Table()
    table.vote(ALL_A)
    for place in (0, 2, 3):
        table.session.receive(0.1, place, table.commit(place, ALL_B))
    table.session.tick(PATIENCE)
    table.session.tick(2 * PATIENCE)
    table.saves()
    table.session.receive(5.0, 4, table.commit(4, ALL_B))
    assert table.session.late == {4}
    assert not table.saves()


# ---- talking ---------------------------------------------------------------------------------


def test_a_round_asks_k_committed_peers_and_the_rule_does_the_rest() -> None:
    table = talking()
    asked = answers(table, ALL_B, 0.1)
    assert len(asked) == 3
    assert table.place not in asked
    assert table.session.rounds == 1
    answers(table, ALL_B, 0.2)
    for _ in range(3):
        answers(table, ALL_B, 0.3)
    assert table.session.rounds == 5
    assert table.phase() is Phase.CLOSING
    own = table.session.closes[table.place]
    assert unpack(own.decisions, 4, 2).tolist() == [1, 1, 1, 1]  # it was turned, by two of three and more
    assert unpack(own.first, 4, 2).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(("against", "turned"), [(0, False), (1, False), (2, True), (3, True)])
def test_alpha_equal_answers_turn_it_and_fewer_do_not(against: int, turned: bool) -> None:
    table = talking(rounds=1)
    for number, (peer, question) in enumerate(table.sent(m.Ask).items()):
        assert isinstance(question, m.Ask)
        table.session.receive(0.1, peer, table.answer(peer, ALL_B if number < against else ALL_A))
    own = table.session.closes[table.place]
    assert unpack(own.decisions, 4, 2).tolist() == [int(turned)] * 4


def test_answers_that_nobody_asked_for_do_not_count() -> None:
    table = talking()
    asked = table.sent(m.Ask)
    (stranger,) = set(table.others) - set(asked)
    table.session.receive(0.1, stranger, table.answer(stranger, ALL_B))
    for peer in asked:
        table.session.receive(0.1, peer, table.answer(peer, ALL_B, round_=7))
    first, *_ = asked
    forged = table.answer(first, ALL_B)
    unsigned = m.Answer(forged.motion, 0, forged.version, forged.votes, bytes(64))
    table.session.receive(0.1, first, unsigned)
    assert table.session.rounds == 0
    assert table.phase() is Phase.TALKING
    for peer in asked:
        if peer != first:
            table.session.receive(0.2, peer, table.answer(peer, ALL_A))
    assert table.session.rounds == 1  # the unsigned one has had its turn, and is silence


def test_who_does_not_answer_is_benched_and_who_is_not_ready_is_not() -> None:
    table = talking()
    silent, unready, third = table.sent(m.Ask)
    for peer in (silent, third):
        table.session.receive(0.1, peer, m.Unready(table.name, 3))  # to a question that was not asked
    table.session.receive(0.1, unready, m.Unready(table.name, 0))
    table.session.tick(PATIENCE)
    assert table.session.rounds == 1
    assert table.health.benched(PATIENCE) == sorted([silent, third])


def test_nobody_is_asked_where_a_quorum_is_out_of_reach() -> None:
    table = Table(n=6)
    table.vote(ALL_A)
    table.session.receive(0.1, 2, table.commit(2, ALL_B))
    for number in (1, 2):
        table.session.tick(number * PATIENCE)
    assert table.phase() is Phase.TALKING
    assert not table.sent(m.Ask)
    table.session.tick(0.85 * SECONDS)
    own = table.session.closes[table.place]
    assert unpack(own.decisions, 4, 2).tolist() == [-1] * 4  # nobody was asked about it
    table.out()
    table.session.receive(0.85 * SECONDS, 2, m.Ask(table.name, 0, None))
    ((_, told),) = table.out()
    assert isinstance(told, m.Answer)
    assert told.votes == own.decisions  # who asks now is told what was signed


def test_nobody_is_told_a_vote_before_it_has_committed() -> None:
    table = Table()
    ask = m.Ask(table.name, 0, None)
    table.session.receive(0.0, 2, ask)
    assert table.sent(m.Unready) == {2: m.Unready(table.name, 0)}
    table.vote(ALL_A)
    table.out()
    table.session.receive(0.0, 2, ask)
    assert table.out() == [(2, m.Unready(table.name, 0))]
    table.session.receive(0.0, 2, table.commit(2, ALL_A))
    table.out()
    table.session.receive(0.0, 2, ask)
    ((peer, told),) = table.out()
    assert peer == 2
    assert isinstance(told, m.Answer)
    assert unpack(told.votes, 4, 2).tolist() == [0, 0, 0, 0]


def test_one_version_never_names_two_states() -> None:
    table = talking(rounds=5)
    told: dict[int, bytes] = {}
    for number in range(5):
        table.session.receive(0.1, 2, m.Ask(table.name, number, None))
        for _, message in [each for each in table.session.minutes.out if isinstance(each[1], m.Answer)]:
            assert isinstance(message, m.Answer)
            assert told.setdefault(message.version, message.votes) == message.votes
            said = statements.state(
                table.name, table.place, message.version, hashlib.sha256(message.votes).digest()
            )
            assert statements.holds(table.seat.keys[table.place], message.signature, said)
        answers(table, ALL_B if number % 2 else ALL_A, 0.1)
    assert len(told) > 1


def test_two_answers_of_one_version_are_evidence_even_if_another_heard_one() -> None:
    table = talking()
    asked = table.sent(m.Ask)
    first, second, *_ = asked
    table.session.receive(0.1, first, table.answer(first, ALL_A))
    other = table.answer(first, ALL_B)
    heard = m.Heard(first, other.version, hashlib.sha256(other.votes).digest(), other.signature)
    table.session.receive(0.1, second, m.Ask(table.name, 0, heard))
    assert table.session.cheats == {first}


def test_a_peer_that_asks_without_end_is_not_answered_without_end() -> None:
    table = talking()
    table.out()
    for _ in range(1000):
        table.session.receive(0.1, 2, m.Ask(table.name, 0, None))
    assert len(table.out()) == 2 * 5 + 64


# ---- closing ---------------------------------------------------------------------------------


def closed(**options: Any) -> Table:
    table = talking(rounds=1, **options)
    answers(table, ALL_B, 0.1)
    assert table.phase() is Phase.CLOSING
    return table


def test_it_signs_once_saves_tells_all_and_ends_when_all_have_closed() -> None:
    table = closed()
    told = table.sent(m.Close)
    assert sorted(told) == table.others
    own = table.session.closes[table.place]
    assert statements.holds(table.seat.keys[table.place], own.signature, statements.closing(own))
    assert own in table.saves()
    for place in table.others:
        assert table.phase() is Phase.CLOSING
        table.session.receive(0.2, place, table.close(place, ALL_B, ALL_B))
    assert table.phase() is Phase.OVER
    assert table.session.wake == float("inf")
    ended = table.saves()[-1]
    assert isinstance(ended, Ended)
    assert (ended.rounds, ended.queries) == (1, 3)
    assert table.session.verdict().decisions.tolist() == [1, 1, 1, 1]
    table.session.tick(SECONDS)
    assert not table.saves()


def test_closes_that_are_none_and_closes_that_are_two() -> None:
    table = closed()
    good = table.close(2, ALL_B, ALL_B)
    table.session.receive(
        0.2, 3, m.Close(good.motion, 2, good.decisions, good.salt, good.first, "", bytes(64))
    )
    table.session.receive(0.2, 3, table.close(2, colours(*[1] * 20), ALL_B))  # of another length
    assert 2 not in table.session.closes
    table.session.receive(0.2, 3, good)  # relayed by another
    assert table.session.closes[2] == good
    table.session.receive(0.2, 4, table.close(2, ALL_A, ALL_B))
    assert table.session.cheats == {2}
    table.session.receive(0.2, 3, table.close(3, ALL_B, ALL_A))  # it had committed to others
    assert table.session.cheats == {2, 3}


def test_who_wants_closes_gets_those_that_it_lacks() -> None:
    table = closed()
    table.session.receive(0.2, 2, table.close(2, ALL_B, ALL_B))
    table.out()
    table.session.receive(0.3, 4, m.Want(table.name, b""))
    assert {message.node for _, message in table.out() if isinstance(message, m.Close)} == {1, 2}
    table.session.tick(10.0)
    marks = next(message for _, message in table.out() if isinstance(message, m.Want)).have
    assert [any(marks[8 * place : 8 * place + 8]) for place in range(5)] == [False, True, True, False, False]
    table.session.receive(10.0, 4, m.Want(table.name, marks))
    assert table.out() == []


def test_a_quorum_and_a_while_are_enough() -> None:
    table = closed()
    for place in (2, 3):
        table.session.receive(0.2, place, table.close(place, ALL_B, ALL_B))
    now = 0.0
    while table.phase() is Phase.CLOSING:
        now += 0.5
        for place in (0, 4):
            table.session.receive(now, place, m.Pending(table.name))  # they say that they still talk
        table.session.tick(now)
        assert now < 4 * PATIENCE
    assert now > 3 * PATIENCE


def test_a_session_that_reaches_its_end_without_having_signed_never_signs() -> None:
    table = talking()
    table.session.tick(SECONDS)
    assert table.phase() is Phase.OVER
    assert table.place not in table.session.closes
    assert not table.sent(m.Close)


# ---- started again ---------------------------------------------------------------------------


def test_a_session_that_is_started_again_says_what_it_had_said() -> None:
    before = Table()
    before.vote(colours(0, 1, 0, 1))
    (voted,) = before.saves()
    assert isinstance(voted, Voted)
    after = Table(seed=1, memory=Memory(voted=voted), incarnation=2)
    told = after.sent(m.Commit)
    assert {c.commitment for c in told.values() if isinstance(c, m.Commit)} == {voted.commit.commitment}
    assert not after.saves()
    after.gather(ALL_A)
    after.out()
    versions = []
    for table in (before, after):
        table.session.receive(0.0, 2, table.commit(2, ALL_A))
        table.out()
        table.session.receive(0.0, 2, m.Ask(table.name, 0, None))
        ((_, answer),) = table.out()
        assert isinstance(answer, m.Answer)
        versions.append(answer.version)
    assert versions[1] > versions[0] + 1_000_000


def test_a_session_that_had_closed_repeats_its_close() -> None:
    before = closed()
    own = before.session.closes[before.place]
    voted = before.session.minutes.own
    others = {place: before.commit(place, ALL_B) for place in before.others}
    memory = Memory(voted=voted, commits=others, closes={before.place: own})
    after = Table(seed=1, memory=memory, incarnation=2, rounds=1)
    assert after.phase() is Phase.CLOSING
    assert after.sent(m.Close) == dict.fromkeys(after.others, own)
    assert own not in after.saves()


def test_more_time_moves_every_deadline() -> None:
    table = Table()
    table.session.prolong(1.0, SECONDS + 10.0)
    table.session.tick(0.35 * SECONDS + 9.9)
    assert table.phase() is Phase.VOTING
    table.session.tick(0.35 * SECONDS + 10.1)
    assert table.phase() is not Phase.VOTING
    assert table.session.end == SECONDS + 10.0

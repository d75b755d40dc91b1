"""One session in a motion with leaders, whose peers the test plays: what a leader shows, and what it cannot.

Everybody's salt is known, so who leads which round and whom it asks is worked out by ``leader_order`` and
``leader_sample``. Own queries are answered so that no label wins: what is held then is the leader's doing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from folkmoot.arrays import Colours
from folkmoot.network.session.leading import LeadTalking
from folkmoot.network.session.phases import Phase
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.packing import pack, unpack
from folkmoot.protocols import leader_order, leader_sample
from support.network.one_session import PATIENCE, SECONDS, Table, colours, motion_of

N, K, ALPHA = 7, 4, 3
OWN = colours(0, 0, 1)
SHOWN = colours(1, 1, 1)
SPLIT = (colours(0, 1, 0), colours(1, 0, 1), colours(0, 1, 0), colours(1, 0, 1))  # two of four: nobody wins


def salt_of(place: int) -> bytes:
    return bytes([place]) * 32


class Led(Table):
    """A session that has come to round 0 of its talk, unless it stops before."""

    def __init__(self, *, reveals: Sequence[int] | None = None, **changes: Any) -> None:
        super().__init__(N, protocol="leaders", k=K, alpha=ALPHA, inputs=3, **{"rounds": 3 * N, **changes})
        self.vote(OWN)
        self.first = dict.fromkeys(self.others, SHOWN)
        self.commits = {p: self.commit(p, self.first[p], salt=salt_of(p)) for p in self.others}
        for place in self.others:
            self.session.receive(0.0, place, self.commits[place])
        own = self.session.minutes.own
        self.salts = [own.salt if p == self.place else salt_of(p) for p in range(N)]
        held = {**self.commits, self.place: own.commit}
        for place in self.others:
            self.session.receive(0.0, place, self.marks(place, held))
        for place in self.others if reveals is None else reveals:
            self.session.receive(0.0, place, self.reveal(place, self.first[place], salt=salt_of(place)))

    @property
    def leading(self) -> LeadTalking:
        assert self.session.leading is not None
        return self.session.leading

    @property
    def number(self) -> int:
        """The round that it has come to."""
        return self.leading.number

    @property
    def held(self) -> list[int]:
        return list(self.session._stance.held.tolist())

    def leader(self, number: int) -> int:
        return leader_order(self.salts)[number % N]

    def sample(self, leader: int) -> tuple[int, ...]:
        return leader_sample(self.salts, leader, K)

    def own_query(self, answers: Sequence[Colours] = SPLIT, now: float = 0.0) -> None:
        """Those whom it asked in this round answer so."""
        number = self.number
        asked = [peer for peer, said in self.out() if isinstance(said, m.Ask) and said.round == number]
        for i, peer in enumerate(asked):
            version = (1 << 24) + 100 * number + i
            answer = self.answer(peer, answers[i % len(answers)], round_=number, version=version)
            self.session.receive(now, peer, answer)

    def told(self, node: int, number: int, votes: Colours = SHOWN, version: int = 77) -> m.Shown:
        """What a participant has signed for the leader of a round."""
        packed = pack(votes, 2)
        digest = hashlib.sha256(packed).digest()
        key = self.keys[node]
        return m.Shown(
            node, version, packed, key.sign(statements.state(self.name, node, version, digest)),
            key.sign(statements.led(self.name, node, number, version, digest)),
        )  # fmt: skip

    def show(self, number: int, answers: Sequence[m.Shown] | None = None) -> m.Show:
        sample = self.sample(self.leader(number))
        given = [self.told(node, number) for node in sample] if answers is None else answers
        return m.Show(self.name, number, tuple(given))

    def receive(self, peer: int, message: Any, now: float = 0.0) -> None:
        self.session.receive(now, peer, message)

    def come_to(self, *, led_by_itself: bool = False, asks_it: bool | None = None) -> int:
        """Go on to the first round that this node leads, or another does; returns its number."""
        for number in range(2 * N):
            leader = self.leader(number)
            fits = asks_it is None or (self.place in self.sample(leader)) == asks_it
            if (leader == self.place) == led_by_itself and fits:
                return number
            assert self.number == number
            self.own_query([OWN] * K)  # a winner on all inputs: nobody is waited for
            if leader == self.place:
                self.session.tick(self.session.wake)  # shows what it was told: nothing
        raise AssertionError("no such round")


def test_where_the_own_query_has_no_winner_the_leader_is_gone_by() -> None:
    table = Led()
    number = table.come_to(asks_it=False)
    table.own_query()
    assert table.number == number, "it waits for the leader"
    table.receive(table.leader(number), table.show(number))
    assert table.held == SHOWN.tolist()
    assert table.number == number + 1
    (change, *_) = table.session.changes
    assert sorted(peer for peer, _, _ in change.answers) == sorted(table.sample(table.leader(number)))


def test_a_winner_of_the_own_query_is_gone_by_first() -> None:
    table = Led()
    number = table.come_to(asks_it=False)
    mixed = [colours(0, 0, 0), colours(0, 1, 0), colours(0, 0, 0), colours(1, 1, 1)]
    table.own_query(mixed)  # three of four for 0 on the first and last, two of four on the second
    table.receive(table.leader(number), table.show(number))
    assert table.held == [0, 1, 0]


def test_a_query_with_winners_everywhere_waits_for_nobody() -> None:
    table = Led()
    number = table.come_to(asks_it=False)
    table.own_query([OWN] * K)
    assert table.number == number + 1


class TestWhatIsNotBelieved:
    """Each show is changed in one way; then nothing of it counts, and the round ends at its deadline."""

    def assert_ignored(self, table: Led, number: int, sender: int, show: m.Show) -> None:
        table.own_query()
        table.receive(sender, show)
        if table.number == number:  # it still waits
            assert table.session.wake <= PATIENCE
            table.session.tick(table.session.wake)
        assert table.held == OWN.tolist()
        assert table.number == number + 1
        assert not table.session.cheats

    def test_from_somebody_who_does_not_lead(self) -> None:
        table = Led()
        number = table.come_to(asks_it=False)
        other = next(p for p in table.others if p != table.leader(number))
        self.assert_ignored(table, number, other, table.show(number))

    @pytest.mark.parametrize("what", ["round", "motion", "state", "bytes", "somebody else's"])
    def test_forged_or_replayed_answers(self, what: str) -> None:
        table = Led()
        number = table.come_to(asks_it=False)
        answers = []
        for node in table.sample(table.leader(number)):
            told = table.told(node, number)
            if what == "round":
                told = table.told(node, number + 1)
            elif what == "motion":
                other = Led(nonce=b"another motion..")
                told = other.told(node, number)
            elif what == "state":
                told = replace(told, signature=bytes(64))
            elif what == "bytes":
                told = replace(told, votes=pack(colours(1, 0, 1), 2))
            else:
                told = replace(table.told((node + 1) % N, number), node=node)
            answers.append(told)
        self.assert_ignored(table, number, table.leader(number), table.show(number, answers))

    def test_answers_of_others_than_it_was_to_ask(self) -> None:
        table = Led()
        number = table.come_to(asks_it=False)
        leader = table.leader(number)
        strangers = [p for p in range(N) if p not in table.sample(leader)]
        few = table.sample(leader)[: ALPHA - 1]
        answers = [table.told(node, number) for node in (*few, *strangers)][:K]
        self.assert_ignored(table, number, leader, table.show(number, answers))

    def test_one_answer_many_times(self) -> None:
        table = Led()
        number = table.come_to(asks_it=False)
        leader = table.leader(number)
        one, other, *_ = table.sample(leader)
        answers = [*[table.told(one, number)] * 3, table.told(other, number)]
        self.assert_ignored(table, number, leader, table.show(number, answers))

    def test_more_answers_than_it_was_to_ask(self) -> None:
        table = Led()
        number = table.come_to(asks_it=False)
        leader = table.leader(number)
        answers = [table.told(node, number) for node in (*table.sample(leader), leader)]
        self.assert_ignored(table, number, leader, table.show(number, answers))

    def test_votes_on_other_inputs(self) -> None:
        table = Led()
        number = table.come_to(asks_it=False)
        leader = table.leader(number)
        answers = [table.told(node, number, colours(1, 1, 1, 1)) for node in table.sample(leader)]
        self.assert_ignored(table, number, leader, table.show(number, answers))

    def test_places_that_nobody_has(self) -> None:
        table = Led()
        number = table.come_to(asks_it=False)
        leader = table.leader(number)
        answers = [replace(table.told(node, number), node=node + N) for node in table.sample(leader)]
        self.assert_ignored(table, number, leader, table.show(number, answers))

    @pytest.mark.parametrize("early", [3, 20])
    def test_shows_of_rounds_that_are_far_off_are_not_kept(self, early: int) -> None:
        table = Led(rounds=50)
        number = table.come_to(asks_it=False)
        later = number + early
        table.receive(table.leader(later), table.show(later))
        assert not table.leading._shows

    def test_too_late(self) -> None:
        table = Led()
        number = table.come_to(asks_it=False)
        table.own_query()
        table.session.tick(PATIENCE + 1.0)
        table.receive(table.leader(number), table.show(number), PATIENCE + 1.1)
        assert table.held == OWN.tolist()


def test_leaving_answers_out_helps_no_other_label_and_is_no_evidence() -> None:
    table = Led()
    number = table.come_to(asks_it=False)
    leader = table.leader(number)
    whole = table.show(number)
    table.receive(leader, replace(whole, answers=whole.answers[: ALPHA - 1]))
    table.receive(leader, whole)  # the first counts
    table.own_query()
    assert table.held == OWN.tolist()
    assert table.number == number + 1
    assert not table.session.cheats


def test_a_silent_leader_costs_one_wait() -> None:
    table = Led()
    number = table.come_to(asks_it=False)
    leader = table.leader(number)
    table.own_query()
    now = table.session.wake
    assert 0.0 < now <= PATIENCE
    table.session.tick(now)
    assert table.number == number + 1
    while table.number < number + N:
        at = table.number
        table.own_query([OWN] * K, now)
        if table.leader(at) == table.place:
            now = table.session.wake
            table.session.tick(now)
    table.own_query(now=now)
    assert table.leader(number + N) == leader
    assert table.number == number + N + 1, "it is not waited for again"


class TestLeading:
    def test_it_asks_whom_the_salts_name_and_shows_all_that_it_is_told(self) -> None:
        table = Led()
        number = table.come_to(led_by_itself=True)
        sample = table.sample(table.place)
        sent = table.session.minutes.out
        asked = {peer for peer, message in sent if message == m.Lead(table.name, number)}
        assert asked == set(sample)
        table.own_query()
        table.out()
        for node in sample:
            told = table.told(node, number)
            table.receive(node, m.Led(table.name, number, *[getattr(told, x) for x in _LED]))
        shows = table.session.minutes.out
        shown = {peer: message for peer, message in shows if isinstance(message, m.Show)}
        assert shown == {
            p: m.Show(table.name, number, tuple(table.told(node, number) for node in sorted(sample)))
            for p in table.others
        }
        assert table.held == SHOWN.tolist()

    @pytest.mark.parametrize("silent", [1, K])
    def test_it_shows_what_it_has_in_half_the_time_of_a_round(self, silent: int) -> None:
        table = Led()
        number = table.come_to(led_by_itself=True)
        table.own_query([OWN] * K)
        assert table.number == number, "it stays until it has shown"
        for node in table.sample(table.place)[silent:]:
            told = table.told(node, number)
            table.receive(node, m.Led(table.name, number, *[getattr(told, x) for x in _LED]))
        table.out()
        assert table.session.wake <= PATIENCE / 2
        table.session.tick(table.session.wake)
        shows = [message for _, message in table.session.minutes.out if isinstance(message, m.Show)]
        assert [len(show.answers) for show in shows] == ([K - silent] * (N - 1) if silent < K else [])
        assert table.number == number + 1

    def test_what_is_not_signed_for_the_round_is_not_shown(self) -> None:
        table = Led()
        number = table.come_to(led_by_itself=True)
        one, two, three, four = table.sample(table.place)
        stranger = next(p for p in table.others if p not in table.sample(table.place))
        for node, told in (
            (one, table.told(one, number + 1)),
            (two, replace(table.told(two, number), bound=bytes(64))),
            (three, table.told(four, number)),
            (stranger, table.told(stranger, number)),
        ):
            table.receive(node, m.Led(table.name, number, *[getattr(told, x) for x in _LED]))
        assert table.leading._told_as_leader == {}


_LED = ("version", "votes", "signature", "bound")


class TestBeingAskedByALeader:
    def test_it_signs_what_it_holds_for_the_round_once(self) -> None:
        table = Led()
        number = table.come_to(asks_it=True)
        leader = table.leader(number)
        table.out()
        table.receive(leader, m.Lead(table.name, number))
        ((peer, led),) = table.out()
        assert peer == leader
        assert isinstance(led, m.Led)
        assert unpack(led.votes, 3, 2).tolist() == OWN.tolist()
        digest = hashlib.sha256(led.votes).digest()
        key = table.seat.keys[table.place]
        said = statements.led(table.name, table.place, number, led.version, digest)
        assert statements.holds(key, led.bound, said)
        assert statements.holds(
            key, led.signature, statements.state(table.name, table.place, led.version, digest)
        )
        table.session._stance.change_to(SHOWN)
        for _ in range(10):
            table.receive(leader, m.Lead(table.name, number))
        assert table.out() == [(leader, led)] * 2, "the same again, and not without end"

    def test_only_the_leader_of_a_round_is_told(self) -> None:
        table = Led()
        number = table.come_to(asks_it=True)
        table.out()
        for peer in table.others:
            if peer != table.leader(number):
                table.receive(peer, m.Lead(table.name, number))
        table.receive(table.leader(number), m.Lead(table.name, 10**9))
        assert table.out() == []

    def test_who_was_not_to_be_asked_says_nothing(self) -> None:
        table = Led()
        number = table.come_to(asks_it=False)
        table.out()
        table.receive(table.leader(number), m.Lead(table.name, number))
        assert table.out() == []

    def test_before_its_time_it_is_told_when_that_has_come(self) -> None:
        table = Led()
        number = table.come_to(asks_it=False)
        later = next(
            r for r in range(number + 1, 2 * N)
            if table.place in table.sample(table.leader(r)) and table.leader(r) != table.place
        )  # fmt: skip
        table.receive(table.leader(later), m.Lead(table.name, later))
        while table.number < later:
            assert not [each for _, each in table.session.minutes.out if isinstance(each, m.Led)]
            leads = table.leader(table.number) == table.place
            table.own_query([OWN] * K)
            if leads:
                table.session.tick(table.session.wake)
        (led,) = [each for _, each in table.session.minutes.out if isinstance(each, m.Led)]
        assert led.round == later


def test_two_answers_of_one_version_are_evidence_against_whoever_gave_them() -> None:
    table = Led()
    number = table.come_to(asks_it=False)
    leader = table.leader(number)
    sample = table.sample(leader)
    asked = [peer for peer, said in table.session.minutes.out if isinstance(said, m.Ask)]
    both = next(p for p in asked[-K:] if p in sample)
    table.receive(both, table.answer(both, colours(0, 0, 0), round_=number, version=77))
    table.own_query()
    table.receive(leader, table.show(number))
    assert table.session.cheats == {both}
    assert [kind for kind in table.saves() if isinstance(kind, statements.TwoStates)]


class TestSaltsThatSomeDoNotKnow:
    """One participant reveals to some only."""

    def without(self, place: int) -> Led:
        """A session that comes to the talk without what that one has revealed."""
        table = Led(reveals=[p for p in range(N) if p not in (1, place)])
        now = 0.0
        while table.phase() is Phase.REVEALING:
            now = table.session.wake
            table.session.tick(now)
        return table

    def seen(self, table: Led, place: int) -> m.Seen:
        reveal = table.reveal(place, table.first[place], salt=salt_of(place))
        return m.Seen(
            table.name, place, table.commits[place].signature, reveal.salt, reveal.first, reveal.signature
        )

    def test_what_it_lacks_it_asks_for_and_takes_from_anybody(self) -> None:
        table = self.without(5)
        salts = table.session._salts
        assert 5 not in salts.places
        wanted = [each for _, each in table.out() if isinstance(each, m.Unseen)]
        assert wanted
        assert {each.have for each in wanted} == {bytes([0b1011111])}
        table.receive(3, self.seen(table, 5))
        assert [salts.leader(r) for r in range(N)] == list(leader_order(table.salts))
        passed = {peer for peer, each in table.out() if each == self.seen(table, 5)}
        assert passed == set(table.others) - {5}
        table.receive(3, self.seen(table, 5))
        assert table.out() == [], "once"

    @pytest.mark.parametrize("what", ["commitment", "reveal", "salt", "first", "node", "no such place"])
    def test_what_its_author_has_not_signed_is_not_taken(self, what: str) -> None:
        table = self.without(5)
        good = self.seen(table, 5)
        bad = {
            "commitment": replace(good, committed=bytes(64)),
            "reveal": replace(good, signature=bytes(64)),
            "salt": replace(good, salt=bytes(32)),
            "first": replace(good, first=pack(OWN, 2)),
            "node": replace(self.seen(table, 4), node=5),
            "no such place": replace(good, node=N + 3),
        }[what]
        table.receive(3, bad)
        known = what == "commitment"  # it holds that commitment already, and needs no signature of it
        assert (5 in table.session.minutes.reveals) == known
        assert not table.session.cheats

    def test_it_tells_whoever_lacks_something(self) -> None:
        table = Led()
        table.out()
        table.receive(4, m.Unseen(table.name, bytes([0b1011011])))
        told = {each.node: each for peer, each in table.out() if isinstance(each, m.Seen) and peer == 4}
        assert told == {2: self.seen(table, 2), 5: self.seen(table, 5)}
        for _ in range(20):
            table.receive(4, m.Unseen(table.name, b""))
        assert len(table.out()) <= 8 * N, "not without end"

    def test_who_has_not_committed_is_told_nothing(self) -> None:
        table = self.without(5)
        del table.session.commits[6]
        table.out()
        table.receive(6, m.Unseen(table.name, b""))
        assert table.out() == []


def test_whose_commitment_was_not_there_in_time_does_not_lead() -> None:
    """It might have chosen its salt when it knew those of the others. The marks of two say so."""
    table = Led()
    held = {**table.commits, table.place: table.session.minutes.own.commit}
    del held[5]
    assert 5 in table.session._salts.places
    for place in (2, 3):
        table.receive(place, table.marks(place, held))
    known = [p for p in range(N) if p != 5]
    order = leader_order([table.salts[p] for p in known])
    assert [table.session._salts.leader(r) for r in range(N - 1)] == [known[at] for at in order]


@pytest.mark.parametrize(("others", "goes_on_at"), [([59], 1), ([40, 39], 39), ([2, 2], 1), ([4, 5], 4)])
def test_a_node_that_was_left_behind_goes_on_where_the_others_are(others: list[int], goes_on_at: int) -> None:
    """One of seven may lie about where it is. To be two rounds behind is nothing."""
    table = Led(rounds=60)
    for peer, number in zip((2, 3), others, strict=False):
        table.receive(peer, m.Ask(table.name, number, None))
    if table.leader(0) == table.place:
        table.session.tick(table.session.wake)
    table.own_query([OWN] * K)
    assert table.number == goes_on_at


@pytest.mark.parametrize(
    ("trust", "askers", "begun"), [(False, 1, False), (False, 2, True), (True, 5, False)]
)
def test_it_begins_to_talk_when_more_others_have_than_may_lie(trust: bool, askers: int, begun: bool) -> None:
    """With trust it waits for first votes, of which it is to learn."""
    table = Led(reveals=[0, 2, 3, 4], trust=trust)
    assert table.phase() is Phase.REVEALING
    for peer in range(2, 2 + askers):
        table.receive(peer, m.Ask(table.name, 0, None))
    assert (table.phase() is Phase.TALKING) == begun


def test_at_the_end_of_the_talk_what_was_answered_counts_without_the_leader() -> None:
    table = Led()
    number = table.come_to(asks_it=False)
    table.own_query([colours(1, 1, 0), colours(1, 1, 1), colours(1, 0, 1), colours(0, 1, 0)])
    assert table.number == number, "two of four on the last input"
    table.leading._lingers_until = 1e9
    table.session.tick(0.86 * SECONDS)
    assert table.phase() is Phase.CLOSING
    own = table.session.closes[table.place]
    assert unpack(own.decisions, 3, 2).tolist() == [1, 1, OWN[2]]


def test_motions_that_leaders_cannot_show_are_refused() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"weighted": True}, "must have equal weights"),
        (
            {"inputs": 90_000, "k": 40, "alpha": 21},
            "must show that many answers in 524,288 bytes: got 908,040 on 90,000",
        ),
    ]
    for changes, why in cases:
        with pytest.raises(ValueError, match=why):
            motion_of(N, protocol="leaders", **changes).check()
    motion_of(N, protocol="leaders", inputs=90_000, k=20, alpha=11).check()

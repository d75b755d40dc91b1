"""Motions with leaders among nodes in memory: what comes of them, with restarts and liars."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from folkmoot.adversaries import Adversary, ConstantColour, PerfectlyMalicious
from folkmoot.cli.network.node_status import _phase
from folkmoot.network import Terms
from folkmoot.network.service.holdout import Holdout
from folkmoot.network.service.status import MotionStatus
from folkmoot.network.session.phases import Phase
from folkmoot.network.session.session import Session
from folkmoot.network.storage.account import account
from folkmoot.network.transports.memory import Weather
from folkmoot.network.wire import messages as m
from folkmoot.network.wire.packing import unpack
from folkmoot.protocols import leader_order, leader_sample
from folkmoot.protocols.many import winners
from support.network.leading_storms import RevealsInTheTalk, RevealsToHalf, ShowsToHalf
from support.network.moot_in_memory import Moot
from support.network.signatures import checked_once

N, K, ALPHA, INPUTS = 7, 4, 4, 40


@pytest.fixture(autouse=True)
def _checked_once() -> Iterator[None]:
    with checked_once():
        yield


def votes_of(seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(0, 2, (N, INPUTS)).astype(np.int8)


def played(
    votes: Any, until: float = 60.0, seed: int = 2, **options: Any
) -> tuple[Moot, list[tuple[int, Any]]]:
    """A moot after a motion with leaders, and who has sent which message of it."""
    moot = Moot(votes, seed, **options)
    sent: list[tuple[int, Any]] = []
    carry = moot.network.carry

    def carried(sender: int, peer: int, frame: bytes) -> None:
        sent.append((sender, m.decode(frame)))
        carry(sender, peer, frame)

    moot.network.carry = carried  # type: ignore[method-assign]
    moot.put(0, seconds=40.0, protocol="leaders", k=K, alpha=ALPHA, rounds=15)
    moot.network.run(until)
    return moot, sent


def salts_in(moot: Moot) -> list[bytes]:
    ((session, _),) = moot.over.values()
    return [session.closes[place].salt for place in range(N)]


def sessions_in(moot: Moot) -> list[Session]:
    """The sessions of all nodes, while they still know the motion."""
    (name,) = moot.over
    return [node._driver.running[name].session for node in moot.nodes if node is not None]


def test_each_leads_in_turn_and_shows_what_those_whom_the_salts_name_have_signed() -> None:
    moot, sent = played(votes_of())
    salts = salts_in(moot)
    order = leader_order(salts)
    shows = {(sender, each.round): each for sender, each in sent if isinstance(each, m.Show)}
    assert shows
    for (sender, number), show in shows.items():
        assert sender == order[number % N]
        assert {each.node for each in show.answers} <= set(leader_sample(salts, sender, K))
    asked = [(sender, each.round) for sender, each in sent if isinstance(each, m.Lead)]
    assert {number for _, number in asked} == set(range(15))
    told = {each.round for _, each in sent if isinstance(each, m.Led)}
    assert told == set(range(15))
    followed = [each.leading.counts["followed"] for each in sessions_in(moot) if each.leading is not None]
    assert sum(followed) > N, "leaders were gone by"


def test_what_is_decided_needs_the_closes_of_a_quorum_and_the_certificate_knows_no_leader() -> None:
    moot, _ = played(votes_of(), seed=4)
    found = [account(storage, storage.motions()[0]) for storage in moot.storages]
    decided = {tuple(each.decisions) for each in found}
    assert len(decided) == 1
    assert found[0].protocol == "leaders"
    assert sum(label is not None for label in found[0].decisions) > INPUTS / 2
    assert not any(each.evidence for each in found)


@pytest.mark.parametrize("kind", [RevealsToHalf, RevealsInTheTalk])
def test_who_reveals_to_some_only_keeps_nobody_from_agreeing_on_the_leaders(kind: Any) -> None:
    moot, sent = played(votes_of(), hostile={6: kind()}, weather=Weather(delay=0.002))
    sessions = sessions_in(moot)[:6]
    orders = {tuple(session._salts.leader(number) for number in range(N)) for session in sessions}
    assert len(orders) == 1
    assert len({session._salts.places for session in sessions}) == 1
    if kind is RevealsToHalf:
        assert any(isinstance(each, m.Seen) and each.node == 6 for _, each in sent)
        assert 6 in sessions[0]._salts.places
    assert sum(session.leading.counts["heard"] for session in sessions if session.leading is not None) > N


def test_a_node_that_was_started_again_finds_its_place() -> None:
    moot = Moot(votes_of(), 3, weather=Weather(delay=0.003))
    moot.put(0, seconds=40.0, protocol="leaders", k=K, alpha=ALPHA, rounds=40, pace=0.05)
    moot.at(1.0, lambda: moot.crash(5))
    moot.at(1.3, lambda: moot.start(5))
    moot.network.run(60.0)
    ((session, _),) = moot.over.values()
    assert len(session.closes) == N
    node = moot.nodes[5]
    assert node is not None
    again = node._driver.running[session.name].session
    assert again.leading is not None
    assert again.leading.counts["skipped"] > 5
    assert session.cheats == again.cheats == set(), "a second answer for a round is of another version"
    held = {tuple(unpack(close.decisions, INPUTS, 2)) for close in session.closes.values()}
    assert len(held) == 1


@pytest.mark.parametrize("liar", [PerfectlyMalicious(), ConstantColour(0)], ids=["malicious", "constant"])
def test_a_liar_that_leads_shows_others_only_what_helps_it(liar: Adversary) -> None:
    votes = votes_of()
    votes[6] = 1  # its model is right, if 1 is: so it says 0, either way
    moot, sent = played(votes, adversaries={6: liar}, until=30.0)
    shows = [each for sender, each in sent if sender == 6 and isinstance(each, m.Show)]
    led = [each for sender, each in sent if sender == 6 and isinstance(each, m.Lead)]
    assert led
    for show in shows:
        told = [unpack(each.votes, INPUTS, 2) for each in show.answers]
        won = winners(told, ALPHA, 2, asked=K)
        assert (won == 0).sum() > (won == 1).sum()
    for place in range(6):
        stored = account(moot.storages[place], moot.storages[place].motions()[0])
        for i, label in enumerate(stored.decisions):
            assert label is None or "ab".index(label) in votes[:6, i]


def test_who_leads_is_seen_while_it_happens() -> None:
    moot = Moot(votes_of(), 2, weather=Weather(delay=0.01))
    moot.put(0, seconds=40.0, protocol="leaders", k=K, alpha=ALPHA, rounds=15)
    seen: set[int | None] = set()

    def look() -> None:
        node = moot.nodes[1]
        assert node is not None
        for running in node._driver.under_way():
            view = running.session.view()
            seen.add(view.leader)
            assert view.leader is None or view.phase == Phase.TALKING.value

    for step in range(200):
        moot.at(step * 0.01, look)
    moot.network.run(60.0)
    assert seen == {None, *range(N)}
    told = MotionStatus("00", "north", "talking", 9, 3, 15, 0, 1.0, protocol="leaders", leader="west")
    assert _phase(told) == "talking (west leads)"
    counts = [node.counts for node in moot.nodes if node is not None]
    assert sum(each["leaders_shown"] for each in counts) > 5
    assert sum(each["leaders_followed"] for each in counts) > 5


def test_shows_to_half_are_no_evidence() -> None:
    moot, _ = played(votes_of(), hostile={3: ShowsToHalf()})
    assert not any(storage.evidence(name) for storage in moot.storages for name in moot.over)


def test_with_trust_answers_of_the_trusted_count() -> None:
    """Six of seven are right nearly always; the one that lies has learnt nothing, and nobody goes by it."""
    truth = np.arange(INPUTS) % 2
    votes = np.tile(truth, (N, 1)).astype(np.int8)
    votes[np.arange(INPUTS) % 6, np.arange(INPUTS)] ^= 1  # each is wrong on some, alone
    votes[6] = 1 - truth
    sure = Holdout([("a", "a")] * 20 + [("b", "b")] * 20 + [("a", "b")] * 3)
    moot = Moot(votes, 5, holdouts=dict.fromkeys(range(N), sure))
    moot.put(0, seconds=40.0, protocol="leaders", k=K, alpha=ALPHA, rounds=10, trust=True)
    moot.network.run(60.0)
    for place in range(6):
        found = account(moot.storages[place], moot.storages[place].motions()[0])
        assert found.decisions == ["ab"[each] for each in truth]


def test_terms_refuse_weights_of_a_record() -> None:
    assert Terms(protocol="leaders").protocol == "leaders"
    with pytest.raises(ValueError, match="weights must be 'equal' or 'learnt' with protocol 'leaders'"):
        Terms(protocol="leaders", weights="record")

"""Peer review over the network: check rows are invited, mixed in, opened once votes are fixed, learnt of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from folkmoot.adversaries import ATTACKS, Adversary
from folkmoot.network.service.check_rows import ALL_SHOWN, NONE_SHOWN, LabelledRows
from folkmoot.network.service.control import propose, with_check_rows
from folkmoot.network.service.holdout import Holdout
from folkmoot.network.service.interfaces import Inputs
from folkmoot.network.service.policy import Policy
from folkmoot.network.session.phases import Phase
from folkmoot.network.storage.account import Account, account
from folkmoot.network.storage.invitations import LOST, MOST, Invitations
from folkmoot.network.storage.records import TrackRecords
from folkmoot.network.storage.storage import Storage
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import Motion, motion_name
from folkmoot.network.wire.packing import pack, unpack
from folkmoot.network.wire.review import Review
from folkmoot.network.wire.statements import proves
from folkmoot.node.transports.memory import Weather
from folkmoot.node.wire.batch import Batch
from folkmoot.trust import check_answers, review_all
from support.network.moot_in_memory import InMemory
from support.network.review_moot import LABELS, ReviewMoot


def told(moot: ReviewMoot, place: int, number: int = 0) -> Account:
    storage = moot.storages[place]
    return account(storage, storage.motions()[number])


def right(moot: ReviewMoot, place: int) -> float:
    labels = [LABELS[colour] for colour in moot.truth[: moot.asked]]
    found = told(moot, place).decisions
    return float(np.mean([one == other for one, other in zip(found, labels, strict=True)]))


def malicious(*places: int) -> dict[int, Adversary]:
    return {place: ATTACKS["malicious"]() for place in places}


def between(moot: ReviewMoot, place: int, change: Callable[[int, Any], m.Message | None]) -> None:
    """Put somebody between a node and the others: what it sends is changed, or kept back."""
    world = moot.network.of(place)
    send = world.send

    def sent(peer: int, frame: bytes) -> None:
        changed = change(peer, m.decode(frame))
        if changed is not None:
            send(peer, m.encode(changed))

    world.send = sent  # type: ignore[method-assign]


@pytest.fixture(scope="module")
def outvoted() -> ReviewMoot:
    """Seven of twelve lie, in their votes and in the labels of their check rows."""
    moot = ReviewMoot(12, 1, adversaries=malicious(*range(5, 12)))
    assert moot.put_review(0, rounds=10) == []
    moot.network.run(60.0)
    return moot


def test_a_majority_of_liars_is_found_out_by_check_rows(outvoted: ReviewMoot) -> None:
    for place in range(5):
        found = told(outvoted, place)
        assert right(outvoted, place) > 0.95
        assert found.anchored
        assert found.check_rows == {f"p{i:03d}": 10 for i in range(12)}
        assert found.vanished == []
        assert found.evidence == {}
        assert "learnt from 50 rows of 5 publishers" in found.why
    votes = outvoted.votes[:, : outvoted.asked].copy()
    votes[5:] = 1 - votes[5:]
    majority = (votes == 1).mean(axis=0) > 0.5
    assert (majority == outvoted.truth[: outvoted.asked]).mean() < 0.2


def test_the_account_is_of_the_askers_rows_in_the_askers_order(outvoted: ReviewMoot) -> None:
    found = told(outvoted, 3)
    assert found.inputs == outvoted.asked == len(found.decisions)
    votes = outvoted.votes[:, : outvoted.asked].copy()
    votes[5:] = 1 - votes[5:]  # as malicious nodes vote
    for i, tally in enumerate(found.first_votes):
        assert tally == {
            label: int((votes[:, i] == colour).sum())
            for colour, label in enumerate("ab")
            if (votes[:, i] == colour).any()
        }


def test_truths_that_are_told_later_belong_to_the_askers_rows(outvoted: ReviewMoot) -> None:
    storage = outvoted.storages[2]
    (stored,) = storage.motions()
    storage.tell(stored.name, {i: LABELS[outvoted.truth[i]] for i in range(20)})
    records = TrackRecords(storage).read()
    for place in range(5):
        record = records[outvoted.roster[place].fingerprint]
        assert record.voted == 20
        assert record.right == int((outvoted.votes[place, :20] == outvoted.truth[:20]).sum())


def test_no_voter_is_told_the_map_before_it_has_committed_and_closes_hold_the_askers_rows_only() -> None:
    moot = ReviewMoot(7, 3, weather=Weather(delay=0.02))
    early: list[tuple[int, int]] = []

    def watch(place: int) -> None:
        def look(peer: int, message: Any) -> m.Message:
            if isinstance(message, m.Owners | m.Labels):
                node = moot.nodes[peer]
                session = None if node is None else node.session(message.motion)
                if session is None or session.minutes.voted is None:
                    early.append((place, peer))
            return message  # type: ignore[no-any-return]

        between(moot, place, look)

    for place in range(7):
        watch(place)
    moot.put_review(2, rounds=8)
    moot.network.run(60.0)
    assert early == []
    ((session, _),) = moot.over.values()
    assert session.motion.inputs == moot.asked + 70
    assert session.motion.asked == moot.asked
    assert len(session.closes) == 7
    for close in session.closes.values():
        assert len(unpack(close.decisions, moot.asked, 2)) == moot.asked
        assert len(unpack(close.first, session.motion.inputs, 2)) == session.motion.inputs


def test_who_shows_nothing_or_may_not_be_asked_by_this_asker_sends_no_rows() -> None:
    shows = Policy(check_rows=5)
    strict = Policy.read({"check_rows": 5, "askers": ["p003"]})
    policies = {0: shows, 1: Policy(), 2: strict, 3: shows, 4: shows, 5: shows, 6: shows}
    moot = ReviewMoot(7, 4, policies=policies)
    moot.put_review(0, rounds=6)
    moot.network.run(60.0)
    found = told(moot, 0)
    assert found.check_rows == {"p000": 5, "p003": 5, "p004": 5, "p005": 5, "p006": 5}
    assert moot.nodes[1] is not None
    assert moot.nodes[1].counts["check_rows_shown"] == 0
    assert moot.nodes[3] is not None
    assert moot.nodes[3].counts["check_rows_shown"] == 5
    assert found.without_rows == {"p001": NONE_SHOWN, "p002": "p000 is not among those who may ask this node"}
    assert told(moot, 3).without_rows == {}, "why others send nothing is told to the asker"
    assert moot.storages[0].count() == 1
    assert Invitations(moot.storages[0]).in_vain() == []


def test_who_does_not_answer_an_invitation_is_named_too() -> None:
    moot = ReviewMoot(5, 4)
    between(moot, 3, lambda _, message: None if isinstance(message, m.Rows) else message)
    moot.put_review(0, rounds=6)
    moot.network.run(60.0)
    assert told(moot, 0).without_rows == {"p003": "it did not answer in 6 s"}


def test_an_asker_that_is_stopped_while_inviting_says_at_its_next_start_that_nothing_came_of_it() -> None:
    moot = ReviewMoot(5, 4, shown=5)
    between(moot, 3, lambda _, message: None if isinstance(message, m.Rows) else message)
    refused = moot.put_review(0, rounds=6)
    moot.at(2.0, lambda: moot.crash(0))
    moot.at(3.0, lambda: moot.start(0))
    moot.network.run(10.0)
    (lost,) = Invitations(moot.storages[0]).in_vain()
    assert (lost.inputs, lost.created, lost.why) == (60, 1e9, LOST)
    assert refused == []
    assert moot.storages[0].count() == 0
    between(moot, 3, lambda _, message: message)
    again = moot.put_review(0, at=11.0, rounds=6, created=1e9 + 11)  # it is asked again, and answered
    moot.network.run(60.0)
    assert again == []
    assert sum((told(moot, 0).check_rows or {}).values()) > 0
    assert len(Invitations(moot.storages[0]).in_vain()) == 1


def test_a_motion_that_was_put_is_no_lost_invitation_though_the_node_stops_at_once() -> None:
    moot = ReviewMoot(5, 4)
    moot.put_review(0, rounds=6, seconds=20.0)
    moot.network.run(1.0)
    stored, storage = moot.storages[0].motions()[0], moot.storages[0]
    assert stored.motion.review is not None
    # As if it had stopped between the two writes.
    with storage.database.writing():
        storage.database.change("UPDATE invitations SET why = NULL")
    moot.crash(0)
    moot.start(0)
    assert Invitations(storage).in_vain() == []
    moot.network.run(60.0)
    assert storage.motions()[0].closed is not None


def test_an_asker_that_leaves_while_check_rows_come_has_put_nothing_and_it_is_said() -> None:
    moot = ReviewMoot(5, 4)
    node = moot.nodes[0]
    assert node is not None

    async def leaves() -> None:
        draft, inputs = moot.motion(0, Batch(np.arange(60, dtype="<i4")[:, None]), **moot.terms())
        waiting = asyncio.create_task(with_check_rows(node, draft, inputs))
        await asyncio.sleep(0)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        moot.network.run(10.0)

    asyncio.run(leaves())
    (lost,) = Invitations(moot.storages[0]).in_vain()
    assert lost.why == "whoever asked did not wait for check rows, and nothing was put"
    assert moot.storages[0].count() == 0


def test_check_rows_of_a_motion_that_its_own_node_refuses_were_shown_in_vain() -> None:
    moot = ReviewMoot(5, 4)
    node = moot.nodes[0]
    assert node is not None
    refused: list[str] = []

    def ready(motion: Motion | str, inputs: Inputs) -> None:
        assert isinstance(motion, Motion)
        moot.storages[0].has_room = False
        try:
            propose(node, motion, inputs, lambda *_: None)
        except ValueError as error:
            refused.append(str(error))

    draft, inputs = moot.motion(0, Batch(np.arange(60, dtype="<i4")[:, None]), **moot.terms())
    node.reviews.invite(draft, inputs, ready)
    moot.network.run(10.0)
    assert [each.why for each in Invitations(moot.storages[0]).in_vain()] == refused
    assert "the disk of this node is nearly full" in refused[0]


def test_only_so_many_invitations_are_kept() -> None:
    storage = Storage(":memory:")
    invitations = Invitations(storage)
    for number in range(MOST + 5):
        invitations.begin(bytes([number] * 32), float(number), 10)
        invitations.answered(bytes([number] * 32), {1: f"why {number}"})
    assert len(invitations.lose()) == MOST
    assert invitations.lose() == []
    assert [each.created for each in invitations.in_vain()] == [float(MOST + 4 - i) for i in range(MOST)]
    assert invitations.without(bytes([4] * 32)) == {}
    assert invitations.without(bytes([5] * 32)) == {1: "why 5"}


def test_nobody_shows_anything_so_nothing_is_put() -> None:
    moot = ReviewMoot(5, 5, policies=dict.fromkeys(range(5), Policy()))
    refused = moot.put_review(0)
    moot.network.run(60.0)
    (why,) = refused
    assert why.startswith("peer review needs check rows, and none of 5 participants sent any")
    assert f"(p000, p001, p002, p003, p004: {NONE_SHOWN})" in why
    assert [each.why for each in Invitations(moot.storages[0]).in_vain()] == [why]
    assert moot.storages[0].count() == 0


def test_no_row_is_shown_twice_not_even_after_a_restart() -> None:
    moot = ReviewMoot(5, 6, each=10, policies=dict.fromkeys(range(5), Policy(check_rows=4)))
    shown: dict[int, list[bytes]] = {place: [] for place in range(5)}
    for place in range(1, 5):

        def note(_: int, message: Any, place: int = place) -> m.Message:
            if isinstance(message, m.Rows):
                size = len(message.data) // message.contribution.rows
                shown[place] += [message.data[i : i + size] for i in range(0, len(message.data), size)]
            return message  # type: ignore[no-any-return]

        between(moot, place, note)
    for number in range(2):
        moot.put_review(0, at=40.0 * number, rounds=5, created=1e9 + 40 * number)
    moot.network.run(39.0)
    moot.crash(2)
    moot.start(2)
    moot.network.run(100.0)
    assert all(len(set(rows)) == 8 for place, rows in shown.items() if place not in (0, 2))
    moot.put_review(0, at=110.0, rounds=5, created=1e9 + 110)
    refused = moot.put_review(1, at=160.0, rounds=5, created=1e9 + 160)
    moot.network.run(200.0)
    assert ALL_SHOWN in refused[0]
    assert told(moot, 0, 2).check_rows == {f"p{place:03d}": 2 for place in range(5)}, "two of ten are left"
    assert moot.storages[0].count() == 3, "and then there is nobody to learn from"


def test_rows_of_one_answer_come_from_all_classes() -> None:
    labels = ["a"] * 30 + ["b"] * 3
    rows = LabelledRows(np.arange(33.0)[:, None], labels)
    order = [labels[i] for i in rows.in_turn()]
    assert order[:6].count("b") == 3
    assert sorted(rows.in_turn().tolist()) == list(range(33))


def test_a_contributor_that_vanishes_costs_its_rows_and_nothing_else() -> None:
    moot = ReviewMoot(7, 8)
    between(moot, 6, lambda _, message: None if isinstance(message, m.Labels) else message)
    moot.put_review(0, rounds=8)
    moot.network.run(60.0)
    for place in range(6):
        found = told(moot, place)
        assert found.vanished == ["p006"]
        assert found.check_rows == {f"p{i:03d}": 10 for i in range(6)}
        assert found.evidence == {}
        assert found.anchored


def test_labels_that_were_not_committed_to_are_evidence() -> None:
    moot = ReviewMoot(7, 9)

    def lie(peer: int, message: Any) -> m.Message:
        if isinstance(message, m.Labels) and message.labels and peer % 2:
            labels = pack(1 - unpack(message.labels, 10, 2), 2)
            bare = replace(message, labels=labels)
            return replace(bare, signature=moot.keys[6].sign(statements.opens_labels(bare)))
        return message  # type: ignore[no-any-return]

    between(moot, 6, lie)
    moot.put_review(0, rounds=8)
    moot.network.run(60.0)
    member = moot.roster[6]
    for place in (1, 3, 5):
        found = told(moot, place)
        assert found.evidence == {"p006": "broken labels"}
        assert "p006" not in (found.check_rows or {})
        ((accused, proof),) = moot.storages[place].evidence(bytes.fromhex(found.motion))
        assert accused == 6
        assert proves(proof, member.public_key, bytes.fromhex(member.fingerprint))
        assert not proves(proof, moot.roster[5].public_key, bytes.fromhex(moot.roster[5].fingerprint))
    assert told(moot, 2).evidence == {}, "what it was told is what was promised"


def test_another_map_than_the_headers_is_evidence_against_the_asker() -> None:
    moot = ReviewMoot(7, 10)

    def two_maps(peer: int, message: Any) -> m.Message:
        if isinstance(message, m.Owners) and peer in (1, 2):
            bare = replace(message, seed=bytes(32))
            return replace(bare, signature=moot.keys[0].sign(statements.opens_owners(bare)))
        return message  # type: ignore[no-any-return]

    between(moot, 0, two_maps)
    moot.put_review(0, rounds=8)
    moot.network.run(60.0)
    for place in (1, 2):
        found = told(moot, place)
        assert found.evidence == {"p000": "broken map of owners"}
        ((accused, proof),) = moot.storages[place].evidence(bytes.fromhex(found.motion))
        assert accused == 0
        assert proves(proof, moot.roster[0].public_key, bytes.fromhex(moot.roster[0].fingerprint))
    maps = {place: moot.storages[place].held(bytes.fromhex(told(moot, 3).motion)).owners for place in (1, 3)}
    assert maps[1] is not None
    assert maps[3] is not None
    assert (maps[1].asked == maps[3].asked).all(), "the right one is had from others"


def test_a_contributor_whose_rows_were_replaced_does_not_open_their_labels() -> None:
    """The asker puts the rows of participant 5 in another order, so that they seem to have wrong labels."""
    moot = ReviewMoot(7, 11)
    node = moot.nodes[0]
    assert node is not None
    takes = node.reviews.takes

    def swapped(peer: int, message: m.AnyMessage) -> bool:
        if isinstance(message, m.Rows) and peer == 5:
            takes(peer, message)
            (invited,) = node.reviews._under_way.values() if node.reviews._under_way else [None]
            if invited is not None:
                sent = np.frombuffer(message.data, "<i4")
                invited.rows[5] = replace(message, data=sent[::-1].tobytes())
            return True
        return takes(peer, message)

    node.reviews.takes = swapped  # type: ignore[method-assign]
    moot.put_review(0, rounds=8)
    moot.network.run(60.0)
    for place in (1, 2, 5):
        assert "p005" in told(moot, place).vanished
        assert told(moot, place).evidence == {}


def test_a_motion_goes_on_when_its_asker_never_opens_the_map() -> None:
    moot = ReviewMoot(7, 12)
    between(moot, 0, lambda _, message: None if isinstance(message, m.Owners) else message)
    moot.put_review(0, rounds=8, seconds=20.0)
    moot.network.run(60.0)
    for place in range(1, 7):
        found = told(moot, place)
        assert found.undecided == moot.asked
        assert found.why == "not anchored: the asker has not opened its check rows"
        assert found.state == "closed"
        node = moot.nodes[place]
        assert node is not None
        assert all(session.phase is Phase.OVER for session in node.sessions())


def test_check_rows_that_the_asker_has_or_that_come_twice_are_dropped() -> None:
    moot = ReviewMoot(5, 13)
    same = moot.rows[1]
    moot.rows[2] = LabelledRows(np.vstack([same.rows[:4], [[0.0], [1.0]]]), [*same.labels[:4], "a", "b"])
    for place in (1, 2):
        moot.crash(place)
        moot.start(place)
    moot.put_review(0, rounds=6)
    moot.network.run(60.0)
    found = told(moot, 0)
    assert found.check_rows == {"p000": 10, "p001": 10, "p003": 10, "p004": 10}
    assert found.vanished == []


def test_a_second_motion_by_the_same_invitation_gets_no_labels() -> None:
    """An asker puts the batch again under another name, when all know which rows are whose."""
    moot, chunks = ReviewMoot(5, 14), dict[int, bytes]()

    def keep(_: int, message: Any) -> m.Message:
        if isinstance(message, m.Chunk):
            chunks[message.index] = message.data
        return message  # type: ignore[no-any-return]

    between(moot, 0, keep)
    moot.put_review(0, rounds=6)
    moot.network.run(40.0)
    ((session, _),) = moot.over.values()
    stored = moot.storages[0].held(session.name).opened[-1]
    assert isinstance(stored, m.Owners)
    node = moot.nodes[0]
    assert node is not None
    again = replace(session.motion, nonce=bytes(16), created=1e9 + 41)
    name = motion_name(again.encoded())
    bare = replace(stored, motion=name)
    signature = moot.keys[0].sign(statements.opens_owners(bare))
    node.reviews._maps[name] = bytes(32), replace(bare, signature=signature)

    def put() -> None:
        node.propose(again, InMemory([chunks[index] for index in sorted(chunks)]), lambda *_: None)

    moot.at(41.0, put)
    moot.network.run(100.0)
    found = told(moot, 1, 1)
    assert found.check_rows == {}
    assert found.vanished == [f"p{place:03d}" for place in range(5)]


def test_truths_of_former_motions_feed_the_same_rule() -> None:
    """With weights learnt nobody shows a row: each node goes by truths that it was told itself."""
    moot = ReviewMoot(12, 15, adversaries=malicious(*range(5, 12)), rows={})
    batch = Batch(np.arange(moot.asked, dtype="<i4")[:, None])
    moot.put(0, batch=batch, rounds=6)
    moot.network.run(40.0)
    for place in (0, 1, 2, 3):
        (stored,) = moot.storages[place].motions()
        moot.storages[place].tell(stored.name, {i: LABELS[moot.truth[i]] for i in range(40)})
    learnt = {"trust": True, "review": Review(learnt=True), "created": 1e9 + 41, "rounds": 6}
    moot.put(0, at=41.0, batch=batch, **learnt)
    moot.network.run(100.0)
    for place in (0, 1, 2, 3):
        found = told(moot, place, 1)
        assert found.anchored
        assert "learnt from 40 public rows" in found.why
        decided = np.array([-1 if x is None else LABELS.index(x) for x in found.decisions])
        assert (decided == moot.truth[: moot.asked]).mean() > 0.9
        votes = np.where(np.arange(12)[:, None] < 5, moot.votes, 1 - moot.votes)  # the others lie
        checked = check_answers(votes[:, :40], moot.truth[:40], classes=2)
        (review,) = review_all(checked, judges=[place], batch=votes[:, : moot.asked])
        names = [member.name for member in moot.roster]
        assert found.trust == pytest.approx(dict(zip(names, review.weight, strict=True)), abs=1e-6)
    assert told(moot, 4, 1).anchored is False, "it was told nothing"


def test_who_shows_no_rows_listens_instead_if_its_holdout_is_enough() -> None:
    policies = {place: Policy(check_rows=10 * (place < 6)) for place in range(8)}
    sure = Holdout([("a", "a")] * 20 + [("b", "b")] * 20 + [("a", "b")] * 4)
    moot = ReviewMoot(8, 16, policies=policies, holdouts={6: sure})
    moot.put_review(0, rounds=8)
    moot.network.run(60.0)
    by_holdout, silent = told(moot, 6), told(moot, 7)
    assert by_holdout.anchored
    assert by_holdout.why.startswith(
        "not anchored: it has 0 checked rows of its own, and one needs 2 to begin"
    )
    assert "; so it has listened: anchored" in by_holdout.why
    assert right(moot, 6) > 0.85
    assert silent.anchored is False
    assert silent.undecided == moot.asked
    assert right(moot, 0) > 0.9


def test_rows_that_are_too_many_with_check_rows_are_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    moot = ReviewMoot(5, 17)
    refused = moot.put_review(0)
    monkeypatch.setattr("folkmoot.network.wire.motion.MOST_INPUTS", 100)
    moot.network.run(20.0)
    assert refused == [
        "a motion with 2 labels must hold at most 100 inputs: got 110; put them in several motions"
    ]
    assert moot.storages[0].count() == 0


def test_rows_are_not_waited_for_from_those_who_are_away() -> None:
    moot = ReviewMoot(6, 18)
    for place in (4, 5):
        moot.crash(place)
        node = moot.nodes[0]
        assert node is not None
        node.unreachable(place)
    moot.put_review(0, rounds=5, seconds=60.0)
    moot.network.run(2.0)
    (stored,) = moot.storages[0].motions()
    assert stored.opened < 1e9 + 1.0, "half a second of grace, and not a fifth of the deadline"

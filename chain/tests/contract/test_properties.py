"""Whole motions that hypothesis makes up, on the chain and in the model: the same money, to the last wei."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chain_support.oracle import MotionModel, RecordModel
from chain_support.world import STAKE, SUBJECT, World
from folkmoot_chain.ballots import pack, pack_mask

# The chain is put back to where it was after each example, hence the fixture may be shared. A motion takes a
# second, so that a few are played in every run, and many in the slow suite.
FEW = settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MANY = settings(FEW, max_examples=40)


@st.composite
def motions(draw: st.DrawFn) -> dict[str, Any]:
    labels = draw(st.sampled_from([2, 3, 7, 10]))
    inputs = draw(st.integers(1, 12))
    people = draw(st.integers(1, 4))
    least = 0 if labels == 2 else -1
    row = st.lists(st.integers(least, labels - 1), min_size=inputs, max_size=inputs)
    return {
        "labels": labels,
        "truth": draw(st.lists(st.integers(0, labels - 1), min_size=inputs, max_size=inputs)),
        "known": draw(st.lists(st.booleans(), min_size=inputs, max_size=inputs)),
        "votes": [draw(row) for _ in range(people)],
        "reveals": [draw(st.sampled_from([True, True, False])) for _ in range(people)],
        "scored": [draw(st.sampled_from([True, True, False])) for _ in range(people)],
        "told": draw(st.sampled_from([True, True, False])),
        "posted": draw(st.sampled_from(["nobody", "right", "wrong"])),
        "stake": draw(st.integers(1, 10**6)),
        "deposit": draw(st.integers(0, 10**6)),
        "order": draw(st.permutations(range(people))),
    }


@FEW
@given(drawn=motions())
def test_every_wei_that_goes_in_is_somebodys_in_the_end(world: World, drawn: dict[str, Any]) -> None:
    play_and_undo(world, drawn)


@pytest.mark.slow
@MANY
@given(drawn=motions())
def test_every_wei_of_many_motions_is_somebodys_in_the_end(world: World, drawn: dict[str, Any]) -> None:
    play_and_undo(world, drawn)


def play_and_undo(world: World, drawn: dict[str, Any]) -> None:
    before = world.rpc.tester.take_snapshot()
    try:
        play(world, drawn)
    finally:
        world.rpc.tester.revert_to_snapshot(before)


def play(world: World, drawn: dict[str, Any]) -> None:
    labels, truth, known = drawn["labels"], drawn["truth"], drawn["known"]
    people = world.people[: len(drawn["votes"])]
    poster, disputer = world.people[6:8]
    motion = world.motion(
        np.array(truth), labels, known=np.array(known), stake=drawn["stake"], deposit=drawn["deposit"]
    )
    model = MotionModel(world.supplier.address, labels, drawn["stake"], drawn["deposit"])
    owed = {each.address: 0 for each in [world.supplier, *world.people]}
    put_in = drawn["deposit"] + drawn["stake"] * len(people)
    for who, votes in zip(people, drawn["votes"], strict=True):
        motion.commit(who, np.array(votes))
        model.committed.add(who.address)
    motion.phase("reveal")
    for who, votes, reveals in zip(people, drawn["votes"], drawn["reveals"], strict=True):
        if reveals:
            motion.reveal(who, np.array(votes))
            model.ballots[who.address], model.weights[who.address] = votes, 1
    motion.phase("tell")
    if model.ballots and drawn["posted"] != "nobody":
        right = np.array(model.answer())
        answer = right if drawn["posted"] == "right" else (right + 1) % labels
        motion.by(poster).post(motion.number, answer)
        put_in, model.poster = put_in + drawn["stake"], poster.address
        if drawn["posted"] == "wrong":
            motion.dispute(0, answer, disputer)
            owed[disputer.address] += model.slash()
    if drawn["told"] and any(known):
        motion.tell()
        for who, scored in zip(people, drawn["scored"], strict=True):
            if scored and who.address in model.ballots:
                motion.score([who.address])
                model.score(who.address, RecordModel(), truth, known)
    motion.phase("claim")
    assert world.held() == put_in
    motion.by(disputer).close(motion.number)
    for address, amount in model.close().items():
        owed[address] += amount
    for place in drawn["order"]:
        address = people[place].address
        if address in model.ballots:
            motion.claim([address])
            owed[address] += model.claim(address)
    assert {address: world.contract.credit(address) for address in owed} == owed
    assert sum(owed.values()) == world.held() == put_in
    assert world.contract.motions(motion.number).pool == 0


LIES = given(
    seed=st.integers(0, 10**6),
    labels=st.sampled_from([2, 3, 10]),
    lies=st.integers(1, 12),
    hides=st.booleans(),
)


@settings(FEW, max_examples=3)
@LIES
def test_with_a_roster_and_an_honest_supplier_nobody_gains_by_lying(
    world: World, seed: int, labels: int, lies: int, hides: bool
) -> None:
    lying_does_not_pay(world, seed, labels, lies, hides)


@pytest.mark.slow
@MANY
@LIES
def test_in_many_motions_nobody_gains_by_lying(
    world: World, seed: int, labels: int, lies: int, hides: bool
) -> None:
    lying_does_not_pay(world, seed, labels, lies, hides)


def lying_does_not_pay(world: World, seed: int, labels: int, lies: int, hides: bool) -> None:
    """The same motion twice: as the model of participant 0 voted, and with right votes of it changed."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, labels, 12)
    votes = [np.where(rng.random(12) < 0.7, truth, rng.integers(0, labels, 12)) for _ in range(3)]
    lie = votes[0].copy()
    lie[:lies] = np.where(lie[:lies] == truth[:lies], (truth[:lies] + 1) % labels, lie[:lies])
    gains = []
    for first in (votes[0], lie):
        before = world.rpc.tester.take_snapshot()
        motion = world.motion(truth, labels, roster=[each.address for each in world.people[:3]])
        silent = [0] if hides and first is lie else []
        motion.play({0: first, 1: votes[1], 2: votes[2]}, silent=silent)
        gains.append(world.contract.credit(world.people[0].address))
        assert world.held() == world.credits()
        world.rpc.tester.revert_to_snapshot(before)
    assert gains[1] <= gains[0]
    assert gains[1] >= 0 if hides else gains[1] >= STAKE


def test_scores_of_a_batch_and_one_by_one_are_the_same(world: World) -> None:
    truth = np.arange(30) % 10
    votes = {place: (truth + (np.arange(30) % 7 < place)) % 10 for place in range(3)}
    found = []
    for single in (False, True):
        before = world.rpc.tester.take_snapshot()
        motion = world.motion(truth, 10)
        motion.play(votes, upto="tell")
        motion.tell()
        named = list(motion.revealed)
        for group in [[who] for who in reversed(named)] if single else [named]:
            motion.score(group)
        records = [world.contract.records(world.supplier.address, SUBJECT, who) for who in named]
        seats = [world.contract.seats(motion.number, who) for who in named]
        found.append((records, seats, world.contract.motions(motion.number)))
        world.rpc.tester.revert_to_snapshot(before)
    assert found[0][:2] == found[1][:2]
    assert found[0][2].points == found[1][2].points == sum(seat.points for seat in found[0][1])
    assert pack(votes[0], 10) != pack(votes[1], 10)
    assert pack_mask(np.array([True, False, True])) == [5]

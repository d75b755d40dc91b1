"""Whole motions on a real EVM beside a model in whole numbers: scores, records, shares, nothing left."""

from __future__ import annotations

import numpy as np
import pytest

from chain_support.oracle import MotionModel, RecordModel
from chain_support.world import DEPOSIT, STAKE, SUBJECT, MotionOnChain, World, guesses


def modelled(
    motion: MotionOnChain, ballots: dict[int, np.ndarray], silent: list[int], records: dict[str, RecordModel]
) -> MotionModel:
    people = [each.address for each in motion.world.people]
    model = MotionModel(motion.supplier.address, motion.labels, STAKE, DEPOSIT)
    model.committed = {people[place] for place in ballots}
    for place, votes in ballots.items():
        if place not in silent:
            model.ballots[people[place]] = votes.tolist()
            model.weights[people[place]] = records[people[place]].weight(motion.labels)
    return model


@pytest.mark.parametrize(("labels", "inputs", "turns"), [(2, 256, 1), (3, 40, 1), (10, 300, 2), (16, 257, 1)])
def test_a_motion_pays_by_points_and_leaves_nothing(
    world: World, labels: int, inputs: int, turns: int
) -> None:
    rng = np.random.default_rng(labels)
    records = {each.address: RecordModel() for each in world.people}
    owed = dict.fromkeys(records, 0)
    for turn in range(turns):  # the second with weights by the records of the first
        truth = rng.integers(0, labels, inputs)
        known = rng.random(inputs) < 0.8
        known[0] = True
        ballots = {place: guesses(truth, 0.3 + 0.2 * place, labels, 10 * turn + place) for place in range(4)}
        motion = world.motion(truth, labels, known=known)
        motion.play(ballots, silent=[2], upto="score")
        model = modelled(motion, ballots, [2], records)
        for who in motion.revealed:
            assert world.contract.seats(motion.number, who).weight == model.weights[who]
            model.score(who, records[who], truth.tolist(), known.tolist())
            record = world.contract.records(world.supplier.address, SUBJECT, who)
            assert (record.right, record.asked) == (records[who].right, records[who].asked)
            assert list(record.right_of) == records[who].right_of
            assert list(record.asked_of) == records[who].asked_of
            assert world.contract.seats(motion.number, who).points == model.points[who]
            weight = world.contract.weight(world.supplier.address, SUBJECT, who, labels)
            assert weight == records[who].weight(labels)
        motion.phase("claim")
        motion.claim()
        assert model.close() == {}
        for who in list(model.ballots):
            owed[who] += model.claim(who)
            assert world.contract.credit(who) == owed[who]
    assert sum(owed.values()) == world.held() == turns * (4 * STAKE + DEPOSIT)
    spent = 0
    for each in world.people[:2]:
        before = world.rpc.balance(each.address)
        receipt = world.contract.by(each).withdraw()
        fee = receipt.gas_used * receipt.gas_price
        assert world.rpc.balance(each.address) == before - fee + owed[each.address]
        assert world.contract.credit(each.address) == 0
        spent += owed[each.address]
    assert world.held() == sum(owed.values()) - spent


def test_without_truth_those_who_revealed_share_alike(world: World) -> None:
    truth = np.arange(20) % 2
    motion = world.motion(truth, 2, deposit=10)
    motion.play({place: guesses(truth, 0.8, 2, place) for place in range(4)}, silent=[3], upto="tell")
    motion.phase("claim")
    motion.claim()
    # 10 + one stake for three, one after the other: the last one gets the rest.
    pool, shares = 10 + STAKE, []
    for left in (3, 2, 1):
        shares.append(pool // left)
        pool -= pool // left
    assert [world.contract.credit(each.address) - STAKE for each in world.people[:3]] == shares
    assert world.held() == world.credits()


def test_where_nobody_has_a_point_those_who_revealed_share_alike(world: World) -> None:
    truth = np.zeros(16, dtype=np.int64)
    motion = world.motion(truth, 2)
    motion.play(dict.fromkeys(range(2), 1 - truth))  # all wrong
    assert [world.contract.credit(each.address) for each in world.people[:2]] == [STAKE + DEPOSIT // 2] * 2


def test_where_nobody_revealed_the_supplier_gets_deposit_and_stakes(world: World) -> None:
    truth = np.zeros(16, dtype=np.int64)
    motion = world.motion(truth, 2)
    motion.play(dict.fromkeys(range(3), truth), upto="commit")
    motion.phase("claim")
    world.contract.by(world.people[5]).close(motion.number)  # by anybody
    assert world.contract.credit(world.supplier.address) == DEPOSIT + 3 * STAKE == world.held()


def test_an_abstaining_code_is_asked_and_not_right(world: World) -> None:
    truth = np.array([0, 1, 2, 2])
    motion = world.motion(truth, 3)
    motion.play({0: np.array([0, -1, 2, -1])}, upto="score")
    record = world.contract.records(world.supplier.address, SUBJECT, world.people[0].address)
    assert (record.right, record.asked) == (2, 4)
    assert (record.right_of[:3], record.asked_of[:3]) == ((1, 0, 1), (1, 1, 2))


def test_funds_join_the_pool_until_commitments_end(world: World) -> None:
    truth = np.zeros(4, dtype=np.int64)
    motion = world.motion(truth, 2)
    motion.by(world.people[7]).fund(motion.number, 123)
    assert world.contract.motions(motion.number).pool == DEPOSIT + 123
    motion.play({0: truth})
    assert world.contract.credit(world.people[0].address) == DEPOSIT + 123 + STAKE


@pytest.mark.slow
def test_counters_of_a_label_are_halved_when_full_and_never_stop_a_score(world: World) -> None:
    """Three motions of 32,768 inputs with one truth: 98,304 answers to one label do not fit its 16 bits."""
    inputs = 32_768
    truth = np.zeros(inputs, dtype=np.int64)
    votes = (np.arange(inputs) % 4 == 0).astype(np.int64)  # three in four right
    record = RecordModel()
    for _ in range(3):
        world.motion(truth, 2, seats=1).play({0: votes}, upto="score")
        record.add(votes.tolist(), truth.tolist(), [True] * inputs, 2)
    found = world.contract.records(world.supplier.address, SUBJECT, world.people[0].address)
    assert (found.right, found.asked) == (73_728, 98_304)
    assert (found.right_of[0], found.asked_of[0]) == (record.right_of[0], record.asked_of[0])
    assert found.asked_of[0] < 65_536


def test_records_are_kept_by_supplier_and_subject_and_go_on(world: World) -> None:
    """Registers are numbered as they come; whose a motion is must not hang on the order."""
    truth, who = np.array([0, 1, 1, 0]), world.people[0]
    others = world.people[4:6]
    played: dict[tuple[str, str], int] = {}
    for supplier, subject in [
        (world.supplier, "a"),
        (others[0], "a"),
        (world.supplier, "b"),
        (others[1], "c"),
        (world.supplier, "a"),
        (others[0], "a"),
        (others[0], "a"),
    ]:
        motion = world.motion(truth, 2, supplier=supplier, subject=subject)
        assert world.contract.motions(motion.number).supplier == supplier.address
        motion.play({0: truth}, upto="score")
        assert world.contract.motions(motion.number).scored == 1
        played[supplier.address, subject] = played.get((supplier.address, subject), 0) + 1
    for supplier in (world.supplier, *others):
        for subject in ("a", "b", "c", "d"):
            record = world.contract.records(supplier.address, subject, who.address)
            assert record.asked == record.right == 4 * played.get((supplier.address, subject), 0)
            assert record.asked_of[:3] == (record.asked // 2, record.asked // 2, 0)


def test_a_motion_that_nobody_revealed_in_pays_its_own_supplier(world: World) -> None:
    first = world.motion(np.array([0, 1]), 2)
    second = world.motion(np.array([0, 1]), 2, supplier=world.people[3], subject="other", deposit=7)
    for motion in (second, first):
        motion.phase("claim")
        motion.by(world.people[5]).close(motion.number)
    assert world.contract.credit(world.people[3].address) == 7
    assert world.contract.credit(world.supplier.address) == DEPOSIT

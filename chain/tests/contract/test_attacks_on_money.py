"""What somebody may try in order to gain, each by name, and what it comes to: bonds, puppets, records."""

from __future__ import annotations

import numpy as np

from chain_support.world import DEPOSIT, STAKE, SUBJECT, World, refused
from folkmoot_chain.ballots import pack, plurality
from folkmoot_chain.seals import ZERO

TRUTH = np.arange(24) % 2
RIGHT, WRONG = TRUTH, 1 - TRUTH


def test_a_dust_stake_is_paid_back_and_a_lost_dust_bond_costs_all_of_it(world: World) -> None:
    motion = world.motion(TRUTH, 2, stake=1, deposit=0)
    motion.play({0: RIGHT, 1: RIGHT, 2: WRONG}, upto="tell")
    poster, disputer = world.people[4:6]
    motion.by(poster).post(motion.number, WRONG)
    motion.dispute(0, WRONG, disputer)
    assert world.contract.credit(disputer.address) == 0  # half of one wei, rounded against whom it might be
    motion.tell()
    motion.score()
    motion.phase("claim")
    motion.claim()
    got = [world.contract.credit(each.address) for each in world.people[:3]]
    assert sorted(got) == [1, 1, 2]
    assert world.held() == sum(got) == 4


def test_disputing_oneself_costs_half_of_the_bond(world: World) -> None:
    motion = world.motion(TRUTH, 2)
    motion.play({0: RIGHT}, upto="tell")
    poster, second_self = world.people[4:6]
    motion.by(poster).post(motion.number, WRONG)
    motion.dispute(0, WRONG, second_self)
    assert world.contract.credit(second_self.address) == STAKE // 2
    assert world.contract.motions(motion.number).pool == DEPOSIT + STAKE - STAKE // 2
    motion.phase("claim")
    motion.claim()
    assert world.contract.credit(poster.address) == 0
    assert world.held() == world.credits()


def test_a_right_answer_keeps_its_bond_whatever_is_shown(world: World) -> None:
    motion = world.motion(TRUTH, 2)
    motion.play({0: RIGHT, 1: RIGHT, 2: WRONG}, upto="tell")
    poster, rival = world.people[4:6]
    with refused("must be the stake"):
        motion.by(poster).send("post", motion.number, ZERO, pack(RIGHT, 2))
    motion.by(poster).post(motion.number, RIGHT)
    with refused("an answer stands"):
        motion.by(rival).post(motion.number, WRONG)
    first, second, third = list(motion.revealed)
    shown = motion.revealed
    with refused("the answer is right there"):
        motion.dispute(0, RIGHT, rival)
    with refused("not all ballots"):  # the one of the minority alone
        motion.dispute(0, RIGHT, rival, {third: WRONG})
    with refused("not what was revealed"):
        motion.dispute(0, RIGHT, rival, {**shown, first: WRONG})
    with refused("not what was revealed"):  # somebody who did not reveal, in the place of one who did
        motion.dispute(0, RIGHT, rival, {second: RIGHT, third: WRONG, rival.address: WRONG})
    with refused("not the answer that stands"):
        motion.dispute(0, WRONG, rival)
    with refused("no such word"):
        motion.dispute(1, RIGHT, rival)
    with refused("addresses must rise"):
        motion.by(rival).send("dispute", motion.number, 0, [third] * 3, pack(WRONG, 2) * 3, pack(RIGHT, 2))
    motion.phase("claim")
    motion.claim()
    assert world.contract.credit(poster.address) == STAKE
    assert world.held() == world.credits()


def test_withholding_the_truth_pays_the_supplier_nothing(world: World) -> None:
    motion = world.motion(TRUTH, 2, roster=[each.address for each in world.people[:2]])
    motion.play({0: RIGHT, 1: WRONG}, upto="tell")
    motion.phase("claim")
    motion.claim()
    assert world.contract.credit(world.supplier.address) == 0
    assert [world.contract.credit(each.address) for each in world.people[:2]] == [STAKE + DEPOSIT // 2] * 2


def test_with_open_seats_puppets_of_the_supplier_take_the_deposit_back(world: World) -> None:
    """What the docs say first: the amounts, by arithmetic."""
    truth = np.arange(250) % 10
    honest = np.where(np.arange(250) < 200, truth, (truth + 1) % 10)  # 80 in 100
    motion = world.motion(truth, 10)
    motion.play({0: honest, 1: truth, 2: truth, 3: truth})  # three puppets
    points_honest, points_puppet = 10 * 200 - 250, 10 * 250 - 250
    took = sum(world.contract.credit(world.people[place].address) for place in (1, 2, 3)) - 3 * STAKE
    exact = DEPOSIT * 3 * points_puppet / (3 * points_puppet + points_honest)
    assert abs(took - exact) < 3
    assert took > 0.79 * DEPOSIT


def test_a_reveal_missed_in_a_gas_spike_costs_the_stake_and_no_more(world: World) -> None:
    motion = world.motion(TRUTH, 2)
    motion.play({0: RIGHT, 1: RIGHT}, silent=[1], upto="reveal")
    motion.phase("tell")
    with refused("not in the reveal window"):
        motion.reveal(world.people[1], RIGHT)
    motion.revealed.pop(world.people[1].address, None)
    motion.tell()
    motion.score()
    motion.phase("claim")
    motion.claim()
    assert world.contract.credit(world.people[0].address) == DEPOSIT + 2 * STAKE
    record = world.contract.records(world.supplier.address, SUBJECT, world.people[1].address)
    assert (record.right, record.asked) == (0, 0)


def test_an_unscored_ballot_gets_its_stake_back(world: World) -> None:
    motion = world.motion(TRUTH, 2)
    motion.play({0: RIGHT, 1: RIGHT}, upto="tell")
    motion.tell()
    motion.score([world.people[0].address])
    motion.phase("claim")
    motion.claim()
    assert world.contract.credit(world.people[0].address) == DEPOSIT + STAKE
    assert world.contract.credit(world.people[1].address) == STAKE
    assert world.held() == world.credits()


def test_a_record_belongs_to_its_supplier_and_subject(world: World) -> None:
    puppet_master, puppet = world.people[5], world.people[0]
    motion = world.motion(TRUTH, 2, supplier=puppet_master)
    motion.play({0: RIGHT})
    assert world.contract.records(puppet_master.address, SUBJECT, puppet.address).right == 24
    assert world.contract.weight(puppet_master.address, SUBJECT, puppet.address, 2) > 1
    for supplier, subject in ((world.supplier.address, SUBJECT), (puppet_master.address, "other")):
        assert world.contract.records(supplier, subject, puppet.address).asked == 0
        assert world.contract.weight(supplier, subject, puppet.address, 2) == 1


def test_the_weight_is_that_of_the_reveal_whatever_is_scored_later(world: World) -> None:
    first = world.motion(TRUTH, 2)
    second = world.motion(TRUTH, 2, deadlines=[end + 5 for end in first.deadlines])
    for motion in (first, second):
        motion.commit(world.people[0], RIGHT)
        motion.commit(world.people[1], WRONG)
    first.phase("reveal")
    first.reveal(world.people[0], RIGHT)
    world.rpc.travel(second.deadlines[0])
    second.reveal(world.people[0], RIGHT)
    second.reveal(world.people[1], WRONG)
    world.rpc.travel(second.deadlines[1])
    first.tell()
    first.score()
    assert world.contract.weight(world.supplier.address, SUBJECT, world.people[0].address, 2) > 1
    assert world.contract.seats(second.number, world.people[0].address).weight == 1
    # Level at weights 1 and 1: the lowest label everywhere.
    poster = world.people[4]
    second.by(poster).post(second.number, RIGHT)
    second.dispute(0, RIGHT, world.people[5])
    lowest = plurality([RIGHT, WRONG], [1, 1], 2)
    assert (lowest == 0).all()
    with refused("the answer is right there"):
        second.dispute(0, lowest, world.people[5])

"""What somebody may try against the contract, each by name, and that it does not pay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from chain_support.evm import REENTRANT, forwarded
from chain_support.world import DEPOSIT, SALT, STAKE, SUBJECT, World, guesses, refused, salt_of
from folkmoot_chain import interface
from folkmoot_chain.ballots import pack, pack_mask
from folkmoot_chain.rpc import Receipt, RevertedError
from folkmoot_chain.seals import ZERO, roster_leaf, seal_ballot
from folkmoot_chain.wallets import keccak

TRUTH = np.arange(24) % 2
RIGHT, WRONG = TRUTH, 1 - TRUTH


def test_a_contract_that_calls_withdraw_again_while_it_is_paid_gets_its_credit_once(world: World) -> None:
    attacker, contract = world.people[0], world.contract
    thief = attacker.send(None, REENTRANT).contract
    assert thief is not None

    def through_thief(name: str, *arguments: object, value: int = 0) -> None:
        attacker.send(thief, forwarded(contract.address, interface.calldata(name, arguments)), value)

    motion = world.motion(TRUTH, 2)
    seal = seal_ballot(world.rpc.chain_id(), contract.address, motion.number, thief, SALT, pack(RIGHT, 2))
    through_thief("commit", motion.number, seal, [], value=STAKE)
    motion.commit(world.people[1], RIGHT)
    motion.phase("reveal")
    motion.reveal(world.people[1], RIGHT)
    contract.by(attacker).reveal(motion.number, RIGHT, SALT, thief)
    motion.revealed[thief] = RIGHT
    motion.phase("claim")
    motion.claim()
    owed, held = contract.credit(thief), world.held()
    assert owed == STAKE + DEPOSIT // 2 == held - owed
    through_thief("withdraw", thief)
    assert (world.rpc.balance(thief), world.held(), contract.credit(thief)) == (owed, held - owed, 0)


def test_a_copied_seal_cannot_be_opened(world: World) -> None:
    victim, thief = world.people[:2]
    motion = world.motion(TRUTH, 2)
    seal = motion.by(victim).seal(motion.number, salt_of(victim), pack(RIGHT, 2))
    for who in (victim, thief):
        motion.by(who).send("commit", motion.number, seal, [], value=STAKE)
    motion.phase("reveal")
    motion.reveal(victim, RIGHT)  # salt and ballot are public from here on
    with refused("not what was sealed"):
        motion.reveal(thief, RIGHT, salt_of(victim))


def test_a_seal_replayed_in_another_motion_cannot_be_opened(world: World) -> None:
    who = world.people[0]
    first, second = world.motion(TRUTH, 2), world.motion(TRUTH, 2)
    seal = first.by(who).seal(first.number, SALT, pack(RIGHT, 2))
    second.by(who).send("commit", second.number, seal, [], value=STAKE)
    second.phase("reveal")
    with refused("not what was sealed"):
        second.reveal(who, RIGHT, SALT)


@pytest.mark.parametrize("bound", ["chain", "contract"])
def test_a_seal_of_another_chain_or_contract_cannot_be_opened(world: World, bound: str) -> None:
    who = world.people[0]
    motion = world.motion(TRUTH, 2)
    chain = world.rpc.chain_id() + (bound == "chain")
    contract = world.people[5].address if bound == "contract" else world.contract.address
    seal = seal_ballot(chain, contract, motion.number, who.address, SALT, pack(RIGHT, 2))
    motion.by(who).send("commit", motion.number, seal, [], value=STAKE)
    motion.phase("reveal")
    with refused("not what was sealed"):
        motion.reveal(who, RIGHT, SALT)


def test_a_seal_made_up_to_look_like_a_revealed_ballot_is_only_a_seal(world: World) -> None:
    who = world.people[0]
    motion = world.motion(TRUTH, 2)
    fake = bytes.fromhex(
        f"{2**216 - 1:054x}" + f"{7:06x}" + f"{15:02x}" + "02"
    )  # 7 points, weight 15, "revealed"
    motion.by(who).send("commit", motion.number, fake, [], value=STAKE)
    seat = world.contract.seats(motion.number, who.address)
    assert (seat.state, seat.weight, seat.points) == (1, 0, 0)
    motion.phase("claim")
    with refused("nothing to claim"):
        motion.claim([who.address])


def test_a_front_run_reveal_counts_for_its_owner(world: World) -> None:
    owner, runner = world.people[:2]
    motion = world.motion(TRUTH, 2)
    motion.commit(owner, RIGHT)
    motion.phase("reveal")
    motion.reveal(owner, RIGHT, by=runner)  # salt and ballot read from the waiting transaction
    assert world.contract.seats(motion.number, owner.address).state == 2
    assert world.contract.seats(motion.number, runner.address).state == 0
    with refused("no commitment to reveal"):
        motion.reveal(owner, RIGHT)


def test_each_window_ends_at_the_exact_second(world: World) -> None:
    who = world.people[0]
    motion = world.motion(TRUTH, 2)
    commit, reveal, tell, score = motion.deadlines
    travel = world.rpc.travel
    travel(commit - 1)  # the next block is made in the last second
    motion.commit(who, RIGHT)
    travel(commit)
    with refused("not in the commit window"):
        motion.commit(world.people[1], RIGHT)
    with refused("not in the commit window"):
        motion.by(who).fund(motion.number, 1)
    travel(reveal - 1)
    motion.reveal(who, RIGHT)
    travel(reveal)
    with refused("not in the reveal window"):
        motion.reveal(who, RIGHT)
    travel(tell - 1)
    motion.tell()
    travel(tell)
    with refused("not in the tell window"):
        motion.tell()
    with refused("not in the post window"):
        motion.by(who).post(motion.number, RIGHT)
    travel(score - 1)
    motion.score()
    travel(score)
    with refused("not in the score window"):
        motion.score()
    with refused("not in the dispute window"):
        motion.dispute(0, RIGHT, who)
    motion.claim()


def test_nothing_happens_before_its_window(world: World) -> None:
    who = world.people[0]
    motion = world.motion(TRUTH, 2)
    motion.commit(who, RIGHT)
    motion.revealed[who.address] = RIGHT
    calls: list[tuple[Callable[[], Receipt], str]] = [
        (lambda: motion.reveal(who, RIGHT), "reveal window"),
        (motion.tell, "tell window"),
        (lambda: motion.by(who).post(motion.number, RIGHT), "post window"),
        (motion.score, "score window"),
        (motion.claim, "not over yet"),
        (lambda: motion.by(who).close(motion.number), "not over yet"),
    ]
    for call, reason in calls:
        with refused(reason):
            call()


def test_a_truth_told_late_or_otherwise_is_refused(world: World) -> None:
    motion = world.motion(TRUTH, 2)
    motion.play({0: RIGHT}, upto="tell")
    supplier = motion.by(world.supplier)
    known = np.ones(24, dtype=bool)
    with refused("not what was sealed"):
        supplier.tell(motion.number, WRONG, known, SALT)
    with refused("not what was sealed"):  # some inputs left out after the votes were seen
        supplier.tell(motion.number, TRUTH, known & (TRUTH == 0), SALT)
    with refused("not what was sealed"):
        supplier.tell(motion.number, TRUTH, known, b"x" * 32)
    motion.tell()
    with refused("already told"):
        motion.tell()
    with refused("not the truth that was told"):
        motion.by(world.people[0]).send(
            "score",
            motion.number,
            [world.people[0].address],
            pack(RIGHT, 2),
            pack(WRONG, 2),
            pack_mask(known),
        )


def test_a_truth_about_nothing_is_refused(world: World) -> None:
    motion = world.motion(TRUTH, 2, known=np.zeros(24, dtype=bool))
    motion.play({0: RIGHT}, upto="tell")
    with refused("no input is known"):
        motion.tell()
    beyond = [1 << 24]  # known only where there is no input
    with refused("no input is known"):
        motion.by(world.supplier).send("tell", motion.number, SALT, pack(TRUTH, 2), beyond)


def test_a_sealed_truth_copied_by_another_supplier_cannot_be_told(world: World) -> None:
    first = world.motion(TRUTH, 2)
    copied = world.contract.motions(first.number).truth
    thief = world.people[3]
    terms = [ZERO, copied, keccak(b"x"), ZERO, first.deadlines, 24, 2, 2, STAKE, ZERO]
    world.contract.by(thief).send("put", *terms)
    world.rpc.travel(first.deadlines[1])
    with refused("not what was sealed"):
        world.contract.by(thief).tell(first.number + 1, TRUTH, np.ones(24, dtype=bool), SALT)


def test_scoring_twice_counts_once(world: World) -> None:
    motion = world.motion(TRUTH, 2)
    motion.play({0: RIGHT, 1: WRONG}, upto="tell")
    motion.tell()
    first, second = list(motion.revealed)
    motion.score([first])
    with refused("all of them are scored"):
        motion.score([first])
    with refused("all of them are scored"):
        motion.score([first, first])
    motion.score()  # a batch that somebody has front-run in part still goes through
    for who in (first, second):
        assert world.contract.records(world.supplier.address, SUBJECT, who).asked == 24
    assert world.contract.motions(motion.number).points == 24


def test_a_ballot_twice_in_one_batch_counts_once(world: World) -> None:
    motion = world.motion(TRUTH, 2)
    motion.play({0: RIGHT}, upto="tell")
    motion.tell()
    (who,) = motion.revealed
    motion.score([who, who])
    assert world.contract.records(world.supplier.address, SUBJECT, who).asked == 24
    assert world.contract.motions(motion.number).points == 24


def test_a_ballot_that_was_not_revealed_is_not_scored(world: World) -> None:
    motion = world.motion(TRUTH, 2)
    motion.play({0: WRONG, 1: RIGHT}, silent=[1], upto="tell")
    motion.tell()
    motion.revealed = {world.people[0].address: RIGHT}
    with refused("not what was revealed"):
        motion.score()
    motion.revealed = {world.people[1].address: RIGHT}
    with refused("somebody did not reveal"):
        motion.score()


def test_claiming_twice_pays_once(world: World) -> None:
    motion = world.motion(TRUTH, 2)
    motion.play({0: RIGHT, 1: guesses(TRUTH, 0.8, 2, 0)}, upto="score")
    motion.phase("claim")
    first, second = list(motion.revealed)
    motion.claim([first, first])
    with refused("nothing to claim"):
        motion.claim([first])
    once = world.contract.credit(first)
    motion.claim([first, second])
    assert world.contract.credit(first) == once
    assert world.contract.credit(first) + world.contract.credit(second) == world.held()
    with refused("already closed"):
        motion.by(world.supplier).close(motion.number)


def test_sybils_that_fill_the_seats_and_never_reveal_pay_those_who_do(world: World) -> None:
    motion = world.motion(TRUTH, 2, seats=4)
    for place, who in enumerate(world.people[:4]):
        motion.commit(who, RIGHT if place == 0 else WRONG)
    with refused("all seats are taken"):
        motion.commit(world.people[4], RIGHT)
    motion.phase("reveal")
    motion.reveal(world.people[0], RIGHT)
    motion.phase("claim")
    motion.claim()
    assert world.contract.credit(world.people[0].address) == DEPOSIT + 4 * STAKE == world.held()
    with refused("nothing to claim"):
        motion.claim([world.people[1].address])


def test_a_seat_is_taken_once_and_costs_the_stake_exactly(world: World) -> None:
    motion = world.motion(TRUTH, 2)
    who = world.people[0]
    for value in (0, STAKE - 1, STAKE + 1):
        with refused("must be the stake"):
            motion.by(who).send("commit", motion.number, SALT, [], value=value)
    motion.commit(who, RIGHT)
    with refused("already committed"):
        motion.commit(who, WRONG)


def test_only_the_roster_may_commit_and_no_inner_node_passes_for_a_member(world: World) -> None:
    roster = [each.address for each in world.people[:3]]
    motion = world.motion(TRUTH, 2, roster=roster)
    outsider = world.people[4]
    for proof in ([], [roster_leaf(roster[0])], [ZERO] * 32):
        with refused("not in the roster"):
            motion.by(outsider).send("commit", motion.number, SALT, proof, value=STAKE)
    for who in world.people[:3]:
        motion.commit(who, RIGHT)


def test_coins_sent_without_a_call_are_refused(world: World) -> None:
    with pytest.raises(RevertedError):
        world.supplier.send(world.contract.address, b"", 1)
    motion = world.motion(TRUTH, 2)
    motion.play({0: RIGHT}, upto="tell")
    with pytest.raises(RevertedError):
        motion.by(world.people[0]).send(
            "tell", motion.number, SALT, pack(TRUTH, 2), pack_mask(motion.known), value=1
        )
    motion.tell()  # the same call, and nothing else

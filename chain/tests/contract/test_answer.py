"""The chain's answer: recounted on dispute, beside numpy and beside counting by hand."""

from __future__ import annotations

import numpy as np
import pytest

from chain_support.world import STAKE, MotionOnChain, World, guesses, refused
from folkmoot_chain.ballots import pack, plurality, unpack


def standing(motion: MotionOnChain) -> tuple[list[np.ndarray], list[int]]:
    seats = motion.world.contract.seats
    return list(motion.revealed.values()), [seats(motion.number, who).weight for who in motion.revealed]


def by_hand(ballots: list[np.ndarray], weights: list[int], labels: int) -> list[int]:
    answer = []
    for place in range(len(ballots[0])):
        sums = [0] * labels
        for votes, weight in zip(ballots, weights, strict=True):
            if votes[place] >= 0:
                sums[votes[place]] += weight
        answer.append(sums.index(max(sums)))
    return answer


@pytest.mark.parametrize(
    ("labels", "inputs"),
    [
        (5, 300),
        pytest.param(2, 40, marks=pytest.mark.slow),
        pytest.param(16, 256, marks=pytest.mark.slow),
    ],
)
def test_a_dispute_recounts_the_weighted_plurality(world: World, labels: int, inputs: int) -> None:
    rng = np.random.default_rng(inputs)
    truth = rng.integers(0, labels, 200)
    skills = (1.0, 0.7, 0.5, 0.3, 0.9)
    # A first motion gives them weights, a second one is answered by these.
    world.motion(truth, labels).play(
        {place: guesses(truth, skill, labels, place) for place, skill in enumerate(skills)}
    )
    votes = {place: rng.integers(-1 if labels == 5 else 0, labels, inputs) for place in range(5)}
    motion = world.motion(rng.integers(0, labels, inputs), labels)
    motion.play(votes, upto="tell")
    ballots, weights = standing(motion)
    assert len(set(weights)) >= 4
    answer = plurality(ballots, weights, labels)
    assert answer.tolist() == by_hand(ballots, weights, labels)
    assert answer.tolist() != by_hand(ballots, [1] * 5, labels)  # the weights matter here
    wrong = answer.copy()
    wrong[-1] = (wrong[-1] + 1) % labels
    poster, disputer = world.people[7:9]
    motion.by(poster).post(motion.number, wrong)
    last = (inputs - 1) // 256
    if last:
        with refused("the answer is right there"):
            motion.dispute(0, wrong, disputer)
    receipt = motion.dispute(last, wrong, disputer)
    ((name, said),) = world.contract.events(receipt.logs)
    assert (name, said["by"], said["word"]) == ("Corrected", disputer.address, last)
    planes = len(pack(answer, labels)) // (last + 1)
    assert (
        unpack(said["planes"][:planes], inputs - 256 * last, labels).tolist() == answer[256 * last :].tolist()
    )
    assert world.contract.credit(disputer.address) == STAKE // 2
    with refused("the answer is right there"):  # what stands now is what numpy says, in every word
        motion.dispute(last, answer, disputer)


def test_after_a_lost_bond_somebody_else_may_post(world: World) -> None:
    truth = np.zeros(300, dtype=np.int64)
    motion = world.motion(truth, 2)
    motion.play({0: truth}, upto="tell")
    first, second = world.people[7:9]
    motion.by(first).post(motion.number, 1 - truth)
    motion.dispute(1, 1 - truth, second)
    mixed = np.where(np.arange(300) < 256, 1, 0)
    motion.dispute(0, mixed, first)  # no bond stands: the word is corrected, and nobody is paid
    assert world.contract.credit(first.address) == 0
    motion.by(second).post(motion.number, truth)
    motion.phase("claim")
    motion.by(first).close(motion.number)
    assert world.contract.credit(second.address) == STAKE // 2 + STAKE

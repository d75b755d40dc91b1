"""One hostile member that turns the talk, or asks about labels that nobody knows: it decides nothing."""

from __future__ import annotations

import random

import numpy as np
import pytest

from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.network.service.policy import Policy
from folkmoot.network.storage.account import Account, account, outcome_of
from folkmoot.node.transports.memory import Weather
from support.network.moot_in_memory import Moot
from support.network.storms import assert_promises_hold

WEAK = {"k": 1, "alpha": 1, "rounds": 200, "pace": 0.0}  # one answer turns a participant
LAX = dict.fromkeys(range(11), Policy(least_alpha=1, least_k=1))  # whose operators let it


def accounts(hall: Moot, honest: range) -> list[Account]:
    found = []
    for place in honest:
        (stored,) = hall.storages[place].motions()
        found.append(account(hall.storages[place], stored))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_a_stubborn_answerer_turns_the_talk_and_decides_nothing(seed: int) -> None:
    hall = Moot(np.zeros((7, 3), dtype=np.int8), seed, adversaries={6: PerfectlyMalicious()}, policies=LAX)
    hall.put(6, **WEAK)
    hall.network.run(60.0)
    told = accounts(hall, range(6))
    turned = [i for i in range(3) if all(each.agreement[i] == 1.0 for each in told)]
    assert turned  # every close holds the liar's label there
    for each in told:
        assert "b" not in each.decisions
        assert each.evidence == {}
    whys = {each.why_undecided[i] for each in told for i in turned}
    assert "only 1 of 7 voted so at first, and 2 must" in whys


def test_a_label_that_only_the_asker_knows_is_not_decided() -> None:
    votes = np.full((7, 3), -1, dtype=np.int8)
    votes[6] = 1
    hall = Moot(votes, 0, policies=LAX)
    hall.put(6, labels=("unheard of", "mine"), **WEAK)
    hall.network.run(60.0)
    for each in accounts(hall, range(6)):
        assert each.agreement == [1.0] * 3  # all have signed what the asker says
        assert each.decisions == [None] * 3
        assert each.why_undecided == ["only 1 of 7 voted so at first, and 2 must"] * 3
        assert each.least_voters == 2


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_few_participants_bear_no_liar_so_one_vote_is_enough(n: int) -> None:
    votes = np.full((n, 2), -1, dtype=np.int8)
    votes[0, 0] = 1
    hall = Moot(votes, n, policies=LAX)
    hall.put(0, **WEAK)
    hall.network.run(60.0)
    for each in accounts(hall, range(n)):
        assert each.decisions == ["b", None]
        assert each.first_votes == [{"b": 1}, {}]
        assert each.least_voters == 1


def test_a_motion_that_asks_for_more_first_votes() -> None:
    """Three of seven have a model for it, and the others adopt what these say."""
    votes = np.full((7, 2), -1, dtype=np.int8)
    votes[:3] = 1
    for wanted, decisions in ((0, ["b", "b"]), (3, ["b", "b"]), (4, [None, None])):
        hall = Moot(votes, 0)
        hall.put(0, k=3, alpha=2, rounds=60, least_voters=wanted)
        hall.network.run(60.0)
        assert [each.decisions for each in accounts(hall, range(7))] == [decisions] * 7


@pytest.mark.parametrize("seed", range(24))
def test_in_storms_only_a_label_of_an_honest_first_vote_is_decided(seed: int) -> None:
    """Weak talks, liars, losses and crashes; all honest participants vote alike or not at all."""
    rng = random.Random(f"validity {seed}")
    n = rng.choice([6, 7, 11])
    liars = rng.sample(range(n), 1 if n < 11 else 2)
    votes = np.zeros((n, 4), dtype=np.int8)
    silent = [place for place in range(n) if place not in liars and rng.random() < 0.4]
    votes[silent, 1:] = -1
    votes[:, 3] = np.where(np.isin(np.arange(n), liars), 0, -1)
    hall = Moot(
        votes, seed, adversaries={place: PerfectlyMalicious() for place in liars}, policies=LAX,
        weather=Weather(delay=rng.choice([0.0, 0.02]), drop=rng.choice([0.0, 0.1])),
    )  # fmt: skip
    hall.put(rng.choice(liars), seconds=8.0, **WEAK | {"rounds": 60})
    for place in rng.sample(range(n), rng.randint(0, 1)):
        hall.at(rng.uniform(0, 8), lambda p=place: hall.crash(p))  # type: ignore[misc]
    hall.network.run(30.0)
    assert_promises_hold(hall)
    for place in set(range(n)) - set(liars):
        for stored in hall.storages[place].motions():
            decisions = outcome_of(hall.storages[place], stored).decisions.tolist()
            assert 1 not in decisions
            assert decisions[3] == -1

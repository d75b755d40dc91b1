"""Every adversary keeps to what it declares, and answers as its file says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from folkmoot.adversaries.behaviours import Sleeper
from folkmoot.adversaries.interface import Adversary, Knows, Sees, handed_in, tabulated, wrong
from folkmoot.adversaries.naming import ATTACKS, BALLOT_ATTACKS

# attack: answer to (seen, vote, truth) with three colours
ANSWERS: dict[str, Callable[[int, int, int], int]] = {
    "malicious": lambda _seen, _vote, truth: (truth + 1) % 3,
    "constant": lambda _seen, _vote, _truth: 0,
    "random": lambda seen, _vote, _truth: seen,
    "silent": lambda _seen, _vote, _truth: -1,
    "faulty": lambda _seen, _vote, _truth: -1,
    "stalling": lambda seen, _vote, _truth: seen,
    "equivocating": lambda seen, _vote, _truth: seen % 3,
    "copycat": lambda seen, _vote, _truth: seen,
    "sleeper": lambda _seen, _vote, truth: (truth + 1) % 3,
    "misstating": lambda seen, _vote, _truth: seen,
}
KINDS = ATTACKS | BALLOT_ATTACKS


@pytest.mark.parametrize("name", KINDS)
def test_answers(name: str) -> None:
    adversary = KINDS[name]()
    for seen in range(6 if adversary.sees is Sees.ASKER else 3):
        for vote in range(3):
            for truth in range(3):
                said = adversary.answer(seen, vote=vote, truth=truth, classes=3)
                assert said == ANSWERS[name](seen, vote, truth)
                assert -1 <= said < 3


@pytest.mark.parametrize("name", KINDS)
def test_nobody_uses_what_it_does_not_declare(name: str) -> None:
    adversary = KINDS[name]()

    def table(vote: int, truth: int) -> list[int]:
        return [adversary.answer(seen, vote=vote, truth=truth, classes=3) for seen in range(3)]

    if Knows.TRUTH not in adversary.knows:
        assert table(0, 1) == table(0, 2)
    if Knows.OWN_VOTE not in adversary.knows:
        assert table(0, 1) == table(2, 1)
    if adversary.sees is Sees.NOTHING:
        assert len(set(table(0, 1))) == 1
    watches = adversary.sees in (Sees.RUNNER_UP, Sees.TARGET)
    assert (Knows.POPULATION in adversary.knows) == watches


def test_a_liar_is_always_wrong() -> None:
    for colours in (2, 3, 10):
        for truth in range(colours):
            assert wrong(truth, colours) != truth
            assert 0 <= wrong(truth, colours) < colours


def test_a_sleeper_lies_on_its_share_and_repeats_its_target_elsewhere() -> None:
    sleeper = Sleeper(target=2)
    struck = sleeper.lies_on(100)
    assert struck.sum() == 19
    assert (Sleeper(target=1).lies_on(100) == struck).all()  # they lie together
    assert (Sleeper(seed=1).lies_on(100) != struck).any()
    votes, truth = np.tile(np.arange(100) % 3, (3, 1)), np.arange(100) % 3
    assert (handed_in(votes, {0: sleeper}, truth, 3) == votes).all()
    table = tabulated({0: sleeper}, votes, truth, 3, np.array([1, 2, 0])).answers[0]
    for seen in range(-1, 3):
        assert (table[struck, seen + 1] == (truth[struck] + 1) % 3).all()
        assert (table[~struck, seen + 1] == seen).all()
    assert sleeper.renumbered({2: 7}).follows == 7
    for wrong_one in (Sleeper(share=1.5), Sleeper(seed=-1)):
        with pytest.raises(ValueError, match="must satisfy"):
            wrong_one.lies_on(10)


def test_first_votes_handed_in_to_a_centre() -> None:
    votes = np.array([[0, 1, 2], [1, 1, -1], [2, 0, 1], [0, 0, 0], [1, 2, 0]])
    truth = [2, 0, 1]
    adversaries: dict[int, Adversary] = {
        0: ATTACKS["malicious"](),
        1: ATTACKS["silent"](),
        2: ATTACKS["faulty"](),
        4: ATTACKS["stalling"](),
    }
    seen = handed_in(votes, adversaries, truth, 3)
    assert seen.tolist() == [[0, 1, 2], [1, 1, -1], [0, 1, 2], [0, 0, 0], [1, 2, 0]]
    assert votes[2].tolist() == [2, 0, 1]  # the caller's table is untouched

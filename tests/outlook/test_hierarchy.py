"""Hierarchies played: verdicts of teams, delegates that lie, what is counted, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from folkmoot import Others, Slush, Snowball, deliberate, plot_convergence
from folkmoot.adversaries import ConstantClass, PerfectlyMalicious, Silent
from folkmoot.adversaries.behaviours import Copycat
from folkmoot.adversaries.interface import Adversary
from folkmoot.outlook import FBA, Hierarchy, Leaders, QuorumSet
from folkmoot.outlook.leaders import leader_order, simulated_salts
from folkmoot.outlook.rounds import seed_of
from folkmoot.votes import Votes

TEAMS = [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
TWO = Slush(2, 2)


def votes_of(*teams: tuple[int, int, int]) -> Votes:
    return np.array([[vote] for team in teams for vote in team])


@pytest.mark.parametrize("inner", [TWO, Snowball(2, 2, 3), Leaders(2, 2), Slush(10, 6)], ids=repr)
def test_two_of_three_teams_decide(inner: Any) -> None:
    # Teams that agree keep what they hold, whatever is drawn; two of three delegates turn the third.
    outcome = deliberate(votes_of((1, 1, 1), (0, 0, 0), (1, 1, 1)), Hierarchy(TEAMS, inner, TWO), rounds=500)
    assert outcome.decision.tolist() == [1]
    assert outcome.agreement.tolist() == [1.0]
    assert outcome.converged.all()


def test_an_undecided_team_sends_no_vote_and_is_told() -> None:
    # The first team is stuck at 2 to 2; the second decides alone, and the first holds that in the end.
    votes = np.array([[1], [1], [0], [0], [2], [2], [2]])
    outcome = deliberate(votes, Hierarchy([[0, 1, 2, 3], [4, 5, 6]], Slush(3, 3), TWO))
    assert outcome.decisions[:, 0].tolist() == [2] * 7
    alone = deliberate(votes, Hierarchy([[0, 1, 2, 3], [4], [5], [6]], Slush(3, 3), Slush(2, 2)), rounds=200)
    assert alone.decision.tolist() == [2]
    nobody = deliberate([[1], [0]], Hierarchy([[0, 1]], Slush(1, 1), TWO), rounds=0)
    assert nobody.decision.tolist() == [-1]


def test_shared_batches_and_absent_participants() -> None:
    votes = np.array([[1, 0], [1, -1], [1, 0], [0, 0], [-1, 0], [0, 0], [1, -1], [1, -1], [1, -1]])
    rule = Hierarchy(TEAMS, TWO, TWO)
    assert deliberate(votes, rule, missing="absent", rounds=300).decision.tolist() == [1, 0]
    assert deliberate(votes, rule, batch="shared", rounds=300).decision.tolist() == [1, 0]


class TestLyingDelegates:
    LIARS: dict[int, Adversary] = {0: ConstantClass(0), 3: ConstantClass(0)}  # noqa: RUF012
    VOTES = np.ones((9, 1), dtype=int)

    def lying(self, seed: int) -> set[int]:
        """The teams for which a liar speaks, from the salts."""
        first = [leader_order(simulated_salts(seed_of(seed, 2, at), 0, 3))[0] for at in range(3)]
        return {at for at in range(3) if TEAMS[at][first[at]] in self.LIARS}

    def test_a_lie_counts_once_among_the_delegates_and_in_its_team(self) -> None:
        seen = set()
        for seed in range(40):
            outcome = deliberate(
                self.VOTES, Hierarchy(TEAMS, TWO, TWO), adversaries=self.LIARS, seed=seed, rounds=300
            )
            lying = self.lying(seed)
            seen.add(len(lying))
            # Two lying delegates of three turn the honest one; one tells its own team its lie, no more.
            expected = [0 if at in lying or len(lying) == 2 else 1 for at in range(3) for _ in range(3)]
            honest = [i for i in range(9) if i not in self.LIARS]
            assert outcome.decisions[honest, 0].tolist() == [expected[i] for i in honest]
            assert outcome.decisions[[0, 3], 0].tolist() == [-1, -1]
        assert seen == {0, 1, 2}

    def test_honest_delegates_carry_the_verdict(self) -> None:
        for seed in range(10):
            rule = Hierarchy(TEAMS, TWO, TWO, delegates="honest")
            outcome = deliberate(self.VOTES, rule, adversaries=self.LIARS, seed=seed, rounds=300)
            assert outcome.decision.tolist() == [1]

    def test_each_repetition_draws_delegates_of_its_own(self) -> None:
        outcome = deliberate(
            self.VOTES, Hierarchy(TEAMS, TWO, TWO), adversaries=self.LIARS, repeats=60, rounds=300
        )
        wrong = (outcome.decision[:, 0] == 0).mean()
        assert 0 < wrong < 0.4  # both liars speak in one of nine

    def test_a_team_of_liars_has_no_verdict(self) -> None:
        liars: dict[int, Adversary] = dict.fromkeys([0, 1, 2], PerfectlyMalicious())
        rule = Hierarchy(TEAMS, TWO, TWO, delegates="honest")
        outcome = deliberate(self.VOTES, rule, adversaries=liars, truth=[1])
        assert outcome.decision.tolist() == [1]
        drawn = deliberate(self.VOTES, Hierarchy(TEAMS, TWO, TWO), adversaries=liars, truth=[1], rounds=300)
        assert drawn.decision.tolist() == [1]

    def test_one_that_follows_follows_inside_its_team(self) -> None:
        rule = Hierarchy(TEAMS, TWO, TWO)
        assert deliberate(self.VOTES, rule, adversaries={0: Copycat(1)}).decision.tolist() == [1]
        with pytest.raises(ValueError, match="Copycat follows participant 4, not of its team 'team 0'"):
            deliberate(self.VOTES, rule, adversaries={0: Copycat(4)})


def test_messages_are_counted() -> None:
    # All agree from the start, so that nobody asks: what is left is what delegates tell their teams.
    rule = Hierarchy(TEAMS, TWO, TWO)
    ones = np.ones((9, 4), dtype=int)
    assert int(deliberate(ones, rule).queries) == 6 * 4
    assert int(deliberate(ones, rule, batch="shared").queries) == 6
    # Snowflakes ask although all agree: beta queries of k each, at both levels, all at once in lockstep.
    ball = Hierarchy(TEAMS, Snowball(2, 2, 3), Snowball(2, 2, 5))
    asked = deliberate(ones, ball, schedule="lockstep", batch="shared")
    assert int(asked.queries) == 9 * 2 * 3 + 3 * 2 * 5 + 6
    assert (asked.rounds == 8).all()


def test_any_protocol_at_each_level() -> None:
    pair = QuorumSet(2, ["north", "south"])
    rule = Hierarchy({"north": [0, 1], "south": [2, 3]}, Slush(1, 1), FBA({"north": pair, "south": pair}))
    assert deliberate([[1], [1], [1], [1]], rule).decision.tolist() == [1]
    own = Hierarchy({"a": [0, 1, 2], "b": [3]}, {"a": Leaders(2, 2), "b": TWO}, Slush(1, 1))
    assert deliberate([[1], [1], [1], [1]], own).decision.tolist() == [1]


def test_a_record_counts_holders_until_they_are_told() -> None:
    votes = np.array([[1, 0], [1, 0], [0, 0], [0, 1], [0, 1], [0, 1], [1, 1]])
    rule = Hierarchy([[0, 1, 2], [3, 4, 5], [6]], TWO, TWO)
    outcome = deliberate(votes, rule, record=True, rounds=40, seed=3)
    assert outcome.history is not None
    for i in range(2):
        history, last = outcome.history[i], int(outcome.rounds[i])
        assert history[0].tolist() == [int((votes[:, i] == c).sum()) for c in range(2)]
        assert (history.sum(axis=1) == 7).all()
        # Before the end each team holds its verdict: those of the first input are 1, 0 and 1.
        assert history[last - 1].tolist() == [[3, 4], [3, 4]][i]
        assert (history[last:] == outcome.counts[i]).all()
    assert outcome.decision.tolist() == [1, 1]
    both = deliberate(votes, rule, record=True, rounds=40, repeats=2)
    assert both.history is not None
    assert both.history.shape == (2, 2, 81, 2)
    plot_convergence(outcome)


def test_thresholds_by_participant_go_with_them() -> None:
    """All ask all. 1 and 4 are turned by three of four answers; 5 and 9 then by four, as the others would."""
    alpha = [4, 3, 4, 4, 3, 4, 4, 4, 4, 4]
    teams = [[0, 2, 1, 3, 5], [4, 6, 7, 8, 9]]
    votes = np.array([[0], [1], [0], [0], [1], [1], [0], [0], [0], [1]])  # 0, 0, 1, 0, 1 and 1, 0, 0, 0, 1
    own, strict = (
        deliberate(votes, Hierarchy(teams, Slush(4, each), Slush(1, 1)), rounds=100, record=True)
        for each in (alpha, 4)
    )
    assert own.decision.tolist() == strict.decision.tolist() == [0]
    assert (own.converged.tolist(), strict.converged.tolist()) == ([True], [False])
    assert strict.history is not None
    assert strict.history[0, 99].tolist() == [6, 4]  # nobody is turned before the delegates have talked


def test_the_same_seed_the_same_bits_and_keys_not_places() -> None:
    generator = np.random.default_rng(1)
    votes = generator.integers(2, size=(9, 50))
    rule = Hierarchy(TEAMS, TWO, TWO)
    keys = generator.permutation(50)
    whole = deliberate(votes, rule, seed=4, keys=keys)
    part = deliberate(votes[:, 20:], rule, seed=4, keys=keys[20:])
    assert (whole.decisions[:, 20:] == part.decisions).all()
    assert (whole.rounds != deliberate(votes, rule, seed=5, keys=keys).rounds).any()


ANY: Any = None
REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: Hierarchy([], TWO, TWO), "at least one team"),
    (lambda: Hierarchy([[]], TWO, TWO), "team 'team 0' must have at least one member"),
    (lambda: Hierarchy([[0, 1], [1]], TWO, TWO), "1 is in 'team 0' and in 'team 1'"),
    (lambda: Hierarchy("ab", TWO, TWO), "teams must be lists of participants, or lists by name: got 'ab'"),
    (lambda: Hierarchy(["ab"], TWO, TWO), "team 'team 0' must be a list of participants: got 'ab'"),
    (lambda: Hierarchy([[ANY]], TWO, TWO), "must name participants by number or name: got None"),
    (lambda: Hierarchy([[0]], ANY, TWO), r"inner must be a protocol such as Slush\(k, alpha\): got None"),
    (lambda: Hierarchy([[0]], TWO, ANY), "outer must be a protocol"),
    (lambda: Hierarchy([[0]], {}, TWO), "there is none for 'team 0'"),
    (lambda: Hierarchy([[0]], {"team 0": TWO, "x": TWO}, TWO), r"must name teams \(team 0\): got 'x'"),
    (lambda: Hierarchy([[0]], TWO, TWO, delegates=ANY), "must be 'drawn' or 'honest': got None"),
    (lambda: deliberate([[0], [1]], Hierarchy([[0]], TWO, TWO)), "participant 1 is in none"),
    (lambda: deliberate([[0]], Hierarchy([[0, 3]], TWO, TWO)), r"participants 0\.\.0: got 3"),
    (lambda: deliberate([[0]], Hierarchy([["a"]], TWO, TWO)), "give numbers, or protocol.named"),
    (lambda: Hierarchy([["a", "c"]], TWO, TWO).named(["a", "b"]), "names 'c', who is no participant: a, b"),
    (lambda: Hierarchy([["a"]], TWO, TWO).named(["a", "b"]), "in one team: 'b' is in none"),
    (lambda: deliberate([[0]], Hierarchy([[0]], TWO, TWO), sampling=Others()), "Hierarchy takes no sampling"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_refused(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_silent_delegates_leave_their_team_without_an_answer() -> None:
    rule = Hierarchy([[0], [1], [2]], TWO, TWO)
    outcome = deliberate([[1], [1], [1]], rule, adversaries={2: Silent()}, rounds=300)
    assert outcome.decisions[:, 0].tolist() == [1, 1, -1]


def test_members_and_teams_of_teams_by_name() -> None:
    outer = Hierarchy({"one": ["a", "b"], "two": ["c"]}, Slush(1, 1), Slush(1, 1))
    teams = {"a": ["w0", "w1", "w2"], "b": ["w3", "w4", "w5"], "c": ["w6", "w7", "w8"]}
    rule = Hierarchy(teams, TWO, outer).named([f"w{i}" for i in range(9)])
    assert rule.members == ((0, 1, 2), (3, 4, 5), (6, 7, 8))
    assert deliberate(np.ones((9, 2), dtype=int), rule).decision.tolist() == [1, 1]

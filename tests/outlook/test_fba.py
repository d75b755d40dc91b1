"""FBA by ``deliberate``: held to nodes that each hear for themselves, and to what quorum sets promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from folkmoot import deliberate, play
from folkmoot.adversaries import ConstantClass, PerfectlyMalicious, Silent
from folkmoot.adversaries.behaviours import Copycat, Equivocating, Misstating, RandomClass
from folkmoot.adversaries.interface import Adversary
from folkmoot.adversaries.naming import ATTACKS, BALLOT_ATTACKS
from folkmoot.outlook import FBA, QuorumSet
from folkmoot.outlook.analysis import analyse
from folkmoot.outlook.ballots import StatedBallots, patience
from folkmoot.outlook.evidence import ListeningNode, ReceivedStatements
from folkmoot.outlook.fba import turn
from folkmoot.outlook.system import QuorumSystem
from folkmoot.protocols.sampling import Everyone

NAMES = ("ada", "bo", "cy", "di", "ed", "flo", "gus")


def alike(n: int, threshold: int, **options: Any) -> FBA:
    names = [str(i) for i in range(n)]
    return FBA(dict.fromkeys(names, QuorumSet(threshold, names)), **options)


def drawn(rng: np.random.Generator, n: int) -> dict[str, QuorumSet | None]:
    """Quorum sets drawn at random, some nested, that have a quorum."""
    names = NAMES[:n]
    while True:
        sets: dict[str, QuorumSet | None] = {}
        for name in names:
            size = int(rng.integers(max(2, n - 2), n + 1))
            members = [str(each) for each in rng.choice(names, size, replace=False)]
            inner = [QuorumSet(int(rng.integers(1, 3)), members[:2])] if rng.random() < 0.3 else []
            left = members[2:] if inner else members
            parts = len(left) + len(inner)
            sets[name] = QuorumSet(int(rng.integers(parts // 2 + 1, parts + 1)), left, inner)
        if QuorumSystem(sets).greatest_quorum():
            return sets


def each_for_itself(
    votes: np.ndarray[Any, Any], sets: dict[str, QuorumSet | None], classes: int, rounds: int
) -> np.ndarray[Any, Any]:
    """The same talk by nodes that hear copies, keep clocks of their own, and go on until the last round."""
    names, inputs = list(sets), votes.shape[1]
    listening, first = ListeningNode(names, list(sets.values())), votes.astype(np.int8)
    heard = StatedBallots.none(9, len(names), inputs)
    nodes = [StatedBallots.none(9, 1, inputs) for _ in names]
    waited = np.zeros(votes.shape, dtype=np.int64)
    for now in range(rounds):
        before = heard.counter.copy()
        for i, node in enumerate(nodes):
            at = before[[i]]
            due = (waited[[i]] >= patience(at)) & (at > 0) if now else np.ones((1, inputs), dtype=np.bool_)
            told = StatedBallots(
                heard.statements.copy(), before.copy(), heard.wanted.copy(), heard.decided.copy()
            )
            there = np.ones((1, inputs), dtype=np.bool_)
            known = ReceivedStatements(
                listening, np.array([i]), there, first.copy(), told, np.zeros(len(names), np.bool_)
            )
            turn(node, known, due, listening.named[[i]].astype(float), first[[i]], classes)
        for i, node in enumerate(nodes):
            heard.statements[:, :, i] = node.statements[:, :, 0]
            heard.counter[i], heard.wanted[i] = node.counter[0], node.wanted[0]
        waited = np.where(heard.counter != before, 1, waited + 1)
    return np.concatenate([node.decided for node in nodes])


@pytest.mark.parametrize("seed", range(3))
def test_it_decides_what_nodes_that_hear_for_themselves_decide(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(4, 8)), int(rng.integers(2, 4))
    sets = drawn(rng, n)
    votes = rng.integers(0, classes, (n, 30))
    outcome = deliberate(votes, FBA(sets), classes=classes, rounds=20)
    assert (outcome.decisions >= 0).mean() > 0.2
    np.testing.assert_array_equal(outcome.decisions, each_for_itself(votes, sets, classes, 20))


@pytest.mark.parametrize("delay", [1, 3])
def test_where_all_have_voted_it_makes_no_difference_what_those_without_a_vote_do(delay: int) -> None:
    """Also with liars: in 0.2 these were silent where others could be absent."""
    rng = np.random.default_rng(delay)
    votes = rng.integers(0, 2, (7, 30))
    liars: dict[int, Adversary] = {2: ConstantClass(1), 5: Equivocating()}
    absent, there = (
        deliberate(votes, alike(7, 5, delay=delay), adversaries=liars, missing=missing, rounds=30)
        for missing in ("absent", "present")
    )
    np.testing.assert_array_equal(absent.decisions, there.decisions)
    silent = dict.fromkeys(liars, Silent())
    quiet = deliberate(votes, alike(7, 5, delay=delay), adversaries=silent, rounds=30)
    assert (absent.decisions != quiet.decisions).any()


@pytest.mark.parametrize("attack", sorted(ATTACKS | BALLOT_ATTACKS))
@pytest.mark.parametrize("delay", [1, 3])
def test_intact_participants_never_decide_differently(attack: str, delay: int) -> None:
    rng = np.random.default_rng([len(attack), delay])
    tried = decided = 0
    while tried < (6 if delay == 1 else 2):
        n = int(rng.integers(4, 8))
        sets = drawn(rng, n)
        liar = int(rng.integers(n))
        intact = QuorumSystem(sets).intact([NAMES[liar]])
        if len(intact) < 2:
            continue
        tried += 1
        votes, truth = rng.integers(0, 2, (n, 8)), rng.integers(0, 2, 8)
        liars: dict[int, Adversary] = {liar: (ATTACKS | BALLOT_ATTACKS)[attack].against((liar + 1) % n)}
        outcome = deliberate(
            votes, FBA(sets, delay=delay), adversaries=liars, truth=truth, seed=tried, rounds=25
        )
        rows = [NAMES.index(name) for name in intact]
        held = outcome.decisions[rows]
        assert not ((held == 0).any(axis=0) & (held == 1).any(axis=0)).any()
        decided += int((held >= 0).sum())
    assert decided > 0


def test_where_quorums_share_nobody_they_split_and_the_check_had_said_so() -> None:
    left, right = QuorumSet(2, ["a", "b"]), QuorumSet(2, ["c", "d"])
    sets: dict[str, QuorumSet | None] = {"a": left, "b": left, "c": right, "d": right}
    assert analyse(QuorumSystem(sets)).quorum_intersection is False
    outcome = deliberate([[0], [0], [1], [1]], FBA(sets))
    assert outcome.decisions.ravel().tolist() == [0, 0, 1, 1]
    assert outcome.decision == [-1]


def test_a_two_faced_liar_splits_where_two_of_three_are_enough_and_the_check_had_named_it() -> None:
    sets = dict.fromkeys("abc", QuorumSet(2, ["a", "b", "c"]))
    assert analyse(QuorumSystem(sets)).splitting_sets
    outcome = deliberate([[0], [1], [0]], FBA(sets), adversaries={2: Equivocating()})
    assert outcome.decisions[:2].ravel().tolist() == [0, 1]


def test_five_rounds_and_a_message_for_every_step() -> None:
    """First votes, prepare, prepared, commit, committed: each of four tells three others."""
    outcome = deliberate(np.ones((4, 9), dtype=int), alike(4, 3))
    assert outcome.rounds.tolist() == [5] * 9
    assert outcome.queries == 5 * 4 * 3
    assert outcome.converged.all()
    assert (outcome.decisions == 1).all()


def test_a_label_without_a_blocking_set_is_never_decided() -> None:
    """Three labels of four, so that no two agree but on the last input: nobody supports anything."""
    outcome = deliberate([[0, 0], [1, 0], [2, 1], [3, 2]], alike(4, 3), classes=4)
    assert outcome.decision.tolist() == [-1, 0]
    assert outcome.converged.tolist() == [False, True]


def test_a_liar_alone_brings_in_no_label() -> None:
    """All honest voted 0; what the liar says of 1 is no reason for anybody."""
    for liar in (ConstantClass(1), Equivocating(), PerfectlyMalicious()):
        outcome = deliberate(
            np.zeros((4, 5), dtype=int), alike(4, 3), adversaries={1: liar}, truth=[0] * 5, classes=2
        )
        assert (outcome.decisions[[0, 2, 3]] == 0).all()
        assert (outcome.decisions[1] == -1).all()


def test_a_tie_is_broken_by_the_first_node_of_the_second_counter() -> None:
    """Two against two, each label with a set that blocks: everybody's own vote, then that of the first."""
    outcome = deliberate([[0, 1], [0, 1], [1, 0], [1, 0]], alike(4, 3))
    assert outcome.decision.tolist() == [0, 1]
    assert (outcome.rounds == 5 + int(patience(np.array(1)))).all()


def test_weights_say_what_is_preferred() -> None:
    votes = [[0], [0], [0], [1], [1]]  # both labels block sets of 4 of 5
    assert deliberate(votes, alike(5, 4)).decision == [0]
    assert deliberate(votes, alike(5, 4, weights=[1, 1, 1, 5, 5])).decision == [1]


def test_who_did_not_vote_may_be_absent_and_no_threshold_is_lowered_for_it() -> None:
    votes = [[1, 1], [1, 1], [1, -1], [-1, -1]]
    here = deliberate(votes, alike(4, 3), missing="present")
    assert here.decision.tolist() == [1, 1]
    away = deliberate(votes, alike(4, 3))
    assert away.decision.tolist() == [1, -1]
    assert away.present is not None
    assert away.decisions[3].tolist() == [-1, -1]


def test_repetitions_are_the_same_in_lockstep_and_drawn_in_storms() -> None:
    rng = np.random.default_rng(3)
    votes = rng.integers(0, 2, (7, 12))
    calm = deliberate(votes, alike(7, 5), repeats=3)
    assert calm.decisions.shape == (3, 7, 12)
    assert (calm.decisions == calm.decisions[0]).all()
    storm = deliberate(votes, alike(7, 5, delay=4), repeats=3, seed=1)
    again = deliberate(votes, alike(7, 5, delay=4), repeats=3, seed=1)
    np.testing.assert_array_equal(storm.decisions, again.decisions)
    assert len({tuple(each) for each in storm.rounds.tolist()}) > 1
    assert storm.rounds.min() >= calm.rounds.min()


@pytest.mark.parametrize("liar", [RandomClass(), Misstating()])
def test_with_keys_an_input_has_the_same_outcome_in_any_batch(liar: Adversary) -> None:
    votes = np.random.default_rng(8).integers(0, 3, (7, 40))
    some = np.array([31, 4, 17, 8, 39, 0])
    for delay in (1, 3):
        how: dict[str, Any] = {"adversaries": {2: liar, 5: liar}, "rounds": 30, "seed": 3, "classes": 3}
        whole = deliberate(votes, alike(7, 5, delay=delay), keys=np.arange(40) + 100, **how)
        part = deliberate(votes[:, some], alike(7, 5, delay=delay), keys=some + 100, **how)
        np.testing.assert_array_equal(part.decisions, whole.decisions[:, some])
        np.testing.assert_array_equal(part.rounds, whole.rounds[some])
        other = deliberate(votes, alike(7, 5, delay=delay), keys=np.arange(40) + 200, **how)
        assert (other.rounds != whole.rounds).any()


def test_what_says_how_queries_are_drawn_changes_nothing() -> None:
    votes = np.random.default_rng(8).integers(0, 2, (7, 20))
    plain = deliberate(votes, alike(7, 5))
    same = deliberate(votes, alike(7, 5), schedule="lockstep", batch="shared", threads=3, permute=False)
    np.testing.assert_array_equal(plain.decisions, same.decisions)
    assert plain.queries == same.queries


def test_a_record_has_a_history_and_no_turns() -> None:
    outcome = deliberate([[0, 1], [0, 1], [1, 1], [1, 1]], alike(4, 3), record=True, rounds=12)
    assert outcome.history is not None
    assert outcome.history.shape == (2, 13, 2)
    assert outcome.history[:, 0].tolist() == [[2, 2], [0, 4]]
    assert outcome.history[:, -1].tolist() == [[4, 0], [0, 4]]
    with pytest.raises(ValueError, match="in which participants take turns"):
        outcome.turns(0)
    with pytest.raises(ValueError, match="in which participants take turns"):
        play(outcome)


def test_a_copycat_repeats_what_it_follows() -> None:
    votes = [[0], [0], [0], [1]]
    outcome = deliberate(votes, alike(4, 4), adversaries={3: Copycat(target=0)})
    assert (outcome.decisions[:3] == 0).all()
    assert (deliberate(votes, alike(4, 4), adversaries={3: Silent()}).decisions == -1).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampling": Everyone()}, "FBA takes no sampling"),
        ({"device": "cuda"}, "FBA takes no device"),
        ({"adversaries": {9: Silent()}}, "participants 0..3"),
        ({"adversaries": {1: PerfectlyMalicious()}}, "must know the truth"),
        ({"rounds": -1}, "rounds"),
        ({"repeats": 0}, "repeats"),
        ({"missing": "away"}, "missing must be 'present' or 'absent'"),
        ({"seed": -1}, "seed"),
        ({"schedule": "all"}, "schedule must be 'one' or 'lockstep'"),
        ({"batch": "some"}, "batch must be 'independent' or 'shared'"),
        ({"keys": [1]}, r"keys must hold one number per input \(2\)"),
        ({"keys": [1, -1]}, "0 <= key"),
    ],
)
def test_what_cannot_be_combined_is_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        deliberate(np.zeros((4, 2), dtype=int), alike(4, 3), **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: alike(5, 3), "one per participant \\(4\\): got 5"),
        (lambda: FBA({"a": QuorumSet(1, ["x"])}), "names 'x', who takes no part"),
        (lambda: FBA({"a": None, "b": None}), "no quorum at all"),
        (lambda: FBA({"a": QuorumSet(1, ["b"]), "b": None}), "no quorum at all"),
        (lambda: alike(4, 3, delay=0), "delay must satisfy delay >= 1"),
        (lambda: alike(4, 3, delay=101), "delay <= 100"),
        (lambda: alike(4, 3, weights=[1, 2]), "one weight per participant \\(4\\): got 2"),
        (lambda: alike(4, 3, weights=[1, 2, 3, -1]), "finite and >= 0"),
        (lambda: FBA([QuorumSet(1, ["a"])]), "map names"),  # type: ignore[arg-type]
        (lambda: FBA({"a": 3}), "QuorumSet or None"),  # type: ignore[dict-item]
    ],
)
def test_quorum_sets_that_do_not_fit_are_refused_in_one_line(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        deliberate(np.zeros((4, 2), dtype=int), make())
    assert "\n" not in str(caught.value)


def test_sets_are_put_into_the_order_of_names() -> None:
    sets = {"b": QuorumSet(1, ["b"]), "a": QuorumSet(2, ["a", "b"])}
    protocol = FBA(sets, weights=[2, 1]).named(["a", "b"])
    assert protocol.names == ("a", "b")
    assert protocol.weights == (0.5, 1.0)
    with pytest.raises(ValueError, match="no set for participant 'c'"):
        protocol.named(["a", "b", "c"])
    with pytest.raises(ValueError, match="a set for 'b', who is no participant"):
        protocol.named(["a"])

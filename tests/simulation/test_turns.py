"""Turns, followed by hand: from the first votes, answers, tallies, winners and decisions must follow.

The rules are those of ``support.oracles.simulation``, a second implementation that shares no code with ours.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import networkx
import numpy as np
import pytest

import folkmoot
from folkmoot import Everyone, Neighbours, Slush, Snowball, Snowflake
from folkmoot.adversaries import ConstantClass, PerfectlyMalicious, Silent
from folkmoot.adversaries.behaviours import Copycat, Equivocating, RandomClass, Stalling
from folkmoot.adversaries.interface import handed_in
from folkmoot.outcome import Change, Outcome, Schedule
from folkmoot.protocols.snow import SnowProtocol
from support.oracles import simulation as oracle

# Participants without a vote ask and are asked, as in the paper.
deliberate = partial(folkmoot.deliberate, missing="present")

N, INPUTS, CLASSES = 12, 3, 3
RNG = np.random.default_rng(5)
VOTES = RNG.integers(-1, CLASSES, (N, INPUTS))
TRUTH = np.zeros(INPUTS, dtype=np.int64)
TRUST = np.maximum(RNG.normal(1, 1.5, (N, N)), 0)
TRUST[2] = 0  # asks nobody
TRUST[5, 3:] = 0  # can ask three at most
GRAPH = networkx.circulant_graph(N, [1, 2, 4])
WEIGHTS = [1.0, 0.5, 0.25, 0.0, 1.0, 0.75, 1.0, 1.0, 0.5, 0.5, 1.0, 1.0]
LIARS: dict[int, Any] = {
    0: ConstantClass(1), 3: Copycat(target=8), 6: Silent(), 7: RandomClass(), 9: PerfectlyMalicious(),
    10: Stalling(), 11: Equivocating(),
}  # fmt: skip
SIX = [3, 4, 3, 5, 3, 3, 3, 4, 3, 3, 3, 5]


def follow(
    outcome: Outcome,
    i: int,
    start: Any,  # (participant,): what each holds before the first turn
    protocol: SnowProtocol[Any],
    *,
    reach: Any = None,  # (participant, participant): whom each may ask; everybody else
    weights: Any = None,  # (asker, peer)
    liars: dict[int, Any] = LIARS,
    there: Any = range(N),
) -> dict[int, int]:
    """Play the turns once more with the oracle's rules; what each honest participant holds in the end."""
    rule: Any = type(protocol).__name__.lower()
    beta = getattr(protocol, "beta", 0)
    nodes = {
        int(p): oracle.start(rule, [int(start[p])], CLASSES)[0]
        for p in there if p not in liars
    }  # fmt: skip
    before_round = {p: node.colour for p, node in nodes.items()}
    lockstep = outcome.schedule == "lockstep"
    sizes, alphas = outcome.query(i)
    counts = [tally_of(before_round)]
    this_round = 1
    for turn in outcome.turns(i):
        while turn.round > this_round:
            this_round += 1
            before_round = {p: node.colour for p, node in nodes.items()}
            counts.append(tally_of(before_round))
        node = nodes[turn.participant]
        assert not node.decided
        assert turn.before == node.colour
        assert (len(turn.asked), turn.alpha) == (sizes[turn.participant], alphas[turn.participant])
        assert len(set(turn.asked)) == len(turn.asked)
        assert set(turn.asked) <= set(there)
        if reach is None:
            assert turn.participant not in turn.asked
        else:
            assert all(reach[turn.participant, peer] for peer in turn.asked)
        now = before_round if lockstep else {p: each.colour for p, each in nodes.items()}
        for peer, said in zip(turn.asked, turn.answers, strict=True):
            if peer in nodes:
                assert said == now[peer]
            elif isinstance(liars[peer], Silent):
                assert said == -1
            elif isinstance(liars[peer], ConstantClass):
                assert said == liars[peer].choice
            elif isinstance(liars[peer], Copycat):
                assert said == now[liars[peer].target]
            elif isinstance(liars[peer], PerfectlyMalicious):
                assert said == 1  # the first wrong colour after 0
        heard = list(turn.answers)
        each = [1.0 if weights is None else weights[turn.participant][peer] for peer in turn.asked]
        total = sum(map(Fraction, each))
        for colour in range(CLASSES):
            mine = sum(Fraction(w) for w, said in zip(each, heard, strict=True) if said == colour)
            scaled = mine * len(each) / total if total else Fraction(0)
            assert turn.tally[colour] == pytest.approx(float(scaled), abs=1e-9)
        assert turn.won == oracle.exact_result(heard, turn.alpha, None if weights is None else each)
        nodes[turn.participant] = oracle.update(rule, node, turn.won, beta)
        assert turn.after == nodes[turn.participant].colour
    changes = [
        Change(turn.round, turn.participant, turn.before, turn.after, turn.tally)
        for turn in outcome.turns(i) if turn.before != turn.after
    ]  # fmt: skip
    assert outcome.turns(i).changes == changes
    last = tally_of({p: node.colour for p, node in nodes.items()})
    assert outcome.history is not None
    history = outcome.history if outcome.history.ndim == 3 else outcome.history[0]
    np.testing.assert_array_equal(history[i][: len(counts)], counts)
    np.testing.assert_array_equal(history[i][-1], last)
    return {p: node.colour for p, node in nodes.items()}


def tally_of(held: dict[int, int]) -> list[int]:
    return [sum(colour == each for each in held.values()) for colour in range(CLASSES)]


def assert_decided(outcome: Outcome, i: int, held: dict[int, int]) -> None:
    decisions = outcome.decisions if outcome.decisions.ndim == 2 else outcome.decisions[0]
    assert {p: int(decisions[p, i]) for p in held} == held


LAWS: dict[str, tuple[Any, Any]] = {
    "others": (None, None),
    "everyone": (Everyone(), np.ones((N, N))),
    "graph": (Neighbours(GRAPH), networkx.to_numpy_array(GRAPH)),
}
PROTOCOLS = (Slush(5, 3), Slush(5, SIX), Snowflake(5, 3, 3), Snowball(5, 3, 3))


@pytest.mark.parametrize("batch", ["independent", "shared"])
@pytest.mark.parametrize("schedule", ["one", "lockstep"])
@pytest.mark.parametrize("law", LAWS)
def test_every_turn_follows_from_those_before(law: str, schedule: Schedule, batch: Any) -> None:
    sampling, reach = LAWS[law]
    asked = 0
    for protocol in PROTOCOLS:
        for liars in ({}, LIARS):
            outcome = deliberate(
                VOTES, protocol, adversaries=liars, truth=TRUTH, sampling=sampling, schedule=schedule,
                batch=batch, rounds=8, repeats=2, seed=3, record=True, classes=CLASSES,
            )  # fmt: skip
            weights = TRUST if law == "weighted trust" else None
            for i in range(INPUTS):
                held = follow(outcome, i, VOTES[:, i], protocol, reach=reach, weights=weights, liars=liars)
                assert_decided(outcome, i, held)
                asked += len(outcome.turns(i))
    assert asked > 500


@pytest.mark.parametrize("schedule", ["one", "lockstep"])
def test_weights_and_absent_votes(schedule: Schedule) -> None:
    for protocol in (Slush(5, 3, weights=WEIGHTS), Snowball(5, 4, 2, weights=WEIGHTS), Slush(5, SIX)):
        outcome = deliberate(
            VOTES, protocol, adversaries=LIARS, truth=TRUTH, missing="absent", schedule=schedule, rounds=9,
            record=True, classes=CLASSES,
        )  # fmt: skip
        given = None if protocol.weights is None else [WEIGHTS] * N
        for i in range(INPUTS):
            there = np.flatnonzero(VOTES[:, i] >= 0)
            held = follow(outcome, i, VOTES[:, i], protocol, weights=given, there=there.tolist())
            assert_decided(outcome, i, held)
            sizes, alphas = outcome.query(i)
            asking = [p for p in there if p not in LIARS]
            assert (sizes > 0).nonzero()[0].tolist() == asking
            scaled = protocol.scaled(len(there))
            assert set(sizes[asking]) == {scaled.k}
            np.testing.assert_array_equal(alphas[asking], scaled.thresholds(N)[asking])


def test_requests_are_those_of_the_turns() -> None:
    outcome = deliberate(VOTES, Snowball(5, 3, 3), record=True, rounds=20, missing="absent", classes=CLASSES)
    assert outcome.queries == sum(int(outcome.turns(i).size.sum()) for i in range(INPUTS))


def test_an_input_on_which_nobody_talks_has_no_turns() -> None:
    votes = [[0, -1], [-1, -1], [-1, -1]]
    outcome = deliberate(votes, Slush(2, 2), missing="absent", record=True)
    for i in range(2):
        assert list(outcome.turns(i)) == [] == outcome.turns(i).changes
        assert outcome.query(i)[0].tolist() == [0, 0, 0]


def test_how_it_was_played() -> None:
    rule = Snowflake(4, 3, 2)
    outcome = deliberate(VOTES, rule, adversaries=LIARS, truth=TRUTH, schedule="lockstep", seed=77)
    assert outcome.protocol is rule
    assert (outcome.schedule, outcome.seed) == ("lockstep", 77)
    assert outcome.malicious[3] == "Copycat(target=8)"
    np.testing.assert_array_equal(outcome.votes, handed_in(VOTES, LIARS, TRUTH, CLASSES, seed=77))
    for i in (-1, INPUTS):
        with pytest.raises(ValueError, match=f"0 <= i < {INPUTS}, the number of inputs: got i={i}"):
            outcome.query(i)


def test_turns_are_a_sequence() -> None:
    turns = deliberate(VOTES, Slush(5, 3), record=True, rounds=4, classes=CLASSES).turns(1)
    assert len(turns) == len(list(turns)) > 3
    assert turns[-1] == list(turns)[-1]
    assert turns[1:3] == [turns[1], turns[2]]
    with pytest.raises(IndexError):
        _ = turns[len(turns)]

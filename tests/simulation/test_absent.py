"""Who did not vote on an input takes no part in it: each input is the talk of its own voters alone."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from folkmoot import (
    Everyone,
    Neighbours,
    Slush,
    Snowball,
    Snowflake,
    StrongConfidence,
    deliberate,
    plot_convergence,
)
from folkmoot.adversaries import ConstantClass, PerfectlyMalicious, Silent
from folkmoot.adversaries.behaviours import Copycat, PerfectlyFaulty, RandomClass, Stalling, Steadfast
from folkmoot.adversaries.interface import Adversary, Sees
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.votes import Votes

N, INPUTS = 14, 120
RNG = np.random.default_rng(5)
TRUTH = RNG.integers(0, 3, INPUTS)
VOTES = np.where(RNG.random((N, INPUTS)) < 0.6, TRUTH, RNG.integers(0, 3, (N, INPUTS)))
VOTES[RNG.random((N, INPUTS)) < RNG.uniform(0.2, 0.95, INPUTS)] = -1


class ByNumber(Adversary):
    """Tells every asker another colour, by its number in the table that ``numbers`` are from."""

    sees = Sees.ASKER

    def __init__(self, numbers: list[int] | None = None) -> None:
        self.numbers = numbers

    def answer(self, seen: int, *, vote: int, truth: int, classes: int) -> int:  # noqa: ARG002
        number = seen if self.numbers is None else self.numbers[seen]
        return (number * 7 % 5) % classes


def alone(
    votes: Votes, i: int, protocol: SnowProtocol[Any], liars: dict[int, Adversary], **options: Any
) -> tuple[list[int], Any]:
    """The plain talk of the voters of input i, and who they are."""
    rows = np.flatnonzero(votes[:, i] >= 0).tolist()
    moved: dict[int, Adversary] = {}
    for place, row in enumerate(rows):
        liar = liars.get(row)
        if isinstance(liar, ByNumber):
            liar = ByNumber(rows)
        if liar is not None and liar.follows is not None:
            liar = Copycat(rows.index(liar.follows)) if liar.follows in rows else Silent()
        if liar is not None:
            moved[place] = liar
    if len(rows) < 2 or len(moved) == len(rows):
        return rows, None
    return rows, deliberate(
        votes[rows][:, [i]],
        protocol.restricted(rows).scaled(len(rows)),
        adversaries=moved,
        truth=TRUTH[[i]],
        classes=3,
        keys=[i],
        **options,
    )


LIARS: dict[str, dict[int, Adversary]] = {
    "nobody": {},
    "malicious": {3: PerfectlyMalicious(), 8: PerfectlyMalicious()},
    "faulty": {3: PerfectlyFaulty(), 8: Silent(), 0: ConstantClass(2)},
    "die": {3: RandomClass(), 8: RandomClass()},
    "stalling": {3: Stalling(), 8: Steadfast()},
    "copycats": {3: Copycat(5), 8: Copycat(1)},
    "by number": {3: ByNumber(), 8: ByNumber()},
    "all kinds": {3: RandomClass(), 4: Copycat(5), 6: ByNumber(), 8: Stalling(), 9: ConstantClass(0)},
}
# The order of the seats shows in the bits where thresholds or weights differ; its law is held to brute force.
PROTOCOLS: list[SnowProtocol[Any]] = [Slush(6, 4), Snowflake(6, 5, 3), Snowball(6, 4, 3)]


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: type(protocol).__name__)
@pytest.mark.parametrize("who", LIARS)
def test_each_input_is_the_plain_talk_of_its_voters(
    who: str, protocol: SnowProtocol[Any], record: bool
) -> None:
    liars = LIARS[who]
    whole = deliberate(
        VOTES, protocol, adversaries=liars, truth=TRUTH, missing="absent", record=record, seed=2, rounds=9
    )
    asked, sizes = 0, set()
    for i in range(INPUTS):
        rows, talk = alone(VOTES, i, protocol, liars, record=record, seed=2, rounds=9)
        absent = np.setdiff1d(np.arange(N), rows)
        assert (whole.decisions[absent, i] == -1).all()
        honest = [row for row in rows if row not in liars]
        assert whole.voters[i] == len(honest)
        sizes.add(len(rows))
        if talk is None:
            assert whole.decisions[honest, i].tolist() == VOTES[honest, i].tolist()
            assert whole.rounds[i] == 0
            assert whole.decision[i] == (VOTES[honest[0], i] if honest else -1)
            assert whole.agreement[i] == whole.converged[i] == bool(honest)
            assert not record or whole.turns(i).changes == []
            continue
        asked += int(talk.queries)
        assert whole.decisions[rows, i].tolist() == talk.decisions[:, 0].tolist()
        assert whole.rounds[i] == talk.rounds[0]
        assert whole.converged[i] == talk.converged[0]
        assert whole.decision[i] == talk.decision[0]
        assert whole.agreement[i] == talk.agreement[0]
        if record:
            assert whole.history is not None
            assert np.array_equal(whole.history[i], talk.history[0])
            changes = talk.turns(0).changes
            moved = [change._replace(participant=rows[change.participant]) for change in changes]
            assert whole.turns(i).changes == moved
    assert whole.queries == asked
    assert {0, 1, 2, 3} < sizes  # the batch has what is to be tried
    assert whole.undecided == int((whole.decision == -1).sum())


SETTINGS: list[tuple[SnowProtocol[Any], dict[str, Any]]] = [
    (Slush(6, 4), {}),
    (Slush(6, 4), {"sampling": Everyone(), "schedule": "lockstep"}),
    (Slush(6, StrongConfidence(np.linspace(0.5, 1, N))), {}),
    (Snowball(6, [4, 5, 6, 4, 5, 6, 4, 5, 6, 4, 5, 6, 4, 4], 3), {"adversaries": LIARS["all kinds"]}),
    (Slush(6, 4, weights=np.linspace(0, 1, N).tolist()), {"adversaries": LIARS["malicious"]}),
    (Slush(6, 5, weights=[1, 2] * 7), {"record": True, "adversaries": LIARS["all kinds"]}),
]


@pytest.mark.parametrize(("protocol", "options"), SETTINGS)
def test_an_outcome_depends_on_its_input_and_key_alone(
    protocol: SnowProtocol[Any], options: dict[str, Any]
) -> None:
    rng = np.random.default_rng(1)
    keys = rng.permutation(1000)[:INPUTS]
    options = options | {"classes": 3, "missing": "absent", "seed": 3}
    whole = deliberate(VOTES, protocol, truth=TRUTH, keys=keys, **options)
    some = np.random.default_rng(1).permutation(INPUTS)[:37]
    part = deliberate(VOTES[:, some], protocol, truth=TRUTH[some], keys=keys[some], threads=1, **options)
    assert np.array_equal(part.decisions, whole.decisions[:, some])
    assert np.array_equal(part.rounds, whole.rounds[some])
    assert np.array_equal(part.voters, whole.voters[some])
    twice = deliberate(VOTES, protocol, truth=TRUTH, keys=keys, repeats=3, **options)
    assert np.array_equal(twice.decisions[0], whole.decisions)
    assert twice.decision.shape == twice.agreement.shape == twice.rounds.shape == (3, INPUTS)
    assert not np.array_equal(twice.decisions[1], whole.decisions)
    assert twice.queries.shape == (3,)


def test_the_replay_leads_to_the_decisions_and_can_be_pickled() -> None:
    protocol, options = SETTINGS[-1]
    outcome = deliberate(VOTES, protocol, missing="absent", classes=3, **options)
    again = pickle.loads(pickle.dumps(outcome))  # noqa: S301
    for i in range(INPUTS):
        held = np.where(outcome.honest, VOTES[:, i], -1)
        for change in again.turns(i).changes:
            assert held[change.participant] == change.before
            held[change.participant] = change.after
        assert np.array_equal(held, outcome.decisions[:, i])
    assert again.present is not None
    assert np.array_equal(again.present, VOTES >= 0)
    highest = [np.max(np.asarray(line.get_ydata())) for line in plot_convergence(outcome).axes[0].get_lines()]
    assert max(highest) == 1.0


def test_where_no_answer_weighs_anything_nobody_is_turned() -> None:
    votes = [[0, 0], [1, 1], [1, 1], [-1, 1]]
    outcome = deliberate(votes, Slush(3, 2, weights=[0, 0, 0, 1]), missing="absent", record=True)
    assert outcome.decisions[:3, 0].tolist() == [0, 1, 1]
    assert (outcome.decision == 1).all()
    assert not outcome.converged[0]


@pytest.mark.parametrize("options", [{}, {"batch": "shared"}])
def test_where_everybody_voted_nothing_changes(options: dict[str, Any]) -> None:
    votes = np.random.default_rng(0).integers(0, 2, (9, 50))
    plain = deliberate(votes, Slush(4, 3), **options)
    absent = deliberate(votes, Slush(4, 3), missing="absent", **options)
    assert np.array_equal(plain.decisions, absent.decisions)
    assert absent.present is None


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ("batch='shared'", {"batch": "shared"}),
        ("Neighbours", {"sampling": Neighbours(1 - np.eye(N))}),
    ],
)
def test_what_cannot_be_played_is_refused(what: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"^{what} cannot be played .* give missing='present'"):
        deliberate(VOTES, Slush(4, 3), missing="absent", **options)
    deliberate(VOTES, Slush(4, 3), missing="present", **options)


def test_missing_is_one_of_two() -> None:
    with pytest.raises(ValueError, match="missing must be 'present' or 'absent': got 'gone'"):
        deliberate(VOTES, Slush(4, 3), missing="gone")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must follow an honest participant"):
        deliberate(VOTES, Slush(4, 3), missing="absent", adversaries={3: Copycat(4), 4: Silent()})


def test_a_recorded_run_can_be_pickled() -> None:
    outcome = deliberate([[0], [1], [0], [1], [0]], Slush(3, 2), record=True)
    assert pickle.loads(pickle.dumps(outcome)).turns(0).changes == outcome.turns(0).changes  # noqa: S301

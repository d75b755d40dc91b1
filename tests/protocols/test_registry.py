"""A protocol is one file and one entry: a fourth one, known to ``PROTOCOLS`` only, is played everywhere.

Everybody asks all others, so there is no chance in who wins a query: what must come out is known beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from folkmoot import Slush, Snowball, Snowflake, deliberate
from folkmoot.learning.classifier import ConsensusClassifier
from folkmoot.node.session.terms import Terms
from folkmoot.protocols.naming import PROTOCOLS, named_protocol
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.votes import NO_VOTE, Vote, Votes
from support.command import run, run_json
from support.node.moot import Moot, model

N, INPUTS, ROUNDS = 5, 8, 12


class Wait(NamedTuple):
    """A colour, another that has won lately, and how often in a row."""

    colour: Vote
    other: Vote = NO_VOTE
    wins: int = 0


@dataclass(frozen=True)
class Patient(SnowProtocol[Wait]):
    """Slush that gives in only after another colour has won ``beta`` queries in a row."""

    beta: int = 3

    def start(self, vote: Vote) -> Wait:
        return Wait(vote)

    def react(self, state: Wait, won: Vote) -> Wait:
        if won in (NO_VOTE, state.colour):
            return Wait(state.colour)
        wins = state.wins + 1 if won == state.other else 1
        return Wait(won) if wins >= self.beta else Wait(state.colour, won, wins)

    def class_of(self, state: Wait) -> Vote:
        return state.colour


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROTOCOLS, "patient", Patient)


@pytest.fixture
def votes() -> Votes:
    """On every input one of five, each in turn, is alone with its vote."""
    usual = np.tile(np.arange(INPUTS) % 2, (N, 1))
    alone = np.arange(N)[:, None] == np.arange(INPUTS) % N
    return np.where(alone, 1 - usual, usual)


# One that is alone gives in at its beta-th query: soon at 3, and not within these rounds at 999.
@pytest.mark.parametrize(("beta", "gives_in"), [(3, True), (999, False)])
class TestPlayed:
    def expected(self, votes: Votes, gives_in: bool) -> Votes:
        return np.tile(np.arange(INPUTS) % 2, (N, 1)) if gives_in else votes

    def test_in_simulation(self, votes: Votes, beta: int, gives_in: bool) -> None:
        rule = named_protocol("patient", N - 1, 3, beta=beta)
        assert rule == Patient(N - 1, 3, beta)
        outcome = deliberate(votes, rule, rounds=ROUNDS, schedule="lockstep")
        right = (self.expected(votes, gives_in) == 1).sum(axis=0)
        assert outcome.counts[:, 1].tolist() == right.tolist()

    def test_at_the_prompt(
        self,
        votes: Votes,
        beta: int,
        gives_in: bool,
        tmp_path: Path,
    ) -> None:
        rows = [f"{i},{p},{votes[p, i]}\n" for i in range(INPUTS) for p in range(N)]
        (tmp_path / "votes.csv").write_text("task,worker,label\n" + "".join(rows))
        (tmp_path / "truth.csv").write_text("task,label\n" + "".join(f"{i},{i % 2}\n" for i in range(INPUTS)))
        options = ["--protocol", "patient", "--beta", beta, "--rounds", 40, "--repeats", 2]
        told = run_json("deliberate", tmp_path / "votes.csv", "--truth", tmp_path / "truth.csv", *options)
        assert told["protocol"] == "patient"
        assert told["consensus"] == 1.0
        assert told["agreement"] == (1.0 if gives_in else 0.8)

    def test_in_a_motion(self, votes: Votes, beta: int, gives_in: bool) -> None:
        def answering(own: Votes) -> Any:
            return model(lambda rows: [str(own[int(row[0])]) for row in rows], ["0", "1"])

        moot = Moot([answering(own) for own in votes])
        talk = {"protocol": "patient", "k": N - 1, "alpha": 3, "beta": beta, "rounds": ROUNDS}
        name = moot.put(0, np.arange(float(INPUTS))[:, None], labels=["0", "1"], **talk)
        account = moot.play(name)[0]
        expected = self.expected(votes, gives_in).T
        told = [[row.get(label, 0) for label in "01"] for row in account.final_votes]
        assert told == [np.bincount(each, minlength=2).tolist() for each in expected]


def test_help_and_refusals_name_it() -> None:
    for command in ("deliberate", "learn", "ask"):
        shown = run(command, "--help", env={"COLUMNS": "200"}).stdout
        assert "slush, snowflake, snowball, patient" in shown
    refused = "protocol must be one of slush, snowflake, snowball, patient: got 'x'"
    with pytest.raises(ValueError, match=refused):
        named_protocol("x", 3, 2)
    with pytest.raises(ValueError, match="one of slush, snowflake, snowball, patient: got 'x'"):
        Terms(labels=("0", "1"), protocol="x").check(N)
    strange: Any = "slush"
    refused = "protocol must be Slush, Snowflake, Snowball or Patient: got 'slush'"
    with pytest.raises(TypeError, match=refused):
        deliberate([[0], [1]], strange)
    with pytest.raises(TypeError, match="protocol must be Council"):
        ConsensusClassifier(GaussianNB(), protocol=strange).fit([[0], [1]], [0, 1], [0, 1])


def test_a_name_gives_a_protocol_what_it_takes() -> None:
    assert named_protocol("slush", 10, 6, beta=20) == Slush(10, 6)
    assert named_protocol("snowflake", 10, 7, beta=5) == Snowflake(10, 7, 5)
    assert named_protocol("snowball", 10, [6, 7]) == Snowball(10, [6, 7], 20)
    assert named_protocol("slush", 3, 2, weights=[1.0, 2.0]) == Slush(3, 2, weights=[1.0, 2.0])

"""What an ensemble answers from the votes of its members: by talking, and by every rule of a centre.

Consensus is drawn anew ``repeats`` times; the rules of a centre are deterministic. How far one is ahead of
the majority is judged letter by letter: the standard error is over the letters, taken as independent, and
contains what chance the talk adds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from experiments.counting import MAJORITY, RULES, counted
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.adversaries.interface import Adversary, handed_in
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.comparing.printing import plus_minus
from folkmoot.outcome import log_odds, participant_accuracies, right_by_input, standard_error
from folkmoot.protocols.naming import PROTOCOLS, named_protocol
from folkmoot.protocols.slush import Slush
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.protocols.thresholds import StrongConfidence
from folkmoot.simulation.engine import deliberate
from folkmoot.votes import NO_VOTE, Votes

SLUSH: Final = "Slush"
LOCAL: Final = "local Slush (validation)"
LOCAL_TEST: Final = "local Slush (test, as the paper)"
PAPER: Final = (SLUSH, LOCAL, LOCAL_TEST)
BEYOND: Final = ("Snowflake", "Snowball", "weighted Slush", "weighted majority", "Dawid-Skene")
_CLEAR: Final = 3.0  # standard errors; there are dozens of comparisons, so two would often be chance


@dataclass(frozen=True)
class TalkSettings:
    """The communication phase: every protocol has k and alpha, Snowflake and Snowball beta as well."""

    k: int = 10
    alpha: int = 6
    beta: int = 20
    rounds: int = 50
    repeats: int = 10


@dataclass(frozen=True, eq=False)
class Members:
    """Votes (member, letter) and the truth, and what each member knows of its own accuracy."""

    votes: Votes
    truth: Votes
    validation: Floats
    cautious: Floats

    @property
    def accuracies(self) -> Floats:
        """Share of the letters that each member gets right."""
        return participant_accuracies(self.votes, self.truth)


@dataclass(frozen=True, eq=False)
class EnsembleAnswer:
    """Decisions (repetition, letter), -1 where undecided, and ties; how firmly they are held after a talk."""

    decisions: Ints
    level: Bools | None = None
    agreement: float | None = None
    settled: float | None = None

    def right(self, truth: Votes) -> Floats:
        """(repetition, letter): 1 where it is right, 0 where it is not; level labels share."""
        return right_by_input(self.decisions, truth, self.level)


@dataclass(frozen=True)
class Lead:
    """How much more accurate than the majority, and the standard error of that."""

    mean: float
    error: float

    @property
    def sign(self) -> int:
        """1 if ahead, -1 if behind, by more than three standard errors; else 0."""
        return int(np.sign(self.mean)) if abs(self.mean) > _CLEAR * self.error else 0

    def __str__(self) -> str:
        return f"{self.mean:+.4f}{plus_minus(self.error)}"


@dataclass(frozen=True)
class Method:
    """One way to answer. ``error`` is the standard error over repetitions, None without chance."""

    name: str
    accuracy: float
    error: float | None
    undecided: float  # share of the letters
    agreement: float | None
    settled: float | None
    lead: Lead

    def __str__(self) -> str:
        return f"{self.accuracy:.4f}{plus_minus(self.error)}"


def answers(
    members: Members, talk: TalkSettings, seed: int, names: Iterable[str], turned: Sequence[int] = ()
) -> dict[str, EnsembleAnswer]:
    """What the majority and the methods of these names answer if ``turned`` are perfectly malicious."""
    votes, truth, n = members.votes, members.truth, len(members.votes)
    liars: dict[int, Adversary] = {i: PerfectlyMalicious() for i in turned}
    seen = handed_in(votes, liars, truth, 2)
    found = {}
    for name in (MAJORITY, *names):
        if name in RULES:
            answer = counted(name, seen, 2, members.cautious)
            level = None if answer.tied is None else answer.tied[None]
            found[name] = EnsembleAnswer(answer.decision[None], level)
            continue
        outcome = deliberate(
            votes, _protocol(name, members, talk).scaled(n), adversaries=liars, truth=truth, classes=2,
            rounds=talk.rounds, repeats=talk.repeats, seed=seed, missing="present",
        )  # fmt: skip
        decisions = np.atleast_2d(outcome.decision)
        found[name] = EnsembleAnswer(
            decisions,
            outcome.tied.reshape(*decisions.shape, -1),
            float(outcome.agreement.mean()),
            float(outcome.converged.mean()),
        )
    return found


def methods(found: dict[str, EnsembleAnswer], truth: Votes) -> list[Method]:
    """The accuracies of some answers, and their leads over the majority among them."""
    base = found[MAJORITY].right(truth)
    result = []
    for name, answer in found.items():
        right = answer.right(truth)
        each = right.mean(axis=1)
        result.append(
            Method(
                name=name,
                accuracy=float(each.mean()),
                error=standard_error(each),
                undecided=float((answer.decisions == NO_VOTE).mean()),
                agreement=answer.agreement,
                settled=answer.settled,
                lead=lead(right.mean(axis=0) - base.mean(axis=0)),
            )
        )
    return result


def lead(ahead: Floats) -> Lead:
    """Mean and standard error of what one is ahead on each letter."""
    error = standard_error(ahead)
    return Lead(float(ahead.mean()), float("nan") if error is None else error)


def _protocol(name: str, members: Members, talk: TalkSettings) -> SnowProtocol[Any]:
    k, alpha = talk.k, talk.alpha
    if name.lower() in PROTOCOLS:
        return named_protocol(name.lower(), k, alpha, beta=talk.beta)
    if name == LOCAL:
        return Slush(k, StrongConfidence(members.validation))
    if name == LOCAL_TEST:
        return Slush(k, StrongConfidence(members.accuracies))
    if name == "weighted Slush":
        weights = np.maximum(log_odds(members.cautious, 2), 0)
        return Slush(k, alpha, weights=(weights if weights.any() else np.ones_like(weights)).tolist())
    raise ValueError(f"there is no method {name!r}")

"""Probabilities instead of labels: what each participant hands in, what they agree on, and the label then.

Each hands in how likely it finds every class, on 256 levels. They agree on these numbers as on any others
(``agree``): on the probabilities, or on their logarithms, each class by itself. What is agreed is then scaled
to add up to 1, and its largest entry is the label.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from folkmoot.accuracy import laplace_accuracy
from folkmoot.adversaries import (
    Adversary,
    NumberAdversary,
    Observation,
    Sees,
    Steadfast,
    handed_in,
    numbers_handed_in,
)
from folkmoot.aggregation import TrimmedMean
from folkmoot.arrays import Array, Floats, Ints
from folkmoot.learning.labels import as_colours
from folkmoot.learning.participants import Participant, first_sentence, tell
from folkmoot.learning.tables import columns_of, rows_in
from folkmoot.outcome import Outcome, Turns, most
from folkmoot.simulation import Agreement, agree
from folkmoot.votes import LEVELS, UNCOLOURED, Votes, in_levels

_LEVEL: Final = 1e-9  # probabilities that differ by less are level


class _Scale(NamedTuple):
    """On what numbers they agree, and how probabilities come of these."""

    numbers: Callable[[Floats], Floats]
    chances: Callable[[Floats], Floats]


PoolName = Literal["mean", "log"]
POOLS: Final[dict[PoolName, _Scale]] = {
    "mean": _Scale(np.asarray, np.asarray),
    "log": _Scale(np.log, lambda held: np.exp(held - held.max(axis=-1, keepdims=True))),
}


def has_probabilities(participant: Participant) -> bool:
    """Whether its model says how likely classes are. One that knows a single class would be sure of it."""
    model = participant.model
    return hasattr(model, "predict_proba") and hasattr(model, "classes_") and not participant.constant


def chances_of(participant: Participant, X: Any, classes: Array) -> Floats | str:
    """(input, class): how likely a participant finds each of the classes; or what went wrong.

    One whose model gives labels only finds its label as likely as its holdout was often right, by Laplace's
    rule; without a holdout, as likely as one vote makes it. The other classes share the rest.
    """
    if has_probabilities(participant):
        return _by_model(participant, X, classes)
    answers = participant.predict(X)
    if isinstance(answers, str):
        return answers
    try:
        votes = as_colours(answers, classes)
    except TypeError:
        return "predict returned something that cannot be a label"
    if votes.ndim != 1:
        return f"predict returned the shape {answers.shape}"
    return _one_hot(votes, len(classes), _sureness(participant, len(classes)))


def _by_model(participant: Participant, X: Any, classes: Array) -> Floats | str:
    try:
        given = np.asarray(participant.model.predict_proba(columns_of(X, participant.columns)), np.float64)
    except Exception as error:  # any model may be here, and it may fail in any way
        return f"{type(error).__name__}: {first_sentence(error)}"
    known = np.asarray(participant.model.classes_)
    if given.shape != (rows_in(X), len(known)):
        return f"predict_proba returned the shape {given.shape}"
    if not (np.isfinite(given).all() and (given >= 0).all()):
        return "predict_proba returned numbers that are not probabilities"
    place = as_colours(known, classes)
    full = np.zeros((len(given), len(classes)))
    full[:, place[place != UNCOLOURED]] = given[:, place != UNCOLOURED]
    total = full.sum(axis=1, keepdims=True)
    return np.where(total > 0, full / np.where(total > 0, total, 1), 1 / len(classes))


def _sureness(participant: Participant, classes: int) -> float:
    """How likely a label is that a participant names."""
    if not participant.held_out:
        return (1 + 1 / classes) / 2  # as ``baselines.vote_shares`` has it for a single vote
    return max(float(laplace_accuracy(participant.right, participant.held_out, classes)), 1 / classes)


def _one_hot(votes: Votes, classes: int, sure: float) -> Floats:
    """(input, class): ``sure`` for the vote, the rest shared; no vote, all alike."""
    chances = np.full((len(votes), classes), (1 - sure) / (classes - 1))
    cast = votes != UNCOLOURED
    chances[np.flatnonzero(cast), votes[cast]] = sure
    chances[~cast] = 1 / classes
    return chances


@dataclass(frozen=True)
class _Possible(NumberAdversary):
    """A liar among participants that take a number which is no probability as the nearest that is one."""

    liar: NumberAdversary
    low: float
    high: float

    def answer_number(self, seen: Observation) -> npt.ArrayLike:
        """What the liar says, if it could be a probability; silence stays silence."""
        return np.asarray(np.clip(np.asarray(self.liar.answer_number(seen)), self.low, self.high))


@dataclass(frozen=True, eq=False)
class SoftBallot:
    """What those who could answer hand in, (who, input, class), as they are numbered in ``there``."""

    chances: Floats
    labels: Array
    there: list[int]
    faults: dict[int, str]
    participants: int

    def agreed(
        self,
        pool: PoolName,
        trim: int | None,
        adversaries: Mapping[int, Adversary | NumberAdversary],
        truth: Votes | None,
        *,
        classes: int,
        rounds: int,
        seed: int,
    ) -> SoftTalk:
        """Let everybody ask all others until they agree; ``adversaries`` go by participants' numbers.

        An adversary of labels hands in its lie as if it were sure of it, and says so to the end. The truth
        may be one of more ``classes`` than are known here: whoever lies then names one that is.
        """
        if len(self.there) < 2:
            raise ValueError(f"at least two participants must be able to answer: got {len(self.there)}")
        chances, scale = self.chances.copy(), POOLS[pool]
        known = len(self.labels)
        bounds = scale.numbers(np.array([1 / (2 * LEVELS + known), 1.0]))
        liars: dict[int, NumberAdversary] = {}
        for who, liar in adversaries.items():
            place = self.there.index(who)
            if not isinstance(liar, NumberAdversary):
                if liar.sees is not Sees.NOTHING:
                    raise ValueError(
                        f"{type(liar).__name__} answers by what it sees in a talk about labels: with "
                        "voting='probabilities' give a NumberAdversary, or one that always says the same"
                    )
                votes = chances[place].argmax(axis=1)[None]
                lie = handed_in(votes, {0: liar}, truth, classes)[0]
                chances[place] = in_levels(_one_hot(np.where(lie < known, lie, 0), known, 1.0))
                liar = Steadfast()
            liars[place] = _Possible(liar, *bounds.tolist())
        options: dict[str, Any] = {"adversaries": liars, "seed": seed}
        return SoftTalk(self, scale, scale.numbers(chances), TrimmedMean(trim), rounds, options)


@dataclass(frozen=True, eq=False)
class SoftTalk:
    """An agreement on probabilities: on which numbers, by which rule, and what came of it."""

    ballot: SoftBallot
    scale: _Scale
    numbers: Floats
    rule: TrimmedMean
    rounds: int
    options: dict[str, Any]

    @cached_property
    def agreement(self) -> Agreement:
        """What each holds at the end, in the numbers of the scale."""
        return self._after(self.rounds)

    def _after(self, rounds: int) -> Agreement:
        return agree(self.numbers, self.rule, rounds=rounds, **self.options)

    @cached_property
    def likely(self) -> Floats:
        """(input, class): the probabilities that are agreed on."""
        return self._chances(self.agreement.decision)

    def _chances(self, held: Floats) -> Floats:
        chances = self.scale.chances(held)
        return np.asarray(chances / chances.sum(axis=-1, keepdims=True))

    @property
    def handed_in(self) -> Floats:
        """(who, input, class): what a centre would be sent; NaN where it gets nothing."""
        return self._chances(numbers_handed_in(self.numbers, self.options["adversaries"]))

    def outcome(self, labels: Array, *, record: bool = False) -> Outcome:
        """Everybody's label in the end; with ``record`` how many held which after each round.

        ``labels`` may hold more than are voted on: labels that nobody knows.
        """
        end, there = self.agreement, self.ballot.there
        decisions = np.full((self.ballot.participants, len(end.settled)), UNCOLOURED, dtype=np.int8)
        decisions[there] = self._held(end)
        honest = np.zeros(self.ballot.participants, dtype=np.bool_)
        honest[there] = end.honest
        outcome = Outcome(
            decisions=decisions,
            honest=honest,
            classes=len(labels),
            settled=end.settled,
            rounds=end.rounds,
            queries=np.asarray(end.queries),
            run=_Agreed(
                self.options["seed"],
                {there[i]: liar.liar for i, liar in self.options["adversaries"].items()},
                self._first_labels(),
            ),
            faults=self.ballot.faults,
        )
        if not record:
            return outcome
        # A round is the same whatever follows it, so the first rounds of the talk are a shorter talk.
        each = [self._held(self._after(turn)) for turn in range(int(end.rounds.max()) + 1)]
        counts = [[(held == colour).sum(axis=0) for colour in range(len(labels))] for held in each]
        history = np.array(counts, dtype=np.int32).transpose(2, 0, 1)
        return Outcome(**{**outcome.__dict__, "history": history})

    def _first_labels(self) -> Votes:
        """(participant, input): the class that each finds likeliest at first, -1 for none or several."""
        found = np.full((self.ballot.participants, self.numbers.shape[1]), UNCOLOURED)
        chances = self.handed_in
        told = np.asarray(~np.isnan(chances).any(axis=2))
        found[self.ballot.there] = most(np.nan_to_num(chances), told, _LEVEL).decision
        return found

    def _held(self, agreement: Agreement) -> Ints:
        """(who, input): the likeliest class by what each holds, -1 for liars and on a tie."""
        held = np.full(agreement.numbers.shape[:2], UNCOLOURED)
        chances = self._chances(agreement.numbers[agreement.honest])
        held[agreement.honest] = most(chances, np.ones(chances.shape[:2], dtype=np.bool_), _LEVEL).decision
        return held


@dataclass(frozen=True, eq=False)
class _Agreed:
    """An agreement on numbers as a ``Run``: no rule of the Snow family, and nothing in it is drawn."""

    seed: int
    adversaries: dict[int, Any]
    votes: Votes
    protocol: None = None
    schedule: Literal["lockstep"] = "lockstep"
    weights: None = None

    def query(self, i: int) -> tuple[Ints, Ints]:  # noqa: ARG002
        """All ask all others, and no number of them must agree."""
        honest = np.isin(np.arange(len(self.votes)), list(self.adversaries), invert=True)
        return np.where(honest, len(self.votes) - 1, 0), np.zeros(len(self.votes), dtype=np.int64)

    def turns(self, i: int, repetition: int) -> Turns:  # noqa: ARG002
        """None: all move at once."""
        raise ValueError("turns are for labels: on probabilities all participants move at once")

    def decided(self, i: int, votes: Votes, times: int, seed: int) -> None:
        """It cannot be run with other labels."""

    def plain(self, i: int) -> None:
        """It is not Slush."""


def soft_ballot_of(answers: Sequence[Floats | str], labels: Array, names: Sequence[str]) -> SoftBallot:
    """Everybody's probabilities in levels, or what went wrong; a warning names who has none."""
    faults = {i: each for i, each in enumerate(answers) if isinstance(each, str)}
    tell(
        [f"{names[i]} ({fault})" for i, fault in faults.items()],
        "predict_proba failed; faulty, so the others go on without",
    )
    there = [i for i in range(len(answers)) if i not in faults]
    given = np.stack([each for each in answers if not isinstance(each, str)])
    return SoftBallot(in_levels(given), labels, there, faults, len(answers))

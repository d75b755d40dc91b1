"""Council: all participants agree on one table of first votes, so everybody knows the same, and aggregate it.

With a *public* aggregation every honest participant computes the same answer from the table. With an *own*
one each comes to a final vote. The final votes are counted: classes by plurality, numbers by their median.

An adversary chooses its first vote and, where there are final votes, its final vote. All hold one table, so
nobody can give two participants different votes, and there are no rounds in which to lie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final, NoReturn

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries.interface import (
    Adversary,
    Knows,
    NumberAdversary,
    Sees,
    check_adversaries,
    check_known_truth,
    handed_in,
    numbers_handed_in,
)
from folkmoot.aggregation import Known, Plurality, Pool, Rows, TrimmedMean
from folkmoot.aggregation.aggregating import check_aggregation, check_table
from folkmoot.aggregation.counting import count_final_votes
from folkmoot.aggregation.interface import (
    Aggregation,
    Answers,
    FinalVotes,
    Kind,
    OwnAggregation,
    ballots,
    counted,
)
from folkmoot.aggregation.rule import LARGEST
from folkmoot.arrays import Array, Bools, Floats, Ints, Progress
from folkmoot.outcome import Outcome, shares_of, shares_right
from folkmoot.votes import NO_VOTE, Missing, check_true_numbers, check_truth, class_count, known_inputs

__all__ = ["Council", "CouncilOutcome"]

_SHORT: Final = 60  # longest text of parameters


@dataclass(frozen=True)
class Council:
    """All participants agree on one table of first votes; then they aggregate it.

    Use it with ``deliberate(votes, Council(), aggregation=...)``. It is the default of ``compare``.

    Examples
    --------
    >>> from folkmoot import Council, deliberate
    >>> from folkmoot.adversaries import PerfectlyMalicious
    >>> from folkmoot.aggregation import DawidSkene
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(9, p=0.8, inputs=300)
    >>> malicious = {0: PerfectlyMalicious(), 1: PerfectlyMalicious(), 2: PerfectlyMalicious()}
    >>> plain = deliberate(votes, Council(), adversaries=malicious, truth=truth)
    >>> wise = deliberate(votes, Council(), aggregation=DawidSkene(), adversaries=malicious, truth=truth)
    >>> print(round(plain.accuracy(truth), 1), round(wise.accuracy(truth), 1))
    0.7 1.0
    """

    takes_aggregation: ClassVar[bool] = True

    def run(
        self,
        votes: npt.ArrayLike,
        *,
        aggregation: Aggregation | str | None = None,
        known: Known | None = None,
        adversaries: Mapping[int, Adversary | NumberAdversary] | None = None,
        truth: npt.ArrayLike | None = None,
        classes: int | None = None,
        seed: int = 0,
        missing: Missing = "absent",
        repeats: int = 1,
        sampling: object = None,
        progress: Progress | None = None,
        **rounds: Any,  # noqa: ARG002
    ) -> CouncilOutcome:
        """Agree on the table and aggregate it; what ``deliberate(votes, Council(), ...)`` calls.

        Parameters
        ----------
        votes : array-like
            The first votes: classes, probabilities or numbers, as ``aggregate`` takes them.
        aggregation : Aggregation or str, optional
            How the table becomes an answer. Default: ``Plurality()`` of classes, ``Pool()`` of probabilities,
            ``TrimmedMean()`` of numbers.
        known : Known, optional
            Knowledge besides the votes. An adversary lies about the rows there as it does about inputs.
        adversaries : mapping of int to Adversary or NumberAdversary, optional
            The malicious participants by number.
        truth : array-like of int, shape (input,), optional
            The right classes, for adversaries that must know them.
        classes : int, optional
            The number of classes. Default: one more than the largest in votes and truth.
        seed : int, default 0
            Seeds what adversaries and aggregations draw.
        missing : {"absent", "present"}, default "absent"
            Whether an adversary without a vote on an input hands in none there, or may vote.
        repeats : int, default 1
            1: the same votes give the same answer every time.
        sampling : None
            A council has none: everybody knows all votes.
        progress : callable, optional
            Called with (1, 1) at the end.
        **rounds : dict
            Options of ``deliberate`` for rounds, without effect.

        Returns
        -------
        CouncilOutcome
            The answers, with first votes and final votes.

        Raises
        ------
        ValueError
            If the votes are not of a kind that the aggregation takes, or an adversary must know the truth and
            is not given it.
        """
        if sampling is not None:
            raise ValueError(
                "Council takes no sampling, as all know all votes: it is for Slush, Snowflake and Snowball"
            )
        if checks.integer("repeats", repeats, least=1) > 1:
            raise ValueError(
                f"repeats must be 1, as a council gives the same votes the same answer: got {repeats}"
            )
        rule = check_aggregation(default_aggregation(votes) if aggregation is None else aggregation)
        table, kind = check_table(votes, rule, classes, None if known is None else known.rows)
        if progress is not None:
            known = replace(Known() if known is None else known, progress=progress)
        moot = _Moot.checked(table, kind, adversaries, truth, classes, known, checks.seed(seed), missing)
        outcome = moot.outcome(rule)
        if progress is not None and outcome.final is None:
            progress(1, 1)
        return outcome


def default_aggregation(votes: npt.ArrayLike) -> Aggregation:
    """The default aggregation, by the kind of the votes."""
    array = np.asarray(votes) if not isinstance(votes, np.ndarray) else votes
    if array.dtype.kind != "f":
        return Plurality()
    return Pool() if array.ndim == 3 else TrimmedMean()


def rule_in_words(rule: Aggregation) -> str:
    """The aggregation with its parameters that are not the default, such as ``Plurality(least=2)``."""
    name = type(rule).__name__
    if not is_dataclass(rule):
        return name
    given = [f"{each.name}={getattr(rule, each.name)!r}" for each in fields(rule) if _is_set(rule, each)]
    return f"{name}({', '.join(given)})" if given and len(", ".join(given)) <= _SHORT else name


def _is_set(rule: Any, each: Any) -> bool:
    value = getattr(rule, each.name)
    return each.default is not MISSING and (value is not each.default and value != each.default)


@dataclass(frozen=True, eq=False, kw_only=True)
class CouncilOutcome(Outcome):
    """The outcome of a council.

    Parameters
    ----------
    decisions : ndarray, shape (participant, input)
        The answer of each honest participant, or with an own aggregation its final vote. -1 (or NaN) for
        none, and for adversaries.
    honest : ndarray of bool, shape (participant,)
        Whether it follows the protocol.
    classes : int
        The number of classes; 0 for numbers.
    converged : ndarray of bool, shape (input,)
        Whether all honest participants hold the same.
    rounds : ndarray of int, shape (input,)
        0: nobody asks anybody after the table is agreed.
    queries : ndarray of int, shape ()
        0.
    history : None
        There are no rounds to record.
    labels : sequence, optional
        Names of the classes.
    names : sequence of str, optional
        Names of the participants.
    present : None
        Unused: see ``first``.
    run : None
        Unused: the table explains.
    faults : mapping of int to str, optional
        Participants that could not answer at all, and why.
    first : ndarray, shape (participant, input[, class])
        The agreed table of first votes, those of adversaries as they chose them.
    aggregation : Aggregation
        The aggregation of the table.
    aggregated : Answers
        The decision of each input, with shares and ties.
    final : FinalVotes, optional
        With an own aggregation the final vote of every participant, those of adversaries as they chose them.
    adversaries : mapping of int to Adversary or NumberAdversary
        The behaviour of the malicious participants.

    Examples
    --------
    >>> from folkmoot import Council, deliberate
    >>> outcome = deliberate([[0, 1, 2], [0, 1, 1], [1, 1, 0]], Council())
    >>> outcome.decision, outcome.agreement.round(2)
    (array([ 0,  1, -1]), array([0.67, 1.  , 0.33]))
    >>> outcome.accuracy([0, 1, 2])  # a tie of three counts as one third
    0.777...
    """

    first: Array = field(repr=False)
    aggregation: Aggregation
    aggregated: Answers = field(repr=False)
    final: FinalVotes | None = field(default=None, repr=False)
    adversaries: Mapping[int, Adversary | NumberAdversary]

    @property
    def numbers(self) -> bool:
        """Whether the answers are numbers."""
        return self.aggregated.choices is None

    @property
    def votes(self) -> Array:
        """The first votes as they stand in the table; of probabilities the likeliest class."""
        return likeliest(self.first) if self.first.ndim == 3 and not self.numbers else self.first

    @property
    def malicious(self) -> dict[int, str]:
        """The malicious participants by number, with their behaviour."""
        return {i: repr(adversary) for i, adversary in self.adversaries.items()}

    @property
    def protocol(self) -> Council:
        """The protocol."""
        return Council()

    @property
    def decision(self) -> Array:
        """(input,): the answer: a class, -1 where undecided; or a number, NaN where nobody gave one."""
        return self.aggregated.decision

    @property
    def tied(self) -> Bools:
        """(input, class): the classes that are tied for the first place, where there are several."""
        return self.aggregated.tied_classes(self.classes)

    @cached_property
    def agreement(self) -> Floats:
        """(input,): the largest share of the vote that a class has; of numbers 1 where there is one."""
        if self.aggregated.shares is None:
            return np.asarray(self._answered.astype(np.float64))
        return np.asarray(self.aggregated.shares.max(axis=1, initial=0.0))

    @property
    def probabilities(self) -> Floats:
        """(input, class): the share of the vote that each class has; equal ones where nobody voted."""
        self._needs_classes("probabilities", "error")
        return shares_of(self.aggregated.probabilities(self.classes))

    @property
    def _answered(self) -> Bools:
        if not self.numbers:
            return np.asarray(self.decision != NO_VOTE)
        given = ~np.isnan(self.decision)
        return np.asarray(given if given.ndim == 1 else given.all(axis=1))

    @property
    def undecided(self) -> int:
        """Inputs without an answer; ties are among them."""
        return int((~self._answered).sum())

    def accuracies(self, truth: npt.ArrayLike) -> Floats:
        """Measure the accuracy of the answers; an array of one, as there is one repetition."""
        self._needs_classes("accuracy", "error")
        right = check_truth(truth, self.first.shape[1], complete=False)
        return np.array([right_shares(self.aggregated, right).mean()])

    def honest_accuracy(self, truth: npt.ArrayLike) -> float:
        """Measure the mean accuracy of what the honest participants hold: that of their final votes.

        With a public aggregation all hold the same, and this is ``accuracy``.
        """
        if self.final is None:
            return self.accuracy(truth)
        self._needs_classes("accuracy", "error")
        right = check_truth(truth, self.first.shape[1], complete=False)
        there = known_inputs(right)
        return float((self.decisions[self.judges][:, there] == right[there]).mean())

    def error(self, truth: npt.ArrayLike) -> float:
        """Measure the root mean squared error of the answers, of numbers."""
        return _rmse(self.decision, self._true_numbers(truth))

    def honest_error(self, truth: npt.ArrayLike) -> float:
        """Measure the mean over the honest participants of the error of what they hold."""
        right = self._true_numbers(truth)
        return float(np.mean([_rmse(held, right) for held in self.decisions[self.judges]]))

    def _true_numbers(self, truth: npt.ArrayLike) -> Floats:
        if not self.numbers:
            raise ValueError("error is for numbers: these answers are classes; take accuracy(truth)")
        return check_true_numbers(truth, self.decision.shape)

    def _needs_classes(self, what: str, instead: str) -> None:
        if self.numbers:
            raise ValueError(f"{what} is for classes: these answers are numbers; take {instead}(truth)")

    @cached_property
    def judges(self) -> Ints:
        """(judge,): the honest participants that hold any answer; all honest ones if nobody does."""
        held = self.decisions
        some = (held != NO_VOTE) if held.dtype.kind == "i" else ~np.isnan(held)
        holding = np.flatnonzero(self.honest & some.reshape(len(held), -1).any(axis=1))
        return holding if holding.size else np.flatnonzero(self.honest)

    def _known_run(self, what: str) -> NoReturn:
        raise ValueError(
            f"{what} needs turns, and a council has none: explain(outcome, i) explains from the table"
        )

    def _repr_html_(self) -> str:
        from folkmoot.pictures.notebook import titled

        many, inputs = self.first.shape[:2]
        rows = [("decided", f"{1 - self.undecided / inputs:.3f} of the inputs")]
        if not self.numbers:
            rows.append(
                ("agreement", f"{self.agreement.mean():.3f} on average; it says nothing about who is right")
            )
        if self.adversaries:
            rows.append(("adversaries", str(len(self.adversaries))))
        what = "" if self.numbers else f", {self.classes} classes"
        title = f"{many} participants, {inputs:,} inputs{what}; council, {rule_in_words(self.aggregation)}"
        then = ["folkmoot.explain(outcome, i) explains an answer from the table"]
        return titled(title, ["outcome", ""], rows, then)


def right_shares(answers: Answers, truth: Ints) -> Floats:
    """(known input,): 1 where an answer is right, 1/m where the right class is one of m that are tied."""
    return shares_right(answers.decision, truth, answers.tied, answers.choices)


def _rmse(numbers: Array, truth: Floats) -> float:
    there: Bools = np.asarray(~(np.isnan(numbers) | np.isnan(truth)))
    apart = np.asarray(numbers - truth)[there]
    return float(np.sqrt((apart**2).mean())) if apart.size else float("nan")


def likeliest(said: Array) -> Ints:
    """(participant, input): the likeliest class by (participant, input, class) probabilities, -1 for none."""
    there: Bools = ~np.asarray(np.isnan(said).any(axis=2), dtype=np.bool_)
    return np.where(there, np.nan_to_num(said).argmax(axis=2), NO_VOTE)


@dataclass(frozen=True, eq=False)
class _Moot:
    """A checked table, with who lies and what is known."""

    table: Array
    kind: Kind
    classes: int
    adversaries: dict[int, Any]
    truth: Array | None
    known: Known
    missing: Missing
    seed: int

    @classmethod
    def checked(
        cls,
        table: Array,
        kind: Kind,
        adversaries: Mapping[int, Adversary | NumberAdversary] | None,
        truth: npt.ArrayLike | None,
        classes: int | None,
        known: Known | None,
        seed: int,
        missing: Missing,
    ) -> _Moot:
        many, inputs = table.shape[:2]
        if kind == "labels":
            count = class_count(table, classes, truth)
        else:
            count = table.shape[2] if kind == "probabilities" else 0
        malicious = check_adversaries(adversaries, many, NumberAdversary if kind == "numbers" else Adversary)
        known_truth = None if kind == "numbers" else _truth_for(truth, inputs, count, malicious)
        besides = Known() if known is None else known
        if kind != "numbers" and besides.classes is None:
            besides = replace(besides, classes=count)
        return cls(
            table,
            kind,
            count,
            malicious,
            known_truth,
            replace(besides, seed=besides.seed or seed),
            missing,
            seed,
        )

    def outcome(self, rule: Aggregation) -> CouncilOutcome:
        """Everything that follows from the table."""
        first = self._with_lies(self.table, self.truth)
        known = (
            self.known if self.known.rows is None else replace(self.known, rows=self._rows(self.known.rows))
        )
        honest = ~np.isin(np.arange(len(first)), list(self.adversaries))
        final = None
        if isinstance(rule, OwnAggregation):
            asked = np.arange(len(first)) if known.judges is None else known.judges
            final = rule.final_votes(first, replace(known, judges=asked[honest[asked]]))
            final = replace(final, votes=self._final(final.votes, first, honest))
            answers = count_final_votes(final.votes, known)
            decisions = final.votes.copy()
        else:
            answers = rule.aggregate(first, known)
            decisions = np.broadcast_to(answers.decision, (len(first), *answers.decision.shape)).copy()
        decisions[~honest] = NO_VOTE if decisions.dtype.kind == "i" else np.nan
        held = decisions[honest]
        same = (held == held[0]) | ((held != held) & (held[0] != held[0]))  # NaN is no number, twice
        inputs = first.shape[1]
        return CouncilOutcome(
            decisions=decisions,
            honest=honest,
            classes=self.classes,
            converged=same.reshape(len(held), inputs, -1).all(axis=(0, 2)),
            rounds=np.zeros(inputs, dtype=np.int64),
            queries=np.array(0),
            first=first,
            aggregation=rule,
            aggregated=answers,
            final=final,
            adversaries=self.adversaries,
        )

    def _rows(self, rows: Rows) -> Rows:
        """The rows, with what adversaries say of them in place of what their models do."""
        if rows.votes.ndim != self.table.ndim:
            raise ValueError(
                f"known.rows.votes must have as many axes as votes ({self.table.ndim}): got {rows.votes.ndim}"
            )
        truth = None if self.kind == "numbers" else np.asarray(rows.truth)
        return replace(rows, votes=self._with_lies(rows.votes, truth))

    def _with_lies(self, table: Array, truth: Array | None) -> Array:
        """The table with what the adversaries hand in."""
        if not self.adversaries:
            return table
        if self.kind == "numbers":
            return _numbers_with_lies(table, self.adversaries, self.seed)
        if self.kind == "labels":
            return self._classes_with_lies(table, truth)
        said = self._classes_with_lies(likeliest(table), truth)
        result = table.copy()
        for participant in self.adversaries:  # it says its lie as if it were sure of it
            lie = said[participant]
            result[participant] = np.where(
                (lie != NO_VOTE)[:, None], lie[:, None] == np.arange(self.classes), np.nan
            )
        return result

    def _classes_with_lies(self, votes: Ints, truth: Array | None) -> Ints:
        return handed_in(votes, self.adversaries, truth, self.classes, missing=self.missing, seed=self.seed)

    def _final(self, votes: Array, first: Array, honest: Bools) -> Array:
        """(participant, input): the final votes, with those that the adversaries choose."""
        if not self.adversaries:
            return votes
        result = votes.copy()
        if self.kind == "numbers":
            mine = np.where(honest.reshape(-1, *[1] * (votes.ndim - 1)), votes, self.table)
            return _numbers_with_lies(mine, self.adversaries, self.seed)
        own = likeliest(self.table) if self.kind == "probabilities" else self.table
        shown = likeliest(first) if self.kind == "probabilities" else first
        rng = np.random.default_rng(self.seed)
        die = rng.integers(0, max(self.classes, 1), (len(votes), votes.shape[1]))
        behind = _runner_up(votes[honest])
        for participant, adversary in self.adversaries.items():
            if adversary.sees is Sees.ASKER:  # it cannot equivocate here, so it keeps its first vote
                result[participant] = shown[participant]
                continue
            seen = np.zeros(votes.shape[1], dtype=np.int64)
            if adversary.sees is Sees.DIE:
                seen = die[participant]
            elif adversary.sees is Sees.RUNNER_UP:
                seen = behind
            elif adversary.sees is Sees.TARGET:
                seen = votes[self._followed(adversary, honest)]
            result[participant] = self._said(adversary, seen, own[participant])
            if self.missing == "absent":
                result[participant, own[participant] == NO_VOTE] = NO_VOTE
        return result

    @staticmethod
    def _followed(adversary: Adversary, honest: Bools) -> int:
        target = checks.integer("target", adversary.follows)
        if not (0 <= target < len(honest) and honest[target]):
            raise ValueError(
                f"{type(adversary).__name__} must follow an honest participant: target={target} is not one"
            )
        return target

    def _said(self, adversary: Adversary, seen: Ints, own: Ints) -> Ints:
        """(input,): its final vote, by its observation, first vote and the truth."""
        right = np.full(len(own), NO_VOTE) if self.truth is None else self.truth
        lies = adversary.lies_on(len(own))
        cases, which = np.unique(np.stack([seen, own, right, lies]), axis=1, return_inverse=True)
        said = [
            (adversary.answer if lie else adversary.candid)(look, vote=vote, truth=true, classes=self.classes)
            for look, vote, true, lie in cases.T.tolist()
        ]
        return np.array(said, dtype=np.int64)[which.ravel()]


def _truth_for(
    truth: npt.ArrayLike | None, inputs: int, classes: int, malicious: dict[int, Any]
) -> Array | None:
    """The complete truth if an adversary must know it, else None."""
    if truth is not None and not any(Knows.TRUTH in adversary.knows for adversary in malicious.values()):
        return None
    return check_known_truth(truth, inputs, classes, malicious)


def _numbers_with_lies(values: Array, adversaries: Mapping[int, NumberAdversary], seed: int) -> Array:
    shaped = values if values.ndim == 3 else values[:, :, None]
    sent = numbers_handed_in(shaped, adversaries, seed=seed)
    sent[~(np.abs(sent) <= LARGEST).all(axis=2)] = np.nan  # too large a number is no vote
    return np.asarray(sent.reshape(values.shape))


def _runner_up(held: Ints) -> Ints:
    """(input,): the class with the second most votes, -1 where the first two are tied.

    Where all hold one class it is the first of the others.
    """
    choices, places = ballots(held)
    counts = counted(places, choices.shape[1])
    order = np.argsort(-counts, axis=1, kind="stable")
    ranked = np.take_along_axis(counts, order, axis=1)
    named = np.take_along_axis(choices, order, axis=1)
    other = np.where(named[:, 0] == 0, 1, 0)
    if choices.shape[1] < 2:
        return np.where(ranked[:, 0] > 0, other, NO_VOTE)
    behind = np.where(ranked[:, 1] > 0, named[:, 1], other)
    return np.where(ranked[:, 0] == ranked[:, 1], NO_VOTE, behind)

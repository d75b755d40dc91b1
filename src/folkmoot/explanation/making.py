"""``explain``: why an input got its answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np

from folkmoot import checks
from folkmoot.aggregation import DawidSkene, Weighted
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.explanation import words
from folkmoot.explanation.closeness import closeness
from folkmoot.explanation.explanation import (
    ChangeOfMind,
    CountedBy,
    Explanation,
    Part,
    Participation,
    Reply,
    Uncounted,
)
from folkmoot.outcome import Outcome, Turns
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.simulation.council import CouncilOutcome, rule_in_words
from folkmoot.votes import NO_VOTE, Votes


def explain(outcome: Outcome, i: int, *, called: str | None = None) -> Explanation:
    """Explain the answer to one input; with several repetitions, that of the first.

    Parameters
    ----------
    outcome : Outcome
        From ``deliberate``. The answer of a council is explained from its table; one of Slush, Snowflake
        or Snowball from the turns of its run.
    i : int
        The input: its column in the votes.
    called : str, optional
        The name of the input. Default: "input" and its number.

    Returns
    -------
    Explanation
        The facts, and one sentence that sums them up.

    Raises
    ------
    ValueError
        If there is no such input, or the outcome does not know its first votes.

    Examples
    --------
    >>> from folkmoot import Slush, deliberate, explain
    >>> outcome = deliberate([[0], [0], [0], [1]], Slush(k=2, alpha=2))
    >>> found = explain(outcome, 0)
    >>> found.answer, found.changes[0].name, found.closeness.votes
    ('class 0', 'participant 3', 2)
    """
    place = _input(outcome, i)
    return _explained(outcome, place, f"input {place}" if called is None else called)


def _input(outcome: Outcome, i: int) -> int:
    inputs = _first_votes(outcome).shape[1]
    if not 0 <= checks.integer("i", i) < inputs:
        raise ValueError(f"i must satisfy 0 <= i < {inputs}, the number of inputs: got i={i}")
    return int(i)


def _first_votes(outcome: Outcome) -> Votes:
    if outcome.votes is None:
        raise ValueError("explain needs first votes, which outcomes of Slush, Snowflake and Snowball have")
    return outcome.votes


def _explained(outcome: Outcome, i: int, name: str) -> Explanation:
    if isinstance(outcome, CouncilOutcome):
        return _explained_by_table(outcome, i, name)
    several = outcome.decisions.ndim == 3
    decisions = (outcome.decisions[0] if several else outcome.decisions)[:, i].astype(np.int64)
    decision = int(np.atleast_2d(outcome.decision)[0, i])
    rounds = int(np.atleast_2d(outcome.rounds)[0, i])
    first = _first_votes(outcome)[:, i]
    turns = outcome.turns(i)
    tell = _Names(outcome)
    counted_by, counts = _counts(outcome, i)
    absent = np.zeros(len(first), dtype=np.bool_) if outcome.present is None else ~outcome.present[:, i]
    voted, ends = ([tell.label(c) for c in each.tolist()] for each in (first, decisions))
    participants = _participations(outcome, tell, voted, ends, counts, absent, {})
    changes = _changes(turns, tell)
    runner_up = _runner_up(decision, first, decisions, outcome.classes)
    missing, close = [], None
    if decision == NO_VOTE:
        missing.append(f"What was missing: {_why_open(outcome, first)}.")
    else:
        close = closeness(outcome, i, decision, runner_up, first, counts)
    following = np.array([participant.part == "follows" for participant in participants])
    columns, held = _grid(turns, first, rounds, following)
    answer = tell.label(decision)
    return Explanation(
        called=name,
        answer=answer,
        runner_up=tell.label(runner_up),
        labels=tuple(tell.labels),
        participants=participants,
        counted_by=counted_by,
        changes=changes,
        uncounted=_uncounted(participants, turns, counted_by),
        closeness=close,
        rounds=rounds,
        sentence=words.sentence(answer, participants, changes, rounds),
        missing=tuple(missing),
        columns=columns,
        held=held,
    )


class _Names:
    """Names of participants and classes."""

    def __init__(self, outcome: Outcome) -> None:
        given: Any = range(outcome.classes) if outcome.labels is None else outcome.labels
        plain = given.tolist() if isinstance(given, np.ndarray) else list(given)
        self.labels = [f"class {each}" if outcome.labels is None else _plain(each) for each in plain]
        self.names = outcome.names

    def label(self, c: int) -> Any:
        """The label of a class; None for none."""
        return None if c == NO_VOTE else self.labels[int(c)]

    def who(self, participant: int) -> str:
        """The participant's name."""
        return f"participant {participant}" if self.names is None else str(self.names[participant])


def _plain(label: Any) -> Any:
    """A label that is hashable and not None: numbers and words unchanged."""
    if isinstance(label, np.generic):
        return label.item()
    return label if isinstance(label, Hashable) and label is not None else str(label)


def _counts(outcome: Outcome, i: int) -> tuple[CountedBy, Floats]:
    """How votes are weighted, and (participant,) the weights."""
    everybody = len(outcome.honest)
    if outcome.run is not None and outcome.run.weights is not None:
        return "weight", outcome.run.weights
    counts = np.ones(everybody)
    if outcome.present is not None:
        counts[~outcome.present[:, i]] = 0.0
    counts[list(outcome.faults)] = 0.0
    return "equal", counts


def _participations(
    outcome: Outcome,
    tell: _Names,
    voted: list[Any],
    holds: list[Any],
    counts: Floats,
    absent: Bools,
    notes: Any,
) -> tuple[Participation, ...]:
    """Everybody's part; ``notes`` (by number) are of those who follow the protocol."""
    found = []
    for p, (vote, held) in enumerate(zip(voted, holds, strict=True)):
        part: Part = "absent" if absent[p] else "follows"
        note = notes.get(p, "")
        if p in outcome.faults:
            part, note = "failed", f"could not answer: {outcome.faults[p]}"
        elif p in outcome.malicious:
            part, note = "lies", f"does not follow the protocol: {outcome.malicious[p].removesuffix('()')}"
        found.append(Participation(tell.who(p), vote, float(counts[p]), held, part, note))
    return tuple(found)


def _runner_up(decision: int, first: Ints, decisions: Ints, classes: int) -> int:
    """The other class with the most first votes; among equals, the one that more hold in the end."""
    votes, ends = Counter(first.tolist()), Counter(decisions.tolist())
    others = [c for c in range(classes) if c != decision]
    if decision == NO_VOTE:
        leader = max(others, key=lambda c: (ends[c], votes[c], -c))
        others.remove(leader)
    return max(others, key=lambda c: (votes[c], ends[c], -c))


def _changes(turns: Turns, tell: _Names) -> tuple[ChangeOfMind, ...]:
    return tuple(
        ChangeOfMind(
            round=turn.round,
            name=tell.who(turn.participant),
            before=tell.label(turn.before),
            after=tell.label(turn.after),
            answers=tuple(
                Reply(tell.who(peer), tell.label(said))
                for peer, said in zip(turn.asked, turn.answers, strict=True)
            ),
            tally=turn.tally[turn.after],
            alpha=turn.alpha,
        )
        for turn in (turns[int(row)] for row in np.flatnonzero(turns.before != turns.after))
    )


def _uncounted(
    participants: tuple[Participation, ...], turns: Turns, counted_by: CountedBy
) -> tuple[Uncounted, ...]:
    """Participants whose answers did not count, and why."""
    asked = np.arange(turns.asked.shape[1]) < turns.size[:, None]
    silent = Counter(turns.asked[asked & (turns.answers == NO_VOTE)].tolist())
    found = []
    for p, participant in enumerate(participants):
        reason = ""
        if participant.part == "failed":
            reason = "could not answer"
        elif participant.part == "absent":
            reason = "no vote on this input"
        elif silent[p]:
            reason = f"{_times(silent[p])} that named no label"
        elif counted_by != "equal" and participant.counts == 0:
            reason = "weight 0"
        if reason:
            found.append(Uncounted(participant.name, reason))
    return tuple(found)


def _times(count: int) -> str:
    return "1 answer" if count == 1 else f"{count} answers"


def _why_open(outcome: Outcome, first: Ints) -> str:
    """Why there is no answer."""
    protocol = outcome.protocol
    everybody = np.arange(len(first))
    lying, there = np.isin(everybody, list(outcome.malicious)), ~np.isin(everybody, list(outcome.faults))
    if outcome.present is not None:
        there &= first != NO_VOTE
    votes = first[there & ~lying & (first != NO_VOTE)]
    if not votes.size:
        return "nobody that follows the protocol voted on it"
    if isinstance(protocol, SnowProtocol) and protocol.weights is None and there.sum() > 1:
        needed = int(protocol.scaled(int(there.sum())).thresholds(len(first))[~lying].min())
        most = int(np.bincount(votes).max()) + int((there & lying).sum())  # the malicious may answer anything
        if most < needed:
            return (
                f"no label has the {needed} equal first votes that win a query; a council counts all first "
                "votes"
            )
    rounds = int(outcome.rounds.max())
    return f"{rounds} rounds did not bring a majority; a council counts all first votes"


def _grid(turns: Turns, first: Ints, rounds: int, following: Bools) -> tuple[tuple[str, ...], Ints]:
    """The classes held at first and after each round."""
    columns, held = ["first vote"], [first]
    now = np.where(following, first, NO_VOTE)  # adversaries hold nothing
    changed = turns.before != turns.after
    for number in range(1, rounds + 1):
        for row in np.flatnonzero(changed & (turns.round == number)):
            now[turns.participant[row]] = turns.after[row]
        columns.append(str(number))
        held.append(now.copy())
    return tuple(columns), np.stack(held, axis=1).astype(np.int64)


# ---- a council: the table of first votes is the explanation, so nothing is replayed -----------------------


def _explained_by_table(outcome: CouncilOutcome, i: int, called: str) -> Explanation:
    """First votes with their weights, the final votes, and the result of the rule."""
    tell = _Names(outcome)
    label = _number if outcome.numbers else tell.label
    first = [label(vote) for vote in outcome.votes[:, i]]
    final = None if outcome.final is None else [label(vote) for vote in outcome.final.votes[:, i]]
    answer = label(outcome.decision[i])
    counted_by, counts = _counts_of_rule(outcome, first)
    absent = np.array([vote is None and final is None for vote in first])
    back = {} if outcome.final is None else outcome.final.fell_back
    notes = {p: f"took the plurality: {why}" for p, why in back.items()}
    holds = [answer] * len(first) if final is None else final
    participants = _participations(outcome, tell, first, holds, counts, absent, notes)
    shares = _shares(outcome, i, label)
    rule = rule_in_words(outcome.aggregation)
    known = tuple(dict.fromkeys(each for each in [*dict(shares), *first, *(final or [])] if each is not None))
    grid = [first] if final is None else [first, final]
    place = {each: number for number, each in enumerate(known)}
    held = [[NO_VOTE if each is None else place[each] for each in column] for column in grid]
    return Explanation(
        called=called,
        answer=answer,
        runner_up=next((each for each, _ in shares if each != answer), None),
        labels=known,
        participants=participants,
        counted_by=counted_by,
        changes=None if final is None else (),
        uncounted=tuple(
            Uncounted(participant.name, "no vote on this input")
            for participant in participants
            if participant.voted is None
        ),
        closeness=None,
        rounds=0,
        sentence=_sentence(outcome, answer, first, final, shares, rule),
        columns=("first vote",) if final is None else ("first vote", "final vote"),
        held=np.array(held, dtype=np.int64).T,
        rule=rule,
        shares=shares,
    )


def _number(value: Any) -> Any:
    """A number for people, or several; None for NaN."""
    each = np.atleast_1d(np.asarray(value, dtype=np.float64))
    if np.isnan(each).any():
        return None
    rounded = tuple(float(f"{one:.6g}") for one in each.tolist())
    return rounded[0] if len(rounded) == 1 else rounded


def _counts_of_rule(outcome: CouncilOutcome, first: list[Any]) -> tuple[CountedBy, Floats]:
    """The weights of the votes if the rule has some; else 1 for a vote and 0 for none."""
    if outcome.final is not None and outcome.final.weights is not None:
        return "own", np.asarray(np.median(outcome.final.weights[outcome.judges], axis=0))
    if isinstance(outcome.aggregation, Weighted):
        return "weight", np.asarray(outcome.aggregation.weights, dtype=np.float64)
    if isinstance(outcome.aggregation, DawidSkene) and outcome.aggregated.skills is not None:
        return "accuracy", np.nan_to_num(outcome.aggregated.skills)
    return "equal", np.array([0.0 if each is None else 1.0 for each in first])


def _shares(outcome: CouncilOutcome, i: int, label: Any) -> tuple[tuple[Any, float], ...]:
    """The classes with a share of the vote, the largest first."""
    answers = outcome.aggregated
    if answers.choices is None or answers.shares is None:
        return ()
    each = zip(answers.choices[i].tolist(), answers.shares[i].tolist(), strict=True)
    found = [(label(choice), share) for choice, share in each if choice != NO_VOTE and share > 0]
    return tuple(sorted(found, key=lambda one: -one[1]))


def _sentence(
    outcome: CouncilOutcome,
    answer: Any,
    first: list[Any],
    final: list[Any] | None,
    shares: tuple[tuple[Any, float], ...],
    rule: str,
) -> str:
    if outcome.numbers:
        return _of_numbers(answer, first, final, rule)
    votes = Counter(each for each in first if each is not None)
    if not votes:
        return "There is no answer: nobody voted."
    whose = "the vote" if final is None else "the final votes"
    at_first = f"at first {words.shares_in_words(votes, 'were')}"
    shown = [f"{words.called(each)} {words.chance(share)}" for each, share in shares[:4]]
    if answer is None:
        return (
            f"There is no answer: {at_first}, and by {rule} no label leads ({', '.join(shown)} of {whose})."
        )
    end = f"{rule} gives it {words.chance(dict(shares)[answer])} of {whose}"
    if final is None:
        return f"{words.called(answer)} was the answer because {at_first}, and {end}."
    said = Counter(each for each in final if each is not None)
    return (
        f"{words.called(answer)} was the answer because {at_first}, in the end {said[answer]} of "
        f"{said.total()} voted for it, and so it has {words.chance(dict(shares)[answer])} of {whose} "
        f"(each came to its own by {rule})."
    )


def _of_numbers(answer: Any, first: list[Any], final: list[Any] | None, rule: str) -> str:
    given = [each for each in first if each is not None]
    if answer is None or not given:
        return "There is no answer: nobody gave a number."
    span = f"{len(given)} gave numbers at first"
    if not isinstance(given[0], tuple):
        span += f", from {min(given):g} to {max(given):g}"
    how = (
        f"{rule} makes that of them"
        if final is None
        else f"that is the median of their final votes by {rule}"
    )
    return f"{words.called(answer)} was the answer: {span}, and {how}."

"""``explain``: why an input got its answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.explanation import words
from folkmoot.explanation.closeness import closeness
from folkmoot.explanation.explanation import (
    ChangeOfMind,
    CountedBy,
    Explanation,
    Participation,
    Reply,
    Uncounted,
)
from folkmoot.explanation.table import explain_table
from folkmoot.outcome import Outcome, Turns
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.simulation.council import CouncilOutcome
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
    inputs = outcome.decisions.shape[-1]
    if not 0 <= checks.integer("i", i) < inputs:
        raise ValueError(f"i must satisfy 0 <= i < {inputs}, the number of inputs: got i={i}")
    _first_votes(outcome)
    return int(i)


def _first_votes(outcome: Outcome) -> Votes:
    if outcome.votes is None:
        raise ValueError("explain needs first votes, which outcomes of Slush, Snowflake and Snowball have")
    return outcome.votes


def _explained(outcome: Outcome, i: int, name: str) -> Explanation:
    if isinstance(outcome, CouncilOutcome):
        names = _Names(outcome)
        return explain_table(outcome, i, name, names.label, names.who)
    several = outcome.decisions.ndim == 3
    decisions = (outcome.decisions[0] if several else outcome.decisions)[:, i].astype(np.int64)
    decision = int(np.atleast_2d(outcome.decision)[0, i])
    rounds = int(np.atleast_2d(outcome.rounds)[0, i])
    first = _first_votes(outcome)[:, i]
    turns = outcome.turns(i)
    tell = _Names(outcome)
    counted_by, counts = _counts(outcome, i)
    participants = tuple(
        _participation(outcome, tell, p, i, first, decisions, counts) for p in range(len(first))
    )
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


def _participation(
    outcome: Outcome,
    tell: _Names,
    p: int,
    i: int,
    first: Ints,
    decisions: Ints,
    counts: Floats,
) -> Participation:
    part, note = "follows", ""
    if p in outcome.faults:
        part, note = "failed", f"could not answer: {outcome.faults[p]}"
    elif p in outcome.malicious:
        part, note = "lies", f"does not follow the protocol: {outcome.malicious[p].removesuffix('()')}"
    elif outcome.present is not None and not outcome.present[p, i]:
        part, note = "absent", ""
    return Participation(
        name=tell.who(p),
        voted=tell.label(int(first[p])),
        counts=float(counts[p]),
        holds=tell.label(int(decisions[p])),
        part=part,  # type: ignore[arg-type]
        note=note,
    )


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

"""Explain an answer of a council from its table of first votes and its final votes; nothing is replayed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from folkmoot.aggregation import DawidSkene, Weighted
from folkmoot.arrays import Floats
from folkmoot.explanation import words
from folkmoot.explanation.explanation import CountedBy, Explanation, Participation, Uncounted
from folkmoot.simulation.council import CouncilOutcome, rule_in_words
from folkmoot.votes import NO_VOTE


def explain_table(outcome: CouncilOutcome, i: int, called: str, labels: Any, names: Any) -> Explanation:
    """First votes with their weights, the final votes, and the result of the rule."""
    label = _number if outcome.numbers else labels
    first = [label(vote) for vote in outcome.votes[:, i]]
    final = None if outcome.final is None else [label(vote) for vote in outcome.final.votes[:, i]]
    answer = label(outcome.decision[i])
    counted_by, counts = _counts(outcome, first)
    participants = tuple(
        Participation(
            name=names(p),
            voted=first[p],
            counts=float(counts[p]),
            holds=answer if final is None else final[p],
            part=_part(outcome, p, first[p]),
            note=_note(outcome, p),
        )
        for p in range(len(first))
    )
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


def _counts(outcome: CouncilOutcome, first: list[Any]) -> tuple[CountedBy, Floats]:
    """The weights of the votes if the rule has some; else 1 for a vote and 0 for none."""
    if outcome.final is not None and outcome.final.weights is not None:
        return "own", np.asarray(np.median(outcome.final.weights[outcome.judges], axis=0))
    if isinstance(outcome.aggregation, Weighted):
        return "weight", np.asarray(outcome.aggregation.weights, dtype=np.float64)
    if isinstance(outcome.aggregation, DawidSkene) and outcome.aggregated.skills is not None:
        return "accuracy", np.nan_to_num(outcome.aggregated.skills)
    return "equal", np.array([0.0 if each is None else 1.0 for each in first])


def _part(outcome: CouncilOutcome, p: int, voted: Any) -> Any:
    if p in outcome.faults:
        return "failed"
    if not outcome.honest[p]:
        return "lies"
    return "absent" if voted is None and outcome.final is None else "follows"


def _note(outcome: CouncilOutcome, p: int) -> str:
    if p in outcome.faults:
        return f"could not answer: {outcome.faults[p]}"
    if p in outcome.adversaries:
        return f"does not follow the protocol: {outcome.malicious[p].removesuffix('()')}"
    reasons = {} if outcome.final is None else outcome.final.fell_back
    return f"took the plurality: {reasons[p]}" if p in reasons else ""


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

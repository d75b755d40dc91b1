"""The outcome of a council of texts: answers, who said what, who chose what, and a record of it all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np

from folkmoot.aggregation.texts import Choice, Verdict
from folkmoot.comparing.independence import Independence, find_independence
from folkmoot.votes import NO_VOTE

__all__ = ["Answered", "Saying", "TextOutcome"]

FORMAT: Final = "folkmoot council 1"


@dataclass(frozen=True)
class Saying:
    """A proposal of a member, or why there is none.

    Parameters
    ----------
    text : str or None
        The proposal.
    reason : str
        Why there is none: one of a few fixed lines.
    detail : str
        More of that.

    Examples
    --------
    >>> from folkmoot.texts.outcome import Saying
    >>> Saying("Paris.").text, Saying(None, "its model was too slow").reason
    ('Paris.', 'its model was too slow')
    """

    text: str | None
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Answered:
    """One question, with all that was said of it; members by number.

    Parameters
    ----------
    question : str or JSON value
        The question.
    proposed : tuple of Saying
        The proposal of each member.
    choices : mapping of int to Choice
        The choice of each member that has one.
    why : mapping of int to (str, str)
        Why a member chose nothing: the reason, and its detail.
    verdict : Verdict
        The candidates, their classes and the answer.

    Examples
    --------
    >>> from folkmoot import ConsensusText
    >>> moot = ConsensusText([lambda text: "4", lambda text: "5", lambda text: "6"], choose="same")
    >>> each = moot.ask(["2 + 2 = ?"]).answered[0]
    >>> each.undecided, [each.proposed[i].text for i in each.choices]
    ('3 answers are tied', ['4', '5', '6'])
    """

    question: Any
    proposed: tuple[Saying, ...]
    choices: Mapping[int, Choice]
    why: Mapping[int, tuple[str, str]]
    verdict: Verdict

    @property
    def undecided(self) -> str:
        """Why there is no answer; "" if there is one."""
        return "" if self.verdict.decided is not None else why_undecided(self.verdict)


@dataclass(frozen=True, eq=False)
class TextOutcome:
    """The outcome of a request.

    Parameters
    ----------
    names : tuple of str
        The members.
    answered : tuple of Answered
        One per question.
    faults : int
        The number of members that may lie.
    least : int
        How many choices an answer needs.
    choose : tuple of str
        How each member chooses.
    embedding : str
        The embedding that found the nearest answer, in words; "" if nobody chose by it.
    seconds : float
        The time it took, in seconds.

    Examples
    --------
    >>> from folkmoot import ConsensusText
    >>> members = [lambda text: "4", lambda text: "four", lambda text: "4"]
    >>> outcome = ConsensusText(members, choose="same").ask(["2 + 2 = ?", "And 1 + 3?"])
    >>> outcome.answers
    ['4', '4']
    >>> outcome.answered[0].verdict.votes.values()
    dict_values([1, 2])
    """

    names: tuple[str, ...]
    answered: tuple[Answered, ...]
    faults: int
    least: int
    choose: tuple[str, ...]
    embedding: str
    seconds: float = field(compare=False)

    @property
    def answers(self) -> list[str | None]:
        """The answer to each question; None where it is undecided."""
        return [each.verdict.answer for each in self.answered]

    @cached_property
    def independence(self) -> Independence:
        """The effective number of independent proposals; it needs 20 questions."""
        return independence_of([each.verdict for each in self.answered], self.names)

    @property
    def effective_votes(self) -> float | None:
        """A lower bound of the effective number of proposals; None for fewer than 20 questions."""
        return self.independence.votes

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, members by name: what ``folkmoot council --out`` writes."""
        return {
            "format": FORMAT,
            "members": [
                {"name": name, "choose": how} for name, how in zip(self.names, self.choose, strict=True)
            ],
            "faults": self.faults,
            "least": self.least,
            "embedding": self.embedding,
            "seconds": round(self.seconds, 3),
            "effective_votes": self.effective_votes,
            "alike": [list(group) for group in self.independence.groups],
            "questions": [self._replies(each) for each in self.answered],
        }

    def _replies(self, each: Answered) -> dict[str, Any]:
        found, names = each.verdict, self.names
        choices = {names[i]: choice for i, choice in sorted(each.choices.items())}
        return {
            "question": each.question,
            "answer": found.answer,
            "undecided": each.undecided,
            "candidates": candidates_by_name(found, each.choices, names),
            "proposals": {
                name: {"text": said.text} if said.text is not None else _reason(said.reason, said.detail)
                for name, said in zip(names, each.proposed, strict=True)
            },
            "choices": {
                name: {"best": choice.best, "same": list(choice.same)} for name, choice in choices.items()
            },
            "no_choice": {names[i]: _reason(*why) for i, why in sorted(each.why.items())},
        }

    def to_json(self) -> str:
        """The same as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"


def candidates_by_name(
    found: Verdict, choices: Mapping[int, Choice], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Each candidate as plain data: who proposed it, who chose it, and the first one that means the same."""
    return [
        {
            "text": candidate.text,
            "proposed_by": [names[i] for i in candidate.proposers],
            "chosen_by": [names[i] for i, choice in sorted(choices.items()) if choice.best == place],
            "same_as": found.classes[place],
        }
        for place, candidate in enumerate(found.candidates)
    ]


def why_undecided(found: Verdict) -> str:
    """Say why choices decide nothing."""
    if not found.candidates:
        return "nobody proposed an answer"
    if found.tied:
        return f"{len(found.tied)} answers are tied"
    most = max(found.votes.values(), default=0)
    return f"the most choices of an answer are {most}, too few" if most else "nobody chose an answer"


def independence_of(verdicts: Sequence[Verdict], names: Sequence[str]) -> Independence:
    """Estimate how many independent votes the proposals of members are worth, as the choices joined them."""
    table = np.full((len(names), len(verdicts)), NO_VOTE, dtype=np.int64)
    answer = np.full(len(verdicts), NO_VOTE, dtype=np.int64)
    for k, found in enumerate(verdicts):
        first = k * len(names)  # answers to different questions are different classes
        for i, candidate in enumerate(found.candidates):
            table[list(candidate.proposers), k] = first + found.classes[i]
        if found.decided is not None:
            answer[k] = first + found.decided
    return find_independence(table, None, answer, names)


def _reason(reason: str, detail: str) -> dict[str, str]:
    return {"reason": reason, "detail": detail} if detail else {"reason": reason}

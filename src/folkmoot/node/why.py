"""Why an input of a motion got its answer: the table of its votes, and the answer computed from it again.

Everybody's votes are those that the moot agreed on. The weights in a member's own final votes are known to
that member only, so a node tells its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from folkmoot.files.terminal import printable
from folkmoot.node.account import Account, Decision, MotionVotes, account_of
from folkmoot.node.answer import answer_of
from folkmoot.node.review import ballots_of
from folkmoot.node.session.terms import Answers

Vote: TypeAlias = str | float | dict[str, float] | None  # a label, a number, or probabilities
_DIGITS: Final = 3  # of probabilities in text


class Voter(msgspec.Struct, frozen=True):
    """One member's part in an answer.

    ``weight`` is the weight of its first vote by the public rule, ``own_weight`` that in this node's own
    final vote. The latter is None if this node does not weigh.
    """

    name: str
    first: Vote
    final: Vote
    weight: float
    own_weight: float | None
    note: str  # why it has no vote, or what is known against it


class Why(msgspec.Struct, frozen=True):
    """Why an input got its answer.

    ``holds`` says whether the answer that is stored was found again from the agreed votes; None while there
    is no answer.
    """

    motion: str
    input: int
    answers: Answers
    state: str
    decision: Decision
    undecided: str  # why there is no decision; "" if there is one
    rule: str
    least: int  # first votes that a label needs
    participants: int
    faults: int
    voters: list[Voter]
    holds: bool | None

    def __str__(self) -> str:
        return "\n".join([f"input {self.input}: {_said(self.decision, 'undecided')}", *self._sentences()])

    def _sentences(self) -> list[str]:
        final = any(each.final is not None for each in self.voters)
        many = sum(each.first is not None or each.final is not None for each in self.voters)
        if self.decision is None:
            sentences = [f"There is no decision: {self.undecided}."]
        elif self.answers == "numbers":
            sentences = [f"It is the {self.rule} of {many} votes; {self.faults} may lie."]
        else:
            when = "chosen it" if self.answers == "text" else "voted for it at first"
            sentences = [
                f"It was decided by {self.rule} of {many} {'final' if final else 'first'} votes; "
                f"{self.least} must have {when}."
            ]
        lines = [
            [each.name, _said(each.first), *([_said(each.final)] if final else []), *self._more(each)]
            for each in self.voters
        ]
        titles = ["member", "first vote", *(["final vote"] if final else [])]
        titles += [*(["weight"] if self._weighs else []), ""]
        sentences += _table([titles, *lines])
        if self.holds is not None:
            found = "gives the answer that was decided" if self.holds else "GIVES ANOTHER ANSWER"
            sentences.append(f"Computed again from the agreed votes, the motion {found}.")
        return sentences

    @property
    def _weighs(self) -> bool:
        return any(each.weight != 1 or each.own_weight is not None for each in self.voters)

    def _more(self, voter: Voter) -> list[str]:
        shown = voter.weight if voter.own_weight is None else voter.own_weight
        return [*([f"{shown:.{_DIGITS}g}"] if self._weighs else []), voter.note]


def why(found: MotionVotes, place: int) -> Why:
    """Why an input got its answer; ValueError if the motion has no such input. A thread may make it."""
    stored, header = found.stored, found.stored.header
    if header.invites:
        raise ValueError("this motion invites validation rows: nothing is decided in it")
    if not 0 <= place < header.asked:
        raise ValueError(f"input must be one of the motion, 0 to {header.asked - 1}: got {place}")
    account = account_of(found)
    terms = header.terms
    weights = terms.weights if terms.used_rule == "weighted" else ()
    asked, n = None if found.first is None else found.first.asked, len(stored.names)
    none: list[Vote] = [None] * n
    first = none if asked is None else ballots_of(header, 0).in_words(asked[:, place])
    final = none if found.final is None else ballots_of(header, 1).in_words(found.final[:, place])
    if terms.answers == "text" and account.candidates:
        chosen = {name: each.text for each in account.candidates[place] for name in each.chosen_by}
        final = [chosen.get(name) for name in stored.names]
    voters = [
        Voter(
            name, first[i], final[i], float(weights[i]) if weights else 1.0, account.weights.get(name),
            _note(account, name),
        )
        for i, name in enumerate(stored.names)
    ]  # fmt: skip
    return Why(
        account.motion, place, terms.answers, account.state, account.decisions[place],
        account.why_undecided[place] or "", account.rule, account.least, account.participants, account.faults,
        voters, _holds(found),
    )  # fmt: skip


def _holds(found: MotionVotes) -> bool | None:
    """Whether the stored answer follows from the agreed votes."""
    stored = found.stored
    if found.outcome is None or stored.certificate is None:
        return None
    answer = answer_of(stored.header, found.tables, found.coin, len(stored.names), stored.faults)
    return answer == stored.answer


def _note(account: Account, name: str) -> str:
    notes = {
        "accused: " + account.evidence.get(name, ""): name in account.evidence,
        "committed twice": name in account.struck,
        "did not commit": name in account.silent,
        "did not reveal": name in account.withheld,
        account.abstained.get(name, ""): name in account.abstained,
        account.refused.get(name, ""): name in account.refused and name not in account.abstained,
    }
    return "; ".join(note for note, holds in notes.items() if holds)


def _said(vote: Vote, none: str = "-") -> str:
    if vote is None:
        return none
    if isinstance(vote, dict):
        return ", ".join(f"{printable(label)} {chance:.{_DIGITS}f}" for label, chance in vote.items())
    return printable(vote) if isinstance(vote, str) else f"{vote:g}"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]

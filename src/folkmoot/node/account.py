"""The account of a motion: what was decided, from which votes, who took part; from what one node has stored.

There is one account for labels, probabilities and numbers. What it says of votes and decisions is what the
moot agreed on, the same at every node; of its own part a node knows more than others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

import msgspec
import numpy as np

from folkmoot.aggregation.interface import ballots
from folkmoot.arrays import Ints
from folkmoot.node.ballots import CERTAIN, NOTHING, there
from folkmoot.node.certificate import Outcome, coin_of, opened
from folkmoot.node.evidence import what_of
from folkmoot.node.review import Reviewed, answers_of, ballots_of, reviewed
from folkmoot.node.rules.votes import count
from folkmoot.node.session.frames import Told, read_stored
from folkmoot.node.session.statement import Members
from folkmoot.node.session.terms import Answers, Terms
from folkmoot.node.storage.storage import Part, Storage, StoredMotion
from folkmoot.node.text_account import CandidateTold, TextsTold, texts_told
from folkmoot.votes import NO_VOTE

State: TypeAlias = Literal["open", "decided", "stopped"]
Votes: TypeAlias = dict[str, int | float]
Decision: TypeAlias = str | float | None

# Lists of an account with one entry per input.
BY_INPUT: Final = (
    "decisions", "shares", "first_votes", "final_votes", "why_undecided", "own_votes", "candidates",
)  # fmt: skip
# ``Terms`` by the names of its fields, as JSON has them; the header has them as an array.
NamedTerms = msgspec.defstruct(
    "Terms",
    [(field.name, field.type, field.default) for field in msgspec.structs.fields(Terms)],
    frozen=True,
    forbid_unknown_fields=True,
)


class Account(msgspec.Struct, frozen=True):
    """Everything that people ask about a motion, as one node knows it; participants by name.

    Parameters
    ----------
    motion : str
        Its name: the hash of its header, in hexadecimal.
    moot : str
        The digest of the roster that it was put under.
    state : {"open", "decided", "stopped"}
        Whether its answer is final here, or this node gave it up.
    asker : str
        Who put it.
    created, opened : float
        When, in seconds since 1970: by the asker's clock, and when this node heard of it.
    inputs : int
        How many inputs the asker wants decided.
    answers : {"labels", "probabilities", "numbers", "text"}
        What was asked for.
    labels, columns : list of str
        The possible answers, and what the columns of the inputs are called, if they have names.
    rule : str
        How the answer follows from the votes.
    terms : Terms
        On what terms it was put.
    participants, faults, quorum, least : int
        How many are in the roster, how many of them may lie, how many must sign what is agreed, and how many
        first votes a label needs.
    decisions : list of (str, float or None)
        The label or number that the moot decided for each input; None where it decided none.
    shares : list of (float or None)
        For each input, of the votes that were counted, the share of the decision, or of the most common label
        if there is none. None for numbers, and where nobody voted.
    first_votes, final_votes : list of dict
        For each input: how many voted for each label; of probabilities, their mean for each label; of
        numbers the ``lowest``, ``median`` and ``highest``, and how many ``votes`` there are. Final votes on
        probabilities are labels. Without final votes in the terms, theirs are empty.
    undecided : int
        Inputs without a decision.
    why_undecided : list of (str or None)
        Why there is none; None where there is one.
    own_votes : list of (str, float or None)
        What the model of this node voted at first on each input: a label (of probabilities the likeliest) or
        a number. None where it has no vote, and everywhere in an account that no node tells.
    effective_votes : float or None
        How many independent votes the first votes on labels are worth, at least: they agree more than by
        chance (``folkmoot.comparing``). None below 20 inputs and for numbers.
    alike : list of list of str
        Members whose first votes depart from the decisions together.
    took_part : list of str
        Whose first votes were agreed on.
    silent, withheld, struck : list of str
        Who did not commit to votes, who committed and did not reveal them, and who committed twice.
    abstained : dict
        Who took part without a vote on some inputs, and why.
    refused : dict
        Who told this node that it takes no part, and why.
    evidence : dict
        Against whom there is evidence, and what it did.
    certified : bool
        Whether there is a certificate.
    invites : bool
        Whether it asks for validation rows only; then nothing is decided.
    rows : dict
        How many validation rows of each participant were among the inputs.
    seconds : float
        How long it took here; of an open motion, nothing is known.
    rounds : int
        Rounds that this node asked in a talk.
    bytes_sent, bytes_received : int
        What it cost this node.
    weights : dict
        What first votes counted in this node's own final votes.
    fell_back : str
        Why its final votes are the plurality of first votes, where it might choose.
    why : str
        Why this node gave it up.
    candidates : list of list of CandidateTold
        For each input of a motion about texts: what was proposed, by whom, and who chose it.

    Examples
    --------
    >>> account = moot.ask([[61, 1]])  # doctest: +SKIP
    >>> account.decisions, account.silent  # doctest: +SKIP
    (['yes'], ['east'])
    """

    motion: str
    moot: str
    state: State
    asker: str
    created: float
    opened: float
    inputs: int
    answers: Answers
    labels: list[str]
    columns: list[str]
    rule: str
    terms: NamedTerms  # type: ignore[valid-type]
    participants: int
    faults: int
    quorum: int
    least: int
    decisions: list[str | float | None]
    shares: list[float | None]
    first_votes: list[Votes]
    final_votes: list[Votes]
    undecided: int
    why_undecided: list[str | None]
    own_votes: list[str | float | None]
    effective_votes: float | None
    alike: list[list[str]]
    took_part: list[str]
    silent: list[str]
    withheld: list[str]
    struck: list[str]
    abstained: dict[str, str]
    refused: dict[str, str]
    evidence: dict[str, str]
    certified: bool
    invites: bool
    rows: dict[str, int]
    seconds: float
    rounds: int
    bytes_sent: int
    bytes_received: int
    weights: dict[str, float]
    fell_back: str
    why: str
    candidates: list[list[CandidateTold]] = []


@dataclass(frozen=True, eq=False)
class Held:
    """What a node holds of a motion: the row of it, and the agreed votes of the polls that are over.

    ``outcome`` is what its certificate shows; None while there is none.
    """

    stored: StoredMotion
    tables: list[dict[int, bytes]]
    outcome: Outcome | None

    @property
    def first(self) -> Reviewed | None:
        """First votes on the asker's inputs, and on validation rows; None before they are agreed."""
        header = self.stored.header
        if header.invites or not self.tables:
            return None
        return reviewed(header, self.tables[0], len(self.stored.names))

    @property
    def final(self) -> Ints | None:
        """(member, input): the final votes; None if there are none, or not yet, or where they are choices."""
        if len(self.tables) < 2 or self.stored.header.terms.answers == "text":
            return None
        return ballots_of(self.stored.header, 1).table(self.tables[1], len(self.stored.names))

    @property
    def coin(self) -> bytes:
        """The bytes that settle ties and order candidates; empty before there is a certificate."""
        return b"" if self.stored.certificate is None else coin_of(self.stored.certificate)


def held(storage: Storage, name: bytes) -> Held:
    """What is stored of a motion; ``DamagedError`` if it is not what this node wrote."""
    stored = storage.motion(name)
    return held_of(stored, [] if stored.certificate is not None else storage.journal(name))


def held_of(stored: StoredMotion, journal: Sequence[bytes]) -> Held:
    """The same, of what was read already; ``journal`` is not looked at if there is a certificate."""
    if stored.certificate is not None and stored.answer is not None:
        outcome = opened(stored.certificate, len(stored.names), stored.faults, stored.answer)
        return Held(stored, [poll.votes for poll in outcome.polls], outcome)
    return Held(stored, _journalled(journal), None)


def _journalled(records: Sequence[bytes]) -> list[dict[int, bytes]]:
    """The tables that a journal holds: a poll that is over leaves a record of its reveals alone."""
    tables: list[dict[int, bytes]] = []
    for record in records:
        told = read_stored(record)
        alone = isinstance(told, Told) and told.reveals and not (told.said or told.bodies)
        if isinstance(told, Told) and alone and told.reveals[0].poll == len(tables):
            tables.append({each.member: each.votes for each in told.reveals})
    return tables


def account_of(found: Held, node: str = "") -> Account:
    """What a node knows of a motion; it needs no database, so that a thread may make it.

    ``node`` is the name of the one that tells.
    """
    stored, header = found.stored, found.stored.header
    terms, names, part = header.terms, stored.names, stored.part
    first = found.first
    votes = None if first is None else first.asked
    asked = 0 if header.invites else header.asked
    decided = _decided(found, asked)
    counted = found.final if terms.polls == 2 else votes
    kind = "labels" if terms.answers == "probabilities" and terms.polls == 2 else terms.answers
    members = Members(len(names), stored.faults, lambda *_: False)
    decisions = [_told(terms, each) for each in decided]
    texts = texts_told(header, found.tables, found.coin, stored.faults, names, decisions)
    effective, alike = texts.independence or _independence(terms.answers, votes, decided, names)
    return Account(
        motion=stored.name.hex(),
        moot=header.moot.hex(),
        state=stored.state,
        asker=names[header.asker],
        created=header.created,
        opened=stored.opened,
        inputs=asked,
        answers=terms.answers,
        labels=list(terms.labels),
        columns=[column.name for column in header.schema],
        rule=terms.used_rule,
        terms=NamedTerms(**msgspec.structs.asdict(terms)),
        participants=members.n,
        faults=members.faults,
        quorum=members.quorum,
        least=terms.least or members.faults + 1,
        decisions=decisions,
        shares=texts.shares or _shares(kind, counted, decided),
        first_votes=texts.first_votes or _tallies(terms.answers, terms, votes, asked),
        final_votes=texts.final_votes or _tallies(kind, terms, found.final, asked),
        candidates=texts.candidates,
        undecided=sum(each is None for each in decisions),
        why_undecided=_why(found, decisions, votes, counted, kind, texts),
        own_votes=_own_votes(terms, votes, names.index(node) if node in names else None, asked),
        effective_votes=effective,
        alike=alike,
        took_part=[names[i] for i in sorted(found.tables[0])] if found.tables else [],
        **_who(found),
        abstained=_abstained(found, votes),
        refused=_refused(found, votes),
        evidence={names[member]: what_of(each) for member, each in stored.evidence.items()},
        certified=stored.certificate is not None,
        invites=header.invites,
        rows=_rows(names, first),
        seconds=_seconds(stored),
        rounds=len(part.rounds),
        bytes_sent=part.bytes_sent,
        bytes_received=part.bytes_received,
        weights=part.weights,
        fell_back=part.fell_back,
        why=part.why,
    )


def _seconds(stored: StoredMotion) -> float:
    known = stored.part.seconds
    end = stored.decided if stored.stopped is None else stored.stopped
    if known is not None or end is None:
        return float(known or 0.0)
    return round(end - stored.opened, 3)


def _who(found: Held) -> dict[str, list[str]]:
    """Who did not commit, did not reveal, or committed twice, in any poll."""
    names = found.stored.names
    told: dict[str, list[str]] = {"silent": [], "withheld": [], "struck": []}
    for poll in found.outcome.polls[:1] if found.outcome is not None else ():
        told["silent"] = [names[i] for i in poll.agreed.absent]
    for poll in found.outcome.polls if found.outcome is not None else ():
        for what, places in (("withheld", poll.withheld), ("struck", poll.agreed.struck)):
            told[what] += [names[i] for i in places if names[i] not in told[what]]
    return told


def _rows(names: Sequence[str], first: Reviewed | None) -> dict[str, int]:
    owners = [] if first is None else first.owner.tolist()
    return {names[member]: owners.count(member) for member in sorted(set(owners))}


def _abstained(found: Held, votes: Ints | None) -> dict[str, str]:
    """Members whose first votes are not on all inputs; of itself a node knows why."""
    if votes is None:
        return {}
    stored = found.stored
    names, inputs = stored.names, votes.shape[1]
    some = there(stored.header.terms.answers, votes).sum(axis=1).tolist()
    told = {
        names[i]: "has no votes" if not some[i] else f"has no vote on {inputs - some[i]} of {inputs} inputs"
        for i in sorted(found.tables[0])
        if some[i] < inputs
    }
    return {who: stored.part.refused.get(who, why) for who, why in told.items()}


def _refused(found: Held, votes: Ints | None) -> dict[str, str]:
    """Who said that it takes no part, or why it has no votes; not who told why it lacks some."""
    stored, some = found.stored, set[str]()
    if votes is not None:
        voted = there(stored.header.terms.answers, votes).sum(axis=1)
        some = {name for name, many in zip(stored.names, voted.tolist(), strict=True) if many}
    return {who: why for who, why in stored.part.refused.items() if who not in some}


# Decisions


def _decided(found: Held, asked: int) -> list[Any]:
    """The number of a label, a multiple of the step, or a text, for each input; None for none."""
    stored = found.stored
    if stored.answer is None or stored.header.invites:
        return [None] * asked
    none = NOTHING if stored.header.terms.answers == "numbers" else NO_VOTE
    answers = answers_of(stored.header).unpack(stored.answer).tolist()
    return [None if each == none else each for each in answers]


def _told(terms: Terms, decided: int | str | None) -> Decision:
    """A decision as people read it."""
    if decided is None or isinstance(decided, str):
        return decided
    return number(decided, terms.step) if terms.answers == "numbers" else terms.labels[decided]


def number(steps: int, step: float) -> float:
    """So many steps of the grid, without the noise of binary fractions.

    >>> number(3, 0.1)
    0.3
    """
    return float(Decimal(repr(step)) * steps)


# Votes, counted


def likeliest(answers: Answers, votes: Ints) -> Ints:
    """(member, input): votes as labels; of probabilities the likeliest, the first of equals."""
    if answers != "probabilities":
        return votes
    return np.where(there(answers, votes), votes.argmax(axis=2), NO_VOTE)


def _own_votes(terms: Terms, votes: Ints | None, place: int | None, asked: int) -> list[Decision]:
    """First votes of one member, as decisions are told."""
    if votes is None or place is None:
        return [None] * asked
    none = NOTHING if terms.answers == "numbers" else NO_VOTE
    own = likeliest(terms.answers, votes[place : place + 1])[0].tolist()
    return [None if each == none else _told(terms, each) for each in own]


def _independence(
    answers: Answers, votes: Ints | None, decided: Sequence[int | None], names: Sequence[str]
) -> tuple[float | None, list[list[str]]]:
    """How many independent votes the members' are worth, and who departs from the decisions together."""
    if votes is None or answers in ("numbers", "text"):
        return None, []
    from folkmoot.comparing.independence import find_independence  # brings scipy's graphs

    answer = np.array([NO_VOTE if each is None else each for each in decided], dtype=np.int64)
    told = find_independence(likeliest(answers, votes).astype(np.int64), None, answer, names)
    worth = None if told.votes is None else round(told.votes, 2)
    return worth, [list(group) for group in told.groups]


def _shares(kind: Answers, votes: Ints | None, decided: Sequence[int | None]) -> list[float | None]:
    if votes is None or kind in ("numbers", "text"):
        return [None] * len(decided)
    flat = likeliest(kind, votes)
    choices, places = ballots(flat)
    counts = count(places, choices.shape[1])
    found: list[float | None] = []
    for i, own in enumerate(decided):
        told = dict(zip(choices[i].tolist(), counts[i].tolist(), strict=True))
        told.pop(NO_VOTE, None)
        most = told.get(own, 0) if own is not None else max(told.values(), default=0)
        total = sum(told.values())
        found.append(round(most / total, 6) if total else None)
    return found


def _tallies(kind: Answers, terms: Terms, votes: Ints | None, asked: int) -> list[Votes]:
    """What was voted on each input, in numbers that people read."""
    if votes is None or kind == "text":
        return [{} for _ in range(asked)]
    if kind == "numbers":
        return [_span(votes[:, i], terms.step) for i in range(asked)]
    if kind == "probabilities":
        voted = there(kind, votes).sum(axis=0)
        means = votes.sum(axis=0) / (CERTAIN * np.maximum(voted, 1))[:, None]
        return [
            {terms.labels[c]: round(float(row[c]), 6) for c in np.flatnonzero(row).tolist()} for row in means
        ]
    choices, places = ballots(votes)
    counts = count(places, choices.shape[1])
    return [
        {terms.labels[c]: many for c, many in zip(chosen, told, strict=True) if c != NO_VOTE and many}
        for chosen, told in zip(choices.tolist(), counts.tolist(), strict=True)
    ]


def _span(column: Ints, step: float) -> Votes:
    known = sorted(column[column != NOTHING].tolist())
    if not known:
        return {}
    middle = known[(len(known) - 1) // 2 : len(known) // 2 + 1]
    centre = Decimal(repr(step)) * sum(middle) / len(middle)
    ends = {"lowest": number(known[0], step), "median": float(centre), "highest": number(known[-1], step)}
    return {**ends, "votes": len(known)}


def _why(
    found: Held,
    decisions: Sequence[Decision],
    first: Ints | None,
    counted: Ints | None,
    kind: Answers,
    texts: TextsTold,
) -> list[str | None]:
    """Why each input has no decision; None where it has one."""
    stored = found.stored
    general = ""
    if stored.state == "open":
        general = "the motion is still open"
    elif stored.state == "stopped":
        general = f"this node gave the motion up: {stored.part.why or 'it says no more'}"
    elif texts.why:
        return [why if each is None else None for why, each in zip(texts.why, decisions, strict=True)]
    elif first is None or counted is None:
        general = "the asker did not tell which inputs are its own"
    if general or first is None or counted is None:
        return [general if each is None else None for each in decisions]
    return [
        _why_one(found, first[:, i : i + 1], counted[:, i : i + 1], kind) if each is None else None
        for i, each in enumerate(decisions)
    ]


def _why_one(found: Held, first: Ints, counted: Ints, kind: Answers) -> str:
    """Why nothing was decided from these votes on one input."""
    stored, terms = found.stored, found.stored.header.terms
    n, faults = len(stored.names), stored.faults
    voted = int(there(kind, counted).sum())
    if not voted:
        return "nobody holds a vote in the end" if there(terms.answers, first).any() else "nobody voted"
    if kind == "numbers":
        return f"only {voted} of {n} gave a number, and {2 * faults + 1} must"
    least = terms.least or faults + 1
    named = _count(terms, likeliest(terms.answers, first))
    if max(named.values(), default=0) < least:
        return f"at most {max(named.values(), default=0)} of {n} voted alike at first, and {least} must"
    ends = _count(terms, likeliest(kind, counted))
    most = max(ends.values())
    leaders = [label for label, many in ends.items() if many == most]
    if terms.used_rule == "plurality" and len(leaders) > 1:
        return f"{' and '.join(leaders[:4])} have {most} votes each"
    if named.get(leaders[0], 0) < least:
        return f"only {named.get(leaders[0], 0)} of {n} voted {leaders[0]} at first, and {least} must"
    return f"by {terms.used_rule} no label leads"


def _count(terms: Terms, column: Ints) -> dict[str, int]:
    labels, many = np.unique(column[column != NO_VOTE], return_counts=True)
    return dict(zip((terms.labels[c] for c in labels.tolist()), many.tolist(), strict=True))


# Of a certificate alone


def account_of_outcome(outcome: Outcome, names: Sequence[str], data: bytes) -> Account:
    """What a certificate says: the same, without what only a node knows."""
    stored = StoredMotion(
        outcome.motion, outcome.header.encoded(), b"", [""] * outcome.n, list(names), outcome.faults,
        outcome.header.created, 0.0, outcome.header.created, None, Part(seconds=0.0), outcome.answer, data,
        {}, {},
    )  # fmt: skip
    return account_of(Held(stored, [poll.votes for poll in outcome.polls], outcome))

"""The account of a motion: what was decided, from which votes, who took part; from what one node has stored.

There is one account for labels, probabilities and numbers. Its statements about votes and decisions are those
that the moot agreed on, the same at every node. A node knows more of its own part than others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from folkmoot.aggregation.interface import ballots
from folkmoot.aggregation.texts import Verdict
from folkmoot.arrays import Ints
from folkmoot.node.ballots import CERTAIN, NOTHING, likeliest, there
from folkmoot.node.certificate import Outcome, coin_of, opened
from folkmoot.node.choices import unpack_choices, verdicts
from folkmoot.node.evidence import what_of
from folkmoot.node.review import Reviewed, answers_of, ballots_of, reviewed
from folkmoot.node.rules.votes import count
from folkmoot.node.session.frames import Told, read_stored
from folkmoot.node.session.header import Header
from folkmoot.node.session.statement import Members
from folkmoot.node.session.terms import Answers, Terms
from folkmoot.node.storage.storage import Part, Storage, StoredMotion
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


class CandidateTold(msgspec.Struct, frozen=True):
    """A proposed text; members by name."""

    text: str  # the spelling of most proposers
    # The members that proposed it, and those that chose it at the end.
    proposed_by: list[str]
    chosen_by: list[str]
    same_as: int  # the first candidate of its class: that one means the same to a quorum


class Account(msgspec.Struct, frozen=True):
    """Everything that people ask about a motion, as one node knows it; participants by name.

    Examples
    --------
    >>> account = moot.ask([[61, 1]])  # doctest: +SKIP
    >>> account.decisions, account.silent  # doctest: +SKIP
    (['yes'], ['east'])
    """

    motion: str  # its name: the hash of its header, in hexadecimal
    moot: str  # the digest of the roster that it was put under
    state: State  # whether its answer is final here, or this node gave it up
    asker: str  # who put it
    # When, in seconds since 1970: by the asker's clock, and when this node heard of it.
    created: float
    opened: float
    inputs: int  # how many inputs the asker wants decided
    answers: Answers  # what was asked for
    # The possible answers, and what the columns of the inputs are called, if they have names.
    labels: list[str]
    columns: list[str]
    rule: str  # how the answer follows from the votes
    # On what terms it was put.
    terms: NamedTerms  # type: ignore[valid-type]
    # How many are in the roster, how many of them may lie, how many must sign what is agreed, and how
    # many first votes a label needs.
    participants: int
    faults: int
    quorum: int
    least: int
    # The label or number that the moot decided for each input; None where it decided none.
    decisions: list[str | float | None]
    # For each input, of the votes that were counted, the share of the decision, or of the most common
    # label if there is none. None for numbers, and where nobody voted.
    shares: list[float | None]
    # For each input: how many voted for each label; of probabilities, their mean for each label; of
    # numbers the ``lowest``, ``median`` and ``highest``, and how many ``votes`` there are. Final votes
    # on probabilities are labels. Without final votes in the terms, theirs are empty.
    first_votes: list[Votes]
    final_votes: list[Votes]
    undecided: int  # inputs without a decision
    why_undecided: list[str | None]  # why there is none; None where there is one
    # What the model of this node voted at first on each input: a label (of probabilities the likeliest)
    # or a number. None where it has no vote, and everywhere in an account that no node tells.
    own_votes: list[str | float | None]
    # How many independent votes the first votes on labels are worth, at least: they agree more than by
    # chance (``folkmoot.comparing``). None below 20 inputs and for numbers.
    effective_votes: float | None
    alike: list[list[str]]  # members whose first votes depart from the decisions together
    took_part: list[str]  # whose first votes were agreed on
    # Who did not commit to votes, who committed and did not reveal them, and who committed twice.
    silent: list[str]
    withheld: list[str]
    struck: list[str]
    abstained: dict[str, str]  # who took part without a vote on some inputs, and why
    refused: dict[str, str]  # who told this node that it takes no part, and why
    evidence: dict[str, str]  # against whom there is evidence, and what it did
    certified: bool  # whether there is a certificate
    invites: bool  # whether it asks for validation rows only; then nothing is decided
    rows: dict[str, int]  # how many validation rows of each participant were among the inputs
    seconds: float  # how long it took here; of an open motion, nothing is known
    rounds: int  # rounds that this node asked in a talk
    # What it cost this node.
    bytes_sent: int
    bytes_received: int
    weights: dict[str, float]  # what first votes counted in this node's own final votes
    fell_back: str  # why its final votes are the plurality of first votes, where it might choose
    why: str  # why this node gave it up
    # For each input of a motion about texts: what was proposed, by whom, and who chose it.
    candidates: list[list[CandidateTold]] = []


@dataclass(frozen=True, eq=False)
class Held:
    """A stored motion: its row, and the agreed votes of the polls that are over.

    ``outcome`` is what its certificate shows; None while there is none.
    """

    stored: StoredMotion
    tables: list[dict[int, bytes]]
    outcome: Outcome | None

    @cached_property
    def first(self) -> Reviewed | None:
        """First votes on the asker's inputs, and on validation rows; None before they are agreed."""
        header = self.stored.header
        if header.invites or not self.tables:
            return None
        return reviewed(header, self.tables[0], len(self.stored.names))

    @cached_property
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
    """The stored motion; ``DamagedError`` if it is not what this node wrote."""
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
    """A node's knowledge of a motion; it needs no database, so that a thread may make it.

    ``node`` is the name of the one that tells.
    """
    stored, header = found.stored, found.stored.header
    terms, names, part = header.terms, stored.names, stored.part
    first = found.first
    votes = None if first is None else first.asked
    asked = 0 if header.invites else header.asked
    decided = _decided(found)
    counted = found.final if terms.polls == 2 else votes
    said: Answers = "labels" if terms.answers == "probabilities" else terms.answers  # in the end
    decisions: list[Decision] = told_votes(said, terms, decided, asked)
    own = None
    if votes is not None and node in names:
        own = likeliest(terms.answers, votes)[names.index(node)]
    kind = said if terms.polls == 2 else terms.answers
    members = Members(len(names), stored.faults, lambda *_: False)
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
        shares=texts.shares or _shares(kind, counted, decided, asked),
        first_votes=texts.first_votes or _tallies(terms.answers, terms, votes, asked),
        final_votes=texts.final_votes or _tallies(kind, terms, found.final, asked),
        candidates=texts.candidates,
        undecided=sum(each is None for each in decisions),
        why_undecided=_why(found, decisions, votes, counted, kind, texts),
        own_votes=told_votes(said, terms, own, asked),
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


def _decided(found: Held) -> Ints | None:
    """(input,): the answer as it is stored: labels by number, multiples of the step, or texts."""
    stored = found.stored
    if stored.answer is None or stored.header.invites:
        return None
    return answers_of(stored.header).unpack(stored.answer)


def told_votes(kind: Answers, terms: Terms, votes: Ints | None, many: int) -> list[Any]:
    """So many votes as people read them: labels, numbers, texts, or probabilities by label; None for none."""
    if votes is None:
        return [None] * many
    if kind == "numbers":
        return [None if each == NOTHING else number(each, terms.step) for each in votes.tolist()]
    if kind == "text":
        return list(votes.tolist())
    if kind == "labels":
        return [None if each == NO_VOTE else terms.labels[each] for each in votes.tolist()]
    return [
        {terms.labels[c]: round(level / CERTAIN, 6) for c, level in enumerate(row) if level} or None
        for row in votes.tolist()
    ]


def number(steps: int, step: float) -> float:
    """So many steps of the grid, without the noise of binary fractions.

    >>> from folkmoot.node.account import number
    >>> number(3, 0.1)
    0.3
    """
    return float(Decimal(repr(step)) * steps)


# Votes, counted


def _independence(
    answers: Answers, votes: Ints | None, decided: Ints | None, names: Sequence[str]
) -> tuple[float | None, list[list[str]]]:
    """How many independent votes the members' are worth, and who departs from the decisions together."""
    if votes is None or answers in ("numbers", "text"):
        return None, []
    from folkmoot.comparing.independence import find_independence  # brings scipy's graphs

    answer = np.full(votes.shape[1], NO_VOTE) if decided is None else decided
    told = find_independence(likeliest(answers, votes).astype(np.int64), None, answer, names)
    worth = None if told.votes is None else round(told.votes, 2)
    return worth, [list(group) for group in told.groups]


def _shares(kind: Answers, votes: Ints | None, decided: Ints | None, asked: int) -> list[float | None]:
    if votes is None or kind in ("numbers", "text"):
        return [None] * asked
    flat = likeliest(kind, votes)
    choices, places = ballots(flat)
    counts = count(places, choices.shape[1])
    found: list[float | None] = []
    for i, own in enumerate([NO_VOTE] * asked if decided is None else decided.tolist()):
        told = dict(zip(choices[i].tolist(), counts[i].tolist(), strict=True))
        told.pop(NO_VOTE, None)
        most = max(told.values(), default=0) if own == NO_VOTE else told.get(own, 0)
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


# Texts: proposals, choices, and what follows from them


class TextsTold(NamedTuple):
    """Parts of an account; all empty for another motion, and before first votes are agreed."""

    candidates: list[list[CandidateTold]]
    first_votes: list[dict[str, int | float]]
    final_votes: list[dict[str, int | float]]
    shares: list[float | None]
    why: list[str]  # why an input has no decision, if it has none
    independence: tuple[float | None, list[list[str]]] | None


def texts_told(
    header: Header,
    tables: Sequence[Mapping[int, bytes]],
    coin: bytes,
    faults: int,
    names: Sequence[str],
    decisions: Sequence[Any],
) -> TextsTold:
    """Read the agreed tables; ``coin`` is the value of the first poll's commitments."""
    if header.terms.answers != "text" or header.invites or not tables:
        return TextsTold([], [], [], [], [], None)
    choices = tables[1] if len(tables) > 1 else {}
    judged = verdicts(header, (tables[0], choices), coin, faults)
    cast = {i: unpack_choices(data, header.inputs) for i, data in sorted(choices.items())}
    told = []
    for k, each in enumerate(judged):
        best = {i: choice.best for i, choices in cast.items() if (choice := choices[k]) is not None}
        told.append(
            [
                CandidateTold(
                    candidate.text,
                    [names[i] for i in candidate.proposers],
                    [names[i] for i, chosen in best.items() if chosen == place],
                    each.classes[place],
                )
                for place, candidate in enumerate(each.candidates)
            ]
        )
    from folkmoot.texts.outcome import independence_of, why_undecided  # brings scipy's graphs

    found_independence = independence_of(judged, names)
    worth = None if found_independence.votes is None else round(found_independence.votes, 2)
    return TextsTold(
        told,
        [{each.text: len(each.proposers) for each in one.candidates} for one in judged],
        [{one.text(first): votes for first, votes in one.votes.items()} for one in judged],
        [_share(one, decision) for one, decision in zip(judged, decisions, strict=True)],
        [why_undecided(one) for one in judged],
        (worth, [list(group) for group in found_independence.groups]) if len(tables) > 1 else None,
    )


def _share(found: Verdict, decision: str | None) -> float | None:
    """Of all choices, the share of the decision, or of the class with most choices if there is none."""
    total = sum(found.votes.values())
    if not total:
        return None
    named = {found.text(first): votes for first, votes in found.votes.items()}
    return round(named.get(decision or "", max(named.values())) / total, 6)


# Of a certificate alone


def account_of_outcome(outcome: Outcome, names: Sequence[str], data: bytes) -> Account:
    """The contents of a certificate: the same, without what only a node knows."""
    stored = StoredMotion(
        outcome.motion, outcome.header.encoded(), b"", [""] * outcome.n, list(names), outcome.faults,
        outcome.header.created, 0.0, outcome.header.created, None, Part(seconds=0.0), outcome.answer, data,
        {}, {},
    )  # fmt: skip
    return account_of(Held(stored, [poll.votes for poll in outcome.polls], outcome))

"""The account of a motion: what was decided, from which votes, who took part; from what one node has stored.

There is one account for labels, probabilities and numbers. Its statements about votes and decisions are those
that the moot agreed on, the same at every node. A node knows more of its own part than others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec
import numpy as np

from folkmoot.aggregation.texts import Verdict
from folkmoot.arrays import Ints
from folkmoot.node.answer import verdicts
from folkmoot.node.ballots import Ballots, Choices, Labels, Tally
from folkmoot.node.certificate import Outcome, coin_of, opened
from folkmoot.node.evidence import what_of
from folkmoot.node.review import Reviewed, ballots_of, reviewed
from folkmoot.node.session.frames import Told, read_stored
from folkmoot.node.session.statement import Members
from folkmoot.node.session.terms import Answers, Terms
from folkmoot.node.storage.storage import Part, Storage, StoredMotion
from folkmoot.votes import NO_VOTE

if TYPE_CHECKING:
    from folkmoot.comparing.independence import Independence

State: TypeAlias = Literal["open", "decided", "stopped"]
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
    first_votes: list[Tally]
    final_votes: list[Tally]
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
class MotionVotes:
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

    @cached_property
    def voted(self) -> list[int] | None:
        """On how many inputs each member voted at first; None before that is known."""
        if self.first is None or self.first.asked is None:
            return None
        many: list[int] = self.first.form.voted(self.first.asked).sum(axis=1).tolist()
        return many

    @property
    def coin(self) -> bytes:
        """The bytes that settle ties and order candidates; empty before there is a certificate."""
        return b"" if self.stored.certificate is None else coin_of(self.stored.certificate)


def read_votes(storage: Storage, name: bytes) -> MotionVotes:
    """The stored motion; ``DamagedError`` if it is not what this node wrote."""
    stored = storage.motion(name)
    return votes_in(stored, [] if stored.certificate is not None else storage.journal(name))


def votes_in(stored: StoredMotion, journal: Sequence[bytes]) -> MotionVotes:
    """The same, of what was read already; ``journal`` is not looked at if there is a certificate."""
    if stored.certificate is not None and stored.answer is not None:
        outcome = opened(stored.certificate, len(stored.names), stored.faults, stored.answer)
        return MotionVotes(stored, [poll.votes for poll in outcome.polls], outcome)
    return MotionVotes(stored, _journalled(journal), None)


def _journalled(records: Sequence[bytes]) -> list[dict[int, bytes]]:
    """The tables that a journal holds: a poll that is over leaves a record of its reveals alone."""
    tables: list[dict[int, bytes]] = []
    for record in records:
        frame = read_stored(record)
        alone = isinstance(frame, Told) and frame.reveals and not (frame.said or frame.bodies)
        if isinstance(frame, Told) and alone and frame.reveals[0].poll == len(tables):
            tables.append({each.member: each.votes for each in frame.reveals})
    return tables


def account_of(found: MotionVotes, node: str = "") -> Account:
    """A node's knowledge of a motion; it needs no database, so that a thread may make it.

    ``node`` is the name of the one that tells.
    """
    stored, header = found.stored, found.stored.header
    terms, names, part = header.terms, stored.names, stored.part
    asked = 0 if header.invites else header.asked
    first_form, final_form = ballots_of(header, 0), ballots_of(header, 1)
    first = found.first
    votes = None if first is None else first.asked
    counted, form = (found.final, final_form) if terms.polls == 2 else (votes, first_form)
    decided = None
    if stored.answer is not None and not header.invites:
        decided = final_form.unpack(stored.answer)
    own = None
    if votes is not None and node in names:
        own = first_form.likeliest(votes)[names.index(node)]
    nobody: list[Any] = [None] * asked
    decisions: list[Decision] = nobody if decided is None else final_form.in_words(decided)
    nothing: list[Tally] = [{}] * asked
    members = Members(len(names), stored.faults, lambda *_: False)
    about: dict[str, Any]
    if terms.answers == "text" and not header.invites and found.tables:
        about = _about_texts(found, decisions)
    else:
        flat = None if votes is None or not terms.labels else first_form.likeliest(votes)
        effective, alike = _independence(flat, decided, names)
        about = {
            "shares": nobody if counted is None or not terms.labels else _shares(form, counted, decided),
            "first_votes": nothing if votes is None else first_form.tallies(votes),
            "final_votes": nothing if found.final is None else final_form.tallies(found.final),
            "effective_votes": effective,
            "alike": alike,
            "why_undecided": _why(found, decisions, lambda i: _why_one(found, i)),
        }
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
        undecided=sum(each is None for each in decisions),
        own_votes=nobody if own is None else final_form.in_words(own),
        took_part=[names[i] for i in sorted(found.tables[0])] if found.tables else [],
        **about,
        **_who(found),
        abstained=_abstained(found),
        refused=_refused(found),
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


def _who(found: MotionVotes) -> dict[str, Any]:
    """Who did not commit, did not reveal, or committed twice, in any poll."""
    names = found.stored.names
    absent: dict[str, Any] = {"silent": [], "withheld": [], "struck": []}
    for poll in found.outcome.polls[:1] if found.outcome is not None else ():
        absent["silent"] = [names[i] for i in poll.agreed.absent]
    for poll in found.outcome.polls if found.outcome is not None else ():
        for what, places in (("withheld", poll.withheld), ("struck", poll.agreed.struck)):
            absent[what] += [names[i] for i in places if names[i] not in absent[what]]
    return absent


def _rows(names: Sequence[str], first: Reviewed | None) -> dict[str, int]:
    owners = [] if first is None else first.owner.tolist()
    return {names[member]: owners.count(member) for member in sorted(set(owners))}


def _abstained(found: MotionVotes) -> dict[str, str]:
    """Members whose first votes are not on all inputs; of itself a node knows why."""
    many = found.voted
    if many is None:
        return {}
    stored, inputs = found.stored, found.stored.header.asked
    why = {}
    for i in sorted(found.tables[0]):
        if many[i] < inputs:
            how = f"has no vote on {inputs - many[i]} of {inputs} inputs" if many[i] else "has no votes"
            why[stored.names[i]] = stored.part.refused.get(stored.names[i], how)
    return why


def _refused(found: MotionVotes) -> dict[str, str]:
    """Who said that it takes no part, or why it has no votes; not who told why it lacks some."""
    stored = found.stored
    voted = {name for name, many in zip(stored.names, found.voted or (), strict=False) if many}
    return {who: why for who, why in stored.part.refused.items() if who not in voted}


# Votes, counted


def _independence(
    votes: Ints | None, decided: Ints | None, names: Sequence[str]
) -> tuple[float | None, list[list[str]]]:
    """How many independent votes the members' are worth, and who departs from the decisions together."""
    if votes is None:
        return None, []
    from folkmoot.comparing.independence import find_independence  # brings scipy's graphs

    answer = np.full(votes.shape[1], NO_VOTE) if decided is None else decided
    return _in_short(find_independence(votes.astype(np.int64), None, answer, names))


def _in_short(found: Independence) -> tuple[float | None, list[list[str]]]:
    worth = None if found.votes is None else round(found.votes, 2)
    return worth, [list(group) for group in found.groups]


def _shares(form: Ballots, table: Ints, decided: Ints | None) -> list[float | None]:
    """Of the votes on each input, the share of the decision, or of the most common label without one."""
    found: list[float | None] = []
    named = Labels(table.shape[1], form.labels).tallies(form.likeliest(table))
    for votes, own in zip(named, [NO_VOTE] * len(named) if decided is None else decided, strict=True):
        most = max(votes.values(), default=0) if own == NO_VOTE else votes.get(form.labels[own], 0)
        found.append(round(most / sum(votes.values()), 6) if votes else None)
    return found


def _why(
    found: MotionVotes, decisions: Sequence[Decision], why_one: Callable[[int], str]
) -> list[str | None]:
    """Why each input has no decision; None where it has one."""
    stored = found.stored
    general = ""
    if stored.state == "open":
        general = "the motion is still open"
    elif stored.state == "stopped":
        general = f"this node gave the motion up: {stored.part.why or 'it says no more'}"
    elif found.first is None or found.first.asked is None:
        general = "the asker did not tell which inputs are its own"
    return [general or why_one(i) if each is None else None for i, each in enumerate(decisions)]


def _why_one(found: MotionVotes, i: int) -> str:
    """Why nothing was decided from the votes on an input."""
    stored, header, terms = found.stored, found.stored.header, found.stored.header.terms
    n, faults = len(stored.names), stored.faults
    assert found.first is not None  # noqa: S101 (``_why`` has looked)
    assert found.first.asked is not None  # noqa: S101
    first, counted, form = found.first.asked[:, i : i + 1], found.first.asked[:, i : i + 1], found.first.form
    if found.final is not None:
        counted, form = found.final[:, i : i + 1], ballots_of(header, 1)
    voted = int(form.voted(counted).sum())
    if not voted:
        ever = found.first.form.voted(first).any()
        return "nobody holds a vote in the end" if ever else "nobody voted"
    if not terms.labels:
        return f"only {voted} of {n} gave a number, and {2 * faults + 1} must"
    least = terms.least or faults + 1
    (named,) = Labels(1, terms.labels).tallies(found.first.form.likeliest(first))
    most = max(named.values(), default=0)
    if most < least:
        return f"at most {most} of {n} voted alike at first, and {least} must"
    (ends,) = Labels(1, terms.labels).tallies(form.likeliest(counted))
    most = max(ends.values())
    leaders = [label for label, many in ends.items() if many == most]
    if terms.used_rule == "plurality" and len(leaders) > 1:
        return f"{' and '.join(leaders[:4])} have {most} votes each"
    if named.get(leaders[0], 0) < least:
        return f"only {named.get(leaders[0], 0)} of {n} voted {leaders[0]} at first, and {least} must"
    return f"by {terms.used_rule} no label leads"


# Texts: proposals, choices, and what follows from them


def _about_texts(found: MotionVotes, decisions: Sequence[Any]) -> dict[str, Any]:
    """Votes, shares and candidates of a motion about texts."""
    from folkmoot.texts.outcome import candidates_by_name, independence_of, why_undecided  # brings scipy

    stored, header, names = found.stored, found.stored.header, found.stored.names
    choices = found.tables[1] if len(found.tables) > 1 else {}
    judged = verdicts(header, (found.tables[0], choices), found.coin, stored.faults)
    cast = {i: Choices(header.inputs).unpack(data) for i, data in choices.items()}
    candidates = []
    for k, one in enumerate(judged):
        chosen = {i: choice for i, each in cast.items() if (choice := each[k]) is not None}
        candidates.append([CandidateTold(**each) for each in candidates_by_name(one, chosen, names)])
    effective, alike = _in_short(independence_of(judged, names)) if len(found.tables) > 1 else (None, [])
    return {
        "candidates": candidates,
        "first_votes": [{each.text: len(each.proposers) for each in one.candidates} for one in judged],
        "final_votes": [{one.text(first): many for first, many in one.votes.items()} for one in judged],
        "shares": [_share(one, decision) for one, decision in zip(judged, decisions, strict=True)],
        "effective_votes": effective,
        "alike": alike,
        "why_undecided": _why(found, decisions, lambda i: why_undecided(judged[i])),
    }


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
    return account_of(MotionVotes(stored, [poll.votes for poll in outcome.polls], outcome))

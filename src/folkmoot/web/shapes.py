"""What is said over HTTP, as types: JSON is checked against them, and ``/openapi.json`` is made from them."""

from __future__ import annotations

from typing import Any, Final, Literal
from urllib.parse import quote

import msgspec

from folkmoot.network.service.asking import Terms, Voting, Weights
from folkmoot.network.storage.account import Account
from folkmoot.network.storage.invitations import Invited
from folkmoot.network.wire.forms import Answers

PER_INPUT: Final = (
    "decisions", "agreement", "first_votes", "majority", "why_undecided", "claims", "first_numbers",
    "windows",
)  # fmt: skip


class Live(msgspec.Struct, frozen=True):
    """A motion under way, as this node sees it: its own questions, and what it was sent. It sees no more."""

    phase: str
    round: int
    rounds: int
    remaining: float  # seconds until the deadline
    committed: list[str]
    closed: list[str]
    asked: list[str]  # in its latest round
    heard: int  # how many of them answered
    shares: dict[str, float]  # of their votes on all inputs, by label
    held: dict[str, float]  # the same, of what this node holds
    apart: float | None = None  # of numbers: how far those answers are apart, on the worst input
    refused: dict[str, str] = {}  # who has said that it takes no part, and why


# All of an account but what it says of each input; how it stands while it is under way; where its certificate
# is, if there is one.
Motion = msgspec.defstruct(
    "Motion",
    [(field.name, field.type) for field in msgspec.structs.fields(Account) if field.name not in PER_INPUT]
    + [("decided", int), ("live", Live | None), ("certificate", str | None)],
    frozen=True,
)


def motion(account: Account, live: Live | None, *, certified: bool) -> Any:
    """An account without its inputs; ``certified``: there is a certificate of it."""
    said = {name: getattr(account, name) for name in Motion.__struct_fields__ if hasattr(account, name)}
    certificate = f"/v1/motions/{account.motion}/certificate" if certified else None
    decided = account.inputs - account.undecided
    return Motion(**said, decided=decided, live=live, certificate=certificate)


class Motions(msgspec.Struct, frozen=True):
    """Some motions of this node, the newest last."""

    motions: list[Motion]  # type: ignore[valid-type]
    count: int  # of all that are stored
    damaged: list[str]
    invitations: list[Invited] = []  # of check rows after which no motion was put, the newest first


class Input(msgspec.Struct, frozen=True):
    """What came of one input."""

    input: int
    decision: str | None
    agreement: float
    first_votes: dict[str, int]
    majority: str | None
    why_undecided: str | None
    claim: float | list[float] | None = None  # of numbers, or of probabilities by label
    first_numbers: list[float] | None = None  # of numbers: lowest, median, highest
    window: list[float] | None = None  # of numbers: the ends of the window that the claim is the middle of


class Inputs(msgspec.Struct, frozen=True):
    """Some inputs of a motion; ``next`` is where the following ones begin."""

    motion: str
    inputs: list[Input]
    count: int
    next: int | None


class Round(msgspec.Struct, frozen=True):
    """One round of this node."""

    round: int
    seconds: float  # since its part in the motion began
    asked: list[str]
    heard: list[str]
    changed: int  # inputs on which it changed its mind
    shares: dict[str, float]  # of the answers, by label; empty where they were not kept
    answers: dict[str, str | None] | None = None  # to one input, with ?input=


class Rounds(msgspec.Struct, frozen=True):
    """The rounds of this node in a motion, as far as its budget of bytes kept them."""

    motion: str
    rounds: list[Round]
    played: int  # how many there were


class Column(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A column of the inputs."""

    name: str
    unit: str = ""
    low: float | None = None
    high: float | None = None


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Inputs and terms of a motion; null is a missing value. What is left out is as in ``folkmoot ask``."""

    rows: list[list[float | None]]
    columns: list[str | Column] = []
    protocol: str = Terms.protocol
    k: int | None = None
    alpha: int | Literal["local"] | None = None
    beta: int = Terms.beta
    rounds: int = Terms.rounds
    seconds: float = Terms.seconds
    pace: float = Terms.pace
    weights: Weights = Terms.weights
    trust: bool = False
    labels: list[str] | None = None
    least_voters: int | None = None
    voting: Voting = Terms.voting
    regression: bool = False
    tol: float | None = None
    peer_review: bool = False


class Access(msgspec.Struct, frozen=True):
    """What a token allows, and what the node's own model takes and answers."""

    node: str
    may: Literal["ask", "read"]
    labels: list[str] | None  # None: the model does not say
    columns: list[Column]  # none: it has no names for them
    width: int | None  # how many columns; None: the model does not say
    most_bytes: int  # of a body
    answers: list[Answers]  # what the model can answer with, the likeliest kind first
    protocols: list[str]  # that a motion about labels may have


class CheckedColumn(msgspec.Struct, frozen=True):
    """A column of inputs beside those of the node's model."""

    name: str
    state: Literal["fits", "unknown", "missing", "unchecked"]
    unit: str = ""
    low: float | None = None
    high: float | None = None


class Checked(msgspec.Struct, frozen=True):
    """What a node makes of inputs that are not put yet; nobody else is told of them."""

    inputs: int
    columns: list[CheckedColumn]
    rows: list[list[float | None]]  # the first ones
    missing: int  # inputs with a missing value
    outside: int  # inputs with a value outside a declared range
    labels: list[str]  # the possible answers
    why: str  # why this node cannot take them; "" if it can
    unchecked: str  # why the columns are taken by position; "" if they are not
    answers: Answers = "labels"  # what is asked for
    tol: float | None = None  # of numbers and probabilities: how far apart those of a quorum may be


class Accepted(msgspec.Struct, frozen=True):
    """A motion was put; look at ``location``."""

    motion: str
    location: str


class Truth(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was right on one input."""

    input: int
    label: str


class Truths(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was right."""

    truths: list[Truth]


class Record(msgspec.Struct, frozen=True):
    """How often a participant's first vote was right, where the truth is known."""

    right: int
    voted: int
    accuracy: float


class Records(msgspec.Struct, frozen=True):
    """The track records that this node keeps, by name; nobody is asked to believe them."""

    records: dict[str, Record]


class Accusation(msgspec.Struct, frozen=True):
    """Evidence that a participant contradicted itself: in a motion, or about the roster that comes next."""

    motion: str  # "" if it is about a roster
    participant: str
    what: str
    file: str  # where the evidence itself is
    roster: str = ""  # the digest of the roster of which it signed two successors
    epoch: int | None = None  # of that roster


def accusation(motion: str, participant: str, what: str) -> Accusation:
    """Evidence of a motion, and where it is."""
    return Accusation(
        motion, participant, what, f"/v1/motions/{motion}/evidence/{quote(participant, safe='')}"
    )


class Accusations(msgspec.Struct, frozen=True):
    """All evidence of this node: of its newest motions with any, the newest last; then about rosters."""

    evidence: list[Accusation]


class Told(msgspec.Struct, frozen=True):
    """Truths were stored."""

    motion: str
    told: int
    records: dict[str, Record]
    warning: str = ""

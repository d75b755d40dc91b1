"""The types that a node tells what it knows in: HTTP, the page and the client show them.

A ValueError says what was wrong with the question, ``NotFoundError`` that there is no such thing here.
``RefusedError`` says that the node cannot do it now.
"""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from folkmoot.node.session.terms import Answers


class NotFoundError(ValueError):
    """There is no such motion, proposal or piece of evidence at this node."""


class RefusedError(ValueError):
    """The node cannot do it now, or its policy is against it."""


class Column(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A column of inputs, or of what a model takes."""

    name: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    kind: Literal["number", "text", "boolean"] = "number"


class ModelFacts(msgspec.Struct, frozen=True):
    """Inputs and answers of the node's own model."""

    labels: list[str] | None  # None: it does not say
    columns: list[Column]  # none: it has no names for them
    width: int | None  # how many columns; None: it does not say
    answers: list[Answers]  # the likeliest kind first
    rules: list[str]  # that a motion may be decided by


class CheckedColumn(msgspec.Struct, frozen=True):
    """A column of inputs beside those of the node's model."""

    name: str
    state: Literal["fits", "unknown", "missing", "unchecked"]
    unit: str = ""
    low: float | None = None
    high: float | None = None


class Checked(msgspec.Struct, frozen=True):
    """A node's check of inputs that are not put yet; nobody else is told of them."""

    inputs: int
    columns: list[CheckedColumn]
    rows: list[list[str | bool | int | float | None]]  # the first ones; a text is a row of one
    missing: int  # inputs with a missing value
    outside: int  # inputs with a value outside a declared range
    labels: list[str]  # the possible answers
    why: str  # why this node cannot take them; "" if it can
    unchecked: str  # why the columns are taken by position; "" if they are not
    answers: Answers = "labels"  # what is asked for


class Live(msgspec.Struct, frozen=True):
    """A motion under way, as this node sees it: what it was sent, and its own questions. It sees no more."""

    phase: str
    round: int
    rounds: int  # at the most; 0 without a talk
    remaining: float  # seconds until the deadline
    committed: list[str]
    closed: list[str]  # who has said what it holds at the end
    accused: list[str] = []
    refused: dict[str, str] = {}  # who has said that it takes no part, and why
    asked: list[str] = []  # in the latest round of a talk
    heard: int = 0  # how many of them answered
    shares: dict[str, float] = {}  # of their votes on all inputs, by label
    held: dict[str, float] = {}  # the same, of what this node holds


class PeerStatus(msgspec.Struct, frozen=True):
    """One of the others, as this node sees it."""

    name: str
    connected: bool
    benched: bool  # did not answer lately, and is not asked at present
    latency: float | None  # seconds to it and back, as the kernel measures them; None if it does not say
    skew: float | None  # seconds that its clock was ahead when it said hello
    frames: int  # that came from it since the start
    refused: int  # of its messages that were not acted on
    abstained: int  # motions since the start in which it had no vote on some inputs
    seen: float | None = None  # when it last said something, in seconds since 1970; None: not since the start
    may_ask: bool = True
    motions_today: tuple[int, int | None] = (0, None)  # put in the last 24 hours, and the most
    rows_today: tuple[int, int | None] = (0, None)
    labels: list[str] | None = None  # that its model knows, as it announced; None: it did not say


class MotionStatus(msgspec.Struct, frozen=True):
    """A motion under way."""

    motion: str
    asker: str
    phase: str
    inputs: int
    round: int
    rounds: int  # at the most
    remaining: float  # seconds
    participants: int = 0  # in the roster that it was put under
    epoch: int = 0  # of that roster
    rule: str = ""


class InvitationStatus(msgspec.Struct, frozen=True):
    """A motion of this node that is not put yet: participants are invited to send validation rows for it."""

    inputs: int
    remaining: float  # seconds until no more rows are waited for
    sent: list[str]  # whose rows have come; how many there are is sealed until all have answered
    refused: dict[str, str]  # who sends none, and why
    owing: list[str]  # who has not answered


class ModelStatus(msgspec.Struct, frozen=True):
    """How the node's own model does, since it was loaded."""

    model: str  # the file or function
    loaded: float  # when, in seconds since 1970
    labels: list[str] | None = None  # that it knows; None: it does not say
    sandbox: str = ""  # what keeps it from doing harm
    chunks: int = 0  # that it was asked about
    failed: int = 0  # of these, with rows that it could not answer
    late: int = 0  # motions in which its votes came too late
    seconds: float = 0.0  # that it took, in all
    slowest: float = 0.0
    trouble: str = ""  # how it failed last; "" if it answered the last chunk whole
    usage: dict[str, int] = {}  # requests, failed requests and tokens of a service; none of other models


class ProposalStatus(msgspec.Struct, frozen=True):
    """A roster that is proposed to replace the one in force.

    The nodes that run agree on it as soon as ``counted`` is ``needed`` and nobody is in ``owed``. If this is
    so for several proposals, they agree on one of these.
    """

    proposal: str
    epoch: int
    digest: str
    joined: list[str]
    left: list[str]
    rotated: list[str]
    replaced: list[str]
    edited: list[str]
    signed: list[str]  # who has; a member may sign several proposals
    counted: int  # of these, those that count
    needed: int
    owed: list[str]  # who must sign with its old key, too
    in_force: bool = False


class Status(msgspec.Struct, frozen=True):
    """How a running node is at this moment."""

    node: str
    version: str
    moot: str  # digest of the roster
    participants: int
    quorum: int
    seconds: float  # since it was started
    peers: list[PeerStatus]
    motions: list[MotionStatus]
    own_motions: tuple[int, int]  # under way, and how many may be
    all_motions: tuple[int, int]
    waiting: int  # own motions that wait for a place
    disk: tuple[int, int]  # bytes that are stored, and that may be
    has_room: bool  # for new motions
    model: ModelStatus
    epoch: int = 0
    present: bool = True  # in the roster in force
    rosters: int = 1  # under which motions may be under way
    proposals: list[ProposalStatus] = []
    accused: list[str] = []  # who has contradicted itself about the roster that comes next
    invitations: list[InvitationStatus] = []
    audit: tuple[int, str] = (0, "")  # the number of the audit log's last entry, and its link: the head
    labels: list[str] = []  # that members have announced, all together

    @property
    def why_not_ready(self) -> str:
        """Why the node cannot take part in motions; "" if it can."""
        there = 1 + sum(peer.connected for peer in self.peers)
        if not self.present:
            return "this node is not in the roster in force"
        if there < self.quorum:
            return f"{there} of the {self.quorum} members of a quorum are connected"
        return "" if self.has_room else "there is no room on its disk for new motions"


class Record(msgspec.Struct, frozen=True):
    """How often a participant's first vote was right, where the truth is known."""

    right: int
    voted: int
    accuracy: float


class Accusation(msgspec.Struct, frozen=True):
    """Evidence that a participant contradicted itself: in a motion, or about the roster that comes next."""

    motion: str  # "" if it is about a roster
    participant: str
    what: str
    roster: str = ""  # the digest of the roster about whose successor it contradicted itself
    epoch: int | None = None  # of that roster


class MemberFacts(msgspec.Struct, frozen=True):
    """A member of a roster."""

    name: str
    organisation: str
    fingerprint: str
    addresses: list[str]


class RosterNews(msgspec.Struct, frozen=True):
    """The roster in force at a node, and what is proposed to come next."""

    epoch: int
    digest: str
    previous: str | None
    n: int
    quorum: int
    faults: int
    participants: list[MemberFacts]
    epochs: list[int]  # of the rosters that this node has gone through
    proposals: list[ProposalStatus]
    evidence: list[Accusation]  # about what comes next


class RosterChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """In what the roster that is proposed differs from the one in force: lines of members, and names."""

    add: list[str] = []
    remove: list[str] = []
    rotate: list[str] = []
    replace: list[str] = []


class Truths(msgspec.Struct, frozen=True):
    """Truths that a motion was given: how many, whose records follow from it, and what is doubtful."""

    motion: str
    told: int
    records: dict[str, Record]
    warning: str = ""


class Damage(msgspec.Struct, frozen=True):
    """Something that is stored and is not what this node wrote."""

    motion: str
    why: str


class Invited(msgspec.Struct, frozen=True):
    """An invitation to send validation rows that came to nothing."""

    name: str
    created: float
    inputs: int
    why: str


class Meter(Protocol):
    """Receives the events of a node, beside ``counts``; a node is given one when it is made."""

    def motion_over(self, inputs: int, undecided: int, seconds: float) -> None:
        """A motion is over for this node, so many seconds after it was put."""

    def model_answered(self, rows: int, failed: int, seconds: float) -> None:
        """The own model was asked about so many rows, and could not answer some of them."""

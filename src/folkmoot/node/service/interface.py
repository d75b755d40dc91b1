"""What a node offers to whoever talks to it: HTTP shows it to every command, the page and the client.

``Archive`` is what a folder holds, whether the node runs or not. ``Service`` is a running node. A ValueError
says what was wrong with what was asked; ``NotFoundError`` that there is no such thing here; ``RefusedError``
that the node cannot do it now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from folkmoot.node.membership.roster import Roster

Answers: TypeAlias = Literal["labels", "probabilities", "numbers"]


class NotFoundError(ValueError):
    """There is no such motion, proposal or piece of evidence at this node."""


class RefusedError(ValueError):
    """The node cannot do it now, or its policy is against it."""


@dataclass(frozen=True)
class Forms:
    """The types of what a service takes and tells; ``/openapi.json`` is made from them.

    ``terms`` are on what terms a motion is put; every field has a default. ``account`` is what came of a
    motion: it has ``motion`` (its name), ``state``, ``inputs``, ``undecided`` and ``seconds``. ``by_input``
    names its lists with one entry per input, and how one such entry is called (``decisions``: ``decision``).
    """

    terms: type[Any]
    account: type[Any]
    by_input: Mapping[str, str]


class Column(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A column of inputs, or of what a model takes."""

    name: str
    unit: str = ""
    low: float | None = None
    high: float | None = None


class ModelFacts(msgspec.Struct, frozen=True):
    """What the node's own model takes and answers."""

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


class Round(msgspec.Struct, frozen=True):
    """One round of a talk, as this node had it."""

    round: int
    seconds: float  # since its part in the motion began
    asked: list[str]
    heard: list[str]
    changed: int  # inputs on which it changed its vote
    shares: dict[str, float]  # of the answers, by label; empty where they were not kept


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


class ProposalStatus(msgspec.Struct, frozen=True):
    """A roster that is proposed to replace the one in force.

    As soon as ``counted`` is ``needed`` and nobody is in ``owed``, the nodes that run agree on it; if this is
    so for several proposals, on one of these.
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


class RosterAccusation(msgspec.Struct, frozen=True):
    """A member that contradicted itself in the agreement on the roster that comes next."""

    epoch: int
    against: str


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
    evidence: list[RosterAccusation]


class RosterChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """In what the roster that is proposed differs from the one in force: lines of members, and names."""

    add: list[str] = []
    remove: list[str] = []
    rotate: list[str] = []
    replace: list[str] = []


class Truths(msgspec.Struct, frozen=True):
    """What was told to be right on a motion: how many, whose records follow from it, and what is doubtful."""

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


class Part(msgspec.Struct, frozen=True):
    """What a node says of its own part in a motion: all of ``StoredMotion.summary``, by these names.

    A running node writes what it knows; what is left out is as here.
    """

    seconds: float | None = None  # from when it heard of the motion until it knew the answer
    bytes_sent: int = 0
    bytes_received: int = 0
    refused: dict[str, str] = {}  # who said that it takes no part, or has no votes, and why
    abstained: str = ""  # why it did not vote on all inputs itself
    weights: dict[str, float] = {}  # what first votes counted in its own final votes, by member
    fell_back: str = ""  # why its final votes are the plurality of first votes, although it may choose
    rounds: list[Round] = []  # of its talk
    rounds_played: int = 0  # of its talk, in all
    shown: list[int] = []  # which of its own rows it showed in answer to an invitation
    shown_of: str = ""  # the digest of all its rows
    shown_for: str = ""  # the motion for which it named their labels
    order: str = ""  # an asker's order of inputs and validation rows, in hex, until it is revealed
    why: str = ""  # why it gave the motion up


class Succession(Protocol):
    """The rosters of a moot at a running node, and the frames that are about them (kinds 16 to 19)."""

    @property
    def rosters(self) -> Sequence[Roster]:
        """Those that this node has gone through, from the one in its file to the one in force."""

    @property
    def since(self) -> Sequence[float]:
        """When each came into force here, in seconds since 1970; of the first it is not known."""

    def received(self, peer: bytes, frame: bytes) -> None:
        """A frame about rosters, of a peer known by its fingerprint; one that is no good is counted."""

    def reached(self, peer: bytes) -> None:
        """There is a connection with a peer: it may have missed something."""

    def look_again(self) -> None:
        """Another process may have stored a proposal or a signature; called every second."""

    def start(self, changed: Callable[[], None]) -> None:
        """Begin to tell others. ``changed`` is called when a proposal, or the roster in force, is another."""


class Archive(Protocol):
    """What a node's folder holds, whether the node runs or not."""

    forms: Forms
    node: str  # its name

    def find(self, prefix: str) -> bytes:
        """The motion whose name begins so, or the ``last``; NotFoundError if there is not just one."""

    def names(self, last: int | None = None) -> list[bytes]:
        """The motions that are stored, the newest last."""

    def count(self) -> int:
        """How many there are."""

    def mark(self, motion: bytes) -> bytes:
        """Some bytes that are others as soon as anything that is stored of a motion is."""

    async def account(self, motion: bytes) -> Any:
        """What came of a motion, as ``forms.account``; ``DamagedError`` if what is stored was changed."""

    async def certificate(self, motion: bytes) -> bytes:
        """The certificate of a motion; RefusedError if it has none, or none yet."""

    async def rounds(self, motion: bytes) -> tuple[list[Round], int]:
        """The rounds of the talk that are kept; and how many there were."""

    async def why(self, motion: bytes, about: int) -> tuple[str, dict[str, Any]]:
        """Why an input of a motion got its answer: as text, and as data."""

    async def play(self, motion: bytes) -> str:
        """A page that plays what this node saw of a motion."""

    def invited(self) -> list[Invited]:
        """Invitations of this node that came to nothing, the newest first."""

    def accusations(self, last: int) -> list[Accusation]:
        """All evidence: of so many motions with any, the newest last; then about rosters."""

    def evidence(self, about: str, participant: str) -> bytes:
        """The file of evidence against a participant in a motion, or about a roster, by name or digest."""

    async def audit(self) -> bytes:
        """The audit log, signed; RefusedError if it was tampered with."""

    def records(self) -> dict[str, Record]:
        """How often each participant was right."""

    async def tell(self, motion: bytes, truths: Mapping[int, str] | bytes, source: str) -> Truths:
        """Store what was right: labels by input, or a table as text; ``source`` is its name in messages."""

    def roster(self) -> RosterNews:
        """The roster in force, and proposals."""

    def roster_file(self, epoch: int | None = None) -> bytes:
        """The roster of an epoch with the signatures that made it so; None: the one in force."""

    def propose(self, change: RosterChange) -> tuple[ProposalStatus, bytes]:
        """Propose and sign a successor of the roster in force; its file, too."""

    def sign(self, proposal: str | bytes) -> tuple[ProposalStatus, bytes]:
        """Sign a proposal: the first digits of one that is known here, or a file of one. Its file, too."""


class Service(Archive, Protocol):
    """A running node."""

    incarnation: int  # another one each time it is started

    def facts(self) -> ModelFacts:
        """What its own model takes and answers."""

    def status(self) -> Status:
        """How it is."""

    def live(self, motion: bytes) -> Live | None:
        """A motion under way, or waiting for its place; None if it is over for this node."""

    def opening(self, motion: bytes) -> dict[str, Any]:
        """What is told of a motion when it begins: asker, inputs, labels, terms."""

    def observe(self, observer: Callable[[bytes | None], None]) -> None:
        """Call ``observer`` whenever something of a motion has changed, or of the node (None)."""

    async def put(self, batch: Any, terms: Any) -> bytes:
        """Put a motion: ``batch`` are rows and their columns, ``terms`` as ``forms.terms``; its name.

        One that finds no place waits for it. ValueError if it cannot be put as it is, RefusedError if this
        node may not put it now.
        """

    async def check(self, batch: Any, terms: Any) -> Checked:
        """What this node makes of inputs and terms; nothing is put, and nobody else is told."""

    async def reload(self) -> ModelFacts:
        """Load the model that ``node.toml`` names now; ValueError if it cannot: the old one stays."""

    def counts(self) -> Mapping[str, int]:
        """What is counted since the start, by name, such as ``frames_received`` and ``refused_token``."""


class Meter(Protocol):
    """What a service tells as it happens, beside ``counts``: it is given one when it is made."""

    def motion_over(self, inputs: int, undecided: int, seconds: float) -> None:
        """A motion is over for this node, so many seconds after it was put."""

    def model_answered(self, rows: int, failed: int, seconds: float) -> None:
        """The own model was asked about so many rows, and could not answer some of them."""

"""The types of what is said over HTTP. JSON is checked against them; ``/openapi.json`` is made of them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from folkmoot.node.account import BY_INPUT, Account
from folkmoot.node.durations import PATTERN
from folkmoot.node.service.interface import (
    Accusation,
    Column,
    Damage,
    Invited,
    Live,
    ModelFacts,
    ProposalStatus,
    Record,
)
from folkmoot.node.session.header import MOST_INPUTS, NUMBERS
from folkmoot.node.session.terms import Terms
from folkmoot.node.storage.storage import Round
from folkmoot.node.wire.things import MOST_FIELDS

MOST_BODY: Final = 16 << 20  # bytes of JSON or of a table
MOST_COLUMNS: Final = 100_000
LONGEST_WAIT: Final = 60.0  # seconds of a long poll
MOST_LISTED: Final = 1000  # motions
MOST_SHOWN: Final = 10_000  # inputs in one answer
LONGEST_KEY: Final = 200  # characters
DURATIONS: Final = ("seconds",)  # terms that may be said as "90s"
LISTS: Final = ("labels", "weights")  # terms that are a,b in an address

Only: TypeAlias = Literal["all", "undecided", "contested", "overruled"]
Duration: TypeAlias = Annotated[float, Meta(gt=0)] | Annotated[str, Meta(pattern=PATTERN, max_length=40)]
Number: TypeAlias = float | None
Row: TypeAlias = Annotated[list[Number], Meta(min_length=1, max_length=MOST_COLUMNS)]
Field: TypeAlias = str | bool | int | float | None
Fields: TypeAlias = Annotated[dict[str, Field], Meta(min_length=1, max_length=MOST_FIELDS)]
Rows: TypeAlias = Annotated[list[Row | str | Fields], Meta(min_length=1, max_length=MOST_INPUTS)]
Columns: TypeAlias = Annotated[list[str | Column], Meta(max_length=MOST_COLUMNS)]
Place: TypeAlias = Annotated[int, Meta(ge=0, lt=MOST_INPUTS)]


_ONLY: Final = (
    "Undecided ones; those with fewer than two thirds of the votes for the decision; those on which the "
    "model of this node was overruled."
)


class Newest(msgspec.Struct, frozen=True):
    """How many motions are listed."""

    last: Annotated[int, Meta(ge=1, le=MOST_LISTED, description="How many, the newest ones.")] = 20


class Wait(msgspec.Struct, frozen=True):
    """A long poll."""

    wait: Annotated[float, Meta(ge=0, le=LONGEST_WAIT, description="Seconds to wait until it is over.")] = 0.0


class SomeInputs(msgspec.Struct, frozen=True, rename={"first": "from"}):
    """Which inputs are wanted."""

    first: Annotated[int, Meta(ge=0, le=MOST_INPUTS, description="The first input that is wanted.")] = 0
    most: Annotated[int, Meta(ge=1, le=MOST_SHOWN, description="How many.")] = 1000
    only: Annotated[Only, Meta(description=_ONLY)] = "all"


class OneInput(msgspec.Struct, frozen=True):
    """Which input."""

    input: Annotated[int, Meta(ge=0, lt=MOST_INPUTS, description="Which input.")]


class Epoch(msgspec.Struct, frozen=True):
    """Which roster."""

    epoch: Annotated[
        Annotated[int, Meta(ge=0, le=10**9)] | None,
        Meta(description="Which; without it the one in force."),
    ] = None


class Access(ModelFacts, frozen=True):
    """The rights of a token, and what the node's own model takes and answers."""

    node: str = ""
    may: Literal["ask", "read"] = "ask"
    page: str | None = None  # where its page is, with a token if the owner of the folder asks
    most_bytes: int = 0  # of a table


class Accepted(msgspec.Struct, frozen=True):
    """A motion was put; look at ``location``."""

    motion: str
    location: str


class Truth(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The right answer to one input."""

    input: Place
    label: Annotated[str, Meta(min_length=1, max_length=200)]


class TruthsTold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Right answers."""

    truths: Annotated[list[Truth], Meta(min_length=1, max_length=MOST_INPUTS)]


class Records(msgspec.Struct, frozen=True):
    """The track records that this node keeps, by name; nobody is asked to believe them."""

    records: dict[str, Record]


class Evidence(msgspec.Struct, frozen=True):
    """All evidence of this node: of its newest motions with any, the newest last; then about rosters."""

    evidence: list[Accusation]


class Rounds(msgspec.Struct, frozen=True):
    """The rounds of this node in a talk, as far as they are kept."""

    motion: str
    rounds: list[Round]
    played: int  # how many there were


class Why(msgspec.Struct, frozen=True):
    """Why an input got its answer."""

    motion: str
    input: int
    text: str
    reason: dict[str, Any]


class Proposed(ProposalStatus, frozen=True):
    """A proposal, and its file as it is now."""

    file: str = ""


class Signing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which proposal to sign."""

    proposal: Annotated[str, Meta(min_length=4, max_length=64, pattern="^[0-9a-f]+$")]


class Health(msgspec.Struct, frozen=True):
    """Whether the node answers, or can take part in a motion."""

    state: Literal["ok", "not ready"]
    why: str = ""


def _made(name: str, about: str, fields: list[Any]) -> Any:
    made: Any = msgspec.defstruct(name, fields, frozen=True, forbid_unknown_fields=True)
    made.__doc__ = about
    return made


# Terms are said by name; an account is told without its lists, and these page by page.

_TERMS: Final = [
    (each.name, Duration if each.name in DURATIONS else each.type, each.default)
    for each in msgspec.structs.fields(Terms)
]
_KINDS: Final = {each.name: each.type for each in msgspec.structs.fields(Account)}
TERMS: Final = tuple(name for name, _, _ in _TERMS)
TermsSaid: Final = _made("Terms", "On what terms a motion is put.", _TERMS)
Question: Final = _made(
    "Question",
    "Inputs and terms of a motion; null is a missing value.",
    [("inputs", Rows), ("columns", Columns, []), *_TERMS],
)
Head: Final = _made(
    "Head",
    "The first line of inputs that are sent as bytes.",
    [
        ("dtype", Literal[NUMBERS]),
        ("width", Annotated[int, Meta(ge=1, le=MOST_COLUMNS)]),
        ("columns", Columns, []),
        *_TERMS,
    ],
)
Motion: Final = _made(
    "Motion",
    "What came of a motion, without its inputs; and how far it is, while it is under way.",
    [*((name, kind) for name, kind in _KINDS.items() if name not in BY_INPUT), ("live", Live | None)],
)
Lists: Final = _made("Lists", "With one entry per input.", [(name, _KINDS[name]) for name in BY_INPUT])
Inputs: Final = _made(
    "Inputs",
    "Some inputs; ``next`` is where the following ones begin, ``count`` how many there are.",
    [("motion", str), ("inputs", list[int]), ("lists", Lists), ("count", int), ("next", int | None)],
)
Motions: Final = _made(
    "Motions",
    "Some motions of this node, the newest last.",
    [
        ("motions", list[Motion]),  # type: ignore[valid-type]
        ("count", int),
        ("damaged", list[Damage]),
        ("invitations", list[Invited]),
    ],
)


def motion_told(account: Account, live: Live | None) -> Any:
    """An account without its inputs."""
    names = Motion.__struct_fields__[:-1]
    return Motion(**{name: getattr(account, name) for name in names}, live=live)


def inputs_told(account: Account, chosen: list[int], count: int, following: int | None) -> Any:
    """Some inputs of an account; lists that it left empty stay empty."""
    lists = {name: getattr(account, name) for name in BY_INPUT}
    some = {name: [entries[place] for place in chosen] if entries else [] for name, entries in lists.items()}
    return Inputs(account.motion, chosen, Lists(**some), count, following)

"""The types of what is said over HTTP. JSON is checked against them; ``/openapi.json`` is made of them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from folkmoot.durations import PATTERN
from folkmoot.node.service.interface import (
    Accusation,
    Column,
    Damage,
    Forms,
    Invited,
    Live,
    ModelFacts,
    ProposalStatus,
    Record,
    Round,
)
from folkmoot.node.session.header import DTYPES, MOST_INPUTS

MOST_BODY: Final = 16 << 20  # bytes of JSON or of a table
MOST_COLUMNS: Final = 100_000
LONGEST_WAIT: Final = 60.0  # seconds of a long poll
MOST_LISTED: Final = 200  # motions
MOST_SHOWN: Final = 10_000  # inputs in one answer
LONGEST_KEY: Final = 200  # characters
DURATIONS: Final = ("seconds",)  # terms that may be said as "90s"
LISTS: Final = ("labels", "weights")  # terms that are a,b in an address

Only: TypeAlias = Literal["all", "undecided", "contested", "overruled"]
Duration: TypeAlias = (
    Annotated[float, msgspec.Meta(gt=0)] | Annotated[str, msgspec.Meta(pattern=PATTERN, max_length=40)]
)
Number: TypeAlias = float | None
Row: TypeAlias = Annotated[list[Number], msgspec.Meta(min_length=1, max_length=MOST_COLUMNS)]
Rows: TypeAlias = Annotated[list[Row], msgspec.Meta(min_length=1, max_length=MOST_INPUTS)]
Columns: TypeAlias = Annotated[list[str | Column], msgspec.Meta(max_length=MOST_COLUMNS)]
Place: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=MOST_INPUTS)]


class Access(ModelFacts, frozen=True):
    """The rights of a token, and what the node's own model takes and answers."""

    node: str = ""
    may: Literal["ask", "read"] = "ask"
    page: str | None = None  # where its page is, with a token if the owner of the folder asks
    most_bytes: int = 0  # of a table
    by_input: tuple[str, ...] = ()  # the lists of an account with an entry per input


class Accepted(msgspec.Struct, frozen=True):
    """A motion was put; look at ``location``."""

    motion: str
    location: str


class Truth(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The right answer to one input."""

    input: Place
    label: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class TruthsTold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Right answers."""

    truths: Annotated[list[Truth], msgspec.Meta(min_length=1, max_length=MOST_INPUTS)]


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

    proposal: Annotated[str, msgspec.Meta(min_length=4, max_length=64, pattern="^[0-9a-f]+$")]


class Health(msgspec.Struct, frozen=True):
    """Whether the node answers, or can take part in a motion."""

    state: Literal["ok", "not ready"]
    why: str = ""


class Shapes:
    """The types that follow from what a service takes and tells."""

    def __init__(self, forms: Forms) -> None:
        terms = [
            (each.name, Duration if each.name in DURATIONS else each.type, each.default)
            for each in msgspec.structs.fields(forms.terms)
        ]
        self.forms = forms
        self.terms = tuple(name for name, _, _ in terms)
        kinds = {each.name: each.type for each in msgspec.structs.fields(forms.account)}
        self.Terms = _made("Terms", terms, "On what terms a motion is put.")
        self.Question = _made(
            "Question",
            [("inputs", Rows), ("columns", Columns, []), *terms],
            "Inputs and terms of a motion; null is a missing value.",
        )
        self.Head = _made(
            "Head",
            [
                ("dtype", Literal[DTYPES]),
                ("width", Annotated[int, msgspec.Meta(ge=1, le=MOST_COLUMNS)]),
                ("columns", Columns, []),
                *terms,
            ],
            "The first line of inputs that are sent as bytes.",
        )
        self.Motion = _made(
            "Motion",
            [
                *((name, kind) for name, kind in kinds.items() if name not in forms.by_input),
                ("live", Live | None),
            ],
            "What came of a motion, without its inputs; and how far it is, while it is under way.",
        )
        self.Lists = _made(
            "Lists", [(name, kinds[name]) for name in forms.by_input], "With one entry per input."
        )
        self.Inputs = _made(
            "Inputs",
            [
                ("motion", str),
                ("inputs", list[int]),
                ("lists", self.Lists),
                ("count", int),
                ("next", int | None),
            ],
            "Some inputs; ``next`` is where the following ones begin, ``count`` how many there are.",
        )
        self.Motions = _made(
            "Motions",
            [
                ("motions", list[self.Motion]),  # type: ignore[name-defined]
                ("count", int),
                ("damaged", list[Damage]),
                ("invitations", list[Invited]),
            ],
            "Some motions of this node, the newest last.",
        )

    def motion(self, account: Any, live: Live | None) -> Any:
        """An account without its inputs."""
        names = self.Motion.__struct_fields__[:-1]
        return self.Motion(**{name: getattr(account, name) for name in names}, live=live)

    def inputs(self, account: Any, chosen: list[int], count: int, following: int | None) -> Any:
        """Some inputs of an account; lists that it left empty stay empty."""
        lists = {name: _some(getattr(account, name), chosen) for name in self.forms.by_input}
        return self.Inputs(account.motion, chosen, self.Lists(**lists), count, following)


def _some(entries: list[Any], chosen: list[int]) -> list[Any]:
    return [entries[place] for place in chosen] if entries else []


def _made(name: str, fields: list[Any], about: str) -> Any:
    made: Any = msgspec.defstruct(name, fields, frozen=True, forbid_unknown_fields=True)
    made.__doc__ = about
    return made

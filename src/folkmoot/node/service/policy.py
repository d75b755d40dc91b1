"""``[policy]`` of ``node.toml``: which motions a node takes part in, who may ask it, and how much a day.

The terms of a motion are its asker's, and some turn a talk against those who take part in it. With k = 1,
alpha = 1 and enough rounds one member that always gives the same answer turns all others to it. So limits on
terms are on by default. By default every member may ask, as much as the other limits allow. A node's own
motions are its operator's, and are not counted.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta

from folkmoot import checks
from folkmoot.files.tabular import shortened
from folkmoot.node.membership.fields import NAME, converted
from folkmoot.node.service.input_files import read_schema
from folkmoot.node.session.header import MOST_INPUTS, Header
from folkmoot.node.session.statement import most_faults
from folkmoot.node.session.terms import LOCAL, MOST_LABELS, MOST_ROUNDS, MOST_ROWS
from folkmoot.node.wire.schema import Schema

DAY: Final = 86_400.0
LEAST_ALPHA: Final = 6  # is enough in a moot of any size
LEAST_K: Final = 3

Name: TypeAlias = Annotated[str, Meta(pattern=f"^{NAME}$")]
Many: TypeAlias = Annotated[int, Meta(ge=0, le=10**9)]
Few: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits on one member's motions per day; None is any number."""

    motions_a_day: Many | None = None
    rows_a_day: Many | None = None


class Approval(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Motions that an operator has approved: of these askers, with these columns; None and () are any."""

    askers: tuple[Name, ...] | None = None
    schema: Schema = ()

    def __post_init__(self) -> None:
        if self.askers is None and not self.schema:
            raise ValueError("must name askers or a schema, or both")

    def covers(self, asker: str, schema: Schema) -> bool:
        """Whether a motion of this asker with these columns is approved; they may come in any order."""
        columns = {(column.name, column.unit) for column in self.schema}
        same = not columns or columns == {(column.name, column.unit) for column in schema}
        return same and (self.askers is None or asker in self.askers)


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node's conditions on the motions of others, and on its own.

    Examples
    --------
    >>> from folkmoot.node.service.policy import Policy
    >>> Policy().least(n=7), Policy().least(n=101), Policy().least(n=2)
    ((3, 3), (6, 3), (1, 1))
    >>> Policy.read({"most_rounds": 0})
    Traceback (most recent call last):
        ...
    ValueError: most_rounds must be a whole number >= 1: got 0
    >>> Policy.read({"rows_a_day": 500, "members": {"north": {"rows_a_day": 9000}}}).limits_of("north")
    Limits(motions_a_day=None, rows_a_day=9000)
    """

    # How many equal answers must win a round of a talk at least. None is f + 1, where f members may
    # lie, and never more than 6.
    least_alpha: Few | None = None
    # How many members must be asked in a round of a talk at least. None is 3, or all others where there
    # are fewer.
    least_k: Few | None = None
    most_rounds: Annotated[int, Meta(ge=1, le=MOST_ROUNDS)] = 500  # how many rounds a talk may have
    least_seconds: Annotated[float, Meta(ge=1, le=DAY)] = 2.0  # the shortest deadline
    most_inputs: Annotated[int, Meta(ge=1, le=MOST_INPUTS)] = MOST_INPUTS  # how many inputs a motion may hold
    most_labels: Annotated[int, Meta(ge=2, le=MOST_LABELS)] = 100  # how many labels it may name
    # How long its header may be; it names every chunk of 256 KiB of inputs in 34 bytes.
    most_header_bytes: Annotated[int, Meta(ge=1000, le=1 << 23)] = 256 * 1024
    # Whether the node's own model must know at least one of the labels, if it says which it knows.
    known_labels: bool = True
    # How many rows of its holdout the node shows in a motion by peer review, to those who may ask it.
    # No row is shown twice.
    validation_rows: Annotated[int, Meta(ge=0, le=MOST_ROWS)] = 0
    askers: tuple[Name, ...] | None = None  # names of the members that may ask; None are all
    # What each of them may put in a day; None is any number.
    motions_a_day: Many | None = None
    rows_a_day: Many | None = None
    members: Mapping[Name, Limits] = {}  # the same for single members, instead
    approved: tuple[Approval, ...] = ()  # if there are any, only motions that one of them covers are played

    @classmethod
    def read(cls, table: object, folder: Path = Path()) -> Policy:
        """The policy in a table of ``node.toml`` in ``folder``; what it does not name is as by default."""
        if isinstance(table, Mapping) and isinstance(table.get("approved"), list):
            table = {**table, "approved": [_with_schema(each, folder) for each in table["approved"]]}
        return converted(table, cls, "" if isinstance(table, Mapping) else "policy")

    def limits_of(self, asker: str) -> Limits:
        """The limits of one member per day."""
        return self.members.get(asker, Limits(self.motions_a_day, self.rows_a_day))

    def may_ask(self, asker: str) -> bool:
        """Whether a member may ask at all."""
        return self.askers is None or asker in self.askers

    def check_names(self, names: Collection[str], file: Path) -> None:
        """ValueError, with the ``file`` that says so, unless all whom it names are among these members."""
        named = [*(self.askers or ()), *self.members]
        named += [asker for each in self.approved for asker in each.askers or ()]
        strange = sorted({name for name in named if name not in names})
        if strange:
            raise ValueError(
                f"[policy] of {file} must name members of the roster, {shortened(sorted(names))}: "
                f"got {', '.join(map(repr, strange))}"
            )

    def objection_to_asker(self, asker: str, schema: Schema) -> str | None:
        """Why a motion of this member with these columns is not played; None if it may."""
        if not self.may_ask(asker):
            return f"{asker} is not among those who may ask this node"
        if self.approved and not any(each.covers(asker, schema) for each in self.approved):
            return f"the operator of this node has approved no motions of {asker} with these columns"
        return None

    def least(self, n: int) -> tuple[int, int]:
        """The least alpha and the least k of a talk among n members."""
        alpha = min(most_faults(n) + 1, LEAST_ALPHA) if self.least_alpha is None else self.least_alpha
        return alpha, min(LEAST_K, n - 1) if self.least_k is None else self.least_k

    def objection(
        self, header: Header, header_bytes: int, n: int, labels: Collection[str] | None = None
    ) -> str | None:
        """Why a motion among n members is refused by a node whose model knows these labels; or None."""
        terms = header.terms
        if terms.protocol and (why := self._objection_to_talk(header, n)):
            return why
        if terms.seconds < self.least_seconds:
            return f"the deadline must be at least {self.least_seconds:g} s away: got {terms.seconds:g} s"
        if header.inputs > self.most_inputs:
            return f"a motion may hold {self.most_inputs:,} inputs at the most: got {header.inputs:,}"
        if len(terms.labels) > self.most_labels:
            return f"a motion may name {self.most_labels} labels at the most: got {len(terms.labels)}"
        if (why := self.objection_to_size(header_bytes)) is not None:
            return why
        named = self.known_labels and terms.labels  # numbers have none
        if named and labels is not None and not set(labels) & set(terms.labels):
            return "none of the labels is one that the model of this node knows"
        return None

    def objection_to_size(self, header_bytes: int) -> str | None:
        """Why a header of so many bytes is not even read; or None."""
        if header_bytes <= self.most_header_bytes:
            return None
        most = f"{self.most_header_bytes:,}"
        return f"the header of a motion may have {most} bytes at the most: got {header_bytes:,}"

    def _objection_to_talk(self, header: Header, n: int) -> str | None:
        terms, (least_alpha, least_k) = header.terms, self.least(n)
        local = terms.alpha == LOCAL  # then each takes its own, and none takes less than a majority
        rule = terms.talk(n)
        alpha = checks.least_alpha(rule.k) if local else rule.alpha
        if rule.k < least_k:
            return f"k must be at least {least_k} in a moot of {n}: got k={rule.k}"
        if isinstance(alpha, int) and alpha < least_alpha:
            given = f"'local' with k={rule.k}, which can be {alpha}" if local else f"alpha={alpha}"
            return f"alpha must be at least {least_alpha} in a moot of {n}: got {given}"
        if terms.rounds > self.most_rounds:
            return f"rounds must be at most {self.most_rounds:,}: got {terms.rounds:,}"
        return None


class Spent:
    """The motions and rows of each member in the last day, by its name: its key may change."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._put: defaultdict[str, deque[tuple[float, int]]] = defaultdict(deque)  # when, and how many rows

    def count(self, asker: str, clock: float, rows: int) -> None:
        """A motion was taken."""
        self._put[asker].append((clock, rows))

    def of(self, asker: str, clock: float) -> tuple[int, int]:
        """Motions and rows of one member in the last day."""
        put = self._put[asker]
        while put and put[0][0] <= clock - DAY:
            put.popleft()
        return len(put), sum(rows for _, rows in put)

    def objection(self, asker: str, rows: int, clock: float) -> str | None:
        """Why a member may put no motion of so many rows now; None if it may."""
        limits = self._policy.limits_of(asker)
        motions, before = self.of(asker, clock)
        if limits.motions_a_day is not None and motions >= limits.motions_a_day:
            again = self._again(asker, clock)
            return f"{asker} may put {limits.motions_a_day:,} motions a day at this node{again}"
        if limits.rows_a_day is not None and before + rows > limits.rows_a_day:
            left = max(0, limits.rows_a_day - before)
            return (
                f"{asker} may put {limits.rows_a_day:,} rows a day at this node and has {left:,} left: "
                f"got {rows:,}{self._again(asker, clock)}"
            )
        return None

    def _again(self, asker: str, clock: float) -> str:
        put = self._put[asker]
        if not put:
            return ""
        minutes = max(1, round((put[0][0] + DAY - clock) / 60))
        return f"; room comes back in {minutes // 60} h {minutes % 60} min"


def _with_schema(approved: Any, folder: Path) -> Any:
    """An approval with the columns of the file that it names."""
    if not isinstance(approved, Mapping) or "schema" not in approved:
        return approved
    file = approved["schema"]
    if not isinstance(file, str) or not file:
        raise ValueError(f'approved: schema must be a file, such as "triage.schema.toml": got {file!r}')
    return {**approved, "schema": [msgspec.structs.astuple(each) for each in read_schema(folder / file)]}

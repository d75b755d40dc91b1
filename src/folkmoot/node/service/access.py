"""Who may ask a node, how much a day, and which motions its operator has approved once for all.

All of it stands in ``[policy]`` of ``node.toml`` and is off by default: then every member may ask as much as
the other limits allow. A node's own motions are its operator's, and are not counted here.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from folkmoot.files.tabular import shortened
from folkmoot.node.membership.fields import check_keys, check_name
from folkmoot.node.service.schema_files import read_schema
from folkmoot.node.wire.schema import Schema

DAY: Final = 86_400.0
KEYS: Final = ("askers", "motions_a_day", "rows_a_day", "members", "approved")
_LIMITS: Final = ("motions_a_day", "rows_a_day")
_MOST: Final = 10**9


@dataclass(frozen=True)
class Limits:
    """What one member may put in a day; None is any number."""

    motions_a_day: int | None = None
    rows_a_day: int | None = None


@dataclass(frozen=True)
class Approval:
    """Motions that an operator has approved: of these askers, with these columns; None and () are any."""

    askers: tuple[str, ...] | None = None
    schema: Schema = ()

    def covers(self, asker: str, schema: Schema) -> bool:
        """Whether a motion of this asker with these columns is approved; they may come in any order."""
        columns = {(column.name, column.unit) for column in self.schema}
        same = not columns or columns == {(column.name, column.unit) for column in schema}
        return same and (self.askers is None or asker in self.askers)


@dataclass(frozen=True)
class Access:
    """Who may ask a node, and how much.

    Parameters
    ----------
    askers : tuple of str or None
        Names of the members that may ask; None are all.
    limits : Limits
        What each of them may put in a day.
    members : mapping of str to Limits
        The same for single members, instead.
    approved : tuple of Approval
        If there are any, only motions that one of them covers are played.

    Examples
    --------
    >>> from folkmoot.node.service.access import Access
    >>> Access.read({"rows_a_day": 500, "members": {"north": {"rows_a_day": 9000}}}).of("north").rows_a_day
    9000
    >>> Access.read({"motions_a_day": -1})
    Traceback (most recent call last):
        ...
    ValueError: motions_a_day must be a whole number from 0 to 1,000,000,000: got -1
    """

    askers: tuple[str, ...] | None = None
    limits: Limits = field(default_factory=Limits)
    members: Mapping[str, Limits] = field(default_factory=dict)
    approved: tuple[Approval, ...] = ()

    @classmethod
    def read(cls, table: Mapping[str, Any], folder: Path = Path()) -> Access:
        """What a table says; paths in it are seen from ``folder``."""
        members = table.get("members", {})
        if not isinstance(members, Mapping):
            raise ValueError(f"members must be tables, such as [policy.members.north]: got {members!r}")
        approved = table.get("approved", [])
        if not isinstance(approved, list):
            raise ValueError(f"approved must be tables, such as [[policy.approved]]: got {approved!r}")
        return cls(
            _names(table["askers"], "askers") if "askers" in table else None,
            _limits({key: table[key] for key in _LIMITS if key in table}, ""),
            {check_name(name): _limits(each, f"members.{name}") for name, each in members.items()},
            tuple(_approval(each, folder) for each in approved),
        )

    def of(self, asker: str) -> Limits:
        """What one member may put in a day."""
        return self.members.get(asker, self.limits)

    def check(self, names: Collection[str], file: Path) -> None:
        """ValueError, with the ``file`` that says so, unless all whom it names are among these members."""
        named = [*(self.askers or ()), *self.members]
        named += [asker for each in self.approved for asker in each.askers or ()]
        strange = sorted({name for name in named if name not in names})
        if strange:
            raise ValueError(
                f"[policy] of {file} must name members of the roster, {shortened(sorted(names))}: "
                f"got {', '.join(map(repr, strange))}"
            )

    def objection(self, asker: str, schema: Schema) -> str | None:
        """Why a motion of this member with these columns is not played; None if it may."""
        if self.askers is not None and asker not in self.askers:
            return f"{asker} is not among those who may ask this node"
        if self.approved and not any(each.covers(asker, schema) for each in self.approved):
            return f"the operator of this node has approved no motions of {asker} with these columns"
        return None


class Spent:
    """The motions and rows of each member in the last day, by its name: its key may change."""

    def __init__(self, access: Access) -> None:
        self._access = access
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
        limits = self._access.of(asker)
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


def _names(value: object, key: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f'{key} must be a list of names, such as ["north", "mid"]: got {value!r}')
    return tuple(check_name(name) for name in value)


def _limits(table: object, where: str) -> Limits:
    if not isinstance(table, Mapping):
        raise ValueError(f"{where} must be a table with {' and '.join(_LIMITS)}: got {table!r}")
    before = f"{where}: " if where else ""
    for problem in check_keys(table, _LIMITS, optional=_LIMITS):
        raise ValueError(f"{before}{problem}")
    for key, value in table.items():
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
            raise ValueError(f"{before}{key} must be a whole number from 0 to {_MOST:,}: got {value!r}")
    return Limits(**table)


def _approval(table: object, folder: Path) -> Approval:
    if not isinstance(table, Mapping):
        raise ValueError(f"approved must be tables, such as [[policy.approved]]: got {table!r}")
    for problem in check_keys(table, ("askers", "schema"), optional=("askers", "schema")):
        raise ValueError(f"approved: {problem}")
    if not table:
        raise ValueError("approved must name askers or a schema, or both: got an empty table")
    schema = table.get("schema")
    if schema is not None and (not isinstance(schema, str) or not schema):
        raise ValueError(f'approved: schema must be a file, such as "triage.schema.toml": got {schema!r}')
    askers = _names(table["askers"], "approved: askers") if "askers" in table else None
    return Approval(askers, () if schema is None else read_schema(folder / schema))

"""QuorumSet: who decides for a node, as it chose it, nested as in Stellar."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from folkmoot import checks

DEEPEST: Final = 4  # as many levels as the public lists may have


@dataclass(frozen=True)
class QuorumSet:
    """A quorum set: any ``threshold`` of its members and inner sets.

    An inner set counts as one member, which has agreed once its own threshold is reached.

    Parameters
    ----------
    threshold : int
        How many of the members and inner sets must agree: from 1 up to all of them.
    members : sequence of str
        Names (or public keys) of nodes. A node counts towards its own set only if it is listed here.
    inner : sequence of QuorumSet
        Sets that count as one member each; at most four levels in all, and no name twice.

    Examples
    --------
    Two of three offices, and of the third office two of its three nodes:

    >>> from folkmoot.outlook import QuorumSet
    >>> rome = QuorumSet(2, ["rome-1", "rome-2", "rome-3"])
    >>> mine = QuorumSet(2, ["oslo", "lima"], [rome])
    >>> mine.satisfied_by({"lima", "rome-1", "rome-3"}), mine.satisfied_by({"lima", "rome-1"})
    (True, False)
    >>> mine.blocked_by({"oslo", "lima"}), mine.blocked_by({"oslo"})
    (True, False)
    """

    threshold: int
    members: Sequence[str] = ()
    inner: Sequence[QuorumSet] = ()

    def __post_init__(self) -> None:
        self._check()
        parts = len(self.members) + len(self.inner)
        if self.threshold > parts:
            raise ValueError(
                f"threshold must satisfy threshold <= members and inner sets: got threshold={self.threshold} "
                f"of {parts}"
            )

    def _check(self) -> None:
        if isinstance(self.members, str):
            raise TypeError(
                f"members must be a list of names: got {self.members!r}; write [{self.members!r}]"
            )
        object.__setattr__(self, "members", tuple(self.members))
        if strange := [name for name in self.members if not isinstance(name, str) or not name]:
            raise TypeError(f"a member is named by a text: got {strange[0]!r}")
        object.__setattr__(self, "inner", tuple(self.inner))
        checks.integer("threshold", self.threshold, least=1)
        if wrong := [part for part in self.inner if not isinstance(part, QuorumSet)]:
            raise TypeError(f"inner must hold quorum sets: got {wrong[0]!r}")
        if self.depth > DEEPEST:
            raise ValueError(
                f"a quorum set may be nested {DEEPEST} levels deep: got {self.depth}; "
                "write the inner sets as members"
            )
        seen: set[str] = set()
        for name in self.everyone():
            if name in seen:
                raise ValueError(f"a quorum set names nobody twice: got {name!r} again; take it out once")
            seen.add(name)

    @property
    def depth(self) -> int:
        """Levels: 1 without inner sets."""
        return 1 + max((part.depth for part in self.inner), default=0)

    @property
    def satisfiable(self) -> bool:
        """Whether anybody could satisfy it at all: always, but for sets of public lists that say never."""
        return self.satisfied_by(frozenset(self.everyone()))

    def everyone(self) -> Iterator[str]:
        """Every name in it, of all levels."""
        yield from self.members
        for part in self.inner:
            yield from part.everyone()

    def satisfied_by(self, nodes: Collection[str]) -> bool:
        """Whether these nodes are enough."""
        agreed = sum(name in nodes for name in self.members)
        agreed += sum(part.satisfied_by(nodes) for part in self.inner)
        return agreed >= self.threshold

    def blocked_by(self, nodes: Collection[str]) -> bool:
        """Whether it cannot be satisfied without one of these nodes."""
        others = frozenset(name for name in self.everyone() if name not in nodes)
        return not self.satisfied_by(others)

    @classmethod
    def _made(cls, threshold: Any, members: Sequence[str], inner: Sequence[QuorumSet]) -> Self:
        """A set whose threshold may be beyond its members."""
        made = object.__new__(cls)
        for name, value in (("threshold", threshold), ("members", members), ("inner", inner)):
            object.__setattr__(made, name, value)
        made._check()
        return made

    def to_dict(self) -> dict[str, Any]:
        """In the form of public lists: threshold, validators, innerQuorumSets."""
        return {
            "threshold": self.threshold,
            "validators": list(self.members),
            "innerQuorumSets": [part.to_dict() for part in self.inner],
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Self:
        """Read it from that form.

        A threshold beyond the members is kept, as real lists write it to say "never": the set is then not
        ``satisfiable``. All else that the constructor refuses is refused.
        """
        if not isinstance(form, Mapping) or "threshold" not in form:
            raise ValueError(f"a quorum set is an object with threshold and validators: got {_short(form)}")
        inner = [cls.from_dict(part) for part in _listed(form, "innerQuorumSets")]
        return cls._made(form["threshold"], _listed(form, "validators"), inner)

    def __str__(self) -> str:
        parts = [*self.members, *(f"({part})" for part in self.inner)]
        return f"{self.threshold} of {', '.join(parts)}"


def _listed(form: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = form.get(key) or []
    if not isinstance(value, list | tuple):
        raise ValueError(f"{key} must be a list: got {_short(value)}")
    return value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

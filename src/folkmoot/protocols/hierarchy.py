"""Hierarchy: teams talk among themselves, then their delegates do; any protocol at each level, any depth.

The paper's outlook names hierarchical protocols. The rules, level by level:

1. Every team talks by the inner protocol, scaled to its size. Its verdict on an input is the label that more
   than half of its honest members hold in the end; a team without one sends no vote.
2. A delegate of each team with a verdict talks with the other delegates by the outer protocol, scaled to
   their number. The outer protocol may be a hierarchy of teams itself.
3. The members of a team hold what their delegate tells them: what it holds in the end, or, if the team sent
   no vote, what more than half of the delegates hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypeAlias, get_args

from folkmoot.protocols.snow import SnowProtocol
from folkmoot.protocols.whole import WholeProtocol

Delegates: TypeAlias = Literal["drawn", "honest"]
Level: TypeAlias = SnowProtocol[Any] | WholeProtocol
Teams: TypeAlias = Mapping[str, Sequence[int | str]] | Sequence[Sequence[int | str]]


@dataclass(frozen=True)
class Hierarchy(WholeProtocol):
    """Teams that talk among themselves first, and then by their delegates.

    Parameters
    ----------
    teams : mapping of str to sequence, or sequence of sequences
        The members of each team, by number or by name: everybody is in one. Teams without names are called
        "team 0", "team 1" and so on.
    inner : protocol, or mapping of str to protocol
        How the members of a team talk, for all teams or by the team's name: ``Slush`` and the like, scaled to
        the size of the team, or another ``Hierarchy``.
    outer : protocol
        How the delegates talk, scaled to their number; ``Hierarchy`` for teams of teams, by their names.
    delegates : {"drawn", "honest"}, default "drawn"
        Who speaks for a team: a member that a hash of all members' salts names, which lies if it is
        Byzantine; or somebody that follows the protocol, as if the members signed the verdict.

    Raises
    ------
    ValueError
        If a team is empty, somebody is in two teams, or ``inner`` misses a team.

    Examples
    --------
    Three teams of three: two of them have two that are right.

    >>> from folkmoot import Hierarchy, Slush, deliberate
    >>> teams = {"north": [0, 1, 2], "south": [3, 4, 5], "west": [6, 7, 8]}
    >>> rule = Hierarchy(teams, inner=Slush(k=2, alpha=2), outer=Slush(k=2, alpha=2))
    >>> votes = [[1], [1], [1], [1], [1], [1], [0], [0], [0]]
    >>> deliberate(votes, rule).decision
    array([1])
    """

    teams: Teams
    inner: Level | Mapping[str, Level]
    outer: Level
    delegates: Delegates = field(default="drawn", kw_only=True)

    weights: None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        given = self.teams
        if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
            raise TypeError(f"teams must be lists of participants, or lists by name: got {given!r}")
        by_name = given if isinstance(given, Mapping) else {f"team {i}": team for i, team in enumerate(given)}
        if not by_name:
            raise ValueError("teams must hold at least one team: got none")
        seen: dict[int | str, str] = {}
        for name, members in by_name.items():
            if isinstance(members, str) or not isinstance(members, Sequence):
                raise TypeError(f"team {name!r} must be a list of participants: got {members!r}")
            if not members:
                raise ValueError(f"team {name!r} must have at least one member")
            for member in members:
                if isinstance(member, bool) or not isinstance(member, int | str):
                    raise TypeError(f"team {name!r} must name participants by number or name: got {member!r}")
                if member in seen:
                    raise ValueError(
                        f"everybody must be in one team: {member!r} is in {seen[member]!r} and in {name!r}"
                    )
                seen[member] = name
        object.__setattr__(self, "teams", {name: tuple(members) for name, members in by_name.items()})
        if self.delegates not in get_args(Delegates):
            raise ValueError(f"delegates must be 'drawn' or 'honest': got {self.delegates!r}")
        levels = [*self.inner.values()] if isinstance(self.inner, Mapping) else [self.inner]
        for what, level in [*(("inner", each) for each in levels), ("outer", self.outer)]:
            if not isinstance(level, SnowProtocol | WholeProtocol):
                raise TypeError(f"{what} must be a protocol such as Slush(k, alpha): got {level!r}")
        if isinstance(self.inner, Mapping):
            unset = next((name for name in by_name if name not in self.inner), None)
            if unset is not None:
                raise ValueError(f"inner must have a protocol for each team: there is none for {unset!r}")
            strange = next((name for name in self.inner if name not in by_name), None)
            if strange is not None:
                raise ValueError(f"inner must name teams ({', '.join(by_name)}): got {strange!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the teams."""
        return tuple(self._teams)

    @property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The members of each team by number; ValueError where teams go by names that were not looked up."""
        for name, team in self._teams.items():
            word = next((member for member in team if isinstance(member, str)), None)
            if word is not None:
                raise ValueError(
                    f"team {name!r} names {word!r}, but participants have numbers here: give numbers, or "
                    "protocol.named(names)"
                )
        return tuple(tuple(int(member) for member in team) for team in self._teams.values())

    @property
    def _teams(self) -> dict[str, tuple[int | str, ...]]:
        return dict(self.teams)  # type: ignore[arg-type]  # made so in __post_init__

    def within(self, team: str) -> Level:
        """How a team talks; one protocol for all teams may have a threshold or weight for everybody."""
        if isinstance(self.inner, Mapping):
            return self.inner[team]
        members = self._teams[team]
        own = isinstance(self.inner, SnowProtocol) and not isinstance(members[0], str)
        return self.inner.restricted(members) if own else self.inner  # type: ignore[arg-type]

    @property
    def in_words(self) -> str:
        """A few words for reports."""
        inside = "by team" if isinstance(self.inner, Mapping) else level_in_words(self.inner)
        outside = level_in_words(self.outer)
        return f"Hierarchy of {len(self._teams)} teams (inside {inside}; outside {outside})"

    @property
    def how_decided(self) -> str:
        """How a decision comes about, in half a sentence for explanations."""
        return (
            "Teams talked first, then their delegates, and members heard from their delegate what came of it"
        )

    def why_open(self, rounds: int) -> str:
        """Why an input may stay open after so many rounds, and what to try."""
        return (
            f"{rounds} rounds a level brought no majority of the delegates, or no team to a verdict; try "
            "more rounds, or a lower alpha inside or outside"
        )

    def named(self, names: Sequence[str]) -> Self:
        """Look the members up among these names.

        Parameters
        ----------
        names : sequence of str
            The participants, in the order of their votes.

        Returns
        -------
        Hierarchy
            The same with members by number.

        Raises
        ------
        ValueError
            If a team names a stranger, or somebody is in no team.
        """
        number = {name: i for i, name in enumerate(names)}
        teams: dict[str, tuple[int, ...]] = {}
        for team, members in self._teams.items():
            for member in members:
                if isinstance(member, str) and member not in number:
                    few = f"{', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"
                    raise ValueError(f"team {team!r} names {member!r}, who is no participant: {few}")
            teams[team] = tuple(number[m] if isinstance(m, str) else m for m in members)
        inner = self.inner
        if any(isinstance(self.within(team), WholeProtocol) for team in teams):
            inner = {team: _named(self.within(team), [names[i] for i in at]) for team, at in teams.items()}
        found = replace(self, teams=teams, inner=inner, outer=_named(self.outer, list(teams)))
        left = set(range(len(names))) - {i for members in found.members for i in members}
        if left:
            raise ValueError(f"everybody must be in one team: {names[min(left)]!r} is in none")
        found.check(len(names))
        return found

    def check(self, participants: int) -> None:
        """Check that everybody of so many is in one team.

        Parameters
        ----------
        participants : int
            How many there are.

        Raises
        ------
        ValueError
            If somebody is in none, or a team has a member that is not there.
        """
        everybody = sorted(i for members in self.members for i in members)
        strange = next((i for i in everybody if not 0 <= i < participants), None)
        if strange is not None:
            raise ValueError(f"teams must name participants 0..{participants - 1}: got {strange}")
        left = set(range(participants)) - set(everybody)
        if left:
            raise ValueError(f"everybody must be in one team: participant {min(left)} is in none")
        for name, members in zip(self.names, self.members, strict=True):
            inside = self.within(name)
            if isinstance(inside, WholeProtocol) and len(members) > 1:
                inside.check(len(members))
        if isinstance(self.outer, WholeProtocol) and len(self.names) > 1:
            self.outer.named(self.names).check(len(self.names))

    def restricted(self, participants: Sequence[int]) -> Self:
        """The same among some of the participants; teams that have nobody left are left out."""
        place = {int(i): at for at, i in enumerate(participants)}
        teams, inner = {}, {}
        for name, members in zip(self.names, self.members, strict=True):
            there = [at for at, i in enumerate(members) if i in place]
            if there:
                teams[name] = tuple(place[members[at]] for at in there)
                inner[name] = _among(self.within(name), there, len(members))
        kept = [at for at, name in enumerate(self.names) if name in teams]
        outer = _among(_named(self.outer, self.names), kept, len(self.names))
        return replace(self, teams=teams, inner=inner, outer=outer)

    def scaled(self, participants: int) -> Self:  # noqa: ARG002
        """Itself: each level is scaled to its own number when it is played."""
        return self


def level_in_words(level: Level) -> str:
    """``Slush k=4, alpha=3``, for reports."""
    if isinstance(level, WholeProtocol):
        return level.in_words
    alpha = f"alpha={level.alpha}" if isinstance(level.alpha, int) else "local alpha"
    return f"{type(level).__name__} k={level.k}, {alpha}"


def _named(level: Level, names: Sequence[str]) -> Level:
    return level.named(names) if isinstance(level, WholeProtocol) else level


def _among(level: Level, there: Sequence[int], many: int) -> Level:
    """A level among those of its many that are there."""
    if isinstance(level, SnowProtocol | Hierarchy):
        return level.restricted(there)
    if len(there) < many:
        raise ValueError(
            f"{type(level).__name__} inside a hierarchy needs everybody: {many - len(there)} missing"
        )
    return level

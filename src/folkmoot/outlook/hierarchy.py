"""Hierarchy: teams talk among themselves, then their delegates do; any protocol at each level, any depth.

The paper's outlook names hierarchical protocols. The rules, level by level:

1. Every team talks by the inner protocol, scaled to its size. Its verdict on an input is the label that more
   than half of its honest members hold in the end; a team without one sends no vote.
2. A delegate of each team with a verdict talks with the other delegates by the outer protocol, scaled to
   their number. The outer protocol may be a hierarchy of teams itself.
3. The members of a team hold what their delegate tells them: what it holds in the end, or, if the team sent
   no vote, what more than half of the delegates hold.

A Byzantine participant lies in the talk of its team, and again among the delegates if it speaks for its
team. What it would answer to a query there it tells its own team as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from folkmoot.adversaries import Adversary, Silent, handed_in
from folkmoot.arrays import Array, Ints
from folkmoot.outcome import Outcome
from folkmoot.outlook import leaders
from folkmoot.outlook.fba import FBA
from folkmoot.outlook.leaders import leader_order, simulated_salts
from folkmoot.outlook.moot import Ended, Moot, outcome_of, refuse_sampling
from folkmoot.outlook.talk import counted
from folkmoot.protocols import SnowProtocol
from folkmoot.votes import UNCOLOURED, Votes

Delegates: TypeAlias = Literal["drawn", "honest"]
Level: TypeAlias = "SnowProtocol[Any] | Hierarchy | FBA"
Teams: TypeAlias = Mapping[str, Sequence[int | str]] | Sequence[Sequence[int | str]]


@dataclass(frozen=True)
class Hierarchy:
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
        How the delegates talk, scaled to their number; ``Hierarchy`` for teams of teams, by their names, or
        ``FBA``.
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

    >>> from folkmoot import Slush, deliberate
    >>> from folkmoot.outlook import Hierarchy
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
            if not isinstance(level, SnowProtocol | Hierarchy | FBA):
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
        members = [member for member in self._teams[team] if not isinstance(member, str)]
        return (
            self.inner.restricted(members) if isinstance(self.inner, SnowProtocol) and members else self.inner
        )

    def named(self, names: Sequence[str]) -> Self:
        """Look the members up among these names."""
        number = {name: i for i, name in enumerate(names)}
        teams: dict[str, tuple[int, ...]] = {}
        for team, members in self._teams.items():
            for member in members:
                if isinstance(member, str) and member not in number:
                    few = f"{', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"
                    raise ValueError(f"team {team!r} names {member!r}, who is no participant: {few}")
            teams[team] = tuple(number[m] if isinstance(m, str) else m for m in members)
        inner = self.inner
        if any(isinstance(self.within(team), Hierarchy | FBA) for team in teams):
            inner = {team: _named(self.within(team), [names[i] for i in at]) for team, at in teams.items()}
        found = replace(self, teams=teams, inner=inner, outer=_named(self.outer, list(teams)))
        left = set(range(len(names))) - {i for members in found.members for i in members}
        if left:
            raise ValueError(f"everybody must be in one team: {names[min(left)]!r} is in none")
        found.check(len(names))
        return found

    def check(self, participants: int) -> None:
        """Check that everybody of so many is in one team."""
        everybody = sorted(i for members in self.members for i in members)
        strange = next((i for i in everybody if not 0 <= i < participants), None)
        if strange is not None:
            raise ValueError(f"teams must name participants 0..{participants - 1}: got {strange}")
        left = set(range(participants)) - set(everybody)
        if left:
            raise ValueError(f"everybody must be in one team: participant {min(left)} is in none")
        for name, members in zip(self.names, self.members, strict=True):
            inside = self.within(name)
            if isinstance(inside, Hierarchy | FBA) and len(members) > 1:
                inside.check(len(members))
        if isinstance(self.outer, Hierarchy | FBA) and len(self.names) > 1:
            self.outer.named(self.names).check(len(self.names))

    def run(self, votes: npt.ArrayLike, *, sampling: object = None, **options: Any) -> Outcome:
        """Deliberate by this protocol: what ``deliberate(votes, protocol, ...)`` calls."""
        refuse_sampling(self, sampling)
        moot = Moot.checked(votes, **options)
        return outcome_of(moot, self.play(moot), sparse=False)

    def play(self, moot: Moot) -> list[Ended]:
        """All repetitions."""
        self.check(len(moot.votes))
        inside = []
        for at, (name, members) in enumerate(zip(self.names, self.members, strict=True)):
            own = {place: moot.adversaries[i] for place, i in enumerate(members) if i in moot.adversaries}
            team = replace(
                moot,
                votes=moot.votes[list(members)],
                adversaries={place: _inside(liar, members, name) for place, liar in own.items()},
                seed=seed_of(moot.seed, 0, at),
                progress=None,
            )
            inside.append(_talk(team, self.within(name)))
            if moot.progress:
                moot.progress(at + 1, len(self.names) + 1)
        found = [
            self._told(moot, [team[repetition] for team in inside], repetition)
            for repetition in range(moot.repeats)
        ]
        if moot.progress:
            moot.progress(len(self.names) + 1, len(self.names) + 1)
        return found

    def _told(self, moot: Moot, inside: list[_Talked], repetition: int) -> Ended:
        """One repetition, after the teams have talked: the talk of the delegates, and what they tell."""
        n, inputs = moot.votes.shape
        verdicts = np.stack([team.verdict for team in inside])
        delegates = self._delegates(moot, repetition) if moot.adversaries else []
        lies_too = self.delegates == "drawn"
        speaking = {at: i for at, i in enumerate(delegates) if i in moot.adversaries and lies_too}
        rows = verdicts.copy()
        for at, member in speaking.items():
            rows[at] = np.maximum(moot.votes[member], 0)  # it can always say something
        liars = {at: self._outside(moot.adversaries[i], speaking) for at, i in speaking.items()}
        (level,) = _talk(
            replace(
                moot,
                votes=rows,
                adversaries=liars,
                seed=seed_of(moot.seed, 1, repetition),
                repeats=1,
                missing="absent",
                record=False,
                progress=None,
            ),
            _named(self.outer, self.names),
        )
        told = np.where(rows == UNCOLOURED, level.verdict, level.ended.decisions)
        lies = handed_in(rows, liars, moot.truth, moot.classes)
        told = np.where(np.isin(np.arange(len(rows)), [*liars])[:, None], lies, told)
        team_of = np.empty(n, dtype=np.int64)
        for at, members in enumerate(self.members):
            team_of[list(members)] = at
        held = np.where(moot.honest[:, None], told[team_of], UNCOLOURED).astype(np.int8)
        rounds = level.ended.rounds + np.maximum.reduce([team.ended.rounds for team in inside])
        # Delegates tell their teams: a message a member, or one for each input if no query carries them all.
        down = (n - len(inside)) * (1 if moot.shared else inputs)
        return Ended(
            held,
            level.ended.settled & np.logical_and.reduce([team.ended.settled for team in inside]),
            rounds,
            level.ended.queries + sum(team.ended.queries for team in inside) + down,
            _history(moot, inside, held, rounds) if moot.record else None,
        )

    def _delegates(self, moot: Moot, repetition: int) -> list[int]:
        """Who speaks for each team: the first of an order drawn from salts, or its first honest one."""
        found = []
        for at, members in enumerate(self.members):
            salts = simulated_salts(seed_of(moot.seed, 2, at), repetition, len(members))
            drawn = [members[i] for i in leader_order(salts)]
            honest = [i for i in drawn if i not in moot.adversaries] or drawn
            found.append(honest[0] if self.delegates == "honest" else drawn[0])
        return found

    def _outside(self, liar: Adversary, speaking: Mapping[int, int]) -> Adversary:
        """A liar by the numbers of the teams; one that follows a team for which a liar speaks is silent."""
        team_of = {i: at for at, members in enumerate(self.members) for i in members}
        if liar.follows is not None and team_of[liar.follows] in speaking:
            return Silent()
        return liar.renumbered(team_of)


@dataclass(frozen=True, eq=False)
class _Talked:
    """One repetition of the talk of one level."""

    ended: Ended
    verdict: Ints  # (input,)


def _talk(moot: Moot, level: Level) -> list[_Talked]:
    """All repetitions of a talk of one level; where nobody can ask anybody, what is there already."""
    n, inputs = moot.votes.shape
    if n == 1 or not moot.honest.any():
        held = np.where(moot.honest[:, None], moot.votes, UNCOLOURED).astype(np.int8)
        alone: Votes = moot.votes[0] if moot.honest.any() else np.full(inputs, UNCOLOURED)
        history = counted(held.T, moot.classes)[:, None]
        none = np.zeros(inputs, dtype=np.int64)
        ended = Ended(held, np.ones(inputs, dtype=np.bool_), none, 0, history)
        return [_Talked(ended, alone)] * moot.repeats
    if isinstance(level, SnowProtocol):
        if moot.shared:  # a query carries all inputs, so who has no vote on one takes part without a label
            moot = replace(moot, missing="uncoloured")
        played = leaders.play(moot, level.scaled(n))
    else:
        played = level.play(moot)
    sparse = not isinstance(level, Hierarchy)
    return [_Talked(each, outcome_of(moot, [each], sparse=sparse).decision) for each in played]


def _history(moot: Moot, inside: Sequence[_Talked], held: Array, rounds: Ints) -> Array:
    """(input, round, colour): honest holders; delegates change nobody until they are done."""
    most = 2 * moot.rounds + 1
    now = np.zeros((len(rounds), most, moot.classes), dtype=np.int32)
    for team in inside:
        history = team.ended.history
        if history is not None:
            now += history[:, np.minimum(np.arange(most), history.shape[1] - 1)]
    over = (np.arange(most) >= rounds[:, None]) & (np.arange(most) > 0)
    end = counted(held[moot.honest].T, moot.classes)
    now[over] = np.broadcast_to(end[:, None], now.shape)[over]
    return now


def _inside(liar: Adversary, members: tuple[int, ...], name: str) -> Adversary:
    """A liar by the numbers of its team."""
    if liar.follows is not None and liar.follows not in members:
        raise ValueError(
            f"{type(liar).__name__} follows participant {liar.follows}, who is not in its team {name!r}"
        )
    return liar.renumbered({i: place for place, i in enumerate(members)})


def seed_of(seed: int, *purpose: int) -> int:
    """A seed of its own for each talk."""
    return int(np.random.SeedSequence([seed, *purpose]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _named(level: Level, names: Sequence[str]) -> Level:
    return level if isinstance(level, SnowProtocol) else level.named(names)

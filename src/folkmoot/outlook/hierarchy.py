"""Hierarchy: teams deliberate, then their delegates do; any protocol at each level, any depth.

The paper's outlook names hierarchical protocols. The rules, level by level:

1. Every team deliberates by the inner protocol, scaled to its size. Its verdict on an input is the label that
   more than half of its honest members hold in the end. A team without one sends no vote.
2. A delegate of each team with a verdict deliberates with the others by the outer protocol, scaled to
   their number. The outer protocol may be a hierarchy of teams itself.
3. The members of a team take the final label of their delegate. If the team sent no vote, they take that of
   more than half of the delegates.

A Byzantine participant lies in its team, and again among the delegates if it represents its team. It gives
its own team the answer that it would give to a query there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries import Silent
from folkmoot.adversaries.interface import Adversary, handed_in
from folkmoot.arrays import Array, Classes, Ints
from folkmoot.outcome import Outcome
from folkmoot.outlook import leaders
from folkmoot.outlook.fba import FBA
from folkmoot.outlook.leaders import leader_order, simulated_salts
from folkmoot.outlook.moot import Ended, OutlookMoot, outcome_of, refuse_sampling
from folkmoot.outlook.rounds import counted, seed_of
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.votes import NO_VOTE, Votes

Delegates: TypeAlias = Literal["drawn", "honest"]
Level: TypeAlias = "SnowProtocol[Any] | Hierarchy | FBA"
Teams: TypeAlias = Mapping[str, Sequence[int | str]] | Sequence[Sequence[int | str]]


@dataclass(frozen=True)
class Hierarchy:
    """Teams that deliberate first, and then their delegates.

    Parameters
    ----------
    teams : mapping of str to sequence, or sequence of sequences
        The members of each team, by number or by name: everybody is in one. Teams without names are called
        "team 0", "team 1" and so on.
    inner : protocol, or mapping of str to protocol
        The protocol of a team, for all teams or by name: ``Slush`` and the like, scaled to the size of the
        team, or another ``Hierarchy``.
    outer : protocol
        The protocol of the delegates, scaled to their number; ``Hierarchy`` for teams of teams, by their
        names, or ``FBA``.
    delegates : {"drawn", "honest"}, default "drawn"
        The delegate of a team: "drawn" by a hash of all members' salts, so that it may be Byzantine. Or
        "honest", as if the members signed the verdict.

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
        checks.one_of("delegates", self.delegates, get_args(Delegates))
        inner = self.inner if isinstance(self.inner, Mapping) else dict.fromkeys(by_name, self.inner)
        for what, level in [*(("inner", each) for each in inner.values()), ("outer", self.outer)]:
            if not isinstance(level, SnowProtocol | Hierarchy | FBA):
                raise TypeError(f"{what} must be a protocol such as Slush(k, alpha): got {level!r}")
        if unset := [name for name in by_name if name not in inner]:
            raise ValueError(f"inner must have a protocol for each team: there is none for {unset[0]!r}")
        if strange := [name for name in inner if name not in by_name]:
            raise ValueError(f"inner must name teams ({', '.join(by_name)}): got {strange[0]!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the teams."""
        return tuple(self._teams)

    @property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The members of each team by number; ValueError where teams go by names that were not looked up."""
        for name, team in self._teams.items():
            if words := [member for member in team if isinstance(member, str)]:
                raise ValueError(
                    f"team {name!r} names {words[0]!r}, but participants have numbers here: give numbers, or "
                    "protocol.named(names)"
                )
        return tuple(tuple(int(member) for member in team) for team in self._teams.values())

    @property
    def _teams(self) -> dict[str, tuple[int | str, ...]]:
        return dict(self.teams)  # type: ignore[arg-type]  # made so in __post_init__

    def within(self, team: str) -> Level:
        """The protocol of a team; one for all teams may have a threshold or weight per participant."""
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
        if left := set(range(len(names))) - {i for members in found.members for i in members}:
            raise ValueError(f"everybody must be in one team: {names[min(left)]!r} is in none")
        found.check(len(names))
        return found

    def check(self, participants: int) -> None:
        """Check that everybody of so many is in one team."""
        everybody, all_ = {i for members in self.members for i in members}, set(range(participants))
        if strange := everybody - all_:
            raise ValueError(f"teams must name participants 0..{participants - 1}: got {min(strange)}")
        if left := all_ - everybody:
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
        moot = OutlookMoot.checked(votes, **options)
        return outcome_of(moot, self.play(moot), sparse=False)

    def play(self, moot: OutlookMoot) -> list[Ended]:
        """All repetitions."""
        self.check(len(moot.votes))
        inside = []
        for at, (name, members) in enumerate(zip(self.names, self.members, strict=True)):
            team = replace(
                moot,
                votes=moot.votes[list(members)],
                adversaries={
                    place: _inside(moot.adversaries[i], members, name)
                    for place, i in enumerate(members)
                    if i in moot.adversaries
                },
                seed=seed_of(moot.seed, 0, at),
                progress=None,
            )
            inside.append(_play_level(team, self.within(name)))
            if moot.progress:
                moot.progress(at + 1, len(self.names) + 1)
        found = [
            self._delegated(moot, each, repetition)
            for repetition, each in enumerate(zip(*inside, strict=True))
        ]
        if moot.progress:
            moot.progress(len(self.names) + 1, len(self.names) + 1)
        return found

    def _delegated(self, moot: OutlookMoot, inside: Sequence[tuple[Ended, Votes]], repetition: int) -> Ended:
        """One repetition after the teams' runs: the run of the delegates, and the labels that teams take."""
        teams = [ended for ended, _ in inside]
        rows = np.stack([verdict for _, verdict in inside])
        speaking = self._lying_delegates(moot, repetition)
        for at, member in speaking.items():
            rows[at] = np.maximum(moot.votes[member], 0)  # it always has a vote
        malicious = {at: self._outside(moot.adversaries[i], speaking) for at, i in speaking.items()}
        level = replace(
            moot,
            votes=rows,
            adversaries=malicious,
            seed=seed_of(moot.seed, 1, repetition),
            repeats=1,
            missing="absent",
            record=False,
            progress=None,
        )
        ((outer, verdict),) = _play_level(level, _named(self.outer, self.names))
        taken = np.where(rows == NO_VOTE, verdict, outer.decisions)
        taken[list(malicious)] = handed_in(rows, malicious, moot.truth, moot.classes, seed=moot.seed)[
            list(malicious)
        ]
        held: Classes = np.full(moot.votes.shape, NO_VOTE, dtype=np.int8)
        for members, what in zip(self.members, taken, strict=True):
            held[list(members)] = what
        held[~moot.honest] = NO_VOTE
        rounds = outer.rounds + np.max([team.rounds for team in teams], axis=0)
        # Delegates tell their teams: a message a member, or one for each input if no query carries them all.
        down = (len(held) - len(teams)) * (1 if moot.shared else len(rounds))
        return Ended(
            held,
            outer.converged & np.all([team.converged for team in teams], axis=0),
            rounds,
            outer.queries + sum(team.queries for team in teams) + down,
            _history(moot, teams, held, rounds) if moot.record else None,
        )

    def _lying_delegates(self, moot: OutlookMoot, repetition: int) -> dict[int, int]:
        """The malicious delegate of each team that has one: the first of an order drawn from salts."""
        found = {}
        for at, members in enumerate(self.members) if self.delegates == "drawn" and moot.adversaries else ():
            salts = simulated_salts(seed_of(moot.seed, 2, at), repetition, len(members))
            if (first := members[leader_order(salts)[0]]) in moot.adversaries:
                found[at] = first
        return found

    def _outside(self, adversary: Adversary, speaking: Mapping[int, int]) -> Adversary:
        """An adversary by team numbers; silent if it follows a team with a malicious delegate."""
        team_of = {i: at for at, members in enumerate(self.members) for i in members}
        if adversary.follows is not None and team_of[adversary.follows] in speaking:
            return Silent()
        return adversary.renumbered(team_of)


def _play_level(moot: OutlookMoot, level: Level) -> list[tuple[Ended, Votes]]:
    """Each repetition of one level with its verdict; if nobody can ask, the votes decide."""
    n, inputs = moot.votes.shape
    if n == 1 or not moot.honest.any():
        held = np.where(moot.honest[:, None], moot.votes, NO_VOTE).astype(np.int8)
        none = np.zeros(inputs, dtype=np.int64)
        ended = Ended(held, np.ones(inputs, dtype=np.bool_), none, 0, counted(held.T, moot.classes)[:, None])
        return [(ended, held.max(axis=0).astype(moot.votes.dtype))] * moot.repeats
    if isinstance(level, SnowProtocol):
        if moot.shared:  # a query carries all inputs, so who has no vote on one takes part without a label
            moot = replace(moot, missing="present")
        played = leaders.play(moot, level.scaled(n))
    else:
        played = level.play(moot)
    sparse = not isinstance(level, Hierarchy)
    return [(each, outcome_of(moot, [each], sparse=sparse).decision) for each in played]


def _history(moot: OutlookMoot, teams: Sequence[Ended], held: Array, rounds: Ints) -> Array:
    """(input, round, class): honest holders; delegates change nobody until they are done."""
    number = np.arange(2 * moot.rounds + 1)
    histories = [team.history for team in teams if team.history is not None]
    now = sum(each[:, np.minimum(number, each.shape[1] - 1)] for each in histories)
    over = (number >= rounds[:, None]) & (number > 0)
    end = counted(held[moot.honest].T, moot.classes)[:, None]
    return np.where(over[:, :, None], end, now).astype(np.int32)


def _inside(adversary: Adversary, members: tuple[int, ...], name: str) -> Adversary:
    """An adversary by the numbers of its team."""
    if adversary.follows is not None and adversary.follows not in members:
        raise ValueError(
            f"{type(adversary).__name__} follows participant {adversary.follows}, not of its team {name!r}"
        )
    return adversary.renumbered({i: place for place, i in enumerate(members)})


def _named(level: Level, names: Sequence[str]) -> Level:
    return level if isinstance(level, SnowProtocol) else level.named(names)

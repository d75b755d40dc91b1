"""A hierarchy, simulated: a talk of each team, then one of their delegates (the rules:
protocols/hierarchy.py).

A Byzantine participant lies in the talk of its team, and again among the delegates if it speaks for its
team. What it would answer to a query there it tells its own team as well.

In a talk by trust everybody has heard all first votes and holds what it decided by them. It asks members of
its team in proportion to its trust, and counts only answers that are like what it holds; a delegate does the
same among delegates. What its delegate tells it a member heeds as far as a talk may change what it decided
(``self_anchored.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries import Adversary, Silent, handed_in
from folkmoot.arrays import Array, Bools, Ints, Progress
from folkmoot.outcome import Outcome
from folkmoot.played import Played, Schedule
from folkmoot.protocols import SnowProtocol
from folkmoot.protocols.hierarchy import Hierarchy, Level
from folkmoot.protocols.leaders import leader_order
from folkmoot.sampling import Trusting
from folkmoot.simulation.kernels.leading import simulated_salts
from folkmoot.simulation.play_options import Batch
from folkmoot.simulation.setting import check_adversaries, check_told_truth
from folkmoot.trust import LEAST_LIKENESS
from folkmoot.votes import UNCOLOURED, Missing, Votes, check_votes, class_count


@dataclass(frozen=True, eq=False)
class _Talk:
    """What a talk came to, with an axis of repetitions throughout."""

    verdict: Ints  # (repetition, input)
    held: Ints  # (repetition, member, input)
    settled: Bools  # (repetition, input)
    rounds: Ints  # (repetition, input)
    queries: Ints  # (repetition,)
    history: Array | None = None  # (repetition, input, round, colour): honest members; None unless recorded


def deliberate_in_teams(
    votes: npt.ArrayLike,
    protocol: Hierarchy,
    *,
    adversaries: Mapping[int, Adversary] | None = None,
    truth: npt.ArrayLike | None = None,
    rounds: int = 50,
    schedule: Schedule = "one",
    batch: Batch = "independent",
    repeats: int = 1,
    seed: int = 0,
    threads: int | None = None,
    classes: int | None = None,
    keys: npt.ArrayLike | None = None,
    missing: Missing = "uncoloured",
    record: bool = False,
    there: Bools | None = None,
    leaning: Votes | None = None,
    asks: Trusting | None = None,
    permute: bool = True,
    progress: Progress | None = None,
) -> Outcome:
    """``deliberate`` by a hierarchy; ``rounds`` are of each level.

    ``there`` (participant,) are those who can answer, by default all: the others are left out of their teams.
    In a talk by trust ``leaning`` is what each holds after listening, and ``asks`` whom it asks.
    """
    cast = check_votes(votes if leaning is None else leaning, classes)
    batch = batch if asks is None else "shared"  # whole answers are compared with what is held
    count = class_count(cast, classes)
    if there is not None and not there.all():
        return _without(
            cast, protocol, there, adversaries or {}, truth=truth, rounds=rounds, schedule=schedule,
            batch=batch, repeats=repeats, seed=seed, threads=threads, classes=count, keys=keys,
            missing=missing, record=record, permute=permute, asks=asks, progress=progress,
        )  # fmt: skip
    n, inputs = cast.shape
    protocol.check(n)
    if missing not in get_args(Missing):
        raise ValueError(f"missing must be 'uncoloured' or 'absent': got {missing!r}")
    liars = check_adversaries(adversaries, n, Adversary)
    right = check_told_truth(truth, inputs, count, liars)
    times, start = checks.integer("repeats", repeats, least=1), checks.integer("seed", seed, least=0)
    options: dict[str, Any] = {
        "truth": right, "rounds": rounds, "schedule": schedule, "batch": batch, "classes": count,
        "threads": threads, "keys": keys, "missing": missing, "permute": permute,
    }  # fmt: skip

    inside = []
    for at, (name, members) in enumerate(zip(protocol.names, protocol.members, strict=True)):
        own = {place: liars[i] for place, i in enumerate(members) if i in liars}
        moved = {place: _inside(own[place], members, name) for place in own}
        rule = protocol.within(name)
        more = options | {"record": record}
        trust = asks and asks.restricted(members)
        inside.append(_talk(cast[list(members)], rule, moved, times, _seed(start, 0, at), more, trust))
        if progress:
            progress(at + 1, len(protocol.names) + 1)

    told = np.empty((times, len(inside), inputs), dtype=np.int64)
    outside = []
    for repetition in range(times):
        verdicts = np.stack([team.verdict[repetition] for team in inside])
        delegates = _delegates(protocol, liars, start, repetition) if liars or asks else []
        lies_too = protocol.delegates == "drawn"
        speaking = {at: i for at, i in enumerate(delegates) if i in liars and lies_too}
        rows = verdicts.copy()
        for at, member in speaking.items():
            rows[at] = np.where(cast[member] == UNCOLOURED, 0, cast[member])  # it can always say something
        moved = {at: _outside(liars[i], protocol, speaking) for at, i in speaking.items()}
        more = options | {"missing": "absent"}
        trust = asks and asks.restricted(delegates)
        level = _talk(rows, protocol.outer, moved, 1, _seed(start, 1, repetition), more, trust)
        outside.append(level)
        held = np.where(rows == UNCOLOURED, level.verdict[0], level.held[0])
        lies = handed_in(rows, moved, right, count)
        told[repetition] = np.where(np.isin(np.arange(len(rows)), [*moved])[:, None], lies, held)
    if progress:
        progress(len(protocol.names) + 1, len(protocol.names) + 1)

    honest = np.ones(n, dtype=np.bool_)
    honest[list(liars)] = False
    team_of = np.empty(n, dtype=np.int64)
    for at, members in enumerate(protocol.members):
        team_of[list(members)] = at
    decisions = np.where(honest[:, None], told[:, team_of], UNCOLOURED).astype(np.int8)
    # Delegates tell their teams: one message a member, and for each input where every input talks by itself.
    down = (n - len(inside)) * (inputs if batch == "independent" else 1)
    one = 0 if times == 1 else slice(None)
    settled = np.stack([level.settled[0] for level in outside])
    lasted = np.stack([level.rounds[0] for level in outside])
    asked = np.stack([level.queries[0] for level in outside])
    for team in inside:
        settled &= team.settled
    lasted += np.maximum.reduce([team.rounds for team in inside])
    asked += sum(team.queries for team in inside) + down
    return Outcome(
        decisions=decisions[one],
        honest=honest,
        classes=count,
        settled=settled[one],
        rounds=lasted[one],
        queries=np.asarray(asked)[one],
        history=_history(inside, decisions[:, honest], lasted, int(rounds), count)[one] if record else None,
        present=None,
        played=Played(
            protocol=protocol,
            schedule=schedule,
            seed=start,
            adversaries=liars,
            first=partial(handed_in, cast, liars, right, count, missing=missing),
            query=partial(_query, protocol, honest, asks),
            again=partial(_again, cast, protocol, liars, honest, options | {"asks": asks}),
            recorded=None,
            plain=_not_plain,
        ),
    )


def _without(
    votes: Votes,
    protocol: Hierarchy,
    there: Bools,
    adversaries: Mapping[int, Adversary],
    *,
    asks: Trusting | None,
    **options: Any,
) -> Outcome:
    """The talk of those who are there; the others hold nothing and do not count as honest."""
    protocol.check(len(votes))
    rows = np.flatnonzero(there).tolist()
    place = {i: at for at, i in enumerate(rows)}
    moved = {place[i]: liar.renumbered(place) for i, liar in adversaries.items() if i in place}
    options["asks"] = asks and asks.restricted(rows)
    few = deliberate_in_teams(votes[rows], protocol.restricted(rows), adversaries=moved, **options)
    decisions = np.full((*few.decisions.shape[:-2], *votes.shape), UNCOLOURED, dtype=np.int8)
    decisions[..., rows, :] = few.decisions
    honest = np.zeros(len(votes), dtype=np.bool_)
    honest[rows] = few.honest
    played = few.played and replace(
        few.played,
        protocol=protocol,
        adversaries={i: adversaries[i] for i in adversaries if i in place},
        first=partial(_first, few.played, rows, votes),
        query=partial(_query_of_all, few.played, rows, len(votes)),
        again=None,
    )
    return replace(few, decisions=decisions, honest=honest, played=played)


def _first(inner: Played, rows: list[int], votes: Votes) -> Votes:
    cast = votes.copy()  # what those who do not talk have said, they have said
    cast[rows] = inner.first()
    return cast


def _query_of_all(inner: Played, rows: list[int], participants: int, i: int) -> tuple[Ints, Ints]:
    whole = np.zeros((2, participants), dtype=np.int64)
    whole[:, rows] = inner.query(i)
    return whole[0], whole[1]


def _talk(
    votes: Votes,
    rule: Level,
    liars: dict[int, Adversary],
    repeats: int,
    seed: int,
    options: dict[str, Any],
    asks: Trusting | None,
) -> _Talk:
    """A talk of one level; where nobody can ask anybody, what is there already."""
    from folkmoot.simulation.engine import deliberate  # which plays a level that is a hierarchy by this file

    n, inputs = votes.shape
    honest = [i for i in range(n) if i not in liars]
    if n == 1 or not honest:
        alone = votes[0] if honest else np.full(inputs, UNCOLOURED)
        none = np.zeros((repeats, inputs), dtype=np.int64)
        return _Talk(
            verdict=np.repeat(alone[None], repeats, axis=0),
            held=np.repeat(
                np.where(np.isin(np.arange(n), honest)[:, None], votes, UNCOLOURED)[None], repeats, 0
            ),
            settled=np.ones((repeats, inputs), dtype=np.bool_),
            rounds=none,
            queries=np.zeros(repeats, dtype=np.int64),
            history=np.repeat(_counted(votes[honest], options["classes"])[None, :, None], repeats, axis=0),
        )
    scaled = rule.scaled(n) if isinstance(rule, SnowProtocol) else rule
    if isinstance(rule, SnowProtocol) and options["missing"] == "absent" and options["batch"] == "shared":
        # A shared query carries all inputs, so who has no vote on one says so: it takes part without a label.
        options = options | {"missing": "uncoloured"}
    if asks is not None and isinstance(rule, SnowProtocol):
        options = options | {"sampling": asks, "least_likeness": LEAST_LIKENESS}
    if asks is not None and isinstance(rule, Hierarchy):
        outcome = deliberate_in_teams(
            votes, rule, adversaries=liars, repeats=repeats, seed=seed, asks=asks, **options
        )
    else:
        outcome = deliberate(votes, scaled, adversaries=liars, repeats=repeats, seed=seed, **options)
    axis = (slice(None),) if repeats > 1 else (None,)
    return _Talk(
        verdict=outcome.decision[axis],
        held=outcome.decisions[axis].astype(np.int64),
        settled=outcome.settled[axis],
        rounds=outcome.rounds[axis],
        queries=np.atleast_1d(outcome.queries),
        history=None if outcome.history is None else outcome.history[axis],
    )


def _counted(votes: Array, classes: int) -> Array:
    """(..., input, colour): how many of (..., member, input) hold each."""
    return np.stack([(votes == colour).sum(axis=-2) for colour in range(classes)], axis=-1)


def _history(inside: Sequence[_Talk], held: Array, lasted: Ints, rounds: int, classes: int) -> Any:
    """(repetition, input, round, colour): honest holders; delegates change nobody until they are done."""
    known = [team.history for team in inside if team.history is not None]
    most = 2 * rounds + 1
    now = np.zeros((*lasted.shape, most, classes), dtype=np.int32)
    for each in known:
        now += each[:, :, np.minimum(np.arange(most), each.shape[2] - 1)]
    over = (np.arange(most) >= lasted[..., None]) & (np.arange(most) > 0)
    now[over] = np.broadcast_to(_counted(held, classes)[:, :, None], now.shape)[over]
    return now


def _delegates(protocol: Hierarchy, liars: Mapping[int, Adversary], seed: int, repetition: int) -> list[int]:
    """Who speaks for each team: the first of an order drawn from salts, or the first in it that is honest."""
    found = []
    for at, members in enumerate(protocol.members):
        order = leader_order(simulated_salts(_seed(seed, 2, at), repetition, len(members)))
        drawn = [members[i] for i in order]
        honest = [i for i in drawn if i not in liars] or drawn
        found.append(honest[0] if protocol.delegates == "honest" else drawn[0])
    return found


def _inside(liar: Adversary, members: tuple[int, ...], name: str) -> Adversary:
    """A liar by the numbers of its team."""
    if liar.follows is not None and liar.follows not in members:
        raise ValueError(
            f"{type(liar).__name__} follows participant {liar.follows}, who is not in its team {name!r}"
        )
    return liar.renumbered({i: place for place, i in enumerate(members)})


def _outside(liar: Adversary, protocol: Hierarchy, speaking: Mapping[int, int]) -> Adversary:
    """A liar by the numbers of the teams; one that follows a team for which a liar speaks is silent."""
    team_of = {i: at for at, members in enumerate(protocol.members) for i in members}
    if liar.follows is not None and team_of[liar.follows] in speaking:
        return Silent()
    return liar.renumbered(team_of)


def _seed(seed: int, *purpose: int) -> int:
    """A seed of its own for each talk."""
    return int(np.random.SeedSequence([seed, *purpose]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _query(
    protocol: Hierarchy,
    honest: Bools,
    asks: Trusting | None,
    i: int,  # noqa: ARG001
) -> tuple[Ints, Ints]:
    """k and alpha of each honest participant in the talk of its team."""
    size, alpha = np.zeros((2, len(honest)), dtype=np.int64)
    for name, members in zip(protocol.names, protocol.members, strict=True):
        rule = protocol.within(name)
        if isinstance(rule, SnowProtocol) and len(members) > 1:
            scaled = rule.scaled(len(members))
            many = np.full(len(members), scaled.k) if asks is None else asks.restricted(members).trusted
            size[list(members)], alpha[list(members)] = scaled.reaching(many)
    size[~honest] = alpha[~honest] = 0
    return size, alpha


def _again(
    cast: Votes,
    protocol: Hierarchy,
    liars: dict[int, Adversary],
    honest: Bools,
    options: dict[str, Any],
    i: int,
    votes: Votes,
    times: int,
    seed: int,
) -> Ints:
    """(variant, time): what is decided on input i if these (participant, variant) are the first votes."""
    variants = votes.shape[1]
    right: Array | None = options["truth"]
    again = deliberate_in_teams(
        np.where(honest[:, None], votes, cast[:, [i]]),
        protocol,
        adversaries=liars,
        repeats=times,
        seed=seed,
        **options | {"keys": None, "truth": None if right is None else np.repeat(right[i], variants)},
    )
    return np.asarray(np.atleast_2d(again.decision).T)


def _not_plain(i: int) -> None:
    """A hierarchy is not one talk, so it has no chain of its own."""

"""The data of talks on a page: arrays in, values of JSON out. ``talk.js`` reads what is written here.

::

    {"labels": ["cat", ...],               what the colours are called
     "noun": "liar",                       what one is called that does not follow the rule
     "ink": true,                          whether images are ink on paper
     "node": false,                        whether it is what one node knows of a motion
     "inputs": [{"name": "input 7", "truth": 2 or -1,
                 "image": "data:image/png;base64,..." or null, "row": [["age", "54"], ...] or null}],
     "moots": [{"name": "10 liars", "rule": "Slush, k = 10, alpha = 6", "lockstep": false,
                "names": ["#0", ...], "honest": CODE (participant) 1 for those who decide,
                "liars": {"3": "PerfectlyMalicious()"},
                "score": {"right": 0.84 or null, "undecided": 3, "inputs": 450},
                "talks": [TALK for each input]}]}

    TALK = {"decision": 2 or -1, "majority": {"decision": 2, "votes": 14, "of": 30},
            "absent": [who takes no part],
            "first": CODE (participant), first votes as handed in,
            "quiet": rounds at the end that are left out, as nobody changes its mind in them,
            "rounds": CODE (turn), rounds since the turn before,
            "askers": CODE (turn), "sizes": CODE (turn), "alphas": CODE (turn),
            "peers": CODE (answer), whom it asks in order of their numbers, each as its distance from the one
                     before in the same turn,
            "said": CODE (answer), 0 if it is what the peer holds (a liar: its first vote), else 2 + colour,
            "after": CODE (turn), 0 if the asker keeps its colour, else 2 + the new one,
            "tallies": [{colour: weight}, ...] where answers weigh differently, or null,
            "end": CODE (participant) or null, what is held in the end if that is not what the turns led to}

CODE is a text with a letter for each number x, chr(x + 40). Most of ``said`` and ``after`` is 0, so that
after deflation a turn costs little more than the names of those who are asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from folkmoot.votes import NO_VOTE

_BASE = 40
_QUIET = 3  # rounds that are shown after the last change of mind
_Ints = npt.NDArray[np.integer[Any]]


class ShownQueries(Protocol):
    """The turns of a talk as arrays: ``folkmoot.outcome.Turns`` is one."""

    @property
    def round(self) -> _Ints:
        """(turn,): the round, from 1 on."""

    @property
    def participant(self) -> _Ints:
        """(turn,): who asks."""

    @property
    def size(self) -> _Ints:
        """(turn,): how many it asks."""

    @property
    def alpha(self) -> _Ints:
        """(turn,): how many of these must agree."""

    @property
    def asked(self) -> _Ints:
        """(turn, most): whom it asks, in the first ``size`` places."""

    @property
    def answers(self) -> _Ints:
        """(turn, most): what they answer."""

    @property
    def tally(self) -> npt.NDArray[np.float64]:
        """(turn, colour): what the answers weigh."""

    @property
    def after(self) -> _Ints:
        """(turn,): what the asker holds from then on."""


@dataclass(frozen=True, eq=False)
class _Some:
    """Some of the turns."""

    round: _Ints
    participant: _Ints
    size: _Ints
    alpha: _Ints
    asked: _Ints
    answers: _Ints
    tally: npt.NDArray[np.float64]
    after: _Ints


@dataclass(frozen=True, eq=False)
class ShownRun:
    """One input as one moot talked about it; arrays run over the participants."""

    first: _Ints
    turns: ShownQueries
    decision: int
    end: _Ints  # what is held in the end
    absent: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class ShownMoot:
    """Participants and their talks about the same inputs, one each."""

    name: str
    rule: str
    names: Sequence[str]
    honest: npt.NDArray[np.bool_]  # who decides
    talks: Sequence[ShownRun]
    inputs: int  # how many there were in all
    undecided: int
    right: float | None = None  # the share of those that are decided right, if the truth is known
    liars: Mapping[int, str] = field(default_factory=dict)
    lockstep: bool = False


@dataclass(frozen=True)
class Input:
    """An input on the page."""

    name: str
    truth: int = NO_VOTE
    image: str | None = None
    row: Sequence[tuple[str, str]] | None = None


def closest_first(talks: Sequence[tuple[_Ints, _Ints]], classes: int) -> list[int]:
    """The inputs, those that some moot left undecided first, then those with the closest first votes.

    A talk is its first votes (participant, input) and what was decided (input,).
    """
    undecided = np.any([decision == NO_VOTE for _, decision in talks], axis=0)
    lead = np.min([_lead(votes, classes) for votes, _ in talks], axis=0)
    return [int(i) for i in np.lexsort((np.arange(len(lead)), lead, ~undecided))]


def _lead(votes: _Ints, classes: int) -> _Ints:
    """(input,): by how many first votes the commonest colour leads."""
    counts = np.stack([(votes == colour).sum(axis=0) for colour in range(classes)])
    last, best = np.sort(counts, axis=0)[-2:]
    return np.asarray(best - last)


def form(
    labels: Sequence[str],
    inputs: Sequence[Input],
    moots: Sequence[ShownMoot],
    *,
    noun: str,
    ink: bool,
    node: bool,
) -> dict[str, Any]:
    """Everything that a page shows, as values of JSON."""
    return {
        "labels": list(labels),
        "noun": noun,
        "ink": ink,
        "node": node,
        "inputs": [
            {
                "name": each.name,
                "truth": int(each.truth),
                "image": each.image,
                "row": None if each.row is None else [list(pair) for pair in each.row],
            }
            for each in inputs
        ],
        "moots": [_moot(each) for each in moots],
    }


def _moot(moot: ShownMoot) -> dict[str, Any]:
    lying = np.isin(np.arange(len(moot.names)), list(moot.liars))
    return {
        "name": moot.name,
        "rule": moot.rule,
        "lockstep": moot.lockstep,
        "names": list(moot.names),
        "honest": _code(moot.honest.astype(np.int64)),
        "liars": {str(who): how for who, how in moot.liars.items()},
        "score": {"right": moot.right, "undecided": moot.undecided, "inputs": moot.inputs},
        "talks": [_talk(each, moot.honest, lying, moot.lockstep) for each in moot.talks],
    }


def _talk(
    talk: ShownRun, honest: npt.NDArray[np.bool_], lying: npt.NDArray[np.bool_], lockstep: bool
) -> dict[str, Any]:
    held, last = _held(talk.turns, talk.first, lockstep)
    before = held[np.arange(len(held)), talk.turns.participant]
    turns, quiet = _eventful(talk.turns, before)
    held, before = held[: len(turns.round)], before[: len(turns.round)]
    there = np.arange(turns.asked.shape[1]) < turns.size[:, None]
    order = np.argsort(np.where(there, turns.asked, np.iinfo(np.int64).max), axis=1, kind="stable")
    peers, answers = (np.take_along_axis(each, order, axis=1) for each in (turns.asked, turns.answers))
    safe = np.where(there, peers, 0)
    expected = np.where(lying[safe], talk.first[safe], np.take_along_axis(held, safe, axis=1))
    counts = _counts(answers, there, turns.tally.shape[1])
    plain = np.allclose(counts, turns.tally)
    return {
        "decision": int(talk.decision),
        "majority": _majority(talk.first),
        "absent": [int(i) for i in talk.absent],
        "first": _code(talk.first),
        "quiet": quiet,
        "rounds": _code(np.diff(turns.round, prepend=0)),
        "askers": _code(turns.participant),
        "sizes": _code(turns.size),
        "alphas": _code(turns.alpha),
        "peers": _code(np.diff(safe, axis=1, prepend=0)[there]),
        "said": _code(np.where(answers == expected, 0, answers.astype(np.int64) + 2)[there]),
        "after": _code(np.where(turns.after == before, 0, turns.after + 2)),
        "tallies": None if plain else [_weighed(row) for row in turns.tally],
        "end": None
        if np.array_equal(last[honest], talk.end[honest])
        else _code(np.where(honest, talk.end, last)),
    }


def _held(turns: ShownQueries, first: _Ints, lockstep: bool) -> tuple[_Ints, _Ints]:
    """(turn, participant): what all hold when a turn is taken, and what they hold after the last."""
    now = np.array(first, dtype=np.int64)
    held = np.empty((len(turns.round), len(now)), dtype=np.int64)
    later: dict[int, int] = {}
    for turn, (number, asker, after) in enumerate(
        zip(turns.round.tolist(), turns.participant.tolist(), turns.after.tolist(), strict=True)
    ):
        if later and number != turns.round[turn - 1]:
            now[list(later)] = list(later.values())
            later = {}
        held[turn] = now
        if lockstep:
            later[asker] = after
        else:
            now[asker] = after
    now[list(later)] = list(later.values())
    return held, now


def _eventful(turns: ShownQueries, before: _Ints) -> tuple[ShownQueries, int]:
    """The turns up to a few rounds after the last change of mind, and how many rounds are left out.

    A talk that does not settle goes on for all its rounds, and most of them change nothing.
    """
    changed = np.flatnonzero(turns.after != before)
    last = int(turns.round[changed[-1]]) if changed.size else 0
    kept = int((turns.round <= last + _QUIET).sum())
    if kept == len(turns.round):
        return turns, 0
    some = {
        name: getattr(turns, name)[:kept]
        for name in ("round", "participant", "size", "alpha", "asked", "answers", "tally", "after")
    }
    return _Some(**some), int(turns.round[-1] - turns.round[kept - 1])


def _counts(answers: _Ints, which: npt.NDArray[np.bool_], classes: int) -> npt.NDArray[np.float64]:
    """(turn, colour): how many answers name each colour."""
    named = np.where(which, answers, NO_VOTE)
    return np.stack([(named == colour).sum(axis=1) for colour in range(classes)], axis=1).astype(np.float64)


def _weighed(row: npt.NDArray[np.float64]) -> dict[str, float]:
    return {str(colour): round(float(weight), 3) for colour, weight in enumerate(row) if weight}


def _majority(first: _Ints) -> dict[str, int]:
    """The colour with most first votes; undecided if several have as many."""
    cast = first[first != NO_VOTE]
    counts = np.bincount(cast) if cast.size else np.zeros(1, dtype=np.int64)
    most = int(counts.max())
    best = np.flatnonzero(counts == most)
    decision = int(best[0]) if cast.size and best.size == 1 else NO_VOTE
    return {"decision": decision, "votes": most, "of": int(cast.size)}


def _code(numbers: _Ints) -> str:
    return "".join(map(chr, (np.asarray(numbers, dtype=np.int64) + _BASE).tolist()))

"""The JSON of a page that plays deliberations, made from arrays; ``deliberation.js`` reads it.

::

    {"labels": ["cat", ...],               names of the classes
     "noun": "malicious",                  the word for participants that do not follow the rule
     "ink": true,                          whether images are ink on paper
     "node": false,                        whether a node made it of a motion
     "inputs": [{"name": "input 7", "truth": 2 or -1,
                 "image": "data:image/png;base64,..." or null, "row": [["age", "54"], ...] or null}],
     "moots": [{"name": "10 malicious", "rule": "Slush, k = 10, alpha = 6", "lockstep": false,
                "names": ["#0", ...], "honest": CODE (participant) 1 for those who decide,
                "malicious": {"3": "PerfectlyMalicious()"},
                "score": {"right": 0.84 or null, "undecided": 3, "inputs": 450},
                "runs": [RUN for each input]}]}

    RUN = {"decision": 2 or -1, "majority": {"decision": 2, "votes": 14, "of": 30},
            "absent": [participants without a part],
            "first": CODE (participant), first votes as handed in,
            "quiet": rounds at the end that are left out, as nobody changes its mind in them,
            "rounds": CODE (turn), rounds since the turn before,
            "askers": CODE (turn), "sizes": CODE (turn), "alphas": CODE (turn),
            "peers": CODE (answer), whom it asks in order of their numbers, each as its distance from the one
                     before in the same turn,
            "answers": CODE (answer), 0 if it is what the peer holds (if malicious: its first vote), else
                     2 + class,
            "after": CODE (turn), 0 if the asker keeps its class, else 2 + the new one,
            "tallies": [{class: weight}, ...] if answers have weights, or null,
            "end": CODE (participant) or null, the final classes if turns do not lead to them}

CODE is a text with a letter for each number x, chr(x + 40). Most of ``answers`` and ``after`` is 0, so that
after deflation a turn costs little more than the names of those who are asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from folkmoot.outcome import Turns
from folkmoot.votes import NO_VOTE

_BASE = 40
_QUIET = 3  # rounds that are shown after the last change of mind
_Ints = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class PlayedRun:
    """The run of one input in one moot; arrays run over the participants."""

    first: _Ints
    turns: Turns
    decision: int
    end: _Ints  # what is held in the end
    absent: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class PlayedMoot:
    """Participants and their runs, one per input."""

    name: str
    rule: str
    names: Sequence[str]
    honest: npt.NDArray[np.bool_]  # who decides
    runs: Sequence[PlayedRun]
    inputs: int  # how many there were in all
    undecided: int
    right: float | None = None  # the share of those that are decided right, if the truth is known
    malicious: Mapping[int, str] = field(default_factory=dict)
    lockstep: bool = False


@dataclass(frozen=True)
class Input:
    """An input of a run."""

    name: str
    truth: int = NO_VOTE
    image: str | None = None
    row: Sequence[tuple[str, str]] | None = None


def closest_first(moots: Sequence[tuple[_Ints, _Ints]], classes: int) -> list[int]:
    """The inputs, those that some moot left undecided first, then those with the closest first votes.

    A moot is its first votes (participant, input) and decisions (input,).
    """
    undecided = np.any([decision == NO_VOTE for _, decision in moots], axis=0)
    lead = np.min([_lead(votes, classes) for votes, _ in moots], axis=0)
    return [int(i) for i in np.lexsort((np.arange(len(lead)), lead, ~undecided))]


def _lead(votes: _Ints, classes: int) -> _Ints:
    """(input,): by how many first votes the commonest class leads."""
    counts = np.stack([(votes == c).sum(axis=0) for c in range(classes)])
    last, best = np.sort(counts, axis=0)[-2:]
    return np.asarray(best - last)


def form(
    labels: Sequence[str],
    inputs: Sequence[Input],
    moots: Sequence[PlayedMoot],
    *,
    noun: str,
    ink: bool,
    node: bool,
) -> dict[str, Any]:
    """All data of a page, as values of JSON."""
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


def _moot(moot: PlayedMoot) -> dict[str, Any]:
    lying = np.isin(np.arange(len(moot.names)), list(moot.malicious))
    return {
        "name": moot.name,
        "rule": moot.rule,
        "lockstep": moot.lockstep,
        "names": list(moot.names),
        "honest": _code(moot.honest.astype(np.int64)),
        "malicious": {str(who): how for who, how in moot.malicious.items()},
        "score": {"right": moot.right, "undecided": moot.undecided, "inputs": moot.inputs},
        "runs": [_run(each, moot.honest, lying, moot.lockstep) for each in moot.runs],
    }


def _run(
    run: PlayedRun, honest: npt.NDArray[np.bool_], lying: npt.NDArray[np.bool_], lockstep: bool
) -> dict[str, Any]:
    held, last = _held(run.turns, run.first, lockstep)
    before = held[np.arange(len(held)), run.turns.participant]
    turns, quiet = _eventful(run.turns, before)
    held, before = held[: len(turns.round)], before[: len(turns.round)]
    there = np.arange(turns.asked.shape[1]) < turns.size[:, None]
    order = np.argsort(np.where(there, turns.asked, np.iinfo(np.int64).max), axis=1, kind="stable")
    peers: _Ints = np.take_along_axis(turns.asked, order, axis=1)
    answers: _Ints = np.take_along_axis(turns.answers, order, axis=1)
    safe = np.where(there, peers, 0)
    expected = np.where(lying[safe], run.first[safe], np.take_along_axis(held, safe, axis=1))
    counts = _counts(answers, there, turns.tally.shape[1])
    plain = np.allclose(counts, turns.tally)
    return {
        "decision": int(run.decision),
        "majority": _majority(run.first),
        "absent": [int(i) for i in run.absent],
        "first": _code(run.first),
        "quiet": quiet,
        "rounds": _code(np.diff(turns.round, prepend=0)),
        "askers": _code(turns.participant),
        "sizes": _code(turns.size),
        "alphas": _code(turns.alpha),
        "peers": _code(np.diff(safe, axis=1, prepend=0)[there]),
        "answers": _code(np.where(answers == expected, 0, answers.astype(np.int64) + 2)[there]),
        "after": _code(np.where(turns.after == before, 0, turns.after + 2)),
        "tallies": None if plain else [_weighed(row) for row in turns.tally],
        "end": None
        if np.array_equal(last[honest], run.end[honest])
        else _code(np.where(honest, run.end, last)),
    }


def _held(turns: Turns, first: _Ints, lockstep: bool) -> tuple[_Ints, _Ints]:
    """(turn, participant): the classes held at each turn, and after the last."""
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


def _eventful(turns: Turns, before: _Ints) -> tuple[Turns, int]:
    """The turns up to a few rounds after the last change of mind, and how many rounds are left out.

    A run that does not converge goes on for all its rounds, and most of them change nothing.
    """
    changed = np.flatnonzero(turns.after != before)
    last = int(turns.round[changed[-1]]) if changed.size else 0
    kept = int((turns.round <= last + _QUIET).sum())
    if kept == len(turns.round):
        return turns, 0
    some = {each.name: getattr(turns, each.name)[:kept] for each in fields(turns)}
    return replace(turns, **some), int(turns.round[-1] - turns.round[kept - 1])


def _counts(answers: _Ints, which: npt.NDArray[np.bool_], classes: int) -> npt.NDArray[np.float64]:
    """(turn, class): how many answers name each class."""
    named = np.where(which, answers, NO_VOTE)
    return np.stack([(named == c).sum(axis=1) for c in range(classes)], axis=1).astype(np.float64)


def _weighed(row: npt.NDArray[np.float64]) -> dict[str, float]:
    return {str(c): round(float(weight), 3) for c, weight in enumerate(row) if weight}


def _majority(first: _Ints) -> dict[str, int]:
    """The class with most first votes; undecided if several have as many."""
    cast = first[first != NO_VOTE]
    counts = np.bincount(cast) if cast.size else np.zeros(1, dtype=np.int64)
    most = int(counts.max())
    best = np.flatnonzero(counts == most)
    decision = int(best[0]) if cast.size and best.size == 1 else NO_VOTE
    return {"decision": decision, "votes": most, "of": int(cast.size)}


def _code(numbers: _Ints) -> str:
    return "".join(map(chr, (np.asarray(numbers, dtype=np.int64) + _BASE).tolist()))

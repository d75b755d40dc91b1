"""Jobs played by ``deliberation.cu``: in batches that fit, by short launches between which one may stop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from folkmoot.arrays import Array
from folkmoot.simulation.kernels.arguments import Results
from folkmoot.simulation.kernels.gpu.layout import GpuLayout, layout_of, rounds_of
from folkmoot.simulation.kernels.gpu.runner import Form, Runner, There
from folkmoot.simulation.setting import Options, Setting

LONGEST: Final = 0.4  # seconds that a launch should take
FIRST_CHUNKS: Final = 256
MOST_CHUNKS: Final = 1 << 40
MOST_GROWTH: Final = 8.0
MOST_JOBS: Final = 1 << 26  # in a batch
_IDLE: Final = -1


class Prepared(NamedTuple):
    """Jobs first to last - 1, ready to be taken: their streams, and where their votes and settings are."""

    first: int
    last: int
    word: There
    step: There
    row: There
    set: There

    @classmethod
    def room(cls, runner: Runner, first: int, last: int) -> Prepared:
        """Room for the streams of these jobs."""
        many = last - first
        return cls(
            first,
            last,
            runner.empty(many, np.uint64),
            runner.empty(many, np.uint64),
            runner.empty(many, np.uint32),
            runner.empty(many, np.uint32),
        )


def play(runner: Runner, setting: Setting, options: Options, results: Results, halt: Array) -> None:
    """Plays all jobs of a deliberation; ``asked`` counts queries."""
    layout = layout_of(setting)
    form, honest = layout.form, setting.honest_votes.shape[1]
    there = GpuLayout(form, *(runner.array(each) for each in layout[1:]))
    keys = runner.array(options.keys)
    each = 24 + 4 * form.words + honest + 24
    for first, last in batches(runner, len(results.played), each, form):
        jobs = Prepared.room(runner, first, last)
        runner.step(
            "streams_for",
            last - first,
            [first, last, len(options.keys), options.seed, keys, *jobs[2:]],
        )
        nodes = runner.empty((last - first, form.words), np.uint32)
        over = runner.empty(last - first, np.uint8)
        some = slice(first, last)
        if form.walk == "flip":
            asks = runner.empty(last - first, np.uint32)
            rule = [there.first, there.fixed, there.closed, there.chance, form.chances, form.width]
            rule += [there.offset, 0]
            limit = setting.rounds * honest
            flip(runner, form, jobs, [*rule, honest, limit], [nodes, asks, over, None, 0], halt)
            found = runner.back(asks).astype(np.int64)
            results.asked[some], results.played[some] = found, rounds_of(found, honest)
        else:
            used, asks = runner.empty(last - first, np.int64), runner.empty(last - first, np.int64)
            _table(runner, there, jobs, setting, [nodes, used, asks, over], halt)
            results.played[some], results.asked[some] = runner.back(used), runner.back(asks)
        results.converged[some] = runner.back(over)
        decisions = runner.empty((last - first, honest), np.int8)
        arguments = [last - first, honest, form.bits, nodes, there.class_of, decisions]
        runner.step("classes_of", (last - first) * honest, arguments)
        results.decisions[some] = runner.back(decisions)


def flip(
    runner: Runner, form: Form, jobs: Prepared, rule: Sequence[Any], out: Sequence[Any], halt: Array
) -> None:
    """Plays jobs of two-class Slush: by ``rule``, votes to limit in ``deliberation.cu``, into ``out``."""
    launch = runner.launch(form, jobs.last - jobs.first)
    lanes = launch.lanes
    state = [
        runner.array(np.full(lanes, _IDLE, dtype=np.int64)),
        *(runner.empty(lanes, np.uint64) for _ in range(2)),
        *(runner.empty(lanes, np.uint32) for _ in range(2)),
        runner.empty(lanes, np.uint32),
        runner.empty((form.words, lanes), np.uint32),
    ]
    _until_done(runner, launch, jobs, [*rule, *state, *out], state[0], halt)


def _table(
    runner: Runner, there: GpuLayout, jobs: Prepared, setting: Setting, out: Sequence[Any], halt: Array
) -> None:
    """Plays jobs of any machine."""
    form, machine = there.form, setting.machine
    launch = runner.launch(form, jobs.last - jobs.first)
    lanes = launch.lanes
    rule = [
        *there[1:6],
        there.chance,
        form.chances,
        there.offset,
        int(setting.chances.own),
        *there[8:],
        setting.classes,
        int(machine.decides),
        setting.honest_votes.shape[1],
        setting.rounds,
    ]
    state = [
        runner.array(np.full(lanes, _IDLE, dtype=np.int64)),
        *(runner.empty(lanes, np.uint64) for _ in range(2)),
        *(runner.empty(lanes, np.int32) for _ in range(2)),
        runner.empty(lanes, np.int64),
        runner.empty(lanes, np.int32),
        runner.empty((form.counts, lanes), np.uint32),
        runner.empty((form.words, lanes), np.uint32),
        runner.empty((lanes, form.wins), np.int32) if form.wins else None,
    ]
    _until_done(runner, launch, jobs, [*rule, *state, *out], state[0], halt)


def _until_done(
    runner: Runner, launch: Any, jobs: Prepared, arguments: Sequence[Any], in_hand: There, halt: Array
) -> None:
    """Launches until every job is played, or until told to stop."""
    counter = runner.array(np.array([jobs.first], dtype=np.uint64))
    chunks = FIRST_CHUNKS
    while not halt[0]:
        seconds = launch([jobs.first, jobs.last, counter, chunks, launch.lanes, *jobs[2:], *arguments])
        if int(runner.back(counter)[0]) >= jobs.last and not runner.any_busy(in_hand):
            return
        chunks = min(max(1, int(chunks * min(LONGEST / max(seconds, 1e-9), MOST_GROWTH))), MOST_CHUNKS)


def batches(runner: Runner, jobs: int, each: int, form: Form) -> Iterator[tuple[int, int]]:
    """First and last jobs of batches that fit where they are played, if a job takes so many bytes there."""
    free = runner.free() // 2
    if free < each + form.lane_bytes:
        raise MemoryError(
            f"a job of this run takes {each + form.lane_bytes:,} bytes on the GPU: {free:,} can be had"
        )
    size = max(1, min(MOST_JOBS, free // each))
    for first in range(0, jobs, size):
        yield first, min(first + size, jobs)

"""Sweeps on a GPU, which draws votes and counts runs, so that a few numbers per setting come back."""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Array, Ints
from folkmoot.simulation.kernels.gpu.launching import Prepared, batches, flip
from folkmoot.simulation.kernels.gpu.layout import paired
from folkmoot.simulation.kernels.gpu.runner import Form, Runner
from folkmoot.simulation.kernels.sweeps import TALLIES, SweptRule


def counted(runner: Runner, rule: SweptRule, repeats: int, halt: Array) -> Ints:
    """(setting, TALLIES): the counts of every setting, with turns in place of queries."""
    settings, honest = rule.offset.shape
    local = bool((rule.offset != 0).any())
    chance, offset, width = paired(rule.chance, rule.offset, rule.row, honest + int(rule.fixed.sum()))
    form = Form("flip", bits=1, words=-(-honest // 32), chances=len(chance), width=width, local=local)
    one = settings == 1
    tally = runner.array(np.zeros((settings, TALLIES), dtype=np.uint64))
    groups = -(-honest // 64)
    seeds, planes = runner.array(rule.seeds), runner.empty((settings, groups, 64), np.uint64)
    arguments = [settings, honest, runner.array(rule.thresholds), planes]
    runner.step("planes_for", planes.size, arguments)
    tables = [
        runner.array(np.tile(rule.fixed, (settings, 1)).astype(np.int32)),
        runner.array(rule.closed.astype(np.uint8)),
        runner.array(chance),
        len(chance),
        width,
        runner.array(offset.astype(np.uint32)),
        honest if local else 0,
        honest,
        rule.rounds * honest,
    ]
    for first, last in batches(runner, settings * repeats, 24 + 4 * form.words, form):
        jobs = Prepared.room(runner, first, last)
        votes = runner.empty((last - first, form.words), np.uint32)
        arguments = [first, last, repeats, 0, seeds, planes, honest, *jobs[2:], votes]
        runner.step("votes_for", last - first, arguments)
        flip(runner, form, jobs, [votes, *tables], [None, None, None, tally, 0 if one else TALLIES], halt)
    return np.asarray(runner.back(tally).astype(np.int64))

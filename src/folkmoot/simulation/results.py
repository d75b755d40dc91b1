"""What kernels have filled in, as an ``Outcome``: in the caller's order of participants, by repetition."""

from __future__ import annotations

import numpy as np

from folkmoot.outcome import Outcome, Turns
from folkmoot.simulation.kernels.arguments import Results
from folkmoot.simulation.play_options import Options
from folkmoot.simulation.setting import Setting
from folkmoot.votes import UNCOLOURED


def no_results(setting: Setting, options: Options) -> Results:
    """Arrays over jobs = (repetition, input) for a kernel to fill."""
    inputs, honest = setting.honest_votes.shape
    jobs = options.repeats * inputs
    history = (jobs, setting.rounds + 1, setting.classes) if options.record else (0, 0, 0)
    return Results(
        decisions=np.empty((jobs, honest), dtype=np.int8),
        played=np.zeros(jobs, dtype=np.int64),
        asked=np.zeros(jobs, dtype=np.int64),
        settled=np.zeros(jobs, dtype=np.bool_),
        history=np.zeros(history, dtype=np.int32),
    )


def outcome_of(setting: Setting, options: Options, results: Results) -> Outcome:
    """The outcome; without a repetition axis if there is one repetition only."""
    inputs, honest = setting.honest_votes.shape
    shape = (options.repeats, inputs)
    decisions = results.decisions.reshape(*shape, honest).transpose(0, 2, 1)
    if setting.adversaries:
        everybody = np.full((options.repeats, len(setting.votes), inputs), UNCOLOURED, dtype=np.int8)
        everybody[:, setting.honest] = decisions
        decisions = everybody
    asked = results.asked.reshape(shape)
    # A shared query carries every input, so the batch asks until its longest talk is over.
    queries = asked.max(axis=1) if options.shared else asked.sum(axis=1)
    history = results.history.reshape(*shape, *results.history.shape[1:]) if options.record else None
    first = 0 if options.repeats == 1 else slice(None)
    return Outcome(
        decisions=decisions[first],
        honest=setting.honest,
        classes=setting.classes,
        settled=results.settled.reshape(shape)[first],
        rounds=results.played.reshape(shape)[first],
        queries=np.asarray(queries)[first],
        history=None if history is None else history[first],
    )


def noted_turns(setting: Setting, options: Options, i: int, repetition: int) -> Turns:
    """The turns of input i in one repetition, run once more with a notebook."""
    from folkmoot.simulation.kernels import explicit

    notes = explicit.noted(setting, options, i, repetition)
    rounds, nodes, won, before, after = notes.rows[:, :5].astype(np.int64).T
    size, alpha = (notes.asked >= 0).sum(axis=1), setting.urns.alpha[nodes]
    return Turns(
        round=rounds,
        participant=nodes,
        size=size,
        alpha=alpha,
        asked=notes.asked.astype(np.int64),
        answers=notes.said,
        tally=np.asarray(np.round(notes.rows[:, 5:], 9), dtype=np.float64),
        won=won,
        before=before,
        after=after,
    ).renumbered(setting.order)

"""``SnowRun``: how a deliberation by Slush, Snowflake or Snowball was run, and the way to run it again.

An input is run again to the same bits, from the same keys: its turns are those that led to its answer. A run
with other first votes, or another seed, shows how close the answer was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from folkmoot.adversaries.interface import Adversary, handed_in
from folkmoot.arrays import Floats, Ints, Progress
from folkmoot.outcome import Outcome, Schedule, Turns
from folkmoot.simulation.absent import play_voters, some_are_absent, voters_of
from folkmoot.simulation.kernels.arguments import Results
from folkmoot.simulation.setting import Options, Setting, no_results
from folkmoot.simulation.sharing import share
from folkmoot.votes import NO_VOTE, Missing, Votes


def play(setting: Setting, options: Options, missing: Missing, progress: Progress | None = None) -> Outcome:
    """The outcome of the deliberation, with how it was run."""
    outcome = _outcome(setting, options, missing, progress)
    fresh = replace(setting)  # without the tables of the kernels
    return replace(outcome, run=SnowRun(fresh, options, missing, setting.adversaries))


def _outcome(setting: Setting, options: Options, missing: Missing, progress: Progress | None) -> Outcome:
    if some_are_absent(missing, setting, options):
        return play_voters(setting, options, progress)
    from folkmoot.simulation.kernels.choice import kernel_for  # with numba, which takes its time to import

    results = no_results(setting, options)
    kernel = kernel_for(setting, options)
    share(kernel.pieces(setting, options, results), options.threads, progress)
    return outcome_of(setting, options, results)


@dataclass(frozen=True, eq=False)
class SnowRun:
    """A run that can be run again."""

    setting: Setting
    options: Options
    missing: Missing
    adversaries: Mapping[int, Adversary]

    @property
    def protocol(self) -> Any:
        """The rule."""
        return self.setting.protocol

    @property
    def schedule(self) -> Schedule:
        """One participant at a time, or all at once."""
        return "lockstep" if self.setting.lockstep else "one"

    @property
    def seed(self) -> int:
        """The seed of its randomness."""
        return self.options.seed

    @cached_property
    def votes(self) -> Votes:
        """(participant, input): the first votes as handed in."""
        own = self.setting
        return handed_in(
            own.votes, own.adversaries, own.truth, own.classes, missing=self.missing, seed=self.seed,
            keys=self.options.keys,
        )  # fmt: skip

    @property
    def weights(self) -> Floats | None:
        """(participant,): what an answer weighs; None if all weigh the same."""
        weights = self.setting.protocol.weights
        return None if weights is None else np.array(weights)

    def query(self, i: int) -> tuple[Ints, Ints]:
        """k and alpha of each participant on input i."""
        many = len(self.setting.votes)
        size, alpha = np.zeros((2, many), dtype=np.int64)
        own, seats = self._on(i)
        if own is not None:
            asking = seats[own.order[: int(own.honest.sum())]]
            size[asking], alpha[asking] = own.peer_lists.size, own.peer_lists.alpha
            alpha[size == 0] = 0
        return size, alpha

    def turns(self, i: int, repetition: int) -> Turns:
        """The queries on input i."""
        own, seats = self._on(i)
        if own is None:
            return Turns.none(self.setting.classes)
        options, place = self.options, i
        if own is not self.setting:
            options, place = replace(options, keys=options.keys[[i]]), 0
        return noted_turns(own, options, place, repetition).renumbered(seats)

    def decided(self, i: int, votes: Votes, times: int, seed: int) -> Ints:
        """(variant, time): decisions on input i if these (participant, variant) are the first votes.

        Adversaries keep their votes.
        """
        own = self.setting
        variants, answers = votes.shape[1], own.malicious
        alone = replace(
            own,
            votes=np.where(own.honest[:, None], votes, own.votes[:, [i]]),
            truth=None if own.truth is None else np.repeat(own.truth[i], variants),
            # Answers of adversaries may depend on the input, so they are not tabulated again.
            answers_given=answers._replace(
                answers=np.ascontiguousarray(np.repeat(answers.answers[:, i : i + 1], variants, 1))
            ),
        )
        options = replace(
            self.options, seed=seed, repeats=times, record=False, device="cpu",
            keys=np.arange(variants), shared=False,
        )  # fmt: skip
        return np.asarray(np.atleast_2d(_outcome(alone, options, self.missing, None).decision).T)

    def setting_of(self, i: int) -> tuple[Setting | None, int]:
        """The setting in which input i is run, and its place there; None if nobody can ask anybody."""
        if self.missing == "absent" and some_are_absent(self.missing, self.setting, self.options):
            return self._on(i)[0], 0
        return self.setting, i

    def _on(self, i: int) -> tuple[Setting | None, Ints]:
        """The setting of input i, alone where some are absent from it, and who sits on each of its seats."""
        if some_are_absent(self.missing, self.setting, self.options):
            return voters_of(self.setting, i)
        return self.setting, np.arange(len(self.setting.votes))


def outcome_of(setting: Setting, options: Options, results: Results) -> Outcome:
    """The outcome; without a repetition axis if there is one repetition only."""
    inputs, honest = setting.honest_votes.shape
    shape = (options.repeats, inputs)
    decisions = results.decisions.reshape(*shape, honest).transpose(0, 2, 1)
    if setting.adversaries:
        everybody = np.full((options.repeats, len(setting.votes), inputs), NO_VOTE, dtype=np.int8)
        everybody[:, setting.honest] = decisions
        decisions = everybody
    asked = results.asked.reshape(shape)
    # A shared query carries every input, so the batch asks until its longest run is over.
    queries = asked.max(axis=1) if options.shared else asked.sum(axis=1)
    history = results.history.reshape(*shape, *results.history.shape[1:]) if options.record else None
    first = 0 if options.repeats == 1 else slice(None)
    return Outcome(
        decisions=decisions[first],
        honest=setting.honest,
        classes=setting.classes,
        converged=results.converged.reshape(shape)[first],
        rounds=results.played.reshape(shape)[first],
        queries=np.asarray(queries)[first],
        history=None if history is None else history[first],
    )


def noted_turns(setting: Setting, options: Options, i: int, repetition: int) -> Turns:
    """The turns of input i in one repetition, run once more with a notebook."""
    from folkmoot.simulation.kernels import explicit

    notes = explicit.noted(setting, options, i, repetition)
    rounds, nodes, won, before, after = notes.rows[:, :5].astype(np.int64).T
    size, alpha = (notes.asked >= 0).sum(axis=1), setting.peer_lists.alpha[nodes]
    return Turns(
        round=rounds,
        participant=nodes,
        size=size,
        alpha=alpha,
        asked=notes.asked.astype(np.int64),
        answers=notes.answers,
        tally=np.asarray(np.round(notes.rows[:, 5:], 9), dtype=np.float64),
        won=won,
        before=before,
        after=after,
    ).renumbered(setting.order)

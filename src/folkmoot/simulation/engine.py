"""``deliberate``: votes and a protocol in, an ``Outcome`` out. Checks what is asked for and has it played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from folkmoot.adversaries import Adversary
from folkmoot.arrays import Progress
from folkmoot.outcome import Outcome
from folkmoot.protocols import SnowProtocol
from folkmoot.sampling import Sampling
from folkmoot.simulation.options import Batch, Options
from folkmoot.simulation.results import no_results, outcome_of
from folkmoot.simulation.setting import Schedule, Setting
from folkmoot.simulation.sharing import share


def deliberate(
    votes: npt.ArrayLike,
    protocol: SnowProtocol[Any],
    *,
    adversaries: Mapping[int, Adversary] | None = None,
    truth: npt.ArrayLike | None = None,
    rounds: int = 50,
    sampling: Sampling | None = None,
    schedule: Schedule = "one",
    batch: Batch = "independent",
    repeats: int = 1,
    seed: int = 0,
    threads: int | None = None,
    record: bool = False,
    classes: int | None = None,
    permute: bool = True,
    keys: npt.ArrayLike | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Let the participants talk about every input until they agree, or for ``rounds`` rounds each.

    Parameters
    ----------
    votes : (participant, input) first votes, colours 0..C-1, -1 for none.
    protocol : ``Slush``, ``Snowflake`` or ``Snowball``.
    adversaries : Byzantine participants by number, such as ``{3: PerfectlyMalicious()}``.
    truth : the right colours, for adversaries that must know them.
    rounds : rounds per participant at the most; in a round each honest one asks once, on average.
    sampling : ``Others()`` (default), ``Everyone()`` (the paper's law), ``Neighbours(graph)`` or
        ``Trusting(trust)``.
    schedule : "one" participant at a time (drawn uniformly), or "lockstep", all at once.
    batch : "independent", a schedule for each input; or "shared", where one query carries all inputs.
    repeats : play everything so many times, each with its own randomness.
    seed : the same seed gives the same bits, on one thread or many.
    record : keep the history for ``Outcome.plot`` and ``Outcome.explain`` (uses the explicit kernel).
    permute : in the bit-sliced kernel, seat honest participants anew for each input if all ask alike; the
        other kernels do not, and Byzantine ones keep their seats (docs/simulation.md on the variance).
    keys : a number >= 0 for each input that seeds its randomness, instead of its position. With
        ``votes.vote_keys(votes)`` an input keeps its outcome in whatever batch it comes.
    progress : called with (done, all) as the work goes on.
    """
    setting = Setting.checked(votes, protocol, adversaries, truth, sampling, schedule, rounds, classes)
    options = Options.checked(
        setting.votes.shape[1],
        seed=seed,
        keys=keys,
        repeats=repeats,
        batch=batch,
        record=record,
        permute=permute,
        threads=threads,
    )
    from folkmoot.simulation.kernels.choice import kernel_for  # with numba, which takes its time to import

    results = no_results(setting, options)
    kernel = kernel_for(setting, options)
    share(kernel.pieces(setting, options, results), options.threads, progress)
    return outcome_of(setting, options, results)

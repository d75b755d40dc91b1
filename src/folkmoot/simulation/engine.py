"""``deliberate``: votes and a protocol in, an ``Outcome`` out. Checks what is asked for and has it played."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries import Adversary
from folkmoot.arrays import Ints, Progress
from folkmoot.outcome import Outcome
from folkmoot.protocols import SnowProtocol
from folkmoot.simulation.kernels.urns import Sampling
from folkmoot.simulation.run import Run
from folkmoot.simulation.setting import Setting


def deliberate(
    votes: npt.ArrayLike,
    protocol: SnowProtocol[Any],
    *,
    adversaries: Mapping[int, Adversary] | None = None,
    truth: npt.ArrayLike | None = None,
    rounds: int = 50,
    sampling: Sampling | None = None,
    schedule: str = "one",
    batch: str = "independent",
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
        ``Trusting(trust)`` (default with ``Slush(k, alpha, trust=trust)``).
    schedule : "one" participant at a time (drawn uniformly), or "lockstep", all at once.
    batch : "independent", a schedule for each input; or "shared", where one query carries all inputs.
    repeats : play everything so many times, each with its own randomness.
    seed : the same seed gives the same bits, on one thread or many.
    record : keep the history for ``Outcome.plot`` and ``Outcome.explain`` (uses the explicit kernel).
    permute : in the bit-sliced kernel, seat honest participants anew for each input if all ask alike; the
        other kernels do not, and Byzantine ones keep their seats (docs/simulation.md on the variance).
    keys : a number >= 0 for each input, on which its randomness hangs instead of on its place. With
        ``votes.vote_keys(votes)`` an input keeps its outcome in whatever batch it comes.
    progress : called with (done, all) as the work goes on.
    """
    setting = Setting.checked(votes, protocol, adversaries, truth, sampling, schedule, rounds, classes)
    if batch not in ("independent", "shared"):
        raise ValueError(f"batch must be 'independent' or 'shared': got {batch!r}")
    repetitions = checks.integer("repeats", repeats, least=1)
    key = checks.integer("seed", seed, least=0)
    if key >= 2**63:
        raise ValueError(f"seed must satisfy seed < 2^63: got seed={key}")
    workers = checks.integer("threads", _cores() if threads is None else threads, least=1)
    run = Run(
        setting, key, _keys(keys, setting.votes.shape[1]), repetitions, batch == "shared", record, permute
    )
    if run.bitsliced:
        run.play_bitsliced(workers, progress)
    elif run.carried:
        run.play_shared(workers, progress)
    else:
        run.play(workers, progress)
    return run.outcome()


def _keys(keys: npt.ArrayLike | None, inputs: int) -> Ints:
    if keys is None:
        return np.arange(inputs)
    values = np.asarray(keys)
    if values.shape != (inputs,):
        raise ValueError(f"keys must hold one number per input ({inputs}): got shape {values.shape}")
    if values.dtype.kind not in "iu":
        raise TypeError(f"keys must be integers: got an array of {values.dtype}")
    if (values < 0).any() or (values > np.iinfo(np.int64).max).any():
        raise ValueError("keys must satisfy 0 <= key < 2^63")
    return values.astype(np.int64)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

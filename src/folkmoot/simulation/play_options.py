"""How a deliberation is to be played: what chooses the kernel and its randomness, beside the ``Setting``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Ints
from folkmoot.cores import cores
from folkmoot.played import Schedule

Batch: TypeAlias = Literal["independent", "shared"]
Device: TypeAlias = Literal["cpu", "cuda", "auto"]


@dataclass(frozen=True, eq=False)
class Options:
    """The options of ``deliberate`` that do not say what is talked about."""

    seed: int
    keys: Ints  # (input,): what seeds the randomness of each input
    repeats: int
    shared: bool  # one query carries all inputs
    record: bool
    permute: bool
    threads: int
    device: Device = "cpu"

    @classmethod
    def checked(
        cls,
        inputs: int,
        *,
        seed: int,
        keys: npt.ArrayLike | None,
        repeats: int,
        batch: Batch,
        record: bool,
        permute: bool,
        threads: int | None,
        device: Device = "cpu",
    ) -> Self:
        """The options, or an error that names what is wrong with them."""
        check_batch(batch)
        repetitions = checks.integer("repeats", repeats, least=1)
        return cls(
            seed=check_seed(seed),
            keys=np.arange(inputs) if keys is None else check_keys(keys, inputs),
            repeats=repetitions,
            shared=batch == "shared",
            record=record,
            permute=permute,
            threads=check_threads(threads),
            device=check_device(device),
        )


def check_batch(batch: Batch) -> Batch:
    """The kind of batch, or ValueError if it is none."""
    if batch not in get_args(Batch):
        raise ValueError(f"batch must be 'independent' or 'shared': got {batch!r}")
    return batch


def check_schedule(schedule: Schedule) -> Schedule:
    """The schedule, or ValueError if it is none."""
    if schedule not in get_args(Schedule):
        raise ValueError(f"schedule must be 'one' or 'lockstep': got {schedule!r}")
    return schedule


def check_device(device: Device) -> Device:
    """The device, or ValueError if it is none."""
    if device not in get_args(Device):
        raise ValueError(f"device must be 'cpu', 'cuda' or 'auto': got {device!r}")
    return device


def check_seed(seed: int) -> int:
    """The seed, or ValueError if it is none."""
    number = checks.integer("seed", seed, least=0)
    if number >= 2**63:
        raise ValueError(f"seed must satisfy seed < 2^63: got seed={number}")
    return number


def check_threads(threads: int | None) -> int:
    """How many threads play: as many as there are cores, if that is left open."""
    return checks.integer("threads", cores() if threads is None else threads, least=1)


def check_keys(keys: npt.ArrayLike, inputs: int) -> Ints:
    """The keys of so many inputs, or an error that names what is wrong with them."""
    values = np.asarray(keys)
    if values.shape != (inputs,):
        raise ValueError(f"keys must hold one number per input ({inputs}): got shape {values.shape}")
    if values.dtype.kind not in "iu":
        raise TypeError(f"keys must be integers: got an array of {values.dtype}")
    if (values < 0).any() or (values > np.iinfo(np.int64).max).any():
        raise ValueError("keys must satisfy 0 <= key < 2^63")
    return values.astype(np.int64)

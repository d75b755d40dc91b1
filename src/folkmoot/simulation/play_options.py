"""How a deliberation is to be played: what chooses the kernel and its randomness, beside the ``Setting``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Ints
from folkmoot.cores import cores
from folkmoot.outcome import Batch, check_batch
from folkmoot.votes import check_keys

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
            seed=checks.seed(seed),
            keys=np.arange(inputs) if keys is None else check_keys(keys, inputs),
            repeats=repetitions,
            shared=batch == "shared",
            record=record,
            permute=permute,
            threads=check_threads(threads),
            device=check_device(device),
        )


def check_device(device: Device) -> Device:
    """The device, or ValueError if it is none."""
    if device not in get_args(Device):
        raise checks.ArgumentError("{device} must be 'cpu', 'cuda' or 'auto': got {device!r}", device=device)
    return device


def check_threads(threads: int | None) -> int:
    """How many threads play: as many as there are cores, if that is left open."""
    return checks.integer("threads", cores() if threads is None else threads, least=1)

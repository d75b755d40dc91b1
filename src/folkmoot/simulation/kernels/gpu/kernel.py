"""The GPU as one more kernel: it plays what the flip and table kernels play, where it is asked for."""

from __future__ import annotations

from threading import Lock
from typing import Final

from folkmoot.arrays import Array
from folkmoot.protocols.sampling import Everyone, Others
from folkmoot.simulation.kernels.arguments import Results
from folkmoot.simulation.kernels.gpu import cuda, launching
from folkmoot.simulation.setting import Options, Setting
from folkmoot.simulation.sharing import Piece

FEWEST_JOBS: Final = 4096  # that "auto" takes to a GPU: one job is played by one lane, slower than by a core
FEWEST_NODES: Final = 1 << 24  # jobs times participants, likewise: a second of one core, or about that
_ONE_AT_A_TIME: Final = Lock()


def plays(setting: Setting, options: Options) -> bool:
    """Whether it is asked for and can; ``device="cuda"`` is an order, and refused with the reason."""
    reason = refusal(setting, options)
    if options.device == "cuda":
        if reason:
            raise ValueError(
                f"a GPU does not play {reason}: give device='cpu', or device='auto', which takes a GPU "
                "where it can"
            )
        cuda.cuda()
        return True
    inputs, honest = setting.honest_votes.shape
    return not reason and worth_it(options.repeats * inputs, honest)


def worth_it(jobs: int, honest: int) -> bool:
    """Whether "auto" takes a GPU to so many jobs: they are many, and there is one."""
    return jobs >= FEWEST_JOBS and jobs * honest >= FEWEST_NODES and cuda.why_not() is None


def refusal(setting: Setting, options: Options) -> str | None:
    """A part of this that a GPU does not play; None if it plays all."""
    if options.shared:
        return "batch='shared'"
    if options.record:
        return "record=True"
    if not isinstance(setting.sampling, (Everyone, Others)):
        return f"sampling={type(setting.sampling).__name__}(...)"
    if setting.weighted:
        return "answers with weights"
    if not setting.fixed:
        return "adversaries whose answers depend on who asks or on what others hold"
    # Whatever more the table kernel comes to leave to others, this does, too.
    return None if setting.exchangeable else f"{type(setting.protocol).__name__} as given"


def pieces(setting: Setting, options: Options, results: Results) -> list[Piece]:
    """All jobs at once: the GPU shares them out itself."""

    def everything(halt: Array) -> None:
        with _ONE_AT_A_TIME:
            launching.play(cuda.cuda(), setting, options, results, halt)
        results.asked[:] *= setting.protocol.k

    return [Piece(len(results.played), everything)]

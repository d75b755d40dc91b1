"""Choice of the kernel of a deliberation: the first in the list that can play it.

The law of an input's outcome is the same in all of them. A kernel is a module (or any object) that says what
it plays and cuts it into pieces. One for another device is one more entry.
"""

from __future__ import annotations

from typing import Final, Protocol

from folkmoot.simulation.kernels import bitsliced, explicit, flip, table
from folkmoot.simulation.kernels.arguments import Results
from folkmoot.simulation.setting import Options, Setting
from folkmoot.simulation.sharing import Piece


class Kernel(Protocol):
    """Something that plays deliberations."""

    def plays(self, setting: Setting, options: Options) -> bool:
        """Whether it can play this."""

    def pieces(self, setting: Setting, options: Options, results: Results) -> list[Piece]:
        """The work, cut up: each piece fills its own part of the results."""


# The fastest first; the last one plays everything.
KERNELS: Final[tuple[Kernel, ...]] = (bitsliced, flip, table, explicit)


def kernel_for(setting: Setting, options: Options) -> Kernel:
    """The first kernel that can play this; a GPU plays only where it is asked for."""
    if options.device != "cpu":
        from folkmoot.simulation.kernels.gpu import kernel as gpu

        if gpu.plays(setting, options):
            return gpu
    return next(kernel for kernel in KERNELS if kernel.plays(setting, options))

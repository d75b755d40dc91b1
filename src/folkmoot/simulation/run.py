"""One deliberation under way: which kernel plays it, how its work is shared out, what it came to.

The table kernel plays where only counts matter, the bit-sliced one shared batches of two-colour Slush, the
shared one all other shared batches, the explicit one everything else. The law of an input's outcome is the
same in all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from folkmoot.arrays import Array, Ints, Progress
from folkmoot.outcome import Change, Outcome
from folkmoot.protocols.machine import Machine, machine_of
from folkmoot.sampling import Others
from folkmoot.simulation.setting import Setting
from folkmoot.votes import UNCOLOURED

# Jobs in a piece at most: a piece cannot be interrupted, and Ctrl-C should not have to wait.
_PIECE = 4096
# Inputs in a block of the shared kernel at most: the rows of a query then stay close to the processor.
_BLOCK = 2048


class Run:
    """One deliberation under way: output arrays over jobs = (repetition, input), and how to fill them."""

    def __init__(
        self,
        setting: Setting,
        seed: int,
        keys: Ints,
        repeats: int,
        shared: bool,
        record: bool,
        permute: bool,
    ) -> None:
        self.setting, self.seed, self.keys, self.repeats = setting, seed, keys, repeats
        self.shared, self.record, self.permute = shared, record, permute
        self.inputs, self.honest = setting.honest_votes.shape
        jobs = repeats * self.inputs
        self.decisions = np.empty((jobs, self.honest), dtype=np.int8)
        self.played = np.zeros(jobs, dtype=np.int64)
        self.asked = np.zeros(jobs, dtype=np.int64)  # requests to single peers
        self.settled = np.zeros(jobs, dtype=np.bool_)
        shape = (jobs, setting.rounds + 1, setting.classes) if record else (0, 0, 0)
        self.history = np.zeros(shape, dtype=np.int32)
        self.halt = np.zeros(1, dtype=np.uint8)  # tells kernels under way to stop

    @property
    def bitsliced(self) -> bool:
        """Whether the bit-sliced kernel can play this."""
        from folkmoot.simulation.kernels.bitsliced import MOST_K

        setting = self.setting
        local = self.seats_change and bool((setting.honest_alpha != setting.honest_alpha[0]).any())
        silent = setting.fixed and (setting.fixed_answers == UNCOLOURED).any(axis=1)
        # A row of the kernel is silent on all inputs or on none.
        whole = setting.fixed and np.array_equal(silent, (setting.fixed_answers == UNCOLOURED).all(axis=1))
        return (
            self.shared
            and not self.record
            and setting.plain
            and setting.fixed
            and not setting.weighted
            and not setting.lockstep
            and setting.protocol.k <= MOST_K
            and whole
            and not (local and np.any(silent))
        )

    @property
    def seats_change(self) -> bool:
        """Whether the bit-sliced kernel seats participants anew for each input: only where all ask alike."""
        return self.permute and self.setting.exchangeable

    @property
    def carried(self) -> bool:
        """Whether the shared kernel can play this."""
        from folkmoot.simulation.kernels.shared import MOST_K

        return self.shared and not self.record and self.setting.protocol.k <= MOST_K

    # ---- the work ----------------------------------------------------------------------------

    def play(self, threads: int, progress: Progress | None) -> None:
        """Table or explicit kernel, in pieces."""
        jobs = len(self.played)
        explicit = self.record or self.shared or not self.setting.exchangeable
        kernel = self._explicit if explicit else self._table
        size = min(-(-jobs // (threads * 8)), _PIECE)
        pieces = [(start, min(start + size, jobs)) for start in range(0, jobs, size)]

        def piece(bounds: tuple[int, int]) -> int:
            kernel(*bounds)
            return bounds[1] - bounds[0]

        self._share(piece, pieces, threads, progress)

    def play_bitsliced(self, threads: int, progress: Progress | None) -> None:
        """Blocks of whole words; the schedule is the same in each, so blocks can be of any size."""
        from folkmoot.simulation.kernels import bitsliced as bitsliced_kernel

        setting = self.setting
        words = -(-self.inputs // 64)
        pieces = [
            (repetition, first * 64, min((first + size) * 64, self.inputs))
            for repetition in range(self.repeats)
            for size in [-(-words // (1 if self.repeats >= threads else threads))]
            for first in range(0, words, size)
        ]

        def piece(bounds: tuple[int, int, int]) -> int:
            bitsliced_kernel.play(
                *bounds, self.halt, self.seed, self.keys, self.seats_change, setting.honest_votes,
                setting.fixed_answers, setting.closed, setting.urns, setting.rounds, True,
                self.decisions, self.played, self.asked, self.settled,
            )  # fmt: skip
            return bounds[2] - bounds[1]

        self._share(piece, pieces, threads, progress)

    def play_shared(self, threads: int, progress: Progress | None) -> None:
        """Blocks of inputs, or of repetitions where these are small; each draws the whole schedule."""
        from folkmoot.simulation.kernels import shared as shared_kernel

        setting = self.setting
        size = min(-(-self.inputs // (1 if self.repeats >= threads else threads)), _BLOCK)
        several = max(1, min(_PIECE // self.inputs, -(-self.repeats // (8 * threads))))
        pieces = [
            (start, min(start + several, self.repeats), first, min(first + size, self.inputs))
            for start in range(0, self.repeats, several)
            for first in range(0, self.inputs, size)
        ]

        def piece(bounds: tuple[int, int, int, int]) -> int:
            play: Any = shared_kernel.play
            play(
                *bounds, self.halt, self.seed, self.keys, setting.honest_votes, setting.closed, setting.urns,
                setting.sees, setting.target, setting.answers, setting.order[: self.honest],
                *_tables(self._machine), setting.lockstep, setting.rounds,
                self.decisions, self.played, self.asked, self.settled,
            )  # fmt: skip
            return (bounds[1] - bounds[0]) * (bounds[3] - bounds[2])

        self._share(piece, pieces, threads, progress)

    def _share(
        self, piece: Callable[[Any], int], pieces: list[Any], threads: int, progress: Progress | None
    ) -> None:
        """Do the pieces on so many threads. The kernels let go of the interpreter, so Ctrl-C gets through."""
        done = 0
        pool = ThreadPoolExecutor(threads)
        try:
            for jobs in pool.map(piece, pieces):
                done += jobs
                if progress:
                    progress(done, len(self.played))
        except BaseException:
            self.halt[0] = 1
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _table(self, first: int, last: int) -> None:
        from folkmoot.simulation.kernels import table as table_kernel

        setting, machine = self.setting, self._machine
        chance, offset = setting.chances
        common: tuple[Any, ...] = (
            first, last, self.halt, self.seed, self.keys, setting.honest_votes, setting.fixed_counts,
            setting.closed, offset, chance,
        )  # fmt: skip
        out: tuple[Any, ...] = (self.decisions, self.played, self.asked, self.settled)
        if setting.plain and not setting.lockstep:
            # State 1 + c of the machine is colour c; its one move is the win of the other colour.
            want = np.array([1, 0], dtype=np.uint8)
            after = (machine.after[[1, 2], [2, 1], 0] - 1).astype(np.uint8)
            flip: Any = table_kernel.flip
            flip(*common, want, after, setting.rounds, *out)
        else:
            own = np.uint64(isinstance(setting.sampling, Others))
            play: Any = table_kernel.play
            play(*common, own, *_tables(machine), setting.lockstep, setting.rounds, *out)
        self.asked[first:last] *= setting.protocol.k

    def _explicit(self, first: int, last: int, events: Array | None = None) -> int:
        """Returns the number of events (changes of colour), noted as far as ``events`` has room."""
        from folkmoot.simulation.kernels import explicit as explicit_kernel

        setting = self.setting
        play: Any = explicit_kernel.play
        return int(
            play(
                first, last, self.halt, self.seed, self.keys, self.shared, setting.honest_votes,
                setting.closed, setting.urns, setting.sees, setting.target, setting.answers,
                setting.order[: self.honest], *_tables(self._machine), setting.lockstep, setting.rounds,
                self.decisions, self.played, self.asked, self.settled, self.history,
                np.empty((0, 0)) if events is None else events,
            )
        )  # fmt: skip

    @property
    def _machine(self) -> Machine:
        return machine_of(self.setting.protocol, self.setting.classes)

    # ---- the result --------------------------------------------------------------------------

    def outcome(self) -> Outcome:
        """The arrays in the caller's order of participants; no repetition axis if there is one only."""
        participants = len(self.setting.votes)
        decisions = self.decisions.reshape(self.repeats, self.inputs, self.honest).transpose(0, 2, 1)
        if self.setting.adversaries:
            everybody = np.full((self.repeats, participants, self.inputs), UNCOLOURED, dtype=np.int8)
            everybody[:, self.setting.honest] = decisions
            decisions = everybody
        shape = (self.repeats, self.inputs)
        played = self.played.reshape(shape)
        asked = self.asked.reshape(shape)
        # A shared query carries every input, so the batch asks until its longest talk is over.
        queries = asked.max(axis=1) if self.shared else asked.sum(axis=1)
        history = self.history.reshape(*shape, *self.history.shape[1:]) if self.record else None
        first = 0 if self.repeats == 1 else slice(None)
        return Outcome(
            decisions=decisions[first],
            honest=self.setting.honest,
            classes=self.setting.classes,
            settled=self.settled.reshape(shape)[first],
            rounds=played[first],
            queries=np.asarray(queries)[first],
            history=None if history is None else history[first],
            replay=self._replay if self.record else None,
        )

    def _replay(self, i: int) -> list[Change]:
        """The changes of input i in the first repetition, played once more with a notebook."""
        again = Run(self.setting, self.seed, self.keys, 1, self.shared, True, self.permute)
        size = 1024
        while True:
            events = np.zeros((size, 4 + self.setting.classes))
            happened = again._explicit(i, i + 1, events)
            if happened <= size:
                break
            size = happened
        return [
            Change(
                round=int(row[0]),
                participant=int(self.setting.order[int(row[1])]),
                before=int(row[2]),
                after=int(row[3]),
                tally=tuple(np.round(row[4:], 9).tolist()),
            )
            for row in events[:happened]
        ]


def _tables(machine: Machine) -> tuple[Any, ...]:
    """A machine in the order in which the kernels take it."""
    return (
        machine.after,
        machine.colour,
        machine.asking,
        machine.start,
        machine.decides,
        machine.counts_wins,
    )

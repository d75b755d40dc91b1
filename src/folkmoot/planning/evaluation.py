"""Accuracy of a setting with n participants, some perfectly malicious: by theory if possible, else simulated.

Theory covers two-label Slush for any number of rounds. All other settings are simulated on the same inputs,
which are drawn once.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final

import numpy as np

from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.adversaries.interface import handed_in
from folkmoot.aggregation.aggregating import aggregate
from folkmoot.arrays import Floats, Ints
from folkmoot.checks import ByzantineThresholdWarning
from folkmoot.outcome import right_by_input, standard_error
from folkmoot.planning.crowd import Crowd, Drawn, Start
from folkmoot.planning.setting import Figures
from folkmoot.protocols.sampling import Others
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.simulation.engine import deliberate
from folkmoot.simulation.setting import Device
from folkmoot.theory import SlushChain

_INPUTS: Final = 1000  # simulated with more than two labels; twice that with two, where fewer settings are
_CONVERGED: Final = 1 - 1e-5  # of the probability; more rounds gain nothing visible


@dataclass(frozen=True, eq=False)
class PlannedMoot:
    """n participants of a crowd, ``byzantine`` of them always wrong, and the figures of settings."""

    crowd: Crowd
    n: int
    byzantine: int
    inputs: int  # in a batch, which one query carries
    seed: int
    device: Device = "cpu"  # for simulated settings

    @property
    def honest(self) -> int:
        """How many follow the protocol."""
        return self.n - self.byzantine

    # ---- by theory ---------------------------------------------------------------------------

    @cached_property
    def start(self) -> Start:
        """The first votes, of two labels."""
        return self.crowd.start(self.honest)

    def slush_by_round(self, k: int, alpha: int, rounds: int) -> Iterator[Figures]:
        """Two-label Slush after 1, 2, ... rounds, until there is nothing more to gain."""
        weights, found = self.start.weights, []
        for law in islice(self.chain(k, alpha).by_round(self.start.laws), 1, rounds + 1):
            found.append(law)
            if weights @ (law[:, 0] + law[:, -1]) > _CONVERGED:
                break
        laws = np.stack(found)  # (round, law, b)
        right = laws @ _right(self.honest, self.honest)
        mean = weights @ laws
        b = np.arange(self.honest + 1)
        agreement = (mean @ (np.maximum(b, self.honest - b) / self.honest)).tolist()
        in_time = (mean[:, 0] + mean[:, -1]).tolist()
        for done in range(len(found)):
            queries = float(self.honest * k * (done + 1))
            yield Figures(*self._from_laws(right[done]), agreement[done], in_time[done], queries)

    def slush_accuracies(self, k: int, alpha: int, rounds: int, laws: Floats) -> Floats:
        """The accuracy of two-label Slush from each of these laws of the number of right first votes."""
        after = next(islice(self.chain(k, alpha).by_round(laws), rounds, None))
        return np.asarray(after @ _right(self.honest, self.honest), dtype=np.float64)

    def chain(self, k: int, alpha: int) -> SlushChain:
        """The chain. Its warning about f >= alpha concerns the limit, not a number of rounds."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ByzantineThresholdWarning)
            return SlushChain(self.n, k, alpha, byzantine=self.byzantine, sampling=Others())

    def most(self) -> float:
        """An upper bound on the accuracy of any protocol on two labels.

        Participants and labels are treated alike and the malicious never help. So of b and honest - b right
        first votes at most one ends right.
        """
        law = self.start.weights @ self.start.laws
        return float(np.maximum(law, law[::-1]).sum() / 2)

    def _from_laws(self, accuracies: Floats) -> tuple[float, bool, float | None]:
        """Accuracy, whether it is exact, and the standard error that the number of tasks leaves."""
        _, weights, tasks = self.start
        accuracy = min(float(weights @ accuracies), 1.0)
        if tasks is None:
            return accuracy, True, None
        spread = float(weights @ (accuracies - accuracy) ** 2)
        return accuracy, False, _error(math.sqrt(spread / max(1, tasks - 1)), accuracy, tasks)

    # ---- simulated ---------------------------------------------------------------------------

    @cached_property
    def drawn(self) -> Drawn:
        """Inputs to simulate, with rows for the malicious in front."""
        rng = np.random.default_rng([self.seed, self.n, self.byzantine])
        inputs = 2 * _INPUTS if self.crowd.classes == 2 else _INPUTS
        votes, truth, source = self.crowd.draw(self.honest, inputs, rng)
        unused = np.broadcast_to(truth, (self.byzantine, truth.size))  # votes of the malicious
        return Drawn(np.concatenate((unused, votes)), truth, source)

    @property
    def _malicious(self) -> dict[int, PerfectlyMalicious]:
        return {i: PerfectlyMalicious() for i in range(self.byzantine)}

    def simulated(self, rule: SnowProtocol[Any], rounds: int) -> Figures:
        """The figures of a rule, simulated."""
        votes, truth, _ = self.drawn
        outcome = deliberate(
            votes,
            rule,
            adversaries=self._malicious,
            truth=truth,
            rounds=rounds,
            classes=self.crowd.classes,
            seed=self.seed,
            device=self.device,
        )
        together = outcome.counts.max(axis=-1) == self.honest
        if not rule.decides:  # a node goes on to the last round, as it cannot know that all agree
            queries = float(self.honest * rule.k * rounds)
        elif self.inputs == 1:
            queries = float(outcome.queries) / truth.size
        else:  # one query carries all inputs: they ask until the longest run of a batch is over
            queries = self.honest * rule.k * _longest(outcome.rounds, self.inputs)
        return Figures(
            *self._from_inputs(right_by_input(outcome.decision, truth, outcome.tied)),
            agreement=float(outcome.agreement.mean()),
            in_time=float(np.mean(outcome.converged if rule.decides else together)),
            queries=queries,
        )

    def _from_inputs(self, right: Floats) -> tuple[float, bool, float]:
        accuracy, source = float(right.mean()), self.drawn.source
        if source is not None:  # inputs that repeat a task are not new evidence
            _, which, many = np.unique(source, return_inverse=True, return_counts=True)
            right = np.bincount(which, right) / many
        return accuracy, False, _error(standard_error(right) or 0.0, accuracy, right.size)

    # ---- the others --------------------------------------------------------------------------

    def majority(self) -> tuple[float, bool, float | None]:
        """Accuracy of the majority of all first votes, also malicious ones; whether exact; standard error."""
        if self.crowd.classes == 2:
            return self._from_laws(self.start.laws @ _right(self.honest, self.n))
        votes, truth, _ = self.drawn
        seen = handed_in(votes, self._malicious, truth, self.crowd.classes, seed=self.seed)
        found = aggregate(seen)
        tied = found.tied_classes(self.crowd.classes)
        return self._from_inputs(right_by_input(found.decision, truth, tied))


def _right(honest: int, of: int) -> Floats:
    """(b,): whether b right votes are more than half of so many; one half if they are half of them."""
    return np.asarray((np.sign(2 * np.arange(honest + 1) - of) + 1) / 2, dtype=np.float64)


def _error(error: float, accuracy: float, count: int) -> float:
    """The standard error, and not less than Laplace's estimate leaves: all right of ten is not certainty."""
    fair = (accuracy * count + 1) / (count + 2)
    return max(error, math.sqrt(fair * (1 - fair) / count) if accuracy in (0.0, 1.0) else 0.0)


def _longest(rounds: Ints, many: int) -> float:
    """The expected largest of ``many`` draws from these numbers of rounds."""
    values, counts = np.unique(rounds, return_counts=True)
    below = (np.cumsum(counts) / counts.sum()) ** many
    return float(values @ np.diff(below, prepend=0.0))

"""Points of ``beta`` and ``design`` played on a GPU: many more talks, counted there (``simulation.sweep``).

The votes are another sample than the processor's: coins from streams of their own. The accuracies of
``beta`` are the same draws, so that the exact values are theirs, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.experiment import Finding
from folkmoot.arrays import Floats
from folkmoot.checks import least_alpha
from folkmoot.protocols.sampling import Everyone, Others
from folkmoot.protocols.slush import Slush
from folkmoot.protocols.thresholds import StrongConfidence
from folkmoot.simulation.setting import Device
from folkmoot.simulation.sweeping import sweep
from folkmoot.theory import SlushChain


@dataclass(frozen=True)
class SweptDraws:
    """What came of the draws of one point of ``beta``, an entry for each draw."""

    local: list[float]
    slush: list[float]  # global alpha
    majority: list[float]
    settled: list[float]  # of the talks with local thresholds


def swept_draws(
    p: Sequence[Floats], k: int, profiles: int, rounds: int, seed: int, device: Device
) -> list[SweptDraws]:
    """All points at once: ``p`` holds (draw, participant) of each."""
    every = np.concatenate(p)
    local, slush = (
        sweep(
            every,
            rule,
            repeats=profiles,
            rounds=rounds,
            sampling=Everyone(),
            seed=seed,
            device=device,
            threads=1,
        )
        for rule in ([Slush(k, StrongConfidence(row)) for row in every], Slush(k, least_alpha(k)))
    )
    ends = np.cumsum([len(each) for each in p]).tolist()
    return [
        SweptDraws(*(each[end - len(own) : end].tolist() for each in columns))
        for own, end in zip(p, ends, strict=True)
        for columns in [(local.accuracy, slush.accuracy, local.majority, local.converged / profiles)]
    ]


def swept_finding(points: Sequence[tuple[float | None, float, float]], device: Device) -> Finding:
    """Accuracies of local Slush as swept (None: not there) beside exact ones, with their standard errors."""
    off = [abs(swept - exact) / error for swept, exact, error in points if swept is not None]
    return Finding(
        "played on a GPU against exact",
        "not given",
        f"{len(off)} points, worst {max(off, default=0.0):.1f} standard errors apart",
        reason=f"votes of their own for the same draws of accuracies, device={device!r}",
        holds=max(off) <= 4 if off else None,
    )


@dataclass(frozen=True)
class PlayedSetting:
    """One k, alpha and number of liars: played very often, beside the exact value."""

    k: int
    alpha: int
    byzantine: int
    accuracy: float
    error: float  # of the accuracy, by the exact value where there is one
    open: float  # the share of talks in which not all agreed
    exact: float | None  # None if the liars reach alpha: theory then stops where the talk goes on

    @property
    def z(self) -> float | None:
        """How many standard errors it is off."""
        return None if self.exact is None else (self.accuracy - self.exact) / max(self.error, 1e-12)


def played_settings(
    n: int, p: float, k: int, liars: Sequence[int], talks: int, rounds: int, seed: int, device: Device
) -> list[PlayedSetting]:
    """Every threshold of one sample size, with every number of liars."""
    found = []
    for byzantine in liars:
        alphas = range(least_alpha(k), k + 1)
        for alpha in alphas:
            own = seed + 1_000_000 * k + 1000 * byzantine + alpha  # a sample for each: they stand together
            played = sweep(
                p,
                Slush(k, alpha),
                n=n,
                byzantine=byzantine,
                repeats=talks,
                rounds=rounds,
                seed=own,
                device=device,
            )
            exact = None
            if byzantine < alpha:
                chain = SlushChain(n, k, alpha, byzantine=byzantine, sampling=Others())
                exact = chain.accuracy(p, steps=rounds * (n - byzantine))
            accuracy = float(played.accuracy[0])
            right = accuracy if exact is None else exact
            # Where almost all talks end alike, one more or less is still within chance.
            error = float(np.sqrt(max(right * (1 - right), 1 / talks) / talks))
            share = float(played.open[0]) / talks
            found.append(PlayedSetting(k, alpha, byzantine, accuracy, error, share, exact))
    return found

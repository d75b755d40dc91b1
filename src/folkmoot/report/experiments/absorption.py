"""Figure "Slush Absorption", as ``folkmoot theory absorption`` draws it."""

from __future__ import annotations

from matplotlib.figure import Figure

from folkmoot.paper.theory.absorption import AbsorptionResult
from folkmoot.report.theory_figures import absorption
from folkmoot.theory import SlushChain


def draw(result: AbsorptionResult) -> Figure:
    """B_b with the bounds, linear and on a log scale; exact, so it can only be what the result holds."""
    return absorption(SlushChain(result.n, result.k, result.alpha))

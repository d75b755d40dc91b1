"""What the pictures of section 5.1 share: distributions of accuracies, and accuracies against liars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from experiments.counting import MAJORITY
from experiments.femnist.byzantine_sweep import Sweep
from experiments.femnist.ensemble import LOCAL, LOCAL_TEST, SLUSH
from experiments.femnist.test_sets import Ensemble, OnTestSet, on_writers
from folkmoot.pictures.palette import BLUE, GREEN, GREY, ORANGE, RED

# The paper's colours: majority black, Slush red, local Slush blue.
STYLES: Final[dict[str, dict[str, Any]]] = {
    MAJORITY: {"color": "black", "ls": "--"},
    SLUSH: {"color": RED, "ls": "--"},
    LOCAL_TEST: {"color": BLUE, "ls": "--"},
    LOCAL: {"color": "#17a2b8", "ls": ":"},
}
_BINS, _FINE_BINS = np.linspace(0, 1, 41), np.linspace(0, 1, 101)
_MANY: Final = 200  # letters from which on accuracies are fine enough for fine bins


def draw_validation(axes: Any, ensemble: Ensemble) -> None:
    """The distribution of validation accuracies."""
    axes.hist(ensemble.validation, bins=_BINS, color=GREEN, alpha=0.75)
    axes.set_title("validation, own writing", fontsize=9, pad=14)
    axes.axvline(0.5, color=GREY, lw=0.8)
    axes.set(xlabel="accuracy", ylabel=f"models ({ensemble.name})")


def draw_test(axes: Any, test: OnTestSet) -> None:
    """The distribution of accuracies on one test set, with what the ensembles reach."""
    bins = _BINS if test.letters < _MANY else _FINE_BINS
    axes.hist(test.accuracies, bins=bins, color=ORANGE, alpha=0.6)
    for name, style in STYLES.items():
        axes.axvline(test.method(name).accuracy, lw=1.6, label=name, **style)
    for place, (name, style) in enumerate(STYLES.items()):  # lines may lie on each other, so numbers too
        axes.text(
            0.14 + 0.24 * place,
            1.02,
            f"{test.method(name).accuracy:.3f}",
            transform=axes.transAxes,
            color=style["color"],
            fontsize=8,
            ha="center",
        )
    axes.set_title(f"{on_writers(test.writers)}, {test.letters:,} letters", fontsize=9, pad=14)
    axes.set(xlabel="accuracy")


def span(ensembles: Sequence[Ensemble]) -> tuple[float, float]:
    """Limits of an axis that hold all accuracies on test sets."""
    values = [value for each in ensembles for test in each.tests for value in test.accuracies]
    values += [m.accuracy for each in ensembles for test in each.tests for m in test.methods]
    return max(0.0, min(values) - 0.03), min(1.0, max(values) + 0.03)


def draw_sweep(axes: Any, sweep: Sweep, alpha: int) -> None:
    """Accuracy against the number of liars; the line f = alpha is the paper's."""
    for name, style in STYLES.items():
        curve = sweep.curve(name)
        values = np.array(curve.accuracy)
        error = np.array([each or 0.0 for each in curve.error])
        axes.plot(sweep.byzantine, values, label=name, lw=1.6, **{**style, "ls": "-"})
        axes.fill_between(
            sweep.byzantine, values - error, values + error, color=style["color"], alpha=0.2, lw=0
        )
    axes.axvline(alpha, color=GREY, ls="--", lw=1)
    axes.text(alpha + 0.5, 0.93, f"f = {alpha}", color=GREY, fontsize=8)
    axes.set_ylim(0, 1)
    axes.set_title(f"{on_writers(sweep.writers)}, {sweep.letters:,} letters", fontsize=9)
    axes.set(xlabel="perfectly malicious members f")

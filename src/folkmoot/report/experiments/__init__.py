"""Pictures of the experiments, one file each: a result in, a figure out."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from matplotlib.figure import Figure

# Experiment and the module here whose ``draw(result)`` makes its picture.
_MODULES: Final = {
    "absorption": "absorption",
    "homogeneous": "homogeneous",
    "thresholds": "thresholds",
    "performance-groups": "performance_groups",
    "byzantine-theory": "byzantine_theory",
    "femnist-individual": "femnist_individual",
    "femnist-byzantine": "femnist_byzantine",
    "femnist-cnn": "femnist_cnn",
    "training-sizes": "training_sizes",
    "beta": "beta",
    "liveness": "liveness",
    "design": "design",
}


def picture_of(name: str) -> Callable[[Any], Figure]:
    """The function that draws the results of an experiment."""
    module = import_module(f"folkmoot.report.experiments.{_MODULES[name]}")
    draw: Callable[[Any], Figure] = module.draw
    return draw

"""All experiments, in the order of the paper; each is imported when it is asked for."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any, Final

from folkmoot.experiments.experiment import Experiment

# Name and module, in the order in which the report shows them.
MODULES: Final = {
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
    "trust": "trust",
}


def experiment(name: str) -> Experiment[Any]:
    """The experiment of this name; a wrong name is answered with the nearest."""
    if name not in MODULES:
        near = difflib.get_close_matches(name, MODULES, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"there is no experiment {name!r}{hint} (there are {', '.join(MODULES)})")
    found: Experiment[Any] = import_module(f"folkmoot.experiments.{MODULES[name]}").EXPERIMENT
    return found

"""All experiments, in the order of the paper; each is imported when it is asked for."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any, Final

from experiments.experiment import Experiment

# Name and module, in the order in which the report shows them.
MODULES: Final = {
    "absorption": "theory.absorption",
    "homogeneous": "theory.homogeneous",
    "thresholds": "theory.threshold_tables",
    "performance-groups": "theory.performance_groups",
    "byzantine-theory": "theory.byzantine_theory",
    "femnist-individual": "femnist.single_writers",
    "femnist-byzantine": "femnist.byzantine_forests",
    "femnist-cnn": "femnist.group_networks",
    "training-sizes": "femnist.training_sizes",
    "beta": "theory.beta",
    "liveness": "theory.liveness",
    "design": "theory.design",
    "mechanism": "mechanism.beside",
    "ablation": "mechanism.ablation",
    "crowds": "mechanism.crowds",
    "improve": "improvement.improve",
    "clusters": "clusters.agreed_clusters",
    "deceptive-member": "deceptive_member.moots",
    "whom-to-believe": "believing.moots",
    "outlook": "outlook.favouring",
}
# Studies of what 0.3 does not have any more: talks guarded by learnt trust. Their results of 0.2 are kept.
RECORDED: Final = ("trust", "peer-review")


def experiment(name: str) -> Experiment[Any]:
    """The experiment of this name; a wrong name is answered with the nearest."""
    if name not in MODULES:
        near = difflib.get_close_matches(name, MODULES, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"there is no experiment {name!r}{hint} (there are {', '.join(MODULES)})")
    found: Experiment[Any] = import_module(f"experiments.{MODULES[name]}").EXPERIMENT
    return found

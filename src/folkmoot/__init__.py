"""folkmoot: consensus learning. Many private models, one agreed answer, no server.

Everything public is loaded on first use, so ``import folkmoot`` itself costs almost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from folkmoot import (
        accuracy,
        adversaries,
        aggregation,
        baselines,
        comparison,
        datasets,
        protocols,
        sampling,
        simulation,
        theory,
        trust,
    )
    from folkmoot.checks import ByzantineThresholdWarning
    from folkmoot.comparison import Report, compare
    from folkmoot.learning import ConsensusClassifier, ConsensusRegressor
    from folkmoot.outcome import Outcome
    from folkmoot.protocols import Slush, Snowball, Snowflake
    from folkmoot.sampling import Everyone, Neighbours, Others, Trusting
    from folkmoot.simulation import Agreement, agree, deliberate
    from folkmoot.thresholds import StrongConfidence, strong_confidence

__all__ = [
    "Agreement",
    "ByzantineThresholdWarning",
    "ConsensusClassifier",
    "ConsensusRegressor",
    "Everyone",
    "Neighbours",
    "Others",
    "Outcome",
    "Report",
    "Slush",
    "Snowball",
    "Snowflake",
    "StrongConfidence",
    "Trusting",
    "__version__",
    "accuracy",
    "adversaries",
    "aggregation",
    "agree",
    "baselines",
    "compare",
    "comparison",
    "datasets",
    "deliberate",
    "learning",
    "protocols",
    "sampling",
    "simulation",
    "strong_confidence",
    "theory",
    "trust",
]

# Where each public name lives. A name that is a module of its own maps to itself.
_HOMES = {
    "Agreement": "folkmoot.simulation",
    "ByzantineThresholdWarning": "folkmoot.checks",
    "ConsensusClassifier": "folkmoot.learning",
    "ConsensusRegressor": "folkmoot.learning",
    "Everyone": "folkmoot.sampling",
    "Neighbours": "folkmoot.sampling",
    "Others": "folkmoot.sampling",
    "Outcome": "folkmoot.outcome",
    "Report": "folkmoot.comparison",
    "Slush": "folkmoot.protocols",
    "Snowball": "folkmoot.protocols",
    "Snowflake": "folkmoot.protocols",
    "StrongConfidence": "folkmoot.thresholds",
    "Trusting": "folkmoot.sampling",
    "accuracy": "folkmoot.accuracy",
    "adversaries": "folkmoot.adversaries",
    "aggregation": "folkmoot.aggregation",
    "agree": "folkmoot.simulation",
    "baselines": "folkmoot.baselines",
    "compare": "folkmoot.comparison",
    "comparison": "folkmoot.comparison",
    "datasets": "folkmoot.datasets",
    "deliberate": "folkmoot.simulation",
    "learning": "folkmoot.learning",
    "protocols": "folkmoot.protocols",
    "sampling": "folkmoot.sampling",
    "simulation": "folkmoot.simulation",
    "strong_confidence": "folkmoot.thresholds",
    "theory": "folkmoot.theory",
    "trust": "folkmoot.trust",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'folkmoot' has no attribute {name!r}")
    module = import_module(_HOMES[name])
    return module if module.__name__ == f"folkmoot.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)

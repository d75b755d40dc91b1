"""folkmoot: consensus learning. Many private models, one agreed answer, no server.

Everything public is loaded on first use, so ``import folkmoot`` itself costs almost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from folkmoot import protocols, theory
    from folkmoot.checks import ByzantineThresholdWarning
    from folkmoot.protocols import Slush
    from folkmoot.thresholds import strong_confidence

__all__ = [
    "ByzantineThresholdWarning",
    "Slush",
    "__version__",
    "protocols",
    "strong_confidence",
    "theory",
]

# Where each public name lives. A name that is a module of its own maps to itself.
_HOMES = {
    "ByzantineThresholdWarning": "folkmoot.checks",
    "Slush": "folkmoot.protocols",
    "protocols": "folkmoot.protocols",
    "strong_confidence": "folkmoot.thresholds",
    "theory": "folkmoot.theory",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'folkmoot' has no attribute {name!r}")
    module = import_module(_HOMES[name])
    return module if module.__name__ == f"folkmoot.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)

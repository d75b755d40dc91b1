"""Pictures of the experiments, one file each: a result in, a figure out."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from matplotlib.figure import Figure


def picture_of(name: str) -> Callable[[Any], Figure]:
    """The function that draws the results of an experiment: ``draw`` of the module of the same name here."""
    module = import_module(f"folkmoot.report.experiments.{name.replace('-', '_')}")
    draw: Callable[[Any], Figure] = module.draw
    return draw

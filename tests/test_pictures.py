"""Every ``plot`` of the library draws in the caller's axes, and in no others."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import LinearRegression

import folkmoot
from folkmoot import ConsensusRegressor, Slush, deliberate, plot_convergence
from folkmoot.datasets import homogeneous_votes, load_digits_moot


def summary() -> Any:
    return load_digits_moot(n_participants=5).summary()


def report_on_numbers() -> Any:
    X = np.random.default_rng(0).normal(size=(60, 2))
    moot = ConsensusRegressor([LinearRegression()] * 3, random_state=0).fit(X[:30], X[:30, 0])
    return moot.report(X[30:], X[30:, 0] + 0.1, stacking=False)


def test_the_convergence_is_drawn_where_it_is_told() -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    outcome = deliberate(homogeneous_votes(9, p=0.7, inputs=20).votes, Slush(5, 3), record=True)
    assert plot_convergence(outcome, ax=right) is figure
    assert right.has_data()
    assert not left.has_data()


@pytest.mark.parametrize("make", [summary, report_on_numbers])
def test_plots_draw_where_they_are_told(make: Callable[[], Any]) -> None:
    made, figure = make(), Figure()
    left, right = figure.subplots(1, 2)
    assert made.plot(ax=right) is figure
    assert right.has_data()
    assert not left.has_data()
    assert isinstance(made.plot(), Figure)
    with pytest.raises(TypeError, match=r"ax must be matplotlib axes, .*: got list"):
        made.plot(ax=[left, right])


def test_every_plot_takes_axes() -> None:
    plotted = 0
    for module in pkgutil.walk_packages(folkmoot.__path__, "folkmoot."):
        if not module.name.endswith("__main__"):
            for name, thing in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                for attribute, method in inspect.getmembers(thing, inspect.isfunction):
                    if attribute.startswith("plot") and method.__module__.startswith("folkmoot."):
                        assert "ax" in inspect.signature(method).parameters, (name, attribute)
                        plotted += 1
    assert plotted > 5

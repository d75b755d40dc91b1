"""Figure "feMNIST letters niid": a row for each family, validation first, then the three test sets."""

from __future__ import annotations

from matplotlib.figure import Figure

from folkmoot.paper.femnist.single_writers import IndividualResult
from folkmoot.report.experiments.femnist_curves import draw_test, draw_validation, span
from folkmoot.report.palette import panels


def draw(result: IndividualResult) -> Figure:
    """Distributions of accuracies, with majority and consensus as vertical lines."""
    columns = 1 + max(len(family.tests) for family in result.families)
    figure, axes = panels(len(result.families), columns, size=(3.3, 2.5))
    limits = span(result.families)
    for row, family in enumerate(result.families):
        mine = axes[row * columns : (row + 1) * columns]
        draw_validation(mine[0], family)
        for each, test in zip(mine[1:], family.tests, strict=True):
            draw_test(each, test)
            each.set_xlim(*limits)
    figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure

"""A consensus beside single participants and every rule of a centre: ``compare`` makes a ``Report``."""

from folkmoot.comparison.comparing import compare
from folkmoot.comparison.line import Line
from folkmoot.comparison.numbers import NumberLine, NumberReport, compare_numbers
from folkmoot.comparison.open_inputs import OpenInputsWarning
from folkmoot.comparison.report import CONSENSUS, WITHOUT_TRUST, Report
from folkmoot.comparison.rules import RULES, RuleName, central_decisions, judged_accuracies

__all__ = [
    "CONSENSUS",
    "RULES",
    "WITHOUT_TRUST",
    "Line",
    "NumberLine",
    "NumberReport",
    "OpenInputsWarning",
    "Report",
    "RuleName",
    "central_decisions",
    "compare",
    "compare_numbers",
    "judged_accuracies",
]

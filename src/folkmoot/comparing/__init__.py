"""An answer beside single participants and every rule that sees all votes: ``compare`` makes a ``Report``."""

from folkmoot.comparing.comparing import compare, report_on
from folkmoot.comparing.independence import Independence
from folkmoot.comparing.joining import JoinedRow, Joining, compare_alone
from folkmoot.comparing.judging import judged_accuracies
from folkmoot.comparing.metric import ACCURACY, ERROR, Metric
from folkmoot.comparing.participants import ParticipantRow, ParticipantTable
from folkmoot.comparing.report import CONSENSUS, Line, Report

__all__ = [
    "ACCURACY",
    "CONSENSUS",
    "ERROR",
    "Independence",
    "JoinedRow",
    "Joining",
    "Line",
    "Metric",
    "ParticipantRow",
    "ParticipantTable",
    "Report",
    "compare",
    "compare_alone",
    "judged_accuracies",
    "report_on",
]

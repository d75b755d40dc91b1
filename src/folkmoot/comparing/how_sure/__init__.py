"""How sure the answers are: scores beyond accuracy, calibration, and what abstaining buys."""

from folkmoot.comparing.how_sure.certainty import Certainty, CoverageCurve
from folkmoot.comparing.how_sure.scores import BALANCED, MACRO_F1, balanced_scores

__all__ = ["BALANCED", "MACRO_F1", "Certainty", "CoverageCurve", "balanced_scores"]

"""scikit-learn estimators: participants with models and rows of their own, and one agreed answer."""

from folkmoot.comparison.numbers import NumberLine, NumberReport
from folkmoot.comparison.report import Line, Report
from folkmoot.learning.classifier import ConsensusClassifier, ProtocolWarning
from folkmoot.learning.participants import Participant, ParticipantWarning
from folkmoot.learning.regressor import ConsensusRegressor

__all__ = [
    "ConsensusClassifier",
    "ConsensusRegressor",
    "Line",
    "NumberLine",
    "NumberReport",
    "Participant",
    "ParticipantWarning",
    "ProtocolWarning",
    "Report",
]

"""scikit-learn estimators: participants with models and rows of their own, and one agreed answer."""

from folkmoot.learning.classifier import ConsensusClassifier
from folkmoot.learning.clusterer import ConsensusClusterer
from folkmoot.learning.function_model import FunctionModel
from folkmoot.learning.participants import Participant, ParticipantWarning
from folkmoot.learning.regressor import ConsensusRegressor
from folkmoot.learning.reporting import reports
from folkmoot.learning.snow_rounds import ProtocolWarning

__all__ = [
    "ConsensusClassifier",
    "ConsensusClusterer",
    "ConsensusRegressor",
    "FunctionModel",
    "Participant",
    "ParticipantWarning",
    "ProtocolWarning",
    "reports",
]

"""The estimators of 0.2, until nothing uses them."""

from folkmoot.old.classifier import ConsensusClassifier
from folkmoot.old.regressor import ConsensusRegressor

__all__ = ["ConsensusClassifier", "ConsensusRegressor"]

"""Estimators: participants with models of their own, a table of first votes, a protocol, an aggregation."""

from folkmoot.moot.classifier import ConsensusClassifier
from folkmoot.moot.regressor import ConsensusRegressor

__all__ = ["ConsensusClassifier", "ConsensusRegressor"]

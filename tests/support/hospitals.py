"""Breast cancer over ten hospitals: real rows that need no download, dealt to ten models."""

from __future__ import annotations

from typing import Any

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from folkmoot.learning import ConsensusClassifier
from folkmoot.learning.base_learners import models_for


def hospitals(name: str, seed: int) -> tuple[ConsensusClassifier, Any, Any]:
    """A fitted moot of models by name; three of ten rows, and their labels, are kept for the test."""
    X, y = load_breast_cancer(return_X_y=True)
    train, test, own, right = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    return ConsensusClassifier(models_for(name, 10), random_state=seed).fit(train, own), test, right

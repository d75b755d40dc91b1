"""On a real local Ray cluster of two workers, through joblib: the way to several machines."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Self

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from folkmoot.learning.classifier import ConsensusClassifier

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


class Here(GaussianNB):
    """Remembers the process it was fitted in."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        super().fit(X, y, sample_weight)
        self.process_ = os.getpid()
        return self


def test_two_workers_fit_what_one_process_fits() -> None:
    ray = pytest.importorskip("ray", reason='pip install "folkmoot[ray]"')
    register_ray = import_module("ray.util.joblib").register_ray
    X, y = make_classification(600, 8, random_state=0)
    moot = ConsensusClassifier([Here()] * 24, random_state=0)
    alone = moot.fit(X, y).predict(X)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        register_ray()
        with joblib.parallel_config(backend="ray"):
            seen: list[tuple[int, int]] = []
            together = moot.set_params(n_jobs=2).fit(X, y, progress=lambda *step: seen.append(step))
            answers = together.predict(X)
        processes = {model.process_ for model in together.estimators_}
    finally:
        ray.shutdown()
    assert np.array_equal(answers, alone)
    assert seen[-1] == (24, 24)
    assert os.getpid() not in processes
    assert len(processes) == 2

"""``ConsensusClusterer`` keeps scikit-learn's contract, by its own test suite."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from folkmoot import ConsensusClusterer

# The suite brings its own rows, some of them without clusters; what is then warned of is beside the point.
pytestmark = pytest.mark.filterwarnings("ignore")

MODELS = [KMeans(3, n_init=1), KMeans(3, n_init=1), GaussianMixture(3), KMeans(2, n_init=1)]


@parametrize_with_checks([ConsensusClusterer(MODELS)])  # type: ignore[untyped-decorator]
def test_contract(estimator: Any, check: Any) -> None:
    check(estimator)

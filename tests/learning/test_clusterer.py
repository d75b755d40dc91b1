"""``ConsensusClusterer``: groups, columns, unseen rows, models of all kinds, liars, and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from folkmoot import ConsensusClusterer, cluster
from folkmoot.clustering.adversaries import ColludingPartition, RandomPartition
from folkmoot.clustering.clustering import ClusteringWarning
from folkmoot.learning.participants import ParticipantWarning

X, Y = make_blobs(240, 6, centers=4, cluster_std=2.5, random_state=5)
MEANS = [KMeans(4, n_init=1)] * 7
COLUMNS = [[i % 6, (i + 1) % 6, (i + 3) % 6] for i in range(7)]


@pytest.fixture(scope="module")
def fitted() -> ConsensusClusterer:
    return ConsensusClusterer(MEANS, 4, columns=COLUMNS, random_state=0).fit(X)


def test_it_is_the_function_on_what_the_models_say(fitted: ConsensusClusterer) -> None:
    for i, columns in enumerate(COLUMNS):
        own = fitted.participants_[i].model.predict(X[:, columns])
        assert (fitted.partitions_[i] == own).all()
    assert (fitted.labels_ == cluster(fitted.partitions_, 4).labels).all()
    assert fitted.n_clusters_ == 4
    assert adjusted_rand_score(Y, fitted.labels_) > 0.9


def test_half_lie() -> None:
    liars = {f"kmeans-{i}": ColludingPartition() for i in (1, 3, 4, 6)}
    moot = ConsensusClusterer(MEANS, 4, columns=COLUMNS, adversaries=liars, random_state=0).fit(X)
    assert moot.clustering_.honest.tolist() == [False, True, False, False, True, False, True]
    assert adjusted_rand_score(Y, moot.labels_) > 0.8
    assert moot.clustering_.names[0] == "kmeans-1"


def test_adversaries_by_number_are_drawn_by_the_seed() -> None:
    moots = [
        ConsensusClusterer(MEANS, 4, columns=COLUMNS, adversaries=3, random_state=seed).fit(X)
        for seed in (0, 0, 1)
    ]
    honest = [moot.clustering_.honest.tolist() for moot in moots]
    assert honest[0] == honest[1] != honest[2]
    assert [sum(each) for each in honest] == [4, 4, 4]


def test_groups_fit_on_their_own_rows_and_place_all() -> None:
    groups = np.arange(240) % 5
    moot = ConsensusClusterer([KMeans(4, n_init=1)], 4, random_state=0).fit(X, groups=groups)
    assert [participant.rows for participant in moot.participants_] == [48] * 5
    assert [participant.name for participant in moot.participants_] == list("01234")
    assert (moot.partitions_ >= 0).all()
    alone = KMeans(4, n_init=1, random_state=moot.participants_[2].model.random_state).fit(X[groups == 2])
    assert (moot.partitions_[2] == alone.predict(X)).all()


def test_rows_that_some_have_not_seen() -> None:
    seen = np.random.default_rng(0).random((7, 240)) < 0.6
    moot = ConsensusClusterer(MEANS, 4, random_state=0).fit(X, seen=seen)
    assert ((moot.partitions_ >= 0) == seen).all()
    assert [participant.rows for participant in moot.participants_] == seen.sum(axis=1).tolist()
    assert adjusted_rand_score(Y, moot.labels_) > 0.9


def test_models_of_all_kinds() -> None:
    """With labels_ or predict, in pipelines, noise as no opinion."""
    models = [
        AgglomerativeClustering(4),
        DBSCAN(eps=4.0, min_samples=4),
        GaussianMixture(4),
        make_pipeline(StandardScaler(), KMeans(4, n_init=1)),
        make_pipeline(StandardScaler(), AgglomerativeClustering(4)),
    ]
    moot = ConsensusClusterer(models, 4, random_state=0).fit(X)
    noise = moot.participants_[1].model.labels_ == -1
    assert noise.any()
    assert ((moot.partitions_[1] == -1) == noise).all()
    assert (moot.partitions_[4] == models[4].fit(X)[-1].labels_).all()
    assert adjusted_rand_score(Y, moot.labels_) > 0.9


def test_prefit_models_place_new_rows() -> None:
    models = [
        (f"p{i}", KMeans(4, n_init=1, random_state=i).fit(X[:120, columns]))
        for i, columns in enumerate(COLUMNS[:4])
    ]
    moot = ConsensusClusterer(models, 4, prefit=True, columns=COLUMNS[:4]).fit(X[120:])
    assert (moot.partitions_[3] == models[3][1].predict(X[120:, COLUMNS[3]])).all()
    seen = np.ones((4, 120), dtype=np.bool_)
    seen[0, :60] = False
    assert (moot.fit(X[120:], seen=seen).partitions_[0] >= 0).tolist() == seen[0].tolist()


def test_columns_by_name() -> None:
    frame = pd.DataFrame(X, columns=list("abcdef"))
    columns = [[*"abd"], [*"bce"], [*"cdf"]]
    moot = ConsensusClusterer([KMeans(4, n_init=1)] * 3, 4, columns=columns, random_state=0).fit(frame)
    by_place = ConsensusClusterer(
        [KMeans(4, n_init=1)] * 3, 4, columns=[[0, 1, 3], [1, 2, 4], [2, 3, 5]], random_state=0
    ).fit(X)
    assert (moot.labels_ == by_place.labels_).all()


def test_who_cannot_place_rows_is_left_out() -> None:
    groups = np.arange(240) % 4
    models = [("0", KMeans(4)), ("1", KMeans(4)), ("2", KMeans(4)), ("3", KMeans(4))]
    moot = ConsensusClusterer(models, 4, random_state=0).fit(X, groups=groups)
    fitted = [(p.name, p.model) for p in moot.participants_] + [("broken", _Broken())]
    with pytest.warns(ParticipantWarning, match=r"'broken \(OSError: no disk\)': cannot place the rows"):
        again = ConsensusClusterer(fitted, 4, prefit=True).fit(X)
    assert len(again.clustering_.names) == 4
    assert (again.partitions_[4] == -1).all()


class _Broken:
    def predict(self, X: Any) -> Any:  # noqa: ARG002
        raise OSError("no disk")


def test_one_cluster_is_told() -> None:
    with pytest.warns(ClusteringWarning, match="n_clusters=1 puts all rows into one cluster"):
        moot = ConsensusClusterer(MEANS, 1, columns=COLUMNS, random_state=0).fit(X)
    assert not moot.labels_.any()
    assert moot.clustering_.n_clusters == 4


@pytest.mark.parametrize(
    ("options", "fit", "message"),
    [
        ({"n_clusters": 241}, {}, r"2 <= n_clusters <= the number of objects \(240\)"),
        ({"n_clusters": 0}, {}, "2 <= n_clusters"),
        ({"rounds": 0}, {}, "rounds >= 1"),
        ({"estimators": [KMeans(4)]}, {}, "at least two participants: estimators holds one model"),
        ({"estimators": [LogisticRegression()] * 3}, {}, r"needs clusterers.*is a classifier"),
        ({"adversaries": {"nobody": RandomPartition()}}, {}, "there is no 'nobody'"),
        ({}, {"groups": np.zeros(3)}, "whose each of the 240 rows is: got 3"),
        ({}, {"seen": np.ones((3, 240), dtype=bool)}, r"= \(7, 240\): got the shape \(3, 240\)"),
        ({}, {"seen": np.ones((7, 240))}, "of True and False"),
        ({}, {"seen": np.ones((7, 240), dtype=bool), "groups": np.arange(240) % 7}, "give groups or seen"),
        ({"prefit": True}, {"groups": np.arange(240) % 7}, "groups are for fitting"),
        (
            {"estimators": [KMeans(60)] * 7},
            {"groups": np.arange(240) % 7},
            "'0' .*cannot be fitted",
        ),
    ],
)
def test_bad_input(options: dict[str, Any], fit: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"estimators": MEANS, "random_state": 0} | options
    moot = ConsensusClusterer(**given)
    with pytest.raises((ValueError, TypeError), match=message) as refused:
        moot.fit(X, **fit)
    assert "\n" not in str(refused.value)


def test_one_row() -> None:
    with pytest.raises(ValueError, match="at least two rows: got n_samples=1"):
        ConsensusClusterer(MEANS).fit(X[:1])

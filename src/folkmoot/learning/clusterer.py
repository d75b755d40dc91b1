"""``ConsensusClusterer``: private clusterings of the same objects, and one that all agree on."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from folkmoot import checks
from folkmoot.arrays import Array, Ints, Progress
from folkmoot.clustering.adversaries import ColludingPartition, PartitionAdversary
from folkmoot.clustering.agreeing import cluster
from folkmoot.clustering.clustering import Clustering, ClusteringWarning
from folkmoot.clustering.consensus_partitions import check_clusters
from folkmoot.clustering.partitions import UNSEEN
from folkmoot.learning.consensus_estimator import ConsensusEstimator
from folkmoot.learning.participants import Participant, Task, first_sentence, fitted_clone, warn_about
from folkmoot.learning.tables import check_inputs, rows_in, rows_of

_NOBODY: Ints = np.empty(0, dtype=np.int64)


class ConsensusClusterer(ClusterMixin, ConsensusEstimator):
    """Participants that each cluster the objects by their own model, then agree on one clustering.

    Parameters
    ----------
    estimators : list of models, or list of (str, model)
        One clusterer per participant, with or without its name; with ``groups`` a list of one model serves
        every group. Models with ``predict`` (k-means, mixtures) place objects that they were not fitted on;
        of others (DBSCAN, agglomerative clustering) only ``labels_`` of their own rows count. Their -1,
        noise, is an object without an opinion.
    n_clusters : int, optional
        How many clusters to agree on. Default: of the numbers that the participants have made, the one after
        which the spectrum falls most (docs/cluster.md says when that is poor).
    rounds : int, default 10
        The most rounds.
    prefit : bool, default False
        Whether the models are fitted already; ``fit`` then asks them to place its rows.
    columns : list or mapping, optional
        The columns that each participant uses, as for ``ConsensusClassifier``.
    adversaries : int or mapping of str or int to PartitionAdversary, optional
        Byzantine participants: how many (drawn by ``random_state``, colluding), or which, by name or
        number.
    n_jobs : int, optional
        Processes for fitting, through joblib (and so Ray, with its backend). Default: 1.
    random_state : int, RandomState or None, default None
        Seeds models without a seed of their own, and the draws of adversaries.

    Attributes
    ----------
    labels_ : ndarray of int, shape (row,)
        The agreed cluster of each row; -1 where nobody has an opinion.
    clustering_ : Clustering
        The agreed clusters, weights, judges and agreement.
    partitions_ : ndarray of int, shape (participant, row)
        The clusters of each participant's model; -1 for no opinion.
    n_clusters_ : int
        The number of clusters.
    participants_ : list of Participant
        The participants, with name and model.

    Notes
    -----
    Parameters in groups:

    * who takes part: ``estimators``, ``prefit``, ``columns``, ``adversaries``;
    * the agreement: ``n_clusters``, ``rounds``;
    * running: ``n_jobs``, ``random_state``.

    Examples
    --------
    Nine participants see four of the thirteen columns of the wine data each. Five of them lie together.

    >>> from folkmoot import ConsensusClusterer
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_wine(return_X_y=True)
    >>> columns = [[(3 * i + j) % 13 for j in (0, 4, 6, 9)] for i in range(9)]
    >>> moot = ConsensusClusterer([KMeans(3)] * 9, n_clusters=3, columns=columns, random_state=0)
    >>> alone = [adjusted_rand_score(y, each) for each in moot.fit(scale(X)).partitions_]
    >>> print(f"{sum(alone) / 9:.2f} alone, {adjusted_rand_score(y, moot.labels_):.2f} together")
    0.57 alone, 0.85 together
    >>> lied = moot.set_params(adversaries=5).fit(scale(X))
    >>> print(f"{adjusted_rand_score(y, lied.labels_):.2f}")
    0.75
    """

    _adversary = PartitionAdversary
    _usual_adversary = ColludingPartition

    labels_: Ints
    clustering_: Clustering
    partitions_: Ints

    def __init__(
        self,
        estimators: Any,
        n_clusters: int | None = None,
        *,
        rounds: int = 10,
        prefit: bool = False,
        columns: Any = None,
        adversaries: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.n_clusters = n_clusters
        self.rounds = rounds
        self.prefit = prefit
        self.columns = columns
        self.adversaries = adversaries
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002
        groups: Any = None,
        *,
        seen: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Let every participant cluster the rows by a clone of its model, and all agree on one clustering.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (row, feature)
            The objects.
        y : None
            Ignored; scikit-learn's pipelines hand it over.
        groups : array-like, shape (row,), optional
            The participant of each row: its model is fitted on its own rows, and places all of them.
            Default: everybody is fitted on all rows.
        seen : array-like of bool, shape (participant, row), optional
            Which rows each participant has seen: its model is fitted on these, and says nothing of others.
        progress : callable, optional
            Called with (done, all) whenever a participant is fitted.

        Returns
        -------
        ConsensusClusterer
            Itself, fitted.

        Raises
        ------
        ValueError
            If what is given does not fit together.

        Warns
        -----
        ParticipantWarning
            About single participants, such as one whose model cannot place rows.
        ClusteringWarning
            If there is nothing to agree on, or nobody finds anybody to agree with.
        """
        draw = self._start()
        checks.integer("rounds", self.rounds, least=1)
        if groups is not None and seen is not None:
            raise ValueError("give groups or seen, not both: groups say whose a row is, seen who has seen it")
        if self.prefit and groups is not None:
            raise ValueError("groups are for fitting: models with prefit=True are fitted already")
        X = check_inputs(self, X, reset=True)
        rows = rows_in(X)
        if rows < 2:
            raise ValueError(f"a clustering needs at least two rows: got n_samples={rows}")
        if self.n_clusters is not None and self.n_clusters != 1:
            check_clusters(self.n_clusters, rows)
        if self.prefit:
            self.participants_ = self._prefit()
            self._check_again(X)
            place: list[Any] = self._everybody(_placed, [(each, X) for each in self.participants_], progress)
            visible = _visible(seen, len(place), rows)
            said = [
                each if isinstance(each, str) else np.where(visible[i], each, UNSEEN)
                for i, each in enumerate(place)
            ]
        else:
            tasks = self._tasks(X, np.zeros(rows), groups, None, draw, lambda own: _NOBODY)  # noqa: ARG005
            visible = _visible(seen, len(tasks), rows)
            if seen is not None:
                tasks = [
                    _limited(task, np.flatnonzero(own)) for task, own in zip(tasks, visible, strict=True)
                ]
            everywhere = X if groups is not None else None
            done = self._everybody(_clustered, [(task, rows, everywhere) for task in tasks], progress)
            self.participants_ = [participant for participant, _ in done]
            said = [labels for _, labels in done]
        self._agree(said, rows)
        return self

    def _agree(self, said: list[Any], rows: int) -> None:
        faults = {i: each for i, each in enumerate(said) if isinstance(each, str)}
        silent = [i for i, each in enumerate(said) if i not in faults and (each < 0).all()]
        warn_about(
            [f"{self.participants_[i].name} ({fault})" for i, fault in faults.items()],
            "cannot place the rows, so the others go on without",
        )
        warn_about(
            [self.participants_[i].name for i in silent],
            "put no row into a cluster; the others go on without",
        )
        there = [i for i in range(len(said)) if i not in faults and i not in silent]
        if len(there) < 2:
            first = next(iter(faults.values()), "puts no row into a cluster")
            raise ValueError(
                f"a moot needs at least two participants with clusters: the first other one {first}"
            )
        malicious = self._malicious(self.adversaries)
        self.partitions_ = np.full((len(said), rows), UNSEEN, dtype=np.int64)
        for i in there:
            self.partitions_[i] = said[i]
        self.clustering_ = cluster(
            self.partitions_[there],
            None if self.n_clusters == 1 else self.n_clusters,
            adversaries={there.index(i): adversary for i, adversary in malicious.items() if i in there},
            rounds=self.rounds,
            names=[self.participants_[i].name for i in there],
            seed=self.seed_,
        )
        self.labels_ = self.clustering_.labels
        if self.n_clusters == 1:  # which scikit-learn's own clusterers take, and its test suite asks for
            warnings.warn(
                "n_clusters=1 puts all rows into one cluster, so there is nothing to agree on; clustering_ "
                "has what the participants agree on by their own numbers",
                ClusteringWarning,
                stacklevel=3,
            )
            self.labels_ = np.minimum(self.labels_, 0)
        self.n_clusters_ = int(self.labels_.max()) + 1

    def _share_out(self, y: Array, groups: Any, draw: np.random.Generator) -> list[tuple[str, Any, Ints]]:
        """Everybody has all rows, unless groups say whose they are."""
        if groups is not None:
            return super()._share_out(y, groups, draw)
        models = self._named()
        if len(models) < 2:
            raise ValueError("a moot needs at least two participants: estimators holds one model")
        return [(name, model, np.arange(len(y))) for name, model in models]

    def _check_kinds(self, models: list[tuple[str, Any]]) -> None:
        for name, model in models:
            kind = get_tags(model).estimator_type if hasattr(model, "__sklearn_tags__") else None
            if kind in ("classifier", "regressor") and not self.prefit:
                raise ValueError(
                    f"ConsensusClusterer needs clusterers, such as KMeans: {name!r} ({type(model).__name__}) "
                    f"is a {kind}, which needs labels to be fitted"
                )


def _visible(seen: Any, n: int, rows: int) -> Array:
    """(participant, row): who has seen what."""
    if seen is None:
        return np.ones((n, rows), dtype=np.bool_)
    values = np.asarray(seen)
    if values.shape != (n, rows) or values.dtype != np.bool_:
        raise ValueError(
            f"seen must be a table of True and False with the shape (participant, row) = ({n}, {rows}): got "
            f"the shape {values.shape} of {values.dtype}"
        )
    return values


def _limited(task: Task, own: Ints) -> Task:
    """The task on these rows alone."""
    return replace(task, X=rows_of(task.X, own), y=task.y[own], places=own)


def _clustered(task: Task, rows: int, everywhere: Any) -> tuple[Participant, Ints | str]:
    """A fitted participant, and what it says of all rows: of its own, and if it can of those everywhere."""
    model, weighted = fitted_clone(task, np.arange(len(task.y)))
    done = Participant(task.name, model, task.columns, len(task.y), weighted=weighted)
    if everywhere is not None and hasattr(done.model, "predict"):
        return done, _placed(done, everywhere)
    own = _own_labels(done, task.X)
    if isinstance(own, str):
        return done, own
    labels = np.full(rows, UNSEEN, dtype=np.int64)
    labels[task.places] = own
    return done, labels


def _own_labels(participant: Participant, X: Any) -> Ints | str:
    """The clusters of the rows that it was fitted on."""
    model = participant.model
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    labels = getattr(last, "labels_", None)
    return _placed(participant, X) if labels is None else _as_clusters(np.asarray(labels), rows_in(X))


def _placed(participant: Participant, X: Any) -> Ints | str:
    """The clusters of any rows, by ``predict``; a str says what went wrong."""
    if not hasattr(participant.model, "predict"):
        return f"{type(participant.model).__name__} has no predict: it places only rows that it was fitted on"
    answers = participant.predict(X)
    return answers if isinstance(answers, str) else _as_clusters(answers, rows_in(X))


def _as_clusters(labels: Array, rows: int) -> Ints | str:
    """Labels of any kind by number; negative numbers, which mean noise, as -1."""
    if labels.shape != (rows,):
        return f"the model gave labels of the shape {labels.shape} for {rows} rows"
    if labels.dtype.kind in "iu":
        return np.maximum(labels.astype(np.int64), UNSEEN)
    try:
        return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)
    except TypeError as error:
        return first_sentence(error)

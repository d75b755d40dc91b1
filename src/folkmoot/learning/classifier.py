"""``ConsensusClassifier``: private models, one agreed label, the methods scikit-learn users know."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from folkmoot import checks
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.adversaries.interface import Adversary
from folkmoot.aggregation import Plurality, Pool
from folkmoot.aggregation.interface import Aggregation, Answers, FinalVotes, Kind, OwnAggregation, smoothed
from folkmoot.arrays import Array, Bools, Floats, Ints, Progress
from folkmoot.explanation.explanation import Explanation
from folkmoot.explanation.making import explain
from folkmoot.learning.exporting import Exported, of_labels
from folkmoot.learning.first_votes import (
    FirstVotes,
    chances_of,
    check_labels,
    has_probabilities,
    known_classes,
    labels_cast,
    places,
    probabilities_cast,
    same_kind,
)
from folkmoot.learning.improving import improve_labels
from folkmoot.learning.known_rows import label_kept, own_answers, published
from folkmoot.learning.moot import Moot
from folkmoot.learning.own_site import answers_of_sites
from folkmoot.learning.participants import (
    Participant,
    Task,
    warn_about,
)
from folkmoot.learning.snow_rounds import SnowRounds
from folkmoot.learning.tables import check_inputs, is_missing
from folkmoot.outcome import Outcome
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.votes import NO_VOTE

_PROBABILITIES: Final = "probabilities"


class ConsensusClassifier(ClassifierMixin, Moot):
    """Participants with one model each that agree on one label per input.

    ``aggregation`` turns the table of first votes into answers. ``protocol``, ``aggregation``, ``voting``,
    ``abstain_below`` and ``reject_label`` can be changed after ``fit``. An aggregation that learns from shown
    rows needs ``fit`` again.

    Parameters
    ----------
    estimators : list of models, or list of (str, model)
        One model per participant, with or without its name; with ``groups`` a list of one model serves every
        group.
    protocol : Council, Slush, Snowflake or Snowball, optional
        How votes are exchanged. By ``Council()`` all agree on one table of first votes. By the protocols of
        the Snow family each repeatedly asks some others (the paper); they are for plain votes, without an
        ``aggregation``. ``alpha=StrongConfidence()`` gives each participant the threshold that its accuracy
        asks for. Default: ``Council()``.
    aggregation : Aggregation or str, optional
        How answers are made of the table: ``"auto"``, ``DawidSkene()``, ``PeerReview(rows=10)`` or, with
        ``voting="probabilities"``, ``Pool("log")``. Its fields can be searched over, as in
        ``aggregation__rows``. Default: ``Plurality()``, of probabilities ``Pool()``.
    voting : {"labels", "probabilities"}, default "labels"
        Whether participants vote with labels or with class probabilities. A model without ``predict_proba``
        gives its label the probability of its holdout accuracy.
    prefit : bool, default False
        Whether the models are fitted already, of any family. Rows given to ``fit`` then only measure them:
        they are the holdout, everybody's or by ``groups`` each one's own.
    holdout : float or None, default 0.2
        The share of its rows that each participant holds back to learn its own accuracy. With an own
        aggregation and no holdout (None or 0) it fits all its rows and learns that by five-fold
        cross-validation.
    refit : bool, default True
        Whether each model is fitted again on all its rows, after its holdout accuracy is known.
    columns : list or mapping, optional
        The columns that each participant uses: a list with one entry per participant, or a mapping by name.
        Entries are lists of column names or numbers, or None for all. Default: all see everything.
    abstain_below : float, optional
        ``predict`` withholds an answer whose probability, by ``predict_proba``, is below this, and ``score``
        counts it as wrong. Default: every input is answered.
    reject_label : label, optional
        The answer that ``predict`` gives instead: text beside classes that are text, a number beside numbers,
        and none of the classes. It must be there if ``abstain_below`` is.
    n_jobs : int, optional
        Processes for fitting and predicting, through joblib. Default: 1.
    random_state : int, RandomState or None, default None
        Seeds the shards, the holdouts, models without a seed of their own, and protocols that draw.

    Attributes
    ----------
    classes_ : ndarray, shape (class,)
        The labels, in order.
    participants_ : list of Participant
        The participants, each with name, model and holdout accuracy.
    estimators_ : list of models
        The fitted models, one per participant.
    named_estimators_ : dict of str to model
        The same by the participants' names.
    accuracies_ : ndarray of float, shape (participant,)
        Holdout accuracies, nan where there is no holdout.
    shown_ : Rows or None
        With peer review: everybody's votes on the shown rows, with labels and owners.

    See Also
    --------
    sklearn.ensemble.VotingClassifier : Models of one owner that vote.
    sklearn.ensemble.StackingClassifier : A model of their answers, fitted where all rows are in one place.

    Notes
    -----
    Parameters in groups:

    * who takes part: ``estimators``, ``prefit``, ``columns``, ``holdout``, ``refit``;
    * how votes travel and count: ``protocol``, ``voting``, ``aggregation``;
    * answers: ``abstain_below``, ``reject_label``;
    * running: ``n_jobs``, ``random_state``.

    Examples
    --------
    >>> from folkmoot.datasets import load_digits_moot
    >>> from folkmoot import ConsensusClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> data = load_digits_moot(n_participants=20)  # each knows few digits well
    >>> moot = ConsensusClassifier([DecisionTreeClassifier()], random_state=0)
    >>> moot = moot.fit(data.X, data.y, groups=data.groups)
    >>> alone = [model.score(data.X_test, data.y_test) for model in moot.estimators_]
    >>> round(sum(alone) / 20, 1), round(moot.score(data.X_test, data.y_test), 1)
    (0.5, 0.9)
    """

    _adversary = Adversary
    _usual_adversary = PerfectlyMalicious

    classes_: Array

    def __init__(
        self,
        estimators: Any,
        *,
        protocol: Any = None,
        aggregation: Aggregation | str | None = None,
        voting: Literal["labels", "probabilities"] = "labels",
        prefit: bool = False,
        holdout: float | None = 0.2,
        refit: bool = True,
        columns: Any = None,
        abstain_below: float | None = None,
        reject_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.protocol = protocol
        self.aggregation = aggregation
        self.voting = voting
        self.prefit = prefit
        self.holdout = holdout
        self.refit = refit
        self.columns = columns
        self.abstain_below = abstain_below
        self.reject_label = reject_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ---- fitting -----------------------------------------------------------------------------

    def _finish_fit(self) -> None:
        self._check_abstaining()
        if self._soft:
            unsure = [p.name for p in self.participants_ if not (p.constant or has_probabilities(p))]
            warn_about(unsure, "the model has no predict_proba, so its label is handed in instead")
        self._rounds().warn_if_scaled()  # raises for a protocol that these participants cannot follow

    def learn_truth(self, X: Any, y: Any) -> Self:
        """Learn from inputs whose truth became known, as public validation rows of peer review.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs, which everybody votes on again.
        y : array-like, shape (input,)
            Their right labels, of ``classes_``.

        Returns
        -------
        ConsensusClassifier
            The estimator.

        Raises
        ------
        ValueError
            If the aggregation shows no rows, or a label is none of ``classes_``.
        """
        self._check_fitted()
        self._refer((X, y))
        return self

    @property
    def _answer_kind(self) -> Kind:
        return self.voting

    @property
    def _default_aggregation(self) -> Aggregation:
        return Pool() if self._soft else Plurality()

    @property
    def _soft(self) -> bool:
        return isinstance(self.voting, str) and self.voting == _PROBABILITIES

    def _check_parameters(self) -> None:
        checks.one_of("voting", self.voting, ("labels", _PROBABILITIES))
        super()._check_parameters()
        SnowRounds.check(self.protocol, self.aggregation, self.voting)

    def _check_abstaining(self) -> None:
        check_abstaining(self.abstain_below, self.reject_label, self.classes_)

    def _targets(self, X: Any, y: Any) -> tuple[Any, Array]:
        self._require(y)
        X = check_inputs(self, X, reset=True)
        column_or_1d(y, warn=True)
        labels = check_labels(y)
        check_consistent_length(X, labels)
        check_classification_targets(labels)
        return X, labels

    def _learn_answers(self, y: Array | None) -> None:
        known = known_classes(self.participants_) if self.prefit else None
        if known is None and y is None:
            raise ValueError(
                "the models do not say what classes there are (they have no classes_): "
                "fit(X, y) with some rows of every class"
            )
        if known is not None and y is not None:
            same_kind(known, np.unique(y), "the models say", "y says")
        found = [each for each in (known, y) if each is not None]
        self.classes_ = np.unique(np.concatenate(found))
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must hold at least two classes: got one class, {self.classes_.tolist()[0]!r}"
            )

    def _votes_on(self, X: Any) -> FirstVotes:
        if self._soft:
            chances = self._ask(X, chances_of, self.classes_)
            return probabilities_cast(chances, len(self.classes_), self._names, X)
        return labels_cast(self._ask(X), self.classes_, self._names, X)

    def _own_votes(self) -> Callable[[Task, Participant, Ints], Array | None]:
        return partial(own_answers, classes=self.classes_, soft=self._soft)

    def _as_votes(self, y: Any) -> Array:
        return self._truth(y, self.classes_)

    def _truth(self, y: Any, labels: Array) -> Ints:
        values = check_labels(y)
        same_kind(labels, values, "the moot says", "y says")
        truth = places(values, labels)
        if isinstance(truth, str):
            raise TypeError(f"y must hold labels: {truth}")
        unknown = np.flatnonzero(truth == NO_VOTE)
        if unknown.size:
            label = values.tolist()[unknown[0]]
            raise ValueError(f"y must hold classes of the moot: got {str(label)!r}, which nobody has learnt")
        return truth

    def _published(self, truth: Array, draw: np.random.Generator) -> Array:
        return published(truth, self._label_epsilon, len(self.classes_), draw)

    def _kept(self) -> float:
        return label_kept(self._label_epsilon, len(self.classes_))

    @property
    def _label_epsilon(self) -> float | None:
        return getattr(self._aggregation(), "label_epsilon", None)

    @property
    def _labels(self) -> Array:
        return self.classes_

    def _vote_parts(self) -> list[Any]:
        return self.classes_.tolist() if self._soft else []

    # ---- answers -----------------------------------------------------------------------------

    def predict(self, X: Any, groups: Any = None) -> Array:
        """Answer each row with the label that the moot agrees on.

        A tie goes to the first of the tied labels, as in scikit-learn's ``VotingClassifier``. An input that
        nobody answers, or that a Snow protocol leaves undecided, gets the label with the most first votes.
        With ``abstain_below`` an answer whose probability, by ``predict_proba``, is lower is withheld, and
        ``reject_label`` given instead. An own aggregation learns from the whole batch, so an answer then
        depends on the other rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        groups : array-like, shape (input,), optional
            The participant of each input, by name. Each input then has the answer of its own participant,
            helped by the others. With an own aggregation that is its final vote. Otherwise it is its own
            vote, weighed by its holdout accuracy, beside the votes of the others.

        Returns
        -------
        ndarray, shape (input,)
            A label of ``classes_`` for each, or ``reject_label``.

        Raises
        ------
        ValueError
            If no participant can answer, or ``groups`` names somebody who takes no part.

        Warns
        -----
        ParticipantWarning
            If a participant's model fails; the others go on without it.
        """
        self._check_fitted()
        self._check_parameters()
        self._check_abstaining()
        votes = self._first_votes(X)
        if groups is not None:
            likely = self._likely_of_sites(votes, groups)
            return self._given(likely.argmax(axis=1), likely)
        answers = self._answers(votes)
        chosen = first_choice(answers)
        return self._given(chosen, None if self.abstain_below is None else self._likely(votes, answers))

    def _given(self, chosen: Ints, likely: Floats | None) -> Array:
        labels = np.asarray(self.classes_[chosen])
        if self.abstain_below is None or likely is None:
            return labels
        sure = np.take_along_axis(likely, chosen[:, None], axis=1)[:, 0]
        return withheld(labels, np.asarray(sure >= self.abstain_below), self.reject_label)

    def predict_proba(self, X: Any, groups: Any = None) -> Floats:
        """Estimate class probabilities.

        By plurality it is (count + 1/C) / (n + 1) for a class. ``count`` of the n participants who answered
        the row voted for it, and C is the number of classes. Other aggregations estimate their own; an own
        one gives the mean over participants.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        groups : array-like, shape (input,), optional
            The participant of each input, as in ``predict``.

        Returns
        -------
        ndarray of float, shape (input, class)
            The probabilities, in the order of ``classes_``.

        Raises
        ------
        ValueError
            If no participant can answer.
        """
        self._check_fitted()
        self._check_parameters()
        votes = self._first_votes(X)
        if groups is not None:
            return self._likely_of_sites(votes, groups)
        return self._likely(votes, self._answers(votes))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Measure the accuracy of ``predict``.

        An input whose answer is withheld (``abstain_below``) counts as wrong.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        y : array-like, shape (input,)
            Their right labels.
        sample_weight : array-like of float, shape (input,), optional
            Weights of the inputs. Default: equal.

        Returns
        -------
        float
            The share of inputs that are answered right.
        """
        answers = self.predict(X)
        right = check_labels(y)
        same_kind(self.classes_, right, "the moot says", "y says")
        return float(accuracy_score(right, answers, sample_weight=sample_weight))

    def _deliberated(
        self,
        votes: FirstVotes,
        truth: Array | None,
        malicious: dict[int, Any],
        repeats: int = 1,
        record: bool = True,
    ) -> Outcome:
        if not isinstance(self.protocol, SnowProtocol):
            return super()._deliberated(votes, truth, malicious, repeats, record)
        outcome = self._rounds().outcome(
            votes, len(self.classes_), adversaries=malicious, truth=truth, repeats=repeats, record=record
        )
        return replace(outcome, labels=self.classes_, names=tuple(self._names))

    def why(self, X: Any, i: int = 0) -> Explanation:
        """Explain the answer to one row: first votes, their weights, and how close it was.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs. With an own aggregation or ``StrongConfidence()`` the answer depends on all of them.
        i : int, default 0
            The row of X that is explained.

        Returns
        -------
        Explanation
            ``print`` it, show it in a notebook, or ``plot`` it.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        ValueError
            If there is no row i.

        Examples
        --------
        >>> from folkmoot import ConsensusClassifier
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> moot = ConsensusClassifier([LogisticRegression(max_iter=5000)], random_state=0)
        >>> why = moot.fit(X, y, groups=[i % 7 for i in range(len(y))]).why(X[:20], 3)
        >>> bool(why.answer == moot.predict(X[:20])[3])
        True
        """
        found = explain(self.deliberate(X), i)
        if found.answer is not None and self.abstain_below is None:
            return found
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as deliberate has warned
            label = np.asarray(self.predict(X), dtype=object)[i]
        if self.abstain_below is not None and label not in self.classes_.tolist():
            note = (
                f"predict withholds its answer and gives {label}: predict_proba is below "
                f"abstain_below={self.abstain_below:g}."
            )
        elif found.answer is None:
            note = f"predict still names {label}, the first of the labels with the most votes."
        else:
            return found
        return replace(found, missing=(*found.missing, note))

    def _rounds(self) -> SnowRounds:
        return SnowRounds(self.protocol, self.participants_, self.seed_)

    def _answers(self, votes: FirstVotes) -> Answers:
        """The answers; final votes are counted if the aggregation is own."""
        if isinstance(self.protocol, SnowProtocol):
            return self._rounds().answers(votes, len(self.classes_))
        rule, known = self._aggregation(), self._known(votes, classes=len(self.classes_))
        if not isinstance(rule, OwnAggregation):
            return rule.aggregate(votes.table, known)
        final = rule.final_votes(votes.table, known)
        return self._counted(final)

    def _counted(self, final: FinalVotes) -> Answers:
        """The plurality of final votes, with mean probabilities as shares."""
        counted = Plurality().aggregate(final.votes)
        if final.probabilities is None:
            return counted
        judges = ~np.isnan(final.probabilities).any(axis=(1, 2))
        likely = final.probabilities[judges].mean(axis=0)
        choices = np.tile(np.arange(likely.shape[1]), (len(likely), 1))
        tied = counted.tied_classes(likely.shape[1])
        return Answers(counted.decision, choices, likely, tied)

    def _likely(self, votes: FirstVotes, answers: Answers) -> Floats:
        likely = answers.probabilities(len(self.classes_))
        if isinstance(self._aggregation(), Plurality):
            return smoothed(likely, votes.cast.sum(axis=0))
        return np.where(likely.any(axis=1, keepdims=True), likely, 1 / len(self.classes_))

    def _likely_of_sites(self, votes: FirstVotes, groups: Any) -> Floats:
        rule, known = self._aggregation(), self._known(votes, classes=len(self.classes_))
        return answers_of_sites(votes, self.participants_, groups, rule, known, self.classes_)

    # ---- improving ---------------------------------------------------------------------------

    def improve(
        self,
        X_unlabelled: Any,
        rows: int | Literal["all"] = 10,
        safe: bool = False,
        *,
        adversaries: Any = None,
        y: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Agree on labels for unlabelled inputs, and refit every model on its own rows and these.

        Each participant shows some of its labelled inputs, without their labels, mixed into the pool. All
        hand in probabilities for all of these, and each weighs its peers by its own rows (docs/improve.md).
        Then each fits a fresh clone of its model to its own rows and the agreed ones. ``participants_`` have
        the new models, ``improvement_`` the old ones and what changed. A participant keeps its old model if
        it cannot tell who is right, as with rows of one class only.

        If anything fails, the estimator stays as it was.

        Parameters
        ----------
        X_unlabelled : array-like, sparse matrix or data frame, shape (input, feature)
            The pool: inputs of the kind that was fitted on, without labels. Several hundred are a good start.
        rows : int or "all", default 10
            How many of its labelled inputs each shows, at most half of its rows; "all" shows every one, 0
            none, and then everybody counts alike. Labels are not shown.
        safe : bool, default False
            Whether a participant keeps its old model unless its own rows bear out the new one.
        adversaries : int or mapping of str or int to Adversary, optional
            An experiment: how many lie (drawn by ``random_state``, always wrong), or which and how.
        y : array-like, shape (input,), optional
            The right labels of the pool, for adversaries that must know them; nobody else is told.
        progress : callable, optional
            Called with (done, all) whenever a participant has fitted its new model.

        Returns
        -------
        ConsensusClassifier
            Itself, with new models.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        ValueError
            If there are no rows of the participants (prefit models, or a moot read from a file). Or the pool
            is empty or has other columns.

        Examples
        --------
        >>> from folkmoot.datasets import load_digits_moot
        >>> from folkmoot import ConsensusClassifier
        >>> from sklearn.naive_bayes import GaussianNB
        >>> data = load_digits_moot(n_participants=20)
        >>> moot = ConsensusClassifier([GaussianNB()], random_state=0)
        >>> moot = moot.fit(data.X, data.y, groups=data.groups)
        >>> X, y = data.X_test[300:], data.y_test[300:]
        >>> before = [each.score(X, y) for each in moot.estimators_]
        >>> moot = moot.improve(data.X_test[:300])
        >>> after = [each.score(X, y) for each in moot.estimators_]
        >>> round(sum(before) / 20, 2), round(sum(after) / 20, 2)
        (0.47, 0.77)
        """
        pool = self._pool(X_unlabelled, safe, progress)
        truth = None
        if y is not None:
            truth = self._as_votes(y)
            check_consistent_length(pool.X, truth)
        done = improve_labels(
            pool,
            self.classes_,
            rows=rows,
            seed=self.seed_,
            adversaries=self._malicious(adversaries),
            truth=truth,
        )
        return self._adopt(done)

    def _exported(self) -> list[Exported]:
        width = getattr(self, "n_features_in_", None)
        return [of_labels(each, self.classes_, width) for each in self.participants_]


def first_choice(answers: Answers) -> Ints:
    """The decision; where there is none, the first of the choices with the largest share."""
    if answers.choices is None or answers.shares is None:
        raise ValueError("numbers have no first choice")
    shares = np.where(answers.choices == NO_VOTE, -1.0, answers.shares)
    if answers.tied is not None:  # shares that differ in rounding alone are tied
        shares = np.where(answers.tied, 2.0, shares)
    first = np.take_along_axis(answers.choices, shares.argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.where(answers.decision == NO_VOTE, np.maximum(first, 0), answers.decision)


def check_abstaining(abstain_below: object, reject_label: Any, classes: Array) -> None:
    """ValueError or TypeError, in one line, unless what is said instead can be told from every class.

    It must be of their kind (text beside text, a number beside numbers), since metrics compare the two, and
    none of them. A label without a threshold is fine: thresholds can then be searched over.
    """
    if abstain_below is None:
        return
    if isinstance(abstain_below, bool):
        raise TypeError(f"abstain_below must be a number within [0, 1], or None: got {abstain_below}")
    checks.probability("abstain_below", abstain_below)
    words = classes.dtype.kind not in "biuf"
    such_as = "'unsure'" if words else "-1"
    if reject_label is None:
        raise ValueError(
            f"abstain_below={abstain_below!r} needs a label for the inputs that are not answered: "
            f"reject_label={such_as}, or any other that is none of the classes"
        )
    fits = isinstance(reject_label, str) if words else _is_number(reject_label)
    if not fits or is_missing(reject_label):
        kind = "text, as the classes are" if words else "a number, as the classes are"
        raise ValueError(f"reject_label must be {kind}, such as {such_as}: got {reject_label!r}")
    if reject_label in classes.tolist():
        raise ValueError(
            f"reject_label must be none of the classes, or nobody could tell it from an answer: "
            f"got {reject_label!r}"
        )


def withheld(answers: Array, given: Bools, reject_label: Any) -> Array:
    """The answers, with ``reject_label`` where they are not given; wide enough to hold it."""
    kind = np.result_type(answers, np.asarray(reject_label))
    return np.where(given, answers.astype(kind), np.asarray(reject_label, dtype=kind))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)

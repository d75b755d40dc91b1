"""``ConsensusClassifier``: private models, one agreed answer, the methods scikit-learn users know."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, TransformerMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from folkmoot import checks
from folkmoot.adversaries import Adversary, Knows, PerfectlyMalicious
from folkmoot.arrays import Array, Floats, Progress
from folkmoot.learning.anchors import SELF_ANCHORED, anchors_of, check_trust, cross_validated
from folkmoot.learning.ballot import Ballot, ballot_of
from folkmoot.learning.closed_form import absorption, has_closed_form
from folkmoot.learning.composition import has_names
from folkmoot.learning.consensus_estimator import ConsensusEstimator, check_weights, rows_by_group
from folkmoot.learning.labels import (
    as_truth,
    check_class_count,
    check_labels,
    known_classes,
    same_kind,
    with_strangers,
)
from folkmoot.learning.participants import (
    check_holdout,
    fit_classifier,
    held_out_rows,
    measured,
    tell,
)
from folkmoot.learning.tables import check_inputs, rows_of
from folkmoot.outcome import Outcome
from folkmoot.protocols import Slush, SnowProtocol, check_protocol
from folkmoot.sampling import Sampling, check_sampling
from folkmoot.thresholds import StrongConfidence
from folkmoot.trust import Trust
from folkmoot.votes import Votes, vote_keys

if TYPE_CHECKING:
    from folkmoot.comparison import Report

_REPEATS = 100  # deliberations behind predict_proba where theory has no closed form
_SLUSH = Slush(checks.DEFAULT_K, checks.least_alpha(checks.DEFAULT_K))


class ProtocolWarning(UserWarning):
    """The protocol asks for more peers than there are, so k and alpha were scaled down."""


class ConsensusClassifier(TransformerMixin, ClassifierMixin, ConsensusEstimator):
    """Participants that each fit their own model on their own rows, then talk until they agree.

    Parameters
    ----------
    estimators : list of models, or of (name, model) pairs
        One per participant; with ``groups`` a list of one model serves every group.
    protocol : Slush, Snowflake or Snowball
        How they talk. ``protocol__alpha`` and the like can be searched over. ``alpha=StrongConfidence()``
        gives each participant the threshold that its holdout accuracy asks for.
    trust : None or "self-anchored"
        Everybody is asked alike; or each participant learns whom to believe from its own holdout and all
        first votes on the batch, decides by that, and asks in proportion to it (docs/trust.md). Who cannot
        anchor has no say. An answer then depends on the batch it is asked in, which needs 50 inputs.
    sampling : None (``Others()``), ``Everyone()``, ``Neighbours(graph)`` or ``Trusting(trust)``
        Whom each may ask, participants numbered as in ``estimators``; not together with ``trust``.
    holdout : share of its rows that each participant keeps back to learn its own accuracy. With trust and no
        holdout (None or 0) it fits all its rows and learns that by five-fold cross-validation.
    prefit : the models are fitted already, of any family; rows given to ``fit`` then only measure them: they
        are the holdout, everybody's or by ``groups`` each one's own.
    columns : what each participant sees of an input: None (everything), a list with one entry per
        participant, or a mapping by name; entries are lists of column names or numbers.
    adversaries : Byzantine participants: how many (drawn by ``random_state``, perfectly malicious), or a
        mapping from name or number to ``Adversary``. Those that must know the truth cannot take part in
        ``predict``: use ``score(X, y)``, ``report(X, y)`` or ``deliberate(X, y)``.
    rounds : rounds per participant at the most.
    n_jobs : processes for fitting and predicting, through joblib (and so Ray, with its backend).
    random_state : seeds the shards, the holdouts, models without a seed of their own, and the talk.

    Attributes
    ----------
    classes_ : the labels; a colour is a place in this array.
    participants_ : list of ``Participant``, with name, model and holdout accuracy.
    accuracies_ : holdout accuracies, nan where there is no holdout.
    protocol_ : the protocol as it is played, with local thresholds, or scaled to few participants.

    ``protocol``, ``trust``, ``sampling``, ``adversaries`` and ``rounds`` concern only the talk: they can be
    set anew after ``fit``.
    """

    protocol: SnowProtocol[Any]

    # Sample weights are taken in fit's keywords: shards make an integer weight differ from repeated rows,
    # which a ``sample_weight`` in the signature would promise. Metadata routing should know it all the same.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_weight": None}

    def __init__(
        self,
        estimators: Any,
        *,
        protocol: SnowProtocol[Any] = _SLUSH,
        trust: str | None = None,
        sampling: Sampling | None = None,
        holdout: float | None = 0.2,
        prefit: bool = False,
        columns: Any = None,
        adversaries: Any = None,
        rounds: int = 50,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.protocol = protocol
        self.trust = trust
        self.sampling = sampling
        self.holdout = holdout
        self.prefit = prefit
        self.columns = columns
        self.adversaries = adversaries
        self.rounds = rounds
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ---- fitting -----------------------------------------------------------------------------

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        groups: Any = None,
        *,
        progress: Progress | None = None,
        **fit_params: Any,
    ) -> Self:
        """Let every participant fit a clone of its model on its own rows.

        ``groups`` says whose each row is; without it the rows are dealt into disjoint stratified shards.
        ``sample_weight`` reaches the models that take it. With ``prefit``, X and y are optional: they only
        tell each participant how good it is (all rows do, or those of its group).
        """
        weights = self._weights(fit_params)
        self._check_parameters()
        draw = self._start()
        if self.prefit:
            self._fit_prefit(X, y, groups)
        else:
            X, y = self._check_rows(X, y)
            self.classes_ = np.unique(y)
            check_class_count(self.classes_)
            share = check_holdout(self.holdout)
            hold_out = partial(held_out_rows, share=share, rng=draw)
            tasks = self._tasks(X, y, groups, check_weights(weights, len(y)), draw, hold_out)
            if self.trust is not None and not share:
                tasks = cross_validated(tasks, draw)
            self.participants_ = self._fit_all(fit_classifier, tasks, progress)
        check_class_count(self.classes_)
        self._tell_if_scaled(self.protocol_)
        self._liars(self.adversaries, Adversary, PerfectlyMalicious)  # complains about strangers
        if self.protocol.alpha == StrongConfidence():
            unknown = [p.name for p in self.participants_ if np.isnan(p.accuracy)]
            tell(unknown, "accuracy not known, so this participant has the least threshold")
        return self

    def _check_parameters(self) -> None:
        check_protocol(self.protocol)
        check_trust(self.trust)
        check_sampling(self.sampling)
        if self.trust is not None and self.sampling is not None:
            raise ValueError(
                f"trust={SELF_ANCHORED!r} says who is asked: sampling must be None, or trust=None"
            )
        checks.integer("rounds", self.rounds, least=0)

    def _check_rows(self, X: Any, y: Any) -> tuple[Any, Array]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "fit(X, y), or prefit=True for models that are fitted already"
            )
        X = check_inputs(self, X, reset=True)
        column_or_1d(y, warn=True)
        labels = check_labels(y)
        check_consistent_length(X, labels)
        check_classification_targets(labels)
        return X, labels

    def _fit_prefit(self, X: Any, y: Any, groups: Any) -> None:
        self.participants_ = self._prefit()
        known = known_classes(self.participants_)
        if X is None:
            if self.trust is not None:
                raise ValueError(
                    f"trust={SELF_ANCHORED!r} needs rows that the models were not fitted on: "
                    "fit(X, y), or fit(X, y, groups) with some for each"
                )
            if known is None:
                raise ValueError(
                    "the models do not say what classes there are (they have no classes_): "
                    "fit(X, y) with some rows of every class"
                )
            self.classes_ = known
            return
        X, y = self._check_rows(X, y)
        if known is None:
            self.classes_ = np.unique(y)
        else:
            same_kind(known, np.unique(y), "the models say", "y says")
            self.classes_ = np.union1d(known, y)
        X = self._check_again(X)
        names = [participant.name for participant in self.participants_]
        rows = (
            [np.arange(len(y))] * len(names)
            if groups is None
            else rows_by_group(groups, names, len(y), has_names(self.estimators))
        )
        self.participants_ = [
            measured(participant, rows_of(X, own), y[own])
            for participant, own in zip(self.participants_, rows, strict=True)
        ]
        tell([p.name for p in self.participants_ if p.fault], "cannot predict the rows given to fit")

    @property
    def accuracies_(self) -> Floats:
        """Each participant's holdout accuracy; nan where it has none."""
        check_is_fitted(self, "participants_")
        return np.array([participant.accuracy for participant in self.participants_])

    @property
    def protocol_(self) -> SnowProtocol[Any]:
        """The protocol as it is played: with thresholds from the holdout if so wanted, scaled to few."""
        check_is_fitted(self, "participants_")
        self._check_parameters()
        n = len(self.participants_)
        protocol: SnowProtocol[Any] = self.protocol.scaled(n)
        if protocol.alpha == StrongConfidence():
            protocol = replace(protocol, alpha=StrongConfidence(np.nan_to_num(self.accuracies_, nan=0.5)))
        protocol.thresholds(n)  # complains about a list of another length
        if self.sampling is not None:
            self.sampling.check(n, protocol.k)
        return protocol

    def _tell_if_scaled(self, protocol: SnowProtocol[Any]) -> None:
        if protocol.k != self.protocol.k:
            alpha = f", alpha={protocol.alpha}" if isinstance(protocol.alpha, int) else ""
            warnings.warn(
                f"{len(self.participants_)} participants are too few to ask k={self.protocol.k} others: "
                f"playing with k={protocol.k}{alpha}",
                ProtocolWarning,
                stacklevel=3,
            )

    # ---- voting and talking ------------------------------------------------------------------

    def votes(self, X: Any) -> Votes:
        """(participant, input): each one's colour, the place of its label in ``classes_``; -1 for none.

        A participant whose ``predict`` fails has no votes, and a warning says so.
        """
        return self._ballot(X).votes

    def _ballot(self, X: Any, labels: Array | None = None) -> Ballot:
        """Everybody's votes as places in ``labels`` (or ``classes_``), and what went wrong with whom."""
        X = self._check_again(X)
        known = self.classes_ if labels is None else labels
        return ballot_of(self._ask(X), known, [participant.name for participant in self.participants_])

    def transform(self, X: Any) -> Array:
        """(input, participant): the votes as columns, named after the participants in ``set_output``."""
        return self.votes(X).T

    def get_feature_names_out(self, input_features: Any = None) -> Array:  # noqa: ARG002
        """The participants' names."""
        check_is_fitted(self, "participants_")
        return np.array([participant.name for participant in self.participants_], dtype=object)

    def deliberate(self, X: Any, y: Any = None, *, repeats: int = 1, record: bool = False) -> Outcome:
        """Let the participants talk about every row of X; colours are places in ``classes_``.

        The outcome of a row depends on the votes on it and on ``random_state`` alone, whatever else is
        in X; with ``trust`` also on the other rows, from which trust is learnt, and only those who anchor
        count as honest in it. ``y`` is for adversaries that must know the truth.
        """
        ballot = self._ballot(X)
        truth = None if y is None else as_truth(y, self.classes_)
        return self._talk(ballot, self._byzantine(ballot), truth, repeats=repeats, record=record)

    def trusts(self, X: Any, y: Any = None) -> list[Trust]:
        """What each participant thinks of all by its own holdout and the votes on X; adversaries nothing.

        With ``trust="self-anchored"`` this is what it decides by; an empty list, with a warning, where trust
        cannot be learnt. ``y`` is as in ``deliberate``.
        """
        ballot = self._ballot(X)
        truth = None if y is None else as_truth(y, self.classes_)
        listeners = self._listened(ballot, self._byzantine(ballot), truth).listeners
        return [] if listeners is None else list(listeners.trusts)

    def _byzantine(self, ballot: Ballot, adversaries: Any = None) -> dict[int, Adversary]:
        """The adversaries among those who can answer."""
        given = self.adversaries if adversaries is None else adversaries
        liars = self._liars(given, Adversary, PerfectlyMalicious)
        return {i: liar for i, liar in liars.items() if i not in ballot.faults}

    def _talk(
        self, ballot: Ballot, liars: dict[int, Adversary], truth: Votes | None, **options: Any
    ) -> Outcome:
        if self.trust is not None:
            ballot = self._listened(ballot, liars, truth)
        return self._play(ballot, liars, truth, **options)

    def _listened(self, ballot: Ballot, liars: dict[int, Adversary], truth: Votes | None) -> Ballot:
        self._check_seers(liars, truth)
        return ballot.listened(anchors_of(self.participants_, ballot.labels), liars, truth)

    def _play(
        self, ballot: Ballot, liars: dict[int, Adversary], truth: Votes | None, **options: Any
    ) -> Outcome:
        self._check_seers(liars, truth)
        options |= {"sampling": self.sampling, "rounds": self.rounds, "seed": self.seed_}
        return ballot.talk(self.protocol_, liars, truth, **options)

    def _check_seers(self, liars: dict[int, Adversary], truth: Votes | None) -> None:
        seer = next((i for i, liar in liars.items() if Knows.TRUTH in liar.knows), None)
        if truth is None and seer is not None:
            raise ValueError(
                f"participant {self.participants_[seer].name!r} is {type(liars[seer]).__name__}, which must "
                "know the truth: use score(X, y), report(X, y) or deliberate(X, y)"
            )

    # ---- answers -----------------------------------------------------------------------------

    def predict(self, X: Any) -> Array:
        """The label that the moot agrees on for each row: one deliberation, drawn by ``random_state``.

        Where no label has more than half of the honest participants, it is the one that most of them
        hold, or the first of several that are level, as in ``VotingClassifier``; ``deliberate`` tells which
        inputs those are. With ``trust`` it is what most of those who anchor hold, and depends on the other
        rows of X: trust is learnt from the whole batch. With fewer than 50 rows, or if nobody anchors, a
        ``TrustWarning`` says that the talk goes on without.
        """
        ballot = self._ballot(X)
        return self._labels(ballot, self._talk(ballot, self._byzantine(ballot), None))

    def _labels(self, ballot: Ballot, outcome: Outcome) -> Array:
        return np.asarray(ballot.labels[ballot.answers(outcome)])

    def predict_proba(self, X: Any) -> Floats:
        """(input, class): how likely each answer of the moot is, over its randomness.

        Two classes, Slush with one alpha for all, everybody honest: the exact absorption probability of
        the vote count, which ``predict`` is drawn from if the rounds suffice. Otherwise the shares of 100
        deliberations, where labels that are level share. With ``trust`` these are talks of those who anchor,
        with the trust that this batch gives them: how firm the talk is, not how sure the decisions before it.
        """
        ballot = self._ballot(X)
        liars = self._byzantine(ballot)
        if self.trust is not None:
            ballot = self._listened(ballot, liars, None)
        protocol = self.protocol_
        if not liars and has_closed_form(protocol, self.sampling, ballot):
            return absorption(protocol, ballot.votes)
        # Inputs with the same votes have the same law, and here the same draws.
        columns, which = np.unique(ballot.votes, axis=1, return_inverse=True)
        few = replace(ballot, votes=columns)
        return few.shares(self._play(few, liars, None, repeats=_REPEATS))[which]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of what ``predict`` would answer; here the adversaries may know the truth."""
        labels = with_strangers(self.classes_, check_labels(y))
        ballot = self._ballot(X, labels)
        outcome = self._talk(ballot, self._byzantine(ballot), as_truth(y, labels))
        return float(accuracy_score(y, self._labels(ballot, outcome), sample_weight=sample_weight))

    def report(self, X: Any, y: Any, *, repeats: int = 10, stacking: bool = True) -> Report:
        """Consensus beside every honest comparison: single participants and centralised rules.

        ``repeats`` deliberations give the standard error of the consensus. Stacking learns from labels at
        a server, five-fold on these very rows; it is left out with ``stacking=False``. With ``trust`` the
        talk without it is one of the comparisons, and the report says how many anchored.
        """
        return next(iter(self._reports(X, y, [self.adversaries], repeats, stacking)))

    def sweep(
        self,
        X: Any,
        y: Any,
        byzantine: Sequence[int],
        *,
        repeats: int = 10,
        stacking: bool = True,
        progress: Progress | None = None,
    ) -> list[Report]:
        """A report for each number of perfectly malicious participants; who turns first stays turned."""
        reports = []
        for report in self._reports(X, y, byzantine, repeats, stacking):
            reports.append(report)
            if progress:
                progress(len(reports), len(byzantine))
        return reports

    def _reports(
        self, X: Any, y: Any, adversaries: Sequence[Any], repeats: int, stacking: bool
    ) -> Iterator[Report]:
        from folkmoot.comparison import compare

        check_is_fitted(self, "participants_")
        labels = with_strangers(self.classes_, check_labels(y))
        ballot = self._ballot(X, labels)
        truth = as_truth(y, labels)
        check_consistent_length(truth, ballot.votes.T)
        skills = np.array([participant.cautious_accuracy for participant in self.participants_])
        if not any(participant.held_out for participant in self.participants_):
            skills[:] = np.nan  # nobody knows how good it is
        for each in adversaries:
            report = compare(
                ballot.votes,
                self.protocol_,
                truth=truth,
                adversaries=self._byzantine(ballot, each),
                anchors=None if self.trust is None else anchors_of(self.participants_, labels),
                skills=skills,
                faults=ballot.faults,
                names=[participant.name for participant in self.participants_],
                classes=ballot.classes,
                rounds=self.rounds,
                repeats=repeats,
                sampling=self.sampling,
                seed=self.seed_,
                keys=vote_keys,
                stacking=stacking,
            )
            yield replace(report, advice="predict gives the most common label instead")

    # ---- scikit-learn's tags -----------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        self._inherit_tags(tags)
        return tags

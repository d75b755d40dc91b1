"""``ConsensusClassifier``: private models, one agreed answer, the methods scikit-learn users know."""

from __future__ import annotations

import warnings
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from folkmoot import watching
from folkmoot.adversaries import Adversary, NumberAdversary, PerfectlyMalicious
from folkmoot.arrays import Array, Progress
from folkmoot.learning.composition import has_names
from folkmoot.learning.consensus_estimator import (
    ProtocolWarning,
    check_weights,
    rows_by_group,
)
from folkmoot.learning.labels import (
    as_truth,
    check_class_count,
    check_labels,
    known_classes,
    same_kind,
)
from folkmoot.learning.participants import (
    Task,
    check_holdout,
    cross_validated,
    fit_classifier,
    held_out_rows,
    measured,
    tell,
)
from folkmoot.learning.probabilities import has_probabilities
from folkmoot.learning.tables import check_inputs, rows_of
from folkmoot.old.deliberation import SELF_ANCHORED
from folkmoot.old.exporting import ExportingClassifier
from folkmoot.old.improving import ImprovingClassifier
from folkmoot.protocols import SnowProtocol
from folkmoot.sampling import Sampling
from folkmoot.thresholds import StrongConfidence
from folkmoot.trust import PUBLIC

if TYPE_CHECKING:
    from folkmoot.player import Player


class ConsensusClassifier(ExportingClassifier, ImprovingClassifier):
    """Participants that each fit their own model on their own rows, then talk until they agree.

    ``protocol``, ``trust``, ``sampling``, ``adversaries``, ``rounds``, ``voting``, ``pool``, ``trim``,
    ``abstain_below`` and ``reject_label`` concern only the talk and its answers: they can be set anew after
    ``fit``.

    Parameters
    ----------
    estimators : list of models, or list of (str, model)
        One model per participant, with or without its name; with ``groups`` a list of one model serves every
        group.
    protocol : Slush, Snowflake or Snowball, optional
        How they talk. ``protocol__alpha`` and the like can be searched over. ``alpha=StrongConfidence()``
        gives each participant the threshold that its accuracy asks for: what its holdout shows, as far as its
        agreement with the others on the batch bears it out (docs/learning.md). Default: Slush that asks 10
        others (all, if there are fewer) and needs the least majority, so Slush(k=10, alpha=6) from 11
        participants on; ``protocol__alpha`` then changes that.
    trust : {"self-anchored", "peer-review"} or None, default None
        With None everybody is asked alike. With "self-anchored" each participant learns whom to believe from
        its own holdout and all first votes on the batch, decides by that, and asks in proportion to it
        (docs/trust.md). A participant anchors if its holdout shows it better than chance; one that does not
        has no say. An answer then depends on the batch it is asked in, which needs 50 inputs.
        With "peer-review" everybody shows some of its labelled rows (``check_rows``), and each learns from
        all votes on them, and on a ``reference`` set, whom to believe on what: the most accurate way, and the
        only one that shows rows (docs/peer-review.md).
    sampling : Others, Everyone, Neighbours or Trusting, optional
        Whom each may ask, participants numbered as in ``estimators``. Default: ``Others()``. Not together
        with ``trust``.
    holdout : float or None, default 0.2
        The share of its rows that each participant keeps back to learn its own accuracy. With trust and no
        holdout (None or 0) it fits all its rows and learns that by five-fold cross-validation.
    refit : bool, default True
        Whether each model is fitted again on all its rows, once those held out have told how good it is. The
        accuracy, and with it trust and thresholds, stays that of the model that had not seen them. With False
        the rows held out are never learnt from.
    prefit : bool, default False
        Whether the models are fitted already, of any family. Rows given to ``fit`` then only measure them:
        they are the holdout, everybody's or by ``groups`` each one's own.
    columns : list or mapping, optional
        What each participant sees of an input: a list with one entry per participant, or a mapping by name.
        Entries are lists of column names or numbers, or None for all. Default: all see everything.
    adversaries : int or mapping of str or int to Adversary, optional
        Byzantine participants: how many (drawn by ``random_state``, perfectly malicious), or which, by name
        or number. Those that must know the truth cannot take part in ``predict``: use ``score(X, y)``,
        ``report(X, y)`` or ``deliberate(X, y)``.
    rounds : int, default 50
        The most rounds to talk; in a round each honest participant asks once, on average.
    voting : {"labels", "probabilities"}, default "labels"
        What participants hand in and talk about: their label; or how likely they find each class, rounded to
        8 bits, on which they agree as on any numbers, all asking all others (docs/learning.md); that is
        without ``protocol`` and ``sampling``. With "peer-review" the probabilities are what each weighs, and
        the talk is about labels. A model without ``predict_proba`` hands in its
        label, as likely as its holdout was often right.
    pool : {"mean", "log"}, default "mean"
        With ``voting="probabilities"``: whether they agree on the probabilities or on their logarithms, each
        class by itself.
    trim : int, optional
        With ``voting="probabilities"``: how many liars to withstand. So many of the lowest and of the highest
        numbers do not count; 0 is a plain mean, which one liar can move. Default: the most that is always
        safe, fewer than a third of those who answer.
    check_rows : int or "all", default 10
        With ``trust="peer-review"``: how many of its rows each participant shows, inputs and labels, but no
        more than half of them; "all" shows every one. 0 shows none, and needs a ``reference``.
    privacy : float, optional
        With ``trust="peer-review"``: the epsilon of randomised response by which labels of shown rows are
        published. It protects labels only: inputs are shown as they are. Default: labels as they are.
    liars_publish : {"wrong", "right", "backing"}, default "wrong"
        Which labels adversaries publish for the rows they show: wrong ones, right ones, or those that back
        their own votes.
    expert : model, optional
        With ``trust="peer-review"``: a model to be fitted to the rows that are shown, by each participant to
        those of the publishers that it accepts, and heard as one more voter. It costs six fits for every set
        of accepted publishers. Default: there is none.
    abstain_below : float, optional
        ``predict`` withholds an answer whose probability, by ``predict_proba``, is below this, and ``score``
        counts it as wrong; the report says how many inputs are answered and how well (docs/learning.md).
        Default: every input is answered.
    reject_label : label, optional
        What ``predict`` gives instead: text beside classes that are text, a number beside numbers, and none
        of the classes. It must be there if ``abstain_below`` is.
    n_jobs : int, optional
        Processes for fitting and predicting, through joblib (and so Ray, with its backend). Default: 1.
    random_state : int, RandomState or None, default None
        Seeds the shards, the holdouts, models without a seed of their own, and the talk.

    Attributes
    ----------
    classes_ : ndarray, shape (class,)
        The labels; a colour is a place in this array.
    participants_ : list of Participant
        Who takes part, with name, model and holdout accuracy.
    estimators_ : list of models
        The fitted models, one per participant.
    named_estimators_ : dict of str to model
        The same by the participants' names.
    accuracies_ : ndarray of float, shape (participant,)
        Holdout accuracies, nan where there is no holdout.
    checked_ : CheckedAnswers
        With ``trust="peer-review"``: everybody's votes on shown rows, their labels, and whose they are.
    protocol_ : Slush, Snowflake or Snowball
        The protocol as it is played: with the highest local thresholds that the holdouts allow, or scaled to
        few participants. ``protocol_for(X)`` has the thresholds for a batch.

    Examples
    --------
    >>> from folkmoot import ConsensusClassifier
    >>> from folkmoot.datasets import load_digits_moot
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> data = load_digits_moot(n_participants=20)  # each knows few digits well
    >>> moot = ConsensusClassifier([DecisionTreeClassifier()], random_state=0)
    >>> moot = moot.fit(data.X, data.y, groups=data.groups)
    >>> report = moot.report(data.X_test, data.y_test, stacking=False)
    >>> round(report.accuracy("mean participant"), 2), round(moot.score(data.X_test, data.y_test), 2)
    (0.49, 0.88)
    >>> moot.predict(data.X_test[:5])
    array([0, 0, 4, 9, 4])
    """

    # Sample weights are taken in fit's keywords: shards make an integer weight differ from repeated rows,
    # which a ``sample_weight`` in the signature would promise. Metadata routing should know it all the same.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_weight": None}

    def __init__(
        self,
        estimators: Any,
        *,
        protocol: SnowProtocol[Any] | None = None,
        trust: Literal["self-anchored", "peer-review"] | None = None,
        sampling: Sampling | None = None,
        holdout: float | None = 0.2,
        refit: bool = True,
        prefit: bool = False,
        columns: Any = None,
        adversaries: Any = None,
        rounds: int = 50,
        voting: Literal["labels", "probabilities"] = "labels",
        pool: Literal["mean", "log"] = "mean",
        trim: int | None = None,
        check_rows: int | Literal["all"] = 10,
        privacy: float | None = None,
        liars_publish: Literal["wrong", "right", "backing"] = "wrong",
        expert: Any = None,
        abstain_below: float | None = None,
        reject_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.protocol = protocol
        self.trust = trust
        self.sampling = sampling
        self.holdout = holdout
        self.refit = refit
        self.prefit = prefit
        self.columns = columns
        self.adversaries = adversaries
        self.rounds = rounds
        self.voting = voting
        self.pool = pool
        self.trim = trim
        self.check_rows = check_rows
        self.privacy = privacy
        self.liars_publish = liars_publish
        self.expert = expert
        self.abstain_below = abstain_below
        self.reject_label = reject_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ---- fitting -----------------------------------------------------------------------------

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        groups: Any = None,
        *,
        reference: Any = None,
        progress: Progress | None = None,
        **fit_params: Any,
    ) -> Self:
        """Let every participant fit a clone of its model on its own rows.

        With ``prefit`` nothing is fitted, and X and y are optional: they only tell each participant how good
        it is (all rows do, or those of its group).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (row, feature), optional
            The rows; or shape (row,): a list, array or Series of texts, or of other things that the models
            take, which goes to them as it comes.
        y : array-like, shape (row,), optional
            Their labels.
        groups : array-like, shape (row,), optional
            Whose each row is. Default: rows are dealt into disjoint stratified shards.
        reference : (X, y), optional
            With ``trust="peer-review"``: public rows and their labels, which everybody takes for right.
        progress : callable, optional
            Called with (done, all) whenever a participant is fitted.
        **fit_params : dict
            ``sample_weight``, one number per row, reaches the models that take it. There is no other.

        Returns
        -------
        ConsensusClassifier
            Itself, fitted.

        Raises
        ------
        ValueError
            If what is given does not fit together, such as fewer than two participants or classes, or trust
            of prefit models without rows.

        Warns
        -----
        ParticipantWarning
            About single participants, such as one whose rows are all of one class.
        ProtocolWarning
            If there are too few participants to ask k others, as ``protocol`` wants.
        """
        weights = self._weights(fit_params)
        self._check_parameters()
        self._check_reference(reference)
        draw = self._start()
        self._own_rows = None
        if self.prefit:
            self._fit_prefit(X, y, groups, draw)
        else:
            X, y = self._check_rows(X, y)
            self.classes_ = np.unique(y)
            check_class_count(self.classes_)
            share = check_holdout(self.holdout)
            hold_out = partial(held_out_rows, share=share, rng=draw)
            tasks = self._tasks(X, y, groups, check_weights(weights, len(y)), draw, hold_out, self.refit)
            if self.trust is not None and not share:
                tasks = cross_validated(tasks, draw)
            self.participants_ = self._fit_all(fit_classifier, tasks, progress)
            self._own_rows = tasks
            if self._reviewed:
                self._show(X, y, tasks, draw)
        self._refer(reference)
        self._check_abstaining()
        check_class_count(self.classes_)
        self._tell_if_scaled(self.protocol_)
        kinds = (Adversary, NumberAdversary) if self._soft else Adversary
        self._liars(self.adversaries, kinds, PerfectlyMalicious)  # complains about strangers
        if self._soft:
            unsure = [p.name for p in self.participants_ if not (p.constant or has_probabilities(p))]
            tell(unsure, "the model has no predict_proba, so its label is handed in instead")
        if isinstance(self.protocol, SnowProtocol) and self.protocol.alpha == StrongConfidence():
            unknown = [p.name for p in self.participants_ if np.isnan(p.accuracy)]
            tell(unknown, "accuracy not known, so this participant has the least threshold")
        return self

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

    def _fit_prefit(self, X: Any, y: Any, groups: Any, draw: np.random.Generator) -> None:
        self.participants_ = self._prefit()
        known = known_classes(self.participants_)
        if X is None:
            if self.trust is not None and not self._reviewed:
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
        self._own_rows = [
            Task(each.name, each.model, each.columns, rows_of(X, own), y[own], None, own[:0], None)
            for each, own in zip(self.participants_, rows, strict=True)
        ]
        if self._reviewed:  # rows that no model has seen: everybody's, or by groups each one's own
            places = np.arange(len(y)) if groups is None else np.concatenate(rows)
            sizes = [len(y)] if groups is None else [len(own) for own in rows]
            who = [PUBLIC] if groups is None else np.arange(len(rows))
            self._publish(rows_of(X, places), y[places], np.repeat(who, sizes), draw)

    def _tell_if_scaled(self, protocol: SnowProtocol[Any]) -> None:
        if self.protocol is not None and protocol.k != self.protocol.k:
            alpha = f", alpha={protocol.alpha}" if isinstance(protocol.alpha, int) else ""
            warnings.warn(
                f"{len(self.participants_)} participants are too few to ask k={self.protocol.k} others: "
                f"playing with k={protocol.k}{alpha}",
                ProtocolWarning,
                stacklevel=3,
            )

    # ---- scikit-learn's tags -----------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        self._inherit_tags(tags)
        return tags

    # ---- watching ----------------------------------------------------------------------------

    @overload
    def play(self, X: Any, y: Any = None, path: None = None, **options: Any) -> Player: ...

    @overload
    def play(self, X: Any, y: Any, path: str | PathLike[str], **options: Any) -> Path: ...

    def play(
        self, X: Any, y: Any = None, path: str | PathLike[str] | None = None, **options: Any
    ) -> Player | Path:
        """Let the participants talk about every row of X, and make a page that plays it turn by turn.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs; the page shows their columns.
        y : array-like, shape (input,), optional
            Their right labels.
        path : str or path, optional
            The file to write, such as ``"talk.html"``. Default: none; the page is returned, and shows itself
            in a notebook.
        **options : dict
            ``images``, ``inputs``, ``input_names``, ``title`` and ``about``, as ``folkmoot.play`` takes them.

        Returns
        -------
        Player or Path
            The page; with ``path`` the file that was written.

        Raises
        ------
        ValueError
            If the talk is about probabilities, or the options do not fit the inputs.
        """
        if self._soft:
            raise ValueError("play shows talks about labels: set voting='labels'")
        outcome = self.deliberate(X, y, record=True)
        truth = None if y is None else as_truth(y, self.classes_)
        return watching.play(outcome, path, **({"truth": truth, "rows": X} | options))

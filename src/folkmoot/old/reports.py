"""Reports of a fitted moot: its talk beside single participants and every rule of a centre."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from folkmoot.adversaries import Adversary
from folkmoot.arrays import Array, Floats, Ints, Progress
from folkmoot.learning.abstaining import check_abstaining
from folkmoot.learning.labels import as_truth, check_labels, with_strangers
from folkmoot.learning.probabilities import SoftBallot, SoftTalk
from folkmoot.learning.scoring import Scoring, scorers, with_scores
from folkmoot.old.ballot import Ballot, anchors_of
from folkmoot.old.deliberation import DeliberatingEstimator
from folkmoot.simulation.peer_reviewed import Reviewing
from folkmoot.simulation.self_anchored import Listeners
from folkmoot.trust import Anchor, PeerReview, Trust
from folkmoot.votes import UNCOLOURED, Votes, vote_keys

if TYPE_CHECKING:
    from folkmoot.comparing.how_sure import Certainty
    from folkmoot.comparison import Report


class ReportingEstimator(DeliberatingEstimator):
    """Base that says how the talk compares, with the liars there are or with more and more of them."""

    abstain_below: float | None
    reject_label: Any

    def _check_abstaining(self) -> None:
        """ValueError if answers are to be withheld and it is not clear what to say instead."""
        check_abstaining(self.abstain_below, self.reject_label, self.classes_)

    def report(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        scoring: Scoring | None = None,
        repeats: int = 10,
        stacking: bool = True,
    ) -> Report:
        """Put the consensus beside single participants and every rule of a centre.

        With ``trust`` the talk without it is one of the comparisons, and the report says how many anchored.
        With ``voting="probabilities"`` the talk about labels is one, and so is the mean of all probabilities
        at a server, liars' included.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        y : array-like, shape (input,)
            Their right labels.
        groups : array-like, shape (input,), optional
            Whose each input is, by the names of participants. ``Report.joining`` then has each of them alone
            and together, on its own inputs (docs/who-is-off.md). Default: not compared.
        scoring : str, sequence of str, or mapping of str to scorer, optional
            Scores by scikit-learn's names, such as "f1_macro" or ["roc_auc", "neg_log_loss"], which stand
            beside accuracy. Of the consensus they score what ``predict`` and ``predict_proba`` answer, so
            that undecided inputs have the likeliest label there; on other lines those have the first of level
            labels, or a wrong one. Scores of probabilities are of the consensus only. Default: balanced
            accuracy and macro F1, in which undecided inputs are wrong and level labels share, as in accuracy.
        repeats : int, default 10
            How many times to play the talk: the standard error of the consensus is over these. An agreement
            on probabilities is played once: nothing in it is drawn.
        stacking : bool, default True
            Whether to add stacking, which learns from labels at a server, five-fold on these very rows.

        Returns
        -------
        Report
            A line for each way to answer. Undecided inputs count as wrong in it and level labels share, while
            ``predict`` and ``score`` take the likeliest label, the first of several that are level.
            ``Report.participants`` has a row for each participant.

        Raises
        ------
        ValueError
            If what is given does not fit together, such as ``groups`` that name no participant, or
            ``scoring`` that scikit-learn does not know.
        """
        report = next(iter(self._reports(X, y, [self.adversaries], repeats, stacking, groups, scoring)))
        if report.joining is not None and not report.joining.rows:
            names = ", ".join(repr(p.name) for p in self.participants_[:5])
            raise ValueError(
                "groups must name participants, whose models are compared with the moot on their own inputs: "
                f"got {str(np.asarray(groups).tolist()[0])!r}, and they are called {names}"
                + (" and so on" if len(self.participants_) > 5 else "")
            )
        return report

    def sweep(
        self,
        X: Any,
        y: Any,
        byzantine: Sequence[int],
        *,
        groups: Any = None,
        repeats: int = 10,
        stacking: bool = True,
        scoring: Scoring | None = None,
        progress: Progress | None = None,
    ) -> list[Report]:
        """Report for more and more perfectly malicious participants.

        Which participants turn is drawn by ``random_state``: those that lie in a small number of them also
        lie in a larger one.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        y : array-like, shape (input,)
            Their right labels.
        byzantine : sequence of int
            The numbers of malicious participants to try.
        groups : array-like, shape (input,), optional
            Whose each input is, as in ``report``; here they may all be of groups that take no part.
        repeats : int, default 10
            How many times to play each talk.
        stacking : bool, default True
            Whether to add stacking, as in ``report``.
        scoring : str, sequence of str, or mapping of str to scorer, optional
            What else to score every line by, as in ``report``.
        progress : callable, optional
            Called with (done, all) after each report.

        Returns
        -------
        list of Report
            A report for each number in ``byzantine``.
        """
        reports = []
        for report in self._reports(X, y, byzantine, repeats, stacking, groups, scoring):
            reports.append(report)
            if progress:
                progress(len(reports), len(byzantine))
        return reports

    def _reports(
        self,
        X: Any,
        y: Any,
        adversaries: Sequence[Any],
        repeats: int,
        stacking: bool,
        groups: Any,
        scoring: Scoring | None = None,
    ) -> Iterator[Report]:
        from folkmoot.comparison import OpenInputsWarning, compare
        from folkmoot.comparison.soft import ABOUT_LABELS
        from folkmoot.comparison.who import compare_alone

        check_is_fitted(self, "participants_")
        wanted = None if scoring is None else scorers(scoring)
        self._check_abstaining()
        labels = with_strangers(self.classes_, check_labels(y))
        ballot = self._ballot(X, labels)
        truth = as_truth(y, labels)
        check_consistent_length(truth, ballot.votes.T)
        whose = None if groups is None else column_or_1d(groups)
        if whose is not None and len(whose) != len(truth):
            raise ValueError(f"groups must hold one per input ({len(truth)}): got {len(whose)}")
        skills = np.array([participant.cautious_accuracy for participant in self.participants_])
        measured = ([p.right for p in self.participants_], [p.held_out for p in self.participants_])
        if not any(participant.held_out for participant in self.participants_):
            skills[:] = np.nan  # nobody knows how good it is
        soft = self._soft_ballot(X) if self._soft else None
        for each in adversaries:
            liars = self._byzantine(ballot, each)
            protocol = self._protocol_on(ballot, liars, truth)
            anchors = self._anchors(ballot)
            compared = partial(
                compare,
                ballot.votes,
                truth=truth,
                adversaries=liars,
                anchors=anchors,
                skills=skills,
                holdout=measured,
                faults=ballot.faults,
                names=[participant.name for participant in self.participants_],
                labels=labels,
                classes=ballot.classes,
                rounds=self.rounds,
                repeats=repeats,
                sampling=self.sampling,
                seed=self.seed_,
                keys=vote_keys,
                missing="uncoloured",
                stacking=stacking,
            )
            if soft is not None:
                talk = self._soft_talk(soft, truth, labels, each)
                with warnings.catch_warnings():  # of a talk that is only compared with
                    warnings.simplefilter("ignore", OpenInputsWarning)
                    report = self._soft_report(soft, talk, compared({ABOUT_LABELS: protocol}), truth, labels)
                likely = talk.likely
                answers = likely.argmax(axis=1)
            else:
                report = compared(protocol)
                answers, likely = self._answers(ballot, liars, truth, report, anchors)
            if wanted is not None:
                report = with_scores(report, wanted, truth, labels, answers, likely)
            report = replace(report, certainty=self._certainty(truth, labels, answers, likely))
            if whose is not None:
                names = [participant.name for participant in self.participants_]
                joining = compare_alone(ballot.votes == truth, answers == truth, whose, names)
                report = replace(report, joining=joining)
            yield replace(report, advice="predict gives the likeliest label instead")

    def _certainty(self, truth: Votes, labels: Array, answers: Ints, likely: Floats) -> Certainty:
        from folkmoot.comparing.how_sure import Certainty

        below, instead = self.abstain_below, self.reject_label
        missing = np.zeros((len(likely), len(labels) - likely.shape[1]))  # labels that nobody knows
        whole = np.concatenate([likely, missing], axis=1)
        return Certainty(truth, answers, whole, labels, below, None if below is None else instead)

    def _answers(
        self,
        ballot: Ballot,
        liars: dict[int, Adversary],
        truth: Votes,
        report: Report,
        anchors: object,
    ) -> tuple[Ints, Floats]:
        """What ``predict`` would answer in this report, as colours, and how likely it finds each of them."""
        if report.listeners is not None:
            listeners = cast("Listeners[Trust | PeerReview]", report.listeners)
            ballot = ballot.held_by(
                listeners, anchors.voter(liars) if isinstance(anchors, Reviewing) else None
            )
        likely = ballot.probabilities(liars, truth)
        decided = np.atleast_2d(report.outcome.decision)[0]
        return np.where(decided == UNCOLOURED, likely.argmax(axis=1), decided), likely

    def _anchors(self, ballot: Ballot) -> list[Anchor | None] | Reviewing | None:
        """What trust rests on."""
        if self._reviewed:
            return self._reviewing(ballot)
        return None if self.trust is None else anchors_of(self.participants_, ballot.labels)

    def _soft_report(
        self, ballot: SoftBallot, talk: SoftTalk, report: Report, truth: Votes, labels: Array
    ) -> Report:
        from folkmoot.comparison.soft import with_probabilities

        numbers = "logarithms of probabilities" if self.pool == "log" else "probabilities"
        how = f"{numbers}, all ask all, {talk.rule.trimmed(len(talk.numbers))} trimmed at either end"
        outcome = replace(
            talk.outcome(labels), labels=labels, names=tuple(p.name for p in self.participants_)
        )
        faulty = {self.participants_[i].name: fault for i, fault in ballot.faults.items()}
        report = replace(report, faulty=report.faulty | faulty)
        return with_probabilities(report, outcome, truth, agreed=talk.likely, sent=talk.handed_in, how=how)

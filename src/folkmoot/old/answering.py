"""Answers of a fitted moot: labels, how likely each class is, and how likely each answer of the talk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from folkmoot.adversaries import Adversary
from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.comparing.how_sure.certainty import answered
from folkmoot.learning.abstaining import withheld
from folkmoot.learning.labels import as_truth, check_labels, with_strangers
from folkmoot.old.ballot import Ballot, absorption, has_closed_form, shares
from folkmoot.old.reports import ReportingEstimator
from folkmoot.votes import UNCOLOURED, Votes

_REPEATS: Final = 100  # deliberations behind answer_law where theory has no closed form


class AnsweringEstimator(ClassifierMixin, ReportingEstimator):
    """Base that answers as scikit-learn's classifiers do."""

    def predict(self, X: Any) -> Array:
        """Answer each row with the label that the moot agrees on in one talk, drawn by ``random_state``.

        Where the talk decides nothing, because no label has more than half of the honest participants, it is
        the likeliest label by ``predict_proba``, or the first of several; ``deliberate`` tells which inputs
        those are. With ``trust`` it is what most of those who anchor hold, and depends on the other rows of
        X: trust is learnt from the whole batch. With ``voting="probabilities"`` it is always the likeliest.
        With ``abstain_below`` an answer whose probability, by ``predict_proba``, is lower is withheld, and
        ``reject_label`` given instead.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.

        Returns
        -------
        ndarray, shape (input,)
            A label of ``classes_`` for each, or ``reject_label``.

        Raises
        ------
        ValueError
            If no participant can answer, or an adversary must know the truth.

        Warns
        -----
        ParticipantWarning
            If a participant's model fails; the others go on without it.
        TrustWarning
            If there are fewer than 50 inputs or nobody anchors: the talk goes on without trust.
        OpenInputsWarning
            If more than a tenth of the inputs was not decided and has the likeliest label instead; it says
            why and what to try.
        """
        check_is_fitted(self, "participants_")
        self._check_abstaining()
        if self._soft:
            likely = self._soft_talk(self._soft_ballot(X), None).likely
            colours, given = self._given(likely.argmax(axis=1), likely)
        else:
            ballot = self._ballot(X)
            colours, given = self._decided(ballot, self._byzantine(ballot), None)
        labels = np.asarray(self.classes_[colours])
        return labels if self.abstain_below is None else withheld(labels, given, self.reject_label)

    def _decided(
        self, ballot: Ballot, adversaries: dict[int, Adversary], truth: Votes | None
    ) -> tuple[Ints, Bools]:
        """(input,) each: the colour that the talk decides, else the likeliest, and whether it is given.

        Probabilities, which take long with trust, are computed only where these two need them.
        """
        ballot, outcome = self._talk(ballot, adversaries, truth, stacklevel=5)
        decided = outcome.decision
        if self.abstain_below is None and (decided != UNCOLOURED).all():
            return decided, np.ones(len(decided), dtype=np.bool_)
        likely = ballot.probabilities(adversaries, truth)
        return self._given(ballot.answers(outcome, likely), likely)

    def _given(self, colours: Ints, likely: Floats) -> tuple[Ints, Bools]:
        """The colours, and (input,) whether each is likely enough to be given."""
        sure = np.take_along_axis(likely, colours[:, None], axis=1)[:, 0]
        return colours, answered(np.asarray(sure), self.abstain_below)

    def predict_proba(self, X: Any) -> Floats:
        """Estimate how likely each class is to be the right one.

        It is (count + 1/C) / (n + 1) for a class that ``count`` of the n participants who answered a row
        voted for, of C classes. All votes count, as liars hand them in, too: nobody knows who lies. With
        ``trust`` it is what those who anchor make of these votes by their trust
        (``folkmoot.trust.class_probabilities``), on average; only then does it depend on the other rows of X.
        With ``voting="probabilities"`` it is what is agreed on.

        How likely each answer of the talk is, over its randomness, is another question: ``answer_law``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.

        Returns
        -------
        ndarray of float, shape (input, class)
            The probabilities, in the order of ``classes_``.

        Raises
        ------
        ValueError
            If no participant can answer, or an adversary must know the truth.
        """
        if self._soft:
            return self._soft_talk(self._soft_ballot(X), None).likely
        ballot = self._ballot(X)
        adversaries = self._byzantine(ballot)
        return self._heard(ballot, adversaries, None)[0].probabilities(adversaries, None)

    def answer_law(self, X: Any) -> Floats:
        """Compute how likely each answer of the moot is, over the randomness of its talk.

        With two classes, Slush with one alpha for all and everybody honest, these are the exact absorption
        probabilities of the vote counts, which ``predict`` is drawn from if the rounds suffice. Otherwise
        they are the shares of 100 talks, where labels that are level share. With ``trust`` these are talks of
        those who anchor, with the trust that this batch gives them: they say how firm the talk is, not how
        sure the decisions before it were. With ``voting="probabilities"`` all ask all, nothing is drawn, and
        one answer has 1.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.

        Returns
        -------
        ndarray of float, shape (input, class)
            The probabilities, in the order of ``classes_``.
        """
        if self._soft:
            likely = self._soft_talk(self._soft_ballot(X), None).likely
            return np.asarray(np.eye(likely.shape[1])[likely.argmax(axis=1)])
        ballot = self._ballot(X)
        adversaries = self._byzantine(ballot)
        ballot, protocol = self._heard(ballot, adversaries, None)
        if not adversaries and has_closed_form(protocol, self.sampling, ballot):
            return absorption(protocol, ballot.votes)
        if ballot.listeners is not None:  # who is heeded hangs on the whole batch
            return shares(self._play(ballot, protocol, adversaries, None, repeats=_REPEATS))
        # Inputs with the same votes have the same law, and here the same draws.
        columns, which = np.unique(ballot.votes, axis=1, return_inverse=True)
        few = replace(ballot, votes=columns)
        return shares(self._play(few, protocol, adversaries, None, repeats=_REPEATS))[which]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Measure the accuracy of what ``predict`` would answer; here adversaries may know the truth.

        An input whose answer is withheld (``abstain_below``) counts as wrong.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs.
        y : array-like, shape (input,)
            Their right labels.
        sample_weight : array-like of float, shape (input,), optional
            How much each input counts. Default: all alike.

        Returns
        -------
        float
            The share of inputs that are answered right.
        """
        check_is_fitted(self, "participants_")
        self._check_abstaining()
        labels = with_strangers(self.classes_, check_labels(y))
        if self._soft:
            truth = as_truth(y, labels)
            likely = self._soft_talk(self._soft_ballot(X), truth, labels).likely
            colours, given = self._given(likely.argmax(axis=1), likely)
        else:
            ballot = self._ballot(X, labels)
            truth = as_truth(y, labels)
            colours, given = self._decided(ballot, self._byzantine(ballot), truth)
        right = np.where(given, colours, UNCOLOURED)
        return float(accuracy_score(truth, right, sample_weight=sample_weight))

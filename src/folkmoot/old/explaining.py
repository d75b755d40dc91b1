"""Why a row got its answer: the talk about it, by the participants' names and the labels."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from folkmoot.explanation import Explanation, explain
from folkmoot.old.answering import AnsweringEstimator


class ExplainingEstimator(AnsweringEstimator):
    """Base that explains its answers."""

    def why(self, X: Any, i: int = 0, *, y: Any = None) -> Explanation:
        """Explain the answer to one row: who voted what, who changed its mind after whose answers, how close.

        The answer is that of ``predict(X)[i]``. A talk that keeps a record draws every single question, which
        the fast kernels of ``predict`` do not; so the talk that is shown is drawn again, from the same votes
        by the same rule, until it comes to the same answer. With ``trust`` it is the talk of ``predict``
        itself. Where the talk decided nothing, or its answer is withheld (``abstain_below``), the explanation
        says so, and what ``predict`` says instead.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (input, feature)
            The inputs. With ``trust`` or ``StrongConfidence()`` the answer depends on all of them.
        i : int, default 0
            The row of X that is explained.
        y : array-like, shape (input,), optional
            The right labels, for adversaries that must know them.

        Returns
        -------
        Explanation
            ``print`` it, show it in a notebook, or ``plot`` it.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        ValueError
            If there is no row i, or an adversary must know the truth and is not given it.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.linear_model import LogisticRegression
        >>> from folkmoot import ConsensusClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> moot = ConsensusClassifier([LogisticRegression(max_iter=5000)], random_state=0)
        >>> why = moot.fit(X, y, groups=[i % 7 for i in range(len(y))]).why(X[:20], 3)
        >>> bool(why.answer == moot.predict(X[:20])[3])
        True
        >>> len(why.voices)
        7
        """
        check_is_fitted(self, "participants_")
        found = explain(self.deliberate(X, y), i, called=f"row {i}")
        if y is not None or (found.answer is not None and self.abstain_below is None):
            return found
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # told by deliberate already
            said = np.asarray(self.predict(X), dtype=object)[i]
        note = f"predict names {said} all the same, the likeliest label by predict_proba."
        if self.abstain_below is not None and said not in self.classes_.tolist():
            note = (
                f"predict withholds its answer and says {said}: the probability, by predict_proba, is below "
                f"abstain_below={self.abstain_below:g}."
            )
        elif found.answer is not None:
            return found
        return replace(found, missing=(*found.missing, note))

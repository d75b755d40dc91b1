"""Models that improve each other: the participants agree on labels for a pool, and each refits its own model.

The rule on arrays is ``folkmoot.learning.pseudo_labels``; here are models and rows (docs/improve.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from folkmoot.adversaries import Adversary, PerfectlyMalicious, handed_in
from folkmoot.arrays import Array, Bools, Floats, Ints, Progress
from folkmoot.learning.check_rows import ShownRows, check_showing, own_answers, shown_places
from folkmoot.learning.improvement import Change, Improvement
from folkmoot.learning.improving import check_safe, judged, too_few
from folkmoot.learning.labels import as_colours, as_truth
from folkmoot.learning.own_rows import OwnRows
from folkmoot.learning.participants import (
    Participant,
    Task,
    tell,
)
from folkmoot.learning.probabilities import chances_of, soft_ballot_of
from folkmoot.learning.pseudo_labels import AgreedLabels, agree_on_labels
from folkmoot.learning.refitting import Refitted, refit
from folkmoot.learning.tables import rows_in, rows_of, stacked
from folkmoot.old.explaining import ExplainingEstimator
from folkmoot.old.kept_rows import KeepingEstimator
from folkmoot.trust.panel import FEW_PARTICIPANTS
from folkmoot.votes import UNCOLOURED, Votes, in_levels

_STREAM: Final = 19  # of the random numbers that choose check rows


class ImprovingClassifier(KeepingEstimator, ExplainingEstimator):
    """Base whose participants improve their models by a pool of unlabelled inputs."""

    improvement_: Improvement

    def improve(
        self,
        X_unlabelled: Any,
        check_rows: int | Literal["all"] = 10,
        safe: bool = False,
        *,
        y: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Agree on labels for unlabelled inputs, and refit every model on its own rows and these.

        Each participant shows some of its labelled inputs, without their labels, mixed into the pool; all
        hand in probabilities for all of these, and each weighs its peers by its own rows (docs/improve.md).
        Then each fits a fresh clone of its model to its own rows and the agreed ones. ``participants_`` have
        the new models, ``improvement_`` the old ones and what changed. A participant keeps its old model if
        it cannot tell who is right, as with rows of one class only.

        If anything fails, the estimator stays as it was.

        Parameters
        ----------
        X_unlabelled : array-like, sparse matrix or data frame, shape (input, feature)
            The pool: inputs of the kind that was fitted on, without labels. Several hundred are a good start.
        check_rows : int or "all", default 10
            How many of its labelled inputs each shows, at most half of its rows; "all" shows every one, 0
            none, and then everybody counts alike. Labels are not shown.
        safe : bool, default False
            Whether a participant keeps its old model unless its own rows bear out the new one: this must be
            right on them more often than chance, a sign test must not speak against it, either half of the
            check rows must come to nearly the same labels, so must those that count for the participant, and
            the labels must promise a gain that a few rows can bear out.
        y : array-like, shape (input,), optional
            The right labels of the pool, for ``adversaries`` that must know them; nobody else is told.
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
            If there are no rows of the participants (prefit models, or a moot read from a file), or the pool
            is empty or has other columns.

        Examples
        --------
        >>> from folkmoot import ConsensusClassifier
        >>> from folkmoot.datasets import load_digits_moot
        >>> from sklearn.naive_bayes import GaussianNB
        >>> data = load_digits_moot(n_participants=20)
        >>> moot = ConsensusClassifier([GaussianNB()], random_state=0)
        >>> moot = moot.fit(data.X, data.y, groups=data.groups)
        >>> X, y = data.X_test[300:], data.y_test[300:]
        >>> before = [each.score(X, y) for each in moot.estimators_]
        >>> moot = moot.improve(data.X_test[:300])
        >>> after = [each.score(X, y) for each in moot.estimators_]
        >>> round(sum(before) / 20, 2), round(sum(after) / 20, 2)
        (0.47, 0.78)
        """
        check_is_fitted(self, "participants_")
        tasks = self._rows_kept()
        check_showing(check_rows, None)
        check_safe(safe)
        X = self._check_pool(X_unlabelled, tasks[0].X)
        truth = None if y is None else self._truth_of_pool(y, rows_in(X))
        liars = self._liars(self.adversaries, Adversary, PerfectlyMalicious)
        if truth is None:
            self._check_seers(liars, truth)
        draw = np.random.default_rng([self.seed_, _STREAM])
        shown = [shown_places(task.y, check_rows, draw) for task in tasks]
        unseen = self._unseen_answers(tasks)
        votes, faults = self._handed_in(X, tasks, shown, unseen)
        agreed = self._agreed(votes, tasks, shown, truth, liars, rows_in(X), safe)
        why_not: list[str | None] = [
            f"its model cannot answer: {faults[i]}"
            if i in faults
            else too_few(unseen[i], tasks[i]) or agreed.why_not[i]
            for i in range(len(tasks))
        ]
        refitted = self._everybody(
            refit,
            [
                (task, person, X, None if why else self.classes_[labels])
                for task, person, labels, why in zip(
                    tasks, self.participants_, agreed.labels, why_not, strict=True
                )
            ],
            progress,
        )
        changes, people = [], []
        for i, done in enumerate(refitted):
            old, before = self.participants_[i], _right(unseen[i], tasks[i].y, self.classes_)
            footing = agreed.footing(i) if safe else None
            why, right = judged(why_not[i], done, before, len(self.classes_), footing)
            changes.append(
                Change(
                    old.name, len(tasks[i].y), len(shown[i]), int(before.sum()),
                    None if right is None else int(right.sum()), why, old.model,
                )
            )  # fmt: skip
            people.append(done.participant if why is None else old)
        reviewed = self._votes_again(people, refitted, [each.why for each in changes])
        self.participants_ = people
        if reviewed is not None:
            self.shown_ = reviewed
        self.improvement_ = Improvement(tuple(changes), rows_in(X), self.classes_[agreed.labels])
        tell([f"{each.name} ({each.why})" for each in changes if each.why], "keeps its old model")
        return self

    def _truth_of_pool(self, y: Any, inputs: int) -> Votes:
        truth = as_truth(y, self.classes_)
        if len(truth) != inputs:
            raise ValueError(f"y must hold one label for each input of the pool ({inputs}): got {len(truth)}")
        return truth

    def _unseen_answers(self, tasks: Sequence[Task]) -> list[Floats | None]:
        """(row, class): what models that have not seen its own rows say of them; None for failures."""
        if self.prefit:  # then the rows given to fit are new to the models
            given = self._everybody(
                chances_of,
                [
                    (person, task.X, self.classes_)
                    for person, task in zip(self.participants_, tasks, strict=True)
                ],
                None,
            )
            return [None if isinstance(each, str) else each for each in given]
        arguments = [
            (task, person, np.arange(len(task.y)), self.classes_, True)
            for task, person in zip(tasks, self.participants_, strict=True)
        ]
        found: list[Floats | None] = self._everybody(own_answers, arguments, None)
        return found

    def _handed_in(
        self, X: Any, tasks: Sequence[Task], shown: Sequence[Ints], unseen: Sequence[Floats | None]
    ) -> tuple[Floats, dict[int, str]]:
        """(participant, check row and then input, class): honest answers, 0 for who fails; and faults."""
        rows = [rows_of(task.X, own) for task, own in zip(tasks, shown, strict=True) if len(own)]
        asked = stacked([*rows, X])
        names = [person.name for person in self.participants_]
        ballot = soft_ballot_of(self._ask(asked, chances_of, self.classes_), self.classes_, names)
        votes = np.zeros((len(tasks), rows_in(asked), len(self.classes_)))
        votes[ballot.there] = ballot.chances
        for i, places in enumerate(_places(shown)):
            own = unseen[i]
            votes[i, places] = 0.0 if own is None or i in ballot.faults else in_levels(own[shown[i]])
        return votes, ballot.faults

    def _agreed(
        self,
        votes: Floats,
        tasks: Sequence[Task],
        shown: Sequence[Ints],
        truth: Votes | None,
        liars: dict[int, Adversary],
        inputs: int,
        safe: bool,
    ) -> AgreedLabels:
        classes = len(self.classes_)
        colours = [as_colours(task.y, self.classes_) for task in tasks]
        own = [
            OwnRows(places, mine[some], np.bincount(mine, minlength=classes).astype(np.float64))
            for places, mine, some in zip(_places(shown), colours, shown, strict=True)
        ]
        labels = [mine[some] for mine, some in zip(colours, shown, strict=True)]
        known = np.concatenate([*labels, np.full(inputs, UNCOLOURED) if truth is None else truth])

        def told(answers: Floats) -> Floats:
            """Liars say one class of each input, as if they were sure of it, or nothing."""
            if not liars:
                return answers
            named = np.where(answers.any(axis=2), answers.argmax(axis=2), UNCOLOURED)
            said = handed_in(named, liars, known, classes)
            heard = answers.copy()
            for i in liars:
                heard[i] = in_levels(np.eye(classes)[np.maximum(said[i], 0)])
                heard[i, (said[i] == UNCOLOURED) | (said[i] >= classes)] = 0.0
            return heard

        pool = np.arange(votes.shape[1] - inputs, votes.shape[1])
        return agree_on_labels(votes, own, pool, told, steady=bool(safe))

    def _votes_again(
        self, people: list[Participant], refitted: Sequence[Refitted], why: Sequence[str | None]
    ) -> ShownRows | None:
        """The rows shown in peer review, with the votes of the new models on them."""
        if self.shown_ is None or all(why):
            return None
        checked, X = self.shown_.checked, self.shown_.X
        before, self.participants_ = self.participants_, people
        try:
            votes = self._votes_on(X)
        finally:
            self.participants_ = before
        if len(people) <= FEW_PARTICIPANTS:  # a publisher's votes on its own rows are heard: by unseen models
            for q, done in enumerate(refitted):
                mine = np.flatnonzero(checked.publisher == q)
                if why[q] is not None or done.unseen is None:
                    votes[q, mine] = checked.votes[q, mine]
                elif len(mine):
                    votes[q, mine] = self._voted(done.unseen, rows_of(X, mine))
        return ShownRows(X, replace(checked, votes=votes))

    def _voted(self, person: Participant, X: Any) -> Any:
        """One participant's votes, of the kind that is handed in."""
        if self._hands_in_probabilities:
            chances = chances_of(person, X, self.classes_)
            return 0.0 if isinstance(chances, str) else in_levels(chances)
        answers = person.predict(X)
        return UNCOLOURED if isinstance(answers, str) else as_colours(answers, self.classes_)


def _right(unseen: Floats | None, y: Array, classes: Array) -> Bools:
    """Which rows the old model's clones answer right without having seen them."""
    if unseen is None:
        return np.zeros(len(y), dtype=np.bool_)
    return np.asarray(unseen.any(axis=1) & (classes[unseen.argmax(axis=1)] == y))


def _places(shown: Sequence[Ints]) -> list[Ints]:
    """Where each one's check rows are among the inputs that all answer."""
    ends = np.cumsum([0, *(len(own) for own in shown)])
    return [np.arange(start, end) for start, end in pairwise(ends)]

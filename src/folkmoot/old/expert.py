"""A model that anybody can fit to the rows that are shown, heard in peer review as one more voter.

It is the honest rival of peer review: whoever sees labelled rows can learn from them directly. As a voter it
is weighed like a peer, by what it says of rows of publishers that it has not learnt from, so that a rule
which hears it need not be behind it. It learns only from publishers that the judge accepts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import joblib
import numpy as np

from folkmoot.arrays import Bools, Ints, Singles
from folkmoot.learning.participants import Participant, Task, learnt_on
from folkmoot.learning.probabilities import chances_of
from folkmoot.learning.tables import rows_of
from folkmoot.trust import CheckedAnswers
from folkmoot.trust.checked import PUBLIC, folds

# By the model, whom it has learnt from and the labels: what it says of checked rows, and the fitted model.
Fitted: TypeAlias = dict[tuple[str, bytes, bytes], tuple[Singles, Participant | None]]

_NOBODY: Ints = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ExpertModel:
    """The expert of ``review_first``: ``X`` are the inputs of the checked rows, ``new`` those to decide.

    ``fitted`` keeps what was learnt, so that judges who accept the same publishers share a model, and so do
    batches.
    """

    model: Any
    X: Any
    checked: CheckedAnswers
    new: Any
    seed: int
    fitted: Fitted = field(default_factory=dict)

    def on_rows(self, accepted: Bools) -> Singles:
        """(row, colour): each by a model without the publishers of its fold."""
        return self._learnt(accepted)[0]

    def on_inputs(self, accepted: Bools) -> Singles:
        """(input, colour): by the model of all accepted publishers."""
        return self._says(self._learnt(accepted)[1], self.new)

    def _learnt(self, accepted: Bools) -> tuple[Singles, Participant | None]:
        key = joblib.hash(self.model), accepted.tobytes(), self.checked.truth.tobytes()
        if key not in self.fitted:
            publisher = self.checked.publisher
            taught = (publisher == PUBLIC) | accepted[publisher]
            fold = folds(publisher)
            on_rows = np.zeros((self.checked.rows, self.checked.classes), dtype=np.float32)
            for part in np.unique(fold):
                out = np.flatnonzero(fold == part)
                on_rows[out] = self._says(self._taught(taught & (fold != part)), rows_of(self.X, out))
            self.fitted[key] = on_rows, self._taught(taught)
        return self.fitted[key]

    def _taught(self, by: Bools) -> Participant | None:
        """The model of these rows; None if there are none."""
        rows = np.flatnonzero(by)
        if not len(rows):
            return None
        task = Task("expert", self.model, None, self.X, self.checked.truth, None, _NOBODY, self.seed)
        return learnt_on(task, rows)

    def _says(self, learnt: Participant | None, X: Any) -> Singles:
        """(input, colour): probabilities less 1/C, as ``centred`` makes votes."""
        classes = self.checked.classes
        if learnt is None:
            return np.zeros((X.shape[0], classes), dtype=np.float32)
        said = chances_of(learnt, X, np.arange(classes))
        if isinstance(said, str):
            raise ValueError(f"expert ({type(self.model).__name__}) cannot answer: {said}")
        return np.asarray(said - 1 / classes, dtype=np.float32)

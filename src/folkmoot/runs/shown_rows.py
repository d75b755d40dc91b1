"""What a moot with peer review showed, for its report: rows are shown only where that is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from folkmoot.old import ConsensusClassifier
from folkmoot.trust import PUBLIC

READ_BACKWARDS: Final = "peer review reads those who are always wrong backwards, so that they help it"


@dataclass(frozen=True)
class Shown:
    """How many rows of how many participants everybody was shown, by which settings, and who learnt from it.

    ``reviewers`` is how many learnt, None for everybody honest; ``anchored`` has how many of them anchored
    for each number of liars.
    """

    rows: int
    participants: int
    check_rows: int | Literal["all"]
    privacy: float | None
    voting: Literal["labels", "probabilities"]
    anchored: tuple[int, ...]
    reviewers: int | None = None

    def __str__(self) -> str:
        whose = f"{self.rows:,} rows of {self.participants} participants"
        if self.privacy is None:
            return f"shown to everybody: {whose}, inputs and labels"
        return f"shown to everybody: {whose}, inputs, and labels with noise (epsilon {self.privacy:g})"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        return {
            "check_rows": self.check_rows,
            "privacy": self.privacy,
            "voting": self.voting,
            "rows_shown": self.rows,
            "participants_showing": self.participants,
            "reviewers": self.reviewers,
            "anchored": list(self.anchored),
        }


@dataclass(frozen=True)
class NumbersShown:
    """How many rows of how many participants everybody was shown, where numbers are predicted."""

    rows: int
    participants: int

    def __str__(self) -> str:
        whose = f"{self.rows:,} rows of {self.participants} participants"
        return f"shown to everybody: {whose}, inputs and numbers"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {"rows_shown": self.rows, "participants_showing": self.participants}


def shown_by(
    classifier: ConsensusClassifier, anchored: tuple[int, ...], reviewers: int | None = None
) -> Shown:
    """What the participants of a moot that was fitted with peer review have shown."""
    publisher = classifier.checked_.publisher
    own = publisher[publisher != PUBLIC]
    return Shown(
        rows=len(own),
        participants=len(np.unique(own)),
        check_rows=classifier.check_rows,
        privacy=classifier.privacy,
        voting=classifier.voting,
        anchored=anchored,
        reviewers=reviewers,
    )

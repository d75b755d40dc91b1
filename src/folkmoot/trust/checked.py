"""Checked answers: what everybody voted on inputs whose truth somebody vouches for.

They come from check rows (own labelled rows mixed into a batch, named afterwards), a public reference set,
past inputs whose truth became known, or the gold tasks of a crowd. One form for all: votes, truth, and who
vouches for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Bools, Ints, Singles
from folkmoot.votes import UNCOLOURED, Votes, check_truth, check_votes

PUBLIC: Final = -1  # vouched for by nobody in particular: everybody can check it, or has to take it
_FOLDS: Final = 5


@dataclass(frozen=True, eq=False)
class CheckedAnswers:
    """Votes of all participants on inputs whose truth is claimed, and who claims it.

    Parameters
    ----------
    votes : ndarray, shape (participant, row) or (participant, row, colour)
        Colours (-1 for none), or probabilities of the colours (all 0 for none).
    truth : ndarray of int, shape (row,)
        The right colour of each row, as its publisher says.
    publisher : ndarray of int, shape (row,)
        Which participant vouches for each; -1 (``PUBLIC``) where everybody takes it for right.
    classes : int
        The number of colours.
    kept : float, default 1.0
        How likely a published label is as it was, where publishers randomise them; public rows are not.

    See Also
    --------
    check_answers : Makes it of what is given, or says what is wrong with that.

    Examples
    --------
    >>> from folkmoot.trust import check_answers
    >>> checked = check_answers([[0, 1, 1], [0, 0, 1]], truth=[0, 1, 1], publisher=[0, 0, 1], classes=2)
    >>> checked.participants, checked.rows
    (2, 3)
    """

    votes: Ints | Singles
    truth: Ints
    publisher: Ints
    classes: int
    kept: float = 1.0
    learnt: dict[bytes, Any] = field(default_factory=dict, init=False, repr=False)
    """What reviews have learnt from these rows so far: the next batch needs it again."""

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"learnt": {}}

    @property
    def participants(self) -> int:
        """How many participants there are."""
        return len(self.votes)

    @property
    def rows(self) -> int:
        """How many inputs have been checked."""
        return len(self.truth)

    def only(self, rows: Bools | Ints) -> CheckedAnswers:
        """Keep some of the rows.

        Parameters
        ----------
        rows : ndarray of bool or int
            Which.

        Returns
        -------
        CheckedAnswers
            Those.
        """
        return replace(
            self, votes=self.votes[:, rows], truth=self.truth[rows], publisher=self.publisher[rows]
        )

    def and_also(self, more: CheckedAnswers) -> CheckedAnswers:
        """Add rows of the same participants.

        Parameters
        ----------
        more : CheckedAnswers
            Further rows, with votes of the same kind.

        Returns
        -------
        CheckedAnswers
            All of them.
        """
        if (more.classes, more.votes.ndim, more.participants) != (
            self.classes,
            self.votes.ndim,
            self.participants,
        ):
            raise ValueError(
                "checked answers can be joined if participants, colours and the kind of votes are the same: "
                f"got {self.participants} and {more.participants} participants, {self.classes} and "
                f"{more.classes} colours, votes of {self.votes.ndim} and {more.votes.ndim} dimensions"
            )
        return replace(
            self,
            votes=np.concatenate([self.votes, more.votes], axis=1),
            truth=np.concatenate([self.truth, more.truth]),
            publisher=np.concatenate([self.publisher, more.publisher]),
        )


def check_answers(
    votes: npt.ArrayLike,
    truth: npt.ArrayLike,
    publisher: npt.ArrayLike | None = None,
    *,
    classes: int,
    kept: float = 1.0,
) -> CheckedAnswers:
    """Take votes, truth and who vouches for it, or say what is wrong with them.

    Parameters
    ----------
    votes : array-like, shape (participant, row) or (participant, row, colour)
        Colours (-1 for none), or probabilities of the colours (all 0 for none).
    truth : array-like of int, shape (row,)
        The right colours, as claimed.
    publisher : array-like of int, shape (row,), optional
        Who claims each; -1 for a row that everybody takes for right. Default: all rows are such.
    classes : int
        The number of colours.
    kept : float, default 1.0
        How likely a published label is as it was, above 1/C; another is then as likely as any other.

    Returns
    -------
    CheckedAnswers
        The same, checked.

    Examples
    --------
    >>> from folkmoot.trust import check_answers
    >>> check_answers([[0, 1], [1, 1]], truth=[0, 2], classes=2)
    Traceback (most recent call last):
    ...
    ValueError: truth[1] must satisfy 0 <= class < 2: got 2
    """
    checks.integer("classes", classes, least=2)
    cast = check_ballots(votes, classes)
    right = check_truth(truth, cast.shape[1], classes)
    who = np.full(len(right), PUBLIC) if publisher is None else np.asarray(publisher)
    if who.shape != right.shape or who.dtype.kind not in "iu":
        raise ValueError(f"publisher must hold one participant per row ({len(right)}): got shape {who.shape}")
    if who.min(initial=0) < PUBLIC or who.max(initial=0) >= len(cast):
        raise ValueError(
            f"publisher must satisfy -1 <= participant < {len(cast)}: got {who.min()} to {who.max()}"
        )
    if not 1 / classes < checks.probability("kept", kept):
        raise ValueError(f"kept must be above 1/{classes}, chance: got kept={kept}")
    return CheckedAnswers(cast, right, who.astype(np.int64), classes, float(kept))


def check_ballots(votes: npt.ArrayLike, classes: int) -> Ints | Singles:
    """Votes as colours (participant, input) or as probabilities (participant, input, colour)."""
    array = np.asarray(votes)
    if array.ndim != 3:
        return check_votes(array, classes)
    if array.shape[2] != classes:
        raise ValueError(
            f"votes must hold a probability for each of {classes} colours: got the shape {array.shape}"
        )
    shares = array.astype(np.float32)
    total = shares.sum(axis=2)
    bad = ~(np.isfinite(total) & (shares >= 0).all(axis=2) & ((np.abs(total - 1) < 0.02) | (total == 0)))
    if bad.any():
        i, r = (int(place) for place in np.argwhere(bad)[0])
        raise ValueError(
            f"votes[{i}, {r}] must be probabilities that add up to 1, or all 0 for no vote: got {array[i, r]}"
        )
    return shares


def labels_of(votes: Ints | Singles) -> Votes:
    """(participant, input): the colours that are voted for, or the likeliest, -1 for none."""
    if votes.ndim == 2:
        return votes.astype(np.int64)
    return np.where(votes.any(axis=2), votes.argmax(axis=2), UNCOLOURED)


def folds(publisher: Ints) -> Ints:
    """(row,): whole publishers, dealt out in turn, unless all rows are of one; public rows one by one."""
    there, turn = np.unique(publisher, return_inverse=True)
    one_by_one = np.arange(len(publisher))
    if len(there) == 1:
        return one_by_one % _FOLDS
    return np.where(publisher == PUBLIC, one_by_one, turn) % _FOLDS


def centred(votes: Ints | Singles, classes: int) -> Singles:
    """(row, participant, colour): votes less 1/C, so that no vote, all zeros, speaks for nothing."""
    if votes.ndim == 2:
        one_hot = (votes.T[:, :, None] == np.arange(classes)).astype(np.float32)
        cast = (votes.T != UNCOLOURED)[:, :, None]
    else:
        one_hot = np.ascontiguousarray(np.moveaxis(votes, 0, 1), dtype=np.float32)
        cast = one_hot.any(axis=2, keepdims=True)
    return np.asarray(np.where(cast, one_hot - np.float32(1 / classes), np.float32(0)))


def targets(truth: Ints, classes: int) -> Singles:
    """(row, colour): the truth as a vote would be."""
    return np.eye(classes, dtype=np.float32)[truth] - np.float32(1 / classes)

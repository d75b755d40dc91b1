"""A row for each participant: how good it is, how often it is with the answer, and what is odd about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from folkmoot.arrays import Array, Floats, Ints
from folkmoot.comparison.who.findings import find_findings, interval
from folkmoot.comparison.who.rows import Column, RowTable, count, known, share
from folkmoot.votes import UNCOLOURED, Votes

Role: TypeAlias = Literal["honest", "byzantine", "faulty"]


@dataclass(frozen=True)
class ParticipantRow:
    """One participant of a report, in numbers.

    Parameters
    ----------
    name : str
        Its name.
    role : {"honest", "byzantine", "faulty"}
        Whether it follows the protocol, lies, or could not answer.
    holdout : float or None
        The share of the labelled rows that it kept for itself, or of gold tasks, that it answers right; None
        without any.
    holdout_low : float or None
        The lower end of Wilson's 95% interval of ``holdout``.
    holdout_high : float or None
        Its upper end.
    held_out : int
        How many rows or gold tasks these are.
    accuracy : float or None
        The share of its votes on the inputs of the report that are right; None where the truth is not known.
    accuracy_low : float or None
        The lower end of Wilson's 95% interval of ``accuracy``.
    accuracy_high : float or None
        Its upper end.
    votes : int
        On how many inputs it handed in a vote.
    agreement : float or None
        The share of its votes that are the answer of the moot, where there is one.
    weight : float or None
        What its vote counts for by the median of the other participants that anchor, or by the protocol; 1
        where all are asked alike, None where nobody else anchors.
    changes : float or None
        On how many inputs it ended with another label than its first vote, per repetition; None for a liar.
    undecided : float or None
        On how many inputs it ended without a label, per repetition; None for a liar.
    finding : str
        What is odd about it, such as "always wrong (0 of 60 right)"; "" for nothing.

    Examples
    --------
    >>> from folkmoot import Slush, compare
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(5, p=0.8, inputs=200)
    >>> votes[4] = 1 - truth
    >>> row = compare(votes, Slush(4, 3), truth=truth).participant_table.rows[4]
    >>> row.accuracy, row.finding
    (0.0, 'always wrong (0 of 200 right)')
    """

    name: str
    role: Role
    holdout: float | None
    holdout_low: float | None
    holdout_high: float | None
    held_out: int
    accuracy: float | None
    accuracy_low: float | None
    accuracy_high: float | None
    votes: int
    agreement: float | None
    weight: float | None
    changes: float | None
    undecided: float | None
    finding: str


@dataclass(frozen=True)
class ParticipantTable(RowTable[ParticipantRow]):
    """The participants of a report: print it, write it with ``to_csv``, or take ``frame()``.

    Parameters
    ----------
    rows : tuple of ParticipantRow
        A row for each participant.

    See Also
    --------
    describe_participants : Makes it of votes and an answer.

    Examples
    --------
    >>> from folkmoot import Slush, compare
    >>> from folkmoot.datasets import homogeneous_votes
    >>> votes, truth, _ = homogeneous_votes(5, p=0.8, inputs=200)
    >>> votes[4] = 0
    >>> print(compare(votes, Slush(4, 3), truth=truth).participant_table)
    5 participants, 1 with a finding
    <BLANKLINE>
    participant                  accuracy  agrees  changes  finding
    ---------------------------------------------------------------------------
    participant 0  0.760 (0.696 to 0.814)   0.785       43
    participant 1  0.805 (0.745 to 0.854)   0.850       30
    participant 2  0.825 (0.766 to 0.871)   0.810       38
    participant 3  0.800 (0.739 to 0.850)   0.805       39
    participant 4  0.500 (0.431 to 0.569)   0.555       89  constant (always 0)
    <BLANKLINE>
    """

    rows: tuple[ParticipantRow, ...]

    @classmethod
    def columns(cls) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(field.name for field in fields(ParticipantRow))

    @classmethod
    def shown(cls) -> tuple[Column, ...]:
        """The columns for people."""
        return _SHOWN

    @staticmethod
    def merit(row: ParticipantRow) -> float:
        """Accuracy here, or on the holdout, or agreement with the answer."""
        each = (row.accuracy, row.holdout, row.agreement)
        return next((value for value in each if value is not None), -1.0)


def describe_participants(
    seen: Votes,
    answer: Ints,
    *,
    names: Sequence[str],
    classes: int,
    truth: Ints | None = None,
    labels: Sequence[Any] | Array | None = None,
    holdout: tuple[Ints, Ints] | None = None,
    weight: Floats | None = None,
    changes: Floats | None = None,
    undecided: Floats | None = None,
    byzantine: Sequence[str] = (),
    faulty: Mapping[str, str] | None = None,
) -> ParticipantTable:
    """Make a row for each participant of its votes and of the answer that the moot came to.

    Parameters
    ----------
    seen : ndarray of int, shape (participant, input)
        The votes as they were handed in, -1 for none.
    answer : ndarray of int, shape (repetition, input) or (input,)
        What the moot answered, -1 where it decided nothing.
    names : sequence of str
        The participants' names.
    classes : int
        The number of colours.
    truth : ndarray of int, shape (input,), optional
        The right colours, -1 where not known. Default: none is known.
    labels : sequence, optional
        What the colours are called. Default: by their numbers.
    holdout : (right, total), optional
        How many of how many labelled rows of its own each answers right. Default: nobody has any.
    weight : ndarray of float, shape (participant,), optional
        What each one's vote counts for, nan if not known. Default: 1.
    changes : ndarray of float, shape (participant,), optional
        On how many inputs each changed its mind, nan if not known.
    undecided : ndarray of float, shape (participant,), optional
        On how many inputs each ended without a label, nan if not known.
    byzantine : sequence of str, optional
        The names of those who lie, where that is known.
    faulty : mapping of str to str, optional
        The names of those who could not answer, and why.

    Returns
    -------
    ParticipantTable
        A row each, with what was found.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.comparison.who import describe_participants
    >>> votes = np.tile([[0, 1, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1]], 10)
    >>> names = ["north", "south", "west"]
    >>> table = describe_participants(votes, votes[0], names=names, classes=2, truth=votes[0])
    >>> table.findings
    {'west': 'always wrong (0 of 40 right)'}
    """
    n = len(seen)
    answers = np.atleast_2d(answer)
    cast = seen != UNCOLOURED
    given = answers != UNCOLOURED
    compared = (cast[None] & given[:, None]).sum(axis=(0, 2)) / len(answers)
    agreed = ((seen[None] == answers[:, None]) & cast[None]).sum(axis=(0, 2)) / len(answers)
    kept_right, kept = (np.zeros(n), np.zeros(n)) if holdout is None else map(np.asarray, holdout)
    judged = np.zeros(seen.shape[1], dtype=bool) if truth is None else truth != UNCOLOURED
    total = (cast & judged).sum(axis=1)
    right = np.zeros(n) if truth is None else ((seen == truth) & cast & judged).sum(axis=1)
    found = find_findings(
        seen,
        answers[0],
        truth if judged.any() else None,
        np.where(total > 0, right, kept_right).astype(np.float64),
        np.where(total > 0, total, kept).astype(np.float64),
        agreed,
        compared,
        classes=classes,
        names=names,
        labels=labels,
    )
    faults = faulty or {}
    held = _shares(kept_right, kept)
    here = _shares(right, total)
    weights = np.ones(n) if weight is None else weight
    turned, open_ = (np.full(n, np.nan) if each is None else each for each in (changes, undecided))
    together = _shares(agreed, compared)[0]
    return ParticipantTable(
        tuple(
            ParticipantRow(
                name=str(names[i]),
                role="byzantine" if names[i] in byzantine else "faulty" if names[i] in faults else "honest",
                holdout=known(held[0][i]),
                holdout_low=known(held[1][i]),
                holdout_high=known(held[2][i]),
                held_out=int(kept[i]),
                accuracy=known(here[0][i]),
                accuracy_low=known(here[1][i]),
                accuracy_high=known(here[2][i]),
                votes=int(cast[i].sum()),
                agreement=known(together[i]),
                weight=known(weights[i]),
                changes=known(turned[i]),
                undecided=known(open_[i]),
                finding=f"faulty: {faults[names[i]]}" if names[i] in faults else found[i],
            )
            for i in range(n)
        )
    )


def _shares(part: Any, whole: Any) -> tuple[Floats, Floats, Floats]:
    """A share and its interval, nan where nothing was counted."""
    good, all_of_them = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    share = np.where(all_of_them > 0, good / np.maximum(all_of_them, 1e-300), np.nan)
    return (share, *interval(good, all_of_them))


def _ranged(share: float | None, low: float | None, high: float | None) -> str:
    return "-" if share is None else f"{share:.3f} ({low:.3f} to {high:.3f})"


_SHOWN: Final[tuple[Column, ...]] = (
    ("participant", lambda row: row.name, lambda row: bool(row.name)),
    ("role", lambda row: row.role, lambda row: row.role != "honest"),
    (
        "holdout",
        lambda row: _ranged(row.holdout, row.holdout_low, row.holdout_high),
        lambda row: row.holdout is not None,
    ),
    (
        "accuracy",
        lambda row: _ranged(row.accuracy, row.accuracy_low, row.accuracy_high),
        lambda row: row.accuracy is not None,
    ),
    ("agrees", lambda row: share(row.agreement), lambda row: row.agreement is not None),
    ("weight", lambda row: count(row.weight), lambda row: row.weight != 1.0),
    ("changes", lambda row: count(row.changes), lambda row: row.changes is not None),
    ("undecided", lambda row: count(row.undecided), lambda row: bool(row.undecided)),
    ("finding", lambda row: row.finding, lambda row: row.finding is not None),
)

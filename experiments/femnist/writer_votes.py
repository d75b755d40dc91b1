"""Votes of single-writer models on the test letters, computed once and kept: a bit a vote.

Section 5.1: every model is trained on 80% of one writer's letters, lower case 0 and upper case 1. Beyond the
paper there are tasks of more classes, with as many bits a vote as they need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.femnist.writers import LETTERS, LOWER, Choice, choose
from folkmoot.arrays import Array, Floats, Ints, Singles
from folkmoot.datasets import load_femnist
from folkmoot.datasets.moot_data import MootData
from folkmoot.learning.participants import Task, fit_participant, held_out_rows
from folkmoot.machine import to_install
from folkmoot.outcome import laplace_accuracy
from folkmoot.votes import Votes

HELD_OUT: Final = 0.2
CASE, KIND, DIGITS = "case", "kind", "digits"
COLOURS: Final = {CASE: 2, KIND: 3, DIGITS: 10}  # lower, upper; digit, upper, lower; 0 to 9
FEWEST_ROWS: Final = 5  # of a task, to train a model on; all who are chosen have more letters than that
FAMILIES: Final = {"rf": "random forest", "xgboost": "XGBoost", "lightgbm": "LightGBM"}


@dataclass(frozen=True)
class Packed:
    """An array of small numbers, a plane for each of their bits, eight to a byte, in C order."""

    bits: bytes
    shape: list[int]
    planes: int = 1

    @classmethod
    def of(cls, array: Array) -> Packed:
        """The array, which must hold nothing but 0 to 255."""
        if array.size and (array.min() < 0 or array.max() > 255):
            raise ValueError(f"only numbers 0 to 255 can be packed: got {array.min()} to {array.max()}")
        planes = max(1, int(array.max(initial=0)).bit_length())
        bits = (array.astype(np.int64) >> np.arange(planes).reshape(-1, *[1] * array.ndim)) & 1
        return cls(np.packbits(bits.astype(np.uint8)).tobytes(), list(array.shape), planes)

    def unpacked(self) -> Ints:
        """The array again."""
        size = self.planes * int(np.prod(self.shape))
        bits = np.unpackbits(np.frombuffer(self.bits, dtype=np.uint8), count=size)
        planes = bits.astype(np.int64).reshape(self.planes, *self.shape)
        return np.asarray(np.tensordot(1 << np.arange(self.planes), planes, axes=1), dtype=np.int64)


@dataclass(frozen=True)
class MemberVotes:
    """What the members of an ensemble said of the test letters, and what they know of themselves.

    The letters are those of the first test writer, then of the second, and so on: the test set of s writers
    is the first ``sum(letters[:s])`` of them.
    """

    seed: int
    members: list[str]
    votes: Packed  # (member, letter)
    truth: Packed  # (letter,)
    letters: list[int]  # of each test writer
    trained_on: list[int]  # letters of each member
    held_out: list[int]
    right: list[int]  # of the held-out letters
    confusion: list[list[list[int]]]  # (member, true colour, answer): held-out letters

    @property
    def validation(self) -> Floats:
        """Accuracy of each member on the letters it held out."""
        return np.asarray(np.array(self.right) / np.array(self.held_out), dtype=np.float64)

    @property
    def cautious(self) -> Floats:
        """The same after Laplace, (right + 1) / (held out + 2): never 0 or 1."""
        return laplace_accuracy(self.right, self.held_out)

    def test_set(self, writers: int) -> tuple[Votes, Votes]:
        """Votes and truth on the letters of the first test writers."""
        columns = sum(self.letters[:writers])
        return self.votes.unpacked()[:, :columns], self.truth.unpacked()[:columns]


def joined(parts: Sequence[MemberVotes]) -> MemberVotes:
    """One ensemble of the members of several, all asked about the same letters."""
    first = parts[0]
    return MemberVotes(
        seed=first.seed,
        members=[name for part in parts for name in part.members],
        votes=Packed.of(np.concatenate([part.votes.unpacked() for part in parts])),
        truth=first.truth,
        letters=first.letters,
        trained_on=[size for part in parts for size in part.trained_on],
        held_out=[size for part in parts for size in part.held_out],
        right=[right for part in parts for right in part.right],
        confusion=[table for part in parts for table in part.confusion],
    )


def fit_family(
    data: str | None,
    seed: int,
    family: str,
    writers: int,
    test_writers: int,
    trees: int,
    task: str = CASE,
    most: int | None = None,
) -> MemberVotes:
    """Cell: a model of this family for every training writer, and its votes on all test letters.

    ``most`` draws so many of them; who wrote next to nothing of the task trains no model.
    """
    model = model_of(family, trees)
    choice = choose(data, seed, writers, test_writers)
    rows = rows_of_task(data, task, choice)
    X_test, truth, letters = drawn_test(rows, choice.test, seed, most)
    participants, votes, confusion = [], [], []
    with threadpool_limits(1):  # cells run side by side
        for i, name in enumerate(choice.train):
            mine = np.flatnonzero(rows.groups == name)
            if len(mine) < FEWEST_ROWS:
                continue
            rng = np.random.default_rng([seed, i])
            held_out = held_out_rows(rows.y[mine], HELD_OUT, rng)
            model.set_params(random_state=int(rng.integers(2**31)))
            participant = fit_participant(
                Task(name, model, None, rows.X[mine], rows.y[mine], None, held_out, None)
            )
            kept_back = mine[held_out[: participant.held_out]]  # none, if it knows one answer only
            answers = participant.predict(np.concatenate([X_test, rows.X[kept_back]]))
            if isinstance(answers, str):
                raise RuntimeError(f"the model of writer {name} cannot answer: {answers}")
            participants.append(participant)
            votes.append(answers[: len(truth)])
            confusion.append(confusion_counts(rows.y[kept_back], answers[len(truth) :], COLOURS[task]))
    return MemberVotes(
        seed=seed,
        members=[each.name for each in participants],
        votes=Packed.of(np.array(votes)),
        truth=Packed.of(truth),
        letters=letters,
        trained_on=[each.rows for each in participants],
        held_out=[each.held_out for each in participants],
        right=[each.right for each in participants],
        confusion=confusion,
    )


def rows_of_task(data: str | None, task: str, choice: Choice) -> MootData:
    """The rows of a task of those who were chosen."""
    if task == CASE:
        return load_femnist(data, task="case", writers=choice.train, test_writers=choice.test)
    rows = load_femnist(data, task="characters", writers=choice.train, test_writers=choice.test)
    parts: dict[str, Any] = {}
    for end in ("", "_test"):
        X, y, groups = (getattr(rows, name + end) for name in ("X", "y", "groups"))
        wanted = y < LETTERS.start if task == DIGITS else np.full(len(y), True)
        label = y if task == DIGITS else (y >= LETTERS.start).astype(np.int64) + (y >= LOWER.start)
        parts |= {f"X{end}": X[wanted], f"y{end}": label[wanted], f"groups{end}": groups[wanted]}
    return replace(rows, classes=np.arange(COLOURS[task]), **parts)


def confusion_counts(truth: Array, answers: Array, classes: int = 2) -> list[list[int]]:
    """(true colour, answer): how often."""
    table = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(table, (truth, answers), 1)
    rows: list[list[int]] = table.tolist()
    return rows


def ordered_test(rows: Any, writers: Sequence[str]) -> tuple[Singles, Ints, list[int]]:
    """Images and labels of the test writers one after another, and how many each has."""
    places = [np.flatnonzero(rows.groups_test == name) for name in writers]
    order = np.concatenate(places)
    return rows.X_test[order], rows.y_test[order], [len(each) for each in places]


def drawn_test(
    rows: Any, writers: Sequence[str], seed: int, most: int | None
) -> tuple[Singles, Ints, list[int]]:
    """The same, but at most so many of them, drawn by the seed."""
    X_test, truth, letters = ordered_test(rows, writers)
    if most is None or most >= len(truth):
        return X_test, truth, letters
    drawn = np.sort(np.random.default_rng([seed, 3]).permutation(len(truth))[:most])
    ends = np.searchsorted(drawn, np.cumsum([0, *letters]))
    return X_test[drawn], truth[drawn], np.diff(ends).tolist()


def model_of(family: str, trees: int) -> Any:
    """A model with the default parameters of its package but for the number of trees (100 in all three)."""
    if family == "rf":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(n_estimators=trees, n_jobs=1)
    try:
        if family == "xgboost":
            from xgboost import XGBClassifier

            return XGBClassifier(n_estimators=trees, n_jobs=1, verbosity=0)
        if family == "lightgbm":
            from lightgbm import LGBMClassifier

            return LGBMClassifier(
                n_estimators=trees, n_jobs=1, verbosity=-1, deterministic=True, force_row_wise=True
            )
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{FAMILIES[family]} is not installed: {to_install('boost')}", name=error.name
        ) from None
    raise ValueError(f"family must be one of {', '.join(FAMILIES)}: got {family!r}")

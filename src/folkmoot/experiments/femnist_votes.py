"""Votes of single-writer models on the test letters, computed once and kept: a bit a vote.

Section 5.1: every model is trained on 80% of one writer's letters, lower case 0 and upper case 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from folkmoot.datasets import load_femnist
from folkmoot.experiments.femnist_writers import choose
from folkmoot.learning.participants import Task, fit_classifier, held_out_rows
from folkmoot.votes import Votes

Floats = npt.NDArray[np.float64]
HELD_OUT: Final = 0.2
FAMILIES: Final = {"rf": "random forest", "xgboost": "XGBoost", "lightgbm": "LightGBM"}


@dataclass(frozen=True)
class Packed:
    """An array of 0 and 1, eight to a byte, in C order."""

    bits: bytes
    shape: list[int]

    @classmethod
    def of(cls, array: npt.NDArray[Any]) -> Packed:
        """The array, which must hold nothing but 0 and 1."""
        if ((array != 0) & (array != 1)).any():
            raise ValueError("only 0 and 1 can be packed")
        return cls(np.packbits(array.astype(np.uint8)).tobytes(), list(array.shape))

    def unpacked(self) -> npt.NDArray[np.int64]:
        """The array again."""
        size = int(np.prod(self.shape))
        bits = np.unpackbits(np.frombuffer(self.bits, dtype=np.uint8), count=size)
        return bits.astype(np.int64).reshape(self.shape)


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

    @property
    def validation(self) -> Floats:
        """Accuracy of each member on the letters it held out."""
        return np.asarray(np.array(self.right) / np.array(self.held_out), dtype=np.float64)

    @property
    def cautious(self) -> Floats:
        """The same after Laplace, (right + 1) / (held out + 2): never 0 or 1."""
        return np.asarray((np.array(self.right) + 1) / (np.array(self.held_out) + 2), dtype=np.float64)

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
    )


def fit_family(
    data: str | None, seed: int, family: str, writers: int, test_writers: int, trees: int
) -> MemberVotes:
    """Cell: a model of this family for every training writer, and its votes on all test letters."""
    model = _model(family, trees)
    choice = choose(data, seed, writers, test_writers)
    rows = load_femnist(data, task="case", writers=choice.train, test_writers=choice.test)
    X_test, truth, letters = ordered_test(rows, choice.test)
    participants, votes = [], []
    with threadpool_limits(1):  # cells run side by side
        for i, name in enumerate(choice.train):
            mine = rows.rows(name)
            rng = np.random.default_rng([seed, i])
            held_out = held_out_rows(rows.y[mine], HELD_OUT, rng)
            model.set_params(random_state=int(rng.integers(2**31)))
            task = Task(name, model, None, rows.X[mine], rows.y[mine], None, held_out, None)
            participant = fit_classifier(task)
            answers = participant.predict(X_test)
            if isinstance(answers, str):
                raise RuntimeError(f"the model of writer {name} cannot answer: {answers}")
            participants.append(participant)
            votes.append(answers)
    return MemberVotes(
        seed=seed,
        members=list(choice.train),
        votes=Packed.of(np.array(votes)),
        truth=Packed.of(truth),
        letters=letters,
        trained_on=[each.rows for each in participants],
        held_out=[each.held_out for each in participants],
        right=[each.right for each in participants],
    )


def ordered_test(
    rows: Any, writers: Sequence[str]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], list[int]]:
    """Images and labels of the test writers one after another, and how many each has."""
    places = [np.flatnonzero(rows.groups_test == name) for name in writers]
    order = np.concatenate(places)
    return rows.X_test[order], rows.y_test[order], [len(each) for each in places]


def _model(family: str, trees: int) -> Any:
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
            f'{FAMILIES[family]} is not installed: pip install "folkmoot[boost]"', name=error.name
        ) from None
    raise ValueError(f"family must be one of {', '.join(FAMILIES)}: got {family!r}")

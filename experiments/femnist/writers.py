"""Who trains and who is tested on in the experiments of section 5.1: writers, and groups of writers.

A pure function of the data and the seed, so that all experiments, and all cells of one, have the same test
sets. Data with fewer writers than wanted are used for less; nothing is refused that can be done smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from folkmoot.datasets.femnist import femnist_counts

# A model of one writer needs both cases, to train on and to hold out. A few writers have one case only.
LEAST_LETTERS: Final = 20
LEAST_OF_EACH_CASE: Final = 5
_FEWEST_WRITERS: Final = 6
LETTERS: Final = slice(10, 62)  # among the 62 characters
_UPPER, LOWER = slice(10, 36), slice(36, 62)
_GROUP_SIZES: Final = (33, 33, 34)  # LEAF's files of 100 writers, each split in three (appendix C)


@dataclass(frozen=True)
class Choice:
    """Names: ``train`` in the order drawn; of ``test`` the first s make the test set of s writers."""

    train: tuple[str, ...]
    test: tuple[str, ...]

    def test_sets(self, sizes: Sequence[int]) -> list[int]:
        """The sizes of test sets that there are writers for, ascending."""
        return sizes_of_test_sets(sizes, len(self.test))


@dataclass(frozen=True)
class WriterGroups:
    """Groups of writers, and whether no writer is in two."""

    members: tuple[tuple[str, ...], ...]
    disjoint: bool


def sizes_of_test_sets(wanted: Sequence[int], writers: int) -> list[int]:
    """Those of the wanted sizes that so many writers allow; the largest is cut to what there is."""
    return sorted({min(size, writers) for size in wanted})


@lru_cache(maxsize=4)
def choose(data: str | None, seed: int, writers: int, test_writers: int) -> Choice:
    """``writers`` to train and ``test_writers`` others: the first and the last of the shuffled names.

    With fewer than both together, each gets its share, and an odd number train (a majority has no ties).
    """
    names, counts = femnist_counts(data)
    upper, lower = counts[:, _UPPER].sum(axis=1), counts[:, LOWER].sum(axis=1)
    enough = (np.minimum(upper, lower) >= LEAST_OF_EACH_CASE) & (upper + lower >= LEAST_LETTERS)
    order: list[str] = np.random.default_rng(seed).permutation(names[enough]).tolist()
    have, wanted = len(order), writers + test_writers
    if have < _FEWEST_WRITERS:
        raise ValueError(
            f"the data must have at least {_FEWEST_WRITERS} writers with {LEAST_LETTERS} letters, "
            f"{LEAST_OF_EACH_CASE} of each case: got {have}"
        )
    if have < wanted:
        test_writers = max(1, have * test_writers // wanted)
        writers = have - test_writers
        writers -= 1 - writers % 2
    return Choice(tuple(order[:writers]), tuple(order[::-1][:test_writers]))


@lru_cache(maxsize=4)
def group(data: str | None, seed: int, writers: int, test_writers: int, groups: int) -> WriterGroups:
    """Groups of 33, 33 and 34 of the writers who are not tested on, whatever letters they have.

    In the order of their names, as LEAF cuts its files, if there are enough; else each group is drawn by
    itself, of at most a third of the writers, and groups overlap.
    """
    names, counts = femnist_counts(data)
    tested = choose(data, seed, writers, test_writers).test
    letters = counts[:, LETTERS].sum(axis=1)
    pool = [name for name in names[letters > 0].tolist() if name not in tested]
    sizes = [_GROUP_SIZES[i % len(_GROUP_SIZES)] for i in range(groups)]
    if sum(sizes) <= len(pool):
        ends = np.cumsum(sizes).tolist()
        cut = [tuple(pool[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
        return WriterGroups(tuple(cut), disjoint=True)
    rng = np.random.default_rng([seed, 1])
    most = max(2, len(pool) // 3)
    drawn = [rng.choice(len(pool), min(size, most), replace=False) for size in sizes]
    return WriterGroups(tuple(tuple(pool[i] for i in sorted(each)) for each in drawn), disjoint=False)


def notes_on_writers(
    wanted: int, have: int, test_wanted: Sequence[int], letters: Sequence[int]
) -> tuple[str, ...]:
    """What a reader must know about the writers of an experiment with models of single ones."""
    notes = [
        letters_of_test_sets(test_wanted, letters),
        f"Only writers with at least {LEAST_LETTERS} letters, {LEAST_OF_EACH_CASE} of each case, take part: "
        "a few wrote in one case only, and no model can be trained on that. The paper does not say how it "
        "chose.",
    ]
    if have < wanted or len(letters) < max(test_wanted):
        notes.append(
            f"The data have fewer writers than the {wanted} and {max(test_wanted)} wanted: {have} train "
            f"and {len(letters)} are tested on."
        )
    return tuple(notes)


def letters_of_test_sets(wanted: Sequence[int], letters: Sequence[int]) -> str:
    """How large the test sets are, beside the paper's."""
    sizes = sizes_of_test_sets(wanted, len(letters))
    return (
        f"Test sets of {_listed(sizes)} new writers, each in the next, have "
        f"{_listed([sum(letters[:size]) for size in sizes])} letters; the paper's of 1, 10 and 100 have "
        "49, 453 and 4741. They are other writers."
    )


def notes_on_groups(members: Sequence[str], wanted: int) -> tuple[str, ...]:
    """Whether groups (names joined by +) overlap, and how much."""
    groups = [set(each.split("+")) for each in members]
    everyone = set().union(*groups)
    places = sum(map(len, groups))
    if places == len(everyone):
        return ("No writer is in two groups, as in the paper.",)
    needed = sum(_GROUP_SIZES[i % len(_GROUP_SIZES)] for i in range(wanted))
    return (
        f"The paper's 101 groups are disjoint, which takes 3,366 training writers ({needed:,} for {wanted} "
        "groups); these data have fewer. So each group is drawn by itself and groups overlap: a writer is in "
        f"{places / len(everyone):.1f} of {len(groups)} groups on average, and the members are less diverse "
        "than the paper's.",
    )


def _listed(numbers: Sequence[int]) -> str:
    *first, last = (f"{number:,}" for number in numbers)
    return f"{', '.join(first)} and {last}" if first else last

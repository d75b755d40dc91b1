"""``training-sizes``: letters that the models of section 5.1 are trained on (figure "RF training size")."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from experiments.experiment import Experiment, Finding, Plan, Result
from experiments.femnist.writer_votes import HELD_OUT
from experiments.femnist.writers import LETTERS, choose, group, notes_on_groups
from folkmoot.arrays import Ints
from folkmoot.datasets.femnist import femnist_counts
from folkmoot.pictures.palette import BLUE, ORANGE, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# LEAF's own statistics of all 3,550 writers and 62 classes, as the paper cites them.
LEAF_MEAN, LEAF_DEVIATION, LEAF_WRITERS = 227, 89, 3550


@dataclass(frozen=True)
class Config:
    """As in the experiments whose training sets these are."""

    data: str | None = None
    groups: int = 101
    writers: int = 101
    test_writers: tuple[int, ...] = (1, 10, 100)


@dataclass(frozen=True)
class Sizes:
    """Letters that each model is trained on, and samples of all 62 classes by every writer in the data."""

    writers: list[int]
    groups: list[int]
    members: list[str]  # of each group, joined by +
    samples: list[int]


class SizesFound(TypedDict):
    """What the cell returned."""

    sizes: Sizes


@dataclass(frozen=True)
class SizesResult(Result):
    """Training set sizes of the single writers and of the groups."""

    writers: tuple[int, ...]
    groups: tuple[int, ...]


def count(data: str | None, seed: int, groups: int, writers: int, test_writers: int) -> Sizes:
    """Cell: count letters; nothing is trained and no image is read."""
    names, counts = femnist_counts(data)
    letters = dict(zip(names.tolist(), counts[:, LETTERS].sum(axis=1).tolist(), strict=True))
    chosen = group(data, seed, writers, test_writers, groups).members
    return Sizes(
        writers=[_kept(letters[name]) for name in choose(data, seed, writers, test_writers).train],
        groups=[_kept(sum(letters[name] for name in each)) for each in chosen],
        members=["+".join(each) for each in chosen],
        samples=counts.sum(axis=1).tolist(),
    )


def _kept(letters: int) -> int:
    return letters - round(HELD_OUT * letters)


def cells(config: Config, seed: int) -> Plan:
    """One: it only counts."""
    return {
        "sizes": partial(
            count,
            data=config.data,
            seed=seed,
            groups=config.groups,
            writers=config.writers,
            test_writers=max(config.test_writers),
        )
    }


def result(config: Config, found: SizesFound) -> SizesResult:
    """Both distributions in numbers, and LEAF's statement about all writers beside that of these data."""
    sizes = found["sizes"]
    samples = np.array(sizes.samples)
    singles, groups = np.array(sizes.writers), np.array(sizes.groups)
    complete = len(samples) == LEAF_WRITERS
    return SizesResult(
        verdict=(
            f"Drawn again from these data: {_spread(singles)} for single writers, {_spread(groups)} for "
            f"groups, {groups.mean() / singles.mean():.0f} times as many."
        ),
        findings=(
            Finding("letters to train one model on: single writers", "drawn, not printed", _spread(singles)),
            Finding("letters to train one model on: groups", "drawn, not printed", _spread(groups)),
            Finding(
                "samples per writer, all 62 classes",
                f"mean {LEAF_MEAN}, standard deviation {LEAF_DEVIATION}",
                f"mean {samples.mean():.0f}, standard deviation {samples.std():.0f}",
                difference=f"{samples.mean() - LEAF_MEAN:+.0f} in the mean",
                reason="" if complete else f"these data have {len(samples)} of the {LEAF_WRITERS:,} writers",
            ),
        ),
        notes=(
            "Sizes are after a fifth of the letters has been held out. LEAF's mean of 227 samples counts "
            "digits and letters of all writers; these models see letters only.",
            *notes_on_groups(sizes.members, config.groups),
            *(
                ()
                if len(singles) == config.writers
                else (
                    f"The data have enough writers for {len(singles)} single models, not {config.writers}.",
                )
            ),
        ),
        writers=tuple(sizes.writers),
        groups=tuple(sizes.groups),
    )


def _spread(sizes: Ints) -> str:
    return f"{sizes.min():,} to {sizes.max():,} letters, mean {sizes.mean():,.1f}"


def figures(result: SizesResult) -> dict[str, Figure]:
    """Two histograms."""
    figure, (left, right) = panels(1, 2)
    for axes, sizes, colour, what in (
        (left, result.writers, BLUE, "single writers"),
        (right, result.groups, ORANGE, "groups of writers"),
    ):
        axes.hist(sizes, bins=25, color=colour, alpha=0.8)
        axes.set_title(f"{len(sizes)} {what}", fontsize=10)
        axes.set(xlabel="letters to train on", ylabel="models")
    return {"training-sizes": figure}


EXPERIMENT = Experiment(
    name="training-sizes",
    about="how many letters the models of single writers and of groups are trained on",
    claim=(
        "Appendix C, figure 'RF training size': distributions of the training set sizes of 101 single "
        "writers and of 101 groups of writers. LEAF: 227 samples a writer on average, standard deviation 89."
    ),
    full=Config(),
    quick=Config(groups=9, writers=25, test_writers=(1, 5, 10)),
    cells=cells,
    result=result,
    figures=figures,
    needs_data=True,
)

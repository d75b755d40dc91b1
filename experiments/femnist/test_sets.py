"""An ensemble on the test sets of section 5.1: every member, and everything they answer together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from experiments.experiment import Cell, Finding
from experiments.femnist.ensemble import (
    BEYOND,
    PAPER,
    Lead,
    Members,
    Method,
    TalkSettings,
    answers,
    methods,
)
from experiments.femnist.writer_votes import MemberVotes
from experiments.femnist.writers import sizes_of_test_sets

DRAWN = "drawn, not printed"


@dataclass(frozen=True)
class OnTestSet:
    """The accuracies of all members on one test set, and of what they answer together."""

    writers: int
    letters: int
    accuracies: list[float]
    methods: list[Method]

    def method(self, name: str) -> Method:
        """The method of this name."""
        return next(method for method in self.methods if method.name == name)

    @property
    def mean(self) -> float:
        """Of the members."""
        return sum(self.accuracies) / len(self.accuracies)

    @property
    def best(self) -> float:
        """The best member, which only the truth can tell."""
        return max(self.accuracies)


@dataclass(frozen=True)
class Ensemble:
    """Members of one kind: validation accuracies, and how they do on each test set."""

    name: str
    validation: list[float]
    tests: list[OnTestSet]

    @property
    def above_half(self) -> int:
        """How many have a validation accuracy above one half."""
        return sum(accuracy > 0.5 for accuracy in self.validation)


def members_of(votes: MemberVotes, writers: int) -> Members:
    """The members as they meet the test set of so many writers."""
    cast, truth = votes.test_set(writers)
    return Members(cast, truth, votes.validation, votes.cautious)


def assess(
    name: str, votes: MemberVotes, sizes: Sequence[int], talk: TalkSettings, names: Iterable[str]
) -> Ensemble:
    """Let the members vote and talk about every test set."""
    wanted = tuple(names)
    tests = []
    for writers in sizes_of_test_sets(sizes, len(votes.letters)):
        members = members_of(votes, writers)
        found = answers(members, talk, votes.seed, wanted)
        tests.append(
            OnTestSet(
                writers=writers,
                letters=len(members.truth),
                accuracies=members.accuracies.tolist(),
                methods=methods(found, members.truth),
            )
        )
    return Ensemble(name, votes.validation.tolist(), tests)


def assess_cell(name: str, votes: MemberVotes, sizes: Sequence[int], talk: TalkSettings) -> Cell:
    """The talk of an ensemble about its test sets, with all methods, as a cell."""
    names = [*PAPER, *BEYOND]
    return partial(assess, name=name, votes=votes, sizes=list(sizes), talk=talk, names=names)


def accuracy_findings(ensemble: Ensemble) -> list[Finding]:
    """The dashed lines of the paper's figure, one finding for each test set."""
    return [
        Finding(
            f"{ensemble.name}, {on_writers(test.writers)}: majority / Slush / local Slush by validation / "
            "by test",
            DRAWN,
            " / ".join(str(test.method(each)) for each in ("majority", *PAPER)),
        )
        for test in ensemble.tests
    ]


def on_writers(number: int) -> str:
    """1 new writer, 10 new writers."""
    return f"{number} new writer{'' if number == 1 else 's'}"


def counted(leads: Sequence[Lead]) -> str:
    """How often ahead, level and behind."""
    signs = [each.sign for each in leads]
    return (
        f"ahead in {signs.count(1)}, level in {signs.count(0)}, behind in {signs.count(-1)} of {len(signs)}"
    )


def in_a_word(judged: Sequence[Sequence[Lead]]) -> str:
    """How many of the claims "ahead of the majority" hold: more often ahead than behind."""
    holding = sum(sum(lead.sign for lead in leads) > 0 for leads in judged)
    if holding == len(judged):
        return "Reproduced."
    return "Partly reproduced." if holding else "Not reproduced on these data."

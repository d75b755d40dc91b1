"""Who talks in the study ``outlook``: learners of beta-distributed accuracy, or models of FEMNIST writers.

And what others take their accuracies for: the truth, what they held out shows, what liars claim, or mistakes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.femnist.writer_votes import MemberVotes
from experiments.mechanism.frozen import held_rows
from experiments.theory.beta_law import beta_accuracies
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.adversaries.interface import Adversary
from folkmoot.aggregation import Rows
from folkmoot.arrays import Floats, Ints
from folkmoot.outcome import laplace_accuracy, participant_accuracies
from folkmoot.votes import Votes

TRUE: Final = "true accuracies"
HOLDOUT: Final = "holdout"
BOASTED: Final = "holdout, liars claim the best"
SHUFFLED: Final = "accuracies of others"
KNOWN: Final = (TRUE, HOLDOUT, BOASTED, SHUFFLED)


@dataclass(frozen=True, eq=False)
class Crowd:
    """First votes and truth of a batch, and what each participant's labelled rows show."""

    votes: Votes  # (participant, input)
    truth: Votes
    accuracies: Floats  # of the models: drawn ones, or on the batch
    right: Ints  # of the rows held out
    held_out: Ints
    rows: Rows  # that each holds back, with its own votes on them
    seed: int

    def liars(self, share: float) -> dict[int, Adversary]:
        """Perfectly malicious ones, drawn by the seed; more include the fewer."""
        order = np.random.default_rng([self.seed, 1]).permutation(len(self.votes)).tolist()
        return {i: PerfectlyMalicious() for i in order[: round(share * len(self.votes))]}

    def known(self, what: str, liars: dict[int, Adversary]) -> Floats:
        """What everybody's accuracy is taken for."""
        if what == TRUE:
            return self.accuracies
        if what == SHUFFLED:
            return np.asarray(np.random.default_rng([self.seed, 2]).permutation(self.accuracies))
        right = self.right.copy()
        if what == BOASTED:
            right[list(liars)] = self.held_out[list(liars)]
        return laplace_accuracy(right, self.held_out)


def beta_crowd(mean: float, variance: float, n: int, inputs: int, held_out: int, seed: int) -> Crowd:
    """Learners whose accuracies are beta-distributed, as in section 5.2, each with some labelled rows."""
    first, second = np.random.SeedSequence(
        [seed, round(mean * 10**6), round(variance * 10**6)]
    ).generate_state(2)
    p = beta_accuracies(n, mean, variance, int(first))
    rng = np.random.default_rng(int(second))
    truth = np.arange(inputs + held_out) % 2
    votes = np.where(rng.random((n, inputs + held_out)) < p[:, None], truth, 1 - truth)
    own, known = votes[:, inputs:], truth[inputs:]
    return Crowd(
        votes=votes[:, :inputs],
        truth=truth[:inputs],
        accuracies=p,
        right=(own == known).sum(axis=1),
        held_out=np.full(n, held_out),
        rows=held_rows(_confusions(own, known)),
        seed=seed,
    )


def writers_crowd(members: MemberVotes, inputs: int) -> Crowd:
    """Models of single writers, on letters of others drawn by the seed."""
    votes, truth = members.test_set(len(members.letters))
    drawn = np.random.default_rng([members.seed, 7]).permutation(len(truth))[:inputs]
    return Crowd(
        votes=votes[:, drawn],
        truth=truth[drawn],
        accuracies=participant_accuracies(votes, truth),
        right=np.array(members.right),
        held_out=np.array(members.held_out),
        rows=held_rows(np.array(members.confusion)),
        seed=members.seed,
    )


def _confusions(answers: Ints, truth: Ints) -> Ints:
    """(participant, true class, answer): how often each answer was given to each class."""
    return np.array(
        [[[((row == b) & (truth == a)).sum() for b in (0, 1)] for a in (0, 1)] for row in answers]
    )

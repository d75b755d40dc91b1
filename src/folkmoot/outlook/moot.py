"""The arguments of a protocol of the outlook, checked once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries.interface import (
    Adversary,
    MaliciousAnswers,
    check_adversaries,
    check_known_truth,
    handed_in,
    tabulated,
)
from folkmoot.arrays import Array, Bools, Classes, Ints, Progress
from folkmoot.outcome import Outcome, check_batch, check_schedule
from folkmoot.votes import NO_VOTE, Missing, Votes, check_keys, check_missing, check_votes, class_count


@dataclass(frozen=True, eq=False)
class OutlookMoot:
    """Votes, participants and options of a run."""

    votes: Votes  # (participant, input)
    classes: int
    adversaries: dict[int, Adversary]
    truth: Array | None
    rounds: int
    repeats: int
    seed: int
    keys: Ints | None  # (input,): what seeds the randomness of each input, instead of its place
    lockstep: bool
    shared: bool  # one query carries all inputs
    missing: Missing
    record: bool
    progress: Progress | None = None

    @classmethod
    def checked(
        cls, votes: npt.ArrayLike, *, adversaries: Any = None, truth: Any = None, rounds: int = 50,
        schedule: Any = "one", batch: Any = "independent", repeats: int = 1, seed: int = 0,
        record: bool = False, classes: int | None = None, keys: Any = None, missing: Any = "absent",
        progress: Progress | None = None,
    ) -> Self:  # fmt: skip
        """The moot, or an error that names what is wrong with it; the options are those of ``deliberate``."""
        cast = check_votes(votes, classes)
        count = class_count(cast, classes, truth)
        if count > 127:
            raise ValueError(f"at most 127 classes can be deliberated: got {count}")
        malicious = check_adversaries(adversaries, len(cast), Adversary)
        return cls(
            votes=cast,
            classes=count,
            adversaries=malicious,
            truth=check_known_truth(truth, cast.shape[1], count, malicious),
            rounds=checks.rounds(rounds),
            repeats=checks.integer("repeats", repeats, least=1),
            seed=checks.seed(seed),
            keys=None if keys is None else check_keys(keys, cast.shape[1]),
            lockstep=check_schedule(schedule) == "lockstep",
            shared=check_batch(batch) == "shared",
            missing=check_missing(missing),
            record=record,
            progress=progress,
        )

    @cached_property
    def honest(self) -> Bools:
        """(participant,): who follows the protocol."""
        return ~np.isin(np.arange(len(self.votes)), list(self.adversaries))

    @cached_property
    def present(self) -> Bools:
        """(participant, input): who takes part."""
        return np.asarray((self.votes != NO_VOTE) | (self.missing != "absent"))

    @property
    def whole(self) -> bool:
        """Whether all take part everywhere."""
        return bool(self.present.all())

    @property
    def input_keys(self) -> Ints:
        """(input,): what seeds the randomness of each input."""
        return np.arange(self.votes.shape[1]) if self.keys is None else self.keys

    @cached_property
    def malicious(self) -> MaliciousAnswers:
        """Observations and answers of the Byzantine participants, the honest ones numbered first."""
        order = np.argsort(~self.honest, kind="stable")
        return tabulated(self.adversaries, self.votes, self.truth, self.classes, order)

    @property
    def first(self) -> Votes:
        """(participant, input): first votes as they are handed in, of those who take part."""
        seen = handed_in(
            self.votes, self.adversaries, self.truth, self.classes, missing=self.missing, seed=self.seed,
            keys=self.keys,
        )  # fmt: skip
        seen[~self.present & self.honest[:, None]] = NO_VOTE
        return seen


@dataclass(frozen=True, eq=False)
class Ended:
    """The result of one repetition."""

    decisions: Classes  # (participant, input): -1 for those who lie or take no part
    converged: Bools  # (input,)
    rounds: Ints  # (input,)
    queries: int
    history: Array | None = None  # (input, round, class): how many honest ones hold each


def outcome_of(moot: OutlookMoot, ended: Sequence[Ended], *, sparse: bool = True) -> Outcome:
    """All repetitions as an outcome; ``sparse`` if those who take no part do not count in the decision."""

    def every(field: str) -> Any:
        parts = [np.asarray(getattr(each, field)) for each in ended]
        return parts[0] if len(parts) == 1 else np.stack(parts)

    return Outcome(
        decisions=every("decisions"),
        honest=moot.honest,
        classes=moot.classes,
        converged=every("converged"),
        rounds=every("rounds"),
        queries=every("queries"),
        history=every("history") if moot.record else None,
        present=moot.present if sparse and not moot.present[moot.honest].all() else None,
    )


def refuse_sampling(protocol: object, sampling: object) -> None:
    """ValueError if a law is given to a protocol whose participants receive messages of all others."""
    if sampling is not None:
        name = type(protocol).__name__
        raise ValueError(f"{name} takes no sampling: it is for Slush, Snowflake and Snowball")

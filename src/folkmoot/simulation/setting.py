"""A deliberation, checked and laid out for the kernels: honest participants first, adversaries as tables.

``Setting`` is what is deliberated, ``Options`` how it is played: what chooses the kernel and its randomness.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries.interface import (
    Adversary,
    MaliciousAnswers,
    Sees,
    check_adversaries,
    check_known_truth,
    tabulated,
)
from folkmoot.arrays import Array, Bools, Floats, Ints, Words
from folkmoot.machine import cores
from folkmoot.outcome import Batch, Schedule, check_batch, check_schedule
from folkmoot.protocols.machine import Machine, machine_of
from folkmoot.protocols.naming import check_protocol
from folkmoot.protocols.sampling import Everyone, Neighbours, Others, Sampling, check_sampling, tails
from folkmoot.protocols.slush import Slush
from folkmoot.protocols.snow import SnowProtocol, reaches
from folkmoot.simulation.kernels.arguments import Chances, Deliberation, PeerLists, Results, lay_out
from folkmoot.votes import Votes, check_keys, check_votes, class_count

Device: TypeAlias = Literal["cpu", "cuda", "auto"]


@dataclass(frozen=True, eq=False)
class Setting:
    """Votes, participants and rule of a run. Arrays named ``honest_`` run over the honest participants."""

    votes: Votes  # (participant, input)
    classes: int
    protocol: SnowProtocol[Any]
    adversaries: dict[int, Adversary]
    truth: Array | None
    sampling: Sampling
    lockstep: bool
    rounds: int
    answers_given: MaliciousAnswers | None = None  # if tabulated already

    @classmethod
    def checked(
        cls,
        votes: npt.ArrayLike,
        protocol: SnowProtocol[Any],
        adversaries: Mapping[int, Adversary] | None,
        truth: npt.ArrayLike | None,
        sampling: Sampling | None,
        schedule: Schedule,
        rounds: int,
        classes: int | None,
    ) -> Setting:
        """The setting, or an error that names what is wrong with it."""
        check_protocol(protocol)
        cast = check_votes(votes, classes)
        count = class_count(cast, classes, truth)
        if count > 127:
            raise ValueError(f"at most 127 classes can be deliberated: got {count}")
        check_schedule(schedule)
        law = check_sampling(sampling)
        many = checks.rounds(rounds)
        n = len(cast)
        malicious = check_adversaries(adversaries, n, Adversary)
        setting = cls(
            votes=cast,
            classes=count,
            protocol=protocol,
            adversaries=malicious,
            truth=check_known_truth(truth, cast.shape[1], count, malicious),
            sampling=law,
            lockstep=schedule == "lockstep",
            rounds=many,
        )
        law.check(n, protocol.k)
        if protocol.weights is not None and len(protocol.weights) != n:
            raise ValueError(
                f"weights must hold one weight per participant ({n}): got {len(protocol.weights)}"
            )
        protocol.thresholds(n)
        return setting

    @cached_property
    def honest(self) -> Bools:
        """(participant,): who follows the protocol."""
        mask = np.ones(len(self.votes), dtype=np.bool_)
        mask[list(self.adversaries)] = False
        return mask

    @cached_property
    def order(self) -> Ints:
        """Participants in the order of the kernels: the honest ones first."""
        return np.concatenate((np.flatnonzero(self.honest), np.flatnonzero(~self.honest)))

    @cached_property
    def honest_votes(self) -> Array:
        """(input, honest) int8, contiguous."""
        small = self.votes.astype(np.int8)
        return np.ascontiguousarray((small[self.honest] if self.adversaries else small).T)

    @cached_property
    def honest_alpha(self) -> Ints:
        """(honest,): thresholds."""
        return np.asarray(self.protocol.thresholds(len(self.votes))[self.honest])

    @cached_property
    def peer_lists(self) -> PeerLists:
        """The peers of each honest participant and the weights of answers, by position."""
        return lay_out(self.sampling, self.protocol, self.order, int(self.honest.sum()))

    @property
    def weighted(self) -> bool:
        """Whether some answers weigh more than others."""
        return self.protocol.weights is not None

    @cached_property
    def malicious(self) -> MaliciousAnswers:
        """The observations and answers of the Byzantine participants, by position."""
        if self.answers_given is not None:
            return self.answers_given
        return tabulated(self.adversaries, self.votes, self.truth, self.classes, self.order)

    @cached_property
    def machine(self) -> Machine:
        """The protocol as a table."""
        return machine_of(self.protocol, self.classes)

    @cached_property
    def deliberation(self) -> Deliberation:
        """The arguments of every kernel."""
        return Deliberation(self.honest_votes, self.closed, self.lockstep, self.rounds)

    @cached_property
    def fixed(self) -> bool:
        """Whether every adversary gives one answer per input, whoever asks and whenever."""
        return bool((self.malicious.sees == Sees.NOTHING.value).all())

    @cached_property
    def fixed_answers(self) -> Array:
        """(byzantine, input): those answers."""
        return np.ascontiguousarray(self.malicious.answers[:, :, 1])

    @cached_property
    def fixed_counts(self) -> Ints:
        """(input, class): how many adversaries always answer it."""
        return np.stack([(self.fixed_answers == c).sum(axis=0) for c in range(self.classes)], axis=-1)

    @cached_property
    def closed(self) -> Bools:
        """(input, class): when all honest participants hold it, no query can ever change that.

        So stopping there is exact. It holds if no other class can reach anybody's threshold from the
        Byzantine answers alone (with weights: if these never name another class at all).
        """
        # This ignores who may ask whom on a graph.
        limit = 1 if self.weighted else int(self.honest_alpha.min())
        inputs = self.votes.shape[1]
        answers = self.malicious.answers
        closed = np.ones((inputs, self.classes), dtype=np.bool_)
        follows = self.malicious.sees == Sees.TARGET.value
        for held in range(self.classes):
            # An adversary that follows an honest participant then sees the class that all of them hold.
            given = (
                np.where(follows[:, None, None], answers[:, :, held + 1 : held + 2], answers)
                if follows.any()
                else answers
            )
            for other in range(self.classes):
                if other != held:
                    names = (given == other).any(axis=2)
                    closed[:, held] &= names.sum(axis=0) < limit
        return closed

    @cached_property
    def chances(self) -> Chances:
        """Chances that a class wins a query if x of the peers hold it."""
        if isinstance(self.sampling, Neighbours):
            raise ValueError("participants who may ask different peers have no common sampling law")
        n, k = len(self.votes), self.protocol.k
        thresholds, which = np.unique(self.honest_alpha, return_inverse=True)
        return Chances(
            chance=chance_rows(self.sampling, n, k, thresholds).ravel(),
            offset=(which * (self.sampling.peer_count(n, k) + 2)).astype(np.uint64),
            fixed=self.fixed_counts,
            own=np.uint64(isinstance(self.sampling, Others)),
        )

    @cached_property
    def plain(self) -> bool:
        """Two-class Slush with every honest vote cast: a node is its class."""
        return self.two_class_slush and bool((self.honest_votes >= 0).all())

    @property
    def two_class_slush(self) -> bool:
        """Whether the rule is Slush itself, on two classes."""
        return type(self.protocol) is Slush and self.classes == 2

    @property
    def exchangeable(self) -> bool:
        """Whether only the number of peers of each class matters to a query."""
        complete = isinstance(self.sampling, (Everyone, Others))
        return complete and self.fixed and not self.weighted


def chance_rows(law: Everyone | Others, n: int, k: int, thresholds: Ints) -> Array:
    """(threshold, x): the chance that a class held by x of the peers wins, in units of 2^-64."""
    peers = law.peer_count(n, k)
    counts, held = np.arange(k + 1), np.arange(peers + 1)
    won = np.array([reaches(counts, alpha) for alpha in thresholds.tolist()], dtype=np.bool_)
    rows = np.empty((len(thresholds), peers + 2), dtype=np.uint64)
    rows[:, :-1] = in_units(tails(peers, k, won.reshape(len(thresholds), k + 1), held))
    rows[:, -1] = rows[:, -2]  # x = n, which only its own class can reach
    return rows


def in_units(chance: Floats) -> Words:
    """Chances in units of 2^-64. A sure event is the largest double below 2^64: missed once in 2^53 times."""
    return np.minimum(np.ldexp(chance, 64), np.nextafter(2.0**64, 0)).astype(np.uint64)


@dataclass(frozen=True, eq=False)
class Options:
    """The options of ``deliberate`` that are not part of the setting."""

    seed: int
    keys: Ints  # (input,): what seeds the randomness of each input
    repeats: int
    shared: bool  # one query carries all inputs
    record: bool
    permute: bool
    threads: int
    device: Device = "cpu"

    @classmethod
    def checked(
        cls,
        inputs: int,
        *,
        seed: int,
        keys: npt.ArrayLike | None,
        repeats: int,
        batch: Batch,
        record: bool,
        permute: bool,
        threads: int | None,
        device: Device = "cpu",
    ) -> Self:
        """The options, or an error that names what is wrong with them."""
        check_batch(batch)
        repetitions = checks.integer("repeats", repeats, least=1)
        return cls(
            seed=checks.seed(seed),
            keys=np.arange(inputs) if keys is None else check_keys(keys, inputs),
            repeats=repetitions,
            shared=batch == "shared",
            record=record,
            permute=permute,
            threads=check_threads(threads),
            device=check_device(device),
        )


def check_device(device: Device) -> Device:
    """The device, or ValueError if it is none."""
    if device not in get_args(Device):
        raise checks.ArgumentError("{device} must be 'cpu', 'cuda' or 'auto': got {device!r}", device=device)
    return device


def check_threads(threads: int | None) -> int:
    """The number of threads; by default one per core."""
    return checks.integer("threads", cores() if threads is None else threads, least=1)


def no_results(setting: Setting, options: Options) -> Results:
    """Arrays over jobs = (repetition, input) for a kernel to fill."""
    inputs, honest = setting.honest_votes.shape
    jobs = options.repeats * inputs
    history = (jobs, setting.rounds + 1, setting.classes) if options.record else (0, 0, 0)
    return Results(
        decisions=np.empty((jobs, honest), dtype=np.int8),
        played=np.zeros(jobs, dtype=np.int64),
        asked=np.zeros(jobs, dtype=np.int64),
        converged=np.zeros(jobs, dtype=np.bool_),
        history=np.zeros(history, dtype=np.int32),
    )

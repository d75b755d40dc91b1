"""Deliberation of a moot by a Snow protocol, for plain votes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from folkmoot import checks
from folkmoot.adversaries.interface import Adversary, handed_in
from folkmoot.aggregation import Plurality
from folkmoot.aggregation.interface import Answers, ballots
from folkmoot.arrays import Ints
from folkmoot.learning.first_votes import FirstVotes
from folkmoot.learning.participants import Participant
from folkmoot.outcome import Outcome
from folkmoot.protocols.slush import Slush
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.protocols.thresholds import StrongConfidence
from folkmoot.simulation.council import Council
from folkmoot.simulation.engine import deliberate
from folkmoot.votes import NO_VOTE, Votes, vote_keys

ROUNDS: Final = 50  # at most; in a round each honest participant asks once, on average
_MOST: Final = 127  # classes that the kernels take; beyond, the classes of an input are numbered anew


class ProtocolWarning(checks.MootWarning):
    """The protocol asks more peers than there are, so k and alpha were scaled down."""


@dataclass(frozen=True)
class SnowRounds:
    """Runs of the participants of a moot by a Snow protocol."""

    protocol: Any
    participants: Sequence[Participant]
    seed: int

    def __post_init__(self) -> None:
        if isinstance(self.protocol, SnowProtocol):
            self.among(None).thresholds(len(self.participants))  # raises for a list of another length

    @staticmethod
    def check(protocol: Any, aggregation: Any, voting: str) -> None:
        """Raise if this is no protocol, or does not fit aggregation and voting."""
        if protocol is None or isinstance(protocol, Council):
            return
        if not isinstance(protocol, SnowProtocol):
            raise TypeError(
                "protocol must be Council(), or Slush, Snowflake or Snowball such as Slush(k=10, alpha=6): "
                f"got {protocol!r}"
            )
        name = type(protocol).__name__
        if aggregation is not None:
            raise checks.ArgumentError(
                "{name!s} is for plain votes: leave out {aggregation}, or take a council as {protocol}",
                name=name,
            )
        if voting != "labels":
            raise checks.ArgumentError(
                "{name!s} is for plain votes: leave out {voting=}, or take a council as {protocol}",
                name=name,
                voting=voting,
            )

    def warn_if_scaled(self) -> None:
        """Warn if there are fewer others than the protocol asks."""
        others = len(self.participants) - 1
        if isinstance(self.protocol, SnowProtocol) and self.protocol.k > others:
            found = self.protocol.scaled(others + 1)
            alpha = f", alpha={found.alpha}" if isinstance(found.alpha, int) else ""
            warnings.warn(
                f"{type(found).__name__} asks {self.protocol.k} others, and there are {others}: it goes on "
                f"with k={found.k}{alpha}",
                ProtocolWarning,
                stacklevel=4,
            )

    def among(self, seen: Votes | None) -> SnowProtocol[Any]:
        """The protocol among these participants, with thresholds by their accuracy."""
        n = len(self.participants)
        protocol = self.protocol.scaled(n) if self.protocol is not None else Slush(*checks.default_query(n))
        if isinstance(protocol.alpha, StrongConfidence) and protocol.alpha.p is None:
            right, held_out = np.array([(p.right, p.held_out) for p in self.participants]).T
            protocol = replace(protocol, alpha=StrongConfidence.of_holdout(right, held_out, seen))
        found: SnowProtocol[Any] = protocol
        return found

    def outcome(
        self,
        votes: FirstVotes,
        classes: int,
        *,
        adversaries: Mapping[int, Adversary] | None = None,
        truth: Votes | None = None,
        repeats: int = 1,
        record: bool = True,
    ) -> Outcome:
        """Deliberate."""
        malicious = {i: adversary for i, adversary in (adversaries or {}).items() if i not in votes.faults}
        seen = handed_in(votes.table, malicious, truth, classes, seed=self.seed) if malicious else votes.table
        outcome = deliberate(
            votes.table,
            self.among(seen),
            adversaries=malicious,
            truth=truth,
            classes=classes,
            keys=vote_keys(votes.table),
            rounds=ROUNDS,
            seed=self.seed,
            repeats=repeats,
            record=record,
        )
        return replace(outcome, faults=votes.faults)

    def answers(self, votes: FirstVotes, classes: int) -> Answers:
        """The decisions, with the first votes as shares."""
        choices, places = ballots(votes.table)
        counted = Plurality().aggregate(votes.table)
        if classes <= _MOST:
            return replace(counted, decision=self.outcome(votes, classes, record=False).decision)
        few = replace(votes, table=places)
        held: Ints = self.outcome(few, choices.shape[1], record=False).decision
        found = np.take_along_axis(choices, np.maximum(held, 0)[:, None], axis=1)[:, 0]
        return replace(counted, decision=np.where(held == NO_VOTE, NO_VOTE, found))

"""A deliberation, checked and laid out for the kernels: honest participants first, adversaries as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries import Adversary, Knows, Sees
from folkmoot.arrays import Array, Bools, Ints
from folkmoot.protocols import Slush, SnowProtocol, check_protocol
from folkmoot.sampling import Everyone, Neighbours, Others, Trusting, log_tail
from folkmoot.simulation.kernels.urns import Sampling, Urns, law_of, lay_out, sizes
from folkmoot.votes import UNCOLOURED, Votes, check_truth, check_votes, class_count

Liar = TypeVar("Liar")
_MOST_ROUNDS = 10**9


@dataclass(frozen=True, eq=False)
class Setting:
    """What is deliberated, by whom, how. Arrays named ``honest_`` run over the honest participants."""

    votes: Votes  # (participant, input)
    classes: int
    protocol: SnowProtocol[Any]
    adversaries: dict[int, Adversary]
    truth: Array | None
    sampling: Sampling
    lockstep: bool
    rounds: int

    @classmethod
    def checked(
        cls,
        votes: npt.ArrayLike,
        protocol: SnowProtocol[Any],
        adversaries: Mapping[int, Adversary] | None,
        truth: npt.ArrayLike | None,
        sampling: Sampling | None,
        schedule: str,
        rounds: int,
        classes: int | None,
    ) -> Setting:
        """The setting, or an error that names what is wrong with it."""
        check_protocol(protocol)
        cast = check_votes(votes, classes)
        colours = class_count(cast, classes)
        if colours > 127:
            raise ValueError(f"at most 127 colours can be deliberated: got {colours}")
        if schedule not in ("one", "lockstep"):
            raise ValueError(f"schedule must be 'one' or 'lockstep': got {schedule!r}")
        law = law_of(sampling, protocol)
        if checks.integer("rounds", rounds, least=0) > _MOST_ROUNDS:
            raise ValueError(f"rounds must satisfy rounds <= {_MOST_ROUNDS:,}: got rounds={rounds}")
        n = len(cast)
        liars = check_adversaries(adversaries, n, Adversary)
        setting = cls(
            votes=cast,
            classes=colours,
            protocol=protocol,
            adversaries=liars,
            truth=_truth(truth, cast.shape[1], colours, liars),
            sampling=law,
            lockstep=schedule == "lockstep",
            rounds=int(rounds),
        )
        if isinstance(law, (Neighbours, Trusting)):
            law.check(n, protocol.k)
        else:
            law.urn(n, protocol.k)
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
    def place(self) -> Ints:
        """The position of each participant in ``order``."""
        return np.argsort(self.order)

    @cached_property
    def honest_votes(self) -> Array:
        """(input, honest) int8, contiguous."""
        small = self.votes.astype(np.int8)
        return np.ascontiguousarray((small[self.honest] if self.adversaries else small).T)

    @cached_property
    def honest_alpha(self) -> Ints:
        """(honest,): thresholds."""
        return np.asarray(sizes(self.sampling, self.protocol, len(self.votes))[1][self.honest])

    @cached_property
    def urns(self) -> Urns:
        """Whom each honest participant may ask, and what the answers weigh, by position."""
        return lay_out(self.sampling, self.protocol, self.order, int(self.honest.sum()))

    @property
    def weighted(self) -> bool:
        """Whether some answers weigh more than others."""
        by_trust = isinstance(self.sampling, Trusting) and self.sampling.weighted
        return by_trust or self.protocol.weights is not None

    @cached_property
    def answers(self) -> Array:
        """(byzantine, input, observation + 1) int8: every adversary's rule, tabulated once."""
        inputs = self.votes.shape[1]
        known = range(-1, self.classes)
        shown = [_observations(self.adversaries[i].sees, self.classes, len(self.votes)) for i in self._liars]
        width = max((seen.stop for seen in shown), default=1) + 1
        table = np.full((len(shown), inputs, width), UNCOLOURED, dtype=np.int8)
        truth = np.full(inputs, UNCOLOURED) if self.truth is None else self.truth
        for row, participant in enumerate(self._liars):
            adversary = self.adversaries[participant]
            own, right = Knows.OWN_VOTE in adversary.knows, Knows.TRUTH in adversary.knows
            for vote in known if own else (UNCOLOURED,):
                for truly in known if right else (UNCOLOURED,):
                    where = np.ones(inputs, dtype=np.bool_)
                    if own:
                        where &= self.votes[participant] == vote
                    if right:
                        where &= truth == truly
                    for seen in shown[row] if where.any() else ():
                        said = adversary.answer(seen, vote=vote, truth=truly, colours=self.classes)
                        if said not in known:
                            raise ValueError(
                                f"{adversary!r} must answer a colour in -1..{self.classes - 1}: got {said!r}"
                            )
                        table[row, where, seen + 1] = said
        return table

    @cached_property
    def sees(self) -> Ints:
        """(byzantine,): what each is shown."""
        return np.array([self.adversaries[i].sees.value for i in self._liars], dtype=np.int64)

    @cached_property
    def target(self) -> Ints:
        """(byzantine,): position of the honest participant that it follows (0 where it follows none)."""
        targets = []
        for i in self._liars:
            adversary = self.adversaries[i]
            follows = self._first_honest
            if adversary.sees is Sees.TARGET:
                follows = checks.integer("target", getattr(adversary, "target", None))
                if not (0 <= follows < len(self.votes) and self.honest[follows]):
                    name = type(adversary).__name__
                    raise ValueError(f"{name} must follow an honest participant: target={follows} is not one")
            targets.append(int(self.place[follows]))
        return np.array(targets, dtype=np.int64)

    @property
    def _liars(self) -> list[int]:
        return [int(i) for i in self.order[self.honest.sum() :]]

    @property
    def _first_honest(self) -> int:
        return int(self.order[0])

    @cached_property
    def fixed(self) -> bool:
        """Whether every adversary gives one answer per input, whoever asks and whenever."""
        return bool((self.sees == Sees.NOTHING.value).all())

    @cached_property
    def fixed_answers(self) -> Array:
        """(byzantine, input): those answers."""
        return np.ascontiguousarray(self.answers[:, :, 1])

    @cached_property
    def fixed_counts(self) -> Ints:
        """(input, colour): how many adversaries always answer it."""
        return np.stack([(self.fixed_answers == c).sum(axis=0) for c in range(self.classes)], axis=-1)

    @cached_property
    def closed(self) -> Bools:
        """(input, colour): when all honest participants hold it, no query can ever change that.

        So stopping there is exact. It holds if no other colour can reach anybody's threshold from the
        Byzantine answers alone that it may hear (with weights: if these never name another colour at all).
        """
        heard, limit = self._heard
        inputs = self.votes.shape[1]
        closed = np.ones((inputs, self.classes), dtype=np.bool_)
        follows = self.sees == Sees.TARGET.value
        for held in range(self.classes):
            # Whoever follows an honest participant sees the colour that all of them hold, and no other.
            said = (
                np.where(follows[:, None, None], self.answers[:, :, held + 1 : held + 2], self.answers)
                if follows.any()
                else self.answers
            )
            for other in range(self.classes):
                if other != held:
                    names = (said == other).any(axis=2)
                    closed[:, held] &= (heard @ names.astype(np.float32) < limit[:, None]).all(axis=0)
        return closed

    @cached_property
    def _heard(self) -> tuple[Array, Array]:
        """(kind of asker, byzantine): whom it may ask, 0 or 1, and what its threshold is."""
        limit = np.ones_like(self.honest_alpha) if self.weighted else self.honest_alpha
        if not isinstance(self.sampling, Trusting):  # who may ask whom on a graph is not looked at
            return np.ones((1, len(self.adversaries)), dtype=np.float32), limit.min(keepdims=True)
        trusted = self.sampling.weights[self.honest][:, self._liars] > 0
        rows = np.unique(np.column_stack((trusted, limit)), axis=0)
        return rows[:, :-1].astype(np.float32), rows[:, -1]

    @cached_property
    def chances(self) -> tuple[Array, Array]:
        """Chances that a colour held by x of the urn wins, in units of 2^-64, and each node's row in them."""
        if isinstance(self.sampling, (Neighbours, Trusting)):
            raise ValueError("participants who may ask different peers have no common urn")
        urn = self.sampling.urn(len(self.votes), self.protocol.k)
        counts = np.arange(self.protocol.k + 1)
        rows = []
        levels, which = np.unique(self.honest_alpha, return_inverse=True)
        for alpha in levels:
            chance = np.exp(log_tail(urn, self.protocol.k, counts >= alpha, np.arange(urn + 1)))
            # A sure event is the largest double below 2^64: missed once in 2^53 queries.
            rows.append(np.minimum(np.ldexp(chance, 64), np.nextafter(2.0**64, 0)).astype(np.uint64))
            rows[-1] = np.append(rows[-1], rows[-1][-1])  # x = n, which only its own colour can reach
        return np.concatenate(rows), (which * (urn + 2)).astype(np.uint64)

    @cached_property
    def plain(self) -> bool:
        """Two-colour Slush with every honest vote cast: a node is its colour."""
        return type(self.protocol) is Slush and self.classes == 2 and bool((self.honest_votes >= 0).all())

    @property
    def exchangeable(self) -> bool:
        """Whether only the number of peers of each colour matters to a query."""
        complete = isinstance(self.sampling, (Everyone, Others))
        return complete and self.fixed and not self.weighted


def _observations(sees: Sees, colours: int, participants: int) -> range:
    if sees is Sees.NOTHING:
        return range(1)
    if sees is Sees.ASKER:
        return range(participants)
    return range(colours) if sees is Sees.DIE else range(-1, colours)


def check_adversaries(adversaries: Mapping[int, Liar] | None, n: int, kind: type) -> dict[int, Liar]:
    """Byzantine participants by number, each of this kind, and not all of them."""
    if not isinstance(adversaries, Mapping | None):
        raise TypeError(f"adversaries must map participants to {kind.__name__}: got {adversaries!r}")
    liars = dict(adversaries or {})
    for participant, adversary in liars.items():
        if not isinstance(adversary, kind):
            raise TypeError(f"adversaries must map participants to {kind.__name__}: got {adversary!r}")
        if not 0 <= checks.integer("a Byzantine participant", participant) < n:
            raise ValueError(f"adversaries must name participants 0..{n - 1}: got {participant}")
    if len(liars) >= n:
        raise ValueError(f"at least one participant must be honest: got {len(liars)} adversaries of {n}")
    return liars


def _truth(
    truth: npt.ArrayLike | None, inputs: int, colours: int, liars: dict[int, Adversary]
) -> Array | None:
    if truth is None:
        for participant, adversary in liars.items():
            if Knows.TRUTH in adversary.knows:
                name = type(adversary).__name__
                raise ValueError(
                    f"participant {participant} is {name}, which must know the truth: give truth="
                )
        return None
    return check_truth(truth, inputs, colours)

"""Base of the Snow protocols: ask k nodes; a class that reaches the threshold wins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Floats, Ints
from folkmoot.protocols.thresholds import StrongConfidence
from folkmoot.votes import NO_VOTE, Tally, Vote

State = TypeVar("State")
Alpha: TypeAlias = int | Sequence[int] | npt.NDArray[np.integer[Any]] | StrongConfidence


_SLACK = 1.0 - 1e-12  # a weighted tally that reaches alpha but for rounding has reached it


def reaches(tally: Any, alpha: Any, total: Any = 1, size: Any = 1) -> Any:
    """Whether a class named by ``tally`` of a ``total``, rescaled to a query of ``size``, reaches alpha.

    The one place where it is decided who wins a query: for numbers, for arrays, and compiled by the kernels.
    Without weights the total is the size, and both can be left out.
    """
    return (total > 0) & (tally * size >= alpha * total * _SLACK)


def winner(tally: Tally | Sequence[float], alpha: int) -> Vote:
    """The class that at least alpha answers name, or NO_VOTE; alpha > k/2, so at most one does."""
    for c, count in enumerate(tally):
        if reaches(count, alpha):
            return c
    return NO_VOTE


@dataclass(frozen=True)
class SnowProtocol(ABC, Generic[State]):
    """A protocol: a node asks k peers, and a class that alpha of them name wins the query.

    The consequence is the rule of a subclass: ``Slush``, ``Snowflake`` or ``Snowball``. Weighted
    tallies are the paper's outlook.
    """

    k: int  # peers asked per query
    # Equal answers that make a class win, k/2 < alpha <= k: one threshold for all, one for each
    # participant, or ``StrongConfidence(p)``.
    alpha: Alpha
    # One for each participant: its answer counts so much, and the tally is rescaled to k.
    weights: Sequence[float] | None = field(default=None, kw_only=True)

    decides: ClassVar[bool] = False  # do nodes stop asking by themselves?
    counts_wins: ClassVar[bool] = False  # does a node compare how many queries each class has won?

    def __post_init__(self) -> None:
        size = checks.integer("k", self.k, least=1)
        object.__setattr__(self, "k", size)
        if isinstance(self.alpha, StrongConfidence):
            pass
        elif np.ndim(self.alpha) == 0:
            object.__setattr__(self, "alpha", checks.query(size, self.alpha)[1])
        else:
            object.__setattr__(self, "alpha", _thresholds(size, self.alpha))
        if self.weights is not None:
            object.__setattr__(self, "weights", tuple(check_weights(self.weights).tolist()))

    def thresholds(self, participants: int) -> Ints:
        """The threshold of each participant."""
        if isinstance(self.alpha, StrongConfidence):
            values = self.alpha.thresholds(self.k)
        elif isinstance(self.alpha, int):
            return np.full(participants, self.alpha, dtype=np.int64)
        else:
            values = np.asarray(self.alpha, dtype=np.int64)
        if values.size != participants:
            raise ValueError(
                f"alpha must hold one threshold per participant ({participants}): got {values.size}"
            )
        return values

    def scaled(self, participants: int) -> Self:
        """The same protocol for a population too small to ask k others: k = n - 1, alpha as strict as before.

        The least majority stays the least majority, unanimity stays unanimity, and what lies between
        keeps its place.
        """
        size = checks.integer("participants", participants, least=2) - 1
        if size >= self.k:
            return self
        if isinstance(self.alpha, StrongConfidence):
            return replace(self, k=size)
        if isinstance(self.alpha, int):
            return replace(self, k=size, alpha=_scaled(self.alpha, self.k, size))
        return replace(self, k=size, alpha=[_scaled(int(alpha), self.k, size) for alpha in self.alpha])

    def reaching(self, peers: Ints) -> tuple[Ints, Ints]:
        """Sample size and threshold of each participant that can ask so many peers: ``scaled`` to them.

        A participant that can ask nobody has a sample of 0.
        """
        sizes = np.minimum(peers, self.k)
        alphas = self.thresholds(peers.size).copy()
        for size in np.unique(sizes[(sizes > 0) & (sizes < self.k)]):
            few = sizes == size
            alphas[few] = self.scaled(int(size) + 1).thresholds(peers.size)[few]
        return sizes, alphas

    def requests(self, honest: int, participants: int) -> int:  # noqa: ARG002
        """The requests to single peers in a round in which so many honest ones of the participants ask."""
        return honest * self.k

    def restricted(self, participants: Sequence[int]) -> Self:
        """The same protocol among some of the participants: their thresholds and weights."""
        alpha = self.alpha
        if isinstance(alpha, StrongConfidence):
            alpha = alpha.restricted(participants)
        elif not isinstance(alpha, int):
            alpha = [int(alpha[i]) for i in participants]
        return replace(self, alpha=alpha, weights=self._weights_of(participants))

    def _weights_of(self, participants: Sequence[int]) -> list[float] | None:
        return None if self.weights is None else [self.weights[i] for i in participants]

    @abstractmethod
    def start(self, vote: Vote) -> State:
        """The state of a node whose first vote is this class."""

    @abstractmethod
    def react(self, state: State, won: Vote) -> State:
        """The state after a query that ``won`` has won (NO_VOTE: no class did)."""

    @abstractmethod
    def class_of(self, state: State) -> Vote:
        """The answer of a node in this state."""

    def decided(self, state: State) -> bool:  # noqa: ARG002
        """Whether a node in this state has stopped asking."""
        return False

    def finite(self, state: State, won: Vote, ahead: bool) -> State:  # noqa: ARG002
        """``react`` without the counts of wins: ``ahead`` says if the winner has more than the held class.

        This fits into a table; a simulation of a protocol with ``counts_wins`` keeps the counts.
        """
        return self.react(state, won)

    def update(self, state: State, tally: Tally) -> State:
        """The state after a query with this tally: the whole rule, for a protocol with one alpha."""
        if not isinstance(self.alpha, int):
            raise ValueError("update needs one alpha; with alpha per participant, use winner and react")
        return self.react(state, winner(tally, self.alpha))

    def __call__(self, state: State, tally: Tally) -> State:
        """``update``: a protocol is its rule."""
        return self.update(state, tally)


def _scaled(alpha: int, k: int, size: int) -> int:
    least, new_least = checks.least_alpha(k), checks.least_alpha(size)
    if k == least:  # k is 1 or 2: the only threshold there is
        return new_least
    return new_least + ((alpha - least) * (size - new_least) * 2 + (k - least)) // (2 * (k - least))


def _thresholds(k: int, alphas: Any) -> tuple[int, ...]:
    each = []
    for participant, alpha in enumerate(alphas):
        try:
            each.append(checks.query(k, alpha)[1])
        except (TypeError, ValueError) as error:
            raise type(error)(f"{error} (participant {participant})") from None
    return tuple(each)


def check_weights(weights: npt.ArrayLike) -> Floats:
    """Weights, one per participant, rescaled so that the largest is 1."""
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"weights must hold one weight per participant: got shape {values.shape}")
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if bad.size:
        raise ValueError(f"weights must be finite and >= 0: got weights[{bad[0]}]={values[bad[0]]}")
    if not values.any():
        raise ValueError("weights must not all be 0")
    return np.asarray(values / values.max(), dtype=np.float64)  # only ratios matter, and sums stay finite

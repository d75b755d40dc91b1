"""Protocols that play whole deliberations in their own way, instead of by a rule for one query of k peers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self


class WholeProtocol(ABC):
    """A protocol without queries of k peers: what it must tell whoever has it played.

    ``deliberate`` knows how each kind is played; the estimator and ``compare`` ask what is here.

    Examples
    --------
    >>> from folkmoot.federated import Federated, QuorumSet
    >>> from folkmoot.protocols import SnowProtocol, WholeProtocol
    >>> two = QuorumSet(2, ["ada", "bo"])
    >>> protocol = Federated({"ada": two, "bo": two})
    >>> isinstance(protocol, WholeProtocol), isinstance(protocol, SnowProtocol)
    (True, False)
    """

    weights: Sequence[float] | None

    @property
    @abstractmethod
    def in_words(self) -> str:
        """A few words for reports."""

    @property
    @abstractmethod
    def how_decided(self) -> str:
        """How a decision comes about, in half a sentence for explanations."""

    @abstractmethod
    def why_open(self, rounds: int) -> str:
        """Why an input may stay open after so many rounds, and what to try."""

    @abstractmethod
    def named(self, names: Sequence[str]) -> Self:
        """The same protocol for participants of these names, in this order; ValueError if it does not fit."""

    def restricted(self, participants: Sequence[int]) -> Self:  # noqa: ARG002
        """The same protocol where only some of the participants answer: nothing is scaled for them."""
        return self

    @abstractmethod
    def check(self, participants: int) -> None:
        """ValueError if it is not a protocol for so many participants."""

"""What an answer is worth if level labels share: counted label by label, in fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any


def fair_share(votes: Iterable[int], right: int) -> Fraction:
    """The chance that the most common vote is right if a tie is broken by lot; 0 if nobody voted."""
    counts = Counter(vote for vote in votes if vote >= 0)
    leaders = [label for label, count in counts.items() if count == max(counts.values())]
    return Fraction(leaders.count(right), len(leaders)) if leaders else Fraction(0)


def fair_accuracy(votes: Any, truth: Any) -> Fraction:
    """The mean of that over the columns of votes."""
    shares = [fair_share(column, right) for column, right in zip(votes.T.tolist(), truth, strict=True)]
    return sum(shares, Fraction(0)) / len(shares)


def fair_consensus(held: Iterable[int], right: int) -> Fraction:
    """The same of what participants hold (-1: nothing), if more than half of all hold one of the leaders."""
    colours = list(held)
    counts = Counter(colour for colour in colours if colour >= 0)
    leaders = [label for label, count in counts.items() if count == max(counts.values())]
    behind_them = sum(counts[label] for label in leaders)
    if 2 * behind_them <= len(colours):
        return Fraction(0)
    return Fraction(leaders.count(right), len(leaders))

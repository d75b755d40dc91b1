"""The events of a motion: commitments, reveals, the answer as it stands, the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from folkmoot_chain import interface
from folkmoot_chain.ballots import BATCH, BATCH_WORDS, Ints, plurality, unpack, words_of
from folkmoot_chain.contract import Contract, Terms
from folkmoot_chain.rpc import Receipt, Rpc


@dataclass(frozen=True)
class Revealed:
    """A ballot as it stands in an event."""

    who: str
    weight: int
    ballot: tuple[int, ...]


class History:
    """The events of one motion, from the block in which commitments ended (for reveals) on.

    Parameters
    ----------
    contract : Contract
        The contract.
    motion : int
        Its number.

    Examples
    --------
    >>> from folkmoot_chain import Contract, History, InProcess, Sender
    >>> rpc = InProcess(1)
    >>> contract, _ = Contract.deploy(Sender(rpc, rpc.rich()[0]))
    >>> History(contract, 7)
    Traceback (most recent call last):
        ...
    ValueError: there is no motion 7: there are 0
    """

    def __init__(self, contract: Contract, motion: int) -> None:
        self.contract, self.motion = contract, motion
        self.terms: Terms = contract.motions(motion)

    def revealed(self) -> list[Revealed]:
        """Everybody who revealed, by rising address."""
        found = [
            Revealed(each["who"], each["weight"], tuple(each["ballot"]))
            for each in self._events("Revealed", self.terms.deadlines[0])
        ]
        return sorted(found, key=lambda each: each.who.lower())

    def votes(self, ballot: Sequence[int]) -> Ints:
        """A ballot as labels."""
        return unpack(ballot, self.terms.inputs, self.terms.labels)

    def answer(self) -> Ints:
        """The weighted plurality of what was revealed; ValueError if nobody did."""
        shown = self.revealed()
        if not shown:
            raise ValueError(f"nobody revealed a ballot in motion {self.motion}")
        return plurality(
            [self.votes(each.ballot) for each in shown], [each.weight for each in shown], self.terms.labels
        )

    def posted(self) -> list[int] | None:
        """The answer that stands, corrections included; None if nobody posted one."""
        words: list[int] | None = None
        planes = words_of(1, self.terms.labels)
        for each in self._events("Posted", self.terms.deadlines[1], "Corrected"):
            if "answer" in each:
                words = list(each["answer"])
            elif words is not None:
                start = each["word"] * planes
                words[start : start + planes] = each["planes"][:planes]
        return words

    def told(self) -> tuple[list[int], list[int]]:
        """Truth and known inputs, in words; ValueError if it was not told."""
        for each in self._events("Told", self.terms.deadlines[1]):
            return list(each["truth"]), list(each["known"])
        raise ValueError(f"the truth of motion {self.motion} was not told")

    def wrong_words(self) -> list[int]:
        """Which words of the posted answer a recount would change."""
        posted = self.posted()
        if posted is None:
            return []
        right, said = self.answer(), self.votes(posted)
        return sorted({int(place) // 256 for place in np.flatnonzero(right != said)})

    def dispute(self, word: int) -> Receipt:
        """Have 256 inputs of the posted answer recounted."""
        shown, posted = self.revealed(), self.posted()
        if posted is None:
            raise ValueError(f"nobody posted an answer to motion {self.motion}")
        flat = [number for each in shown for number in each.ballot]
        return self.contract.send("dispute", self.motion, word, [each.who for each in shown], flat, posted)

    def score(self, whos: Sequence[str] | None = None) -> list[Receipt]:
        """Score everybody who is not scored yet, or these, in as few calls as they fit."""
        truth, known = self.told()
        chosen = None if whos is None else {each.lower() for each in whos}
        due = [
            each
            for each in self.revealed()
            if (chosen is None or each.who.lower() in chosen)
            and self.contract.seats(self.motion, each.who).state == 2
        ]
        size = min(BATCH, BATCH_WORDS // words_of(self.terms.inputs, self.terms.labels))
        return [
            self.contract.send(
                "score",
                self.motion,
                [each.who for each in due[start : start + size]],
                [number for each in due[start : start + size] for number in each.ballot],
                truth,
                known,
            )
            for start in range(0, len(due), size)
        ]

    def claim(self, whos: Sequence[str] | None = None) -> list[Receipt]:
        """Credit everybody who revealed and was not paid yet, or these."""
        named = [each.who for each in self.revealed()] if whos is None else list(whos)
        due = [who for who in named if self.contract.seats(self.motion, who).state >= 2]
        return [
            self.contract.claim(self.motion, due[start : start + BATCH])
            for start in range(0, len(due), BATCH)
        ]

    def _events(self, name: str, since: int, other: str | None = None) -> list[dict[str, Any]]:
        rpc = self.contract.rpc
        last = rpc.block("latest").number
        first = block_at(rpc, since)
        number = self.motion.to_bytes(32, "big")
        logs = [
            log
            for each in (name, other)
            if each is not None
            for log in rpc.logs(self.contract.address, [interface.topic(each), number], first, last)
        ]
        logs.sort(key=lambda log: (log.block, log.index))
        return [interface.event(log)[1] for log in logs]


def block_at(rpc: Rpc, timestamp: int) -> int:
    """The first block at this time or later (one past the newest if there is none yet)."""
    low, high = 0, rpc.block("latest").number + 1
    while low < high:
        middle = (low + high) // 2
        if rpc.block(middle).timestamp < timestamp:
            low = middle + 1
        else:
            high = middle
    return low

"""The contract's scores and money a second time: plain whole numbers and loops over votes, no bit planes."""

from __future__ import annotations

from dataclasses import dataclass, field

CHANCE = 64  # inputs answered by chance that every record is taken to have


@dataclass
class RecordModel:
    right: int = 0
    asked: int = 0
    right_of: list[int] = field(default_factory=lambda: [0] * 16)
    asked_of: list[int] = field(default_factory=lambda: [0] * 16)

    def add(self, votes: list[int], truth: list[int], known: list[bool], labels: int) -> tuple[int, int]:
        """Count one ballot; returns how many it was asked and got right."""
        asked = [0] * 16
        right = [0] * 16
        for vote, label, told in zip(votes, truth, known, strict=True):
            if told and 0 <= label < labels:
                asked[label] += 1
                right[label] += vote == label
        for label in range(labels):
            self.right_of[label] += right[label]
            self.asked_of[label] += asked[label]
            if self.asked_of[label] > 65535:
                self.right_of[label] //= 2
                self.asked_of[label] //= 2
        self.right += sum(right)
        self.asked += sum(asked)
        if self.asked > 2**32 - 1:
            self.right //= 2
            self.asked //= 2
        return sum(right), sum(asked)

    def weight(self, labels: int) -> int:
        edge = max(0, labels * self.right - self.asked)
        return 1 + 15 * edge // ((labels - 1) * (self.asked + CHANCE))


@dataclass
class MotionModel:
    """One motion: what everybody has put in, and what everybody gets out."""

    supplier: str
    labels: int
    stake: int
    pool: int
    committed: set[str] = field(default_factory=set)
    ballots: dict[str, list[int]] = field(default_factory=dict)
    weights: dict[str, int] = field(default_factory=dict)
    points: dict[str, int] = field(default_factory=dict)
    poster: str | None = None
    closed: bool = False
    shares: dict[str, int] = field(default_factory=dict)

    def answer(self) -> list[int]:
        """The weighted plurality, by counting."""
        inputs = len(next(iter(self.ballots.values())))
        result = []
        for place in range(inputs):
            sums = [0] * self.labels
            for who, votes in self.ballots.items():
                if 0 <= votes[place] < self.labels:
                    sums[votes[place]] += self.weights[who]
            result.append(sums.index(max(sums)))
        return result

    def score(self, who: str, record: RecordModel, truth: list[int], known: list[bool]) -> None:
        right, asked = record.add(self.ballots[who], truth, known, self.labels)
        self.points[who] = max(0, self.labels * right - asked)

    def slash(self) -> int:
        """The bond is lost: what the winner of the dispute is credited with."""
        assert self.poster is not None
        self.poster = None
        self.pool += self.stake - self.stake // 2
        return self.stake // 2

    def close(self) -> dict[str, int]:
        """Who is credited with what by closing alone."""
        paid: dict[str, int] = {}
        self.pool += self.stake * (len(self.committed) - len(self.ballots))
        if self.poster is not None:
            paid[self.poster] = self.stake
        if not self.ballots:
            paid[self.supplier] = paid.get(self.supplier, 0) + self.pool
            self.pool = 0
        self.closed = True
        self.shares = dict(self.points) if any(self.points.values()) else dict.fromkeys(self.ballots, 1)
        return paid

    def claim(self, who: str) -> int:
        """What a participant is credited with: stake and share of what is left."""
        mine = self.shares.get(who, 0)
        share = self.pool * mine // sum(self.shares.values()) if mine else 0
        self.shares.pop(who, None)
        del self.ballots[who]
        self.pool -= share
        return self.stake + share

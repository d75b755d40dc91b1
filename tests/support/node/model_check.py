"""A search through all states of the agreement in small: four members, two values, some rounds.

The rules are written a second time here, from the design and without timers: whatever a member may do at some
time it may do at any time. Messages are lost and late as they like, so a state is what was signed. Prevotes
and precommits of nil, and statements without effect, are left out: nobody's rule needs them.

- With one liar, it may have said anything to anybody.
- With two, they may say anything but what is evidence: two values for one slot, or a broken lock. If no split
  can be reached so, every split leaves evidence.

States that differ by the names of members or of values only are one state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

NONE = 0
VALUES = (1, 2)
NEW = -1

Slot: TypeAlias = tuple[int, int, int]  # prevote, its just, precommit
History: TypeAlias = tuple[Slot, ...]  # by round
State: TypeAlias = tuple[tuple[History, ...], tuple[History, ...]]  # of honest members, of careful liars

SILENT: Slot = (NONE, NEW, NONE)


@dataclass(frozen=True)
class Rules:
    """What is searched; the last four are mutants of the rules."""

    n: int = 4
    liars: int = 1
    careful: bool = False  # liars leave no evidence
    rounds: int = 3
    quorum: int = 3
    lock: bool = True
    just_is_checked: bool = True
    just_counts: bool = True  # a prevote with just counts only with the quorum of that round
    own_just: bool = True  # max(just, lockedRound if locked on v)

    def first(self) -> State:
        """Nobody has said anything."""
        nothing = (SILENT,) * self.rounds
        careful = self.liars if self.careful else 0
        return (nothing,) * (self.n - self.liars), (nothing,) * careful

    def prevoted(self, state: State, number: int, value: int) -> bool:
        """Whether a quorum of prevotes can be held."""
        many = 0 if self.careful else self.liars
        for history in state[0] + state[1]:
            vote, just, _ = history[number]
            if vote == value and (just == NEW or not self.just_counts or self.prevoted(state, just, value)):
                many += 1
        return many >= self.quorum

    def decided(self, state: State) -> set[int]:
        """The values that somebody may have decided."""
        free = 0 if self.careful else self.liars
        return {
            value
            for value in VALUES
            for number in range(self.rounds)
            if free + sum(h[number][2] == value for h in state[0] + state[1]) >= self.quorum
        }

    def steps(self, state: State) -> Iterator[State]:
        """What can be said next."""
        honest, careful = state
        held = {(j, v) for j in range(self.rounds) for v in VALUES if self.prevoted(state, j, v)}
        for i, history in enumerate(honest):
            if i and history == honest[i - 1]:
                continue
            for changed in self._honest(history, held):
                yield (*honest[:i], changed, *honest[i + 1 :]), careful
        for i, history in enumerate(careful):
            if i and history == careful[i - 1]:
                continue
            for changed in self._careful(history):
                yield honest, (*careful[:i], changed, *careful[i + 1 :])

    def _honest(self, history: History, held: set[tuple[int, int]]) -> Iterator[History]:
        spoken = [2 * r + bool(slot[2]) for r, slot in enumerate(history) if slot[0] or slot[2]]
        last = max(spoken, default=-1)
        locks = [(r, slot[2]) for r, slot in enumerate(history) if slot[2]]
        lock = locks[-1] if locks and self.lock else None
        for number in range(self.rounds):
            vote, just, _ = history[number]
            for value in VALUES:
                if 2 * number > last:
                    for on in self._justified(number, value, lock, held):
                        yield _with(history, number, (value, on, NONE))
                if 2 * number + 1 > last and (number, value) in held:
                    yield _with(history, number, (vote, just, value))

    def _justified(
        self, number: int, value: int, lock: tuple[int, int] | None, held: set[tuple[int, int]]
    ) -> Iterator[int]:
        """The just of a prevote for a value: none if its member may not cast it."""
        on_it = lock is not None and lock[1] == value
        own = lock[0] if lock is not None and on_it and self.own_just else NEW
        if lock is None or on_it:
            yield own
        for just in range(number):
            known = (just, value) in held or not self.just_is_checked
            if known and (lock is None or lock[0] <= just or on_it):
                yield max(just, own)

    def _careful(self, history: History) -> Iterator[History]:
        for number in range(self.rounds):
            vote, just, commit = history[number]
            for value in VALUES:
                if vote == NONE:
                    for on in range(NEW, number):
                        yield from _unless_evidence(_with(history, number, (value, on, commit)))
                if commit == NONE:
                    yield from _unless_evidence(_with(history, number, (vote, just, value)))


def accused(state: State) -> bool:
    """Whether an honest member has said what is evidence against it."""
    return any(not list(_unless_evidence(history)) for history in state[0])


def _with(history: History, number: int, slot: Slot) -> History:
    return (*history[:number], slot, *history[number + 1 :])


def _unless_evidence(history: History) -> Iterator[History]:
    """Precommit x in round r, and a prevote y != x in r' > r with just < r: a broken lock."""
    for r, (_, _, commit) in enumerate(history):
        for vote, just, _ in history[r + 1 :]:
            if commit and vote and vote != commit and just < r:
                return
    yield history


def canonical(state: State) -> State:
    """The same state whatever members and values are called."""
    swapped = tuple(
        tuple(tuple((3 - p if p else 0, just, 3 - c if c else 0) for p, just, c in h) for h in side)
        for side in state
    )
    one = tuple(sorted(state[0])), tuple(sorted(state[1]))
    other = tuple(sorted(swapped[0])), tuple(sorted(swapped[1]))
    return min(one, other)


def search(rules: Rules, most: int | None = None) -> tuple[int, State | None, bool]:
    """How many states there are, one with two decisions or a member accused, and whether that is all."""
    first = canonical(rules.first())
    seen, queue = {first}, deque([first])
    while queue:
        state = queue.popleft()
        for found in rules.steps(state):
            following = canonical(found)
            if following not in seen:
                if len(rules.decided(following)) > 1 or accused(following):
                    return len(seen), following, False
                seen.add(following)
                queue.append(following)
                if most is not None and len(seen) >= most:
                    return len(seen), None, False
    return len(seen), None, True

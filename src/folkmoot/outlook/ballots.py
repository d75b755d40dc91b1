"""Federated Byzantine agreement (FBA) on labels: the rules. No I/O, no clock, no randomness.

Everybody has voted at first, and each node has chosen a quorum set, which stays what it is. On each
input a node then speaks of *ballots*, a counter n = 1, 2, ... and a label x. It says

- ``prepare``: I vote that no label but x is decided by any ballot up to n;
- ``prepared``: I have accepted that (n, x) is prepared;
- ``commit``: I vote that x is the answer by ballot (n, x);
- ``committed``: I have accepted that (n, x) is committed;

and it *decides* x (it has confirmed the ballot) when all of a quorum that it belongs to has accepted (n, x)
as committed. To prepare (n, x) contradicts to commit (m, y) if y is another label and m <= n. To state
a later one of the four is to state the earlier ones as well.

**Accept.** A node accepts what all of a quorum that it belongs to votes for or has accepted. It also accepts
what a set that blocks it has accepted (then somebody in it who is not faulty has). It accepts nothing that
contradicts what it has accepted, and of one counter one label as prepared.

**Vote to commit.** A node votes to commit what a quorum that it belongs to has accepted as prepared. It does
not if it has voted for, or accepted, another label at this counter or a later one.

**Vote to prepare.** A node votes once a counter, for

1. the label it is *locked* on: that of its last vote to commit, or of what it accepted as committed, until
   it accepts another label as prepared at a later counter;
2. else, from counter 2 on, the label that this counter's first node wants, if it qualifies: the first in a
   fixed order, turned on by one a counter, of those named in its own quorum set who have said what they
   want;
3. else the label that it wants itself: of those that qualify the one that its own aggregation of first
   votes prefers.

A label *qualifies* for a node if a set that blocks it voted for it at first, or votes for it in ballots. So
somebody who is not faulty voted for it at first. If none qualifies the node votes for nothing, and may vote
later.

**Timers.** A node comes to counter 1 when it has the first votes of all whom it names, or no more are to
come. It goes on to the next counter when its time at this one is over, or when those at later counters
block it. Time grows with the counter, so that it is long enough some day. Safety does not depend
on it. A node that has decided goes on no more.

Everything is an array over (node, input), so that all nodes are played on all inputs at once. Statements of
others come in as evidence (``evidence.py``). Facts only grow, so they may be accepted ever after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, TypeAlias

import numpy as np

from folkmoot.arrays import Array, Bools, Classes, Floats, Ints

NONE: Final = -1
Phase: TypeAlias = Literal["prepare", "prepared", "commit", "committed"]
PHASES: Final[tuple[Phase, ...]] = ("prepare", "prepared", "commit", "committed")
PREPARE, PREPARED, COMMIT, COMMITTED = range(4)
# (phase, counter, label) -> (node, input): whether a quorum that the node is in, or a set that blocks it,
# says so
Evidence: TypeAlias = Callable[[Phase, int, int], Bools]


def patience(counter: Ints) -> Ints:
    """For how many rounds a node stays at a counter; a ballot takes four if every message takes one."""
    return 6 * counter


@dataclass
class StatedBallots:
    """Statements of nodes on each input: a label, or NONE, for each phase and counter.

    ``statements[COMMIT, n - 1]`` is what they vote to commit at counter n.
    """

    statements: Classes  # (phase, counter, node, input)
    counter: Ints  # (node, input): the last at which it voted, 0 before
    wanted: Classes  # (node, input): what it would have the others vote for
    decided: Classes  # (node, input)

    @classmethod
    def none(cls, counters: int, nodes: int, inputs: int) -> Self:
        """Nothing is said yet."""
        empty = np.full((nodes, inputs), NONE, dtype=np.int8)
        said = np.full((len(PHASES), counters, nodes, inputs), NONE, dtype=np.int8)
        return cls(said, np.zeros((nodes, inputs), dtype=np.int64), empty, empty.copy())

    @classmethod
    def like(cls, other: StatedBallots) -> Self:
        """Nothing is said yet by as many on as many inputs."""
        return cls.none(other.statements.shape[1], *other.counter.shape)

    def part(self, rows: Any = slice(None), inputs: Any = slice(None)) -> StatedBallots:
        """A copy of what some nodes say on some of the inputs."""
        return StatedBallots(*(np.array(each[..., rows, :][..., inputs]) for each in vars(self).values()))

    def put(self, rows: Ints, own: StatedBallots) -> None:
        """These nodes say this from now on."""
        for mine, theirs in zip(vars(self).values(), vars(own).values(), strict=True):
            mine[..., rows, :] = theirs

    def says(self, phase: Phase, counter: int, label: int) -> Bools:
        """(node, input): who says this, or more than this."""
        said: Bools = (self.statements[PHASES.index(phase) :, counter - 1] == label).any(axis=0)
        return said

    def named(self) -> list[tuple[int, int]]:
        """The ballots (counter, label) that anybody speaks of."""
        found = []
        for counter in self._used():
            many = np.bincount(self.statements[:, counter].ravel() + 1)
            found += [(counter + 1, int(label)) for label in np.flatnonzero(many[1:])]
        return found

    def _used(self) -> list[int]:
        """The counters, from 0, at which anybody has said anything: few of all that there may be."""
        used: list[int] = np.flatnonzero((self.statements != NONE).any(axis=(0, 2, 3))).tolist()
        return used

    def votes_for(self, label: int) -> Bools:
        """(node, input): who votes for the label at some counter."""
        said: Bools = (self.statements == label).any(axis=(0, 1))
        return said

    # ---- accepting, and votes to commit --------------------------------------------------------

    def accept_prepared(self, counter: int, label: int, enough: Bools) -> Bools:
        """Accept that (counter, label) is prepared, where there is evidence enough; who did so now."""
        prepared = self.statements[PREPARED, counter - 1]
        against = _others(self.statements[COMMITTED, :counter], label)
        return _say(prepared, label, enough & (prepared == NONE) & ~against)

    def vote_commit(self, counter: int, label: int, enough: Bools) -> Bools:
        """Vote to commit (counter, label), where there is evidence enough; who did so now."""
        commit = self.statements[COMMIT, counter - 1]
        against = _others(self.statements[PREPARE, counter - 1 :], label)
        against |= _others(self.statements[PREPARED, counter - 1 :], label)
        own = self.statements[PREPARED, counter - 1] == label
        return _say(commit, label, enough & own & (commit == NONE) & ~against)

    def accept_committed(self, counter: int, label: int, enough: Bools) -> Bools:
        """Accept that (counter, label) is committed, where there is evidence enough; who did so now."""
        committed = self.statements[COMMITTED, counter - 1]
        against = _others(self.statements[PREPARED, counter - 1 :], label)
        return _say(committed, label, enough & (committed == NONE) & ~against)

    def decide(self, label: int, enough: Bools) -> Bools:
        """Decide the label, where there is evidence enough; who did so now."""
        return _say(self.decided, label, enough & (self.decided == NONE))

    def advance(self, ballots_named: Iterable[tuple[int, int]], quorum: Evidence, block: Evidence) -> bool:
        """Every rule but votes to prepare, once, for these ballots (counter, label); whether any was new."""
        new = False
        for counter, label in ballots_named:
            for fired in self._rules(counter, label, quorum, block):
                new = new or bool(fired.any())
        return new

    def _rules(self, counter: int, label: int, quorum: Evidence, block: Evidence) -> Iterator[Bools]:
        at, (_, prepared, commit, committed) = (counter, label), self.statements[:, counter - 1]
        # Evidence takes long, and is looked for only where somebody has not said so yet.
        if (self.decided == NONE).any():
            yield self.decide(label, quorum("committed", *at))
        if (committed == NONE).any():
            yield self.accept_committed(*at, quorum("commit", *at) | block("committed", *at))
        if ((commit == NONE) & (prepared == label)).any():
            yield self.vote_commit(*at, quorum("prepared", *at))
        if (prepared == NONE).any():
            yield self.accept_prepared(*at, quorum("prepare", *at) | block("prepared", *at))

    # ---- votes to prepare ----------------------------------------------------------------------

    def locked(self) -> Classes:
        """(node, input): the label that a node must go on voting for, or NONE."""
        lock = np.full(self.decided.shape, NONE, dtype=np.int8)
        for counter in self._used():
            _, prepared, commit, committed = self.statements[:, counter]
            for said in (commit, committed):
                lock = np.where(said != NONE, said, lock)
            lock = np.where((prepared != NONE) & (prepared != lock), NONE, lock).astype(np.int8)
        return lock

    def want(self, preferred: Classes) -> None:
        """Say what one would have the others vote for: the label it is locked on, else what it prefers."""
        lock = self.locked()
        self.wanted = np.where(lock != NONE, lock, preferred).astype(np.int8)

    def vote(self, counter: int, free: Array, when: Bools) -> None:
        """Go on to this counter and vote, for the label one is locked on or else as one is ``free`` to.

        A node that is at this counter already and found nothing to vote for may vote now.
        """
        lock = self.locked()
        label = np.where(lock != NONE, lock, free)
        at = self.statements[PREPARE, counter - 1]
        late = (self.counter == counter) & (at == NONE)
        now = when & ((self.counter < counter) | late) & (self.decided == NONE)
        at[now] = label[now]
        self.counter[now] = counter


def preferred(qualified: Bools, scores: Floats, own: Classes) -> Classes:
    """(node, input): of the labels that qualify (label, node, input) the one of the highest score, or NONE.

    Of several that are tied it is the node's own first vote, else the first of them.
    """
    best = np.where(qualified, scores, -np.inf)
    tied = qualified & (best == best.max(axis=0))
    mine = tied & (np.arange(len(scores))[:, None, None] == own)
    choice = np.where(mine.any(axis=0), mine.argmax(axis=0), tied.argmax(axis=0))
    return np.where(tied.any(axis=0), choice, NONE).astype(np.int8)


def wanted_by_first(counter: int, named: Bools, wanted: Classes) -> Classes:
    """(node, input): what this counter's first node wants, as each node sees it; NONE if nobody wants
    anything.

    ``named`` (node, all nodes) says whom each has in its quorum set, ``wanted`` (all nodes, input) what
    each of these is known to want. The order is that of the roster, which counter 2 begins with its first,
    3 with its second.
    """
    many = named.shape[1]
    order = np.roll(np.arange(many), -((counter - 2) % many))
    result = np.full((len(named), wanted.shape[1]), NONE, dtype=np.int8)
    for place in order[::-1]:
        take = named[:, place, None] & (wanted[place] != NONE)[None]
        result = np.where(take, wanted[place][None], result)
    return result


def _others(said: Classes, label: int) -> Bools:
    """(node, input): whether any of these counters has another label."""
    found: Bools = ((said != NONE) & (said != label)).any(axis=0)
    return found


def _say(what: Classes, label: int, when: Bools) -> Bools:
    what[when] = label
    return when

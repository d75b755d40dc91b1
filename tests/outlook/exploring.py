"""Every state that ballots on one input can reach, whatever is delivered when, and whatever a liar makes
up.

Facts only grow and rules ask only whether enough is known, so a node that may fire a rule knowing some of
what was said may fire it knowing all of it: to let each node fire any rule at any time, or not, covers
every order and every loss of messages. Timers go off at any moment: a node may vote at any counter that it
has not passed, for any label that its lock allows, which covers every first vote, preference and first
node. A liar says everything, to everybody, with whatever quorum set helps.

The rules are not restated here. What follows for one node from one piece of evidence is tabulated by
``StatedBallots`` itself (``local_table``), and compiled code looks it up for states of several nodes. What
a node has decided is not part of a state: it may decide whenever a quorum has accepted, and that is asked
of every state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from folkmoot.outlook.ballots import NONE, PHASES, Phase, StatedBallots

LABELS = 2
Array = np.ndarray[Any, Any]

# The pieces of evidence that the rules ask for: a quorum that says a phase, or a set that blocks.
EVIDENCE: tuple[tuple[str, Phase], ...] = (
    ("quorum", "prepare"),
    ("quorum", "prepared"),
    ("quorum", "commit"),
    ("quorum", "committed"),
    ("block", "prepared"),
    ("block", "committed"),
)


class Local(NamedTuple):
    """One node by itself: its states are numbered, 0 is the first."""

    after: Array  # (state, event): votes (counter, label), then evidence x (counter, label)
    says: Array  # (state,): bits of (phase, counter, label)
    block: Array  # (event,): whether the evidence is a set that blocks; votes need none
    bit: Array  # (event,): which bit of ``says`` is to be said by enough; -1 for votes
    committed: Array  # (counter, label): the bit of that
    states: Array  # (state, ...): what was said, and the counter
    mirror: Array  # (state,): the same with the two labels exchanged
    lock: Array  # (state,): the label that it must go on voting for, or NONE


def local_table(counters: int = 2) -> Local:
    """What a node may say, by the rules as they run."""
    ballots = [(n, x) for n in range(1, counters + 1) for x in range(LABELS)]
    events: list[tuple[str, Phase, int, int]] = [("vote", "prepare", n, x) for n, x in ballots]
    events += [(kind, phase, n, x) for kind, phase in EVIDENCE for n, x in ballots]
    first = (NONE,) * (len(PHASES) * counters) + (0,)
    number, order, after, done = {first: 0}, [first], [], 0
    while done < len(order):
        chunk, done = order[done:], len(order)
        new = np.zeros((len(chunk), len(events)), dtype=np.int32)
        for event, (kind, phase, n, x) in enumerate(events):
            for place, row in enumerate(_rows(_fired(_ballots(chunk, counters), kind, phase, n, x))):
                if row not in number:
                    number[row] = len(order)
                    order.append(row)
                new[place, event] = number[row]
        after.append(new)
    bits = {(phase, n, x): i for i, (phase, n, x) in enumerate((p, *b) for p in PHASES for b in ballots)}
    whole = _ballots(order, counters)
    swapped = [tuple(each if each == NONE else 1 - each for each in row[:-1]) + row[-1:] for row in order]
    says = np.zeros(len(order), dtype=np.int64)
    for (phase, n, x), bit in bits.items():
        says |= whole.says(phase, n, x)[0].astype(np.int64) << bit
    return Local(
        np.concatenate(after),
        says,
        np.array([kind == "block" for kind, *_ in events]),
        np.array([-1 if kind == "vote" else bits[phase, n, x] for kind, phase, n, x in events]),
        np.array([[bits["committed", n, x] for x in range(LABELS)] for n in range(1, counters + 1)]),
        np.array(order, dtype=np.int8),
        np.array([number[row] for row in swapped]),
        whole.locked()[0].astype(np.int64),
    )


def _fired(ballots: StatedBallots, kind: str, phase: Phase, n: int, x: int) -> StatedBallots:
    """Each column after one vote, or after the rules with one piece of evidence."""
    everywhere = np.ones(ballots.counter.shape, dtype=np.bool_)
    if kind == "vote":
        ballots.vote(n, np.full(everywhere.shape, x), ballots.counter < n)
        return ballots

    def evidence(this: str) -> Any:
        return lambda asked, *_: everywhere if (this, asked) == (kind, phase) else ~everywhere

    ballots.advance([(n, x)], evidence("quorum"), evidence("block"))
    return ballots


def _ballots(states: list[tuple[int, ...]], counters: int) -> StatedBallots:
    ballots = StatedBallots.none(counters, 1, len(states))
    table = np.array(states, dtype=np.int8).T
    ballots.statements[:, :, 0] = table[:-1].reshape(len(PHASES), counters, -1)
    ballots.counter[0] = table[-1]
    return ballots


def _rows(ballots: StatedBallots) -> list[tuple[int, ...]]:
    said = ballots.statements[:, :, 0].reshape(-1, ballots.counter.shape[1])
    return [tuple(row) for row in np.concatenate([said, ballots.counter]).T.tolist()]


class Rules(NamedTuple):
    """Who is moved by whom, over sets of honest nodes as bits: what exploring needs to know of a system."""

    nodes: int
    quorum: Array  # (set,): those of the set who are in a quorum, if liars agree
    blocked: Array  # (set,): who is blocked by the set and the liars
    alike: tuple[int, ...] = ()  # nodes with the same number, side by side, can change places; none if empty


class Explored(NamedTuple):
    states: Array  # every state, as a number: BITS bits a node; with ``alike`` one for all that are alike
    split: int  # in how many of them two intact nodes may decide differently
    heard: Array  # (state,): whether nothing follows any more from what the nodes themselves have said


BITS = 12


def explore(
    local: Local, rules: Rules, intact: int, *, alone: Rules | None = None, most: int = 1 << 27,
    first: bool = False,
) -> Explored:  # fmt: skip
    """Every state that can be reached; ``intact`` are the nodes that must not differ, as bits.

    ``alone`` are the rules if nobody else says anything, by default the same. With ``first`` it stops at the
    first state in which two may differ.
    """
    assert len(local.after) < 1 << BITS
    alone = rules if alone is None else alone
    assert not (alone.quorum & ~rules.quorum).any()
    assert not (alone.blocked & ~rules.blocked).any()
    keys, heard, count, split = _explored(
        local.after, local.says, local.block, local.bit, local.committed,
        rules.quorum, rules.blocked, alone.quorum, alone.blocked, rules.nodes, intact, most,
        local.mirror, np.array(rules.alike, dtype=np.int64), first,
    )  # fmt: skip
    assert count >= 0, "more states than expected"
    return Explored(keys[:count], int(split), heard[:count])


@numba.njit(cache=False)
def _saying(says: Array, own: Array, bit: int) -> int:
    mask = 0
    for node in range(own.size):
        mask |= ((says[own[node]] >> bit) & 1) << node
    return mask


@numba.njit(cache=False)
def _may_split(says: Array, committed: Array, quorum: Array, own: Array, intact: int) -> bool:
    decided = np.zeros(committed.shape[1], dtype=np.int64)
    for n in range(committed.shape[0]):
        for x in range(committed.shape[1]):
            decided[x] |= quorum[_saying(says, own, committed[n, x])]
    return bool((decided[0] & intact) != 0 and (decided[1] & intact) != 0)


@numba.njit(cache=False)
def _place(table: Array, keys: Array, key: int) -> Any:
    """Where the key is in the table of places, or the free place for it."""
    mask = table.size - 1
    at = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
    where = np.int64(at & np.uint64(mask))
    while table[where] >= 0 and keys[table[where]] != key:
        where = (where + 1) & mask
    return where


@numba.njit(cache=False)
def _sorted_key(own: Array, alike: Array) -> Any:
    for i in range(1, own.size):
        j = i
        while j > 0 and alike[j] == alike[j - 1] and own[j] < own[j - 1]:
            own[j], own[j - 1] = own[j - 1], own[j]
            j -= 1
    key = np.int64(0)
    for node in range(own.size):
        key |= own[node] << (12 * node)
    return key


@numba.njit(cache=False)
def _one_for_all(key: int, alike: Array, mirror: Array, own: Array, other: Array) -> Any:
    """One of all states that are the same but for names of nodes that are alike, and of labels."""
    for node in range(alike.size):
        own[node] = (key >> (12 * node)) & 4095
        other[node] = mirror[own[node]]
    return min(_sorted_key(own, alike), _sorted_key(other, alike))


@numba.njit(cache=False)
def _explored(
    after: Array, says: Array, block: Array, bit: Array, committed: Array,
    quorum: Array, blocked: Array, own_quorum: Array, own_blocked: Array, nodes: int, intact: int,
    most: int, mirror: Array, alike: Array, first: bool,
) -> tuple[Array, Array, int, int]:  # fmt: skip
    keys = np.zeros(1 << 12, dtype=np.int64)
    heard = np.zeros(1 << 12, dtype=np.bool_)
    one, two = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    table = np.full(1 << 13, -1, dtype=np.int32)
    count, done, split = 1, 0, 0
    table[_place(table, keys, 0)] = 0
    own = np.zeros(nodes, dtype=np.int64)
    events = bit.size
    saying = np.zeros(64, dtype=np.int64)
    while done < count:
        key = keys[done]
        done += 1
        for node in range(nodes):
            own[node] = (key >> (12 * node)) & 4095
        for each in range(64):
            saying[each] = 0
        for node in range(nodes):
            said = says[own[node]]
            for each in range(64):
                if said >> each == 0:
                    break
                saying[each] |= ((said >> each) & 1) << node
        split += _may_split(says, committed, quorum, own, intact)
        if first and split:
            break
        heard[done - 1] = True
        for event in range(events):
            moved, by_themselves = (1 << nodes) - 1, 0
            if bit[event] >= 0:
                said = saying[bit[event]]
                moved = blocked[said] if block[event] else quorum[said]
                by_themselves = own_blocked[said] if block[event] else own_quorum[said]
            if moved == 0:
                continue
            for node in range(nodes):
                if (moved >> node) & 1:
                    new = after[own[node], event]
                    if new == own[node]:
                        continue
                    if (by_themselves >> node) & 1:
                        heard[done - 1] = False
                    other = key + ((np.int64(new) - own[node]) << (12 * node))
                    if alike.size:
                        other = _one_for_all(other, alike, mirror, one, two)
                    where = _place(table, keys, other)
                    if table[where] >= 0:
                        continue
                    if count == most:
                        return keys, heard, -1, split
                    if count == keys.size:
                        wider = np.zeros(2 * keys.size, dtype=np.int64)
                        wider[:count] = keys[:count]
                        keys = wider
                        longer = np.zeros(keys.size, dtype=np.bool_)
                        longer[:count] = heard[:count]
                        heard = longer
                        table = np.full(2 * table.size, -1, dtype=np.int32)
                        for old in range(count):
                            table[_place(table, keys, keys[old])] = old
                        where = _place(table, keys, other)
                    keys[count] = other
                    table[where] = count
                    count += 1
    return keys, heard, count, split


def stuck(local: Local, more: Local, rules: Rules, alone: Rules, states: Array) -> int:
    """In how many states the intact nodes cannot all decide by a delivery of what they say themselves.

    ``more`` is the local table with one counter more, at which they meet; ``alone`` the rules among the
    intact nodes if nobody else says anything from now on. All that they have said is delivered, then each
    goes on to that counter.

    Only the states of ``Explored.heard`` have to be asked. From every other one a delivery leads to another
    reachable state in which more is said, and so on, until nothing more follows: that state has been asked.
    """
    wide = np.full((len(local.states), more.states.shape[1]), NONE, dtype=np.int8)
    counters = len(local.committed)
    said = local.states[:, :-1].reshape(-1, len(PHASES), counters)
    wide[:, :-1].reshape(-1, len(PHASES), counters + 1)[:, :, :counters] = said
    wide[:, -1] = local.states[:, -1]
    place = {tuple(row): i for i, row in enumerate(more.states.tolist())}
    to_more = np.array([place[tuple(row)] for row in wide.tolist()])
    votes = np.array([2 * counters, 2 * counters + 1])  # the events of a vote at the last counter
    found = _stuck(
        states, to_more, more.after, more.says, more.block, more.bit, more.committed, more.lock,
        alone.quorum, alone.blocked, rules.nodes, votes,
    )  # fmt: skip
    return int(found)


@numba.njit(cache=False)
def _deliver(
    own: Array, after: Array, says: Array, block: Array, bit: Array, quorum: Array, blocked: Array
) -> None:
    new = True
    while new:
        new = False
        for event in range(bit.size):
            if bit[event] < 0:
                continue
            saying = _saying(says, own, bit[event])
            moved = blocked[saying] if block[event] else quorum[saying]
            for node in range(own.size):
                if (moved >> node) & 1 and after[own[node], event] != own[node]:
                    own[node] = after[own[node], event]
                    new = True


@numba.njit(cache=False)
def _stuck(
    states: Array, to_more: Array, after: Array, says: Array, block: Array, bit: Array, committed: Array,
    lock: Array, quorum: Array, blocked: Array, nodes: int, votes: Array,
) -> int:  # fmt: skip
    found = 0
    own = np.zeros(nodes, dtype=np.int64)
    everyone = (1 << nodes) - 1
    for key in states:
        for node in range(nodes):
            own[node] = to_more[(key >> (12 * node)) & 4095]
        _deliver(own, after, says, block, bit, quorum, blocked)
        label = 0
        for node in range(nodes):
            if lock[own[node]] >= 0:
                label = lock[own[node]]
        for node in range(nodes):
            own[node] = after[own[node], votes[label]]
        _deliver(own, after, says, block, bit, quorum, blocked)
        decided = 0
        for n in range(committed.shape[0]):
            for x in range(committed.shape[1]):
                decided |= quorum[_saying(says, own, committed[n, x])]
        found += decided != everyone
    return found

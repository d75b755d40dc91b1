"""Talks in which a participant asks k others, in numpy: any Snow protocol, with a leader each round or none.

All inputs talk at once, each turn an operation on arrays over inputs. Every (seed, repetition, input) has a
stream of random words of its own, SplitMix64 as in ``folkmoot.simulation``: the outcome of an input depends
on its key and not on the batch it comes in. The rule is the protocol's table (``protocols/machine.py``).

With leaders (``leaders.py`` has the rule), all inputs of a repetition share who leads and whom it asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from folkmoot.adversaries import Sees
from folkmoot.arrays import Bools, Colours, Floats, Ints, Words
from folkmoot.outlook.moot import Ended, Moot
from folkmoot.protocols.machine import machine_of
from folkmoot.protocols.snow import SnowProtocol, reaches
from folkmoot.protocols.snowball import is_ahead
from folkmoot.votes import UNCOLOURED

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_M1: Final = np.uint64(0xBF58476D1CE4E5B9)
_M2: Final = np.uint64(0x94D049BB133111EB)
_ONE: Final = np.uint64(1)
_HALF: Final = np.uint64(32)
_LOW: Final = np.uint64(2**32 - 1)


def mix(z: Words) -> Words:
    """A bijection of the 64-bit words that leaves no pattern (Steele, Lea and Flood, 2014)."""
    z = (z ^ (z >> np.uint64(30))) * _M1
    z = (z ^ (z >> np.uint64(27))) * _M2
    return z ^ (z >> np.uint64(31))


def below(words: Words, many: Any) -> Ints:
    """Numbers 0..many-1, the high half of word * many; many < 2^32."""
    n = np.asarray(many).astype(np.uint64)
    return (((words >> _HALF) * n + (((words & _LOW) * n) >> _HALF)) >> _HALF).astype(np.int64)


def streams(seed: int, repetition: int, keys: Ints, purpose: int) -> tuple[Words, Words]:
    """State and (odd) increment of the stream of each key."""
    key = mix(np.full(len(keys), np.uint64(seed)) + _GOLDEN)
    key = mix(key ^ (np.full(1, repetition, dtype=np.uint64) + _GOLDEN))
    key = mix(key ^ (keys.astype(np.uint64) * _GOLDEN + _ONE))
    key = mix(key ^ (np.full(1, purpose, dtype=np.uint64) + _M1))
    return key, mix(key + _GOLDEN) | _ONE


class Leading(NamedTuple):
    """Who leads round 0, 1, ... and then again from the first, and whom each asks when it leads: by seat."""

    order: Ints  # (seat,)
    sample: Ints  # (seat, k)


class Seats(NamedTuple):
    """Inputs on which as many take part: on each the honest ones have the first seats, then the liars."""

    inputs: Ints  # (input,): which of the whole batch they are
    who: Ints  # (input, seat): which participant sits there
    honest: int


def seated(moot: Moot, weights: Sequence[float] | None) -> Iterator[Seats]:
    """Inputs on which somebody can ask somebody, by how many take part."""
    there = moot.present
    talking = there[moot.honest].any(axis=0) & (there.sum(axis=0) >= 2)
    if weights is not None:  # where no answer weighs anything nobody is ever turned
        talking &= (there & (np.array(weights) > 0)[:, None]).any(axis=0)
    order = np.argsort(~moot.honest, kind="stable")
    sizes = np.stack([there[moot.honest].sum(axis=0), there.sum(axis=0)], axis=1)
    for honest, all_ in np.unique(sizes[talking], axis=0).tolist():
        inputs = np.flatnonzero(talking & (sizes == (honest, all_)).all(axis=1))
        who = order[np.nonzero(there[np.ix_(order, inputs)].T)[1].reshape(-1, all_)]
        if weights is None:
            yield Seats(inputs, who, honest)
            continue
        alike = np.unique(np.array(weights)[who], axis=0, return_inverse=True)[1].ravel()
        for kind in range(int(alike.max()) + 1):  # who leads follows from the weights
            yield Seats(inputs[alike == kind], who[alike == kind], honest)


class Talk:
    """The talk about the inputs of ``Seats`` in one repetition, turn by turn."""

    def __init__(
        self,
        moot: Moot,
        rule: SnowProtocol[Any],
        seats: Seats,
        repetition: int,
        *,
        itself: bool = False,
        leading: Leading | None = None,
    ) -> None:
        self.moot, self.seats, self.leading, self.itself = moot, seats, leading, itself
        inputs, self.nodes = seats.who.shape
        self.k, self.machine = rule.k, machine_of(rule, moot.classes)
        askers = seats.who[:, : seats.honest]
        self.alpha = rule.thresholds(len(moot.votes))[askers]  # (input, honest seat)
        self.weights: Floats | None = None if rule.weights is None else np.array(rule.weights)[seats.who]
        self.node = self.machine.start[moot.votes[askers, seats.inputs[:, None]] + 1]
        self.holds = self.machine.colour[self.node].astype(np.int8)
        self.held = counted(self.holds, moot.classes)  # (input, colour)
        self.undecided = self.machine.asking[self.node].sum(axis=1)
        self.wins = np.zeros((*self.node.shape, moot.classes), dtype=np.int64)
        keys = np.arange(moot.votes.shape[1]) if moot.keys is None else moot.keys
        own = keys[seats.inputs]
        # With one query for all inputs they have one schedule, and one stream serves them all.
        self.word, self.step = streams(moot.seed, repetition, np.array([-1]) if moot.shared else own, 1)
        self.die, self.die_step = streams(moot.seed, repetition, own, 2)
        self.urn = np.tile(np.arange(self.nodes), (len(self.word), 1))
        self.place = self.urn.copy()
        self.leader, self.sample = -1, np.empty((inputs, 0), dtype=np.int64)
        self.heard: Colours = np.empty((inputs, 0 if leading is None else self.k), dtype=np.int8)
        self._seat_liars()
        self.closed = self._closed()
        self.over = self._all_alike()
        self.asked = np.zeros(inputs, dtype=np.int64)
        self.rounds = np.zeros(inputs, dtype=np.int64)
        shape = (inputs, moot.rounds + 1, moot.classes) if moot.record else (0, 0, 0)
        self.history = np.zeros(shape, dtype=np.int32)

    def play(self) -> None:
        """Round after round, until all inputs are over."""
        if self.moot.record:
            self.history[:] = self.held[:, None]
        for number in range(self.moot.rounds):
            at = np.flatnonzero(~self.over)
            if not at.size:
                break
            self._round(number, at)
            self.rounds[at] += 1
            if self.moot.record:
                self.history[at, number + 1 :] = self.held[at, None]

    # ---- a round -----------------------------------------------------------------------------

    def _round(self, number: int, at: Ints) -> None:
        if self.leading is not None:  # a leader asks before anybody else does, and shows to all what it heard
            self.leader = int(self.leading.order[number % self.nodes])
            self.sample = np.tile(self.leading.sample[self.leader], (len(self.heard), 1))
            self.heard[at] = self._answers(at, np.full(len(at), self.leader), self.sample[at])
            if self.leader < self.seats.honest:
                self.asked[at] += self.k + self.nodes - 1
        fresh = self.node.copy() if self.moot.lockstep else self.node
        for turn in range(self.seats.honest):
            if not self.moot.lockstep and not self.moot.shared and self.over[at].any():
                at = at[~self.over[at]]
            self._turn(turn, at, fresh)
        if self.moot.lockstep:
            self.node[at] = fresh[at]
            self.holds[at] = self.machine.colour[self.node[at]]
            self.held[at] = counted(self.holds[at], self.moot.classes)
            self.undecided[at] = self.machine.asking[self.node[at]].sum(axis=1)
            self.over[at] = self._all_alike()[at]

    def _turn(self, turn: int, at: Ints, fresh: Ints) -> None:
        """One participant asks, on each of these inputs another, or in lockstep the same."""
        stream = np.zeros(1, dtype=np.int64) if self.moot.shared else at
        if self.moot.lockstep:
            asker = np.full(len(stream), turn)
        else:
            self.word[stream] += self.step[stream]
            asker = below(mix(self.word[stream]), self.seats.honest)
        peers = np.broadcast_to(self._drawn(stream, asker), (len(at), self.k))
        asker = np.broadcast_to(asker, (len(at),))
        said = self._answers(at, asker, peers)
        state = self.node[at, asker]
        asks = self.machine.asking[state] == 1
        self.asked[at] += self.k * (asks | self.moot.shared)
        won = self._won(at, said, peers, self.alpha[at, asker])
        if self.leading is not None:
            lost = np.flatnonzero((won == UNCOLOURED) & asks)
            won[lost] = led(won[lost], self._shown(at[lost], asker[lost]))
        ahead = np.zeros(len(at), dtype=np.int64)
        if self.machine.counts_wins:
            counts = np.flatnonzero((won != UNCOLOURED) & asks)
            x, i, w, own = at[counts], asker[counts], won[counts], self.machine.colour[state[counts]]
            self.wins[x, i, w] += 1
            ahead[counts] = is_ahead(self.wins[x, i, w], own, self.wins[x, i, own])
        new = np.where(asks, self.machine.after[state, won + 1, ahead], state)
        if self.moot.lockstep:
            fresh[at, asker] = new
            return
        moved = new != state
        self._move(at[moved], asker[moved], state[moved], new[moved])

    def _move(self, at: Ints, asker: Ints, state: Ints, new: Ints) -> None:
        colour, asking = self.machine.colour, self.machine.asking
        self.node[at, asker] = new
        self.holds[at, asker] = colour[new]
        self.undecided[at] -= asking[state] - asking[new]
        had = colour[state] >= 0
        self.held[at[had], colour[state[had]]] -= 1
        self.held[at, colour[new]] += 1
        if self.machine.decides:
            self.over[at] |= self.undecided[at] == 0
        else:
            alike = self.held[at, colour[new]] == self.seats.honest
            self.over[at] |= alike & self.closed[at, colour[new]]

    def _drawn(self, stream: Ints, asker: Ints) -> Ints:
        """(stream, k): k different peers each, the first steps of a shuffle of what the last query left."""
        urn, place, high = self.urn, self.place, self.nodes
        if not self.itself:  # move the asker out of reach
            high -= 1
            seat, other = place[stream, asker], urn[stream, high]
            urn[stream, seat], place[stream, other] = other, seat
            urn[stream, high], place[stream, asker] = asker, high
        who = np.empty((len(stream), self.k), dtype=np.int64)
        for j in range(self.k):
            self.word[stream] += self.step[stream]
            pick = j + below(mix(self.word[stream]), high - j)
            peer, moved = urn[stream, pick], urn[stream, j]
            urn[stream, pick], urn[stream, j] = moved, peer
            place[stream, moved], place[stream, peer] = pick, j
            who[:, j] = peer
        return who

    def _won(self, at: Ints, said: Colours, peers: Ints, alpha: Ints) -> Ints:
        """(input,): the colour that wins a query with these answers, or -1."""
        won = np.full(len(at), UNCOLOURED, dtype=np.int64)
        weights = None if self.weights is None else self.weights[at[:, None], peers]
        total: Any = peers.shape[1] if weights is None else weights.sum(axis=1)
        for colour in range(self.moot.classes):
            named = said == colour
            tally = named.sum(axis=1) if weights is None else (weights * named).sum(axis=1)
            won[reaches(tally, alpha, total, peers.shape[1])] = colour
        return won

    def _shown(self, at: Ints, asker: Ints) -> Ints:
        """(input,): the colour that wins what the leader shows; a liar shows it to whom it would name it."""
        shown = self._won(at, self.heard[at], self.sample[at], self.alpha[at, asker])
        if self.leader < self.seats.honest:
            return shown
        said = self._answers(at, asker, np.full((len(at), 1), self.leader))[:, 0]
        return np.where(said == shown, shown, UNCOLOURED)

    # ---- what is answered --------------------------------------------------------------------

    def _seat_liars(self) -> None:
        """(input, liar seat): each one's row in the tables, what it sees, and the seat that it follows."""
        table, seats, moot = self.moot.liars, self.seats, self.moot
        row = np.cumsum(~moot.honest) - 1
        self.row = row[seats.who[:, seats.honest :]]
        self.sees = table.sees[self.row]
        followed = np.flatnonzero(moot.honest)[table.target][self.row] if self.row.size else self.row
        same = seats.who[:, None, : seats.honest] == followed[:, :, None]
        self.follows = np.where(same.any(axis=2), same.argmax(axis=2), -1)  # -1: who is absent

    def _answers(self, at: Ints, asker: Ints, peers: Ints) -> Colours:
        """(input, peer): what those asked say; ``asker`` is a seat."""
        honest = self.seats.honest
        said: Colours = self.holds[at[:, None], np.minimum(peers, honest - 1)]
        if not self.row.size:
            return said
        which, column = np.nonzero(peers >= honest)
        x, liar = at[which], peers[which, column] - honest
        sees = self.sees[x, liar]
        seen = np.zeros(len(which), dtype=np.int64)
        told = sees == Sees.ASKER.value
        seen[told] = self.seats.who[x[told], asker[which[told]]]
        second = sees == Sees.RUNNER_UP.value
        seen[second] = runner_up(self.held[x[second]])
        copies = np.flatnonzero(sees == Sees.TARGET.value)
        place = self.follows[x[copies], liar[copies]]
        seen[copies] = np.where(place >= 0, self.holds[x[copies], place], UNCOLOURED)
        throws = np.flatnonzero(sees == Sees.DIE.value)
        if throws.size:  # one throw after the other for each input
            rows = which[throws]
            nth = np.arange(len(rows)) - np.searchsorted(rows, rows) + 1
            words = self.die[x[throws]] + self.die_step[x[throws]] * nth.astype(np.uint64)
            seen[throws] = below(mix(words), self.moot.classes)
            many = np.bincount(rows, minlength=len(at)).astype(np.uint64)
            self.die[at] += self.die_step[at] * many
        inputs = self.seats.inputs[x]
        said[which, column] = self.moot.liars.answers[self.row[x, liar], inputs, seen + 1]
        return said

    # ---- when it is over ---------------------------------------------------------------------

    def _all_alike(self) -> Bools:
        """(input,): all have decided; or, where nobody ever does, all hold a colour that cannot be left."""
        if self.machine.decides:
            return np.asarray(self.undecided == 0)
        return np.asarray(((self.held == self.seats.honest) & self.closed).any(axis=1))

    def _closed(self) -> Bools:
        """(input, colour): once all honest ones hold it, liars are too few to turn anybody."""
        classes = self.moot.classes
        closed = np.ones((len(self.seats.inputs), classes), dtype=np.bool_)
        if not self.row.size:
            return closed
        need = np.ones(len(closed)) if self.weights is not None else self.alpha.min(axis=1)
        answers = self.moot.liars.answers[self.row, self.seats.inputs[:, None]]  # (input, liar, seen)
        copies = (self.sees == Sees.TARGET.value)[:, :, None]
        for held in range(classes):
            # Whoever follows an honest participant sees the colour that all of them hold, and no other.
            said = np.where(copies, answers[:, :, held + 1 : held + 2], answers) if copies.any() else answers
            for other in range(classes):
                if other != held:
                    closed[:, held] &= (said == other).any(axis=2).sum(axis=1) < need
        return closed


def led(won: Any, shown: Any) -> Any:
    """The winner that a participant goes by: that of its own query, else that of what the leader shows."""
    return np.where(np.asarray(won) != UNCOLOURED, won, shown)


def counted(holds: Colours | Ints, classes: int) -> Ints:
    """(..., colour): how many of the last axis hold each."""
    return np.stack([(holds == colour).sum(axis=-1) for colour in range(classes)], axis=-1)


def runner_up(counts: Ints) -> Ints:
    """(row,): the second most common colour of (row, colour), or -1 where the first two are level."""
    order = np.argsort(-counts, axis=1, kind="stable")
    first, second = (np.take_along_axis(counts, order[:, i : i + 1], axis=1)[:, 0] for i in (0, 1))
    return np.where(first == second, UNCOLOURED, order[:, 1])


def talk(
    moot: Moot, rule: SnowProtocol[Any], repetition: int, *, itself: bool = False, leaders: Any = None
) -> Ended:
    """One repetition; ``leaders(seats, rule, repetition)`` lays out who leads, if anybody does."""
    inputs = moot.votes.shape[1]
    cast = np.where(moot.honest[:, None] & moot.present, moot.votes, UNCOLOURED).astype(np.int8)
    held = counted(cast.T, moot.classes)
    settled, rounds = (held > 0).sum(axis=1) == 1, np.zeros(inputs, dtype=np.int64)
    history = np.repeat(held[:, None].astype(np.int32), moot.rounds + 1, axis=1) if moot.record else None
    whole, asked = bool(moot.present.all()), np.zeros(inputs, dtype=np.int64)
    for seats in seated(moot, rule.weights):
        own = rule if whole else rule.scaled(seats.who.shape[1])
        leading = None if leaders is None else leaders(seats, own, repetition, whole)
        played = Talk(moot, own, seats, repetition, itself=itself, leading=leading)
        played.play()
        cast[seats.who[:, : seats.honest], seats.inputs[:, None]] = played.holds
        settled[seats.inputs], rounds[seats.inputs] = played.over, played.rounds
        asked[seats.inputs] = played.asked
        if history is not None:
            history[seats.inputs] = played.history
    # A shared query carries every input, so the batch asks until its longest talk is over.
    queries = asked.max() if moot.shared else asked.sum()
    return Ended(cast, settled, rounds, int(queries), history)

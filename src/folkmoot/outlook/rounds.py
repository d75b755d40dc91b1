"""Snow protocols in numpy, with a leader per round or none.

All inputs are played at once: each turn is an operation on arrays over inputs. A random word is a hash of the
seed, the repetition, the input's key and the number of the draw. An outcome depends on the key and not on the
batch. The rule is the protocol's table (``protocols/machine.py``); ``leaders.py`` has the rule of leaders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from folkmoot.adversaries.interface import Sees
from folkmoot.arrays import Bools, Classes, Ints, Words
from folkmoot.outlook.moot import Ended, OutlookMoot
from folkmoot.protocols.machine import machine_of
from folkmoot.protocols.snow import SnowProtocol, reaches
from folkmoot.protocols.snowball import is_ahead
from folkmoot.votes import NO_VOTE

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)


def mix(z: Words) -> Words:
    """A bijection of the 64-bit words that leaves no pattern (SplitMix64: Steele, Lea and Flood, 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def below(words: Words, many: Any) -> Ints:
    """Numbers 0..many-1, the high half of half a word * many; many < 2^32."""
    return (((words >> _HALF) * np.asarray(many).astype(np.uint64)) >> _HALF).astype(np.int64)


def seed_of(*numbers: int) -> int:
    """A seed of 63 bits made of these."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


def streams(keys: Ints, *purpose: int) -> Words:
    """(key,): where the words of each key begin."""
    return mix(mix((keys.astype(np.uint64) + np.uint64(1)) * _GOLDEN) ^ np.uint64(seed_of(*purpose)))


def words(stream: Words, numbers: Any) -> Words:
    """The words of streams that have these numbers; both are broadcast."""
    return mix(stream + np.asarray(numbers).astype(np.uint64) * _GOLDEN)


class Leading(NamedTuple):
    """The leaders of rounds 0, 1, ..., in a cycle, and the peers that each asks when it leads, by seat."""

    order: Ints  # (seat,)
    sample: Ints  # (seat, k)


class Seats(NamedTuple):
    """Inputs with as many participants each: the honest ones have the first seats, then the malicious."""

    inputs: Ints  # (input,): which of the whole batch they are
    who: Ints  # (input, seat): which participant sits there
    honest: int


Leads: TypeAlias = Callable[[Seats, SnowProtocol[Any]], Leading]


def seated(moot: OutlookMoot, weights: Sequence[float] | None) -> Iterator[Seats]:
    """Inputs on which somebody can ask somebody, by how many take part, and by their weights."""
    there, order = moot.present, np.argsort(~moot.honest, kind="stable")
    honest, everyone = there[moot.honest].sum(axis=0), there.sum(axis=0)
    weight = np.ones(len(there)) if weights is None else np.array(weights)
    counts = (there & (weight > 0)[:, None]).any(axis=0)  # without any weight no query has a winner
    active = np.flatnonzero((honest > 0) & (everyone > 1) & counts)
    groups: dict[tuple[int, bytes], list[tuple[int, Ints]]] = {}
    for x in active.tolist():
        who = order[there[order, x]]
        groups.setdefault((int(honest[x]), weight[who].tobytes()), []).append((x, who))
    for (first, _), listed in groups.items():
        yield Seats(np.array([x for x, _ in listed]), np.array([who for _, who in listed]), first)


class MootRounds:
    """The run of the inputs of ``Seats`` in one repetition, turn by turn."""

    def __init__(
        self, moot: OutlookMoot, rule: SnowProtocol[Any], seats: Seats, repetition: int, itself: bool,
        leading: Leading | None,
    ) -> None:  # fmt: skip
        self.moot, self.seats, self.leading, self.itself = moot, seats, leading, itself
        self.k, self.machine = rule.k, machine_of(rule, moot.classes)
        inputs, self.nodes = seats.who.shape
        askers = seats.who[:, : seats.honest]
        self.alpha = rule.thresholds(len(moot.votes))[askers]  # (input, honest seat)
        self.weights = None if rule.weights is None else np.array(rule.weights)[seats.who]
        self.node = self.machine.start[moot.votes[askers, seats.inputs[:, None]] + 1]
        self.wins = np.zeros((*self.node.shape, moot.classes), dtype=np.int64)
        own = moot.input_keys[seats.inputs]
        # With one query for all inputs they have one schedule: the same words serve them all.
        self.stream = streams(np.full_like(own, -1) if moot.shared else own, moot.seed, repetition, 1)
        self.die = streams(own, moot.seed, repetition, 2)
        self.drawn = self.leader = 0
        self.leader_answers = self.sample = np.empty((0, 0), dtype=np.int64)
        self._seat_malicious()
        self.closed = self._closed()
        self.held = np.zeros((inputs, moot.classes), dtype=np.int64)
        self.over = np.zeros(inputs, dtype=np.bool_)
        self._count(np.arange(inputs))
        self.asked, self.rounds = np.zeros((2, inputs), dtype=np.int64)
        self.history = np.zeros(
            (inputs, moot.rounds + 1, moot.classes) if moot.record else (0, 0, 0), np.int32
        )

    @property
    def holds(self) -> Classes:
        """(input, honest seat): the classes held."""
        return self.machine.class_of[self.node].astype(np.int8)

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

    def _round(self, number: int, at: Ints) -> None:
        lockstep = self.moot.lockstep
        if self.leading is not None:  # a leader asks first, and sends the answers to all
            self.leader = int(self.leading.order[number % self.nodes])
            self.sample = np.broadcast_to(self.leading.sample[self.leader], (len(self.node), self.k))
            self.leader_answers = np.zeros(self.sample.shape, dtype=np.int64)
            self.leader_answers[at] = self._answers(at, np.full(len(at), self.leader), self.sample[at])
            if self.leader < self.seats.honest:
                self.asked[at] += self.k + self.nodes - 1
        fresh = self.node.copy() if lockstep else self.node
        for turn in range(self.seats.honest):
            if not lockstep and not self.moot.shared:
                at = at[~self.over[at]]
            moved = self._turn(turn, at, fresh)
            if not lockstep:
                self._count(moved)
        self.node = fresh
        if lockstep:
            self._count(at)

    def _turn(self, turn: int, at: Ints, fresh: Ints) -> Ints:
        """One participant asks, on each input another or in lockstep the same; where it changed."""
        drawn = words(self.stream[at, None], self.drawn + np.arange(self.k + 1))
        asker = np.full(len(at), turn) if self.moot.lockstep else below(drawn[:, 0], self.seats.honest)
        peers = self._peers(drawn[:, 1:], asker)
        said = self._answers(at, asker, peers)
        state = self.node[at, asker]
        asks = self.machine.asking[state] == 1
        self.asked[at] += self.k * (asks | self.moot.shared)
        won = self._won(at, said, peers, asker)
        if self.leading is not None:
            lost = np.flatnonzero((won == NO_VOTE) & asks)
            won[lost] = led(won[lost], self._leader_winner(at[lost], asker[lost]))
        ahead = np.zeros(len(at), dtype=np.int64)
        if self.machine.counts_wins:
            counts = np.flatnonzero((won != NO_VOTE) & asks)
            x, i, w, own = at[counts], asker[counts], won[counts], self.machine.class_of[state[counts]]
            self.wins[x, i, w] += 1
            ahead[counts] = is_ahead(self.wins[x, i, w], own, self.wins[x, i, own])
        new = np.where(asks, self.machine.after[state, won + 1, ahead], state)
        fresh[at, asker] = new
        changed: Ints = at[new != state]
        return changed

    def _peers(self, drawn: Words, asker: Ints) -> Ints:
        """(input, k): k different ones, each set of k as likely (Floyd's sampling)."""
        others = self.nodes if self.itself else self.nodes - 1
        peers = np.empty(drawn.shape, dtype=np.int64)
        for j in range(self.k):
            last = others - self.k + j
            pick = below(drawn[:, j], last + 1)
            peers[:, j] = np.where((peers[:, :j] == pick[:, None]).any(axis=1), last, pick)
        return peers if self.itself else peers + (peers >= asker[:, None])

    def _won(self, at: Ints, said: Ints, peers: Ints, asker: Ints) -> Ints:
        """(input,): the class that wins a query with these answers, or -1."""
        won = np.full(len(at), NO_VOTE, dtype=np.int64)
        weights: Any = 1 if self.weights is None else self.weights[at[:, None], peers]
        total = self.k if self.weights is None else weights.sum(axis=1)
        for c in range(self.moot.classes):
            tally = (weights * (said == c)).sum(axis=1)
            won[reaches(tally, self.alpha[at, asker], total, self.k)] = c
        return won

    def _leader_winner(self, at: Ints, asker: Ints) -> Ints:
        """(input,): the winner of the leader's query; hidden by a malicious one that would not name it."""
        winner = self._won(at, self.leader_answers[at], self.sample[at], asker)
        if self.leader < self.seats.honest:
            return winner
        said = self._answers(at, asker, np.full((len(at), 1), self.leader))[:, 0]
        return np.where(said == winner, winner, NO_VOTE)

    def _count(self, at: Ints) -> None:
        """Count who holds what there; a run is over if all have decided, or no query can change anything."""
        self.held[at] = counted(self.machine.class_of[self.node[at]], self.moot.classes)
        if self.machine.decides:
            self.over[at] = ~self.machine.asking[self.node[at]].any(axis=1)
        else:
            self.over[at] = ((self.held[at] == self.seats.honest) & self.closed[at]).any(axis=1)

    # ---- malicious participants
    # -------------------------------------------------------------------------------

    def _seat_malicious(self) -> None:
        """(input, malicious seat): its row in the tables, its observation, and the seat that it follows."""
        table, seats, moot = self.moot.malicious, self.seats, self.moot
        self.row = (np.cumsum(~moot.honest) - 1)[seats.who[:, seats.honest :]]
        self.sees = table.sees[self.row]
        followed = np.flatnonzero(moot.honest)[table.target][self.row] if self.row.size else self.row
        same = seats.who[:, None, : seats.honest] == followed[:, :, None]
        self.follows = np.where(same.any(axis=2), same.argmax(axis=2), -1)  # -1: absent

    def _answers(self, at: Ints, asker: Ints, peers: Ints) -> Ints:
        """(input, peer): what those asked say; ``asker`` is a seat."""
        honest, first = self.seats.honest, self.drawn
        self.drawn += self.k + 1
        said: Ints = self.machine.class_of[self.node[at[:, None], np.minimum(peers, honest - 1)]]
        which, column = np.nonzero(peers >= honest)
        if not which.size:
            return said
        x, adversary = at[which], peers[which, column] - honest
        place = self.follows[x, adversary]
        held = np.where(place >= 0, self.machine.class_of[self.node[x, place]], NO_VOTE)
        sees = self.sees[x, adversary]
        seen = np.select(
            [sees == each.value for each in (Sees.ASKER, Sees.RUNNER_UP, Sees.TARGET, Sees.DIE)],
            [
                self.seats.who[x, asker[which]],
                runner_up(self.held[x]),
                held,
                below(words(self.die[x], first + column), self.moot.classes),
            ],
        )
        said[which, column] = self.moot.malicious.answers[
            self.row[x, adversary], self.seats.inputs[x], seen + 1
        ]
        return said

    def _closed(self) -> Bools:
        """(input, class): once all honest ones hold it, the malicious are too few to change that."""
        classes = self.moot.classes
        closed = np.ones((len(self.seats.inputs), classes), dtype=np.bool_)
        need = np.ones(len(closed)) if self.weights is not None else self.alpha.min(axis=1)
        answers = self.moot.malicious.answers[
            self.row, self.seats.inputs[:, None]
        ]  # (input, malicious, seen)
        copies = (self.sees == Sees.TARGET.value)[:, :, None]
        for held in range(classes) if self.row.size else ():
            # An adversary that follows an honest participant then sees the class that all of them hold.
            said = np.where(copies, answers[:, :, held + 1 : held + 2], answers) if copies.any() else answers
            for other in range(classes):
                if other != held:
                    closed[:, held] &= (said == other).any(axis=2).sum(axis=1) < need
        return closed


def led(won: Any, leader_won: Any) -> Any:
    """The winner that a participant goes by: that of its own query, else that of the leader's."""
    return np.where(np.asarray(won) != NO_VOTE, won, leader_won)


def counted(holds: Classes | Ints, classes: int) -> Ints:
    """(..., class): how many of the last axis hold each."""
    return np.stack([(holds == c).sum(axis=-1) for c in range(classes)], axis=-1)


def runner_up(counts: Ints) -> Ints:
    """(row,): the second most common class of (row, class), or -1 where the first two are tied."""
    first, second = np.argsort(-counts, axis=1, kind="stable")[:, :2].T
    rows = np.arange(len(counts))
    return np.where(counts[rows, first] == counts[rows, second], NO_VOTE, second)


def simulate(
    moot: OutlookMoot, rule: SnowProtocol[Any], repetition: int, itself: bool, leads: Leads | None
) -> Ended:
    """One repetition; ``leads(seats, rule)`` lays out the leaders, if there are any."""
    cast = np.where(moot.honest[:, None] & moot.present, moot.votes, NO_VOTE).astype(np.int8)
    held = counted(cast.T, moot.classes)
    converged, rounds, asked = (held > 0).sum(axis=1) == 1, *np.zeros((2, len(held)), dtype=np.int64)
    history = np.repeat(held[:, None].astype(np.int32), moot.rounds + 1, axis=1) if moot.record else None
    for seats in seated(moot, rule.weights):
        own = rule if moot.whole else rule.scaled(seats.who.shape[1])
        played = MootRounds(moot, own, seats, repetition, itself, leads and leads(seats, own))
        played.play()
        cast[seats.who[:, : seats.honest], seats.inputs[:, None]] = played.holds
        converged[seats.inputs], rounds[seats.inputs] = played.over, played.rounds
        asked[seats.inputs] = played.asked
        if history is not None:
            history[seats.inputs] = played.history
    # A shared query carries every input, so the batch asks until its longest run is over.
    return Ended(cast, converged, rounds, int(asked.max() if moot.shared else asked.sum()), history)

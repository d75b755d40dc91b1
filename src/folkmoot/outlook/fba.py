"""Federated Byzantine agreement (FBA) by quorum sets, simulated: messages of all to all in rounds.

In a round each participant reads what has arrived, applies the rules of ``ballots.py``, and sends statements
that are new to all others. One message for all inputs. A message takes one round, or with ``delay`` 1 to so
many rounds, each drawn independently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries.interface import Sees
from folkmoot.arrays import Bools, Classes, Floats, Ints
from folkmoot.outcome import Outcome
from folkmoot.outlook.ballots import NONE, PREPARE, StatedBallots, patience, preferred, wanted_by_first
from folkmoot.outlook.evidence import ListeningNode, ReceivedStatements
from folkmoot.outlook.moot import Ended, OutlookMoot, outcome_of, refuse_sampling
from folkmoot.outlook.network import MaliciousStatements, Network
from folkmoot.outlook.quorum_set import QuorumSet
from folkmoot.outlook.rounds import counted
from folkmoot.outlook.system import QuorumSystem
from folkmoot.protocols.snow import check_weights

LONGEST_DELAY: Final = 100
_MANY: Final = 0.5  # inputs that are over leave the arrays once they are more than this share


@dataclass(frozen=True)
class FBA:
    """Federated Byzantine agreement: each participant decides when a quorum of its own choice has agreed.

    Nothing is drawn: with messages that take one round each the same votes give the same decisions. A
    participant supports a label only if a set that blocks it voted for it at first. Among these it supports
    the one that its own aggregation of first votes prefers. Ballots then bring all to one label, or to none
    (docs/quorum-sets.md).

    Parameters
    ----------
    quorum_sets : mapping from str to QuorumSet or None
        By the participants' names, in the order of the votes. A participant with None is in no
        quorum and decides nothing.
    weights : sequence of float, optional
        Weights of first votes in the aggregation of every participant, in the order of ``quorum_sets``.
        Default: 1 for members of the participant's quorum set, 0 for others.
    delay : int, default 1
        The most rounds that a message takes: 1 is lockstep; with more each message takes 1 to so many,
        drawn by the seed.

    Raises
    ------
    ValueError
        If a quorum set names somebody without an entry, or there is no quorum at all.

    Examples
    --------
    Four take any three of the four; one of them is silent:

    >>> from folkmoot import deliberate
    >>> from folkmoot.adversaries import Silent
    >>> from folkmoot.outlook import FBA, QuorumSet
    >>> three = QuorumSet(3, ["ada", "bo", "cy", "di"])
    >>> protocol = FBA(dict.fromkeys(["ada", "bo", "cy", "di"], three))
    >>> votes = [[0, 1, 0], [0, 1, 1], [0, 0, 1], [1, 1, 1]]
    >>> outcome = deliberate(votes, protocol, adversaries={3: Silent()})
    >>> outcome.decision, outcome.rounds, outcome.queries
    (array([0, 1, 1]), array([5, 5, 5]), array(45))
    """

    quorum_sets: Mapping[str, QuorumSet | None]
    weights: Sequence[float] | None = field(default=None, kw_only=True)
    delay: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.quorum_sets, Mapping):
            raise TypeError(
                f"quorum_sets must map names to quorum sets: got {type(self.quorum_sets).__name__}"
            )
        sets = dict(self.quorum_sets)
        for name, each in sets.items():
            if not isinstance(each, QuorumSet | None):
                raise TypeError(
                    f"quorum_sets must hold a QuorumSet or None for each: got {each!r} for {name!r}"
                )
            stranger = next((who for who in (each.everyone() if each else ()) if who not in sets), None)
            if stranger is not None:
                raise ValueError(
                    f"the quorum set of {name!r} names {stranger!r}, who takes no part; "
                    f"give {stranger!r} a quorum set (or None), or take it out"
                )
        if not QuorumSystem(sets).greatest_quorum():
            raise ValueError(
                "there is no quorum at all among quorum_sets, so that nobody could ever decide; "
                "folkmoot theory quorum-sets says what to change"
            )
        object.__setattr__(self, "quorum_sets", sets)
        object.__setattr__(self, "delay", checks.integer("delay", self.delay, least=1))
        if self.delay > LONGEST_DELAY:
            raise ValueError(f"delay must satisfy delay <= {LONGEST_DELAY}: got delay={self.delay}")
        if self.weights is not None:
            weights = check_weights(self.weights)
            if len(weights) != len(sets):
                raise ValueError(
                    f"weights must hold one weight per participant ({len(sets)}): got {len(weights)}"
                )
            object.__setattr__(self, "weights", tuple(weights.tolist()))

    @property
    def names(self) -> tuple[str, ...]:
        """The participants."""
        return tuple(self.quorum_sets)

    def check(self, participants: int) -> None:
        """Check that there is a quorum set for each of so many."""
        if len(self.quorum_sets) != participants:
            raise ValueError(
                f"quorum_sets must hold one per participant ({participants}): got {len(self.quorum_sets)}"
            )

    def named(self, names: Sequence[str]) -> Self:
        """Put the quorum sets into the order of these names."""
        unset = next((name for name in names if name not in self.quorum_sets), None)
        if unset is not None:
            raise ValueError(f"quorum_sets has no set for participant {unset!r}; write None if it has none")
        stranger = next((name for name in self.quorum_sets if name not in set(names)), None)
        if stranger is not None:
            raise ValueError(
                f"quorum_sets has a set for {stranger!r}, who is no participant; "
                f"participants are {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"
            )
        weights = None
        if self.weights is not None:
            by_name = dict(zip(self.quorum_sets, self.weights, strict=True))
            weights = [by_name[name] for name in names]
        return type(self)({name: self.quorum_sets[name] for name in names}, weights=weights, delay=self.delay)

    def run(self, votes: npt.ArrayLike, *, sampling: object = None, **options: Any) -> Outcome:
        """Deliberate by this protocol: what ``deliberate(votes, protocol, ...)`` calls."""
        refuse_sampling(self, sampling)
        moot = OutlookMoot.checked(votes, **options)
        return outcome_of(moot, self.play(moot))

    def play(self, moot: OutlookMoot) -> list[Ended]:
        """All repetitions; they are the same if nothing is drawn."""
        self.check(len(moot.votes))
        drawn = self.delay > 1 or any(adversary.sees is Sees.DIE for adversary in moot.adversaries.values())
        found = []
        for repetition in range(moot.repeats if drawn else 1):
            found.append(_Run(self, moot, repetition).played())
            if moot.progress:
                moot.progress(repetition + 1, moot.repeats if drawn else 1)
        return found if drawn else found * moot.repeats


class _Run:
    """One run, round by round."""

    def __init__(self, protocol: FBA, moot: OutlookMoot, repetition: int) -> None:
        self.moot, self.listening = moot, ListeningNode(protocol.names, list(protocol.quorum_sets.values()))
        n, inputs = moot.votes.shape
        counters = _counters(moot.rounds)
        self.inputs = np.arange(inputs)  # those that are still open
        self.state = StatedBallots.none(counters, n, inputs)  # what each has said by the last round
        self.waited = np.zeros((n, inputs), dtype=np.int64)
        self.first: Classes = moot.first.astype(np.int8)
        self.told = MaliciousStatements(moot, repetition, counters)
        self.post = Network(moot, self.listening, protocol.delay, repetition) if protocol.delay > 1 else None
        self.weights = self.listening.named * (
            1.0 if protocol.weights is None else np.array(protocol.weights)
        )
        self.messages = int(moot.honest.sum()) * (n - 1)
        # Honest participants that are told the same hear together; with late messages each is alone.
        groups: dict[bytes | int, list[int]] = {}
        for i in np.flatnonzero(moot.honest).tolist():
            groups.setdefault(self.told.key(i) if self.post is None else i, []).append(i)
        self.circles = [np.array(each) for each in groups.values()]

    def played(self) -> Ended:
        """The run, until nobody can decide anything more."""
        moot = self.moot
        n, inputs = moot.votes.shape
        decisions = np.full((n, inputs), NONE, dtype=np.int8)
        converged = np.zeros(inputs, dtype=np.bool_)
        took = np.full(inputs, moot.rounds, dtype=np.int64)
        history = np.repeat(self._held().astype(np.int32)[:, None], moot.rounds + 1, axis=1)
        for now in range(1, moot.rounds + 1):
            self._round(now)
            takes_part = moot.present[:, self.inputs] & moot.honest[:, None]
            decisions[:, self.inputs] = self.state.decided
            history[self.inputs, now:] = self._held()[:, None]
            over = ((self.state.decided != NONE) | ~takes_part).all(axis=0)
            fresh = self.inputs[over & ~converged[self.inputs]]
            converged[fresh] = takes_part[:, over & ~converged[self.inputs]].any(axis=0)
            took[fresh] = now
            if self.post is None:  # in lockstep all first votes are known: who wants nothing never will
                dead = (self.state.wanted[moot.honest] == NONE).all(axis=0)
                took[self.inputs[dead & ~over]] = now
                over |= dead
            if over.all():
                break
            if over.mean() > _MANY:
                self._go_on_with(~over)
        return Ended(decisions, converged, took, self.messages, history)

    def _held(self) -> Ints:
        """(input, class): how many of the honest have decided, or else want, or else voted for each."""
        held = np.where(self.state.wanted != NONE, self.state.wanted, self.first)
        held = np.where(self.state.decided != NONE, self.state.decided, held)[self.moot.honest]
        return counted(held.T, self.moot.classes)

    def _round(self, now: int) -> None:
        before = self.state.part()
        if self.post is not None:
            self.post.send(now - 1, before)
        for rows in self.circles:
            heard = self._heard(rows, before)
            at = before.counter[rows]
            ready = np.ones(len(rows), np.bool_) if self.post is None else self.post.ready(now, rows)
            due = np.where(at > 0, self.waited[rows] >= patience(at), ready[:, None]) & heard.there
            own = self.state.part(rows)
            turn(own, heard, due, self.weights[rows], self.first[rows], self.moot.classes)
            self.state.put(rows, own)
        self.waited = np.where(self.state.counter != before.counter, 1, self.waited + 1)
        new = (self.state.statements != before.statements).any(axis=(0, 1, 3))
        new |= (self.state.wanted != before.wanted).any(axis=1)
        self.messages += int((new & self.moot.honest).sum()) * (len(new) - 1)

    def _heard(self, rows: Ints, before: StatedBallots) -> ReceivedStatements:
        there, first = self.moot.present[np.ix_(rows, self.inputs)], self.first
        if self.post is not None:
            before, known = self.post.delivered(int(rows[0]))
            first = np.where(known[:, None], first, np.int8(NONE))
        if self.moot.adversaries:
            before, first = before.part(), first.copy()
            self.told.mix_in(int(rows[0]), self.inputs, before, first)
        return ReceivedStatements(self.listening, rows, there, first, before, ~self.moot.honest)

    def _go_on_with(self, going: Bools) -> None:
        """The other inputs are over."""
        self.inputs, self.state = self.inputs[going], self.state.part(inputs=going)
        self.waited, self.first = self.waited[:, going], self.first[:, going]
        if self.post is not None:
            self.post.go_on_with(going)


def turn(
    own: StatedBallots, heard: ReceivedStatements, due: Bools, weights: Floats, votes: Classes, classes: int
) -> None:
    """Let nodes say what follows from what they heard, all of them the same.

    ``due`` (row, input): whose time at its counter is over; ``weights`` (row, node): what a first vote counts
    for each; ``votes`` (row, input): their own.
    """
    own.advance(heard.ballots.named(), heard.quorum, heard.block)
    qualified = np.stack([heard.qualified(label) for label in range(classes)])
    scores = np.stack([weights @ (heard.first == label) for label in range(classes)])
    choice = preferred(qualified, scores, votes)
    own.want(choice)
    at = own.counter.copy()
    hurried = due | heard.blocked_by_later(at) & (at > 0)  # nobody is hurried before it has first votes
    for counter in range(1, own.statements.shape[1] + 1):
        waiting = (at == counter) & (own.statements[PREPARE, counter - 1] == NONE)
        when = hurried & (at == counter - 1) | waiting
        if when.any():
            free = choice
            if counter > 1:
                wanted = wanted_by_first(counter, heard.listening.named[heard.rows], heard.ballots.wanted)
                fits = np.take_along_axis(qualified, np.maximum(wanted, 0)[None].astype(np.int64), axis=0)[0]
                free = np.where((wanted != NONE) & fits, wanted, choice)
            own.vote(counter, free, when)


def _counters(rounds: int) -> int:
    """The number of counters that so many rounds can reach."""
    counter, passed = 1, 1
    while passed < rounds:
        passed += int(patience(np.array(counter)))
        counter += 1
    return counter

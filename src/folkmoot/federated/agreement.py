"""Nodes that take part in federated agreement: the rules of ``ballots.py`` applied to what was heard.

``Members`` are nodes that hear the same (all of them in lockstep, one in a network); ``Delegate`` is one
node that keeps what it hears, and speaks and listens in messages. Neither sends anything or has a clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Bools, Colours, Floats, Ints
from folkmoot.federated.ballots import NONE, PHASES, Ballots, only, preferred, wanted_by_first
from folkmoot.federated.evidence import Heard, Listening
from folkmoot.federated.quorum_set import QuorumSet

MOST_COUNTERS: Final = 16  # with it the clocks of a motion run for a hundred and more rounds


class Members:
    """Some nodes of a motion that hear the same, and what they say.

    ``weights`` (row, node) is what a first vote counts for each of them; ``leaning`` (row, input) the label
    that it would take before all others if it qualifies, NONE for none (what trust or peer review made of
    the first votes).
    """

    def __init__(
        self, rows: Ints, classes: int, counters: int, weights: Floats, leaning: Colours, own: Colours
    ) -> None:
        self.rows = rows
        self.classes = classes
        self.ballots = Ballots.none(counters, *own.shape)
        self._weights, self._leaning, self._own = weights, leaning, own
        self._first: Colours | None = None
        self._said: Colours | None = None
        self._own_said: Colours | None = None
        self._qualified: Bools = np.zeros((classes, *own.shape), dtype=np.bool_)

    def turn(self, heard: Heard, due: Bools) -> None:
        """Say what follows from what was heard; ``due`` (row, input): whose time at its counter is over."""
        ballots = self.ballots
        before = self._said
        if not self._known(heard):  # facts only grow, so what follows from these has followed
            new = self._new(heard.ballots.said, before)
            spoken = [each for each in heard.ballots.named() if new[each[0] - 1]]
            ballots.advance(spoken, heard.quorum, heard.block)
            self._qualified = np.stack([heard.qualified(label) for label in range(self.classes)])
        qualified = self._qualified
        own = preferred(qualified, self._scores(heard.first), self._own)
        ballots.want(own)
        at = ballots.counter.copy()
        passed = heard.blocked_by_later(at) & (at > 0)  # nobody is hurried before it has heard first votes
        hurried = due | passed
        here = np.unique(np.concatenate([at[hurried] + 1, at[at > 0]]))  # counters that anybody can vote at
        for counter in here[here <= len(ballots.said[0])].tolist():
            coming = hurried & (at == counter - 1)
            waiting = (at == counter) & (ballots.said[0, counter - 1] == NONE)
            if coming.any() or waiting.any():
                free = own if counter == 1 else self._of_first(counter, heard, qualified, own)
                ballots.vote(counter, free, coming | waiting)

    def look_again(self) -> None:
        """Draw all conclusions anew the next time: more than what was said has become known."""
        self._said = None

    def go_on_with(self, inputs: Bools) -> None:
        """Go on with these inputs (input,) only: the others are over."""
        self.ballots = only(self.ballots, inputs)
        self._leaning, self._own = self._leaning[:, inputs], self._own[:, inputs]
        self._first = self._said = None

    def _of_first(self, counter: int, heard: Heard, qualified: Bools, own: Colours) -> Colours:
        """(row, input): what the counter's first node wants, where that qualifies; else what one prefers."""
        wanted = wanted_by_first(counter, heard.listening.named[self.rows], heard.ballots.wanted)
        fits = np.take_along_axis(qualified, np.maximum(wanted, 0)[None].astype(np.int64), axis=0)[0]
        return np.where((wanted != NONE) & fits, wanted, own).astype(np.int8)

    def _known(self, heard: Heard) -> bool:
        """Whether the same was heard the last time."""
        known = self._said is not None and np.array_equal(heard.ballots.said, self._said)
        known = known and self._first is not None and np.array_equal(heard.first, self._first)
        if not known:
            self._said = heard.ballots.said.copy()
        return known

    def _new(self, said: Colours, before: Colours | None) -> Bools:
        """(counter,): where more was heard than ``before``, or said by these nodes themselves.

        A rule looks at one counter, but for what forbids it, and that grows as well.
        """
        own, self._own_said = self._own_said, self.ballots.said.copy()
        if before is None or own is None:
            return np.ones(len(said[0]), dtype=np.bool_)
        new: Bools = (said != before).any(axis=(0, 2, 3)) | (own != self._own_said).any(axis=(0, 2, 3))
        return new

    def _scores(self, first: Colours) -> Floats:
        """(label, row, input): how much each prefers each label, by its own aggregation of first votes."""
        if self._first is None or not np.array_equal(first, self._first):
            self._first = first.copy()
            counted = [self._weights @ (first == label) for label in range(self.classes)]
            leant = self._leaning == np.arange(self.classes)[:, None, None]
            self._counted = np.where(leant, np.inf, np.stack(counted))
        return self._counted


@dataclass(frozen=True, eq=False)
class Statement:
    """All that a node says on a motion so far: one message, which replaces those before it.

    Parameters
    ----------
    quorum_set : str
        The hash of its quorum set (``QuorumSet.digest``), the same in all its statements.
    said : ndarray of int8, shape (phase, counter, input)
        The label, or -1, for each phase (prepare, prepared, commit, committed) and counter.
    counter : ndarray of int, shape (input,)
        The counter that it is at.
    wanted : ndarray of int8, shape (input,)
        What it would have the others vote for, -1 for nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.federated import QuorumSet
    >>> from folkmoot.federated.agreement import Delegate
    >>> sets = dict.fromkeys("abcd", QuorumSet(3, list("abcd")))
    >>> votes = {"a": [0, 1], "b": [0, 1], "c": [0, 0], "d": [1, 1]}
    >>> nodes = {name: Delegate(name, sets, votes, classes=2) for name in sets}
    >>> for turn in range(5):
    ...     heard = {name: node.turn(due=turn == 0) for name, node in nodes.items()}
    ...     for node in nodes.values():
    ...         for name, statement in heard.items():
    ...             node.hear(name, statement)
    >>> nodes["a"].decided, heard["a"].said[0, 0]
    (array([0, 1], dtype=int8), array([0, 1], dtype=int8))
    """

    quorum_set: str
    said: Colours
    counter: Ints
    wanted: Colours


class Delegate:
    """One node of a motion: it hears statements, and says its own; nothing is sent here, and no clock runs.

    Parameters
    ----------
    name : str
        Which node it is.
    quorum_sets : mapping from str to QuorumSet or None
        Everybody's quorum set, as fixed when the motion was put, in the order of the roster.
    votes : mapping from str to array-like of int, shape (input,)
        Everybody's first votes as it has heard them: labels 0..classes-1, -1 for none.
    classes : int
        The number of labels.
    weights : mapping from str to float, optional
        What each first vote counts for it; by default 1 for all whom its quorum set names.
    leaning : array-like of int, shape (input,), optional
        What it would take before all others, if it qualifies: its decision by trust or peer review.

    Examples
    --------
    ``Statement`` has an example.
    """

    def __init__(
        self,
        name: str,
        quorum_sets: Mapping[str, QuorumSet | None],
        votes: Mapping[str, npt.ArrayLike],
        *,
        classes: int,
        weights: Mapping[str, float] | None = None,
        leaning: npt.ArrayLike | None = None,
    ) -> None:
        self.names = list(quorum_sets)
        if name not in quorum_sets:
            raise ValueError(f"name must be one of the quorum sets' ({_few(self.names)}): got {name!r}")
        self._at = {each: place for place, each in enumerate(self.names)}
        self._sets = dict(quorum_sets)
        self._digests = {each: "" if q is None else q.digest() for each, q in quorum_sets.items()}
        self.name = name
        listening = Listening(self.names, list(quorum_sets.values()))
        row = np.array([self._at[name]])
        first = np.stack([np.asarray(votes[each], dtype=np.int8) for each in self.names])
        counts = listening.named[row].astype(np.float64)
        if weights is not None:
            counts = counts * np.array([float(weights.get(each, 0.0)) for each in self.names])
        own = first[row]
        leans = np.full_like(own, NONE) if leaning is None else np.asarray(leaning, dtype=np.int8)[None]
        self._members = Members(row, classes, MOST_COUNTERS, counts, leans, own)
        heard = Ballots.none(MOST_COUNTERS, len(self.names), own.shape[1])
        self._heard = Heard(listening, row, first, heard)
        self.two_faced: set[str] = set()
        """Who has said two labels for one phase and counter; the first counts."""

    @property
    def decided(self) -> Colours:
        """(input,): what it has decided, -1 where it has not."""
        return np.array(self._members.ballots.decided[0])

    @property
    def quiet(self) -> Bools:
        """(input,): where nobody that it has heard, itself included, wants anything."""
        return np.asarray((self._heard.ballots.wanted == NONE).all(axis=0))

    @property
    def counter(self) -> Ints:
        """(input,): the counter it is at; ``ballots.patience`` says for how long."""
        return np.array(self._members.ballots.counter[0])

    def learn(self, name: str, quorum_set: QuorumSet) -> None:
        """Learn the quorum set of a node that had none so far; from then on it is fixed.

        Parameters
        ----------
        name : str
            Whose set it is.
        quorum_set : QuorumSet
            The set.

        Raises
        ------
        ValueError
            If nobody has that name, or it has another set already.
        """
        if name not in self._at:
            raise ValueError(f"{name!r} takes no part in this motion")
        if self._sets[name] == quorum_set:
            return
        if self._sets[name] is not None:
            raise ValueError(f"{name!r} has another quorum set already, which is fixed for the motion")
        self._sets[name], self._digests[name] = quorum_set, quorum_set.digest()
        self._heard.listening = Listening(self.names, list(self._sets.values()))
        self._members.look_again()

    def hear_first(self, votes: Colours) -> None:
        """Take in first votes that have become known since; a node's first ones count.

        Parameters
        ----------
        votes : ndarray of int8, shape (node, input)
            Everybody's, in the order of the roster; -1 for none, or not known yet.
        """
        first = self._heard.first
        unknown = (first == NONE).all(axis=1) & (votes != NONE).any(axis=1)
        first[unknown] = votes[unknown]

    def resume(self, statement: Statement) -> None:
        """Go on from its own last statement, after a restart: what was said stays said.

        Parameters
        ----------
        statement : Statement
            What it said last.
        """
        own = self._members.ballots
        said, counter, wanted = _well_formed(statement, own.said[:, :, 0].shape, self._members.classes)
        own.said[:, :, 0], own.counter[0], own.wanted[0] = said, counter, wanted
        self.hear(self.name, statement)

    def hear(self, name: str, statement: Statement) -> None:
        """Take in what a node says.

        Parameters
        ----------
        name : str
            Who has signed it.
        statement : Statement
            What it says.

        Raises
        ------
        ValueError
            If nobody has that name, the statement belongs to another quorum set, or it is not well-formed.
        """
        if name not in self._at:
            raise ValueError(f"{name!r} has no quorum set in this motion, so nobody counts it")
        if statement.quorum_set != self._digests[name]:
            raise ValueError(
                f"{name!r} speaks with another quorum set than it had when the motion was put: "
                f"{statement.quorum_set[:12]}... instead of {self._digests[name][:12]}..."
            )
        known = self._heard.ballots
        said, counter, wanted = _well_formed(statement, known.said[:, :, 0].shape, self._members.classes)
        place = self._at[name]
        before = known.said[:, :, place]
        if ((before != NONE) & (said != NONE) & (before != said)).any():
            self.two_faced.add(name)
        known.said[:, :, place] = np.where(before != NONE, before, said)
        known.counter[place] = np.maximum(known.counter[place], counter)
        known.wanted[place] = wanted

    def turn(self, due: npt.ArrayLike = False) -> Statement:
        """Draw all conclusions from what was heard.

        Parameters
        ----------
        due : bool or array-like of bool, shape (input,)
            Whether its time at the counter is over, and at first that all first votes are in that will be.

        Returns
        -------
        Statement
            What it says from now on. It counts for the node itself, too.
        """
        shape = self._members.ballots.counter.shape
        over = np.broadcast_to(np.asarray(due, dtype=np.bool_), shape)
        while True:
            before = self._members.ballots.said.copy()
            self._members.turn(self._heard, over)
            statement = self.statement()
            self.hear(self.name, statement)
            if np.array_equal(before, self._members.ballots.said):
                return statement
            over = np.zeros(shape, dtype=np.bool_)

    def statement(self) -> Statement:
        """What it says, as one message."""
        ballots = self._members.ballots
        return Statement(
            self._digests[self.name],
            ballots.said[:, :, 0].copy(),
            ballots.counter[0].copy(),
            ballots.wanted[0].copy(),
        )


def _well_formed(statement: Statement, shape: tuple[int, ...], classes: int) -> tuple[Colours, Ints, Colours]:
    said, counter = np.asarray(statement.said), np.asarray(statement.counter)
    wanted = np.asarray(statement.wanted)
    if said.ndim != 3 or (len(said), said.shape[2]) != (len(PHASES), shape[2]) or said.shape[1] > shape[1]:
        raise ValueError(
            f"a statement must have a label for {len(PHASES)} phases, up to {shape[1]} counters and "
            f"{shape[2]} inputs: got the shape {said.shape}"
        )
    if counter.shape != shape[2:] or wanted.shape != shape[2:]:
        raise ValueError(f"a statement must have a counter and a wish for each of {shape[2]} inputs")
    for what, values, top in (("label", said, classes), ("wish", wanted, classes)):
        if values.dtype.kind not in "iu" or (values < NONE).any() or (values >= top).any():
            raise ValueError(f"a {what} must satisfy -1 <= label < {classes} in a statement")
    checks.integer("counter", int(counter.min(initial=0)), least=0)
    whole = np.full(shape, NONE, dtype=np.int8)
    whole[:, : said.shape[1]] = said
    return whole, np.minimum(counter, shape[1]).astype(np.int64), wanted.astype(np.int8)


def _few(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")

"""Federated: the protocol of federated agreement, as ``deliberate`` and the estimator take it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from folkmoot import checks
from folkmoot.arrays import Floats
from folkmoot.federated.evidence import Listening
from folkmoot.federated.node_list import read_nodes
from folkmoot.federated.quorum_set import QuorumSet
from folkmoot.federated.system import QuorumSystem
from folkmoot.protocols.snow import check_weights
from folkmoot.protocols.whole import WholeProtocol

LONGEST_DELAY: Final = 100


@dataclass(frozen=True)
class Federated(WholeProtocol):
    """Federated agreement: each participant decides when a quorum of its own choice has agreed.

    Nothing is drawn: with messages that take one round each the same votes give the same decisions. A
    participant supports a label only if a set that blocks it voted for it at first, and among these the one
    that its own aggregation of first votes prefers; ballots then bring all to one label, or to none
    (docs/federated-agreement.md).

    Parameters
    ----------
    quorum_sets : mapping from str to QuorumSet or None
        By the participants' names, in the order of the votes; for an estimator or a file of votes in any
        order. A participant with None is in no quorum and decides nothing.
    weights : sequence of float, optional
        What each one's first vote counts in everybody's own aggregation, in the order of ``quorum_sets``.
        Default: each counts the first votes of those whom its quorum set names, alike.
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
    >>> from folkmoot.federated import Federated, QuorumSet
    >>> three = QuorumSet(3, ["ada", "bo", "cy", "di"])
    >>> protocol = Federated(dict.fromkeys(["ada", "bo", "cy", "di"], three))
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
                "folkmoot federated check says what to change"
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

    @property
    def in_words(self) -> str:
        """A few words for reports."""
        delay = "" if self.delay == 1 else f", messages of up to {self.delay} rounds"
        return f"Federated, {len(self.quorum_sets)} quorum sets{', weighted' if self.weights else ''}{delay}"

    @property
    def how_decided(self) -> str:
        """How a decision comes about, in half a sentence for explanations."""
        return "Everybody told everybody, and a decision stands when a quorum has accepted it"

    def why_open(self, rounds: int) -> str:
        """Why an input may stay open after so many rounds, and what to try.

        Parameters
        ----------
        rounds : int
            The most rounds that were played.
        """
        more = max(50, 4 * rounds)
        return (
            "no label was voted for at first by a set that blocks a quorum, or no quorum agreed in "
            f"{rounds} rounds; see whose absence stops it (folkmoot federated check), or try rounds={more} "
            f"(--rounds {more})"
        )

    def check(self, participants: int) -> None:
        """Check that there is a quorum set for each of so many.

        Parameters
        ----------
        participants : int
            How many there are.

        Raises
        ------
        ValueError
            If there are more or fewer.
        """
        if len(self.quorum_sets) != participants:
            raise ValueError(
                f"quorum_sets must hold one per participant ({participants}): got {len(self.quorum_sets)}"
            )

    def named(self, names: Sequence[str]) -> Self:
        """Put the quorum sets into the order of these names.

        Parameters
        ----------
        names : sequence of str
            The participants, in the order of their votes.

        Returns
        -------
        Federated
            The same protocol.

        Raises
        ------
        ValueError
            If the names are not those of the quorum sets.
        """
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

    def listening(self) -> Listening:
        """The quorum sets as matrices."""
        return Listening(self.names, list(self.quorum_sets.values()))

    def aggregation(self, listening: Listening) -> Floats:
        """(participant, peer): what each one's first vote counts for each."""
        counts: Floats = listening.named.astype(float)
        return counts if self.weights is None else counts * list(self.weights)


def read_federated(path: str | Path, names: Sequence[str]) -> Federated:
    """Read the protocol from a list of nodes, for these participants.

    Parameters
    ----------
    path : str or Path
        JSON in the public form: a list of nodes with ``publicKey`` (or ``name``) and ``quorumSet``, as
        ``folkmoot federated slices --out`` writes it.
    names : sequence of str
        The participants; nodes go by their keys, or by their names if the keys are none of these.

    Returns
    -------
    Federated
        Their quorum sets, in the order of ``names``.

    Raises
    ------
    ValueError
        If the nodes are not these participants, a set names somebody else, or there is no quorum at all.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> from folkmoot.federated import read_federated
    >>> both = {"threshold": 2, "validators": ["GA", "GB"]}
    >>> nodes = [{"publicKey": "GA", "name": "ada", "quorumSet": both},
    ...          {"publicKey": "GB", "name": "bo", "quorumSet": both}]
    >>> file = Path(tempfile.mkdtemp()) / "nodes.json"
    >>> _ = file.write_text(json.dumps(nodes))
    >>> read_federated(file, ["bo", "ada"]).quorum_sets["bo"]
    QuorumSet(threshold=2, members=('ada', 'bo'), inner=())
    """
    listed = read_nodes(path)
    sets = listed.quorum_sets
    called = {key: key for key in sets}
    if not set(called) <= set(names):
        by_name = {str(each["publicKey"]): str(each.get("name") or "") for each in listed.entries}
        if len(set(by_name.values())) == len(by_name) and set(by_name.values()) & set(names):
            called = by_name
    try:
        return Federated({called[key]: each and each.renamed(called) for key, each in sets.items()}).named(
            names
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None

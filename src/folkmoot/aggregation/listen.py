"""Listen: a participant decides what those that it chose to listen to agree on (quorum sets, as in FBA).

D. Mazieres, "The Stellar consensus protocol: a federated model for internet-level consensus" (2016). The
quorum sets are those of ``folkmoot.outlook``; any object with their methods ``satisfied_by`` and
``everyone`` serves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

import numpy as np

from folkmoot.aggregation.interface import FinalVotes, Kind, Known, OwnAggregation
from folkmoot.aggregation.own import Finals, judges_of
from folkmoot.arrays import Array, Ints
from folkmoot.votes import NO_VOTE

_NEVER: Final = "on no input those that it listens to agree"
_NO_SET: Final = "it has no quorum set"


class Listening(Protocol):
    """The participants that one participant listens to."""

    def satisfied_by(self, nodes: Collection[str]) -> bool:
        """Whether these participants are enough."""

    def everyone(self) -> Iterable[str]:
        """All whom it names."""


@dataclass(frozen=True)
class Listen(OwnAggregation):
    """The class on which enough of those agree whom a participant listens to.

    An input on which no class satisfies the participant's quorum set, or several do, has no final vote.

    Parameters
    ----------
    quorum_set : QuorumSet, or a sequence of QuorumSet or None
        One quorum set for all participants, or one for each. One without a quorum set takes the
        plurality.
    names : sequence of str, optional
        Names of the participants in quorum sets. Default: "0", "1" and so on.

    Examples
    --------
    Everybody goes by any two of the first three.

    >>> import numpy as np
    >>> from folkmoot import aggregate
    >>> from folkmoot.aggregation import Listen
    >>> from folkmoot.outlook import QuorumSet
    >>> votes = np.array([[0, 0, 1], [0, 1, 1], [1, 1, 2], [2, 0, 2], [2, 0, 2]])
    >>> aggregate(votes, Listen(QuorumSet(2, ["0", "1", "2"]))).decision
    array([0, 1, 1])
    """

    quorum_set: Listening | Sequence[Listening | None]
    names: Sequence[str] | None = None

    takes: ClassVar[tuple[Kind, ...]] = ("labels",)
    learns: ClassVar[bool] = False

    def __post_init__(self) -> None:
        each = list(self.quorum_set) if isinstance(self.quorum_set, Sequence) else [self.quorum_set]
        for one in each:
            if one is not None and not hasattr(one, "satisfied_by"):
                raise TypeError(
                    "quorum_set must be a QuorumSet of folkmoot.outlook, or one or None per participant: "
                    f"got {one!r}"
                )

    def final_votes(self, table: Array, known: Known) -> FinalVotes:
        """Ask each judge's quorum set about each different column of votes."""
        n = len(table)
        names = [str(i) for i in range(n)] if self.names is None else list(self.names)
        if len(names) != n:
            raise ValueError(f"names must hold one per participant ({n}): got {len(names)}")
        sets = list(self.quorum_set) if isinstance(self.quorum_set, Sequence) else [self.quorum_set] * n
        if len(sets) != n:
            raise ValueError(f"quorum_set must hold one per participant ({n}): got {len(sets)}")
        finals = Finals(table, "labels", known)
        finals.probabilities = None
        columns, which = np.unique(table, axis=1, return_inverse=True)
        for judge in judges_of(table, known).tolist():
            quorum_set = sets[judge]
            if quorum_set is None:
                finals.fall_back(judge, _NO_SET)
                continue
            votes = _agreed(quorum_set, columns, names)[which.reshape(-1)]
            if (votes == NO_VOTE).all():
                finals.fall_back(judge, _NEVER)
                continue
            finals.votes[judge] = votes
            heard = set(quorum_set.everyone())
            finals.weights[judge] = [name in heard for name in names]
        return finals.done()


def _agreed(quorum_set: Listening, columns: Ints, names: Sequence[str]) -> Ints:
    """(column,): the class whose voters are enough; -1 if those of none or of several are."""
    found = np.full(columns.shape[1], NO_VOTE)
    for place, column in enumerate(columns.T):
        voters: dict[int, set[str]] = {}
        for name, vote in zip(names, column.tolist(), strict=True):
            if vote != NO_VOTE:
                voters.setdefault(vote, set()).add(name)
        enough = [vote for vote, who in voters.items() if quorum_set.satisfied_by(who)]
        if len(enough) == 1:
            found[place] = enough[0]
    return found

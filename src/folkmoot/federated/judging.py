"""What signed statements come to for somebody with a quorum set of its own, whether it took part or not.

Take those who say that ballot (n, x) is committed, and of them the greatest set U in which everybody's own
quorum set is satisfied by U. **A label x is confirmed for a quorum set M if M is satisfied by U**, for some
counter n. Whoever has M is then in a quorum, U and itself, all of which has accepted the ballot: it decides
by the same rule as a node does (``ballots.py``), as if it had been one more node that nobody names.

Both halves are needed. If M alone were asked for, signers that M names could have accepted what only they
themselves hold for settled: who satisfies its own set with friends that lie is no witness. If only U were
asked for, two liars who name each other would be a quorum for everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from folkmoot.arrays import Bools, Colours, Ints
from folkmoot.federated.ballots import NONE
from folkmoot.federated.evidence import Listening
from folkmoot.federated.quorum_set import QuorumSet

_VIEWER = ""  # no node is called so


@dataclass(frozen=True, eq=False)
class Confirmed:
    """What is confirmed for one quorum set, input by input."""

    labels: Colours  # (input,): -1 where nothing is, or two labels are
    signers: Ints  # (input,): how many are in the quorum behind it
    claimed: Bools  # (input,): whether some quorum of the signers has accepted a label, whoever looks at it
    split: Bools  # (input,): whether two labels are confirmed: more lie than the quorum sets bear


def confirmed(
    names: Sequence[str], sets: Sequence[QuorumSet | None], committed: Colours, mine: QuorumSet | None
) -> Confirmed:
    """Say what is confirmed for ``mine`` by what others have accepted as committed.

    Parameters
    ----------
    names : sequence of str
        The nodes.
    sets : sequence of QuorumSet or None
        Their quorum sets; a node with None is in no quorum.
    committed : ndarray of int8, shape (counter, node, input)
        The label that each has accepted as committed at each counter, -1 for none.
    mine : QuorumSet or None
        By whose set it is judged; with None nothing is confirmed.

    Returns
    -------
    Confirmed
        The labels, and who is behind them.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.federated import QuorumSet
    >>> from folkmoot.federated.judging import confirmed
    >>> three = QuorumSet(3, list("abcd"))
    >>> said = np.array([[[1], [1], [1], [-1]]], dtype=np.int8)
    >>> confirmed(list("abcd"), [three] * 4, said, QuorumSet(1, ["a"])).labels
    array([1], dtype=int8)
    >>> confirmed(list("abcd"), [three] * 4, said, QuorumSet(1, ["d"])).labels
    array([-1], dtype=int8)
    """
    inputs = committed.shape[2]
    labels = np.full(inputs, NONE, dtype=np.int8)
    signers = np.zeros(inputs, dtype=np.int64)
    claimed, split = np.zeros((2, inputs), dtype=np.bool_)
    listening = Listening([*names, _VIEWER], [*sets, mine])
    viewer = np.ones((1, inputs), dtype=np.bool_)
    for said in committed:
        for label in np.unique(said[said != NONE]).tolist():
            inside = listening.quorum(np.concatenate([said == label, viewer]))
            met, others = inside[-1], inside[:-1]
            claimed |= others.any(axis=0)
            split |= met & (labels != NONE) & (labels != label)
            new = met & (labels == NONE)
            labels[new], signers[new] = label, others.sum(axis=0)[new]
    labels[split] = NONE
    return Confirmed(labels, signers, claimed, split)

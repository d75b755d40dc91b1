"""What a federated motion came to: a function of signed statements, quorum sets, and who looks at them.

A label is decided for a quorum set if that is satisfied by those who have accepted the label as committed,
in one ballot, and each of whom has its own set satisfied among them (``folkmoot.federated.judging``). A node
looks with the set that it has chosen for the motion. Others who hold the statements look with their own.

Two who look with sets that are intact never see different labels, whatever the network does and whoever lies:
both would be in quorums, these share somebody intact, and it accepts one label as committed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from folkmoot.arrays import Bools
from folkmoot.federated.agreement import MOST_COUNTERS
from folkmoot.federated.judging import confirmed
from folkmoot.federated.quorum_set import QuorumSet
from folkmoot.network.wire.ballots import committed_in, phases_of, read_set, unpack_statement
from folkmoot.network.wire.messages import Ballot, Choice, Close
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.verdict import Verdict, voters_of
from folkmoot.votes import UNCOLOURED


@dataclass(frozen=True, eq=False)
class FederatedVerdict(Verdict):
    """Decisions by one quorum set; ``signed`` counts those in the quorum behind each."""

    claimed: Bools  # (input,): whether some quorum has accepted a label, by its own sets
    split: Bools  # (input,): whether two labels are decided for this set
    phases: list[str]  # how far the node that looks is with each input; empty if it is none

    def why_undecided(self) -> list[str | None]:
        """Why an input has no decision, for each; None if it has one."""
        open_ = "no quorum that satisfies this quorum set has accepted a label"
        two = "two labels are accepted: quorums do not intersect, or more lie than this quorum set bears"
        rows = zip(self.decisions.tolist(), self.split.tolist(), strict=True)
        return [None if colour != UNCOLOURED else two if split else open_ for colour, split in rows]


def federated_verdict(
    motion: Motion,
    names: Sequence[str],
    closes: Mapping[int, Close],
    choices: Mapping[int, Choice],
    ballots: Mapping[int, Ballot],
    cheats: Collection[int] = (),
    mine: QuorumSet | None = None,
    own: int | None = None,
) -> FederatedVerdict:
    """What the statements say for a quorum set, those of proven cheats left out.

    ``own`` is the place of the node that looks, if it is one; ``mine`` its set, by default the one that it
    has chosen.
    """
    n = len(names)
    sets = heard_sets({place: each for place, each in choices.items() if place not in cheats}, n)
    if mine is None and own is not None:
        mine = sets[own]
    committed = np.full((MOST_COUNTERS, n, motion.inputs), UNCOLOURED, dtype=np.int8)
    for place, ballot in ballots.items():
        if place not in cheats:
            statement, _ = unpack_statement(ballot.ballots, ballot.quorum_set)
            committed[:, place] = committed_in(statement)
    found = confirmed(names, sets, committed, mine)
    counted = [place for place in sorted(closes) if place not in cheats]
    same = np.zeros(motion.inputs, dtype=np.int64)
    for place in counted:
        held = motion.form.unpack(closes[place].decisions)
        same += (held == found.labels) & (held != UNCOLOURED)
    phases = []
    if own is not None and own in ballots:
        phases = phases_of(unpack_statement(ballots[own].ballots, b"")[0], found.labels)
    return FederatedVerdict(
        decisions=found.labels,
        agreement=same / max(1, len(counted)),
        signed=found.signers,
        voters=voters_of(motion, closes, counted, found.labels),
        participants=n,
        quorum=0,
        least_voters=0,
        closed=counted,
        silent=[place for place in range(n) if place not in closes],
        abstained={place: closes[place].reason for place in counted if closes[place].reason},
        claimed=found.claimed,
        split=found.split,
        phases=phases,
    )


def heard_sets(choices: Mapping[int, Choice], n: int) -> list[QuorumSet | None]:
    """The quorum sets of n participants by place; None where there is no choice."""
    return [read_set(choices[place].quorum_set) if place in choices else None for place in range(n)]


def check_satisfied(
    motion: Motion,
    names: Sequence[str],
    choices: Mapping[int, Choice],
    ballots: Mapping[int, Ballot],
    cheats: Collection[int],
    mine: QuorumSet,
) -> None:
    """ValueError if a quorum has accepted labels that are not decided for this quorum set, or two are."""
    found = federated_verdict(motion, names, {}, choices, ballots, cheats, mine)
    if found.split.any():
        i = int(found.split.argmax())
        raise ValueError(
            f"two labels are accepted for input {i}: quorums do not intersect, or more lie than your quorum "
            f"set bears ({mine})"
        )
    refused = found.claimed & (found.decisions == UNCOLOURED)
    if refused.any():
        i, many = int(refused.argmax()), int(refused.sum())
        raise ValueError(
            f"on {many} of {motion.inputs} inputs, such as {i}, those who accepted a label do not satisfy "
            f"your quorum set ({mine})"
        )

"""What each kind of hostile member costs the others, on the same storms:

    PYTHONPATH=tests python -m support.network.storms_by_kind SEEDS NODES [KIND...]

A line for each kind, over the storms of seeds 0 to SEEDS - 1 that have hostile members. Two members that are
not hostile at all are beside them, since a participant more changes what is decided, whoever it is: one that
is honest, and one that is honest but for its first votes, which are the opposite of what its model says.
"""

from __future__ import annotations

import sys
from typing import Final

import numpy as np

from folkmoot.network.service.node import Node
from folkmoot.network.transports.memory import World
from support.network import storms
from support.network.hostile_members import KINDS
from support.network.moot_in_memory import ChunkVotes, Moot


def honest(_moot: Moot, _place: int, _node: Node, _world: World[int]) -> None:
    """Does nothing that it should not."""


def votes_otherwise(moot: Moot, place: int, node: Node, _world: World[int]) -> None:
    """An honest participant whose model says the opposite."""
    votes = moot.votes[place]
    node._driver._votes = ChunkVotes(np.where(votes < 0, votes, 1 - votes).astype(np.int8))


CONTROLS: Final = {"honest": honest, "honest, votes otherwise": votes_otherwise}


def table(seeds: int, n: int, kinds: list[str]) -> None:
    """Print it."""
    for name, member in CONTROLS.items():
        KINDS[name] = lambda *_, member=member: member
    print("| member | storms | decided | switched off | of the same inputs | of those carried | time |")
    print("|---|---|---|---|---|---|---|")
    for kind in kinds or [*CONTROLS, *storms.DRAWN]:
        whole = storms.Tally()
        for seed in range(seeds):
            if storms.hostile_kinds(seed, n, [kind]):
                whole.add(storms.play(seed, n, [kind]))
        same = whole.decided_both / whole.decided_without
        carried = f"{whole.carried_both} of {whole.carried_without}"
        time = whole.seconds_with / whole.seconds_without
        told = [
            kind,
            whole.storms,
            whole.decided_with,
            whole.decided_without,
            f"{same:.3f}",
            carried,
            f"{time:.2f}",
        ]
        print("|", " | ".join(map(str, told)), "|", flush=True)


if __name__ == "__main__":
    table(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])

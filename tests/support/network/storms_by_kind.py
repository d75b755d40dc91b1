"""What each kind of hostile member costs the others, on the same storms:

    PYTHONPATH=tests python -m support.network.storms_by_kind SEEDS NODES [KIND...]

    PYTHONPATH=tests python -m support.network.storms_by_kind check-rows STORMS

A line for each kind, over the storms of seeds 0 to SEEDS - 1 that have hostile members. Two members that are
not hostile at all are beside them, since a participant more changes what is decided, whoever it is: one that
is honest, and one that is honest but for its first votes, which are the opposite of what its model says.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from folkmoot.network.service.node import Node
from folkmoot.node.transports.memory import World
from support.network import review_storms, storms
from support.network.hostile_members import KINDS
from support.network.message_faults import BY_ASKER, FAULTS, MESSAGES
from support.network.moot_in_memory import ChunkVotes, Moot


def honest(_moot: Moot, _place: int, _node: Node, _world: World[int]) -> None:
    """Does nothing that it should not."""


def votes_otherwise(moot: Moot, place: int, node: Node, _world: World[int]) -> None:
    """An honest participant whose model says the opposite."""
    votes = moot.votes[place]
    node._driver._votes = ChunkVotes(np.where(votes < 0, votes, 1 - votes).astype(np.int8))


def of_messages(family: str, play: Callable[[int, str, bool], tuple[int, int]], storms: int) -> None:
    """A line for each fault, in as many storms over the messages of a kind of motion in turn, and for a liar.

    ``play`` says how many inputs honest nodes have decided in all, and of how many.
    """
    messages = [each.__name__ for each in MESSAGES[family] if each.__name__ not in BY_ASKER]
    print("| the seventh member | storms | decided | with it switched off |")
    print("|---|---|---|---|")
    seeds = [seed for seed in range(20_000, 20_000 + 2 * storms) if seed % 3][:storms]
    off = ""
    for fault in (*FAULTS, "lies"):
        kinds = [
            "lies" if fault == "lies" else f"{fault}: {messages[number % len(messages)]}"
            for number in range(storms)
        ]
        if fault in (FAULTS[0], "lies"):  # without its member a storm is the same whatever the fault
            off = _summed(play(seed, kind, True) for seed, kind in zip(seeds, kinds, strict=True))
        found = _summed(play(seed, kind, False) for seed, kind in zip(seeds, kinds, strict=True))
        print("|", " | ".join([fault, str(storms), found, off]), "|", flush=True)


def _summed(counts: Iterable[tuple[int, int]]) -> str:
    decided, inputs = map(sum, zip(*counts, strict=True))
    return f"{decided} of {inputs}"


def _check_rows(seed: int, kind: str, switched_off: bool) -> tuple[int, int]:
    found = review_storms.play(seed, kind, 1, switched_off=switched_off)
    return found["decided"], found["inputs"]


OF_MESSAGES: Final = {"check-rows": ("check rows", _check_rows)}
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


if __name__ == "__main__" and sys.argv[1] in OF_MESSAGES:
    of_messages(*OF_MESSAGES[sys.argv[1]], int(sys.argv[2]))
elif __name__ == "__main__":
    table(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])

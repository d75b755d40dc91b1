"""Many storms of one kind, one after the other, written down so that one can go on where it was interrupted:

    PYTHONPATH=tests python -m support.network.many_storms KIND FIRST LAST FOLDER

plays the seeds FIRST to LAST - 1 of the slow suite but for those that ``FOLDER/KIND.txt`` has already. A line
for each: its seed, and "holds" or what failed and how to play it again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from support.network import (
    epoch_storms,
    mixed_storms,
    number_storms,
    review_storms,
    storms,
)

# As the slow suite has them, by seed.
PLAYS: Final[dict[str, Callable[[int], Any]]] = {
    "labels": lambda seed: storms.play(seed, 7),
    "numbers": lambda seed: number_storms.play(seed, 7),
    "rosters": epoch_storms.play,
    "check-rows": review_storms.play,
    "mixed": mixed_storms.play,
}


def play_all(kind: str, first: int, last: int, folder: Path) -> int:
    """Play what is missing of these seeds; how many of them do not hold."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kind}.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    known = {int(line.split()[0]): line for line in lines}
    for seed in range(first, last):
        if seed not in known:
            known[seed] = f"{seed} {_outcome(PLAYS[kind], seed)}"
            with path.open("a") as file:
                file.write(known[seed] + "\n")
    return sum(" holds" not in line for seed, line in known.items() if first <= seed < last)


def _outcome(play: Callable[[int], Any], seed: int) -> str:
    try:
        return f"holds {play(seed) if play is not epoch_storms.play else ''}".replace("\n", " ")
    except Exception as error:  # the next seeds are played all the same
        notes = getattr(error, "__notes__", [])
        return " ".join([repr(error), *notes]).replace("\n", " ")


if __name__ == "__main__":
    which, begin, end, where = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    failed = play_all(which, begin, end, where)
    print(f"{which}: seeds {begin} to {end - 1}, {failed} failed")
    sys.exit(failed > 0)

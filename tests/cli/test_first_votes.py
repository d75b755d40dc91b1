"""First votes beside every decision, in ``folkmoot motions``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from support.command import run, run_json
from support.network.moot_in_memory import Moot
from support.network.stored_motion import folder_of

VOTES = np.array([[0, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1], [0, 0, -1], [0, -1, -1]], dtype=np.int8)


def test_first_votes_are_shown_beside_every_decision(tmp_path: Path) -> None:
    hall = Moot(VOTES, 2)
    hall.put(0, k=3, alpha=2, rounds=80)
    hall.network.run(60.0)
    node = folder_of(hall, 1, tmp_path / "north")
    told = run_json("motions", "last", "--via", node)
    assert told["first_votes"] == [{"a": 6}, {"a": 2, "b": 3}, {"a": 2, "b": 2}]
    assert told["majority"] == ["a", "b", None]
    assert None not in told["decisions"]
    assert run_json("motions", "--via", node)["motions"] == [told]
    shown = run("motions", "last", "--via", node).stdout
    for line in ("6 a", "3 b, 2 a", "2 a, 2 b"):
        assert line in shown
    same = sum(a == b for a, b in zip(told["decisions"], told["majority"], strict=True))
    assert f"{3 - same} decided otherwise than most had voted at first" in shown
    assert f"{same} of 3" in run("motions", "--via", node).stdout

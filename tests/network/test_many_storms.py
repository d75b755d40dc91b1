"""Thousands of storms can be interrupted: what was played is not played again, and failures say how to."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.network import many_storms


def test_storms_go_on_where_they_were_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []

    def play(seed: int) -> str:
        played.append(seed)
        if seed == 3:
            error = AssertionError("a split")
            error.add_note("python -m support.network.storms 3 7")
            raise error
        return "well"

    monkeypatch.setitem(many_storms.PLAYS, "labels", play)
    assert many_storms.play_all("labels", 0, 3, tmp_path) == 0
    assert many_storms.play_all("labels", 1, 5, tmp_path) == 1
    assert played == [0, 1, 2, 3, 4]
    lines = (tmp_path / "labels.txt").read_text().splitlines()
    assert lines[2:4] == ["2 holds well", "3 AssertionError('a split') python -m support.network.storms 3 7"]


def test_every_kind_of_storm_can_be_played_so() -> None:
    support = Path(many_storms.__file__).parent
    modules = {path.stem for path in support.glob("*storms.py")} - {"many_storms"}
    assert len(many_storms.PLAYS) == len(modules)

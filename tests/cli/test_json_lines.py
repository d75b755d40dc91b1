"""``learn`` and ``predict`` on records in JSON lines, and on a file with a text per line."""

from __future__ import annotations

import json
import random
from pathlib import Path

from support.command import run, run_json


def test_records_and_texts_are_learnt_from_and_predicted(tmp_path: Path) -> None:
    drawn = random.Random(1)
    rows = []
    for number in range(240):
        mark = drawn.choice(["good", "bad"])
        words = "very good and kind service" if mark == "good" else "rude and slow and bad service"
        rows.append({"text": f"{words} {number}", "site": drawn.choice("abc"), "mark": mark})
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    learnt = run(
        "learn", tmp_path / "rows.jsonl", "--target", "mark", "--group", "site", "--out", tmp_path / "m"
    )
    assert learnt.returncode == 0, learnt.stderr
    (tmp_path / "new.txt").write_text("good kind people\n\nbad and rude and slow\n")
    (tmp_path / "new.jsonl").write_text('{"text": "good kind people"}\n{"text": "bad and rude and slow"}\n')
    for name in ("new.txt", "new.jsonl"):
        assert run_json("predict", tmp_path / "m", tmp_path / name, "--json")["answers"] == ["good", "bad"]

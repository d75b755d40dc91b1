"""Weights from a file: a node's talk follows them, and a file that fits nobody is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from folkmoot.network.service.past_performance import PastPerformance
from support.network.moot_in_memory import Moot, keys_and_roster

SEVEN = 7
ROSTER = keys_and_roster(SEVEN)[1]
MEMBERS = [each.fingerprint for each in ROSTER]


def weight_file(path: Path, weights: dict[str, float]) -> Path:
    path.write_text(json.dumps({"subject": "x", "weights": weights}))
    return path


def decided(moot: Moot) -> list[int]:
    moot.put(weighted=True, k=6, alpha=4)
    moot.network.run(120.0)
    ((session, _),) = moot.over.values()
    return [int(label) for label in session.verdict().decisions]


def test_two_with_a_long_record_outweigh_five_without(tmp_path: Path) -> None:
    # Whoever asks all six others hears at least one of the two: 15 of 15 + 5 are 4.5 of 6, above alpha = 4.
    # The two themselves hear 15 of 20 from each other. With equal weights the five win: 4 or 5 of 6.
    votes = np.array([[1]] * 2 + [[0]] * 5, dtype=np.int8)
    file = weight_file(tmp_path / "w.json", {MEMBERS[0]: 15, MEMBERS[1]: 15.0, MEMBERS[2]: 1})
    past = PastPerformance.read(file, ROSTER)
    assert past.weights(MEMBERS, 2) == [15.0, 15.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert past.weights(MEMBERS[::-1], 10) == [1.0, 1.0, 1.0, 1.0, 1.0, 15.0, 15.0]
    assert len(past) == 3
    assert decided(Moot(votes, 1, past=past)) == [1]
    assert decided(Moot(votes, 1)) == [0]


def test_a_name_that_is_no_members_fingerprint_has_no_weight_here(tmp_path: Path) -> None:
    file = weight_file(tmp_path / "w.json", {MEMBERS[0]: 15, "north": 9})
    assert PastPerformance.read(file, ROSTER).weights(MEMBERS, 2) == [15.0] + [1.0] * 6
    file = weight_file(tmp_path / "w.json", {"0x" + "12" * 20: 15, "north": 9})
    with pytest.raises(ValueError, match="its 2 names are none of the 7 fingerprints in the roster"):
        PastPerformance.read(file, ROSTER)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"weights": {}}',
        '{"weights": [1]}',
        f'{{"weights": {{"{MEMBERS[0]}": -1}}}}',
        f'{{"weights": {{"{MEMBERS[0]}": NaN}}}}',
        f'{{"weights": {{"{MEMBERS[0]}": 1{"0" * 400}}}}}',
        f'{{"weights": {{"{MEMBERS[0]}": "much"}}}}',
        f'{{"weights": {{"{MEMBERS[0]}": "3"}}}}',
        f'{{"weights": {{"{MEMBERS[0]}": true}}}}',
        f'{{"weights": {{"{MEMBERS[0]}": null}}}}',
        "[" * 100_000,
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "w.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="must be a weights file such as"):
        PastPerformance.read(path, ROSTER)

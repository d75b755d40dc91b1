"""The table of a local moot, against a hand-made one."""

from __future__ import annotations

import numpy as np
import pytest

from folkmoot.runs.local_moot import _table

LABELS = [str(digit) for digit in range(10)]
TRUTH = np.tile(np.arange(10), 6)


def test_rows_say_what_was_revealed() -> None:
    """The second of five nodes lies, the third is killed, the last is wrong on three inputs."""
    votes = np.tile(TRUTH, (5, 1))
    votes[1] = (TRUTH + 1) % 10
    votes[2] = -1
    votes[4, :3] = 7
    decided = TRUTH.copy()
    decided[9] = -1
    names = [f"node{i}" for i in range(5)]
    trusted = {"node0": 1.0, "node1": -0.5, "node3": 0.8, "node4": 0.7}
    measured = np.array([[8, 0, 3, 4, 5], [10, 0, 4, 4, 10]])
    table = _table(
        LABELS, trusted, names, votes, decided, TRUTH, [1], {"killed": [2], "paused": []}, measured
    )
    honest, liar, killed, _, wrong = table.rows
    assert [row.role for row in table.rows] == ["honest", "malicious", "faulty", "honest", "honest"]
    assert (honest.score, honest.agreement) == (1.0, 1.0)
    assert (honest.holdout, honest.held_out, liar.holdout) == (0.8, 10, None)
    assert (liar.score, liar.agreement, liar.weight) == (0.0, 0.0, -0.5)
    assert liar.finding == "always wrong (0 of 60 right)"
    assert (killed.coverage, killed.finding, killed.weight) == (0.0, "faulty: killed during the talk", None)
    assert wrong.agreement == pytest.approx(56 / 59)

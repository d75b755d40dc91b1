"""``folkmoot ask``: what cannot be put is one line, and exit code 2."""

from __future__ import annotations

from pathlib import Path

from folkmoot.node.membership.identity import create
from support.command import assert_refused


def test_via_must_be_a_node_that_runs(tmp_path: Path) -> None:
    inputs = tmp_path / "inputs.csv"
    inputs.write_text("1,2\n3,4\n")
    assert_refused(f"there is no node in {tmp_path}", "ask", inputs, "--via", tmp_path)
    assert_refused("must be a node's folder or HOST:PORT: got 'nowhere'", "ask", inputs, "--via", "nowhere")
    create(tmp_path / "north", name="north")
    assert_refused(
        "is not running: start it with folkmoot node run", "ask", inputs, "--via", tmp_path / "north"
    )

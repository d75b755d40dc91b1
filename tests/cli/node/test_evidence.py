"""``folkmoot motions list`` of a node that has caught somebody: it says whom, and writes what proves it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from folkmoot.node.session.terms import Terms
from folkmoot.node.wire.batch import Batch
from support.command import assert_refused, run, run_json
from support.node.in_thread import running
from support.node.served import Played


def test_evidence_is_listed_and_written(tmp_path: Path) -> None:
    played = Played(4)
    name = played.begins(Batch(np.zeros((1, 2))), Terms(labels=("even", "odd")))
    played.ends(name)
    played.accuses(name, "member-02")
    with running(played, tmp_path) as node:
        address, _, token = node.address.partition("/#token=")
        (tmp_path / "copied").write_text(token)
        at = ("--node", address, "--token", tmp_path / "copied")
        told = run("motions", "list", *at).stdout
        assert f"EVIDENCE against member-02: two values for one slot, in motion {name.hex()[:12]}" in told
        assert "--evidence FOLDER writes what proves it" in told
        folder = tmp_path / "proof"
        (found,) = run_json("motions", "list", *at, "--evidence", folder)["evidence"]
        assert (found["participant"], found["motion"]) == ("member-02", name.hex())
        (file,) = folder.iterdir()
        assert (file.name, file.read_bytes()) == (f"{name.hex()[:12]}-member-02.evidence", b"evidence")
        assert_refused("--evidence must be a folder", "motions", "list", *at, "--evidence", file)

"""``folkmoot evidence`` as a newcomer types it: what it says, what it writes, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import msgspec
import pytest

from folkmoot.cli.network.evidence import _MEANING
from folkmoot.network.wire import statements
from folkmoot.network.wire.messages import Commit
from folkmoot.network.wire.statements import TwoCommits, write_evidence
from folkmoot.node.membership.identity import Identity, create
from folkmoot.node.membership.roster import Roster
from support.command import assert_refused, run, run_json

MOTION = b"m" * 32


@pytest.fixture
def accused(tmp_path: Path) -> Identity:
    """The one participant of ``roster.toml``, which signed two commitments: ``north.evidence`` holds them."""
    north = create(tmp_path / "north", name="north")
    Roster([north.member()]).write(tmp_path / "roster.toml")
    one, other = (
        Commit(MOTION, 0, vow, north.key.sign(statements.committed(MOTION, 0, vow)), want=False)
        for vow in (b"1" * 32, b"2" * 32)
    )
    (tmp_path / "north.evidence").write_bytes(packed(north.fingerprint, TwoCommits(one, other)))
    (tmp_path / "weak.evidence").write_bytes(packed(north.fingerprint, TwoCommits(one, one)))
    return north


def packed(fingerprint: str, proof: TwoCommits) -> bytes:
    return msgspec.msgpack.encode((fingerprint, write_evidence(proof)))


@pytest.mark.usefixtures("accused")
def test_it_says_what_was_done_and_which_files_it_wrote(tmp_path: Path) -> None:
    command = ("evidence", tmp_path / "north.evidence", "--roster", tmp_path / "roster.toml")
    shown = run(*command, "--out", tmp_path / "new" / "proofs")
    assert shown.returncode == 0
    assert "two commitments: it signed two different commitments to its first votes" in shown.stdout
    file = tmp_path / "new" / "proofs" / f"{MOTION.hex()[:12]}-north.evidence"
    assert shown.stderr == f"wrote {file}\n"
    assert file.read_bytes() == (tmp_path / "north.evidence").read_bytes()
    (told,) = run_json(*command)["evidence"]
    assert (told["against"], told["holds"], told["in_roster"]) == ("north", True, True)


def test_every_kind_is_explained() -> None:
    kinds = {str(kind.__struct_config__.tag) for kind in get_args(statements.Evidence)}
    assert len(kinds) >= 4
    assert set(_MEANING) == kinds


@pytest.mark.usefixtures("accused")
def test_a_key_that_the_roster_lacks_is_not_a_false_proof(tmp_path: Path) -> None:
    other = create(tmp_path / "south", name="south")
    Roster([other.member()]).write(tmp_path / "other.toml")
    shown = run("evidence", tmp_path / "north.evidence", "--roster", tmp_path / "other.toml")
    assert shown.returncode == 2
    assert "NOT IN THE ROSTER" in shown.stdout
    assert "give the roster that was in use at the time" in shown.stderr
    assert len(shown.stderr.splitlines()) == 1
    weak = run("evidence", tmp_path / "weak.evidence", "--roster", tmp_path / "roster.toml")
    assert (weak.returncode, "DOES NOT HOLD" in weak.stdout) == (2, True)
    assert weak.stderr == "folkmoot: 1 of 1 pieces of evidence prove nothing\n"


@pytest.mark.usefixtures("accused")
def test_what_is_no_evidence_is_one_line(tmp_path: Path) -> None:
    roster = ("--roster", tmp_path / "roster.toml")
    assert_refused(f"there is no node in {tmp_path}: give a node's folder", "evidence", tmp_path, *roster)
    assert_refused("No such file", "evidence", tmp_path / "none", *roster)
    assert_refused("has no motions yet", "evidence", tmp_path / "north", *roster)
    assert_refused("is not a file of evidence", "evidence", tmp_path / "roster.toml", *roster)
    piece = tmp_path / "north.evidence"
    assert_refused("--out must be a folder", "evidence", piece, *roster, "--out", piece)
    assert_refused("none.toml: No such file", "evidence", piece, "--roster", tmp_path / "none.toml")
    (tmp_path / "cut.evidence").write_bytes(piece.read_bytes()[:-9])
    assert_refused("or not all of one", "evidence", tmp_path / "cut.evidence", *roster)

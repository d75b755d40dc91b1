"""``folkmoot node``: a node made at the prompt is the one that the library loads."""

from __future__ import annotations

import stat
from pathlib import Path

from folkmoot.node.membership.identity import load
from folkmoot.node.membership.roster import Member
from support.command import assert_refused, run, run_json


def test_init_prints_the_line_of_the_roster(tmp_path: Path) -> None:
    organisation = 'St John\'s "North" \\ Öst'
    options = ["--name", "north", "--organisation", organisation, "--listen", "0.0.0.0:7000"]
    result = run(
        "node", "init", tmp_path / "n", *options, "--address", "n.example:7000", "--address", "[::1]:7"
    )
    assert result.returncode == 0, result.stderr
    assert "folkmoot roster add ROSTER.toml" in result.stderr
    (line,) = result.stdout.splitlines()
    found = load(tmp_path / "n")
    assert Member.parse(line) == found.member()
    assert (found.name, found.organisation, found.listen) == ("north", organisation, "0.0.0.0:7000")
    assert found.addresses == ("n.example:7000", "[::1]:7")
    assert stat.S_IMODE((tmp_path / "n" / "key.pem").stat().st_mode) == 0o600


def test_init_as_json(tmp_path: Path) -> None:
    told = run_json("node", "init", tmp_path / "n", "--name", "north")
    found = load(tmp_path / "n")
    assert told == {
        "folder": str(tmp_path / "n"),
        "name": "north",
        "organisation": "",
        "listen": "127.0.0.1:7654",
        "addresses": ["127.0.0.1:7654"],
        "fingerprint": found.fingerprint,
        "line": found.member().line(),
        "exported": {},
    }
    assert_refused("has a node already", "node", "init", tmp_path / "n", "--name", "north")
    assert load(tmp_path / "n") == found


def test_init_refuses_in_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "n"
    assert_refused("Missing option '--name'", "node", "init", folder)
    assert_refused("name must be 1 to 64 letters", "node", "init", folder, "--name", "a b")
    assert_refused(
        "listens on 0.0.0.0:1: give --address HOST:PORT",
        *["node", "init", folder, "--name", "a", "--listen", "0.0.0.0:1"],
    )
    assert not folder.exists()

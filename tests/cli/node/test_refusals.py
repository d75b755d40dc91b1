"""What the commands of a node refuse: one line, with what was typed, and nothing is put."""

from __future__ import annotations

from pathlib import Path

import pytest

from folkmoot.node.membership.identity import create
from folkmoot.node.membership.roster import Roster
from folkmoot.node.storage.storage import create_storage
from support.command import assert_refused, run, run_json


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node that does not run, and inputs."""
    monkeypatch.chdir(tmp_path)
    me = create("north", name="north")
    create_storage(Path("north"), me.fingerprint, 0.0)
    Roster([me.member()]).write("roster.toml")
    with Path("north/node.toml").open("a") as file:
        file.write('roster = "../roster.toml"\n')
    Path("x.csv").write_text("a\n1\n")
    return tmp_path


ASK = ("ask", "x.csv", "--node", "north")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("the node in north is not running: start it with folkmoot node run --node north", ASK),
        ("--node must be the folder of a node, or such as http://", ("ask", "x.csv", "--node", "south")),
        ("none.json: No such file or directory", ("verify", "none.json")),
        ("no node answers at http://127.0.0.1:1", ("ask", "x.csv", "--node", "http://127.0.0.1:1")),
        ("--token must be given with --node URL only", (*ASK, "--token", "x.csv")),
        (
            "--answers must be one of labels, probabilities, numbers, text: got 'texts'",
            (*ASK, "--answers", "texts"),
        ),
        ("--believe must be one of plurality, dawid-skene", (*ASK, "--believe", "me")),
        ("--protocol must be one of council, slush, snowflake, snowball", (*ASK, "--protocol", "chat")),
        ("--believe record is for --answers labels", (*ASK, "--believe", "record", "--answers", "numbers")),
        ("give --believe or --protocol, not both", (*ASK, "--believe", "own", "--protocol", "slush")),
        ("--rows is for --believe peer-review", (*ASK, "--rows", "3")),
        ("--alpha must be a whole number or 'local': got 'many'", (*ASK, "--alpha", "many")),
        ("--deadline must be a time such as 30s", (*ASK, "--deadline", "soon")),
        ("--deadline must be a time such as 30s", ("local", "--deadline", "soon")),
        ("--out must name a file in a folder that exists", (*ASK, "--out", "no/such.csv")),
        ("--malicious and --kill must leave two honest nodes", ("local", "--nodes", "4", "--malicious", "3")),
        ("attack must be", ("local", "--attack", "rude")),
        ("there is no motion 'last' at this node", ("motions", "show", "last", "--node", "north")),
        ("--last must be at least 1", ("motions", "list", "--node", "north", "--last", "0")),
        ("must be a certificate, a piece of evidence", ("verify", "x.csv")),
        ("the node in north is not running", ("node", "status", "--node", "north")),
        ("the node in north is not running", ("node", "reload", "--node", "north")),
        ("--disk must be a size of at least 10MB", ("node", "run", "--node", "north", "--disk", "1KB")),
        (
            "--page-behind-tls must be given with --page",
            ("node", "run", "--node", "north", "--page-behind-tls", "x.y"),
        ),
    ],
)
def test_it_is_one_line(message: str, typed: tuple[str, ...]) -> None:
    assert_refused(message, *typed)


@pytest.mark.usefixtures("here")
def test_what_a_folder_holds_is_told_though_the_node_does_not_run() -> None:
    told = run_json("motions", "list", "--node", "north")
    assert told == {"motions": [], "count": 0, "damaged": [], "invitations": [], "evidence": []}
    assert run_json("roster", "propose", "--node", "north")["epoch"] == 0
    assert run("node", "audit", "--node", "north", "--out", "north.log").returncode == 0
    assert run_json("verify", "north.log")["holds"]

"""``folkmoot roster``: a file looked after at the prompt, and what is wrong with one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from folkmoot.node.membership.identity import Identity, create
from folkmoot.node.membership.roster import Roster
from support.command import assert_refused, run, run_json


@pytest.fixture
def nodes(tmp_path: Path) -> list[Identity]:
    """Six of them, in folders of their names."""
    return [
        create(tmp_path / name, name=name, organisation=f"[red]{name}'s \\", listen=f"127.0.0.1:{port}")
        for port, name in enumerate(["a", "b", "c", "d", "e", "f"], 7000)
    ]


def said(*arguments: object, stdin: str | None = None) -> str:
    result = run("roster", *arguments, stdin=stdin)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def test_a_roster_grows_and_shrinks(tmp_path: Path, nodes: list[Identity]) -> None:
    path = tmp_path / "roster.toml"
    whole = Roster(each.member() for each in nodes)
    lines = [each.member().line() for each in nodes]
    assert said("add", path, lines[3], tmp_path / "a").startswith("added d, a: 2 participants, digest ")
    piped = f"# the others\n\n{lines[1]},\r\n{lines[2]}\n{lines[4]}\n{lines[5]}"
    assert said("add", path, "-", stdin=piped) == (
        f"added b, c, e, f: 6 participants, digest {whole.digest}\n"
    )
    assert Roster.read(path) == whole
    assert said("check", path) == f"ok: 6 participants, digest {whole.digest}\n"

    shown = said("show", path)
    for each in nodes:
        assert each.organisation in shown
        assert each.fingerprint[:16] in shown
        assert each.addresses[0] in shown
    assert f"digest {whole.digest}\nquorum 4 of 6; tolerates 1 liar, fewer than n/5" in shown
    told = run_json("roster", "show", path)
    assert (told["n"], told["digest"], told["quorum"], told["faults"]) == (6, whole.digest, 4, 1)
    assert told["participants"][5] == {
        "name": "f",
        "organisation": "[red]f's \\",
        "fingerprint": nodes[5].fingerprint,
        "addresses": ["127.0.0.1:7005"],
    }
    assert run_json("roster", "check", path) == {"ok": True, "problems": [], **told}

    assert said("remove", path, "b", "e", "b").startswith("removed b, e: 4 participants, digest ")
    assert [each.name for each in Roster.read(path)] == ["a", "c", "d", "f"]


def test_what_cannot_be_added_or_removed_changes_nothing(tmp_path: Path, nodes: list[Identity]) -> None:
    path = tmp_path / "roster.toml"
    Roster([nodes[0].member()]).write(path)
    before = path.read_bytes()
    create(tmp_path / "other", name="a")
    for message, *arguments in [
        (
            "'a' takes part already; to replace it, run folkmoot roster remove",
            "add",
            tmp_path / "b",
            tmp_path / "a",
        ),
        ("another 'a' takes part already", "add", tmp_path / "other"),
        ("a participant must be a line that folkmoot node init printed", "add", "nobody"),
        ("must be as folkmoot node init prints it", "add", "{ name = north }"),
        ("name must be one of a: got 'z'", "remove", "z"),
    ]:
        assert_refused(str(message), "roster", arguments[0], path, *arguments[1:])
    result = run("roster", "add", path, "-", stdin="\n# nobody\n")
    assert result.stderr == "folkmoot: lines on stdin must be as folkmoot node init prints them: got none\n"
    assert path.read_bytes() == before


def test_check_says_every_problem_on_a_line_of_its_own(tmp_path: Path, nodes: list[Identity]) -> None:
    path = tmp_path / "roster.toml"
    Roster(each.member() for each in nodes).write(path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("127.0.0.1:7001", "nowhere").replace('"c"', '"d"'), encoding="utf-8")
    expected = [
        "participant 2 (b): address must be HOST:PORT",
        "participant 3 (d): name must be that in the certificate (CN=c)",
        "names must differ: got 'd' twice",
    ]
    result = run("roster", "check", path)
    lines = result.stderr.splitlines()
    assert (result.returncode, result.stdout, len(lines)) == (2, "", 3)
    result = run("roster", "check", path, "--json")
    told = json.loads(result.stdout)
    assert (result.returncode, result.stderr, told["ok"]) == (2, "", False)
    for line, problem, message in zip(lines, told["problems"], expected, strict=True):
        assert line.startswith(f"folkmoot: {path}: {message}")
        assert problem.startswith(message)
    assert_refused("(and 2 more: run folkmoot roster check", "roster", "show", path)
    assert_refused("No such file", "roster", "check", tmp_path / "none.toml")

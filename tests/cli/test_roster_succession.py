"""``folkmoot roster propose | sign | status``: a roster replaced from file to file, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from folkmoot.network.storage.chronicle import Chronicle, Proposal
from folkmoot.network.storage.storage import Storage
from folkmoot.network.wire.succession import Succession
from folkmoot.network.wire.succession_file import read_succession
from folkmoot.node.membership.identity import create, load
from folkmoot.node.membership.roster import Roster
from support.command import assert_refused, run, run_json

NAMES = ["a", "b", "c", "d", "e", "f"]  # f = 1, q = 4


@pytest.fixture
def moot(tmp_path: Path) -> Path:
    """Six nodes in folders of their names, a newcomer in ``g``, another key of a in ``a2``, a roster."""
    for port, name in enumerate([*NAMES, "g"], 7000):
        create(tmp_path / name, name=name, listen=f"127.0.0.1:{port}")
    create(tmp_path / "a2", name="a", listen="127.0.0.1:7000")
    Roster(load(tmp_path / name).member() for name in NAMES).write(tmp_path / "roster.toml")
    for name in NAMES:
        with (tmp_path / name / "node.toml").open("a") as file:
            file.write('roster = "../roster.toml"\n')
    return tmp_path


def proposed(moot: Path, *what: object) -> Any:
    return run_json("roster", "propose", moot / "a", *what, "--out", moot / "next.toml")


def signed(moot: Path, name: str) -> Any:
    return run_json("roster", "sign", moot / name, moot / "next.toml")


def test_a_member_joins_by_a_file_that_goes_round(moot: Path) -> None:
    old, file = Roster.read(moot / "roster.toml"), moot / "next.toml"
    told = proposed(moot, "--add", moot / "g", "--remove", "f")
    assert told["changes"] == {"joined": ["g"], "left": ["f"], "rotated": [], "replaced": [], "edited": []}
    assert (told["signed"], told["counted"], told["needed"], told["in_force"]) == (["a"], 1, 4, False)
    assert Roster.read(file).digest == told["digest"]
    for number, name in enumerate(["b", "c", "d"], 2):
        told = signed(moot, name)
        assert (told["counted"], told["in_force"]) == (number, number == 4)
    succession, signatures = read_succession(file, old)
    assert succession.standing(old, signatures).complete
    now = run_json("roster", "status", moot / "d")
    assert (now["epoch"], now["digest"], now["previous"]) == (1, told["digest"], old.digest)
    assert (now["participants"], now["proposals"]) == (["a", "b", "c", "d", "e", "g"], [])
    before = run_json("roster", "status", moot / "a")  # it has not seen the file since, and runs no node
    assert (before["epoch"], before["proposals"][0]["signed"]) == (0, ["a"])
    assert signed(moot, "a")["in_force"]
    assert run_json("roster", "status", moot / "a", "--out", moot / "new.toml")["epoch"] == 1
    assert Roster.read(moot / "new.toml") == succession.roster
    assert_refused(
        "--epoch must be one that this node knows (0, 1), with --out: got -1",
        "roster", "status", moot / "a", "--out", moot / "old.toml", "--epoch", "-1",
    )  # fmt: skip
    assert_refused(
        "'--epoch': expected a whole number, got 'x'", "roster", "status", moot / "a", "--epoch", "x"
    )
    run_json("roster", "status", moot / "a", "--out", moot / "old.toml", "--epoch", 0)
    assert Roster.read(moot / "old.toml") == old
    result = run("roster", "status", moot / "g", "--roster", moot / "new.toml")  # the newcomer's own
    assert result.stdout.startswith(f"epoch 1, 6 participants, digest {told['digest']}\n")
    assert (moot / "a" / "moot.db").stat().st_mode & 0o777 == 0o600


def test_by_the_digits_that_status_shows(moot: Path) -> None:
    proposed(moot, "--remove", "f")
    result = run("roster", "status", moot / "a")
    digits = run_json("roster", "status", moot / "a")["proposals"][0]["proposal"][:12]
    assert digits in result.stdout
    assert "left f" in result.stdout
    again = run("roster", "sign", moot / "a", digits)
    assert again.returncode == 0
    assert f"proposal {digits} for epoch 1: left f\n" in again.stdout
    assert "signed by a: 1 of 4 signatures needed\n" in again.stdout


def test_another_key_needs_the_old_one_and_a_stolen_one_does_not(moot: Path) -> None:
    told = run_json("roster", "propose", moot / "b", "--rotate", moot / "a2", "--out", moot / "next.toml")
    assert (told["changes"]["rotated"], told["owed"]) == (["a"], ["a"])
    for name in ["c", "d", "e", "f"]:
        told = signed(moot, name)
    assert (told["counted"], told["owed"], told["in_force"]) == (5, ["a"], False)
    assert signed(moot, "a")["in_force"]

    new = run_json("roster", "status", moot / "a", "--out", moot / "new.toml")
    assert new["participants"] == NAMES
    assert_refused(  # the old key is nobody any more
        "only members of the roster in force (epoch 1) may sign what replaces it: this node is none",
        "roster", "propose", moot / "a", "--remove", "f",
    )  # fmt: skip
    create(moot / "b2", name="b", listen="127.0.0.1:7001")
    line = load(moot / "b2").member().line()
    arguments = ("roster", "propose", moot / "a2", "--replace", line, "--roster", moot / "new.toml")
    told = run_json(*arguments)
    assert (told["epoch"], told["changes"]["replaced"], told["owed"]) == (2, ["b"], [])


def test_a_node_signs_one_successor_and_two_of_a_liar_are_evidence(moot: Path) -> None:
    proposed(moot, "--remove", "f")
    assert_refused(
        "this node has signed another successor of epoch 0", "roster", "propose", moot / "a", "--remove", "e"
    )
    old, liar = Roster.read(moot / "roster.toml"), load(moot / "e")
    storage = Storage(moot / "a" / "moot.db")
    chronicle = Chronicle(storage, old, 0.0)
    for left in ("b", "c"):
        succession = Succession.after(old, [member for member in old if member.name != left])
        chronicle.learn(Proposal(old, succession, {4: succession.signed_by(liar.key, 4)}), 0.0)
    storage.close()
    assert run_json("roster", "status", moot / "a")["evidence"] == [{"epoch": 0, "against": "e"}]
    assert (
        "EVIDENCE against e: it signed two successors of epoch 0"
        in run("roster", "status", moot / "a").stdout
    )
    result = run("evidence", moot / "a", "--roster", moot / "roster.toml", "--out", moot / "proofs")
    assert result.returncode == 0
    assert "it signed two different rosters to replace one" in result.stdout
    (file,) = (moot / "proofs").iterdir()
    (told,) = run_json("evidence", file, "--roster", moot / "roster.toml")["evidence"]
    assert (told["against"], told["what"], told["holds"]) == ("e", "two successors", True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["propose", "a"], "give what changes: --add, --remove, --rotate or --replace"),
        (["propose", "a", "--remove", "z"], "--remove must be one of a, b, c, d, e, f: got 'z'"),
        (["propose", "a", "--add", "b"], "--add: 'b' takes part already; for another key of the same member"),
        (["propose", "a", "--add", "{}"], "a participant's line must be as folkmoot node init prints it"),
        (["propose", "a", "--add", "nowhere"], "must be a line that folkmoot node init printed"),
        (["propose", "a", "--add", "g", "--add", "g"], "--add must name each member once: got 'g' twice"),
        (["propose", "a", "--rotate", "g"], "--rotate must be another key of a member: 'g' takes no part"),
        (["propose", "a", "--replace", "b"], "--replace must be another key of a member: 'b' has this key"),
        (["propose", "a", "--remove", "b", "--out", "no/x.toml"], "--out must name a file in a folder that"),
        (["propose", "g", "--remove", "b", "--roster", "roster.toml"], "this node is none"),
        (["propose", "g", "--remove", "b"], "roster"),
        (["propose", "nowhere", "--remove", "b"], "there is no node in nowhere"),
        (["sign", "a", "abcdef"], "first digits of one that this node has (it has none): got 'abcdef'"),
        (["sign", "a", ""], "got ''"),
        (["sign", "a", "roster.toml"], "a successor must follow the roster of epoch 0"),
        (["sign", "a", "a/key.pem"], "a roster must be TOML"),
        (["status", "nowhere"], "there is no node in nowhere"),
        (["status", "a", "--roster", "nowhere.toml"], "nowhere.toml"),
        (["status", "a", "--epoch", "0"], "--epoch must be one that this node knows (0), with --out: got 0"),
        (["status", "a", "--epoch", "3", "--out", "x.toml"], "knows (0), with --out: got 3"),
        (["status", "a", "--out", "no/x.toml"], "--out must name a file in a folder that exists"),
    ],
)  # fmt: skip
def test_what_is_refused_is_said_in_one_line(
    moot: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(moot)
    assert_refused(message, "roster", *arguments)
    assert not (moot / "a" / "moot.db").exists() or run_json("roster", "status", "a")["proposals"] == []

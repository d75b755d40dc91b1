"""What others wrote cannot steer a terminal, whatever prints it; and no cell that we write is a formula."""

from __future__ import annotations

import ast
import csv
import io
import json
import sys
import tomllib
import unicodedata
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import folkmoot
from folkmoot.cli.output import print_json, print_table, say
from folkmoot.files.tabular import open_table, write_table
from folkmoot.files.terminal import printable
from folkmoot.node.log import Journal
from folkmoot.node.membership.identity import create
from folkmoot.node.membership.roster import Roster
from support.command import run, run_json

# Bidirectional controls by the Unicode standard (annex 9), C0 and C1 controls, and what ends lines elsewhere.
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
NASTY = (
    "\x1b[2J\x1b]0;owned\x07" + "".join(map(chr, [*range(32), *range(0x7F, 0xA0)])) + BIDI + "\u2028\u2029"
)


def obeyed(text: str) -> set[str]:
    """What a terminal could obey or hide, by Unicode's categories; line feeds are ours."""
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"}


@given(st.text(st.characters(codec="utf-8")))
@example(NASTY)
@example("\U000e0001 tag, \U0001f600 smile")
def test_nothing_is_obeyed_and_nothing_is_lost(text: str) -> None:
    shown = printable(text)
    assert not obeyed(shown)
    assert "\n" not in shown
    if "\\" not in text and '"' not in text:
        assert json.loads(f'"{shown}"') == text
    if text.isprintable():
        assert shown == text


@given(st.dictionaries(st.text(max_size=5), st.text(), max_size=3))
@example({"label": NASTY})
def test_json_shows_everything_escaped_and_means_the_same(result: dict[str, str]) -> None:
    out, sys.stdout = sys.stdout, io.StringIO()
    try:
        print_json(result)
        shown = sys.stdout.getvalue()
    finally:
        sys.stdout = out
    assert not obeyed(shown)
    assert json.loads(shown) == result


def test_tables_lines_and_logs(capsys: pytest.CaptureFixture[str]) -> None:
    forged = "fine\nEVIDENCE against north"
    print_table(NASTY, [f"h{NASTY}"], [[NASTY], ["[bold]x[/bold] :smile:"]], [NASTY, forged], words=True)
    say(NASTY, forged)
    Journal(stream=sys.stdout).write("info", "motion heard", asker=NASTY)
    shown = capsys.readouterr().out
    assert not obeyed(shown)
    assert "[bold]x[/bold] :smile:" in shown
    assert not any(line.startswith("EVIDENCE") for line in shown.splitlines())


def test_commands_print_in_one_place_only() -> None:
    """print() is called by cli/output.py alone: nothing else can forget to escape."""
    calls = []
    package = Path(folkmoot.__file__).parent
    for path in (package / "cli").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = getattr(
                getattr(node, "func", None), "id", getattr(getattr(node, "func", None), "attr", "")
            )
            if isinstance(node, ast.Call) and name in ("print", "echo", "secho", "write"):
                calls.append((path.relative_to(package).as_posix(), name))
    # main.py prints "interrupted" and app.py the version: words of our own, and no others.
    allowed = {("cli/output.py", "print"), ("cli/app.py", "echo"), ("cli/main.py", "print")}
    assert not {call for call in calls if call not in allowed and call[1] != "write"}


def test_organisations_are_shown_escaped(tmp_path: Path) -> None:
    made = create(tmp_path / "north", name="north", organisation="St. \u202eyraM\u2066")
    roster = tmp_path / "roster.toml"
    Roster([made.member()]).write(roster)
    shown = run("roster", "check", roster)
    assert shown.returncode == 0
    assert not obeyed(shown.stdout + shown.stderr)
    assert "\\u202eyraM" in shown.stdout
    assert run_json("roster", "check", roster)["participants"][0]["organisation"] == made.organisation
    tagged = "\u202eyraM\xa0\U000e0001"
    model = ("--model", "folkmoot.files.terminal:printable")  # any function
    line = run("node", "init", tmp_path / "south", *model, "--organisation", tagged).stdout
    assert not obeyed(line)
    assert tomllib.loads(f"x = {line}")["x"]["organisation"] == tagged  # as it was meant


def test_files_of_others_cannot_steer_a_terminal(tmp_path: Path) -> None:
    made = create(tmp_path / "north", name="north")
    roster = tmp_path / "roster.toml"
    Roster([made.member()]).write(roster)
    evil = tmp_path / "\x1b[2Jx.evidence"
    for said in (
        "",
        "folkmoot evidence 2" + NASTY,
        "folkmoot certificate 2" + NASTY,
        "folkmoot audit 2" + NASTY,
    ):
        evil.write_text(said)
        result = run("verify", evil, "--roster", roster)
        assert (result.returncode, result.stdout) == (2, "")
        assert not obeyed(result.stderr)


# ---- spreadsheets ----------------------------------------------------------------------------

CELLS = [
    "=cmd|' /C calc'!A0",
    "+1+cmd|x",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "'=1",
    "''+x",
    "-",
    "=",
    "a=b",
    "'x",
]
NUMBERS = ["-1.5", "+3", "-2e-5", "0", "12", "-.5"]


def test_no_cell_is_a_formula_and_numbers_stay(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    write_table(path, ["label", "=name"], [[cell, cell] for cell in CELLS + NUMBERS])
    with path.open(newline="") as file:
        raw = [row[0] for row in csv.reader(file)]
    for cell, seen in zip(CELLS, raw[1:], strict=False):
        assert not seen.startswith(("=", "+", "-", "@", "\t", "\r")), cell
    assert raw[-len(NUMBERS) :] == NUMBERS
    with open_table(path) as table:
        assert table.columns == ["label", "=name"]
        assert [cells[0] for _, cells in table.rows()] == CELLS + NUMBERS


@given(
    st.lists(
        st.text(st.sampled_from("=+-@\t\r\n'a1.,;\" "), min_size=1).map(str.strip).filter(bool), min_size=1
    )
)
def test_what_is_written_is_read_back(cells: list[str]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.csv"
        write_table(path, ["label"], [[cell] for cell in cells])
        with open_table(path) as table:
            assert [row[0] for _, row in table.rows()] == cells


def test_labels_of_a_vote_file_come_out_harmless_and_go_in_again(tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    rows = [["=task", worker, "=cmd|' /C calc'!A0"] for worker in "abcde"] + [["t", w, "no"] for w in "abcde"]
    write_table(votes, ["task", "worker", "label"], rows)
    out = tmp_path / "out.csv"
    assert run("deliberate", votes, "--out", out).returncode == 0
    with out.open(newline="") as file:
        assert ["'=task", "'=cmd|' /C calc'!A0"] in [row[:2] for row in csv.reader(file)]
    with open_table(out) as table:
        assert ["=task", "=cmd|' /C calc'!A0"] in [list(cells[:2]) for _, cells in table.rows()]

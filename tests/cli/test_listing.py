"""The list of commands is drawn without them, as Typer would draw it with them."""

from __future__ import annotations

import inspect
import io
import re
import sys
from typing import Any

import pytest
from rich.text import Text
from typer.main import get_command

from folkmoot.cli.app import COMMANDS, app
from support.command import run
from support.process import run_process


def made() -> Any:
    return get_command(app)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_of_a_command_is_how_its_own_help_begins(name: str) -> None:
    first, *_ = inspect.cleandoc(made().commands[name].help).split("\n\n")
    assert COMMANDS[name].line == " ".join(first.split())


def words(page: str) -> list[str]:
    return re.sub(r"[│╭╮╰╯─|+]", " ", page).split()


@pytest.mark.parametrize("width", [60, 80, 133])
def test_it_says_what_typer_says_in_the_same_lines(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer import rich_utils

    group = made()
    for name, command in group.commands.items():  # where Typer keeps line breaks of the source, we do not
        command.short_help = COMMANDS[name].line
    said = io.StringIO()
    with monkeypatch.context() as patch:
        patch.setattr(rich_utils, "MAX_WIDTH", width)
        patch.setattr(sys, "stdout", said)
        with group.make_context("folkmoot", ["demo"]) as context:
            rich_utils.rich_format_help(obj=group, ctx=context, markup_mode="rich")
    ours = run("--help", env={"COLUMNS": str(width)})
    assert (ours.returncode, ours.stderr) == (0, "")
    assert words(ours.stdout) == words(said.getvalue())
    table = [page[page.index("Commands") :].rstrip().splitlines() for page in (ours.stdout, said.getvalue())]
    assert table[0] == table[1]
    assert {len(line) for line in table[0][1:]} == {width}


def test_colours_and_boxes_where_they_can_be_shown() -> None:
    plain = run("--help", env={"COLUMNS": "80", "NO_COLOR": "1", "FORCE_COLOR": "1"}).stdout
    assert "\x1b" not in plain
    bright = run("--help", env={"COLUMNS": "80", "FORCE_COLOR": "1"}).stdout
    assert re.sub(r"\x1b\[[\d;]*m", "", bright) == plain
    assert "\x1b[1;36m--version" in bright
    old = run_process("--help", env={"PYTHONIOENCODING": "latin-1", "COLUMNS": "80"}).stdout
    assert old == plain.translate(str.maketrans("╭╮╰╯─│", "++++-|"))
    narrow = run("--help", env={"COLUMNS": "10"})
    assert narrow.returncode == 0
    assert "--version" in narrow.stdout


def test_no_command_and_no_such_command() -> None:
    bare = run()
    assert bare.returncode == 2
    assert words(bare.stdout + bare.stderr) == words(run("--help").stdout)
    for typed, meant in (("nod", "node"), ("lern", "learn")):
        told = run(typed)
        assert (told.returncode, told.stdout) == (2, "")
        assert told.stderr == (
            f"folkmoot: No such command {typed!r}. Did you mean {meant!r}? Try 'folkmoot --help'.\n"
        )


def every_command(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    inner = getattr(command, "commands", {})
    return [path, *(each for name in inner for each in every_command(inner[name], (*path, name)))]


@pytest.mark.parametrize("path", every_command(made()), ids=" ".join)
def test_every_command_shows_its_help(path: tuple[str, ...]) -> None:
    told = run(*path, "--help", env={"COLUMNS": "100"})
    assert (told.returncode, told.stderr) == (0, "")
    assert " ".join(["Usage: folkmoot", *path, "[OPTIONS]"]) in told.stdout


def test_no_word_of_a_help_text_is_taken_for_markup() -> None:
    """A word in brackets would be left out: a table of node.toml, such as [improve]."""

    def texts(command: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
        found = [(path, str(each.help)) for each in command.params if getattr(each, "help", None)]
        for name, inner in getattr(command, "commands", {}).items():
            found += texts(inner, (*path, name))
        return found

    told = texts(made())
    assert len(told) > 300
    for path, text in told:
        assert Text.from_markup(text).plain == text, path


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("folkmoot de", {"demo", "deliberate"}),
        ("folkmoot theory ac", {"accuracy"}),
        ("folkmoot deliberate --trut", {"--truth"}),
        ("folkmoot node st", {"status"}),
    ],
)
def test_completion_offers_commands_and_options(typed: str, offered: set[str]) -> None:
    asked = {
        "_FOLKMOOT_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    told = run(env=asked)
    assert (told.returncode, set(told.stdout.split())) == (0, offered), told.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_how_to_ask(shell: str) -> None:
    told = run(env={"_FOLKMOOT_COMPLETE": f"source_{shell}"})
    assert (told.returncode, told.stderr) == (0, "")
    assert f"_FOLKMOOT_COMPLETE=complete_{shell}" in told.stdout

"""The list of commands, which are imported when they are called, and the help of each."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from rich.text import Text

from folkmoot.cli.app import COMMANDS, command_called
from support.command import run


def commands(command: Any = None) -> dict[str, Any]:
    """The commands of a group by name, whole; by default all of ``folkmoot``."""
    if command is None:
        return {name: command_called(name) for name in COMMANDS}
    found: dict[str, Any] = getattr(command, "commands", {})
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_of_a_command_is_how_its_own_help_begins(name: str) -> None:
    first, *_ = inspect.cleandoc(command_called(name).help).split("\n\n")
    assert COMMANDS[name].line == " ".join(first.split())


def test_the_list_has_every_command_with_its_whole_line() -> None:
    told = run("--help", env={"COLUMNS": "80"})
    assert (told.returncode, told.stderr) == (0, "")
    listed = re.findall(r"^  ([a-z]+) +(.*)$", told.stdout.partition("Commands:")[2], flags=re.M)
    assert dict(listed) == {name: entry.line for name, entry in COMMANDS.items()}


def test_no_command_and_no_such_command() -> None:
    bare = run()
    assert (bare.returncode, bare.stderr) == (2, "")
    begin = [line.split()[1] for line in re.findall(r"^  .*  (folkmoot .*)$", bare.stdout, flags=re.M)]
    assert begin == ["demo", "learn", "deliberate", "local"]
    assert set(begin) <= set(COMMANDS)
    assert max(map(len, bare.stdout.splitlines())) <= 80
    for typed, meant in (("nod", "node"), ("lern", "learn")):
        told = run(typed)
        assert (told.returncode, told.stdout) == (2, "")
        assert told.stderr == (
            f"folkmoot: No such command {typed!r}. Did you mean {meant!r}? Try 'folkmoot --help'.\n"
        )


def every_command(command: Any = None, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    inner = commands(command)
    return [path, *(each for name in inner for each in every_command(inner[name], (*path, name)))]


@pytest.mark.parametrize("path", every_command(), ids=" ".join)
def test_every_command_shows_its_help(path: tuple[str, ...]) -> None:
    told = run(*path, "--help", env={"COLUMNS": "100"})
    assert (told.returncode, told.stderr) == (0, "")
    assert " ".join(["Usage: folkmoot", *path, "[OPTIONS]"]) in told.stdout


def test_no_word_of_a_help_text_is_taken_for_markup() -> None:
    """A word in brackets would be left out: a table of node.toml, such as [policy]."""

    def texts(command: Any = None, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
        told = getattr(command, "params", [])
        found = [(path, str(each.help)) for each in told if getattr(each, "help", None)]
        for name, inner in commands(command).items():
            found += texts(inner, (*path, name))
        return found

    told = texts()
    assert len(told) > 100
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

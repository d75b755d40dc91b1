"""The pages and the code say the same of nodes: log lines, commands and their options."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from folkmoot.cli.app import command_called

ROOT = Path(__file__).parents[1]
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
PAGES = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", *(ROOT / "deploy").glob("*.*")]
OLD = {"upgrading.md", "changelog.md"}  # they name what is gone
NODES = ("node", "roster", "ask", "motions", "verify", "local", "doctor")
GONE = ("truth", "evidence", "audit")


def texts(node: ast.expr) -> list[str]:
    """The strings that an expression may be: a constant, or one of two."""
    if isinstance(node, ast.IfExp):
        return texts(node.body) + texts(node.orelse)
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def events() -> Iterator[tuple[str, set[str], set[str]]]:
    """Every line that the code may write: its event, its possible levels, and its fields."""
    for path in (ROOT / "src" / "folkmoot" / "node").rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if not isinstance(call, ast.Call) or len(call.args) < 2:
                continue
            what = ast.unparse(call.func).split(".")[-2:]
            if what[-1] == "_warn":
                levels = {"warning"}
            elif what[-1] in ("_log", "log") or what == ["log", "write"]:
                levels = set(texts(call.args[0]))
            else:
                continue
            for each in texts(call.args[1]):
                yield each, levels, {key.arg for key in call.keywords if key.arg} - {"node"}


def test_every_warning_and_error_of_the_log_is_on_the_page_with_its_fields_and_no_other() -> None:
    section = OPERATIONS.split("\n## Logs\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \|(.*)\|$", section, flags=re.M)
    page = {event: (level, fields) for event, level, fields in rows}
    code = [each for each in events() if each[1] & {"warning", "error"}]
    assert len(code) > 15
    assert {event for event, _, _ in code} == set(page)
    for event, levels, fields in code:
        assert page[event][0] in levels, event
        for field in fields:
            assert re.search(rf"\b{field}\b", page[event][1]), f"{event}: {field}"


def typed() -> Iterator[tuple[Path, str]]:
    """What the pages say that somebody types: lines after a prompt, and commands within the text."""
    for page in PAGES:
        if page.name in OLD or page.suffix in (".json", ".txt"):
            continue
        for line in re.findall(
            r"(?:^\s*(?:\$ |run: )|`|^)folkmoot ([a-z][^`\n#|>;]*)", page.read_text(), flags=re.M
        ):
            yield page, line


def test_commands_of_the_pages_are_there_with_their_options() -> None:
    wrong, seen = [], 0
    for page, line in typed():
        words = line.split()
        if words[0] in GONE and not words[-1].isdigit():  # a format of a file has a number
            wrong.append(f"{page.name}: folkmoot {line}")
        if words[0] not in NODES:
            continue
        command: Any = command_called(words[0])
        for word in words[1:]:
            inner = getattr(command, "commands", {})
            if inner and word not in inner and re.fullmatch(r"[a-z][a-z-]+", word):
                wrong.append(f"{page.name}: folkmoot {line}")
            command = inner.get(word, command)
        options = {name for each in command.params for name in each.opts} | {"--help"}
        given = set(re.findall(r"(?<!\S)(--[a-z][a-z-]*)", line))
        if not getattr(command, "commands", None) and not given <= options:
            wrong.append(f"{page.name}: folkmoot {line}: {', '.join(sorted(given - options))}")
        seen += 1
    assert wrong == []
    assert seen > 100

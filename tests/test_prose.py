"""``tools/prose.py`` finds what it says, and leaves plain sentences alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest


def _tool() -> Any:
    spec = importlib.util.spec_from_file_location("prose", Path(__file__).parents[1] / "tools" / "prose.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROSE = _tool()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("To sign is free. Who has not signed pays.", ["opens with a relative clause"]),
        ("Who has not signed?", []),
        ("A message has one line a member.", ['has "a" for "per"']),
        ("A message has one line per member. It has a member.", []),
        ("It did so in 0.1, but no more.", ["tells history"]),
        (" ".join(["word"] * 26), ["has 26 words"]),
        (" ".join(["word"] * 25) + ". " + " ".join(["Word"] * 25), []),
    ],
    ids=["relative", "question", "per", "plain", "history", "long", "short"],
)
def test_findings(text: str, found: list[str]) -> None:
    assert [each.partition(":")[0] for each in PROSE.findings(text)] == found


def test_code_tables_and_headings_of_a_page_are_no_prose() -> None:
    page = "# What is\n\nThis `is it` and [that](there).\n\n```\nWhat 1\n```\n\n| What | is |\n\n- an item\n"
    assert PROSE.of_page(page).split() == ["This", "Code", "and", "that.", "an", "item"]


def test_docstrings_help_and_messages_of_code_are() -> None:
    code = (
        'def known(x):\n    """One thing.\n\n    >>> known(1)\n    """\n    raise ValueError("another one")\n'
        'def _hidden():\n    """Nothing."""\noption(help="A third.")\nname = "a word"\n'
    )
    assert sorted(PROSE.of_code(code).split()) == sorted(["One", "thing.", "another", "one", "A", "third."])


def test_more_than_the_budget_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(PROSE, "BUDGET", tmp_path / "budget.json")
    monkeypatch.setattr(PROSE, "texts", lambda: [("page.md", "What it does.")])
    assert PROSE.main(["--write"]) == 0
    assert PROSE.main([]) == 0
    monkeypatch.setattr(PROSE, "texts", lambda: [("page.md", "What it does. What it says.")])
    assert PROSE.main([]) == 1
    assert "page.md: 2 findings, at most 1" in capsys.readouterr().out


def test_a_page_without_findings_stays_so_however_long_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PROSE, "BUDGET", tmp_path / "budget.json")
    monkeypatch.setattr(PROSE, "texts", lambda: [("page.md", "It is plain. " * 500)])
    assert PROSE.main(["--write"]) == 0
    monkeypatch.setattr(PROSE, "texts", lambda: [("page.md", "It is plain. " * 500 + "What it says.")])
    assert PROSE.main([]) == 1

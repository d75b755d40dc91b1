"""The examples in public docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def _checker() -> ModuleType:
    """``tools/check_docstrings.py``, which knows what is public."""
    path = Path(__file__).parents[1] / "tools" / "check_docstrings.py"
    spec = importlib.util.spec_from_file_location("check_docstrings", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PUBLIC: dict[str, Any] = _checker().public_names()


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_print_what_they_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    thing = PUBLIC[name]
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    finder = doctest.DocTestFinder(recurse=False)
    for test in finder.find(thing, name, module=sys.modules[thing.__module__], globs={}):
        lines: list[str] = []
        failed = runner.run(test, out=lines.append).failed
        assert not failed, "".join(lines)

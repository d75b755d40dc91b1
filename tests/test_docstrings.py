"""The examples in public docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.printed import LENIENT, OutputChecker


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
    runner = doctest.DocTestRunner(OutputChecker(), optionflags=LENIENT)
    finder = doctest.DocTestFinder(recurse=False)
    for test in finder.find(thing, name, module=sys.modules[thing.__module__], globs={}):
        lines: list[str] = []
        failed = runner.run(test, out=lines.append).failed
        assert not failed, "".join(lines)


def above(number: float) -> float:
    return math.nextafter(number, math.inf)


def below(number: float) -> float:
    return math.nextafter(number, -math.inf)


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("0.6 0.71875\n", f"0.6 {below(0.71875)}\n", True),
        ("[0. 1.]", "[1.00000000e-17 1.00000000e+00]", True),
        ("(0.25, 3)", f"({above(0.25)}, 3)", True),
        ("alone=0.333..., p=0.25", f"alone={1 / 3}, p=0.25", True),
        ("0.6 0.71875\n", "0.6 0.71874\n", False),
        ("0.5", "-0.5", False),
        ("0.5", "0.5 0.5", False),
        ("3 of 0.5", f"4 of {above(0.5)}", False),
        ("10000000000", "10000000001", False),
        ("right 0.5", f"wrong {above(0.5)}", False),
    ],
)
def test_printed_numbers_may_differ_in_their_last_digits_and_in_no_others(
    shown: str, printed: str, same: bool
) -> None:
    assert OutputChecker().check_output(shown, printed, LENIENT) is same

"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import math
from pathlib import Path

import pytest

from support.printed import LENIENT, OutputChecker

SOURCE = Path(__file__).parents[1] / "src"
WITH_EXAMPLES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>> " in path.read_text()
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_print_what_they_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(OutputChecker(), optionflags=LENIENT)
    for test in doctest.DocTestFinder().find(importlib.import_module(name), name, globs={}):
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

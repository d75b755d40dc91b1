"""The check of ``make check`` finds numbers that are expected to their last digits, and nothing else."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


def _tool() -> ModuleType:
    path = Path(__file__).parents[1] / "tools" / "check_floats.py"
    spec = importlib.util.spec_from_file_location("check_floats", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECK = _tool()
LONG = repr(0.1 + 0.2)  # made here, else the check would find it in this file


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (LONG, [LONG]),
        (f"[-{LONG}, 0.3]", [LONG]),
        (f"p={LONG}.", [LONG]),
        (f"{7 / 9e9!r} s", [repr(7 / 9e9)]),
        (f"{LONG[:12]}...", []),
        ("0.123456789 1.5e-300", []),
        ("0.100000000000", []),  # a tenth, printed to twelve places
        ("created 1750000000.125 from 127.0.0.1:7700", []),
        (f"0x{LONG}ab, v{LONG}", []),
    ],
    ids=["bare", "in a list", "ends a sentence", "exponent", "shortened", "short", "zeros", "time", "a name"],
)
def test_long_numbers(text: str, found: list[str]) -> None:
    assert list(CHECK.long_numbers(text)) == found


def test_of_docstrings_it_reads_what_examples_print() -> None:
    source = f'"""Of a module: {LONG}.\n\n>>> f({LONG})\n{LONG}\n"""\n\nx = {LONG}\n'
    assert list(CHECK.in_docstrings(source)) == [(4, LONG)]
    example = f'"""\n        >>> 1\n        1\n        >>> 2\n        {LONG}\n        """\n'
    method = f"class A:\n    def f(self):\n        {example}"
    assert list(CHECK.in_docstrings(method)) == [(7, LONG)]


def test_of_pages_it_leaves_out_the_code() -> None:
    code = f"f({LONG})  # is {LONG}\nf({LONG})\n```\n"
    page = f"Of {LONG}.\n```python\n{code}\n```\n{LONG}\n```\n```{{code-cell}}\n{code}"
    assert [line for line, _ in CHECK.in_page(page)] == [1, 3, 8, 11]


@pytest.mark.parametrize(
    ("line", "times"),
    [
        (f"assert x == {LONG}", 1),
        (f"assert not any(y != -{LONG} for y in x)", 1),
        (f"assert x == [{{'a': ({LONG}, 1)}}, {LONG}]", 2),
        (f"assert 'got {LONG}' in x", 1),
        (f"assert f'{{x}} got {LONG}' == x", 1),
        (f"assert x == pytest.approx({LONG})", 0),
        (f"assert abs(x - {LONG}) < 1e-9", 0),
        (f"assert x > {LONG}", 0),
        (f"x = f({LONG})", 0),
        (f"x = 1  # {LONG}", 0),
    ],
    ids=[
        "equal", "unequal", "nested", "text", "f-string", "approx", "tolerance", "greater", "input",
        "comment",
    ],
)  # fmt: skip
def test_of_tests_it_reads_text_and_what_must_be_equal(line: str, times: int) -> None:
    assert list(CHECK.in_tests(line)) == [(1, LONG)] * times

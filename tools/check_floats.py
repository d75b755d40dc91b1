"""Check that nothing expects the last digits of a float: they differ among processors and versions of numpy.

    python tools/check_floats.py

A number with 12 significant digits and more is refused where output is shown or expected:

- in what the examples of docstrings print (the code of an example may name any constant);
- on pages, except in the code of their blocks of Python;
- in the tests, in text and where an ``assert`` compares by ``==`` or ``!=``. Constants elsewhere, and in
  calls such as ``pytest.approx(...)``, may be as long as they need.

Print rounded instead, or compare with a tolerance. ``make check`` runs this.
"""

from __future__ import annotations

import ast
import doctest
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_DIGITS: Final = 12
_DECIMAL: Final = re.compile(r"(?<![\w.])(\d+\.\d{6,})(?:e[+-]?\d+)?(?![\w.]*\w)")
_PYTHON: Final = ("python", "{code-cell}")

Finding = tuple[int, str]  # line, number


def long_numbers(text: str) -> Iterator[str]:
    """The decimals in a text with at least 12 significant digits."""
    for found in _DECIMAL.finditer(text):
        if len(found[1].replace(".", "").strip("0")) >= _DIGITS:
            yield found[0]


def in_lines(text: str, first: int = 1) -> Iterator[Finding]:
    """The same, with the lines that they stand in."""
    for line, content in enumerate(text.splitlines(), first):
        for number in long_numbers(content):
            yield line, number


def in_docstrings(source: str) -> Iterator[Finding]:
    """What examples of docstrings print."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        text = ast.get_docstring(node, clean=False)
        if text is not None and ">>>" in text:
            first = node.body[0].lineno
            for each in doctest.DocTestParser().get_examples(text):
                yield from in_lines(each.want, first + each.lineno + each.source.count("\n"))


def in_page(text: str) -> Iterator[Finding]:
    """What a page says and shows; of its Python, what the comments say."""
    fence = code = ""
    for line, content in enumerate(text.splitlines(), 1):
        bar = re.match(r"([`:]{3,}) *(\S*)", content)
        if not fence and bar:
            fence, code = bar[1], "#" if bar[2] in _PYTHON else ""
        elif fence and content.strip() == fence:
            fence = code = ""
        else:
            yield from in_lines(content.partition(code)[2] if code else content, line)


def in_tests(source: str) -> Iterator[Finding]:
    """Text, and numbers that an ``assert`` compares by ``==`` or ``!=``."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.STRING or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
            yield from in_lines(token.string, token.start[0])
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert):
            for each in ast.walk(node.test):
                if isinstance(each, ast.Compare) and any(
                    isinstance(op, ast.Eq | ast.NotEq) for op in each.ops
                ):
                    yield from _constants([each.left, *each.comparators])


def _constants(nodes: list[ast.expr]) -> Iterator[Finding]:
    """Long numbers in what is compared: itself, with a sign, or in a list, tuple or table."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            for number in long_numbers(repr(node.value)):
                yield node.lineno, number
        elif isinstance(node, ast.UnaryOp):
            yield from _constants([node.operand])
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            yield from _constants(node.elts)
        elif isinstance(node, ast.Dict):
            yield from _constants(node.values)


def findings() -> Iterator[str]:
    """A line for each number that is too long, in all that the repository shows or expects."""
    for pattern, look in (
        ("src/**/*.py", in_docstrings),
        ("docs/_ext/*.py", in_docstrings),
        ("*.md", in_page),
        ("deploy/*.md", in_page),
        ("docs/*.md", in_page),
        ("docs/theorems/*.md", in_page),
        ("tests/**/*.py", in_tests),
    ):
        for path in sorted(ROOT.glob(pattern)):
            text = path.read_text(encoding="utf-8")
            if any(long_numbers(text)):  # to parse all files takes seconds
                for line, number in look(text):
                    yield f"{path.relative_to(ROOT)}:{line}: {number}: round it, or compare with a tolerance"


if __name__ == "__main__":
    lines = list(findings())
    print(*lines, sep="\n")
    sys.exit(f"{len(lines)} numbers are expected to their last digits" if lines else 0)

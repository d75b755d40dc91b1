"""The pages do what they say: their Python runs, their links lead somewhere, their commands work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from support.command import run, run_script
from support.printed import LENIENT, OutputChecker

ROOT = Path(__file__).parents[1]
BETWEEN = "\x1e"  # printed after each block
PAGES = [
    *ROOT.glob("*.md"),
    ROOT / "chain" / "README.md",
    *ROOT.glob("docs/*.md"),
    *ROOT.glob("docs/theorems/*.md"),
]

# A block of Python, the line above one that takes long, and the plain block that shows what it prints.
SLOW = "<!-- slow -->"
BLOCK = re.compile(rf"({SLOW}\n)?```python\n(.*?)```(?:\n\n```\n(.*?)```)?", flags=re.S)


class Block(NamedTuple):
    slow: str
    code: str
    shown: str


def blocks_of(page: Path) -> list[Block]:
    return [Block(*found) for found in BLOCK.findall(page.read_text())]


def run_and_compare(blocks: list[Block], folder: Path) -> None:
    """What a block prints is compared with the plain block that follows it, if one does."""
    script = folder / "page.py"
    script.write_text("\n".join(f"{each.code}\nprint({BETWEEN!r})" for each in blocks))
    result = run_script(script, cwd=folder)
    assert result.returncode == 0, result.stderr
    printed = result.stdout.split(f"{BETWEEN}\n")
    for block, got in zip(blocks, printed, strict=False):
        if block.shown:
            assert OutputChecker().check_output(block.shown, got, LENIENT), (
                f"shown:\n{block.shown}\nprinted:\n{got}"
            )


@pytest.mark.parametrize(
    "page", [page for page in PAGES if not all(each.slow for each in blocks_of(page))], ids=lambda p: p.name
)
def test_python_of_the_pages_runs_and_prints_what_they_show(page: Path, tmp_path: Path) -> None:
    run_and_compare([each for each in blocks_of(page) if not each.slow], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(each.slow for each in blocks_of(page))], ids=lambda p: p.name
)
def test_pages_with_blocks_that_take_long_run_as_a_whole(page: Path, tmp_path: Path) -> None:
    run_and_compare(blocks_of(page), tmp_path)


def test_no_block_of_python_is_left_unrun() -> None:
    """Each is one that the tests above find, or a cell of a notebook, which is run when the site is built."""
    for page in PAGES:
        text = page.read_text()
        assert len(blocks_of(page)) == len(re.findall(r"^\s*[`:]{3,}\s*(?:py|pycon)", text, flags=re.M)), page
        marks = re.findall(rf"^{SLOW}$", text, flags=re.M)
        assert len(marks) == sum(bool(each.slow) for each in blocks_of(page)), page
        if re.search(r"^```\{code-cell\}", text, flags=re.M):
            assert text.startswith("---\n"), f"{page} has cells and no kernel to run them"


def test_pages_that_use_pandas_say_so() -> None:
    """``pip install .`` does not bring it along; a reader who types what the page shows would be stuck."""
    for page in PAGES:
        code = "\n".join(
            re.findall(r"^```(?:python|\{code-cell\})[^\n]*\n(.*?)^```", page.read_text(), re.M | re.S)
        )
        if re.search(r"as_frame=True|import pandas|import polars", code):
            assert "`pip install pandas`" in page.read_text(), page


def made_from(link: str) -> str:
    """The file from which ``make docs`` makes a page that is not in the repository; else the link itself."""
    if link.startswith("gallery/"):
        return f"../examples/{Path(link).stem}.py"
    return "_ext/public_api.py" if link.startswith("api/") else link


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if "://" not in link:
            assert (page.parent / made_from(link)).exists(), link


def test_theory_and_plan_commands_of_the_pages_work() -> None:
    page = "".join((ROOT / "docs" / name).read_text() for name in ("theory.md", "choose-k-and-alpha.md"))
    commands = re.findall(r"^\$ folkmoot ((?:theory|plan) [^#\n]*)", page, flags=re.M)
    assert {command.split()[0] for command in commands} == {"theory", "plan"}
    for command in commands:
        result = run(*command.split())
        assert result.returncode == 0, result.stderr

"""The pages do what they say: their Python runs, their links lead somewhere, their commands work."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from support.command import run, run_script

ROOT = Path(__file__).parents[1]
BETWEEN = "\x1e"  # printed after each block
LENIENT = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/theorems/*.md")]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python" in page.read_text()], ids=lambda p: p.name
)
def test_python_of_the_pages_runs_and_prints_what_they_show(page: Path, tmp_path: Path) -> None:
    """What a block prints is compared with the plain block that follows it, if one does."""
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", page.read_text(), flags=re.S)
    script = tmp_path / "page.py"
    script.write_text("\n".join(f"{code}\nprint({BETWEEN!r})" for code, _ in blocks))
    result = run_script(script, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    printed = result.stdout.split(f"{BETWEEN}\n")
    for (_, shown), got in zip(blocks, printed, strict=False):
        if shown:
            assert doctest.OutputChecker().check_output(shown, got, LENIENT), (
                f"shown:\n{shown}\nprinted:\n{got}"
            )


def test_figures_of_theory_and_simulation_side_by_side_are_right(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "theory.md").read_text(), flags=re.S)
    block = next(each for each in blocks if "deliberate(" in each)
    script = tmp_path / "side_by_side.py"
    script.write_text(block)
    result = run_script(script, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    out = result.stdout.split()
    promised = re.findall(r"# (0\.\d+)", block)
    assert len(promised) == len(out) == 2
    for figure, value in zip(promised, out, strict=True):
        assert value.startswith(figure)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if "://" not in link:
            assert (page.parent / link).exists(), link


def test_the_architecture_page_names_every_module() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    for module in (ROOT / "src" / "folkmoot").rglob("*.py"):
        one_idea_a_file = {"adversaries", "numbers", "partitions", "baselines", "report"}
        if module.name in ("__init__.py", "__main__.py") or module.parent.name in one_idea_a_file:
            continue
        assert module.name in page, module


@pytest.mark.parametrize(
    ("walk", "most"), [("The walk of one vote", 15), ("The walk of one input through a moot", 25)]
)
def test_walks_are_short_and_their_files_are_there(walk: str, most: int) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    (section,) = re.findall(rf"^## {walk}\n(.*?)^## ", page, flags=re.M | re.S)
    files = re.findall(r"^\d+\. `([\w/]+\.py)`", section, flags=re.M)
    assert 10 < len(files) == len(set(files)) <= most
    for file in files:
        assert (ROOT / "src" / "folkmoot" / file).is_file(), file


def test_theory_and_plan_commands_of_the_pages_work() -> None:
    page = "".join((ROOT / "docs" / name).read_text() for name in ("theory.md", "choose-k-and-alpha.md"))
    commands = re.findall(r"^\$ folkmoot ((?:theory|plan) [^#\n]*)", page, flags=re.M)
    assert {command.split()[0] for command in commands} == {"theory", "plan"}
    for command in commands:
        result = run(*command.split())
        assert result.returncode == 0, result.stderr

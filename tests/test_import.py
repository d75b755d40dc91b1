"""What an import costs, counted in modules: seconds depend on the machine, modules do not."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import folkmoot
from folkmoot.cli.app import COMMANDS

HEAVY = {"numpy", "scipy", "sklearn", "numba", "matplotlib", "rich", "typer", "msgspec", "cryptography"}


def modules_after(code: str) -> set[str]:
    result = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; before = set(sys.modules); {code}; print(*(set(sys.modules) - before))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(result.stdout.splitlines()[-1].split())


def test_importing_folkmoot_imports_next_to_nothing() -> None:
    loaded = modules_after("import folkmoot")
    assert not HEAVY & loaded
    assert len(loaded) < 40


def test_the_list_of_commands_needs_none_of_them() -> None:
    code = (
        "import folkmoot.cli.main as cli; sys.argv = ['folkmoot', '--help']; sys.exit = lambda code: None; "
        "cli.main()"
    )
    loaded = modules_after(code)
    assert not HEAVY - {"typer"} & loaded
    assert not {"markdown_it", "pygments", "rich", "typer.rich_utils"} & loaded
    commands = {entry.where.partition(":")[0] for entry in COMMANDS.values()}
    assert len(commands) > 10
    assert not commands & loaded


def test_a_command_and_its_help_need_no_other_and_no_numbers() -> None:
    code = (
        "from typer.testing import CliRunner; from folkmoot.cli.app import app; "
        "CliRunner().invoke(app, ['node', 'init', '--help'])"
    )
    loaded = modules_after(code)
    assert "folkmoot.cli.node.init" in loaded
    assert not {"folkmoot.cli.demo", "folkmoot.cli.theory", "folkmoot.cli.node.ask"} & loaded
    assert not HEAVY - {"rich", "typer"} & loaded


def test_a_node_needs_no_studies() -> None:
    loaded = modules_after("import folkmoot.node.service.operation")
    assert "numpy" in loaded
    assert not {"sklearn", "folkmoot.outlook", "folkmoot.testing"} & loaded


def test_theory_needs_neither_compiler_nor_pictures() -> None:
    loaded = modules_after("from folkmoot.theory import SlushChain; SlushChain(11, 3, 2).accuracy(0.6)")
    assert not {"numba", "matplotlib", "sklearn", "scipy.optimize", "scipy.stats"} & loaded


def test_an_answer_to_a_file_of_votes_needs_no_statistics_models_or_compiler(tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text("task,worker,label\n1,a,x\n1,b,x\n2,a,x\n2,b,y\n")
    code = (
        f"import folkmoot.cli.main as cli; sys.argv = ['folkmoot', 'deliberate', {str(votes)!r}]; "
        "sys.exit = lambda code: None; cli.main()"
    )
    loaded = modules_after(code)
    assert "folkmoot.comparing.comparing" in loaded
    assert not {"numba", "matplotlib", "sklearn", "scipy.stats", "scipy.optimize", "scipy.cluster"} & loaded
    assert "folkmoot.explanation" not in loaded


def test_every_public_name_is_there() -> None:
    for name in folkmoot.__all__:
        assert getattr(folkmoot, name) is not None
    assert dir(folkmoot) == sorted(folkmoot.__all__)
    with pytest.raises(AttributeError, match="No folkmoot attribute slush"):
        _ = folkmoot.slush  # type: ignore[attr-defined]


def test_the_layers_of_the_page_are_those_that_the_linter_holds() -> None:
    root = Path(__file__).parents[1]
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each.get("containers") == ["folkmoot"])
    page = (root / "docs" / "architecture.md").read_text().partition("## Layers")[2].split("```")[1]
    named = [re.split(r"\s{2,}", line)[0] for line in page.strip().splitlines()]
    assert [re.findall(r"\w+", each) for each in named] == [re.findall(r"\w+", each) for each in layers]

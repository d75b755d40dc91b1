"""Compiled functions are kept where numba can keep them, and work where it cannot."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numba.core import caching

import folkmoot
from folkmoot.machine import compiled

PROGRAM = """
import json
from numba.core import event

class Listener(event.Listener):
    def on_start(self, _event): seen.append(1)
    def on_end(self, _event): pass

seen = []
with event.install_listener("numba:compile", Listener()):
    from folkmoot.simulation.kernels import rounds
    told = [rounds.reaches(3, 2), rounds.reaches(1, 2)]
print(json.dumps([told, len(seen)]))
"""


def in_a_process(folder: Path) -> Any:
    """What the function says, and how often numba compiled."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", PROGRAM]
    return json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    )


def test_the_second_process_compiles_nothing(tmp_path: Path) -> None:
    said, count = in_a_process(tmp_path)
    assert said == [True, False]
    assert count > 0
    assert list(tmp_path.rglob("*.nbi"))
    assert in_a_process(tmp_path) == [[True, False], 0]


def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    function: Any = compiled()(lambda x: x + 1)
    assert function(2) == 3
    assert function.stats.cache_path is None


def test_nobody_else_decorates_with_numba() -> None:
    package = Path(folkmoot.__file__).parent
    for path in package.rglob("*.py"):
        tree = ast.parse(path.read_text())
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        imported = {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
        }
        if path.name != "machine.py":
            assert not {"njit", "jit", "vectorize", "guvectorize"} & (names | imported), path


def test_what_is_kept_of_a_version_with_other_names_is_compiled_again(tmp_path: Path) -> None:
    """An upgrade leaves kept functions behind, whose types may be called otherwise since."""

    def run(name: str) -> str:
        (tmp_path / "kinds.py").write_text(
            f"from typing import NamedTuple\nclass {name}(NamedTuple):\n    x: int\n"
        )
        (tmp_path / "using.py").write_text(
            f"from kinds import {name}\nfrom folkmoot.machine import compiled\n"
            "@compiled()\ndef twice(pair):\n    return 2 * pair.x\n"
            f"print(twice({name}(21)))\n"
        )
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        done = subprocess.run(
            [sys.executable, "using.py"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        return done.stdout

    assert run("Talk") == "42\n"
    assert list((tmp_path / "kept").rglob("*.nbi"))
    assert run("Topic") == "42\n"
    assert run("Topic") == "42\n"

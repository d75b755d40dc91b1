"""A stored cell is of the code that computed it: what changes its key, and what does not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import folkmoot
from folkmoot.paper import code_version
from folkmoot.paper.catalogue import experiment
from folkmoot.paper.code_version import Sources
from folkmoot.paper.experiment import Cell, cells_of
from folkmoot.paper.theory.absorption import compute
from folkmoot.paper.theory.liveness import line

PACKAGE = Path(folkmoot.__file__).parent
TABLE = "simulation/kernels/table.py"
TALK = "folkmoot.paper.theory.liveness", "line"  # simulated
EXACT = "folkmoot.paper.theory.absorption", "compute"  # theory alone
FIT = "folkmoot.paper.femnist.writer_votes", "fit_family"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package that a test may change."""
    without = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    return Path(shutil.copytree(PACKAGE, tmp_path / "folkmoot", ignore=without))


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) >= 1, f"{file} has no {old!r}"
    file.write_text(text.replace(old, new, 1))


def versions(package: Path) -> dict[tuple[str, str], str]:
    sources = Sources(package)
    return {function: sources.version_of(*function) for function in (TALK, EXACT, FIT)}


@pytest.fixture(scope="module")
def before() -> dict[tuple[str, str], str]:
    """Of the package as it is; a copy of it has the same (``test_a_changed_kernel...`` sees to that)."""
    return versions(PACKAGE)


def keys_in_a_process(package: Path) -> list[str]:
    """The keys of a simulated cell and of an exact one, computed by a copy of the package."""
    program = (
        "from folkmoot.paper.experiment import Cell\n"
        "from folkmoot.paper.theory.absorption import compute\n"
        "from folkmoot.paper.theory.liveness import line\n"
        "print(Cell(line, {'n': 1}, int).key, Cell(compute, {'n': 1}, int).key)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    return answer.stdout.split()


def test_a_changed_kernel_misses_the_store_and_changed_words_do_not(package: Path) -> None:
    here = [Cell(line, {"n": 1}, int).key, Cell(compute, {"n": 1}, int).key]
    assert keys_in_a_process(package) == here  # two processes, two folders, one key
    file = package / TABLE
    file.write_text("# A comment.\n" + file.read_text() + "\n# Another.\n")
    edit(file, '"""', '"""In other words: ')
    assert keys_in_a_process(package) == here
    edit(file, "def ", "_MORE = 1\n\n\ndef ")
    talk, exact = keys_in_a_process(package)
    assert talk != here[0]
    assert exact == here[1]


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        (TABLE, "range(", "range(1 * ", {TALK}),
        ("simulation/kernels/streams.py", "return ", "return +", {TALK}),
        ("theory/chain.py", "return ", "return +", {EXACT}),
        # Imported by both; words in a message are code, docstrings and comments are not.
        ("checks.py", " must be an integer: got ", " should be an integer: got ", {TALK, EXACT, FIT}),
        ("checks.py", "without rounding, and not below", "not rounded, and not below", set()),
        ("checks.py", "# the paper's", "# the paper has it", set()),
        ("learning/participants.py", "return ", "return +", {FIT}),
        # In their own modules: what they use, but not how their results are judged and drawn.
        ("paper/theory/absorption.py", "(n + 1) // 2", "n // 2", {EXACT}),
        ("paper/theory/absorption.py", "def figures(", "print(1)\n\n\ndef figures(", {EXACT}),
        ("paper/theory/absorption.py", "def figures(", "def pictures(", set()),
        ("paper/theory/liveness.py", "verdict=", "verdict='' + ", set()),
        ("paper/experiment.py", "found |=", "found |= {} |", set()),
        # A package's own file: only what makes the name that is taken from it.
        ("learning/__init__.py", "__all__", "MORE = 1\n__all__", set()),
        ("simulation/__init__.py", "__all__", "print(1)\n__all__", {TALK}),
        ("simulation/__init__.py", "import deliberate\n", "import deliberate as deliberate\n", {TALK}),
        ("__init__.py", "__version__ = ", "__version__ = '1' + ", set()),
    ],
)
def test_a_change_is_seen_by_those_whom_it_concerns(
    package: Path,
    before: dict[tuple[str, str], str],
    file: str,
    old: str,
    new: str,
    changed: set[tuple[str, str]],
) -> None:
    edit(package / file, old, new)
    after = versions(package)
    assert {function for function in before if after[function] != before[function]} == changed


MODULES: dict[str, str] = {
    "inside": "def f():\n    def g():\n        from moot.leaf import x\n        return x\n    return g()\n",
    "guarded": "try:\n    import moot.leaf\nexcept ImportError:\n    moot = None\ndef f(): return moot\n",
    "relative": "from . import leaf\ndef f(): return leaf.x\n",
    "upwards": "from ..moot.leaf import x\ndef f(): return x\n",
    "lazy": "from moot import public\ndef f(): return public\n",
    "by_package": "from moot.inner import name\ndef f(): return name\n",
    "twice_removed": "import moot.inside as other\ndef f(): return other.f()\n",
    "star": "from moot.inner import *\ndef f(): return name\n",
    "constant": "from moot.leaf import x\nA, B = x, 1\nC = B\nclass D:\n    c = A\ndef f(): return D\n",
    "effect": "import moot.leaf\nmoot.leaf.x += 1\ndef f(): return 1\n",
    "matched": "def f(a):\n    match a:\n        case 1:\n            import moot.leaf\n",
    # These do not run it:
    "unused": "from moot.leaf import x\ndef g(): return x\ndef f(): return 1\n",
    "types": "TYPE_CHECKING = 0\nif TYPE_CHECKING:\n    from moot.leaf import x\ndef f(): return 1\n",
    "other_name": "from moot.inner import another\ndef f(): return another\n",
    "passing": "from moot.inner.deep import y\ndef f(): return y\n",
    "spoken": "def f():\n    'from moot.leaf import x'\n    return 'import moot.leaf'\n",
}


@pytest.mark.parametrize("name", MODULES)
def test_imports_are_read_off_the_source(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "moot"
    (folder / "inner").mkdir(parents=True)
    files = MODULES | {
        "__init__": "", "leaf": "x = 1\n", "inner/deep": "y = 1\n",
        "inner/__init__": "from moot.leaf import x as name\nfrom moot.inner.deep import y as another\n",
    }  # fmt: skip
    for file, text in files.items():
        (folder / f"{file}.py").write_text(text)
    (folder / "__init__.pyi").write_text("from .leaf import public as public\n")
    before = Sources(folder).version_of(f"moot.{name}", "f")
    assert Sources(folder).version_of(f"moot.{name}", "f") == before
    (folder / "leaf.py").write_text("x = 2\n")
    runs_it = list(MODULES).index(name) < list(MODULES).index("unused")
    assert (Sources(folder).version_of(f"moot.{name}", "f") != before) == runs_it
    (folder / f"{name}.py").write_text(files[name].replace("def f(", "@print\ndef f("))
    (folder / "leaf.py").write_text("x = 1\n")
    assert Sources(folder).version_of(f"moot.{name}", "f") != before


def called_modules(call: Callable[[], Any]) -> set[str]:
    """The modules of the package whose functions run in a call, seen by the interpreter."""
    seen: set[str] = set()

    def look(frame: Any, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("folkmoot.") and frame.f_code.co_name != "<module>":
            seen.add(module)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return seen


@pytest.mark.parametrize(
    "name", ["absorption", "homogeneous", "thresholds", "byzantine-theory", "liveness", "beta"]
)
def test_all_that_runs_is_in_the_key(name: str) -> None:
    chart = experiment(name)
    firsts = {cell.function: cell for cell in reversed(cells_of(chart.cells(chart.quick, 0)))}
    sources = Sources(PACKAGE)
    for function, cell in firsts.items():
        code = sources.code_of(function.__module__, function.__qualname__)
        called = called_modules(partial(function, **cell.arguments))
        assert function.__module__ in called
        assert called <= set(code)


@pytest.mark.parametrize("library", ["numpy", "scikit-learn", "numba"])
def test_versions_of_libraries_are_in_the_key(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    real = metadata.version
    before = Cell(compute, {"n": 1}, int).key
    with monkeypatch.context() as patch:
        patch.setattr(metadata, "version", lambda name: "9" if name == library else real(name))
        code_version._code_version.cache_clear()
        assert Cell(compute, {"n": 1}, int).key != before
    code_version._code_version.cache_clear()
    assert Cell(compute, {"n": 1}, int).key == before


def test_a_function_without_a_file_has_a_key_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def typed() -> int:
        return 1

    monkeypatch.setattr(typed, "__module__", "nowhere")
    assert Cell(typed, {}, int).key == Cell(typed, {}, int).key

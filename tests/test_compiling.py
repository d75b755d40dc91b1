"""Where compiled functions are kept, for whom, and what happens where they cannot be."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numba
import pytest

import folkmoot
from folkmoot import compiling
from folkmoot.compiling import CompilingWarning, cache_folder, kernel_folder, user_cache

PACKAGE = Path(folkmoot.__file__).parent
PROGRAM = """
import json, warnings
from numba.core import event

class Listener(event.Listener):
    def on_start(self, _event): seen.append(1)
    def on_end(self, _event): pass

seen = []
with event.install_listener("numba:compile", Listener()), warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from folkmoot.simulation.kernels import rounds
    told = [rounds.reaches(3, 2), rounds.reaches(1, 2)]
print(json.dumps([told, len(seen), [str(each.message) for each in caught]]))
"""


def in_a_process(**environment: object) -> Any:
    """What the function says, how often numba compiled, and warnings."""
    without = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "HOME")}
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        env=without | {name: str(value) for name, value in environment.items()},
    )
    return json.loads(told.stdout)


def test_they_are_kept_in_the_folder_of_the_user_and_not_beside_the_source(tmp_path: Path) -> None:
    home = {"HOME": tmp_path, "XDG_CACHE_HOME": tmp_path / "mine"}
    said, compiled, warned = in_a_process(**home)
    assert (said, warned) == ([True, False], [])
    assert compiled > 0
    (kept,) = (tmp_path / "mine" / "folkmoot" / "kernels").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o700
    for version in (folkmoot.__version__, numba.__version__, ".".join(map(str, sys.version_info[:3]))):
        assert version in kept.name
    assert list(kept.rglob("*.nbi"))
    assert list(kept.rglob("*.nbc"))
    assert not list(PACKAGE.rglob("*.nb[ic]"))
    assert in_a_process(**home) == [[True, False], 0, []]  # the second process compiles nothing


def test_where_nothing_can_be_kept_it_works_with_one_note(tmp_path: Path) -> None:
    """As root may write anywhere, a file stands where the folder should be."""
    (tmp_path / "file").touch()
    said, compiled, (note,) = in_a_process(HOME=tmp_path, NUMBA_CACHE_DIR=tmp_path / "file" / "below")
    assert said == [True, False]
    assert compiled > 0
    assert note == (
        f"compiled code is not kept ({kernel_folder_below(tmp_path / 'file' / 'below')}: Not a directory): "
        "every run compiles it again, half a minute at most; set NUMBA_CACHE_DIR to a folder of your own"
    )


def kernel_folder_below(folder: Path) -> Path:
    return folder / kernel_folder().name


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder that NUMBA_CACHE_DIR names."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "told"))
    return tmp_path / "told"


def test_the_environment_says_where(told: Path) -> None:
    found = cache_folder.__wrapped__()
    assert found is not None
    assert found.parent == told
    assert found.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702])
def test_a_folder_that_others_can_write_into_is_not_used(told: Path, mode: int) -> None:
    kernel_folder().mkdir(parents=True)
    kernel_folder().chmod(mode)
    with pytest.warns(CompilingWarning, match="others can write into"):
        assert cache_folder.__wrapped__() is None
    kernel_folder().chmod(0o755)  # to read it does no harm
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache_folder.__wrapped__() == kernel_folder()
    assert kernel_folder().parent == told


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_the_cache_folder_of_a_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for named in ("", "relative"):  # a path that is not absolute counts for nothing
        monkeypatch.setenv("XDG_CACHE_HOME", named)
        assert user_cache() == tmp_path / ".cache"
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/elsewhere")
    assert user_cache() == Path("/var/elsewhere")


def test_other_users_of_numba_keep_their_own_folder(told: Path) -> None:
    compiling.compiled()(lambda x: x)
    assert str(told) == vars(numba.config)["CACHE_DIR"]


@pytest.mark.parametrize(
    ("file", "same"),
    [
        ("simulation/kernels/streams.py", False),
        ("protocols/snow.py", False),
        ("trust/conduct.py", False),
        ("theory/chain_kernels.py", False),
        ("cli/main.py", True),
    ],
)
def test_an_edit_of_what_is_compiled_is_another_key(tmp_path: Path, file: str, same: bool) -> None:
    copy = shutil.copytree(PACKAGE, tmp_path / "folkmoot", ignore=shutil.ignore_patterns("__pycache__"))
    before = compiling._content.__wrapped__(copy)
    assert before == compiling._content()
    (copy / file).write_text((copy / file).read_text() + "# edited\n")
    assert (compiling._content.__wrapped__(copy) == before) is same


def test_everything_that_is_compiled_counts_for_the_key_and_is_compiled_by_us() -> None:
    """Found in the source: who decorates, and what is handed over undecorated."""
    for path in PACKAGE.rglob("*.py"):
        tree, where = ast.parse(path.read_text()), path.relative_to(PACKAGE).as_posix()
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        taken = {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
        }
        if where != "compiling.py":
            assert not {"njit", "jit", "vectorize", "guvectorize"} & (names | taken), where
        if "compiled" in taken:
            assert where.startswith(compiling.SOURCES), where
    from folkmoot.simulation.kernels import rounds

    for function in (rounds.reaches, rounds.is_ahead, rounds.is_heeded):
        file = Path(function.py_func.__code__.co_filename).relative_to(PACKAGE).as_posix()
        assert file.startswith(compiling.SOURCES), file

"""Hostile models: each does its harm outside of the sandbox, and cannot inside of it."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot.node.membership import identity
from folkmoot.node.service.models import Model, load_model
from folkmoot.sandbox.confinement import Confinement, possible
from folkmoot.sandbox.loading import load_sandboxed
from folkmoot.sandbox.process import Limits, WorkerError
from support import hostile_models
from support.hostile_models import HARM

WHOLE = possible(1).whole
needs_all = pytest.mark.skipif(not WHOLE, reason="this system has no Landlock or no seccomp filter")
ROW = np.zeros((1, 1))


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A node's folder, and a working folder from which a model of somebody else is loaded."""
    identity.create(tmp_path / "north", name="north")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    (tmp_path / "work" / "hostile_models.py").write_text(Path(hostile_models.__file__).read_text())
    yield tmp_path / "north"
    sys.modules.pop("hostile_models", None)


def saved(harm: str, *arguments: object) -> str:
    """A pickle of a model that does this harm when it is asked."""
    text = (
        "import ast, hostile_models, pickle, sys\n"
        "model = hostile_models.Hostile(sys.argv[1], *ast.literal_eval(sys.argv[2]))\n"
        "sys.stdout.buffer.write(pickle.dumps(model))"
    )
    made = subprocess.run(
        [sys.executable, "-c", text, harm, repr(arguments)], capture_output=True, check=True, cwd="."
    )
    Path("model.pkl").write_bytes(made.stdout)
    return "model.pkl"


def inside(node: Path, harm: str, *arguments: object, limits: Limits | None = None) -> str:
    """What the model says in a sandbox: ``done``, or what kept it from doing harm."""
    found, worker = load_sandboxed(saved(harm, *arguments), (), hidden=node, limits=limits)
    try:
        return str(found.predict(ROW)[0])
    except WorkerError as error:
        return str(error)
    finally:
        worker.close()


def outside(harm: str, *arguments: object) -> str:
    """What the same model says in a process that is not confined."""
    text = (
        "import numpy, pickle, sys\n"
        "print(pickle.load(open('model.pkl', 'rb')).predict(numpy.zeros((1, 1)))[0])"
    )
    saved(harm, *arguments)
    made = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, cwd=".")
    return made.stdout.strip()


@needs_all
@pytest.mark.parametrize("harm", HARM)
def test_harm_is_done_outside_and_not_inside(node: Path, harm: str) -> None:
    (node / "precious").write_text("1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = inside(node, harm, str(node), port, limits=Limits(memory=2 << 30))
        assert found != "done"
        assert not (node / "written").exists()
        assert (node / "precious").read_text() == "1"
        assert outside(harm, str(node), port) == "done", f"inside it was {found}: so this shows nothing"


def test_a_library_may_ask_where_temporary_files_would_be(node: Path) -> None:
    """Some do when they are imported; Python finds the name by writing a file there."""
    assert inside(node, "name_a_folder") == "done"


def test_packages_for_gpus_are_not_installed_inside(
    node: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As cupy does, this one writes when it is imported, which would end the worker."""
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "cupy.py").write_text("open('written', 'w')\n")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    assert inside(node, "import_cupy") == "ModuleNotFoundError"


def test_a_library_may_look_for_another_one(node: Path) -> None:
    """Python starts a compiler for that, which writes a file; inside nothing is found."""
    assert inside(node, "find_a_library") == "done"


@needs_all
def test_the_key_cannot_be_read_where_the_folder_lies_among_packages(tmp_path: Path) -> None:
    """A node's folder beneath a folder of the interpreter's path is left out of it."""
    from folkmoot.sandbox.readable import _without

    hidden = tmp_path / "lib" / "nodes" / "north"
    hidden.mkdir(parents=True)
    (tmp_path / "lib" / "package").mkdir()
    (tmp_path / "lib" / "nodes" / "readme").touch()
    (tmp_path / "lib" / "link").symlink_to(hidden)
    found = set(_without(tmp_path, [hidden]))
    assert found == {tmp_path / "lib" / "package", tmp_path / "lib" / "nodes" / "readme"}


def test_a_model_that_never_returns_is_ended_and_the_next_question_answered(node: Path) -> None:
    found, worker = load_sandboxed(saved("sleep_on_ones"), (), hidden=node, limits=Limits(seconds=1.0))
    with pytest.raises(WorkerError, match="did not answer within 1 s, and was ended"):
        found.predict(np.ones((1, 1)))
    assert found.predict(ROW)[0] == "done"
    worker.close()


def test_an_answer_that_nobody_waits_for_is_given_up(node: Path) -> None:
    model = load_model(saved("sleep_on_ones"), trust_pickle=True, hidden=node)
    wanted = iter([True, True, True])
    with (
        model.during(lambda: next(wanted, False)),
        pytest.raises(ValueError, match="was not done in time, and was ended"),
    ):
        model.predict(np.ones((1, 1)))
    assert model.predict(ROW) == ["done"]


def test_it_does_nothing_between_two_questions(node: Path) -> None:
    """A thread that it has started uses no processor while nobody asks."""
    found, worker = load_sandboxed(saved("spin_in_background"), (), hidden=node)
    assert found.predict(ROW)[0] == "done"
    child = worker._child
    assert child is not None
    stat = Path(f"/proc/{child._process.pid}/stat")
    if not stat.exists():
        pytest.skip("no /proc here")
    while stat.read_text().rsplit(")")[1].split()[0] != "T":
        time.sleep(0.01)
    used = stat.read_text().split()[13:15]
    time.sleep(0.2)
    assert stat.read_text().split()[13:15] == used
    worker.close()


@pytest.mark.parametrize("harm", ["crash", "leave", "write_junk", "promise_much", "answer_much", "nest"])
def test_whatever_it_answers_the_node_goes_on(node: Path, harm: str) -> None:
    found, worker = load_sandboxed(saved(harm), (), hidden=node)
    with pytest.raises((WorkerError, ValueError)):
        found.predict(ROW)
    with pytest.raises((WorkerError, ValueError)):
        found.predict(ROW)  # it is started again
    worker.close()


def test_one_that_ends_always_is_not_started_again_and_again(node: Path) -> None:
    found, worker = load_sandboxed(saved("leave"), (), hidden=node)
    said = []
    for _ in range(8):
        with pytest.raises(WorkerError) as caught:
            found.predict(ROW)
        said.append(str(caught.value))
    assert "has ended too often, and is started again in" in said[-1]
    worker.close()


def test_harm_at_loading_is_told_in_one_line(node: Path) -> None:
    Path("model.pkl").write_bytes(pickle.dumps(Broken()))
    with pytest.raises(ValueError, match=r"^model model\.pkl must be .*") as caught:
        load_model("model.pkl", trust_pickle=True, hidden=node)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


class Broken:
    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return int, ("no number\x1b[2J\n",)


@needs_all
def test_it_dies_with_its_parent(node: Path) -> None:
    saved("sleep_on_ones")
    text = (
        "import os, sys, time; from pathlib import Path\n"
        "from folkmoot.node.service.models import load_model\n"
        "model = load_model('model.pkl', trust_pickle=True, hidden=Path(sys.argv[1]))\n"
        "print(model.worker._child._process.pid, flush=True)\n"
        "time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", text, str(node)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        os.kill(child, 0)
        parent.kill()
        parent.wait()
    for _ in range(1000):
        try:
            os.kill(child, 0)
            if Path(f"/proc/{child}/stat").read_text().rsplit(")")[1].split()[0] == "Z":
                return
        except (ProcessLookupError, FileNotFoundError):
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    pytest.fail("it was still there 10 s after its parent was killed")


@pytest.mark.parametrize(
    ("landlock", "seccomp", "missing"),
    [
        (7, True, []),
        (0, True, ["it can read every file that the node's user can (no Landlock on this system)"]),
        (
            0,
            False,
            [
                "it can read and write every file that the node's user can (no Landlock on this system)",
                "it can open connections and start programs (no seccomp filter on this system)",
            ],
        ),
    ],
)
def test_what_is_not_in_force_is_said(landlock: int, seccomp: bool, missing: list[str]) -> None:
    found = Confinement(landlock, seccomp, 1 << 30)
    assert (found.whole, found.missing()) == (not missing, missing)
    assert found.in_words().startswith("NOT WHOLE: ") == bool(missing)


@pytest.mark.parametrize("lacking", ["landlock", "seccomp"])
def test_a_system_without_one_part_has_the_other(node: Path, lacking: str) -> None:
    """As on an older kernel, or in a container that forbids the call."""
    if not WHOLE:
        pytest.skip("this system lacks one itself")
    saved("read_key")
    found = confined_without(lacking, str(node))
    assert found["in force"] == [0 if lacking == "landlock" else found["in force"][0], lacking != "seccomp"]
    assert found["read_key"] == ("done" if lacking == "landlock" else "PermissionError")
    assert found["connect"] == ("done" if lacking == "seccomp" else "PermissionError") or lacking == "seccomp"
    assert found["write"] == "PermissionError"


def confined_without(lacking: str, folder: str) -> dict[str, Any]:
    """Three tries in a process that is confined on a system without one part."""
    import json

    text = (
        "import json, sys, hostile_models\n"
        "from folkmoot.sandbox import confinement, landlock, seccomp\n"
        "import socket\n"
        "lacking, folder = sys.argv[1:]\n"
        "if lacking == 'landlock': landlock.abi = lambda: 0\n"
        "else: seccomp.available = lambda: False\n"
        "found = {'in force': confinement.confine(sys.path, 2 << 30)[:2]}\n"
        "for each in ('read_key', 'connect', 'write'):\n"
        "    found[each] = hostile_models.tried(each, folder, 1)\n"
        "print(json.dumps(found))"
    )
    made = subprocess.run(
        [sys.executable, "-c", text, lacking, folder], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(made.stdout)
    return found


def test_a_function_runs_in_the_nodes_process_and_says_so() -> None:
    assert Model("m:f", lambda rows: rows[:, 0]).confinement == "none: it runs in the node's own process"

"""``folkmoot local`` from the shell: nothing is left behind."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from folkmoot.network.service.door import DOOR
from support.network.real_moot import until
from support.process import start


@pytest.mark.slow
def test_control_c_on_a_local_moot_leaves_nothing_behind(tmp_path: Path) -> None:
    command = ["local", "--nodes", 4, "--inputs", 5, "--rounds", 500, "--out", tmp_path / "kept"]
    with start(*command, new_session=True) as process:
        doors = [tmp_path / "kept" / f"node{place:03d}" / DOOR for place in range(4)]
        until(lambda: all(door.exists() for door in doors), "they have started", 60.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (130, "", "folkmoot: interrupted\n")
    until(lambda: not of_session(process.pid), "processes are left", 20.0)


@pytest.mark.slow
def test_control_c_while_what_forks_the_nodes_still_loads_is_one_line(tmp_path: Path) -> None:
    with start("local", "--nodes", 4, "--out", tmp_path / "kept", new_session=True) as process:
        until(lambda: any(map(is_loading_server, of_session(process.pid))), "the server has begun", 60.0)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all that it started
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (130, "", "folkmoot: interrupted\n")
    until(lambda: not of_session(process.pid), "processes are left", 20.0)


@pytest.mark.slow
def test_nodes_leave_when_what_started_them_is_killed(tmp_path: Path) -> None:
    command = ["local", "--nodes", 4, "--inputs", 5, "--rounds", 500, "--out", tmp_path / "kept"]
    with start(*command, new_session=True) as process:
        doors = [tmp_path / "kept" / f"node{place:03d}" / DOOR for place in range(4)]
        until(lambda: all(door.exists() for door in doors), "they have started", 60.0)
        process.kill()
        process.communicate(timeout=60)
    until(lambda: not of_session(process.pid), "processes are left", 20.0)


def is_loading_server(number: int) -> bool:
    """Whether a process is the server that forks the nodes, and Python has begun in it."""
    try:
        command = Path(f"/proc/{number}/cmdline").read_bytes()
        loaded = Path(f"/proc/{number}/maps").read_text()
    except (FileNotFoundError, PermissionError, ProcessLookupError):
        return False
    return b"forkserver" in command and "numpy" in loaded


def of_session(session: int) -> list[int]:
    """The processes of a session, which is numbered by the process that began it."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.getsid(int(entry.name)) == session:
                    found.append(int(entry.name))
            except (ProcessLookupError, PermissionError):
                continue
    return found

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

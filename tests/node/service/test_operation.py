"""A real node from its folder: what keeps it from starting, what it loads again, and how it ends."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from folkmoot.cli.node.node import FULL
from folkmoot.node.client import Client, NodeAwayError
from folkmoot.node.log import Journal
from folkmoot.node.membership.identity import create
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service import operation
from folkmoot.node.service.operation import Operation, is_running, locked, own_of, run
from folkmoot.node.storage.database import FullError
from folkmoot.node.storage.storage import DATABASE, create_storage
from support import command
from support.process import start

MODELS = """
def old(X):
    return ["a"] * len(X)

def new(X):
    return ["b"] * len(X)

old.labels, new.labels = ["a", "c"], ["b", "c"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node alone in its roster, whose model is a function of the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two_models.py").write_text(MODELS)
    monkeypatch.syspath_prepend(tmp_path)
    me = create("north", name="north", listen="127.0.0.1:0", addresses=["127.0.0.1:1"])
    create_storage(Path("north"), me.fingerprint, 0.0)
    Roster([me.member()]).write("roster.toml")
    with Path("north/node.toml").open("a") as file:
        file.write('roster = "../roster.toml"\nmodel = "two_models:old"\n')
    return tmp_path / "north"


def until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not there():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def labels_of(folder: Path) -> list[str]:
    try:
        return list(Client(folder).access()["labels"])
    except NodeAwayError:
        return []


def change(folder: Path, old: str, new: str) -> None:
    file = folder / "node.toml"
    file.write_text(file.read_text().replace(old, new))


def started(folder: Path) -> subprocess.Popen[str]:
    process = start("node", "run", "--node", folder)
    until(lambda: labels_of(folder) == ["a", "c"] or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return process


def test_its_model_is_replaced_while_it_runs_and_it_ends_cleanly(folder: Path) -> None:
    process = started(folder)
    assert is_running(folder)
    change(folder, "two_models:old", "two_models:gone")
    process.send_signal(signal.SIGHUP)  # it cannot be loaded: the old one stays
    refused = command.run("node", "reload", "--node", folder)
    assert (refused.returncode, "there is no gone" in refused.stderr) == (2, True)
    assert labels_of(folder) == ["a", "c"]
    change(folder, "two_models:gone", "two_models:new")
    process.send_signal(signal.SIGHUP)
    until(lambda: labels_of(folder) == ["b", "c"])
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=60)
    assert process.returncode == 0
    events = [json.loads(line)["event"] for line in log.splitlines()]
    assert events[-1] == "stopped"
    assert "model not loaded: the old one stays" in events
    assert "model loaded again" in events
    assert not is_running(folder)
    assert not (folder / "door.sock").exists()


def test_a_key_without_its_database_does_not_run(folder: Path) -> None:
    for lose in (Path.unlink, lambda path: path.write_bytes(b"")):
        lose(folder / DATABASE)
        with pytest.raises(ValueError, match="go on without it by folkmoot node run --forget"):
            run(Operation(folder), Journal("error"))
        create_storage(folder, "0" * 64, 0.0)
    with pytest.raises(ValueError, match="is of another node"):
        run(Operation(folder), Journal("error"))


def test_what_keeps_a_node_from_starting_is_said(folder: Path) -> None:
    with locked(folder), pytest.raises(ValueError, match="is running already"):
        run(Operation(folder), Journal("error"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ValueError, match="is in use by another program"):
            run(Operation(folder, listen=address), Journal("error"))
        with pytest.raises(ValueError, match="or give another with page"):
            run(Operation(folder, page=address), Journal("error"))
    other = create("other", name="other")
    Roster([other.member()]).write("roster.toml")
    with pytest.raises(ValueError, match="the roster does not have 'north'"):
        run(Operation(folder), Journal("error"))
    change(folder, "two_models:old", 'two_models:old"\n[policy]\nvalidation_rows = 3\n#')
    with pytest.raises(ValueError, match=r"validation_rows in .policy. of .* must be 0 unless"):
        own_of(Operation(folder))


def test_a_disk_that_gets_full_ends_a_node_with_a_code_of_its_own(folder: Path) -> None:
    """A limit on the size of its files stands for the disk; the unit starts it again after a pause."""
    command_line = f'ulimit -f 256; exec "{sys.executable}" -m folkmoot node run --node "{folder}"'
    process = subprocess.Popen(["/bin/sh", "-c", command_line], stderr=subprocess.PIPE, text=True)
    until(lambda: labels_of(folder) == ["a", "c"] or process.poll() is not None)
    client = Client(folder)
    with suppress(ValueError):  # it went away, or refused, while it was asked
        for _ in range(100):
            client.ask([[float(row)] for row in range(2000)], seconds="10s")
    _, log = process.communicate(timeout=60)
    assert process.returncode == FULL, log
    assert "make room on the disk and start the node again" in log.splitlines()[-1]
    assert not is_running(folder)
    again = started(folder)  # with room it goes on
    until(lambda: all(each["state"] != "open" for each in Client(folder).motions()["motions"]))
    again.send_signal(signal.SIGTERM)
    again.communicate(timeout=60)
    assert again.returncode == 0


def test_a_full_disk_ends_it_with_a_code_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The unit starts it again after a pause; wrong settings end it with another code, for good."""

    async def fails() -> None:
        loop = asyncio.get_running_loop()
        stop: asyncio.Future[None] = loop.create_future()
        operation._stop_on_signals_and_failures(loop, stop, Journal("error"))
        loop.call_soon(_full)
        await stop

    with pytest.raises(FullError, match="no room"):
        asyncio.run(fails())
    monkeypatch.setattr(operation, "run", lambda *_: _full())
    result = command.run("node", "run", "--node", folder)
    assert (result.returncode, result.stderr) == (FULL, "folkmoot: no room\n")


def _full() -> None:
    raise FullError("no room")

"""The door of a node: a Unix socket, a token soon, and a limit, so that nobody takes all descriptors."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot.network.service.door import (
    DOOR,
    LONGEST_PATH,
    MOST_VISITORS,
    Door,
    connect,
    door_of,
    socket_path,
    write_door,
)
from folkmoot.runs.processes import Nodes, prepare
from support.command import assert_refused, run, run_json
from support.ports import held_port
from support.network.real_moot import until
from support.network.shell_nodes import MODELS, ShellNode, stopped_quietly

IDLE = 1100


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Nodes]:
    """Two nodes, none of them running."""
    (tmp_path / "shell_models.py").write_text(MODELS)
    nodes = prepare(tmp_path, ["shell_models:odd"] * 2, {})
    yield nodes
    nodes.stop()


def test_whoever_waits_for_the_door_finds_its_file_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, real = [], os.fdopen

    def fdopen(*arguments: Any, **options: Any) -> Any:
        opened.append((tmp_path / DOOR).exists())  # while nothing is written yet
        return real(*arguments, **options)

    monkeypatch.setattr(os, "fdopen", fdopen)
    write_door(tmp_path, "127.0.0.1:1", "0" * 48)
    assert opened == [False]
    assert stat.S_IMODE((tmp_path / DOOR).stat().st_mode) == 0o600
    assert door_of(str(tmp_path)) == Door("127.0.0.1:1", "0" * 48, os.getpid())


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def counted(port: int, why: str) -> int:
    """A refusal, as /metrics has it."""
    with socket.create_connection(("127.0.0.1", port), timeout=10.0) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        text = b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()
    found = re.search(rf'^folkmoot_refused_total{{why="{why}"}} (\d+)$', text, re.MULTILINE)
    return int(found[1]) if found else 0


def idle(stack: ExitStack, family: socket.AddressFamily, address: str | tuple[str, int]) -> None:
    """A client that comes and says nothing; one that finds no room in the queue of the kernel comes again."""
    client = stack.enter_context(socket.socket(family))
    client.settimeout(20.0)
    for _ in range(2000):
        try:
            client.connect(address)
        except BlockingIOError:
            time.sleep(0.01)
        else:
            return
    raise AssertionError("no room in the queue")


@pytest.mark.parametrize("way", ["socket", "control", "metrics"])
def test_idle_connections_take_neither_descriptors_nor_the_door(
    alone: Nodes, tmp_path: Path, way: str
) -> None:
    settings = alone.settings[0]
    x = tmp_path / "x.npy"
    np.save(x, np.arange(4, dtype="<i4")[:, None])
    with held_port() as port, held_port() as control, ExitStack() as stack:
        options = ["--metrics", f"127.0.0.1:{port}", "--control", f"127.0.0.1:{control}"]
        node = stack.enter_context(
            ShellNode(settings.folder, settings.roster, *options, model="shell_models:odd", cwd=tmp_path)
        )
        node.wait_for("listening")
        before = descriptors(node.process.pid)
        path = json.loads((settings.folder / "door.json").read_text())["address"].removeprefix("unix:")
        most = before
        for _ in range(IDLE):
            if way == "socket":
                idle(stack, socket.AF_UNIX, path)
            else:
                idle(stack, socket.AF_INET, ("127.0.0.1", control if way == "control" else port))
            most = max(most, descriptors(node.process.pid))
        assert most <= before + MOST_VISITORS + 128  # of which 128 the kernel's queue may hand over at once
        if way == "control":  # the owner's own door is another one: it is free
            assert run_json("ask", x, "--via", settings.folder, "--deadline", "2s")["inputs"] == 4
        until(lambda: descriptors(node.process.pid) <= before + 8, "those who say nothing are sent away")
        why = "metrics_full" if way == "metrics" else "door_full"
        assert counted(port, why) >= IDLE - 8 * MOST_VISITORS
        assert counted(port, why) + counted(port, "door_late") <= IDLE
        assert run_json("ask", x, "--via", settings.folder, "--deadline", "2s")["inputs"] == 4
        stopped_quietly(node)


def test_only_the_owner_reaches_the_socket_and_nothing_is_left(alone: Nodes, tmp_path: Path) -> None:
    settings = alone.settings[0]
    with ShellNode(settings.folder, settings.roster, model="shell_models:odd", cwd=tmp_path) as node:
        node.wait_for("listening")
        door = door_of(str(settings.folder))
        assert door.address == f"unix:{settings.folder / 'door.sock'}"
        mode = (settings.folder / "door.sock").stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert not mode & 0o077
        assert not settings.folder.stat().st_mode & 0o077
        assert (settings.folder / "token").stat().st_mode & 0o777 == 0o600
        listening = Path(f"/proc/{node.process.pid}/net/tcp").read_text().splitlines()[1:]
        inodes = {str(each.readlink()) for each in Path(f"/proc/{node.process.pid}/fd").iterdir()}
        ports = [
            line.split()[1]
            for line in listening
            if f"socket:[{line.split()[9]}]" in inodes and line.split()[3] == "0A"
        ]
        assert len(ports) == 1  # that of the network, and no other
        stopped_quietly(node)
        assert not (settings.folder / "door.sock").exists()
        assert not (settings.folder / "door.json").exists()
    token = (settings.folder / "token").read_text()
    with ShellNode(settings.folder, settings.roster, model="shell_models:odd", cwd=tmp_path) as node:
        node.wait_for("listening")
        node.process.kill()
        node.process.wait(30)
        assert (settings.folder / "door.sock").exists()  # as a kill leaves it
    with ShellNode(settings.folder, settings.roster, model="shell_models:odd", cwd=tmp_path) as node:
        node.wait_for("listening")
        connect(door_of(str(settings.folder))).close()
        assert (settings.folder / "token").read_text() == token
        stopped_quietly(node)


def test_a_folder_too_deep_for_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path
    while len(os.fsencode(deep)) <= LONGEST_PATH:
        deep = deep / ("d" * 40)
    deep.mkdir(parents=True)
    (deep / "shell_models.py").write_text(MODELS)
    nodes = prepare(deep, ["shell_models:odd"] * 2, {})
    settings = nodes.settings[0]
    try:
        with ShellNode(settings.folder, settings.roster, model="shell_models:odd", cwd=deep) as node:
            node.wait_for("listening")
            elsewhere = Path(door_of(str(settings.folder)).address.removeprefix("unix:"))
            assert settings.folder not in elsewhere.parents
            assert elsewhere.parent.stat().st_mode & 0o777 == 0o700
            np.save(tmp_path / "x.npy", np.arange(4, dtype="<i4")[:, None])
            answer = run_json("ask", tmp_path / "x.npy", "--via", settings.folder, "--deadline", "2s")
            assert answer["inputs"] == 4
            stopped_quietly(node)
            assert not elsewhere.parent.exists()
    finally:
        nodes.stop()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with pytest.raises(ValueError, match="set TMPDIR to a shorter one"):
        socket_path(deep)
    assert not list(deep.glob("folkmoot-door-*"))


def test_the_length_at_which_a_path_is_too_long(tmp_path: Path) -> None:
    room = LONGEST_PATH - len(os.fsencode(tmp_path)) - len("//door.sock")
    fits = tmp_path / ("f" * room)
    fits.mkdir()
    path = socket_path(fits)
    assert path == fits / "door.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))  # what the kernel says is the truth
    longer = tmp_path / ("f" * (room + 1))
    longer.mkdir()
    with socket.socket(socket.AF_UNIX) as listening, pytest.raises(OSError, match="too long"):
        listening.bind(str(longer / "door.sock"))
    elsewhere = socket_path(longer)
    assert elsewhere.parent != longer
    elsewhere.parent.rmdir()


def test_tcp_wants_the_token_and_wants_it_soon(alone: Nodes, tmp_path: Path) -> None:
    settings = alone.settings[0]
    x = tmp_path / "x.npy"
    np.save(x, np.arange(4, dtype="<i4")[:, None])
    wrong = tmp_path / "wrong"
    wrong.write_text("0" * 48)
    broken = tmp_path / "broken"
    broken.write_text("swordfish")
    with held_port() as port, held_port() as control:
        address = f"127.0.0.1:{control}"
        options = ["--metrics", f"127.0.0.1:{port}", "--control", address]
        with ShellNode(
            settings.folder, settings.roster, *options, model="shell_models:odd", cwd=tmp_path
        ) as node:
            node.wait_for("listening")
            ask = ["ask", x, "--deadline", "2s", "--via"]
            assert_refused("the token is wrong", *ask, address)
            assert_refused("the token is wrong", *ask, address, "--token", wrong)
            assert_refused("must hold a token, 48 digits", *ask, address, "--token", broken)
            assert_refused("No such file", *ask, address, "--token", tmp_path / "none")
            assert_refused("--via HOST:PORT only", *ask, settings.folder, "--token", wrong)
            assert counted(port, "door_token") == 2
            assert run(*ask, address, "--token", settings.folder / "token").returncode == 0
            began = time.monotonic()
            with connect(Door(address, "", 0)) as silent:
                silent.settimeout(20.0)
                silent.sendall(struct.pack(">I", 100) + b"x" * 99)  # a frame that never ends
                while silent.recv(1000):
                    pass
            assert 1.5 < time.monotonic() - began < 10.0
            assert counted(port, "door_late") == 1
            stopped_quietly(node)

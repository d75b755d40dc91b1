"""Events: in order, resumed where a client left off, ended when the node stops; the page at the prompt."""

from __future__ import annotations

import importlib.util
import json
import signal
import socket
import time
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from folkmoot.node.membership import identity
from folkmoot.node.membership.roster import Roster
from folkmoot.runs.processes import Nodes
from folkmoot.web.client import Client
from support.command import assert_refused
from support.network.paged import Paged
from support.ports import held_port
from support.network.shell_nodes import MODELS, ShellNode


def test_a_motion_is_told_from_its_opening_to_its_end(paged: Paged) -> None:
    stream = paged.stream()
    first = stream.next()
    assert first is not None
    assert first[1] == "moot"
    assert first[2]["participants"] == 6
    put = paged.ask([[float(i)] for i in range(30)], rounds=40, pace=0.02)
    found = stream.until("over", put)
    stream.close()
    about = [(kind, data) for _, kind, data in found if data.get("motion") == put]
    kinds = [kind for kind, _ in about]
    assert kinds[0] == "opened"
    assert about[0][1]["inputs"] == 30
    assert kinds[-1] == "over"
    assert about[-1][1]["undecided"] == paged.over(put)["undecided"]
    rounds = [data["round"] for kind, data in about if kind == "progress"]
    assert rounds == sorted(rounds)
    assert 0 < len(rounds) < 40  # looked at now and then, not at every round
    (caught,) = [data for kind, data in about if kind == "accused"]
    assert (caught["participant"], caught["what"]) == ("node005", "two answers")
    serials = [int(number.partition("-")[2]) for number, kind, _ in found if kind != "ping"]
    assert serials == list(range(serials[0], serials[0] + len(serials)))


def test_a_client_goes_on_after_the_last_event_that_it_has(paged: Paged) -> None:
    stream = paged.stream()
    whole = []
    for _ in range(2):  # one after the other: either may be over first
        put = paged.ask([[1.0]], rounds=10, seconds=6.0)
        whole += stream.until("over", put)
    stream.close()
    for place in (0, 1, len(whole) // 2, len(whole) - 2):
        again = paged.stream(last=whole[place][0])
        assert [again.next() for _ in whole[place + 1 :]] == whole[place + 1 :]
        again.close()
    run, _, serial = whole[-1][0].partition("-")
    for unknown in (
        "",
        "7",
        f"{run}-{int(serial) + 1000}",
        f"{int(run) + 1}-{serial}",
        f"{run}-x",
        f"{run}-{'9' * 50}",
    ):
        fresh = paged.stream(last=unknown)
        event = fresh.next()
        assert event is not None
        assert event[1] == "moot"  # what it missed is not known: it is told how things are
        fresh.close()


def test_who_falls_silent_is_told(paged: Paged, nodes: Nodes) -> None:
    stream = paged.stream()
    stream.next()
    time.sleep(1.2)  # until it was looked at once
    nodes.kill(4)
    try:
        (*_, (_, _, said)) = stream.until("silent")
        assert (said["participant"], said["state"]) == ("node004", "away")
        assert said["seen"] is None or abs(said["seen"] - time.time()) < 600
    finally:
        nodes.start(4)
        nodes.wait([4], 60.0)
    found = stream.until("moot")
    while not all(peer["connected"] for peer in found[-1][2]["peers"]):
        found = stream.until("moot")
    stream.close()


def test_a_node_stops_at_once_with_streams_open(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(MODELS)
    with held_port() as port:
        me = identity.create(tmp_path / "north", name="north", listen=f"127.0.0.1:{port}")
        Roster([me.member()]).write(tmp_path / "roster.toml")
        options = ["--page", "0.0.0.0:0", "--page-behind-tls", "Moot.example"]
        node = ShellNode(
            tmp_path / "north", tmp_path / "roster.toml", *options, model="models:odd", cwd=tmp_path
        )
        with node:
            opened = node.wait_for("page open")
            paged = Paged(tmp_path / "north")
            assert opened["address"] == f"127.0.0.1:{paged.port}"
            for host in ("moot.example", "moot.example:443", f"127.0.0.1:{paged.port}"):
                assert paged.send("GET", "/v1/moot", Host=host).status == 200
            assert (
                paged.send("GET", "/v1/moot", Host="moot.example", Origin="https://moot.example").status
                == 200
            )
            assert paged.send("GET", "/v1/moot", Origin="http://moot.example").status == 403
            for host in ("evil.example", f"0.0.0.0:{paged.port}", "moot.example:80"):
                assert paged.send("GET", "/v1/moot", Host=host).status == 421
            assert Client.of(tmp_path / "north").moot()["node"] == "north"
            streams = [paged.stream() for _ in range(5)]
            assert all(stream.next() for stream in streams)
            began = time.monotonic()
            code, lines = node.leaves(signal.SIGINT)
            assert code == 0, lines
            assert json.loads(lines[-1])["event"] == "stopped"
            assert all(line.startswith("{") for line in lines), lines  # nobody else writes into the log
            assert time.monotonic() - began < 10.0
            for stream in streams:
                assert stream.next() is None  # ended as HTTP ends it, not cut off
                stream.close()
    assert not (tmp_path / "north" / "page.json").exists()


def test_what_is_wrong_with_a_page_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = identity.create(tmp_path / "north", name="north", listen="127.0.0.1:7654")
    Roster([me.member()]).write(tmp_path / "roster.toml")
    (tmp_path / "page_models.py").write_text(MODELS)
    monkeypatch.syspath_prepend(tmp_path)
    start = [
        "node",
        "run",
        tmp_path / "north",
        "--roster",
        tmp_path / "roster.toml",
        "--model",
        "page_models:odd",
        "--log-level",
        "error",
        "--listen",
        "127.0.0.1:0",
    ]
    for wrong, said in {
        "0.0.0.0:7700": "--page must be on this machine, such as 127.0.0.1:7700 (or --page-behind-tls)",
        "192.0.2.1:7700": "--page must be on this machine",
        "north.example:7700": "--page must be on this machine",
        "7700": "address must be HOST:PORT",
        "127.0.0.1:99999": "with a port from 0 to 65535",
    }.items():
        assert_refused(said, *start, "--page", wrong)
    assert_refused("--page-behind-tls must be given with --page", *start, "--page-behind-tls", "moot.example")
    for name in ("https://moot.example", "a b", "moot.example:0", ""):
        assert_refused(
            "--page-behind-tls must be the name", *start, "--page", "0.0.0.0:7700", "--page-behind-tls", name
        )
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert_refused("is in use by another program", *start, "--page", address)
    (tmp_path / "north" / "token.read").write_text("a" * 48)
    (tmp_path / "north" / "token.read").chmod(0o644)
    assert_refused("must be readable by its owner only: type chmod 600", *start, "--page", "127.0.0.1:0")
    find = importlib.util.find_spec

    def missing(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "uvicorn" else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", missing)
    assert_refused('pip install "folkmoot[page]"', *start, "--page", "127.0.0.1:0")

"""The nodes of a moot as processes of this machine, each with a folder, a key and a port, and one roster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import forkserver, resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from folkmoot.local.held_ports import HeldPorts
from folkmoot.node.client import Client, NodeAwayError
from folkmoot.node.log import Journal
from folkmoot.node.membership import identity
from folkmoot.node.membership.fields import toml_string
from folkmoot.node.membership.identity import SETTINGS
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.operation import Operation, run
from folkmoot.node.storage.storage import create_storage
from folkmoot.testing.malicious import MaliciousMember

LOG: Final = "log.jsonl"  # in a node's folder
ROSTER: Final = "roster.toml"
# What every node needs: loaded once by the server that forks them, instead of by each.
_PRELOADED: Final = ("folkmoot.local.processes", "sklearn.pipeline", "sklearn.linear_model", "skops.io")


@dataclass(frozen=True)
class Member:
    """One node of a local moot: what stands in its ``node.toml``, and how it lies, if it does."""

    model: str
    settings: Mapping[str, str] = field(default_factory=dict)  # lines of node.toml, values as text
    policy: Mapping[str, int] = field(default_factory=dict)
    lies: type[MaliciousMember] | None = None


@dataclass
class Nodes:
    """The processes of a moot, by place in its roster; their ports stay theirs until ``stop``."""

    folder: Path
    roster: Roster
    members: list[Member]
    ports: HeldPorts
    processes: list[BaseProcess | None] = field(default_factory=list)

    def folder_of(self, place: int) -> Path:
        """The folder of a node."""
        return self.folder / self.roster[place].name

    def client(self, place: int) -> Client:
        """The socket of a node."""
        return Client(self.folder_of(place))

    def start(self, place: int) -> None:
        """Start one, or start it again."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([*_PRELOADED])
        _start_server()
        member = self.members[place]
        given = self.folder_of(place), member.lies
        process = context.Process(target=_node, args=given, daemon=True)
        process.start()
        self.processes[place] = process

    def signal(self, place: int, number: int) -> None:
        """Send a signal to one that is there."""
        process = self.processes[place]
        if process is not None and process.pid is not None and process.is_alive():
            os.kill(process.pid, number)

    def kill(self, place: int) -> None:
        """End one without warning, as a crash does."""
        self.signal(place, signal.SIGKILL)
        process = self.processes[place]
        if process is not None:
            process.join(10.0)

    def start_all(self, seconds: float = 60.0, report: Callable[[int], None] | None = None) -> None:
        """Start all, and wait until each has a connection to all others."""
        places = range(len(self.members))
        for place in places:
            self.start(place)
        self.wait(places, seconds, report)

    def wait(
        self, places: Sequence[int], seconds: float = 60.0, report: Callable[[int], None] | None = None
    ) -> None:
        """Until these nodes answer, and each has a connection to all of them."""
        end = time.monotonic() + seconds
        there: set[int] = set()
        while len(there) < len(places):
            for place in places:
                if place not in there and self._is_ready(place, places):
                    there.add(place)
                process = self.processes[place]
                if process is None or not process.is_alive():
                    log = self.folder_of(place) / LOG
                    raise RuntimeError(f"node {self.roster[place].name} did not start: see {log}")
            if report is not None:
                report(len(there))
            if time.monotonic() > end:
                raise RuntimeError(
                    f"only {len(there)} of {len(places)} nodes were ready within {seconds:.0f} s"
                )
            time.sleep(0.05)

    def _is_ready(self, place: int, places: Sequence[int]) -> bool:
        names = {self.roster[each].name for each in places if each != place}
        with suppress(NodeAwayError):
            peers = self.client(place).status()["peers"]
            return names <= {peer["name"] for peer in peers if peer["connected"]}
        return False

    def stop(self) -> None:
        """Ask all to leave, and end those who do not."""
        for place in range(len(self.processes)):
            self.signal(place, signal.SIGTERM)
        end = time.monotonic() + 10.0
        for process in self.processes:
            if process is not None:
                process.join(max(0.1, end - time.monotonic()))
                if process.is_alive():
                    process.kill()
        self.ports.close()


def prepare(folder: Path, members: Sequence[Member]) -> Nodes:
    """Keys, folders, a roster and held ports; nobody is started yet."""
    ports = HeldPorts(len(members))
    identities = []
    for place, (port, member) in enumerate(zip(ports.numbers, members, strict=True)):
        name = name_of(place)
        me = identity.create(folder / name, name=name, listen=f"127.0.0.1:{port}")
        create_storage(folder / name, me.fingerprint, 0.0)
        lines = {"roster": f"../{ROSTER}", "model": member.model, **member.settings}
        text = "".join(f"{key} = {toml_string(value)}\n" for key, value in lines.items())
        if member.policy:
            text += "[policy]\n" + "".join(f"{key} = {value}\n" for key, value in member.policy.items())
        with (folder / name / SETTINGS).open("a", encoding="utf-8") as file:
            file.write("\n" + text)
        identities.append(me)
    roster = Roster(each.member() for each in identities)
    roster.write(folder / ROSTER)
    return Nodes(folder, roster, list(members), ports, [None] * len(members))


def name_of(place: int) -> str:
    """The name of a node and of its folder, by its place."""
    return f"node{place:03d}"


def _start_server() -> None:
    """Start what forks the nodes, deaf to Ctrl-C from its first moment.

    It ignores Ctrl-C only after it has loaded what it preloads, which takes seconds; until then it would
    print where it was interrupted. A blocked signal is inherited; ours waits until it runs.
    """
    resource_tracker.ensure_running()  # first: to start it unblocks the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _node(folder: Path, lies: type[MaliciousMember] | None) -> None:
    """The body of a node's process: ``folkmoot node run`` with its log in a file, or a node that lies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started us; it stops us
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    with (folder / LOG).open("a") as log:
        os.dup2(log.fileno(), sys.stderr.fileno())
        given = Operation(folder, sandbox=False, lies=lies)  # fitted here
        try:
            run(given, Journal("info", log))
        except (ValueError, OSError, RuntimeError) as error:
            print(f"folkmoot: {error}", file=log, flush=True)
            raise SystemExit(2) from None


def _leave_with_parent() -> None:
    """Nobody stops a node whose parent was killed, or interrupted before it knew the node's number."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

"""The nodes of a moot as processes of this machine, with keys and ports of their own and one roster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing import forkserver, resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from folkmoot import checks
from folkmoot.arrays import PartProgress
from folkmoot.local.held_ports import HeldPorts
from folkmoot.network import Account, Asker, Terms
from folkmoot.network.service.control import MotionProgress
from folkmoot.network.service.door import DOOR, remove_door
from folkmoot.network.service.operation import Settings, run
from folkmoot.network.service.policy import Policy
from folkmoot.network.wire.messages import MOST_CHECK_ROWS
from folkmoot.node.log import Journal
from folkmoot.node.membership import identity
from folkmoot.node.membership.roster import Roster
from folkmoot.testing.node import attack_called
from folkmoot.web.page import Page
from folkmoot.web.site import PAGE

# What every node needs: loaded once by the server that forks them, instead of by each.
PRELOADED = ("folkmoot.testing.node", "sklearn.pipeline", "sklearn.linear_model", "skops.io")
PRELOADED_PAGES = ("folkmoot.web.api", "folkmoot.web.server", "folkmoot.web.guard")


@dataclass
class Nodes:
    """The processes of a moot, by place in its roster; their ports stay theirs until ``stop``."""

    folder: Path
    roster: Roster
    settings: list[Settings]
    ports: HeldPorts
    processes: list[BaseProcess | None] = field(default_factory=list)
    pages: dict[int, str] = field(default_factory=dict)  # who answers HTTP, and where
    attacks: dict[int, str] = field(default_factory=dict)  # who lies, and how

    def start(self, place: int) -> None:
        """Start one, or start it again."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([*PRELOADED, *(PRELOADED_PAGES if self.pages else ())])
        _start_server()
        given = self.settings[place], self.pages.get(place), self.attacks.get(place)
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
        remove_door(self.settings[place].folder)
        (self.settings[place].folder / PAGE).unlink(missing_ok=True)

    def wait(
        self, places: Sequence[int], seconds: float, report: Callable[[int], None] | None = None
    ) -> None:
        """Until their doors are open, and their pages, if they have any."""
        end = time.monotonic() + seconds
        while True:
            there = sum(self._is_open(place) for place in places)
            if report is not None:
                report(there)
            if there == len(places):
                self._wait_for_each_other(places)
                return
            for place in places:
                process = self.processes[place]
                if process is None or not process.is_alive():
                    log = self.settings[place].folder / "log.jsonl"
                    raise RuntimeError(f"node {self.roster[place].name} did not start: see {log}")
            if time.monotonic() > end:
                raise RuntimeError(f"only {there} of {len(places)} nodes started within {seconds:.0f} s")
            time.sleep(0.05)

    def _is_open(self, place: int) -> bool:
        names = [DOOR, PAGE] if place in self.pages else [DOOR]
        return all((self.settings[place].folder / name).is_file() for name in names)

    def _wait_for_each_other(self, places: Sequence[int], seconds: float = 10.0) -> None:
        """Until all have said in their logs that they are connected; some may not be there at all."""
        end = time.monotonic() + seconds
        whole = all(process is not None and process.is_alive() for process in self.processes)
        logs = [self.settings[place].folder / "log.jsonl" for place in places]
        while whole and time.monotonic() < end:
            if all('"all peers connected"' in log.read_text() for log in logs):
                return
            time.sleep(0.05)

    def stop(self) -> None:
        """Ask all to leave, and end those who do not."""
        for place in range(len(self.processes)):
            self.signal(place, signal.SIGCONT)
            self.signal(place, signal.SIGTERM)
        end = time.monotonic() + 10.0
        for process in self.processes:
            if process is not None:
                process.join(max(0.1, end - time.monotonic()))
                if process.is_alive():
                    process.kill()
        self.ports.close()


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


def _node(settings: Settings, page: str | None, attack: str | None) -> None:
    """The body of a node's process: ``folkmoot node run`` with its log in a file, or a node that lies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started us; it stops us
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    with (settings.folder / "log.jsonl").open("a") as log:
        os.dup2(log.fileno(), sys.stderr.fileno())
        try:
            faces = [] if page is None else [Page(page)]
            told = Journal(settings.log_level, log)
            run(settings, told, faces, *([] if attack is None else [attack_called(attack)]))
        except (ValueError, OSError, RuntimeError) as error:
            print(f"folkmoot: {error}", file=log, flush=True)
            raise SystemExit(2) from None


def _leave_with_parent() -> None:
    """Nobody stops a node whose parent was killed, or interrupted before it knew the node's number."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def prepare(
    folder: Path,
    models: Sequence[str],
    attacks: dict[int, str],
    log_level: str = "info",
    holdouts: dict[int, Path] | None = None,
    check_rows: int = 0,
) -> Nodes:
    """Keys, a roster and held ports for one node a model; nobody is started yet."""
    ports = HeldPorts(len(models))
    identities = [
        identity.create(folder / name_of(place), name=name_of(place), listen=f"127.0.0.1:{port}")
        for place, port in enumerate(ports.numbers)
    ]
    roster = Roster(each.member() for each in identities)
    roster.write(folder / "roster.toml")
    settings = [
        Settings(
            folder=folder / name_of(place),
            roster=folder / "roster.toml",
            model=model,
            log_level=log_level,
            holdout=(holdouts or {}).get(place),
            policy=Policy(check_rows=check_rows),
            sandbox=False,  # the models were fitted here a moment ago
        )
        for place, model in enumerate(models)
    ]
    return Nodes(folder, roster, settings, ports, [None] * len(models), attacks=attacks)


def check_members(nodes: int, most: int, *, byzantine: int, kill: int, pause: int, note: str = "") -> None:
    """ValueError unless so many nodes can be started, and two honest ones are left of them."""
    if not 3 <= checks.integer("nodes", nodes) <= most:
        raise checks.ArgumentError(
            f"{{nodes}} must satisfy 3 <= nodes <= {most}{note}: got {{nodes=}}", nodes=nodes
        )
    for name, many in (("byzantine", byzantine), ("kill", kill), ("pause", pause)):
        checks.integer(name, many, least=0)
    faulty = byzantine + kill + pause
    if faulty > nodes - 2:
        raise ValueError(
            "--byzantine, --kill and --pause must leave two honest nodes, one of which asks: "
            f"got {faulty} of {nodes}"
        )


def check_shown_rows(rows: int) -> None:
    """ValueError unless each node may show so many check rows in a motion; 0 is none."""
    if not 0 <= checks.integer("check_rows", rows) <= MOST_CHECK_ROWS:
        raise checks.ArgumentError(
            f"{{check_rows}} must satisfy 0 <= check_rows <= {MOST_CHECK_ROWS}: got {{check_rows=}}",
            check_rows=rows,
        )


def name_of(place: int) -> str:
    """The name of a node, its folder and its files, by its place."""
    return f"node{place:03d}"


def ask_while_some_fail(
    nodes: Nodes,
    inputs: Any,
    terms: Terms,
    killed: Sequence[int],
    paused: Sequence[int],
    report: PartProgress | None,
) -> Account:
    """The first node asks; as soon as the talk has begun some nodes are killed, others paused."""
    broken = False

    def progress(state: MotionProgress) -> None:
        nonlocal broken
        if report is not None:
            report("rounds of the talk", min(state.rounds, terms.rounds), terms.rounds)
        if state.phase == "talking" and not broken:
            broken = True
            for place in killed:
                nodes.kill(place)
            for place in paused:
                nodes.signal(place, signal.SIGSTOP)

    return Asker(nodes.settings[0].folder).ask(inputs, terms, progress)

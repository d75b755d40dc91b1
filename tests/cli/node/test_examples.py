"""The two examples at the end of each help, run in their order against two nodes that run."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

from folkmoot.cli.app import COMMANDS, command_called
from folkmoot.cli.examples import EXAMPLES
from folkmoot.local.held_ports import HeldPorts
from folkmoot.node.client import Client, NodeAwayError
from support.command import run
from support.process import start

SECONDS = 60.0
NODES = ("node init", "roster make", "roster add", "roster remove", "roster check", "node run")
ASKED = (
    "node status", "node schema", "node reload", "ask", "motions list", "motions show", "motions truth",
    "node audit", "verify", "roster propose", "roster sign", "doctor",
)  # fmt: skip


def commands(command: Any = None, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every command that does something, by what is typed."""
    inner: dict[str, Any] = getattr(command, "commands", None) or {}
    if not inner and command is not None:
        yield path, command
    for name in COMMANDS if command is None else inner:
        found = command_called(name) if command is None else inner[name]
        yield from commands(found, f"{path} {name}".strip())


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the examples are typed: models, tables, and in the end what they have made."""
    folder = tmp_path_factory.mktemp("here")
    rng = np.random.default_rng(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, labels in (("north", ["no", "yes"]), ("south", [0, 1])):
            X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["age", "dose"])
            y = np.array(labels)[(X["age"] > 0).astype(int)]
            skops.io.dump(LogisticRegression().fit(X, y), f"{name}.skops")
        Path("map.toml").write_text('0 = "no"\n1 = "yes"\n')
        Path("inputs.csv").write_text("dose,age\n0,2\n0,-2\n0,3\n")
        Path("truth.csv").write_text("input,label\n0,yes\n1,no\n")
        for name in ("east", "west"):
            made = run("node", "init", name, "--model", "json:dumps", "--listen", "127.0.0.1:1")
            Path(f"{name}.line").write_text(made.stdout)
        yield folder


@pytest.fixture(scope="module")
def moot(here: Path) -> Iterator[Path]:
    """Two nodes that run, made and started by the examples, with free ports for those that these name."""
    ports = HeldPorts(3)
    listens = iter(ports.numbers)
    running: list[subprocess.Popen[str]] = []
    try:
        for path in NODES:
            for line in EXAMPLES[path]:
                typed = line.split()
                if path == "node init":
                    where = f"127.0.0.1:{next(listens)}"
                    typed = [*(typed[:-1] if "--listen" in typed else [*typed, "--listen"]), where]
                if path != "node run":
                    result = run(*typed)
                    assert result.returncode == 0, f"{line}: {result.stderr}"
        first, second = EXAMPLES["node run"]
        running += [
            start(*line.split()) for line in (second.replace("7700", "0"), first.replace("north", "south"))
        ]
        _until(lambda: _all_connected(["north", "south"]))
        yield here
    finally:
        for process in running:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
        assert [process.returncode for process in running] == [0, 0]  # they end cleanly
        ports.close()


def _all_connected(names: list[str]) -> bool:
    try:
        return all(all(peer["connected"] for peer in Client(name).status()["peers"]) for name in names)
    except NodeAwayError:
        return False


def _until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not there():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)


@pytest.mark.usefixtures("moot")
def test_examples_do_what_they_say() -> None:
    for path in ASKED:
        for line in EXAMPLES[path]:
            result = run(*line.split())
            assert result.returncode == 0, f"{line}: {result.stdout}{result.stderr}"
            assert result.stdout
            if "--json" in line:
                json.loads(result.stdout)
    # A node elsewhere is examined by its page.
    page, _, _ = Client("north").access()["page"].partition("/#")
    found = json.loads(run("doctor", "--node", page, "--token", "north/token", "--json").stdout)
    assert {each["what"]: each["state"] for each in found["node"]} == dict.fromkeys(
        ("model", "roster", "peers"), "ok"
    )
    refused = json.loads(run("doctor", "--node", page, "--json").stdout)
    assert [each["state"] for each in refused["node"]] == ["broken"]
    # Both models say the same, so what is decided anybody can see.
    told = json.loads(run("motions", "list", "--node", "south", "--json").stdout)
    assert [each["state"] for each in told["motions"]] == ["decided", "decided"]
    assert [each["asker"] for each in told["motions"]] == ["north", "north"]
    assert Path("answers.csv").read_text().splitlines()[1:] == ["0,yes,1", "1,no,1", "2,yes,1"]
    records = json.loads(run("motions", "truth", "last", "truth.csv", "--node", "south", "--json").stdout)
    assert {name: each["right"] for name, each in records["records"].items()} == {"north": 2, "south": 2}
    _until(lambda: json.loads(run("roster", "propose", "--node", "north", "--json").stdout)["epoch"] == 1)


@pytest.mark.parametrize("line", EXAMPLES["local"])
def test_a_local_moot_decides(line: str) -> None:
    result = run(*line.split())
    assert result.returncode == 0, result.stderr
    if "--json" in line:
        told = json.loads(result.stdout)
        assert (told["contradictions"], len(told["malicious"])) == (0, 1)
        assert told["malicious"] == list(told["evidence"]) or told["evidence"] == {}

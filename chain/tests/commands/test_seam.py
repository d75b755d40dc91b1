"""The weights file between the two distributions: folkmoot's own commands make the node and read the file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chain_support.command import run_json
from chain_support.server import serving
from chain_support.town import Town
from folkmoot_chain.in_process import InProcess

pytest.importorskip("folkmoot", reason="folkmoot is not installed: pip install folkmoot")


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    rpc = InProcess(1)
    with serving(rpc) as url:
        yield Town.made(rpc, url, tmp_path)


def folkmoot(*arguments: object) -> str:
    command = [sys.executable, "-m", "folkmoot", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def test_a_node_reads_what_record_writes(town: Town) -> None:
    ann, roster, weights = (town.folder / name for name in ("node-ann", "roster.toml", "weights.json"))
    (town.folder / "columns.csv").write_text("a\n1\n")
    model = ("--model", "numpy:ravel", "--columns", town.folder / "columns.csv")
    folkmoot("node", "init", ann, *model, "--listen", "127.0.0.1:0", "--address", "127.0.0.1:1")
    folkmoot("roster", "make", ann / "node-ann.line", "--out", roster)
    key = ["--keystore", town.folder / "ann.json", "--passphrase-file", town.folder / "passphrase"]
    tie = run_json("tie", ann, *key)
    (member,) = json.loads(folkmoot("roster", "check", roster, "--json"))["participants"]
    assert (tie["name"], tie["fingerprint"]) == (member["name"], member["fingerprint"])
    record = ["--rpc", town.url, "--contract", town.contract, "--supplier", town.addresses["sam"]]
    run_json(
        *("record", *record, "--subject", "x", "--weights", weights),
        *("--roster", town.file("tied.txt", [tie["line"], town.addresses["bob"]])),
    )
    assert json.loads(weights.read_text())["weights"] == {member["fingerprint"]: 1, town.addresses["bob"]: 1}
    settings = (ann / "node.toml").read_text()
    (ann / "node.toml").write_text(
        settings.replace('# weights = "weights.json"', 'weights = "../weights.json"')
    )
    for fine in (True, False):
        checks = json.loads(folkmoot("doctor", "--node", ann, "--json"))["node"]
        (line,) = (each for each in checks if each["what"] == "model")
        assert (line["state"] == "ok") is fine
        assert ("weights of 2 members" if fine else "must be a weights file such as") in line["note"]
        weights.write_text("{}")

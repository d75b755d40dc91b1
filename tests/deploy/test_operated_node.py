"""A node in operation: its metrics are those of the dashboard and the alerts, its back-up is a whole node."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import tarfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from folkmoot.doctor.node_folder import node_folder
from folkmoot.network.storage.storage import DATABASE, Storage
from folkmoot.network.wire.motion import MOST_SECONDS
from folkmoot.node.membership.identity import load
from folkmoot.runs.processes import Nodes
from support.command import run_json, run_script
from support.ports import held_port
from support.network.real_moot import ask, check_consistency, real_moot, until

DEPLOY = Path(__file__).parents[2] / "deploy"
SCRIPT = DEPLOY / "backup.py"


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Nodes, int]]:
    """Three nodes of which the last serves metrics, after one motion."""
    with held_port() as port, pytest.MonkeyPatch.context() as patch:

        def with_metrics(nodes: Nodes) -> None:
            nodes.settings[2] = replace(nodes.settings[2], metrics=f"127.0.0.1:{port}")

        with real_moot(tmp_path_factory.mktemp("moot"), 3, patch, change=with_metrics) as nodes:
            ask(nodes, inputs=12, seconds=4.0, rounds=15)
            until(lambda: _is_over(nodes.settings[2].folder), "the motion is over at the last node")
            yield nodes, port


def _is_over(folder: Path) -> bool:
    storage = Storage(folder / DATABASE)
    try:
        return all(each.closed is not None for each in storage.motions())
    finally:
        storage.close()


def _named(text: str) -> set[str]:
    return set(re.findall(r"\bfolkmoot_\w+", text))


def test_every_metric_of_the_dashboard_and_the_alerts_is_there(moot: tuple[Nodes, int]) -> None:
    _, port = moot
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    told = dict(re.findall(r"^# TYPE (folkmoot_\w+) (\w+)$", text, flags=re.M))
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    targets = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    shown = _named(" ".join(targets))
    assert shown == set(told), "the dashboard shows every metric, and none that is not there"
    assert _named((DEPLOY / "alerts.yml").read_text()) <= set(told)
    for each in targets:  # what only ever grows is shown as a rate, what is, as it is
        for name in _named(each):
            grows = f"rate({name}" in each or f"increase({name}" in each
            assert grows == (told[name] == "counter") or name == "folkmoot_evidence_total", each
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)
    assert "folkmoot_quorum 2\n" in text  # of three: no two liars are among them, so more than half


def test_reasons_of_refusal_in_the_alerts_are_those_of_the_documentation() -> None:
    page = (DEPLOY.parent / "docs" / "operations.md").read_text()
    reasons = re.findall(r'why="(\w+)"', (DEPLOY / "alerts.yml").read_text())
    assert reasons
    for each in reasons:
        assert f"`{each}`" in page


def backup(*arguments: object) -> CompletedProcess[str]:
    return run_script(SCRIPT, *arguments)


def refused(message: str, *arguments: object) -> None:
    result = backup(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("backup.py: ")
    assert message in line


def saved(folder: Path, into: Path) -> Path:
    result = backup("save", folder, into)
    assert result.returncode == 0, result.stderr
    return Path(result.stdout.strip())


def test_a_back_up_of_a_running_node_is_a_whole_node(moot: tuple[Nodes, int], tmp_path: Path) -> None:
    nodes, _ = moot
    settings = nodes.settings[2]
    (running,) = [each for each in node_folder(settings.folder) if each.what == "peers"]
    assert (running.state, running.note.startswith("2 of 2 connected")) == ("ok", True)
    archive = saved(settings.folder, tmp_path)
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [archive.name]  # nothing unfinished is left
    before = run_json("motions", "--via", settings.folder)["motions"]

    nodes.kill(2)  # the original is gone
    restored = tmp_path / settings.folder.name
    result = backup("restore", archive, restored, "--original-is-gone")
    assert result.returncode == 0, result.stderr
    assert "has forgotten what it signed since" in result.stdout
    assert {stat.S_IMODE(each.stat().st_mode) for each in restored.iterdir()} == {0o600}
    assert stat.S_IMODE(restored.stat().st_mode) == 0o700
    assert load(restored) == load(settings.folder)
    assert [each for each in node_folder(restored) if each.state == "broken"] == []
    kept = run_json("motions", "--via", restored)["motions"]  # it may have heard more since
    assert [(each["motion"], each["decisions"]) for each in kept] == [
        (each["motion"], each["decisions"]) for each in before
    ]
    assert len(before) == 1

    nodes.settings[2] = replace(settings, folder=restored, metrics=None)
    nodes.start(2)
    nodes.wait([2], 60.0)
    found = ask(nodes, asker=2, inputs=12, seconds=6.0, rounds=15)
    assert found.took_part == [each.name for each in nodes.roster]
    assert not found.evidence
    check_consistency(nodes)


def test_restored_nodes_must_wait_as_long_as_a_motion_may_last() -> None:
    text = SCRIPT.read_text()
    (hours,) = re.findall(r"LONGEST_MOTION = datetime.timedelta\(hours=(\d+)\)", text)
    assert timedelta(hours=int(hours)).total_seconds() == MOST_SECONDS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The smallest folder that the script takes for a node."""
    path = tmp_path / "north"
    path.mkdir()
    for name in ("key.pem", "certificate.pem", "node.toml"):
        (path / name).write_text(name)
    Storage(path / DATABASE).close()
    return path


def test_restore_never_overwrites_and_never_makes_a_second_node_by_accident(
    folder: Path, tmp_path: Path
) -> None:
    archive = saved(folder, tmp_path)
    new = tmp_path / "new"
    refused("two running copies", "restore", archive, new)
    assert not new.exists()
    refused("must be new or empty", "restore", archive, folder, "--original-is-gone")
    refused("there is no", "restore", archive, tmp_path / "no" / "such", "--original-is-gone")
    refused("No such file", "restore", tmp_path / "no.tar", new, "--original-is-gone")
    new.mkdir()
    assert backup("restore", archive, new, "--original-is-gone").returncode == 0
    for name in ("key.pem", "certificate.pem", "node.toml"):
        assert (new / name).read_text() == name


def test_damaged_archives_are_no_back_ups(folder: Path, tmp_path: Path) -> None:
    archive = saved(folder, tmp_path)
    data = archive.read_bytes()
    with tarfile.open(archive) as tar:
        place = tar.getmember("key.pem").offset_data
    flipped = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
    for wrong in (data[: len(data) // 2], flipped, b"", b"nothing" * 1000):
        (tmp_path / "wrong.tar").write_bytes(wrong)
        refused(
            "is not a whole back-up", "restore", tmp_path / "wrong.tar", tmp_path / "x", "--original-is-gone"
        )
        assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", ["../outside", "/outside", "sub/key.pem", ".."])
def test_archives_cannot_write_outside(folder: Path, tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / "evil.tar", "w") as tar:
        entry = tarfile.TarInfo(name)
        entry.size = 4
        tar.addfile(entry, io.BytesIO(b"evil"))
    refused("which no back-up has", "restore", tmp_path / "evil.tar", tmp_path / "x", "--original-is-gone")
    assert not (tmp_path / "x").exists()
    assert folder.exists()


def test_what_cannot_be_saved_is_said_and_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    into = tmp_path / "into"
    refused("mkdir -m 700", "save", folder, into)
    into.mkdir()
    refused("own folder", "save", folder, folder)
    refused("at least 1", "save", folder, into, "--keep", "0")
    refused("there is no key.pem", "save", tmp_path, into)
    data = bytearray((folder / DATABASE).read_bytes())
    data[5000:] = os.urandom(len(data) - 5000)
    (folder / DATABASE).write_bytes(data)
    refused("keep your older back-ups", "save", folder, into)
    assert list(into.iterdir()) == []
    assert backup("save").returncode == 2
    assert backup("sav").returncode == 2


def test_old_back_ups_of_the_same_node_go_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    others = ["north-20250101T000000Z.tar.gz", "northwest-20250101T000000Z.tar", "north-mine.tar"]
    for name in ["north-20250101T000000Z.tar", "north-20250102T000000Z.tar", *others]:
        (into / name).touch()
    result = backup("save", folder, into, "--keep", "2")
    assert result.returncode == 0, result.stderr
    new = Path(result.stdout.strip()).name
    assert {each.name for each in into.iterdir()} == {*others, "north-20250102T000000Z.tar", new}
    assert abs(time.time() - (into / new).stat().st_mtime) < 60

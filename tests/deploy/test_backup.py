"""The back-up of a node that runs is a whole node, and nothing else is taken for one."""

from __future__ import annotations

import io
import os
import re
import stat
import tarfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from folkmoot.doctor.node_folder import node_folder
from folkmoot.local.processes import Member, Nodes, prepare
from folkmoot.node.membership.identity import load
from folkmoot.node.session.terms import Terms
from folkmoot.node.storage.storage import DATABASE, create_storage
from support.command import run_json, run_script

DEPLOY = Path(__file__).parents[2] / "deploy"
SCRIPT = DEPLOY / "backup.py"


MODELS = """
def odd(X):
    return ["odd" if row[0] % 2 else "even" for row in X]

odd.labels, odd.columns = ["even", "odd"], 1
"""
ROWS = [[float(row)] for row in range(12)]


@pytest.fixture(scope="module")
def moot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Three nodes that run, after one motion."""
    folder = tmp_path_factory.mktemp("moot")
    (folder / "odd_or_even.py").write_text(MODELS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        nodes = prepare(folder, [Member("odd_or_even:odd")] * 3)
        try:
            nodes.start_all()
            nodes.client(2).ask(ROWS, seconds="60s")
            yield nodes
        finally:
            nodes.stop()


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


def test_a_back_up_of_a_running_node_is_a_whole_node(moot: Nodes, tmp_path: Path) -> None:
    folder = moot.folder_of(2)
    (running,) = [each for each in node_folder(folder) if each.what == "peers"]
    assert (running.state, running.note.startswith("2 of 2 reached")) == ("ok", True)
    archive = saved(folder, tmp_path)
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [archive.name]  # nothing unfinished is left
    before = run_json("motions", "show", "last", "--node", folder)

    moot.kill(2)  # the original is gone
    folder.rename(folder.with_name("gone"))
    result = backup("restore", archive, folder, "--original-is-gone")
    assert result.returncode == 0, result.stderr
    assert "has forgotten what it signed since" in result.stdout
    assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert load(folder) == load(folder.with_name("gone"))
    assert [each for each in node_folder(folder) if each.state == "broken"] == []
    kept = run_json("motions", "show", "last", "--node", folder)
    assert (kept["motion"], kept["decisions"]) == (before["motion"], before["decisions"])

    moot.start(2)
    moot.wait([0, 1, 2])
    found = moot.client(2).ask(ROWS, seconds="60s")
    assert found.decisions == ["even", "odd"] * 6
    assert found.details["took_part"] == [each.name for each in moot.roster]
    assert not found.details["evidence"]


def test_restored_nodes_must_wait_as_long_as_a_motion_may_last() -> None:
    text = SCRIPT.read_text()
    with pytest.raises(ValueError, match="seconds must be within") as refusal:
        Terms(labels=("a", "b"), seconds=1e9).check(3)
    longest = int(re.findall(r"within 1\.\.([\d,]+)", str(refusal.value))[0].replace(",", ""))
    (hours,) = re.findall(r"LONGEST_MOTION = datetime.timedelta\(hours=(\d+)\)", text)
    assert timedelta(hours=int(hours)).total_seconds() == longest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The smallest folder that the script takes for a node."""
    path = tmp_path / "north"
    path.mkdir()
    for name in ("key.pem", "certificate.pem", "node.toml"):
        (path / name).write_text(name)
    create_storage(path, "0" * 64, 0.0)
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

"""``folkmoot doctor``: what is broken is found, what is optional does not fail, and nothing is changed."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import resource
import shutil
import socket
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from folkmoot.doctor import machine
from folkmoot.doctor.examining import Finding, examine
from folkmoot.doctor.node_folder import node_folder
from folkmoot.machine import EXTRAS, to_install
from folkmoot.node.membership import identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.storage.storage import DATABASE, create_storage
from folkmoot.texts.embedding import local_embedding
from support.command import assert_refused, run
from support.ports import held_port

ROOT = Path(__file__).parents[2]
MODEL = "folkmoot.files.terminal:printable"  # any function
CONTRIBUTORS = {"dev", "docs", "language-model"}  # extras of the checkout, which no command asks a user for


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A node that could start: settings, roster, model, database."""
    path = tmp_path / "north"
    with held_port() as number:
        me = identity.create(path, name="north", listen=f"127.0.0.1:{number}")
    Roster((me.member(),)).write(tmp_path / "roster.toml")
    text = (path / "node.toml").read_text()
    (path / "node.toml").write_text(f'{text}\nroster = "../roster.toml"\nmodel = "{MODEL}"\n')
    create_storage(path, me.fingerprint, 0.0)
    (path / "token").touch(mode=0o600)
    return path


def broken(found: list[Finding] | tuple[Finding, ...]) -> list[Finding]:
    return [each for each in found if each.state == "broken"]


def everything_in(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = [folder, *(path for path in folder.rglob("*") if path.name != "lock")]
    return {str(path): (path.stat().st_mode, path.read_bytes() if path.is_file() else b"") for path in files}


def test_a_sound_folder_is_found_sound_and_left_as_it_was(folder: Path) -> None:
    before = everything_in(folder)
    result = run("doctor", "--node", folder, "--json")
    assert result.returncode == 0, result.stdout
    told = json.loads(result.stdout)
    assert told["fine"]
    assert told["broken"] == 0
    looked_at = [each["what"] for each in told["node"]]
    assert looked_at == ["permissions", "disk", "identity", "port", "model", "database", "roster"]
    assert {each["state"] for each in told["node"]} == {"ok"}
    assert everything_in(folder) == before


def _chmod(name: str, mode: int) -> Callable[[Path], object]:
    return lambda folder: (folder / name).chmod(mode)


def _write(name: str, data: bytes) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        mode = (folder / name).stat().st_mode
        (folder / name).write_bytes(data)
        (folder / name).chmod(mode)

    return change


def _damage(folder: Path) -> None:
    data = bytearray((folder / DATABASE).read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    (folder / DATABASE).write_bytes(data)


def _other_certificate(folder: Path) -> None:
    identity.create(folder.parent / "other", name="north")
    shutil.copy(folder.parent / "other" / "certificate.pem", folder / "certificate.pem")


def _other_roster(folder: Path) -> None:
    other = identity.create(folder.parent / "other", name="other")
    (folder.parent / "roster.toml").unlink()
    Roster((other.member(),)).write(folder.parent / "roster.toml")


def _other_model(folder: Path) -> None:
    file = folder / "node.toml"
    file.write_text(file.read_text().replace(MODEL, "gone:gone"))


WRONG: list[tuple[str, Callable[[Path], object], str, str]] = [
    ("key for all", _chmod("key.pem", 0o644), "permissions", "chmod 600"),
    ("token for the group", _chmod("token", 0o640), "permissions", "chmod 600"),
    ("database for all", _chmod(DATABASE, 0o604), "permissions", "chmod 600"),
    ("settings that others write", _chmod("node.toml", 0o666), "permissions", "chmod 600"),
    ("folder that others write", _chmod(".", 0o777), "permissions", "chmod 700"),
    ("no key", lambda folder: (folder / "key.pem").unlink(), "identity", "folkmoot node init"),
    ("no certificate", lambda folder: (folder / "certificate.pem").unlink(), "identity", "restore it"),
    ("another's certificate", _other_certificate, "identity", "do not belong together"),
    ("damaged key", _write("key.pem", b"-----BEGIN"), "identity", "damaged"),
    ("no TOML", _write("node.toml", b"name = \n"), "identity", "node.toml"),
    ("damaged database", _damage, "database", "put a copy"),
    ("no database", _write(DATABASE, b"no database" * 100), "database", "put a copy"),
    ("lost database", lambda folder: (folder / DATABASE).unlink(), "database", "--forget"),
    ("no roster", lambda folder: (folder.parent / "roster.toml").unlink(), "roster", "roster.toml"),
    ("not in the roster", _other_roster, "roster", "folkmoot roster add"),
    ("no model", _other_model, "model", "there is no gone"),
]


@pytest.mark.parametrize(("change", "what", "line"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_what_is_broken_is_found(
    folder: Path, change: Callable[[Path], object], what: str, line: str
) -> None:
    change(folder)
    found = broken(list(node_folder(folder)))
    assert what in [each.what for each in found]
    assert any(line in f"{each.note} {each.fix}" for each in found if each.what == what), found


def test_settings_that_are_no_policy_are_found(folder: Path) -> None:
    with (folder / "node.toml").open("a") as file:
        file.write("[policy]\nmost_rounds = -1\n")
    (found,) = broken(list(node_folder(folder)))
    assert found.what == "settings"
    assert "most_rounds" in found.note


def test_the_embedding_that_chooses_texts_is_named(folder: Path) -> None:
    assert "choice" not in [each.what for each in node_folder(folder)]
    settings = folder / "node.toml"
    settings.write_text(f'choose = "embedding"\n{settings.read_text()}')
    (found,) = [each for each in node_folder(folder) if each.what == "choice"]
    assert (found.state, found.note.endswith(local_embedding().words)) == ("ok", True)


def test_broken_folders_and_ports_exit_with_1_and_say_what_to_type(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        (folder / "key.pem").chmod(0o644)
        result = run("doctor", "--node", folder, "--listen", address)
    assert result.returncode == 1
    assert result.stderr == ""
    assert f"{address}: Address already in use" in " ".join(result.stdout.split())
    assert f"chmod 600 {folder}/key.pem" in result.stdout  # on a line of its own, to be copied
    assert "things are broken" in result.stdout


def test_a_port_of_the_folder_that_is_taken_is_found(folder: Path) -> None:
    listen = identity.load(folder).listen
    with socket.create_server(("127.0.0.1", int(listen.rpartition(":")[2]))):
        (found,) = broken(list(node_folder(folder)))
    assert (found.what, listen in found.note) == ("port", True)


def test_another_s_folder_is_not_touched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / DATABASE).unlink()
    before = everything_in(folder)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    (found,) = node_folder(folder)
    assert found.state == "broken"
    assert found.fix.startswith(f"sudo -u {folder.owner()} folkmoot doctor --node ")
    assert everything_in(folder) == before


def test_too_little_room_and_too_few_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    total = shutil.disk_usage(folder)._replace(free=100 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: total)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 1024))
    assert [each.what for each in broken(list(node_folder(folder)))] == ["disk", "roster"]
    assert [each.what for each in broken(examine().machine)] == ["open files"]


def test_missing_extras_do_not_fail_and_have_a_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    absent = {module for extra in EXTRAS.values() for module in extra.modules}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in absent else real(name))
    result = run("doctor")
    assert result.returncode == 0
    assert result.stderr == ""
    for name in EXTRAS:
        assert f"extra {name}: {to_install(name)}" in result.stdout.splitlines()
    assert f"nothing is broken; {len(EXTRAS)} optional things are not installed" in result.stdout


def test_packages_that_are_old_missing_or_damaged_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    told = ["numpy>=1", "nosuchthing>=2", "rich>=999", "pytest-nothing; extra == 'dev'", "thisisbroken>=1"]
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: told)
    monkeypatch.setattr(importlib.metadata, "version", lambda n: "1" if n == "thisisbroken" else real(n))
    found = {each.what: each for each in machine.machine() if each.what.startswith("package")}
    assert broken([*found.values()]) == [
        found["package nosuchthing"],
        found["package rich"],
        found["package thisisbroken"],
    ]
    assert found["package rich"].fix == 'pip install "rich>=999"'
    assert found["packages"].note == f"numpy {real('numpy')}"


def test_a_gpu_is_told_where_there_is_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    from folkmoot.simulation.kernels.gpu import cuda

    monkeypatch.setattr(cuda, "why_not", lambda: "CUDA finds no GPU: nvidia-smi should list one")
    assert machine._gpu() == Finding(
        "GPU", "note", "deliberations run on the processor: CUDA finds no GPU: nvidia-smi should list one"
    )
    monkeypatch.setattr(cuda, "why_not", lambda: None)
    monkeypatch.setattr(cuda, "cuda", lambda: type("Some", (), {"name": "NVIDIA H200"})())
    assert machine._gpu() == Finding("GPU", "ok", "NVIDIA H200: device='cuda' plays on it")


def test_clocks_that_jump_or_were_never_set_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    walls = iter([1000.0, 1003.0])
    monkeypatch.setattr(time, "time", lambda: next(walls))
    (found,) = broken([machine._clock()])
    assert re.search(r"it jumped by \+2\.[89]\d s within 50 ms", found.note)


def test_a_cache_that_cannot_be_kept_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from folkmoot.simulation.kernels import rounds

    kept = SimpleNamespace(stats=SimpleNamespace(cache_path=None))
    monkeypatch.setattr(rounds, "reaches", kept)
    (found,) = broken([machine._compiler_cache()])
    assert found.what == "compiler cache"
    assert "NUMBA_CACHE_DIR" in found.fix


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
@pytest.mark.parametrize(("mode", "state"), [(0o755, "ok"), (0o775, "note"), (0o757, "note")])
def test_a_cache_that_others_can_write_into_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: int, state: str
) -> None:
    from folkmoot.simulation.kernels import rounds

    tmp_path.chmod(mode)
    kept = SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path)))
    monkeypatch.setattr(rounds, "reaches", kept)
    found = machine._compiler_cache()
    assert found.state == state
    assert ("chmod go-w" in found.fix) == (state == "note")


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert_refused("nowhere is not there", "doctor", "--node", tmp_path / "nowhere")
    assert_refused("file is a file", "doctor", "--node", tmp_path / "file")
    assert_refused("--listen: address must be HOST:PORT", "doctor", "--listen", "7654")
    assert_refused("No such option: --fix", "doctor", "--fix")


def _requirements() -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return dict(project["optional-dependencies"])


def test_the_table_of_extras_is_that_of_the_package() -> None:
    told = {name: packages for name, packages in _requirements().items() if name not in CONTRIBUTORS}
    assert set(told) == set(EXTRAS)
    brought = {
        "xgboost_cpu": {"xgboost"},
        "cupy_cuda13x": {"cupy"},
        "cupy_cuda12x": {"cupy"},
    }
    for name, extra in EXTRAS.items():
        packages = {re.split(r"[\[<>=!~ ;]", each)[0].replace("-", "_") for each in told[name]} - {"folkmoot"}
        assert {module for each in packages for module in brought.get(each, {each})} == set(extra.modules)

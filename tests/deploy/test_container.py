"""The container, built with buildah from a base made with mmdebstrap: a node runs in it as its own user."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fresh import ROOT, build

FILE = ROOT / "deploy" / "Containerfile"
MISSING = [name for name in ("buildah", "mmdebstrap") if shutil.which(name) is None]
BASE = "localhost/folkmoot-test-base"


def _lacking() -> str:
    """What this machine lacks to build a container, if anything."""
    if MISSING:
        return f"there is no {' and no '.join(MISSING)} on this machine: apt-get install {' '.join(MISSING)}"
    return "" if os.geteuid() == 0 else "buildah and mmdebstrap need root here, and this is another user"


LACKING = _lacking()


class Buildah:
    """buildah with a storage of its own, which is gone afterwards; in a chroot, without namespaces."""

    def __init__(self, folder: Path) -> None:
        """Keep images and containers in this folder."""
        self._where = ["--root", str(folder / "images"), "--runroot", str(folder / "run")]
        self._environ = os.environ | {"STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}

    def __call__(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run a command of it."""
        return subprocess.run(
            [str(shutil.which("buildah")), *self._where, *map(str, arguments)],
            env=self._environ, capture_output=True, text=True, timeout=1800, check=False,
        )  # fmt: skip

    def must(self, *arguments: object) -> str:
        """The last line of a command that must succeed."""
        told = self(*arguments)
        assert told.returncode == 0, told.stdout[-2000:] + told.stderr[-2000:]
        return (told.stdout.strip().splitlines() or [""])[-1]

    def remove(self) -> None:
        """Everything that was made."""
        self("rm", "--all")
        self("rmi", "--all", "--force")


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Buildah, str]]:
    folder = tmp_path_factory.mktemp("container")
    buildah, context, tar = Buildah(folder), folder / "context", folder / "base.tar"
    (context / "dist").mkdir(parents=True)
    shutil.copy(ROOT / "constraints.txt", context)
    wheel = build("wheel", context / "dist")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    which = ["--python-version", "3.11", "--only-binary=:all:"]  # that of Debian 12
    files = ["--constraint", str(ROOT / "constraints.txt"), "--dest", str(context / "dist")]
    subprocess.run([*pip, *which, *files, f"{wheel}[page,uvloop]"], check=True, timeout=1800)
    debian = ["mmdebstrap", "--quiet", "--variant=minbase", "--include=python3,python3-venv", "bookworm"]
    subprocess.run([*debian, str(tar)], check=True, timeout=1800)
    try:
        first = buildah.must("from", "scratch")
        buildah.must("add", first, tar, "/")
        buildah.must("commit", first, BASE)
        options = ["--build-arg", f"BASE={BASE}", "--build-arg", "PIP_OPTIONS=--no-index", "--pull-never"]
        buildah.must("build", *options, "--file", FILE, "--tag", "folkmoot-test", context)
        yield buildah, buildah.must("from", "--pull-never", "localhost/folkmoot-test")
    finally:
        buildah.remove()


class TestContainer:
    """One container for all of it."""

    pytestmark = (pytest.mark.slow, pytest.mark.skipif(bool(LACKING), reason=LACKING))

    def test_a_node_is_made_checked_and_run_in_it(self, container: tuple[Buildah, str]) -> None:
        buildah, name = container
        assert buildah.must("run", name, "--", "id", "-u") == "10654"
        where = ["--listen", "127.0.0.1:0", "--address", "127.0.0.1:1"]  # the network is that of this machine
        buildah.must("run", name, "--", "folkmoot", "node", "init", "node", "--name", "north", *where)
        buildah.must("run", name, "--", "folkmoot", "roster", "add", "roster.toml", "node")
        told = buildah("run", name, "--", "folkmoot", "doctor", "node", "--json")
        assert told.returncode == 0, told.stdout + told.stderr
        assert json.loads(told.stdout)["fine"]
        model = (
            "printf 'def odd(X):\\n    return [\"odd\"] * len(X)\\n' > odd.py; "
            'printf \'roster = "../roster.toml"\\nmodel = "odd:odd"\\n\' >> node/node.toml; '
            # As the container is run by default, until it is stopped as podman stops it.
            "timeout --signal=TERM 90 folkmoot node run /var/lib/folkmoot/node"
        )
        ran = buildah("run", name, "--", "sh", "-c", model)
        events = [json.loads(line) for line in ran.stderr.splitlines() if line.startswith("{")]
        assert [each["event"] for each in events] == ["listening", "stopped"], ran.stderr
        assert (events[0]["node"], events[0]["loop"]) == ("north", "uvloop")

    def test_it_starts_a_node_by_itself(self, container: tuple[Buildah, str]) -> None:
        buildah, name = container
        told = json.loads(buildah(
            "inspect", "--format", "{{json .OCIv1.Config}}", name
        ).stdout)  # fmt: skip
        assert (told["Entrypoint"], told["Cmd"]) == (["folkmoot"], ["node", "run", "/var/lib/folkmoot/node"])
        assert (told["User"], told["StopSignal"]) == ("10654", "SIGTERM")
        assert list(told["Volumes"]) == ["/var/lib/folkmoot"]


def test_the_container_runs_what_the_unit_runs() -> None:
    """A node at the same place, by a command that there is, with the same settings; no host is named."""
    unit = (FILE.parent / "folkmoot-node@.service").read_text()
    text = FILE.read_text()
    for setting in ("OMP_NUM_THREADS=1", "NUMBA_CACHE_DIR=/var/cache/folkmoot"):
        assert setting in unit
        assert setting in text
    assert 'CMD ["node", "run", "/var/lib/folkmoot/node"]' in text
    assert "ExecStart=/opt/folkmoot/bin/folkmoot node run /var/lib/folkmoot/" in unit
    assert not re.search(r"\b[\w-]+\.(io|com|org)/", text)

"""The container, built with buildah from a base made with mmdebstrap: a node runs in it as its own user."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from support.closure import closure
from support.fresh import ROOT, build

FILE, REQUIREMENTS = ROOT / "deploy" / "Containerfile", ROOT / "deploy" / "requirements.txt"
_made = importlib.util.spec_from_file_location(
    "deploy_requirements", ROOT / "tools" / "deploy_requirements.py"
)
assert _made is not None
assert _made.loader is not None
deploy_requirements = importlib.util.module_from_spec(_made)
_made.loader.exec_module(deploy_requirements)
check = deploy_requirements.check
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
    (context / "deploy").mkdir()
    shutil.copy(REQUIREMENTS, context / "deploy")
    build("wheel", context / "dist")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    which = ["--python-version", "3.11", "--only-binary=:all:", "--no-deps"]  # that of Debian 12
    files = ["--require-hashes", "--requirement", str(REQUIREMENTS), "--dest", str(context / "dist")]
    subprocess.run([*pip, *which, *files], check=True, timeout=1800)
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

    pytestmark: ClassVar = [pytest.mark.slow, pytest.mark.skipif(bool(LACKING), reason=LACKING)]

    def test_a_node_is_made_checked_and_run_in_it(self, container: tuple[Buildah, str]) -> None:
        buildah, name = container
        assert buildah.must("run", name, "--", "id", "-u") == "10654"
        made = (
            "printf 'a,b\\n1,2\\n' > columns.csv; "
            "folkmoot node init north --model statistics:mean --columns columns.csv "
            # The network is that of this machine.
            "--listen 127.0.0.1:0 --address 127.0.0.1:1 && folkmoot roster make north/north.line"
        )
        buildah.must("run", name, "--", "sh", "-c", made)
        told = buildah("run", name, "--", "folkmoot", "doctor", "--node", "north", "--json")
        assert told.returncode == 0, told.stdout + told.stderr
        assert json.loads(told.stdout)["fine"]
        # As the container is run by default, until it is stopped as podman stops it.
        model = "timeout --signal=TERM 90 folkmoot node run --node /var/lib/folkmoot/north"
        ran = buildah("run", name, "--", "sh", "-c", model)
        events = [json.loads(line) for line in ran.stderr.splitlines() if line.startswith("{")]
        assert [each["event"] for each in events] == ["listening", "stopped"], ran.stderr
        assert (events[0]["node"], events[0]["loop"]) == ("north", "uvloop")

    def test_it_starts_a_node_by_itself(self, container: tuple[Buildah, str]) -> None:
        buildah, name = container
        told = json.loads(buildah("inspect", name).stdout)["OCIv1"]["config"]
        assert (told["Entrypoint"], told["Cmd"]) == (
            ["folkmoot"],
            ["node", "run", "--node", "/var/lib/folkmoot/node"],
        )
        assert (told["User"], told["StopSignal"]) == ("10654", "SIGTERM")
        assert list(told["Volumes"]) == ["/var/lib/folkmoot"]


def test_the_container_runs_what_the_unit_runs() -> None:
    """A node at the same place, by a command that there is, with the same settings; no host is named."""
    unit = (FILE.parent / "folkmoot-node@.service").read_text()
    text = FILE.read_text()
    for setting in ("OMP_NUM_THREADS=1", "NUMBA_CACHE_DIR=/var/cache/folkmoot"):
        assert setting in unit
        assert setting in text
    assert 'CMD ["node", "run", "--node", "/var/lib/folkmoot/node"]' in text
    assert "ExecStart=/opt/folkmoot/bin/folkmoot node run --node /var/lib/folkmoot/" in unit
    assert not re.search(r"\b[\w-]+\.(io|com|org)/", text)


def wheel(folder: Path, name: str, version: str, *more: str) -> Path:
    """A wheel of one module that says which it is, and asks for nothing."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    about = f"{name}-{version}.dist-info"
    kept = {
        f"{name}.py": f"version = {version!r}\n",
        f"{about}/METADATA": "\n".join(
            ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *more, ""]
        ),
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for place, content in kept.items():
            archive.writestr(place, content)
        archive.writestr(f"{about}/RECORD", "".join(f"{each},,\n" for each in (*kept, f"{about}/RECORD")))
    return path


def installing(build_folder: Path, target: Path) -> str:
    """The command by which the container installs, for another place, and with the pip that there is."""
    command: str
    (command,) = re.findall(r"^RUN (python3 -m venv (?:.*\\\n)*.*)$", FILE.read_text(), re.MULTILINE)
    command = command.replace("python3 -m venv", f"{sys.executable} -m venv --without-pip", 1)
    command = command.replace(
        "/opt/folkmoot/bin/pip", f"{sys.executable} -m pip --python {target}/bin/python"
    )
    return command.replace("/opt/folkmoot", str(target)).replace("/build/", f"{build_folder}/")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """What the container is built from, and an index where a stranger has a newer folkmoot."""
    ours, others = tmp_path / "build" / "dist", tmp_path / "index"
    ours.mkdir(parents=True)
    others.mkdir()
    extras = ("Provides-Extra: page", "Provides-Extra: uvloop", "Requires-Dist: needed")
    wheel(ours, "folkmoot", "0.3.0.dev0", *extras)
    wheel(others, "folkmoot", "99.0", *extras)
    needed = wheel(others, "needed", "1.0")
    told = hashlib.sha256(needed.read_bytes()).hexdigest()
    (tmp_path / "build" / "requirements.txt").write_text(f"needed==1.0 --hash=sha256:{told}\n")
    (tmp_path / "build" / "constraints.txt").write_text("needed==1.0\n")
    return others


def installed(index: Path) -> subprocess.CompletedProcess[str]:
    """Run the container's command; the index takes the place of the one that pip asks by itself."""
    folder = index.parent
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environ |= {"PIP_OPTIONS": f"--no-index --find-links {index}", "PIP_CONFIG_FILE": os.devnull}
    command = installing(folder / "build", folder / "venv")
    return subprocess.run(
        ["/bin/sh", "-c", command], env=environ, capture_output=True, text=True, timeout=900, check=False
    )


def test_the_container_installs_the_wheel_and_no_strangers_folkmoot(index: Path) -> None:
    """A newer folkmoot of an index is not looked at; other packages come from there."""
    told = installed(index)
    assert told.returncode == 0, told.stdout + told.stderr
    python = index.parent / "venv" / "bin" / "python"
    code = "import folkmoot, needed; print(folkmoot.version, needed.version)"
    ran = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.split() == ["0.3.0.dev0", "1.0"]


def test_the_container_installs_no_package_that_was_replaced(index: Path) -> None:
    wheel(index, "needed", "1.0", "Summary: somebody else's")
    told = installed(index)
    assert told.returncode != 0
    assert "DO NOT MATCH THE HASHES" in told.stdout + told.stderr


def test_the_container_is_not_built_without_what_it_needs(index: Path) -> None:
    (index.parent / "build" / "requirements.txt").write_text("")
    told = installed(index)
    assert told.returncode != 0
    assert "needed" in told.stdout


def test_what_a_node_needs_is_pinned_with_hashes() -> None:
    """deploy/requirements.txt has the versions of constraints.txt, and all that folkmoot asks for."""
    text = REQUIREMENTS.read_text()
    assert check(text) == []
    assert "://" not in text
    some = text.splitlines()
    at = next(i for i, line in enumerate(some) if line.startswith("numpy=="))
    for line in ("numpy==1.0 \\", "numpy==1.0", "# numpy"):
        assert any("numpy" in each for each in check("\n".join([*some[:at], line, *some[at + 1 :]])))


def test_the_closure_of_a_node_is_pinned_with_hashes() -> None:
    """Walked from folkmoot through the installed packages: none is missing, none is needless."""
    named = {
        line.split("==")[0] for line in REQUIREMENTS.read_text().splitlines() if re.match(r"[a-z]", line)
    }
    found, absent = closure(("page", "uvloop"))
    if absent:
        pytest.skip(f'there is no {", ".join(sorted(absent))} here: pip install "folkmoot[page,uvloop]"')
    assert named == set(found)

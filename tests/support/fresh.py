"""Fresh environments without a checkout: the wheel as users get it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
INSTALLING = 1800.0  # seconds for pip; torch alone is hundreds of megabytes


def build(kind: str, into: Path, source: Path = ROOT) -> Path:
    """Build a "wheel" or an "sdist" of a checkout as ``pip`` has hatchling do it, into a folder."""
    call = f"import sys; from hatchling.build import build_{kind}; print(build_{kind}(sys.argv[1]))"
    told = subprocess.run(
        [sys.executable, "-c", call, into],
        cwd=source,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return into / told.stdout.split()[-1]


class Fresh:
    """A new environment with the wheel in it, and an empty folder to work in; nothing of the checkout."""

    def __init__(self, folder: Path, wheel: Path, extras: Sequence[str] = ()) -> None:
        """Install the wheel with these extras, in the versions of ``constraints.txt``."""
        self._environment, self.work = folder / "environment", folder / "work"
        self.work.mkdir(parents=True)
        # Our own pip installs into it, and what is never imported is not compiled: a third of the time.
        made = [sys.executable, "-m", "venv", "--without-pip", str(self._environment)]
        subprocess.run(made, check=True, timeout=300)
        wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
        self.pip("install", "--quiet", "--no-compile", "--constraint", ROOT / "constraints.txt", wanted)

    def pip(self, *arguments: object) -> str:
        """Return what pip prints."""
        into = ["--python", self._environment / "bin" / "python"]
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *into, *arguments]
        told = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, timeout=INSTALLING, check=False
        )
        assert told.returncode == 0, told.stderr
        return told.stdout

    def packages(self) -> set[str]:
        """The names of what is installed, but for what every environment has."""
        listed = json.loads(self.pip("list", "--format=json"))
        return {each["name"].lower() for each in listed} - {"pip", "setuptools"}

    @property
    def environ(self) -> dict[str, str]:
        """Variables without those that lead back to the checkout or to its compiled code."""
        gone = re.compile("PYTHON.*|NUMBA_.*|VIRTUAL_ENV|COVERAGE.*|XDG_.*")
        kept = {name: value for name, value in os.environ.items() if not gone.fullmatch(name)}
        return kept | {"HOME": str(self.work)}

    def command(self, *arguments: object) -> list[str]:
        """The command line of ``folkmoot`` in this environment."""
        return [str(self._environment / "bin" / "folkmoot"), *map(str, arguments)]

    def folkmoot(self, *arguments: object, seconds: float = 1200.0) -> subprocess.CompletedProcess[str]:
        """``folkmoot`` in the empty folder."""
        return subprocess.run(
            self.command(*arguments),
            cwd=self.work, env=self.environ, capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip

    def python(self, code: str, seconds: float = 600.0) -> subprocess.CompletedProcess[str]:
        """A piece of Python there."""
        return subprocess.run(
            [str(self._environment / "bin" / "python"), "-c", code],
            cwd=self.work, env=self.environ, capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip

    def installed(self) -> dict[Path, bytes]:
        """Every file of the package, but for bytecode and kernels, which pip and numba make of it."""
        (package,) = self._environment.glob("lib/python*/site-packages/folkmoot")
        return {
            path.relative_to(package): path.read_bytes()
            for path in package.rglob("*")
            if path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc")
        }

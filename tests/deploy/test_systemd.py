"""The systemd unit: systemd finds nothing wrong with it, and little that it could do besides its work."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).parents[2] / "deploy" / "folkmoot-node@.service"
MOST_EXPOSED = 2.0  # of 10, as systemd-analyze counts

analyze = shutil.which("systemd-analyze")
pytestmark = pytest.mark.skipif(
    analyze is None, reason="there is no systemd-analyze on this machine: apt-get install systemd"
)


def _analyze(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(analyze), *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The root of a machine with systemd's own units and with folkmoot where the unit expects it."""
    program = tmp_path / re.findall(r"^ExecStart=/(\S+)", UNIT.read_text(), flags=re.M)[0]
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "etc" / "systemd" / "system").mkdir(parents=True)
    (tmp_path / "usr" / "lib" / "systemd").mkdir(parents=True)
    system = next(p for p in map(Path, ("/usr/lib/systemd/system", "/lib/systemd/system")) if p.is_dir())
    shutil.copytree(system, tmp_path / "usr" / "lib" / "systemd" / "system", symlinks=True)
    return tmp_path


def verified(machine: Path, text: str) -> str:
    (machine / "etc" / "systemd" / "system" / UNIT.name).write_text(text)
    result = _analyze(f"--root={machine}", "verify", "folkmoot-node@north.service")
    return result.stdout + result.stderr


def test_systemd_finds_nothing_wrong_with_the_unit(machine: Path) -> None:
    text = UNIT.read_text()
    assert verified(machine, text) == ""
    assert "Protect" in verified(machine, text.replace("ProtectClock=yes", "ProtectClok=yes"))
    assert "not executable" in verified(machine, text.replace("/opt/folkmoot/bin", "/opt/nowhere"))


def exposure(path: Path, *, most: float) -> tuple[float, int]:
    result = _analyze("security", "--offline=true", "--no-pager", f"--threshold={round(10 * most)}", path)
    (level,) = re.findall(r"Overall exposure level for \S+: ([\d.]+)", result.stdout)
    return float(level), result.returncode


def test_the_unit_is_closed(tmp_path: Path) -> None:
    level, code = exposure(UNIT, most=MOST_EXPOSED)
    assert code == 0
    assert level <= MOST_EXPOSED
    bare = tmp_path / "bare@.service"
    bare.write_text("[Service]\nExecStart=/bin/true\n")
    level, code = exposure(bare, most=MOST_EXPOSED)
    assert code != 0
    assert level > 9


def test_the_unit_runs_what_there_is() -> None:
    """Its command line is one that folkmoot takes; exit code 2, for bad input, does not start it again."""
    from folkmoot.cli.main import BAD_INPUT
    from support.command import run

    (line,) = re.findall(r"^ExecStart=(.*)$", UNIT.read_text(), flags=re.M)
    command = line.replace("%i", "nobody-has-this").replace("$FOLKMOOT_OPTIONS", "").split()
    result = run(*command[1:])
    assert result.returncode == BAD_INPUT
    assert "nobody-has-this must hold a node" in result.stderr
    assert f"RestartPreventExitStatus={BAD_INPUT}\n" in UNIT.read_text()

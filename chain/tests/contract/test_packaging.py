"""The wheel holds all of the package and nothing else; the README's gas is what the contract takes."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from folkmoot_chain import __version__

HERE = Path(__file__).parents[2]
PACKAGE = HERE / "src" / "folkmoot_chain"


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(tmp_path: Path) -> None:
    call = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    built = subprocess.run(
        [sys.executable, "-c", call, tmp_path], cwd=HERE, capture_output=True, text=True, check=True
    )
    name = built.stdout.split()[-1]
    assert name == f"folkmoot_chain-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(tmp_path / name) as archive:
        held = {each: archive.read(each) for each in archive.namelist()}
    told = {each.partition("/")[2]: held.pop(each).decode() for each in list(held) if ".dist-info/" in each}
    assert held == {
        f"folkmoot_chain/{path.relative_to(PACKAGE)}": path.read_bytes()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {Path(each).suffix for each in held} == {".py", ".pyi", ".typed", ".json", ".vy"}
    assert "folkmoot-chain = folkmoot_chain.cli.main:main" in told["entry_points.txt"]
    assert "Apache License" in told["licenses/LICENSE"]
    needed = re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", told["METADATA"], flags=re.M)
    assert len(needed) == 7
    assert "folkmoot" not in needed


@pytest.mark.slow
def test_the_readme_has_the_gas_of_now() -> None:
    gas = runpy.run_path(str(HERE / "benchmarks" / "gas.py"))
    shown, made = gas["shown"](), gas["tables"]()
    number = r"\d[\d,]*"
    assert re.sub(number, "", shown) == re.sub(number, "", made)
    for said, now in zip(re.findall(number, shown), re.findall(number, made), strict=True):
        # Deadlines are bytes of a call, and a zero among them is cheaper.
        assert int(said.replace(",", "")) == pytest.approx(int(now.replace(",", "")), abs=100)

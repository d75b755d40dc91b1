"""Write deploy/requirements.txt: what a node needs, at the versions of constraints.txt, with hashes.

python tools/deploy_requirements.py            # after constraints.txt or the dependencies changed
python tools/deploy_requirements.py --check    # whether the file has them, without asking any index
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
FILE, CONSTRAINTS = ROOT / "deploy" / "requirements.txt", ROOT / "constraints.txt"
EXTRAS = ("page", "uvloop")
PYTHONS = ("3.11", "3.12", "3.13")
MACHINES = ("x86_64", "aarch64")
GLIBC = (17, 24, 26, 27, 28, 31, 34, 35)  # of manylinux wheels that Debian 12 takes
HEAD = (
    "# What a node needs besides folkmoot itself, for pip install --require-hashes --no-deps: versions of\n"
    f"# constraints.txt, wheels for Python {PYTHONS[0]} to {PYTHONS[-1]} on {' and '.join(MACHINES)}.\n"
    "# Made by tools/deploy_requirements.py.\n"
)


def pinned() -> dict[str, str]:
    """The versions in constraints.txt, by name."""
    lines = [line.partition("#")[0].strip() for line in CONSTRAINTS.read_text().splitlines()]
    pairs = [line.split("==") for line in lines if line]
    return {canonicalize_name(name): version for name, version in pairs}


def wanted() -> list[str]:
    """What folkmoot asks for, with the extras of a node."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *(each for name in EXTRAS for each in extras[name])]


def wheels(python: str, machine: str) -> list[dict[str, Any]]:
    """What pip would install; it says so with hashes, and installs nothing."""
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in GLIBC] + [f"manylinux2014_{machine}"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        subprocess.run(
            [
                *[sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"],
                *["--dry-run", "--ignore-installed", "--report", str(report), "--target", folder],
                *["--only-binary=:all:", "--python-version", python, "--constraint", str(CONSTRAINTS)],
                *(f"--platform={each}" for each in platforms),
                *wanted(),
            ],
            check=True,
        )
        found: list[dict[str, Any]] = json.loads(report.read_text())["install"]
    return found


def main() -> int:
    """Write the file, or say what is wrong with the one that is there."""
    if "--check" in sys.argv[1:]:
        problems = check(FILE.read_text())
        print("\n".join(problems) or f"{FILE.name} has the versions of {CONSTRAINTS.name}")
        return 1 if problems else 0
    hashes: dict[str, set[str]] = {}
    for python in PYTHONS:
        for machine in MACHINES:
            for each in wheels(python, machine):
                name = canonicalize_name(each["metadata"]["name"])
                line = f"{name}=={each['metadata']['version']}"
                hashes.setdefault(line, set()).add(each["download_info"]["archive_info"]["hashes"]["sha256"])
    lines = [
        " \\\n".join([line, *(f"    --hash=sha256:{each}" for each in sorted(hashes[line]))])
        for line in sorted(hashes)
    ]
    FILE.write_text(HEAD + "\n".join(lines) + "\n")
    print(f"wrote {FILE.relative_to(ROOT)}: {len(hashes)} packages")
    return 0


def check(text: str) -> list[str]:
    """What is wrong with a text of requirements, a line each."""
    known, problems, names = pinned(), [], set()
    for entry in text.replace("\\\n", " ").splitlines():
        if not entry.strip() or entry.startswith("#"):
            continue
        pin, *rest = entry.split()
        name, _, version = pin.partition("==")
        names.add(name)
        if known.get(name) != version:
            problems.append(f"{pin}: constraints.txt has {known.get(name, 'nothing')}")
        if not rest or not all(each.startswith("--hash=sha256:") and len(each) == 78 for each in rest):
            problems.append(f"{pin} must have hashes of SHA-256, and nothing else")
    direct = {canonicalize_name(Requirement(each).name) for each in wanted()}
    problems += [f"{name} is missing" for name in sorted(direct - names)]
    return [f"{each}; run python tools/deploy_requirements.py" for each in problems]


if __name__ == "__main__":
    sys.exit(main())

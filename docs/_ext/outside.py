"""Intersphinx inventories made of docs/outside-names.txt: names of other projects lead to their pages.

Nothing is fetched when the site is built, so the file lists the few names that docstrings mention.
"""

from __future__ import annotations

import zlib
from pathlib import Path

HERE = Path(__file__).parents[1]
FOLDER = HERE / "_build" / "inventories"
ADDRESSES = {
    "matplotlib": "https://matplotlib.org/stable/",
    "numpy": "https://numpy.org/doc/stable/",
    "pandas": "https://pandas.pydata.org/docs/",
    "python": "https://docs.python.org/3/",
    "scikit-learn": "https://scikit-learn.org/stable/",
}


def names() -> list[list[str]]:
    """Each line of the file: project, domain:role, name, page."""
    lines = (HERE / "outside-names.txt").read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


def mapping() -> dict[str, tuple[str, str]]:
    """``intersphinx_mapping``, with the inventories written."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    found = {}
    for project, address in ADDRESSES.items():
        lines = "".join(
            f"{name} {role} 1 {page} -\n" for of, role, name, page in names() if of == project and page != "-"
        )
        path = FOLDER / f"{project}.inv"
        head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
        head += "# The remainder is compressed using zlib.\n"
        path.write_bytes(head.encode() + zlib.compress(lines.encode()))
        found[project] = (address, str(path))
    return found


def aliases() -> dict[str, str]:
    """The names that docstrings use: ``Path``, and ``pathlib.Path``, linked only if it changes."""
    full = [name for _, _, name, page in names() if page != "-"]
    return {name.rpartition(".")[2]: name for name in full} | {name: f".{name}" for name in full}

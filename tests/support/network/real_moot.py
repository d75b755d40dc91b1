"""A moot of real processes for tests: models are functions, and what is stored is read beside the nodes."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot.network import Asker, Terms
from folkmoot.network.service.control import MotionProgress
from folkmoot.network.storage.account import Account, outcome_of
from folkmoot.network.storage.storage import DATABASE, Storage
from folkmoot.network.wire import messages as m
from folkmoot.runs.processes import Nodes, prepare

MODEL = """
def {name}(X):
    \"\"\"Odd or even; wrong on a tenth of all inputs, on others than its peers.\"\"\"
    import numpy
    rows = X[:, 0].astype(int)
    return numpy.where((rows + (rows % 10 == {place} % 10)) % 2, "odd", "even")
{name}.labels = ["even", "odd"]
{name}.columns = 1
"""


@contextmanager
def real_moot(
    folder: Path,
    n: int,
    patch: pytest.MonkeyPatch,
    pages: dict[int, str] | None = None,
    attacks: dict[int, str] | None = None,
    change: Callable[[Nodes], None] | None = None,
) -> Iterator[Nodes]:
    """n processes, all of them started once their settings are changed; none is left at the end."""
    names = [f"model{place:03d}" for place in range(n)]
    module = f"odd_or_even_{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    text = "".join(MODEL.format(name=name, place=place) for place, name in enumerate(names))
    (folder / f"{module}.py").write_text(text)
    patch.syspath_prepend(folder)
    nodes = prepare(folder, [f"{module}:{name}" for name in names], attacks or {})
    nodes.pages.update(pages or {})
    if change is not None:
        change(nodes)
    with started(nodes):
        yield nodes


@contextmanager
def started(nodes: Nodes) -> Iterator[None]:
    """All of them run and are connected; none is left at the end."""
    everybody = range(len(nodes.settings))
    try:
        for place in everybody:
            nodes.start(place)
        nodes.wait(everybody, 60.0)
        yield
    finally:
        nodes.stop()


def ask(
    nodes: Nodes,
    asker: int = 0,
    progress: Callable[[MotionProgress], None] | None = None,
    *,
    inputs: int = 40,
    **changes: Any,
) -> Account:
    """Put the numbers 0, 1, 2... to the moot: is each odd or even?"""
    array = np.arange(inputs, dtype="<i4")[:, None]
    terms = Terms(**{"seconds": 12.0, "rounds": 40} | changes)
    return Asker(nodes.settings[asker].folder).ask(array, terms, progress)


def until(holds: Callable[[], bool], what: str, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def rows_of_closed_motions(nodes: Nodes, place: int) -> set[tuple[Any, ...]]:
    """Every row that a node has stored of motions that are over for it; read beside the running node."""
    database = sqlite3.connect(nodes.settings[place].folder / DATABASE, timeout=20.0)
    try:
        closed = database.execute("SELECT name FROM motions WHERE closed IS NOT NULL").fetchall()
        found: set[tuple[Any, ...]] = set()
        for (name,) in closed:
            for table in ("motions", "voted", "commits", "closes", "evidence"):
                column = "name" if table == "motions" else "motion"
                rows = database.execute(f"SELECT * FROM {table} WHERE {column} = ?", (name,))  # noqa: S608
                found |= {(table, *row) for row in rows}
        return found
    finally:
        database.close()


def own_close(nodes: Nodes, place: int, motions: int) -> bool:
    """Whether a node has stored its own close in its latest motion, the so-many-th."""
    database = sqlite3.connect(nodes.settings[place].folder / DATABASE, timeout=20.0)
    try:
        (count,) = database.execute("SELECT count(*) FROM closes WHERE node = ?", (place,)).fetchone()
        return bool(count >= motions)
    finally:
        database.close()


def check_consistency(nodes: Nodes) -> dict[bytes, set[tuple[int, ...]]]:
    """No node has signed two things, and no two claim different decisions; the claims of each motion."""
    closes: dict[tuple[bytes, int], bytes] = {}
    commits: dict[tuple[bytes, int], bytes] = {}
    claims: dict[bytes, set[tuple[int, ...]]] = {}
    for place, settings in enumerate(nodes.settings):
        storage = Storage(settings.folder / DATABASE)
        for stored in storage.motions():
            assert not storage.evidence(stored.name)
            memory = storage.memory(stored.name)
            if memory.voted is not None:
                memory.commits[place] = memory.voted.commit
            for node, close in memory.closes.items():
                assert closes.setdefault((stored.name, node), m.encode(close)) == m.encode(close)
            for node, commit in memory.commits.items():
                assert commits.setdefault((stored.name, node), commit.commitment) == commit.commitment
            decisions = tuple(outcome_of(storage, stored).decisions.tolist())
            claims.setdefault(stored.name, set()).add(decisions)
        storage.close()
    for found in claims.values():
        for each in zip(*found, strict=True):
            assert len(set(each) - {-1}) <= 1, "two nodes claim different decisions"
    return claims

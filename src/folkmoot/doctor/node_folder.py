"""The folder of a node: whose it is, who can read it, whether its files hold, and whether it could start.

Nothing is written: a file that another user made here could keep the node from starting.
"""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Final

from folkmoot.doctor.finding import Finding
from folkmoot.doctor.machine import descriptors, is_mine, owner_of, port, room
from folkmoot.network.service.door import DOOR, TOKEN
from folkmoot.network.service.node_file import read_node_file
from folkmoot.network.service.operation import LEAST_FREE, LOCK, is_running
from folkmoot.network.storage.storage import DATABASE
from folkmoot.node.membership import identity
from folkmoot.node.membership.identity import CERTIFICATE, KEY, SETTINGS
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.models import is_function

# Whoever can read one of these can act as this node or learn its open first votes.
_SECRET: Final = (KEY, TOKEN, f"{TOKEN}.*", DOOR, "page.json", f"{DATABASE}*")
_OTHERS_READ: Final = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


def node_folder(folder: Path) -> Iterator[Finding]:
    """Look at the folder of a node.

    Parameters
    ----------
    folder : Path
        A folder that exists.

    Yields
    ------
    Finding
        One a thing; later ones need the earlier ones to be fine.
    """
    try:
        if not is_mine(folder):
            name = owner_of(folder)
            note = f"belongs to {name}: as another user it is not looked at any further"
            yield Finding("owner", "broken", note, f"sudo -u {name} folkmoot doctor {quote(str(folder))}")
            return
        yield from _permissions(folder)
        yield from _inside(folder)
    except OSError as error:
        note = f"{error.filename or folder}: {error.strerror or error}"
        yield Finding("folder", "broken", note, "look at its permissions and its disk")


def _permissions(folder: Path) -> Iterator[Finding]:
    fine = True
    for path, forbidden, say in _guarded(folder):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode & forbidden or not is_mine(path):
            fine = False
            right = "700" if path == folder else "600"
            if not is_mine(path):
                yield Finding(
                    "permissions",
                    "broken",
                    f"{path} belongs to {owner_of(path)}",
                    f"sudo chown {owner_of(folder)} {quote(str(path))}",
                )
            else:
                note = f"{path} can be {say} by others: its mode is {mode:o}"
                yield Finding("permissions", "broken", note, f"chmod {right} {quote(str(path))}")
    if fine:
        yield Finding("permissions", "ok", "key, tokens and database are for their owner only")


def _guarded(folder: Path) -> Iterator[tuple[Path, int, str]]:
    yield folder, _OTHERS_WRITE, "changed"
    secret = sorted({path for pattern in _SECRET for path in folder.glob(pattern) if path.is_file()})
    for path in secret:
        yield path, _OTHERS_READ, "read"
    for name in (CERTIFICATE, SETTINGS):
        if (folder / name).is_file():
            yield folder / name, _OTHERS_WRITE, "changed"


def _inside(folder: Path) -> Iterator[Finding]:
    yield room(folder, "disk", LEAST_FREE)
    if (folder / DATABASE).exists():
        yield _database(folder / DATABASE)
    try:
        me = identity.load(folder)
    except ValueError as error:
        yield Finding("identity", "broken", str(error))  # which says what to do
        return
    yield Finding("identity", "ok", f"{me.name}, fingerprint {me.fingerprint[:16]}…")
    running = (folder / LOCK).exists() and is_running(folder)
    if running:
        yield Finding("port", "ok", f"{me.listen}: this node is running")
        yield _peers_clocks(folder)
    else:
        yield port(me.listen)
    yield from _settings(folder, me)


def _settings(folder: Path, me: identity.Identity) -> Iterator[Finding]:
    try:
        told = read_node_file(folder)
    except ValueError as error:
        yield Finding("settings", "broken", str(error))
        return
    wants = []
    if told.roster is None:
        wants.append("--roster")
    else:
        yield _roster(told.roster, me)
    if told.model is None:
        wants.append("--model")
    elif not is_function(told.model) and not Path(told.model).is_file():
        yield Finding("model", "broken", f"there is no {told.model}", f"mend model in {folder / SETTINGS}")
    note = f"{SETTINGS} can be read"
    if wants:
        note += f"; folkmoot node run needs {' and '.join(wants)}"
    yield Finding("settings", "ok", note)


def _roster(path: Path, me: identity.Identity) -> Finding:
    import resource

    try:
        roster = Roster.read(path)
    except (ValueError, OSError) as error:
        return Finding("roster", "broken", str(error), f"get the roster of your moot again: {path}")
    if roster.position(me.fingerprint) is None:
        fix = f"folkmoot roster add {quote(str(path))} - (with the line of this node)"
        return Finding("roster", "broken", f"{path} does not have this node", fix)
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = descriptors(len(roster))
    if soft != resource.RLIM_INFINITY and soft < needed:
        note = f"{len(roster)} participants may take {needed:,} open files, and {soft:,} are allowed"
        return Finding("roster", "broken", note, f"ulimit -n {needed}")
    return Finding("roster", "ok", f"{len(roster)} participants, digest {roster.digest[:16]}…")


def _database(path: Path) -> Finding:
    """Open it for reading only; where nothing waits to be written into it, without its helper files."""
    waiting = path.with_name(f"{path.name}-wal").exists()
    how = "mode=ro" if waiting else "immutable=1"
    fix = "put a back-up in its place (docs/operations.md, Back-up)"
    try:
        opened = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=5.0)
        try:
            answers = [row[0] for row in opened.execute("PRAGMA quick_check(1)")]
            (motions,) = opened.execute("SELECT count(*) FROM motions").fetchone()
        finally:
            opened.close()
    except sqlite3.Error as error:
        return Finding("database", "broken", f"{path} cannot be read: {error}", fix)
    if answers != ["ok"]:
        return Finding("database", "broken", f"{path} is damaged: {answers[0]}", fix)
    return Finding("database", "ok", f"{motions:,} motions")


def _peers_clocks(folder: Path) -> Finding:
    """What the running node knows of its peers' clocks."""
    from folkmoot.network.service.asking import Asker
    from folkmoot.node.transports.mesh import SKEW_SECONDS

    try:
        peers = Asker(folder).status().peers
    except ValueError as error:
        return Finding("peers", "broken", str(error), "stop the node and start it again")
    skews = [abs(peer.skew) for peer in peers if peer.skew is not None]
    connected = sum(peer.connected for peer in peers)
    note = f"{connected} of {len(peers)} connected"
    if not skews:
        return Finding("peers", "note", f"{note}; their clocks are not known yet")
    note += f", their clocks within {max(skews):.1f} s of this one"
    if max(skews) > SKEW_SECONDS:
        return Finding(
            "peers", "broken", f"{note}; at most {SKEW_SECONDS:.0f} s are fine", "run NTP on both sides"
        )
    return Finding("peers", "ok", note)

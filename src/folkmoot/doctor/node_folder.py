"""The folder of a node: whose it is, who can read it, whether its files hold, and whether it could start.

A running node is asked over its socket. Otherwise its database is read, its model is loaded and its peers
are dialled, by the roster in force. As another user nothing is opened: a file that it made here could keep
the node from starting.
"""

from __future__ import annotations

import asyncio
import resource
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Final, NamedTuple

import numpy as np

from folkmoot.arrays import Array
from folkmoot.doctor.examining import Finding
from folkmoot.doctor.machine import descriptors, in_words, is_mine, owner_of, port, room
from folkmoot.node.client import Client
from folkmoot.node.membership import identity
from folkmoot.node.membership.identity import CERTIFICATE, KEY, SETTINGS, Identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.archive import open_archive
from folkmoot.node.service.models import Model
from folkmoot.node.service.node import LEAST_FREE
from folkmoot.node.service.node_file import read_node_file
from folkmoot.node.service.operation import LOCK, Operation, is_running, locked, own_of
from folkmoot.node.session.terms import Answers
from folkmoot.node.storage.storage import DATABASE
from folkmoot.node.transports.mesh import SKEW_SECONDS, Mesh
from folkmoot.node.wire.schema import Column
from folkmoot.texts.embedding import local_embedding

# Whoever can read one of these can act as this node or learn its open first votes.
_SECRET: Final = (KEY, "token", "token.*", f"{DATABASE}*")
_OTHERS_READ: Final = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


def node_folder(folder: Path) -> Iterator[Finding]:
    """Look at the folder of a node."""
    try:
        if not is_mine(folder):
            name = owner_of(folder)
            note = f"belongs to {name}: as another user it is not looked at any further"
            yield Finding(
                "owner", "broken", note, f"sudo -u {name} folkmoot doctor --node {quote(str(folder))}"
            )
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
    try:
        me = identity.load(folder)
    except ValueError as error:
        yield Finding("identity", "broken", str(error))  # which says what to do
        return
    yield Finding("identity", "ok", f"{me.name}, fingerprint {me.fingerprint[:16]}…")
    try:
        settings = read_node_file(folder)
    except ValueError as error:
        yield Finding("settings", "broken", str(error))
        return
    if (folder / LOCK).exists() and is_running(folder):
        yield Finding("port", "ok", f"{me.listen}: this node is running")
        yield from running_node(Client(folder))
        return
    yield port(me.listen)
    yield _model(folder)
    if settings.choose == "embedding":
        yield Finding("choice", "ok", f"the text nearest to all others by {local_embedding().words}")
    yield from _stored(folder, me)


def running_node(client: Client) -> Iterator[Finding]:
    """Look at what a node that runs says of itself."""
    try:
        now = client.status()
    except ValueError as error:
        yield Finding("answer", "broken", str(error), "look at its log, or start it again")
        return
    used, disk = now["disk"]
    if not now["has_room"]:
        note = f"{in_words(used)} of {in_words(disk)} are used: no room for new motions"
        yield Finding("disk", "broken", note, "make room, or type folkmoot node run --disk with more")
    trouble = now["model"]["trouble"]
    yield Finding(
        "model",
        "broken" if trouble else "ok",
        trouble or f"{now['model']['model']}, asked {now['model']['chunks']:,} times",
        f"mend it and type folkmoot node reload --node {quote(str(client.where))}" if trouble else "",
    )
    note = f"{now['participants']} members, epoch {now['epoch']}, digest {now['moot'][:16]}…"
    if now["present"]:
        yield Finding("roster", "ok", note)
    else:
        yield Finding("roster", "broken", f"{note}: this node is not among them", _JOIN)
    skews = [abs(peer["skew"]) for peer in now["peers"] if peer["skew"] is not None]
    away = [peer["name"] for peer in now["peers"] if not peer["connected"]]
    yield _peers(len(now["peers"]), now["quorum"], dict.fromkeys(away, "away"), skews)


def _model(folder: Path) -> Finding:
    try:
        own = own_of(Operation(folder))
    except (ValueError, OSError, ImportError) as error:
        return Finding("model", "broken", str(error), f"mend {folder / SETTINGS}, or what it names")
    model = own.model
    columns = "any number of" if model.columns is None else str(model.columns)
    named = "by name" if model.schema else "by position, as they have no names"
    labels = "it does not say" if model.labels is None else ", ".join(model.labels[:12])
    try:
        trial = tried(model)
    finally:
        if model.worker is not None:
            model.worker.close()
    if trial is not None and trial.trouble:
        note = f"asked {trial.asked}, it gave no answer within {trial.seconds:.2f} s: {trial.trouble}"
        return Finding("model", "broken", note, f"mend {folder / SETTINGS}, or what it names")
    weights = f"; weights of {len(own.weights)} members" if own.weights else ""
    said = "" if trial is None else f"; to {trial.asked} it said {trial.answer!r} in {trial.seconds:.2f} s"
    return Finding("model", "ok", f"takes {columns} columns {named}; labels: {labels}{weights}{said}")


def _stored(folder: Path, me: Identity) -> Iterator[Finding]:
    """The database, and the roster in force; nobody may start the node meanwhile."""
    with locked(folder):
        try:
            with open_archive(folder) as archive:
                damaged, motions = archive.storage.damaged, archive.count()
                roster = archive.history.tip
        except (ValueError, OSError) as error:
            what = "roster" if "roster" in str(error) and DATABASE not in str(error) else "database"
            yield Finding(what, "broken", str(error))
            return
    if damaged:
        names = ", ".join(name.hex()[:12] for name in damaged[:8])
        note = f"{len(damaged)} of {motions:,} motions are damaged: {names}"
        yield Finding("database", "broken", note, "put a back-up in its place (docs/operations.md)")
    else:
        yield Finding("database", "ok", f"{motions:,} motions")
    yield from _roster(folder, roster, me)


_JOIN: Final = "ask the members to propose it: folkmoot roster propose --add LINE"


def _roster(folder: Path, roster: Roster, me: Identity) -> Iterator[Finding]:
    """The roster in force, and who of it can be reached."""
    place = roster.position(me.fingerprint)
    if place is None:
        fix = _JOIN if roster.epoch else "send its line to who makes the roster: folkmoot roster add"
        yield Finding("roster", "broken", f"the roster in force (epoch {roster.epoch}) does not have it", fix)
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = descriptors(len(roster))
    if soft != resource.RLIM_INFINITY and soft < needed:
        note = f"{len(roster)} members may take {needed:,} open files, and {soft:,} are allowed"
        yield Finding("roster", "broken", note, f"ulimit -n {needed}")
        return
    yield Finding(
        "roster", "ok", f"{len(roster)} members, epoch {roster.epoch}, digest {roster.digest[:16]}…"
    )
    if len(roster) > 1:
        yield asyncio.run(_dialled(folder, roster, place))


async def _dialled(folder: Path, roster: Roster, place: int) -> Finding:
    """Dial everybody at once; what they say on the way tells about their clocks."""
    mesh = Mesh(roster, place, str(folder / CERTIFICATE), str(folder / KEY))
    others = [member for other, member in enumerate(roster) if other != place]
    try:
        found = await asyncio.gather(*(mesh.reach(each.peer) for each in others))
        wrong = {each.name: why for each, why in zip(others, found, strict=True) if why}
        skews = [abs(skew) for skew in mesh.skews().values()]
    finally:
        await mesh.close()
    return _peers(len(others), roster.members.quorum, wrong, skews)


def _peers(many: int, quorum: int, wrong: dict[str, str], skews: list[float]) -> Finding:
    reached = many - len(wrong)
    note = f"{reached} of {many} reached"
    if wrong:
        note += f" ({'; '.join(f'{name}: {why}' for name, why in list(wrong.items())[:8])})"
    if skews and max(skews) > SKEW_SECONDS:
        note += f", a clock differs by {max(skews):.0f} s: at most {SKEW_SECONDS:.0f} s are fine"
        return Finding("peers", "broken", note, "run NTP on both sides")
    note += f", their clocks within {max(skews):.1f} s of this one" if skews else ""
    if reached + 1 < quorum:  # the others may not run yet
        return Finding("peers", "note", f"{note}; no motion can be decided before {quorum - 1} are")
    return Finding("peers", "ok", note)


_TEXT: Final = "This is a test."
_LONGEST: Final = 60.0  # seconds that a service has


class Trial(NamedTuple):
    """The answer of a model to one row; ``trouble`` says why it is none."""

    asked: str
    answer: str
    seconds: float
    trouble: str = ""


def tried(model: Model) -> Trial | None:
    """Ask a model one row of its columns; None if nobody knows which it has."""
    row, asked = _row(model)
    if row is None:
        return None
    began = time.perf_counter()
    kind: Answers = "numbers" if model.labels is None else "labels"
    try:
        found = model.ask(row, kind, model.labels or (), _LONGEST)
    except ValueError as error:
        return Trial(asked, "", time.perf_counter() - began, str(error))
    seconds = time.perf_counter() - began
    answer = next(iter(found.values))
    if answer is None or answer != answer:
        return Trial(asked, "", seconds, found.detail or found.reason or "it gives no answer")
    return Trial(asked, str(answer), seconds)


def _row(model: Model) -> tuple[Array | None, str]:
    if model.columns is not None:
        values = [_value(column) for column in model.schema] or [0.0] * model.columns
        return np.array([values]), "one row" if any(values) else "one row of zeros"
    if model.is_remote:
        found = np.empty(1, dtype=object)
        found[:] = [_TEXT]
        return found, f"the text {_TEXT!r}"
    return None, ""


def _value(column: Column) -> float:
    """A number within the range of a column."""
    bounds = [each for each in (column.low, column.high) if each is not None and np.isfinite(each)]
    return float(np.mean(bounds)) if bounds else 0.0

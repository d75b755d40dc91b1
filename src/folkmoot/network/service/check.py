"""What is wrong with a node before it is started: key, roster, port, model, peers, clock."""

from __future__ import annotations

import asyncio
import socket
import statistics
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from folkmoot.network.service.holdout import read_holdout
from folkmoot.network.service.operation import (
    Settings,
    check_access,
    check_shown,
    is_running,
    labels_of,
    model_of,
    place_of,
)
from folkmoot.network.service.past_performance import PastPerformance
from folkmoot.node.membership import identity
from folkmoot.node.membership.fields import parse_address
from folkmoot.node.membership.identity import CERTIFICATE, KEY
from folkmoot.node.membership.roster import Roster, quorum
from folkmoot.node.transports.mesh import SKEW_SECONDS, Mesh


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    what: str
    fine: bool
    note: str


async def check(settings: Settings) -> AsyncIterator[Check]:
    """Look at everything that can be looked at; later lines need the earlier ones to be fine."""
    try:
        me = identity.load(settings.folder)
        yield Check(
            "identity",
            True,
            f"{me.name}, fingerprint {me.fingerprint[:16]}…, files readable by their owner only",
        )
    except (ValueError, OSError) as error:
        yield Check("identity", False, str(error))
        return
    running = is_running(settings.folder)
    listen = settings.listen or me.listen
    yield Check("port", True, f"{listen}: this node is running") if running else free_port(listen)
    if settings.model:
        for line in _model(settings):
            yield line
    try:
        roster = Roster.read(settings.roster)
        place = place_of(me, roster, settings)
    except (ValueError, OSError) as error:
        yield Check("roster", False, str(error))
        return
    listed = roster[place].addresses
    note = f"{len(roster)} participants, digest {roster.digest[:16]}…, listed at {', '.join(listed)}"
    yield Check("roster", True, note)
    try:
        check_access(settings.policy, roster, settings.folder)
    except ValueError as error:
        yield Check("policy", False, str(error))
    if settings.policy.check_rows and settings.model:
        yield _check_rows(settings)
    if settings.weights is not None:
        yield _weights(settings.weights, roster)
    async for line in _peers(settings.folder, roster, place):
        yield line


def free_port(listen: str) -> Check:
    """Whether a node could listen there."""
    host, port = parse_address(listen, any_port=True)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        return Check("port", False, f"{listen}: {error.strerror or error}")
    return Check("port", True, f"{listen} is free")


def _model(settings: Settings) -> list[Check]:
    try:
        model = model_of(settings)
        known = labels_of(model, settings)
    except (ValueError, OSError, ImportError) as error:
        return [Check("model", False, str(error))]
    columns = "any number of" if model.columns is None else str(model.columns)
    labels = "unknown (give --labels when asking)" if known is None else ", ".join(known[:12])
    named = "checked by name" if model.schema else "unchecked, as they have no names (give --schema)"
    note = f"takes {columns} columns, {named}; labels {labels}"
    if model.worker is not None:
        model.worker.close()
    return [Check("model", True, note), Check("sandbox", True, model.confinement)]


def _check_rows(settings: Settings) -> Check:
    """What a node that shows check rows has to show."""
    shown = f"{settings.policy.check_rows} in a motion"
    if settings.holdout is None:
        return Check("check rows", True, f"{shown}, of rows that node run must be given with --holdout")
    try:
        holdout = read_holdout(settings.holdout, model_of(settings))
        check_shown(settings.policy, holdout, settings.folder)
    except (ValueError, OSError, ImportError) as error:
        return Check("check rows", False, str(error))
    return Check("check rows", True, f"{shown}, of {len(holdout)} rows with labels in {settings.holdout}")


def _weights(path: Path, roster: Roster) -> Check:
    try:
        known = len(PastPerformance.read(path, roster))
    except (ValueError, OSError) as error:
        return Check("weights", False, str(error))
    note = f"{path}: weights of {known} of {len(roster)} participants"
    return Check("weights", True, note)


async def _peers(folder: Path, roster: Roster, place: int) -> AsyncIterator[Check]:
    """Dial everybody at once; what they say on the way tells about rosters and clocks."""
    others = [peer for peer in range(len(roster)) if peer != place]
    if not others:
        yield Check("peers", False, "nobody else is in the roster")
        return
    mesh = Mesh(roster, place, str(folder / CERTIFICATE), str(folder / KEY))
    try:
        fingerprints = [bytes.fromhex(roster[peer].fingerprint) for peer in others]
        found = await asyncio.gather(*(mesh.reach(peer) for peer in fingerprints))
        for peer, wrong in zip(others, found, strict=True):
            if wrong:
                yield Check(f"peer {roster[peer].name}", False, wrong)
        reached = found.count("")
        needed = quorum(len(roster))
        note = f"{reached} of {len(others)} reached; with this node a quorum needs {needed - 1}"
        yield Check("peers", reached + 1 >= needed, note)
        skews = list(mesh.skews().values())
        if skews:
            middle = statistics.median(skews)
            fine = abs(middle) <= SKEW_SECONDS
            word = "behind" if middle > 0 else "ahead of"
            note = f"this clock is {abs(middle):.0f} s {word} the peers' (median of {len(skews)})"
            yield Check(
                "clock",
                fine,
                note if not fine else f"within {max(abs(x) for x in skews):.1f} s of the peers'",
            )
    finally:
        await mesh.close()

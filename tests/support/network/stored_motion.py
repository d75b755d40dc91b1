"""A node's folder with a motion that a whole moot has played in memory: real signatures, no processes."""

from __future__ import annotations

from pathlib import Path

from folkmoot.network.session.minutes import Ended
from folkmoot.network.storage.storage import DATABASE, Storage
from folkmoot.node.membership.identity import create
from support.network.moot_in_memory import Moot


def folder_of(hall: Moot, place: int, folder: Path) -> Path:
    """What a node of the moot has stored, in a folder of its own."""
    create(folder, name=folder.name)
    storage = Storage(folder / DATABASE)
    for stored in hall.storages[place].motions():
        members = list(zip(stored.members, stored.names, strict=True))
        storage.open_motion(stored.name, stored.header, stored.signature, members, stored.opened, stored.ends)
        held = hall.storages[place].held(stored.name)
        saves = [*held.commits.values(), *held.closes.values(), *(proof for _, proof in held.evidence)]
        storage.save(stored.name, [*saves, Ended(0, 0)], stored.summary)
    storage.close()
    return folder

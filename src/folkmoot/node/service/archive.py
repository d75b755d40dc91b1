"""What a node tells from its folder, whether it runs or not: the ``Archive`` of ``interface.py``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from folkmoot.node.account import BY_INPUT, Account, GivenTerms
from folkmoot.node.membership.identity import Identity, load
from folkmoot.node.membership.roster import Roster
from folkmoot.node.rosters.chronicle import Chronicle
from folkmoot.node.service.interface import Forms
from folkmoot.node.service.node_file import read_node_file
from folkmoot.node.storage.storage import Storage, open_storage

FORMS = Forms(terms=GivenTerms, account=Account, by_input=BY_INPUT)


class NodeArchive:
    """What a node's folder holds. A running node and a command make it in the same way."""

    forms = FORMS

    def __init__(self, storage: Storage, chronicle: Chronicle, me: Identity) -> None:
        """``chronicle`` is of the same ``storage``; ``me`` signs audit logs and rosters."""
        self.storage, self.chronicle = storage, chronicle
        self.node = me.name
        self._me = me


@contextmanager
def open_archive(folder: Path, roster: Path | None = None) -> Iterator[NodeArchive]:
    """What the node in a folder tells; ``roster`` is that given at the prompt; None: that of node.toml."""
    me = load(folder)
    root = Roster.read(read_node_file(folder).chosen_roster(roster))
    storage, _ = open_storage(folder, me.fingerprint, time.time())
    try:
        yield NodeArchive(storage, Chronicle(storage, root, time.time()), me)
    finally:
        storage.close()

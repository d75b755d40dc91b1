"""Accounts of motions for many readers: made in a thread, kept until what is stored changes."""

from __future__ import annotations

import asyncio
from typing import Final

from folkmoot.network.storage.account import Account, account_of, find_name
from folkmoot.network.storage.database import DamagedError
from folkmoot.network.storage.storage import Storage, StoredMotion
from folkmoot.web.refusals import RefusalError

MOST_KEPT: Final = 256  # accounts
MOST_INPUTS: Final = 200_000  # in all of them together


class Ledger:
    """What a node has stored, for readers."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._motions: dict[bytes, tuple[bytes, StoredMotion]] = {}  # with the mark of what was read
        self._accounts: dict[bytes, tuple[bytes, Account]] = {}

    def find(self, prefix: str) -> StoredMotion:
        """The motion that a path names."""
        try:
            name = find_name(self._storage, prefix)
        except ValueError as error:
            raise RefusalError(404, str(error)) from None
        return self.motion(name)

    def motion(self, name: bytes) -> StoredMotion:
        """A motion, read again if anything of it has changed."""
        mark = self._storage.mark(name)
        kept = self._motions.get(name)
        if kept is not None and kept[0] == mark:
            return kept[1]
        try:
            stored = self._storage.motion(name)
        except DamagedError as error:
            raise RefusalError(500, str(error)) from None
        self._motions.pop(name, None)
        self._motions[name] = (mark, stored)
        if len(self._motions) > MOST_KEPT:
            del self._motions[next(iter(self._motions))]
        return stored

    async def account(self, stored: StoredMotion) -> Account:
        """The account of a motion. A label for every input takes long: a thread makes it."""
        mark = self._storage.mark(stored.name)
        kept = self._accounts.get(stored.name)
        if kept is not None and kept[0] == mark:
            return kept[1]
        try:
            held = self._storage.held(stored.name)
        except DamagedError as error:
            raise RefusalError(500, str(error)) from None
        account = await asyncio.to_thread(account_of, stored, held)
        self._accounts.pop(stored.name, None)
        self._accounts[stored.name] = (mark, account)
        while len(self._accounts) > MOST_KEPT or (
            len(self._accounts) > 1 and sum(each.inputs for _, each in self._accounts.values()) > MOST_INPUTS
        ):
            del self._accounts[next(iter(self._accounts))]
        return account

"""Accounts of motions for many readers: made in a thread, kept until what is stored changes."""

from __future__ import annotations

import asyncio
from typing import Final

from folkmoot.network.storage.account import Account, account_of, find
from folkmoot.network.storage.database import DamagedError
from folkmoot.network.storage.storage import Storage, StoredMotion
from folkmoot.web.refusals import RefusalError

MOST_KEPT: Final = 256  # accounts
MOST_INPUTS: Final = 200_000  # in all of them together


class Ledger:
    """What a node has stored, for readers."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._kept: dict[bytes, tuple[bytes, Account]] = {}

    def find(self, prefix: str) -> StoredMotion:
        """The motion that a path names."""
        try:
            return (
                self._storage.motion(found) if (found := self._whole(prefix)) else find(self._storage, prefix)
            )
        except DamagedError as error:
            raise RefusalError(500, str(error)) from None
        except ValueError as error:
            raise RefusalError(404, str(error)) from None

    def _whole(self, prefix: str) -> bytes | None:
        """A whole name is looked up at once; the rest is found as at the prompt."""
        try:
            name = bytes.fromhex(prefix) if len(prefix) == 64 else b""
        except ValueError:
            return None
        return name if name and self._storage.knows(name) else None

    async def account(self, stored: StoredMotion) -> Account:
        """The account of a motion. A label for every input takes long: a thread makes it."""
        mark = self._storage.mark(stored.name)
        kept = self._kept.get(stored.name)
        if kept is not None and kept[0] == mark:
            return kept[1]
        try:
            held = self._storage.held(stored.name)
        except DamagedError as error:
            raise RefusalError(500, str(error)) from None
        account = await asyncio.to_thread(account_of, stored, held)
        self._kept.pop(stored.name, None)
        self._kept[stored.name] = (mark, account)
        while len(self._kept) > MOST_KEPT or (
            len(self._kept) > 1 and sum(each.inputs for _, each in self._kept.values()) > MOST_INPUTS
        ):
            del self._kept[next(iter(self._kept))]
        return account

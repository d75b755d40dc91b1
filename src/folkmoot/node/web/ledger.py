"""Accounts of motions, kept until what is stored changes: one of many inputs takes long to make."""

from __future__ import annotations

from typing import Any, Final

from folkmoot.node.service.interface import Archive

MOST_KEPT: Final = 256  # accounts
MOST_INPUTS: Final = 200_000  # in all of them together, unless there is just one


class Ledger:
    """The accounts of a node's motions."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._kept: dict[bytes, tuple[bytes, Any]] = {}  # with the mark of what was read

    async def account(self, motion: bytes) -> Any:
        """The account of a motion."""
        mark = self._archive.mark(motion)
        mark_kept, account = self._kept.pop(motion, (b"", None))
        if account is None or mark_kept != mark:
            account = await self._archive.account(motion)
        self._kept[motion] = (mark, account)
        while len(self._kept) > MOST_KEPT or (
            len(self._kept) > 1 and sum(each.inputs for _, each in self._kept.values()) > MOST_INPUTS
        ):
            del self._kept[next(iter(self._kept))]
        return account

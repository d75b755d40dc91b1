"""Databases in memory for moots of many nodes."""

from __future__ import annotations

from functools import lru_cache
from unittest.mock import patch

from folkmoot.network.storage.database import Database
from folkmoot.network.storage.storage import Storage


def blank_storage() -> Storage:
    """``Storage(":memory:")``, copied from one that was made once: its tables take five times as long."""
    tables = _tables()
    with patch.object(Database, "_prepare", lambda self: self._db.deserialize(tables)):
        return Storage(":memory:")


@lru_cache(maxsize=1)
def _tables() -> bytes:
    return Storage(":memory:").database._db.serialize()

"""What moots in one process save themselves: the same signatures and the same tables as without it."""

from __future__ import annotations

import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.network.storage.storage import Storage
from folkmoot.network.wire import statements
from support.network.blank_storage import blank_storage
from support.network.signatures import RememberingKey, checked_once


def test_remembered_signatures_are_those_of_the_library() -> None:
    seeds = [hashlib.sha256(bytes([i])).digest() for i in range(2)]
    real = [Ed25519PrivateKey.from_private_bytes(seed) for seed in seeds]
    mine, other = map(RememberingKey, seeds)
    before = statements.holds
    with checked_once():
        for said in (b"", b"one", b"two"):
            signature = mine.sign(said)
            assert signature == real[0].sign(said) == mine.sign(bytearray(said))
            assert statements.holds(mine.public_key(), signature, said)
            assert not statements.holds(other.public_key(), signature, said)
            assert not statements.holds(mine.public_key(), signature, said + b"!")
            assert not statements.holds(mine.public_key(), signature[:-1] + bytes([signature[-1] ^ 1]), said)
            assert not statements.holds(mine.public_key(), other.sign(said), said)
    assert statements.holds is before
    assert mine.sign(b"three") == real[0].sign(b"three")


def test_a_blank_storage_is_an_empty_one_and_each_is_its_own() -> None:
    made, one, other = Storage(":memory:").database, blank_storage(), blank_storage()
    for query in ("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name", "PRAGMA user_version"):
        assert one.database.all(query) == made.all(query)
    assert one.start(5.0) == 5
    assert one.start(5.0) == 6
    assert other.start(5.0) == 5

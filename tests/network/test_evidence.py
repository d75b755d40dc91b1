"""Evidence is of what was said, not of bytes; and what does not prove is neither believed nor stored."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from folkmoot.network.service.node import Node
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.statements import Evidence, TwoCloses, TwoCommits, TwoStates
from support.network.moot_in_memory import Moot
from support.oracles.ed25519 import sign


@pytest.fixture(scope="module")
def moot() -> Moot:
    votes = np.random.default_rng(0).integers(0, 2, (5, 40)).astype(np.int8)
    moot = Moot(votes, seed=3)
    moot.put(0, at=1.0, k=3, alpha=2)
    moot.network.run(35.0)
    assert len(moot.over) == 1
    return moot


def observer(moot: Moot) -> tuple[Node, bytes]:
    node = moot.nodes[0]
    assert node is not None
    (name,) = moot.over
    return node, name


def test_one_close_in_two_signatures_is_no_evidence_and_hides_none(moot: Moot) -> None:
    """The attack: close once with another nonce, so that the place of real evidence is taken."""
    node, name = observer(moot)
    close = moot.storages[0].closes(name)[1]
    again = msgspec.structs.replace(close, signature=sign(moot.keys[1], statements.closing(close), nonce=7))
    assert again != close
    assert statements.holds(moot.keys[1].public_key(), again.signature, statements.closing(again))
    for peer in (1, 2, 3):
        node.received(peer, m.encode(again))
    session = node.session(name)
    assert session is not None
    assert moot.storages[0].evidence(name) == []
    assert node.counts["evidence"] == 0
    assert 1 in session.verdict().closed
    flipped = bytes([close.decisions[0], *(byte ^ 1 for byte in close.decisions[1:])])
    other = msgspec.structs.replace(close, decisions=flipped)
    other = msgspec.structs.replace(other, signature=moot.keys[1].sign(statements.closing(other)))
    node.received(2, m.encode(other))
    ((accused, proof),) = moot.storages[0].evidence(name)
    assert accused == 1
    fingerprint = bytes.fromhex(moot.roster[1].fingerprint)
    assert statements.proves(proof, moot.keys[1].public_key(), fingerprint)
    assert 1 not in session.verdict().closed


def two_commits(moot: Moot, name: bytes) -> Evidence:
    commit = moot.storages[0].memory(name).commits[2]
    return TwoCommits(commit, msgspec.structs.replace(commit, signature=bytes(64)))


def forged_states(_: Moot, name: bytes) -> Evidence:
    heard = m.Heard(2, 1, bytes(32), bytes(64))
    return TwoStates(name, heard, msgspec.structs.replace(heard, digest=bytes(31) + b"x"))


def two_closes(moot: Moot, name: bytes) -> Evidence:
    close = moot.storages[0].closes(name)[2]
    return TwoCloses(close, msgspec.structs.replace(close, reason="never said"))


@pytest.mark.parametrize("make", [two_commits, forged_states, two_closes])
def test_what_does_not_prove_is_not_kept(moot: Moot, make: Callable[[Moot, bytes], Evidence]) -> None:
    """Wherever in a session it comes from: the gate is the one place that all accusations pass."""
    node, name = observer(moot)
    session = node.session(name)
    assert session is not None
    session.minutes.accuse(2, make(moot, name))
    assert not session.minutes.saves
    assert 2 not in session.minutes.cheats

"""Hashes and trees beside other implementations: eth-utils, eth-abi, and a tree made by recursion."""

from __future__ import annotations

import numpy as np
import pytest
from eth_abi import encode
from eth_utils import keccak as their_keccak
from eth_utils import to_checksum_address
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot_chain.ballots import check_size, pack, pack_mask, planes_of, plurality, unpack, words_of
from folkmoot_chain.keys import address_of
from folkmoot_chain.seals import (
    fold,
    input_leaf,
    merkle_proof,
    merkle_root,
    roster_leaf,
    roster_proof,
    roster_root,
    seal_ballot,
    seal_truth,
)
from folkmoot_chain.wallets import address_bytes, checksummed, keccak

ADDRESSES = [address_of(bytes([place]) * 32) for place in range(1, 8)]


def root_by_recursion(leaves: list[bytes]) -> bytes:
    """The same tree from the top: the left part has the greatest power of two that leaves something right."""
    if len(leaves) == 1:
        return leaves[0]
    half = 1
    while half * 2 < len(leaves):
        half *= 2
    return bytes(
        their_keccak(b"".join(sorted([root_by_recursion(leaves[:half]), root_by_recursion(leaves[half:])])))
    )


@given(st.binary(max_size=300))
def test_keccak(data: bytes) -> None:
    assert keccak(data) == their_keccak(data)


@given(st.binary(min_size=20, max_size=20))
def test_checksums(data: bytes) -> None:
    assert checksummed(data) == to_checksum_address(data) == checksummed("0x" + data.hex())


@pytest.mark.parametrize("text", ["", "0x", "ab" * 20, "0x" + "ab" * 19, "0x" + "ag" * 20, "0x" + "ab" * 21])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="an address is 0x and 40 hexadecimal digits"):
        address_bytes(text)


@settings(deadline=None)
@given(st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=40))
def test_merkle_trees(leaves: list[bytes]) -> None:
    root = merkle_root(leaves)
    assert root == root_by_recursion(leaves)
    for place, leaf in enumerate(leaves):
        node = leaf
        for other in merkle_proof(leaves, place):
            node = bytes(their_keccak(min(node, other) + max(node, other)))
        assert node == root


def test_rosters_do_not_depend_on_order_or_capitals() -> None:
    root = roster_root(ADDRESSES)
    assert root == roster_root([each.lower() for each in reversed(ADDRESSES)] + ADDRESSES[:2])
    assert root != roster_root(ADDRESSES[1:])
    with pytest.raises(ValueError, match="not in the roster of 6 addresses"):
        roster_proof(ADDRESSES[1:], ADDRESSES[0])
    with pytest.raises(ValueError, match="must have a leaf"):
        roster_root([])
    leaf = encode(["address"], [ADDRESSES[0]])
    assert roster_leaf(ADDRESSES[0]) == their_keccak(their_keccak(leaf))
    assert input_leaf(b"row") == their_keccak(their_keccak(b"row"))


def test_seals_are_hashes_of_what_the_abi_writes() -> None:
    ballot, salt, known = [3, 2**255], b"s" * 32, [7]
    hashed = bytes(32)
    for word in ballot:
        hashed = bytes(their_keccak(hashed + encode(["uint256"], [word])))
    assert fold(ballot) == hashed
    data = encode(
        ["uint256", "address", "uint256", "address", "bytes32", "bytes32"],
        [5, ADDRESSES[0], 9, ADDRESSES[1], salt, hashed],
    )
    assert seal_ballot(5, ADDRESSES[0], 9, ADDRESSES[1], salt, ballot) == their_keccak(data)
    data = encode(
        ["uint256", "address", "address", "bytes32", "bytes32", "bytes32"],
        [5, ADDRESSES[0], ADDRESSES[1], salt, hashed, their_keccak(bytes(32) + encode(["uint256"], [7]))],
    )
    assert seal_truth(5, ADDRESSES[0], ADDRESSES[1], salt, ballot, known) == their_keccak(data)


@settings(deadline=None)
@given(st.integers(2, 16), st.integers(1, 600), st.integers(0, 10**6))
def test_ballots_survive_packing(labels: int, inputs: int, seed: int) -> None:
    least = -1 if labels != 1 << planes_of(labels) else 0
    votes = np.random.default_rng(seed).integers(least, labels, inputs)
    words = pack(votes, labels)
    assert len(words) == words_of(inputs, labels)
    assert all(0 <= word < 2**256 for word in words)
    assert unpack(words, inputs, labels).tolist() == votes.tolist()


def test_votes_that_no_ballot_can_hold() -> None:
    with pytest.raises(ValueError, match="labels 0 to 2, or -1"):
        pack(np.array([3]), 3)
    with pytest.raises(ValueError, match="labels 0 to 2, or -1"):
        pack(np.array([-2]), 3)
    with pytest.raises(ValueError, match="no vote can abstain where there are 4 labels"):
        pack(np.array([-1]), 4)
    with pytest.raises(ValueError, match="a row of whole numbers"):
        pack(np.array([0.5]), 4)
    assert pack_mask(np.array([True, False, True])) == [5]


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ((10, 1, 1), "2 <= labels <= 16"),
        ((10, 17, 1), "2 <= labels <= 16"),
        ((0, 2, 1), "1 <= inputs <= 32768"),
        ((8193, 10, 1), "inputs <= 8192 with 10 labels"),
        ((256, 10, 308), "1 <= seats <= 307 with 256 inputs of 10 labels"),
        ((256, 9, 342), "1 <= seats <= 341 with 256 inputs of 9 labels"),
        ((256, 2, 683), "1 <= seats <= 682"),
        ((256, 2, 0), "1 <= seats <= 682"),
    ],
)
def test_motions_that_the_contract_would_refuse(size: tuple[int, int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_size(*size)


def test_the_lowest_label_wins_where_some_are_level() -> None:
    assert plurality([np.array([2, 0]), np.array([1, -1])], [1, 1], 3).tolist() == [1, 0]

"""Hashes: seals of ballots and truth, and Merkle trees of rosters and inputs."""

from __future__ import annotations

from collections.abc import Sequence

from folkmoot_chain.wallets import address_bytes, checksummed, keccak

ZERO = bytes(32)


def fold(words: Sequence[int]) -> bytes:
    """The hash of a ballot: each word hashed onto what came before it, from 32 zero bytes on."""
    hashed = ZERO
    for word in words:
        hashed = keccak(hashed + word.to_bytes(32, "big"))
    return hashed


def seal_ballot(
    chain_id: int, contract: str, motion: int, who: str, salt: bytes, ballot: Sequence[int]
) -> bytes:
    """The argument of ``commit``; it binds chain, contract, motion, participant, salt and ballot."""
    return keccak(_words(chain_id, contract, motion, who) + salt + fold(ballot))


def seal_truth(
    chain_id: int, contract: str, supplier: str, salt: bytes, truth: Sequence[int], known: Sequence[int]
) -> bytes:
    """The seal for ``put``, which ``tell`` opens; it binds the supplier, so that nobody can copy it."""
    return keccak(_words(chain_id, contract, supplier) + salt + fold(truth) + fold(known))


def subject_of(name: str) -> bytes:
    """The subject of a motion, as 32 bytes: the hash of its name."""
    return keccak(name.encode())


def roster_leaf(address: str) -> bytes:
    """A leaf of a roster's tree, hashed twice so that no inner node can pass for one."""
    return keccak(keccak(_words(address)))


def input_leaf(row: bytes) -> bytes:
    """A leaf of the tree of inputs: the bytes of one, hashed twice."""
    return keccak(keccak(row))


def merkle_root(leaves: Sequence[bytes]) -> bytes:
    """The root over leaves in their order: pairs are hashed smaller first, an odd one moves up as it is."""
    level = list(leaves)
    if not level:
        raise ValueError("a Merkle tree must have a leaf")
    while len(level) > 1:
        level = _parents(level)
    return level[0]


def merkle_proof(leaves: Sequence[bytes], place: int) -> list[bytes]:
    """The hashes beside a leaf on the way to the root."""
    level, proof = list(leaves), []
    while len(level) > 1:
        other = place ^ 1
        if other < len(level):
            proof.append(level[other])
        level, place = _parents(level), place // 2
    return proof


def sorted_roster(addresses: Sequence[str]) -> list[str]:
    """Addresses in the order of a roster's tree: rising, each once, with checksums."""
    return [checksummed(data) for data in sorted({address_bytes(each) for each in addresses})]


def roster_root(addresses: Sequence[str]) -> bytes:
    """The Merkle root of a roster, whatever order its addresses are given in."""
    return merkle_root([roster_leaf(each) for each in sorted_roster(addresses)])


def roster_proof(addresses: Sequence[str], who: str) -> list[bytes]:
    """The proof that ``commit`` takes; ValueError for an address that is not in the roster."""
    roster = sorted_roster(addresses)
    if checksummed(who) not in roster:
        raise ValueError(f"{who} is not in the roster of {len(roster)} addresses")
    return merkle_proof([roster_leaf(each) for each in roster], roster.index(checksummed(who)))


def _words(*values: int | str) -> bytes:
    """Numbers and addresses as the ABI writes them: 32 bytes each."""
    return b"".join(
        value.to_bytes(32, "big") if isinstance(value, int) else address_bytes(value).rjust(32, b"\0")
        for value in values
    )


def _parents(level: list[bytes]) -> list[bytes]:
    pairs = [level[place : place + 2] for place in range(0, len(level), 2)]
    return [keccak(b"".join(sorted(pair))) if len(pair) == 2 else pair[0] for pair in pairs]

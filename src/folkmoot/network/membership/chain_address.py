"""A member's address on a chain: a text that names both, signed by the node's key and by the address's.

One signature would not do. With the node's alone a member could take somebody else's record for its own; with
the address's alone, anybody could hang a bad record on a member.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from folkmoot.network.membership.fields import toml_string
from folkmoot.wallets import checksummed, signer_of

KEYS = ("chain", "signed_by_node", "signed_by_chain")  # of a roster's line, all of them or none

_PREFIX = b"folkmoot chain address 1\n"  # nothing else that a node signs begins so


def statement(name: str, fingerprint: str, address: str) -> str:
    """What both keys sign; a wallet shows it to its owner."""
    return (
        "folkmoot: this address and this participant of a moot belong together\n"
        f"address: {checksummed(address)}\n"
        f"participant: {name}\n"
        f"certificate: {fingerprint}"
    )


def sign_by_node(key: Ed25519PrivateKey, name: str, fingerprint: str, address: str) -> bytes:
    """The node's own signature of it."""
    return key.sign(_PREFIX + statement(name, fingerprint, address).encode())


@dataclass(frozen=True)
class ChainAddress:
    """An address and the two signatures that tie it to a member.

    Parameters
    ----------
    address : str
        0x and 40 hexadecimal digits.
    by_node : bytes
        Of the member's Ed25519 key, 64 bytes.
    by_chain : bytes
        Of the address's key, 65 bytes, as wallets sign texts (EIP-191).
    """

    address: str
    by_node: bytes = field(repr=False)
    by_chain: bytes = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "address", checksummed(self.address))

    @classmethod
    def parse(cls, table: dict[str, object]) -> ChainAddress | None:
        """That of a roster's line; None if it names none; ValueError if a part of it is missing or wrong."""
        there = [key for key in KEYS if key in table]
        if not there:
            return None
        for key in KEYS:
            if key not in table:
                raise ValueError(
                    f"{there[0]} must stand with {', '.join(each for each in KEYS if each != there[0])}: "
                    f"{key} is missing; folkmoot chain tie DIR makes the line"
                )
        address = table["chain"]
        if not isinstance(address, str):
            raise ValueError(f"chain must be an address, 0x and 40 hexadecimal digits: got {address!r}")
        return cls(
            address,
            _signature(table[KEYS[1]], KEYS[1], 64),
            parse_chain_signature(table[KEYS[2]], KEYS[2]),
        )

    def check(self, name: str, fingerprint: str, key: Ed25519PublicKey) -> None:
        """ValueError unless both keys have signed that this address is this member's."""
        said = statement(name, fingerprint, self.address)
        again = "so make the line again with folkmoot chain tie DIR"
        try:
            key.verify(self.by_node, _PREFIX + said.encode())
        except InvalidSignature:
            raise ValueError(
                f"signed_by_node must be the signature of {name}'s key for {self.address}: it is not, {again}"
            ) from None
        if signer_of(said, self.by_chain) != self.address:
            raise ValueError(
                f"signed_by_chain must be the signature of {self.address} for {name}: it is not, {again}"
            )

    def fields(self) -> list[str]:
        """Keys and values as they stand in a roster's line."""
        values = (self.address, self.by_node.hex(), "0x" + self.by_chain.hex())
        return [f"{key} = {toml_string(value)}" for key, value in zip(KEYS, values, strict=True)]


def parse_chain_signature(value: object, key: str) -> bytes:
    """The 65 bytes of an address's signature, as wallets write them."""
    return _signature(value, key, 65)


def _signature(value: object, key: str, size: int) -> bytes:
    try:
        data = bytes.fromhex(value.removeprefix("0x") if isinstance(value, str) else "!")
    except ValueError:
        data = b""
    if len(data) != size:
        raise ValueError(f"{key} must be {2 * size} hexadecimal digits: got {value!r}")
    return data

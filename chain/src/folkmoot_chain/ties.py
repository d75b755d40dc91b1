"""Owners of addresses: a text that names an address and a node of a moot, signed by the keys of both.

One signature would not do. With the node's alone its owner could take somebody else's record for its own.
With the address's alone, anybody could hang a bad record on a node.

A node is known by its certificate (X.509, self-signed, of an Ed25519 key), whose SHA-256 is the fingerprint
in the moot's roster. A tie carries the certificate, so that nothing else is needed to check it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from folkmoot_chain.wallets import checksummed, signer_of

_PREFIX = b"folkmoot chain address 1\n"  # nothing else that a node signs begins so
_FORM = "an address, or the four words that folkmoot-chain tie prints"


def statement(name: str, fingerprint: str, address: str) -> str:
    """The text that both keys sign; a wallet shows it to its owner."""
    return (
        "folkmoot: this address and this participant of a moot belong together\n"
        f"address: {checksummed(address)}\n"
        f"participant: {name}\n"
        f"certificate: {fingerprint}"
    )


@dataclass(frozen=True)
class Node:
    """A node's key and certificate, from its folder."""

    name: str
    certificate: bytes = field(repr=False)  # in DER
    key: bytes = field(repr=False)  # Ed25519, 32 bytes

    @classmethod
    def read(cls, folder: Path) -> Node:
        """The node whose ``key.pem`` and ``certificate.pem`` are there; ValueError for anything else."""
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

        files = folder / "key.pem", folder / "certificate.pem"
        for path in files:
            if not path.is_file():
                raise ValueError(f"{folder} must be the folder of a node, with {path.name}: there is none")
        try:
            key = load_pem_private_key(files[0].read_bytes(), password=None)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{files[0]} must be a key in PEM, without a passphrase: {error}") from None
        try:
            certificate = x509.load_pem_x509_certificate(files[1].read_bytes()).public_bytes(Encoding.DER)
            name, public = _subject(certificate)
        except ValueError as error:
            raise ValueError(f"{files[1]}: {error}") from None
        if not isinstance(key, Ed25519PrivateKey) or key.public_key().public_bytes_raw() != public:
            raise ValueError(f"{files[0]} must be the key of {files[1].name} beside it: it is another one")
        return cls(name, certificate, key.private_bytes_raw())

    @property
    def fingerprint(self) -> str:
        """By which the moot's roster knows it."""
        return _fingerprint(self.certificate)

    def tied(self, address: str, by_chain: bytes) -> Tie:
        """The tie that the address's key has signed, signed by this node as well."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        text = _PREFIX + statement(self.name, self.fingerprint, address).encode()
        by_node = Ed25519PrivateKey.from_private_bytes(self.key).sign(text)
        return Tie(checksummed(address), self.certificate, by_node, by_chain)


@dataclass(frozen=True)
class Tie:
    """An address, a certificate, and the signatures of both keys; ValueError unless both hold.

    Parameters
    ----------
    address : str
        0x and 40 hexadecimal digits.
    certificate : bytes
        The node's, in DER.
    by_node : bytes
        Of the certificate's Ed25519 key, 64 bytes.
    by_chain : bytes
        Of the address's key, 65 bytes, as wallets sign texts (EIP-191).
    """

    address: str
    certificate: bytes = field(repr=False)
    by_node: bytes = field(repr=False)
    by_chain: bytes = field(repr=False)

    def __post_init__(self) -> None:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        object.__setattr__(self, "address", checksummed(self.address))
        name, public = _subject(self.certificate)
        said = statement(name, self.fingerprint, self.address)
        again = "it is not, so make the line again with folkmoot-chain tie"
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(self.by_node, _PREFIX + said.encode())
        except InvalidSignature:
            raise ValueError(
                f"the node's signature must be that of {name}'s key for {self.address}: {again}"
            ) from None
        if signer_of(said, self.by_chain) != self.address:
            raise ValueError(f"the address's signature must be that of {self.address} for {name}: {again}")

    @property
    def name(self) -> str:
        """Of the node, in its certificate."""
        return _subject(self.certificate)[0]

    @property
    def fingerprint(self) -> str:
        """By which the moot's roster knows the node."""
        return _fingerprint(self.certificate)

    def line(self) -> str:
        """Four words and the name as a note, as ``parse`` reads them."""
        certificate, by_node = (base64.b64encode(each).decode() for each in (self.certificate, self.by_node))
        return f"{self.address} {certificate} {by_node} 0x{self.by_chain.hex()}  # {self.name}"

    @classmethod
    def parse(cls, words: Sequence[str]) -> Tie:
        """Those four words; ValueError if there are others, or if a signature does not hold."""
        if len(words) != 4:
            raise ValueError(f"expected {_FORM}: got {len(words)} words")
        address, certificate, by_node, by_chain = words
        try:
            der, signature = (base64.b64decode(each, validate=True) for each in (certificate, by_node))
        except (binascii.Error, ValueError):
            raise ValueError(f"expected {_FORM}: the second and third are not base64") from None
        return cls(address, der, signature, chain_signature(by_chain))


def chain_signature(text: str) -> bytes:
    """The 65 bytes of an address's signature, as wallets write them."""
    try:
        data = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        data = b""
    if len(data) != 65:
        raise ValueError(f"an address's signature must be 130 hexadecimal digits: got {text!r}")
    return data


def read_participants(path: Path) -> list[str | Tie]:
    """Addresses and ties, one a line; what stands behind # is a note."""
    found: list[str | Tie] = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        words = line.split("#")[0].split()
        if words:
            try:
                found.append(checksummed(words[0]) if len(words) == 1 else Tie.parse(words))
            except ValueError as error:
                raise ValueError(f"{path}: line {number}: {error}") from None
    if not found:
        raise ValueError(f"{path} must have an address in each line: it has none")
    for problem in _clashes(found):
        raise ValueError(f"{path}: {problem}")
    return found


def address_of(participant: str | Tie) -> str:
    """Its address on the chain."""
    return participant if isinstance(participant, str) else participant.address


def _clashes(participants: Sequence[str | Tie]) -> Iterator[str]:
    """A record is one node's, and a node has one record."""
    owners: dict[str, Tie] = {}
    addresses: dict[str, str] = {}
    for each in participants:
        if isinstance(each, Tie):
            owner = owners.setdefault(each.address, each)
            if owner.fingerprint != each.fingerprint:
                yield f"addresses must differ: {owner.name!r} and {each.name!r} both have {each.address}"
            known = addresses.setdefault(each.fingerprint, each.address)
            if known != each.address:
                yield f"{each.name!r} must have one address: it has {known} and {each.address}"


def _fingerprint(certificate: bytes) -> str:
    return hashlib.sha256(certificate).hexdigest()


def _subject(certificate: bytes) -> tuple[str, bytes]:
    """The name in a certificate and the key that it is of, 32 bytes."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.x509.oid import NameOID

    try:
        read = x509.load_der_x509_certificate(certificate)
        key, names = read.public_key(), read.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    except (ValueError, TypeError):
        raise ValueError("a node's certificate must be X.509: it is not") from None
    if not isinstance(key, Ed25519PublicKey) or len(names) != 1:
        raise ValueError("a node's certificate must be of an Ed25519 key, with one name: it is another one")
    return str(names[0].value), key.public_bytes_raw()

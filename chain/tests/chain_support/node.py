"""The folder of a node, by nothing but the library that folkmoot uses for keys and certificates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from folkmoot_chain.ties import Node


def make_node(folder: Path, name: str) -> Node:
    """A new key and its certificate in a new folder, and the node that is read from it."""
    folder.mkdir()
    key, subject = Ed25519PrivateKey.generate(), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = x509.CertificateBuilder(
        subject, subject, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1)
    ).sign(key, algorithm=None)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "key.pem").write_bytes(pem)
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    return Node.read(folder)

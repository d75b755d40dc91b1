"""Certificates of participants: X.509, self-signed, of an Ed25519 key, each its own trust anchor in TLS.

They carry no extensions, which OpenSSL takes for leaf and anchor alike, and never end: who takes part is
the roster's business, not the calendar's.
"""

from __future__ import annotations

import hashlib
import warnings
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import NameOID

_NEVER = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)  # RFC 5280, 4.1.2.5: no well-defined end


def make_certificate(name: str, key: Ed25519PrivateKey) -> bytes:
    """A certificate of the key for that name, in DER."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder(
        issuer_name=subject,
        subject_name=subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=datetime.now(UTC) - timedelta(days=1),  # others' clocks may be behind
        not_valid_after=_NEVER,
    )
    return builder.sign(key, algorithm=None).public_bytes(Encoding.DER)


def fingerprint_of(certificate: bytes) -> str:
    """SHA-256 of a certificate in DER, in lowercase hex."""
    return hashlib.sha256(certificate).hexdigest()


def key_of(certificate: bytes) -> Ed25519PublicKey:
    """The key of a certificate in DER."""
    warned = CryptographyDeprecationWarning
    try:
        with warnings.catch_warnings():  # such as a serial number that is not positive: RFC 5280 has none
            warnings.simplefilter("error", warned)
            key = x509.load_der_x509_certificate(certificate).public_key()
    except (ValueError, TypeError, x509.InvalidVersion, UnsupportedAlgorithm, warned) as error:
        raise ValueError(f"certificate must be X.509 in DER: {_first_sentence(error)}") from None
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError(f"certificate must be of an Ed25519 key: got {_kind(key)}")
    return key


def holds(key: Ed25519PublicKey, signature: bytes, words: bytes) -> bool:
    """Whether the key has signed these words."""
    try:
        key.verify(signature, words)
    except InvalidSignature:
        return False
    return True


def check_certificate(data: bytes, name: str) -> None:
    """A certificate must serve as its own trust anchor, beside those of all others.

    OpenSSL looks anchors up by subject, without regard to case, and takes the first that it finds. So of two
    with the same subject one is never trusted. So the subject is the name, which is one participant's alone.
    """
    key_of(data)
    certificate = x509.load_der_x509_certificate(data)
    try:
        certificate.verify_directly_issued_by(certificate)
    except (InvalidSignature, ValueError, TypeError):
        raise ValueError("certificate must be signed by its own key: this one is signed by another") from None
    subject = certificate.subject
    if [(each.oid, each.value) for each in subject] != [(NameOID.COMMON_NAME, name)]:
        raise ValueError(
            f"name must be that in the certificate ({subject.rfc4514_string()}): got {name!r}; "
            "for another name, make another node with folkmoot node init"
        )


def _kind(key: object) -> str:
    """RSAPublicKey, say; the classes behind the interfaces have no names to show."""
    return next(
        (base.__name__ for base in type(key).__mro__ if base.__name__.endswith("PublicKey")), "another"
    )


def _first_sentence(error: Exception) -> str:
    return str(error).partition(".")[0].partition("\n")[0] or type(error).__name__

"""A node's identity: a folder with its key, its certificate and its addresses."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from folkmoot.checks import ArgumentError
from folkmoot.node.membership.certificates import (
    check_certificate,
    fingerprint_of,
    key_of,
    make_certificate,
)
from folkmoot.node.membership.exported import exported_lines, read_exported
from folkmoot.node.membership.fields import (
    check_addresses,
    check_keys,
    check_name,
    check_organisation,
    is_everywhere,
    parse_address,
    read_toml,
    toml_string,
    toml_strings,
)
from folkmoot.node.membership.roster import Member

DEFAULT_LISTEN = "127.0.0.1:7654"

KEY, CERTIFICATE, SETTINGS = "key.pem", "certificate.pem", "node.toml"

_KEYS = ("name", "organisation", "listen", "addresses")
# How it runs; service/node_file.py reads these.
RUNNING = ("roster", "model", "schema", "weights", "holdout", "labels", "allow", "policy", "choose")
_SAMPLES = {
    "roster": '"../roster.toml"', "model": '"model.skops"', "schema": '"model.schema.toml"',
    "weights": '"weights.json"', "holdout": '"holdout.npz"', "labels": '["no", "yes"]',
    "allow": '["package.module.Type"]',
}  # fmt: skip


@dataclass(frozen=True)
class Identity:
    """A node: what others know of it, and the key that makes it the one they know."""

    name: str
    organisation: str  # may be empty
    listen: str  # HOST:PORT where it waits for others
    addresses: tuple[str, ...]  # HOST:PORT where they reach it
    key: Ed25519PrivateKey = field(repr=False, compare=False)
    certificate: bytes = field(repr=False)  # in DER
    fingerprint: str  # its SHA-256 in hex, by which others know the node

    def member(self) -> Member:
        """Its entry in the roster."""
        return Member(self.name, self.organisation, self.fingerprint, self.addresses, self.certificate)


def create(
    folder: Path | str,
    *,
    name: str,
    organisation: str = "",
    listen: str = DEFAULT_LISTEN,
    addresses: Sequence[str] | None = None,
    running: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Identity:
    """Make a node in a folder, all of it or nothing: a new key, its certificate and ``node.toml``.

    The folder may be new, but its parent must exist; its owner alone can read the files. ``listen`` is where
    the node waits for others, port 0 is any; ``addresses`` are where they reach it, by default the same.
    ``running`` has keys of ``RUNNING`` to write down, ``labels`` the moot's name of each label of the model.
    ValueError if a setting is not what it must be, or if the folder has a node already. Or if others cannot
    reach the node by ``listen`` alone, or if an ``exported.toml`` in it holds what no estimator exports.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from folkmoot.node.membership.identity import create, load
    >>> with TemporaryDirectory() as folder:
    ...     node = create(f"{folder}/north", name="north", listen="127.0.0.1:8000")
    ...     print(load(f"{folder}/north") == node)
    True
    >>> node.addresses
    ('127.0.0.1:8000',)
    """
    folder = Path(folder)
    settings = _settings(
        {
            "name": name,
            "organisation": organisation,
            "listen": listen,
            "addresses": _reached_at(listen) if addresses is None else addresses,
        }
    )
    key = Ed25519PrivateKey.generate()
    certificate = make_certificate(name, key)
    files = {
        KEY: key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        CERTIFICATE: x509.load_der_x509_certificate(certificate).public_bytes(Encoding.PEM),
        SETTINGS: _toml(settings, folder, running or {}, labels).encode(),
    }
    _write(folder, files)
    return Identity(**settings, key=key, certificate=certificate, fingerprint=fingerprint_of(certificate))


def load(folder: Path | str) -> Identity:
    """The node in a folder that ``create`` has made; ValueError, with what to do, if there is none.

    Its files must belong together, be whole, and nobody but their owner may read the key.
    """
    folder = Path(folder)
    if not (folder / KEY).exists():
        raise ValueError(
            f"{folder} must hold a node: run folkmoot node init {quote(str(folder))} --model FILE"
        )
    lost = [each for each in (CERTIFICATE, SETTINGS) if not (folder / each).exists()]
    if lost:
        raise ValueError(
            f"{folder} must hold {KEY}, {CERTIFICATE} and {SETTINGS}: there is no {lost[0]}; restore it, or "
            "make another node with folkmoot node init"
        )
    key = _read_key(folder / KEY)
    certificate = _read_certificate(folder / CERTIFICATE)
    if key_of(certificate).public_bytes_raw() != key.public_key().public_bytes_raw():
        raise ValueError(
            f"{folder / CERTIFICATE} must be of the key in {folder / KEY}: they do not belong together; "
            "restore the one that was replaced"
        )
    table = read_toml(folder / SETTINGS)
    try:
        settings = _settings(table)
        check_certificate(certificate, settings["name"])
    except ValueError as error:
        raise ValueError(f"{folder / SETTINGS}: {error}") from None
    return Identity(**settings, key=key, certificate=certificate, fingerprint=fingerprint_of(certificate))


def _settings(table: dict[str, Any]) -> dict[str, Any]:
    """What ``node.toml`` holds, checked."""
    for problem in check_keys(table, _KEYS + RUNNING, optional=("organisation", *RUNNING)):
        raise ValueError(problem)
    _parse_listen(table["listen"])
    return {
        "name": check_name(table["name"]),
        "organisation": check_organisation(table.get("organisation", "")),
        "listen": table["listen"],
        "addresses": check_addresses(table["addresses"]),
    }


def _reached_at(listen: str) -> list[str]:
    """Where others reach a node that has said only where it listens."""
    host, port = _parse_listen(listen)
    if is_everywhere(host) or port == 0:
        raise ArgumentError(
            "addresses must say how others reach a node that listens on {listen!s}: give {address=}",
            listen=listen,
            address="north.example:7654",
        )
    return [listen]


def _parse_listen(listen: object) -> tuple[str, int]:
    try:
        return parse_address(listen, any_port=True)
    except ValueError as error:
        raise ValueError(f"listen: {error}") from None


def _toml(
    settings: dict[str, Any], folder: Path, running: Mapping[str, str], labels: Mapping[str, str] | None
) -> str:
    lines = [
        f"{key} = {toml_string(running[key])}" if key in running else f"# {key} = {sample}"
        for key, sample in _SAMPLES.items()
    ]
    if labels is not None:
        lines += ["[labels]", *(f"{toml_string(own)} = {toml_string(name)}" for own, name in labels.items())]
    lines += ["# [policy]", "# most_rounds = 500", ""]
    return (
        "# Made by folkmoot node init. When the node moves, change listen (where it waits for others) and\n"
        "# addresses (where they reach it) here, and addresses in everybody's roster.\n"
        f"name = {toml_string(settings['name'])}\n"
        f"organisation = {toml_string(settings['organisation'])}\n"
        f"listen = {toml_string(settings['listen'])}\n"
        f"addresses = {toml_strings(settings['addresses'])}\n"
        "\n"
        f"{_exported(folder)}"
        "# What folkmoot node run needs may stand here too; paths are seen from this folder.\n"
    ) + "\n".join(lines)


def _exported(folder: Path) -> str:
    """What an estimator has exported into the folder, as lines of node.toml; nothing if it has not."""
    lines = exported_lines(read_exported(folder))
    return "\n".join(["# Exported by an estimator.", *lines, "", ""]) if lines else ""


def _write(folder: Path, files: dict[str, bytes]) -> None:
    """New files that only their owner can read, from the moment they exist; none of them if one fails."""
    there = [each for each in files if (folder / each).exists()]
    if KEY in there:
        raise ValueError(f"{folder} has a node already: give another folder, or keep that node")
    if there:
        raise ValueError(f"{folder} has a {there[0]} already: give another folder")
    made: list[Path] = []
    new = not folder.exists()
    if new:
        if not folder.parent.is_dir():
            raise ValueError(f"{folder} must be in a folder that exists: there is no {folder.parent}")
        folder.mkdir(mode=0o700)
    try:
        for name, data in files.items():
            handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            made.append(folder / name)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
    except BaseException:
        for path in made:
            path.unlink(missing_ok=True)
        if new:
            with suppress(OSError):  # somebody else has put something there
                folder.rmdir()
        raise


def _read_key(path: Path) -> Ed25519PrivateKey:
    with path.open("rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if mode & 0o077:
            raise ValueError(
                f"{path} must be readable by its owner only: run chmod 600 {quote(str(path))} "
                f"(its mode is {mode:o})"
            )
        data = file.read()
    try:
        key = load_pem_private_key(data, password=None)
    except TypeError:
        raise ValueError(f"{path} must be a key without a password: it asks for one") from None
    except Exception:  # cryptography has no common base for what can be wrong with a file
        raise ValueError(
            f"{path} must be an Ed25519 private key in PEM: it is damaged, so restore it"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError(f"{path} must be an Ed25519 private key: it is of another kind")
    return key


def _read_certificate(path: Path) -> bytes:
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes()).public_bytes(Encoding.DER)
        key_of(certificate)
    except ValueError:
        raise ValueError(
            f"{path} must be a certificate of an Ed25519 key in PEM: it is damaged, so restore it"
        ) from None
    return certificate

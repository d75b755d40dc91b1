"""Fields of a network's files: names, organisations and addresses, checked, and TOML read and written.

Every failure is one line that shows the value and says what was expected.
"""

from __future__ import annotations

import ipaddress
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from folkmoot import checks

Kind = TypeVar("Kind")

LONGEST_ORGANISATION = 200
MOST_ADDRESSES = 16

NAME = "[A-Za-z0-9._-]{1,64}"
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,252})")
_PORT = re.compile(r"[0-9]{1,5}")
_UNSHOWN = ("Cc", "Cs", "Zl", "Zp")  # control characters, lone surrogates, separators of lines


def check_name(name: object) -> str:
    """A participant's name: short, and the same in every file, terminal and certificate."""
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        raise checks.ArgumentError(
            "{name} must be 1 to 64 letters (a to z), digits, '-', '_' or '.': got {name!r}", name=name
        )
    return name


def check_organisation(organisation: object) -> str:
    """An organisation's name, in any script; it must fit on a line and cannot steer a terminal."""
    if not isinstance(organisation, str):
        raise ValueError(f"organisation must be text: got {organisation!r}")
    if len(organisation) > LONGEST_ORGANISATION:
        raise ValueError(
            f"organisation must have at most {LONGEST_ORGANISATION} characters: got {len(organisation)}"
        )
    unshown = next((each for each in organisation if unicodedata.category(each) in _UNSHOWN), None)
    if unshown is not None:
        raise ValueError(f"organisation must be one line without control characters: got {unshown!r} in it")
    return organisation


def check_addresses(addresses: object) -> tuple[str, ...]:
    """The addresses of a participant, each HOST:PORT; at least one."""
    if isinstance(addresses, str) or not isinstance(addresses, Iterable):
        raise ValueError(f'addresses must be a list such as ["north.example:7654"]: got {addresses!r}')
    found = tuple(addresses)
    if not found:
        raise ValueError('addresses must name at least one HOST:PORT, such as "north.example:7654": got none')
    if len(found) > MOST_ADDRESSES:
        raise ValueError(f"addresses must be at most {MOST_ADDRESSES}: got {len(found):,}")
    for address in found:
        host, _ = parse_address(address)
        if is_everywhere(host):
            raise ValueError(f"addresses must be reachable by others: nobody can reach {address!r}")
    if len(set(found)) < len(found):
        twice = next(each for each in found if found.count(each) > 1)
        raise ValueError(f"addresses must differ: got {twice!r} twice")
    return found


def parse_address(text: object, *, any_port: bool = False) -> tuple[str, int]:
    """Take ``HOST:PORT`` apart; an IPv6 host is in brackets, and port 0 stands for any one.

    Examples
    --------
    >>> from folkmoot.node.membership.fields import parse_address
    >>> parse_address("north.example:7654")
    ('north.example', 7654)
    >>> parse_address("[::1]:7654")
    ('::1', 7654)
    """
    wanted = "address must be HOST:PORT, such as north.example:7654, 192.0.2.1:7654 or [::1]:7654"
    if not isinstance(text, str):
        raise ValueError(f"{wanted}: got {text!r}")
    host, _, port = text.rpartition(":")
    if not host:
        raise ValueError(f"{wanted}: got {text!r}")
    least = 0 if any_port else 1
    if not _PORT.fullmatch(port) or not least <= int(port) <= 65535:
        raise ValueError(f"{wanted}, with a port from {least} to 65535: got {text!r}")
    version: type[ipaddress.IPv4Address | ipaddress.IPv6Address]
    if host.startswith("[") and host.endswith("]"):
        host, version = host[1:-1], ipaddress.IPv6Address
    elif ":" in host:
        raise ValueError(f"{wanted}, with brackets around an IPv6 host: got {text!r}")
    elif not host.strip("0123456789."):
        version = ipaddress.IPv4Address
    elif _HOST.fullmatch(host):
        return host, int(port)
    else:
        raise ValueError(f"{wanted}, with a host of letters, digits, '-' and '.': got {text!r}")
    try:
        version(host)
    except ValueError as error:
        raise ValueError(f"{wanted}: got {text!r} ({error})") from None
    return host, int(port)


def is_everywhere(host: str) -> bool:
    """Does the host stand for all interfaces (0.0.0.0, ::), so that nobody can connect to it by that name?"""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    return parse_toml(path.read_bytes(), str(path))


def parse_toml(data: bytes, what: str) -> dict[str, Any]:
    """The tables of a TOML document; ``what`` names it where it is none."""
    try:
        text = data.decode("utf-8-sig")  # some editors put a mark before the first line
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{what} must be text in UTF-8: line {line} is not") from None
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"{what} must be TOML: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{what} must be TOML: {error}") from None


_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}


def converted(value: object, kind: type[Kind], what: str = "") -> Kind:
    """A table of a file as a struct; ValueError with the place in it, what it must be, and what it is."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        said, place = re.fullmatch(r"(.*?)(?: - at `\$(.*)`)?", str(error), re.DOTALL).groups("")  # type: ignore[union-attr]
        numbered = re.sub(
            r"\[(\d+|\.\.\.)\]", lambda at: "" if at[1] == "..." else f" {int(at[1]) + 1}", place
        )
        where = [each for each in (what, *numbered.split(".")) if each]
        field = re.fullmatch("Object (missing required|contains unknown) field `(.*)`", said)
        expected = re.fullmatch(r"Expected `(.*?)`(.*?)(, got `\w+`)?", said)
        if field is not None and field[1] == "missing required":
            said = f"{field[2]} is missing"
        elif field is not None:
            known = "" if place else f" one of {', '.join(getattr(kind, '__struct_fields__', ()))}"
            said = f"{field[2]!r} must be{known or ' left out'}"
        elif expected is not None:
            kinds = [_WORDS.get(each, each) for each in expected[1].split(" | ") if each != "null"]
            must = f"must be {' or '.join(kinds)}{expected[2]}{_found(value, place)}"
            said = f"{where.pop()} {must}" if where else f"it {must}"
        raise ValueError(": ".join([*where, said])) from None


def _found(value: Any, place: str) -> str:
    """What is at a place such as ``.approved[0].schema``; msgspec does not name the keys of mappings."""
    for name, index in re.findall(r"\.(\w+)|\[(.+?)\]", place):
        if index == "...":
            return ""
        value = value[int(index)] if index else value[name]
    return f": got {value!r:.80}"


def check_keys(table: Mapping[str, object], known: Iterable[str], optional: Iterable[str] = ()) -> list[str]:
    """Problems with the keys of a table, one line each: missing keys, unknown keys."""
    keys, spare = list(known), set(optional)
    return [f"{key} is missing" for key in keys if key not in table and key not in spare] + [
        f"{key!r} must be one of {', '.join(keys)}" for key in table if key not in keys
    ]


def toml_string(text: str) -> str:
    """A basic string of TOML, on one line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    if escaped.isascii() and escaped.isprintable():  # a certificate has hundreds of such characters
        return f'"{escaped}"'
    return '"' + "".join(map(_escaped, escaped)) + '"'


def toml_strings(texts: Iterable[str]) -> str:
    """An array of strings, on one line."""
    return "[" + ", ".join(toml_string(each) for each in texts) + "]"


def _escaped(character: str) -> str:
    if unicodedata.category(character) not in (*_UNSHOWN, "Cf"):  # formats: marks of direction, for one
        return character
    return f"\\u{ord(character):04X}" if ord(character) < 0x10000 else f"\\U{ord(character):08X}"

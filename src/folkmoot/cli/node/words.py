"""Options that the commands of a node share, and the node that ``--node`` names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Final

import typer


def option(
    name: str, about: str, metavar: str | None = None, *,
    default: str | bool = True, panel: str | None = None, **more: Any,
) -> Any:  # fmt: skip
    """An option; ``default`` is what its help says of it, ``panel`` the group in which it stands."""
    return typer.Option(
        name, help=about, metavar=metavar, show_default=default, rich_help_panel=panel, **more
    )


_SIZES: Final = {"MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_LEAST: Final = 10 << 20

_NODE_HELP: Final = "A node: its folder, or http://HOST:PORT of its page."
Node = Annotated[str, option("--node", _NODE_HELP, "DIR|URL")]
NodeIfAny = Annotated[str | None, option("--node", _NODE_HELP, "DIR|URL")]
Token = Annotated[
    Path | None,
    option("--token", "With --node URL: a copy of the file 'token' of the node's folder.", "FILE"),
]
_ROSTER_HELP: Final = "The roster of the moot."
Roster = Annotated[
    Path | None,
    option("--roster", _ROSTER_HELP, "FILE", default="as in node.toml"),
]
RosterFile = Annotated[Path, option("--roster", _ROSTER_HELP, "FILE")]
_LISTEN_HELP: Final = "Where a node waits for other members."
Listen = Annotated[
    str | None,
    option("--listen", _LISTEN_HELP, "HOST:PORT", default="as in node.toml"),
]
ListenAt = Annotated[str, option("--listen", _LISTEN_HELP, "HOST:PORT")]
ListenAlso = Annotated[
    list[str] | None,
    option("--listen", _LISTEN_HELP, "HOST:PORT"),
]


def address_typed(text: str, option: str, *, any_port: bool = False) -> str:
    """An address as it was typed; ValueError with the option if it is none."""
    from folkmoot.node.membership.fields import parse_address

    try:
        parse_address(text, any_port=any_port)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None
    return text


def bytes_of(text: str, option: str) -> int:
    """Bytes, 10MB at least; ValueError with what was typed."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(MB|GB|TB)\s*", text, re.IGNORECASE)
    size = int(float(match[1]) * _SIZES[match[2].upper()]) if match else 0
    if size < _LEAST:
        raise ValueError(f"{option} must be a size of at least 10MB, such as 500MB or 2GB: got {text!r}")
    return size

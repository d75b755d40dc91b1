"""Options that the commands of a node share, and the node that ``--node`` names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

import typer

_SIZES: Final = {"MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_LEAST: Final = 10 << 20

_NODE_HELP: Final = "A node: its folder, or http://HOST:PORT of its page."
Node = Annotated[str, typer.Option("--node", metavar="DIR|URL", help=_NODE_HELP)]
NodeIfAny = Annotated[
    str | None, typer.Option("--node", metavar="DIR|URL", help=_NODE_HELP, show_default=False)
]
Token = Annotated[
    Path | None,
    typer.Option(
        "--token",
        metavar="FILE",
        help="With --node URL: a copy of the file 'token' of the node's folder.",
        show_default=False,
    ),
]
_ROSTER_HELP: Final = "The roster of the moot."
Roster = Annotated[
    Path | None,
    typer.Option("--roster", metavar="FILE", help=_ROSTER_HELP, show_default="as in node.toml"),
]
RosterFile = Annotated[Path, typer.Option("--roster", metavar="FILE", help=_ROSTER_HELP)]
_LISTEN_HELP: Final = "Where a node waits for other members."
Listen = Annotated[
    str | None,
    typer.Option("--listen", metavar="HOST:PORT", help=_LISTEN_HELP, show_default="as in node.toml"),
]
ListenAt = Annotated[str, typer.Option("--listen", metavar="HOST:PORT", help=_LISTEN_HELP)]
ListenAlso = Annotated[
    list[str] | None,
    typer.Option("--listen", metavar="HOST:PORT", help=_LISTEN_HELP, show_default=False),
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

"""Options that the commands of a node share, and the node that ``--node`` names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

import typer

_SIZES: Final = {"MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_LEAST: Final = 10 << 20

Node = Annotated[
    str,
    typer.Option("--node", metavar="DIR|URL", help="A node: its folder, or http://HOST:PORT of its page."),
]
Token = Annotated[
    Path | None,
    typer.Option(
        "--token",
        metavar="FILE",
        help="With --node URL: a copy of the file 'token' in the node's folder.",
        show_default=False,
    ),
]
Roster = Annotated[
    Path | None,
    typer.Option("--roster", metavar="FILE", help="Who takes part.", show_default="as in node.toml"),
]


def bytes_of(text: str, option: str) -> int:
    """Bytes, 10MB at least; ValueError with what was typed."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(MB|GB|TB)\s*", text, re.IGNORECASE)
    size = int(float(match[1]) * _SIZES[match[2].upper()]) if match else 0
    if size < _LEAST:
        raise ValueError(f"{option} must be a size of at least 10MB, such as 500MB or 2GB: got {text!r}")
    return size

"""Options that the commands of a node share, and the node that ``--node`` names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from folkmoot.node.client import Client


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


def client_of(node: str, token: Path | None) -> Client:
    """A client of the node that ``--node`` names."""
    from folkmoot.node.client import Client

    given = token_of(node, token)
    if "://" not in node and not (Path(node) / "node.toml").is_file():
        raise ValueError(
            f"--node must be the folder of a node, or such as http://127.0.0.1:7700: no node is in {node}"
        )
    return Client(node, given)


def token_of(node: str, file: Path | None) -> str:
    """The token in the file of ``--token``; a folder needs none."""
    if file is None:
        return ""
    if "://" not in node:
        raise ValueError(f"--token must be given with --node URL only: got --node {node or 'nothing'}")
    return file.read_text(encoding="utf-8").strip()


@contextmanager
def opened(node: str, token: Path | None = None) -> Iterator[Client]:
    """A node that runs, or the folder of one that does not."""
    from folkmoot.node.client import NodeAwayError

    client = client_of(node, token)
    try:
        client.access()
    except NodeAwayError:
        if "://" in node:
            raise
    else:
        yield client
        return
    from folkmoot.node.web.stored import stored

    with stored(Path(node)) as folder:
        yield folder

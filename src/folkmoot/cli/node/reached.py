"""The node that a command rounds to: over its door while it runs, else what its folder holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from folkmoot.node.client import Client


def client_of(node: str, token: Path | None) -> Client:
    """The door of a node that runs."""
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

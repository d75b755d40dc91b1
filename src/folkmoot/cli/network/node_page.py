"""``folkmoot node page``: where the page of a running node is; the token is for a terminal only."""

from __future__ import annotations

from typing import Annotated

import typer

from folkmoot.cli.network.init_node import Folder, check_node
from folkmoot.cli.options import Json
from folkmoot.cli.output import on_terminal, print_json, say


def page(
    folder: Folder,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="With the token that may only read, to show it to others.")
    ] = False,
    json: Json = False,
) -> None:
    """Print the address of the page of a running node; its token is shown on a terminal only."""
    from folkmoot.network.service.operation import is_running
    from folkmoot.web.page import opened_at

    check_node(folder)
    if not is_running(folder):
        raise ValueError(
            f"the node in {folder} is not running: start it with "
            f"folkmoot node run {folder} --page 127.0.0.1:7700"
        )
    where = opened_at(folder, read_only=read_only)
    seen = on_terminal()
    if json:
        address = where.address if seen else None
        print_json({"url": where.url, "token_file": str(where.token_file), "address": address})
    elif seen:
        say(where.address)
    else:
        say(where.url)
        say(
            f"the address with its token is shown on a terminal only; the token is in {where.token_file}",
            error=True,
        )

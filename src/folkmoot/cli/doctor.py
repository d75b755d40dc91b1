"""``folkmoot doctor``: what is wrong with this installation and with a node, and what to type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from folkmoot.cli.node.options import ListenAlso, NodeIfAny, Token, token_of
from folkmoot.cli.options import Json
from folkmoot.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from folkmoot.doctor.examining import Finding

BROKEN = 1
_SHOWN = {"ok": "ok", "note": "note", "missing": "optional", "broken": "BROKEN"}


def doctor(
    node: NodeIfAny = None,
    token: Token = None,
    listen: ListenAlso = None,
    json: Json = False,
) -> None:
    """Look for what is broken on this machine or at a node.

    It looks at versions, extras, the compiler cache, clock and limits; --node adds that node.
    --listen may be repeated; it looks whether a node could listen there. The exit code is 1 if something is
    broken.
    """
    from folkmoot.doctor.examining import examine

    found = examine(node, listen or [], token=token_of(node or "", token))
    if json:
        print_json(found.to_dict())
    else:
        _print("this machine", found.machine)
        if node is not None:
            _print(f"the node {'at' if '://' in node else 'in'} {node}", found.node)
        say(_summary(found.count("broken"), found.count("missing")))
    if not found.fine:
        raise typer.Exit(BROKEN)


def _print(title: str, findings: tuple[Finding, ...]) -> None:
    rows = [[each.what, _SHOWN[each.state], each.note] for each in findings]
    mending = [f"{each.what}: {each.fix}" for each in findings if each.fix]  # on lines that can be copied
    print_table(title, ["what", "", "note"], rows, mending, words=True)


def _summary(broken: int, missing: int) -> str:
    optional = f"{missing} optional {'thing is' if missing == 1 else 'things are'} not installed"
    if broken:
        return (
            f"{broken} {'thing is' if broken == 1 else 'things are'} broken: see the lines above; {optional}"
        )
    return f"nothing is broken; {optional}"

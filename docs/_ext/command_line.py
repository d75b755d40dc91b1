"""``commands``: every command with its arguments and options, read from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata
from typer.main import get_command

from folkmoot.cli.app import app as folkmoot
from folkmoot.cli.options import ListingCommand


def commands() -> Iterator[tuple[str, Any, Any]]:
    """Each command that does something, by what is typed: ``folkmoot node run``; with its context."""
    yield from _inside("folkmoot", get_command(folkmoot), None)


def _inside(typed: str, command: Any, above: Any) -> Iterator[tuple[str, Any, Any]]:
    context = command.make_context(typed, [], parent=above, resilient_parsing=True)
    yield typed, command, context
    if hasattr(command, "list_commands"):
        for name in command.list_commands(context):
            _, found, _ = command.resolve_command(context, [name])
            yield from _inside(f"{typed} {name}", found, context)


def _paragraphs(text: str) -> list[nodes.Node]:
    return [nodes.paragraph("", " ".join(part.split())) for part in text.split("\n\n") if part.strip()]


class Commands(SphinxDirective):
    """A section for each command."""

    def run(self) -> list[nodes.Node]:
        """Sections by what is typed."""
        made: list[nodes.Node] = []
        for typed, command, context in commands():
            section = nodes.section(ids=[typed.replace(" ", "-")], names=[typed])
            section += nodes.title("", typed)
            usage = " ".join([typed, *command.collect_usage_pieces(context)])
            section += nodes.literal_block(usage, usage)
            section += _paragraphs(inspect.cleandoc(command.help or ""))
            with command.naming() if isinstance(command, ListingCommand) else nullcontext():
                told = [param.get_help_record(context) for param in command.params]
            if any(told):
                section += _options([each for each in told if each])
            made.append(section)
        return made


def _options(told: list[tuple[str, str]]) -> nodes.Node:
    rows = nodes.definition_list(classes=["options"])
    for typed, about in told:
        term = nodes.term("", "", nodes.literal("", typed))
        rows += nodes.definition_list_item(
            "", term, nodes.definition("", nodes.paragraph("", " ".join(about.split())))
        )
    return rows


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

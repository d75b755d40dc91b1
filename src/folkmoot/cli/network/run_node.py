"""``folkmoot node run`` and ``folkmoot node check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.network.durations import bytes_of
from folkmoot.cli.network.init_node import Folder
from folkmoot.cli.options import Json
from folkmoot.cli.output import print_json, print_table, say_secret

if TYPE_CHECKING:
    from folkmoot.network.service.operation import Face

RosterFile = Annotated[
    Path | None,
    typer.Option("--roster", metavar="ROSTER.toml", help="Who takes part.", show_default="as in node.toml"),
]
Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="TYPE", help="A type that a skops file may hold; may be repeated."),
]
TrustPickle = Annotated[
    bool, typer.Option("--trust-pickle", help="Load a pickled model, which can run any code of its maker.")
]
NoSandbox = Annotated[
    bool,
    typer.Option(
        "--no-sandbox",
        help="Load a model file in the node's own process, where it can do all that the node can.",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="A .skops or .onnx file, or package.module:function from a 2-d array to labels.",
        show_default="as in node.toml",
    ),
]
Listen = Annotated[
    str | None,
    typer.Option("--listen", metavar="HOST:PORT", help="Where to listen.", show_default="as in node.toml"),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="FILE",
        help="Names, units and ranges of the model's columns, in its order.",
        show_default="MODEL.schema.toml beside the model, if it is there",
    ),
]


def run(
    folder: Folder,
    roster: RosterFile = None,
    model: ModelOption = None,
    allow: Allow = None,
    trust_pickle: TrustPickle = False,
    listen: Listen = None,
    control: Annotated[
        str | None,
        typer.Option(
            "--control",
            metavar="HOST:PORT",
            help="Also let users of this machine that have the token ask here (on loopback).",
            show_default=False,
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            "--metrics", metavar="HOST:PORT", help="Serve /metrics on loopback.", show_default=False
        ),
    ] = None,
    page: Annotated[
        str | None,
        typer.Option(
            "--page",
            metavar="HOST:PORT",
            help="Show the node there: a page for people, an API for programs (loopback only).",
            show_default=False,
        ),
    ] = None,
    page_behind_tls: Annotated[
        str | None,
        typer.Option(
            "--page-behind-tls",
            metavar="NAME",
            help="The name under which a proxy with TLS serves the page to others: then any address will do.",
            show_default=False,
        ),
    ] = None,
    log_level: Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")] = "info",
    holdout: Annotated[
        Path | None,
        typer.Option(
            "--holdout",
            metavar="FILE",
            help="Labelled rows that the model has not seen, or label,answer (.npz or table): for --trust.",
            show_default=False,
        ),
    ] = None,
    disk: Annotated[
        str,
        typer.Option(
            "--disk",
            metavar="SIZE",
            help="How much it may store, such as 500MB; when it is full, old motions are forgotten.",
        ),
    ] = "4GB",
    schema: SchemaFile = None,
    no_sandbox: NoSandbox = False,
) -> None:
    """Run the node until Ctrl-C; the log is JSON on stderr, a line an event."""
    from folkmoot.network.service.node_file import read_node_file
    from folkmoot.network.service.operation import Settings
    from folkmoot.network.service.operation import run as run_node

    most = bytes_of(disk, "--disk")
    faces = _faces(page, page_behind_tls)
    told = read_node_file(folder)
    run_node(
        Settings(
            folder,
            told.chosen_roster(roster),
            told.chosen_model(model),
            allow or told.allow,
            trust_pickle,
            listen,
            control,
            metrics,
            log_level,
            holdout or told.holdout,
            most,
            told.labels,
            told.policy,
            told.chosen_schema(schema),
            told.weights,
            not no_sandbox,
        ),
        faces=faces,
    )


def _faces(page: str | None, behind_tls: str | None) -> list[Face]:
    if page is None:
        if behind_tls is not None:
            raise ValueError(
                "--page-behind-tls must be given with --page HOST:PORT: there is no page without it"
            )
        return []
    from folkmoot.web.page import Page

    return [Page(page, behind_tls, say_secret)]


def check(
    folder: Folder,
    roster: RosterFile = None,
    model: Annotated[
        str | None,
        typer.Option("--model", help="A model to try as well.", show_default="as in node.toml"),
    ] = None,
    allow: Allow = None,
    trust_pickle: TrustPickle = False,
    listen: Listen = None,
    schema: SchemaFile = None,
    no_sandbox: NoSandbox = False,
    json: Json = False,
) -> None:
    """Say what is wrong before the node is started: key, port, model, roster, peers, clock."""
    import asyncio

    from folkmoot.network.service.check import Check
    from folkmoot.network.service.check import check as look
    from folkmoot.network.service.node_file import read_node_file
    from folkmoot.network.service.operation import Settings

    told = read_node_file(folder)
    model = model or told.model or ""
    settings = Settings(
        folder,
        told.chosen_roster(roster),
        model,
        allow or told.allow,
        trust_pickle,
        listen,
        labels=told.labels,
        schema=told.chosen_schema(schema),
        weights=told.weights,
        policy=told.policy,
        holdout=told.holdout,
        sandbox=not no_sandbox,
    )

    async def all_lines() -> list[Check]:
        return [line async for line in look(settings)]

    lines = asyncio.run(all_lines())
    wrong = [line for line in lines if not line.fine]
    if json:
        each = [{"what": line.what, "fine": line.fine, "note": line.note} for line in lines]
        print_json({"fine": not wrong, "checks": each})
    else:
        rows = [[line.what, "ok" if line.fine else "WRONG", line.note] for line in lines]
        print_table(f"node in {folder}", ["what", "", "note"], rows, words=True)
    if wrong:
        what = ", ".join(line.what for line in wrong)
        raise ValueError(f"{len(wrong)} of {len(lines)} checks failed ({what}); see above")

"""``folkmoot node init``: a key, a folder, what the model takes; and the one line to send."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from folkmoot.cli.node.options import ListenAt, RosterFile, address_typed, option
from folkmoot.cli.options import Json
from folkmoot.cli.output import print_json, say

if TYPE_CHECKING:
    from folkmoot.node.wire.schema import Schema

SCHEMA: Final = "model.schema.toml"  # in the node's folder
LINE: Final = ".line"  # the ending of the file with a node's line


def init(
    folder: Annotated[
        Path,
        typer.Argument(metavar="NAME", help="The node's name; its folder is made here.", show_default=False),
    ],
    model: Annotated[
        str | None,
        option(
            "--model",
            "The model: .skops, .onnx, a .toml with a table for it, or package.module:function.",
            "FILE",
            default="that of exported.toml in the folder",
        ),
    ] = None,
    label_map: Annotated[
        Path | None,
        option(
            "--label-map",
            'The moot\'s name of each label of the model: lines such as 0 = "no".',
            "FILE",
            default="as the model does",
        ),
    ] = None,
    columns: Annotated[
        Path | None,
        option(
            "--columns",
            "A table whose header names the model's columns in order, beside 'label' if there is one.",
            "TABLE",
            default="as the model does",
        ),
    ] = None,
    holdout: Annotated[
        Path | None,
        option("--holdout", "Labelled rows that the model has not seen.", "FILE"),
    ] = None,
    organisation: Annotated[
        str,
        option("--organisation", "The organisation that runs the node; any text."),
    ] = "",
    listen: ListenAt = "127.0.0.1:7654",
    address: Annotated[
        list[str] | None,
        option(
            "--address",
            "Address at which others reach the node; may be repeated.",
            "HOST:PORT",
            default="that of --listen",
        ),
    ] = None,
    roster: RosterFile = Path("roster.toml"),
    json: Json = False,
) -> None:
    """Make a node: its key, its folder, and the one line for the roster."""
    from folkmoot.node.membership.exported import EXPORTED, exported_lines, read_exported
    from folkmoot.node.membership.identity import create
    from folkmoot.node.storage.storage import create_storage

    taken = read_exported(folder) if folder.is_dir() else {}
    if model is None and "model" not in taken:
        raise ValueError("--model must name the model of the node: give --model FILE.skops, or FILE.onnx")
    address_typed(listen, "--listen", any_port=True)
    for each in address or []:
        address_typed(each, "--address")
    if holdout is not None and not holdout.is_file():
        raise ValueError(f"--holdout must be a file of labelled rows: there is no {holdout}")
    names = None if label_map is None else _labels(label_map)
    schema = () if model is None else _schema(model, columns, names)
    running: dict[str, str] = {"roster": _seen_from(folder, roster)}
    if model is not None:
        running["model"] = model if ":" in model else _seen_from(folder, Path(model))
    if schema:
        running["schema"] = SCHEMA
    if holdout is not None:
        running["holdout"] = _seen_from(folder, holdout)
    name, addresses = folder.resolve().name, address or None
    made = create(
        folder, name=name, organisation=organisation, listen=listen, addresses=addresses, running=running,
        labels=names,
    )  # fmt: skip
    create_storage(folder, made.fingerprint, time.time())
    if schema:
        from folkmoot.node.service.input_files import schema_text

        (folder / SCHEMA).write_text(schema_text(schema), encoding="utf-8")
    line = made.member().line()
    file = folder / (made.name + LINE)
    file.write_text(line + "\n", encoding="utf-8")
    if json:
        print_json(
            {"folder": str(folder), "name": made.name, "fingerprint": made.fingerprint, "line": line}
            | {"file": str(file), "columns": [column.name for column in schema], "exported": taken}
        )
        return
    say(line)
    if taken:
        say(f"took over from {folder / EXPORTED}: {'; '.join(exported_lines(taken))}", error=True)
    say(
        f"made a node in {folder}; its key must never leave that folder",
        f"send the line above, which is also in {file}, to who makes the roster: folkmoot roster make *.line",
        error=True,
    )


def _labels(path: Path) -> dict[str, str]:
    """What the moot calls each label of the model, as a file says."""
    from folkmoot.node.membership.fields import read_toml
    from folkmoot.node.service.node_file import label_map

    try:
        return label_map(read_toml(path))
    except ValueError as error:
        raise ValueError(f"--label-map {path}: {error}") from None


def _schema(model: str, columns: Path | None, labels: dict[str, str] | None) -> Schema:
    """The columns of the model, by itself or by a table; it is loaded in a sandbox to see that it can be."""
    from tempfile import TemporaryDirectory

    from folkmoot.files.tabular import open_table
    from folkmoot.node.service.holdout import LABEL
    from folkmoot.node.service.input_files import schema_beside
    from folkmoot.node.service.models import load_model
    from folkmoot.node.service.node_file import ModelTable
    from folkmoot.node.wire.schema import Column

    with TemporaryDirectory() as hidden:
        loaded = load_model(ModelTable("file", model, labels=labels), hidden=Path(hidden))
        if schema_beside(model) is not None and columns is None:
            return ()  # the node finds that file by itself
        if columns is None:
            return loaded.schema
        with open_table(columns) as table:
            found = tuple(Column(name) for name in table.columns if name != LABEL)
        loaded.declare(found, str(columns))
        return found


def _seen_from(folder: Path, path: Path) -> str:
    return os.path.relpath(path.resolve(), folder.resolve())

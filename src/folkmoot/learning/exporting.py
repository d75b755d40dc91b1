"""A fitted moot as folders, one a participant: what its node needs to take its place in a real moot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np
from sklearn.dummy import DummyClassifier

from folkmoot.arrays import Array
from folkmoot.files.durable import replace_file
from folkmoot.files.skops_files import error_text, write_skops
from folkmoot.learning.participants import Participant

MODEL: Final = "model.skops"
SCHEMA: Final = "model.schema.toml"
HOLDOUT: Final = "holdout.npz"
EXPORTED: Final = "exported.toml"  # lines that ``folkmoot node init`` takes over into node.toml
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, eq=False)
class Exported:
    """The contents of one participant's folder."""

    participant: Participant
    model: Any  # the model, as its node is to have it
    unseen: tuple[Array, Array] | None  # its answers on held-out rows
    comment: str  # a sentence about its answers
    lines: list[str] = field(default_factory=list)  # lines of ``exported.toml`` about them


def write_folders(
    folder: str | PathLike[str], exported: Sequence[Exported], columns: Sequence[str]
) -> list[Path]:
    """Write the folder of each participant; ``columns`` are the names of all columns, if they have names."""
    above = Path(folder)
    if not above.parent.is_dir():
        raise ValueError(f"folder must be in a folder that exists: there is no {above.parent}")
    names = [each.participant.name for each in exported]
    places = [above / name for name in folder_names(names)]
    taken = next((place for place in places if place.exists()), None)
    if taken is not None:
        raise ValueError(f"{taken} is there already: export into another folder, or take it away")
    for each in exported:
        if each.participant.columns is not None and not columns:
            raise ValueError(
                f"participant {each.participant.name!r} sees only some columns, and they have no names by "
                "which its node could find them: fit on a data frame"
            )
    above.mkdir(exist_ok=True)
    for each, place in zip(exported, places, strict=True):
        _write(each, place, columns)
    return places


def _write(each: Exported, place: Path, names: Sequence[str]) -> None:
    participant = each.participant
    place.mkdir(mode=0o700)
    try:
        write_skops(place / MODEL, each.model)
    except Exception as error:  # any model may be here
        raise ValueError(
            f"the model of {participant.name!r} cannot be written: {error_text(error)}"
        ) from error
    columns = [str(one) for one in participant.columns] if participant.columns is not None else names
    lines = [
        "# Of an estimator's participant; folkmoot node init takes these lines over into node.toml.",
        f"# {each.comment}",
        f'model = "{MODEL}"',
    ]
    if columns:
        text = "".join(f"[[column]]\nname = {_quoted(name)}\n\n" for name in columns)
        replace_file(place / SCHEMA, text.rstrip("\n").encode() + b"\n")
        lines.append(f'schema = "{SCHEMA}"')
    if each.unseen is not None:
        np.savez(place / HOLDOUT, y=each.unseen[0], answers=each.unseen[1])
        lines.append(f'holdout = "{HOLDOUT}"')
    replace_file(place / EXPORTED, "\n".join([*lines, *each.lines, ""]).encode())


def of_labels(participant: Participant, classes: Array, width: int | None) -> Exported:
    """A participant that knows one class has a model that says so of any row."""
    model = participant.model
    if participant.constant and width is not None:
        # It was made for any number of columns, without saying so.
        seen = width if participant.columns is None else len(participant.columns)
        model = DummyClassifier(strategy="most_frequent").fit(np.zeros((1, seen)), model.classes_[:1])
    every = ",".join(map(str, classes.tolist()))
    known = getattr(model, "classes_", classes)
    labels = [f"labels = [{', '.join(map(_value, known))}]"] if len(known) > 1 else []
    return Exported(
        participant,
        model,
        participant.unseen,
        f"The labels of the whole moot, for folkmoot ask --labels: {every}",
        labels,
    )


def of_numbers(participant: Participant) -> Exported:
    """A participant whose model gives numbers."""
    comment = "It gives numbers: ask with folkmoot ask --answers numbers."
    return Exported(participant, participant.model, participant.unseen, comment)


def folder_names(names: Sequence[str]) -> list[str]:
    """Names of nodes, made of those of participants: of allowed characters only, and different."""
    found: list[str] = []
    for name in names:
        plain = _UNSAFE.sub("-", name).strip(".")[:56] or "participant"
        candidate, number = plain, 2
        while candidate in found:
            candidate, number = f"{plain}-{number}", number + 1
        found.append(candidate)
    return found


def _value(label: Any) -> str:
    """A label as TOML has it; the node makes texts of labels by its own rule."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, int | float) else _quoted(str(value))


def _quoted(text: str) -> str:
    """A text of TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'

"""Settings that an estimator has exported for a node (``exported.toml``), as far as a node takes them over.

Somebody else may have written the file. So it may name files beside it and the labels of the model, and
nothing else. It names no function to call, no type to allow, no path that leaves the folder.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, Final

from folkmoot.node.membership.fields import read_toml, toml_string

EXPORTED: Final = "exported.toml"

# Files, by the endings of their names.
_FILES: Final = {
    "model": (".skops", ".onnx"),
    "schema": (".schema.toml",),
    "holdout": (".npz", ".csv"),
}
_KEYS: Final = (*_FILES, "labels")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def read_exported(folder: Path) -> dict[str, Any]:
    """Settings that a node takes over from an estimator; nothing if none has exported into its folder.

    ValueError if the file holds anything else, or names a file that is not in the folder itself.
    """
    path = folder / EXPORTED
    if not path.is_file():
        return {}
    table = read_toml(path)
    strange = [key for key in table if key not in _KEYS]
    if strange:
        raise ValueError(
            f"{path} must hold {', '.join(_KEYS)} only: got {', '.join(map(repr, strange))}; an estimator "
            "exports nothing else, so ask who gave you the folder, or delete it there"
        )
    for key, endings in _FILES.items():
        if key in table:
            _check_file(folder, key, table[key], endings)
    if "labels" in table:
        _check_labels(path, table["labels"])
    return table


def exported_lines(table: dict[str, Any]) -> list[str]:
    """The same as lines of ``node.toml``, written anew."""
    return [f"{key} = {_value(table[key])}" for key in _KEYS if key in table]


def _check_file(folder: Path, key: str, name: object, endings: tuple[str, ...]) -> None:
    path = folder / EXPORTED
    if not isinstance(name, str) or not _NAME.fullmatch(name) or not name.endswith(endings):
        raise ValueError(
            f"{path}: {key} must be the name of a file in the folder, ending in {' or '.join(endings)}: "
            f"got {name!r}"
        )
    if (folder / name).is_symlink() or not (folder / name).is_file():
        raise ValueError(f"{path}: {key} must be a file in {folder}: there is no {name}, or it is a link")


def _check_labels(path: Path, labels: object) -> None:
    if not isinstance(labels, list) or not all(
        isinstance(each, (str, int)) or (isinstance(each, float) and math.isfinite(each)) for each in labels
    ):
        raise ValueError(f"{path}: labels must be a list of texts or numbers: got {labels!r:.100}")


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return toml_string(value) if isinstance(value, str) else repr(value)

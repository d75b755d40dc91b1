"""Files with one JSON value or one text per line: ``.jsonl``, ``.txt``. A message names file and line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

JSON_LINES: Final = (".jsonl", ".ndjson")


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file in UTF-8 by number, without the blank ones."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError as error:
                byte = error.object[error.start]
                why = f"line {number} has the byte 0x{byte:02x}; save it as UTF-8"
                raise ValueError(f"{path} is not a text file in UTF-8: {why}") from None
            if text:
                yield number, text


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The JSON values in a file by the number of their line."""
    for number, line in text_lines(path):
        try:
            yield number, json.loads(line, parse_constant=_none_such, object_pairs_hook=_once)
        except (ValueError, RecursionError) as error:
            why = f"{path}, line {number}: expected one JSON value, got {line:.60}: {error}"
            raise ValueError(why) from None


def _none_such(name: str) -> None:
    raise ValueError(f"{name} is no JSON: write null")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands in it twice")
    return found

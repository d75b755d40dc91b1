"""Options that commands share, and how what is typed becomes a number: each refusal shows what was typed."""

from __future__ import annotations

from typing import Annotated

import typer


def whole_number(text: str) -> int:
    """Option parser: an integer, or a line that shows what was typed."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"expected a whole number, got {text!r}") from None


def seed_number(text: str) -> int:
    """Option parser: a seed that every source of randomness takes."""
    seed = whole_number(text)
    if not 0 <= seed < 2**32:
        raise typer.BadParameter(f"seed must satisfy 0 <= seed < 2^32, got {seed}")
    return seed


INT = {"parser": whole_number, "metavar": "<int>"}
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Seed = Annotated[
    int,
    typer.Option("--seed", help="The same seed, the same result.", parser=seed_number, metavar="<int>"),
]

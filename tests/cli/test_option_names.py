"""At the prompt an error names the option that was typed, in every command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from folkmoot.cli.app import COMMANDS, command_called
from folkmoot.cli.option_names import as_typed, options_of

OPTIONS = {
    "alpha": "--alpha",
    "k": "--k",
    "p": "--p",
    "check_rows": "--check-rows",
    "delta": "--delta",
    "q": "--q",
}


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            "alpha must satisfy k/2 < alpha <= k: got alpha=5, k=10",
            "--alpha must satisfy k/2 < alpha <= k: got --alpha 5, --k 10",
        ),
        ("p must satisfy 0 <= p <= 1: got p[2]=1.5", "--p must satisfy 0 <= p <= 1: got --p (value 3) 1.5"),
        (
            "check_rows must be a number: got check_rows='x y'",
            "--check-rows must be a number: got --check-rows 'x y'",
        ),
        (
            "give delta or q, not both: got delta=1, q=0.6",
            "give --delta or --q, not both: got --delta 1, --q 0.6",
        ),
        ("k is missing: such as k=10.", "--k is missing: such as --k 10."),
        ("the rule k/2 < alpha is broken", "the rule k/2 < alpha is broken"),
        ("n must satisfy n >= 1: got n=0", "n must satisfy n >= 1: got n=0"),  # no option of this command
        ("Slush(k=3, alpha=2) has no end", "Slush(k=3, alpha=2) has no end"),  # somebody's repr stays whole
        ("votes.csv:3: k=3 is no label", "votes.csv:3: --k 3 is no label"),
        ("pack=3 and risk=4", "pack=3 and risk=4"),
    ],
)
def test_names_become_options_and_formulas_stay(message: str, told: str) -> None:
    assert as_typed(message, OPTIONS) == told


def commands(command: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", None)
    if command is None:
        inner = {name: command_called(name) for name in COMMANDS}
    if inner is None:
        yield path, command
        return
    for name, each in inner.items():
        yield from commands(each, (*path, name))


@pytest.mark.parametrize(
    ("path", "command"), list(commands()), ids=lambda x: " ".join(x) if isinstance(x, tuple) else ""
)
def test_every_option_of_every_command_is_named_as_it_is_typed(path: tuple[str, ...], command: Any) -> None:
    options = options_of([*path, "--whatever", "value"])
    taking_a_value = [p for p in command.params if p.param_type_name == "option" and not p.is_flag]
    for parameter in taking_a_value:
        name, (typed, *_) = parameter.name, [text for text in parameter.opts if text.startswith("--")]
        told = as_typed(f"{name} must satisfy 0 < {name}: got {name}=-1", options)
        assert told == f"{typed} must satisfy 0 < {name}: got {typed} -1"
        # A number has our own parser, and so our own words where it is none.
        assert parameter.type.name not in {"integer", "float", "integer range", "float range"}
    for parameter in command.params:
        if parameter not in taking_a_value:  # flags and arguments are no name=value at the prompt
            assert parameter.name not in options


def test_what_python_calls_otherwise() -> None:
    assert as_typed("say which one it is with task=NAME", options_of(["deliberate"])) == (
        "say which one it is with --task-column NAME"
    )
    assert (
        as_typed("votes.csv:2: label is empty", options_of(["deliberate"])) == "votes.csv:2: label is empty"
    )
    assert as_typed("n_jobs must be -1 or more: got n_jobs=-5", options_of(["learn"])) == (
        "--jobs must be -1 or more: got --jobs -5"
    )
    assert options_of(["nothing"]) == options_of([])

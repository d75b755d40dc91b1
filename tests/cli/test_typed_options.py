"""At the prompt an error of the library names the option that was typed, in every command."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from folkmoot.checks import ArgumentError, integer, query
from folkmoot.cli.app import COMMANDS, command_called
from folkmoot.cli.typed_options import typed_options


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
    options = typed_options([*path, "--whatever", "value"])
    for parameter in command.params:
        typed = [text for text in parameter.opts if text.startswith("--")]
        if parameter.param_type_name != "option":
            assert parameter.name not in options
            continue
        error = ArgumentError(
            f"{{{parameter.name}}} must be: got {{{parameter.name}=}}", **{parameter.name: -1}
        )
        assert error.named(options) == f"{typed[0]} must be: got {typed[0]} -1"
        if not parameter.is_flag:  # a number has our own parser, and so our own words where it is none
            assert parameter.type.name not in {"integer", "float", "integer range", "float range"}


def test_names_of_no_option_stay_what_they_are_in_python() -> None:
    with pytest.raises(ArgumentError) as caught:
        query(10, 5)
    assert str(caught.value) == "alpha must satisfy k/2 < alpha <= k: got alpha=5, k=10"
    assert caught.value.named({"k": "--k"}) == "alpha must satisfy k/2 < alpha <= k: got alpha=5, --k 10"
    assert typed_options(["nothing"]) == typed_options([]) == {}


def test_values_are_shown_as_they_are() -> None:
    error = ArgumentError("{model} must be {known!s}: got {model!r}", known="rf or tree", model="{k=}'")
    assert error.named({"model": "--model"}) == '--model must be rf or tree: got "{k=}\'"'


def test_what_is_no_argument_is_told_by_its_name() -> None:
    with pytest.raises(ValueError, match=r"counts\[2\] must satisfy counts\[2\] >= 0: got counts\[2\]=-1"):
        integer("counts[2]", -1, least=0)


def test_what_python_calls_otherwise() -> None:
    column = ArgumentError("say which one it is with {task=}", task="NAME")
    assert column.named(typed_options(["deliberate"])) == "say which one it is with --task-column NAME"
    jobs = ArgumentError("{n_jobs} must be -1 or more: got {n_jobs=}", n_jobs=-5)
    assert jobs.named(typed_options(["learn"])) == "--jobs must be -1 or more: got --jobs -5"


def test_an_error_comes_back_from_another_process() -> None:
    error = ArgumentError("{k} must be above 0: got {k=}", k=0)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert str(again) == str(error)
    assert again.named({"k": "--k"}) == "--k must be above 0: got --k 0"

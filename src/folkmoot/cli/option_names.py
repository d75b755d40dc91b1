"""Errors as they are told at the prompt: by the option that was typed, not by Python's name for it.

Checks say ``alpha must satisfy k/2 < alpha <= k: got alpha=5, k=10``, which suits a caller in Python. At the
prompt the same line reads ``--alpha must satisfy k/2 < alpha <= k: got --alpha 5, --k 10``. Formulas stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

# What Python calls otherwise than the prompt does.
_CALLED: Final = {
    "n_jobs": "jobs",
    "random_state": "seed",
    "scoring": "score",
    "seconds": "deadline",
    "task": "task_column",
    "worker": "worker_column",
    "label": "label_column",
    "object": "object_column",
    "participant": "participant_column",
    "cluster": "cluster_column",
}
_CELLS: Final = ("task", "worker", "label", "object", "participant", "cluster")
_VALUE: Final = r"'[^']*'|\"[^\"]*\"|\([^)]*\)|\[[^\]]*\]|[^\s,;:()]*[^\s,;:().]|"
_CALL: Final = r"\b\w+\([^()]*\)"  # Slush(k=3, alpha=2) stays as it is
_VERB: Final = r"(?:must|is|are|needs|names|says|takes|has)\b"


def as_typed(message: str, options: Mapping[str, str]) -> str:
    """The message with options for Python's names: in ``name=value``, at its beginning, in "give A or B".

    ``options`` maps Python's names to what is typed.
    """
    if not options:
        return message
    names = "|".join(sorted(map(re.escape, options), key=len, reverse=True))
    told = re.sub(
        rf"{_CALL}|(?<![-\w.\[(])({names})(?:\[(\d+)\])?=({_VALUE})",
        lambda found: _told(options[found[1]], found[2], found[3]) if found[1] else found[0],
        message,
    )
    # "label is empty" is about a cell, not about --label-column.
    cells = [name for name in _CELLS if options.get(name) != f"--{name}"]
    own = "|".join(re.escape(name) for name in options if name not in cells)
    told = re.sub(rf"^({own})(?= {_VERB})", lambda found: options[found[1]], told)
    # "give delta or q, not both", "give one of test, test_groups and test_rows"
    return re.sub(
        rf"\bgive (?:one of )?(?:{names})(?:(?:, | or | and )(?:{names}))+\b",
        lambda found: re.sub(rf"(?<= )({names})\b", lambda name: options[name[1]], found[0]),
        told,
    )


def _told(option: str, place: str | None, value: str) -> str:
    which = "" if place is None else f" (value {int(place) + 1})"
    return f"{option}{which} {value}".rstrip()


def options_of(arguments: Sequence[str]) -> dict[str, str]:
    """The options with a value of the command that these arguments call, by Python's names."""
    from folkmoot.cli.app import COMMANDS, command_called

    name, *rest = arguments or [""]
    if name not in COMMANDS:
        return {}
    command: Any = command_called(name)
    for argument in rest:
        inner = getattr(command, "commands", {}).get(argument)
        if inner is None:
            break
        command = inner
    found = {}
    for parameter in command.params:
        typed = [name for name in parameter.opts if name.startswith("--")]
        if typed and not getattr(parameter, "is_flag", False):  # a flag has no value to name
            found[parameter.name] = typed[0]
    return found | {
        name: found[called] for name, called in _CALLED.items() if called in found and name not in found
    }

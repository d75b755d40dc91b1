"""The options of the command that was typed, by the names that Python has for them.

An ``ArgumentError`` of the library then names what the user typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

# What Python calls otherwise than the prompt does; of several options the first that the command has.
_CALLED: Final = {
    "aggregation": ("believe",),
    "adversaries": ("malicious",),
    "byzantine": ("malicious",),
    "n_jobs": ("jobs",),
    "random_state": ("seed",),
    "scoring": ("score",),
    "seconds": ("deadline",),
    "labels": ("classes",),
    "target": ("accuracy",),
    "voting": ("answers",),
    "task": ("task_column", "answers"),
    "worker": ("worker_column",),
    "label": ("label_column",),
    "object": ("object_column",),
    "participant": ("participant_column",),
    "cluster": ("cluster_column",),
}


def typed_options(arguments: Sequence[str]) -> dict[str, str]:
    """The options of the command that these arguments call, by Python's names."""
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
        if typed:
            found[parameter.name] = typed[0]
    for name, options in _CALLED.items():
        option = next((found[each] for each in options if each in found), None)
        if option is not None:
            found.setdefault(name, option)
    return found

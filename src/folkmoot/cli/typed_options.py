"""The options of the command that was typed, by the names that Python has for them.

An ``ArgumentError`` of the library then names what the user typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

# What Python calls otherwise than the prompt does.
_CALLED: Final = {
    "aggregation": "believe",
    "adversaries": "malicious",
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
    return found | {
        name: found[called] for name, called in _CALLED.items() if called in found and name not in found
    }

"""Models in Python, named ``module:object``: a function, an object with ``predict``, or a class of these.

It is code of this machine's owner. So it is not confined, but it may have a process of its own, which can be
ended when it takes too long.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from folkmoot.files.skops_files import error_text

_OBJECT: Final = re.compile(r"\w+(\.\w+)*:\w+(\.\w+)*")


def is_object(spec: str) -> bool:
    """Whether a model is named as an object of a module, and not as a file."""
    return _OBJECT.fullmatch(spec) is not None


def imported(spec: str) -> Callable[..., Any] | Any:
    """Import what is named: a function, or an object with ``predict``; ValueError if it is neither.

    A class is called without arguments.
    """
    name, _, attribute = spec.partition(":")
    make_current_folder_importable()
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
            raise ValueError(
                f"model {spec} must name a module that can be imported: there is no {error.name}, neither "
                "installed nor in the current folder"
            ) from None
        raise ValueError(
            f"model {spec} must name a module that can be imported: {error_text(error)}"
        ) from error
    try:
        found = functools.reduce(getattr, attribute.split("."), module)
    except AttributeError:
        raise ValueError(f"model {spec} must name something in {name}: there is no {attribute}") from None
    if inspect.isclass(found):
        try:
            found = found()
        except Exception as error:
            raise ValueError(
                f"model {spec} must be a class that needs no arguments: {error_text(error)}"
            ) from error
    if not callable(getattr(found, "predict", found)):
        raise ValueError(
            f"model {spec} must be a function, or an object with a method predict: {attribute} is a "
            f"{type(found).__name__}"
        )
    return found


def make_current_folder_importable() -> None:
    """As with ``python -m``; it stays so, for what a module imports only when it is called."""
    here = str(Path.cwd())
    if not {"", here} & set(sys.path):
        sys.path.insert(0, here)

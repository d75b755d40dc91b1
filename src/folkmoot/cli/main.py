"""Entry point: run the app and turn every failure into one line and an exit code.

Nothing heavy is imported before ``main`` runs, so that Ctrl-C says one line from the first moment.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import NoReturn

BAD_INPUT = 2
INTERRUPTED = 130


class InterruptedCommandError(Exception):
    """Ctrl-C, and what becomes of what a command has begun; typer keeps nothing of a KeyboardInterrupt."""


def main() -> NoReturn:
    """Run ``folkmoot`` with the arguments of this process."""
    try:
        code = _run()
        if code == INTERRUPTED:
            _say_interrupted()
        if sys.stdout is not None:  # closed by whoever started us
            sys.stdout.flush()
    except KeyboardInterrupt as interrupt:  # before the command ran, or with what becomes of it
        code = INTERRUPTED
        _say_interrupted(*map(str, interrupt.args))
    except BrokenPipeError:
        # The reader (say, ``head``) has gone; keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)


def _run() -> int:
    from typer import Abort, TyperException

    from folkmoot.cli.app import app
    from folkmoot.files.terminal import escape_the_rest

    escape_the_rest(sys.stdout)
    if os.environ.get("_FOLKMOOT_COMPLETE"):  # a shell asks what could come next
        from typer.completion import get_completion_inspect_parameters

        get_completion_inspect_parameters()  # makes the shells known
    try:
        result = app(prog_name="folkmoot", standalone_mode=False)
    except Abort:
        return INTERRUPTED
    except InterruptedCommandError as error:
        raise KeyboardInterrupt(str(error)) from None
    except TyperException as error:
        if not error.format_message():  # a bare command, whose help was printed
            return BAD_INPUT
        command = getattr(getattr(error, "ctx", None), "command_path", "folkmoot")
        message = error.format_message().rstrip(".")
        end = "" if message.endswith("?") else "."
        return _complain(f"{message}{end} Try '{command} --help'.")
    except BrokenPipeError:
        raise
    except MemoryError as error:
        return _complain(f"not enough memory: {error or 'try a smaller n'}")
    except (ValueError, TypeError, ArithmeticError, RuntimeError, OSError, ModuleNotFoundError) as error:
        if os.environ.get("FOLKMOOT_DEBUG"):
            raise
        if isinstance(error, OSError) and error.filename is not None:
            return _complain(f"{error.filename}: {error.strerror}")
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return _complain(
                f"{error.strerror}: what is written is not complete; make room, or write elsewhere"
            )
        return _complain(_told(error) or type(error).__name__)
    except Exception as error:
        # sqlite3's errors have no base above, and the module is loaded only by those who raise them.
        if type(error).__module__ != "sqlite3" or os.environ.get("FOLKMOOT_DEBUG"):
            raise
        return _complain(f"the database of the node cannot be used: {error}")
    return result if isinstance(result, int) else 0


def _say_interrupted(*more: str) -> None:
    if sys.stderr is not None:  # by print alone: Ctrl-C may come before anything is imported
        print("folkmoot: " + ": ".join(["interrupted", *more]), file=sys.stderr)


def _told(error: Exception) -> str:
    from folkmoot.checks import ArgumentError

    if isinstance(error, ModuleNotFoundError) and str(error).startswith("No module named"):
        from folkmoot.machine import absent

        return absent(error)
    if not isinstance(error, ArgumentError):
        return str(error)
    from folkmoot.cli.typed_options import typed_options

    return error.named(typed_options(sys.argv[1:]))


def _complain(message: str) -> int:
    from folkmoot.cli.output import say

    say(f"folkmoot: {' '.join(message.split())}", error=True)
    return BAD_INPUT

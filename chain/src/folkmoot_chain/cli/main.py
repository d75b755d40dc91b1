"""Entry point: run the app and turn every failure into one line and an exit code.

Nothing heavy is imported before ``main`` runs, so that Ctrl-C says one line from the first moment.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

BAD_INPUT = 2
INTERRUPTED = 130


def main() -> NoReturn:
    """Run ``folkmoot-chain`` with the arguments of this process."""
    try:
        code = _run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        # The reader (say, ``head``) has gone; keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    if code == INTERRUPTED:  # by print alone: Ctrl-C may come before anything is imported
        print("folkmoot-chain: interrupted", file=sys.stderr)
    sys.exit(code)


def _run() -> int:
    from typer import Abort, TyperException

    from folkmoot_chain.cli.app import app

    try:
        result = app(prog_name="folkmoot-chain", standalone_mode=False)
    except Abort:
        return INTERRUPTED
    except TyperException as error:
        message = error.format_message().rstrip(".")
        if not message:  # a bare command: its help has been shown
            return BAD_INPUT
        command = getattr(getattr(error, "ctx", None), "command_path", "folkmoot-chain")
        return _complain(f"{message}{'' if message.endswith('?') else '.'} Try '{command} --help'.")
    except BrokenPipeError:
        raise
    except (ValueError, ArithmeticError, RuntimeError, OSError, ModuleNotFoundError) as error:
        if os.environ.get("FOLKMOOT_DEBUG"):
            raise
        if isinstance(error, OSError) and error.filename is not None:
            return _complain(f"{error.filename}: {error.strerror}")
        return _complain(str(error) or type(error).__name__)
    return result if isinstance(result, int) else 0


def _complain(message: str) -> int:
    from folkmoot_chain.cli.output import say

    say(f"folkmoot-chain: {' '.join(message.split())}", error=True)
    return BAD_INPUT

"""Text that others wrote, shown on a terminal: nothing in it is obeyed, and nothing in it can hide.

Organisations, labels, reasons and evidence come from other people. An escape code in them could clear the
screen or fake a line, a mark of writing direction could turn a name around.
"""

from __future__ import annotations

import codecs
import re
from typing import Final, TextIO

# Most lines are ASCII. Elsewhere str.isprintable() decides: it is false for control and format characters
# (marks of direction among them), lone surrogates, separators of lines, odd spaces, unassigned ones.
_PLAIN: Final = re.compile(r"[ -~]*")


def printable(text: str) -> str:
    r"""Write every character that a terminal could obey, or not show, as \\uXXXX."""
    if _PLAIN.fullmatch(text):
        return text
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def escape_the_rest(stream: TextIO | None) -> None:
    r"""Write characters that the encoding of a stream does not have as \\uXXXX."""
    if stream is not None and hasattr(stream, "reconfigure"):
        codecs.register_error("folkmoot", _in_its_place)
        stream.reconfigure(errors="folkmoot")


def _in_its_place(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_escaped, error.object[error.start : error.end])), error.end


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"  # a pair, as JSON has it

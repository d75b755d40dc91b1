"""What was looked at, and how it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

State = Literal["ok", "note", "missing", "broken"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Parameters
    ----------
    what : str
        Its name.
    state : {"ok", "note", "missing", "broken"}
        ``note`` is worth knowing, ``missing`` is optional and not there, ``broken`` must be mended.
    note : str
        What was found, in one line.
    fix : str
        What to type or do; empty where nothing need be done.
    """

    what: str
    state: State
    note: str
    fix: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the finding for JSON.

        Returns
        -------
        dict
            ``what``, ``state``, ``note`` and ``fix``.
        """
        return {"what": self.what, "state": self.state, "note": self.note, "fix": self.fix}


def in_words(size: float) -> str:
    """Return a number of bytes for people.

    Parameters
    ----------
    size : float
        Bytes.

    Returns
    -------
    str
        In megabytes, or gigabytes from 1,000 on.

    Examples
    --------
    >>> from folkmoot.doctor.finding import in_words
    >>> in_words(3 << 20), in_words(4 << 30)
    ('3.0 MB', '4.0 GB')
    """
    mega = size / (1 << 20)
    return f"{mega:,.1f} MB" if mega < 1000 else f"{mega / 1024:,.1f} GB"

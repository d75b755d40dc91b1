"""Files of skops: which are read, what they may hold, and what is said of one that cannot be used.

One rule for models of nodes and for moots that were learnt: nothing of a file is loaded before every type in
it is known to be harmless, or was allowed by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any


def read_skops(
    path: str, allow: Iterable[str] = (), *, what: str = "model", advice: str | None = None
) -> Any:
    """What a file of ``skops.io.dump`` holds.

    ``allow`` has types that it may hold besides harmless ones. ``advice`` is what to do about others; by
    default it names the option that allows them.
    """
    import skops.io

    from folkmoot.harmless import HARMLESS, calling, check_buffers

    known = HARMLESS.union(allow)
    try:
        types = skops.io.get_untrusted_types(file=path)
        strange = [each for each in types if each not in known]
        found = None if strange else skops.io.load(path, trusted=types)
        dangerous = calling(path)
    except OSError:
        raise
    except Exception as error:  # not a zip file, no schema in it, a schema of something else
        raise ValueError(f"{what} {path} must be a file that skops wrote: {told(error)}") from error
    if not strange:
        try:
            check_buffers(found)
        except ValueError as error:
            raise ValueError(f"{what} {path} must be whole: {error}") from None
        return found
    named = [f"{each} (which can run code)" if each in dangerous else each for each in strange]
    otherwise = "if you trust who made it, add " + " ".join(f"--allow {each}" for each in strange)
    raise ValueError(
        f"{what} {path} must hold allowed types only: it has {', '.join(named)}; {advice or otherwise}"
    )


def write_skops(path: Path, thing: Any) -> None:
    """Write a file that ``read_skops`` reads, packed: a forest is ten times smaller then."""
    import zipfile

    import skops.io

    skops.io.dump(thing, path, compression=zipfile.ZIP_DEFLATED, compresslevel=1)


def told(error: BaseException) -> str:
    """The kind of an error and what it says."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__

"""Files of skops: which are read, what they may hold, and what is said of one that cannot be used.

One rule for models of nodes and for learnt moots. A file is loaded only if every type in it is known to be
harmless, or was allowed by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from folkmoot.checks import ArgumentError


def read_skops(
    path: str, allow: Iterable[str] = (), *, what: str = "model", advice: str | None = None
) -> Any:
    """The object in a file of ``skops.io.dump``; as ``loaded_skops``."""
    return loaded_skops(Path(path).read_bytes(), path, allow, what=what, advice=advice)


def loaded_skops(
    data: bytes, path: str, allow: Iterable[str] = (), *, what: str = "model", advice: str | None = None
) -> Any:
    """The object in the bytes of a file of ``skops.io.dump``.

    ``allow`` has types that it may hold besides harmless ones. ``advice`` is what to do about others; by
    default it names ``allow``.
    """
    import io
    import zipfile

    import skops.io

    from folkmoot.files.harmless import HARMLESS, calling, check_buffers, check_schema, schema_of

    allowed = frozenset(allow)
    problem = "be a file that skops wrote"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            schema = schema_of(archive, len(data))
            dangerous = calling(schema)
            types = skops.io.get_untrusted_types(data=data)
            strange = [each for each in types if each not in HARMLESS and each not in allowed]
            if not strange:
                problem = "be harmless"
                check_schema(schema, archive, allowed)
                problem = "be whole"
                found = skops.io.loads(data, trusted=types)
                check_buffers(found)
                return found
    except Exception as error:  # not a zip file, no schema in it, a schema of something else
        said = str(error) if type(error) is ValueError else error_text(error)
        raise ValueError(f"{what} {path} must {problem}: {said}") from error
    named = [f"{each} (which can run code)" if each in dangerous else each for each in strange]
    message = "{what!s} {path!s} must hold allowed types only: it has {named!s}; "
    raise ArgumentError(
        message + ("{advice!s}" if advice else "if you trust who made it, add {allow=}"),
        what=what,
        path=path,
        named=", ".join(named),
        advice=advice,
        allow=strange,
    )


def write_skops(path: Path, thing: Any) -> None:
    """Write a file that ``read_skops`` reads, packed: a forest is ten times smaller then."""
    import zipfile

    import skops.io

    skops.io.dump(thing, path, compression=zipfile.ZIP_DEFLATED, compresslevel=1)


def error_text(error: BaseException) -> str:
    """The kind of an error and its text."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__

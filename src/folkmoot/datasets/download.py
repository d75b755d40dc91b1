"""Downloads that happen once: into a cache, checked against a hash, with one clear message when they cannot.

A file in the cache has a record beside it, ``<file>.pointer``: its SHA-256 and its size, in the format of a
Git-LFS pointer. Every load compares the size; the hash is computed after a download, when the size is
wrong, and when ``verify`` is asked for. A file that does not match is downloaded again. A file that somebody
put there by hand has no record. It is hashed once, compared with the hash that is known in advance if there
is one, and recorded.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from folkmoot.machine import to_install

TIMEOUT = 60.0  # seconds without a byte
_CHUNK = 1 << 16


class DownloadError(OSError):
    """A file is neither in the cache nor to be had from its publisher; the message says what to do."""


class Pointer(NamedTuple):
    """The expected SHA-256 and size of a file (None if unknown)."""

    sha256: str
    size: int | None


def cache_folder(cache: str | os.PathLike[str] | None = None) -> Path:
    """The folder of downloads: ``cache``, else $FOLKMOOT_DATA, else the user's cache of this system."""
    if cache is not None:
        return Path(cache).expanduser()
    if os.environ.get("FOLKMOOT_DATA"):
        return Path(os.environ["FOLKMOOT_DATA"]).expanduser()
    return Path(_pooch().os_cache("folkmoot"))


def fetch(
    url: str,
    target: Path,
    known: Pointer | None,
    *,
    what: str,
    instead: str,
    pointer_url: str | None = None,
    verify: bool = False,
) -> Path:
    """``target``, downloaded from ``url`` unless it is there already.

    ``known`` is what the file must be; without it, the publisher's Git-LFS pointer at ``pointer_url`` says.
    ``what`` and ``instead`` are for the message: the name of the data, and the call that reads own files.
    """
    record = target.with_name(target.name + ".pointer")
    if target.is_file() and _is_good(target, record, known, verify):
        return target
    try:
        expected = known or _get_pointer(pointer_url)
        _download(url, target, expected)
    except (OSError, ValueError) as error:
        reason = re.sub(r"\s+", " ", str(error)).strip()
        raise DownloadError(
            f"cannot download {what} from {url}: {reason}\n"
            f"Download {url} by other means and save it as {target}, or pass the path of a file you have: "
            f"{instead}"
        ) from error
    _write_pointer(record, Pointer(expected.sha256, target.stat().st_size))
    return target


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_sha256(value: str) -> str:
    """A SHA-256 in hexadecimal, in lower case."""
    if not re.fullmatch(r"[0-9a-fA-F]{64}", value):
        raise ValueError(f"sha256 must be 64 hexadecimal digits: got {value!r}")
    return value.lower()


def _is_good(target: Path, record: Path, known: Pointer | None, verify: bool) -> bool:
    """Whether the cached file is what it was, and what it has to be."""
    if not record.is_file():
        found = Pointer(sha256_of(target), target.stat().st_size)
        if known is not None and known.sha256 != found.sha256:
            return False
        _write_pointer(record, found)
        return True
    try:
        recorded = _read_pointer(record.read_bytes(), str(record))
    except ValueError:
        return False
    if known is not None and known.sha256 != recorded.sha256:
        return False
    same = recorded.size in (None, target.stat().st_size)
    return same and not (verify and sha256_of(target) != recorded.sha256)


def _read_pointer(text: bytes, source: str) -> Pointer:
    oid = re.search(rb"^oid sha256:([0-9a-f]{64})\s*$", text, flags=re.M)
    size = re.search(rb"^size (\d+)\s*$", text, flags=re.M)
    if oid is None or size is None:
        raise ValueError(
            f"{source} must be a Git-LFS pointer ('oid sha256:...', 'size ...'): got {text[:60]!r}; "
            "give sha256= to check the file without it"
        )
    return Pointer(oid[1].decode(), int(size[1]))


def _write_pointer(record: Path, pointer: Pointer) -> None:
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{pointer.sha256}\nsize {pointer.size}\n"
    record.write_text(text, encoding="ascii")


def _get_pointer(url: str | None) -> Pointer:
    if url is None:
        raise ValueError("its hash is not known: give sha256=")
    buffer = io.BytesIO()
    _pooch().HTTPDownloader(timeout=TIMEOUT)(url, buffer, None)
    return _read_pointer(buffer.getvalue(), url)


def _download(url: str, target: Path, expected: Pointer) -> None:
    """Pooch downloads beside the target and moves the file into place only if the hash is right."""
    pooch = _pooch()
    target.parent.mkdir(parents=True, exist_ok=True)
    with _Bar(target.name) as bar:
        pooch.retrieve(
            url,
            known_hash=f"sha256:{expected.sha256}",
            fname=target.name,
            path=target.parent,
            downloader=pooch.HTTPDownloader(progressbar=bar, chunk_size=_CHUNK, timeout=TIMEOUT),
        )


class _Bar:
    """Rich's progress bar behind the few methods that pooch calls; silent where there is no terminal."""

    def __init__(self, name: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task(name, total=None)
        self._total = 0

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    @property
    def total(self) -> int:
        return self._total

    @total.setter
    def total(self, value: int) -> None:
        self._total = value
        self._progress.update(self._task, total=value or None)

    def update(self, amount: int) -> None:
        self._progress.update(self._task, advance=amount)

    def reset(self) -> None:
        self._progress.update(self._task, completed=0)

    def close(self) -> None:
        self._progress.refresh()


def _pooch() -> Any:
    try:
        import pooch
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"downloads need pooch: {to_install('data')}", name=error.name) from None
    return pooch

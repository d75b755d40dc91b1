#!/usr/bin/env python3
"""Back up the folder of a node while it runs, and restore it; Python's standard library is enough.

    backup.py save NODE_FOLDER INTO_FOLDER [--keep 7]
    backup.py restore ARCHIVE NEW_FOLDER --original-is-gone

An archive holds the key: keep it where nobody else can read it. docs/deploy.md has the steps, and says why a
restored node must wait before it is started.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import io
import json
import os
import sqlite3
import sys
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path
from typing import IO, Any, NoReturn

NEEDED = ("key.pem", "certificate.pem", "node.toml")
DATABASE = "moot.db"
MANIFEST = "manifest.json"
# What belongs to a running process, and what the copy of the database has inside it.
VOLATILE = {"door.sock", "lock", f"{DATABASE}-wal", f"{DATABASE}-shm"}
LONGEST_MOTION = datetime.timedelta(hours=24)
STAMP = "%Y%m%dT%H%M%SZ"


def save(folder: Path, into: Path, keep: int | None) -> Path:
    """Write everything that a node must keep into a new archive of mode 600; returns the archive."""
    lost = [name for name in NEEDED if not (folder / name).is_file()]
    if lost:
        raise ValueError(f"{folder} must be the folder of a node: there is no {lost[0]}")
    if keep is not None and keep < 1:
        raise ValueError(f"--keep must be at least 1: got {keep}")
    if not into.is_dir():
        raise ValueError(f"{into} must be a folder that exists: type mkdir -m 700 {into}")
    if into.resolve() == folder.resolve():
        raise ValueError(f"{into} is the node's own folder: give another, best on another machine")
    now, name = datetime.datetime.now(datetime.UTC), folder.resolve().name
    archive = into / f"{name}-{now.strftime(STAMP)}.tar"
    if archive.exists():
        raise ValueError(f"{archive} is there already: wait a second and try again")
    with tempfile.TemporaryDirectory(dir=into, prefix=".unfinished-") as private:
        files = {
            path.name: path
            for path in sorted(folder.iterdir())
            if path.is_file() and path.name not in VOLATILE | {DATABASE, MANIFEST}
        }
        if (folder / DATABASE).exists():
            files[DATABASE] = database_copy(folder / DATABASE, Path(private))
        told = {each: digest_of(path) for each, path in files.items()}
        manifest = {"made": now.isoformat(timespec="seconds"), "node": name, "sha256": told}
        unfinished = Path(private) / archive.name
        write_archive(unfinished, json.dumps(manifest, indent=1).encode(), files)
        read_archive(unfinished)  # what cannot be read back is no back-up
        unfinished.rename(archive)
    if keep is not None:
        for old in archives_of(name, into)[:-keep]:
            old.unlink()
    return archive


def database_copy(path: Path, private: Path) -> Path:
    """The database at one moment, though the node goes on writing; ValueError if it is damaged."""
    copy = private / DATABASE
    try:
        with (
            closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=30)) as live,
            closing(sqlite3.connect(copy)) as target,
        ):
            live.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
            (answer,) = target.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.Error as error:
        raise ValueError(f"{path} cannot be copied: {error}; keep your older back-ups") from None
    if answer != "ok":
        raise ValueError(f"{path} is damaged ({answer}): keep your older back-ups")
    return copy


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_archive(archive: Path, manifest: bytes, files: dict[str, Path]) -> None:
    """A tar file for its owner only, from the first byte on; on the disk when it returns."""
    with os.fdopen(os.open(archive, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as raw:
        with tarfile.open(fileobj=raw, mode="w") as tar:
            entry = tarfile.TarInfo(MANIFEST)
            entry.size, entry.mode = len(manifest), 0o600
            tar.addfile(entry, io.BytesIO(manifest))
            for name, path in files.items():
                entry = tarfile.TarInfo(name)
                with path.open("rb") as file:
                    entry.size, entry.mode = os.fstat(file.fileno()).st_size, 0o600
                    tar.addfile(entry, file)
        raw.flush()
        os.fsync(raw.fileno())


def read_archive(archive: Path, into: Path | None = None) -> dict[str, Any]:
    """The manifest of an archive whose files are what it says, written into a folder if one is given."""
    found: dict[str, str] = {}
    manifest: dict[str, Any] = {}
    try:
        with tarfile.open(archive, "r:") as tar:
            for entry in tar:
                data = tar.extractfile(entry) if entry.isreg() else None
                plain = Path(entry.name).name == entry.name and entry.name not in (".", "..", "")
                if data is None or not plain or entry.name in found:
                    raise ValueError(f"it holds {entry.name!r}, which no back-up has")
                if entry.name == MANIFEST:
                    manifest = json.loads(data.read())
                else:
                    found[entry.name] = _written(data, None if into is None else into / entry.name)
        if found != manifest["sha256"] or not set(NEEDED) <= set(found):
            raise ValueError("its files are not those of its manifest")
        datetime.datetime.fromisoformat(manifest["made"])
    except (tarfile.TarError, ValueError, KeyError, TypeError, EOFError) as error:
        raise ValueError(f"{archive} is not a whole back-up: {error}") from None
    return manifest


def _written(data: IO[bytes], path: Path | None) -> str:
    """The digest of what is read, written for its owner only if a path is given."""
    digest = hashlib.sha256()
    where = os.devnull if path is None else path
    flags = os.O_WRONLY if path is None else os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(where, flags, 0o600), "wb") as file:
        while piece := data.read(1 << 20):
            digest.update(piece)
            file.write(piece)
        file.flush()
        if path is not None:
            os.fsync(file.fileno())
    return digest.hexdigest()


def archives_of(name: str, into: Path) -> list[Path]:
    """The back-ups of a node, oldest first; nothing else that lies there."""
    found = []
    for path in into.glob(f"{name}-*.tar"):
        try:
            datetime.datetime.strptime(path.name[len(name) + 1 : -4], STAMP).replace(tzinfo=datetime.UTC)
        except ValueError:
            continue
        found.append(path)
    return sorted(found)


def restore(archive: Path, folder: Path, *, original_is_gone: bool) -> str:
    """Put an archive into a new folder; returns what must be known before the node is started."""
    manifest = read_archive(archive)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"{folder} must be new or empty: nothing is overwritten")
    if not folder.parent.is_dir():
        raise ValueError(f"{folder} must be in a folder that exists: there is no {folder.parent}")
    if not original_is_gone:
        raise ValueError(
            "two running copies of a node contradict each other, and everybody can prove it: make sure that "
            "the original never starts again, then add --original-is-gone"
        )
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)
    read_archive(archive, folder)
    wait = (datetime.datetime.now(datetime.UTC) + LONGEST_MOTION).strftime("%Y-%m-%d %H:%M UTC")
    return (
        f"restored {folder} as it was at {manifest['made']}. It has forgotten what it signed since: start it "
        f"when every motion that was put since then has passed its deadline, on {wait} at the latest "
        f"(check it first: folkmoot doctor --node {folder})"
    )


def main() -> NoReturn:
    parser = argparse.ArgumentParser(
        prog="backup.py", description="Back up and restore the folder of a node."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    saving = commands.add_parser("save", help="write an archive while the node runs, or not")
    saving.add_argument("folder", type=Path, metavar="NODE_FOLDER")
    saving.add_argument("into", type=Path, metavar="INTO_FOLDER")
    saving.add_argument(
        "--keep", type=int, metavar="N", help="delete all but the newest N of this node there"
    )
    restoring = commands.add_parser("restore", help="put an archive into a new folder")
    restoring.add_argument("archive", type=Path, metavar="ARCHIVE")
    restoring.add_argument("folder", type=Path, metavar="NEW_FOLDER")
    restoring.add_argument("--original-is-gone", action="store_true", help="the node never starts elsewhere")
    told = parser.parse_args()
    try:
        if told.command == "save":
            print(save(told.folder, told.into, told.keep))
        else:
            print(restore(told.archive, told.folder, original_is_gone=told.original_is_gone))
    except (OSError, ValueError) as error:
        said = f"{error.filename or ''}: {error.strerror or error}" if isinstance(error, OSError) else error
        print(f"backup.py: {' '.join(str(said).split())}", file=sys.stderr)
        sys.exit(2)
    sys.exit(0)


if __name__ == "__main__":
    main()

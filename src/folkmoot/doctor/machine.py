"""A machine: versions, extras, where compiled code is kept, clock, open files, ports, disk."""

from __future__ import annotations

import ctypes
import datetime
import importlib
import importlib.metadata
import importlib.util
import os
import platform
import resource
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from folkmoot import __version__
from folkmoot.doctor.examining import Finding
from folkmoot.machine import EXTRAS, Extra, ExtraName, to_install

TESTED: Final = (("Linux", "x86_64"),)  # system and machine that the tests run on
_TESTED_PYTHONS: Final = ((3, 11),)  # with the whole test suite
_LEAST_ROOM: Final = 64 << 20  # bytes for compiled code and temporary files
_TIME_ERROR: Final = 5  # what adjtimex(2) returns where no service keeps the clock right
_FIRST_YEAR: Final = 2025  # an earlier clock was never set
# Modules whose name is not that of their package.
_MODULES: Final = {
    "scikit-learn": "sklearn",
    "xgboost-cpu": "xgboost",
    "cupy-cuda13x": "cupy",
    "cupy-cuda12x": "cupy",
}


def machine(listen: Sequence[str] = ()) -> Iterator[Finding]:
    """Look at everything that needs no node."""
    yield _versions()
    yield from _packages()
    for name, extra in EXTRAS.items():
        yield _extra(name, extra)
    if importlib.util.find_spec("cupy") is not None:
        yield _gpu()
    yield _compiler_cache()
    yield _clock()
    yield _open_files()
    yield _sandbox()
    yield _temporary_files()
    for address in listen:
        yield port(address)


def _versions() -> Finding:
    system, kind = platform.system(), platform.machine()
    note = f"folkmoot {__version__}, Python {platform.python_version()}, {system} {kind}"
    if (system, kind) not in TESTED or sys.version_info[:2] not in _TESTED_PYTHONS:
        note += "; the test suite runs with Python 3.11 on Linux x86_64"
        return Finding("versions", "note", note)
    return Finding("versions", "ok", note)


def _packages() -> Iterator[Finding]:
    """Required packages: installed, new enough, and importable."""
    from packaging.requirements import Requirement

    try:
        required = importlib.metadata.requires("folkmoot") or []
    except importlib.metadata.PackageNotFoundError:
        yield Finding("packages", "note", "folkmoot runs from its source: what it requires was not compared")
        return
    needed = [each for each in map(Requirement, required) if "extra" not in str(each.marker or "")]
    found = []
    for each in needed:
        mend = f'pip install --force-reinstall "{each}"'
        module = _MODULES.get(each.name, each.name.replace("-", "_"))
        try:
            version = importlib.metadata.version(each.name)
            importlib.import_module(module)
        except importlib.metadata.PackageNotFoundError:
            yield Finding(f"package {each.name}", "broken", "not installed", mend)
            continue
        except Exception as error:  # whatever a package that is half there raises
            note = f"{version} cannot be imported: {type(error).__name__}: {error}"
            yield Finding(f"package {each.name}", "broken", note, mend)
            continue
        if each.specifier.contains(version, prereleases=True):
            found.append(f"{each.name} {version}")
        else:
            note = f"{version}, but folkmoot needs {each.specifier}"
            yield Finding(f"package {each.name}", "broken", note, f'pip install "{each}"')
    yield Finding("packages", "ok", ", ".join(found))


def _extra(name: ExtraName, extra: Extra) -> Finding:
    absent = [module for module in extra.modules if importlib.util.find_spec(module) is None]
    if absent:
        note = f"no {' and no '.join(absent)}: needed for {extra.purpose}"
        return Finding(f"extra {name}", "missing", note, to_install(name))
    versions = [f"{module} {_version_of(module)}" for module in extra.modules]
    return Finding(f"extra {name}", "ok", f"{', '.join(versions)}: {extra.purpose}")


def _version_of(module: str) -> str:
    for package in (module, *(name for name, brought in _MODULES.items() if brought == module)):
        with suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(package)
    return "of unknown version"


def _gpu() -> Finding:
    """Whether a GPU can be used, where there is CuPy."""
    from folkmoot.simulation.kernels.gpu import cuda

    reason = cuda.why_not()
    if reason:
        return Finding("GPU", "note", f"deliberations run on the processor: {reason}")
    return Finding("GPU", "ok", f"{cuda.cuda().name}: device='cuda' plays on it")


def _compiler_cache() -> Finding:
    """The folder in which numba keeps compiled kernels, and whether it can."""
    from folkmoot.simulation.kernels.rounds import reaches

    what, kept = "compiler cache", reaches.stats.cache_path
    if kept is None:
        fix = "export NUMBA_CACHE_DIR=/a/folder/that/you/can/write"
        return Finding(what, "broken", "compiled code cannot be kept: every run compiles it again", fix)
    folder = Path(kept)
    if os.name == "posix" and folder.is_dir() and folder.stat().st_mode & 0o022:
        note = f"{folder}: others can write into it, and what is in it is code that you run"
        return Finding(what, "note", note, f"chmod go-w {folder}")
    size = sum(file.stat().st_size for file in folder.glob("*.nb[ci]"))
    return Finding(what, "ok", f"such as {folder}, {in_words(size)}")


def _clock() -> Finding:
    """Wall clock and monotonic clock side by side, and whether a service keeps the former right."""
    from folkmoot.node.transports.mesh import SKEW_SECONDS

    wall, steady = time.time(), time.monotonic()
    time.sleep(0.05)
    drift = (time.time() - wall) - (time.monotonic() - steady)
    now = datetime.datetime.now(datetime.UTC)
    bound = f"a peer whose clock is {SKEW_SECONDS:.0f} s off is logged"
    note = f"{now:%Y-%m-%d %H:%M:%S} UTC, {bound}"
    mend = "timedatectl set-ntp true"
    if now.year < _FIRST_YEAR:
        return Finding("clock", "broken", f"{note}; it was never set", mend)
    if abs(drift) > 0.02:
        jump = f"it jumped by {drift:+.2f} s within 50 ms"
        return Finding("clock", "broken", f"{note}; {jump}", mend)
    kept = _kept_right()
    if kept is None:
        return Finding("clock", "note", f"{note}; the system does not say whether NTP sets it")
    if not kept:
        return Finding("clock", "note", f"{note}; the kernel says that no NTP service sets it", mend)
    return Finding("clock", "ok", f"{note}; set by NTP")


def _kept_right() -> bool | None:
    """Whether the kernel's clock is disciplined, by adjtimex(2); None if it does not say."""
    if platform.system() != "Linux":
        return None
    try:
        answer = int(ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(256)))  # zeros: it only reads
    except (OSError, AttributeError):
        return None
    return None if answer < 0 else answer != _TIME_ERROR


def _open_files() -> Finding:
    from folkmoot.node.transports.mesh import MOST_CONNECTIONS_EACH

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return Finding("open files", "ok", "no limit")
    largest = (soft - _beside_peers()) // MOST_CONNECTIONS_EACH + 1
    note = f"at most {soft:,} (could be raised to {hard:,}), enough for a node in a moot of "
    if largest >= 5:
        return Finding("open files", "ok", f"{note}{largest:,} participants")
    return Finding("open files", "broken", f"at most {soft:,}, too few for a node", "ulimit -n 4096")


def _sandbox() -> Finding:
    """The restrictions of foreign models on this system."""
    from folkmoot.sandbox.confinement import possible
    from folkmoot.sandbox.process import Limits

    found = possible(Limits.memory)
    note = f"model files of others run with {found.in_words()}"
    if found.whole:
        return Finding("sandbox", "ok", note)
    note = "model files of others run in a process that is not closed: " + "; ".join(found.missing())
    fix = "run nodes on Linux 5.13 or newer with Landlock (lsm=landlock,...), or load only your own models"
    return Finding("sandbox", "note", note, fix)


def descriptors(participants: int) -> int:
    """Return how many files and connections a node may have open at a time, at the most."""
    from folkmoot.node.transports.mesh import MOST_CONNECTIONS_EACH

    return MOST_CONNECTIONS_EACH * (participants - 1) + _beside_peers()


def _beside_peers() -> int:
    page, commands, files = 128, 64, 64  # --page at the most; the socket; database, log, model
    return page + commands + files


def _temporary_files() -> Finding:
    try:
        folder = Path(tempfile.gettempdir())
        with tempfile.TemporaryFile(dir=folder):
            pass
        return room(folder, "temporary files", _LEAST_ROOM)
    except OSError as error:
        note = f"no folder for them can be written: {error.strerror or error}"
        return Finding("temporary files", "broken", note, "export TMPDIR=/a/folder/that/you/can/write")


def room(folder: Path, what: str, least: int) -> Finding:
    """Return how much of a disk is free."""
    free = shutil.disk_usage(folder).free
    note = f"{folder}, {in_words(free)} of its disk free"
    if free < least:
        return Finding(what, "broken", f"{note}, at least {in_words(least)} are needed", "make room")
    return Finding(what, "ok", note)


def port(address: str) -> Finding:
    """Return whether a node could listen on an address."""
    from folkmoot.node.membership.fields import parse_address

    host, number = parse_address(address, any_port=True)
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host, number, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(where)
    except OSError as error:
        fix = "stop what listens there, or give the node another address (listen in node.toml)"
        return Finding("port", "broken", f"{address}: {error.strerror or error}", fix)
    return Finding("port", "ok", f"{address} is free")


def in_words(size: float) -> str:
    """Return a number of bytes for people."""
    mega = size / (1 << 20)
    return f"{mega:,.1f} MB" if mega < 1000 else f"{mega / 1024:,.1f} GB"


def owner_of(path: Path) -> str:
    """Return whose a file is."""
    try:
        return path.owner()
    except KeyError:
        return str(path.stat().st_uid)


def is_mine(path: Path) -> bool:
    """Return whether a file belongs to whoever runs this."""
    return path.stat().st_uid == os.geteuid()

"""Landlock of Linux: from now on this process opens only files beneath given paths, and only to read.

It also connects to given ports alone, where the kernel has rules for these (ABI 4).

The kernel's interface is three system calls (``man 7 landlock``); their numbers are the same on every
architecture that folkmoot knows. A kernel without them, or one that was started without Landlock, has ABI 0.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION: Final = 1  # a flag of _CREATE: tell the ABI
_PATH_BENEATH, _NET_PORT = 1, 2
_CONNECT: Final = 0b10
_SINCE_PORTS: Final = 4  # the ABI that brought rules for ports
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3

# Rights that a domain can take away, by the ABI that brought them: all are, and some are given back.
_FILES: Final = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
_TCP: Final = {4: 0b11}  # bind, connect
_SCOPES: Final = {6: 0b11}  # abstract Unix sockets and signals of processes outside


def abi() -> int:
    """The version of Landlock that this kernel offers; 0 if none."""
    with suppress(OSError):
        return _call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    return 0


def restrict(readable: Iterable[str], ports: Iterable[int] = ()) -> int:
    """Let this thread, and those that it starts, only read beneath these paths; returns the ABI, 0 if none.

    Paths that do not exist are passed over. ``ports`` are those of TCP that it may connect to.
    ``no_new_privs`` must be set.
    """
    version = abi()
    if not version:
        return 0
    files, tcp, scopes = (_up_to(version, rights) for rights in (_FILES, _TCP, _SCOPES))
    attributes = struct.pack("=QQQ", files, tcp, scopes)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = _call(_CREATE, ctypes.c_char_p(attributes), ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    try:
        for path in readable:
            _add(rules, path)
        for port in ports if version >= _SINCE_PORTS else ():
            rule = struct.pack("=QQ", _CONNECT, port)
            _call(_ADD, ctypes.c_int(rules), _NET_PORT, ctypes.c_char_p(rule), ctypes.c_uint32(0))
        _call(_RESTRICT, ctypes.c_int(rules), ctypes.c_uint32(0))
    finally:
        os.close(rules)
    return version


def _up_to(version: int, rights: dict[int, int]) -> int:
    return sum(bits for since, bits in rights.items() if since <= version)


def _add(rules: int, path: str) -> None:
    try:
        file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights = _READ_FILE | _READ_DIR if Path(path).is_dir() else _READ_FILE
        rule = struct.pack("=Qi", rights, file)
        _call(_ADD, ctypes.c_int(rules), _PATH_BENEATH, ctypes.c_char_p(rule), ctypes.c_uint32(0))
    finally:
        os.close(file)


def _call(number: int, *arguments: object) -> int:
    ctypes.set_errno(0)
    library = ctypes.CDLL(None, use_errno=True)
    found = int(library.syscall(ctypes.c_long(number), *arguments))
    if found < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return found

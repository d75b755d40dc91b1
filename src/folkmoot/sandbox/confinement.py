"""Restrictions that a process puts on itself before it reads a file of somebody else.

Landlock takes away files, seccomp the system calls for network, processes and writing, resource limits bound
memory and open files. If the kernel lacks one of them the others still hold, and ``Confinement.missing``
says which promise is not kept: no sandbox is reported that is not there.
"""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import resource
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from folkmoot.sandbox import landlock, seccomp

_OPEN_FILES: Final = 128
_PR_SET_NO_NEW_PRIVS: Final = 38
_NAMES: Final = 53  # names of hosts are asked for here, where an answer is too long for UDP
_CAPABILITIES: Final = 0x20080522  # version 3 of the kernel's structure: two words of 32 bits each


class Confinement(NamedTuple):
    """The restrictions in force."""

    landlock: int  # its ABI; 0: it can read every file that its user can
    seccomp: bool  # false: it can open connections, write files, and start and stop processes
    memory: int  # bytes, at most
    ports: tuple[int, ...] = ()  # of TCP that it may connect to, of a worker that asks a service

    @property
    def whole(self) -> bool:
        """Whether all that is promised of the sandbox holds."""
        return bool(self.landlock and self.seccomp)

    def missing(self) -> list[str]:
        """The remaining possibilities, a line for each restriction that this system lacks."""
        lacking = []
        if not self.landlock:
            can = "read" if self.seccomp else "read and write"
            lacking.append(f"it can {can} every file that the node's user can (no Landlock on this system)")
        if not self.seccomp:
            lacking.append("it can open connections and start programs (no seccomp filter on this system)")
        return lacking

    def in_words(self) -> str:
        """One line for people."""
        if self.whole:
            network = f"network to port {self.ports[0]} only" if self.ports else "no network"
            return (
                f"no files, {network}, no other process, {self.memory / (1 << 30):.3g} GB of memory "
                f"(Landlock {self.landlock}, seccomp)"
            )
        return "NOT WHOLE: " + "; ".join(self.missing())


def possible(memory: int) -> Confinement:
    """The restrictions that this system offers."""
    linux = platform.system() == "Linux"
    return Confinement(landlock.abi() if linux else 0, seccomp.available(), memory)


def confine(readable: Iterable[str], memory: int, ports: Iterable[int] = ()) -> Confinement:
    """Give up everything but reading beneath these paths and so much memory; call it in a lone thread.

    With ``ports`` it keeps connections to these ports of TCP, and asks for names of hosts.
    Restrictions that the system does not offer are missing in the result. One that it offers and refuses
    raises.
    """
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        resource.setrlimit(limit, (0, 0))
    with suppress(OSError):
        os.nice(5)  # the node goes first
    if platform.system() != "Linux":
        return Confinement(0, seccomp=False, memory=memory, ports=tuple(ports))
    _alone()
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs cannot be set")
    kept = tuple(ports)
    beneath = [*readable, "/proc/self"]  # its own: libraries look up where they are
    version = landlock.restrict(beneath, [*kept, _NAMES] if kept else ())
    _without_capabilities(library)
    return Confinement(version, seccomp.install(network=bool(kept)), memory, kept)


def _alone() -> None:
    """Both hold one thread and those that it starts: another that is there already would stay free."""
    gc.collect()
    with suppress(FileNotFoundError):
        threads = [*Path("/proc/self/task").iterdir()]
        if len(threads) != 1:
            raise RuntimeError(f"a process must be confined before it starts threads: it has {len(threads)}")


def _without_capabilities(library: ctypes.CDLL) -> None:
    """Root keeps no power over the machine."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITIES, 0))
    if library.capset(header, ctypes.create_string_buffer(24)):
        raise OSError(ctypes.get_errno(), "capabilities cannot be given up")

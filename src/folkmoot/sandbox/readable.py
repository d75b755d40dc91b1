"""Files that a confined process may read: the interpreter, its packages and shared libraries only.

Landlock knows only what is allowed, beneath a folder as a whole. So where a folder holds something private
(a node's folder beneath the folder of the packages, say), its other entries are allowed one by one.
"""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

# What libraries look at: where they are, how many processors there are, what these can do.
_SYSTEM: Final = (
    "/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup",
    "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom",
)  # fmt: skip


# What is needed to find a host by its name, and to check its certificate.
_NETWORK: Final = (
    "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf",
    "/etc/services", "/etc/protocols", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs", "/etc/pki/ca-trust", "/etc/ca-certificates", "/usr/share/ca-certificates",
)  # fmt: skip


def readable(
    private: Iterable[Path] = (), *, working_folder: bool = False, network: bool = False
) -> list[str]:
    """Paths that hold code, and nothing of what is ``private``.

    ``working_folder``: also Python files and packages of the current folder, where types of one's own may be.
    ``network``: also how hosts are found, and the certificates of authorities.
    """
    hidden = [path.resolve() for path in private]
    homes = [Path(each).resolve() for each in {sys.prefix, sys.base_prefix, sys.exec_prefix}]
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    found = {*homes, *(Path(each).resolve() for each in (*_SYSTEM, *libraries) if each)}
    if network:
        told = ssl.get_default_verify_paths()
        paths = (*_NETWORK, told.cafile, told.capath, told.openssl_cafile, told.openssl_capath)
        found.update(Path(each).resolve() for each in paths if each)
    here = Path.cwd().resolve()
    for entry in {Path(each).resolve() for each in sys.path if each} - {here}:
        found.update(_code(entry))
    if working_folder:
        found.update(_code(here))
    return sorted({str(each) for path in found for each in _without(path, hidden)})


def _code(folder: Path) -> Iterator[Path]:
    """Modules and packages in a folder, which may hold other files too."""
    if not folder.is_dir():
        yield folder  # an archive
        return
    installed = _is_installed(folder)
    if installed:
        yield folder
    for each in folder.iterdir():
        first = each / "__init__.py"
        if first.exists():
            real = first.resolve().parent  # some installers link packages, or each file of theirs
            elsewhere = _is_installed(real.parent)
            if elsewhere or not installed:
                yield real.parent if elsewhere else real
                yield each.resolve()
        elif each.suffix in (".py", ".so", ".pyc", ".libs"):  # the last has a package's libraries
            yield each.resolve()


def _is_installed(folder: Path) -> bool:
    """Whether everything in a folder was put there by an installer of packages."""
    return folder.name in ("site-packages", "dist-packages")


def _without(path: Path, hidden: list[Path]) -> Iterator[Path]:
    """A path, or what is in it beside what is hidden."""
    if any(path.is_relative_to(each) for each in hidden):
        return
    if not any(each.is_relative_to(path) for each in hidden):
        yield path
    elif path.is_dir():
        for each in path.iterdir():
            if not each.is_symlink():
                yield from _without(each, hidden)

"""The filter's numbers are those of the kernel's own headers, and its program ends where it should."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from folkmoot.sandbox.seccomp import ARCHITECTURES

_HEADERS = {
    "x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
    "aarch64": "/usr/include/asm-generic/unistd.h",
}


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_numbers_of_system_calls(machine: str) -> None:
    header = Path(_HEADERS[machine])
    if not header.exists():
        pytest.skip("the kernel's headers are not installed")
    known = {
        name: int(number)
        for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text())
    }
    ours = ARCHITECTURES[machine].refused | ARCHITECTURES[machine].looked_at
    wrong = {name: number for name, number in ours.items() if known.get(name, number) != number}
    assert not wrong
    new = {"fchmodat2"}  # newer than some headers
    assert set(ours) - set(known) <= new


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_every_refused_call_has_one_number(machine: str) -> None:
    refused, looked_at = ARCHITECTURES[machine].refused, ARCHITECTURES[machine].looked_at
    numbers = [*refused.values(), *looked_at.values()]
    assert len(set(numbers)) == len(numbers)


def test_both_machines_refuse_the_same() -> None:
    """But for calls that the newer architecture never had."""
    old = set(ARCHITECTURES["x86_64"].refused) - set(ARCHITECTURES["aarch64"].refused)
    assert set(ARCHITECTURES["aarch64"].refused) <= set(ARCHITECTURES["x86_64"].refused)
    assert old == {
        "fork", "vfork", "rename", "mkdir", "rmdir", "creat", "link", "unlink", "symlink", "chmod", "chown",
        "lchown", "mknod", "utime", "utimes", "futimesat", "inotify_init", "iopl", "ioperm",
    }  # fmt: skip

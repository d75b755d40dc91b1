"""Models that do harm when they are asked; one file without imports of ours, so that it can be copied."""

# ruff: noqa: ARG001, PTH118, PTH123, PTH208, PTH102, PTH106, PTH104, PTH101, S606

import contextlib
import ctypes
import mmap
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any


def read_key(folder: str, port: int) -> None:
    with open(os.path.join(folder, "key.pem")) as file:
        assert "PRIVATE" in file.read()


def read_key_through_root(folder: str, port: int) -> None:
    with open("/proc/self/root" + os.path.join(folder, "key.pem")) as file:
        assert "PRIVATE" in file.read()


def list_folder(folder: str, port: int) -> None:
    assert "key.pem" in os.listdir(folder)


def read_passwords(folder: str, port: int) -> None:
    with open("/etc/passwd") as file:
        file.read()


def read_environment_of_parent(folder: str, port: int) -> None:
    with open(f"/proc/{os.getppid()}/environ", "rb") as file:
        file.read()


def write(folder: str, port: int) -> None:
    with open(os.path.join(folder, "written"), "w") as file:
        file.write("1")


def write_over(folder: str, port: int) -> None:
    with open(os.path.join(folder, "precious"), "r+") as file:
        file.write("1")


def delete(folder: str, port: int) -> None:
    path = os.path.join(folder, "written")
    os.mkdir(path)
    os.rmdir(path)


def rename(folder: str, port: int) -> None:
    path = os.path.join(folder, "precious")
    os.rename(path, path)


def change_mode(folder: str, port: int) -> None:
    os.chmod(os.path.join(folder, "precious"), 0o600)


def copy_tree(folder: str, port: int) -> None:
    shutil.copytree(folder, folder + ".copy", dirs_exist_ok=True)


def connect(folder: str, port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)):
        pass


def send_datagram(folder: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"1", ("127.0.0.1", port))


def local_socket(folder: str, port: int) -> None:
    with socket.socket(socket.AF_UNIX):
        pass


def listen(folder: str, port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)):
        pass


def fork(folder: str, port: int) -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


def start_program(folder: str, port: int) -> None:
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def become_program(folder: str, port: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.execv("/nothing/there", ["nothing"])


def signal_parent(folder: str, port: int) -> None:
    os.kill(os.getppid(), 0)


def trace_parent(folder: str, port: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(8)
    part = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
    if library.process_vm_readv(os.getppid(), part, 1, part, 1, 0) < 0 and ctypes.get_errno() == 1:
        raise PermissionError


def memory(folder: str, port: int) -> None:
    mmap.mmap(-1, 4 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000).close()  # not touched


def shared_memory(folder: str, port: int) -> None:
    mmap.mmap(-1, 4 << 30, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | 0x4000).close()


def memory_file(folder: str, port: int) -> None:
    os.close(os.memfd_create("hidden"))


def open_files(folder: str, port: int) -> None:
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(200)]
    for each in opened:
        os.close(each)


def raise_limits(folder: str, port: int) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def outlive_parent(folder: str, port: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(1, 0, 0, 0, 0):
        raise PermissionError


def new_namespace(folder: str, port: int) -> None:
    """Without a flag it changes nothing, and is allowed to everybody."""
    if ctypes.CDLL(None, use_errno=True).unshare(0):
        raise PermissionError


HARM = (
    "read_key", "read_key_through_root", "list_folder", "read_passwords", "read_environment_of_parent",
    "write", "write_over", "delete", "rename", "change_mode", "copy_tree", "connect", "send_datagram",
    "local_socket", "listen", "fork", "start_program", "become_program", "signal_parent", "trace_parent",
    "memory", "shared_memory", "memory_file", "open_files", "raise_limits", "outlive_parent",
    "new_namespace",
)  # fmt: skip


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def leave() -> None:
    os._exit(3)


def pipes() -> Iterator[int]:
    """What it can write to: the pipe to its parent, whichever number it has."""
    for each in range(3, 100):
        with contextlib.suppress(OSError):
            os.write(each, b"")
            yield each


def write_junk() -> None:
    for each in pipes():
        os.write(each, b"\x08" + b"\x00" * 7 + b"\xc1" * 8)


def promise_much() -> None:
    for each in pipes():
        os.write(each, b"\xff" * 7 + b"\x00" + b"1" * 100)


def nest() -> None:
    for each in pipes():
        body = b"\x91" * 4000
        os.write(each, len(body).to_bytes(8, "little") + body)


def spin_in_background() -> None:
    def spin() -> None:
        while True:
            pass

    threading.Thread(target=spin, daemon=True).start()


def name_a_folder() -> None:
    """No harm: what libraries do when they are imported."""
    import tempfile

    tempfile.gettempdir()


def import_cupy() -> None:
    """No harm: scikit-learn imports all its modules to find estimators, and one of them imports cupy."""
    import cupy  # type: ignore[import-not-found, unused-ignore]  # noqa: F401


def find_a_library() -> None:
    """No harm: ``cuda.pathfinder`` does it when it is imported, and with a compiler that writes a file."""
    import ctypes.util

    ctypes.util.find_library("dl")
    ctypes.util.find_library("there is none of this name")


def tried(harm: str, *arguments: Any) -> str:
    try:
        globals()[harm](*arguments)
    except Exception as error:
        return type(error).__name__
    return "done"


class Hostile:
    """A model that does one harm."""

    def __init__(self, harm: str, *arguments: Any) -> None:
        self.harm, self.arguments = harm, arguments

    def predict(self, rows: Any) -> list[str]:
        if self.harm == "answer_much":
            return ["x" * 10_000_000] * len(rows)
        if self.harm == "sleep_on_ones":
            if rows.any():
                time.sleep(600)
            return ["done"] * len(rows)
        return [tried(self.harm, *self.arguments)] * len(rows)

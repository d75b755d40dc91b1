"""A seccomp filter of Linux: system calls that a model needs for nothing end in an error.

It refuses sockets, other programs and processes, signals to others and shared memory. It also refuses every
way to open a file for writing or to change the file system. Nor does it allow tracing, namespaces, mounts,
keys, io_uring (which would go around the filter) or changes of the machine. Threads and memory are allowed.
A worker that asks a service may have sockets of the internet's two families, and connect and use them. The
architecture is checked first, since each numbers its calls differently; a call by the numbers of another
ends the process.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from typing import Final, NamedTuple

_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CLONE_THREAD: Final = 0x10000
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _FILTER = 1, 22, 2
_X32: Final = 0x40000000  # calls of the x32 ABI have this bit
_FAMILIES: Final = (2, 10)  # AF_INET, AF_INET6
_NETWORK_CALLS: Final = ("connect", "sendto", "recvfrom", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg")

# Refused without a look at the arguments. Numbers from asm/unistd_64.h and asm-generic/unistd.h.
_X86_64: Final = {
    "socket": 41, "connect": 42, "accept": 43, "sendto": 44, "recvfrom": 45, "sendmsg": 46, "recvmsg": 47,
    "bind": 49, "listen": 50, "socketpair": 53, "accept4": 288, "recvmmsg": 299, "sendmmsg": 307,
    "fork": 57, "vfork": 58, "execve": 59, "execveat": 322,
    "tkill": 200, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297,
    "pidfd_send_signal": 424, "pidfd_open": 434, "pidfd_getfd": 438,
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "process_madvise": 440, "kcmp": 312,
    "shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66, "semtimedop": 220,
    "msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "mq_open": 240, "mq_unlink": 241,
    "memfd_create": 319, "memfd_secret": 447,
    "truncate": 76, "ftruncate": 77, "fallocate": 285, "rename": 82, "mkdir": 83, "rmdir": 84, "creat": 85,
    "link": 86, "unlink": 87, "symlink": 88, "chmod": 90, "fchmod": 91, "chown": 92, "fchown": 93,
    "lchown": 94, "mknod": 133, "utime": 132, "utimes": 235, "futimesat": 261, "utimensat": 280,
    "mkdirat": 258, "mknodat": 259, "fchownat": 260, "unlinkat": 263, "renameat": 264, "linkat": 265,
    "symlinkat": 266, "fchmodat": 268, "renameat2": 316, "fchmodat2": 452,
    "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198,
    "fremovexattr": 199,
    "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "mount_setattr": 442,
    "bpf": 321, "perf_event_open": 298, "userfaultfd": 323,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "io_setup": 206,
    "add_key": 248, "request_key": 249, "keyctl": 250,
    "name_to_handle_at": 303, "open_by_handle_at": 304, "fanotify_init": 300,
    "inotify_init1": 294, "inotify_init": 253,
    "init_module": 175, "delete_module": 176, "finit_module": 313, "kexec_load": 246, "kexec_file_load": 320,
    "reboot": 169, "swapon": 167, "swapoff": 168, "syslog": 103, "acct": 163, "quotactl": 179,
    "settimeofday": 164, "clock_settime": 227, "adjtimex": 159, "clock_adjtime": 305,
    "sethostname": 170, "setdomainname": 171, "personality": 135, "iopl": 172, "ioperm": 173,
    "setrlimit": 160, "sched_setaffinity": 203, "sched_setscheduler": 144, "sched_setparam": 142,
    "sched_setattr": 314, "setpriority": 141, "ioprio_set": 251,
    "setuid": 105, "setgid": 106, "setreuid": 113, "setregid": 114, "setgroups": 116, "setresuid": 117,
    "setresgid": 119, "setfsuid": 122, "setfsgid": 123, "capset": 126,
}  # fmt: skip
_AARCH64: Final = {
    "socket": 198, "socketpair": 199, "bind": 200, "listen": 201, "accept": 202, "connect": 203,
    "sendto": 206, "recvfrom": 207, "sendmsg": 211, "recvmsg": 212, "accept4": 242, "recvmmsg": 243,
    "sendmmsg": 269,
    "execve": 221, "execveat": 281, "tkill": 130, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240,
    "pidfd_send_signal": 424, "pidfd_open": 434, "pidfd_getfd": 438,
    "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "process_madvise": 440, "kcmp": 272,
    "mq_open": 180, "mq_unlink": 181, "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189,
    "semget": 190, "semctl": 191, "semtimedop": 192, "semop": 193, "shmget": 194, "shmctl": 195, "shmat": 196,
    "memfd_create": 279, "memfd_secret": 447,
    "truncate": 45, "ftruncate": 46, "fallocate": 47,
    "mknodat": 33, "mkdirat": 34, "unlinkat": 35, "symlinkat": 36, "linkat": 37, "renameat": 38,
    "renameat2": 276, "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55, "fchmodat2": 452,
    "utimensat": 88,
    "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
    "umount2": 39, "mount": 40, "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "mount_setattr": 442,
    "bpf": 280, "perf_event_open": 241, "userfaultfd": 282,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "io_setup": 0,
    "add_key": 217, "request_key": 218, "keyctl": 219,
    "name_to_handle_at": 264, "open_by_handle_at": 265, "fanotify_init": 262, "inotify_init1": 26,
    "init_module": 105, "delete_module": 106, "finit_module": 273, "kexec_load": 104, "kexec_file_load": 294,
    "reboot": 142, "swapon": 224, "swapoff": 225, "syslog": 116, "acct": 89, "quotactl": 60,
    "settimeofday": 170, "clock_settime": 112, "adjtimex": 171, "clock_adjtime": 266,
    "sethostname": 161, "setdomainname": 162, "personality": 92,
    "setrlimit": 164, "sched_setaffinity": 122, "sched_setscheduler": 119, "sched_setparam": 118,
    "sched_setattr": 274, "setpriority": 140, "ioprio_set": 30,
    "setuid": 146, "setgid": 144, "setreuid": 145, "setregid": 143, "setgroups": 159, "setresuid": 147,
    "setresgid": 149, "setfsuid": 151, "setfsgid": 152, "capset": 91,
}  # fmt: skip


class Architecture(NamedTuple):
    """The numbers of one machine's system calls."""

    audit: int  # what the kernel calls the architecture
    refused: dict[str, int]
    looked_at: dict[str, int]  # whose arguments decide


ARCHITECTURES: Final = {
    "x86_64": Architecture(
        0xC000003E,
        _X86_64,
        {"open": 2, "openat": 257, "openat2": 437, "clone": 56, "clone3": 435, "kill": 62, "tgkill": 234,
         "prlimit64": 302, "prctl": 157},
    ),
    "aarch64": Architecture(
        0xC00000B7,
        _AARCH64,
        {"openat": 56, "openat2": 437, "clone": 220, "clone3": 435, "kill": 129, "tgkill": 131,
         "prlimit64": 261, "prctl": 167},
    ),
}  # fmt: skip

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # places in what the filter sees of a call
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000


def available() -> bool:
    """Whether there is a filter for this machine, and a kernel that takes it."""
    if platform.system() != "Linux" or platform.machine() not in ARCHITECTURES:
        return False
    # A filter at the address 0 cannot be read: a kernel that knows filters says EFAULT, any other EINVAL.
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_PR_SET_SECCOMP, _FILTER, None, 0, 0)
    return ctypes.get_errno() == errno.EFAULT


def install(*, network: bool = False) -> bool:
    """Filter the calls of this thread and of those that it starts; ``no_new_privs`` must be set."""
    if not available():
        return False
    program_of = _program(ARCHITECTURES[platform.machine()], network=network)
    code = b"".join(struct.pack("=HBBI", *each) for each in program_of)
    kept = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(
        struct.pack("@HP", len(code) // 8, ctypes.addressof(kept)), struct.calcsize("@HP")
    )
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_SECCOMP, _FILTER, program, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return True


def _program(machine: Architecture, *, network: bool = False) -> list[tuple[int, int, int, int]]:
    """Instructions of classic BPF: operation, how many to skip if it holds, and if not, and a number."""
    refuse = (_RETURN, 0, 0, _ERROR | errno.EPERM)
    unknown = (_RETURN, 0, 0, _ERROR | errno.ENOSYS)
    allow = (_RETURN, 0, 0, _ALLOW)
    own, at = os.getpid(), machine.looked_at
    found = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        refuse,
    ]
    for name, number in machine.refused.items():
        if network and name == "socket":
            found += [(_EQUAL, 0, len(_FAMILIES) + 3, number), _argument(0)]
            found += [(_EQUAL, len(_FAMILIES) - place, 0, family) for place, family in enumerate(_FAMILIES)]
            found += [refuse, allow]
        elif not network or name not in _NETWORK_CALLS:
            found += [(_EQUAL, 0, 1, number), refuse]
    for name in ("clone3", "openat2"):  # their flags are in memory, where no filter looks: the C library
        found += [(_EQUAL, 0, 1, at[name]), unknown]  # then takes clone and openat
    for name, argument in (("open", 1), ("openat", 2)):
        if name in at:
            found += [
                (_EQUAL, 0, 4, at[name]),
                _argument(argument),
                (_ANY_BIT, 0, 1, _WRITING),
                refuse,
                allow,
            ]
    found += [(_EQUAL, 0, 4, at["clone"]), _argument(0), (_ANY_BIT, 1, 0, _CLONE_THREAD), refuse, allow]
    for name in ("kill", "tgkill"):  # itself it may end
        found += [(_EQUAL, 0, 4, at[name]), _argument(0), (_EQUAL, 1, 0, own), refuse, allow]
    found += [(_EQUAL, 0, 4, at["prctl"]), _argument(0), (_EQUAL, 0, 1, _PR_SET_PDEATHSIG), refuse, allow]
    found += [
        (_EQUAL, 0, 6, at["prlimit64"]),  # it may ask for limits, and set none
        _argument(2),
        (_EQUAL, 0, 3, 0),
        (_LOAD, 0, 0, _ARGUMENTS + 8 * 2 + 4),
        (_EQUAL, 0, 1, 0),
        allow,
        refuse,
    ]
    return [*found, allow]


def _argument(number: int) -> tuple[int, int, int, int]:
    """The lower half of an argument of the call."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * number)

"""What the Linux kernel can forbid a process that runs a student's code: root's rights, files, calls, resources.

`raise_walls` is called by the student's process itself, after its imports and before the first line of the student.
What is forbidden once can never be allowed again, whatever the process does. No package and no privilege is needed;
a process that root started becomes a user whom nobody else is.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence

MEMORY = 3 * 1024**3  # bytes of address space
FILE_SIZE = 1_000_000  # bytes of any one file
OPEN_FILES = 64

# Landlock access rights, in the order of the kernel's bits.
_RIGHTS = [
    "execute",
    "write",
    "read",
    "list",
    "remove_dir",
    "remove_file",
    "make_char",
    "make_dir",
    "make_file",
    "make_socket",
    "make_fifo",
    "make_block",
    "make_link",
    "refer",
    "truncate",
    "ioctl",
]
_BIT = {right: 1 << place for place, right in enumerate(_RIGHTS)}
_KNOWN = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # how many of them each version of Landlock knows
_READING = _BIT["execute"] | _BIT["read"] | _BIT["list"]
_FOR_FILES = _BIT["execute"] | _BIT["write"] | _BIT["read"] | _BIT["truncate"] | _BIT["ioctl"]
FIRST_USER, USERS = 61_184, 4_096  # numbers that no account has: systemd takes its passing users from there too
READS_ALL = 1 << 2  # the capability to read what the owner alone may: CAP_DAC_READ_SEARCH
LEAST_LANDLOCK = 3  # the first version that forbids truncating files

# What a student's cell has no business to call: other processes, the network, other owners and modes, the kernel.
_FORBIDDEN = {
    "x86_64": (
        0xC000003E,
        {
            "clone": 56,
            "fork": 57,
            "vfork": 58,
            "execve": 59,
            "execveat": 322,
            "clone3": 435,
            "kill": 62,
            "tkill": 200,
            "tgkill": 234,
            "rt_sigqueueinfo": 129,
            "rt_tgsigqueueinfo": 297,
            "pidfd_open": 434,
            "pidfd_send_signal": 424,
            "pidfd_getfd": 438,
            "ptrace": 101,
            "process_vm_readv": 310,
            "process_vm_writev": 311,
            "process_madvise": 440,
            "kcmp": 312,
            "socket": 41,
            "socketpair": 53,
            "connect": 42,
            "bind": 49,
            "listen": 50,
            "chmod": 90,
            "fchmod": 91,
            "fchmodat": 268,
            "fchmodat2": 452,
            "chown": 92,
            "fchown": 93,
            "lchown": 94,
            "fchownat": 260,
            "utime": 132,
            "utimes": 235,
            "futimesat": 261,
            "utimensat": 280,
            "setxattr": 188,
            "lsetxattr": 189,
            "fsetxattr": 190,
            "removexattr": 197,
            "lremovexattr": 198,
            "fremovexattr": 199,
            "setxattrat": 463,
            "removexattrat": 466,
            "file_setattr": 469,
            "mount": 165,
            "umount2": 166,
            "pivot_root": 155,
            "chroot": 161,
            "unshare": 272,
            "setns": 308,
            "open_by_handle_at": 304,
            "move_mount": 429,
            "fsopen": 430,
            "open_tree": 428,
            "mount_setattr": 442,
            "bpf": 321,
            "perf_event_open": 298,
            "userfaultfd": 323,
            "io_uring_setup": 425,
            "keyctl": 250,
            "add_key": 248,
            "request_key": 249,
            "init_module": 175,
            "finit_module": 313,
            "delete_module": 176,
            "kexec_load": 246,
            "kexec_file_load": 320,
            "reboot": 169,
            "swapon": 167,
            "setuid": 105,
            "setgid": 106,
            "setreuid": 113,
            "setregid": 114,
            "setresuid": 117,
            "setresgid": 119,
            "setrlimit": 160,
            "prlimit64": 302,
            "setpriority": 141,
            "sched_setaffinity": 203,
            "sched_setscheduler": 144,
            "sched_setparam": 142,
            "sched_setattr": 314,
            "ioprio_set": 251,
            "fanotify_init": 300,
            "fanotify_mark": 301,
            "sethostname": 170,
            "settimeofday": 164,
            "clock_settime": 227,
            "adjtimex": 159,
            "syslog": 103,
            "acct": 163,
            "quotactl": 179,
            "shmget": 29,
            "msgget": 68,
            "semget": 64,
            "mq_open": 240,
            "ioperm": 173,
            "iopl": 172,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "clone": 220,
            "execve": 221,
            "execveat": 281,
            "clone3": 435,
            "kill": 129,
            "tkill": 130,
            "tgkill": 131,
            "rt_sigqueueinfo": 138,
            "rt_tgsigqueueinfo": 240,
            "pidfd_open": 434,
            "pidfd_send_signal": 424,
            "pidfd_getfd": 438,
            "ptrace": 117,
            "process_vm_readv": 270,
            "process_vm_writev": 271,
            "process_madvise": 440,
            "kcmp": 272,
            "socket": 198,
            "socketpair": 199,
            "bind": 200,
            "listen": 201,
            "connect": 203,
            "fchmod": 52,
            "fchmodat": 53,
            "fchmodat2": 452,
            "fchownat": 54,
            "fchown": 55,
            "utimensat": 88,
            "setxattr": 5,
            "lsetxattr": 6,
            "fsetxattr": 7,
            "removexattr": 14,
            "lremovexattr": 15,
            "fremovexattr": 16,
            "setxattrat": 463,
            "removexattrat": 466,
            "file_setattr": 469,
            "mount": 40,
            "umount2": 39,
            "pivot_root": 41,
            "chroot": 51,
            "unshare": 97,
            "setns": 268,
            "open_by_handle_at": 265,
            "move_mount": 429,
            "fsopen": 430,
            "open_tree": 428,
            "mount_setattr": 442,
            "bpf": 280,
            "perf_event_open": 241,
            "userfaultfd": 282,
            "io_uring_setup": 425,
            "keyctl": 219,
            "add_key": 217,
            "request_key": 218,
            "init_module": 105,
            "finit_module": 273,
            "delete_module": 106,
            "kexec_load": 104,
            "kexec_file_load": 294,
            "reboot": 142,
            "swapon": 224,
            "setuid": 146,
            "setgid": 144,
            "setreuid": 145,
            "setregid": 143,
            "setresuid": 147,
            "setresgid": 149,
            "setrlimit": 164,
            "prlimit64": 261,
            "setpriority": 140,
            "sched_setaffinity": 122,
            "sched_setscheduler": 119,
            "sched_setparam": 118,
            "sched_setattr": 274,
            "ioprio_set": 30,
            "fanotify_init": 262,
            "fanotify_mark": 263,
            "sethostname": 161,
            "settimeofday": 170,
            "clock_settime": 112,
            "adjtimex": 171,
            "syslog": 116,
            "acct": 89,
            "quotactl": 60,
            "shmget": 194,
            "msgget": 186,
            "semget": 190,
            "mq_open": 180,
        },
    ),
}
_EPERM, _ENOSYS = 1, 38
# Calls that are needed, but not with these second arguments: they have the kernel send a signal to any process.
_FORBIDDEN_COMMANDS = {
    "fcntl": ({"x86_64": 72, "aarch64": 25}, (8, 10, 15)),  # F_SETOWN, F_SETSIG, F_SETOWN_EX
    "ioctl": ({"x86_64": 16, "aarch64": 29}, (0x8901, 0x8902, 0x5452)),  # FIOSETOWN, SIOCSPGRP, FIOASYNC
}


def raise_walls(*, readable: Iterable[str], writable: str, cpu_seconds: int) -> list[str]:
    """Raises every wall that this system offers and names them; all are "limits", "user", "landlock", "seccomp".

    readable: files and folders that may be read, and nothing else may. writable: the one folder that may be written.
    """
    raised = []
    if _limit_resources(cpu_seconds):
        raised.append("limits")
    if platform.system() == "Linux":
        library = ctypes.CDLL(None, use_errno=True)
        if _become_nobody(library, [*readable], writable):
            raised.append("user")
        library.prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG, lost with the user: when the judge is killed, this is too
        library.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS: both of the following need it
        if _fence_files(library, readable, writable):
            raised.append("landlock")
        if _forbid_calls(library):
            raised.append("seccomp")
    return raised


def user_of(process: int) -> int:
    """The number of the user that a process of root's becomes: another one for each of some thousand processes."""
    return FIRST_USER + process % USERS


def _become_nobody(library: ctypes.CDLL, readable: list[str], writable: str) -> bool:
    """A process of root's becomes a user who owns one folder; no process keeps a capability that it could misuse.

    Where only root may enter the folders of Python (/root/...), one stays: to read, which Landlock fences.
    """
    user, root = user_of(os.getpid()), os.geteuid() == 0
    needed = [path for path in readable if os.path.exists(path)]
    needed += [file for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))]
    library.prctl(8, 1, 0, 0, 0)  # PR_SET_KEEPCAPS: so that one can be kept below
    try:
        if root:
            os.chown(writable, user, user)
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
    except OSError:  # root of a container that lacks the right to change its user
        return False
    kept = 0 if not root or all(os.access(path, os.R_OK) for path in needed) else READS_ALL
    header = struct.pack("Ii", 0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    return bool(library.capset(header, struct.pack("IIIIII", kept, kept, 0, 0, 0, 0)) == 0)


def _limit_resources(cpu_seconds: int) -> bool:
    try:
        import resource
    except ImportError:  # Windows
        return False
    limits = {"RLIMIT_CPU": cpu_seconds, "RLIMIT_AS": MEMORY, "RLIMIT_FSIZE": FILE_SIZE, "RLIMIT_NOFILE": OPEN_FILES}
    for name, value in {**limits, "RLIMIT_CORE": 0}.items():
        kind = getattr(resource, name)
        most = resource.getrlimit(kind)[1]
        least = value if most == resource.RLIM_INFINITY else min(value, most)
        try:
            resource.setrlimit(kind, (least, least))
        except (ValueError, OSError):  # macOS has no limit of the address space
            continue
    return True


def _fence_files(library: ctypes.CDLL, readable: Iterable[str], writable: str) -> bool:
    """Landlock: files outside the given ones cannot be opened, and no signal or abstract socket leaves the process."""
    version = library.syscall(444, None, 0, 1)  # landlock_create_ruleset, asked for its version
    if version < LEAST_LANDLOCK:
        return False
    handled = (1 << _KNOWN.get(version, 16)) - 1
    attributes = struct.pack("QQQ", handled, 3, 3)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = library.syscall(444, attributes, len(attributes), 0)
    if rules < 0:
        return False
    for path in readable:
        _allow(library, rules, path, _READING & handled)
    _allow(library, rules, writable, handled)
    _allow(library, rules, os.devnull, handled)
    fenced = bool(library.syscall(446, rules, 0) == 0)  # landlock_restrict_self
    os.close(rules)
    return fenced


def _allow(library: ctypes.CDLL, rules: int, path: str, rights: int) -> None:
    """One Landlock rule; a path that is not there needs none."""
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):
        rights &= _FOR_FILES
    library.syscall(445, rules, 1, struct.pack("=Qi", rights, opened), 0)
    os.close(opened)


def _forbid_calls(library: ctypes.CDLL) -> bool:
    """seccomp: the system calls of `_FORBIDDEN` fail with EPERM; those of another architecture end the process."""
    if platform.machine() not in _FORBIDDEN:
        return False
    architecture, calls = _FORBIDDEN[platform.machine()]
    commands = {numbers[platform.machine()]: forbidden for numbers, forbidden in _FORBIDDEN_COMMANDS.values()}
    program = _filter(architecture, calls, commands)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    described = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    return bool(library.prctl(22, 2, described, 0, 0) == 0)  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


def _filter(
    architecture: int, calls: Mapping[str, int], commands: Mapping[int, Sequence[int]]
) -> Sequence[tuple[int, int, int, int]]:
    """A classic BPF program over (call number at 0, architecture at 4, second argument at 24)."""
    load, equal, at_least, answer = 0x20, 0x15, 0x35, 0x06
    kill, allow, fail = 0x80000000, 0x7FFF0000, 0x00050000
    program = [(load, 0, 0, 4), (equal, 1, 0, architecture), (answer, 0, 0, kill), (load, 0, 0, 0)]
    program += [(at_least, 0, 1, 0x40000000), (answer, 0, 0, kill)]  # the x32 way of calling
    for name, number in calls.items():
        program += [(equal, 0, 1, number), (answer, 0, 0, fail | (_ENOSYS if name == "clone3" else _EPERM))]
    for number, forbidden in commands.items():
        program += [(equal, 0, 2 * len(forbidden) + 2, number), (load, 0, 0, 24)]
        for command in forbidden:
            program += [(equal, 0, 1, command), (answer, 0, 0, fail | _EPERM)]
        program += [(answer, 0, 0, allow)]
    return [*program, (answer, 0, 0, allow)]

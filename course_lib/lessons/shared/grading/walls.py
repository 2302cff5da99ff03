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
_RIGHTS = """execute write read list remove_dir remove_file make_char make_dir make_file make_socket make_fifo
make_block make_link refer truncate ioctl"""
_BIT = {right: 1 << place for place, right in enumerate(_RIGHTS.split())}
_KNOWN = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # how many of them each version of Landlock knows
_READING = _BIT["execute"] | _BIT["read"] | _BIT["list"]
_FOR_FILES = _BIT["execute"] | _BIT["write"] | _BIT["read"] | _BIT["truncate"] | _BIT["ioctl"]
FIRST_USER, USERS = 61_184, 4_096  # numbers that no account has: systemd takes its passing users from there too
READS_ALL = 1 << 2  # the capability to read what the owner alone may: CAP_DAC_READ_SEARCH
LEAST_LANDLOCK = 3  # the first version that forbids truncating files

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# What a student's cell has no business to call: other processes, the network, other owners and modes, the kernel. Each
# with its number on these two; - where it has none.
_CALLS = """
clone 56 220, fork 57 -, vfork 58 -, execve 59 221, execveat 322 281, clone3 435 435, kill 62 129, tkill 200 130,
tgkill 234 131, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, pidfd_open 434 434, pidfd_send_signal 424 424,
pidfd_getfd 438 438, ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440,
kcmp 312 272, socket 41 198, socketpair 53 199, connect 42 203, bind 49 200, listen 50 201, chmod 90 -,
fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, chown 92 -, fchown 93 55, lchown 94 -, fchownat 260 54,
utime 132 -, utimes 235 -, futimesat 261 -, utimensat 280 88, setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7,
removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16, setxattrat 463 463, removexattrat 466 466,
file_setattr 469 469, mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, unshare 272 97, setns 308 268,
open_by_handle_at 304 265, move_mount 429 429, fsopen 430 430, open_tree 428 428, mount_setattr 442 442,
bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, io_uring_setup 425 425, keyctl 250 219, add_key 248 217,
request_key 249 218, init_module 175 105, finit_module 313 273, delete_module 176 106, kexec_load 246 104,
kexec_file_load 320 294, reboot 169 142, swapon 167 224, setuid 105 146, setgid 106 144, setreuid 113 145,
setregid 114 143, setresuid 117 147, setresgid 119 149, setrlimit 160 164, prlimit64 302 261, setpriority 141 140,
sched_setaffinity 203 122, sched_setscheduler 144 119, sched_setparam 142 118, sched_setattr 314 274,
ioprio_set 251 30, fanotify_init 300 262, fanotify_mark 301 263, sethostname 170 161, settimeofday 164 170,
clock_settime 227 112, adjtimex 159 171, syslog 103 116, acct 163 89, quotactl 179 60, shmget 29 194, msgget 68 186,
semget 64 190, mq_open 240 180, ioperm 173 -, iopl 172 -
"""
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
    """seccomp: the system calls of `_CALLS` fail with EPERM; those of another architecture end the process."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        return False
    commands = {numbers[machine]: forbidden for numbers, forbidden in _FORBIDDEN_COMMANDS.values()}
    program = _filter(_ARCHITECTURES[machine], _forbidden(machine), commands)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    described = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    return bool(library.prctl(22, 2, described, 0, 0) == 0)  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


def _forbidden(machine: str) -> dict[str, int]:
    """name -> number of the calls of `_CALLS`, on one of the _ARCHITECTURES."""
    column = 1 + list(_ARCHITECTURES).index(machine)
    lines = (line.split() for line in _CALLS.split(","))
    return {line[0]: int(line[column]) for line in lines if line[column] != "-"}


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

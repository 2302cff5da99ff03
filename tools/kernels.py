"""Kernels that are forked from one process, which has imported the large packages once for all of them.

To import torch, scipy and matplotlib takes a kernel four seconds of a processor; a fork takes none. Only packages are
imported beforehand, nothing of the checkout: so `tools/watch_reads.py` sees what each notebook reads. Where processes
cannot be forked safely (macOS, Windows), each kernel is a process of its own, as usual.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from jupyter_client.connect import KernelConnectionInfo
    from jupyter_client.manager import AsyncKernelManager

ROOT = Path(__file__).resolve().parents[1]
CAN_FORK = sys.platform == "linux" and hasattr(os, "pidfd_open")
PACKAGES = (
    "ipykernel.kernelapp",
    "numpy",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "scipy.stats",
    "torch",
    "torch._dynamo",  # the first optimiser imports it
    "lightning_fabric",
    "numba",
    "sympy",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_svg",
    "yaml",
    "anywidget",
    "tqdm.auto",  # after ipykernel: only then does it choose the bar of notebooks
)
# matplotlib reads the backend's name when it is imported; the backend itself must meet a kernel, and is not imported
BACKEND = "module://matplotlib_inline.backend_inline"
FAILED = "failed: "
PR_SET_PDEATHSIG = 1


class NoKernel(RuntimeError):
    """A kernel could not be forked."""


class ForkServer:
    """The process that kernels are forked from; as a context it ends with the block, and its kernels with it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        reading, writing = os.pipe()  # not standard output, where packages may print
        self._answers = os.fdopen(reading, encoding="utf-8")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.kernels", str(writing)],
            stdin=subprocess.PIPE,
            pass_fds=(writing,),
            cwd=ROOT,
            env={**environment, "MPLBACKEND": BACKEND},
            text=True,
            start_new_session=True,  # Ctrl-C reaches the caller alone, who calls `end`
        )
        os.close(writing)

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End the process and its kernels, whatever they do."""
        self._process.kill()
        self._process.wait()

    def fork(self, arguments: list[str], environment: Mapping[str, str], folder: str) -> Forked:
        """A new kernel with these arguments, in an environment and a folder.

        Raises:
            NoKernel: the server has ended, or the machine has no room for another process.
        """
        order = {"arguments": arguments, "environment": dict(environment), "folder": folder}
        with self._lock:
            assert self._process.stdin is not None  # a pipe, see above
            try:
                self._process.stdin.write(json.dumps(order) + "\n")
                self._process.stdin.flush()
                answer = self._answers.readline()
            except BrokenPipeError:
                answer = ""
        if not answer:
            raise NoKernel(f"the process that kernels are forked from has ended (exit {self._process.wait(5)})")
        if answer.startswith(FAILED):
            raise NoKernel(f"no kernel could be forked: {answer.removeprefix(FAILED).strip()}")
        return Forked(int(answer))

    def manager(self) -> type[AsyncKernelManager]:
        """The class of kernel managers whose kernels are forked here, as `nbclient.NotebookClient` takes it."""
        from jupyter_client.manager import AsyncKernelManager
        from jupyter_client.provisioning.local_provisioner import LocalProvisioner

        server = self

        class Provisioner(LocalProvisioner):
            async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
                self.cwd = kwargs["cwd"]
                arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
                kernel: Any = server.fork(arguments, kwargs["env"], str(self.cwd))  # in the place of a Popen
                self.process, self.pid, self.pgid = kernel, kernel.pid, kernel.pid
                return self.connection_info

        class Manager(AsyncKernelManager):
            def __init__(self, **options: Any) -> None:
                super().__init__(**options)
                self.provisioner = Provisioner(kernel_id="", kernel_spec=self.kernel_spec, parent=self)

        return Manager


class Forked:
    """A kernel that is not this process's child, with the methods of `subprocess.Popen` that jupyter_client calls."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self._running: int | None = os.pidfd_open(pid)
        except ProcessLookupError:
            self._running = None

    def poll(self) -> int | None:
        """None while the kernel runs, else 0; also where nobody takes note of its end."""
        if self._running is not None and select.select([self._running], [], [], 0)[0]:
            os.close(self._running)
            self._running = None
        return 0 if self._running is None else None

    def wait(self) -> int:
        """Return when the kernel has ended."""
        while self.poll() is None:
            time.sleep(0.05)
        return 0

    def send_signal(self, signum: int) -> None:
        """Send a signal to the kernel, if it runs."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signum)

    def kill(self) -> None:
        """End the kernel at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask the kernel to end."""
        self.send_signal(signal.SIGTERM)


def prepare() -> dict[str, str]:
    """Import the packages that there are; what they made stays where it is, in memory that all kernels share.

    Returns the variables of the environment that they have set, such as Lightning's for NVIDIA's cards.
    """
    before = set(os.environ)
    gc.disable()
    for name in PACKAGES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()
    gc.enable()
    return {name: value for name, value in os.environ.items() if name not in before}


def serve(answers: TextIO) -> tuple[dict[str, Any], int] | None:
    """Fork for each line of standard input and answer with the new process's number.

    Returns the order and the server's number in each new process, and None in the server when its input ends.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # kernels that have ended leave nothing behind
    server = os.getpid()
    while line := sys.stdin.readline():
        try:
            pid = os.fork()
        except OSError as error:
            print(f"{FAILED}{error}", file=answers, flush=True)
            continue
        if pid == 0:
            return json.loads(line), server
        print(pid, file=answers, flush=True)
    return None


def die_with(server: int) -> None:
    """Let this process end when its parent, the server, ends; at once where that has ended already."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server:
        os._exit(1)


def become(order: dict[str, Any], set_by_imports: Mapping[str, str]) -> None:
    """Be the kernel of an order, to its end; set_by_imports: see `prepare`."""
    from ipykernel import kernelapp

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update({**set_by_imports, **order["environment"]})
    for name in ("numpy.random", "torch"):  # Python's own `random` begins anew in each fork, these do not
        if name in sys.modules:
            sys.modules[name].seed()
    sys.argv = ["ipykernel_launcher", *order["arguments"], f"--IPKernelApp.parent_handle={os.getppid()}"]
    kernelapp.launch_new_instance()


def main() -> None:
    """The server, and in time each of its kernels."""
    if not sys.flags.safe_path and Path(sys.path[0]) == Path.cwd():  # as in ipykernel_launcher
        del sys.path[0]
    set_by_imports = prepare()
    with os.fdopen(int(sys.argv[1]), "w", encoding="utf-8") as answers:
        found = serve(answers)
    if found is not None:
        order, server = found
        die_with(server)
        become(order, set_by_imports)


if __name__ == "__main__":
    main()

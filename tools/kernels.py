"""Kernels that are forked from one process, which has imported the large packages once for all of them.

To import torch, scipy and matplotlib takes a kernel four seconds of a processor; a fork takes none. Only packages are
imported beforehand, nothing of the checkout: so `tools/watch_reads.py` sees what each notebook reads. Where processes
cannot be forked safely (macOS, Windows), each kernel is a process of its own, as usual.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_client.connect import KernelConnectionInfo
    from jupyter_client.manager import AsyncKernelManager

ROOT = Path(__file__).resolve().parents[1]
CAN_FORK = sys.platform == "linux"
PACKAGES = (
    "ipykernel.kernelapp",
    "ipywidgets",
    "numpy",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "scipy.stats",
    "torch",
    "torch._dynamo",  # the first optimiser imports it
    "numba",
    "sympy",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_svg",
    "yaml",
)
BACKEND = "module://matplotlib_inline.backend_inline"  # matplotlib reads its name when it is imported, not the module


class ForkServer:
    """The process that kernels are forked from; as a context it ends with the block, and its kernels with it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.kernels"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**environment, "MPLBACKEND": BACKEND},
            text=True,
            start_new_session=True,  # Ctrl-C reaches the caller alone, who ends the kernels
        )

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def fork(self, arguments: list[str], environment: Mapping[str, str], folder: str) -> Forked:
        """A new kernel with these arguments, in an environment and a folder.

        Raises:
            RuntimeError: the server has ended.
        """
        with self._lock:
            assert self._process.stdin is not None and self._process.stdout is not None  # pipes, see above
            order = {"arguments": arguments, "environment": dict(environment), "folder": folder}
            try:
                self._process.stdin.write(json.dumps(order) + "\n")
                self._process.stdin.flush()
                answer = self._process.stdout.readline()
            except BrokenPipeError:
                answer = ""
        if not answer:
            raise RuntimeError(f"the process that kernels are forked from has ended (exit {self._process.poll()})")
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

    def poll(self) -> int | None:
        """None while the kernel runs, else 0."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self) -> int:
        """Return when the kernel has ended."""
        while self.poll() is None:
            time.sleep(0.05)
        return 0

    def send_signal(self, signum: int) -> None:
        """Send a signal to the kernel."""
        os.kill(self.pid, signum)

    def kill(self) -> None:
        """End the kernel at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask the kernel to end."""
        self.send_signal(signal.SIGTERM)


def prepare() -> None:
    """Import the packages; what they made stays where it is, in memory that all kernels share."""
    gc.disable()
    for name in PACKAGES:
        importlib.import_module(name)
    gc.freeze()
    gc.enable()


def serve() -> dict[str, Any] | None:
    """Fork for each line of standard input and print the new process's number.

    Returns the order in each new process, and None in the server when its input ends.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # kernels that have ended leave nothing behind
    while line := sys.stdin.readline():
        pid = os.fork()
        if pid == 0:
            order: dict[str, Any] = json.loads(line)
            return order
        print(pid, flush=True)
    return None


def become(order: dict[str, Any]) -> None:
    """Be the kernel of an order, to its end."""
    from ipykernel import kernelapp

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # standard output is where the server answers
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.argv = ["ipykernel_launcher", *order["arguments"], f"--IPKernelApp.parent_handle={os.getppid()}"]
    kernelapp.launch_new_instance()


def main() -> None:
    """The server, and in time each of its kernels."""
    if Path(sys.path[0]) == Path.cwd():  # as in ipykernel_launcher: PYTHONPATH says where to look
        del sys.path[0]
    prepare()
    order = serve()
    if order is not None:
        become(order)


if __name__ == "__main__":
    main()

"""A JupyterLab of this machine, with settings and kernels of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[1]
HOMES = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
HOMES += ("JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")


def wait_for(ready: Callable[[], bool], log: Path, seconds: float = 120) -> None:
    """Until it is so; where it never is, the error holds the end of the server's log."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if ready():
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError(f"not ready within {seconds} s:\n{log.read_text()[-2000:]}")


@contextmanager
def served(folder: Path, own: Path) -> Iterator[str]:
    """The address at which a folder is served; in `own` lie its settings and `lab.log`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = ["no-browser", "allow-root", f"port={port}", "ServerApp.port_retries=0", "IdentityProvider.token="]
    settings += ["LabApp.news_url=None", "LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    options = [f"--{setting}" for setting in (*settings, f"ServerApp.root_dir={folder}")]
    variables = {**os.environ, **dict.fromkeys(HOMES, str(own / ".jupyter")), "PYTHONPATH": str(ROOT)}
    with (own / "lab.log").open("w") as log:
        command = [sys.executable, "-m", "jupyterlab", *options]
        server = subprocess.Popen(command, env=variables, stdout=log, stderr=subprocess.STDOUT)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(lambda: urlopen(f"{address}/api").status == 200, own / "lab.log")
        yield address
    finally:
        server.terminate()
        server.wait(timeout=30)

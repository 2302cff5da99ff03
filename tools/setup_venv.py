"""Makes the course's virtual environment: one step, standard library only, run by the Makefile."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def check_python() -> None:
    """Stops with one line that says what to do where this Python cannot make an environment."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < (3, 11):
        sys.exit(f"The course needs Python 3.11 or newer; this is {version}. Try: make PYTHON=python3.12 book")
    if find_spec("venv") is None or find_spec("ensurepip") is None:
        sys.exit("This Python has no venv module. On Debian or Ubuntu: apt install python3-venv, then try again.")


def warn_of_size(torch_index: str) -> None:
    """Says that torch on Linux brings gigabytes of CUDA packages, where nothing here could use them."""
    if sys.platform == "linux" and not torch_index and shutil.which("nvidia-smi") is None:
        print(f"No NVIDIA GPU seen: `make book TORCH_INDEX={CPU_INDEX}` would save gigabytes of downloads.", flush=True)


def has_pip(python: Path) -> bool:
    """Whether an environment's Python is there and whole: a set-up that was cut short can leave it without pip."""
    return (
        python.exists()
        and not subprocess.run([str(python), "-m", "pip", "--version"], capture_output=True, check=False).returncode
    )


def install(venv: Path, torch_index: str) -> None:
    """Creates the environment where it is missing, installs the lock and then the course itself, editable."""
    python = venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not has_pip(python):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
    pip += [] if sys.stdout.isatty() else ["--quiet"]
    extra = ["--extra-index-url", torch_index] if torch_index else []
    subprocess.run([*pip, "-r", str(ROOT / "requirements.txt"), *extra], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("venv", type=Path)
    parser.add_argument("--torch-index", default="", help="a further package index, where torch is looked for")
    arguments = parser.parse_args()
    check_python()
    warn_of_size(arguments.torch_index)
    print(f"Installing the course into {arguments.venv} (once; some minutes) ...", flush=True)
    try:
        install(arguments.venv, arguments.torch_index)
    except subprocess.CalledProcessError as error:
        sys.exit(
            f"The set-up stopped: `{' '.join(error.cmd[:6])} ...` failed. Its message stands above; run make again to go on."
        )


if __name__ == "__main__":
    main()

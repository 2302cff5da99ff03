"""Makes the course's virtual environment: one step, standard library only, run by the Makefile.

uv installs the lock, in seconds; pip does, in minutes, where uv cannot be had or fails. uv does not read pip's
settings, so it is handed those that say where packages come from: a machine with its own index or with a folder of
wheels gets the same packages from both.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlparse

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.txt"
OLDEST = (3, 11)  # Python
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# Sections of pip's settings, the weakest first; ":env:" are the variables PIP_INDEX_URL and so on.
SECTIONS = ("global", "install", ":env:")
UV_OPTIONS = {
    "index-url": "--index-url",
    "extra-index-url": "--extra-index-url",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
}
UV_VARIABLES = {"cert": "SSL_CERT_FILE", "timeout": "UV_HTTP_TIMEOUT", "default-timeout": "UV_HTTP_TIMEOUT"}


def check_python() -> None:
    """Stops with one line that says what to do where this Python cannot make an environment."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST:
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


def pip_settings(listing: str) -> dict[str, str]:
    """The settings that hold for `pip install`, by name, from what `pip config list` prints."""
    found: dict[str, dict[str, str]] = {section: {} for section in SECTIONS}
    for line in listing.splitlines():
        name, _, value = line.partition("=")
        section, _, option = name.strip().rpartition(".")
        if section in found and value:
            found[section][option] = str(ast.literal_eval(value))
    return {option: value for section in SECTIONS for option, value in found[section].items() if value.strip()}


def is_there(address: str) -> bool:
    """Whether an index can be asked: one that is a folder of this machine must exist, or uv stops."""
    parts = urlparse(address)
    return parts.scheme != "file" or Path(unquote(parts.path)).exists()


def uv_arguments(settings: Mapping[str, str], torch_index: str = "") -> list[str]:
    """What makes uv look where pip would, and choose as pip does: the best version that any of the places has."""
    arguments = ["--index-strategy", "unsafe-best-match"]
    if settings.get("no-index", "").lower() in {"1", "true", "yes", "on"}:
        arguments += ["--no-index"]
    for option, name in UV_OPTIONS.items():
        arguments += [word for value in settings.get(option, "").split() if is_there(value) for word in (name, value)]
    return [*arguments, *(["--extra-index-url", torch_index] if torch_index else [])]


def uv_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """pip's settings that uv takes from the environment; what is set there for uv itself stays."""
    told = {name: settings[option] for option, name in UV_VARIABLES.items() if option in settings}
    if "proxy" in settings:
        told |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), settings["proxy"])
    return {name: value for name, value in told.items() if name not in os.environ}


def read_pip_settings(python: Path) -> dict[str, str]:
    """The settings of an environment's pip; none where it cannot say."""
    command = [str(python), "-m", "pip", "config", "list"]
    return pip_settings(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


def find_uv(python: Path) -> str | None:
    """uv's path: the one of this machine, or one that pip puts into the environment; None where there is none."""
    known = shutil.which("uv")
    if known is not None:
        return known
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--only-binary", "uv", "uv"]
    done = subprocess.run(pip, capture_output=True, check=False)
    return shutil.which("uv", path=str(python.parent)) if done.returncode == 0 else None


def from_lock(lock: Path) -> list[str]:
    """What pip and uv are asked for. A lock other than the usual one is complete, and no package may add to it."""
    return ["-r", str(lock), *([] if lock.resolve() == LOCK else ["--no-deps"])]


def install_with_uv(python: Path, lock: Path, torch_index: str) -> bool:
    """Install the lock and the course with uv; False where there is no uv or it fails."""
    uv = find_uv(python)
    if uv is None:
        return False
    settings = read_pip_settings(python)
    environment = {**os.environ, **uv_variables(settings)}
    quiet = [] if sys.stdout.isatty() else ["--quiet"]
    command = [uv, "pip", "install", *quiet, "--python", str(python), *uv_arguments(settings, torch_index)]
    return all(
        subprocess.run([*command, *what], env=environment, check=False).returncode == 0
        for what in (
            from_lock(lock),
            ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)],
        )
    )


def install_with_pip(python: Path, lock: Path, torch_index: str) -> None:
    """Install the lock and then the course itself, editable, with the environment's pip."""
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
    pip += [] if sys.stdout.isatty() else ["--quiet"]
    extra = ["--extra-index-url", torch_index] if torch_index else []
    subprocess.run([*pip, *from_lock(lock), *extra], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT)], check=True)


def install(venv: Path, lock: Path, torch_index: str) -> None:
    """Create the environment where it is missing, and install into it."""
    python = venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not has_pip(python):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
    if not install_with_uv(python, lock, torch_index):
        print("uv cannot be had, or failed: pip installs the same, in some minutes.", flush=True)
        install_with_pip(python, lock, torch_index)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("venv", type=Path)
    parser.add_argument("--lock", type=Path, default=LOCK, help="the packages and their versions")
    parser.add_argument("--torch-index", default="", help="a further package index, where torch is looked for")
    arguments = parser.parse_args()
    check_python()
    warn_of_size(arguments.torch_index)
    print(f"Installing the course into {arguments.venv} (once) ...", flush=True)
    try:
        install(arguments.venv, arguments.lock, arguments.torch_index)
    except subprocess.CalledProcessError as error:
        sys.exit(
            f"The set-up stopped: `{' '.join(error.cmd[:6])} ...` failed. "
            "Its message stands above; run make again to go on."
        )


if __name__ == "__main__":
    main()

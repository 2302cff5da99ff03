"""Makes the course's virtual environment with uv, and writes its locks: standard library only, run by the Makefile.

    python tools/setup_venv.py .venv            what requirements.txt locks, and the course itself, into .venv
    python tools/setup_venv.py .venv --write    the locks: requirements.txt, and requirements-scale.txt, where `make
                                                test-scale` runs TorchRec on the CPU (--upgrade: resolved afresh)

pip brings uv. uv does not read pip's settings, so it is handed those that say where packages come from: a machine with
its own index, or with a folder of wheels, gets the same packages from both.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlparse

ROOT = Path(__file__).resolve().parents[1]
LOCK, SCALE_LOCK = ROOT / "requirements.txt", ROOT / "requirements-scale.txt"
OLDEST = (3, 11)  # Python; not 3.11 and whatever comes: Debian 12 has 3.11.2, and some packages ask for 3.11.5
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# pip's settings that uv takes from the environment, the weakest section first; ":env:" are PIP_INDEX_URL and so on
SECTIONS = ("global", "install", ":env:")
UV_VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "proxy": "HTTPS_PROXY",
}
# What a lock leaves out: the packages that torch brings on Linux for CUDA. torch itself names the exact ones.
ONLY_WITH_CUDA = re.compile(r"(nvidia|cuda|triton)\b")
APART = ("scale", "text")  # extras; the last: 91 MB for one section, whose results are stored
# TorchRec asks for fbgemm-gpu, which is CUDA, and for one old version of torchmetrics; on the CPU it runs without them.
# This pair belongs to torch 2.13; the next one belongs to the next torch.
TORCHREC = "torchrec==1.8.0"
WITH_TORCHREC = ("fbgemm-gpu-cpu==1.8.0", "iopath", "pyre-extensions", "tensordict", "torchmetrics")
FOR_ITS_TESTS = ("hypothesis", "pytest", "pytest-xdist")


def check_python() -> None:
    """Stop with one line that says what to do where this Python cannot make an environment."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST:
        sys.exit(f"The course needs Python 3.11 or newer; this is {version}. Try: make PYTHON=python3.12 book")
    if find_spec("venv") is None or find_spec("ensurepip") is None:
        sys.exit("This Python has no venv module. On Debian or Ubuntu: apt install python3-venv, then try again.")


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


def uv_variables(settings: Mapping[str, str], torch_index: str = "") -> dict[str, str]:
    """What makes uv look where pip would, and choose as pip does: the best version that any of the places has."""
    told = {UV_VARIABLES[option]: value for option, value in settings.items() if option in UV_VARIABLES}
    indices = [address for address in f"{told.pop('UV_INDEX', '')} {torch_index}".split() if is_there(address)]
    told |= {"UV_INDEX": " ".join(indices)} if indices else {}
    if "UV_FIND_LINKS" in told:
        told["UV_FIND_LINKS"] = ",".join(told["UV_FIND_LINKS"].split())
    told = {"UV_INDEX_STRATEGY": "unsafe-best-match", **told}
    return {name: value for name, value in told.items() if name not in os.environ}  # what is set for uv itself stays


def environment(venv: Path) -> Path:
    """The Python of an environment with uv in it, which is made where it is missing."""
    python = venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not has_pip(python):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--only-binary", "uv", "uv"]
    subprocess.run(pip, check=True)
    return python


def run_uv(python: Path, *arguments: str, torch_index: str) -> str:
    """Run `uv pip` for an environment with its pip's settings; what it prints."""
    asked = [str(python), "-m", "pip", "config", "list"]
    listing = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    command = [str(python.with_name(f"uv{python.suffix}")), "pip", *arguments, "--python", str(python)]
    variables = {**os.environ, **uv_variables(pip_settings(listing), torch_index)}
    return subprocess.run(command, env=variables, check=True, stdout=subprocess.PIPE, text=True).stdout


def install(python: Path, lock: Path, torch_index: str) -> None:
    """Install the lock and the course. A lock other than the usual one is complete, and no package may add to it."""
    if sys.platform == "linux" and not torch_index and shutil.which("nvidia-smi") is None:
        print(f"No NVIDIA GPU seen: `make book TORCH_INDEX={CPU_INDEX}` would save gigabytes of downloads.", flush=True)
    complete = [] if lock.resolve() == LOCK else ["--no-deps"]
    run_uv(python, "install", "-r", str(lock), *complete, torch_index=torch_index)
    run_uv(python, "install", "--no-deps", "--no-build-isolation", "--editable", str(ROOT), torch_index=torch_index)


def write_locks(python: Path, torch_index: str, *, upgrade: bool) -> None:
    """Resolve what pyproject.toml asks for, for the oldest Python, and write it: exact versions, and no index."""
    asked = ["compile", "--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:"]
    asked += ["--python-version", ".".join(map(str, (*OLDEST, 0)))]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [name for name in project["optional-dependencies"] if name not in APART]
    course = str(ROOT / "pyproject.toml")
    here = [course, *(word for name in extras for word in ("--extra", name))]
    kept = [] if upgrade or not LOCK.is_file() else ["--constraints", str(LOCK)]
    write(LOCK, run_uv(python, *asked, *here, *kept, torch_index=torch_index))
    needs = python.parent / "scale.in"
    needs.write_text("\n".join([*WITH_TORCHREC, *FOR_ITS_TESTS]) + "\n", encoding="utf-8")
    there = [course, str(needs), "--extra", "experiments", "--constraints", str(LOCK)]
    scale = run_uv(python, *asked, *there, torch_index=torch_index)
    write(SCALE_LOCK, f"{TORCHREC}\n{scale}")


def write(lock: Path, resolved: str) -> None:
    """One package a line, in alphabetical order, without the name of a build such as +cpu."""
    lines = sorted(line.split("+")[0] for line in resolved.splitlines() if re.match(r"[\w.-]+==", line))
    lines = [line for line in lines if not ONLY_WITH_CUDA.match(line)]
    head = f"# Written by `make lock` for Python {OLDEST[0]}.{OLDEST[1]} and newer. What it locks: pyproject.toml."
    lock.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    print(f"{lock.name}: {len(lines)} packages")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("venv", type=Path)
    parser.add_argument("--lock", type=Path, default=LOCK, help="the packages and their versions")
    parser.add_argument("--torch-index", default="", help="a further package index, where torch is looked for")
    parser.add_argument("--write", action="store_true", help="write the locks, install nothing")
    parser.add_argument(
        "--upgrade", action="store_true", help="with --write: not the versions of the lock that is there"
    )
    arguments = parser.parse_args()
    check_python()
    print(f"Installing {'uv' if arguments.write else 'the course'} into {arguments.venv} (once) ...", flush=True)
    try:
        python = environment(arguments.venv)
        if arguments.write:
            write_locks(python, arguments.torch_index, upgrade=arguments.upgrade)
        else:
            install(python, arguments.lock, arguments.torch_index)
    except subprocess.CalledProcessError as error:
        sys.exit(
            f"The set-up stopped: `{' '.join(map(str, error.cmd[:6]))} ...` failed. Its message stands above; run make "
            "again to go on. Without uv: .venv/bin/pip install -r requirements.txt, then pip install --no-deps -e ."
        )


if __name__ == "__main__":
    main()

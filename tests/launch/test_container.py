"""The steps of exercises/Dockerfile, run in a Debian chroot, and a class graded there. The container itself is untried.

Needs root, debootstrap and some minutes: `make test-launch`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from classroom_helpers import grade_table

from exercises import simulate

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "exercises" / "Dockerfile"
COPIED = ("/etc/ssl", "/usr/local/share/ca-certificates", "/etc/pip.conf", "/etc/resolv.conf")  # how packages are had
LENT = ("/proc", "/dev", "/opt")  # here; /opt may be read only
PASSED_ON = re.compile(r"PIP_|SSL_|UV_|[A-Z_]*PROXY|[a-z_]*proxy|CURL_CA|REQUESTS_CA")


def steps() -> list[tuple[str, str]]:
    """(instruction, rest of the line) of the recipe."""
    lines = [line for line in DOCKERFILE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


@pytest.fixture(scope="module")
def machine() -> Iterator[Path]:
    """A new Debian, with copies of this machine's ways to packages.

    Not in pytest's own folder, which may be cleared away: each command lends it this machine's file systems.
    """
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("needs root and debootstrap")
    root = Path(tempfile.mkdtemp(prefix="debian-"))
    root.chmod(0o755)  # it is the root of all users there
    release = re.match(r"debian:(\w+)", dict(steps())["FROM"])[1]
    try:
        subprocess.run(["debootstrap", "--variant=minbase", release, str(root)], check=True, stdout=subprocess.DEVNULL)
        for place in filter(os.path.exists, COPIED):
            inside = root / place.lstrip("/")
            inside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(place, inside, dirs_exist_ok=True) if os.path.isdir(place) else shutil.copy(place, inside)
        for place in LENT:
            (root / place.lstrip("/")).mkdir(exist_ok=True)
        yield root
    finally:
        shutil.rmtree(root)  # nothing is mounted here: see `run`


def run(root: Path, command: str, *, user: str = "root", folder: str = "/") -> None:
    """A command inside, as the recipe's user, in its folder.

    What it is lent is mounted in a namespace of its own, and is gone with it: whatever becomes of this test, nothing
    of this machine lies below the new root.
    """
    passed = [f"{name}={value}" for name, value in os.environ.items() if PASSED_ON.match(name)]
    passed += [f"TORCH_INDEX={os.environ.get('TORCH_INDEX', '')}"]  # the recipe's argument
    home = [f"HOME=/{'root' if user == 'root' else f'home/{user}'}", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
    lending = [f"mount --rbind {place} {root}{place}" for place in LENT if os.path.exists(place)]
    lending += [f"if mountpoint -q {root}/opt; then mount -o remount,bind,ro {root}/opt; fi", 'exec "$@"']
    apart = ["unshare", "--mount", "--propagation", "private", "sh", "-c", " && ".join(lending), "sh"]
    inside = ["chroot", f"--userspec={user}", str(root), "env", "-i", *home, *passed]
    whole = [*apart, *inside, "sh", "-c", f"cd {folder} && {command}"]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


@pytest.mark.launch
@pytest.mark.slow
def test_a_class_is_graded_in_what_the_recipe_builds(machine: Path) -> None:
    user, folder = "root", "/"
    for word, rest in steps():
        if word == "RUN":
            run(machine, rest, user=user, folder=folder)
        elif word == "USER":
            user = rest
        elif word == "WORKDIR":
            folder = rest
        elif word == "COPY":
            files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
            for name in filter(None, files.decode().split("\0")):
                target = machine / folder.lstrip("/") / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, target)
            run(machine, f"chown -R {user} {folder}")
    simulate.write_class(machine / "class" / "in", ["reference", "wrong-diagonal", "hostile-files", "hostile-root"])
    run(machine, f"chown -R {user} /class")
    command = " ".join(json.loads(steps()[-1][1]))
    run(machine, f"{command} all --submissions /class/in --course /class", user=user, folder=folder)
    totals = {name.rsplit("-", 1)[0]: float(row["total"]) for name, row in grade_table(machine / "class").items()}
    assert totals == {"reference": 28, "wrong-diagonal": 19, "hostile-files": 0, "hostile-root": 0}

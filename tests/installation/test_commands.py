"""The commands that a reader types: make's targets, the set-up, `python -m course_lib`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib import __main__ as command
from tools import setup_venv

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split())
SETUP_FILES = ("Makefile", "requirements.txt", "pyproject.toml")


def make(*arguments: str, folder: Path = ROOT) -> str:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    # without the variables of a `make test` that may be running this test
    clean = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}}
    return subprocess.run(
        ["make", *arguments], cwd=folder, env=clean, capture_output=True, text=True, check=True
    ).stdout


def test_help_lists_at_most_twenty_targets_and_the_documents_name_the_others() -> None:
    lines = [line.split(maxsplit=2) for line in make("help").splitlines() if line.startswith("  make ")]
    shown = {words[1] for words in lines}
    assert len(lines) == len(shown) <= 20 and shown <= TARGETS and all(len(words[2]) > 10 for words in lines)
    written = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "exercises/README.md"))
    assert [target for target in TARGETS - shown if f"make {target}" not in written] == []


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "benchmarks/README.md"])
def test_documents_name_only_targets_that_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:time )?make ([a-z-]+)", text)) | set(
        re.findall(r"^make ([a-z-]+)", text, re.MULTILINE)
    )
    assert named and named <= TARGETS


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A copy of the set-up's files, in the state after a set-up."""
    for name in SETUP_FILES:
        shutil.copy(ROOT / name, tmp_path / name)
        os.utime(tmp_path / name, (1_000, 1_000))
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / ".installed").touch()
    return tmp_path


@pytest.mark.parametrize("target", ["book", "test", "test-fast", "lab", "claims"])
def test_a_second_make_does_not_set_up_again(installed: Path, target: str) -> None:
    assert "setup_venv.py" not in make("--dry-run", target, folder=installed)


@pytest.mark.parametrize("changed", ["requirements.txt", "pyproject.toml"])
def test_new_requirements_set_up_again(installed: Path, changed: str) -> None:
    os.utime(installed / ".venv" / ".installed", (2_000, 2_000))
    os.utime(installed / changed, (3_000, 3_000))
    assert "setup_venv.py" in make("--dry-run", "book", folder=installed)


def test_python_without_venv_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup_venv, "find_spec", lambda name: None if name == "ensurepip" else object())
    with pytest.raises(SystemExit, match="apt install python3-venv"):
        setup_venv.check_python()


def test_an_old_python_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup_venv.sys, "version_info", (3, 10, 12))
    with pytest.raises(SystemExit, match=r"needs Python 3\.11 or newer; this is 3\.10\.12"):
        setup_venv.check_python()


def test_the_lock_pins_every_package_exactly_and_names_no_index() -> None:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    packages = [line for line in lines if not line.startswith("#")]
    assert len(packages) > 50
    assert [line for line in packages if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line)] == []


def test_the_lock_holds_everything_that_the_project_asks_for() -> None:
    from packaging.requirements import Requirement

    from tools.setup_lock import wanted

    def plain(name: str) -> str:
        return re.sub(r"[-_.]+", "-", name).lower()

    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    locked = {plain(name): version for name, _, version in (line.partition("==") for line in lines) if version}
    asked = [Requirement(text) for text in wanted()]
    assert [str(need) for need in asked if locked.get(plain(need.name), "0") not in need.specifier] == []
    assert [str(need) for need in asked if any(bound.operator != ">=" for bound in need.specifier)] == []


def test_the_lock_of_test_scale_is_exact_and_agrees_with_the_lock() -> None:
    """TorchRec's pair, and nothing for CUDA; what both locks name has one version."""
    locked, scale = (
        dict(line.split("==") for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if line[0] != "#")
        for name in ("requirements.txt", "requirements-scale.txt")
    )
    assert scale["torchrec"] == scale["fbgemm_gpu-cpu"] and not {"fbgemm-gpu", "triton"} & set(scale)
    both = locked.keys() & scale.keys()
    assert len(both) > 30 and {name: locked[name] for name in both} == {name: scale[name] for name in both}
    assert setup_venv.from_lock(ROOT / "requirements-scale.txt")[-1] == "--no-deps"  # it is complete
    assert "--no-deps" not in setup_venv.from_lock(ROOT / "requirements.txt")


def run_course_lib(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "course_lib", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_course_lib_explains_itself() -> None:
    result = run_course_lib("--help")
    assert result.returncode == 0
    assert all(f"  {name}" in result.stdout for name in command.COMMANDS)


@pytest.mark.parametrize("name", command.COMMANDS)
def test_each_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In this process: to start one takes seconds."""
    with pytest.raises(SystemExit, match=r"^0$"):
        command.main([name, "--help"])
    assert name in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize("arguments", [[], ["paint"]])
def test_a_wrong_command_is_refused(arguments: list[str]) -> None:
    result = run_course_lib(*arguments)
    assert result.returncode == 2
    assert "usage: python -m course_lib" in result.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])  # "": little is written before the end
def test_who_reads_the_first_lines_alone_sees_no_traceback(unbuffered: str) -> None:
    """`python -m course_lib experiments list | head -1`, with a reader that is gone before the first word."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as unread:
        result = subprocess.run(
            [sys.executable, "-m", "course_lib", "experiments", "list"],
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=unread,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (result.returncode, result.stderr) == (0, b"")


def test_an_environment_that_was_cut_short_is_made_again(tmp_path: Path) -> None:
    assert not setup_venv.has_pip(tmp_path / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path)], check=True)
    assert not setup_venv.has_pip(tmp_path / "bin" / "python")
    assert setup_venv.has_pip(Path(sys.executable))


LISTING = """\
:env:.cert='/etc/ca.pem'
:env:.find-links='/opt/wheels https://wheels.example/torch'
global.extra-index-url='https://one.example/simple https://two.example/simple'
global.find-links='/elsewhere'
global.index-url='https://main.example/simple'
install.index-url='https://mirror.example/simple'
list.format='columns'
"""


def test_pips_settings_hold_as_they_do_for_pip() -> None:
    assert setup_venv.pip_settings(LISTING) == {
        "cert": "/etc/ca.pem",
        "find-links": "/opt/wheels https://wheels.example/torch",
        "extra-index-url": "https://one.example/simple https://two.example/simple",
        "index-url": "https://mirror.example/simple",
    }
    assert setup_venv.pip_settings("") == {}


def test_uv_is_handed_pips_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = setup_venv.pip_settings(LISTING)
    arguments = setup_venv.uv_arguments(settings, "https://torch.example/cpu")
    pairs = list(zip(arguments[::2], arguments[1::2], strict=True))
    assert pairs == [
        ("--index-strategy", "unsafe-best-match"),
        ("--index-url", "https://mirror.example/simple"),
        ("--extra-index-url", "https://one.example/simple"),
        ("--extra-index-url", "https://two.example/simple"),
        ("--find-links", "/opt/wheels"),
        ("--find-links", "https://wheels.example/torch"),
        ("--extra-index-url", "https://torch.example/cpu"),
    ]
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    assert setup_venv.uv_variables(settings) == {"SSL_CERT_FILE": "/etc/ca.pem"}
    monkeypatch.setenv("SSL_CERT_FILE", "/mine.pem")
    assert setup_venv.uv_variables(settings) == {}


def test_an_index_on_this_machine_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    here, gone = tmp_path.as_uri(), (tmp_path / "gone").as_uri()
    assert setup_venv.uv_arguments({"extra-index-url": f"{gone} {here}"})[2:] == ["--extra-index-url", here]


def test_without_uv_pip_installs_and_says_so(monkeypatch: pytest.MonkeyPatch, capsys, tmp_path: Path) -> None:
    called: list[Path] = []
    monkeypatch.setattr(setup_venv, "has_pip", lambda python: True)
    monkeypatch.setattr(setup_venv, "find_uv", lambda python: None)
    monkeypatch.setattr(setup_venv, "install_with_pip", lambda python, lock, torch_index: called.append(python))
    setup_venv.install(tmp_path, setup_venv.LOCK, "")
    assert called == [tmp_path / "bin" / "python"]
    assert capsys.readouterr().out == "uv cannot be had, or failed: pip installs the same, in some minutes.\n"


@pytest.mark.slow
def test_uv_would_install_the_lock_and_nothing_for_cuda_where_pip_would_not() -> None:
    """Resolved with this machine's settings: the lock, and no nvidia package where torch is the CPU build."""
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if uv is None:
        pytest.skip("uv is not installed")
    settings = setup_venv.read_pip_settings(Path(sys.executable))
    command = [uv, "pip", "compile", "--no-header", "--no-annotate", "--quiet", "--python", sys.executable]
    command += [*setup_venv.uv_arguments(settings), str(ROOT / "requirements.txt")]
    environment = {**os.environ, **setup_venv.uv_variables(settings)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if "Failed to fetch" in done.stderr or "error sending request" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    torch = next(line for line in lines if line.startswith("torch=="))
    if "+cpu" not in torch:
        pytest.skip(f"{torch}: this machine's settings offer no CPU build of torch, for pip or for uv")
    assert [line for line in lines if re.match(r"(nvidia|cuda|triton)", line)] == []
    plain = {re.sub(r"[-_.]+", "-", line.split("+")[0].partition("==")[0]).lower() for line in lines}
    locked = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert {re.sub(r"[-_.]+", "-", line.partition("==")[0]).lower() for line in locked if line[0] != "#"} <= plain

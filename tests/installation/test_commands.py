"""The commands that a reader types: make's targets, the set-up, `python -m course_lib`."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from drafts import one_quickly

from course_lib import __main__ as command
from tools import setup_venv

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split())
WRITTEN = ("README.md", "CONTRIBUTING.md", "exercises/README.md")
SETUP_FILES = ("Makefile", "requirements.txt", "pyproject.toml")


def make(*arguments: str, folder: Path = ROOT) -> str:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    # without the variables of a `make test` that may be running this test
    clean = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}}
    return subprocess.check_output(["make", *arguments], cwd=folder, env=clean, text=True)


def test_help_lists_at_most_twenty_targets_and_the_documents_name_the_others() -> None:
    lines = [line.split(maxsplit=2) for line in make("help").splitlines() if line.startswith("  make ")]
    shown = {words[1] for words in lines}
    assert len(lines) == len(shown) <= 20 and shown <= TARGETS and all(len(words[2]) > 10 for words in lines)
    written = "".join((ROOT / name).read_text(encoding="utf-8") for name in WRITTEN)
    assert [target for target in TARGETS - shown if f"make {target}" not in written] == []


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "benchmarks/README.md"])
def test_documents_name_only_targets_that_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    named = {*re.findall(r"`(?:time )?make ([a-z-]+)", text), *re.findall(r"^make ([a-z-]+)", text, re.MULTILINE)}
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
    """And what pyproject.toml holds by hand, at that version."""
    from packaging.requirements import Requirement

    def plain(name: str) -> str:
        return re.sub(r"[-_.]+", "-", name).lower()

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    extras = [packages for name, packages in project["optional-dependencies"].items() if name not in setup_venv.APART]
    texts = {*project["dependencies"], *settings["build-system"]["requires"], *itertools.chain(*extras)}
    asked = [Requirement(text) for text in texts if not text.startswith(project["name"])]  # an extra may name another
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    locked = {plain(name): version for name, _, version in (line.partition("==") for line in lines) if version}
    assert [str(need) for need in asked if locked.get(plain(need.name), "0") not in need.specifier] == []
    assert [str(need) for need in asked if any(bound.operator != ">=" for bound in need.specifier)] == []
    held = [Requirement(text) for text in settings["tool"]["uv"]["constraint-dependencies"]]
    assert [str(need) for need in held if locked[plain(need.name)] not in need.specifier] == []


def test_the_lock_of_test_scale_is_exact_and_agrees_with_the_lock() -> None:
    """TorchRec's pair, nothing for CUDA, and all that experiments import; what both locks name has one version."""
    locked, scale = (
        dict(line.split("==") for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if line[0] != "#")
        for name in ("requirements.txt", "requirements-scale.txt")
    )
    assert scale["torchrec"] == scale["fbgemm-gpu-cpu"] and not {"fbgemm-gpu", "triton"} & set(scale)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    needed = [text for name in ("experiments", "data", "training") for text in extras[name] if "[" not in text]
    assert {re.split("[>=]", text)[0] for text in needed} <= scale.keys()
    both = locked.keys() & scale.keys()
    assert len(both) > 30 and {name: locked[name] for name in both} == {name: scale[name] for name in both}


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
def test_a_wrong_command_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        command.main(arguments)
    assert "usage: python -m course_lib" in capsys.readouterr().err


@pytest.mark.seconds
@pytest.mark.parametrize("unbuffered", one_quickly(["", "1"]))  # "": little is written before the end
def test_who_reads_the_first_lines_alone_sees_no_traceback(unbuffered: str) -> None:
    """`python -m course_lib experiments list | head -1`, with a reader that is gone before the first word."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as unread:
        given = {"cwd": ROOT, "env": {**os.environ, "PYTHONUNBUFFERED": unbuffered}, "stderr": subprocess.PIPE}
        command = [sys.executable, "-m", "course_lib", "experiments", "list"]
        result = subprocess.run(command, stdout=unread, check=False, **given)
    assert (result.returncode, result.stderr) == (0, b"")


@pytest.mark.seconds
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
    for name in setup_venv.UV_VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    settings = setup_venv.pip_settings(LISTING)
    told = {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_DEFAULT_INDEX": "https://mirror.example/simple",
        "UV_INDEX": "https://one.example/simple https://two.example/simple https://torch.example/cpu",
        "UV_FIND_LINKS": "/opt/wheels,https://wheels.example/torch",
        "SSL_CERT_FILE": "/etc/ca.pem",
    }
    assert setup_venv.uv_variables(settings, "https://torch.example/cpu") == told
    monkeypatch.setenv("SSL_CERT_FILE", "/mine.pem")
    assert "SSL_CERT_FILE" not in setup_venv.uv_variables(settings)


def test_an_index_on_this_machine_that_is_not_there_is_left_out(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("UV_INDEX", raising=False)
    here, gone = tmp_path.as_uri(), (tmp_path / "gone").as_uri()
    assert setup_venv.uv_variables({"extra-index-url": f"{gone} {here}"})["UV_INDEX"] == here


@pytest.mark.slow
def test_the_lock_can_be_installed_and_brings_nothing_for_cuda_where_torch_is_the_cpu_build(capsys) -> None:
    """With this machine's settings, in words: nothing is installed."""
    if shutil.which("uv", path=str(Path(sys.executable).parent)) is None:
        pytest.skip("uv is not installed")
    asked = ("compile", "--no-header", "--no-annotate", "--quiet", str(ROOT / "requirements.txt"))
    try:
        lines = setup_venv.run_uv(Path(sys.executable), *asked, torch_index="").splitlines()
    except subprocess.CalledProcessError:
        pytest.skip("no package index can be reached")
    torch = next(line for line in lines if line.startswith("torch=="))
    if "+cpu" not in torch:
        pytest.skip(f"{torch}: this machine's settings offer no CPU build of torch, for pip or for uv")
    assert [line for line in lines if setup_venv.ONLY_WITH_CUDA.match(line)] == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--seeds", "0"), "--seeds is 0; expected a whole number of at least 1"),
        (("--out", "nowhere/found.json"), "--out is 'nowhere/found.json'; expected a file that can be written"),
    ],
)
def test_a_benchmark_that_would_measure_nothing_says_so(given, message, monkeypatch, capsys):
    from benchmarks import belonging

    monkeypatch.setattr(sys, "argv", ["belonging.py", *given])
    with pytest.raises(SystemExit, match="2"):
        belonging.main()
    assert message in capsys.readouterr().err

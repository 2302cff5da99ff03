"""The rooms of course_lib: an import never points upward, and the array-API rooms stay free of torch."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "course_lib"

ARRAY_API = {"array_api_compat", "numpy"}
BELOW_TRAINING = {
    "arrays",
    "geometry",
    "gauge",
    "interactions",
    "datasets",
    "in_batch",
    "gramians",
    "popularity",
    "norms",
    "metrics",
    "correction",
    "encoders",
    "jacobians",
    "losses",
    "backbones",
    "debiasing",
}

# room -> (rooms it may import, outside packages it may import). What is not listed here is not a room:
# a new one gets its line, and with it its layer.
ROOMS: dict[str, tuple[set[str], set[str]]] = {
    "arrays": (set(), {*ARRAY_API, "torch"}),  # torch only where a torch tensor comes in: see TORCH_FREE
    "scalars": (set(), {"IPython", "myst_nb"}),
    "paper_tables": ({"arrays", "in_batch"}, {"numpy", "scipy"}),
    "geometry": ({"arrays"}, ARRAY_API),
    "gauge": ({"arrays", "geometry"}, ARRAY_API),
    "norms": ({"arrays", "geometry"}, ARRAY_API),
    "interactions": (set(), {"numpy", "scipy"}),
    "datasets": ({"interactions"}, {"numpy", "scipy", "pooch", "tqdm", "requests", "certifi"}),
    "in_batch": ({"arrays", "gramians"}, ARRAY_API),
    "gramians": ({"arrays"}, ARRAY_API),
    "metrics": ({"interactions"}, {"numpy", "scipy", "torch", "numba"}),
    "popularity": ({"arrays", "metrics", "interactions"}, ARRAY_API),
    "correction": ({"arrays", "interactions"}, {"numpy", "numba", "scipy"}),
    "encoders": ({"arrays", "geometry"}, {"numpy", "torch"}),
    "jacobians": ({"arrays", "geometry", "encoders"}, {"numpy", "torch"}),
    "losses": ({"arrays", "geometry"}, {*ARRAY_API, "torch"}),
    "backbones": ({"arrays", "interactions", "losses", "popularity"}, {"numpy", "scipy", "torch", "numba"}),
    "debiasing": (
        {"arrays", "correction", "interactions", "losses", "popularity", "backbones"},
        {"numpy", "scipy", "torch"},
    ),
    "training": (BELOW_TRAINING, {"numpy", "scipy", "torch", "lightning_fabric", "lightning", "tqdm"}),
    "experiments": (
        {*BELOW_TRAINING, "training", "paper_tables"},
        {"numpy", "scipy", "torch", "tqdm", "psutil", "lightning_fabric"},
    ),
    "proofs": (
        {"arrays", "correction", "in_batch", "gramians", "losses", "geometry", "gauge", "norms", "popularity"},
        {"numpy", "sympy"},
    ),
    "quiz": (
        {
            "arrays",
            "correction",
            "in_batch",
            "gramians",
            "losses",
            "proofs",
            "norms",
            "popularity",
            "geometry",
            "gauge",
            "encoders",
            "jacobians",
            "backbones",
            "paper_tables",
        },
        {"numpy", "scipy", "yaml", "torch"},
    ),
    "plots": (
        {"arrays", "correction", "geometry", "interactions", "gramians", "in_batch", "losses", "norms", "popularity"},
        {"numpy", "scipy", "matplotlib"},
    ),
    "widgets": (
        {
            "arrays",
            "correction",
            "interactions",
            "in_batch",
            "gramians",
            "losses",
            "quiz",
            "norms",
            "popularity",
            "geometry",
            "gauge",
        },
        {"numpy", "matplotlib", "contourpy", "anywidget", "traitlets"},
    ),
    "checks": (
        {
            "arrays",
            "correction",
            "in_batch",
            "gramians",
            "geometry",
            "gauge",
            "encoders",
            "jacobians",
            "norms",
            "popularity",
            "interactions",
            "datasets",
            "paper_tables",
        },
        {"numpy", "torch"},
    ),  # torch only inside the checks that build a tower
    "claims": ({"paper_tables"}, {"yaml", "sphinx", "docutils", "pytest"}),
    "audit": ({"arrays", "popularity", "gauge", "geometry", "metrics"}, {"numpy", "scipy", "torch"}),
    "__init__": (set(), set()),
    "__main__": (set(), set()),
}
ARRAY_API_ROOMS = {room for room, (_, packages) in ROOMS.items() if packages == ARRAY_API}
TORCH_FREE = ARRAY_API_ROOMS | {
    "arrays",
    "scalars",
    "paper_tables",
    "interactions",
    "datasets",
    "losses",
    "proofs",
    "correction",
    "plots",
    "quiz",
    "widgets",
    "claims",
    "checks",
}


def room_of(path: Path) -> str:
    """course_lib/metrics.py -> metrics; course_lib/data/datasets/download.py -> datasets."""
    return path.relative_to(LIBRARY).parts[0].removesuffix(".py")


def imported_modules(path: Path) -> Iterator[str]:
    """The absolute name of every module that a file imports, at its top or inside a function."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*start, *([node.module] if node.module else [])])
            # `from course_lib import metrics` imports a room, `from course_lib.data.metrics import top_k` a name of one
            yield from (f"{module}.{alias.name}" for alias in node.names) if module == "course_lib" else (module,)


def breaches(path: Path) -> list[str]:
    """What a file imports and its room may not, as sentences."""
    room = room_of(path)
    if room not in ROOMS:
        return [f"course_lib.{room} has no line in ROOMS (tests/test_rooms.py): say there what it may import"]
    rooms, packages = ROOMS[room]
    found = []
    for module in imported_modules(path):
        top, _, rest = module.partition(".")
        target = rest.partition(".")[0]
        if top == "course_lib":
            if target not in {room, "__version__", *rooms}:
                found.append(
                    f"course_lib.{room} may not import course_lib.{target}: it stands above, or beside, its layer"
                )
        elif top not in sys.stdlib_module_names and top not in packages:
            found.append(f"course_lib.{room} may not import {top}: expected one of {sorted(packages)}")
    return [f"{path.relative_to(ROOT)}: {sentence}" for sentence in found]


def sources() -> list[Path]:
    return sorted(path for path in LIBRARY.rglob("*.py") if "__pycache__" not in path.parts)


def test_imports_never_point_upward() -> None:
    assert [sentence for path in sources() for sentence in breaches(path)] == []


def test_the_table_itself_has_layers() -> None:
    """Whatever a room may import is a room, and no two rooms may import each other, in however many steps."""
    done: set[str] = set()
    while ready := {room for room, (rooms, _) in ROOMS.items() if room not in done and rooms <= done}:
        done |= ready
    assert done == set(ROOMS)


@pytest.mark.parametrize(
    ("name", "source", "word"),
    [
        ("in_batch.py", "from course_lib.experiments import run", "experiments"),
        ("in_batch.py", "def f():\n    from .training import fit", "training"),
        ("in_batch.py", "from course_lib import metrics", "metrics"),
        ("in_batch.py", "import torch.nn as nn", "torch"),
        ("datasets/download.py", "from ..training import fit", "training"),
        ("strange.py", "", "no line in ROOMS"),
    ],
)
def test_a_breach_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, source: str, word: str) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    monkeypatch.setattr(sys.modules[__name__], "LIBRARY", tmp_path / "course_lib")
    path = tmp_path / "course_lib" / name
    path.parent.mkdir(parents=True)
    path.write_text(source)
    assert len(found := breaches(path)) == 1 and word in found[0]


def test_array_api_rooms_hold_no_torch() -> None:
    """`arrays` alone mentions torch, for the tensors that callers bring; every other array-API room never does."""
    named = {
        room_of(path) for path in sources() if any(name.split(".")[0] == "torch" for name in imported_modules(path))
    }
    assert named & ARRAY_API_ROOMS == set()


def modules_after(statement: str) -> set[str]:
    """The names of the modules that a fresh interpreter holds after a statement."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_the_bare_package_is_light() -> None:
    loaded = modules_after("import course_lib")
    assert "course_lib" in loaded
    assert loaded & {"torch", "numpy", "scipy", "sympy", "matplotlib", "yaml"} == set()


@pytest.mark.parametrize("room", sorted({room_of(path) for path in sources()} & TORCH_FREE))
def test_torch_free_rooms_load_no_torch(room: str) -> None:
    assert "torch" not in modules_after(f"import course_lib.{room}")

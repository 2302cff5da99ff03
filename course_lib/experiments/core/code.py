"""Which code made a stored result, and whether it is still the same.

A result keeps, for each module that made cells of it, a hash over what that module imports, near and far, in
course_lib (`dependencies.code_hash`: syntax trees without comments and docstrings, and the data beside them). What only
runs and stores cells, or words the lack of a package, is left out: it changes no number. After a change of code a
result is stale, until it is made again, or until some of its cells, run again, gave the same digits: then it is vouched
for (`core.verify`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

from course_lib import dependencies

_HERE = __name__.rpartition(".")[0]
MACHINERY = frozenset(
    {
        *(
            "course_lib",
            "course_lib.experiments",
            "course_lib.dependencies",
            "course_lib.extras",
            "course_lib.outputs",
            "course_lib.audit.command",
            _HERE,
            "course_lib.training.resumable",
        ),
        *(f"{_HERE}.{name}" for name in ("code", "command", "dealt", "extend", "out", "own_run", "provenance")),
        *(f"{_HERE}.{name}" for name in ("queue", "registry", "results", "rules", "verify")),
    }
)


class Code(TypedDict):
    """A module, and the hash of all that it imports."""

    module: str
    hash: str


@dataclass(frozen=True)
class State:
    """What is known of a result's code: `holds` where it is today's, and `words` that say how that is known."""

    holds: bool
    words: str


def code_of(module: str) -> Code:
    """The code behind a module of experiments as it is now; one that is gone has a hash of its own."""
    return {"module": module, "hash": _hash(module)}


@cache
def _hash(module: str) -> str:
    return code_in(dependencies.ROOT, module)["hash"]


def code_in(folder: Path, module: str) -> Code:
    """The code behind a module in another checkout, by today's hash.

    Without the packages that hold the module: they lead to it and to other papers' tables, and compute nothing.
    """
    parts = module.split(".")
    packages = {".".join(parts[:count]) for count in range(1, len(parts))}
    paths = _imports(folder).closure(module, without=MACHINERY | packages)
    return {"module": module, "hash": dependencies.code_hash(paths, folder)[:16]}


@cache
def _imports(folder: Path) -> dependencies.Imports:
    return dependencies.Imports(folder)


def state(provenance: Mapping[str, Any]) -> State:
    """Whether a result stands for what its code would give today."""
    vouched, made = provenance.get("vouched"), provenance.get("code", [])
    if vouched and code_of(vouched["code"]["module"]) == vouched["code"]:
        return State(True, f"vouched for by {vouched['cells']} of {vouched['of']} cells")
    if not made:
        return State(False, "made before results kept the hash of their code" if not vouched else "code has changed")
    same = all(code_of(one["module"]) == one for one in made)
    return State(same, "code unchanged" if same else "code has changed")


def accepted(now: Code, provenance: Mapping[str, Any] | None) -> list[Code | None]:
    """The codes whose finished cells may stand beside those of `now`; None is that of cells without a hash.

    provenance: that of the stored result. What it is vouched for counts as made by today's code.
    """
    vouched = (provenance or {}).get("vouched")
    if provenance is None or not vouched or vouched["code"] != now:
        return [now]
    return [now, *(provenance.get("code") or [None])]

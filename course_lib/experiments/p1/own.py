"""P1's Tables 2 and 3 on data of one's own; a backbone of one's own in Table 2, a method in Table 3.

Budgets by the number of pairs: batches of 4,096 triples below 100,000 pairs, else 16,384; 80, 60 and 40 epochs below
100,000, a million and above; smoke: 8. The rest as at laptop scale for Last.fm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from course_lib import backbones, debiasing
from course_lib.experiments.core import own
from course_lib.experiments.core.own_run import Door, open_door
from course_lib.experiments.core.summary import Row
from course_lib.experiments.p1 import models, tuning
from course_lib.experiments.p1.cells import SMOKE_EPOCHS
from course_lib.experiments.p1.data import RECIPES, load_split
from course_lib.experiments.p1.tables import table2_cell, table3_cell
from course_lib.interactions import Interactions
from course_lib.training.recommenders import union

LIKE = {
    "smoke": ("movietweetings-10core", 23_565),
    "laptop": ("lastfm-10core", 37_264),
    "full": ("lastfm-10core", 37_264),
}


def adapt(cells: list[Any], data: Interactions, scale: str) -> list[Any]:
    """The budgets of this module's first lines; at full scale P1's own."""
    if scale == "full":
        return cells
    pairs = len(data)
    epochs = 80 if pairs < 100_000 else 60 if pairs < 1_000_000 else 40
    budget = {"batch": 4096 if pairs < 100_000 else 16_384, "epochs": SMOKE_EPOCHS if scale == "smoke" else epochs}
    return [{**cell, **budget} for cell in cells]


def enter(kind: str) -> Callable[[list[Any], own.File], list[Any]]:
    """Puts the own functions of a kind beside each group of cells that differ in nothing else."""

    def entered_cells(cells: list[Any], file: own.File) -> list[Any]:
        first = cells[0][kind]
        models_of = [cell for cell in cells if cell[kind] == first]
        added = [{**cell, kind: one.name, "own": file.sha256} for cell in models_of for one in file.of(kind)]
        return [*cells, *added]

    return entered_cells


@contextmanager
def registered(source: str) -> Iterator[None]:
    """Within it P1's tables of methods and backbones have the own ones; `source` goes into their models' keys."""
    number = int(source[:12], 16)  # options are numbers
    with ExitStack() as stack:
        for (kind, name), one in own.REGISTERED.items():
            if kind == "method":
                tries = tuple({**setting, "source": number} for setting in one.options["tries"])
                stack.enter_context(patch.dict(debiasing.registry.RIVALS, {name: _without_source(one)}))
                stack.enter_context(patch.dict(tuning.GRID, {name: tries}))
            if kind == "backbone":
                stack.enter_context(patch.dict(backbones.OF_A_GRAPH, {name: _without_source(one)}))
                stack.enter_context(patch.dict(models.OWN_OPTIONS, {name: {"source": number}}))
        yield


def _without_source(one: own.Own) -> Any:
    """The class of a method or a backbone, which is not told the hash of its file."""

    def made(*given: Any, source: int = 0, **options: Any) -> Any:
        return one.make(*given, **options)

    return made


def own_cell(usual: Callable[[Any], list[Row]]) -> Callable[[Any], list[Row]]:
    """A cell of a table, in which own methods and backbones are known."""

    def run_cell(cell: Any) -> list[Row]:
        if "own" not in cell:
            return usual(cell)
        with registered(cell["own"]):
            return [row for row in usual(cell) if row["metric"] != "chosen source"]

    return run_cell


def parts(data: str, seed: int) -> tuple[Interactions, ...]:
    """Lists leave out what a user has in the validation part, too."""
    split = load_split(data, seed)
    return split.train, union(split.train, split.valid), split.test


open_door(
    *(
        Door(
            *(name, RECIPES, LIKE, parts),
            main={"metric": "MRR@10"},
            against={"method": None},
            named="backbone",
            adapt=adapt,
            takes=(kind,),
            enter=enter(kind),
            run_cell=own_cell(usual),
        )
        for name, kind, usual in (("P1-T2", "backbone", table2_cell), ("P1-T3", "method", table3_cell))
    )
)

"""The cells of P1's experiments: what each holds, how long everyone trains, and the rows that come out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict

from course_lib.experiments.core.registry import Seeds
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, means, part, tidy
from course_lib.experiments.p1.data import SETS, describe

TUNING_SEED = 0


class Budget(TypedDict):
    """How long everyone trains: triples of a step, rate, epochs, epochs between two evaluations, patience in epochs."""

    batch: int
    lr: float
    epochs: int
    every: int
    patience: int | None


# the seed that chooses among the settings; a key with a blank can only be written like this
TuningSeed = TypedDict("TuningSeed", {"tuning seed": int})


class BaseCell(Budget, TuningSeed):
    """What all cells share. tries: how many settings of a backbone and of a method are tried."""

    data: str
    tries: list[int]
    seed: int
    device: str


class TrainedCell(BaseCell):
    """A backbone: Figure 1, Tables 2, 4 and 5."""

    backbone: str


class MethodCell(TrainedCell):
    """A method of Table 3 on a backbone, or the backbone alone."""

    method: str | None


class TopsCell(TrainedCell):
    """Figure 3: the k of (10) that are tried."""

    tops: list[float]


class StartCell(TrainedCell):
    """Figure 4: the deviation of DDC's first scalars."""

    start: float


class SignCell(TrainedCell):
    """P1-X1: one model after exactly its epochs, DDC with several k, and with its items moved together."""

    decay: float
    negatives: str
    tops: list[float]
    shifts: list[float | str]


# P1, Section 5.1.4; epochs unlimited there
P1_BUDGET: Budget = {"batch": 8192, "lr": 0.001, "epochs": 1000, "every": 1, "patience": 50}
BUDGETS: dict[str, Budget] = {  # quicker: larger steps, fewer looks; `every` epochs between two evaluations
    "movietweetings-10core": {"batch": 4096, "lr": 0.02, "epochs": 32, "every": 4, "patience": 8},
    "lastfm-10core": {"batch": 4096, "lr": 0.02, "epochs": 80, "every": 4, "patience": 12},
    "citeulike-10core": {"batch": 8192, "lr": 0.02, "epochs": 80, "every": 4, "patience": 12},
    "ml-1m-10core": {"batch": 16384, "lr": 0.02, "epochs": 60, "every": 4, "patience": 8},
    "gowalla-10core": {"batch": 16384, "lr": 0.02, "epochs": 40, "every": 4, "patience": 8},
    "gowalla-20core": {"batch": 16384, "lr": 0.02, "epochs": 40, "every": 4, "patience": 8},
}
SMOKE_EPOCHS = 8
TRIES = {"smoke": (1, 1), "laptop": (4, 6), "full": (4, 6)}  # settings of a backbone, of a method
FEWER_TRIES = {"ml-1m-10core": (2, 6)}  # at laptop scale


def budget(scale: str, data: str) -> Budget:
    """How long everyone trains on a set at a scale; at smoke scale a few epochs, which show only that it runs."""
    usual = P1_BUDGET if scale == "full" or data not in BUDGETS else BUDGETS[data]
    return {**usual, "epochs": SMOKE_EPOCHS} if scale == "smoke" else usual


def base_cells(scale: str, seeds: Seeds, *, data: str | None = None, device: str = "cpu") -> list[BaseCell]:
    """A cell for every set of the scale and seed, with its budget, tries and the seed that chooses among them."""
    cells: list[BaseCell] = []
    for name in (data,) if data else SETS[scale]:
        tries = list(FEWER_TRIES.get(name, TRIES[scale]) if scale == "laptop" else TRIES[scale])
        tuning: TuningSeed = {"tuning seed": TUNING_SEED}
        own = budget(scale, name)
        cells += [{"data": name, **own, "tries": tries, **tuning, "seed": seed, "device": device} for seed in seeds]
    return cells


def seconds(cell: TrainedCell) -> float:
    """A rough guess for one backbone and what follows, on one core: it grows with pairs and epochs."""
    size = {"movietweetings-10core": 1, "lastfm-10core": 2, "citeulike-10core": 8, "ml-1m-10core": 30}
    size["gowalla-20core"] = 20
    slower = 1 if cell["backbone"] == "MF" else 4
    return 0.04 * size.get(cell["data"], 100) * cell["epochs"] * slower * sum(cell["tries"])


def rows_of(cell: TrainedCell, found: Mapping[str, float], **where: Any) -> list[Row]:
    """One row for each number."""
    return tidy({**part(cell, "data backbone"), **where, "seed": cell["seed"]}, found)


def scalars_by(*names: str) -> Callable[[list[Row]], dict[str, float]]:
    """{"<values of names>-<metric>": mean over seeds, "...-pm": half its 95 % interval, with three seeds or more}."""

    def text(value: Any) -> str:
        return f"{value:g}" if isinstance(value, float) else str(value or "alone")

    def name(row: Row) -> str:
        return "-".join([*(text(row.get(column)) for column in names), row["metric"]]).lower().replace(" ", "-")

    def finish(rows: list[Row]) -> dict[str, float]:
        shown = (row for row in rows if not row["metric"].endswith("at epoch") and "points" not in row)
        return means(shown, name, intervals=True)

    return finish


def by(*names: str, digits: int, metrics: tuple[str, ...]) -> dict[str, Any]:
    """What most experiments declare alike: scalars by these columns, and a table with a row for each of them."""
    layout = shown(*names, digits=digits, metrics=metrics)
    return {"estimate": seconds, "describe": describe, "finish": scalars_by(*names), "layout": layout}


def on_backbones(names: Iterable[str] = ("MF", "LightGCN"), **own: Any) -> Callable[..., list[Any]]:
    """The plan: a cell on each of these backbones for every set and seed; `own`: what the cells hold besides."""

    def plan(scale: str, seeds: Seeds, *, data: str | None = None, device: str = "cpu") -> list[Any]:
        cells = base_cells(scale, seeds, data=data, device=device)
        return [{**cell, "backbone": name, **own} for cell in cells for name in names]

    return plan

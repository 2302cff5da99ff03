"""P0's experiments on popularity: 8, 9 and 10, and remedies.

Experiments 8 and 9 train two lookup towers at a high and at a low learning rate, 10 a transformer over histories.

Data. P0 uses ML-32M (`full` scale, downloaded on demand). Smoke runs on the embedded MovieTweetings, laptop runs on
ML-1M and gowalla; `ml-32m-shape` is a synthetic set of ML-32M's size that checks memory and speed. P0's numbers stand
beside ours on every set, as a shape to compare with, not as a target: the data differ.

Lists. P0 counts the top 1 % of the items in lists of 100. On a set with fewer than 10,000 items a list of 100 cannot be
full of 1 % of them, so lists are 10 long there. Items that a user has in train are never listed.

Digits. Towers are float32, and a matrix product or a softmax of float32 rounds otherwise on another processor: after
200 steps tables differ by 5e-7 of their largest entry. Norms, slope, Pearson and loss agree to 1e-7. Where two items
nearly tie for the last place of a list, they may change places. In experiment 8 at full scale this was 1 place of
500,000, which moved a share by 2e-6 and AvgPop by 1e-4 of itself: of these, three digits can be relied on.

What P0 does not say (initial length, temperature, batch size, steps, width) is chosen here and stands in the cells.
Start length 1, learning rate 10 and batch 512 put the crossover count of the quartic law at a few dozen updates.
"""

from __future__ import annotations

import math
import resource
from collections.abc import Callable, Iterable
from typing import Any, NotRequired, TypedDict

import numpy as np
import torch
from torch import nn

from course_lib import datasets, metrics, popularity
from course_lib.encoders import HistoryTransformer, Lookup, TwoTower
from course_lib.experiments.core.data import Recipes, from_files
from course_lib.experiments.core.machine import fabric_for, threads_for
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, means, part, tidy
from course_lib.interactions import Interactions
from course_lib.optimisers import LazyDecaySGD, RowWiseAdagrad, SphereSGD, Together
from course_lib.papers import p0 as paper
from course_lib.training import resumable
from course_lib.training import towers as training


class Settings(TypedDict):
    """What P0 does not say and a setting may change."""

    lr: float
    norm: float
    tau: float
    d: int
    batch: int
    logq: bool
    sampler: str
    optimiser: str
    decay: float


class PopularityCell(Settings):
    """One model; `watch`: whether the quartic law is followed; `points`: of the curve."""

    data: str
    setting: str
    steps: int
    seed: int
    device: str
    watch: NotRequired[bool]
    points: NotRequired[int]


# the tower over histories has four numbers more; keys with a blank can only be written like this
HistoryParts = TypedDict("HistoryParts", {"history": int, "user lr": float, "user decay": float, "cycles": int})


class HistoryCell(PopularityCell, HistoryParts):
    """One model of experiment 10: a transformer over the user's last `history` items, with a cyclic rate."""


class Listed(TypedDict):
    """The part of a cell that a list without a model needs."""

    data: str
    seed: int


def from_files_or_synthetic(**recipe: Any) -> Interactions:
    """A data set, or a synthetic one of a given size for a recipe with numbers of pairs."""
    if "n_pairs" in recipe:
        return datasets.synthetic_large(**recipe, rng=np.random.default_rng(0), popularity_exponent=1.0).interactions
    return from_files(**recipe)


RECIPES = Recipes(
    "P0",
    {
        "movietweetings-5core": {"name": "movietweetings", "core": 5},
        "ml-1m": {"name": "ml-1m", "min_rating": 4},
        "gowalla": {"name": "gowalla"},
        "ml-32m": {"name": "ml-32m", "min_rating": 4},
        "ml-32m-shape": {"n_users": 200_948, "n_items": 84_432, "n_pairs": 32_000_000},
    },
    from_files_or_synthetic,
)
load_split, describe = RECIPES.split, RECIPES.describe
SETS = {"smoke": ("movietweetings-5core",), "laptop": ("ml-1m", "gowalla"), "full": ("ml-32m", "ml-32m-shape")}
STEPS = {"movietweetings-5core": 3_000, "ml-1m": 8_000, "gowalla": 4_000, "ml-32m": 60_000, "ml-32m-shape": 200}
# of a step, on one core
MILLISECONDS = {"movietweetings-5core": 2.6, "ml-1m": 2.7, "gowalla": 6.5, "ml-32m": 40.0, "ml-32m-shape": 120.0}
POINTS = 6  # of a training curve; experiment 10 has more
BASE: Settings = {
    "lr": 10.0,
    "norm": 1.0,
    "tau": 0.1,
    "d": 32,
    "batch": 512,
    "logq": False,
    "sampler": "pairs",
    "optimiser": "SGD",
    "decay": 0.0,
}
METRICS = ("Pearson", "slope", "share dot", "share cos", "share chance", "NDCG dot", "NDCG cos")
LAYOUT = shown("data", "setting", "lists", metrics=METRICS, digits=3)

OPTIMISERS: dict[str, Callable[[Iterable[nn.Parameter], Settings], torch.optim.Optimizer]] = {
    "SGD": lambda tables, cell: torch.optim.SGD(tables, lr=cell["lr"], weight_decay=cell["decay"]),
    "sphere": lambda tables, cell: SphereSGD(tables, lr=cell["lr"]),
    "lazy decay": lambda tables, cell: LazyDecaySGD(tables, lr=cell["lr"], weight_decay=cell["decay"]),
    "row-wise Adagrad": lambda tables, cell: RowWiseAdagrad(tables, lr=cell["lr"]),
    "Adam": lambda tables, cell: torch.optim.Adam(tables, lr=cell["lr"]),
}


def list_length(n_items: int) -> int:
    """P0's 100 where 1 % of the items can fill such a list, else 10."""
    return 100 if n_items >= 10_000 else 10


def grid(
    settings: Callable[[str], dict[str, dict[str, Any]]], sets: Callable[[str], Iterable[str]] = SETS.__getitem__
) -> Callable[..., list[Any]]:
    """The plan: a cell for every data set, seed and setting of a scale; `long` in a setting multiplies the steps."""

    def plan(scale: str, seeds: Seeds, *, data: str | None = None, device: str = "cpu") -> list[Any]:
        cells = []
        for name in sets(scale):
            for seed in seeds if data in (None, name) else ():
                for setting, changes in settings(scale).items():
                    own = {key: value for key, value in changes.items() if key != "long"}
                    steps = {"steps": int(STEPS[name] * changes.get("long", 1))}
                    where = {"data": name, "setting": setting}
                    cells.append({**where, **BASE, **steps, **own, "seed": seed, "device": device})
        return cells

    return plan


def first_set(scale: str) -> Iterable[str]:
    """The first data set of a scale."""
    return SETS[scale][:1]


def seconds(cell: PopularityCell) -> float:
    """A rough guess, on one core."""
    one = MILLISECONDS[cell["data"]] / 1000 * (8.0 if "history" in cell else 1.0) * cell["batch"] / 512
    return cell["steps"] * one + 1.0


# ------------------------------------------------------------------------------------------------- one model


def run_lookup(cell: PopularityCell, *, curve: bool) -> tuple[dict[str, float], list[dict[str, float]]]:
    """Two lookup towers as the cell says: (what `judge` finds, and the loss), the curve of shares if asked for."""
    train, test = load_split(cell["data"], cell["seed"])
    towers = training.lookup_towers(train, d=cell["d"], norm=cell["norm"], seed=cell["seed"])
    optimiser = OPTIMISERS[cell["optimiser"]](towers.parameters(), cell)
    growth = training.Growth(optimiser, towers.right.get_parameter("weight")) if cell.get("watch") else None
    if growth is not None:
        resumable.hold(growth.updates, growth.driven, growth.fourth)
    history = _train(towers, optimiser, train, test, cell, curve=curve)
    found = training.judge(towers, train, test, lists=list_length(train.n_items), seed=cell["seed"])
    found |= {"loss": history[-1]["loss"]}
    if growth is not None:
        found["law"] = float(np.abs(growth.predicted() / training.item_norms(towers, train.n_items) - 1).max())
    return found, history


def run_history(cell: HistoryCell) -> tuple[dict[str, float], list[dict[str, float]]]:
    """A transformer over histories (Adam with weight decay) and a lookup of items (SGD), both with a cyclic rate."""
    train, test = load_split(cell["data"], cell["seed"])
    histories, examples = training.history_rows(train, cell["history"])
    serving = np.arange(len(train), len(histories))
    generator = torch.Generator().manual_seed(cell["seed"])
    user = HistoryTransformer(train.n_items, cell["d"], histories=histories, generator=generator)
    start = cell["norm"] * cell["d"] ** -0.5
    towers = TwoTower(user, Lookup(train.n_items, cell["d"], generator=generator, scale=start))
    optimiser = Together(
        torch.optim.AdamW(user.parameters(), lr=cell["user lr"], weight_decay=cell["user decay"]),
        torch.optim.SGD(towers.right.parameters(), lr=cell["lr"]),
        cycle=max(2, cell["steps"] // cell["cycles"]),
    )
    history = _train(towers, optimiser, train, test, cell, curve=True, examples=examples, serving=serving)
    lists = list_length(train.n_items)
    found = training.judge(towers, train, test, lists=lists, seed=cell["seed"], examples=serving)
    return found | {"loss": history[-1]["loss"]}, history


def _train(
    towers: TwoTower,
    optimiser: torch.optim.Optimizer,
    train: Interactions,
    test: Interactions,
    cell: PopularityCell,
    *,
    curve: bool,
    examples: np.ndarray | None = None,
    serving: np.ndarray | None = None,
) -> list[dict[str, float]]:
    """Trains; one record an epoch, with the step and, where a curve is asked for, with what `judge` finds then."""
    asked: dict[str, Any] = {"lists": list_length(train.n_items), "seed": cell["seed"], "examples": serving}

    def evaluate(_: nn.Module) -> dict[str, float]:
        return training.judge(towers, train, test, quality=False, **asked) if curve else {}

    epoch = max(1, math.ceil(cell["steps"] / cell.get("points", POINTS)))
    start: list[dict[str, float]] = [{"step": 0, **evaluate(towers)}] if curve else []
    with threads_for(train):
        history = training.train_towers(
            towers,
            optimiser,
            train,
            **part(cell, "steps seed tau logq"),
            batch_size=cell["batch"],
            sampler=training.SAMPLERS[cell["sampler"]](train),
            examples=examples,
            epoch=epoch,
            evaluate=evaluate,
            fabric=fabric_for(cell["device"]),
        )
    return start + [{"step": min((record["epoch"] + 1) * epoch, cell["steps"]), **record} for record in history.epochs]


# ------------------------------------------------------------------------------------------------- rows


def rows_of(
    cell: PopularityCell, found: dict[str, float], history: list[dict[str, float]], printed: dict[str, float]
) -> list[Row]:
    """One row for each number at the end, with P0's where it prints one; the curve under metrics "... at step"."""
    where = part(cell, "data setting lr norm steps seed")
    where["lists"] = list_length(load_split(cell["data"], cell["seed"])[0].n_items)
    rows = [{**row, "paper": printed.get(row["metric"])} for row in tidy(where, found)]
    for record in history:
        rows += [
            {**where, "metric": f"{name} at step", "step": record["step"], "value": record[name]}
            for name in ("share dot", "share cos", "norm", "loss")
            if name in record
        ]
    return rows


def paper_numbers(number: int) -> dict[str, float]:
    """P0's printed numbers of one of its experiments, under our names."""
    names = {"Pearson": "pearson", "share dot": "share_dot", "share cos": "share_cos"}
    found = {}
    for ours, theirs in names.items():
        try:
            found[ours] = paper.printed(number, theirs)
        except ValueError:  # experiment 9 prints no correlation
            continue
    return found


def scalars(rows: list[Row]) -> dict[str, float]:
    """Means over seeds, and with three or more their intervals: "ml-1m-high-rate-share-dot", "...-pm"."""

    def name(row: Row) -> str:
        return f"{row['data']}-{row['setting']}-{row['metric']}".lower().replace(" ", "-").replace(",", "")

    return means((row for row in rows if not row["metric"].endswith("at step")), name, intervals=True)


ALIKE: dict[str, Any] = {"estimate": seconds, "describe": describe, "finish": scalars, "layout": LAYOUT}

# ------------------------------------------------------------------------------------------------- Experiment 8


HIGH: dict[str, dict[str, Any]] = {"high rate": {"watch": True}, "high rate, logQ": {"logq": True}}


def high_settings(scale: str) -> dict[str, dict[str, Any]]:
    """Smoke: P0's alone, a third of the steps. Else also with logQ's correction, whose cosine knows popularity too."""
    return HIGH if scale != "smoke" else {"high rate": {**HIGH["high rate"], "long": 1 / 3}}


@experiment(
    "P0-E8",
    "two lookup towers, InfoNCE on cosines, high learning rate: norm against popularity, share of the top 1 % "
    "(paper: ML-32M)",
    plan=grid(high_settings),
    **ALIKE,
)
def e8_cell(cell: PopularityCell) -> list[Row]:
    """One model. `law`: the largest relative error of the quartic law over all items."""
    found, history = run_lookup(cell, curve=True)
    found["peak GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return rows_of(cell, found, history, paper_numbers(8))


# ------------------------------------------------------------------------------------------------- Experiment 9


LOW: dict[str, dict[str, Any]] = {
    "low rate": {"lr": 0.1},
    "low rate, short start": {"lr": 0.1, "norm": 0.1},
    "slow and long": {"lr": 0.3, "long": 4},
    "same way, rate 1": {"lr": 1.0, "long": 1.2},  # rate times steps as in "slow and long"
    "same way, rate 10": {"lr": 10.0, "long": 0.12},
}


def low_settings(scale: str) -> dict[str, dict[str, Any]]:
    """P0's experiment 9, and runs that say what it shows: the same rate with a short start, and three rates at equal
    rate times steps, as `prop-slow-learning` asks: "slow and long" and the two of the "same way".

    Smoke: batches of 256 and an eighth of the steps.
    """
    if scale != "smoke":
        return LOW
    return {name: {**changes, "batch": 256, "long": changes.get("long", 1) / 8} for name, changes in LOW.items()}


@experiment(
    "P0-E9",
    "low learning rate: no bias, or no learning? (paper: ML-32M, LR 0.1)",
    plan=grid(low_settings, lambda scale: first_set(scale) if scale == "full" else SETS[scale]),
    **ALIKE | {"layout": {**LAYOUT, "metrics": ("loss", *METRICS)}},
)
def e9_cell(cell: PopularityCell) -> list[Row]:
    """One model; only the setting `low rate` is P0's, so only there its numbers stand beside."""
    found, history = run_lookup(cell, curve=False)
    return rows_of(cell, found, history, paper_numbers(9) if cell["setting"] == "low rate" else {})


# ------------------------------------------------------------------------------------------------- Experiment 10


def history_settings(scale: str) -> dict[str, dict[str, Any]]:
    """Smoke: 300 steps of 256. Laptop: ML-1M, which has an order in time."""
    sizes: dict[str, dict[str, Any]] = {
        "smoke": {"batch": 256, "long": 1 / 10, "history": 10},
        "laptop": {"long": 0.25, "history": 20},
        "full": {"history": 50},
    }
    return {"transformer": {"user lr": 3e-3, "user decay": 0.01, "cycles": 2, "points": 10, **sizes[scale]}}


@experiment(
    "P0-E10",
    "a transformer over the user's history (Adam with weight decay) and an item table (SGD), cyclic rates "
    "(paper: ML-32M, LR 10)",
    plan=grid(history_settings, first_set),
    **ALIKE,
)
def e10_cell(cell: HistoryCell) -> list[Row]:
    """One model, with the curve of Figure 4."""
    found, history = run_history(cell)
    return rows_of(cell, found, history, paper_numbers(10))


# ------------------------------------------------------------------------------------------------- remedies


REMEDIES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "on the sphere": {"optimiser": "sphere", "lr": 3.0},
    "weight decay": {"decay": 3e-5},
    "strong weight decay": {"decay": 3e-4},
    "lazy decay": {"optimiser": "lazy decay", "decay": 3e-4},
    "row-wise Adagrad": {"optimiser": "row-wise Adagrad", "lr": 0.3},
    "Adam": {"optimiser": "Adam", "lr": 0.01},
    "long start": {"norm": 10.0},
    "uniform items": {"sampler": "items"},
    "temperature 0.03": {"tau": 0.03},
    "temperature 1": {"tau": 1.0},
    "logQ": {"logq": True},
    "logQ, on the sphere": {"logq": True, "optimiser": "sphere", "lr": 3.0},
    "most popular": {"optimiser": "none"},
}


def remedies_settings(scale: str) -> dict[str, dict[str, Any]]:
    """Every remedy, batch 256; smoke with a twelfth of the steps."""
    size = {"batch": 256, "long": 1 / 12 if scale == "smoke" else 1}
    return {name: size | changes for name, changes in REMEDIES.items()}


@experiment(
    "P0-R",
    "remedies against long popular items, with what they cost (ours)",
    plan=grid(remedies_settings, first_set),
    **ALIKE,
)
def remedies_cell(cell: PopularityCell) -> list[Row]:
    """One model. Ranking by cosine is a remedy of its own: every row holds both.

    "most popular" is no model: items by count.
    """
    if cell["optimiser"] == "none":
        return rows_of(cell, most_popular(cell), [], {})
    found, history = run_lookup(cell, curve=False)
    return rows_of(cell, found, history, {})


def most_popular(cell: Listed) -> dict[str, float]:
    """The same list for everybody, by count: what a list without any taste reaches."""
    train, test = load_split(cell["data"], cell["seed"])
    ranked = metrics.top_k(
        np.ones((train.n_users, 1)), train.col_counts[:, None].astype(np.float64), train, list_length(train.n_items)
    )
    quality = metrics.metrics_from_ranking(ranked, test, (ranked.shape[1],))
    return {
        "share dot": popularity.top_share(ranked, train.col_counts, training.HEAD),
        "AvgPop dot": popularity.average_popularity(ranked, train.col_counts),
        "NDCG dot": quality[f"ndcg@{ranked.shape[1]}"],
        "recall dot": quality[f"recall@{ranked.shape[1]}"],
    }

"""P3's experiments: Tables 3, 4, 5 and 6 and Figure 4, at smoke, laptop and full scale.

Data. ML-1M is P3's own. P3's second set, EUR-Lex, tests on documents that were not trained on, through their words:
that needs towers on features, which these experiments do not have. Its role, the sparse set (a mean pair popularity of
115 against 12,641), is played by the 5-core of amazon-beauty (118 on its training part). P3's Table 3 counts rows and
columns of the training part, so each training split is compacted: users and items without a training pair leave both
parts (Assumption E.1).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from course_lib import papers
from course_lib.data import datasets
from course_lib.data.interactions import Interactions
from course_lib.data.metrics import evaluate
from course_lib.experiments.core.provenance import describe_data, provenance
from course_lib.experiments.core.registry import Cell, experiment, get
from course_lib.experiments.core.results import Result, Row
from course_lib.maths.in_batch import balance, batch_size_from_ratio
from course_lib.training import objectives, stochastic

RATIOS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
CUTOFFS = (1, 5, 25)
METRIC_NAMES = tuple(f"{letter}@{k}" for letter in "PR" for k in CUTOFFS)
RECIPES: dict[str, dict[str, Any]] = {
    "movietweetings-10core": {"name": "movietweetings", "core": 10},
    "ml-100k": {"name": "ml-100k", "min_rating": 4},
    "ml-1m": {"name": "ml-1m", "min_rating": 4},
    "amazon-beauty": {"name": "amazon-beauty"},
    "amazon-beauty-5core": {"name": "amazon-beauty", "core": 5},
    "eurlex": {"name": "eurlex"},
}
FULL_SETS = ("ml-1m", "amazon-beauty-5core")
TRAIN_SHARE = 0.9
SMALL = 100_000  # positives
MAX_ITERATIONS = 2_000  # of L-BFGS; a cell that needs more keeps the gradient norm it reached in its rows


@lru_cache(maxsize=2)
def load_data(name: str) -> Interactions:
    """One of RECIPES, with its empty rows and columns dropped."""
    if name not in RECIPES:
        raise ValueError(f"data {name!r} is no recipe of P3's experiments; expected one of {', '.join(RECIPES)}")
    return datasets.load(**RECIPES[name]).compact()


@lru_cache(maxsize=2)
def load_split(name: str, seed: int) -> tuple[Interactions, Interactions]:
    """(train, test): a random 90 % split; users and items without a training pair are dropped from both."""
    train, test = load_data(name).split_random(TRAIN_SHARE, np.random.default_rng(seed))
    return drop_untrained(train, test)


def drop_untrained(train: Interactions, test: Interactions) -> tuple[Interactions, Interactions]:
    """Both parts on the users and items that have a training pair, relabelled alike."""
    rows, cols = train.row_counts > 0, train.col_counts > 0
    kept = rows[test.users] & cols[test.items]
    new_row, new_col = np.cumsum(rows) - 1, np.cumsum(cols) - 1
    smaller = train.compact()
    size = {"n_users": smaller.n_users, "n_items": smaller.n_items, "name": test.name}
    return smaller, Interactions(new_row[test.users[kept]], new_col[test.items[kept]], **size)


def describe(cell: Cell) -> dict[str, Any]:
    return describe_data(cell["data"], RECIPES[cell["data"]], load_data(cell["data"]))


def quality(users: np.ndarray, items: np.ndarray, train: Interactions, test: Interactions) -> dict[str, float]:
    """P3's six numbers in percent: {"P@1": ..., "R@25": ...}."""
    found = evaluate(users, items, train, test, CUTOFFS)
    return {
        f"{letter}@{k}": 100 * found[f"{name}@{k}"]
        for letter, name in (("P", "precision"), ("R", "recall"))
        for k in CUTOFFS
    }


@contextmanager
def threads_for(data: Interactions) -> Iterator[None]:
    """One thread for a small data set, torch's own number for a large one.

    Steps on a small set are too short to share: a second thread gains nothing, waits busily when another program has
    its core (ten times slower was seen), and changes the order of sums, and with it the last digits of a result.
    """
    before = torch.get_num_threads()
    if len(data) < SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def paper_value(table: str, **where: Any) -> float | None:
    """P3's printed number for these coordinates, or None where it prints none."""
    found = papers.select(papers.table("P3", table), **where)
    return found[0]["value"] if len(found) == 1 else None


# ------------------------------------------------------------------------------------------------ Table 3: statistics


def table3_plan(scale: str, seeds: tuple[int, ...], *, splits: int = 20) -> list[Cell]:
    """One cell per data set and law of the split; `splits` random splits each, numbered from the seed."""
    sets = {
        "smoke": ["movietweetings-10core"],
        "laptop": ["ml-1m", "ml-100k", "amazon-beauty"],
        "full": ["ml-1m", "eurlex"],
    }[scale]
    return [
        {"data": name, "law": law, "splits": splits, "seed": seed}
        for name in sets
        for law in ("exact", "bernoulli")
        for seed in seeds
    ]


@experiment(
    "P3-T3",
    "data statistics of the training part over random 90 % splits",
    paper="P3",
    plan=table3_plan,
    estimate=lambda cell: 1.0 * cell["splits"] / 4,
    describe=describe,
    finish=lambda rows: {
        f"{row['data']}-{row['law']}-{row['metric'].replace(' ', '-').replace('_', '-')}-{row['summary']}": row["value"]
        for row in rows
    },
    layout={"rows": ("data", "law", "metric"), "columns": ("summary",), "digits": 1},
)
def table3_cell(cell: Cell) -> list[Row]:
    """m, n, |O| and |O|^2/(m n) of the compacted training part: mean, standard deviation, least and greatest over
    splits.

    law "exact": round(0.9 |O|) pairs; "bernoulli": each pair with probability 0.9 (P3 does not say how it split).
    """
    data = load_data(cell["data"])
    split = {"exact": data.split_random, "bernoulli": data.split_bernoulli}[cell["law"]]
    found = [
        split(TRAIN_SHARE, np.random.default_rng([cell["seed"], at]))[0].compact().statistics()
        for at in range(cell["splits"])
    ]
    printed = {row["dataset"]: row for row in papers.table("P3", "T3")}.get(cell["data"], {})
    rows = []
    for metric in found[0]:
        values = np.array([row[metric] for row in found], dtype=np.float64)
        where = {
            "data": cell["data"],
            "law": cell["law"],
            "metric": metric,
            "seed": cell["seed"],
            "splits": cell["splits"],
        }
        summaries = {"mean": values.mean(), "sd": values.std(ddof=1), "least": values.min(), "greatest": values.max()}
        rows += [{**where, "summary": name, "value": float(value)} for name, value in summaries.items()]
        if metric in printed:
            rows[-4]["paper"] = printed[metric]  # beside the mean
    return rows


# ------------------------------------------------------------------------------------------------ Table 6: full
# gradient


def table6_plan(scale: str, seeds: tuple[int, ...], *, data: str | None = None, device: str = "cpu") -> list[Cell]:
    """Unbiased and Pos-Neg at 0.1 of every seed first, then the rest; square before logistic. Smoke stops at 300
    iterations.

    P3 stops at a gradient norm of 1e-7 of an objective that is a mean over m n cells. On ML-1M (2.1e7 cells) that is a
    minimum; on the 13 times larger, sparser table of amazon-beauty-5core it already holds after a few iterations, near
    the saddle at zero. There the cells stop at 1e-9 (`stop_at`), and two cells keep P3's rule to show the difference.
    """
    sets = {
        "smoke": [("movietweetings-10core", "square", 32), ("movietweetings-10core", "logistic", 32)],
        "laptop": [("ml-1m", "square", 64), ("amazon-beauty-5core", "square", 64), ("ml-100k", "logistic", 64)],
        "full": [(name, pointwise, 64) for name in FULL_SETS for pointwise in ("square", "logistic")],
    }[scale]
    first = [("unbiased", None), ("pos_neg_omega", 0.1)]
    ratios = RATIOS if scale != "smoke" else (1e-3, 1e-1)
    grid = [
        ("popularity", None),
        *((loss, ratio) for loss in ("pos_neg_omega", "in_batch_omega") for ratio in reversed(ratios)),
    ]
    order = [*first, *(cell for cell in grid if cell not in first)]
    cap = {"max_iterations": 300} if scale == "smoke" else {}
    finer = {"amazon-beauty-5core": {"stop_at": 1e-9}}
    cells = [
        {
            "data": name,
            "pointwise": pointwise,
            "method": "L-BFGS",
            "loss": loss,
            "ratio": ratio,
            "k": k,
            "seed": seed,
            **cap,
            **finer.get(name, {}),
        }
        for name, pointwise, k in sets
        if data in (None, name)
        for part in (order[:2], order[2:])
        for seed in seeds
        for loss, ratio in part
    ]
    closed = [
        {key: value for key, value in cell.items() if key != "stop_at"} | {"method": "closed form"}
        for cell in cells
        if cell["pointwise"] == "square" and cell["loss"] in ("unbiased", "popularity")
    ]
    smaller = [  # P3 does not say how it starts: the same from a tenth of the usual start, where that may matter
        {**cell, "start": 0.01}
        for cell in cells
        if scale == "laptop" and cell["data"] == "ml-1m" and cell["seed"] == 0
        if (cell["loss"], cell["ratio"])
        in (("unbiased", None), ("pos_neg_omega", 1e-1), ("pos_neg_omega", 1e-4), ("pos_neg_omega", 1e-5))
    ]
    coarser = [
        {key: value for key, value in cell.items() if key != "stop_at"}
        for cell in cells
        if "stop_at" in cell and cell["seed"] == 0 and (cell["loss"], cell["ratio"]) in first
    ]
    baseline = [
        {
            "data": name,
            "pointwise": pointwise,
            "method": "baseline",
            "loss": "most popular",
            "ratio": None,
            "k": k,
            "seed": seed,
        }
        for name, pointwise, k in sets
        if data in (None, name)
        for seed in seeds
    ]
    return [{**cell, "device": device} for cell in [*baseline, *closed, *cells, *smaller, *coarser]]


def table6_seconds(cell: Cell) -> float:
    if cell["method"] != "L-BFGS":
        return 2.0
    per_set = {"movietweetings-10core": 4.0, "ml-100k": 40.0, "ml-1m": 40.0, "amazon-beauty-5core": 100.0}
    slower = 25.0 if cell["pointwise"] == "logistic" and cell["data"] in FULL_SETS else 1.0
    return slower * per_set.get(cell["data"], 300.0)


def table6_scalars(rows: list[Row]) -> dict[str, float]:
    """Means over seeds under names such as "ml-1m-square-unbiased-p5"."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        if row["metric"] == "P@5":
            ratio = "" if row["ratio"] is None else f"-{row['ratio']:.0e}".replace("e-0", "e-")
            name = f"{row['data']}-{row['pointwise']}-{row['loss']}{ratio}"
            name += "-closed-form" if row["method"] == "closed form" else ""
            name = name.replace(" ", "-")
            name += "".join(f"-{key.replace('_', '-')}-{row[key]:g}" for key in ("start", "stop_at") if row.get(key))
            name += "" if row["serving"] == "raw" else "-" + row["serving"].replace(" ", "-")
            groups.setdefault(f"{name}-p5".replace("_", "-"), []).append(row["value"])
    return {name: float(np.mean(values)) for name, values in groups.items()}


@experiment(
    "P3-T6",
    "full gradient: L-BFGS to a gradient norm of 1e-7, omega in place of the batch ratio",
    paper="P3",
    plan=table6_plan,
    estimate=table6_seconds,
    describe=describe,
    finish=table6_scalars,
    layout={
        "rows": ("data", "pointwise", "loss", "ratio", "method", "start", "stop_at", "serving"),
        "columns": ("metric",),
        "metrics": METRIC_NAMES,
    },
    version=2,
)
def table6_cell(cell: Cell) -> list[Row]:
    """One objective on one split, minimised from one random start:
    normal entries of deviation `start`, by default 0.1.
    """
    train, test = load_split(cell["data"], cell["seed"])
    kind = {"in_batch_omega": "in_batch", "pos_neg_omega": "pos_neg"}.get(cell["loss"], cell["loss"])
    size = batch_size_from_ratio(cell["ratio"], len(train)) if cell["ratio"] else None
    where = {key: cell[key] for key in ("data", "pointwise", "loss", "ratio", "method", "k", "seed")}
    where |= {
        "omega": balance(size, len(train)) if size else None,
        **{key: cell[key] for key in ("start", "stop_at") if key in cell},
    }
    if cell["method"] == "baseline":  # the same list for everybody: items by their count in train
        users, items, extra = np.ones((train.n_users, 1)), train.col_counts[:, None].astype(np.float64), {}
    elif cell["method"] == "closed form":
        users, items = objectives.closed_form(cell["loss"], train, cell["k"])
        value, _, _ = objectives.square_objective(*map(_tensor, (users, items)), objectives.full_data(kind, train))
        extra = {"objective": value}
    else:
        data = objectives.full_data(kind, train, batch_size=size, device=cell["device"])
        start = objectives.random_start(
            train.shape, cell["k"], np.random.default_rng([cell["seed"], 1]), cell.get("start", 0.1)
        )
        limits = {
            "gradient_norm": cell.get("stop_at", 1e-7),
            "max_iterations": cell.get("max_iterations", MAX_ITERATIONS),
        }
        with threads_for(train):
            fit = objectives.minimise(cell["pointwise"], data, start, **limits)
        users, items = fit.users, fit.items
        extra = {"objective": fit.value, "gradient norm": fit.gradient_norm, "iterations": fit.iterations}
        where["stopped"] = fit.stopped
    printed = {key: cell[key] for key in ("loss", "ratio", "pointwise")} | {"dataset": cell["data"]}
    rows = [
        {
            **where,
            "serving": serving,
            "metric": metric,
            "value": value,
            "paper": paper_value("T6", metric=metric, **printed),
        }
        for serving, tables in servings(kind, cell["pointwise"], users, items, train).items()
        for metric, value in quality(*tables, train, test).items()
    ]
    for row in rows:
        if row["serving"] != "raw":
            del row["paper"]  # the paper ranks by the raw score
    return rows + [{**where, "serving": "raw", "metric": name, "value": value} for name, value in extra.items()]


def servings(
    kind: str, pointwise: str, users: np.ndarray, items: np.ndarray, train: Interactions
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """How scores are ranked: {name: (users, items)}: raw, and for the losses with the popularity weight also corrected.

    Square loss: "times popularity", the score times the item's count c_j (X19). Logistic loss: "plus log popularity",
    the score plus log c_j, because the optimum of a positive-weighted logit is lowered by log(rho pop) (X4). Both undo
    the item's factor; the user's does not change his ranking.
    """
    raw = {"raw": (users, items)}
    if kind not in ("popularity", "in_batch"):
        return raw
    counts = np.asarray(train.col_counts, dtype=items.dtype)[:, None]
    if pointwise == "square":
        return raw | {"times popularity": (users, items * counts)}
    return raw | {
        "plus log popularity": (np.hstack([users, np.ones_like(users[:, :1])]), np.hstack([items, np.log(counts)]))
    }


def _tensor(array: np.ndarray) -> torch.Tensor:
    return torch.as_tensor(array)


# ----------------------------------------------------------------------------------------- Table 5: stochastic gradient

BATCH_LOSSES = ("unbiased", "unbiased_omega", "pos_neg", "in_batch", "popularity")
OMEGA_RATIO = 1e-1  # unbiased_omega uses rho at this batch ratio, where P3's Pos-Neg is best on ML-1M


def table5_plan(
    scale: str, seeds: tuple[int, ...], *, data: str | None = None, device: str = "cpu", max_epochs: int | None = None
) -> list[Cell]:
    """One cell per data set, point-wise loss, batch ratio and seed; a cell trains all losses together."""
    sets = {
        "smoke": [("movietweetings-10core", "square", 32), ("movietweetings-10core", "logistic", 32)],
        "laptop": [("ml-1m", "square", 64), ("ml-100k", "logistic", 64), ("amazon-beauty-5core", "square", 64)],
        "full": [(name, pointwise, 64) for name in FULL_SETS for pointwise in ("square", "logistic")],
    }[scale]
    losses = (
        [*BATCH_LOSSES, "masked"] if scale == "smoke" else list(BATCH_LOSSES)
    )  # ours (X2): slow where the grid is dense
    usual = {"smoke": (RATIOS, 10, 1), "laptop": (RATIOS, 60, 1), "full": (RATIOS, 1000, 100)}[scale]
    special = {
        ("laptop", "amazon-beauty-5core"): ((1e-3, 1e-1), 30, 0.5)
    }  # 270 million scores to rank at each checkpoint
    cells = []
    for name, pointwise, k in sets:
        ratios, epochs, evaluations = special.get((scale, name), usual)
        schedule = {"first_lr": 2.0**18, "max_epochs": max_epochs or epochs, "evaluations_per_epoch": evaluations}
        cells += [
            {
                "data": name,
                "pointwise": pointwise,
                "ratio": ratio,
                "losses": losses,
                "k": k,
                "seed": seed,
                **schedule,
                "device": device,
            }
            for seed in seeds
            for ratio in ratios
            if data in (None, name)
        ]
    return cells


def table5_seconds(cell: Cell) -> float:
    per_epoch = {"movietweetings-10core": 0.2, "ml-100k": 1.0, "ml-1m": 2.0, "amazon-beauty-5core": 5.0}.get(
        cell["data"], 5.0
    )
    heavy = 10.0 if cell["pointwise"] == "logistic" and cell["data"] in FULL_SETS else 1.0
    return per_epoch * heavy * min(cell["max_epochs"], 60)


def table5_scalars(rows: list[Row]) -> dict[str, float]:
    """Means over seeds under names such as "ml-1m-square-unbiased-1e-3-p5" (selection as in the paper, raw scores)."""
    chosen = [row for row in rows if row["metric"] == "P@5" and row["selection"] == "test" and row["serving"] == "raw"]
    groups: dict[str, list[float]] = {}
    for row in chosen:
        name = f"{row['data']}-{row['pointwise']}-{row['loss']}-{row['ratio']:.0e}-p5".replace("e-0", "e-").replace(
            "_", "-"
        )
        groups.setdefault(name, []).append(row["value"])
    return {name: float(np.mean(values)) for name, values in groups.items()}


@experiment(
    "P3-T5",
    "stochastic gradient: batch losses against batch ratio, AdaGrad, learning rate found by halving",
    paper="P3",
    plan=table5_plan,
    estimate=table5_seconds,
    describe=describe,
    finish=table5_scalars,
    layout={
        "rows": ("data", "pointwise", "loss", "ratio", "serving"),
        "columns": ("selection", "metric"),
        "metrics": METRIC_NAMES,
    },
)
def table5_cell(cell: Cell) -> list[Row]:
    """All losses at one batch ratio on one split. Rows give three ways to choose the checkpoint.

    selection "test": the best value over checkpoints on the test set itself, as the paper does; "cross-fitted": chosen
    on half of the users and measured on the other half, both ways; "last": no choice.
    """
    train, test = load_split(cell["data"], cell["seed"])
    return trained_rows(cell, train_cell(cell, train, test))


def make_stack(cell: Cell, train: Interactions, dtype: torch.dtype) -> stochastic.Stack:
    """The stack of a cell's losses at their common start."""
    fields = ("first_lr", "max_epochs", "evaluations_per_epoch", "patience")
    return stochastic.Stack(
        tuple(cell["losses"]),
        cell["pointwise"],
        train,
        batch_size_from_ratio(cell["ratio"], len(train)),
        k=cell["k"],
        rng=np.random.default_rng([cell["seed"], 2]),
        schedule=stochastic.Schedule(**{key: cell[key] for key in fields if key in cell}),
        omega=balance(batch_size_from_ratio(OMEGA_RATIO, len(train)), len(train)),
        device=cell.get("device", "cpu"),
        dtype=dtype,
    )


def train_cell(
    cell: Cell, train: Interactions, test: Interactions, dtype: torch.dtype = torch.float32
) -> list[stochastic.Trained]:
    """Trains the losses of a cell together and returns them, in its order."""
    halves = np.random.default_rng([cell["seed"], 3]).random(train.n_users) < 0.5
    with threads_for(train):
        return stochastic.train_stack(
            make_stack(cell, train, dtype), test, cutoffs=CUTOFFS, halves=halves, servings=servings
        )


def trained_rows(cell: Cell, trained: list[stochastic.Trained], table: str = "T5") -> list[Row]:
    """Tidy rows of trained configurations: metrics under each selection and serving, then how training went."""
    choices = {"test": stochastic.best_on_test, "cross-fitted": stochastic.cross_fitted, "last": stochastic.last}
    rows = []
    for run in trained:
        where = {key: cell[key] for key in ("data", "pointwise", "ratio", "k", "seed")} | {"loss": run.loss}
        printed = {"loss": run.loss, "ratio": cell["ratio"], "pointwise": cell["pointwise"], "dataset": cell["data"]}
        for selection, choose in choices.items():
            for serving, metrics in run.history[-1]["metrics"].items():
                for metric in metrics:
                    row = {**where, "serving": serving, "selection": selection, "metric": metric}
                    row["value"] = choose(run, serving, metric)
                    if selection == "test" and serving == "raw":
                        row["paper"] = paper_value(table, metric=metric, **printed)
                    rows.append(row)
        how = {"learning rate": run.lr, "halvings": run.halvings, "epochs": run.epochs, "steps": run.steps}
        how["objective"] = run.history[-1]["objective"]
        rows += [
            {**where, "serving": "raw", "selection": "last", "metric": name, "value": value, "stopped": run.stopped}
            for name, value in how.items()
        ]
    return rows


# -------------------------------------------------------------------------------------- Table 4, Figure 4: against
# Sogram


def table4_plan(
    scale: str, seeds: tuple[int, ...], *, device: str = "cpu", max_epochs: int | None = None
) -> list[Cell]:
    """One cell per data set, point-wise loss, batch ratio and seed; a cell trains the unbiased loss and Sogram."""
    sets, ratios, epochs = {
        "smoke": ([("movietweetings-10core", "square", 32), ("movietweetings-10core", "logistic", 32)], (1e-3,), 15),
        "laptop": ([("ml-1m", "square", 64), ("ml-100k", "logistic", 64)], (1e-3, 1e-2, 1e-1), 60),
        "full": ([(name, pointwise, 64) for name in FULL_SETS for pointwise in ("square", "logistic")], RATIOS, 1000),
    }[scale]
    shared = {"first_lr": 2.0**18, "max_epochs": max_epochs or epochs, "device": device}
    shared["evaluations_per_epoch"] = 100 if scale == "full" else 2
    return [
        {"data": name, "pointwise": pointwise, "ratio": ratio, "k": k, "seed": seed, **shared}
        for name, pointwise, k in sets
        for seed in seeds
        for ratio in ratios
    ]


@experiment(
    "P3-T4",
    "the unbiased loss (17) against Sogram (34): quality, objective against step (Figure 4), cost of a step",
    paper="P3",
    plan=table4_plan,
    estimate=lambda cell: 0.6 * table5_seconds(cell),
    describe=describe,
    finish=lambda rows: table5_scalars(rows),
    layout={
        "rows": ("data", "pointwise", "ratio", "loss"),
        "columns": ("selection", "metric"),
        "metrics": (*METRIC_NAMES, "step ms"),
    },
    version=2,
)
def table4_cell(cell: Cell) -> list[Row]:
    """Both losses from the same start on the same first batches;
    the curve is the full objective (5) at every checkpoint.
    """
    train, test = load_split(cell["data"], cell["seed"])
    rows = []
    for loss in ("unbiased", "sogram"):
        trained = train_cell({**cell, "losses": [loss]}, train, test)
        rows += trained_rows(cell, trained, "T4")
        where = {key: cell[key] for key in ("data", "pointwise", "ratio", "k", "seed")}
        where |= {"loss": loss, "serving": "raw", "selection": "curve"}
        rows += [
            {**where, "metric": "objective at step", "step": entry["step"], "value": entry["objective"]}
            for entry in trained[0].history
        ]
    for loss, seconds in step_seconds(cell, ("unbiased", "sogram"), train).items():
        rows.append({**where, "loss": loss, "selection": "cost", "metric": "step ms", "value": 1000 * seconds})
    return rows


def step_seconds(cell: Cell, losses: tuple[str, ...], train: Interactions, repeats: int = 15) -> dict[str, float]:
    """Median seconds of one training step of each loss, taken in turn; on a CPU processor time, which other programs
    disturb less.

    A step draws its batch, computes the gradient and updates, with towers that are embedding tables: encoding costs
    nothing, so this is the part of the cost that P3's (10) and (35) leave out.
    """
    on_gpu = cell["device"].startswith("cuda")
    clock = time.perf_counter if on_gpu else time.process_time
    stacks = {loss: make_stack({**cell, "losses": [loss], "first_lr": 0.01}, train, torch.float32) for loss in losses}
    batches = {loss: stack.batches() for loss, stack in stacks.items()}
    times: dict[str, list[float]] = {loss: [] for loss in losses}
    for _ in range(repeats):
        for loss, stack in stacks.items():
            start = clock()
            stack.step(next(batches[loss]))
            if on_gpu:
                torch.cuda.synchronize()
            times[loss].append(clock() - start)
    return {loss: float(np.median(seconds)) for loss, seconds in times.items()}


# ------------------------------------------------------------------------------------------------------- for the
# chapter


@dataclass(frozen=True)
class Sweep:
    """What the chapter shows: the result, and the tables (users, items) of each model under (pointwise, loss,
    ratio).
    """

    result: Result
    models: dict[tuple[str, str, float], tuple[np.ndarray, np.ndarray]]
    train: Interactions
    test: Interactions


def batch_ratio_sweep(
    train: Interactions,
    test: Interactions,
    *,
    ratios: tuple[float, ...] = (1e-5, 1e-3, 1e-1),
    pointwise: tuple[str, ...] = ("square", "logistic"),
    losses: tuple[str, ...] = BATCH_LOSSES,
    k: int = 16,
    max_epochs: int = 15,
    first_lr: float = 1.0,
    seed: int = 0,
) -> Sweep:
    """A small Table 5 in seconds: every loss at every batch ratio with both point-wise losses, float64, nothing stored.

    The learning rate starts at 1, from where the paper's rule halves it; P@5 is the best of one checkpoint per epoch
    (selection "test", as in the paper), with the cross-fitted value beside it. Deterministic for a seed and a machine;
    across machines sums are rounded differently, and P@5 moves by some tenths of a percent point.
    """
    rows, models, start = [], {}, time.perf_counter()
    for loss_name in pointwise:
        for ratio in ratios:
            cell = {"data": train.name, "pointwise": loss_name, "ratio": ratio, "losses": losses, "k": k, "seed": seed}
            trained = train_cell({**cell, "max_epochs": max_epochs, "first_lr": first_lr}, train, test, torch.float64)
            rows += trained_rows(cell, trained)
            models |= {(loss_name, run.loss, ratio): (run.users, run.items) for run in trained}
    data = [describe_data(train.name, {"train": len(train), "test": len(test)}, train)]
    origin = {"data": data, "seconds": round(time.perf_counter() - start, 2), **provenance()}
    result = Result(
        "P3-chapter",
        "smoke",
        "batch losses against batch ratio",
        rows,
        table5_scalars(rows),
        origin,
        get("P3-T5").layout,
    )
    return Sweep(result, models, train, test)


def error_by_popularity(
    users: np.ndarray,
    items: np.ndarray,
    positives: Interactions,
    train: Interactions,
    *,
    pointwise: str,
    n_bins: int = 5,
) -> list[Row]:
    """How a model treats positives of different popularity: `n_bins` equally large groups by |O_i,:| |O_:,j| in train.

    positives: the pairs to look at (train itself, or test). Each row: `bin` (0 = least popular), `popularity` (median
    of the bin), `pairs`, `score` (mean), `error` (mean of 1 - score for the square loss, of 1 - sigmoid(score) for the
    logistic), `called_negative` (share of pairs scored below 1/2, or below 0 for the logistic loss).
    """
    if pointwise not in ("square", "logistic"):
        raise ValueError(f"pointwise is {pointwise!r}; expected 'square' or 'logistic'")
    scores = np.einsum("ek,ek->e", users[positives.users], items[positives.items])
    popularity = train.row_counts[positives.users] * train.col_counts[positives.items]
    probability = scores if pointwise == "square" else 1 / (1 + np.exp(-scores))
    groups = np.array_split(np.argsort(popularity, kind="stable"), n_bins)
    return [
        {
            "bin": at,
            "popularity": float(np.median(popularity[group])),
            "pairs": len(group),
            "score": float(scores[group].mean()),
            "error": float((1 - probability[group]).mean()),
            "called_negative": float((probability[group] < 0.5).mean()),
        }
        for at, group in enumerate(groups)
    ]

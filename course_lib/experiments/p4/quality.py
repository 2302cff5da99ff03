"""P4's Table 2 and Figures 4 to 6 and 8: what training with an estimator, or a gravity coefficient, gives; Table 1."""

from __future__ import annotations

import numpy as np

from course_lib.experiments.core.data import DataCell
from course_lib.experiments.core.registry import experiment
from course_lib.experiments.core.results import Layout
from course_lib.experiments.core.summary import Row, means
from course_lib.experiments.p4.data import FILMS, SMALL, describe, films, load_data, pages
from course_lib.experiments.p4.errors import ALPHAS
from course_lib.experiments.p4.training import (
    FEW_CANDIDATES,
    MethodCell,
    SharedCell,
    Trainer,
    TrainingCell,
    make_trainer,
    quality,
    shared_plan,
    step_seconds,
    train,
)

LAMBDAS = (1e-2, 1.0, 10.0, 1e3)  # of Figure 6
BINS = np.linspace(-1.0, 2.0, 61)


def trained_rows(cell: TrainingCell, method: str, *, histograms: bool = False) -> list[Row]:
    """Trains one method and gives MAP@10 at every check, the best and the last; `histograms`: also Figure 5's."""
    trainer = make_trainer(cell, method)
    where: Row = {"data": cell["data"], "seed": cell["seed"], "lambda": cell["lambda"], "method": method}
    rows: list[Row] = []

    def look(step: int, seconds: float) -> None:
        found = quality(trainer, cell["seed"])
        rows.extend(
            {**where, "metric": f"{name} at step", "step": step, "seconds": seconds, "value": value}
            for name, value in found.items()
        )
        if histograms:
            rows.extend(
                {**where, **row, "step": step}
                for row in histogram_rows(trainer, np.random.default_rng([cell["seed"], 2]))
            )

    train(cell, trainer, look)
    for name in ("map@10", f"map@10 of {FEW_CANDIDATES}", "train map@10"):
        curve = [row["value"] for row in rows if row["metric"] == f"{name} at step"]
        rows += [
            {**where, "metric": name, "value": curve[-1]},
            {**where, "metric": f"best {name}", "value": max(curve)},
        ]
    rows.append({**where, "metric": "seconds", "value": max(row.get("seconds", 0.0) for row in rows)})
    return rows


def histogram_rows(trainer: Trainer, rng: np.random.Generator, count: int = 20_000) -> list[Row]:
    """Inner products of random and of observed pairs: shares in BINS, mean and spread.

    The first and the last bin collect what lies beyond.
    """
    train = trainer.task.train
    users, items = (table.double().cpu().numpy() for table in trainer.tables())
    some = rng.integers(len(train), size=count)
    other = rng.integers(len(train), size=count)
    rows: list[Row] = []
    for pairs, at in (("observed", some), ("random", other)):
        products = np.einsum("ek,ek->e", users[train.users[some]], items[train.items[at]])
        shares = np.histogram(np.clip(products, BINS[0], BINS[-1]), BINS)[0] / count
        rows.append(
            {"pairs": pairs, "metric": "histogram", "value": float(products.mean()), "shares": shares.round(5).tolist()}
        )
        rows += [
            {"pairs": pairs, "metric": name, "value": float(value)}
            for name, value in (
                ("mean", products.mean()),
                ("spread", products.std()),
                ("share above 1/2", (products > 0.5).mean()),
            )
        ]
    return rows


def method_plan(scale: str, seeds: tuple[int, ...], *, device: str = "cpu") -> list[MethodCell]:
    """Table 2: sampling and SOGram at P4's four rates; a cell each."""
    every, checks = {"smoke": (50, 4), "laptop": (250, 20), "full": (1000, 40)}[scale]
    methods = ("sampling", *(f"sogram {alpha}" for alpha in ALPHAS))
    shared = shared_plan(scale, device=device)
    return [
        {**shared, "every": every, "checks": checks, "method": method, "seed": seed}
        for seed in seeds
        for method in methods
    ]


def lambda_plan(scale: str, seeds: tuple[int, ...], *, device: str = "cpu") -> list[TrainingCell]:
    """Figures 5 and 6: SOGram with alpha = 0.01 at four gravity coefficients."""
    every, checks = {"smoke": (50, 4), "laptop": (250, 12), "full": (1000, 40)}[scale]
    shared = shared_plan(scale, device=device)
    return [
        {**shared, "every": every, "checks": checks, "lambda": lam, "seed": seed} for seed in seeds for lam in LAMBDAS
    ]


def rating_plan(scale: str, seeds: tuple[int, ...], *, device: str = "cpu") -> list[MethodCell]:
    """Figure 8: ratings as targets, k = 35, lambda = 1; sampling and SOGram."""
    every, checks = {"smoke": (60, 3), "laptop": (500, 12), "full": (5000, 40)}[scale]
    sizes = SMALL if scale == "smoke" else FILMS
    data = {"smoke": "movietweetings-ratings", "laptop": "ml-100k-ratings", "full": "ml-10m-ratings"}[scale]
    shared: SharedCell = {
        **shared_plan(scale, device=device),
        "lambda": 1.0,
        "lr": 0.05,
        "data": data,
        "inputs": sizes.inputs,
        "hidden": list(sizes.hidden),
        "k": sizes.output,
    }
    return [
        {**shared, "every": every, "checks": checks, "method": method, "seed": seed}
        for seed in seeds
        for method in ("sampling", "sogram 0.001", "sogram 0.01", "sogram 0.1")
    ]


def quality_scalars(rows: list[Row]) -> dict[str, float]:
    """{"map@10 sogram 0.01": its mean over seeds}; "map@10 lambda 10" where coefficients are compared."""
    chosen = [row for row in rows if row["metric"] in ("map@10", "best map@10")]
    several = len({row["lambda"] for row in chosen}) > 1

    def name(row: Row) -> str:
        return f"{row['metric']} " + (f"lambda {row['lambda']:g}" if several else row["method"])

    return dict(sorted(means(chosen, name).items()))


_QUALITY: Layout = {
    "rows": ("data", "method"),
    "columns": ("metric",),
    "digits": 4,
    "metrics": ("map@10", "best map@10", f"map@10 of {FEW_CANDIDATES}", "train map@10", "seconds"),
}


@experiment(
    "P4-T2",
    "MAP@10 of sampling and SOGram (Table 2, Figure 4)",
    paper="P4",
    plan=method_plan,
    estimate=step_seconds,
    describe=describe,
    finish=quality_scalars,
    layout=_QUALITY,
)
def table2_cell(cell: MethodCell) -> list[Row]:
    return trained_rows(cell, cell["method"])


@experiment(
    "P4-F6",
    "folding: inner products and MAP@10 for several gravity coefficients (Figures 5 and 6)",
    paper="P4",
    plan=lambda_plan,
    estimate=step_seconds,
    describe=describe,
    finish=quality_scalars,
    layout={**_QUALITY, "rows": ("data", "lambda")},
)
def figure6_cell(cell: TrainingCell) -> list[Row]:
    return trained_rows(cell, "sogram 0.01", histograms=True)


@experiment(
    "P4-F8",
    "MAP@10 on ratings: sampling and SOGram (Figure 8)",
    paper="P4",
    plan=rating_plan,
    estimate=step_seconds,
    describe=describe,
    finish=quality_scalars,
    layout=_QUALITY,
)
def figure8_cell(cell: MethodCell) -> list[Row]:
    return trained_rows(cell, cell["method"])


# ------------------------------------------------------------------------------------------------------- Table 1


def statistics_plan(scale: str, seeds: tuple[int, ...], *, device: str = "cpu") -> list[DataCell]:
    """One cell for each corpus of the scale."""
    names = {
        "smoke": ["movietweetings-10core"],
        "laptop": ["wikispeedia", "ml-100k-ratings"],
        "full": ["wikispeedia", "ml-10m-ratings"],
    }[scale]
    return [{"data": name} for name in names]


@experiment(
    "P4-T1",
    "sizes of the corpora (Tables 1 and 3)",
    paper="P4",
    plan=statistics_plan,
    estimate=lambda cell: 1.0,
    describe=describe,
    finish=lambda rows: {},
    layout={"rows": ("data",), "columns": ("metric",), "digits": 0},
)
def table1_cell(cell: DataCell) -> list[Row]:
    data = load_data(cell["data"])
    bags = pages(data)[0] if cell["data"] == "wikispeedia" else films(data)
    sizes = {
        "left": data.n_users,
        "right": data.n_items,
        "pairs": len(data),
        **{f"{name}s": bags[name].shape[1] for name in bags if name != "id"},
    }
    return [
        {"data": cell["data"], "metric": name.replace("ss", "s"), "value": float(value)}
        for name, value in sizes.items()
    ]

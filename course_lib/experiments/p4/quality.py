"""P4's Table 2 and Figures 4 to 6 and 8: what training with an estimator, or a gravity coefficient, gives; Table 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib.experiments.core.data import DataCell
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, means, part, tidy
from course_lib.experiments.p4 import training
from course_lib.experiments.p4.data import FILMS, SMALL, describe, films, load_data, pages
from course_lib.experiments.p4.errors import ALPHAS
from course_lib.experiments.p4.training import FEW_CANDIDATES, MethodCell, Trainer, TrainingCell
from course_lib.training import resumable

LAMBDAS = (1e-2, 1.0, 10.0, 1e3)  # of Figure 6
BINS = np.linspace(-1.0, 2.0, 61)


def trained_rows(cell: TrainingCell, method: str, *, histograms: bool = False) -> list[Row]:
    """Trains one method and gives MAP@10 at every check, the best and the last; `histograms`: also Figure 5's."""
    trainer = training.make_trainer(cell, method)
    where = {**part(cell, "data seed lambda"), "method": method}
    rows: list[Row] = []

    def look(step: int, seconds: float) -> None:
        for name, value in training.quality(trainer, cell["seed"]).items():
            rows.append({**where, "metric": f"{name} at step", "step": step, "seconds": seconds, "value": value})
        if histograms:
            drawn = histogram_rows(trainer, np.random.default_rng([cell["seed"], 2]))
            rows.extend({**where, **row, "step": step} for row in drawn)

    resumable.hold(rows)
    training.train(cell, trainer, look)
    for name in ("map@10", f"map@10 of {FEW_CANDIDATES}", "train map@10"):
        curve = [row["value"] for row in rows if row["metric"] == f"{name} at step"]
        rows += tidy(where, {name: curve[-1], f"best {name}": max(curve)})
    return rows + tidy(where, {"seconds": max(row.get("seconds", 0.0) for row in rows)})


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
        where, mean = {"pairs": pairs}, products.mean()
        rows += tidy(where, {"histogram": mean}, shares=shares.round(5).tolist())
        rows += tidy(where, {"mean": mean, "spread": products.std(), "share above 1/2": (products > 0.5).mean()})
    return rows


def _cells(
    scale: str, seeds: Seeds, device: str, looks: tuple[int, int], several: list[dict[str, Any]], **own: Any
) -> list[Any]:
    """The cells of a plan, seed by seed. looks: steps between two checks, checks; several: what they differ in."""
    shared = {**training.shared_plan(scale, device=device), **own, "every": looks[0], "checks": looks[1]}
    return [{**shared, **one, "seed": seed} for seed in seeds for one in several]


def method_plan(scale: str, seeds: Seeds, *, device: str = "cpu") -> list[MethodCell]:
    """Table 2: sampling and SOGram at P4's four rates; a cell each."""
    looks = {"smoke": (25, 4), "laptop": (250, 20), "full": (1000, 40)}[scale]
    methods = ("sampling", *(f"sogram {alpha}" for alpha in ALPHAS))
    return _cells(scale, seeds, device, looks, [{"method": method} for method in methods])


def lambda_plan(scale: str, seeds: Seeds, *, device: str = "cpu") -> list[TrainingCell]:
    """Figures 5 and 6: SOGram with alpha = 0.01 at four gravity coefficients."""
    looks = {"smoke": (25, 4), "laptop": (250, 12), "full": (1000, 40)}[scale]
    return _cells(scale, seeds, device, looks, [{"lambda": lam} for lam in LAMBDAS])


def rating_plan(scale: str, seeds: Seeds, *, device: str = "cpu") -> list[MethodCell]:
    """Figure 8: ratings as targets, k = 35, lambda = 1; sampling and SOGram."""
    looks = {"smoke": (30, 3), "laptop": (500, 12), "full": (5000, 40)}[scale]
    sizes = SMALL if scale == "smoke" else FILMS
    data = {"smoke": "movietweetings-ratings", "laptop": "ml-100k-ratings", "full": "ml-10m-ratings"}[scale]
    own = {"lambda": 1.0, "inputs": sizes.inputs, "hidden": list(sizes.hidden), "k": sizes.output}
    methods = ("sampling", "sogram 0.001", "sogram 0.01", "sogram 0.1")
    return _cells(scale, seeds, device, looks, [{"method": method} for method in methods], lr=0.05, data=data, **own)


def quality_scalars(rows: list[Row]) -> dict[str, float]:
    """{"map@10 sogram 0.01": its mean over seeds}; "map@10 lambda 10" where coefficients are compared."""
    chosen = [row for row in rows if row["metric"] in ("map@10", "best map@10")]
    several = len({row["lambda"] for row in chosen}) > 1

    def name(row: Row) -> str:
        return f"{row['metric']} " + (f"lambda {row['lambda']:g}" if several else row["method"])

    return dict(sorted(means(chosen, name).items()))


_METRICS = ("map@10", "best map@10", f"map@10 of {FEW_CANDIDATES}", "train map@10")
_ALIKE: dict[str, Any] = {"estimate": training.step_seconds, "describe": describe, "finish": quality_scalars}
_BY_METHOD: dict[str, Any] = {**_ALIKE, "layout": shown("data", "method", digits=4, metrics=_METRICS)}


@experiment("P4-T2", "MAP@10 of sampling and SOGram (Table 2, Figure 4)", plan=method_plan, **_BY_METHOD)
def table2_cell(cell: MethodCell) -> list[Row]:
    return trained_rows(cell, cell["method"])


@experiment(
    "P4-F6",
    "folding: inner products and MAP@10 for several gravity coefficients (Figures 5 and 6)",
    plan=lambda_plan,
    layout=shown("data", "lambda", digits=4, metrics=_METRICS),
    **_ALIKE,
)
def figure6_cell(cell: TrainingCell) -> list[Row]:
    return trained_rows(cell, "sogram 0.01", histograms=True)


@experiment("P4-F8", "MAP@10 on ratings: sampling and SOGram (Figure 8)", plan=rating_plan, **_BY_METHOD)
def figure8_cell(cell: MethodCell) -> list[Row]:
    return trained_rows(cell, cell["method"])


# ------------------------------------------------------------------------------------------------------- Table 1


def statistics_plan(scale: str, seeds: Seeds, *, device: str = "cpu") -> list[DataCell]:
    """One cell for each corpus of the scale."""
    large = {"laptop": ["wikispeedia", "ml-100k-ratings"], "full": ["wikispeedia", "ml-10m-ratings"]}
    return [{"data": name} for name in large.get(scale, ["movietweetings-10core"])]


@experiment(
    "P4-T1",
    "sizes of the corpora (Tables 1 and 3)",
    plan=statistics_plan,
    estimate=lambda cell: 1.0,
    describe=describe,
    finish=lambda rows: {},
    layout=shown("data", digits=0),
)
def table1_cell(cell: DataCell) -> list[Row]:
    data = load_data(cell["data"])
    bags = pages(data)[0] if cell["data"] == "wikispeedia" else films(data)
    sizes = {"left": data.n_users, "right": data.n_items, "pairs": len(data)}
    sizes |= {f"{name}s".replace("ss", "s"): bags[name].shape[1] for name in bags if name != "id"}
    return tidy({"data": cell["data"]}, sizes)

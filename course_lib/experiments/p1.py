"""P1's experiments: Tables 1 to 5, Figures 1, 3 and 4, and what decides the sign of alpha (P1-X1).

Data. P1's Amazon-Book, Yelp and Tmall cannot be had here. Smoke runs on the embedded films, laptop on LastFM and
MovieLens 1M, full adds gowalla, CiteULike and MovieLens 20M; all are cut to their 10-core, as P1 does. P1 does not
state its split, optimiser, learning rate, decay or law of
negatives: here 8:1:1 at random, Adam, what stands in BUDGETS, and negatives uniform over the items that a user has not.

Tuning. A backbone tries the decays of DECAYS, every method as many settings as every other, those of GRID, on top of
its backbone's choice; the setting with the best validation MRR@10 at the first seed serves all seeds. How many are
tried stands in TRIES and in the cells: 4 and 4 at full scale, fewer at laptop scale, 1 and 1 at smoke scale. P1 says
"grid search" and no more.

Models. A trained model is kept in the folder `models` beside the finished cells, under a hash of all that it depends
on: Tables 2 to 5 and Figures 1, 3 and 4 train the same backbone once. DDC is fine-tuned anew by each of them, which
takes seconds.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import stats

from course_lib.data import datasets
from course_lib.data.interactions import Interactions, sample_negatives
from course_lib.experiments.core.provenance import cells_folder, describe_data, digest
from course_lib.experiments.core.registry import Cell, experiment
from course_lib.experiments.core.results import Result, Row
from course_lib.experiments.p0_popularity import half_width
from course_lib.maths import correction, losses, popularity
from course_lib.models import backbones, debiasing
from course_lib.models.debiasing import DDC
from course_lib.papers import p1 as paper
from course_lib.papers import select, table
from course_lib.training import Fabric
from course_lib.training.recommenders import measure, split_811, train_recommender

TUNING_SEED = 0
VERSION = 1  # of the stored models: it grows when training changes
RECIPES: dict[str, dict[str, Any]] = {
    "movietweetings-10core": {"name": "movietweetings", "core": 10},
    "lastfm-10core": {"name": "lastfm-hetrec", "core": 10},
    "citeulike-10core": {"name": "citeulike-a", "core": 10},
    "ml-1m-10core": {"name": "ml-1m", "min_rating": 4, "core": 10},
    "gowalla-10core": {"name": "gowalla", "core": 10},
    "gowalla-20core": {"name": "gowalla", "core": 20},
    "ml-20m-10core": {"name": "ml-20m", "min_rating": 4, "core": 10},
}
SETS = {
    "smoke": ("movietweetings-10core",),
    "laptop": ("lastfm-10core", "ml-1m-10core"),
    "full": ("lastfm-10core", "citeulike-10core", "ml-1m-10core", "gowalla-10core", "ml-20m-10core"),
}
WIDTH, TOP, RATIO, K = 64, 0.3, 0.05, 10  # d, k of (10), rho of (4), length of the lists: P1, Section 5.1
Budget = dict[str, Any]
P1_BUDGET: Budget = {
    "batch": 8192,
    "lr": 0.001,
    "epochs": 1000,
    "every": 1,
    "patience": 50,
}  # P1, Section 5.1.4; epochs unlimited there
BUDGETS: dict[str, Budget] = {  # quicker: larger steps, fewer looks; `every` epochs between two evaluations
    "movietweetings-10core": {"batch": 4096, "lr": 0.02, "epochs": 32, "every": 4, "patience": 8},
    "lastfm-10core": {"batch": 4096, "lr": 0.02, "epochs": 80, "every": 4, "patience": 12},
    "citeulike-10core": {"batch": 8192, "lr": 0.02, "epochs": 80, "every": 4, "patience": 12},
    "ml-1m-10core": {"batch": 16384, "lr": 0.02, "epochs": 60, "every": 4, "patience": 8},
    "gowalla-10core": {"batch": 16384, "lr": 0.02, "epochs": 40, "every": 4, "patience": 8},
    "gowalla-20core": {"batch": 16384, "lr": 0.02, "epochs": 40, "every": 4, "patience": 8},
}
OWN_BUDGETS: dict[str, Budget] = {"LightCCF": {"batch": 512, "lr": 0.005}}  # its contrast costs the square of the batch
OWN_OPTIONS: dict[str, dict[str, Any]] = {"LightCCF": {"weight": 0.1}}
SLOW = ("NCL", "LightCCF")  # at smoke scale with the first seed only
FINE = {"lr": 0.05}  # DDC's own learning rate; batch, epochs and patience are those of its backbone
TRIES = {"smoke": (1, 1), "laptop": (4, 4), "full": (4, 4)}  # settings of a backbone, of a method
FEWER_TRIES = {"lastfm-10core": (4, 2), "ml-1m-10core": (2, 1)}  # at laptop scale
DECAYS = (0.03, 0.01, 0.003, 0.001)
GRAPH_DECAYS = (0.001, 0.0003, 0.0001, 0.003)  # of the backbones that average over the graph
FEW = {"limit": 256}  # rows of a batch that enter a contrast, whose cost is their square
# what every method may try, first the one of the smoke scale; "decay factor" is on the backbone's decay
GRID: dict[str, tuple[dict[str, Any], ...]] = {
    "IPS": ({"power": 0.2}, {"power": 0.5}, {"power": 0.1}, {"power": 1.0}),
    "DICE": (
        {"weight": 0.3, "resample": False},
        {"weight": 0.3},
        {"weight": 0.1, "resample": False},
        {"weight": 1.0, "decay factor": 0.1},
    ),
    "MACR": ({"c": 1.0}, {"c": 10.0}, {"c": 1.0, "decay factor": 0.1}, {"c": 40.0}),
    "PC": ({"alpha": 0.1}, {"alpha": 0.3}, {"alpha": 0.1, "beta": 0.1}, {"alpha": 1.0}),
    "PAAC": (
        {"contrast": 0.02, "align": 0.1, **FEW},
        {"contrast": 0.02, "align": 1.0, "decay factor": 0.1, **FEW},
        {"contrast": 0.02, "align": 0.1, "decay factor": 0.1, **FEW},
        {"contrast": 0.2, "align": 1.0, "decay factor": 0.1, **FEW},
    ),
    "DCCL": (
        {"weight_interest": 0.3, "weight_conformity": 0.1, **FEW},
        {"weight_interest": 0.1, "weight_conformity": 0.1, **FEW},
        {"weight_interest": 0.1, "weight_conformity": 0.1, "decay factor": 0.1, **FEW},
        {"weight_interest": 0.3, "weight_conformity": 0.3, **FEW},
    ),
    "TPAB": ({"stages": 1}, {"stages": 8, "decay factor": 0.1}, {"stages": 2}, {"stages": 1, "decay factor": 0.1}),
    "DDC": ({"top": 0.3}, {"top": 0.1}, {"top": 0.5}, {"top": 1.0}),
}
METHODS = tuple(GRID)  # in the order of P1's Table 3
ACCURACY = {"MRR@10": "mrr", "NDCG@10": "ndcg", "MAP@10": "map", "Recall@10": "recall", "AvgPop@10": "avgpop"}
TOPS = tuple(round(0.1 * tenth, 1) for tenth in range(1, 11))  # Figure 3


# ---------------------------------------------------------------------------------------------------------------- data


@dataclass(frozen=True)
class Split:
    """The three parts of one random split, all of the shape of the data."""

    train: Interactions
    valid: Interactions
    test: Interactions

    @property
    def counts(self) -> np.ndarray:
        return self.train.col_counts


@lru_cache(maxsize=2)
def load_data(name: str) -> Interactions:
    """One of RECIPES."""
    if name not in RECIPES:
        raise ValueError(f"data {name!r} is no recipe of P1's experiments; expected one of {', '.join(RECIPES)}")
    return datasets.load(**RECIPES[name]).compact()


@lru_cache(maxsize=4)
def load_split(name: str, seed: int) -> Split:
    """Train, validation and test part, 8:1:1 at random: the same for every method of a seed."""
    return Split(*split_811(load_data(name), np.random.default_rng(seed)))


def describe(cell: Cell) -> dict[str, Any]:
    return describe_data(cell["data"], RECIPES[cell["data"]], load_data(cell["data"]))


# -------------------------------------------------------------------------------------------------------------- models


@dataclass(frozen=True)
class Fitted:
    """A trained model: the two tables that rank, its best validation MRR@10, and its training, one entry for each
    evaluation.
    """

    users: np.ndarray
    items: np.ndarray
    history: list[dict[str, float]]
    seconds: float

    @property
    def valid(self) -> float:
        return max(entry["mrr"] for entry in self.history)

    @property
    def epochs(self) -> int:
        """Epochs until the best validation MRR@10."""
        return max(self.history, key=lambda entry: entry["mrr"])["epoch"]


def model_cell(
    cell: Cell, backbone: str, seed: int, *, method: str | None = None, stop: bool = True, **options: Any
) -> Cell:
    """All that a trained model depends on: data, seed, budget, backbone with its decay, and the method with its
    options.

    stop: end in the state of the best validation MRR@10, else after the last epoch.
    """
    keys = ("data", "batch", "lr", "epochs", "every", "patience", "device")
    options = OWN_OPTIONS.get(backbone, {}) | options if method is None else options
    spec = {"backbone": backbone, "seed": seed, "method": method, "stop": stop, "options": options}
    return {key: cell[key] for key in keys} | OWN_BUDGETS.get(backbone, {}) | spec


def fitted(cell: Cell) -> Fitted:
    """The trained model of a `model_cell`: from memory, from the store, or trained now and stored."""
    return _fitted(json.dumps(cell, sort_keys=True), str(models_folder()))


def models_folder() -> Path:
    """Where trained models lie: beside the finished cells."""
    return cells_folder().parent / "models"


@lru_cache(maxsize=16)
def _fitted(text: str, folder: str) -> Fitted:
    cell = json.loads(text)
    path = Path(folder) / f"{digest({'version': VERSION, 'cell': cell, 'data': describe(cell)['sha256']})}.npz"
    if path.is_file():
        with np.load(path) as stored:
            about = json.loads(str(stored["about"]))
            return Fitted(stored["users"], stored["items"], about["history"], about["seconds"])
    found = _train(cell, path.with_suffix(".ckpt"))
    beside = path.with_name(f".{os.getpid()}.{path.name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    about = json.dumps({"cell": cell, "history": found.history, "seconds": found.seconds})
    np.savez(beside, users=found.users, items=found.items, about=about)
    os.replace(beside, path)
    path.with_suffix(".ckpt").unlink(missing_ok=True)
    return found


def _train(cell: Cell, checkpoint: Path) -> Fitted:
    split, start = load_split(cell["data"], cell["seed"]), time.perf_counter()
    model, stop = Watched(make_model(cell, split.train), split if cell["method"] is None else None), cell["stop"]
    long = cell["epochs"] * len(split.train) > 10_000_000  # worth going on with after a kill
    history = train_recommender(
        model,
        split.train,
        split.valid if stop else None,
        epochs=cell["epochs"],
        lr=cell["lr"],
        seed=cell["seed"],
        batch_size=cell["batch"],
        patience=cell["patience"] if stop else None,
        evaluate_every=cell["every"] if stop else cell["epochs"],
        negatives=cell["options"].get("negatives", "uniform"),
        checkpoint=checkpoint if long else None,
        fabric=fabric_of(cell),
    )
    model.eval()
    with torch.no_grad():
        users, items = (side.detach().cpu().numpy() for side in model.model.ranking())
    return Fitted(users, items, model.annotated(history.epochs, cell["every"]), time.perf_counter() - start)


def make_model(cell: Cell, train: Interactions) -> torch.nn.Module:
    """The untrained model of a `model_cell`."""
    generator = torch.Generator().manual_seed(cell["seed"])
    options = {key: value for key, value in cell["options"].items() if key != "negatives"}
    own = options if cell["method"] is None else {"decay": options.pop("decay")}
    model = backbones.make(cell["backbone"], train, d=WIDTH, generator=generator, **own)
    return (
        model
        if cell["method"] is None
        else debiasing.make(cell["method"], model, train, generator=generator, **options)
    )


def fabric_of(cell: Cell) -> Fabric | None:
    return Fabric(accelerator="cuda", devices=1) if cell["device"].startswith("cuda") else None


class Watched(torch.nn.Module):
    """A model that notes BPR's loss of its tables each time it is asked for them, which is once for each evaluation on
    validation data.
    """

    def __init__(self, model: torch.nn.Module, split: Split | None) -> None:
        super().__init__()
        self.model, self.seen = model, []
        self.watch = Watch(split) if split is not None else None

    def begin_epoch(self, epoch: int, rng: np.random.Generator) -> None:
        self.model.begin_epoch(epoch, rng)

    def loss(self, *triples: torch.Tensor) -> torch.Tensor:
        return self.model.loss(*triples)

    def ranking(self) -> tuple[torch.Tensor, torch.Tensor]:
        users, items = self.model.ranking()
        if self.watch is not None:
            self.seen.append(self.watch.loss(users, items))
        return users, items

    def annotated(self, epochs: list[dict[str, float]], every: int) -> list[dict[str, float]]:
        """The entries of a history with the epochs passed ("epoch") and the losses noted ("bpr";
        not those before a restart).
        """
        missing: list[float | None] = [None] * (len(epochs) - len(self.seen))
        return [
            {**e, "epoch": (e["epoch"] + 1) * every, "bpr": b}
            for e, b in zip(epochs, [*missing, *self.seen][-len(epochs) :], strict=True)
        ]


class Watch:
    """BPR's mean loss of what a model serves, on every training pair with one negative that stays the same (P1, Section
    5.4.2).
    """

    def __init__(self, split: Split) -> None:
        train, rng = split.train, np.random.default_rng(0)
        self.triples = train.users, train.items, sample_negatives(train, train.users, rng)

    def margins(self, users: Any, items: Any) -> torch.Tensor:
        """(|O|,) <e_u, e_i - e_j>."""
        users, items = (torch.as_tensor(side).detach().cpu() for side in (users, items))
        u, i, j = (torch.from_numpy(ids.copy()) for ids in self.triples)
        blocks = (slice(at, at + 2**16) for at in range(0, len(u), 2**16))
        return torch.cat([(users[u[b]] * (items[i[b]] - items[j[b]])).sum(dim=1) for b in blocks])

    def loss(self, users: Any, items: Any) -> float:
        margins = self.margins(users, items).double()
        return float(losses.bpr(margins, torch.zeros_like(margins)))

    def best_scaled_loss(self, users: Any, items: Any) -> tuple[float, float]:
        """(c, loss): the factor on all margins, which no ranking notices, that makes this loss least."""
        margins = self.margins(users, items).double()
        factors = np.geomspace(0.1, 100, 61)
        found = [float(losses.bpr(c * margins, torch.zeros_like(margins))) for c in factors]
        return float(factors[int(np.argmin(found))]), min(found)


# -------------------------------------------------------------------------------------------------------------- tuning


def chosen_backbone(cell: Cell, backbone: str) -> dict[str, float]:
    """The backbone's options with the best validation MRR@10 at the tuning seed."""
    tries = [{"decay": decay} for decay in (DECAYS if backbone == "MF" else GRAPH_DECAYS)[: cell["tries"][0]]]
    return best_of(tries, lambda options: fitted(model_cell(cell, backbone, cell["tuning seed"], **options)))


def best_of(tries: list[dict[str, Any]], model: Callable[[dict[str, Any]], Fitted]) -> dict[str, Any]:
    """The options whose model has the best validation MRR@10; one alone needs no training."""
    return tries[0] if len(tries) == 1 else max(tries, key=lambda options: model(options).valid)


def tuned_backbone(cell: Cell, backbone: str) -> Fitted:
    """The backbone with its chosen options, trained with the cell's own seed."""
    return fitted(model_cell(cell, backbone, cell["seed"], **chosen_backbone(cell, backbone)))


def tuned_method(cell: Cell, backbone: str, method: str) -> tuple[Fitted, dict[str, Any]]:
    """A method of Table 3 on a backbone, trained with the cell's own seed, and the options chosen for it."""
    own = chosen_backbone(cell, backbone)

    def at(seed: int, options: dict[str, Any]) -> Fitted:
        if method == "DDC":
            return finetuned({**cell, "seed": seed}, fitted(model_cell(cell, backbone, seed, **own)), **options)[1]
        decay = own["decay"] * options.get("decay factor", 1.0)
        rest = {key: value for key, value in options.items() if key != "decay factor"}
        return fitted(model_cell(cell, backbone, seed, method=method, decay=decay, **rest))

    best = best_of(list(GRID[method][: cell["tries"][1]]), lambda options: at(cell["tuning seed"], options))
    return at(cell["seed"], best), best


# ----------------------------------------------------------------------------------------------------------------- DDC


def finetuned(
    cell: Cell,
    base: Fitted,
    *,
    top: float = TOP,
    rule: str = "b_a",
    start: float = 0.0,
    shift: float | str = 0.0,
    stop: bool = True,
    epochs: int | None = None,
    negatives: str = "uniform",
) -> tuple[DDC, Fitted]:
    """DDC on a trained backbone, and its tables with their training.

    top, rule, start: as in `DDC`. shift: adds this many standard deviations of the projections, times e_pop, to every
    item first, which changes no ranking of the backbone. stop: end in the state of the best validation MRR@10 (P1),
    else after the last epoch.
    """
    split, begin = load_split(cell["data"], cell["seed"]), time.perf_counter()
    items = shifted(base.items, split.counts, shift)
    generator = torch.Generator().manual_seed(cell["seed"])
    model = DDC(base.users, items, split.train, top=top, ratio=RATIO, rule=rule, start=start, generator=generator)
    epochs, watched = epochs or cell["epochs"], Watched(model, split if stop else None)
    history = train_recommender(
        watched,
        split.train,
        split.valid if stop else None,
        epochs=epochs,
        lr=FINE["lr"],
        seed=cell["seed"],
        batch_size=cell["batch"],
        patience=cell["patience"] if stop else None,
        evaluate_every=cell["every"] if stop else epochs,
        negatives=negatives,
        fabric=fabric_of(cell),
    )
    with torch.no_grad():
        users, items = (side.detach().cpu().numpy() for side in model.cpu().ranking())
    return model, Fitted(users, items, watched.annotated(history.epochs, cell["every"]), time.perf_counter() - begin)


def shifted(items: np.ndarray, counts: np.ndarray, shift: float | str) -> np.ndarray:
    """items (n, d) + shift sd(<e_i, e_pop>) e_pop, or minus their mean if "centred":
    one vector for all, so every <e_u, e_i - e_j> stays.
    """
    if shift == "centred":
        return items - items.mean(axis=0)
    pop = popularity.popularity_direction(items, counts, RATIO)
    return (items + shift * (items @ pop).std() * pop).astype(items.dtype) if shift else items


def centroid(items: np.ndarray, counts: np.ndarray) -> float:
    """Where the mean item lies along e_pop, in standard deviations of the items' projections:
    what decides the sign of alpha.
    """
    projections = items @ popularity.popularity_direction(items, counts, RATIO)
    return float(projections.mean() / projections.std())


def numbers(tables: Any, split: Split) -> dict[str, float]:
    """P1's numbers on the test part: {"MRR@10": ..., "AvgPop@10": ...};
    what a user has in the validation part is not shown either.
    """
    found = measure(tables, split.train, split.test, K, seen=split.valid)
    return {name: found[key] for name, key in ACCURACY.items()}


def anatomy(model: DDC, split: Split) -> dict[str, float]:
    """What DDC did: share of users with alpha < 0, mean scalars, <e_pref, e_pop>, users without a minimiser, each
    correction alone.
    """
    trained = np.flatnonzero(split.train.row_counts)
    alpha, beta = model.alpha.detach().numpy()[trained], model.beta.detach().numpy()[trained]
    pref, pop, items = model.pref.numpy()[trained], model.pop.numpy(), model.items.numpy()
    found = {
        "alpha < 0": float((alpha < 0).mean()),
        "mean alpha": float(alpha.mean()),
        "mean beta": float(beta.mean()),
        "<e_pref, e_pop>": float((pref @ pop).mean()),
        "net alpha": float((alpha + beta * (pref @ pop)).mean()),
        "centroid": centroid(items, split.counts),
        "bounded": bounded_share(model, split.train),
    }
    for parts, name in (("a", "alpha alone"), ("b", "beta alone")):
        alone = numbers((model.final_users(parts).detach(), model.items), split)
        found |= {f"{metric} {name}": alone[metric] for metric in ("MRR@10", "AvgPop@10")}
    return found


def bounded_share(model: DDC, train: Interactions) -> float:
    """Share of the users whose loss (13) over all pairs has a minimiser: projections of both signs on both sides."""
    items, b = model.items.numpy(), model.items.numpy() @ model.pop.numpy()
    able = []
    for user in np.flatnonzero(train.row_counts):
        mine = train.items_of(int(user))
        others = np.ones(train.n_items, dtype=bool)
        others[mine] = False
        able.append(correction.has_minimiser(items[mine] @ model.pref[int(user)].numpy(), b[others]))
    return float(np.mean(able))


# --------------------------------------------------------------------------------------------------- plans, rows,
# scalars


def budget(scale: str, data: str) -> Budget:
    """How long everyone trains on a set at a scale."""
    return dict(P1_BUDGET if scale == "full" or data not in BUDGETS else BUDGETS[data])


def base_cells(scale: str, seeds: tuple[int, ...], *, data: str | None, device: str) -> list[Cell]:
    """A cell for every set of the scale and seed:
    data, budget, how many settings are tried, the seed that chooses among them.
    """

    def tries(name: str) -> list[int]:
        return list(FEWER_TRIES.get(name, TRIES[scale]) if scale == "laptop" else TRIES[scale])

    return [
        {
            "data": name,
            **budget(scale, name),
            "tries": tries(name),
            "tuning seed": TUNING_SEED,
            "seed": seed,
            "device": device,
        }
        for name in ((data,) if data else SETS[scale])
        for seed in seeds
    ]


def seconds(cell: Cell) -> float:
    """A rough guess for one backbone and what follows, on one core: it grows with pairs and epochs."""
    size = {
        "movietweetings-10core": 1,
        "lastfm-10core": 2,
        "citeulike-10core": 8,
        "ml-1m-10core": 30,
        "gowalla-20core": 20,
    }
    return (
        0.04
        * size.get(cell["data"], 100)
        * cell["epochs"]
        * (1 + 3 * (cell.get("backbone", "MF") != "MF"))
        * sum(cell["tries"])
    )


def rows_of(cell: Cell, found: Mapping[str, float], **where: Any) -> list[Row]:
    """One row for each number."""
    keys = {"data": cell["data"], "backbone": cell.get("backbone"), **where, "seed": cell["seed"]}
    return [{**keys, "metric": metric, "value": float(value)} for metric, value in found.items()]


def scalars_by(*names: str) -> Callable[[list[Row]], dict[str, float]]:
    """{"<values of names>-<metric>": mean over seeds, "...-pm":
    half the width of its 95 % interval, with three seeds or more}.
    """

    def finish(rows: list[Row]) -> dict[str, float]:
        groups: dict[str, list[float]] = {}
        for row in rows:
            if not row["metric"].endswith("at epoch") and "points" not in row:
                parts = [
                    f"{row[name]:g}" if isinstance(row.get(name), float) else str(row.get(name) or "alone")
                    for name in names
                ]
                groups.setdefault("-".join([*parts, row["metric"]]).lower().replace(" ", "-"), []).append(row["value"])
        found = {}
        for name, values in groups.items():
            found[name] = float(np.mean(values))
            if len(values) >= 3:
                found[f"{name}-pm"] = half_width(values)
        return found

    return finish


def gains(plain: Mapping[str, float], changed: Mapping[str, float]) -> dict[str, float]:
    """{"MRR@10 change %": ...}: relative to the same seed's model without the method, so that its interval is that of
    pairs.
    """
    return {f"{name} change %": 100 * (changed[name] / plain[name] - 1) for name in plain}


# ------------------------------------------------------------------------------------------------- reading a result


def values_of(result: Result, metric: str, **where: Any) -> list[float]:
    """The values over seeds of a metric, in order of the seeds."""
    return [row["value"] for row in sorted(result.select(metric=metric, **where), key=lambda row: row["seed"])]


def mean_of(result: Result, metric: str, **where: Any) -> float:
    """The mean over seeds; ValueError where nothing was run."""
    values = values_of(result, metric, **where)
    if not values:
        raise ValueError(f"no {metric} of {where} in {result.id} at {result.scale} scale")
    return float(np.mean(values))


def with_interval(result: Result, metric: str, *, digits: int = 4, **where: Any) -> str:
    """The mean with its 95 % interval over seeds, "0.0812 ± 0.0010";
    the number alone from one seed, a dash from none.
    """
    values = values_of(result, metric, **where)
    if not values:
        return "–"
    return f"{np.mean(values):.{digits}f}" + (f" ± {half_width(values):.{digits}f}" if len(values) > 1 else "")


def curve_of(result: Result, metric: str, along: str, **where: Any) -> tuple[list[float], list[float], list[float]]:
    """(values of the column `along`, means over seeds, half-widths of their 95 % intervals) of a metric."""
    groups: dict[float, list[float]] = {}
    for row in result.select(metric=metric, **where):
        groups.setdefault(row[along], []).append(row["value"])
    at = sorted(groups)
    return (
        at,
        [float(np.mean(groups[x])) for x in at],
        [half_width(groups[x]) if len(groups[x]) > 1 else 0.0 for x in at],
    )


def accuracy_points(result: Result, data: str, *, accuracy: str = "MRR@10") -> dict[str, dict[str, tuple[float, ...]]]:
    """What `plots.accuracy_and_popularity` draws from P1-T3 (or T2, T4): backbone -> method -> (change of AvgPop@10,
    change of accuracy, halves).

    Changes are in percent of the same seed's backbone, so that their 95 % intervals are those of pairs; one seed has
    none.
    """
    found: dict[str, dict[str, tuple[float, ...]]] = {}
    for backbone in _in_order(result, "backbone", data=data):
        for method in METHODS:
            where = {"data": data, "backbone": backbone, "method": method}
            pair = [values_of(result, f"{metric} change %", **where) for metric in ("AvgPop@10", accuracy)]
            if pair[0]:
                halves = [half_width(values) if len(values) > 1 else 0.0 for values in pair]
                found.setdefault(backbone, {})[method] = (*(float(np.mean(values)) for values in pair), *halves)
    return found


def projection_panels(result: Result, data: str) -> dict[str, tuple[list[float], list[float], str]]:
    """What `plots.projection_panels` draws from P1-F1:
    some items of the first seed that was run, with the correlations over all items.
    """
    panels = {}
    for backbone in _in_order(result, "backbone", data=data):
        for state in ("trained", "untrained"):
            where = {"data": data, "backbone": backbone, "state": state}
            counts, along = min((row for row in result.select(metric="points", **where)), key=lambda row: row["seed"])[
                "points"
            ]
            r, crossed = (mean_of(result, metric, **where) for metric in ("Pearson", "cross-fitted"))
            panels[f"{backbone}, {state}"] = counts, along, f"r = {r:.2f}\ncross-fitted {crossed:.2f}"
    return panels


def sensitivity_curves(
    result: Result, data: str, metrics: tuple[str, ...] = ("MRR@10 change %", "AvgPop@10 change %")
) -> tuple[dict, dict]:
    """What `plots.sensitivity` draws from P1-F3: the curves over k, and the levels of the backbones alone.

    The default are changes in percent of the same seed's backbone, whose level is 0 and whose intervals are those of
    pairs.
    """
    names = _in_order(result, "backbone", data=data)
    curves, levels = {}, {}
    for metric in metrics:
        found = {name: curve_of(result, metric, "top", data=data, backbone=name) for name in names}
        levels[metric] = {name: means[tops.index(0.0)] for name, (tops, means, _) in found.items() if 0.0 in tops}
        curves[metric] = {
            name: tuple(part[1:] if 0.0 in curve[0] else part for part in curve) for name, curve in found.items()
        }
    return curves, levels


def convergence_runs(result: Result, data: str) -> dict[str, dict[str, Any]]:
    """What `plots.convergence` draws from P1-F4, of the first seed that was run."""
    runs = {}
    for backbone in _in_order(result, "backbone", data=data):
        mine = result.select(data=data, backbone=backbone)
        mine = [row for row in mine if row["seed"] == min(other["seed"] for other in mine)]

        def curve(phase: str, metric: str, mine: list[Row] = mine) -> list[float]:
            chosen = [row for row in mine if row.get("phase") == phase and row["metric"] == f"{metric} at epoch"]
            return [row["value"] for row in sorted(chosen, key=lambda row: row["epoch"])]

        def epochs(phase: str, mine: list[Row] = mine) -> list[int]:
            return sorted(row["epoch"] for row in mine if row.get("phase") == phase and row["metric"] == "bpr at epoch")

        phases = {phase: (epochs(phase), curve(phase, "bpr"), curve(phase, "mrr")) for phase in ("training", "DDC")}
        [scaled] = [row["value"] for row in mine if row["metric"] == "loss by scaling"]
        runs[backbone] = {**phases, "objective": curve("DDC", "loss"), "scaled": scaled}
    return runs


def rule_changes(result: Result, data: str, metric: str = "MRR@10") -> dict[str, dict[str, tuple[float, float]]]:
    """What `plots.rule_changes` draws from P1-T5:
    backbone -> rule -> (mean change in percent, half-width of its 95 % interval).
    """
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for backbone in _in_order(result, "backbone", data=data):
        for rule in ("b_a", *sorted(set(paper.RULES) - {"b_a"}), "without popularity", "without preference"):
            values = values_of(result, f"{metric} change %", data=data, backbone=backbone, rule=rule)
            half = half_width(values) if len(values) > 1 else 0.0
            found.setdefault(backbone, {})[rule] = float(np.mean(values)), half
    return found


def sign_groups(
    result: Result, data: str, top: float = TOP
) -> tuple[dict[str, dict[str, list[float]]], tuple[str, ...]]:
    """What `plots.sign_of_alpha` draws from P1-X1, means over seeds, and the names of the groups that are one model
    moved.

    The groups: models by backbone and law of negatives as they were trained, then those whose items were moved
    together.
    """
    keys = {"centroid": "centroid", "alpha < 0": "negative", "AvgPop@10 change %": "change"}
    settings = ("backbone", "decay", "negatives", "epochs", "shift")
    points: dict[tuple, dict[str, list[float]]] = {}
    for row in result.select(data=data, top=top, metric=tuple(keys)):
        points.setdefault(tuple(row[key] for key in settings), {}).setdefault(keys[row["metric"]], []).append(
            row["value"]
        )
    movers = dict.fromkeys(key[:-1] for key in points if key[-1] != 0)
    groups: dict[str, dict[str, list[float]]] = {}

    def add(name: str, key: tuple) -> None:
        for what, values in points[key].items():
            groups.setdefault(name, {}).setdefault(what, []).append(float(np.mean(values)))

    for key in points:
        if key[-1] == 0:
            add(f"{key[0]}, negatives {key[2]}" if key[0] == "MF" else key[0], key)
    names = {model: f"one MF model, items moved (decay {model[1]:g})" for model in movers}
    for key in points:
        if key[:-1] in movers:
            add(names[key[:-1]], key)
    return groups, tuple(names.values())


def _in_order(result: Result, column: str, **where: Any) -> list[Any]:
    """The values of a column in order of appearance."""
    return list(dict.fromkeys(row[column] for row in result.select(**where) if row.get(column) is not None))


# ------------------------------------------------------------------------------------------------------------- Table 1


def statistics_plan(scale: str, seeds: tuple[int, ...], *, data: str | None = None, device: str = "cpu") -> list[Cell]:
    return [{"data": name} for name in ((data,) if data else SETS[scale])]


def no_scalars(rows: list[Row]) -> dict[str, float]:
    return {f"{row['data']}-{row['metric']}": row["value"] for row in rows}


@experiment(
    "P1-T1",
    "sizes of the data sets (Table 1)",
    paper="P1",
    plan=statistics_plan,
    estimate=lambda cell: 1.0,
    describe=describe,
    finish=no_scalars,
    layout={"rows": ("data",), "columns": ("metric",), "digits": 3},
)
def table1_cell(cell: Cell) -> list[Row]:
    data = load_data(cell["data"])
    sizes = {"users": data.n_users, "items": data.n_items, "interactions": len(data)}
    return [
        {"data": cell["data"], "metric": name, "value": float(value)}
        for name, value in (*sizes.items(), ("sparsity %", 100 * (1 - len(data) / (data.n_users * data.n_items))))
    ]


# ------------------------------------------------------------------------------------------------------------ Figure 1


def figure1_plan(scale: str, seeds: tuple[int, ...], *, data: str | None = None, device: str = "cpu") -> list[Cell]:
    """MF and LightGCN, each before and after training; P1's own figure is LightGCN on ml-1m."""
    cells = base_cells(scale, seeds, data=data, device=device)
    return [{**cell, "backbone": backbone} for cell in cells for backbone in ("MF", "LightGCN")]


@experiment(
    "P1-F1",
    "projection on e_pop against popularity (Figure 1b)",
    paper="P1",
    plan=figure1_plan,
    estimate=seconds,
    describe=describe,
    finish=scalars_by("data", "backbone", "state"),
    layout={
        "rows": ("data", "backbone", "state"),
        "columns": ("metric",),
        "digits": 2,
        "metrics": ("Pearson", "cross-fitted", "Pearson of roots", "Spearman", "negative", "centroid"),
    },
)
def figure1_cell(cell: Cell) -> list[Row]:
    """The correlation as P1 measures it and cross-fitted, of the trained model and of the same model untrained."""
    split = load_split(cell["data"], cell["seed"])
    trained = tuned_backbone(cell, cell["backbone"])
    spec = model_cell(cell, cell["backbone"], cell["seed"], **chosen_backbone(cell, cell["backbone"]))
    with torch.no_grad():
        untrained = make_model(spec, split.train).ranking()[1].numpy()
    rows: list[Row] = []
    for state, items in (("trained", trained.items), ("untrained", untrained)):
        found, points = projection(items, split.counts, np.random.default_rng([cell["seed"], 1]))
        printed = paper.printed("pearson", "ml-1m") if (cell["backbone"], state) == ("LightGCN", "trained") else None
        rows += [
            {**row, "paper": printed if row["metric"] == "Pearson" else None}
            for row in rows_of(cell, found, state=state)
        ]
        rows += [{**row, "points": points} for row in rows_of(cell, {"points": len(points[0])}, state=state)]
    return rows


def projection(
    items: np.ndarray, counts: np.ndarray, rng: np.random.Generator, shown: int = 300
) -> tuple[dict[str, float], list[list[float]]]:
    """(correlations of projections with counts;
    [counts, projections] of some items, spread evenly over the ranks of popularity).
    """
    items = np.asarray(items, dtype=np.float64)
    along = items @ popularity.popularity_direction(items, counts, RATIO)
    found = {
        "Pearson": popularity.pearson(along, counts.astype(float)),
        "cross-fitted": popularity.cross_fitted_correlation(items, counts, RATIO, rng=rng),
        "Pearson of roots": popularity.pearson(along, np.sqrt(counts)),
        "Spearman": float(stats.spearmanr(along, counts).statistic),
        "negative": float((along < 0).mean()),
        "centroid": float(along.mean() / along.std()),
    }
    order = np.argsort(counts, kind="stable")
    some = order[np.unique(np.linspace(0, len(order) - 1, min(shown, len(order))).round().astype(int))]
    return found, [counts[some].tolist(), along[some].round(4).tolist()]


# ---------------------------------------------------------------------------------------------------------- Tables 2, 4


def with_and_without_plan(
    scale: str, seeds: tuple[int, ...], *, data: str | None = None, device: str = "cpu"
) -> list[Cell]:
    """Five backbones; laptop: on the smaller set all five, on ml-1m MF and LightGCN. Smoke:
    the slow ones with the first seed only.
    """
    cells = base_cells(scale, seeds, data=data, device=device)
    left_out = SLOW if scale == "smoke" else ()
    return [
        {**cell, "backbone": name}
        for cell in cells
        for name in backbones_for(scale, cell["data"])
        if name not in left_out or cell["seed"] == seeds[0]
    ]


def backbones_for(scale: str, data: str) -> tuple[str, ...]:
    return ("MF", "LightGCN") if scale == "laptop" and data != "lastfm-10core" else backbones.names()


@lru_cache(maxsize=8)
def _with_and_without(text: str) -> tuple[dict[str, float], dict[str, float], dict[str, float], dict[str, float]]:
    cell = json.loads(text)
    split, base = load_split(cell["data"], cell["seed"]), tuned_backbone(cell, cell["backbone"])
    plain = numbers((base.users, base.items), split)
    model, after = finetuned(cell, base)
    about = {
        "valid": base.valid,
        "epochs": base.epochs,
        "chosen decay": chosen_backbone(cell, cell["backbone"])["decay"],
    }
    return (
        plain,
        about,
        numbers((after.users, after.items), split),
        {"valid": after.valid, "epochs": after.epochs, **anatomy(model, split)},
    )


def with_and_without(cell: Cell) -> list[Row]:
    """A backbone and its DDC with P1's k = 0.3: all numbers, the change in percent, and what DDC did."""
    plain, about, changed, done = _with_and_without(json.dumps(cell, sort_keys=True))
    return [
        *rows_of(cell, {**plain, **about}, method=None),
        *rows_of(cell, {**changed, **gains(plain, changed), **done}, method="DDC"),
    ]


@experiment(
    "P1-T2",
    "five backbones without and with DDC (Table 2)",
    paper="P1",
    plan=with_and_without_plan,
    estimate=seconds,
    describe=describe,
    finish=scalars_by("data", "backbone", "method"),
    layout={
        "rows": ("data", "backbone", "method"),
        "columns": ("metric",),
        "digits": 4,
        "metrics": ("MRR@10", "NDCG@10", "MAP@10"),
    },
)
def table2_cell(cell: Cell) -> list[Row]:
    return with_and_without(cell)


@experiment(
    "P1-T4",
    "accuracy and popularity of what is shown, without and with DDC (Table 4)",
    paper="P1",
    plan=with_and_without_plan,
    estimate=seconds,
    describe=describe,
    finish=scalars_by("data", "backbone", "method"),
    layout={
        "rows": ("data", "backbone", "method"),
        "columns": ("metric",),
        "digits": 3,
        "metrics": ("MRR@10", "NDCG@10", "AvgPop@10", "AvgPop@10 change %", "alpha < 0", "centroid"),
    },
)
def table4_cell(cell: Cell) -> list[Row]:
    """Table 2's cells; P1's change of AvgPop on Tmall stands beside ours on any data, as a shape to compare with."""
    printed = {c["backbone"]: c["percent"] for c in select(table("P1", "T4"), metric="AvgPop@10", method="DDC")}
    return [
        {**row, "paper": printed.get(row["backbone"]) if row["metric"] == "AvgPop@10 change %" else None}
        for row in with_and_without(cell)
    ]


# ------------------------------------------------------------------------------------------------------------- Table 3


def rivals_plan(scale: str, seeds: tuple[int, ...], *, data: str | None = None, device: str = "cpu") -> list[Cell]:
    """MF and LightGCN, alone and with every method. Smoke: LightGCN with the first seed only."""
    cells = []
    for cell in base_cells(scale, seeds, data=data, device=device):
        for backbone in ("MF", "LightGCN"):
            if scale == "smoke" and backbone != "MF" and cell["seed"] != seeds[0]:
                continue
            cells += [{**cell, "backbone": backbone, "method": method} for method in (None, *METHODS)]
    return cells


@experiment(
    "P1-T3",
    "debiasing methods on MF and LightGCN (Table 3), with the popularity of what they show",
    paper="P1",
    plan=rivals_plan,
    estimate=seconds,
    describe=describe,
    finish=scalars_by("data", "backbone", "method"),
    layout={
        "rows": ("data", "backbone", "method"),
        "columns": ("metric",),
        "digits": 4,
        "metrics": ("MRR@10", "NDCG@10", "MAP@10", "AvgPop@10"),
    },
)
def table3_cell(cell: Cell) -> list[Row]:
    """One method on one backbone. TPAB uses the times of the pairs where the data has them, else it has one stage."""
    split, base, method = load_split(cell["data"], cell["seed"]), tuned_backbone(cell, cell["backbone"]), cell["method"]
    plain = numbers((base.users, base.items), split)
    if method is None:
        return rows_of(
            cell,
            {
                **plain,
                "valid": base.valid,
                "epochs": base.epochs,
                "chosen decay": chosen_backbone(cell, cell["backbone"])["decay"],
            },
            method=None,
        )
    model, options = tuned_method(cell, cell["backbone"], method)
    found = numbers((model.users, model.items), split)
    chosen = {f"chosen {name}": value for name, value in options.items()}
    about = {"valid": model.valid, "epochs": model.epochs, **chosen, "seconds": model.seconds}
    return rows_of(cell, {**found, **gains(plain, found), **about}, method=method)


# ------------------------------------------------------------------------------------------------------------- Table 5


def rules_plan(scale: str, seeds: tuple[int, ...], *, data: str | None = None, device: str = "cpu") -> list[Cell]:
    """P1: MF. Here LightGCN too, whose centroid lies on the other side."""
    names = ("MF",) if scale == "smoke" else ("MF", "LightGCN")
    return [{**cell, "backbone": name} for cell in base_cells(scale, seeds, data=data, device=device) for name in names]


@experiment(
    "P1-T5",
    "nine update rules and two ablations of the final embedding (Table 5)",
    paper="P1",
    plan=rules_plan,
    estimate=seconds,
    describe=describe,
    finish=scalars_by("data", "backbone", "rule"),
    layout={
        "rows": ("data", "backbone", "rule"),
        "columns": ("metric",),
        "digits": 4,
        "metrics": ("MRR@10", "NDCG@10", "MAP@10", "AvgPop@10"),
    },
)
def table5_cell(cell: Cell) -> list[Row]:
    """Every rule is fine-tuned and stopped on its own;
    the ablations leave a part of b_a's final embedding out, as in P1.
    """
    split, base = load_split(cell["data"], cell["seed"]), tuned_backbone(cell, cell["backbone"])
    plain = numbers((base.users, base.items), split)
    rows = rows_of(cell, plain, rule="backbone")
    for rule in paper.RULES:
        model, after = finetuned(cell, base, rule=rule)
        found = numbers((after.users, after.items), split)
        rows += rows_of(cell, {**found, **gains(plain, found), "valid": after.valid, "epochs": after.epochs}, rule=rule)
        if rule == "b_a":
            for parts, name in (("b", "without popularity"), ("a", "without preference")):
                less = numbers((model.final_users(parts).detach(), model.items), split)
                rows += rows_of(cell, {**less, **gains(plain, less)}, rule=name)
    return rows


# ------------------------------------------------------------------------------------------------------------ Figure 3


def sensitivity_plan(scale: str, seeds: tuple[int, ...], *, data: str | None = None, device: str = "cpu") -> list[Cell]:
    """k of (10) from 0.1 to 1.0; smoke: five of them."""
    tops = TOPS[::2] + TOPS[-1:] if scale == "smoke" else TOPS
    return [
        {**cell, "backbone": name, "tops": list(tops)}
        for cell in base_cells(scale, seeds, data=data, device=device)
        for name in ("MF", "LightGCN")
    ]


@experiment(
    "P1-F3",
    "accuracy and popularity against k (Figure 3)",
    paper="P1",
    plan=sensitivity_plan,
    estimate=seconds,
    describe=describe,
    finish=scalars_by("data", "backbone", "top"),
    layout={
        "rows": ("data", "backbone", "top"),
        "columns": ("metric",),
        "digits": 4,
        "metrics": ("MRR@10", "AvgPop@10", "<e_pref, e_pop>"),
    },
)
def figure3_cell(cell: Cell) -> list[Row]:
    split, base = load_split(cell["data"], cell["seed"]), tuned_backbone(cell, cell["backbone"])
    plain = numbers((base.users, base.items), split)
    rows = rows_of(cell, plain, top=0.0)  # 0: the backbone alone
    for top in cell["tops"]:
        model, after = finetuned(cell, base, top=top)
        found = numbers((after.users, after.items), split)
        own = {name: value for name, value in anatomy(model, split).items() if "alone" not in name}
        rows += rows_of(cell, {**found, **gains(plain, found), "valid": after.valid, **own}, top=top)
    return rows


# ------------------------------------------------------------------------------------------------------------ Figure 4


def convergence_plan(scale: str, seeds: tuple[int, ...], *, data: str | None = None, device: str = "cpu") -> list[Cell]:
    """MF and LightGCN. DDC starts at random scalars and goes on for all its epochs.

    P1 draws the scalars and does not say how; its published code takes them uniform in (-1/2, 1/2), here they are
    normal with that deviation.
    """
    cells = base_cells(scale, seeds, data=data, device=device)
    return [{**cell, "backbone": name, "start": 0.29} for cell in cells for name in ("MF", "LightGCN")]


@experiment(
    "P1-F4",
    "BPR loss per triple and validation MRR@10 along the training and DDC (Figure 4)",
    paper="P1",
    plan=convergence_plan,
    estimate=seconds,
    describe=describe,
    finish=scalars_by("data", "backbone"),
    layout={
        "rows": ("data", "backbone"),
        "columns": ("metric",),
        "digits": 3,
        "metrics": (
            "loss before",
            "loss after",
            "loss of the objective",
            "loss by scaling",
            "loss ratio",
            "MRR@10 change %",
        ),
    },
)
def figure4_cell(cell: Cell) -> list[Row]:
    """The loss of what is served, before and after;
    beside it the least loss that one factor on all scores gives, which changes no ranking.
    """
    split, base = load_split(cell["data"], cell["seed"]), tuned_backbone(cell, cell["backbone"])
    _, after = finetuned({**cell, "patience": None}, base, start=cell["start"])
    rows: list[Row] = []
    for phase, history, first in (("training", base.history, 0), ("DDC", after.history, base.history[-1]["epoch"])):
        for entry in history:
            found = {"bpr at epoch": entry["bpr"], "mrr at epoch": entry["mrr"]} | (
                {"loss at epoch": entry["loss"]} if phase == "DDC" else {}
            )
            rows += [{**row, "epoch": first + entry["epoch"]} for row in rows_of(cell, found, phase=phase)]
    watch = Watch(split)
    factor, scaled = watch.best_scaled_loss(base.users, base.items)
    before, last = watch.loss(base.users, base.items), after.history[-1]
    plain, changed = numbers((base.users, base.items), split), numbers((after.users, after.items), split)
    found = {
        "loss before": before,
        "loss after": last["bpr"],
        "loss of the objective": last["loss"],
        "loss ratio": last["bpr"] / before,
        "objective ratio": last["loss"] / before,
        "loss by scaling": scaled,
        "factor": factor,
        "scaling ratio": scaled / before,
        **{f"{name} before": value for name, value in plain.items()},
        **gains(plain, changed),
    }
    return rows + rows_of(cell, found)


# ------------------------------------------------------------------------------------------ what decides the sign of
# alpha


def sign_plan(scale: str, seeds: tuple[int, ...], *, data: str | None = None, device: str = "cpu") -> list[Cell]:
    """Models that differ in decay, law of negatives, epochs and backbone, each with two k; and one model whose items
    are moved together.

    All scales begin with the films; laptop and full add MF with two decays on ml-1m, items moved too.
    """
    laws, cells = ("uniform", "popularity"), []
    decays, lengths = ((0.0, 0.03), (12, 40)) if scale == "smoke" else ((0.0, 0.003, 0.03), (12, 40, 120))
    films = [("MF", decay, law, length) for decay in decays for law in laws for length in lengths]
    films += [("LightGCN", decay, "uniform", 40) for decay in (0.0, 0.001)]
    larger = [("MF", decay, "uniform", 40) for decay in (0.0, 0.01)]
    plans = {"movietweetings-10core": films} | ({} if scale == "smoke" else {"ml-1m-10core": larger})
    for name in (data,) if data else plans:
        for cell in base_cells("laptop" if name in BUDGETS else scale, seeds, data=name, device=device):
            for backbone, decay, law, length in plans.get(name, larger):
                moved = [-2.0, -1.0, 1.0, 2.0, "centred"] if (backbone, law, length) == ("MF", "uniform", 40) else []
                own = {"backbone": backbone, "decay": decay, "negatives": law, "tops": [0.3, 1.0], "shifts": moved}
                cells.append({**cell, "patience": None, "epochs": length, "tries": [1, 1], **own})
    return cells


@experiment(
    "P1-X1",
    "what decides the sign of alpha and whether AvgPop falls: decay, negatives, epochs, k, and the items' centroid",
    paper="P1",
    plan=sign_plan,
    estimate=seconds,
    describe=describe,
    finish=scalars_by("data", "backbone", "decay", "negatives", "epochs", "top", "shift"),
    layout={
        "rows": ("backbone", "decay", "negatives", "epochs", "top", "shift"),
        "columns": ("metric",),
        "digits": 2,
        "metrics": ("centroid", "alpha < 0", "AvgPop@10 before", "AvgPop@10", "MRR@10 before", "MRR@10"),
    },
)
def sign_cell(cell: Cell) -> list[Row]:
    """One model after exactly its epochs; DDC for 40 epochs, none of them chosen by validation, so that only the model
    differs.
    """
    split = load_split(cell["data"], cell["seed"])
    base = fitted(
        model_cell(cell, cell["backbone"], cell["seed"], stop=False, decay=cell["decay"], negatives=cell["negatives"])
    )
    rows: list[Row] = []
    for top, shift in [*((top, 0.0) for top in cell["tops"]), *((TOP, shift) for shift in cell["shifts"])]:
        plain = numbers((base.users, shifted(base.items, split.counts, shift)), split)
        model, after = finetuned(cell, base, top=top, shift=shift, stop=False, epochs=40)
        found = numbers((after.users, after.items), split)
        before = {f"{name} before": value for name, value in plain.items()}
        where = {key: cell[key] for key in ("decay", "negatives", "epochs")} | {"top": top, "shift": shift}
        done = {**found, **before, **gains(plain, found), **anatomy(model, split)}
        rows += rows_of(
            cell,
            {name: value for name, value in done.items() if name.split("@")[0] not in ("NDCG", "MAP", "Recall")},
            **where,
        )
    return rows

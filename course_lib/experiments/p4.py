"""P4's experiments: Figures 2, 3, 5, 6, 7 and 8 and Tables 1 and 2, in their shape.

Data. P4's link graphs (Wikipedia simple, fr, en) cannot be had; wikispeedia is the stand-in: 4,592 articles with title
words and categories as features. P4 does not name its optimiser, its loss for observed pairs or how titles were cut
into n-grams: here AdaGrad, the squared distance to the target, and the words of a title. Its MovieLens regression runs
on ml-100k, ml-1m or ml-10m, with ratings divided by 5 as targets; the embedded film set serves at smoke scale.

MAP@10 is exact, over all candidates. P4 scores a validation item against 50,000 random candidates, which at its sizes
leaves out most of those that would come before it: `map@10 of 500` shows what that does to a number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from lightning_fabric import Fabric

from course_lib.data import datasets, metrics
from course_lib.data.interactions import Interactions
from course_lib.experiments.core.provenance import describe_data
from course_lib.experiments.core.registry import Cell, experiment
from course_lib.experiments.core.results import Row
from course_lib.maths import gramians
from course_lib.models.encoders import Bags, Perceptron, Renamed, TwoTower
from course_lib.training import Plan, fit

RECIPES: dict[str, dict[str, Any]] = {
    "movietweetings-10core": {"name": "movietweetings", "core": 10},
    "wikispeedia": {"name": "wikispeedia"},
    "movietweetings-ratings": {"name": "movietweetings", "min_rating": 0, "core": 10},
    "ml-100k-ratings": {"name": "ml-100k", "min_rating": 1},
    "ml-1m-ratings": {"name": "ml-1m", "min_rating": 1},
    "ml-10m-ratings": {"name": "ml-10m", "min_rating": 0.5},
}
ALPHAS = (0.001, 0.005, 0.01, 0.1)  # of Table 2
LAMBDAS = (1e-2, 1.0, 10.0, 1e3)  # of Figure 6
FEW_CANDIDATES = 500
BINS = np.linspace(-1.0, 2.0, 61)


# ------------------------------------------------------------------------------------------------------- data and
# towers


@dataclass(frozen=True)
class Sizes:
    """Widths of the towers: of each input embedding, of the hidden layers between, of the output (k)."""

    inputs: int
    hidden: tuple[int, ...]
    output: int


SMALL, SIMPLE, FILMS = Sizes(16, (32,), 16), Sizes(50, (256,), 64), Sizes(32, (64,), 35)


@dataclass(frozen=True)
class Task:
    """Pairs to train on and to test on, their targets, and the features of both sides."""

    train: Interactions
    test: Interactions
    targets: np.ndarray  # (n,) of the training pairs
    left: Mapping[str, sp.csr_array]  # features of the left entities, or of the entities that both sides share
    right: Mapping[str, sp.csr_array] | None  # None: both sides share `left`, under the ids below
    ids: tuple[np.ndarray, np.ndarray] | None = None

    def towers(self, sizes: Sizes, seed: int) -> TwoTower:
        """P4's network: embeddings of the features side by side, hidden layers with ReLU;
        input embeddings shared if features are.
        """
        generator = torch.Generator().manual_seed(seed)
        inputs = [Bags(bags, sizes.inputs, generator=generator) for bags in (self.left, self.right) if bags is not None]
        towers = []
        for side in range(2):
            bags = inputs[min(side, len(inputs) - 1)]
            widths = (len(bags.names) * sizes.inputs, *sizes.hidden, sizes.output)
            tower = Perceptron(bags, widths, generator=generator)
            towers.append(tower if self.ids is None else torch.nn.Sequential(Renamed(self.ids[side]), tower))
        return TwoTower(*towers)


@lru_cache(maxsize=2)
def load_task(name: str, seed: int) -> Task:
    """One of RECIPES with a random split: 90 % for links and films, 80 % for ratings, as in P4."""
    if name not in RECIPES:
        raise ValueError(f"data {name!r} is no recipe of P4's experiments; expected one of {', '.join(RECIPES)}")
    data = load_data(name)
    rated = name.endswith("-ratings")
    train, test = data.split_random(0.8 if rated else 0.9, np.random.default_rng(seed))
    targets = train.ratings / data.ratings.max() if rated else np.ones(len(train))
    if name == "wikispeedia":
        left, ids = pages(data)
        return Task(train, test, targets, left, None, ids)
    return Task(train, test, targets, {"id": one_hot(data.n_users)}, films(data))


@lru_cache(maxsize=2)
def load_data(name: str) -> Interactions:
    return datasets.load(**RECIPES[name]).compact()


def one_hot(n: int) -> sp.csr_array:
    return sp.csr_array(sp.eye(n))


def bag(lists: Sequence[Sequence[str]]) -> sp.csr_array:
    """(n, vocabulary) 0/1: which words each list has, words in order of the alphabet."""
    vocabulary = {word: at for at, word in enumerate(sorted({word for words in lists for word in words}))}
    rows, cols = np.array(
        [(row, vocabulary[word]) for row, words in enumerate(lists) for word in set(words)] or [(0, 0)]
    ).T
    return sp.csr_array((np.ones(len(rows)), (rows, cols)), shape=(len(lists), max(len(vocabulary), 1)))


def words(names: Sequence[str]) -> list[list[str]]:
    """The words of titles, in small letters."""
    return [name.lower().replace("_", " ").split() for name in names]


def films(data: Interactions) -> dict[str, sp.csr_array]:
    """Id, title words (the year is one of them) and genres of every film."""
    genres = [[genre for genre in row.split("|") if genre] for row in data.item_table["genres"]]
    return {"id": one_hot(data.n_items), "words": bag(words(data.item_table["name"])), "genres": bag(genres)}


def pages(data: Interactions) -> tuple[dict[str, sp.csr_array], tuple[np.ndarray, np.ndarray]]:
    """Id, title words and categories of every article, and the article behind each left and right id."""
    tables = (data.user_table, data.item_table)
    n = 1 + max(int(table["id"].max()) for table in tables)
    names, categories = [""] * n, [""] * n
    for table in tables:
        for at, name, category in zip(table["id"], table["name"], table["categories"], strict=True):
            names[at], categories[at] = name, category
    bags = {
        "id": one_hot(n),
        "words": bag(words(names)),
        "categories": bag([[c for c in row.split("|") if c] for row in categories]),
    }
    return bags, (tables[0]["id"], tables[1]["id"])


# ------------------------------------------------------------------------------------------------------------ training


def estimator(name: str, n: int, d: int, batch_size: int) -> gramians.BatchGramian:
    """The estimator of this name for batches of `batch_size`: "sampling", "sogram 0.01", "sogram 0.01 corrected",
    "sagram 1", "sagram 1/n", "sagram 1 psd".

    "sagram 1/n" is beta = b/n in front of the mean over the batch: the Gramian of the cache that this batch has
    renewed, but for examples that it holds twice.
    """
    kind, *words = name.split()
    if kind == "sampling" and not words:
        return gramians.BatchGramian()
    if kind == "sogram":
        return gramians.SOGram(d, float(words[0]), correct_start="corrected" in words)
    if kind == "sagram":
        return gramians.SAGram(
            n, d, min(1.0, batch_size / n) if words[0] == "1/n" else float(words[0]), project="psd" in words
        )
    raise ValueError(f"estimator {name!r}; expected sampling, sogram ALPHA [corrected] or sagram BETA [psd]")


@dataclass
class Trainer:
    """P4's training: a batch for the Gramians, another for the gradient of mean (<u,v> - s)^2 + lambda g_hat."""

    task: Task
    towers: TwoTower
    sides: Sequence[gramians.BatchGramian]
    lam: float
    batch_size: int

    def batches(self, steps: int) -> Callable[[int, np.random.Generator], Iterator[tuple[torch.Tensor, torch.Tensor]]]:
        """`steps` pairs of batches of row numbers of the training pairs, drawn with replacement."""
        n = len(self.task.train)
        return lambda epoch, rng: (
            tuple(torch.from_numpy(rng.integers(n, size=(2, self.batch_size)))) for _ in range(steps)
        )

    def embed(self, towers: TwoTower, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return towers(*(ids[rows.cpu()].to(rows.device) for ids in self.pairs))

    @cached_property
    def pairs(self) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.tensor(self.task.train.users), torch.tensor(self.task.train.items)

    @cached_property
    def targets(self) -> torch.Tensor:
        return torch.tensor(self.task.targets)

    def step(self, towers: TwoTower, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        seen, used = batch
        with torch.no_grad():
            fresh = self.embed(towers, seen)
        grams = [side.update(seen, rows) for side, rows in zip(self.sides, fresh, strict=True)]
        left, right = self.embed(towers, used)
        targets = self.targets[used.cpu()].to(left)
        observed = ((left * right).sum(1) - targets).square().mean()
        return observed + self.lam * gramians.gravity_loss(left, right, *grams)

    def tables(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The embeddings of all left and of all right entities."""
        train = self.task.train
        return self.towers.embeddings(np.arange(train.n_users), np.arange(train.n_items))


def make_trainer(cell: Cell, method: str) -> Trainer:
    task, sizes = load_task(cell["data"], cell["seed"]), Sizes(cell["inputs"], tuple(cell["hidden"]), cell["k"])
    sides = [estimator(method, len(task.train), sizes.output, cell["batch"]) for _ in range(2)]
    return Trainer(task, task.towers(sizes, cell["seed"]), sides, cell["lambda"], cell["batch"])


def train(cell: Cell, trainer: Trainer, look: Callable[[int, float], None]) -> None:
    """`cell["checks"]` epochs of `cell["every"]` steps with AdaGrad;
    look(step, seconds of training so far) after each.
    """
    optimiser = torch.optim.Adagrad(trainer.towers.parameters(), lr=cell["lr"])
    clock = Clock()
    batches = trainer.batches(cell["every"])

    def timed(towers: torch.nn.Module, batch: Any) -> torch.Tensor:
        clock.start()
        return trainer.step(towers, batch)

    def checked(_: torch.nn.Module) -> dict[str, float]:
        clock.stop()
        clock.checks += 1
        look(clock.checks * cell["every"], clock.seconds)
        return {}

    fabric = Fabric(accelerator="cuda" if cell["device"].startswith("cuda") else "cpu", devices=1)
    plan = Plan(max_epochs=cell["checks"], diverged_at=None)
    fit(
        trainer.towers,
        optimiser,
        batches=batches,
        step=timed,
        plan=plan,
        seed=cell["seed"],
        evaluate=checked,
        fabric=fabric,
        progress=False,
    )


class Clock:
    """Seconds spent in training, without those spent in looking."""

    def __init__(self) -> None:
        self.seconds, self.checks, self.since = 0.0, 0, None

    def start(self) -> None:
        self.since = time.perf_counter() if self.since is None else self.since

    def stop(self) -> None:
        self.seconds, self.since = self.seconds + time.perf_counter() - (self.since or time.perf_counter()), None


def quality(trainer: Trainer, seed: int) -> dict[str, float]:
    """MAP@10 of the held-out pairs over all candidates and over few random ones, and of the training pairs."""
    users, items = trainer.tables()
    task = trainer.task
    nothing = task.train.select(np.zeros(len(task.train), dtype=bool))
    return {
        "map@10": metrics.evaluate(users, items, task.train, task.test, 10)["map@10"],
        f"map@10 of {FEW_CANDIDATES}": map_of_few(users, items, task, np.random.default_rng([seed, 1])),
        "train map@10": metrics.evaluate(users, items, nothing, task.train, 10)["map@10"],
    }


def map_of_few(
    users: torch.Tensor, items: torch.Tensor, task: Task, rng: np.random.Generator, count: int = FEW_CANDIDATES
) -> float:
    """MAP@10 when a left entity's held-out partners compete with `count` random candidates only, as P4 measures it.

    One draw of candidates for all; those that are training partners are left out.
    """
    drawn = rng.choice(task.train.n_items, size=min(count, task.train.n_items), replace=False)
    kept = np.zeros((task.train.n_users, task.train.n_items), dtype=bool)
    kept[:, drawn] = True
    kept[task.test.users, task.test.items] = True
    kept[task.train.users, task.train.items] = False
    scores = np.where(kept, (users @ items.T).cpu().numpy(), -np.inf)
    ranked = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    return metrics.metrics_from_ranking(ranked, task.test, (10,))["map@10"]


# ---------------------------------------------------------------------------------- Figures 2, 3 and 7: estimation
# error


def exact_gramians(trainer: Trainer) -> list[torch.Tensor]:
    """G_u and G_v over all training pairs: each entity as often as it has pairs."""
    train, tables = trainer.task.train, trainer.tables()
    counts = (train.row_counts, train.col_counts)
    return [
        gramians.gramian(table, weights=count * len(count) / len(train))
        for table, count in zip(tables, counts, strict=True)
    ]


def follow(cell: Cell, watched: Mapping[tuple[str, int], str]) -> list[Row]:
    """Errors ||G_hat - G|| / ||G|| (left) of estimators that see one common trajectory, trained with batch sampling.

    watched: (name, batch size) -> estimator. All see the same draws, the small batches their first rows. Rows with the
    error at each check, and the spread sigma of one draw and the length delta of a step of the Gramian at the end.
    """
    trainer = make_trainer(cell, "sampling")
    n, k = len(trainer.task.train), cell["k"]
    followers = {(key, size): estimator(name, n, k, size) for (key, size), name in watched.items()}
    start = trainer.tables()[0][trainer.pairs[0]]  # (n, k): every training pair's left embedding
    for follower in followers.values():
        if isinstance(follower, gramians.SAGram):
            follower.start(start)
    rows: list[Row] = []
    where = {key: cell[key] for key in ("data", "seed", "lr")}
    plain = trainer.step

    def step(towers: TwoTower, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        with torch.no_grad():
            left = trainer.embed(towers, batch[0])[0]
        for (_, size), follower in followers.items():
            follower.update(batch[0][:size], left[:size])
        return plain(towers, batch)

    last: dict[str, Any] = {}

    def look(step: int, _: float) -> None:
        true = exact_gramians(trainer)[0]
        norm = float(true.norm())
        for (name, size), follower in followers.items():
            error = float((follower.estimate - true).norm()) / norm
            rows.append({**where, "estimator": name, "batch": size, "metric": "error", "step": step, "value": error})
        if "true" in last:
            moved = float((true - last["true"]).norm()) / cell["every"]
            rows.append(
                {
                    **where,
                    "estimator": "Gramian",
                    "batch": 1,
                    "metric": "step / norm",
                    "step": step,
                    "value": moved / norm,
                }
            )
        last["true"] = true

    trainer.step = step  # type: ignore[method-assign]
    train(cell, trainer, look)
    left = trainer.tables()[0][trainer.pairs[0]]
    spread = float(
        (left.square().sum(1).square().mean() - last["true"].square().sum()).sqrt()
    )  # E||uu' - G||^2 = E|u|^4 - ||G||^2
    rows.append(
        {
            **where,
            "estimator": "Gramian",
            "batch": 1,
            "metric": "sigma / norm",
            "value": spread / float(last["true"].norm()),
        }
    )
    return rows + late_means(rows)


def late_means(rows: list[Row]) -> list[Row]:
    """The mean error of each curve over its first quarter and over its last half."""
    curves: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if row["metric"] == "error":
            curves.setdefault((row["estimator"], row["batch"]), []).append(row)
    found = []
    for curve in curves.values():
        values, base = (
            [row["value"] for row in curve],
            {k: v for k, v in curve[0].items() if k not in ("step", "value", "metric")},
        )
        found.append({**base, "metric": "error early", "value": float(np.mean(values[: max(1, len(values) // 4)]))})
        found.append({**base, "metric": "error late", "value": float(np.mean(values[len(values) // 2 :]))})
    return found


def shared_plan(scale: str, *, device: str) -> dict[str, Any]:
    """What every cell of a scale has in common."""
    size = {"smoke": SMALL, "laptop": SIMPLE, "full": SIMPLE}[scale]
    return {
        "inputs": size.inputs,
        "hidden": list(size.hidden),
        "k": size.output,
        "batch": 1024,
        "lambda": 10.0,
        "lr": 0.02 if scale == "smoke" else 0.01,
        "device": device,
        "data": "movietweetings-10core" if scale == "smoke" else "wikispeedia",
    }


def curve_plan(scale: str, seeds: tuple[int, ...], *, device: str = "cpu") -> list[Cell]:
    length = {"smoke": (20, 30), "laptop": (20, 100), "full": (100, 100)}[scale]
    return [
        {**shared_plan(scale, device=device), "every": length[0], "checks": length[1], "seed": seed} for seed in seeds
    ]


def rate_plan(scale: str, seeds: tuple[int, ...], *, device: str = "cpu") -> list[Cell]:
    """Figure 7: two learning rates, five to one."""
    return [
        {**cell, "lr": lr} for cell in curve_plan(scale, seeds, device=device) for lr in (cell["lr"], cell["lr"] / 5)
    ]


def describe(cell: Cell) -> dict[str, Any]:
    return describe_data(cell["data"], RECIPES[cell["data"]], load_data(cell["data"]))


def step_seconds(cell: Cell) -> float:
    """A rough guess, for the progress bar: seconds of a cell."""
    return cell["every"] * cell["checks"] * (0.03 if cell["k"] > 32 else 0.006)


def no_scalars(rows: list[Row]) -> dict[str, float]:
    return {}


_ERRORS = {
    "rows": ("data", "lr", "estimator", "batch"),
    "columns": ("metric",),
    "metrics": ("error early", "error late"),
    "digits": 3,
}


def error_scalars(rows: list[Row]) -> dict[str, float]:
    """ "late sogram 0.01 128" -> the mean late error over seeds, at the highest learning rate."""
    top = max(row["lr"] for row in rows)
    keys = {(row["estimator"], row["batch"]) for row in rows if row["metric"] == "error late" and row["lr"] == top}
    return {
        f"{when} {name} {batch}": float(
            np.mean(
                [
                    row["value"]
                    for row in rows
                    if row["metric"] == f"error {when}"
                    and row["lr"] == top
                    and (row["estimator"], row["batch"]) == (name, batch)
                ]
            )
        )
        for name, batch in sorted(keys)
        for when in ("early", "late")
    }


@experiment(
    "P4-F2",
    "estimation error on one trajectory: SAGram, SOGram and sampling, batches of 128 and 1024",
    paper="P4",
    plan=curve_plan,
    estimate=step_seconds,
    describe=describe,
    finish=error_scalars,
    layout=_ERRORS,
)
def figure2_cell(cell: Cell) -> list[Row]:
    names = ("sagram 1/n", "sagram 1", "sogram 0.01", "sampling")
    return follow(cell, {(name, size): name for name in names for size in (128, cell["batch"])})


@experiment(
    "P4-F3",
    "estimation error of SOGram for several rates alpha, with and without the zero start corrected",
    paper="P4",
    plan=curve_plan,
    estimate=step_seconds,
    describe=describe,
    finish=error_scalars,
    layout=_ERRORS,
)
def figure3_cell(cell: Cell) -> list[Row]:
    names = [f"sogram {alpha}" for alpha in (1.0, *reversed(ALPHAS))]
    return follow(cell, {(name, 128): name for name in [*names, "sogram 0.01 corrected", "sogram 0.001 corrected"]})


@experiment(
    "P4-F7",
    "estimation error of SOGram at two learning rates of the model",
    paper="P4",
    plan=rate_plan,
    estimate=step_seconds,
    describe=describe,
    finish=error_scalars,
    layout=_ERRORS,
)
def figure7_cell(cell: Cell) -> list[Row]:
    return follow(cell, {(f"sogram {alpha}", cell["batch"]): f"sogram {alpha}" for alpha in (0.1, 0.01, 0.001)})


# ------------------------------------------------------------------------- Table 2, Figures 4 and 8: quality; 5 and 6:
# lambda


def trained_rows(cell: Cell, method: str, *, histograms: bool = False) -> list[Row]:
    """Trains one method and gives MAP@10 at every check, the best and the last;
    with `histograms` also those of Figure 5.
    """
    trainer = make_trainer(cell, method)
    where = {key: cell[key] for key in ("data", "seed", "lambda")} | {"method": method}
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
    """Inner products of random and of observed pairs:
    shares in BINS (the ends collect what lies beyond), mean and spread.
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


def method_plan(scale: str, seeds: tuple[int, ...], *, device: str = "cpu") -> list[Cell]:
    """Table 2: sampling and SOGram at P4's four rates; a cell each."""
    every, checks = {"smoke": (100, 4), "laptop": (250, 20), "full": (1000, 40)}[scale]
    methods = ("sampling", *(f"sogram {alpha}" for alpha in ALPHAS))
    shared = {**shared_plan(scale, device=device), "every": every, "checks": checks}
    return [{**shared, "method": method, "seed": seed} for seed in seeds for method in methods]


def lambda_plan(scale: str, seeds: tuple[int, ...], *, device: str = "cpu") -> list[Cell]:
    """Figures 5 and 6: SOGram with alpha = 0.01 at four gravity coefficients."""
    every, checks = {"smoke": (100, 4), "laptop": (250, 12), "full": (1000, 40)}[scale]
    shared = {**shared_plan(scale, device=device), "every": every, "checks": checks}
    return [{**shared, "lambda": lam, "seed": seed} for seed in seeds for lam in LAMBDAS]


def rating_plan(scale: str, seeds: tuple[int, ...], *, device: str = "cpu") -> list[Cell]:
    """Figure 8: ratings as targets, k = 35, lambda = 1; sampling and SOGram."""
    every, checks = {"smoke": (60, 3), "laptop": (500, 12), "full": (5000, 40)}[scale]
    sizes = SMALL if scale == "smoke" else FILMS
    data = {"smoke": "movietweetings-ratings", "laptop": "ml-100k-ratings", "full": "ml-10m-ratings"}[scale]
    shared = {
        **shared_plan(scale, device=device),
        "every": every,
        "checks": checks,
        "lambda": 1.0,
        "lr": 0.05,
        "data": data,
        "inputs": sizes.inputs,
        "hidden": list(sizes.hidden),
        "k": sizes.output,
    }
    return [
        {**shared, "method": method, "seed": seed}
        for seed in seeds
        for method in ("sampling", "sogram 0.001", "sogram 0.01", "sogram 0.1")
    ]


def quality_scalars(rows: list[Row]) -> dict[str, float]:
    """ "map@10 sogram 0.01" (or "... lambda 10") -> its mean over seeds."""
    chosen = [row for row in rows if row["metric"] in ("map@10", "best map@10")]
    several = len({row["lambda"] for row in chosen}) > 1
    names = {(row["metric"], f"lambda {row['lambda']:g}" if several else row["method"]) for row in chosen}
    return {
        f"{metric} {name}": float(
            np.mean(
                [
                    row["value"]
                    for row in chosen
                    if row["metric"] == metric and name in (row["method"], f"lambda {row['lambda']:g}")
                ]
            )
        )
        for metric, name in sorted(names)
    }


_QUALITY = {
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
def table2_cell(cell: Cell) -> list[Row]:
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
def figure6_cell(cell: Cell) -> list[Row]:
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
def figure8_cell(cell: Cell) -> list[Row]:
    return trained_rows(cell, cell["method"])


# --------------------------------------------------------------------------------------------------------------- Table
# 1


def statistics_plan(scale: str, seeds: tuple[int, ...], *, device: str = "cpu") -> list[Cell]:
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
    finish=no_scalars,
    layout={"rows": ("data",), "columns": ("metric",), "digits": 0},
)
def table1_cell(cell: Cell) -> list[Row]:
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

"""SCALE-X1: the averaged gradient of P processes with B pairs each, against one process with all P B pairs.

The model is a pair of linear towers and a temperature, in float64; the losses see the scores only. Each process
computes its loss on gathered embeddings, the gradients of the parameters are averaged, and process 0 compares them with

- the gradient of one process that has all pairs ("towers off", "temperature off"), and
- what `course_lib.processes.gradient_factors` predicts from that one gradient ("off prediction"),

each as a relative distance: the largest over the parameters of |g - g'| / |g'|. "queries" is the factor of the gradient
to the queries' tower: <g, g'> / <g', g'>.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import torch
from torch import Tensor

from course_lib import checking, losses, processes
from course_lib.experiments.core.provenance import digest
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, tidy
from course_lib.experiments.scale import team
from course_lib.gramians import SOGram
from course_lib.training.processes import FabricProcesses

if TYPE_CHECKING:
    from lightning_fabric import Fabric

BATCH, WIDTH, FEATURES, TAU = 8, 6, 10, 0.5
Parameters = tuple[Tensor, Tensor, Tensor]  # queries' and items' towers (FEATURES, WIDTH), log temperature
RowLosses = Callable[[Tensor, Tensor], Tensor]  # (scores (r, n), columns of the positives (r,)) -> (r,)


class GradientCell(TypedDict):
    """All losses and recipes, on one number of processes."""

    processes: int
    seed: int


class Recipe(NamedTuple):
    """gather "local": a process's rows meet its own items only; the rest as in `course_lib.processes`."""

    gather: str
    rows: str
    reduction: str
    times_world: bool


RECIPES = [
    *(Recipe("local", "own", reduction, False) for reduction in processes.REDUCTIONS),
    *itertools.starmap(
        Recipe, itertools.product(processes.GATHERS, processes.ROWS, processes.REDUCTIONS, (False, True))
    ),
]


# ---- the losses: a number for each row of scores


def softmax(scores: Tensor, positives: Tensor) -> Tensor:
    """-log of the share of the positive."""
    return torch.nn.functional.cross_entropy(scores, positives, reduction="none")


def pointwise(kind: str) -> RowLosses:
    """l+ of the positive and the mean l- of the other columns."""

    def of_rows(scores: Tensor, positives: Tensor) -> Tensor:
        pos, neg = losses.pair_losses(kind, scores)
        own = torch.zeros_like(scores).scatter_(1, positives[:, None], 1.0)
        values: Tensor = (own * pos + (1 - own) * neg / (scores.shape[1] - 1)).sum(1)
        return values

    return of_rows


LOSSES: dict[str, RowLosses] = {
    "softmax": softmax,
    "softmax, logQ": softmax,  # with log_q taken from the columns, see `scored`
    "logistic": pointwise("logistic"),
    "square": pointwise("square"),
}


# ---- one loss on tables of embeddings


class Data(NamedTuple):
    """Features of the queries and of the items (P B, FEATURES), and log q of the items (P B,)."""

    x: Tensor
    y: Tensor
    log_q: Tensor


def made(seed: int, pairs: int) -> tuple[Data, Parameters]:
    """The same in every process."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    data = Data(normal(pairs, FEATURES), normal(pairs, FEATURES), normal(pairs))
    towers = (normal(FEATURES, WIDTH) / FEATURES**0.5, normal(FEATURES, WIDTH) / FEATURES**0.5)
    log_tau = torch.tensor(TAU, dtype=torch.float64).log()
    return data, (towers[0].requires_grad_(), towers[1].requires_grad_(), log_tau.requires_grad_())


def scored(loss: str, q: Tensor, k: Tensor, log_tau: Tensor, log_q: Tensor) -> Tensor:
    """(r, n) what the loss sees."""
    scores = q @ k.T / log_tau.exp()
    return scores - log_q if loss == "softmax, logQ" else scores


def reduced(values: Tensor, reduction: str) -> Tensor:
    return values.mean() if reduction == "mean" else values.sum()


def one_process(loss: str, reduction: str, data: Data, parameters: Parameters) -> Tensor:
    """The loss of one process that has all pairs."""
    left, right, log_tau = parameters
    positives = torch.arange(len(data.x))
    scores = scored(loss, data.x @ left, data.y @ right, log_tau, data.log_q)
    return reduced(LOSSES[loss](scores, positives), reduction)


def predicted(loss: str, recipe: Recipe, size: int, data: Data, parameters: Parameters) -> list[Tensor]:
    """The averaged gradients, from one process alone: its parts, each times its factor."""
    left, right, log_tau = parameters
    blocks = torch.arange(len(data.x)).chunk(size)
    if recipe.gather == "local":
        values = [
            one_process(loss, recipe.reduction, Data(*(table[block] for table in data)), parameters) for block in blocks
        ]
        return list(torch.autograd.grad(torch.stack(values).mean(), parameters))
    factors = processes.gradient_factors(
        processes=size, rows=recipe.rows, gather=recipe.gather, reduction=recipe.reduction
    ).times(size if recipe.times_world else 1)
    q, k = (data.x @ left).detach(), (data.y @ right).detach()
    scores = (q @ k.T).requires_grad_()
    logits = scores / log_tau.exp() - (data.log_q if loss == "softmax, logQ" else 0)
    value = reduced(LOSSES[loss](logits, torch.arange(len(q))), recipe.reduction)
    slope, direct = torch.autograd.grad(value, (scores, log_tau))  # (P B, P B), ()
    blocks_of = torch.arange(len(q)) // (len(q) // size)
    near, eye = (blocks_of[:, None] == blocks_of[None, :]).double(), torch.eye(len(q), dtype=torch.float64)
    to_items = slope * (
        float(factors.pull) * eye + float(factors.near) * (near - eye) + float(factors.far) * (1 - near)
    )
    return [
        float(factors.query) * data.x.T @ (slope @ k),
        data.y.T @ (to_items.T @ q),
        float(factors.direct) * direct,
    ]


# ---- in each process


def of_this_process(fabric: Fabric, loss: str, recipe: Recipe, data: Data, parameters: Parameters) -> Tensor:
    """The loss of one of the processes, on what it has and what it gathers."""
    left, right, log_tau = parameters
    own = torch.arange(len(data.x)).chunk(fabric.world_size)[fabric.global_rank]
    q, k = data.x[own] @ left, data.y[own] @ right
    if recipe.gather == "local":
        return one_process(loss, recipe.reduction, Data(*(table[own] for table in data)), parameters)
    items = team.gathered(fabric, k, recipe.gather)
    queries, positives = q, own
    if recipe.rows == "all":
        queries, positives = team.gathered(fabric, q, recipe.gather), torch.arange(len(items))
    value = reduced(LOSSES[loss](scored(loss, queries, items, log_tau, data.log_q), positives), recipe.reduction)
    return value * fabric.world_size if recipe.times_world else value


def distance(found: list[Tensor], right: list[Tensor]) -> float:
    """The largest over the parameters of |g - g'| / |g'|."""
    return max(float((a - b).norm() / b.norm()) for a, b in zip(found, right, strict=True))


def in_each_process(fabric: Fabric, seed: int) -> list[Row]:
    """The rows of all losses and recipes; every process makes them, from the same averages."""
    size = fabric.world_size
    data, parameters = made(seed, size * BATCH)
    rows: list[Row] = []
    for loss, recipe in checking.some(list(itertools.product(LOSSES, RECIPES))):
        value = of_this_process(fabric, loss, recipe, data, parameters)
        found = team.average(fabric, list(torch.autograd.grad(value, parameters)))
        one = list(torch.autograd.grad(one_process(loss, recipe.reduction, data, parameters), parameters))
        off = {
            "towers off": distance(found[:2], one[:2]),
            "temperature off": distance(found[2:], one[2:]),
            "off prediction": distance(found, predicted(loss, recipe, size, data, parameters)),
            "queries": float((found[0] * one[0]).sum() / (one[0] * one[0]).sum()),
        }
        rows += tidy({"processes": size, "loss": loss, **recipe._asdict()}, off)
    return [*rows, *_gramians(fabric, seed)]


def _gramians(fabric: Fabric, seed: int) -> list[Row]:
    """SOGram of P processes, which sends d^2 numbers, against one that gets all rows: after three steps."""
    size = fabric.world_size
    data, _ = made(seed, 3 * size * BATCH)
    spread, alone = SOGram(FEATURES, 0.3, processes=FabricProcesses(fabric)), SOGram(FEATURES, 0.3)
    for rows in data.y.chunk(3):
        mine = rows.chunk(size)[fabric.global_rank]
        found, right = spread.update(range(len(mine)), mine), alone.update(range(len(rows)), rows)
    where = {"processes": size, "loss": "SOGram", "gather": "d x d sums", "rows": "own", "reduction": "mean"}
    return tidy({**where, "times_world": False}, {"towers off": distance([found], [right])})


# ---- the experiment


def plan(scale: str, seeds: Seeds, *, devices: int | None = None) -> list[GradientCell]:
    """Two processes; beyond smoke scale also four, at full scale also eight; or only `devices`."""
    counts = (devices,) if devices is not None else {"smoke": (2,), "laptop": (2, 4), "full": (2, 4, 8)}[scale]
    return [{"processes": count, "seed": seed} for count in counts for seed in seeds]


def describe(cell: Any) -> dict[str, Any]:
    """The tables are drawn from the seed."""
    return {"name": "random tables", "sha256": digest([BATCH, WIDTH, FEATURES, cell["seed"]])}


def _worst(rows: list[Row]) -> dict[str, float]:
    """The largest distance from the prediction, and from one process where the factors say that there is none."""
    predicted_off = [row["value"] for row in rows if row["metric"] == "off prediction"]
    equal = [row["value"] for row in rows if row["metric"].endswith(" off") and is_equal(row)]
    return {
        "worst-off-prediction": max(predicted_off),
        "worst-where-equal": max(equal),
        "equal-cases": float(len(equal)),
    }


def is_equal(row: Row) -> bool:
    """Whether the theorem says that the averaged gradient of this row is that of one process."""
    if row["loss"] == "SOGram":
        return True
    if row["gather"] == "local":
        return False
    words = {name: row[name] for name in ("rows", "gather", "reduction", "processes")}
    return processes.gradient_factors(**words).times(row["processes"] if row["times_world"] else 1).right


@experiment(
    "SCALE-X1",
    "the averaged gradient of P processes against that of one process with the whole batch",
    plan=plan,
    estimate=lambda cell: 6.0 + 2.0 * cell["processes"],
    describe=describe,
    finish=_worst,
    layout=shown(
        "processes",
        "gather",
        "rows",
        "reduction",
        "times_world",
        digits=3,
        metrics=("queries", "towers off", "temperature off"),
    ),
)
def gradient_cell(cell: GradientCell) -> list[Row]:
    """Starts the processes, and takes what process 0 found."""
    return [{**row, "seed": cell["seed"]} for row in team.start("gradients", cell["processes"], cell["seed"])]

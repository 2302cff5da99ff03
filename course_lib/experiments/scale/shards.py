"""SCALE-X2: what a model and its lists lose when negatives come from a shard of the batch only. A simulation.

One process trains on batches of `batch` pairs. With P shards each row's softmax runs over the batch / P items of its
shard, and the loss is the mean over all rows: by `course_lib.processes` that is the averaged gradient of P
processes with local negatives. One shard is the gathered batch: what P processes compute that gather with gradients.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

import torch
from numpy.random import Generator
from torch import Tensor, nn

from course_lib import losses
from course_lib.experiments.core.data import Recipes
from course_lib.experiments.core.machine import threads_for
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, means, part, tidy

RECIPES = Recipes(
    "the course",
    {
        "movietweetings-10core": {"name": "movietweetings", "min_rating": 7, "core": 10},
        "ml-1m-5core": {"name": "ml-1m", "min_rating": 4, "core": 5},
    },
)
SETS = {
    "smoke": ("movietweetings-10core",),
    "laptop": ("movietweetings-10core", "ml-1m-5core"),
    "full": ("ml-1m-5core",),
}
SHARDS = {"smoke": (1, 8), "laptop": (1, 2, 4, 8), "full": (1, 2, 4, 8, 32)}
STEPS = {"smoke": 200, "laptop": 1000, "full": 10_000}
LONGER = {"ml-1m-5core": 3}  # times as many steps, for a larger set
METRICS = ("recall@10", "AvgPop@10", "top 1 %")


class ShardCell(TypedDict):
    """One training run."""

    data: str
    objective: str
    shards: int
    batch: int
    width: int
    steps: int
    lr: float
    tau: float
    seed: int


def sharded_loss(scores: Tensor, shards: int, *, tau: float, log_q: Tensor | None = None) -> Tensor:
    """The mean over P shards of in-batch softmax on the diagonal blocks of scores (P B, P B)."""
    blocks = torch.arange(len(scores)).chunk(shards)
    found: list[Tensor] = [
        losses.in_batch_softmax(scores[rows][:, rows], tau=tau, log_q=None if log_q is None else log_q[rows])
        for rows in blocks
    ]
    return torch.stack(found).mean()


def plan(scale: str, seeds: Seeds, *, data: str | None = None) -> list[ShardCell]:
    """Every number of shards at a fixed total batch, without and with the logQ correction."""
    return [
        {
            "data": name,
            "objective": objective,
            "shards": shards,
            "batch": 256,
            "width": 32,
            "steps": STEPS[scale] * LONGER.get(name, 1),
            "lr": 0.01,
            "tau": 0.1,
            "seed": seed,
        }
        for name in ((data,) if data else SETS[scale])
        for objective in ("softmax", "softmax, logQ")
        for shards in SHARDS[scale]
        for seed in seeds
    ]


@experiment(
    "SCALE-X2",
    "negatives from P shards of one batch: recall and popularity of the lists (simulated in one process)",
    plan=plan,
    estimate=lambda cell: 0.006 * cell["steps"],
    describe=RECIPES.describe,
    finish=lambda rows: means(rows, name_of, intervals=True),
    layout=shown("data", "objective", "shards", digits=3, metrics=METRICS),
)
def shard_cell(cell: ShardCell) -> list[Row]:
    """Trains two tables on cosines, and looks at the lists of ten by cosine.

    recall@10; AvgPop@10: mean count of the films in the lists; top 1 %: their share of the most popular hundredth.
    """
    from course_lib.training import Plan, fit  # slow to import, and the processes of the other experiments need none
    from course_lib.training.towers import judge, log_probability, lookup_towers, uniform_pairs

    train, test = RECIPES.split(cell["data"], cell["seed"])
    towers = lookup_towers(train, d=cell["width"], seed=cell["seed"])
    sample, log_q = uniform_pairs(train), log_probability(train) if "logQ" in cell["objective"] else None
    left, right = torch.tensor(train.users), torch.tensor(train.items)

    def batches(_: int, rng: Generator) -> Iterator[tuple[Tensor, Tensor]]:
        for _ in range(cell["steps"]):
            chosen = torch.from_numpy(sample(rng, cell["batch"]))
            yield left[chosen], right[chosen]

    def step(module: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        scores = losses.cosine_scores(*module(*batch))
        return sharded_loss(scores, cell["shards"], tau=cell["tau"], log_q=None if log_q is None else log_q[batch[1]])

    with threads_for(train):
        optimizer = torch.optim.Adam(towers.parameters(), lr=cell["lr"])
        fit(towers, optimizer, batches=batches, step=step, plan=Plan(1), seed=cell["seed"], progress=False)
        found = judge(towers, train, test, lists=10)
    values = [found["recall cos"], found["AvgPop cos"], found["share cos"]]
    return tidy(part(cell, "data objective shards seed"), dict(zip(METRICS, values, strict=True)))


def name_of(row: Row) -> str:
    """The name of a scalar, such as "ml-1m-5core-softmax-p8-recall-10"."""
    words = (row["data"], row["objective"], f"p{row['shards']}", row["metric"])
    return "-".join(words).replace(",", "").replace(" %", "").replace("@", "-").replace(" ", "-").lower()

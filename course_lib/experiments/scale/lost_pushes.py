"""SCALE-X6: what a training loses along its way when the far pushes are lost, with a test that is later in time.

256 pairs lie on P machines, 256 / P on each. A machine computes its own rows, and the films of the others reach it as
constants (`course_lib.processes`: own rows, gather "constant"), so that every push from another machine is lost. Of
the pushes the part kappa = (B - 1) / (P B - 1), B = 256 / P, is left on average. One machine stands beside them.

Nothing is learned from later than its moment: the last tenth of the pairs in time is the test, the tenth before it
says where a training ends, and users and films are chosen by the first eight tenths alone. A training *ends* at the
look where the validation part finds most; where this look lies in the second half of its steps it is "not converged".
What the paths were predicted to show stands in `predictions`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypedDict

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from course_lib import metrics, popularity
from course_lib.experiments.core.data import Recipes, drop_untrained
from course_lib.experiments.core.machine import threads_for
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, part
from course_lib.experiments.scale.predictions import scalars
from course_lib.interactions import Interactions
from course_lib.training.paths import log_even

RECIPES = Recipes(
    "the course",
    {
        "movietweetings": {"name": "movietweetings", "min_rating": 7},
        "ml-1m": {"name": "ml-1m", "min_rating": 4},
    },
)
PAIRS, WIDTH, CORE, LONGEST, LOOKS = 256, 16, 5, 10, 7  # the last: looks for each factor of 10 of the steps
STEPS = {"movietweetings": 6_000, "ml-1m": 12_000}
MACHINES = {  # the numbers of machines of each model
    "cosines, logQ": (1, 2, 4, 8, 32),
    "inner products, logQ": (1, 8),
}
TEMPERATURE = {"cosines, logQ": 0.3, "inner products, logQ": None}
LISTS = ("most popular", "popular lately", "chance")
LATELY, DIGITS = 0.1, 6


class PushCell(TypedDict):
    """One training, or one of LISTS, which has no steps."""

    data: str
    model: str
    machines: int
    steps: int
    lr: float
    temperature: float | None
    seed: int


class Parts(NamedTuple):
    """Three parts in time; users and films of the hidden ones are those of the training part."""

    train: Interactions
    validation: Interactions
    test: Interactions


def plan(scale: str, seeds: Seeds, *, data: str | None = None) -> list[PushCell]:
    """The lists, then the models on all their numbers of machines; smoke: one machine and eight, 200 steps."""
    smoke = scale == "smoke"
    names = [data] if data else list(STEPS)[:1] if smoke else list(STEPS)
    cells = [
        PushCell(data=name, model=kind, machines=1, steps=0, lr=0.0, temperature=None, seed=seed)
        for name in names
        for kind in LISTS
        for seed in (seeds if kind == "chance" else seeds[:1])
    ]
    return cells + [
        PushCell(
            data=name,
            model=model,
            machines=count,
            steps=200 if smoke else STEPS[name] * (4 if scale == "full" else 1),
            lr=0.01,
            temperature=TEMPERATURE[model],
            seed=seed,
        )
        for model, counts in MACHINES.items()
        for name in names
        for seed in seeds
        for count in ((1, 8) if smoke else counts)
    ]


@lru_cache(maxsize=2)
def parts_of(name: str) -> Parts:
    """The parts of a data set: eight tenths in time, of which the 5-core is taken, a tenth, and the last tenth."""
    earlier, test = RECIPES.load(name).split_by_time(0.9)
    train, validation = earlier.split_by_time(8 / 9)
    train = train.k_core(CORE)
    hidden = [drop_untrained(train, part)[1] for part in (validation, test)]
    return Parts(train.compact(), *hidden)


@experiment(
    "SCALE-X6",
    "own rows with constants: what the lost pushes cost along a training, tested later in time",
    plan=plan,
    estimate=lambda cell: 5.0 + 0.004 * cell["steps"],
    describe=RECIPES.describe,
    finish=scalars,
    layout=shown(
        "data", "model", "machines", digits=3, metrics=("recall@10", "ndcg@10", "coverage@10", "mean count@10", "steps")
    ),
)
def push_cell(cell: PushCell) -> list[Row]:
    """A row for each metric: its value at the end that validation states, and "path" those at all looks.

    The row "steps" says at which steps the looks were, which of them is the end, and in "stopped" whether that is one.
    """
    parts, where = parts_of(cell["data"]), part(cell, "data model machines seed")
    if not cell["steps"]:
        return [{**where, "metric": name, "value": value} for name, value in of_list(cell, parts).items()]
    at = log_even(cell["steps"], LOOKS)
    with threads_for(parts.train):
        looks = list(trained(cell, parts, at))
    paths = {name: [float(f"{look[name]:.{DIGITS}g}") for look in looks] for name in looks[0]}
    end = int(np.argmax(paths["validation recall@10"]))
    rows: list[Row] = [
        {**where, "metric": name, "value": values[end], "path": values}
        for name, values in {**paths, "steps": [float(step) for step in at]}.items()
    ]
    rows[-1]["stopped"] = "not converged" if 2 * at[end] > at[-1] else "a doubling of the steps found no more"
    return rows


def of_list(cell: PushCell, parts: Parts) -> dict[str, float]:
    """The metrics of a list without a model, from the training part alone."""
    train = parts.train
    if cell["model"] == "chance":
        rng = np.random.default_rng([cell["seed"], 1])
        return judged(rng.normal(size=(train.n_users, WIDTH)), rng.normal(size=(train.n_items, WIDTH)), parts)
    counts = metrics.popularity_scores(train, lately=LATELY if cell["model"] == "popular lately" else None)
    return judged(np.ones((train.n_users, 1)), counts[:, None], parts)


def judged(users: Any, items: Any, parts: Parts) -> dict[str, float]:
    """What lists of ten find in both hidden parts, and what those of the test show: share of films, mean count."""
    train, found = parts.train, dict[str, float]()
    for name, hidden in (("validation ", parts.validation), ("", parts.test)):
        lists, values = metrics.lists_and_metrics(users, items, train, hidden, LONGEST)
        found |= {f"{name}{metric}@10": values[f"{metric}@10"] for metric in ("recall", "ndcg")}
    found["coverage@10"] = metrics.coverage(lists, train.n_items)
    found["mean count@10"] = popularity.average_popularity(lists, train.col_counts)
    return found


def trained(cell: PushCell, parts: Parts, at: list[int]) -> Iterator[dict[str, float]]:
    """What the tables find after each number of steps in `at`, the mean loss since the last look, and the gradient.

    Free vectors of 16 numbers, in-batch softmax with logQ, Adam. All cells of a data set and a seed see the same
    batches and start at the same vectors. A film's copies in other columns of a row are left out as accidental hits.
    """
    train, generator = parts.train, torch.Generator().manual_seed(cell["seed"])
    rng, temperature = np.random.default_rng(cell["seed"]), cell["temperature"]
    tables = [(0.3 * torch.randn(n, WIDTH, generator=generator)).requires_grad_() for n in train.shape]
    optimizer = torch.optim.Adam(tables, lr=cell["lr"], fused=True)
    log_q = torch.from_numpy(np.log(train.col_counts / len(train))).float()
    places = [torch.tensor(train.users), torch.tensor(train.items)]
    past: list[float] = []
    for step in range(at[-1] + 1):
        drawn = torch.from_numpy(rng.choice(len(train), PAIRS, replace=False))
        ids = [place[drawn] for place in places]
        left, right = (table.detach()[own] for table, own in zip(tables, ids, strict=True))
        loss, slopes = averaged(left, right, ids[1], log_q, machines=cell["machines"], temperature=temperature)
        past.append(loss)
        for table, own, slope in zip(tables, ids, slopes, strict=True):
            table.grad = torch.zeros_like(table) if table.grad is None else table.grad.zero_()
            table.grad.index_add_(0, own, slope)
        if step in at:
            users, items = (t.detach() if temperature is None else normalize(t.detach()) for t in tables)
            length = sum(float(table.grad.square().sum()) for table in tables if table.grad is not None) ** 0.5
            found = judged(users.numpy(), items.numpy(), parts)
            yield {**found, "loss": float(np.mean(past)), "gradient norm": length}
            past = []
        optimizer.step()


def averaged(
    users: Tensor, items: Tensor, films: Tensor, log_q: Tensor, *, machines: int, temperature: float | None
) -> tuple[float, tuple[Tensor, Tensor]]:
    """The loss of a batch, and what P machines have after they averaged: the gradients in its users and its items.

    users, items (P B, d): the rows of the tables, one of each for a pair; films (P B,): the items' ids; log_q (n,). A
    user gets the whole gradient, an item the part that the rows of its own machine send. By hand, as autograd takes
    twice as long; tests/experiments/test_lost_pushes.py compares.
    """
    size, tau = len(users), temperature or 1.0
    q, k = (users, items) if temperature is None else (normalize(users), normalize(items))
    logits = (q @ k.T).div_(tau).sub_(log_q[films])  # (P B, P B)
    hits = (films[:, None] == films[None, :]).fill_diagonal_(False)
    slopes = logits.masked_fill_(hits, -torch.inf).softmax(1)
    loss = -float(slopes.diagonal().log().mean())
    slopes.diagonal().sub_(1.0)
    slopes.div_(size * tau)
    blocks = slopes.view(machines, size // machines, machines, -1).diagonal(dim1=0, dim2=2).permute(2, 1, 0)
    to_q, to_k = slopes @ k, (blocks @ q.view(machines, -1, q.shape[1])).reshape(k.shape)
    if temperature is None:
        return loss, (to_q, to_k)
    return loss, (_through_length(users, q, to_q), _through_length(items, k, to_k))


def _through_length(rows: Tensor, unit: Tensor, slopes: Tensor) -> Tensor:
    """The gradient in the rows, from that in the rows divided by their lengths."""
    tangent = slopes - (slopes * unit).sum(1, keepdim=True) * unit
    found: Tensor = tangent / rows.norm(dim=1, keepdim=True)
    return found

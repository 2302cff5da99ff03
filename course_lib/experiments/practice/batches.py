"""PRACTICE-5: how large must a batch be? Two losses that aim at the same scores, at three sizes of a batch.

The law of the softmax's minimum does not contain the number of negatives: plain with its popularity added back, and
logQ, both aim at the logarithm of what a person chooses, at every size. Temperature, learning rate and the number of
passes are chosen on the window before, for each loss and size by itself; windows are those of PRACTICE-2.
"""

from __future__ import annotations

from typing import NamedTuple, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray

from course_lib import hits
from course_lib.experiments.core.data import Recipes
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import Result, shown
from course_lib.experiments.core.rules import Rules
from course_lib.experiments.core.summary import Row, tidy
from course_lib.experiments.practice import negatives, scoreboard
from course_lib.experiments.practice.judging import rate_of
from course_lib.experiments.practice.scoreboard import Window
from course_lib.training import resumable
from course_lib.training.on_pairs import new_tables, train_on_pairs

Float = NDArray[np.float64]

RECIPES = Recipes(
    "PRACTICE-5",
    {
        "movietweetings-5core": {"name": "movietweetings", "min_rating": 7, "core": 5},
        "ml-1m": {"name": "ml-1m", "min_rating": 5},  # with 4 a training of all passes takes four times as long
    },
)
LOSSES, LARGEST = ("plain", "logQ"), 1024
PASSES = {  # at most, by the size of the batch: a large one takes fewer steps in a pass
    "movietweetings-5core": {32: 6, 256: 12, LARGEST: 24},
    "ml-1m": {32: 2, 256: 5, LARGEST: 10},
}
TEMPERATURES, RATES = (0.1, 0.2, 0.5), (0.005, 0.02)
RECALL = f"recall@{negatives.TOP}"

# Committed before the run. Of the losses at other sizes than 512 only logQ's first pass had been seen, in a smoke run.
PREDICTIONS = {
    "logQ": "With logQ, batches of 32 and of 256 find the recall of 1,024 to within .01, on both data sets.",
    "plain": "With plain and its popularity added back, so do they.",
    "temperature": "For both losses and on both data sets, the temperature chosen at 1,024 is not above that at 32.",
    "rate": "For both losses and on both data sets, the learning rate chosen at 1,024 is not below that at 32.",
    "losses": "At each size, the two losses find the same recall to within .01, on both data sets.",
}


class BatchesCell(TypedDict):
    """One loss on one data set at all sizes of a batch; loss None: the lists without a model."""

    data: str
    loss: str | None
    sizes: list[int]
    passes: list[int]
    seeds: list[int]


class Setting(NamedTuple):
    """What is chosen in the window before."""

    tau: float
    rate: float
    passes: int


def plan(scale: str, seeds: Seeds) -> list[BatchesCell]:
    """One cell for each data set and loss, with all seeds, and one for the lists."""
    small = scale == "smoke"
    return [
        BatchesCell(data=data, loss=loss, sizes=list(passes), passes=list(passes.values()), seeds=sorted(seeds))
        for data, passes in ({"movietweetings-5core": {32: 1, 256: 1}} if small else PASSES).items()
        for loss in (None, *(("logQ",) if small else LOSSES))
    ]


def seconds(cell: BatchesCell) -> float:
    """A rough guess, on two cores."""
    trainings = len(TEMPERATURES) * len(RATES) + len(cell["seeds"])
    each = {"movietweetings-5core": 3.0, "ml-1m": 15.0}[cell["data"]]  # a pass
    return 5.0 if cell["loss"] is None else sum(trainings * each * passes for passes in cell["passes"])


def windows(data: str) -> tuple[Window, Window]:
    """(validation, test): the ninth tenth of the pairs in time and the last, each behind all that came before."""
    validation, test = scoreboard.windows(RECIPES.load(data), (0.8, 0.9))
    return validation, test


def popularity_back(loss: str, tables: scoreboard.Tables, window: Window, tau: float) -> scoreboard.Tables:
    """Tables of the scores that both losses aim at: plain's with the logarithm of the films' counts added."""
    if loss == "logQ":
        return scoreboard.alone(tables, tau)
    return hits.with_hits(*tables, window.train.col_counts.astype(np.float64), tau=tau, weight=1.0)


@resumable.once
def trained(
    loss: str, window: Window, size: int, setting: Setting, seed: int, look: scoreboard.Rate | None = None
) -> tuple[scoreboard.Tables, list[float]]:
    """The tables after all passes; look: what to measure of them after each pass."""
    generator = torch.Generator().manual_seed(seed)
    tables = new_tables(window.train, negatives.WIDTH, generator)
    of_batch, _ = negatives.loss_of(loss, window.train, tables, setting.tau, generator)
    path: list[float] = []

    def now() -> scoreboard.Tables:
        return tables[0].detach(), tables[1].detach()

    def after(done: int) -> None:
        if look is not None and done:
            path.append(float(look(popularity_back(loss, now(), window, setting.tau), window).mean()))

    train_on_pairs(
        window.train,
        of_batch,
        tables,
        generator,
        passes=setting.passes,
        batch=size,
        rate=setting.rate,
        after_pass=after,
    )
    return now(), path


def chosen(loss: str, before: Window, size: int, passes: int, rate_: scoreboard.Rate) -> tuple[Setting, list[float]]:
    """The temperature, rate and number of passes that find most in the window before, and the recall on the way."""
    paths = {
        (tau, rate): trained(loss, before, size, Setting(tau, rate, passes), 0, rate_)[1]
        for tau in TEMPERATURES
        for rate in RATES
    }
    (tau, rate), path = max(paths.items(), key=lambda one: max(one[1]))
    return Setting(tau, rate, 1 + int(np.argmax(path))), path


@experiment(
    "PRACTICE-5",
    "two losses at three sizes of a batch, each with its own temperature, rate and stop, later in time (ours)",
    plan=plan,
    estimate=seconds,
    describe=RECIPES.describe,
    finish=scoreboard.named_by("data", "loss", "batch", "metric"),
    layout=shown("data", "loss", "batch", metrics=(RECALL, "films shown"), digits=3),
    rules=Rules(path="stored", lists=True, predictions="e47bb013"),
)
def batches_cell(cell: BatchesCell) -> list[Row]:
    """One loss at every size of a batch, or the lists without a model.

    "minus the largest", "minus the list": differences of each person's mean over the seeds, with `half` of Student's
    95 % interval over `people`.
    """
    before, test = windows(cell["data"])
    if cell["loss"] is None:
        return negatives.list_rows(cell["data"], before, test)
    with scoreboard.one_thread():
        return _model_rows(cell, cell["loss"], before, test)


def _model_rows(cell: BatchesCell, loss: str, before: Window, test: Window) -> list[Row]:
    measure = rate_of(cell["data"])
    kind = scoreboard.chosen_list(before, measure, negatives.HALF_LIVES)
    of_list = measure(scoreboard.list_tables(test, kind), test)
    rows, of_size = list[Row](), dict[int, Float]()
    for size, passes in zip(cell["sizes"], cell["passes"], strict=True):
        where = {"data": cell["data"], "loss": loss, "batch": size}
        setting, path = chosen(loss, before, size, passes, measure)
        rows += tidy(where, setting._asdict())
        rows.append(scoreboard.path_row(where, f"validation {RECALL}", path))
        each = []
        for seed in cell["seeds"]:
            tables, _ = trained(loss, test, size, setting, seed)
            served = popularity_back(loss, tables, test, setting.tau)
            each.append(measure(served, test))
            rows += tidy({**where, "seed": seed}, negatives.described(served, test, measure))
        of_size[size] = np.mean(each, axis=0)
        rows.append(negatives.over_people(where, "minus the list", of_size[size] - of_list))
    for size, found in of_size.items():
        if size != max(of_size):
            where = {"data": cell["data"], "loss": loss, "batch": size}
            rows.append(negatives.over_people(where, "minus the largest", found - of_size[max(of_size)]))
    return rows


def verdicts(result: Result) -> dict[str, tuple[str, bool]]:
    """Name of a prediction -> its words, and whether it held in PRACTICE-5."""

    def close(loss: str) -> bool:
        return all(abs(value) <= 0.01 for value in result.values("minus the largest", loss=loss))

    def at(metric: str, loss: str, data: str, size: int) -> float:
        return result.mean(metric, loss=loss, data=data, batch=size)

    every = [(loss, data) for loss in LOSSES for data in RECIPES.table]
    held = {
        "logQ": close("logQ"),
        "plain": close("plain"),
        "temperature": all(at("tau", *one, LARGEST) <= at("tau", *one, 32) for one in every),
        "rate": all(at("rate", *one, LARGEST) >= at("rate", *one, 32) for one in every),
        "losses": all(
            abs(at(RECALL, "plain", data, size) - at(RECALL, "logQ", data, size)) <= 0.01
            for data in RECIPES.table
            for size in PASSES[data]
        ),
    }
    return {name: (words, held[name]) for name, words in PREDICTIONS.items()}

"""PRACTICE-6: how much of popularity do cosines hold, and where should the rest of it stand?

With logQ the scores aim at the logarithm of what a person chooses, popularity included; a cosine divided by the
temperature has one budget for popularity and for taste. Three losses: plain, whose popularity stands in a coordinate
that is counted; logQ on cosines alone; logQ with a learned number for each film. All are served with weights of the log
of the counts. The number of passes and the weight are chosen in the window before.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from course_lib.experiments.core.data import Recipes
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import Result, shown
from course_lib.experiments.core.rules import Rules
from course_lib.experiments.core.summary import Row, tidy
from course_lib.experiments.practice import batches, negatives, scoreboard
from course_lib.experiments.practice.judging import rate_of
from course_lib.experiments.practice.scoreboard import Window
from course_lib.hits import FLOOR
from course_lib.training import resumable
from course_lib.training.on_pairs import new_tables, train_on_pairs

Float = NDArray[np.float64]
Model = tuple[Float, Float, Float]  # (m, d) people and (n, d) films of length 1, and (n,) the films' own numbers

RECIPES = Recipes("PRACTICE-6", batches.RECIPES.table)
PLAIN, LOGQ, OWN = "plain", "logQ", "logQ, a number for each film"
LOSSES = (PLAIN, LOGQ, OWN)
IN_THEORY = {PLAIN: 1.0, LOGQ: 0.0, OWN: 0.0}  # the weight at which all three aim at the same scores
TEMPERATURES = (0.1, 0.2, 0.5, 1.0)
WEIGHTS = (-0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
PASSES = {"movietweetings-5core": 20, "ml-1m": 8}
RECALL = f"recall@{negatives.TOP}"

# Committed before the run. PRACTICE-5 had been seen (plain and logQ at their weights in theory, at other sizes of a
# batch), PRACTICE-2 (both with weights of today's hits, not of all counts), and of this experiment the recall of one
# pass with seed 0 at τ 0.5 on MovieTweetings, in a smoke run. No slope had been seen.
PREDICTIONS = {
    "falls": "With logQ, the cosines hold less of the log of the counts at each higher temperature, on both data sets.",
    "half": "With logQ they hold less than half of it at τ 1, on both data sets.",
    "plain": "With plain they hold less than a quarter of it, of either sign, at every τ on both data sets.",
    "number": "With a number for each film, cosines and number together hold at least .8 of it at every τ.",
    "weight": "At τ 0.5 and 1, validation adds some of the counts to logQ's scores, on both data sets.",
    "order": "At each τ on both data sets, plain gets a larger weight than logQ.",
    "same": "With the weights that validation chose, logQ finds plain's recall to within .01 at each τ, on both data "
    "sets.",
    "place": "At τ 0.5 and 1, logQ with a number for each film finds at weight 0 what plain finds at weight 1, to "
    "within .01, on both data sets.",
}


class HeldCell(TypedDict):
    """All losses at one temperature on one data set; tau None: the lists without a model."""

    data: str
    tau: float | None
    passes: int
    seeds: list[int]


class Setting(NamedTuple):
    """What is chosen in the window before, and the recall that it has there."""

    passes: int
    weight: float
    found_before: float


def plan(scale: str, seeds: Seeds) -> list[HeldCell]:
    """One cell for each data set and temperature, with all losses and seeds, and one for the lists."""
    passes = {"movietweetings-5core": 1} if scale == "smoke" else PASSES
    temperatures = (0.5,) if scale == "smoke" else TEMPERATURES
    return [
        HeldCell(data=data, tau=tau, passes=most, seeds=sorted(seeds))
        for data, most in passes.items()
        for tau in (None, *temperatures)
    ]


def seconds(cell: HeldCell) -> float:
    """A rough guess, on two cores."""
    each = {"movietweetings-5core": 1.0, "ml-1m": 5.0}[cell["data"]]  # a pass
    return 5.0 if cell["tau"] is None else each * cell["passes"] * len(LOSSES) * (1 + len(cell["seeds"]))


def served(model: Model, window: Window, tau: float, weight: float) -> scoreboard.Tables:
    """Tables whose inner product is cosine / τ + the film's own number + weight * log(count + .05)."""
    people, films, own = model
    counted = weight * np.log(window.train.col_counts + FLOOR)
    return np.column_stack((people / tau, np.ones(len(people)))), np.column_stack((films, own + counted))


@resumable.once
def trained(
    loss: str, window: Window, tau: float, passes: int, seed: int, look: scoreboard.Rate | None = None
) -> tuple[Model, list[float]]:
    """The tables after all passes; look: measured after each pass, and then the tables are those of the best pass."""
    train = window.train
    generator = torch.Generator().manual_seed(seed)
    people, films = new_tables(train, negatives.WIDTH, generator)
    own = torch.zeros(train.n_items, requires_grad=True)
    log_q = torch.zeros(train.n_items) if loss == PLAIN else torch.tensor(np.log(np.maximum(train.col_counts, 1)))
    log_q, number = log_q.float(), own if loss == OWN else own.detach()

    def of_batch(u: Tensor, i: Tensor) -> Tensor:
        cosines = F.normalize(people[u], dim=1) @ F.normalize(films[i], dim=1).T
        return F.cross_entropy(cosines / tau + number[i] - log_q[i], torch.arange(len(u)))

    def now() -> Model:
        left, right = (F.normalize(table.detach(), dim=1).double().numpy() for table in (people, films))
        learned = own.detach().double().numpy()
        # a film that stood in no batch has learned no number: it gets the least
        return left, right, np.where(train.col_counts > 0, learned, learned[train.col_counts > 0].min())

    path, best = list[float](), list[Model]()

    def after(done: int) -> None:
        if look is not None and done:
            path.append(float(look(served(now(), window, tau, IN_THEORY[loss]), window).mean()))
            if path[-1] == max(path):
                best[:] = [now()]

    learn = [people, films, *([own] if loss == OWN else [])]
    train_on_pairs(train, of_batch, learn, generator, passes=passes, batch=negatives.BATCH, after_pass=after)
    return (best[0] if best else now()), path


def held(tables: scoreboard.Tables, counts: NDArray[np.int64]) -> dict[str, float]:
    """How much of popularity the scores of a model hold, each film as often as it has known pairs.

    "held": the slope of a film's mean score over all people against the log of its count; logQ aims at 1, plain at 0.
    "common": the share of the variance of a person's scores that all people have in common.
    """
    people, films = tables
    shares = counts / counts.sum()
    known = counts > 0
    log_counts = np.log(np.where(known, counts, 1))
    centred = films - shares @ films
    spread = centred.T @ (shares[:, None] * centred)  # (d, d)
    mean = people.mean(axis=0)
    away = shares * (log_counts - shares @ log_counts)
    return {
        "held": float(away @ (centred @ mean) / (away @ log_counts)),
        "common": float(mean @ spread @ mean / np.sum((people @ spread) * people, axis=1).mean()),
    }


@experiment(
    "PRACTICE-6",
    "how much of popularity cosines hold, and where the rest of it stands, later in time (ours)",
    plan=plan,
    estimate=seconds,
    describe=RECIPES.describe,
    finish=scoreboard.named_by("data", "loss", "tau", "weight", "weighted", "metric"),
    layout=shown("data", "loss", "tau", "weight", metrics=(RECALL, "films shown"), digits=3),
    rules=Rules(path="stored", lists=True, predictions="4c981584"),
)
def held_cell(cell: HeldCell) -> list[Row]:
    """All losses at one temperature at every weight of the counts, or the lists without a model.

    "passes", "weight", "found_before": a `Setting`. "minus plain": the difference of each person's mean over the seeds
    to plain's, both with the weight chosen or both with that of theory, as "weighted" says. "minus theory": of one
    loss, with the weight chosen to that of theory. Both with `half` of Student's 95 % interval over `people`.
    """
    before, test = scoreboard.windows(RECIPES.load(cell["data"]), (0.8, 0.9))
    if cell["tau"] is None:
        return negatives.list_rows(cell["data"], before, test)
    with scoreboard.one_thread():
        return _model_rows(cell, cell["tau"], before, test)


def _model_rows(cell: HeldCell, tau: float, before: Window, test: Window) -> list[Row]:
    measure = rate_of(cell["data"])
    rows, of_plain = list[Row](), dict[str, Float]()
    for loss in LOSSES:
        where = {"data": cell["data"], "loss": loss, "tau": tau}
        setting, path = chosen(loss, before, tau, cell["passes"], measure)
        rows += tidy(where, setting._asdict())
        rows.append(scoreboard.path_row(where, f"validation {RECALL}", path))
        each: dict[float, list[Float]] = {weight: [] for weight in WEIGHTS}
        for seed in cell["seeds"]:
            model, _ = trained(loss, test, tau, setting.passes, seed)
            rows += tidy({**where, "seed": seed}, held(served(model, test, tau, 0.0), test.train.col_counts))
            for weight in WEIGHTS:
                tables = served(model, test, tau, weight)
                each[weight].append(measure(tables, test))
                rows += tidy({**where, "weight": weight, "seed": seed}, negatives.described(tables, test, measure))
        weights = {"chosen": setting.weight, "in theory": IN_THEORY[loss]}
        person = {which: np.mean(each[weight], axis=0) for which, weight in weights.items()}
        more = person["chosen"] - person["in theory"]
        rows.append(negatives.over_people({**where, "weighted": "chosen"}, "minus theory", more))
        of_plain = of_plain or person
        if loss != PLAIN:
            apart = {which: values - of_plain[which] for which, values in person.items()}
            rows += [
                negatives.over_people({**where, "weighted": which}, "minus plain", values)
                for which, values in apart.items()
            ]
    return rows


def chosen(loss: str, before: Window, tau: float, passes: int, measure: scoreboard.Rate) -> tuple[Setting, list[float]]:
    """The passes and then the weight that find most in the window before, and the recall on the way."""
    model, path = trained(loss, before, tau, passes, 0, measure)
    found = {weight: float(measure(served(model, before, tau, weight), before).mean()) for weight in WEIGHTS}
    weight = max(found, key=lambda one: found[one])
    return Setting(1 + int(np.argmax(path)), weight, found[weight]), path


def verdicts(result: Result) -> dict[str, tuple[str, bool]]:
    """Name of a prediction -> its words, and whether it held in PRACTICE-6."""

    def of(metric: str, loss: str, *taus: float) -> list[list[float]]:
        """For each data set the numbers at these temperatures."""
        return [[result.mean(metric, data=data, loss=loss, tau=tau) for tau in taus] for data in PASSES]

    def close(loss: str, weighted: str, *taus: float) -> bool:
        rows = result.select(metric="minus plain", loss=loss, weighted=weighted)
        return all(abs(row["value"]) <= 0.01 for row in rows if row["tau"] in taus)

    falling = of("held", LOGQ, *TEMPERATURES)
    weights = {loss: np.array(of("weight", loss, *TEMPERATURES)) for loss in (PLAIN, LOGQ)}
    holds = {
        "falls": all(a > b for line in falling for a, b in pairwise(line)),
        "half": all(line[-1] < 0.5 for line in falling),
        "plain": bool(np.all(np.abs(of("held", PLAIN, *TEMPERATURES)) < 0.25)),
        "number": bool(np.all(np.array(of("held", OWN, *TEMPERATURES)) >= 0.8)),
        "weight": bool(np.all(weights[LOGQ][:, 2:] > 0)),
        "order": bool(np.all(weights[PLAIN] > weights[LOGQ])),
        "same": close(LOGQ, "chosen", *TEMPERATURES),
        "place": close(OWN, "in theory", 0.5, 1.0),
    }
    return {name: (words, holds[name]) for name, words in PREDICTIONS.items()}

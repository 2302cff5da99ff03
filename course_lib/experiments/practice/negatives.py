"""PRACTICE-2: losses and temperatures on two cosine tables, served alone and with today's hits, later in time.

The last tenth of the pairs in time is the test, the tenth before is the validation, and people without an earlier pair
are left out. What the hits count, and how fast they age, is chosen on the validation, for each loss and temperature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from course_lib import hits, losses
from course_lib.experiments.core.data import Recipes
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.rules import Rules
from course_lib.experiments.core.summary import Row, half_width, tidy
from course_lib.experiments.practice import scoreboard
from course_lib.experiments.practice.judging import rate_of
from course_lib.experiments.practice.scoreboard import Rate, Window, chosen_list, list_tables
from course_lib.interactions import Interactions
from course_lib.training import resumable
from course_lib.training.on_pairs import BatchLoss, new_tables, train_on_pairs

Float = NDArray[np.float64]
Tables = tuple[Tensor, Tensor]

RECIPES = Recipes(
    "PRACTICE-2",
    {
        "movietweetings-10core": {"name": "movietweetings", "min_rating": 7, "core": 10},
        "ml-1m": {"name": "ml-1m", "min_rating": 4},
    },
)
TOP, WIDTH, BATCH, HARDEST_OF, RECENT = 10, 32, 512, 8, 5.0  # RECENT: half life in days
HALF_LIVES, WEIGHTS = (2.0, 3.0, 5.0, 7.0, 10.0, 20.0, 50.0), (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
LOOKS = 10  # along a path

# Committed before the run. MovieTweetings had been seen in part (plain, logQ and mixed with hits at one temperature
# each, two to five seeds), ML-1M with plain at 0.5 and logQ alone; sigmoid, hardest and refined had not been served.
PREDICTIONS = {
    "agree": "At τ 0.2 on MovieTweetings, served with hits, each loss finds plain's recall to within .01.",
    "films": "Served with hits at τ 0.5, plain shows at least twice as many films as logQ, on both data sets.",
    "hard": "The hardest of eight beside the batch changes logQ's recall by at most .01, at τ 0.2 and 0.5, with hits "
    "and alone.",
    "refined": "Served with hits, the refined logQ of 2025 finds logQ's recall to within .01, at τ 0.2 and 0.5.",
    "in time": "On MovieTweetings, batches in order of time change plain's recall with hits by less than half the "
    "width of the interval over people, at τ 0.2 and 0.5.",
    "list": "Plain with hits at τ 0.5 beats the list of hits that validation chose, by the interval over people, on "
    "both data sets.",
    "alone": "No loss at any τ, served alone, reaches that list, on both data sets.",
    "variety": "Served alone, logQ shows fewer films at each higher τ, on MovieTweetings.",
}


class NegativesCell(TypedDict):
    """The losses trained at one temperature, all seeds; tau None: the lists without a model."""

    data: str
    tau: float | None
    losses: list[str]
    passes: int
    seeds: list[int]
    tuned: int


def plan(scale: str, seeds: Seeds) -> list[NegativesCell]:
    """One cell for each data set and temperature, with all seeds; `tuned` of them choose what the hits count."""
    every, two = list(LOSSES), ["plain", "logQ"]
    small = {"movietweetings-10core": {0.5: two}}
    large = {"movietweetings-10core": {0.5: every, 0.2: every, 1.0: two, 0.1: two}, "ml-1m": {0.5: two}}
    passes = {"movietweetings-10core": 2 if scale == "smoke" else 20, "ml-1m": 4}
    return [
        NegativesCell(data=data, tau=tau, losses=chosen, passes=passes[data], seeds=sorted(seeds), tuned=1)
        for data, temperatures in (small if scale == "smoke" else large).items()
        for tau, chosen in [(None, []), *temperatures.items()]
    ]


def seconds(cell: NegativesCell) -> float:
    """A rough guess, on two cores."""
    each = {"movietweetings-10core": 0.2, "ml-1m": 6.0}[cell["data"]] * cell["passes"]
    return 10 + each * len(cell["losses"]) * (len(cell["seeds"]) + cell["tuned"])


# ---- the losses ----------------------------------------------------------------------------------------------------


def loss_of(
    name: str, train: Interactions, tables: Tables, tau: float, generator: torch.Generator
) -> tuple[BatchLoss, list[Tensor]]:
    """The loss of a batch, and what is trained beside the tables: the bias of the sigmoid loss."""
    people, films = tables
    shares = torch.tensor(losses.mixed_log_q(np.maximum(train.col_counts, 1), 0.0), dtype=torch.float32)

    def cosines(u: Tensor, i: Tensor) -> Tensor:
        return F.normalize(people[u], dim=1) @ F.normalize(films[i], dim=1).T

    def softmax(log_q: Tensor) -> BatchLoss:
        return lambda u, i: F.cross_entropy(cosines(u, i) / tau - log_q[i], torch.arange(len(u)))

    def mixed(u: Tensor, i: Tensor) -> Tensor:
        both = torch.cat([i, torch.randint(train.n_items, i.shape, generator=generator)])
        log_q = torch.tensor(losses.mixed_log_q(train.col_counts, 0.5), dtype=torch.float32)
        return F.cross_entropy(cosines(u, both) / tau - log_q[both], torch.arange(len(u)))

    def refined(u: Tensor, i: Tensor) -> Tensor:
        return refined_log_q(cosines(u, i) / tau, i, shares)

    def hardest(u: Tensor, i: Tensor) -> Tensor:
        everywhere = cosines(u, torch.arange(train.n_items)) / tau
        extra, log_p = hardest_of(everywhere.detach(), HARDEST_OF, generator)
        own = everywhere.gather(1, extra[:, None]) - log_p[:, None]
        own = own.masked_fill((extra == i)[:, None], -torch.inf)
        return F.cross_entropy(torch.cat([everywhere[:, i] - shares[i], own], dim=1), torch.arange(len(u)))

    if name == "sigmoid":
        bias = torch.tensor(-float(np.log(BATCH)), requires_grad=True)
        return lambda u, i: losses.in_batch_sigmoid(cosines(u, i), scale=1 / tau, bias=bias), [bias]
    recent = np.log(hits.decayed_counts(train, RECENT) + hits.FLOOR) if train.times is not None else np.zeros(0)
    found: dict[str, BatchLoss] = {
        "plain": softmax(torch.zeros(train.n_items)),
        "in time": softmax(torch.zeros(train.n_items)),
        "logQ": softmax(shares),
        "recent logQ": softmax(torch.tensor(recent, dtype=torch.float32)),
        "mixed": mixed,
        "hardest": hardest,
        "refined": refined,
    }
    return found[name], []


def refined_log_q(logits: Tensor, items: Tensor, log_q: Tensor) -> Tensor:
    """The logQ of 2025: the positive is not in the sum, and a row counts what the model may still be wrong.

    logits (B, B), the positives on the diagonal; items (B,); log_q (n,). With q'_j = q_j / (1 - q_y) the law of a
    candidate that is not the positive y, a row costs (1 - p) (log sum_j exp(s_j) / q'_j - s_y), and p, the
    probability of y against the mean of exp(s_j) / q'_j, gets no gradient. Source: Khrylchenko et al., RecSys 2025
    (arXiv 2507.09331), as its authors' code has it.
    """
    positive = logits.diagonal()
    rest = (logits - log_q[items]).masked_fill(items[:, None] == items, -torch.inf)
    total = torch.logsumexp(rest, dim=1) + torch.log1p(-log_q[items].exp())
    number = torch.log(torch.isfinite(rest).sum(1).clamp(min=1))
    weight = torch.sigmoid(total - number - positive).detach()  # 1 - p
    return (weight * (total - positive)).mean()


def hardest_of(scores: Tensor, m: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """(B,) the item of highest score among m drawn for each row, and (B,) the log of the probability of its rank."""
    n = scores.shape[1]
    drawn = torch.rand(scores.shape, generator=generator).topk(m, dim=1).indices
    own = scores.gather(1, drawn)
    best = own.max(1)
    rank = (scores > best.values[:, None]).sum(1)
    law = torch.tensor(losses.hardest_law(n, m, 1), dtype=torch.float32)
    return drawn.gather(1, best.indices[:, None])[:, 0], law[rank].clamp(min=1e-30).log()


LOSSES = ("plain", "in time", "logQ", "recent logQ", "mixed", "sigmoid", "hardest", "refined")


@resumable.once
def trained(
    name: str,
    train: Interactions,
    tau: float,
    passes: int,
    seed: int,
    look: Callable[[Tables, float], object] | None = None,
) -> Tables:
    """The tables after all passes; look: called along the way with the tables and the mean loss since the last look."""
    generator = torch.Generator().manual_seed(seed)
    tables = new_tables(train, WIDTH, generator)
    loss, more = loss_of(name, train, tables, tau, generator)
    values: list[float] = []

    def told(u: Tensor, i: Tensor) -> Tensor:
        value = loss(u, i)
        values.append(float(value.detach()))
        return value

    def after(done: int) -> None:
        if look is not None and done % max(1, passes // LOOKS) == 0:
            look((tables[0].detach(), tables[1].detach()), float(np.mean(values)) if values else float("nan"))
            values.clear()

    train_on_pairs(
        train,
        told,
        [*tables, *more],
        generator,
        passes=passes,
        batch=BATCH,
        in_time=name == "in time",
        after_pass=after,
    )
    return tables[0].detach(), tables[1].detach()


# ---- windows, and what lists find in them --------------------------------------------------------------------------


def windows(data: str) -> tuple[Window, Window]:
    """(validation, test): the ninth tenth of the pairs in time, known the eight before; and the last tenth."""
    known, later = hits.known_later(RECIPES.load(data), 0.9)

    def window(train: Interactions, later: Interactions) -> Window:
        assert train.times is not None
        people, films = (np.arange(rows) for rows in train.shape)
        return Window(train, later, people, films, float(train.times.max()))

    return window(*hits.known_later(known, 8 / 9)), window(known, later)


def described(tables: scoreboard.Tables, window: Window, rate: Rate) -> dict[str, float]:
    """Recall, how many different films the lists show, and the mean number of known pairs of a film in a list."""
    shows = scoreboard.shown(tables, window)
    recall = float(rate(tables, window).mean())
    return {f"recall@{TOP}": recall, "films shown": shows["films shown"], "mean count": shows["mean count@10"]}


# ---- the cells -----------------------------------------------------------------------------------------------------


@experiment(
    "PRACTICE-2",
    "losses and temperatures, served alone and with today's hits, later in time (ours)",
    plan=plan,
    estimate=seconds,
    describe=RECIPES.describe,
    finish=scoreboard.named_by("data", "loss", "tau", "serving", "metric"),
    layout=shown("data", "loss", "tau", "serving", metrics=(f"recall@{TOP}", "films shown"), digits=3),
    rules=Rules(path="stored", lists=True, predictions="a21f09b0"),
)
def negatives_cell(cell: NegativesCell) -> list[Row]:
    """Every loss at one temperature, or the lists without a model.

    Along the trainings that choose what hits count: loss and recall on validation, alone. Then trained on all that is
    known before the test. "minus the list", "minus plain": differences of each person's mean over the seeds, with
    `half` of Student's 95 % interval over `people`.
    """
    validation, test = windows(cell["data"])
    if cell["tau"] is None:
        return list_rows(cell["data"], validation, test)
    with scoreboard.one_thread():
        return _model_rows(cell, cell["tau"], validation, test)


def list_rows(data: str, validation: Window, test: Window) -> list[Row]:
    """Most popular, popular in the last tenth of the known pairs, decayed, the best decayed in hindsight, chance."""
    rng, rate = np.random.default_rng(0), rate_of(data)
    kinds: dict[str, scoreboard.Kind] = {"most popular": "popular", "popular lately": "last tenth"}
    half_life = {"hits": chosen_list(validation, rate, HALF_LIVES)}
    half_life["hits, chosen in hindsight"] = chosen_list(test, rate, HALF_LIVES)
    lists = {name: list_tables(test, kind) for name, kind in (kinds | half_life).items()}
    lists["chance"] = rng.normal(size=(test.train.n_users, 16)), rng.normal(size=(test.train.n_items, 16))
    return [
        row
        for name, tables in lists.items()
        for row in tidy(
            {"data": data, "loss": name, "serving": "list"},
            described(tables, test, rate) | ({"half life": half_life[name]} if name in half_life else {}),
        )
    ]


def _model_rows(cell: NegativesCell, tau: float, validation: Window, test: Window) -> list[Row]:
    """The rows of all losses at one temperature."""
    rate = rate_of(cell["data"])
    own = rate(list_tables(test, chosen_list(validation, rate, HALF_LIVES)), test)
    rows: list[Row] = []
    with_hits: dict[str, Float] = {}
    for name in cell["losses"]:
        where = {"data": cell["data"], "loss": name, "tau": tau}
        (half_life, weight), looks = tuned(cell, name, tau, validation)
        rows += [*looks, *tidy(where, {"half life": half_life, "weight": weight})]
        each: dict[str, list[Float]] = {"alone": [], "with hits": []}
        for seed in cell["seeds"]:
            tables = trained(name, test.train, tau, cell["passes"], seed)
            for serving, count in (("alone", 0.0), ("with hits", weight)):
                served = scoreboard.with_hits(tables, test, tau, half_life, count)
                each[serving].append(rate(served, test))
                rows += tidy({**where, "serving": serving, "seed": seed}, described(served, test, rate))
        person = {serving: np.mean(values, axis=0) for serving, values in each.items()}
        with_hits[name] = person["with hits"]
        for serving, values in person.items():
            rows.append(over_people({**where, "serving": serving}, "minus the list", values - own))
        compared = ["plain", *(["logQ"] if name in ("hardest", "refined") else [])]
        for other in compared:
            if other in with_hits and other != name:
                change = with_hits[name] - with_hits[other]
                rows.append(over_people({**where, "serving": "with hits"}, f"minus {other}", change))
    return rows


def over_people(where: Row, metric: str, differences: Float) -> Row:
    """The mean difference of the people, with half of Student's interval."""
    return {
        **where,
        "metric": metric,
        "value": float(differences.mean()),
        "half": half_width(differences),
        "people": len(differences),
    }


@resumable.once
def tuned(cell: NegativesCell, name: str, tau: float, validation: Window) -> tuple[tuple[float, float], list[Row]]:
    """What finds most of the validation: (half life, weight of the hits); and the paths of these trainings."""
    found, rows, rate = np.zeros((len(HALF_LIVES), len(WEIGHTS))), list[Row](), rate_of(cell["data"])
    for seed in cell["seeds"][: cell["tuned"]]:
        path: dict[str, list[float | None]] = {"training loss": [], f"validation recall@{TOP}": []}

        def look(tables: Tables, loss: float, path: dict[str, list[float | None]] = path) -> None:
            recall = float(rate(scoreboard.alone(tables, tau), validation).mean())
            path["training loss"].append(round(loss, 4) if np.isfinite(loss) else None)
            path[f"validation recall@{TOP}"].append(round(recall, 4))

        tables = trained(name, validation.train, tau, cell["passes"], seed, look)
        for line, half in enumerate(HALF_LIVES):
            for column, weight in enumerate(WEIGHTS):
                served = scoreboard.with_hits(tables, validation, tau, half, weight)
                found[line, column] += rate(served, validation).mean()
        where = {"data": cell["data"], "loss": name, "tau": tau, "seed": seed}
        rows += [
            {**where, "metric": metric, "value": values[-1], "path": values, "serving": "on validation"}
            for metric, values in path.items()
        ]
    line, column = divmod(int(found.argmax()), len(WEIGHTS))
    return (HALF_LIVES[line], WEIGHTS[column]), rows

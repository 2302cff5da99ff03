"""PRACTICE-1: the scoreboard. What lists without a model and four trainings find later in time, by three protocols.

"core of all": chapter 0's data, a core of people and films taken from all pairs, cut at 80 and 90 % of the pairs in
time; settings are chosen between the cuts and judged after the second. "core of the past": the same cuts, and the core
is taken from the earlier pairs only, as anybody would have to who does not know the future. "five windows": cores of
the past at 50, 60, ... 90 %; settings are chosen in each window and judged in the next, and four judged windows are
pooled by person. "thirteen seeds" trains one model thirteen times and compares twelve with the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from course_lib.experiments.core.data import Recipes
from course_lib.experiments.core.machine import threads_for
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, means, part, tidy
from course_lib.experiments.practice import scoreboard
from course_lib.experiments.practice.scoreboard import Float, Kind, Rate, Tables, Window

PREDICTIONS = (
    "Written down before the run, after a first look at some of these numbers with other code and fewer seeds. "
    "1. On each data set the order of the rows by the expected hit among 20 sampled films differs from their order "
    "among all films. "
    "2. On MovieTweetings every model alone finds less than the list that was chosen in the window before, in every "
    "judged window of every protocol. "
    "3. In at least three of the four judged windows of the protocol of five windows, the training in order of time, "
    "served with hits, finds more than the chosen list. "
    "4. On ML-1M the plain training served with hits finds more than the chosen list, and the interval over people "
    "lies above 0. "
    "5. On the core of all, the plain training with hits shows at least twice as many films as the corrected one with "
    "hits. "
    "6. On the core of all, of the films outside the 100 hottest the corrected training alone finds more than the list "
    "that was chosen for them, and the interval over people lies above 0. "
    "7. Of twelve trainings compared with a thirteenth of the same model, at least one differs at the level of 5 % "
    "before Holm's correction, and none after it."
)
RECIPES = Recipes(
    "the practice part",
    {
        "movietweetings": {"name": "movietweetings", "min_rating": 7},
        "movietweetings-10core": {"name": "movietweetings", "min_rating": 7, "core": 10},
        "ml-1m": {"name": "ml-1m", "min_rating": 4},
    },
)


class Protocol(NamedTuple):
    """Where time is cut, and which core is taken from the pairs before a cut (None: what the data came with)."""

    cuts: tuple[float, ...]
    core: int | None = None


PROTOCOLS = {
    "core of all": Protocol((0.8, 0.9)),
    "core of the past": Protocol((0.8, 0.9), 10),
    "five windows": Protocol((0.5, 0.6, 0.7, 0.8, 0.9), 5),
}
MODELS: dict[str, dict[str, Any]] = {
    "first model": {"tau": 0.2},
    "logQ": {"tau": 0.2, "corrected": True},
    "plain": {"tau": 0.5},
    "plain in time": {"tau": 0.5, "in_time": True},
}
LISTS: tuple[Kind, ...] = ("popular", "last tenth", *scoreboard.HALF_LIVES)
HOTTEST = 100  # films that the second shelf is without
PASSES = {"ml-1m": 4}  # of 20 on the smaller sets
SAMPLED = "core of all"  # the protocol whose rows are also judged by samples
LEFT_OUT = ("recall", "recall half", "hindsight half")
NOTHING = "thirteen seeds"
MORE_SEEDS = 12  # beyond the first, of one model


class ScoreCell(TypedDict):
    """One model, or the lists, by one protocol on one data set, over all its seeds: people are compared across them."""

    data: str
    protocol: str
    model: str
    passes: int
    seeds: list[int]


def plan(scale: str, seeds: Seeds, *, data: str | None = None) -> list[ScoreCell]:
    """Lists and models on each data set and protocol; smoke: two passes, one model on the core of all."""
    if scale == "smoke":
        cell = ScoreCell(data="movietweetings-10core", protocol="core of all", model="lists", passes=2, seeds=[*seeds])
        return [cell, {**cell, "model": "logQ"}]
    places = {
        "movietweetings-10core": (("core of all", tuple(MODELS)),),
        "movietweetings": (("core of the past", tuple(MODELS)[1:]), ("five windows", tuple(MODELS)[1:])),
        "ml-1m": (("core of all", tuple(MODELS)[1:]),),
    }
    cells = [
        ScoreCell(data=name, protocol=protocol, model=model, passes=PASSES.get(name, 20), seeds=[*seeds])
        for name in (places if data is None else [data])
        for protocol, models in places[name]
        for model in ("lists", *models)
    ]
    if data in (None, "movietweetings-10core"):
        nothing = ScoreCell(data="movietweetings-10core", protocol=NOTHING, model="logQ", passes=20, seeds=[])
        cells.append({**nothing, "seeds": list(range(MORE_SEEDS + 1))})
    return cells


def seconds(cell: ScoreCell) -> float:
    """A guess on one idle core."""
    if cell["model"] == "lists":
        return 20.0
    cuts = 1 if cell["protocol"] == NOTHING else len(PROTOCOLS[cell["protocol"]].cuts)
    return len(cell["seeds"]) * cuts * cell["passes"] * (5.0 if cell["data"] == "ml-1m" else 0.3)


def scalars(rows: list[Row]) -> dict[str, float]:
    """What the chapter's page and claims name: the mean over seeds of each recall."""
    named = (row for row in rows if row["metric"] in ("recall@10", "gain") and "row" in row)
    keys = ("data", "protocol", "window", "row", "metric")
    return means(named, lambda row: "-".join(str(row[key]) for key in keys).replace(" ", "-"))


@lru_cache(maxsize=4)
def windows_of(data: str, protocol: str) -> tuple[Window, ...]:
    """The windows of a protocol, in order of time."""
    return tuple(scoreboard.windows(RECIPES.load(data), *PROTOCOLS[protocol]))


def rate_of(data: str) -> Rate:
    """Recall@10; on ML-1M, where two people of three have more than ten later films, with at most ten counted."""
    return scoreboard.capped_recall if data == "ml-1m" else scoreboard.recall


@experiment(
    "PRACTICE-1",
    "the scoreboard: lists without a model and cosine models with and without hits, later in time (ours)",
    plan=plan,
    estimate=seconds,
    describe=RECIPES.describe,
    finish=scalars,
    layout=shown(
        "data",
        "protocol",
        "window",
        "row",
        metrics=("recall@10", "gain", "gain low", "gain high", "films shown", "beyond@10"),
        digits=3,
    ),
)
def score_cell(cell: ScoreCell) -> list[Row]:
    """The rows of a scoreboard: "row" is the list or the model as it is served, "window" the judged one, from 1 on.

    With a seed: recall@10, and the sampled hit, whose path is along `scoreboard.SAMPLES`. As means over seeds: films
    shown, mean count@10, beyond@10 (recall of the films outside the 100 hottest, in lists of such films). Half life and
    weight as chosen. And over people, from each person's mean over seeds: recall (low, high), its gain over the list
    that the window before chose, and "hindsight", its gain over the list that is best in the judged window itself.
    """
    with threads_for(RECIPES.load(cell["data"])):
        if cell["protocol"] == NOTHING:
            return nothing_rows(cell)
        found = windows_of(cell["data"], cell["protocol"])
        return list_rows(cell, found) if cell["model"] == "lists" else model_rows(cell, found)


# --------------------------------------------------------------------------------------------------------------- lists
def best_lists(found: Sequence[Window], rate: Rate) -> list[Kind]:
    """For each judged window the list that the window before chose."""
    return [scoreboard.chosen_list(before, rate, LISTS) for before in found[:-1]]


def hottest(window: Window) -> NDArray[np.int64]:
    """The hundred films with most pairs in the last tenth of the earlier pairs."""
    _, counts = scoreboard.list_tables(window, "last tenth")
    return np.argsort(-counts[:, 0], kind="stable")[:HOTTEST]


def list_rows(cell: ScoreCell, found: Sequence[Window]) -> list[Row]:
    """Popular, the last tenth, the decayed counts whose half life was chosen, the chosen list of all, and chance."""
    rate, rows = rate_of(cell["data"]), []
    chosen = best_lists(found, rate)
    gains: dict[str, list[Float]] = {}
    for place, (before, window) in enumerate(pairwise(found)):
        half = scoreboard.chosen_list(before, rate, scoreboard.HALF_LIVES)
        beyond = tuple(scoreboard.without(one, hottest(one)) for one in (before, window))
        shelf = scoreboard.chosen_list(beyond[0], rate, LISTS)
        hit = {kind: rate(scoreboard.list_tables(window, kind), window) for kind in LISTS}
        best = max(LISTS, key=lambda kind: float(hit[kind].mean()))
        kinds: dict[str, Kind] = {"popular": "popular", "last tenth": "last tenth", "decayed": half}
        for name, kind in (kinds | {"chosen list": chosen[place], "best list in hindsight": best}).items():
            where = {**part(cell, "data protocol"), "window": place + 1, "row": name}
            tables, outside = scoreboard.list_tables(window, kind), scoreboard.list_tables(beyond[1], shelf)
            rows += said_of(where, [tables], window, cell["seeds"][:1], rate)
            if name == "chosen list":
                rows += tidy({**where, "seed": cell["seeds"][0]}, {"beyond@10": float(rate(outside, beyond[1]).mean())})
                rows += tidy(where, {"people": len(hit[kind]), "pairs": len(window.later)})
                rows += tidy(where, {"films": window.train.n_items, "known people": window.train.n_users})
            rows += tidy(where, {} if isinstance(kind, str) else {"half life": kind})
            rows += compared(where, hit[kind], hit[chosen[place]], hit[best])
            gains.setdefault(name, []).append(hit[kind] - hit[chosen[place]])
        where = {**part(cell, "data protocol"), "window": place + 1, "row": "chance"}
        rngs = [np.random.default_rng([seed, 1]) for seed in cell["seeds"]]
        m, n = window.train.shape
        drawn = [(rng.standard_normal((m, 32)), rng.standard_normal((n, 32))) for rng in rngs]
        rows += said_of(where, drawn, window, cell["seeds"], rate)
    return rows + pooled(cell, gains, found)


def said_of(where: Row, served: Sequence[Tables], window: Window, seeds: Sequence[int], rate: Rate) -> list[Row]:
    """What the tables of each seed find and how their sampled hit goes; what they show, as a mean over the seeds."""
    rows: list[Row] = []
    for seed, tables in zip(seeds, served, strict=True):
        rows += tidy({**where, "seed": seed}, {"recall@10": float(rate(tables, window).mean())})
        if where["protocol"] == SAMPLED:
            path = [round(value, 5) for value in scoreboard.sampled_path(tables, window)]
            rows += tidy({**where, "seed": seed}, {"sampled hit": path[-1]}, path=path)
    shows = [scoreboard.shown(tables, window) for tables in served]
    return rows + tidy(where, {name: float(np.mean([one[name] for one in shows])) for name in shows[0]})


def compared(where: Row, values: Float, listed: Float, hindsight: Float) -> list[Row]:
    """Over people: the recall, its gain over the chosen list, and over the list that is best in hindsight."""
    said = scoreboard.over_people(values, "recall")
    said |= scoreboard.over_people(values - listed, "gain") | scoreboard.over_people(values - hindsight, "hindsight")
    return tidy(where, {name: value for name, value in said.items() if name not in LEFT_OUT})


def pooled(cell: ScoreCell, gains: Mapping[str, Sequence[Float]], found: Sequence[Window]) -> list[Row]:
    """Several judged windows: each person's mean gain over their windows, and in how many the mean is above 0."""
    if len(found) < 3:
        return []
    rows: list[Row] = []
    for name, values in gains.items():
        where = {**part(cell, "data protocol"), "window": 0, "row": name}
        rows += tidy(where, scoreboard.over_people(scoreboard.by_person(values, found[1:]), "gain"))
        rows += tidy(where, {"windows won": sum(float(one.mean()) > 0 for one in values), "windows": len(values)})
    return rows


# -------------------------------------------------------------------------------------------------------------- models
def model_rows(cell: ScoreCell, found: Sequence[Window]) -> list[Row]:
    """One training in every window and seed, served alone and with the hits that the window before chose."""
    rate, settings = rate_of(cell["data"]), MODELS[cell["model"]]
    tau, rows = settings["tau"], []
    trained: list[list[Tables]] = []
    for place, window in enumerate(found):
        trained.append([])
        for seed in cell["seeds"]:
            tables, losses, rates = scoreboard.cosine_training(
                window, rate, **settings, passes=cell["passes"], seed=seed
            )
            trained[-1].append(tables)
            if not place:  # the window that chooses; the judged ones are looked at once, at the end
                where = {**part(cell, "data protocol"), "window": 0, "row": cell["model"]}
                rows += scoreboard.path_rows(where, losses, rates, seed)
    chosen = best_lists(found, rate)
    gains: dict[str, list[Float]] = {}
    for place, (before, window) in enumerate(pairwise(found)):
        half, weight = scoreboard.chosen_hits(before, trained[place], tau, rate)
        listed = rate(scoreboard.list_tables(window, chosen[place]), window)
        best = max((rate(scoreboard.list_tables(window, kind), window) for kind in LISTS), key=lambda one: one.mean())
        for name, by_hits in ((cell["model"], 0.0), (f"{cell['model']} + hits", weight)):
            where = {**part(cell, "data protocol"), "window": place + 1, "row": name}
            served = [scoreboard.with_hits(one, window, tau, half, by_hits) for one in trained[place + 1]]
            rows += said_of(where, served, window, cell["seeds"], rate)
            rows += tidy(where, {"half life": half, "weight": by_hits})
            mean = np.mean([rate(tables, window) for tables in served], axis=0)
            rows += compared(where, mean, listed, best)
            gains.setdefault(name, []).append(mean - listed)
        if len(found) == 2:
            rows += beyond_rows(cell, before, window, (trained[place], trained[place + 1]))
    return rows + pooled(cell, gains, found)


def beyond_rows(
    cell: ScoreCell, before: Window, window: Window, trained: tuple[Sequence[Tables], Sequence[Tables]]
) -> list[Row]:
    """On the second shelf, without the hundred hottest films: alone and with hits, beside the list chosen for it."""
    rate, tau, rows = rate_of(cell["data"]), MODELS[cell["model"]]["tau"], []
    kept = [np.setdiff1d(np.arange(one.train.n_items), hottest(one)) for one in (before, window)]
    shelves = [scoreboard.without(one, hottest(one)) for one in (before, window)]
    half, weight = scoreboard.chosen_hits(shelves[0], trained[0], tau, rate, kept[0])
    listed = rate(scoreboard.list_tables(shelves[1], scoreboard.chosen_list(shelves[0], rate, LISTS)), shelves[1])
    for name, by_hits in ((cell["model"], 0.0), (f"{cell['model']} + hits", weight)):
        where = {**part(cell, "data protocol"), "window": 1, "row": name}
        each = [
            rate(scoreboard.with_hits((users, items[kept[1]]), shelves[1], tau, half, by_hits), shelves[1])
            for users, items in trained[1]
        ]
        rows += tidy(where, {"beyond@10": float(np.mean(each))})
        rows += tidy(where, {"beyond people": len(listed), "beyond weight": by_hits})
        rows += tidy(where, scoreboard.over_people(np.mean(each, axis=0) - listed, "beyond gain"))
    return rows


# --------------------------------------------------------------------------------------------------- nothing but seeds
def nothing_rows(cell: ScoreCell) -> list[Row]:
    """One model, trained thirteen times: the recall of each, and Student's paired p of each against the first."""
    window, settings = windows_of(cell["data"], "core of all")[1], MODELS[cell["model"]]
    found = []
    for seed in cell["seeds"]:
        tables, _, _ = scoreboard.cosine_training(
            window, scoreboard.recall, **settings, passes=cell["passes"], seed=seed
        )
        found.append(scoreboard.recall(scoreboard.alone(tables, settings["tau"]), window))
    rows = []
    for seed, values in zip(cell["seeds"], found, strict=True):
        where = {**part(cell, "data protocol"), "window": 1, "row": cell["model"], "seed": seed}
        rows += tidy(where, {"recall@10": float(values.mean())})
        if seed != cell["seeds"][0]:
            change = values - found[0]
            rows += tidy(where, {"change": float(change.mean()), "p": float(stats.ttest_1samp(change, 0.0).pvalue)})
    return rows

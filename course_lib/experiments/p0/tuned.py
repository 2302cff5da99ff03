"""Beside P0's remedies: a cosine whose temperature and rate are tuned, with and without the logQ correction (ours).

The remedies of `popularity` have one setting each, chosen by hand. A table that compares them with an untuned cosine
says little of cosines. So here a grid of settings is judged on a tenth of the training pairs, by the NDCG of the lists
by cosine; the best one is trained anew on all training pairs and judged on the test pairs, seed by seed.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch

from course_lib.experiments.core.data import drop_untrained
from course_lib.experiments.core.machine import fabric_for
from course_lib.experiments.core.registry import experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, part, tidy
from course_lib.experiments.p0 import popularity
from course_lib.experiments.p0.popularity import PopularityCell
from course_lib.interactions import Interactions
from course_lib.training import towers as training

HELD = 0.1  # of the training pairs, to choose on
CHOSEN_BY = "NDCG cos"


class TunedCell(PopularityCell):
    """One model; its `tau` and `lr` are those of P0-R, in place of which the best of `taus` x `rates` is taken."""

    taus: list[float]
    rates: list[float]


TUNED: dict[str, dict[str, Any]] = {
    "tuned": {"taus": [0.3, 1.0, 3.0], "rates": [10.0, 100.0]},
    "logQ, tuned": {"logq": True, "taus": [0.05, 0.1, 0.2], "rates": [10.0, 30.0]},
}


def tuned_settings(scale: str) -> dict[str, dict[str, Any]]:
    """Batches of 256, as for the remedies; smoke with a twelfth of the steps and two settings each."""
    if scale != "smoke":
        return {name: {"batch": 256, **changes} for name, changes in TUNED.items()}
    small = {"batch": 256, "long": 1 / 12}
    return {name: {**small, **changes, "rates": [10.0], "taus": changes["taus"][:2]} for name, changes in TUNED.items()}


def seconds(cell: TunedCell) -> float:
    """A rough guess: one training for each setting of the grid, and one more."""
    return (len(cell["taus"]) * len(cell["rates"]) + 1) * popularity.seconds(cell)


def judged(cell: TunedCell, train: Interactions, test: Interactions, tau: float, rate: float) -> dict[str, float]:
    """What `training.judge` finds after a training with this temperature and rate."""
    towers = training.lookup_towers(train, d=cell["d"], norm=cell["norm"], seed=cell["seed"])
    optimiser = torch.optim.SGD(towers.parameters(), lr=rate)
    how: dict[str, Any] = {**part(cell, "steps seed logq"), "batch_size": cell["batch"], "tau": tau}
    training.train_towers(towers, optimiser, train, **how, fabric=fabric_for(cell["device"]))
    return training.judge(towers, train, test, lists=popularity.list_length(train.n_items), seed=cell["seed"])


def scalars(rows: list[Row]) -> dict[str, float]:
    """Those of `popularity.scalars`, without the settings that were only tried."""
    return popularity.scalars([row for row in rows if "lr" not in row])


LAYOUT = shown("data", "setting", metrics=(*popularity.METRICS, "tau", "rate", "settings tried"), digits=3)


@experiment(
    "P0-C",
    "a cosine with temperature and rate chosen on a tenth of the training pairs, beside the remedies (ours)",
    plan=popularity.grid(tuned_settings, popularity.first_set),
    estimate=seconds,
    describe=popularity.describe,
    finish=scalars,
    layout=LAYOUT,
)
def tuned_cell(cell: TunedCell) -> list[Row]:
    """The grid under the metric "NDCG cos when choosing", and the best setting judged on the test pairs."""
    train, test = popularity.load_split(cell["data"], cell["seed"])
    rest, held = drop_untrained(*train.split_random(1 - HELD, np.random.default_rng(cell["seed"])))
    grid = list(itertools.product(cell["taus"], cell["rates"]))
    tried = {(tau, rate): judged(cell, rest, held, tau, rate)[CHOSEN_BY] for tau, rate in grid}
    tau, rate = max(tried, key=lambda setting: tried[setting])
    where = part(cell, "data setting steps seed")
    rows = tidy(where, judged(cell, train, test, tau, rate) | {"tau": tau, "rate": rate, "settings tried": len(tried)})
    for (one, other), value in tried.items():
        rows += tidy({**where, "tau": one, "lr": other}, {f"{CHOSEN_BY} when choosing": value})
    return rows

"""Tuning: a backbone and every method with the setting of the best validation MRR@10, and DDC on a trained backbone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from course_lib.debiasing import DDC
from course_lib.experiments.core.machine import fabric_for
from course_lib.experiments.p1.cells import TrainedCell
from course_lib.experiments.p1.data import load_split
from course_lib.experiments.p1.measures import RATIO, shifted
from course_lib.experiments.p1.models import Fitted, ModelCell, Watch, fitted, fitted_of, model_cell
from course_lib.training import resumable
from course_lib.training.recommenders import train_recommender

TOP = 0.3  # k of (10): P1, Section 5.1
FINE_RATE = 0.05  # DDC's own learning rate; batch, epochs and patience are those of its backbone
DECAYS = (0.03, 0.01, 0.003, 0.001)
GRAPH_DECAYS = (0.001, 0.0003, 0.0001, 0.003)  # of the backbones that average over the graph
FEW = {"limit": 256}  # rows of a batch that enter a contrast, whose cost is their square
# What every method may try, first the one of the smoke scale; "decay factor" is on the backbone's decay. From their
# authors' repositories: DICE's margin and pool of 40, MACR's c up to 40, PAAC's contrasts of 5 and 10, TPAB's 8 stages.
GRID: dict[str, tuple[dict[str, Any], ...]] = {
    "IPS": ({"power": 0.2}, {"power": 0.5}, {"power": 0.1}, {"power": 1.0}, {"power": 0.3}, {"power": 0.7}),
    "DICE": (
        {"weight": 0.3, "resample": False},
        {"weight": 0.3},
        {"weight": 0.1, "resample": False},
        {"weight": 1.0, "decay factor": 0.1},
        {"weight": 0.1, "margin": 40.0, "pool": 40},
        {"weight": 0.1, "margin": 40.0, "pool": 40, "decay factor": 0.1},
    ),
    "MACR": (
        *({"c": 1.0}, {"c": 10.0}, {"c": 1.0, "decay factor": 0.1}, {"c": 40.0}),
        *({"c": 0.5}, {"c": 40.0, "decay factor": 0.1}),
    ),
    "PC": (
        *({"alpha": 0.1}, {"alpha": 0.3}, {"alpha": 0.1, "beta": 0.1}, {"alpha": 1.0}),
        *({"alpha": 0.3, "beta": 0.1}, {"alpha": 0.03}),
    ),
    "PAAC": (
        {"contrast": 0.02, "align": 0.1, **FEW},
        {"contrast": 0.02, "align": 1.0, "decay factor": 0.1, **FEW},
        {"contrast": 0.02, "align": 0.1, "decay factor": 0.1, **FEW},
        {"contrast": 0.2, "align": 1.0, "decay factor": 0.1, **FEW},
        {"contrast": 5.0, "align": 50.0, "gamma": 0.2, "beta": 0.2, "decay factor": 0.1, **FEW},
        {"contrast": 10.0, "align": 1.0, "gamma": 0.8, "beta": 0.8, "decay factor": 0.1, **FEW},
    ),
    "DCCL": (
        {"weight_interest": 0.3, "weight_conformity": 0.1, **FEW},
        {"weight_interest": 0.1, "weight_conformity": 0.1, **FEW},
        {"weight_interest": 0.1, "weight_conformity": 0.1, "decay factor": 0.1, **FEW},
        {"weight_interest": 0.3, "weight_conformity": 0.3, **FEW},
        {"weight_interest": 0.03, "weight_conformity": 0.03, **FEW},
        {"weight_interest": 0.3, "weight_conformity": 0.1, "decay factor": 0.1, **FEW},
    ),
    "TPAB": (
        *({"stages": 1}, {"stages": 8, "decay factor": 0.1}, {"stages": 2}, {"stages": 1, "decay factor": 0.1}),
        *({"stages": 8}, {"stages": 2, "decay factor": 0.1}),
    ),
    "DDC": ({"top": 0.3}, {"top": 0.1}, {"top": 0.5}, {"top": 1.0}, {"top": 0.2}, {"top": 0.7}),
}
METHODS = tuple(GRID)  # in the order of P1's Table 3


def chosen_backbone(cell: TrainedCell, backbone: str) -> dict[str, Any]:
    """The backbone's options with the best validation MRR@10 at the tuning seed."""
    tries = [{"decay": decay} for decay in (DECAYS if backbone == "MF" else GRAPH_DECAYS)[: cell["tries"][0]]]
    return best_of(tries, lambda options: fitted(model_cell(cell, backbone, cell["tuning seed"], **options)))


def best_of(tries: list[dict[str, Any]], model: Callable[[dict[str, Any]], Fitted]) -> dict[str, Any]:
    """The options whose model has the best validation MRR@10; one alone needs no training."""
    return tries[0] if len(tries) == 1 else max(tries, key=lambda options: model(options).valid)


def tuned_backbone(cell: TrainedCell, backbone: str) -> Fitted:
    """The backbone with its chosen options, trained with the cell's own seed."""
    return fitted(model_cell(cell, backbone, cell["seed"], **chosen_backbone(cell, backbone)))


def method_model(cell: TrainedCell, decay: float, method: str, seed: int, options: dict[str, Any]) -> ModelCell:
    """A method of Table 3 with one of the settings of GRID, on a backbone with this decay."""
    rest = {key: value for key, value in options.items() if key != "decay factor"}
    decay *= options.get("decay factor", 1.0)
    return model_cell(cell, cell["backbone"], seed, method=method, decay=decay, **rest)


def tuned_method(cell: TrainedCell, backbone: str, method: str) -> tuple[Fitted, dict[str, Any]]:
    """A method of Table 3 on a backbone, trained with the cell's own seed, and the options chosen for it."""
    own = chosen_backbone(cell, backbone)

    def at(seed: int, options: dict[str, Any]) -> Fitted:
        if method == "DDC":
            return finetuned({**cell, "seed": seed}, fitted(model_cell(cell, backbone, seed, **own)), **options)[1]
        return fitted(method_model(cell, own["decay"], method, seed, options))

    best = best_of(list(GRID[method][: cell["tries"][1]]), lambda options: at(cell["tuning seed"], options))
    return at(cell["seed"], best), best


@resumable.once
def finetuned(
    cell: TrainedCell,
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
    epochs = epochs or cell["epochs"]
    history = train_recommender(
        model,
        split.train,
        split.valid if stop else None,
        epochs=epochs,
        lr=FINE_RATE,
        seed=cell["seed"],
        batch_size=cell["batch"],
        patience=cell["patience"] if stop else None,
        evaluate_every=cell["every"] if stop else epochs,
        negatives=negatives,
        fabric=fabric_for(cell["device"]),
        watch=Watch(split).record,
    )
    return model, fitted_of(model.cpu(), history, cell["every"], time.perf_counter() - begin)

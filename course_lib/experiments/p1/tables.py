"""P1's Tables 1 to 5 and Figures 1, 3 and 4."""

from __future__ import annotations

import json
from functools import lru_cache

import numpy as np
import torch

from course_lib import backbones
from course_lib.experiments.core.data import DataCell
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, tidy, values_by_name
from course_lib.experiments.p1.cells import (
    MethodCell,
    StartCell,
    TopsCell,
    TrainedCell,
    base_cells,
    by,
    on_backbones,
    rows_of,
)
from course_lib.experiments.p1.data import SETS, describe, load_data, load_split
from course_lib.experiments.p1.measures import anatomy, gains, numbers, projection
from course_lib.experiments.p1.models import Fitted, Watch, make_model, model_cell
from course_lib.experiments.p1.tuning import METHODS, chosen_backbone, finetuned, tuned_backbone, tuned_method
from course_lib.papers import p1 as paper
from course_lib.papers import select, table

TOPS = tuple(round(0.1 * tenth, 1) for tenth in range(1, 11))  # Figure 3
SLOW = ("NCL", "LightCCF")  # at smoke scale with the first seed only

# ------------------------------------------------------------------------------------------------------------- Table 1


def statistics_plan(scale: str, seeds: Seeds, *, data: str | None = None, device: str = "cpu") -> list[DataCell]:
    return [{"data": name} for name in ((data,) if data else SETS[scale])]


@experiment(
    "P1-T1",
    "sizes of the data sets (Table 1)",
    plan=statistics_plan,
    estimate=lambda cell: 1.0,
    describe=describe,
    finish=lambda rows: values_by_name(rows, lambda row: f"{row['data']}-{row['metric']}"),
    layout=shown("data", digits=3),
)
def table1_cell(cell: DataCell) -> list[Row]:
    data = load_data(cell["data"])
    sizes = {"users": data.n_users, "items": data.n_items, "interactions": len(data)}
    return tidy({"data": cell["data"]}, {**sizes, "sparsity %": 100 * (1 - len(data) / (data.n_users * data.n_items))})


# ------------------------------------------------------------------------------------------------------------ Figure 1


@experiment(
    "P1-F1",
    "projection on e_pop against popularity (Figure 1b)",
    plan=on_backbones(),
    **by(
        "data",
        "backbone",
        "state",
        digits=2,
        metrics=("Pearson", "cross-fitted", "Pearson of roots", "Spearman", "negative", "centroid"),
    ),
)
def figure1_cell(cell: TrainedCell) -> list[Row]:
    """The correlation as P1 measures it and cross-fitted, of the trained model and of the same model untrained.

    P1's own figure is LightGCN on ml-1m.
    """
    split = load_split(cell["data"], cell["seed"])
    trained = tuned_backbone(cell, cell["backbone"])
    spec = model_cell(cell, cell["backbone"], cell["seed"], **chosen_backbone(cell, cell["backbone"]))
    with torch.no_grad():
        untrained = make_model(spec, split.train).ranking()[1].numpy()
    rows: list[Row] = []
    for state, items in (("trained", trained.items), ("untrained", untrained)):
        found, points = projection(items, split.counts, np.random.default_rng([cell["seed"], 1]))
        printed = paper.printed("pearson", "ml-1m") if (cell["backbone"], state) == ("LightGCN", "trained") else None
        rows += [
            {**row, "paper": printed if row["metric"] == "Pearson" else None}
            for row in rows_of(cell, found, state=state)
        ]
        rows += [{**row, "points": points} for row in rows_of(cell, {"points": len(points[0])}, state=state)]
    return rows


# ---------------------------------------------------------------------------------------------------------- Tables 2, 4


def backbones_for(scale: str, data: str) -> tuple[str, ...]:
    """The backbones of Tables 2 and 4 on a set."""
    return ("MF", "LightGCN") if scale == "laptop" and data != "lastfm-10core" else backbones.names()


def with_and_without_plan(scale: str, seeds: Seeds, **options: str) -> list[TrainedCell]:
    """Five backbones; laptop: all five on the smaller set, MF and LightGCN on ml-1m.

    Smoke: the slow ones with the first seed only.
    """
    left_out = SLOW if scale == "smoke" else ()
    return [
        {**cell, "backbone": name}
        for cell in base_cells(scale, seeds, **options)
        for name in backbones_for(scale, cell["data"])
        if name not in left_out or cell["seed"] == seeds[0]
    ]


def with_and_without(cell: TrainedCell) -> list[Row]:
    """A backbone and its DDC with P1's k = 0.3: all numbers, the change in percent, and what DDC did."""
    return list(_with_and_without(json.dumps(cell)))


@lru_cache(maxsize=8)
def _with_and_without(text: str) -> tuple[Row, ...]:
    cell: TrainedCell = json.loads(text)
    split, base = load_split(cell["data"], cell["seed"]), tuned_backbone(cell, cell["backbone"])
    plain = numbers(base.tables, split)
    model, after = finetuned(cell, base)
    changed = numbers(after.tables, split)
    done = {"valid": after.valid, "epochs": after.epochs, **anatomy(model, split)}
    alone = rows_of(cell, {**plain, **about(base, cell)}, method=None)
    return (*alone, *rows_of(cell, {**changed, **gains(plain, changed), **done}, method="DDC"))


def about(base: Fitted, cell: TrainedCell) -> dict[str, float]:
    """How a backbone was trained."""
    decay = chosen_backbone(cell, cell["backbone"])["decay"]
    return {"valid": base.valid, "epochs": base.epochs, "chosen decay": decay}


@experiment(
    "P1-T2",
    "five backbones without and with DDC (Table 2)",
    plan=with_and_without_plan,
    **by("data", "backbone", "method", digits=4, metrics=("MRR@10", "NDCG@10", "MAP@10")),
)
def table2_cell(cell: TrainedCell) -> list[Row]:
    return with_and_without(cell)


@experiment(
    "P1-T4",
    "accuracy and popularity of what is shown, without and with DDC (Table 4)",
    plan=with_and_without_plan,
    **by(
        "data",
        "backbone",
        "method",
        digits=3,
        metrics=("MRR@10", "NDCG@10", "AvgPop@10", "AvgPop@10 change %", "alpha < 0", "centroid"),
    ),
)
def table4_cell(cell: TrainedCell) -> list[Row]:
    """Table 2's cells; P1's change of AvgPop on Tmall stands beside ours on any data, as a shape to compare with."""
    printed = {c["backbone"]: c["percent"] for c in select(table("P1", "T4"), metric="AvgPop@10", method="DDC")}
    return [
        {**row, "paper": printed.get(row["backbone"]) if row["metric"] == "AvgPop@10 change %" else None}
        for row in with_and_without(cell)
    ]


# ------------------------------------------------------------------------------------------------------------- Table 3


def rivals_plan(scale: str, seeds: Seeds, **options: str) -> list[MethodCell]:
    """MF and LightGCN, alone and with every method. Smoke: LightGCN with the first seed only."""
    return [
        {**cell, "backbone": backbone, "method": method}
        for cell in base_cells(scale, seeds, **options)
        for backbone in ("MF", "LightGCN")
        if scale != "smoke" or backbone == "MF" or cell["seed"] == seeds[0]
        for method in (None, *METHODS)
    ]


@experiment(
    "P1-T3",
    "debiasing methods on MF and LightGCN (Table 3), with the popularity of what they show",
    plan=rivals_plan,
    **by("data", "backbone", "method", digits=4, metrics=("MRR@10", "NDCG@10", "MAP@10", "AvgPop@10", "settings")),
)
def table3_cell(cell: MethodCell) -> list[Row]:
    """One method on one backbone, and how many settings it tried.

    TPAB uses the times of the pairs where the data has them, else it has one stage.
    """
    split, base, method = load_split(cell["data"], cell["seed"]), tuned_backbone(cell, cell["backbone"]), cell["method"]
    plain = numbers(base.tables, split)
    if method is None:
        return rows_of(cell, {**plain, **about(base, cell), "settings": cell["tries"][0]}, method=None)
    model, options = tuned_method(cell, cell["backbone"], method)
    found = numbers(model.tables, split)
    chosen = {f"chosen {name}": value for name, value in options.items()}
    how = {"valid": model.valid, "epochs": model.epochs, **chosen, "seconds": model.seconds}
    how["settings"] = cell["tries"][1]
    return rows_of(cell, {**found, **gains(plain, found), **how}, method=method)


# ------------------------------------------------------------------------------------------------------------- Table 5


def rules_plan(scale: str, seeds: Seeds, **options: str) -> list[TrainedCell]:
    """P1: MF. Here LightGCN too, whose centroid lies on the other side."""
    return on_backbones(("MF",) if scale == "smoke" else ("MF", "LightGCN"))(scale, seeds, **options)


@experiment(
    "P1-T5",
    "nine update rules and two ablations of the final embedding (Table 5)",
    plan=rules_plan,
    **by("data", "backbone", "rule", digits=4, metrics=("MRR@10", "NDCG@10", "MAP@10", "AvgPop@10")),
)
def table5_cell(cell: TrainedCell) -> list[Row]:
    """Every rule is fine-tuned and stopped on its own; the ablations leave a part of b_a's final embedding out."""
    split, base = load_split(cell["data"], cell["seed"]), tuned_backbone(cell, cell["backbone"])
    plain = numbers(base.tables, split)
    rows = rows_of(cell, plain, rule="backbone")
    for rule in paper.RULES:
        model, after = finetuned(cell, base, rule=rule)
        found = numbers(after.tables, split)
        rows += rows_of(cell, {**found, **gains(plain, found), "valid": after.valid, "epochs": after.epochs}, rule=rule)
        if rule == "b_a":
            for parts, name in (("b", "without popularity"), ("a", "without preference")):
                less = numbers((model.final_users(parts).detach(), model.items), split)
                rows += rows_of(cell, {**less, **gains(plain, less)}, rule=name)
    return rows


# ------------------------------------------------------------------------------------------------------------ Figure 3


def sensitivity_plan(scale: str, seeds: Seeds, **options: str) -> list[TopsCell]:
    """k of (10) from 0.1 to 1.0; smoke: six of them."""
    tops = TOPS[::2] + TOPS[-1:] if scale == "smoke" else TOPS
    return on_backbones(tops=list(tops))(scale, seeds, **options)


@experiment(
    "P1-F3",
    "accuracy and popularity against k (Figure 3)",
    plan=sensitivity_plan,
    **by("data", "backbone", "top", digits=4, metrics=("MRR@10", "AvgPop@10", "<e_pref, e_pop>")),
)
def figure3_cell(cell: TopsCell) -> list[Row]:
    split, base = load_split(cell["data"], cell["seed"]), tuned_backbone(cell, cell["backbone"])
    plain = numbers(base.tables, split)
    rows = rows_of(cell, plain, top=0.0)  # 0: the backbone alone
    for top in cell["tops"]:
        model, after = finetuned(cell, base, top=top)
        found = numbers(after.tables, split)
        own = {name: value for name, value in anatomy(model, split).items() if "alone" not in name}
        rows += rows_of(cell, {**found, **gains(plain, found), "valid": after.valid, **own}, top=top)
    return rows


# ------------------------------------------------------------------------------------------------------------ Figure 4


@experiment(
    "P1-F4",
    "BPR loss per triple and validation MRR@10 along the training and DDC (Figure 4)",
    plan=on_backbones(start=0.29),
    **by(
        "data",
        "backbone",
        digits=3,
        metrics=(
            "loss before",
            "loss after",
            "loss of the objective",
            "loss by scaling",
            "loss ratio",
            "MRR@10 change %",
        ),
    ),
)
def figure4_cell(cell: StartCell) -> list[Row]:
    """The loss of what is served, before and after, and the least that one factor on all scores gives: it ranks alike.

    DDC starts at random scalars and goes on for all its epochs. P1 draws the scalars and does not say how; its
    published code takes them uniform in (-1/2, 1/2), here they are normal with that deviation.
    """
    split, base = load_split(cell["data"], cell["seed"]), tuned_backbone(cell, cell["backbone"])
    to_the_end: StartCell = {**cell, "patience": None}
    _, after = finetuned(to_the_end, base, start=cell["start"])
    rows: list[Row] = []
    for phase, history, first in (("training", base.history, 0), ("DDC", after.history, base.history[-1]["epoch"])):
        for entry in history:
            names = ("bpr", "mrr", "loss") if phase == "DDC" else ("bpr", "mrr")
            found = {f"{name} at epoch": entry[name] for name in names}
            rows += [{**row, "epoch": first + entry["epoch"]} for row in rows_of(cell, found, phase=phase)]
    watch = Watch(split)
    factor, scaled = watch.best_scaled_loss(base.users, base.items)
    before, last = watch.loss(base.users, base.items), after.history[-1]
    plain, changed = numbers(base.tables, split), numbers(after.tables, split)
    found = {
        "loss before": before,
        "loss after": last["bpr"],
        "loss of the objective": last["loss"],
        "loss ratio": last["bpr"] / before,
        "objective ratio": last["loss"] / before,
        "loss by scaling": scaled,
        "factor": factor,
        "scaling ratio": scaled / before,
        **{f"{name} before": value for name, value in plain.items()},
        **gains(plain, changed),
    }
    return rows + rows_of(cell, found)

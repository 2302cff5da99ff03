"""P1-X1: what decides the sign of alpha, and whether the lists grow less popular."""

from __future__ import annotations

from typing import Any

from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.summary import Row, part
from course_lib.experiments.p1.cells import BUDGETS, SignCell, base_cells, by, rows_of, scalars_by
from course_lib.experiments.p1.data import load_split
from course_lib.experiments.p1.measures import anatomy, gains, numbers, shifted
from course_lib.experiments.p1.models import fitted, model_cell
from course_lib.experiments.p1.tuning import TOP, finetuned

SMOKE = (("MF", 0.0, "uniform", 40), ("MF", 0.03, "uniform", 40), ("LightGCN", 0.0, "uniform", 40))


def sign_plan(scale: str, seeds: Seeds, *, data: str | None = None, device: str = "cpu") -> list[SignCell]:
    """Models that differ in decay, law of negatives, epochs and backbone, each with two k; and one model whose items
    are moved together.

    All scales begin with the films, smoke with three of the models; laptop and full add MF with two decays on ml-1m,
    items moved too.
    """
    laws, cells = ("uniform", "popularity"), list[Any]()
    films = [("MF", decay, law, length) for decay in (0.0, 0.003, 0.03) for law in laws for length in (12, 40, 120)]
    films += [("LightGCN", decay, "uniform", 40) for decay in (0.0, 0.001)]
    if scale == "smoke":
        films = [one for one in films if one in SMOKE]
    larger = [("MF", decay, "uniform", 40) for decay in (0.0, 0.01)]
    plans = {"movietweetings-10core": films} | ({} if scale == "smoke" else {"ml-1m-10core": larger})
    for name in (data,) if data else plans:
        for cell in base_cells("laptop" if name in BUDGETS else scale, seeds, data=name, device=device):
            for backbone, decay, law, length in plans.get(name, larger):
                moved = (backbone, law, length) == ("MF", "uniform", 40)
                shifts = [-2.0, -1.0, 1.0, 2.0, "centred"] if moved else []
                own = {"patience": None, "epochs": length, "tries": [1, 1], "backbone": backbone, "decay": decay}
                cells.append({**cell, **own, "negatives": law, "tops": [0.3, 1.0], "shifts": shifts})
    return cells


@experiment(
    "P1-X1",
    "what decides the sign of alpha and whether AvgPop falls: decay, negatives, epochs, k, and the items' centroid",
    plan=sign_plan,
    **by(
        *("backbone", "decay", "negatives", "epochs", "top", "shift"),
        digits=2,
        metrics=("centroid", "alpha < 0", "AvgPop@10 before", "AvgPop@10", "MRR@10 before", "MRR@10"),
    )
    | {"finish": scalars_by("data", "backbone", "decay", "negatives", "epochs", "top", "shift")},
)
def sign_cell(cell: SignCell) -> list[Row]:
    """One model after exactly its epochs; DDC for 40 epochs, none of them chosen by validation, so that only the model
    differs.
    """
    split = load_split(cell["data"], cell["seed"])
    own = part(cell, "decay negatives")
    base = fitted(model_cell(cell, cell["backbone"], cell["seed"], stop=False, **own))
    rows: list[Row] = []
    for top, shift in [*((top, 0.0) for top in cell["tops"]), *((TOP, shift) for shift in cell["shifts"])]:
        plain = numbers((base.users, shifted(base.items, split.counts, shift)), split)
        model, after = finetuned(cell, base, top=top, shift=shift, stop=False, epochs=40)
        found = numbers(after.tables, split)
        before = {f"{name} before": value for name, value in plain.items()}
        done = {**found, **before, **gains(plain, found), **anatomy(model, split)}
        shown = {name: value for name, value in done.items() if name.split("@")[0] not in ("NDCG", "MAP", "Recall")}
        rows += rows_of(cell, shown, **own, epochs=cell["epochs"], top=top, shift=shift)
    return rows

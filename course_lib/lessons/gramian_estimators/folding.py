"""The interactive on folding: inner products of observed and random pairs under several gravity coefficients."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import traitlets

from course_lib.lessons.shared.widgets.base import Count, read
from course_lib.lessons.shared.widgets.paper import WrittenOnce

LOW, HIGH, BINS = -1.0, 2.0, 60  # of the histograms of course_lib.experiments.p4.histogram_rows; the test compares
PAIRS = ("observed", "random")
SCALE = 1000  # shares are kept in thousandths
MOST_STEPS = 8  # of training, for each model
ROUNDED = {"mean": 3, "above": 3, "map": 4}
STORED = Path(__file__).with_name("folding.json")  # made by tools/folding_models.py
METRICS = {"mean": "mean", "share above 1/2": "above"}


def models_of(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What the interactive keeps of the rows of P4-F6, for each coefficient lambda and each check of the training.

    That is the two histograms, means, shares above 1/2, and MAP@10 where it is known, of at most 8 checks, evenly
    spread, the first and the last among them.

    rows: those of `experiments.p4.histogram_rows`, each with its "lambda" and its "step", and those of metric "map@10
    at step" (or "map@10", for the last step). Several seeds are averaged. Rows with neither are left out.
    Returns [{"lam", "steps": [{"step", "observed": [...], "random": [...], "mean": [2], "above": [2], "map"}]}], by
    rising lambda.
    """
    values: dict[tuple[float, int], dict[str, list[Any]]] = {}
    lasting = []
    for row in rows:
        if "lambda" not in row:
            raise ValueError(f"a row has the columns {', '.join(map(str, row))}; expected lambda among them")
        found = values.setdefault((float(row["lambda"]), int(row.get("step", -1))), {})
        metric = row.get("metric")
        if metric == "histogram":
            found.setdefault(f"shares {_pairs(row)}", []).append(_shares(row))
        elif metric in METRICS and "pairs" in row:
            found.setdefault(f"{METRICS[metric]} {_pairs(row)}", []).append(row["value"])
        elif metric == "map@10 at step":
            found.setdefault("map at step", []).append(row["value"])
        elif metric == "map@10":
            lasting.append(row)
    pictures = {
        place: found for place, found in values.items() if "shares observed" in found or "shares random" in found
    }
    if not pictures:
        raise ValueError(
            "the rows have no histogram; expected those of experiments.p4.histogram_rows, or a result of P4-F6"
        )
    for row in lasting:  # of the last step, where there is no curve
        steps = [step for lam, step in pictures if lam == row["lambda"]]
        if steps and "map at step" not in pictures[row["lambda"], max(steps)]:
            pictures[row["lambda"], max(steps)].setdefault("map at end", []).append(row["value"])
    return [_model(lam, pictures) for lam in sorted({lam for lam, _ in pictures})]


def _model(lam: float, pictures: Mapping[tuple[float, int], dict[str, list[Any]]]) -> dict[str, Any]:
    steps = sorted(step for other, step in pictures if other == lam)
    kept = sorted({steps[math.floor(k * (len(steps) - 1) / (MOST_STEPS - 1) + 0.5)] for k in range(MOST_STEPS)})
    return {"lam": lam, "steps": [_moment(f"lambda {lam:g}, step {step}", step, pictures[lam, step]) for step in kept]}


def _moment(where: str, step: int, found: Mapping[str, list[Any]]) -> dict[str, Any]:
    moment: dict[str, Any] = {"step": max(step, 0)}
    for pairs in PAIRS:
        for name in ("shares", *METRICS.values()):
            if f"{name} {pairs}" not in found:
                missing = f"there is no row of {name} for {pairs} pairs"
                raise ValueError(f"{where}: {missing}; expected all of experiments.p4.histogram_rows")
        moment[pairs] = [math.floor(SCALE * share + 0.5) for share in np.mean(found[f"shares {pairs}"], axis=0)]
    for name in METRICS.values():
        moment[name] = [round(float(np.mean(found[f"{name} {pairs}"])), ROUNDED[name]) for pairs in PAIRS]
    if qualities := found.get("map at step", found.get("map at end")):
        moment["map"] = round(float(np.mean(qualities)), ROUNDED["map"])
    return moment


def _pairs(row: Mapping[str, Any]) -> str:
    pairs = row.get("pairs")
    if pairs not in PAIRS:
        raise ValueError(f"pairs is {pairs!r}; expected one of {', '.join(PAIRS)}")
    return str(pairs)


def _shares(row: Mapping[str, Any]) -> Sequence[float]:
    shares: Sequence[float] = row.get("shares", ())
    if len(shares) != BINS or not abs(sum(shares) - 1) < 0.01 or min(shares) < 0:
        raise ValueError(
            f"shares has {len(shares)} values with sum {sum(shares):g}; "
            f"expected {BINS} shares of a whole, from {LOW:g} to {HIGH:g}"
        )
    return shares


class Folding(WrittenOnce):
    """What the gravity coefficient lambda does: inner products of observed and random pairs, model by model.

    result      a result of P4-F6, or rows of it, each with "lambda" and "step" (see `models_of`); by default stored
                ones, of free tables for the embedded film set (tools/folding_models.py)
    lam         the coefficient that is shown, one of the result's; the least one by default
    check       which check of the training is shown, counted from 0; the last one by default

    `lam` and `check` are traits: read, set and observe them. Raises ValueError for rows that are not there or do not
    fit.
    """

    module_name: ClassVar[str] = "folding"
    caption: ClassVar[str] = (
        "How often an inner product falls into each bin, for random pairs (filled) and for observed pairs (thick "
        "outline). Dotted: 0, where random pairs should be, and 1, where observed pairs should be. With JavaScript "
        "this picture is interactive."
    )

    models = traitlets.List(traitlets.Dict()).tag(sync=True, state=True)
    stored = traitlets.Bool().tag(sync=True, state=True)
    lam = traitlets.Float().tag(sync=True, state=True)
    check = Count(0, 0, lambda shown: len(shown.models[0]["steps"]) - 1)

    def __init__(self, result: Any = None, *, lam: float | None = None, check: int | None = None) -> None:
        stored = result is None
        models = read(STORED) if stored else models_of(getattr(result, "rows", result))
        counts = {len(model["steps"]) for model in models}
        if len(counts) > 1:
            raise ValueError(f"the models have {sorted(counts)} checks; expected as many for each lambda")
        last = counts.pop() - 1
        super().__init__(
            models=models,
            stored=stored,
            lam=models[0]["lam"] if lam is None else lam,
            check=last if check is None else check,
        )

    # ---- what Python can ask

    @property
    def moment(self) -> dict[str, Any]:
        """What is shown of the model with `lam` at `check`."""
        moment: dict[str, Any] = next(model["steps"][self.check] for model in self.models if model["lam"] == self.lam)
        return moment

    def __repr__(self) -> str:
        lambdas = ", ".join(lambda_text(model["lam"]) for model in self.models)
        return f"Folding(lam={self.lam:g}, check={self.check}; lambdas {lambdas})"

    # ---- values that make sense

    @traitlets.validate("lam")
    def _valid_lam(self, proposal: dict[str, Any]) -> float:
        known, lam = [model["lam"] for model in self.models], float(proposal["value"])
        if lam not in known:
            raise ValueError(f"lam is {lam}; expected one of {', '.join(map(lambda_text, known))}")
        return lam


def lambda_text(lam: float) -> str:
    """0, 0.01, 1, 1000: the coefficient as people write it."""
    return f"{lam:.12f}".rstrip("0").rstrip(".")

"""The paths of P3-X2 read back from its rows, and what they were predicted to show.

`PREDICTIONS` were committed before the runs on the seeds that they speak of. Seed 0 had been seen, with SciPy's L-BFGS
on both data sets and with torch's for Unbiased, and the bounds come from there: the claims are about seeds 1 to 4 and,
for the losses that nobody had looked at, about all five.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.experiments.core.summary import Row
from course_lib.experiments.p3.setting import RATIOS


@dataclass(frozen=True)
class Along:
    """The path of one run with its lists served in one way, read back from rows: {metric: values at `at`}."""

    data: str
    pointwise: str
    loss: str
    ratio: float | None
    seed: int
    serving: str
    at: list[int]
    metrics: dict[str, list[float]]
    rule_met: int | None

    def value(self, metric: str, iteration: int) -> float:
        """The metric at the last look that is not after this iteration."""
        return self.metrics[metric][int(np.searchsorted(self.at, iteration, side="right")) - 1]

    @property
    def best(self) -> float:
        """The largest P@5 along the path: chosen on the test set, as P3's Appendix D does for stochastic gradient."""
        return max(self.metrics["P@5"])

    @property
    def best_at(self) -> int:
        """The iteration of the largest P@5."""
        return self.at[int(np.argmax(self.metrics["P@5"]))]

    @property
    def cross_fitted(self) -> float:
        """P@5 where the best iteration is chosen on the other half of the users, both ways."""
        one, two = (self.metrics[f"P@5 of half {half}"] for half in (1, 2))
        return (two[int(np.argmax(one))] + one[int(np.argmax(two))]) / 2

    def passes(self, printed: float) -> int | None:
        """The first look at which P@5 is at least the printed value."""
        return next((at for at, value in zip(self.at, self.metrics["P@5"], strict=True) if value >= printed), None)


def along(rows: Iterable[Row]) -> Iterator[Along]:
    """Every path that stands in the rows, one for each run and serving."""
    runs: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("data", "pointwise", "loss", "ratio", "seed"))
        runs.setdefault(key, {})[f"{row['serving']}: {row['metric']}"] = row
    for key, found in runs.items():
        if "raw: iteration" not in found:
            continue
        at = [int(iteration) for iteration in found["raw: iteration"]["path"]]
        met = found.get("raw: rule met")
        for serving in dict.fromkeys(name.partition(": ")[0] for name in found):
            of = {row["metric"]: row["path"] for row in found.values() if row["serving"] == serving and "path" in row}
            where = dict(zip(("data", "pointwise", "loss", "ratio", "seed"), key, strict=True))
            yield Along(
                **where, serving=serving, at=at, metrics=of, rule_met=None if met is None else int(met["value"])
            )


def scalars(rows: list[Row]) -> dict[str, float]:
    """Means over seeds of what stands out on a path, and how many cases of each prediction hold."""
    found: dict[str, list[float]] = {}
    for run in along(rows):
        name = "-".join([run.data, run.pointwise, run.loss, *([] if run.ratio is None else [f"{run.ratio:.0e}"])])
        name = "-".join([name.replace("e-0", "e-"), *([] if run.serving == "raw" else [run.serving])])
        told = {"best p5": run.best, "best at": run.best_at, "cross-fitted p5": run.cross_fitted}
        told |= {f"p5 at {at}": run.value("P@5", at) for at in (32, 100, 300, 2000) if run.at[-1] >= at}
        if run.serving == "raw" and run.rule_met is not None:
            told |= {"rule met": run.rule_met, "p5 at rule": run.value("P@5", run.rule_met)}
        for what, value in told.items():
            found.setdefault(f"{name} {what}".replace(" ", "-").replace("_", "-"), []).append(value)
    numbers = {name: float(np.mean(values)) for name, values in found.items()}
    for prediction in PREDICTIONS:
        if not (cases := prediction.judged(rows)):
            continue
        numbers |= {f"{prediction.name}-cases": float(len(cases))}
        numbers |= {f"{prediction.name}-hold": float(sum(held for _, _, held in cases))}
    return numbers


@dataclass(frozen=True)
class Prediction:
    """What the paths should show, with its bound: `number` of each path of these coordinates lies in [low, high]."""

    name: str
    words: str
    where: dict[str, Any]
    number: Callable[[Along], float]
    low: float = -np.inf
    high: float = np.inf
    seeds: tuple[int, ...] = (1, 2, 3, 4)

    def judged(self, rows: Iterable[Row]) -> list[tuple[Along, float, bool]]:
        """(path, number, whether it holds) for every path that it speaks of."""
        mine = (run for run in along(rows) if run.seed in self.seeds and run.serving == "raw")
        chosen = [run for run in mine if all(getattr(run, key) == value for key, value in self.where.items())]
        numbers = [self.number(run) for run in chosen]
        return [(run, x, bool(self.low <= x <= self.high)) for run, x in zip(chosen, numbers, strict=True)]


ALL = (0, 1, 2, 3, 4)


def _of(data: str, loss: str, ratio: float | None = None, pointwise: str = "logistic") -> dict[str, Any]:
    return {"data": data, "pointwise": pointwise, "loss": loss, "ratio": ratio}


def _end(run: Along) -> float:
    return run.metrics["P@5"][-1]


def _kept(run: Along) -> float:
    """P@5 at the end as a part of the largest one on the path."""
    return _end(run) / run.best


def _at_rule(run: Along) -> float:
    """P@5 where P3's rule is met, as a part of the largest one; NaN, which fits no bound, where it is not."""
    return np.nan if run.rule_met is None else run.value("P@5", run.rule_met) / run.best


PREDICTIONS = (
    Prediction(
        "unbiased-best",
        "ML-1M: the best P@5 of Unbiased lies within .5 of the printed 16.35",
        _of("ml-1m", "unbiased"),
        lambda run: run.best,
        15.85,
        16.85,
    ),
    Prediction(
        "unbiased-early",
        "ML-1M: Unbiased is best between iterations 15 and 56",
        _of("ml-1m", "unbiased"),
        lambda run: run.best_at,
        15,
        56,
    ),
    Prediction(
        "unbiased-falls",
        "ML-1M: P@5 of Unbiased at iteration 300 lies at least 3 below that near 30",
        _of("ml-1m", "unbiased"),
        lambda run: run.value("P@5", 32) - run.value("P@5", 300),
        3,
    ),
    Prediction(
        "unbiased-end",
        "ML-1M: P@5 of Unbiased at iteration 2,000 lies between 8.5 and 11.5",
        _of("ml-1m", "unbiased"),
        lambda run: run.value("P@5", 2000) if run.at[-1] >= 2000 else np.nan,
        8.5,
        11.5,
    ),
    *(
        Prediction(
            f"pos-neg-{ratio:.0e}".replace("e-0", "e-"),
            f"ML-1M: the best P@5 of Pos-Neg at {ratio:g} lies between {low:g} and {high:g}; {printed} is printed",
            _of("ml-1m", "pos_neg_omega", ratio),
            lambda run: run.best,
            low,
            high,
            seeds,
        )
        for ratio, printed, low, high, seeds in (
            (1e-1, 15.45, 14.9, 16.2, ALL[1:]),
            (1e-2, 13.98, 13.4, 14.6, ALL),
            (1e-3, 13.86, 13.3, 14.4, ALL[1:]),
            (1e-4, 13.23, 12.9, 14.0, ALL),
            (1e-5, 11.93, 12.6, 14.0, ALL[1:]),  # the print is not met: it lies below
        )
    ),
    Prediction(
        "in-batch-rises",
        "ML-1M: P@5 of In-Batch at .1 is at 2,000 iterations at least 3 above that at 100",
        _of("ml-1m", "in_batch_omega", 1e-1),
        lambda run: run.value("P@5", 2000) - run.value("P@5", 100) if run.at[-1] >= 2000 else np.nan,
        3,
    ),
    Prediction(
        "rule-early",
        "ML-100K: Unbiased meets the rule, a gradient norm of 1e-7, by iteration 150",
        _of("ml-100k", "unbiased"),
        lambda run: np.nan if run.rule_met is None else run.rule_met,
        1,
        150,
    ),
    Prediction(
        "rule-far",
        "ML-100K: P@5 of Unbiased where the rule is met is at most .4 of the best on the path",
        _of("ml-100k", "unbiased"),
        _at_rule,
        0,
        0.4,
    ),
    Prediction(
        "separated",
        "ML-100K: the objective of Unbiased falls below 1e-10: its infimum is 0, at infinity",
        _of("ml-100k", "unbiased"),
        lambda run: min(run.metrics["objective"]),
        high=1e-10,
    ),
    *(
        Prediction(
            f"ml-100k-pos-neg-{ratio:.0e}".replace("e-0", "e-"),
            f"ML-100K: P@5 of Pos-Neg at {ratio:g} ends below .6 of its best",
            _of("ml-100k", "pos_neg_omega", ratio),
            _kept,
            0,
            0.6,
            ALL,
        )
        for ratio in RATIOS
    ),
    *(
        Prediction(
            f"{data}-{loss}-{ratio or 'alone'}-kept".replace("_", "-"),
            f"{data}: P@5 of {loss} {ratio or ''} ends at .8 of its best or more: its negatives hold it back",
            _of(data, loss, ratio),
            _kept,
            0.8,
            1,
            ALL,
        )
        for data in ("ml-1m", "ml-100k")
        for loss, ratio in (("popularity", None), *(("in_batch_omega", ratio) for ratio in RATIOS))
    ),
    Prediction(
        "unbiased-cross-fitted",
        "ML-1M: stopping Unbiased where the other half of the users is best costs at most .4 of P@5",
        _of("ml-1m", "unbiased"),
        lambda run: run.best - run.cross_fitted,
        high=0.4,
    ),
    Prediction(
        "square-stays",
        "ML-1M, square loss: P@5 of Unbiased at iteration 300 is at most .6 below its best",
        _of("ml-1m", "unbiased", pointwise="square"),
        lambda run: run.best - run.value("P@5", 300),
        high=0.6,
        seeds=ALL,
    ),
)

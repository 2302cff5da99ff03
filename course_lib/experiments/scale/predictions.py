"""What SCALE-X6 was predicted to show, with bounds. Committed before any of its trainings was run.

Known before: `course_lib.lessons.one_batch_many_machines.stops`, MovieTweetings on random splits, one machine and eight
(cosines: 21.3 % against 9.7 % after 6,000 steps; inner products: 14.1 against 7.9), and a trial of the code, 200 steps
on MovieTweetings with seed 0. Not known: other numbers of machines, ML-1M, and any longer training on these parts. A
case is a data set; its number is a mean over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.experiments.core.summary import Row

PAIRS = 256
COSINES, INNER = "cosines, logQ", "inner products, logQ"
Floats = NDArray[np.float64]


def kappa(machines: int, pairs: int = PAIRS) -> float:
    """The part of the pushes that is left on average: (B - 1) / (P B - 1), B = pairs / P."""
    return (pairs / machines - 1) / (pairs - 1)


@dataclass(frozen=True)
class Paths:
    """The rows of one data set: a metric by model and machines, as (seeds, looks) or at the stated end (seeds,)."""

    rows: Sequence[Row]

    def _chosen(self, metric: str, model: str, machines: int) -> list[Row]:
        where = {"metric": metric, "model": model, "machines": machines}
        found = [row for row in self.rows if all(row[key] == value for key, value in where.items())]
        return sorted(found, key=lambda row: row["seed"])

    def along(self, metric: str, model: str, machines: int) -> Floats:
        """(seeds, looks)."""
        return np.array([row["path"] for row in self._chosen(metric, model, machines)])

    def ends(self, metric: str, model: str, machines: int = 1) -> Floats:
        """(seeds,)."""
        return np.array([row["value"] for row in self._chosen(metric, model, machines)])

    def machines(self, model: str) -> list[int]:
        """The numbers of machines of a model, from 1 on."""
        return sorted({row["machines"] for row in self.rows if row["model"] == model})

    def steps(self, model: str) -> Floats:
        """(looks,) the steps of the looks, the same in all trainings of a data set."""
        looks: Floats = self.along("steps", model, 1)[0]
        return looks

    def lost(self, model: str, machines: int) -> Floats:
        """(seeds,) at the stated ends: 1 - recall@10 / that of one machine."""
        return 1 - self.ends("recall@10", model, machines) / self.ends("recall@10", model)

    def lost_at(self, model: str, machines: int, steps: float) -> float:
        """The same at the last look that is not after `steps`, of the means over seeds."""
        place = int(np.searchsorted(self.steps(model), steps, side="right")) - 1
        one, several = (self.along("recall@10", model, count)[:, place].mean() for count in (1, machines))
        return float(1 - several / one)

    def points_at(self, model: str, machines: int, steps: float) -> float:
        """Recall lost there in points: that of one machine minus that of the machines, in percent."""
        place = int(np.searchsorted(self.steps(model), steps, side="right")) - 1
        one, several = (self.along("recall@10", model, count)[:, place].mean() for count in (1, machines))
        return float(100 * (one - several))

    def last(self, model: str) -> float:
        """The last step."""
        return float(self.steps(model)[-1])


@dataclass(frozen=True)
class Prediction:
    """`number` of each data set lies in [low, high]; `data` names the only one that it speaks of."""

    name: str
    words: str
    number: Callable[[Paths], float]
    low: float = -np.inf
    high: float = np.inf
    data: str | None = None

    def judged(self, rows: Iterable[Row]) -> dict[str, tuple[float, bool]]:
        """Data set -> (number, whether it holds)."""
        found, rows = {}, list(rows)
        for name in dict.fromkeys(row["data"] for row in rows):
            if self.data in (None, name):
                number = self.number(Paths([row for row in rows if row["data"] == name]))
                found[name] = number, bool(self.low <= number <= self.high)
        return found


def _least_rise(paths: Paths) -> float:
    """The smallest change of the recall lost at the ends from one number of machines to the next, cosines."""
    lost = [0.0, *(paths.lost(COSINES, count).mean() for count in paths.machines(COSINES)[1:])]
    return float(np.diff(lost).min())


def _per_push(paths: Paths) -> float:
    """Recall lost per part of the pushes, with two machines over that with 32: 1 if it grows with 1 - kappa alone."""
    few, many = (paths.lost(COSINES, count).mean() / (1 - kappa(count)) for count in (2, 32))
    return float(few / many)


def _over_list(paths: Paths, name: str) -> float:
    """Points of recall@10 at the end that one machine finds beyond a list, cosines."""
    return float(100 * (paths.ends("recall@10", COSINES).mean() - paths.ends("recall@10", name).mean()))


PREDICTIONS = (
    Prediction(
        "more-machines-lose-more",
        "cosines: at the ends, every larger number of machines loses more recall",
        _least_rise,
        low=0.0,
    ),
    Prediction(
        "in-proportion",
        "cosines: recall lost is proportional to 1 - kappa, within a factor of 2 between two machines and 32",
        _per_push,
        low=0.5,
        high=2.0,
    ),
    Prediction(
        "eight-machines",
        "cosines: at the ends, eight machines lose between .3 and .7 of the recall",
        lambda paths: float(paths.lost(COSINES, 8).mean()),
        low=0.3,
        high=0.7,
    ),
    Prediction(
        "points-grow-with-steps",
        "cosines, eight machines: points of recall lost at the last step are at least 1.5 times those at a tenth of it",
        lambda paths: (
            paths.points_at(COSINES, 8, paths.last(COSINES)) / paths.points_at(COSINES, 8, paths.last(COSINES) / 10)
        ),
        low=1.5,
    ),
    Prediction(
        "share-grows-with-steps",
        "inner products, eight machines: the share lost at the last step is at least .1 above that at a tenth of it",
        lambda paths: paths.lost_at(INNER, 8, paths.last(INNER)) - paths.lost_at(INNER, 8, paths.last(INNER) / 10),
        low=0.1,
    ),
    Prediction(
        "share-stays-with-cosines",
        "cosines, eight machines: the share lost at the last step is within .2 of that at a tenth of it",
        lambda paths: abs(
            paths.lost_at(COSINES, 8, paths.last(COSINES)) - paths.lost_at(COSINES, 8, paths.last(COSINES) / 10)
        ),
        high=0.2,
    ),
    Prediction(
        "less-popular-films",
        "cosines: at the end, the films in the lists of eight machines have at most .7 times the pairs",
        lambda paths: float(
            paths.ends("mean count@10", COSINES, 8).mean() / paths.ends("mean count@10", COSINES).mean()
        ),
        high=0.7,
    ),
    Prediction(
        "more-films",
        "cosines: at the end, the lists of eight machines show at least as many films as those of one",
        lambda paths: float(paths.ends("coverage@10", COSINES, 8).mean() - paths.ends("coverage@10", COSINES).mean()),
        low=0.0,
    ),
    Prediction(
        "recent-hits-win",
        "MovieTweetings, later in time: one machine with cosines finds less than the list of what was popular lately",
        lambda paths: _over_list(paths, "popular lately"),
        high=0.0,
        data="movietweetings",
    ),
    Prediction(
        "hits-lose-on-ml-1m",
        "ML-1M, later in time: one machine with cosines finds more than the list of the most popular films",
        lambda paths: _over_list(paths, "most popular"),
        low=0.0,
        data="ml-1m",
    ),
)


def scalars(rows: list[Row]) -> dict[str, float]:
    """Numbers at the ends, means over seeds, and for each prediction its number on each data set and whether it holds.

    Nothing where the trainings are not those of the predictions, as at smoke scale.
    """
    if not {2, 32} <= {row["machines"] for row in rows}:
        return {}
    told: dict[str, Any] = {}
    for prediction in PREDICTIONS:
        for name, (number, holds) in prediction.judged(rows).items():
            told |= {f"{prediction.name}-{name}": number, f"{prediction.name}-{name}-holds": float(holds)}
    return told

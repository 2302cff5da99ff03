"""A weight on popularity at serving beside the eight methods, at the same popularity of the lists (P1-X3, P1-T3).

The served score is ``<e_u, e_i> + w log n_i``, and each w is a point: how much more popular the lists become, and how
much more accurate. A method is laid on this curve of its own trained model.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
CHANGES = ("AvgPop@10 change %", "MRR@10 change %")


class Curve(NamedTuple):
    """Change of popularity and of accuracy in %, by rising popularity."""

    popularity: Float
    accuracy: Float

    def at(self, popularity: float) -> float:
        """The accuracy at a popularity, linear between two weights; beyond the ends not a number."""
        return float(np.interp(popularity, self.popularity, self.accuracy, left=np.nan, right=np.nan))


def points(x3: Any, seed: int, **where: str) -> Float:
    """(weights, 2) changes of popularity and accuracy of one trained model, by rising weight."""
    columns = (_rows(x3, name, seed=seed, **where) for name in CHANGES)
    return np.array(
        [[value for _, value in sorted((row["weight"], row["value"]) for row in rows)] for rows in columns]
    ).T


def _rows(result: Any, metric: str, **where: Any) -> list[dict[str, Any]]:
    """The rows of a metric; ValueError where there is none."""
    if not (found := result.select(metric=metric, **where)):
        raise ValueError(f"{result.id} has no {metric} of {where}; expected values of its columns {', '.join(where)}")
    return list(found)


def weights(x3: Any) -> list[float]:
    """The weights that were tried, rising."""
    return sorted(x3.distinct("weight"))


def curve(x3: Any, seed: int, **where: str) -> Curve:
    """The curve of one trained model."""
    popularity, accuracy = points(x3, seed, **where).T
    order = np.argsort(popularity, kind="stable")
    return Curve(popularity[order], accuracy[order])


def beyond(t3: Any, x3: Any, method: str, **where: str) -> list[float]:
    """For each seed: a method's change of MRR@10 minus that of the weight that makes lists equally popular, in %."""
    popular, accurate = (
        {row["seed"]: row["value"] for row in _rows(t3, name, method=method, **where)} for name in CHANGES
    )
    return [accurate[seed] - curve(x3, seed, **where).at(popular[seed]) for seed in popular]


def keeps(x3: Any, **where: str) -> dict[float, float]:
    """Weight -> gain of accuracy, of those that make lists less popular and more accurate, on average."""
    means = {w: [x3.mean(name, weight=w, **where) for name in CHANGES] for w in weights(x3)}
    return {w: accurate for w, (popular, accurate) in means.items() if popular < 0 < accurate}


def verdicts(t3: Any, x3: Any, more_accurate: int) -> dict[str, bool]:
    """Which predictions of P1-X3 held; more_accurate: the cases in which the page's finding sees a method above."""
    places = [(data, backbone) for data in x3.distinct("data") for backbone in ("MF", "LightGCN")]
    methods = [method for method in t3.distinct("method") if method]
    mean = {
        method: [float(np.mean(beyond(t3, x3, method, data=data, backbone=backbone))) for data, backbone in places]
        for method in methods
    }
    above = sum(value > 0 for values in mean.values() for value in values)
    return {
        "everywhere": not any(min(values) > 0 for values in mean.values()),
        "half": 2 * above <= len(methods) * len(places),
        "certain": more_accurate == 0,
        "promise": [place for place in places if keeps(x3, data=place[0], backbone=place[1])]
        == [("lastfm-10core", "MF")],
    }

"""What the chapter on gauges says of data, and in which cases it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from course_lib.lessons.shared.findings import Difference, finding

SETS = {"movietweetings-5core": "MovieTweetings", "ml-1m-5core": "ML-1M"}
EMBEDDED = SETS["movietweetings-5core"]
PLAIN, UNBALANCED, DECAY, SPHERE = "dot", "dot, unbalanced start", "dot and decay", "sphere"


def _agreed(x2: Any, metric: str, model: str, data: str) -> np.ndarray:
    """Share of neighbours on which two starts agree, in percent, by seed."""
    shares: np.ndarray = 100 * np.array(x2.values(metric, model=model, data=data))
    return shares


def _gap(x2: Any, model: str, data: str) -> np.ndarray:
    """By how much they agree more by gauge-free rows than by cosine, in percent, by seed."""
    gap: np.ndarray = _agreed(x2, "score rows", model, data) - _agreed(x2, "overlap", model, data)
    return gap


# ------------------------------------------------------------------------------------------------ two starts (P2-X2)


def _agree_more(x2: Any, more: tuple[str, str], less: tuple[str, str]) -> dict[str, Difference]:
    """For each data set: the agreement under one (similarity, start) minus that under another, over seeds."""
    return {name: Difference.paired(_agreed(x2, *more, data), _agreed(x2, *less, data)) for data, name in SETS.items()}


@finding(
    "From unbalanced starts two runs agree on fewer neighbours by cosine than from plain starts",
    case="data set",
    rests_on=["P2-X2-laptop"],
)
def unbalanced_start_spoils_cosines(x2: Any) -> dict[str, Difference]:
    """Percent of the neighbours, over seeds."""
    return _agree_more(x2, ("overlap", PLAIN), ("overlap", UNBALANCED))


@finding(
    "An unbalanced start costs more of the agreement by cosine than of the agreement by gauge-free rows",
    case="data set",
    rests_on=["P2-X2-laptop"],
)
def unbalanced_start_is_seen_by_cosines_only(x2: Any) -> dict[str, Difference]:
    """Percent of the neighbours: the gap between the two similarities, less that of plain starts, over seeds."""
    return {name: Difference.paired(_gap(x2, UNBALANCED, data), _gap(x2, PLAIN, data)) for data, name in SETS.items()}


@finding(
    "On the sphere two starts agree on more neighbours by cosine than with dot products",
    case="data set",
    rests_on=["P2-X2-laptop"],
)
def sphere_agrees_more_by_cosine(x2: Any) -> dict[str, Difference]:
    """Percent of the neighbours, over seeds."""
    return _agree_more(x2, ("overlap", SPHERE), ("overlap", PLAIN))


@finding(
    "On the sphere two starts agree on more neighbours by gauge-free rows, too, than with dot products",
    case="data set",
    rests_on=["P2-X2-laptop"],
)
def sphere_agrees_more_in_predictions(x2: Any) -> dict[str, Difference]:
    """Percent of the neighbours, over seeds."""
    return _agree_more(x2, ("score rows", SPHERE), ("score rows", PLAIN))


@finding(
    "On the sphere, where no gauge is free, two starts agree less by cosine than by gauge-free rows",
    case="data set",
    rests_on=["P2-X2-laptop"],
)
def sphere_has_a_gap(x2: Any) -> dict[str, Difference]:
    """Percent of the neighbours, over seeds."""
    return _agree_more(x2, ("score rows", SPHERE), ("overlap", SPHERE))


@finding(
    "The gap between the two similarities is narrower on the sphere than with dot products from plain starts",
    case="data set",
    claimed={"ML-1M"},
    rests_on=["P2-X2-laptop"],
)
def sphere_has_the_narrower_gap(x2: Any) -> dict[str, Difference]:
    """Percent of the neighbours, over seeds."""
    return {name: Difference.paired(_gap(x2, PLAIN, data), _gap(x2, SPHERE, data)) for data, name in SETS.items()}


@finding(
    "By cosine two starts agree on more neighbours with weight decay than on the sphere",
    case="data set",
    rests_on=["P2-X2-laptop"],
)
def decay_agrees_most(x2: Any) -> dict[str, Difference]:
    """Percent of the neighbours, over seeds."""
    return _agree_more(x2, ("overlap", DECAY), ("overlap", SPHERE))


@finding(
    "Two runs on the sphere agree on fewer of the neighbours on MovieTweetings than on ML-1M",
    case="similarity",
    rests_on=["P2-X2-laptop"],
)
def sphere_is_no_guarantee(x2: Any) -> dict[str, Difference]:
    """Percent of the neighbours, over seeds."""
    small, large = SETS
    return {
        name: Difference.paired(_agreed(x2, metric, SPHERE, large), _agreed(x2, metric, SPHERE, small))
        for name, metric in (("cosine", "overlap"), ("gauge-free rows", "score rows"))
    }


# --------------------------------------------------------------------------------------------- gauges of the optimum


@finding(
    "In random diagonal gauges of spread 2 neighbours share fewer genres than in the balanced gauge",
    case="pair of data set and width",
    rests_on=["P2-X1-laptop"],
)
def distant_gauges_lose_genres(x1: Any) -> dict[str, Difference]:
    """Percent of the genres, mean over the draws of a seed."""
    return {
        f"{name}, {k}": Difference.paired(
            *(
                100 * np.array(x1.values("genres", gauge=kind, spread=spread, data=data, k=k))
                for kind, spread in (("none", 0.0), ("diagonal", 2.0))
            )
        )
        for data, name in SETS.items()
        for k in x1.distinct("k", data=data)
    }


@finding(
    "Two starts agree on fewer neighbours by cosine under the first objective than under the second",
    case="pair of data set and decay",
    rests_on=["P2-X3-laptop"],
)
def first_objective_leaves_the_gauge_open(x3: Any) -> dict[str, Difference]:
    """Percent of the neighbours."""
    return {
        f"{name}, {decay:g}": Difference.paired(
            *(
                100 * np.array(x3.values("overlap", objective=which, data=data, decay=decay))
                for which in ("second", "first")
            )
        )
        for data, name in SETS.items()
        for decay in x3.distinct("decay", data=data)
    }


# --------------------------------------------------------------------------------------------- the page's own models


@finding("A random gauge leaves more of the neighbours, on average, than one that was searched for", case="data set")
def searching_finds_worse(random: Sequence[float], searched: float) -> dict[str, Difference]:
    """Percent of the neighbours, over random gauges of the same spread."""
    return {EMBEDDED: Difference.paired(random, np.full(len(random), searched), over="gauges")}


@finding("Neighbours in the balanced gauge share more genres than films drawn blindly", case="data set")
def neighbours_share_genres(neighbours: Sequence[float], everyone: Sequence[float]) -> dict[str, Difference]:
    """Percent of the genres, over films."""
    return {EMBEDDED: Difference.paired(neighbours, everyone, over="films")}


@finding("Neighbours share fewer genres, on average, in a random gauge than in the balanced one", case="data set")
def random_gauges_lose_genres(balanced: float, random: Sequence[float]) -> dict[str, Difference]:
    """Percent of the genres, over random gauges."""
    return {EMBEDDED: Difference.paired(np.full(len(random), balanced), random, over="gauges")}

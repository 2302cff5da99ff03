"""What P1's experiments measure: accuracy and popularity of lists, what DDC did, and projections on e_pop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats

from course_lib import correction, popularity
from course_lib.arrays import Array
from course_lib.debiasing import DDC
from course_lib.experiments.p1.data import Split
from course_lib.interactions import Interactions
from course_lib.training.recommenders import measure

RATIO, K = 0.05, 10  # rho of (4), length of the lists: P1, Section 5.1
ACCURACY = {"MRR@10": "mrr", "NDCG@10": "ndcg", "MAP@10": "map", "Recall@10": "recall", "AvgPop@10": "avgpop"}


def shifted(items: Array, counts: Array, shift: float | str) -> Array:
    """items (n, d) + shift sd(<e_i, e_pop>) e_pop, or minus their mean if "centred".

    One vector is added to all, so every <e_u, e_i - e_j> stays.
    """
    if isinstance(shift, str):
        if shift != "centred":
            raise ValueError(f"shift is {shift!r}; expected a number or 'centred'")
        return items - items.mean(axis=0)
    pop = popularity.popularity_direction(items, counts, RATIO)
    return (items + shift * (items @ pop).std() * pop).astype(items.dtype) if shift else items


def centroid(items: Array, counts: Array) -> float:
    """Where the mean item lies along e_pop, in standard deviations of the items' projections.

    It decides the sign of alpha.
    """
    projections = items @ popularity.popularity_direction(items, counts, RATIO)
    return float(projections.mean() / projections.std())


def numbers(tables: Any, split: Split) -> dict[str, float]:
    """P1's numbers on the test part: {"MRR@10": ..., "AvgPop@10": ...}.

    What a user has in the validation part is not shown either.
    """
    found = measure(tables, split.train, split.test, K, seen=split.valid)
    return {name: found[key] for name, key in ACCURACY.items()}


def gains(plain: Mapping[str, float], changed: Mapping[str, float]) -> dict[str, float]:
    """{"MRR@10 change %": ...}, relative to the same seed's model without the method: the interval is that of pairs."""
    return {f"{name} change %": 100 * (changed[name] / plain[name] - 1) for name in plain}


def anatomy(model: DDC, split: Split) -> dict[str, float]:
    """What DDC did.

    Share of users with alpha < 0, mean scalars, <e_pref, e_pop>, users without a minimiser, each correction alone.
    """
    trained = np.flatnonzero(split.train.row_counts)
    alpha, beta = model.alpha.detach().numpy()[trained], model.beta.detach().numpy()[trained]
    pref, pop, items = model.pref.numpy()[trained], model.pop.numpy(), model.items.numpy()
    found = {
        "alpha < 0": float((alpha < 0).mean()),
        "mean alpha": float(alpha.mean()),
        "mean beta": float(beta.mean()),
        "<e_pref, e_pop>": float((pref @ pop).mean()),
        "net alpha": float((alpha + beta * (pref @ pop)).mean()),
        "centroid": centroid(items, split.counts),
        "bounded": bounded_share(model, split.train),
    }
    for parts, name in (("a", "alpha alone"), ("b", "beta alone")):
        alone = numbers((model.final_users(parts).detach(), model.items), split)
        found |= {f"{metric} {name}": alone[metric] for metric in ("MRR@10", "AvgPop@10")}
    return found


def bounded_share(model: DDC, train: Interactions) -> float:
    """Share of the users whose loss (13) over all pairs has a minimiser: projections of both signs on both sides."""
    items, b = model.items.numpy(), model.items.numpy() @ model.pop.numpy()
    able = []
    for user in np.flatnonzero(train.row_counts):
        mine = train.items_of(int(user))
        others = np.ones(train.n_items, dtype=bool)
        others[mine] = False
        able.append(correction.has_minimiser(items[mine] @ model.pref[int(user)].numpy(), b[others]))
    return float(np.mean(able))


def projection(
    items: Array, counts: Array, rng: np.random.Generator, shown: int = 300
) -> tuple[dict[str, float], list[list[float]]]:
    """(correlations of projections with counts, [counts, projections] of some items).

    The items are spread evenly over the ranks of popularity.
    """
    items = np.asarray(items, dtype=np.float64)
    along = items @ popularity.popularity_direction(items, counts, RATIO)
    found = {
        "Pearson": popularity.pearson(along, counts.astype(float)),
        "cross-fitted": popularity.cross_fitted_correlation(items, counts, RATIO, rng=rng),
        "Pearson of roots": popularity.pearson(along, np.sqrt(counts)),
        "Spearman": float(stats.spearmanr(along, counts).statistic),
        "negative": float((along < 0).mean()),
        "centroid": float(along.mean() / along.std()),
    }
    order = np.argsort(counts, kind="stable")
    some = order[np.unique(np.linspace(0, len(order) - 1, min(shown, len(order))).round().astype(int))]
    return found, [counts[some].tolist(), along[some].round(4).tolist()]

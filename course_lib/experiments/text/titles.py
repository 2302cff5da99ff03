"""TEXT-X1: what normalised text vectors show: lengths before normalising, and the audit of the unit rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import linalg, stats

from course_lib import gauge, geometry
from course_lib.arrays import Array
from course_lib.audit import audit
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, means, tidy
from course_lib.experiments.text.encoders import MINILM, RECIPES, TOP, WORDS, EncoderCell, describe, encoded, named

QUERIES = 2_000  # titles whose neighbours are compared between distances


def plan(scale: str, seeds: Seeds) -> list[EncoderCell]:
    """All titles of a data set. Nothing is drawn by a seed but queries and a null, so there is one cell for each."""
    if scale == "smoke":
        return [{"data": "movietweetings-10core", "encoder": WORDS}]
    return [{"data": data, "encoder": MINILM} for data in ("movietweetings", "ml-1m")]


@experiment(
    "TEXT-X1",
    "film titles under a text encoder: lengths before normalising, centre, rank, hubs, and three kinds of search",
    plan=plan,
    estimate=lambda cell: 5.0 if cell["encoder"] == WORDS else 150.0,
    describe=describe,
    finish=lambda rows: means(rows, named),
    layout=shown("data", digits=3),
)
def titles_cell(cell: EncoderCell) -> list[Row]:
    """lengths: standard deviation over mean, and Spearman correlations with the characters and with the ratings.

    centre, effective rank, hubs (share of the 1 % most listed, and of the normal cloud) and popularity direction: the
    audit of the unit rows; "after centring": the same of the rows less their mean. listed: in how many lists of TOP the
    most listed title is, of all. kept: share of the TOP by cosine that a Euclidean search and an inner-product search
    return, on unit rows and on the rows as they are. free dimensions: least number of dimensions of linear gauges that
    keep the length of every title, k (k + 1) / 2 - n, 0 or more; where there are some, what a `length_keeping_gauge`
    keeps of the TOP, and by how much it changes a length at most.
    """
    data = RECIPES.load(cell["data"])
    titles = tuple(map(str, data.item_table["name"]))
    rows = encoded(titles, cell["encoder"]).astype(np.float64)
    lengths, unit = np.linalg.norm(rows, axis=1), geometry.normalise(rows)
    centred = geometry.normalise(unit - unit.mean(axis=0))
    n, width = rows.shape
    values = {
        "titles": n,
        "width": width,
        "length spread": lengths.std() / lengths.mean(),
        "length and characters": stats.spearmanr(lengths, [*map(len, titles)]).statistic,
        "length and ratings": stats.spearmanr(lengths, data.col_counts).statistic,
        "free dimensions": max(width * (width + 1) // 2 - n, 0),
        **searches(rows, unit),
    }
    found = tidy(cell, values)
    for name, table in (("", unit), (" after centring", centred)):
        found += tidy(cell, {f"{metric}{name}": value for metric, value in audited(table, data.col_counts).items()})
        times = np.bincount(gauge.neighbours(table, TOP).ravel(), minlength=n)
        found += tidy(cell, {f"listed{name}": times.max()}, title=titles[int(times.argmax())])
    return found


def audited(unit: Array, counts: Array) -> dict[str, Any]:
    """Figures of the audit of a table (n, k)."""
    report = audit(unit, counts=counts, rng=np.random.default_rng(0))
    hubs = report["hubs"]
    return {
        "centre": report["shifted-centre"].figures["length_of_mean_direction"],
        "effective rank": report["collapsed-rank"].figures["effective_rank"],
        "hubs": hubs.figures["share"],
        "hubs by chance": hubs.figures["null_share"],
        "hubs at fault": hubs.verdict == "fault",
        "popularity direction": report["popularity-direction"].figures["correlation"],
    }


def searches(rows: Array, unit: Array) -> dict[str, float]:
    """What other searches, and a gauge that keeps the lengths, keep of the neighbours by cosine; (n, k) both."""
    n, width = unit.shape
    queries = np.random.default_rng(0).choice(n, min(n, QUERIES), replace=False)
    near = gauge.neighbours(unit, TOP, queries=queries)

    def kept(table: Array, metric: str) -> float:
        return float(gauge.neighbour_overlap(near, gauge.neighbours(table, TOP, metric, queries=queries)).mean())

    found = {
        f"kept: {name}, {which}": kept(table, metric)
        for name, metric in (("Euclid", "euclidean"), ("inner product", "dot"))
        for which, table in (("unit", unit), ("raw", rows))
    }
    if n < width * (width + 1) // 2:
        moved = unit @ length_keeping_gauge(unit, np.random.default_rng(0))
        found |= {"kept: gauge": kept(moved, "cosine")}
        found |= {"change of a length": float(np.abs(np.linalg.norm(moved, axis=1) - 1).max())}
    return found


def length_keeping_gauge(unit: Array, rng: Generator) -> Array:
    """R (k, k), no rotation, that keeps the length of every row of `unit` (n, k), n < k (k + 1) / 2.

    R R^T = I + t E, E a random symmetric matrix less its projection on the span of the outer products u u^T of the
    rows, which are independent but for equal rows; t is half way to where I + t E stops being positive.
    """
    E = rng.standard_normal(unit.shape[1:] * 2)
    E += E.T
    gram = (unit @ unit.T) ** 2  # inner products of the u u^T
    gram.flat[:: len(gram) + 1] += 1e-9  # equal rows
    weights = linalg.solve(gram, ((unit @ E) * unit).sum(axis=1), assume_a="pos", overwrite_a=True)
    E -= (unit.T * weights) @ unit
    values = np.linalg.eigvalsh(E)
    R: Array = gauge.linear_stretch_along(E, 0.5 / max(-values[0], values[-1]))
    return R

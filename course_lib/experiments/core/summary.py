"""Numbers over seeds: means, and the half-widths of their confidence intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from scipy import stats

Row = dict[str, Any]


def part(cell: Mapping[str, Any], keys: str) -> Row:
    """The named coordinates of a cell, in this order: part(cell, "data loss seed")."""
    return {key: cell[key] for key in keys.split()}


def tidy(where: Mapping[str, Any], values: Mapping[str, Any], **more: Any) -> list[Row]:
    """One row for each number: where it belongs, its metric, its value, and what else is to be said."""
    return [{**where, "metric": metric, "value": float(value), **more} for metric, value in values.items()]


def half_width(values: Iterable[float], level: float = 0.95) -> float:
    """Half the width of Student's confidence interval for the mean of independent runs: t s / sqrt(n), n >= 2."""
    runs = np.asarray(list(values), dtype=np.float64)
    if runs.ndim != 1 or len(runs) < 2:
        raise ValueError(f"values has shape {runs.shape}; expected at least two runs")
    return float(stats.t.ppf((1 + level) / 2, len(runs) - 1) * runs.std(ddof=1) / len(runs) ** 0.5)


def spread(values: list[float]) -> float:
    """`half_width`, and 0 for a single run, which has no interval."""
    return half_width(values) if len(values) > 1 else 0.0


def means(rows: Iterable[Row], name: Callable[[Row], str], *, intervals: bool = False) -> dict[str, float]:
    """{name(row): mean of the values of the rows of this name}, a result's scalars.

    intervals: also {"<name>-pm": half the width of the 95 % interval} where there are three rows or more.
    """
    groups: dict[str, list[float]] = {}
    for row in rows:
        groups.setdefault(name(row), []).append(row["value"])
    found = {}
    for key, values in groups.items():
        found[key] = float(np.mean(values))
        if intervals and len(values) >= 3:
            found[f"{key}-pm"] = half_width(values)
    return found


def values_by_name(rows: Iterable[Row], name: Callable[[Row], str]) -> dict[str, float]:
    """{name(row): value} for numbers that no seed decides: one row each."""
    return {name(row): row["value"] for row in rows}

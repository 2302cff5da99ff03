"""Computes what the interactive `EveryAxis` says of the films, and stores it with the results of P1-X2 and P1-F1.

python -m course_lib.lessons.popularity_direction.make_every_axis (about a minute)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from course_lib import popularity
from course_lib.lessons.popularity_direction import every_axis, films
from course_lib.lessons.popularity_direction.findings import AXES
from course_lib.lessons.shared.film_models import store
from course_lib.popularity import LIBRARY_LAWS

RESULTS = Path(__file__).parents[3] / "book" / "results"
TRAINED = {"RecBole": "uniform", "LightFM": "popularity"}  # the laws under which P1-X2 trains
PASSES, SEEDS = 40, range(3)  # as on the page
Rows = Iterable[Mapping[str, Any]]


def of_films(passes: int = PASSES, seeds: Sequence[int] = SEEDS) -> dict[str, Any]:
    """The films of the page, one split: the first axis under each law, and MF before and after training."""
    train = films.train()
    axes = {law: films.first_axis(train, rule) for law, rule in LIBRARY_LAWS.items()}
    sides = {law: popularity.pull_matrix(train.labels(), LIBRARY_LAWS[law]) @ axis > 0 for law, axis in axes.items()}
    return {
        "name": "films of this page",
        "first": {law: [popularity.pearson(axis, train.col_counts)] for law, axis in axes.items()},
        "side": {law: [max(side.mean(), 1 - side.mean())] for law, side in sides.items()},
        "trained": {
            law: [films.crossed(films.factorise(passes, negatives=law_of, seed=seed)[1]) for seed in seeds]
            for law, law_of in TRAINED.items()
        },
        "untrained": [films.crossed(films.normal_tables(seed)[1]) for seed in seeds],
        "chance": popularity.double_dipping_law(train.col_counts, films.WIDTH, every_axis.RATIO).mean,
    }


def of_stored(name: str, data: str, x2: Rows, f1: Rows) -> dict[str, Any]:
    """The same of a data set from the rows of P1-X2 and P1-F1."""

    def of_laws(metric: str) -> dict[str, list[float]]:
        of = {law: _values(x2, data=data, law=law, metric=metric) for law in LIBRARY_LAWS}
        return {law: values for law, values in of.items() if values}

    return {
        "data": data,
        "name": name,
        "first": of_laws("first axis"),
        "side": of_laws("one side"),
        "trained": of_laws("trained r"),
        "untrained": _values(f1, data=data, backbone="MF", state="untrained", metric="cross-fitted"),
        "chance": _values(x2, data=data, law="RecBole", metric="chance")[0],
    }


def _values(rows: Rows, **wanted: str) -> list[float]:
    return [row["value"] for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def stored_rows(name: str) -> list[dict[str, Any]]:
    """The rows of a stored result."""
    rows: list[dict[str, Any]] = json.loads((RESULTS / f"{name}-laptop.json").read_text(encoding="utf-8"))["rows"]
    return rows


def rounded(value: Any) -> Any:
    """Four decimals, all the way down."""
    if isinstance(value, Mapping):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return value if isinstance(value, str) else round(float(value), 4)


def of_all_stored() -> list[dict[str, Any]]:
    """The data sets with stored results."""
    x2, f1 = stored_rows("P1-X2"), stored_rows("P1-F1")
    return [of_stored(name, data, x2, f1) for name, data in AXES.items()]


if __name__ == "__main__":
    store(every_axis.STORED, {"sets": rounded([of_films(), *of_all_stored()])})

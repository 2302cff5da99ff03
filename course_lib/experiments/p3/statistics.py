"""P3's Table 3: the sizes of the training part over random splits."""

from __future__ import annotations

import itertools
from typing import TypedDict

import numpy as np

from course_lib import papers
from course_lib.experiments.core.data import TRAIN_SHARE
from course_lib.experiments.core.registry import Seeds, experiment
from course_lib.experiments.core.results import shown
from course_lib.experiments.core.summary import Row, values_by_name
from course_lib.experiments.p3.setting import describe, load_data


class SplitsCell(TypedDict):
    """`splits` random splits of a data set under one law, numbered from the seed."""

    data: str
    law: str
    splits: int
    seed: int


def table3_plan(scale: str, seeds: Seeds, *, splits: int = 20) -> list[SplitsCell]:
    """One cell per data set and law of the split; `splits` random splits each, numbered from the seed."""
    laptop = ["ml-1m", "ml-100k", "amazon-beauty"]
    sets = {"smoke": ["movietweetings-10core"], "laptop": laptop, "full": ["ml-1m", "eurlex"]}[scale]
    places = itertools.product(sets, ("exact", "bernoulli"), seeds)
    return [{"data": name, "law": law, "splits": splits, "seed": seed} for name, law, seed in places]


def scalar_name(row: Row) -> str:
    """ "ml-1m-exact-mean-pair-popularity-mean" """
    metric = row["metric"].replace(" ", "-").replace("_", "-")
    return f"{row['data']}-{row['law']}-{metric}-{row['summary']}"


@experiment(
    "P3-T3",
    "data statistics of the training part over random 90 % splits",
    plan=table3_plan,
    estimate=lambda cell: 1.0 * cell["splits"] / 4,
    describe=describe,
    finish=lambda rows: values_by_name(rows, scalar_name),
    layout=shown("data", "law", "metric", columns=("summary",), digits=1),
)
def table3_cell(cell: SplitsCell) -> list[Row]:
    """m, n, |O| and |O|^2/(m n) of the compacted training part: mean, sd, least and greatest over splits.

    law "exact": round(0.9 |O|) pairs; "bernoulli": each pair with probability 0.9 (P3 does not say how it split).
    """
    data = load_data(cell["data"])
    split = {"exact": data.split_random, "bernoulli": data.split_bernoulli}[cell["law"]]
    found = [
        split(TRAIN_SHARE, np.random.default_rng([cell["seed"], at]))[0].compact().statistics()
        for at in range(cell["splits"])
    ]
    printed = {row["dataset"]: row for row in papers.table("P3", "T3")}.get(cell["data"], {})
    rows: list[Row] = []
    for metric in found[0]:
        values = np.array([row[metric] for row in found], dtype=np.float64)
        where: Row = {"data": cell["data"], "law": cell["law"], "metric": metric}
        where |= {"seed": cell["seed"], "splits": cell["splits"]}
        summaries = {"mean": values.mean(), "sd": values.std(ddof=1), "least": values.min(), "greatest": values.max()}
        rows += [{**where, "summary": name, "value": float(value)} for name, value in summaries.items()]
        if metric in printed:
            rows[-4]["paper"] = printed[metric]  # beside the mean
    return rows

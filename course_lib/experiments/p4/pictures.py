"""P4's Table 2 and Figure 8 beside our stored results, as pictures.

P4's graphs and its way of counting (a validation item among 50,000 random candidates) are not ours, so no printed MAP
stands beside one of ours. What both have is the change of MAP@10 from batch sampling to SOGram, in percent.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from course_lib.experiments.core.pictures import HELD_LOOKS, Series, named, relative, rows
from course_lib.experiments.core.results import Result, load_result
from course_lib.papers import p4, table

GRAPHS = {
    graph: Series(f"P4 on Wikipedia, {graph}", look)
    for graph, look in zip(("simple", "fr", "en"), HELD_LOOKS, strict=True)
}


def over_sampling(result: Result, metric: str) -> pd.DataFrame:
    """Our changes of a metric from sampling to SOGram in percent, for each alpha."""
    found = relative(result.frame(metric=metric), "method", "sampling", ("data", "seed"))
    found = found[found["method"].str.startswith("sogram ")]
    series = found["data"].map(named(result.distinct("data"), "ours on {}"))
    return found.assign(series=series, alpha=found["method"].str.split().str[-1].astype(float))


def _beside(ours: pd.DataFrame, printed: Mapping[tuple[Series, float], float], title: str, said: str) -> str:
    """Our changes and the printed ones, {(series, alpha): change in percent}, a row for each of our alphas."""
    theirs = pd.DataFrame([(*key, value) for key, value in printed.items()], columns=["series", "alpha", "value"])
    both = pd.concat([ours, theirs])
    named_rows = both.assign(panel=title, name=both["alpha"].map("α = {:g}".format))
    return rows(named_rows, f"A change of 0 is sampling. {said}", level=0)


def _times(theirs: float, data: str) -> str:
    """How many times as many pairs the paper's data have as ours, "38"."""
    return f"{theirs / load_result('P4-T1', 'laptop').mean('pairs', data=data):.0f}"


def quality(result: Result) -> str:
    """Table 2: what SOGram changes, for four rates alpha."""
    ours, least = over_sampling(result, "map@10"), min(row["links"] for row in table("P4", "T1"))
    printed = {
        (one, alpha): p4.improvement(graph, alpha) for alpha in ours["alpha"].unique() for graph, one in GRAPHS.items()
    }
    said = (
        f"The data differ: P4's smallest graph has {_times(least, 'wikispeedia')} times as many links as Wikispeedia. "
        f"The count differs, too: P4 ranks an item among {p4.printed('simple', 'candidates'):,.0f} random ones, we "
        "rank it among all."
    )
    return _beside(ours, printed, "final MAP@10, change in %", said)


def ratings(result: Result) -> str:
    """Figure 8: what SOGram changes on ratings; P4's text prints the number of one rate."""
    printed = {(Series("P4 on ML-10M", "bar"), 0.1): p4.printed("movielens", "improvement_percent")}
    [corpus] = table("P4", "T3")
    said = (
        "P4 prints one number, for α = 0.1. The data differ: ML-10M has "
        f"{_times(corpus['ratings'], 'ml-100k-ratings')} times as many ratings as ML-100K."
    )
    title = "best MAP@10 on held-out pairs, change in %"
    return _beside(over_sampling(result, "best map@10"), printed, title, said)

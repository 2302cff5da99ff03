"""P4's Table 2 and Figure 8 beside our stored results, as pictures.

P4's graphs and its way of counting (a validation item among 50,000 random candidates) are not ours, so no printed MAP
stands beside one of ours. What both have is the change of MAP@10 from batch sampling to SOGram, in percent.
"""

from __future__ import annotations

from course_lib.experiments.core.pictures import HELD_LOOKS, Mark, Series, named, relative, rows
from course_lib.experiments.core.results import Result, load_result
from course_lib.papers import p4, table

LEVEL = "A change of 0 is sampling."
GRAPHS = {"simple": "P4 on Wikipedia, simple", "fr": "P4 on Wikipedia, fr", "en": "P4 on Wikipedia, en"}


def over_sampling(result: Result, metric: str) -> dict[float, list[Mark]]:
    """alpha -> our changes of a metric from sampling to SOGram in percent, by data set."""
    found: dict[float, list[Mark]] = {}
    for data, series in named(result.distinct("data"), "ours on {}").items():
        for method in result.distinct("method", data=data):
            name, _, alpha = method.partition(" ")
            values = relative(result, metric, {"data": data, "method": method}, {"data": data, "method": "sampling"})
            if name == "sogram" and values:
                found.setdefault(float(alpha), []).append(Mark.of(series, values))
    return found


def quality(result: Result) -> str:
    """Table 2: what SOGram changes, for four rates alpha."""
    graphs = {graph: Series(GRAPHS[graph], look) for graph, look in zip(GRAPHS, HELD_LOOKS, strict=True)}
    panel = {
        f"α = {alpha:g}": [*marks, *(Mark(one, p4.improvement(graph, alpha)) for graph, one in graphs.items())]
        for alpha, marks in over_sampling(result, "map@10").items()
    }
    least = min(row["links"] for row in table("P4", "T1"))
    said = (
        f"{LEVEL} The data differ: P4's smallest graph has {_times(least, 'wikispeedia')} times as many links as "
        f"Wikispeedia. The count differs, too: P4 ranks an item among {p4.printed('simple', 'candidates'):,.0f} random "
        "ones, we rank it among all."
    )
    return rows({"final MAP@10, change in %": panel}, said, level=0)


def _times(theirs: float, data: str) -> str:
    """How many times as many pairs the paper's data have as ours, "38"."""
    return f"{theirs / load_result('P4-T1', 'laptop').mean('pairs', data=data):.0f}"


def ratings(result: Result) -> str:
    """Figure 8: what SOGram changes on ratings; P4's text prints the number of one rate."""
    printed = Mark(Series("P4 on ML-10M", "bar"), p4.printed("movielens", "improvement_percent"))
    found = over_sampling(result, "best map@10")
    panel = {f"α = {alpha:g}": [*marks, *([printed] if alpha == 0.1 else [])] for alpha, marks in found.items()}
    [corpus] = table("P4", "T3")
    said = (
        f"{LEVEL} P4 prints one number, for α = 0.1. The data differ: ML-10M has "
        f"{_times(corpus['ratings'], 'ml-100k-ratings')} times as many ratings as ML-100K."
    )
    return rows({"best MAP@10 on held-out pairs, change in %": panel}, said, level=0)

"""What the chapter says of data, over the stored result of PRACTICE-4, and what became of its predictions.

Lists with today's hits are those of a model with a coordinate for them, on three data sets with times. A
quarter of popularity holds a quarter of the pairs, quarter 1 the most popular items and quarter 4 the rarest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from course_lib.lessons.shared.findings import Difference, finding

RESULT = "PRACTICE-4-laptop"
SETS = {"MovieTweetings": "movietweetings", "ML-1M": "ml-1m", "Gowalla": "gowalla"}
QUARTIC, TRAINED = "count^(1/4)", "trained"
PRODUCT, MORE = "inner product", "one more coordinate"
CUTS = (8, 16, 32)
SERVED = "movietweetings-10core"
WITH_HITS = "with today's hits"
HITS_SETS = {"MovieTweetings": "movietweetings", "its 10-core": SERVED, "ML-1M": "ml-1m"}
SEEDS = 5


def there(stored: Any) -> dict[str, str]:
    """The data sets of which the result has all five seeds."""
    return {name: data for name, data in SETS.items() if len(stored.values("slope of length", data=data)) >= SEEDS}


def of_ivf(stored: Any, data: str, metric: str, space: str, lengths: str = QUARTIC) -> list[float]:
    """What IVF finds, over the seeds."""
    return list(stored.values(metric, data=data, lengths=lengths, space=space, index="ivf"))


def of_kind(stored: Any, data: str, metric: str, kind: str, space: str = PRODUCT) -> list[float]:
    """A number of an index of the trained vectors, over the seeds."""
    return list(stored.values(metric, data=data, lengths=TRAINED, space=space, index=kind))


on_stored = partial(finding, cases=there, case="data set", rests_on=(RESULT,))


@on_stored("With lengths of count^(1/4), IVF finds more of the most popular quarter with one more coordinate")
def one_more_coordinate_keeps_the_popular(stored: Any, data: str) -> Difference:
    """Recall in the most popular quarter with one more coordinate minus that by inner product, over seeds."""
    return Difference.paired(of_ivf(stored, data, "recall 1", MORE), of_ivf(stored, data, "recall 1", PRODUCT))


@on_stored(
    "With lengths of count^(1/4), IVF finds less of the rarest quarter with one more coordinate",
    claimed={"MovieTweetings", "ML-1M"},
)
def one_more_coordinate_loses_the_rare(stored: Any, data: str) -> Difference:
    """Recall in the rarest quarter by inner product minus that with one more coordinate, over seeds."""
    return Difference.paired(of_ivf(stored, data, "recall 4", PRODUCT), of_ivf(stored, data, "recall 4", MORE))


@on_stored("Lengths of count^(1/4) cost IVF by inner product a part of the most popular quarter")
def lengths_cost_the_popular(stored: Any, data: str) -> Difference:
    """Recall in the most popular quarter with equal lengths minus that with count^(1/4), over seeds."""
    return Difference.paired(
        of_ivf(stored, data, "recall 1", PRODUCT, "count^0"), of_ivf(stored, data, "recall 1", PRODUCT)
    )


@on_stored("One byte a coordinate finds at least 97 % of the exact ten by inner product")
def one_byte_is_nearly_exact(stored: Any, data: str) -> Difference:
    """Recall of int8 minus 0.97, with the trained lengths, over seeds."""
    return Difference.above(stored.values("recall", data=data, lengths=TRAINED, space=PRODUCT, index="int8"), 0.97)


@on_stored("Sixteen bytes a vector (product quantisation) find less than one byte a coordinate")
def sixteen_bytes_find_less(stored: Any, data: str) -> Difference:
    """Recall of int8 minus that of product quantisation, with the trained lengths by inner product, over seeds."""
    return Difference.paired(*(of_kind(stored, data, "recall", kind) for kind in ("int8", "pq")))


@on_stored("In one byte a coordinate, exact search takes longer than in four bytes (faiss, one thread)")
def one_byte_takes_longer(stored: Any, data: str) -> Difference:
    """Milliseconds a query of int8 minus those of exact search, over seeds."""
    return Difference.paired(of_kind(stored, data, "query ms", "int8"), of_kind(stored, data, "query ms", "exact"))


@on_stored("A graph (HNSW) finds at least 95 % of the exact ten by inner product", bound_after=True)
def a_graph_finds_the_lists(stored: Any, data: str) -> Difference:
    """Recall of HNSW minus 0.95, over seeds."""
    return Difference.above(of_kind(stored, data, "recall", "hnsw"), 0.95)


@on_stored("A graph (HNSW) takes longer than exact search", claimed={"MovieTweetings", "ML-1M"})
def a_graph_takes_longer(stored: Any, data: str) -> Difference:
    """Milliseconds a query of HNSW minus those of exact search, over seeds; Gowalla is the largest of the three."""
    return Difference.paired(of_kind(stored, data, "query ms", "hnsw"), of_kind(stored, data, "query ms", "exact"))


@on_stored("One byte a coordinate finds less with one more coordinate than by inner product")
def one_byte_needs_no_more_coordinate(stored: Any, data: str) -> Difference:
    """Recall of int8 by inner product minus that with one more coordinate, over seeds."""
    return Difference.paired(*(of_kind(stored, data, "recall", "int8", space) for space in (PRODUCT, MORE)))


def cuts(stored: Any) -> dict[str, tuple[str, int]]:
    """Each data set, cut to each width."""
    return {f"{name}, {width} numbers": (data, width) for name, data in there(stored).items() for width in CUTS}


@finding(
    "Cut to fewer numbers, vectors in the SVD gauge keep more of the full lists than vectors as trained",
    case="setting",
    cases=cuts,
    rests_on=(RESULT,),
)
def the_gauge_decides_what_a_prefix_keeps(stored: Any, told: tuple[str, int]) -> Difference:
    """Share of the full ten that the first numbers find, in the SVD gauge minus as trained, over seeds."""
    data, width = told
    return Difference.paired(
        *(stored.values(f"cut to {width}", data=data, index=name) for name in ("SVD gauge", "as trained"))
    )


def served(stored: Any, metric: str, name: str = "plain") -> np.ndarray:
    """A number of the served model, over the seeds."""
    return np.array(stored.values(metric, data=SERVED, index=name))


@finding(
    "The first numbers in the SVD gauge keep more of the full lists than tables trained for being cut keep of theirs",
    case="width",
    rests_on=(RESULT,),
)
def the_gauge_keeps_more_than_training_for_it(stored: Any) -> dict[str, Difference]:
    """Share of the full ten in the SVD gauge minus that of Matryoshka tables, on MovieTweetings, over seeds."""
    return {
        f"{width} numbers": Difference.paired(
            served(stored, f"cut to {width}", "SVD gauge"), served(stored, f"cut to {width}", "Matryoshka")
        )
        for width in (2, 4, 8, 16)
    }


@finding(
    "Later in time the served model finds as much in one byte a coordinate and in eight numbers, within 0.01",
    case="way of serving",
    rests_on=(RESULT,),
)
def small_tables_serve_as_well(stored: Any) -> dict[str, Difference]:
    """Recall@10 later in time of the smaller tables, minus that of the full ones less 0.01, over seeds."""
    least = served(stored, "recall@10") - 0.01
    return {
        "one byte": Difference.paired(served(stored, "recall@10 int8"), least),
        "eight numbers": Difference.paired(served(stored, "recall@10 cut to 8", "SVD gauge"), least),
    }


@finding(
    "Later in time the served model finds more than the films that were popular lately",
    case="data set",
    cases="MovieTweetings",
    rests_on=(RESULT,),
)
def the_served_model_beats_popular_lately(stored: Any) -> Difference:
    """Recall@10 of the served model minus that of the list, over trainings; another test set is another question."""
    lately = served(stored, "recall@10 popular lately", "list")
    return Difference.paired(served(stored, "recall@10"), lately)


@finding(
    "Later in time the served model finds more than today's hits, a list with a fixed half-life",
    case="data set",
    cases="MovieTweetings",
    rests_on=(RESULT,),
)
def the_served_model_beats_todays_hits(stored: Any) -> Difference:
    """Recall@10 of the served model minus that of the list, over trainings; another test set is another question."""
    return Difference.paired(served(stored, "recall@10"), served(stored, "recall@10 decayed hits", "list"))


@finding(
    "Later in time the served model finds more than item neighbours with today's hits",
    case="data set",
    cases="MovieTweetings",
    claimed=(),
    rests_on=(RESULT,),
)
def the_served_model_beats_neighbours(stored: Any) -> Difference:
    """Recall@10 of the served model minus that of item neighbours with hits, over trainings."""
    counted = served(stored, "recall@10 item neighbours with hits", "list")
    return Difference.paired(served(stored, "recall@10"), counted)


@finding(
    "Later in time the served model shows more films than item neighbours with today's hits",
    case="data set",
    cases="MovieTweetings",
    rests_on=(RESULT,),
)
def the_served_model_shows_more_films(stored: Any) -> Difference:
    """Films in at least one list of ten: of the served model, minus of item neighbours with hits, over trainings."""
    counted = served(stored, "films shown item neighbours with hits", "list")
    return Difference.paired(served(stored, "films shown"), counted)


def of_hits(stored: Any, data: str, metric: str, space: str) -> list[float]:
    """What IVF finds of the lists with today's hits, over the seeds."""
    return of_ivf(stored, data, metric, space, WITH_HITS)


on_hits = partial(finding, cases=HITS_SETS, case="data set", rests_on=(RESULT,))


@on_hits("Of lists with today's hits, IVF by inner product finds less in one cell than the ten hits alone hold")
def one_cell_finds_less_than_the_hits(stored: Any, data: str) -> Difference:
    """Share of the exact ten that the decayed hits hold, minus what IVF by inner product finds, over seeds."""
    hits = list(stored.values("recall", data=data, lengths=WITH_HITS, index="decayed hits"))
    return Difference.paired(hits, of_hits(stored, data, "recall in 1", PRODUCT))


@on_hits("Of lists with today's hits, IVF finds more in one cell with one more coordinate than by inner product")
def one_more_coordinate_finds_the_hits(stored: Any, data: str) -> Difference:
    """What IVF finds in one cell with one more coordinate, minus by inner product, over seeds."""
    return Difference.paired(*(of_hits(stored, data, "recall in 1", space) for space in (MORE, PRODUCT)))


@on_hits("Of lists with today's hits, IVF with one more coordinate finds at least 95 % in four cells")
def four_cells_find_the_lists(stored: Any, data: str) -> Difference:
    """What IVF finds in four cells with one more coordinate, minus 0.95, over seeds."""
    return Difference.above(of_hits(stored, data, "recall in 4", MORE), 0.95)


# ------------------------------------------------------------------------------------------------------- predictions
def outcomes(stored: Any) -> Iterator[tuple[int, str, bool]]:
    """(number of a prediction, data set, did it hold there?), by the means over seeds 1 to 4; of 5 by every seed."""
    for name, data in there(stored).items():
        ivf = partial(_ivf, stored, data)
        ends = [(ivf("recall 1", PRODUCT, one), ivf("recall 4", PRODUCT, one)) for one in (QUARTIC, "count^(1/2)")]
        if name == "Gowalla":
            yield 1, name, all(popular < rare for popular, rare in ends if np.isfinite(rare))
        if name == "MovieTweetings":
            yield 1, name, not ends[0][0] < ends[0][1]
        yield (
            2,
            name,
            ivf("recall 1", MORE) > ivf("recall 1", PRODUCT) and ivf("recall 4", MORE) < ivf("recall 4", PRODUCT),
        )
        int8, pq = (
            _mean(stored.values("recall", data=data, lengths=TRAINED, space=PRODUCT, index=kind))
            for kind in ("int8", "pq")
        )
        yield 3, name, int8 >= 0.97 and pq < 0.8
        yield 4, name, _mean(stored.values("certified by 20", data=data, lengths=TRAINED)) >= 0.3
        pairs = [
            [stored.values(f"cut to {width}", data=data, index=which) for which in ("SVD gauge", "as trained")]
            for width in CUTS
        ]
        yield 5, name, all(a > b for left, right in pairs for a, b in zip(left, right, strict=True))
    yield 6, "MovieTweetings", _served_as_predicted(stored)
    for name, data in HITS_SETS.items():
        one, more, four = (
            _ivf(stored, data, metric, space, WITH_HITS)
            for metric, space in (("recall in 1", PRODUCT), ("recall in 1", MORE), ("recall in 4", MORE))
        )
        listed = _mean(stored.values("recall", data=data, lengths=WITH_HITS, index="decayed hits"))
        yield 7, name, one < listed and more >= 0.6 and four >= 0.95
    counted = _mean(served(stored, "recall@10 item neighbours with hits", "list"))
    yield 8, "MovieTweetings", counted >= _mean(served(stored, "recall@10")) - 0.01


def _ivf(stored: Any, data: str, metric: str, space: str, lengths: str = QUARTIC) -> float:
    """What IVF finds; NaN for a quarter without a place."""
    return _mean(of_ivf(stored, data, metric, space, lengths) or [np.nan] * SEEDS)


def _served_as_predicted(stored: Any) -> bool:
    """The outcome of prediction 6."""
    full = _mean(served(stored, "recall@10"))
    close = [
        abs(_mean(served(stored, metric, name)) - full) <= 0.01
        for metric, name in (("recall@10 int8", "plain"), ("recall@10 cut to 8", "SVD gauge"))
    ]
    ahead = [
        width
        for width in (2, 4, 8, 16)
        if _mean(served(stored, f"cut to {width}", "Matryoshka"))
        > _mean(served(stored, f"cut to {width}", "SVD gauge"))
    ]
    return all(close) and ahead == [2, 4, 8]


def _mean(values: Any) -> float:
    """The mean over seeds 1 to 4: seed 0 had been looked at."""
    rest = list(values)[1:]
    return float(np.mean(rest)) if rest else float("nan")


def table_of_outcomes(stored: Any, predictions: Mapping[int, str]) -> list[list[str]]:
    """[number, prediction, what became of it], for a table of the page."""
    found: dict[int, dict[str, bool]] = {number: {} for number in predictions}
    for number, name, held in outcomes(stored):
        found[number][name] = held
    wanted = {1: ("MovieTweetings", "Gowalla"), 6: ("MovieTweetings",), 7: tuple(HITS_SETS), 8: ("MovieTweetings",)}
    return [[str(n), text, _outcome(found[n], wanted.get(n, tuple(SETS)))] for n, text in predictions.items()]


def _outcome(held: Mapping[str, bool], wanted: Collection[str]) -> str:
    """ "held", "failed on ML-1M", "held on MovieTweetings; not run on Gowalla yet"."""
    failed = [name for name, yes in held.items() if not yes]
    missing = [name for name in wanted if name not in held]
    if failed:
        return f"failed on {' and '.join(failed)}"
    there = f"held on {' and '.join(held)}; " if held and missing else ""
    return f"{there}not run on {' and '.join(missing)} yet" if missing else "held"

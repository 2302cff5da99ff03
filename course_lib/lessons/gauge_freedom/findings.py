"""What the chapter on gauges says of data, and in which cases it holds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from course_lib.lessons.shared.findings import Difference, finding

SETS = {"MovieTweetings": "movietweetings-5core", "ML-1M": "ml-1m-5core"}
TITLES = {"MovieTweetings": "movietweetings", "ML-1M": "ml-1m"}
PLAIN, UNBALANCED, DECAY, SPHERE = "dot", "dot, unbalanced start", "dot and decay", "sphere"


def _each(column: str, **more: Sequence[Any]) -> Callable[[Any], dict[str, dict[str, Any]]]:
    """One case for each data set, each value of a column there and each of `more`: where to look in a stored result."""

    def cases(stored: Any) -> dict[str, dict[str, Any]]:
        places = (
            (name, {"data": data, column: value, **dict(zip(more, others, strict=True))})
            for name, data in SETS.items()
            for value in stored.distinct(column, data=data)
            for others in itertools.product(*more.values())
        )
        return {", ".join([name, f"{at[column]:g}", *(at[key] for key in more)]): at for name, at in places}

    return cases


# Findings on stored results, and what one case usually is there
on_p2_x1 = partial(finding, rests_on=["P2-X1-laptop"], case="pair of data set and width", cases=_each("k"))
on_p2_x2 = partial(finding, rests_on=["P2-X2-laptop"], case="data set", cases=SETS)
on_p2_x3 = partial(finding, rests_on=["P2-X3-laptop"], case="pair of data set and decay", cases=_each("decay"))
on_text_x1 = partial(finding, rests_on=["TEXT-X1-laptop"], case="data set", cases=TITLES)
on_text_x2 = partial(finding, rests_on=["TEXT-X2-laptop"], case="data set", cases=SETS)
on_films = partial(finding, case="data set", cases="MovieTweetings")  # the page's own models
by_gauge = partial(
    on_p2_x1, case="combination of data set, width and kind of gauge", cases=_each("k", gauge=("diagonal", "linear"))
)


def _percent(stored: Any, metric: str, **where: Any) -> np.ndarray:
    """A share in percent, by seed."""
    shares: np.ndarray = 100 * np.array(stored.values(metric, **where))
    return shares


def _of_seeds(stored: Any, metric: str, **where: Any) -> np.ndarray:
    """(seeds, numbers of a seed)."""
    return np.array([stored.values(metric, seed=seed, **where) for seed in stored.distinct("seed", **where)])


# ------------------------------------------------------------------------------------------------ two starts (P2-X2)


def _agree_more(x2: Any, data: str, more: tuple[str, str], less: tuple[str, str]) -> Difference:
    """The agreement under one (similarity, start) minus that under another, over seeds."""
    return Difference.paired(*(_percent(x2, metric, model=model, data=data) for metric, model in (more, less)))


def _wider_gap(x2: Any, data: str, wider: str, narrower: str) -> Difference:
    """By how much predictions agree more than cosines, from one start minus from another."""
    gaps = (
        _percent(x2, "score rows", model=model, data=data) - _percent(x2, "overlap", model=model, data=data)
        for model in (wider, narrower)
    )
    return Difference.paired(*gaps)


@on_p2_x2("From unbalanced starts two runs agree on fewer neighbours by cosine than from plain starts")
def unbalanced_start_spoils_cosines(x2: Any, data: str) -> Difference:
    """Percent of the neighbours, over seeds."""
    return _agree_more(x2, data, ("overlap", PLAIN), ("overlap", UNBALANCED))


@on_p2_x2("An unbalanced start costs more of the agreement by cosine than of the agreement by predictions")
def unbalanced_start_is_seen_by_cosines_only(x2: Any, data: str) -> Difference:
    """Percent of the neighbours: the gap between the two similarities, less that of plain starts, over seeds."""
    return _wider_gap(x2, data, UNBALANCED, PLAIN)


@on_p2_x2("On the sphere two starts agree on more neighbours by cosine than with dot products")
def sphere_agrees_more_by_cosine(x2: Any, data: str) -> Difference:
    """Percent of the neighbours, over seeds."""
    return _agree_more(x2, data, ("overlap", SPHERE), ("overlap", PLAIN))


@on_p2_x2("On the sphere two starts agree on more neighbours by predictions, too, than with dot products")
def sphere_agrees_more_in_predictions(x2: Any, data: str) -> Difference:
    """Percent of the neighbours, over seeds."""
    return _agree_more(x2, data, ("score rows", SPHERE), ("score rows", PLAIN))


@on_p2_x2("On the sphere, where no gauge is free, two starts agree less by cosine than by predictions")
def sphere_has_a_gap(x2: Any, data: str) -> Difference:
    """Percent of the neighbours, over seeds."""
    return _agree_more(x2, data, ("score rows", SPHERE), ("overlap", SPHERE))


@on_p2_x2(
    "The gap between the two similarities is narrower on the sphere than with dot products from plain starts",
    claimed={"ML-1M"},
)
def sphere_has_the_narrower_gap(x2: Any, data: str) -> Difference:
    """Percent of the neighbours, over seeds."""
    return _wider_gap(x2, data, PLAIN, SPHERE)


@on_p2_x2("By cosine two starts agree on more neighbours with weight decay than on the sphere")
def decay_agrees_most(x2: Any, data: str) -> Difference:
    """Percent of the neighbours, over seeds."""
    return _agree_more(x2, data, ("overlap", DECAY), ("overlap", SPHERE))


@on_p2_x2("With weight decay neighbours share fewer genres than with dot products alone", claimed={"ML-1M"})
def decay_costs_genres(x2: Any, data: str) -> Difference:
    """Percent of the genres, over seeds; with the one decay that was tried."""
    return Difference.paired(*(_percent(x2, "genres", model=model, data=data) for model in (PLAIN, DECAY)))


@on_p2_x2(
    "Two runs on the sphere agree on fewer of the neighbours on MovieTweetings than on ML-1M",
    case="similarity",
    cases={"cosine": "overlap", "predictions": "score rows"},
)
def sphere_is_no_guarantee(x2: Any, metric: str) -> Difference:
    """Percent of the neighbours, over seeds."""
    small, large = (_percent(x2, metric, model=SPHERE, data=data) for data in SETS.values())
    return Difference.paired(large, small)


# --------------------------------------------------------------------------------------------- gauges of the optimum


@by_gauge("Random gauges of spread 1 keep fewer than half of the ten neighbours, on average")
def random_gauges_keep_less_than_half(x1: Any, at: dict[str, Any]) -> Difference:
    """50 minus percent of the neighbours, over seeds; each is a mean over the draws of a seed."""
    return Difference.below(_percent(x1, "overlap", spread=1.0, **at), 50)


@on_p2_x1("A gauge that was searched for leaves fewer of the neighbours than random ones of the same spread")
def searched_gauges_keep_fewest(x1: Any, at: dict[str, Any]) -> Difference:
    """Percent of the neighbours at spread 1, over seeds."""
    kinds = ("diagonal", "worst diagonal")
    return Difference.paired(*(_percent(x1, "overlap", gauge=kind, spread=1.0, **at) for kind in kinds))


@by_gauge("Random gauges of spread 2 keep fewer of the neighbours than those of spread 0.5")
def wider_gauges_keep_fewer(x1: Any, at: dict[str, Any]) -> Difference:
    """Percent of the neighbours, over seeds."""
    return Difference.paired(*(_percent(x1, "overlap", spread=spread, **at) for spread in (0.5, 2.0)))


@on_p2_x1("Ten films drawn at random become the ten nearest of a film")
def chosen_films_become_the_nearest(x1: Any, at: dict[str, Any]) -> Difference:
    """Percent of the chosen films that are found, minus 99, over seeds."""
    return Difference.above(_percent(x1, "chosen found", **at), 99)


@on_p2_x1("In random diagonal gauges of spread 2 neighbours share fewer genres than in the balanced gauge")
def distant_gauges_lose_genres(x1: Any, at: dict[str, Any]) -> Difference:
    """Percent of the genres, mean over the draws of a seed."""
    gauges = ({"gauge": "none", "spread": 0.0}, {"gauge": "diagonal", "spread": 2.0})
    return Difference.paired(*(_percent(x1, "genres", **one, **at) for one in gauges))


@on_p2_x3(
    "A random gauge makes the second objective grow by a thousandth or more, and the first by less than a billionth"
)
def only_the_second_objective_sees_a_gauge(x3: Any, at: dict[str, Any]) -> Difference:
    """The smaller of two margins: the least growth of the second minus 1e-3, and 1e-9 minus that of the first."""
    first, second = (np.abs(_of_seeds(x3, "gauge", objective=which, **at)) for which in ("first", "second"))
    return Difference.each(np.minimum(second.min(axis=1) - 1e-3, 1e-9 - first.max(axis=1)))


@on_p2_x3("Under either objective two starts end in the product of the closed form, to a ten-thousandth")
def two_starts_find_one_product(x3: Any, at: dict[str, Any]) -> Difference:
    """1e-4 minus the largest relative distance of A B^T from the closed form."""
    return Difference.each(1e-4 - _of_seeds(x3, "product", **at).max(axis=1))


@on_p2_x3("Under either objective two starts name the same neighbours by their predictions")
def two_starts_agree_in_predictions(x3: Any, at: dict[str, Any]) -> Difference:
    """The least share of the neighbours, in percent, minus 99."""
    return Difference.each(100 * _of_seeds(x3, "score rows", **at).min(axis=1), 99)


@on_p2_x3("Two starts agree on fewer neighbours by cosine under the first objective than under the second")
def first_objective_leaves_the_gauge_open(x3: Any, at: dict[str, Any]) -> Difference:
    """Percent of the neighbours."""
    return Difference.paired(*(_percent(x3, "overlap", objective=which, **at) for which in ("second", "first")))


# ---------------------------------------------------------------------------------------------- titles (TEXT-X1, X2)


@on_text_x1(
    "Before normalising, the lengths of title vectors go with the characters of the title more than with its ratings"
)
def title_lengths_go_with_the_words(x1: Any, data: str) -> Difference:
    """Difference of the two Spearman correlations, each without its sign."""
    words, ratings = (abs(x1.mean(f"length and {what}", data=data)) for what in ("characters", "ratings"))
    return Difference(words - ratings)


@on_text_x1(
    "Searching by distance or inner product returns the neighbours by cosine on unit rows, and not on raw rows",
    case="pair of data set and search",
    cases={f"{name}, {way}": (data, way) for name, data in TITLES.items() for way in ("Euclid", "inner product")},
)
def searches_agree_on_unit_rows_alone(x1: Any, pair: tuple[str, str]) -> Difference:
    """The smaller of two margins, in percent: what unit rows keep above 99.9, what raw rows keep below 95."""
    data, search = pair
    unit, raw = (100 * x1.mean(f"kept: {search}, {rows}", data=data) for rows in ("unit", "raw"))
    return Difference(min(unit - 99.9, 95 - raw))


@on_text_x1("The most listed title is in fewer lists of neighbours after centring")
def centring_takes_hubs_away(x1: Any, data: str) -> Difference:
    """Lists that hold the most listed title."""
    return Difference(x1.mean("listed", data=data) - x1.mean("listed after centring", data=data))


def _towers(x2: Any, data: str, metric: str, better: str, worse: str) -> Difference | None:
    """A metric of one tower minus that of another, in percent, over seeds."""
    if data not in x2.distinct("data"):
        return None
    return Difference.paired(*(_percent(x2, metric, model=model, data=data) for model in (better, worse)))


# each seed hides another fifth of the films, and then a tenth of the pairs of the others
@on_text_x2("Films that nobody has rated are ranked better by a tower on title vectors than by a table", splits=1 / 4)
def titles_rank_unrated_films(x2: Any, data: str) -> Difference | None:
    """NDCG@10 among these films, in percent, over draws of them."""
    return _towers(x2, data, "cold NDCG", "MiniLM", "table")


@on_text_x2("Rated films are ranked better by a table than by a tower on title vectors", splits=1 / 9)
def tables_rank_rated_films(x2: Any, data: str) -> Difference | None:
    """NDCG@10 on held-out ratings, in percent, over draws."""
    return _towers(x2, data, "warm NDCG", "table", "MiniLM")


# --------------------------------------------------------------------------------------------- the page's own models


@finding("Models 2 and 3 name none of the ten films that model 1 names nearest to the film", case="model")
def models_name_other_films(lists: Sequence[Sequence[int]]) -> dict[str, Difference]:
    """Half a film minus the films in common.

    lists: the ten films that models 1, 2 and 3 name.
    """
    first, *others = (set(films) for films in lists)
    return {f"model {at}": Difference(0.5 - len(first & other)) for at, other in enumerate(others, 2)}


@on_films("A random gauge keeps fewer than half of the ten neighbours, on average")
def hundred_gauges_keep_less_than_half(shares: Sequence[float]) -> Difference:
    """50 minus percent of the neighbours, over gauges."""
    return Difference.below(shares, 50, over="gauges")


@on_films("Gauges that keep the lengths of all sign codes move some of the ten neighbours")
def sign_codes_lose_neighbours(shares: Sequence[float]) -> Difference:
    """100 minus percent of the neighbours, over gauges."""
    return Difference.below(shares, 100, over="gauges")


@on_films(
    "Where lengths may vary by 0.1 %, tables with the least number of rows keep fewer neighbours than our films do"
)
def few_rows_are_nearly_free(few: Sequence[float], films: float) -> Difference:
    """Percent of the neighbours, over random tables of 136 rows."""
    return Difference.below(few, films, over="tables")


@on_films("A random gauge leaves more of the neighbours, on average, than one that was searched for")
def searching_finds_worse(random: Sequence[float], searched: float) -> Difference:
    """Percent of the neighbours, over random gauges of the same spread."""
    return Difference.above(random, searched, over="gauges")


@finding(
    "Where lengths may vary by 1 %, more of the neighbours stay in a table with more random rows", case="pair of sizes"
)
def more_rows_hold_firmer(kept: Mapping[str, Sequence[float]]) -> dict[str, Difference]:
    """Percent of the neighbours, over random tables.

    kept: {size: one share for each table}, by growing size.
    """
    return {
        f"{more} against {fewer}": Difference.paired(kept[more], kept[fewer], over="tables")
        for fewer, more in itertools.pairwise(kept)
    }


@on_films("The films have a larger margin than tables with the least number of rows")
def films_are_firmer_than_few_rows(films: float, few: Sequence[float]) -> Difference:
    """Margin of the films minus the largest margin of the random tables."""
    return Difference(films - max(few))


@on_films("Neighbours in the balanced gauge share more genres than films drawn blindly")
def neighbours_share_genres(neighbours: Sequence[float], everyone: Sequence[float]) -> Difference:
    """Percent of the genres, over films."""
    return Difference.paired(neighbours, everyone, over="films")


@on_films("Neighbours share fewer genres, on average, in a random gauge than in the balanced one")
def random_gauges_lose_genres(balanced: float, random: Sequence[float]) -> Difference:
    """Percent of the genres, over random gauges."""
    return Difference.below(random, balanced, over="gauges")

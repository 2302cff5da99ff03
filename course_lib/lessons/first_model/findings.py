"""What the first chapter says of data: over the five seeds of `towers.SEEDS`, on one data set.

Pairs are hidden at random; "the latest pairs" means that the last tenth of the pairs in time is hidden instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from torch import Tensor

from course_lib.lessons.first_model import towers
from course_lib.lessons.shared.findings import Difference, finding

on_films = partial(finding, case="data set", cases="MovieTweetings")


@on_films("A list of the most popular films finds more hidden films than the first model")
def popular_films_beat_the_first_model(recalls: Sequence[float], popular: float) -> Difference:
    """Recall@10 of the most popular films minus that of the model."""
    return Difference.below(recalls, popular)


@on_films("With pairs hidden at random, the corrected model finds more than a list of the most popular films")
def the_correction_wins(recalls: Sequence[float], popular: float) -> Difference:
    """Recall@10 of the corrected model minus that of the most popular films."""
    return Difference.above(recalls, popular)


@on_films("With the latest pairs hidden, a list of the most popular films finds more than the corrected model")
def popular_films_win_in_time(recalls: Sequence[float], popular: float) -> Difference:
    """Recall@10 of the most popular films of the earlier pairs minus that of the corrected model."""
    return Difference.below(recalls, popular)


@finding("With the latest pairs hidden, a list of the films that were popular lately finds most of all", case="rival")
def recent_films_win_in_time(recalls: Sequence[float], popular: float, lately: float) -> dict[str, Difference]:
    """Recall@10 of the films with most ratings in the last tenth of the earlier pairs, minus that of the rival."""
    return {"corrected model": Difference.below(recalls, lately), "most popular": Difference(lately - popular)}


@on_films("The films that the first model recommends are rarer than the average film")
def lists_of_rare_films(counts: Sequence[float], average: float) -> Difference:
    """Ratings of a film of the data minus ratings of a film in the lists, both on average."""
    return Difference.below(counts, average)


@on_films("The films closest to an animated film are animated more often than other films")
def animated_films_find_each_other(shares: Sequence[float], base: float) -> Difference:
    """Share of animated films among the five closest films of animated ones, minus their share of all films."""
    return Difference.above(shares, base)


@on_films("The two other parts of The Godfather are among the five films closest to the first")
def godfather_finds_part_two(tables: Sequence[Tensor], titles: Sequence[str]) -> Difference:
    """How many of the two are there, minus one and a half."""
    own = list(titles).index("The Godfather (1972)")
    found = [[titles[int(i)] for i in towers.neighbours(films)[own]] for films in tables]
    return Difference.each([sum(name.startswith("The Godfather: Part") for name in names) for names in found], 1.5)

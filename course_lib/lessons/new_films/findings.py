"""What the chapter says of data, on PRACTICE-3: people at four cuts in time, or seeds, are the repetitions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from course_lib.lessons.shared.findings import Difference, finding

CUTS = {f"cut at {share:.0%} of the pairs": share for share in (0.6, 0.7, 0.8, 0.9)}
TABLE, FEATURES, TITLES, IDS = "table", "genres and year", "titles", "ids, genres and year"
NEWEST, LIST, ORACLE = "newest", "year and genre", "ratings to come"
NEW, WITH_PRIOR = "new recall", "new recall, with the prior"
ALL = {"MovieTweetings, people of four cuts": tuple(CUTS.values())}

over_cuts = partial(finding, rests_on=["PRACTICE-3-laptop"], case="data set", cases=ALL)


def people(stored: Any, cut: float, model: str, metric: str = NEW, **where: Any) -> np.ndarray:
    """(u,) recall of each person at a cut: hits over pairs, mean over the seeds."""
    rows = stored.select(model=model, metric=metric, moment=cut, **where)
    hits, tests = (np.array([[int(one, 36) for one in row[key]] for row in rows]) for key in ("hits", "tests"))
    shares: np.ndarray = (hits / tests).mean(axis=0)
    return shares


def pooled(
    stored: Any, model: str, metric: str = NEW, *, cuts: tuple[float, ...] = tuple(CUTS.values()), **where: Any
) -> np.ndarray:
    """(p,) the same, over the people of all these cuts."""
    return np.concatenate([people(stored, cut, model, metric, **where) for cut in cuts])


def _people_of(stored: Any) -> str:
    """What is repeated, for the support: each person's number is a mean over the trainings."""
    seeds = len(stored.values("known recall", model=TABLE, moment=max(CUTS.values())))
    return f"people, each a mean over {seeds} seeds"


def _gain(stored: Any, cuts: tuple[float, ...], more: tuple[str, str], less: tuple[str, str]) -> Difference:
    """Recall of the one (model, metric) minus that of the other, over the people of all cuts."""
    left, right = (pooled(stored, *one, cuts=cuts) for one in (more, less))
    return Difference.paired(left, right, over=_people_of(stored))


def _by_seed(stored: Any, cuts: tuple[float, ...], metric: str, **where: Any) -> np.ndarray:
    """(seeds,) a number, mean over the cuts."""
    found: np.ndarray = np.array([stored.values(metric, moment=cut, **where) for cut in cuts]).mean(axis=0)
    return found


@over_cuts("A tower on genres and year finds more of the pairs on new films than a list of the newest")
def features_beat_the_newest(stored: Any, cuts: tuple[float, ...]) -> Difference:
    """Recall among new films of the tower minus that of the list, over people."""
    return _gain(stored, cuts, (FEATURES, NEW), (NEWEST, NEW))


@over_cuts("Genres and year find more of the pairs on new films than titles do")
def titles_find_less(stored: Any, cuts: tuple[float, ...]) -> Difference:
    """Recall among new films of the tower on genres and year minus that of the tower on titles, over people."""
    return _gain(stored, cuts, (FEATURES, NEW), (TITLES, NEW))


@over_cuts("Leaving out the row of a film half of the time helps new films")
def dropping_ids_helps(stored: Any, cuts: tuple[float, ...]) -> Difference:
    """Recall among new films with the rows dropped half of the time minus that without, over people."""
    return _gain(stored, cuts, (f"{IDS}, drop .5", NEW), (IDS, NEW))


@over_cuts("Among new films the prior by year and genre, added to the tower, finds more than the tower alone")
def the_prior_helps_among_new_films(stored: Any, cuts: tuple[float, ...]) -> Difference:
    """Recall among new films with the log of the expected ratings added minus that without, over people."""
    return _gain(stored, cuts, (IDS, WITH_PRIOR), (IDS, NEW))


@over_cuts("A list by year and genre, the same for everybody, finds more of the pairs on new films than the tower")
def a_list_beats_the_tower(stored: Any, cuts: tuple[float, ...]) -> Difference:
    """Recall among new films of the list minus that of the tower with rows, genres and year, over people."""
    return _gain(stored, cuts, (LIST, NEW), (IDS, NEW))


@over_cuts("In lists of all films, served once, the prior by year and genre finds less than the floor of .05")
def the_prior_crowds_out_known_films(stored: Any, cuts: tuple[float, ...]) -> Difference:
    """Recall of all pairs with the floor minus that with the prior by year and genre, over people."""
    floor, prior = (
        pooled(stored, IDS, "all recall", cuts=cuts, rule=rule, served="once")
        for rule in ("floor", "prior by year and genre")
    )
    return Difference.paired(floor, prior, over=_people_of(stored))


@over_cuts("In lists of all films, served anew each day, one prior for all films finds more than the floor")
def one_prior_helps_each_day(stored: Any, cuts: tuple[float, ...]) -> Difference:
    """Recall of all pairs with one prior minus that with the floor of .05, over seeds."""
    prior, floor = (
        _by_seed(stored, cuts, "all recall", model=IDS, rule=rule, served="each day") for rule in ("one prior", "floor")
    )
    return Difference.paired(prior, floor)


@over_cuts("Served anew each day, the counts alone find more than the tower with the counts")
def counts_alone_each_day(stored: Any, cuts: tuple[float, ...]) -> Difference:
    """Recall of all pairs by the counts alone minus that by the tower with them, both with the floor, over people."""
    alone, both = (
        pooled(stored, model, "all recall", cuts=cuts, rule="floor", served="each day") for model in ("hits", IDS)
    )
    return Difference.paired(alone, both, over=_people_of(stored))


@over_cuts("A film without features and ratings stands where the law of a random direction says")
def untrained_rows_stand_by_chance(stored: Any, cuts: tuple[float, ...]) -> Difference:
    """A tenth of the number of films minus the distance of measured and expected place, over seeds."""
    place, said, films = (
        _by_seed(stored, cuts, metric, model=TABLE) for metric in ("place", "expected place", "known films")
    )
    return Difference.below(np.abs(place - said) / films, 0.1)

"""What the chapter says of data, on PRACTICE-3: four cuts in time are the cases, people and seeds are repetitions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from course_lib.lessons.shared.findings import Difference, finding

CUTS = {f"cut at {share:.0%} of the pairs": share for share in (0.6, 0.7, 0.8, 0.9)}
TABLE, FEATURES, TITLES, IDS = "table", "genres and year", "titles", "ids, genres and year"
NEWEST, LIST, ORACLE = "newest", "year and genre", "ratings to come"
NEW, WITH_PRIOR = "new recall", "new recall, with the prior"
EARLIER = tuple(CUTS)[:3]  # where a sentence is not said of the last cut

at_each_cut = partial(finding, rests_on=["PRACTICE-3-laptop"], case="cut", cases=CUTS)


def people(stored: Any, cut: float, model: str, metric: str = NEW, **where: Any) -> np.ndarray:
    """(u,) recall of each person at a cut: hits over pairs, mean over the seeds."""
    rows = stored.select(model=model, metric=metric, moment=cut, **where)
    hits, tests = (np.array([[int(one, 36) for one in row[key]] for row in rows]) for key in ("hits", "tests"))
    shares: np.ndarray = (hits / tests).mean(axis=0)
    return shares


def pooled(stored: Any, model: str, metric: str = NEW, **where: Any) -> np.ndarray:
    """(p,) the same, over the people of all four cuts."""
    return np.concatenate([people(stored, cut, model, metric, **where) for cut in CUTS.values()])


def _gain(stored: Any, cut: float, more: tuple[str, str], less: tuple[str, str]) -> Difference:
    """Recall of the one (model, metric) minus that of the other, over people."""
    return Difference.paired(people(stored, cut, *more), people(stored, cut, *less), over="people")


@at_each_cut(
    "A tower on genres and year finds more of the pairs on new films than a list of the newest", claimed=EARLIER
)
def features_beat_the_newest(stored: Any, cut: float) -> Difference:
    """Recall among new films of the tower minus that of the list, over people."""
    return _gain(stored, cut, (FEATURES, NEW), (NEWEST, NEW))


@at_each_cut("Genres and year find more of the pairs on new films than titles do", claimed=EARLIER)
def titles_find_less(stored: Any, cut: float) -> Difference:
    """Recall among new films of the tower on genres and year minus that of the tower on titles, over people."""
    return _gain(stored, cut, (FEATURES, NEW), (TITLES, NEW))


@at_each_cut("Leaving out the row of a film half of the time helps new films", claimed=EARLIER[:2])
def dropping_ids_helps(stored: Any, cut: float) -> Difference:
    """Recall among new films with the rows dropped half of the time minus that without, over people."""
    return _gain(stored, cut, (f"{IDS}, drop .5", NEW), (IDS, NEW))


@at_each_cut("Among new films the prior by year and genre, added to the tower, finds more than the tower alone")
def the_prior_helps_among_new_films(stored: Any, cut: float) -> Difference:
    """Recall among new films with the log of the expected ratings added minus that without, over people."""
    return _gain(stored, cut, (IDS, WITH_PRIOR), (IDS, NEW))


@at_each_cut("A list by year and genre, the same for everybody, finds more of the pairs on new films than the tower")
def a_list_beats_the_tower(stored: Any, cut: float) -> Difference:
    """Recall among new films of the list minus that of the tower with rows, genres and year, over people."""
    return _gain(stored, cut, (LIST, NEW), (IDS, NEW))


@at_each_cut(
    "In lists of all films, served once, the prior by year and genre finds less than the floor of .05",
    claimed=[cut for cut in CUTS if CUTS[cut] != 0.7],
)
def the_prior_crowds_out_known_films(stored: Any, cut: float) -> Difference:
    """Recall of all pairs with the floor minus that with the prior by year and genre, over people."""
    floor, prior = (
        people(stored, cut, IDS, "all recall", rule=rule, served="once")
        for rule in ("floor", "prior by year and genre")
    )
    return Difference.paired(floor, prior, over="people")


@at_each_cut(
    "In lists of all films, served anew each day, one prior for all films finds more than the floor",
    claimed=tuple(CUTS)[1:],
)
def one_prior_helps_each_day(stored: Any, cut: float) -> Difference:
    """Recall of all pairs with one prior minus that with the floor of .05, over seeds."""
    prior, floor = (
        stored.values("all recall", model=IDS, rule=rule, served="each day", moment=cut)
        for rule in ("one prior", "floor")
    )
    return Difference.paired(prior, floor)


@at_each_cut(
    "Served anew each day, the counts alone find more than the tower with the counts", claimed=tuple(CUTS)[1::2]
)
def counts_alone_each_day(stored: Any, cut: float) -> Difference:
    """Recall of all pairs by the counts alone minus that by the tower with them, both with the floor, over people."""
    alone, both = (people(stored, cut, model, "all recall", rule="floor", served="each day") for model in ("hits", IDS))
    return Difference.paired(alone, both, over="people")


@at_each_cut("A film without features and ratings stands where the law of a random direction says")
def untrained_rows_stand_by_chance(stored: Any, cut: float) -> Difference:
    """A tenth of the number of films minus the distance of measured and expected place, over seeds."""
    place, said, films = (
        stored.values(metric, model=TABLE, moment=cut) for metric in ("place", "expected place", "known films")
    )
    return Difference.below(np.abs(np.array(place) - said) / np.array(films), 0.1)

"""What the chapter on the popularity direction says of data, and in which cases it holds.

Stored results: P1-F1 (projections before and after training) and P1-X2 (the axis before training). The pages' own runs:
MF and LightGCN on the embedded films, over seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from course_lib.lessons.popularity_direction.films import Angles
from course_lib.lessons.shared.findings import Difference, finding

SETS = {"MovieLens-1M": "ml-1m-10core", "Last.fm": "lastfm-10core"}  # those of the experiment P1-F1
PAIRS = {f"{backbone}, {name}": (data, backbone) for name, data in SETS.items() for backbone in ("MF", "LightGCN")}
AXES = {  # those of the experiment P1-X2
    "MovieLens-1M": "ml-1m-10core",
    "Gowalla": "gowalla-10core",
    "CiteULike": "citeulike-10core",
    "Last.fm": "lastfm-10core",
}
UNIFORM, POPULAR = "RecBole", "LightFM"  # the two laws of P1-X2 under which MF is trained
SPLITS = 1 / 8  # test over train: each seed has another split, 8:1:1
Runs = Mapping[str, Sequence[float]]  # a model -> one number for each seed

on_films = partial(finding, case="data set", cases="films")  # the pages' own runs
# Findings on stored results, and what one case usually is there
on_p1_f1 = partial(finding, rests_on=["P1-F1-laptop"], case="pair of backbone and data set", cases=PAIRS, splits=SPLITS)
on_p1_x2 = partial(finding, rests_on=["P1-X2-laptop"], case="data set", cases=AXES, splits=SPLITS)


# ---- the pages' own runs: a number for each seed


@on_films("Training raises the correlation of projection and popularity in MF")
def training_raises_r_of_mf(trained: Sequence[float], untrained: Sequence[float]) -> Difference:
    """r of MF after training minus r before its first step, both cross-fitted."""
    return Difference.paired(trained, untrained)


@on_films("Training raises the correlation of projection and popularity in LightGCN")
def training_raises_r_of_films(trained: Sequence[float], untrained: Sequence[float]) -> Difference:
    """r of LightGCN trained minus r of the same start before its first step, both cross-fitted."""
    return Difference.paired(trained, untrained)


@on_films("The formula, which nobody trained, follows popularity more closely than trained MF")
def formula_beats_mf(formula: float, trained: Sequence[float]) -> Difference:
    """r of the pull matrix's first axis minus r of MF's projections as in P1's Figure 1."""
    return Difference.below(trained, formula)


@on_films("Early in training more than nine people in ten have the same film at the top")
def one_list_for_most(shares: Sequence[float]) -> Difference:
    """The largest share of people with one film at the top, minus 0.9."""
    return Difference.above(shares, 0.9)


@on_films("Later in training fewer people share their first film")
def lists_part(early: Sequence[float], late: Sequence[float]) -> Difference:
    """The largest share of people with one film at the top: early minus late."""
    return Difference.paired(early, late)


@on_films("Late in training the films follow popularity less closely than early")
def r_falls_later(early: Sequence[float], late: Sequence[float]) -> Difference:
    """r of projection and popularity: early minus late."""
    return Difference.paired(early, late)


@on_films("The first singular vector grows to its predicted length within a tenth", bound_after=True)
def growth_is_predicted(ratios: Sequence[float]) -> Difference:
    """1/10 minus how far measured over predicted length is from 1, after ten passes."""
    return Difference.below([abs(ratio - 1) for ratio in ratios], 0.1)


@on_films("Started around 0.1, LightGCN has a higher correlation before training than started around 0 and trained")
def shifted_start_beats_training(shifted: Sequence[float], trained: Sequence[float]) -> Difference:
    """r of the untrained model with numbers around 0.1 minus r of the trained one, both cross-fitted."""
    return Difference.paired(shifted, trained)


@finding("Trained on, the mean film lies on the unpopular side", case="kind of training")
def mean_film_is_unpopular(cosines: Runs) -> dict[str, Difference]:
    """Minus the cosine of the mean film with e_pop."""
    return {name: Difference.below(values, 0) for name, values in cosines.items()}


@finding("In LightGCN the mean film lies on the popular side", case="kind of training")
def mean_film_is_popular(cosines: Runs) -> dict[str, Difference]:
    """The cosine of the mean film with e_pop."""
    return {name: Difference.above(values, 0) for name, values in cosines.items()}


@finding("With negatives by popularity, popularity can be read off the films less well", case="kind of training")
def popular_negatives_lower_r(uniform: Runs, popular: Runs) -> dict[str, Difference]:
    """r under uniform negatives minus r under negatives by popularity, both cross-fitted."""
    return {name: Difference.paired(uniform[name], popular[name]) for name in popular}


@finding(
    "With uniform negatives the widest direction of the films is close to e_pop",
    case="kind of training",
    bound_after=True,
)
def widest_is_popularity(cosines: Runs) -> dict[str, Difference]:
    """|cosine| of the widest direction with e_pop, minus 0.8."""
    return {name: Difference.above(values, 0.8) for name, values in cosines.items()}


@finding("With negatives by popularity the widest direction is less close to e_pop", case="kind of training")
def popular_negatives_turn_the_widest(uniform: Runs, popular: Runs) -> dict[str, Difference]:
    """|cosine| of the widest direction with e_pop, under uniform negatives minus under negatives by popularity."""
    return {name: Difference.paired(uniform[name], popular[name]) for name in popular}


@finding("With uniform negatives the mean user points along e_pop", case="kind of training")
def mean_user_follows(cosines: Runs) -> dict[str, Difference]:
    """Cosine of the mean user with e_pop, minus 0.9."""
    return {name: Difference.above(values, 0.9) for name, values in cosines.items()}


@finding("A trained user's gradient has less than a tenth of the length of the ideal step", case="model")
def gradient_has_vanished(trained: Mapping[str, Sequence[Angles]]) -> dict[str, Difference]:
    """1/10 minus the median of |gradient| over |mean positive minus mean negative|."""
    return {model: Difference.below([one.length for one in found], 0.1) for model, found in trained.items()}


@finding("At the end of training BPR's step is less popular than the ideal direction", case="model")
def last_step_is_less_popular(trained: Mapping[str, Sequence[Angles]]) -> dict[str, Difference]:
    """Median cosine of d* and e_pop minus that of minus the gradient and e_pop."""
    return {
        model: Difference.paired([one.ideal_popular for one in found], [one.popular for one in found])
        for model, found in trained.items()
    }


@finding(
    "With half of the user's vector, the gradient points along the ideal direction, at a cosine above 0.9", case="model"
)
def half_way_it_is_aligned(halves: Mapping[str, Sequence[Angles]]) -> dict[str, Difference]:
    """Median cosine of minus the gradient at e_u/2 and d*, minus 0.9."""
    return {model: Difference.above([one.ideal for one in found], 0.9) for model, found in halves.items()}


@on_films("After training the fans of a film are near the mean user, more than at the start")
def fans_meet_the_mean_user(trained: Sequence[float], start: Sequence[float]) -> Difference:
    """Median over the films of the cosine of mean fan and mean user: after training minus at the start."""
    return Difference.paired(trained, start)


@finding(
    "On two shelves the widest direction is the shelf, and popularity cannot be read off",
    case="data set",
    cases="two shelves",
)
def the_shelf_is_widest(taste: Sequence[float], crossed: Sequence[float]) -> Difference:
    """|correlation| of the widest direction with the shelf, minus |r| cross-fitted, minus 0.7."""
    return Difference.above([a - abs(b) for a, b in zip(taste, crossed, strict=True)], 0.7)


Paths = Mapping[str, Sequence[Sequence[float]]]  # a law -> for each seed a number after each pass


@finding("The share of variance along e_pop peaks, and falls to less than half of its peak", case="law of negatives")
def the_axis_comes_and_goes(shares: Paths) -> dict[str, Difference]:
    """1/2 minus last over largest share."""
    return {law: Difference.below([path[-1] / max(path) for path in paths], 0.5) for law, paths in shares.items()}


@finding("The correlation falls from its peak by a smaller factor than the share of variance", case="law of negatives")
def reading_outlasts_dominance(shares: Paths, readable: Paths) -> dict[str, Difference]:
    """Last over largest r, cross-fitted, minus last over largest share."""
    return {
        law: Difference.paired(*([path[-1] / max(path) for path in paths[law]] for paths in (readable, shares)))
        for law in shares
    }


# ---- stored: Figure 1


def _f1(f1: Any, metric: str, data: str, backbone: str, state: str = "trained") -> list[float]:
    found: list[float] = f1.values(metric, data=data, backbone=backbone, state=state)
    return found


@on_p1_f1("Training raises the correlation of projection and popularity")
def training_raises_r(f1: Any, pair: tuple[str, str]) -> Difference:
    """r trained minus r before the first step, both cross-fitted, over seeds."""
    return Difference.paired(_f1(f1, "cross-fitted", *pair), _f1(f1, "cross-fitted", *pair, "untrained"))


@on_p1_f1(
    "A trained model's projections follow the root of popularity more closely than popularity",
    claimed={"MF, MovieLens-1M", "LightGCN, MovieLens-1M"},
)
def roots_fit_better(f1: Any, pair: tuple[str, str]) -> Difference:
    """Pearson's r with the root of popularity minus that with popularity, over seeds."""
    return Difference.paired(_f1(f1, "Pearson of roots", *pair), _f1(f1, "Pearson", *pair))


@finding(
    "The first axis of the pull matrix follows popularity more closely than the trained model's projection",
    case="pair of backbone and data set",
    cases=PAIRS,
    claimed={"MF, MovieLens-1M", "LightGCN, MovieLens-1M"},
    rests_on=["P1-F1-laptop", "P1-X2-laptop"],
    splits=SPLITS,
)
def formula_beats_training(f1: Any, x2: Any, pair: tuple[str, str]) -> Difference | None:
    """r of the first axis under uniform negatives minus r of the trained model as in P1's Figure 1, over seeds."""
    trained = _f1(f1, "Pearson", *pair)
    return Difference.paired(_x2(x2, "first axis", pair[0])[: len(trained)], trained) if trained else None


@on_p1_f1("Fewer of LightGCN's items than of MF's lie on the negative side of the axis", case="data set", cases=SETS)
def few_are_negative_in_lightgcn(f1: Any, data: str) -> Difference | None:
    """Share of MF's items with a negative projection minus that of LightGCN's, over seeds."""
    found = _f1(f1, "negative", data, "LightGCN")
    return Difference.paired(_f1(f1, "negative", data, "MF")[: len(found)], found) if found else None


@on_p1_f1("LightGCN's centroid lies on the popular side, and MF's on the other", case="data set", cases=SETS)
def centroids_part(f1: Any, data: str) -> Difference | None:
    """The smaller of LightGCN's centroid and minus MF's, over the seeds that both have."""
    graph, plain = (_f1(f1, "centroid", data, backbone) for backbone in ("LightGCN", "MF"))
    return Difference.above([min(a, -b) for a, b in zip(graph, plain, strict=False)], 0) if graph else None


# ---- stored: the axis before training


def _x2(x2: Any, metric: str, data: str, law: str = UNIFORM) -> list[float]:
    found: list[float] = x2.values(metric, data=data, law=law)
    return found


@on_p1_x2("Popularity is the first axis before training: their correlation is above 0.9", claimed={"MovieLens-1M"})
def first_axis_is_popularity(x2: Any, data: str) -> Difference:
    """|r| of the first axis with the counts under uniform negatives, minus 0.9, over splits."""
    return Difference.above(_x2(x2, "first axis", data), 0.9)


@on_p1_x2("At least nine users in ten lie on one side of the first axis", claimed={"MovieLens-1M", "CiteULike"})
def most_stand_on_one_side(x2: Any, data: str) -> Difference:
    """The share of the users on the larger side under uniform negatives, minus 0.9, over splits."""
    return Difference.above(_x2(x2, "one side", data), 0.9)


@on_p1_x2(
    "The first axis before training is hardly popularity: their correlation is below 0.3",
    claimed={"CiteULike", "Last.fm"},
)
def first_axis_is_not_popularity(x2: Any, data: str) -> Difference:
    """0.3 minus |r| of the first axis with the counts under uniform negatives, over splits."""
    return Difference.below(_x2(x2, "first axis", data), 0.3)


@on_p1_x2("With negatives by popularity the first axis follows popularity less than with uniform ones")
def uniform_negatives_ask_for_popularity(x2: Any, data: str) -> Difference:
    """|r| of the first axis with the counts, uniform minus by popularity, over splits."""
    return Difference.paired(_x2(x2, "first axis", data), _x2(x2, "first axis", data, POPULAR))


@on_p1_x2("With negatives by popularity the first axis is not popularity: their correlation is below 0.3")
def popular_negatives_hide_the_axis(x2: Any, data: str) -> Difference:
    """0.3 minus |r| of the first axis with the counts under negatives by popularity, over splits."""
    return Difference.below(_x2(x2, "first axis", data, POPULAR), 0.3)


@on_p1_x2("With negatives by popularity the trained places follow popularity more closely than the first axis does")
def trained_is_not_the_first_axis(x2: Any, data: str) -> Difference:
    """r of the trained model, cross-fitted, minus |r| of the first axis, over seeds."""
    return Difference.paired(_x2(x2, "trained r", data, POPULAR), _x2(x2, "first axis", data, POPULAR))


@on_p1_x2(
    "After training with negatives by popularity the places follow popularity more closely than with uniform negatives",
    claimed={"Gowalla"},
)
def popular_negatives_can_raise_r(x2: Any, data: str) -> Difference:
    """r of the trained model, cross-fitted, by popularity minus uniform, over seeds."""
    return Difference.paired(_x2(x2, "trained r", data, POPULAR), _x2(x2, "trained r", data))


@on_p1_x2(
    "After twenty passes the widest direction of the items follows popularity: their correlation is above 0.7",
    claimed={"MovieLens-1M"},
)
def widest_stays_popularity(x2: Any, data: str) -> Difference:
    """|r| of the widest direction of trained items with the counts, minus 0.7, over seeds."""
    return Difference.above(_x2(x2, "widest", data), 0.7)


@on_p1_x2(
    "After twenty passes the widest direction of the items is not popularity: their correlation is below 0.3",
    claimed={"Gowalla", "CiteULike", "Last.fm"},
)
def widest_is_a_taste(x2: Any, data: str) -> Difference:
    """0.3 minus |r| of the widest direction of trained items with the counts, over seeds."""
    return Difference.below(_x2(x2, "widest", data), 0.3)


@on_p1_x2(
    "Without the items of more than one user in twenty the first axis stays popularity: above 0.9",
    claimed={"MovieLens-1M"},
)
def axis_outlives_its_head(x2: Any, data: str) -> Difference:
    """|r| of the first axis with the counts, head left out, minus 0.9, over splits."""
    return Difference.above(_x2(x2, "headless", data), 0.9)


@on_p1_x2(
    "With negatives by popularity, popularity can be read off the items and holds less than a tenth of their variance",
    claimed={"MovieLens-1M"},
)
def readable_is_not_dominant(x2: Any, data: str) -> Difference:
    """The smaller of r - 0.7 (cross-fitted) and 0.1 - the share of variance along e_pop, over seeds."""
    r, share = (np.array(_x2(x2, metric, data, POPULAR)) for metric in ("trained r", "share"))
    return Difference.above(np.minimum(r - 0.7, 0.1 - share))


@on_p1_x2("Where every user counts alike, the first axis follows popularity more closely", claimed={"Last.fm"})
def users_first_bring_popularity(x2: Any, data: str) -> Difference:
    """|r| of the first axis under LightGCN's law minus that under RecBole's, over splits."""
    return Difference.paired(_x2(x2, "first axis", data, "LightGCN"), _x2(x2, "first axis", data))


@on_p1_x2("Where every user counts alike, the first axis follows popularity less closely", claimed={"MovieLens-1M"})
def users_first_take_popularity(x2: Any, data: str) -> Difference:
    """|r| of the first axis under RecBole's law minus that under LightGCN's, over splits."""
    return Difference.paired(_x2(x2, "first axis", data), _x2(x2, "first axis", data, "LightGCN"))


@on_p1_x2("Keeping or skipping a triple whose negative is the user's own item gives the same first axis")
def collisions_cancel(x2: Any, data: str) -> Difference:
    """1e-6 minus the distance between the two correlations, over splits."""
    kept, skipped = (np.array(_x2(x2, "first axis", data, law)) for law in ("cornac", "Spotlight"))
    return Difference.below(abs(kept - skipped), 1e-6)

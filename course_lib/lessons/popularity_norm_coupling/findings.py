"""What the chapter on norms and popularity says of data, and in which cases it holds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from course_lib import popularity
from course_lib.lessons.popularity_norm_coupling.films import FilmRun
from course_lib.lessons.shared.findings import Difference, finding

ML_1M = "ml-1m"
SETS = {"ML-1M": ML_1M, "Gowalla": "gowalla"}
NEAR = 0.07  # of a quarter: less than the 1/12 that lies between a fourth root and a third or sixth root
HEAD = 300  # training pairs: films with as many or more are the head of the embedded data
SAME_WAY = {"10": "same way, rate 10", "1": "same way, rate 1", "0.3": "slow and long"}  # at equal rate times steps
SLOWER = {f"{slow} against {fast}": (SAME_WAY[fast], SAME_WAY[slow]) for fast, slow in pairwise(SAME_WAY)}

SPLITS = 1 / 9  # test over train: each seed has another split of nine to one

# Findings on stored results, and what one case usually is there
on_p0_e8 = partial(finding, rests_on=["P0-E8-laptop"], case="data set", splits=SPLITS)
on_p0_e9 = partial(finding, rests_on=["P0-E9-laptop"], case="pair of rates", splits=SPLITS)
on_p0_e8_e9 = partial(finding, rests_on=["P0-E8-laptop", "P0-E9-laptop"], case="data set", cases="ML-1M", splits=SPLITS)
on_p0_e10 = partial(finding, rests_on=["P0-E10-laptop"], case="data set", cases="ML-1M", splits=SPLITS)
on_p0_r = partial(finding, rests_on=["P0-R-laptop"], case="data set", cases="ML-1M", splits=SPLITS)
on_p0_c_r = partial(finding, rests_on=["P0-C-laptop", "P0-R-laptop"], splits=SPLITS)
on_films = partial(finding, case="data set", cases="MovieTweetings")  # the pages' own runs


def _of(stored: Any, metric: str, setting: str, data: str = ML_1M) -> list[float]:
    """A metric of a stored result, by seed."""
    values: list[float] = stored.values(metric, data=data, setting=setting)
    return values


# ----------------------------------------------------------------------------------------- experiments 8 to 10 of P0


@on_p0_e8(
    "Lists ranked by dot product hold more of the most popular 1 % than lists ranked by cosine",
    case="pair of data set and loss",
)
def dot_lists_hold_more_of_the_head(e8: Any) -> dict[str, Difference]:
    """Share of the lists, over seeds."""
    return {
        f"{data}, {name}": Difference.paired(_of(e8, "share dot", setting, data), _of(e8, "share cos", setting, data))
        for data in (ML_1M, "gowalla")
        for name, setting in (("plain", "high rate"), ("logQ", "high rate, logQ"))
    }


@on_p0_e8("With the plain loss lists ranked by cosine hold more of the most popular 1 % than chance", cases=SETS)
def cosine_lists_are_above_chance(e8: Any, data: str) -> Difference:
    """Share of the lists, over seeds; chance leaves known items out, on the same splits."""
    return Difference.paired(*(_of(e8, f"share {name}", "high rate", data) for name in ("cos", "chance")))


@on_p0_e8("With the logQ correction lists ranked by cosine hold more of the most popular 1 % than without")
def logq_puts_popularity_into_the_cosine(e8: Any) -> dict[str, Difference]:
    """Share of the lists, over seeds."""
    return {
        data: Difference.paired(_of(e8, "share cos", "high rate, logQ", data), _of(e8, "share cos", "high rate", data))
        for data in (ML_1M, "gowalla")
    }


@on_p0_e8_e9("At the high rate the correlation of length and popularity is stronger than at the low one")
def high_rate_correlates(e8: Any, e9: Any) -> Difference:
    """Pearson's correlation, over the seeds that both have, the first ones."""
    low = _of(e9, "Pearson", "low rate")
    return Difference.paired(_of(e8, "Pearson", "high rate")[: len(low)], low)


@on_p0_e8("With the plain loss at the high rate the slope of length in count is within 0.07 of a quarter", cases=SETS)
def stored_slopes_are_near_a_quarter(e8: Any, data: str) -> Difference:
    """0.07 minus the distance of the log-log slope from 1/4, over seeds; a third or a sixth is further off."""
    return Difference.below(np.abs(np.asarray(_of(e8, "slope", "high rate", data)) - 1 / 4), NEAR)


@on_p0_e8("At the high rate the slope is smaller on Gowalla than on ML-1M", case="loss", cases="plain")
def the_slope_is_smaller_on_gowalla(e8: Any) -> Difference:
    """Log-log slope on ML-1M less that on Gowalla, over seeds; with the plain loss alone."""
    return Difference.paired(*(_of(e8, "slope", "high rate", data) for data in (ML_1M, "gowalla")))


@on_p0_e8("The quartic law gives the last length of every item, but for rounding", cases=SETS)
def stored_lengths_obey_the_law(e8: Any, data: str) -> Difference:
    """1e-4 minus the largest relative error over all items, over seeds."""
    return Difference.below(_of(e8, "law", "high rate", data), 1e-4)


@on_p0_e9("At rate 0.1 the loss stays above that of guessing", case="data set", cases="ML-1M")
def low_rate_learns_nothing(e9: Any) -> Difference:
    """Loss less log 512, over seeds."""
    return Difference.above(_of(e9, "loss", "low rate"), np.log(512))


@on_p0_e9("At rate 0.1 lists hold less of the most popular 1 % than chance", case="ranking")
def low_rate_is_below_chance(e9: Any) -> dict[str, Difference]:
    """Share of the lists, over seeds."""
    chance = _of(e9, "share chance", "low rate")
    return {name: Difference.paired(chance, _of(e9, f"share {name}", "low rate")) for name in ("dot", "cos")}


@on_p0_e9("At equal rate times steps a lower rate leaves a smaller slope of length in popularity", cases=SLOWER)
def slow_steps_leave_lengths_alone(e9: Any, rates: tuple[str, str]) -> Difference:
    """Log-log slope, over seeds."""
    return Difference.paired(*(_of(e9, "slope", rate) for rate in rates))


@on_p0_e9("At equal rate times steps a lower rate reaches no higher loss", cases=SLOWER)
def slow_steps_learn_no_less(e9: Any, rates: tuple[str, str]) -> Difference:
    """Loss at the higher rate less that at the lower one, over seeds."""
    return Difference.paired(*(_of(e9, "loss", rate) for rate in rates))


@on_p0_e10("With a transformer as the other tower, too, dot products show more of the most popular 1 % than cosines")
def transformer_lists_hold_more_of_the_head(e10: Any) -> Difference:
    """Share of the lists, over seeds."""
    return Difference.paired(*(_of(e10, f"share {name}", "transformer") for name in ("dot", "cos")))


@on_p0_e10("With a transformer as the other tower the items grow longer")
def transformer_items_grow(e10: Any) -> Difference:
    """Mean length of the items after the last step less that before the first, over seeds."""
    where = {"data": ML_1M, "setting": "transformer"}
    first, last = (pick(e10.distinct("step", metric="norm at step", **where)) for pick in (min, max))
    return Difference.paired(*(e10.values("norm at step", step=step, **where) for step in (last, first)))


# ----------------------------------------------------------------------------------------------------------- remedies


@on_p0_r(
    "A longer start, decay at updates only, row-wise Adagrad, Adam, even sampling and vectors of one length make the "
    "slope smaller",
    case="remedy",
    cases=None,
)
def remedies_flatten(cures: Any) -> dict[str, Difference]:
    """Log-log slope of the plain model less that with the remedy, over seeds."""
    plain = _of(cures, "slope", "nothing")
    return {
        name: Difference.paired(plain, _of(cures, "slope", name))
        for name in ("long start", "lazy decay", "row-wise Adagrad", "Adam", "uniform items", "on the sphere")
    }


@on_p0_r("A little weight decay does not make the slope smaller")
def little_decay_keeps_the_slope(cures: Any) -> Difference:
    """Log-log slope with a decay of 3e-5 less that of the plain model, over seeds."""
    return Difference.paired(_of(cures, "slope", "weight decay"), _of(cures, "slope", "nothing"))


@on_p0_r("Even where films are updated equally often the correlation of length and popularity is positive")
def even_sampling_keeps_a_correlation(cures: Any) -> Difference:
    """Pearson's correlation, over seeds."""
    return Difference.above(_of(cures, "Pearson", "uniform items"))


@on_p0_r("With the plain loss lists by dot product are better than lists by cosine")
def lengths_repair_the_plain_model(cures: Any) -> Difference:
    """NDCG@10, over seeds."""
    return Difference.paired(_of(cures, "NDCG dot", "nothing"), _of(cures, "NDCG cos", "nothing"))


@on_p0_r(
    "With pairs hidden at random, lists by cosine are better with the logQ correction than without it, and better than "
    "the most popular films",
    case="comparison",
    cases=None,
)
def logq_mends_the_cosine(cures: Any) -> dict[str, Difference]:
    """NDCG@10, over seeds."""
    corrected = _of(cures, "NDCG cos", "logQ")
    return {
        "no correction": Difference.paired(corrected, _of(cures, "NDCG cos", "nothing")),
        "most popular": Difference.paired(corrected, _of(cures, "NDCG dot", "most popular")),
        "on the sphere": Difference.paired(corrected, _of(cures, "NDCG cos", "logQ, on the sphere")),
    }


@on_p0_r(
    "With the logQ correction lists by dot product are better than lists by cosine, and hold more of the most popular "
    "1 %",
    case="measure",
    cases={"NDCG@10": "NDCG", "share of the top 1 %": "share"},
)
def lengths_add_to_the_corrected_model(cures: Any, metric: str) -> Difference:
    """NDCG@10, or share of the lists, over seeds."""
    return Difference.paired(*(_of(cures, f"{metric} {ranking}", "logQ") for ranking in ("dot", "cos")))


@on_p0_c_r(
    "With the plain loss a tuned temperature and rate make the lists by cosine better", case="data set", cases="ML-1M"
)
def tuning_helps_the_cosine(tuned: Any, cures: Any) -> Difference:
    """NDCG@10 by cosine, tuned less as it was, over seeds."""
    return Difference.paired(_of(tuned, "NDCG cos", "tuned"), _of(cures, "NDCG cos", "nothing"))


@on_p0_c_r(
    "With the logQ correction a tuned temperature and rate make the lists by cosine better",
    case="data set",
    cases="ML-1M",
)
def tuning_helps_logq(tuned: Any, cures: Any) -> Difference:
    """NDCG@10 by cosine with logQ, tuned less as it was, over seeds."""
    return Difference.paired(_of(tuned, "NDCG cos", "logQ, tuned"), _of(cures, "NDCG cos", "logQ"))


@on_p0_c_r(
    "With the plain loss even a tuned cosine finds less than the plain model by dot product, and than the logQ "
    "correction by cosine",
    case="comparison",
)
def tuning_is_not_enough(tuned: Any, cures: Any) -> dict[str, Difference]:
    """NDCG@10 of the other lists less that of the tuned cosine, over seeds."""
    ours = _of(tuned, "NDCG cos", "tuned")
    return {
        "plain, by dot product": Difference.paired(_of(cures, "NDCG dot", "nothing"), ours),
        "logQ, by cosine": Difference.paired(_of(cures, "NDCG cos", "logQ"), ours),
        "most popular": Difference.paired(_of(cures, "NDCG dot", "most popular"), ours),
    }


@on_p0_r("Strong weight decay makes the lists by dot product worse")
def strong_decay_spoils_the_ranking(cures: Any) -> Difference:
    """NDCG@10, over seeds."""
    return Difference.paired(_of(cures, "NDCG dot", "nothing"), _of(cures, "NDCG dot", "strong weight decay"))


# ----------------------------------------------------------------------------------------------- the pages' own runs


def longest_and_most_popular(run: FilmRun, few: int = 10) -> int:
    """How many of the `few` longest films are among the `few` most popular; ties go to the smaller id."""
    longest, popular = (np.argsort(-values, kind="stable")[:few] for values in (run.after, run.counts))
    return len(set(longest) & set(popular))


@on_films("At least eight of the ten longest films are among the ten most popular ones")
def the_longest_are_the_most_popular(runs: Sequence[FilmRun]) -> Difference:
    """How many of the ten are, minus seven."""
    return Difference.above([longest_and_most_popular(run) for run in runs], 7)


@on_films("The length correlates with the count after training, and not before")
def training_makes_the_correlation(runs: Sequence[FilmRun]) -> Difference:
    """0.6 below Pearson's correlation after training; what it was before must be less than 0.1 from 0."""
    after, before = (
        np.array([popularity.norm_correlation(lengths, run.counts) for run, lengths in pairs])
        for pairs in ([(run, run.after) for run in runs], [(run, run.before) for run in runs])
    )
    return Difference.above(np.minimum(after - 0.6, 0.1 - abs(before)))


@on_films("The slope of length in count is within 0.07 of a quarter")
def the_slope_is_near_a_quarter(runs: Sequence[FilmRun]) -> Difference:
    """0.07 minus the distance of the log-log slope from 1/4."""
    return Difference.below([abs(run.slope(run.after) - 1 / 4) for run in runs], NEAR)


@on_films("The quartic law gives the last length of every film, but for rounding")
def the_law_gives_every_length(runs: Sequence[FilmRun]) -> Difference:
    """1e-4 minus the largest relative error; the tables are in single precision."""
    return Difference.each([1e-4 - np.abs(run.law / run.after - 1).max() for run in runs])


@on_films("The mean squared gradient of a film rises with its popularity")
def popular_films_are_hit_harder(runs: Sequence[FilmRun]) -> Difference:
    """Log-log slope of the mean ||h||^2 in popularity, over seeds."""
    return Difference.above([run.slope(run.mean_squared) for run in runs])


@on_films("Among films that are updated equally often, too, the mean squared gradient rises with popularity")
def evenly_updated_films_are_hit_harder(films: Sequence[FilmRun]) -> Difference:
    """Log-log slope of the mean ||h||^2 in popularity, over seeds."""
    return Difference.above([run.slope(run.mean_squared) for run in films])


@on_films("Among films that are updated equally often, the popular ones still end longer")
def evenly_updated_films_differ(films: Sequence[FilmRun]) -> Difference:
    """Log-log slope of length in popularity, over seeds."""
    return Difference.above([run.slope(run.after) for run in films])


@on_films("One mean gradient for all films predicts too small a slope")
def one_number_is_too_flat(runs: Sequence[FilmRun]) -> Difference:
    """Log-log slope of length in popularity, measured less predicted, over seeds."""
    slopes = [(run.slope(run.after), run.slope(run.by_one_number())) for run in runs]
    return Difference.paired(*zip(*slopes, strict=True))


@on_films("Among the most popular films the fitted law with copies has too large a slope")
def copies_are_too_steep_in_the_head(runs: Sequence[FilmRun]) -> Difference:
    """Log-log slope among films with many training pairs, fitted less measured, over seeds."""
    slopes = [(run.slope(run.by_copies()[1], least=HEAD), run.slope(run.after, least=HEAD)) for run in runs]
    return Difference.paired(*zip(*slopes, strict=True))


@on_films("Where films share a row with their decade, the popular ones still end longer")
def films_that_share_a_row_grow_too(slopes: Sequence[float]) -> Difference:
    """Log-log slope of length in popularity, over seeds."""
    return Difference.above(slopes)

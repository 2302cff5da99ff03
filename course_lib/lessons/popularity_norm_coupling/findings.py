"""What the chapter on norms and popularity says of data, and in which cases it holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from course_lib.lessons.popularity_norm_coupling.films import FilmRun
from course_lib.lessons.shared.findings import Difference, finding
from course_lib.maths import popularity

ML_1M = "ml-1m"
HEAD = 300  # training pairs: films with as many or more are the head of the embedded data
SAME_WAY = {"10": "same way, rate 10", "1": "same way, rate 1", "0.3": "slow and long"}  # at equal rate times steps


def _of(stored: Any, metric: str, setting: str, data: str = ML_1M) -> list[float]:
    """A metric of a stored result, by seed."""
    values: list[float] = stored.values(metric, data=data, setting=setting)
    return values


# ----------------------------------------------------------------------------------------- experiments 8 to 10 of P0


@finding(
    "Lists ranked by dot product hold more of the most popular 1 % than lists ranked by cosine",
    case="pair of data set and loss",
    rests_on=["P0-E8-laptop"],
)
def dot_lists_hold_more_of_the_head(e8: Any) -> dict[str, Difference]:
    """Share of the lists, over seeds."""
    return {
        f"{data}, {name}": Difference.paired(_of(e8, "share dot", setting, data), _of(e8, "share cos", setting, data))
        for data in (ML_1M, "gowalla")
        for name, setting in (("plain", "high rate"), ("logQ", "high rate, logQ"))
    }


@finding(
    "With the plain loss lists ranked by cosine hold more of the most popular 1 % than chance",
    case="data set",
    rests_on=["P0-E8-laptop", "P0-E9-laptop"],
)
def cosine_lists_are_above_chance(e8: Any, e9: Any) -> dict[str, Difference]:
    """Share of the lists, over seeds; chance leaves known items out, on the same splits."""
    return {"ML-1M": Difference.paired(_of(e8, "share cos", "high rate"), _of(e9, "share chance", "low rate"))}


@finding(
    "With the logQ correction lists ranked by cosine hold more of the most popular 1 % than without",
    case="data set",
    rests_on=["P0-E8-laptop"],
)
def logq_puts_popularity_into_the_cosine(e8: Any) -> dict[str, Difference]:
    """Share of the lists, over seeds."""
    return {
        data: Difference.paired(_of(e8, "share cos", "high rate, logQ", data), _of(e8, "share cos", "high rate", data))
        for data in (ML_1M, "gowalla")
    }


@finding(
    "At the high rate the correlation of length and popularity is stronger than at the low one",
    case="data set",
    rests_on=["P0-E8-laptop", "P0-E9-laptop"],
)
def high_rate_correlates(e8: Any, e9: Any) -> dict[str, Difference]:
    """Pearson's correlation, over seeds."""
    return {"ML-1M": Difference.paired(_of(e8, "Pearson", "high rate"), _of(e9, "Pearson", "low rate"))}


@finding(
    "At the high rate the slope of length in count is nearer to a quarter than to zero or a half",
    case="data set",
    rests_on=["P0-E8-laptop"],
)
def stored_slopes_are_near_a_quarter(e8: Any) -> dict[str, Difference]:
    """1/8 minus the distance of the log-log slope from 1/4, over seeds."""
    return {
        name: Difference.paired(np.full(len(slopes), 1 / 8), np.abs(np.asarray(slopes) - 1 / 4))
        for name, data in (("ML-1M", ML_1M), ("Gowalla", "gowalla"))
        for slopes in [_of(e8, "slope", "high rate", data)]
    }


@finding("At the high rate the slope is smaller on Gowalla than on ML-1M", case="loss", rests_on=["P0-E8-laptop"])
def the_slope_is_smaller_on_gowalla(e8: Any) -> dict[str, Difference]:
    """Log-log slope on ML-1M less that on Gowalla, over seeds; with the plain loss alone."""
    return {"plain": Difference.paired(*(_of(e8, "slope", "high rate", data) for data in (ML_1M, "gowalla")))}


@finding(
    "The quartic law gives the last length of every item, but for rounding", case="data set", rests_on=["P0-E8-laptop"]
)
def stored_lengths_obey_the_law(e8: Any) -> dict[str, Difference]:
    """1e-4 minus the largest relative error over all items, over seeds."""
    return {
        name: Difference.paired(np.full(len(errors), 1e-4), errors)
        for name, data in (("ML-1M", ML_1M), ("Gowalla", "gowalla"))
        for errors in [_of(e8, "law", "high rate", data)]
    }


@finding("At rate 0.1 the loss stays above that of guessing", case="data set", rests_on=["P0-E9-laptop"])
def low_rate_learns_nothing(e9: Any) -> dict[str, Difference]:
    """Loss less log 512, over seeds."""
    losses = _of(e9, "loss", "low rate")
    return {"ML-1M": Difference.paired(losses, np.full(len(losses), np.log(512)))}


@finding("At rate 0.1 lists hold less of the most popular 1 % than chance", case="ranking", rests_on=["P0-E9-laptop"])
def low_rate_is_below_chance(e9: Any) -> dict[str, Difference]:
    """Share of the lists, over seeds."""
    chance = _of(e9, "share chance", "low rate")
    return {name: Difference.paired(chance, _of(e9, f"share {name}", "low rate")) for name in ("dot", "cos")}


@finding(
    "At equal rate times steps a lower rate leaves a smaller slope of length in popularity",
    case="pair of rates",
    rests_on=["P0-E9-laptop"],
)
def slow_steps_leave_lengths_alone(e9: Any) -> dict[str, Difference]:
    """Log-log slope, over seeds."""
    return {
        f"{slow} against {fast}": Difference.paired(_of(e9, "slope", SAME_WAY[fast]), _of(e9, "slope", SAME_WAY[slow]))
        for fast, slow in pairwise(SAME_WAY)
    }


@finding(
    "At equal rate times steps a lower rate reaches no higher loss", case="pair of rates", rests_on=["P0-E9-laptop"]
)
def slow_steps_learn_no_less(e9: Any) -> dict[str, Difference]:
    """Loss at the higher rate less that at the lower one, over seeds."""
    return {
        f"{slow} against {fast}": Difference.paired(_of(e9, "loss", SAME_WAY[fast]), _of(e9, "loss", SAME_WAY[slow]))
        for fast, slow in pairwise(SAME_WAY)
    }


@finding(
    "With a transformer as the other tower, too, dot products show more of the most popular 1 % than cosines",
    case="data set",
    rests_on=["P0-E10-laptop"],
)
def transformer_lists_hold_more_of_the_head(e10: Any) -> dict[str, Difference]:
    """Share of the lists, over seeds."""
    return {"ML-1M": Difference.paired(*(_of(e10, f"share {name}", "transformer") for name in ("dot", "cos")))}


@finding("With a transformer as the other tower the items grow longer", case="data set", rests_on=["P0-E10-laptop"])
def transformer_items_grow(e10: Any) -> dict[str, Difference]:
    """Mean length of the items after the last step less that before the first, over seeds."""
    where = {"data": ML_1M, "setting": "transformer"}
    first, last = (pick(e10.distinct("step", metric="norm at step", **where)) for pick in (min, max))
    return {"ML-1M": Difference.paired(*(e10.values("norm at step", step=step, **where) for step in (last, first)))}


# ----------------------------------------------------------------------------------------------------------- remedies


@finding(
    "A longer start, decay at updates only, row-wise Adagrad, Adam, even sampling and rows of one length make the "
    "slope smaller",
    case="remedy",
    rests_on=["P0-R-laptop"],
)
def remedies_flatten(cures: Any) -> dict[str, Difference]:
    """Log-log slope of the plain model less that with the remedy, over seeds."""
    plain = _of(cures, "slope", "nothing")
    return {
        name: Difference.paired(plain, _of(cures, "slope", name))
        for name in ("long start", "lazy decay", "row-wise Adagrad", "Adam", "uniform items", "on the sphere")
    }


@finding("A little weight decay does not make the slope smaller", case="data set", rests_on=["P0-R-laptop"])
def little_decay_keeps_the_slope(cures: Any) -> dict[str, Difference]:
    """Log-log slope with a decay of 3e-5 less that of the plain model, over seeds."""
    return {"ML-1M": Difference.paired(_of(cures, "slope", "weight decay"), _of(cures, "slope", "nothing"))}


@finding(
    "Even where films are updated equally often the correlation of length and popularity is positive",
    case="data set",
    rests_on=["P0-R-laptop"],
)
def even_sampling_keeps_a_correlation(cures: Any) -> dict[str, Difference]:
    """Pearson's correlation, over seeds."""
    correlations = _of(cures, "Pearson", "uniform items")
    return {"ML-1M": Difference.paired(correlations, np.zeros(len(correlations)))}


@finding(
    "With the plain loss lists by dot product are better than lists by cosine",
    case="data set",
    rests_on=["P0-R-laptop"],
)
def lengths_repair_the_plain_model(cures: Any) -> dict[str, Difference]:
    """NDCG@10, over seeds."""
    return {"ML-1M": Difference.paired(_of(cures, "NDCG dot", "nothing"), _of(cures, "NDCG cos", "nothing"))}


@finding(
    "With the logQ correction lists by cosine are better than without it, and than the most popular films",
    case="comparison",
    rests_on=["P0-R-laptop"],
)
def logq_mends_the_cosine(cures: Any) -> dict[str, Difference]:
    """NDCG@10, over seeds."""
    corrected = _of(cures, "NDCG cos", "logQ")
    return {
        "no correction": Difference.paired(corrected, _of(cures, "NDCG cos", "nothing")),
        "most popular": Difference.paired(corrected, _of(cures, "NDCG dot", "most popular")),
        "on the sphere": Difference.paired(corrected, _of(cures, "NDCG cos", "logQ, on the sphere")),
    }


@finding(
    "With the plain loss a tuned temperature and rate make the lists by cosine better",
    case="data set",
    rests_on=["P0-C-laptop", "P0-R-laptop"],
)
def tuning_helps_the_cosine(tuned: Any, cures: Any) -> dict[str, Difference]:
    """NDCG@10 by cosine, tuned less as it was, over seeds."""
    return {"ML-1M": Difference.paired(_of(tuned, "NDCG cos", "tuned"), _of(cures, "NDCG cos", "nothing"))}


@finding(
    "With the plain loss even a tuned cosine finds less than the plain model by dot product, and than the logQ "
    "correction by cosine",
    case="comparison",
    rests_on=["P0-C-laptop", "P0-R-laptop"],
)
def tuning_is_not_enough(tuned: Any, cures: Any) -> dict[str, Difference]:
    """NDCG@10 of the other lists less that of the tuned cosine, over seeds."""
    ours = _of(tuned, "NDCG cos", "tuned")
    return {
        "plain, by dot product": Difference.paired(_of(cures, "NDCG dot", "nothing"), ours),
        "logQ, by cosine": Difference.paired(_of(cures, "NDCG cos", "logQ"), ours),
        "most popular": Difference.paired(_of(cures, "NDCG dot", "most popular"), ours),
    }


@finding("Strong weight decay makes the lists by dot product worse", case="data set", rests_on=["P0-R-laptop"])
def strong_decay_spoils_the_ranking(cures: Any) -> dict[str, Difference]:
    """NDCG@10, over seeds."""
    return {
        "ML-1M": Difference.paired(_of(cures, "NDCG dot", "nothing"), _of(cures, "NDCG dot", "strong weight decay"))
    }


# ----------------------------------------------------------------------------------------------- the pages' own runs


def _by_seed(values: Iterable[float]) -> dict[str, Difference]:
    """One case for each seed, without an interval."""
    return {f"seed {seed}": Difference(float(value)) for seed, value in enumerate(values)}


def longest_and_most_popular(run: FilmRun, few: int = 10) -> int:
    """How many of the `few` longest films are among the `few` most popular; ties go to the smaller id."""
    longest, popular = (np.argsort(-values, kind="stable")[:few] for values in (run.after, run.counts))
    return len(set(longest) & set(popular))


@finding("At least eight of the ten longest films are among the ten most popular ones", case="seed")
def the_longest_are_the_most_popular(runs: Sequence[FilmRun]) -> dict[str, Difference]:
    """How many of the ten are, minus seven."""
    return _by_seed(longest_and_most_popular(run) - 7 for run in runs)


@finding("The length correlates with the count after training, and not before", case="seed")
def training_makes_the_correlation(runs: Sequence[FilmRun]) -> dict[str, Difference]:
    """0.6 below Pearson's correlation after training; what it was before must be less than 0.1 from 0."""
    return _by_seed(
        min(
            popularity.norm_correlation(run.after, run.counts) - 0.6,
            0.1 - abs(popularity.norm_correlation(run.before, run.counts)),
        )
        for run in runs
    )


@finding("The slope of length in count is nearer to a quarter than to zero or a half", case="seed")
def the_slope_is_near_a_quarter(runs: Sequence[FilmRun]) -> dict[str, Difference]:
    """1/8 minus the distance of the log-log slope from 1/4."""
    return _by_seed(1 / 8 - abs(run.slope(run.after) - 1 / 4) for run in runs)


@finding("The quartic law gives the last length of every film, but for rounding", case="seed")
def the_law_gives_every_length(runs: Sequence[FilmRun]) -> dict[str, Difference]:
    """1e-4 minus the largest relative error; the tables are in single precision."""
    return _by_seed(1e-4 - np.abs(run.law / run.after - 1).max() for run in runs)


@finding("The mean squared gradient of a film rises with its popularity", case="data set")
def popular_films_are_hit_harder(runs: Sequence[FilmRun]) -> dict[str, Difference]:
    """Log-log slope of the mean ||h||^2 in popularity, over seeds."""
    return {"MovieTweetings": Difference.paired([run.slope(run.mean_squared) for run in runs], np.zeros(len(runs)))}


@finding(
    "Among films that are updated equally often, too, the mean squared gradient rises with popularity", case="data set"
)
def evenly_updated_films_are_hit_harder(films: Sequence[FilmRun]) -> dict[str, Difference]:
    """Log-log slope of the mean ||h||^2 in popularity, over seeds."""
    return dict(popular_films_are_hit_harder.function(films))


@finding("Among films that are updated equally often, the popular ones still end longer", case="data set")
def evenly_updated_films_differ(films: Sequence[FilmRun]) -> dict[str, Difference]:
    """Log-log slope of length in popularity, over seeds."""
    return {"MovieTweetings": Difference.paired([run.slope(run.after) for run in films], np.zeros(len(films)))}


@finding("One mean gradient for all films predicts too small a slope", case="data set")
def one_number_is_too_flat(runs: Sequence[FilmRun]) -> dict[str, Difference]:
    """Log-log slope of length in popularity, measured less predicted, over seeds."""
    slopes = [(run.slope(run.after), run.slope(run.by_one_number())) for run in runs]
    return {"MovieTweetings": Difference.paired(*zip(*slopes, strict=True))}


@finding("Among the most popular films the fitted law with copies has too large a slope", case="data set")
def copies_are_too_steep_in_the_head(runs: Sequence[FilmRun]) -> dict[str, Difference]:
    """Log-log slope among films with `HEAD` training pairs or more, fitted less measured, over seeds."""
    slopes = [(run.slope(run.by_copies()[1], least=HEAD), run.slope(run.after, least=HEAD)) for run in runs]
    return {"MovieTweetings": Difference.paired(*zip(*slopes, strict=True))}


@finding("Where films share a row with their decade, the popular ones still end longer", case="data set")
def films_that_share_a_row_grow_too(slopes: Sequence[float]) -> dict[str, Difference]:
    """Log-log slope of length in popularity, over seeds."""
    return {"MovieTweetings": Difference.paired(slopes, np.zeros(len(slopes)))}

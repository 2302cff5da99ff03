"""What the chapter says of data, read from the stored trainings of PRACTICE-2, -5, -6 and -7."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from course_lib.lessons.shared.findings import Difference, finding

SETS = {"MovieTweetings": "movietweetings-10core", "ML-1M": "ml-1m"}
CLOSE, CLOSER = 0.015, 0.01  # of recall, with the whole interval
OVER = "people, mean of 5 seeds"
on_result = partial(finding, rests_on=["PRACTICE-2-laptop"])


def named(losses: Collection[str], taus: Collection[str], data: str = "MovieTweetings") -> set[str]:
    """The names of cases on one data set, as `trained` gives them."""
    return {f"{data}, {loss}, {tau}" for loss in losses for tau in taus}


OLD_SHARES = ("plain", "in time", "logQ", "mixed", "sigmoid", "hardest", "refined")  # all but the logQ of the last days
BELOW_THE_HITS = (
    named(OLD_SHARES, ("0.2", "0.5")) | named(("plain", "logQ"), ("0.1", "1")) | named(("plain",), ("0.5",), "ML-1M")
)
ABOVE_THE_HITS = named(("plain", "logQ"), ("0.5",), "ML-1M")


def trained(stored: Any) -> dict[str, dict[str, Any]]:
    """Every loss at every temperature, on each data set: where its rows are."""
    return {
        f"{name}, {loss}, {tau:g}": {"data": data, "loss": loss, "tau": tau}
        for name, data in SETS.items()
        for tau in sorted(stored.distinct("tau", data=data))
        for loss in stored.distinct("loss", data=data, tau=tau)
    }


def of_losses(*losses: str) -> Callable[[Any], dict[str, dict[str, Any]]]:
    """Those of these losses at τ 0.2 and 0.5 on MovieTweetings; the name of a case is loss and temperature."""

    def cases(stored: Any) -> dict[str, dict[str, Any]]:
        films = [(name, where) for name, where in trained(stored).items() if where["data"] == SETS["MovieTweetings"]]
        return {
            name.partition(", ")[2]: where
            for name, where in films
            if where["loss"] in losses and where["tau"] in (0.2, 0.5)
        }

    return cases


def over_people(stored: Any, metric: str, **where: Any) -> Difference | None:
    """A stored difference with its interval over people; None where there is none."""
    rows = stored.select(metric=metric, **where)
    return Difference(rows[0]["value"], rows[0]["half"], rows[0]["people"], OVER) if rows else None


def within(bound: float, found: Difference | None) -> Difference | None:
    """How far a difference, with its interval, stays inside a bound on either side."""
    if found is None:
        return None
    return Difference(bound - abs(found.value) - (found.half or 0), None, found.n, found.over, room=True)


@on_result(
    "Served alone, a model finds less than the list of hits",
    case="combination of data, loss and τ",
    cases=trained,
    claimed=BELOW_THE_HITS,
    family="alone",
)
def no_model_alone_reaches_the_hits(stored: Any, where: dict[str, Any]) -> Difference | None:
    """Recall@10 of the list of hits that validation chose, minus that of the model alone, mean of five seeds."""
    found = over_people(stored, "minus the list", serving="alone", **where)
    return None if found is None else -found


@on_result(
    "Served with today's hits, a model finds more than the list of hits",
    case="combination of data, loss and τ",
    cases=trained,
    claimed=ABOVE_THE_HITS,
    family="with hits",
)
def with_hits_a_model_beats_the_list(stored: Any, where: dict[str, Any]) -> Difference | None:
    """Recall@10 of the model with hits minus that of the list that validation chose, mean of five seeds."""
    return over_people(stored, "minus the list", serving="with hits", **where)


@on_result(
    "Served with hits, plain shows at least twice as many films as logQ",
    case="data set",
    cases=SETS,
    claimed={"MovieTweetings"},
    family="films shown",
)
def plain_shows_twice_as_many_films(stored: Any, data: str) -> Difference:
    """Films shown by plain minus twice those of logQ, at τ 0.5, over seeds."""
    plain, corrected = (
        stored.values("films shown", data=data, loss=loss, tau=0.5, serving="with hits") for loss in ("plain", "logQ")
    )
    return Difference.paired(plain, [2 * value for value in corrected])


@on_result(
    "Served with hits, the losses find nearly the same",
    case="combination of loss and τ",
    cases=of_losses("in time", "logQ", "recent logQ", "mixed", "sigmoid", "hardest", "refined"),
)
def losses_agree_with_hits(stored: Any, where: dict[str, Any]) -> Difference | None:
    """0.015 minus the largest size that the interval of the difference to plain at the same τ, with hits, reaches."""
    return within(CLOSE, over_people(stored, "minus plain", serving="with hits", **where))


@on_result(
    "A hard negative and the refined correction change logQ's recall by less than .01",
    case="combination of loss and τ",
    cases=of_losses("hardest", "refined"),
)
def little_is_gained_over_logq(stored: Any, where: dict[str, Any]) -> Difference | None:
    """0.01 minus the largest size that the interval of the difference to logQ at the same τ, with hits, reaches."""
    return within(CLOSER, over_people(stored, "minus logQ", serving="with hits", **where))


@on_result(
    "Batches in order of time change the recall with hits by less than .01",
    case="temperature",
    cases=of_losses("in time"),
)
def the_order_of_time_gains_nothing(stored: Any, where: dict[str, Any]) -> Difference | None:
    """0.01 minus the largest size that the interval of the difference to shuffled batches, with hits, reaches."""
    return within(CLOSER, over_people(stored, "minus plain", serving="with hits", **where))


def sizes(stored: Any) -> dict[str, dict[str, Any]]:
    """Every batch but the largest, of each loss and data set of PRACTICE-5."""
    rows = stored.select(metric="minus the largest")
    names = {"movietweetings-5core": "MovieTweetings", "ml-1m": "ML-1M"}
    return {
        f"{row['loss']}, {row['batch']}, {names[row['data']]}": {key: row[key] for key in ("data", "loss", "batch")}
        for row in rows
    }


@finding(
    "A batch of 32 or 256 finds as much as one of 1,024, to within a point of recall",
    case="combination of loss, size and data",
    cases=sizes,
    claimed={f"logQ, {size}, {data}" for size in (32, 256) for data in SETS}
    | {f"plain, {size}, ML-1M" for size in (32, 256)},
    rests_on=["PRACTICE-5-laptop"],
)
def small_batches_with_logq_find_as_much(stored: Any, where: dict[str, Any]) -> Difference | None:
    """.01 minus the size of the difference in recall@10 to a batch of 1,024 and of its interval over people."""
    return within(CLOSER, over_people(stored, "minus the largest", **where))


# ---- how much of popularity the scores hold: PRACTICE-6

FIVE_CORE = {"MovieTweetings": "movietweetings-5core", "ML-1M": "ml-1m"}
TAUS = (0.1, 0.2, 0.5, 1.0)
LOGQ, NUMBER = "logQ", "logQ, a number for each film"
on_held = partial(finding, rests_on=["PRACTICE-6-laptop"])
STEPS = {
    f"{name}, from {low:g} to {high:g}": (data, low, high)
    for name, data in FIVE_CORE.items()
    for low, high in pairwise(TAUS)
}
AT = {f"{name}, {tau:g}": {"data": data, "tau": tau} for name, data in FIVE_CORE.items() for tau in TAUS}


@on_held(
    "With logQ, cosines hold less of the log of the counts at the higher of two temperatures",
    case="step of the temperature on one data set",
    cases=STEPS,
    family="held",
)
def logq_holds_less_at_a_higher_temperature(stored: Any, step: tuple[str, float, float]) -> Difference:
    """Slope of a film's mean score on the log of its count at the lower temperature minus at the next, over seeds."""
    data, *taus = step
    return Difference.paired(*(stored.values("held", data=data, loss=LOGQ, tau=tau) for tau in taus))


@on_held(
    "With a learned number for each film, the scores hold at least .8 of the log of the counts",
    case="combination of data and temperature",
    cases=AT,
)
def a_number_for_each_film_holds_it(stored: Any, where: dict[str, Any]) -> Difference:
    """The slope of a film's mean score, its number included, on the log of its count, minus .8, over seeds."""
    return Difference.above(stored.values("held", loss=NUMBER, **where), 0.8)


@on_held(
    "LogQ with a number for each film finds, without a weight, what plain finds with the counts given back",
    case="combination of data and temperature",
    cases=AT,
)
def a_learned_number_finds_what_counts_find(stored: Any, where: dict[str, Any]) -> Difference | None:
    """.01 minus the size of the difference in recall@10 and of its interval over people."""
    return within(CLOSER, over_people(stored, "minus plain", loss=NUMBER, weighted="in theory", **where))


@on_held(
    "LogQ on cosines alone finds less than plain with the counts given back",
    case="combination of data and temperature",
    cases=AT,
    claimed={"MovieTweetings, 1", *(f"ML-1M, {tau}" for tau in ("0.1", "0.5", "1"))},
    family="minus plain",
)
def logq_on_cosines_alone_finds_less(stored: Any, where: dict[str, Any]) -> Difference | None:
    """Recall@10 of plain with weight 1 minus that of logQ with weight 0, each person's mean over five seeds."""
    found = over_people(stored, "minus plain", loss=LOGQ, weighted="in theory", **where)
    return None if found is None else -found


@on_held(
    "A logQ model finds more with the weight of the counts that the window before chose than with none",
    case="combination of data and temperature",
    cases=AT,
    family="a weight for logQ",
)
def a_weight_helps_logq(stored: Any, where: dict[str, Any]) -> Difference | None:
    """Recall@10 of logQ on cosines at the chosen weight minus that at weight 0, each person's mean over five seeds."""
    return over_people(stored, "minus theory", loss=LOGQ, **where)


# ---- what the bias of the sigmoid loss learns: PRACTICE-7

on_sigmoid = partial(finding, rests_on=["PRACTICE-7-laptop"])
ONE_BIAS, EACH_ITS_BIAS, BIAS_AND_LOGQ = "one bias", "a bias for each film", "one bias and logQ"


def larger_batches(stored: Any) -> dict[str, dict[str, Any]]:
    """Each size of a batch and the next, on each data set."""
    return {
        f"{name}, from {size} to {after}": {"data": data, "sizes": (size, after)}
        for name, data in FIVE_CORE.items()
        for size, after in pairwise(sorted(stored.distinct("batch", data=data, scale="fixed")))
    }


def _found(stored: Any, data: str, loss: str, weight: float) -> Any:
    """Recall@10 of each training, with a weight of the log of the counts."""
    return stored.values("recall@10", data=data, loss=loss, weight=weight)


def _counts_above(stored: Any, data: str, loss: str) -> Difference:
    """How far one bias with the counts finds more than another loss alone, beyond .01."""
    return Difference.paired(_found(stored, data, ONE_BIAS, 1.0), np.add(_found(stored, data, loss, 0.0), CLOSER))


@on_sigmoid(
    "With the scale 2, the bias of the sigmoid loss falls as log(B - 1) rises, to within .05",
    case="step of the batch's size",
    cases=larger_batches,
    family="the bias",
)
def the_bias_counts_the_negatives(stored: Any, where: dict[str, Any]) -> Difference | None:
    """.05 minus the distance, with its interval over seeds, of the fall from log((B' - 1)/(B - 1))."""
    size, after = where["sizes"]
    before, now = (stored.values("bias", data=where["data"], scale="fixed", batch=batch) for batch in (size, after))
    return within(0.05, Difference.paired(np.subtract(before, np.log((after - 1) / (size - 1))), now))


@on_sigmoid(
    "With the log of the counts added at serving, the sigmoid loss with one bias finds at least a point more",
    case="data set",
    cases=FIVE_CORE,
    family="recall",
)
def counts_repair_one_bias(stored: Any, data: str) -> Difference:
    """Recall@10 with the counts minus that alone and minus .01, over seeds."""
    return _counts_above(stored, data, ONE_BIAS)


@on_sigmoid(
    "A learned bias for each film, served alone, finds at least a point less than one bias with the counts added",
    case="data set",
    cases=FIVE_CORE,
    family="recall",
)
def a_bias_for_each_film_is_no_repair(stored: Any, data: str) -> Difference:
    """Recall@10 of one bias with the counts minus that of a bias for each film and minus .01, over seeds."""
    return _counts_above(stored, data, EACH_ITS_BIAS)


@on_sigmoid(
    "With log q subtracted in training, the sigmoid loss served alone finds more than one bias alone",
    case="data set",
    cases=FIVE_CORE,
    family="recall",
)
def logq_repairs_one_bias(stored: Any, data: str) -> Difference:
    """Recall@10 with logQ minus that without, both with one bias and served alone, over seeds."""
    return Difference.paired(_found(stored, data, BIAS_AND_LOGQ, 0.0), _found(stored, data, ONE_BIAS, 0.0))


@on_sigmoid(
    "The sigmoid loss with one bias, served alone, finds less than the most popular films",
    case="data set",
    cases=FIVE_CORE,
    family="recall",
)
def one_bias_alone_loses_to_the_most_popular(stored: Any, data: str) -> Difference:
    """Recall@10 of the most popular films minus that of one bias alone, over seeds."""
    return Difference.below(
        _found(stored, data, ONE_BIAS, 0.0), stored.mean("recall@10", data=data, loss="most popular")
    )


SERVED = {
    f"{loss}, {'with the counts' if weight else 'alone'}": {"loss": loss, "weight": weight}
    for loss in (ONE_BIAS, EACH_ITS_BIAS, BIAS_AND_LOGQ)
    for weight in (0.0, 1.0)
}


@on_sigmoid(
    "On MovieTweetings the sigmoid loss finds less than the list of today's hits, however it is repaired and served",
    case="combination of repair and serving",
    cases=SERVED,
    family="the list",
)
def the_hits_stay_ahead_of_the_sigmoid_loss(stored: Any, where: dict[str, Any]) -> Difference | None:
    """Recall@10 of the list that the window before chose minus the model's, each person's mean over five seeds."""
    found = over_people(stored, "minus the list", data=FIVE_CORE["MovieTweetings"], **where)
    return None if found is None else -found

"""What the chapter says of trainings on films, and in which cases it holds.

Those of the main page are given the table `stops.stored()`: three seeds, nine stops of each training. Those of the
lab, at the end, are given results of SCALE-X1 (real processes), SCALE-X2 (simulated shards), SCALE-X3 (traffic),
SCALE-X4 (tables in shards) and SCALE-X5 (costs).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.lessons.one_batch_many_machines import stops
from course_lib.lessons.one_batch_many_machines.stops import Stopped
from course_lib.lessons.shared.findings import Difference, finding

Stored = Mapping[str, Mapping[str, Stopped]]  # model -> machines -> what was found; `stops.stored`

# Findings on stored results, and what one case usually is there
on_scale_x2 = partial(finding, rests_on=["SCALE-X2-laptop"], case="setting", splits=1 / 9)  # each seed splits anew
on_stops = partial(finding, splits=1 / 8)  # the main page: each seed splits anew, 8:1:1
on_films = partial(on_stops, case="data set", cases="MovieTweetings")
on_scale_x4 = partial(finding, rests_on=["SCALE-X4-laptop"])


@on_stops(
    "The list of the most popular films finds more than any training with inner products at its best stop",
    case="setting",
)
def popular_beats_inner_products(stopped: Stored) -> dict[str, Difference]:
    """R@10 of the list minus the largest of all stops, on the test itself, over seeds."""
    return {
        f"{holding}, {model}": Difference.paired(popular(stopped), found.recall.max(axis=1))
        for model in stops.MODELS
        if model.startswith("inner products")
        for holding, found in stopped[model].items()
    }


@on_films(
    "On one machine cosines with logQ find more than the most popular films, where validation stops them", claimed=()
)
def cosines_beat_popular(stopped: Stored) -> Difference:
    """R@10 at the stop where the validation part finds most minus that of the list, on the test, over seeds."""
    found = stopped["cosines, logQ"]["one machine"].at_best_validation()
    return Difference.paired(found, popular(stopped))


@on_films("Without the far pushes the uncorrected loss finds more, from 300 steps on")
def lost_pushes_find_more(stopped: Stored) -> Difference:
    """R@10 with constants minus that of one machine, mean over these stops, over seeds; inner products, no logQ."""
    one, constant = _pair(stopped, "inner products")
    return _from(300, constant.recall, one.recall)


@on_films(
    "Without the far pushes the median recommended film has half as many fans again, or more, from 300 steps on",
    bound_after=True,
)
def lost_pushes_show_popular_films(stopped: Stored) -> Difference:
    """Fans of the median film with constants minus 1.5 times one machine's, mean over these stops, over seeds."""
    one, constant = _pair(stopped, "inner products")
    return _from(300, constant.fans, 1.5 * one.fans)


@on_films("With logQ and inner products the lost pushes cost less at 450 steps than from 1,500 steps on")
def an_early_stop_hides_the_cost(stopped: Stored) -> Difference:
    """Share of the R@10 that is lost, mean over the stops from 1,500 steps on minus that at 450 steps, over seeds."""
    one, constant = _pair(stopped, "inner products, logQ")
    lost = 1 - constant.recall / one.recall
    return Difference.paired(lost[:, _late(1500)].mean(axis=1), lost[:, stops.STOPS.index(450)])


@on_films("With logQ and inner products lost pushes cost recall, from 600 steps on")
def lost_pushes_cost_recall(stopped: Stored) -> Difference:
    """R@10 of one machine minus that with constants, mean over these stops, over seeds."""
    one, constant = _pair(stopped, "inner products, logQ")
    return _from(600, one.recall, constant.recall)


@on_films(
    "With logQ and inner products lost pushes cost a quarter of the recall or more, from 1,500 steps on",
    bound_after=True,
)
def lost_pushes_cost_a_quarter(stopped: Stored) -> Difference:
    """0.75 times R@10 of one machine minus that with constants, mean over these stops, over seeds."""
    one, constant = _pair(stopped, "inner products, logQ")
    return _from(1500, 0.75 * one.recall, constant.recall)


@on_films(
    "With logQ and cosines lost pushes cost two fifths of the recall or more, from 300 steps on", bound_after=True
)
def lost_pushes_cost_cosines_more(stopped: Stored) -> Difference:
    """0.6 times R@10 of one machine minus that with constants, mean over these stops, over seeds."""
    one, constant = _pair(stopped, "cosines, logQ")
    return _from(300, 0.6 * one.recall, constant.recall)


@on_stops(
    "With logQ the recall of local negatives is within a quarter of that of one machine with the same total batch, "
    "from 600 steps on",
    case="setting",
    bound_after=True,
)
def local_negatives_find_as_much(stopped: Stored) -> dict[str, Difference]:
    """A quarter of the R@10 of one machine minus the distance from it, over seeds; each model and stop from 600 on."""
    found = {}
    for model in ("inner products, logQ", "cosines, logQ"):
        one, local = (stopped[model][holding].recall for holding in ("one machine", "eight, local"))
        cases = _at_stops(0.25 * one, np.abs(local - one))
        found.update({f"{model}, {steps:,} steps": cases[steps] for steps in stops.STOPS if steps >= 600})
    return found


def popular(stopped: Stored) -> NDArray[np.float64]:
    """R@10 of the most popular films, by seed."""
    return stopped["lists"]["most popular"].recall[:, 0]


def _pair(stopped: Stored, model: str) -> tuple[Stopped, Stopped]:
    """One machine, and eight with constants."""
    return stopped[model]["one machine"], stopped[model]["eight, constants"]


def _at_stops(larger: NDArray[np.float64], smaller: NDArray[np.float64]) -> dict[int, Difference]:
    """The difference at each stop, over seeds."""
    return {steps: Difference.paired(larger[:, at], smaller[:, at]) for at, steps in enumerate(stops.STOPS)}


def _late(least: int) -> NDArray[np.bool_]:
    """(stops,) which are at this number of steps or later."""
    return np.array([steps >= least for steps in stops.STOPS])


def _from(least: int, larger: NDArray[np.float64], smaller: NDArray[np.float64]) -> Difference:
    """The mean of the differences at the stops from a number of steps on: one comparison for the path, over seeds."""
    change = larger - smaller
    return Difference.above(change[:, _late(least)].mean(axis=1))


# ---- the lab: rows of SCALE-X1 to SCALE-X5


@finding("The averaged gradients of real processes are the predicted ones, to ten digits", case="number of processes")
def gradients_as_predicted(gradients: Any) -> dict[str, Difference]:
    """1e-10 minus the largest relative distance of a seed, over seeds; all losses and recipes; SCALE-X1."""
    return _within(1e-10, gradients.select(metric="off prediction"))


@finding("Where the theorem says equal, the averaged gradient is that of one process", case="number of processes")
def right_recipes_are_exact(gradients: Any) -> dict[str, Difference]:
    """1e-10 minus the largest relative distance of a seed, over seeds; gradients and the right factor; SCALE-X1."""
    means = {"gather": "gradients", "reduction": "mean", "times_world": False}
    sums = {"gather": "gradients", "rows": "own", "reduction": "sum", "times_world": True}
    off = {"metric": ("towers off", "temperature off")}
    return _within(1e-10, gradients.select(**off, **means) + gradients.select(**off, **sums))


@finding("A Gramian that is added up over the processes is that of the whole batch", case="number of processes")
def summed_gramians_are_exact(gradients: Any) -> dict[str, Difference]:
    """1e-10 minus the largest relative distance of SOGram's estimate after three steps, over seeds; SCALE-X1."""
    return _within(1e-10, gradients.select(gather="d x d sums"))


def _within(bar: float, rows: Sequence[dict[str, Any]]) -> dict[str, Difference]:
    """The bar minus the largest value of a seed, for each number of processes."""
    worst: dict[str, dict[int, float]] = {}
    for row in rows:
        of_seeds = worst.setdefault(f"{row['processes']} processes", {})
        seed = row.get("seed", 0)
        of_seeds[seed] = max(of_seeds.get(seed, 0.0), row["value"])
    return {name: Difference.each([bar - value for value in found.values()]) for name, found in worst.items()}


@finding("The sockets send what the formula says, and less than 1.5 kB more in a step for each process", case="setting")
def sockets_send_the_formula(traffic: Any) -> dict[str, Difference]:
    """1,500 P minus the bytes beyond the formula, or those that are missing; SCALE-X3."""
    found = {}
    for name, counted, formula in _beside(traffic, "bytes", "formula bytes", "processes", "batch", "width", *HOW):
        beyond = counted["value"] - formula
        found[name] = Difference(1500 * counted["processes"] - beyond if beyond >= 0 else beyond)
    return found


HOW = ("gather", "rows")  # what a process computes


def _beside(result: Any, metric: str, other: str, *names: str, **where: Any) -> Iterator[tuple[str, Any, float]]:
    """(values of the columns in words, row, number of the other metric) for each row of a metric."""
    for row in result.select(metric=metric, **where):
        columns = {name: row[name] for name in names}
        [number] = {one["value"] for one in result.select(metric=other, **where, **columns)}
        yield ", ".join(map(str, columns.values())), row, number


@finding(
    "With 512 pairs in a process, adding up two Gramians takes less time than any gather of softmax",
    case="setting",
    rests_on=["SCALE-X3-laptop"],
)
def gramians_are_quicker(traffic: Any) -> dict[str, Difference]:
    """Milliseconds of a step of the quickest gather minus those with the two sums; SCALE-X3, 512 pairs."""
    found = {}
    for processes in traffic.distinct("processes"):
        for width in traffic.distinct("width", batch=512):
            where = {"metric": "step ms", "processes": processes, "batch": 512, "width": width}
            gathers = [row["value"] for row in traffic.select(gather=("constant", "gradients"), **where)]
            [sums] = [row["value"] for row in traffic.select(gather="d x d sums", **where)]
            found[f"{processes}, d = {width}"] = Difference(min(gathers) - sums)
    return found


@finding(
    "The prices of steps with two processes predict those with four within a quarter",
    case="setting",
    rests_on=["SCALE-X5-laptop"],
    bound_after=True,
)
def two_processes_predict_four(cost: Any) -> dict[str, Difference]:
    """1/4 minus the relative error of the predicted milliseconds, four processes; SCALE-X5."""
    steps = _beside(cost, "step ms", "predicted ms", "batch", "width", *HOW, "seed", processes=4)
    return {name: Difference(0.25 - abs(predicted / step["value"] - 1)) for name, step, predicted in steps}


@on_scale_x2(
    "Eight shards of a batch find at least four fifths of what the whole batch finds",
    claimed={"movietweetings-10core, softmax", "ml-1m-5core, softmax, logQ"},
    bound_after=True,
)
def shards_find_nearly_as_much(shards: Any) -> dict[str, Difference]:
    """Recall@10 of eight shards minus 0.8 times that of one, by seed; SCALE-X2."""
    return {name: Difference.paired(eight, 0.8 * one) for name, one, eight in _recalls_by_setting(shards)}


@on_scale_x2("Eight shards find less than the whole batch", claimed=())
def shards_cost_some_recall(shards: Any) -> dict[str, Difference]:
    """Recall@10 of one shard minus that of eight, by seed; SCALE-X2."""
    return {name: Difference.paired(one, eight) for name, one, eight in _recalls_by_setting(shards)}


@on_scale_x2("Eight shards with logQ find at least twice as much as the whole batch without it", case="data set")
def logq_outweighs_the_shards(shards: Any) -> dict[str, Difference]:
    """Recall@10 of eight shards with logQ minus twice that of one shard without, by seed; SCALE-X2."""
    return {
        data: Difference.paired(_recalls(shards, data, "softmax, logQ", 8), 2 * _recalls(shards, data, "softmax", 1))
        for data in shards.distinct("data")
    }


def _recalls_by_setting(shards: Any) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    """(data set and objective, recalls of one shard, recalls of eight), by seed."""
    for data, objective in itertools.product(shards.distinct("data"), shards.distinct("objective")):
        one, eight = (_recalls(shards, data, objective, count) for count in (1, 8))
        yield f"{data}, {objective}", one, eight


def _recalls(shards: Any, data: str, objective: str, count: int) -> NDArray[np.float64]:
    return np.array(shards.values("recall@10", data=data, objective=objective, shards=count))


@on_scale_x4(
    "With SGD, tables in shards have the loss of one process after the first epoch, to a millionth", case="loss"
)
def shards_of_tables_train_alike(tables: Any) -> dict[str, Difference]:
    """1e-6 minus the relative difference of the mean loss of the first epoch; SCALE-X4."""
    where = {"metric": "loss, epoch 1", "optimizer": "sgd"}
    return {
        loss: Difference(1e-6 - abs(sharded / one - 1))
        for loss, one, sharded in _against_one(tables, ("loss",), **where)
    }


@on_scale_x4(
    "After three epochs, tables in shards have the recall and the NDCG of one process, to four decimals",
    case="pair of training and metric",
)
def shards_of_tables_rank_alike(tables: Any) -> dict[str, Difference]:
    """1e-4 minus the difference of recall@10 and of NDCG@10 after the last epoch; SCALE-X4."""
    names = ("loss", "optimizer", "metric")
    found = _against_one(tables, names, metric=("recall@10", "ndcg@10"))
    return {name: Difference(1e-4 - abs(sharded - one)) for name, one, sharded in found}


@on_scale_x4("A process with shards grows by half of the tables and at most 64 MB", case="size")
def shards_of_tables_halve_the_memory(tables: Any) -> dict[str, Difference]:
    """64 MB minus how far the growth lies from half of the tables; SCALE-X4."""
    found = {}
    for rows in tables.distinct("rows"):
        grown, whole = (tables.mean(name, rows=rows, way="sharded") for name in ("grown GB", "tables GB"))
        found[f"{rows} rows"] = Difference(0.064 - abs(grown - whole / 2))
    return found


@on_scale_x4("A process with shards sends less than one that adds up the gradients of whole tables", case="setting")
def shards_of_tables_send_less(tables: Any) -> dict[str, Difference]:
    """GB that a process sends in an epoch, with dense gradients of whole tables minus with shards; SCALE-X4."""
    found = _pairs(tables, ("loss", "optimizer"), ("replicated", "sharded"), metric="sent GB")
    return {name: Difference(whole - sharded) for name, whole, sharded in found}


def _against_one(tables: Any, names: Sequence[str], **where: Any) -> list[tuple[str, float, float]]:
    return _pairs(tables, names, ("one process", "sharded"), **where)


def _pairs(tables: Any, names: Sequence[str], ways: tuple[str, str], **where: Any) -> list[tuple[str, float, float]]:
    """For each training its name, and the numbers of two ways to hold the tables."""
    first, second = (tables.select(way=way, **where) for way in ways)
    return [
        (", ".join(str(one[name]) for name in names), one["value"], other["value"])
        for one, other in zip(first, second, strict=True)
    ]


# ---- the further page: lost pushes along the steps, tested later in time, rows of SCALE-X6


on_scale_x6 = partial(finding, rests_on=["SCALE-X6-laptop"])
COSINES = "cosines, logQ"


@on_scale_x6("Tested later in time, every larger number of machines finds less", case="pair of numbers of machines")
def more_machines_find_less(lost: Any) -> dict[str, Difference]:
    """Recall@10 at the stated end minus that with the next number of machines, over seeds; cosines with logQ."""
    found = {}
    for data in lost.distinct("data"):
        for few, more in itertools.pairwise(lost.distinct("machines", data=data, model=COSINES)):
            found[f"{data}, {few} and {more}"] = Difference.paired(
                *(lost.values("recall@10", data=data, model=COSINES, machines=count) for count in (few, more))
            )
    return found


@on_scale_x6("The recall lost is proportional to 1 − κ within a factor of 2, from two machines to 32", case="data set")
def loss_is_in_proportion(lost: Any) -> dict[str, Difference]:
    """ln 2 minus |ln(lost/(1 - kappa), two machines, over the same with 32)|, over seeds; cosines with logQ."""
    found = {}
    for data in lost.distinct("data"):
        shares = {count: _lost_share(lost, data, count) / (1 - _kappa(count)) for count in (2, 32)}
        found[data] = Difference.below(np.abs(np.log(shares[2] / shares[32])), float(np.log(2)))
    return found


@on_scale_x6(
    "With cosines the points of recall lost do not grow by half from a tenth of the steps to the last", case="data set"
)
def points_lost_do_not_grow(lost: Any) -> dict[str, Difference]:
    """1.5 times the points lost at a tenth of the steps minus those at the last, over seeds; one machine and eight."""
    found = {}
    for data in lost.distinct("data"):
        steps = lost.select(metric="steps", data=data, model=COSINES)[0]["path"]
        tenth = int(np.searchsorted(steps, steps[-1] / 10, side="right")) - 1
        points = _along(lost, data, 1) - _along(lost, data, 8)
        found[data] = Difference.paired(1.5 * points[:, tenth], points[:, -1])
    return found


@on_scale_x6(
    "Tested later in time, what was popular lately finds more than one machine with cosines",
    case="data set",
    claimed={"movietweetings"},
)
def recent_films_find_more_in_time(lost: Any) -> dict[str, Difference]:
    """Recall@10 of the list minus that at the stated end of the training, over seeds."""
    return {data: -above for data, above in _one_machine_above(lost, "popular lately").items()}


@on_scale_x6(
    "Tested later in time, one machine with cosines finds more than the most popular films",
    case="data set",
    claimed={"ml-1m"},
)
def cosines_beat_popular_in_time(lost: Any) -> dict[str, Difference]:
    """Recall@10 at the stated end of the training minus that of the list, over seeds."""
    return _one_machine_above(lost, "most popular")


def _one_machine_above(lost: Any, films: str) -> dict[str, Difference]:
    """Recall@10 of one machine with cosines, at the end, minus that of a list of films, on each data set."""
    found = {}
    for data in lost.distinct("data"):
        ends = lost.values("recall@10", data=data, model=COSINES, machines=1)
        [bar] = lost.values("recall@10", data=data, model=films)
        found[data] = Difference.above(ends, bar)
    return found


def _kappa(machines: int, pairs: int = 256) -> float:
    """The part of the pushes that is left on average."""
    return (pairs / machines - 1) / (pairs - 1)


def _lost_share(lost: Any, data: str, machines: int) -> NDArray[np.float64]:
    """(seeds,) 1 - recall at the stated end / that of one machine."""
    one, several = (
        np.array(lost.values("recall@10", data=data, model=COSINES, machines=count)) for count in (1, machines)
    )
    found: NDArray[np.float64] = 1 - several / one
    return found


def _along(lost: Any, data: str, machines: int) -> NDArray[np.float64]:
    """(seeds, looks) recall on the test."""
    rows = lost.select(metric="recall@10", data=data, model=COSINES, machines=machines)
    return np.array([row["path"] for row in sorted(rows, key=lambda row: row["seed"])])

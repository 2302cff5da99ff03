"""What the chapter on in-batch sampling says of data, and in which cases it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib import in_batch, papers
from course_lib.lessons.in_batch_bias.films import Lists
from course_lib.lessons.in_batch_bias.rates import STOPS
from course_lib.lessons.shared.findings import Difference, finding
from course_lib.papers import agreement

RATIOS = (1e-5, 1e-3, 1e-1)  # the batch ratios of the page's own runs
SMALLEST, LARGEST = {"ratio": RATIOS[0]}, {"ratio": RATIOS[-1]}
BY_RATIO = {f"{ratio:g}": ratio for ratio in RATIOS}
# the exact optima of the square loss in P3-T6
STORED = {"ml-1m": "ML-1M", "amazon-beauty-5core": "Amazon Beauty"}
FROM_T6 = {
    "all pairs": {"loss": "unbiased", "serving": "raw"},
    "in-batch": {"loss": "popularity", "serving": "raw"},
    "in-batch × popularity": {"loss": "popularity", "serving": "times popularity"},
}
# the data of the paths, P3-X2
STORED_PATHS = {"ml-1m": "ML-1M", "ml-100k": "ML-100K"}
# the cells of Table 5 that the chapter looks at
ON_ML1M = {"data": "ml-1m", "pointwise": "square", "selection": "test"}
ON_ML100K = {"data": "ml-100k", "pointwise": "logistic", "selection": "test", "serving": "raw"}
# the objectives of Table 6; a batch ratio stands behind a name where there is one
UNIFORM = {"unbiased": "Unbiased", "pos_neg_omega": "Pos-Neg-ω"}  # every wrong answer has the same weight
SKEWED = {"popularity": "Popularity", "in_batch_omega": "In-Batch-ω"}  # a popular one weighs more

SPLITS = 1 / 9  # test over train: each seed has another split of nine to one

# Findings on stored results, and what one case usually is there
on_p3_t4 = partial(finding, case="pair of data set and batch ratio", rests_on=["P3-T4-laptop"], splits=SPLITS)
on_p3_t5 = partial(finding, rests_on=["P3-T5-laptop"], splits=SPLITS)
on_p3_t6 = partial(finding, rests_on=["P3-T6-laptop"], splits=SPLITS)
on_a_gpu = partial(finding, case="objective", rests_on=["P3-T6-full"], splits=SPLITS)
on_p3_x1 = partial(finding, rests_on=["P3-X1-laptop"], splits=SPLITS)
on_paths = partial(finding, case="pair of objective and data set", rests_on=["P3-X2-full"], splits=SPLITS)
on_splits = partial(finding, splits=SPLITS)  # the pages' own runs
on_films = partial(on_splits, case="data set", cases="MovieTweetings")


# ---- the page's own runs, square loss: one result for each seed


def _p5(runs: Sequence[Any], **where: Any) -> np.ndarray:
    """P@5 in percent of each seed."""
    wanted = {"serving": "raw", **where}
    return np.array([run.mean("P@5", selection="test", **wanted) for run in runs])


def _changes(runs: Sequence[Any], more: Mapping[str, Any], less: Mapping[str, Any], **both: Any) -> Difference:
    """P@5 of some cells minus that of others, over seeds."""
    return Difference.paired(_p5(runs, **more, **both), _p5(runs, **less, **both))


@on_splits("In-Batch finds less than Unbiased", case="batch ratio", cases=BY_RATIO)
def in_batch_finds_less(runs: Sequence[Any], ratio: float) -> Difference:
    """P@5 of Unbiased minus that of In-Batch, over seeds."""
    return _changes(runs, {"loss": "unbiased"}, {"loss": "in_batch"}, ratio=ratio)


@on_films("In-Batch finds less at the largest batch ratio than at the smallest")
def in_batch_falls(runs: Sequence[Any]) -> Difference:
    """P@5 at the smallest ratio minus that at the largest, over seeds."""
    return _changes(runs, SMALLEST, LARGEST, loss="in_batch")


@on_films("Pos-Neg finds more at the largest batch ratio than at the smallest")
def pos_neg_climbs(runs: Sequence[Any]) -> Difference:
    """P@5 at the largest ratio minus that at the smallest, over seeds."""
    return _changes(runs, LARGEST, SMALLEST, loss="pos_neg")


@on_films("Unbiased keeps at least three quarters of its P@5 at the largest batches", bound_after=True)
def unbiased_keeps_most(runs: Sequence[Any]) -> Difference:
    """P@5 at the largest ratio minus 3/4 of that at the smallest, over seeds."""
    small, large = (_p5(runs, loss="unbiased", ratio=ratio) for ratio in (RATIOS[0], RATIOS[-1]))
    return Difference.paired(large, 0.75 * small)


@on_splits(
    "In-Batch finds more when its scores are multiplied by the popularity of the film",
    case="batch ratio",
    cases=BY_RATIO,
    claimed={"1e-05", "0.1"},
)
def serving_times_popularity_helps(runs: Sequence[Any], ratio: float) -> Difference:
    """P@5 of the scores times popularity minus that of the scores as they are, over seeds."""
    where = {"loss": "in_batch", "ratio": ratio}
    return _changes(runs, {"serving": "times popularity"}, {"serving": "raw"}, **where)


@on_films("At the smallest batch ratio In-Batch finds more than Pos-Neg")
def in_batch_above_pos_neg(runs: Sequence[Any]) -> Difference:
    """P@5 of In-Batch minus that of Pos-Neg at ratio 1e-5, over seeds."""
    return _changes(runs, {"loss": "in_batch"}, {"loss": "pos_neg"}, **SMALLEST)


@on_splits(
    "The more popular a liked pair is, the lower is its score", case="objective", claimed={"in_batch", "popularity"}
)
def popular_pairs_score_lower(ranks: Sequence[Mapping[str, float]]) -> dict[str, Difference]:
    """Minus Spearman's correlation of score and popularity over liked pairs, of each seed; ratio 1e-3."""
    return {objective: Difference.below([run[objective] for run in ranks], 0) for objective in ranks[0]}


@on_splits(
    "Multiplied by popularity, the exact optimum of In-Batch finds more than that of all pairs",
    case="rank",
    claimed={"8", "16", "32", "64"},
)
def multiplied_finds_more_from_rank_8(splits: Sequence[Mapping[int, Sequence[float]]]) -> dict[str, Difference]:
    """P@5 of In-Batch times popularity minus P@5 of all pairs, over splits.

    splits: of each, rank -> P@5 of all pairs, of In-Batch, and of In-Batch times popularity.
    """
    return {
        str(rank): Difference.paired([split[rank][2] for split in splits], [split[rank][0] for split in splits])
        for rank in splits[0]
    }


# ---- the stored tables of P3


def _closed_form(t6: Any, loss: str, serving: str, metric: str) -> np.ndarray:
    where = {"data": "ml-1m", "method": "closed form"}
    return np.array(t6.values(metric, loss=loss, serving=serving, **where))


by_metric = partial(on_p3_t6, case="metric", cases={name: name for name in ("P@1", "P@5", "P@25", "R@5")})  # the lab's


@by_metric("Multiplied by popularity, the exact optimum of In-Batch finds more than that of all pairs")
def multiplied_beats_all_pairs(t6: Any, metric: str) -> Difference:
    """The metric of the Popularity optimum, scores times popularity, minus that of the Unbiased one, over splits."""
    multiplied = _closed_form(t6, "popularity", "times popularity", metric)
    return Difference.paired(multiplied, _closed_form(t6, "unbiased", "raw", metric))


@by_metric("Multiplied by popularity, the exact optimum of In-Batch is level with the best number that P3 prints")
def multiplied_is_level_with_print(t6: Any, metric: str) -> Difference | None:
    """What another split may change, minus the distance from the best of P3's Tables 5 and 6, square loss, ML-1M."""
    found = _closed_form(t6, "popularity", "times popularity", metric)
    off = abs(found.mean() - _best_printed(metric)) if len(found) else 0
    return Difference(_of_one_more(found) - off, n=len(found), room=True) if len(found) else None


def _best_printed(metric: str) -> float:
    tables = (papers.table("P3", name) for name in ("T5", "T6"))
    where = {"dataset": "ml-1m", "pointwise": "square", "metric": metric}
    return float(max(cell["value"] for table in tables for cell in papers.select(table, **where)))


def _of_one_more(values: np.ndarray) -> float:
    """Half of Student's 95 % interval for the difference of one more value from the mean of these n."""
    return agreement.pooled([values]).of_one_more(len(values))


@on_p3_t6(
    "P@5 of Table 6 agrees with ours: two one-sided tests put the difference within a twentieth of the printed number",
    case="objective",
    claimed={"Unbiased", "Pos-Neg-ω, 0.1", "Pos-Neg-ω, 0.01"},
)
def table_6_agrees(t6: Any) -> dict[str, Difference]:
    """A twentieth of the printed P@5, minus its distance from our mean and half of their 90 % interval.

    Square loss, ML-1M, L-BFGS. The rule of ``course_lib.papers.agreement``: the printed number is of one split, and the
    standard deviation of a split is pooled over the cells of the same splits with a mean of about the same size.
    """
    cells = _table_6_cells(t6)
    return {
        name: Difference(
            agreement.MARGIN * printed - abs(float(ours.mean()) - printed) - _spread_beside(ours, cells),
            n=len(ours),
            room=True,
        )
        for name, (ours, printed) in cells.items()
    }


def _spread_beside(ours: np.ndarray, cells: Mapping[str, tuple[np.ndarray, float]]) -> float:
    """Half the 90 % interval of the difference of a printed number from the mean of these splits."""
    same = [values for values, _ in cells.values() if len(values) == len(ours)]
    near = [values for values in same if ours.mean() / 2 <= values.mean() <= 2 * ours.mean()]
    return agreement.shared(near).of_difference(len(ours))


@on_p3_t6(
    "At the two smallest batch ratios P@5 of Pos-Neg-ω is below the printed number by more than another split may "
    "change",
    case="batch ratio",
)
def small_ratios_stay_below(t6: Any) -> dict[str, Difference]:
    """The printed P@5 minus our mean, with the interval for one more split; square loss, ML-1M, L-BFGS."""
    cells = _table_6_cells(t6)
    freedom = agreement.pooled([ours for ours, _ in cells.values()]).freedom
    return {
        name.rpartition(", ")[2]: Difference(
            printed - float(ours.mean()), one_more_split(t6, len(ours)), len(ours), df=freedom
        )
        for name, (ours, printed) in cells.items()
        if name.endswith((", 0.0001", ", 1e-05"))
    }


def _by_objective(t6: Any, losses: Mapping[str, str], **where: Any) -> dict[str, list[Any]]:
    """Name of the objective, with its batch ratio -> the rows of all splits; ML-1M, L-BFGS, scores as they are."""
    found: dict[str, list[Any]] = {}
    for loss, name in losses.items():
        for row in t6.select(data="ml-1m", method="L-BFGS", serving="raw", loss=loss, **where):
            found.setdefault(_with_ratio(name, row["ratio"]), []).append(row)
    return found


def _with_ratio(name: str, ratio: float | None) -> str:
    return name if ratio is None else f"{name}, {ratio:g}"


def _table_6_cells(t6: Any) -> dict[str, tuple[np.ndarray, float]]:
    """Name -> (P@5 of each split, printed P@5) for the converged cells; square loss."""
    cells = _by_objective(t6, UNIFORM, pointwise="square", metric="P@5", stopped="gradient norm reached")
    return {name: (np.array([row["value"] for row in rows]), rows[0]["paper"]) for name, rows in cells.items()}


def _logistic(t6: Any, metric: str) -> dict[str, list[Any]]:
    return _by_objective(t6, UNIFORM | SKEWED, pointwise="logistic", metric=metric)


@on_a_gpu("With the logistic loss the gradient norm is above 1e-7 where L-BFGS stopped", family="gradient norm")
def logistic_runs_do_not_converge(full: Any) -> dict[str, Difference]:
    """log10 of the gradient norm, above -7, over splits; ML-1M."""
    norms = _logistic(full, "gradient norm")
    return {name: Difference.above(np.log10([row["value"] for row in rows]), -7) for name, rows in norms.items()}


@on_a_gpu(
    "With the logistic loss the models where L-BFGS stopped find less than P3 prints",
    family="P@5",
    claimed={
        "Unbiased",
        *(_with_ratio("Pos-Neg-ω", 10.0**-k) for k in range(1, 6)),
        "In-Batch-ω, 0.0001",
        "In-Batch-ω, 1e-05",
    },
)
def logistic_stays_below_print(full: Any) -> dict[str, Difference]:
    """Printed P@5 minus ours, over splits; ML-1M."""
    return {
        name: Difference.below([row["value"] for row in rows], rows[0]["paper"])
        for name, rows in _logistic(full, "P@5").items()
    }


# ---- the paths of Table 6 with the logistic loss: five splits, each looked at some thirty times


def separable_objectives() -> dict[str, tuple[str, float | None]]:
    """The objectives that have no minimiser where a model separates the labels: each pair pays for its label alone."""
    return {"Unbiased": ("unbiased", None)} | {
        _with_ratio("Pos-Neg-ω", 10.0**-k): ("pos_neg_omega", 10.0**-k) for k in range(1, 6)
    }


def path(result: Any, metric: str, data: str, objective: tuple[str, float | None]) -> np.ndarray:
    """(splits, looks) of a metric along the way; a path that ended early keeps its last value."""
    loss, ratio = objective
    where = {"data": data, "pointwise": "logistic", "loss": loss, "ratio": ratio, "serving": "raw"}
    rows = sorted(result.select(metric=metric, **where), key=lambda row: row["seed"])
    longest = max(len(row["path"]) for row in rows)
    return np.array([row["path"] + row["path"][-1:] * (longest - len(row["path"])) for row in rows])


def at_iteration(result: Any, data: str, objective: tuple[str, float | None], iteration: int) -> np.ndarray:
    """(splits,) P@5 at the last look that is not after an iteration."""
    looks = path(result, "iteration", data, objective)
    where = [int(np.searchsorted(row, iteration, side="right")) - 1 for row in looks]
    return path(result, "P@5", data, objective)[np.arange(len(looks)), where]


def chosen_on_other_users(result: Any, data: str, objective: tuple[str, float | None]) -> np.ndarray:
    """(splits,) P@5 of each half of the users where the other half is best, the mean of both ways."""
    one, two = (path(result, f"P@5 of half {half}", data, objective) for half in (1, 2))
    splits = np.arange(len(one))
    return np.asarray((one[splits, two.argmax(axis=1)] + two[splits, one.argmax(axis=1)]) / 2)


def printed_p5(loss: str, ratio: float | None) -> float:
    """P3's P@5 of Table 6, logistic loss, on ML-1M."""
    where = {"dataset": "ml-1m", "pointwise": "logistic", "metric": "P@5", "loss": loss}
    rows = papers.select(papers.table("P3", "T6"), **where)
    return next(float(row["value"]) for row in rows if row.get("ratio") == ratio)


def printed_logistic() -> dict[str, float]:
    """P3's P@5 of each separable objective."""
    return {name: printed_p5(*objective) for name, objective in separable_objectives().items()}


@on_paths("Stopped where the other half of the users is best, an objective finds more than at iteration 300")
def an_early_stop_finds_more(paths: Any) -> dict[str, Difference]:
    """P@5 at the stop that the other half of the users chooses minus P@5 at iteration 300, over splits.

    A path that stopped before has its end there.
    """
    return {
        f"{name}, {STORED_PATHS[data]}": Difference.paired(
            chosen_on_other_users(paths, data, objective), at_iteration(paths, data, objective, 300)
        )
        for data in STORED_PATHS
        for name, objective in separable_objectives().items()
    }


@on_paths(
    "On ML-1M the printed P@5 lies nearer to the best look on the path than to that at iteration 300", case="objective"
)
def the_print_lies_on_the_path(paths: Any) -> dict[str, Difference]:
    """|P@5 after 300 iterations - printed| minus |best P@5 on the path - printed|, over splits."""
    printed, found = printed_logistic(), {}
    for name, objective in separable_objectives().items():
        best = path(paths, "P@5", "ml-1m", objective).max(axis=1)
        end = at_iteration(paths, "ml-1m", objective, 300)
        value = printed[name]
        found[name] = Difference.paired(abs(end - value), abs(best - value))
    return found


@on_paths("On ML-100K every pair of the training part gets a score of the right sign", case="objective")
def ml_100k_is_separated(paths: Any) -> dict[str, Difference]:
    """log10 of log 2 times the least weight of a pair, minus log10 of the least objective: above 0 proves it.

    A pair of the wrong sign alone would cost log 2 times its weight, 1/(m n) or, a negative of Pos-Neg, rho/(m n). m, n
    and the number of positives are those of the whole data, which makes the least weight smaller than it is.
    """
    [data] = [entry for entry in paths.provenance["data"] if entry["name"] == "ml-100k"]
    found = {}
    for name, (loss, ratio) in separable_objectives().items():
        size = None if ratio is None else in_batch.batch_size_from_ratio(ratio, data["positives"])
        rho = 1.0 if size is None else in_batch.balance(size - 1, data["positives"])
        least = np.log10(np.log(2) * rho / (data["m"] * data["n"]))
        objective = path(paths, "objective", "ml-100k", (loss, ratio)).min(axis=1)
        found[name] = Difference.below(np.log10(objective), least)
    return found


@on_paths("On ML-100K the gradient norm passes 1e-7 when six tenths or less of the best P@5 are left", case="objective")
def the_rule_is_met_far_from_the_best(paths: Any) -> dict[str, Difference]:
    """Six tenths of the best P@5 on the path minus P@5 where the gradient norm is first 1e-7 or less, over splits."""
    found = {}
    for name, (loss, ratio) in separable_objectives().items():
        met = paths.values("rule met", data="ml-100k", pointwise="logistic", loss=loss, ratio=ratio)
        looks, values = (path(paths, metric, "ml-100k", (loss, ratio)) for metric in ("iteration", "P@5"))
        at = [int(np.searchsorted(row, rule, side="right")) - 1 for row, rule in zip(looks, met, strict=True)]
        left = values[np.arange(len(values)), at]
        found[name] = Difference.paired(0.6 * values.max(axis=1), left)
    return found


@on_paths("In-Batch at the ratio 0.1 finds at least three points more at 2,000 iterations than at 100", case="data set")
def in_batch_rises_late(paths: Any) -> dict[str, Difference]:
    """P@5 after 2,000 iterations minus P@5 after 100 and minus 3, over splits."""
    early, late = (
        {data: at_iteration(paths, data, ("in_batch_omega", 0.1), at) for data in STORED_PATHS} for at in (100, 2000)
    )
    return {name: Difference.paired(late[data], early[data] + 3) for data, name in STORED_PATHS.items()}


@on_splits(
    "The P@5 of a converged run on a GPU differs from the processor's by less than another split may change",
    case="objective",
    rests_on=["P3-T6-laptop", "P3-T6-full"],
)
def gpu_and_processor_agree(t6: Any, full: Any) -> dict[str, Difference]:
    """What another split may change, minus the largest difference of a split; Unbiased and Pos-Neg-ω, square loss."""
    ours, theirs = _table_6_cells(t6), _table_6_cells(full)  # the splits of both begin with the first
    return {
        name: Difference(
            one_more_split(t6, 1) - abs(values - theirs[name][0][: len(values)]).max(), n=len(values), room=True
        )
        for name, (values, _) in ours.items()
        if name in theirs
    }


def one_more_split(t6: Any, n: int) -> float:
    """Half width t s √(1 + 1/n), in points of P@5, of a 95 % interval for one more split around a mean of n."""
    return agreement.pooled([ours for ours, _ in _table_6_cells(t6).values()]).of_one_more(n)


def _p5_of_seeds(t5: Any, **where: Any) -> np.ndarray:
    """P@5 of each seed, in percent: the mean over what else the rows differ in."""
    return np.array([t5.mean("P@5", seed=seed, **where) for seed in t5.distinct("seed", metric="P@5", **where)])


def _apart(t5: Any, more: Mapping[str, Any], less: Mapping[str, Any], **both: Any) -> Difference:
    """P@5 of some cells minus that of others, over seeds."""
    return Difference.paired(_p5_of_seeds(t5, **more, **both), _p5_of_seeds(t5, **less, **both))


def _fall(t5: Any, **where: Any) -> Difference:
    """P@5 at the smallest batch ratio minus that at the largest, over seeds."""
    ratios = sorted(t5.distinct("ratio", **where))
    return _apart(t5, {"ratio": ratios[0]}, {"ratio": ratios[-1]}, **where)


@on_p3_t5("Pos-Neg finds more with every larger batch ratio", case="step", family="next ratio")
def pos_neg_climbs_on_ml1m(t5: Any) -> dict[str, Difference]:
    """P@5 at each ratio minus that at the next smaller one; square loss, ML-1M, over seeds."""
    where = {"loss": "pos_neg", "serving": "raw", **ON_ML1M}
    return {
        f"{small:g} to {large:g}": _apart(t5, {"ratio": large}, {"ratio": small}, **where)
        for small, large in pairwise(sorted(t5.distinct("ratio", **where)))
    }


@on_p3_t5(
    "With the square loss Unbiased finds less at the largest batch ratio than at the smallest",
    case="data set",
    cases="ML-1M",
    family="smallest and largest ratio",
)
def unbiased_falls_on_ml1m(t5: Any) -> Difference:
    """P@5 at the smallest ratio minus that at the largest; square loss, over seeds."""
    return _fall(t5, loss="unbiased", serving="raw", **ON_ML1M)


@on_p3_t5("Under the logistic loss a smaller ω helps", case="batch ratio", family="omega", claimed=())
def small_omega_helps_on_ml100k(t5: Any) -> dict[str, Difference]:
    """P@5 of Unbiased-ω minus that of Unbiased; ML-100K, logistic loss, over seeds."""
    return {
        f"{ratio:g}": _apart(t5, {"loss": "unbiased_omega"}, {"loss": "unbiased"}, ratio=ratio, **ON_ML100K)
        for ratio in sorted(t5.distinct("ratio", **ON_ML100K))
    }


@on_p3_t6("In-Batch and Popularity find less than a tenth of a percent of their five", case="objective")
def both_collapse_at_the_optimum(t6: Any) -> dict[str, Difference]:
    """0.1 minus P@5 of the L-BFGS runs as they are; square loss, ML-1M."""
    return {name: Difference(0.1 - raw) for name, raw, _ in _lbfgs_runs(t6)}


@on_p3_t6(
    "Multiplied by popularity, models that L-BFGS left find more than before and less than the exact optimum",
    case="objective",
)
def multiplying_repairs_in_part_after_lbfgs(t6: Any) -> dict[str, Difference]:
    """The smaller of P@5 times popularity minus as it is, and of the exact optimum minus that; square loss, ML-1M."""
    exact = float(_closed_form(t6, "popularity", "times popularity", "P@5").mean())
    return {name: Difference(min(times - raw, exact - times)) for name, raw, times in _lbfgs_runs(t6)}


def _lbfgs_runs(t6: Any) -> list[tuple[str, float, float]]:
    """(name, P@5 as it is, P@5 times popularity) of the runs of the two collapsing objectives; square loss, ML-1M."""
    found = []
    for loss, name in SKEWED.items():
        where = {"data": "ml-1m", "method": "L-BFGS", "loss": loss, "metric": "P@5"}
        for ratio in dict.fromkeys(row["ratio"] for row in t6.select(serving="raw", **where)):
            values = [
                t6.select(ratio=ratio, serving=serving, **where)[0]["value"] for serving in ("raw", "times popularity")
            ]
            found.append((_with_ratio(name, ratio), *values))
    return found


@on_p3_t6("On Amazon Beauty the most popular items find less than each of the three exact models", case="model")
def popularity_is_weak_on_amazon(t6: Any) -> dict[str, Difference]:
    """P@5 of an exact optimum minus that of the most popular items, the same split."""
    where = {"data": "amazon-beauty-5core"}
    popular = t6.values("P@5", method="baseline", **where)[0]
    return {
        name: Difference(t6.values("P@5", method="closed form", **model, **where)[0] - popular)
        for name, model in FROM_T6.items()
    }


def _unbiased_on_amazon(t6: Any, **how: Any) -> tuple[float, float]:
    """P@1 and P@5 of the unbiased objective on Amazon Beauty, minimised in one way."""
    where = {"data": "amazon-beauty-5core", "loss": "unbiased", **how}
    return t6.values("P@1", **where)[0], t6.values("P@5", **where)[0]


@on_p3_t6(
    "On Amazon Beauty L-BFGS, stopped at a gradient norm of 1e-7, finds less than half of what the exact optimum finds",
    case="metric",
)
def stopped_early_on_amazon(t6: Any) -> dict[str, Difference]:
    """Half of the exact model's precision minus that of the model that L-BFGS left, the same split."""
    exact = _unbiased_on_amazon(t6, method="closed form")
    left = _unbiased_on_amazon(t6, method="L-BFGS", stop_at=None)
    return {name: Difference(e / 2 - found) for name, e, found in zip(("P@1", "P@5"), exact, left, strict=True)}


@on_p3_t6("On Amazon Beauty L-BFGS finds more with more steps", case="metric")
def more_steps_find_more_on_amazon(t6: Any) -> dict[str, Difference]:
    """Precision with the bound 1e-9 on the gradient norm minus that with 1e-7, the same split."""
    late, early = (_unbiased_on_amazon(t6, method="L-BFGS", stop_at=bound) for bound in (1e-9, None))
    return {name: Difference(more - less) for name, more, less in zip(("P@1", "P@5"), late, early, strict=True)}


@on_p3_t5(
    "In-Batch and Popularity find less than a tenth of a percent of their five",
    case="pair of objective and batch ratio",
    family="collapse",
)
def both_collapse_on_ml1m(t5: Any) -> dict[str, Difference]:
    """0.1 minus P@5; square loss, over seeds."""
    return {
        f"{loss}, {ratio:g}": Difference.below(_p5_of_seeds(t5, loss=loss, ratio=ratio, serving="raw", **ON_ML1M), 0.1)
        for loss in ("in_batch", "popularity")
        for ratio in sorted(t5.distinct("ratio", loss=loss, **ON_ML1M))
    }


@on_p3_t5(
    "Multiplied by popularity, In-Batch finds more than before and less than Unbiased",
    case="batch ratio",
    family="times popularity",
)
def multiplying_repairs_in_part(t5: Any) -> dict[str, Difference]:
    """The smaller of two differences, over seeds: P@5 times popularity minus P@5, Unbiased minus the former; ML-1M."""
    found = {}
    for ratio in sorted(t5.distinct("ratio", loss="in_batch", **ON_ML1M)):
        where = {"ratio": ratio, **ON_ML1M}
        raw, times = (_p5_of_seeds(t5, loss="in_batch", serving=name, **where) for name in ("raw", "times popularity"))
        unbiased = _p5_of_seeds(t5, loss="unbiased", serving="raw", **where)
        found[f"{ratio:g}"] = Difference.above(np.minimum(times - raw, unbiased - times))
    return found


@on_p3_t5(
    "In-Batch finds less at the largest batch ratio than at the smallest",
    case="data set",
    cases="ML-100K",
    family="smallest and largest ratio",
)
def in_batch_falls_on_ml100k(t5: Any) -> Difference:
    """P@5 at the smallest ratio minus P@5 at the largest, over seeds; logistic loss."""
    return _fall(t5, loss="in_batch", **ON_ML100K)


@on_p3_t5(
    "The best checkpoint on the test set has a higher P@5 than one that other users choose",
    case="data set",
    family="selection",
)
def choosing_on_the_test_set_flatters(t5: Any) -> dict[str, Difference]:
    """P@5 of the one minus that of the other, mean over losses and batch ratios, over seeds."""
    return {
        data: _apart(t5, {"selection": "test"}, {"selection": "cross-fitted"}, data=data, serving="raw")
        for data in t5.distinct("data")
    }


def _of_table_4(t4: Any, difference: Callable[[np.ndarray], Difference]) -> dict[str, Difference]:
    """What is asked of P@5 under Sogram minus that under the unbiased loss, over seeds, for each cell of Table 4."""
    found = {}
    for data in t4.distinct("data"):
        for ratio in sorted(t4.distinct("ratio", data=data)):
            where = {"data": data, "ratio": ratio, "selection": "test"}
            values = (t4.values("P@5", loss=loss, **where) for loss in ("sogram", "unbiased"))
            found[f"{data}, {ratio:g}"] = difference(np.subtract(*values))
    return found


@on_p3_t4(
    "Unbiased and Sogram end within one point of P@5", claimed={"ml-1m, 0.1", "ml-100k, 0.1"}, family="within a point"
)
def the_unbiased_losses_end_alike(t4: Any) -> dict[str, Difference]:
    """One point minus the distance of the two, over seeds."""
    return _of_table_4(t4, lambda ahead: Difference.above(1 - abs(ahead)))


@on_p3_t4("Sogram ends with a higher P@5 than the unbiased loss", claimed=(), family="ahead")
def sogram_ends_ahead(t4: Any) -> dict[str, Difference]:
    """P@5 under Sogram minus that under the unbiased loss, over seeds."""
    return _of_table_4(t4, Difference.above)


# ---- P3-X1: data on which the unbiased loss loses, and data on which it wins; P@1 in percent

NARROW = {"made": 8, "real": 16}  # the width of the models that are compared
X1_RATIOS = (1e-5, 1e-3)
X1_NAMES = {
    **{f"made-{fitting}": f"made, 5 of {fitting}" for fitting in (5, 6, 8, 10, 20, 50)},
    "wikispeedia-topics": "topics",
    "wikispeedia-nested": "nested topics",
    "movietweetings-10core": "MovieTweetings",
    "lastfm-10core": "Last.fm",
    "ml-100k": "ML-100K",
}
# where the unbiased loss finds less, where not all runs decide, and where it finds more
LOSES = ("made-5", "made-6", "wikispeedia-topics")
OPEN = ("made-8", "made-10")
WINS = ("made-20", "made-50", "wikispeedia-nested", "movietweetings-10core", "lastfm-10core", "ml-100k")


def x1_values(x1: Any, data: str, loss: str, ratio: float | None = None, metric: str = "P@1") -> np.ndarray:
    """A number of every seed at the width that is compared."""
    width = NARROW["made" if data.startswith("made") else "real"]
    rows = x1.select(data=data, k=width, loss=loss, ratio=ratio, metric=metric)
    return np.array([row["value"] for row in sorted(rows, key=lambda row: row["seed"])])


def _lead(x1: Any, data: str, ratio: float, metric: str = "P@1") -> Difference:
    """A metric of In-Batch minus that of Unbiased, over seeds."""
    in_batch = x1_values(x1, data, "in_batch", ratio, metric)
    return Difference.paired(in_batch, x1_values(x1, data, "unbiased", metric=metric))


def _at_each_ratio(sets: Sequence[str]) -> dict[str, tuple[str, float]]:
    """The cases of some data sets: (data set, batch ratio)."""
    return {f"{X1_NAMES[data]}, {ratio:g}": (data, ratio) for data in sets for ratio in X1_RATIOS}


on_pairs = partial(on_p3_x1, case="pair of data set and batch ratio")


@on_pairs(
    "Where the division by popularity costs little, In-Batch finds more than Unbiased",
    cases=_at_each_ratio(LOSES),
    family="In-Batch against Unbiased",
    claimed={name for name in _at_each_ratio(LOSES) if name.startswith("made")},
)
def unbiased_can_lose(x1: Any, where: tuple[str, float]) -> Difference:
    """P@1 of In-Batch minus that of Unbiased, over seeds."""
    return _lead(x1, *where)


@on_pairs(
    "Where the division by popularity costs much, In-Batch finds less than Unbiased",
    cases=_at_each_ratio(WINS),
    family="In-Batch against Unbiased",
)
def unbiased_wins_elsewhere(x1: Any, where: tuple[str, float]) -> Difference:
    """P@1 of Unbiased minus that of In-Batch, over seeds."""
    return -_lead(x1, *where)


@on_pairs(
    "With 8 and with 10 labels that fit, In-Batch finds more than Unbiased, or less",
    cases=_at_each_ratio(OPEN),
    claimed=(),
    family="In-Batch against Unbiased",
)
def two_sets_stay_open(x1: Any, where: tuple[str, float]) -> Difference:
    """P@1 of In-Batch minus that of Unbiased, over seeds."""
    return _lead(x1, *where)


@on_p3_x1(
    "A set on which In-Batch finds more keeps more of the vote than every set on which it finds less",
    case="data set",
    family="kept",
)
def what_is_kept_decides(x1: Any) -> dict[str, Difference]:
    """What such a set keeps minus the most that a set of the other kind keeps, over seeds."""
    most = max((x1_values(x1, data, "votes", metric="kept") for data in WINS), key=np.mean)
    return {X1_NAMES[data]: Difference.paired(x1_values(x1, data, "votes", metric="kept"), most) for data in LOSES}


@on_p3_x1(
    "Among the first five In-Batch still leads where a row carries 5 of the 20 labels that fit",
    case="batch ratio",
    family="P@5",
    claimed=(),
)
def ahead_longer_among_five(x1: Any) -> dict[str, Difference]:
    """P@5 of In-Batch minus that of Unbiased on the made data, over seeds."""
    return {f"{ratio:g}": _lead(x1, "made-20", ratio, "P@5") for ratio in X1_RATIOS}


@on_p3_x1("With more dimensions than groups In-Batch leads by less than one point", case="batch ratio", family="width")
def width_closes_the_gap(x1: Any) -> dict[str, Difference]:
    """One point minus the lead of In-Batch in P@1 at width 48; made data, a row carries all that fits, over seeds."""
    where = {"data": "made-5", "k": 48}
    unbiased = np.array(x1.values("P@1", loss="unbiased", **where))
    return {
        f"{ratio:g}": Difference.paired(unbiased + 1, x1.values("P@1", loss="in_batch", ratio=ratio, **where))
        for ratio in X1_RATIOS
    }


@on_p3_x1(
    "On the topics a smaller weight of the negatives finds more than Unbiased and than In-Batch",
    case="rival",
    family="Pos-Neg",
)
def pos_neg_leads_on_topics(x1: Any) -> dict[str, Difference]:
    """P@1 of Pos-Neg at ratio 1e-3 minus that of the rival, over seeds."""
    data = "wikispeedia-topics"
    ours = x1_values(x1, data, "pos_neg", 1e-3)
    rivals = {"Unbiased": x1_values(x1, data, "unbiased")}
    rivals |= {f"In-Batch, {ratio:g}": x1_values(x1, data, "in_batch", ratio) for ratio in X1_RATIOS}
    return {name: Difference.paired(ours, values) for name, values in rivals.items()}


@on_p3_x1(
    "Pos-Neg, the unbiased loss with a smaller weight of all negatives, finds more than In-Batch",
    case="data set",
    cases={name: data for data, name in X1_NAMES.items()},
    claimed={name for name in X1_NAMES.values() if name != "made, 5 of 5"},
    family="Pos-Neg",
)
def pos_neg_beats_in_batch(x1: Any, data: str) -> Difference:
    """P@1 of Pos-Neg minus that of In-Batch, both at ratio 1e-3, over seeds."""
    return Difference.paired(x1_values(x1, data, "pos_neg", 1e-3), x1_values(x1, data, "in_batch", 1e-3))


# ---- the main page: two exact optima of one model; P@5 in percent

Runs = Sequence[Mapping[str, Lists]]  # for each seed: name of the model -> what its lists look like


def of_runs(runs: Runs, model: str, what: str) -> np.ndarray:
    """One field of `Lists` of one model, over seeds."""
    return np.array([getattr(run[model], what) for run in runs], dtype=float)


def _ahead(runs: Runs, more: str, less: str, what: str = "precision") -> Difference:
    """One field of `Lists`: of one model minus of another, over seeds."""
    return Difference.paired(of_runs(runs, more, what), of_runs(runs, less, what))


def _exact(larger: str, smaller: str, splits: Runs, t6: Any, *, share: float = 1) -> dict[str, Difference]:
    """A share of one model's P@5 minus that of another, on three data sets: the page's own splits, and P3-T6."""
    values = {"MovieTweetings": [of_runs(splits, model, "precision") for model in (larger, smaller)]}
    for data, name in STORED.items():
        where = {"data": data, "method": "closed form"}
        values[name] = [np.array(t6.values("P@5", **FROM_T6[model], **where)) for model in (larger, smaller)]
    return {name: Difference.paired(share * first, second) for name, (first, second) in values.items()}


@on_splits("The exact optimum of In-Batch finds less than a third of what that of all pairs finds", case="data set")
def exact_in_batch_finds_less(splits: Runs, t6: Any) -> dict[str, Difference]:
    """A third of the P@5 of all pairs minus the P@5 of In-Batch, over splits."""
    return _exact("all pairs", "in-batch", splits, t6, share=1 / 3)


@on_films("The exact optimum of In-Batch recommends films with fewer fans than that of all pairs does")
def exact_in_batch_shows_rarer_films(splits: Runs) -> Difference:
    """Median count of the films shown, all pairs minus In-Batch, over splits."""
    return _ahead(splits, "all pairs", "in-batch", "fans")


@on_splits("Multiplied by popularity, the exact optimum of In-Batch finds more than before", case="data set")
def multiplying_finds_more(splits: Runs, t6: Any) -> dict[str, Difference]:
    """P@5 with the scores times popularity minus P@5 with the scores as they are, over splits."""
    return _exact("in-batch × popularity", "in-batch", splits, t6)


@on_splits("Multiplied by popularity, the exact optimum of In-Batch finds more than that of all pairs", case="data set")
def multiplied_finds_more_than_all_pairs(splits: Runs, t6: Any) -> dict[str, Difference]:
    """P@5 of In-Batch with the scores times popularity minus P@5 of all pairs, over splits."""
    return _exact("in-batch × popularity", "all pairs", splits, t6)


# ---- the main page: five objectives trained on the same batches

MENDED = {"logistic": ("unbiased", "in_batch"), "softmax": ("logq", "softmax")}
SERVED = {"logistic": "in_batch", "softmax": "softmax"}


@on_splits("An objective finds more with its correction than without", case="kind of loss")
def correction_finds_more(runs: Runs) -> dict[str, Difference]:
    """P@5 with the correction minus P@5 without, over seeds."""
    return {kind: _ahead(runs, mended, plain) for kind, (mended, plain) in MENDED.items()}


@on_splits("With its correction an objective recommends more popular films than without", case="kind of loss")
def correction_raises_popularity(runs: Runs) -> dict[str, Difference]:
    """Median count of the films shown, with the correction minus without, over seeds."""
    return {kind: _ahead(runs, mended, plain, "fans") for kind, (mended, plain) in MENDED.items()}


@on_splits("A model without a repair finds less than half of what the most popular films find", case="kind of loss")
def no_repair_finds_less_than_half(runs: Runs) -> dict[str, Difference]:
    """Half the P@5 of the most popular films minus the P@5 of the biased model, over seeds."""
    popular = of_runs(runs, "most popular", "precision")
    return {kind: Difference.paired(popular / 2, of_runs(runs, plain, "precision")) for kind, plain in SERVED.items()}


@on_splits("A biased model finds more when the log of the popularity is added to its scores", case="kind of loss")
def log_popularity_at_serving_helps(runs: Runs) -> dict[str, Difference]:
    """P@5 with the scores plus log popularity minus P@5 with the scores as they are, over seeds."""
    return {kind: _ahead(runs, f"{plain}, plus log popularity", plain) for kind, plain in SERVED.items()}


@on_splits(
    "With films hidden at random, a biased objective with its popularity given back finds more than the most popular "
    "films",
    case="model",
    claimed={"logq"},
)
def some_beat_popularity(runs: Runs) -> dict[str, Difference]:
    """P@5 of the model minus P@5 of the most popular films, over seeds."""
    return {model: _ahead(runs, model, "most popular") for model in runs[0] if model != "most popular"}


# ---- after more passes, `rates.stops`

Looks = Mapping[str, NDArray[np.float64]]  # of each objective (splits, stops, 2): P@5 and films shown


def _after(looks: Looks, objective: str, passes: int) -> NDArray[np.float64]:
    """(2, splits) P@5 and films shown after so many passes."""
    found: NDArray[np.float64] = looks[objective][:, STOPS.index(passes)].T
    return found


@on_films(
    "After 160 passes the lists of the unbiased loss show at least three times as many films as after 20",
    bound_after=True,
)
def longer_training_shows_more(looks: Looks) -> Difference:
    """Films shown after 160 passes minus three times those after 20, over splits."""
    return Difference.paired(_after(looks, "unbiased", 160)[1], 3 * _after(looks, "unbiased", 20)[1])


@on_splits("The softmax finds less after 160 passes than after 20", case="correction", bound_after=True)
def longer_training_costs_the_softmax(looks: Looks) -> dict[str, Difference]:
    """P@5 after 20 passes minus that after 160, over splits."""
    return {
        name: Difference.paired(_after(looks, name, 20)[0], _after(looks, name, 160)[0])
        for name in ("softmax", "logq", "mixed")
    }


# ---- the lab: rates tried on a validation part


@on_splits("No rate replaces a correction: with it the best rate finds more", case="kind of loss")
def no_rate_replaces_a_correction(found: Mapping[str, Sequence[float]]) -> dict[str, Difference]:
    """P@5 at the best rate with the correction minus that without, one seed.

    found: of each objective, its P@5 at each rate.
    """
    return {kind: Difference(max(found[mended]) - max(found[plain])) for kind, (mended, plain) in MENDED.items()}

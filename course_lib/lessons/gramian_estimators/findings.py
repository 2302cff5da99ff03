"""What the chapter on Gramian estimators says of data, and in which cases it holds.

Stored results: P4-F2, P4-F3, P4-F7 and P4-T2 (Wikispeedia) and P4-F8 (ratings of ML-100K), compared seed by seed. The
pages' own runs: free tables on the films, three seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from course_lib.lessons.gramian_estimators.free_tables import Race
from course_lib.lessons.shared.findings import Difference, finding

BATCHES = {"128": 128, "1024": 1024}
RATES = {rate: rate for rate in ("0.1", "0.01", "0.001")}
FIGURE_8_GAIN = 0.029  # of SOGram with the rate 0.1 over sampling: P4, Appendix E
Row = dict[str, Any]

# test over train: each seed has another split, of nine to one for the links, and of four to one for the ratings
LINKS, RATINGS = 1 / 9, 1 / 4

# Findings on stored results, and what one case usually is there
on_p4_f2 = partial(finding, rests_on=["P4-F2-laptop"], case="batch size", cases=BATCHES, splits=LINKS)
on_p4_f3 = partial(finding, rests_on=["P4-F3-laptop"], splits=LINKS)
on_p4_f6 = partial(finding, rests_on=["P4-F6-laptop"], case="data set", cases="Wikispeedia", splits=LINKS)
on_p4_f7 = partial(finding, rests_on=["P4-F7-laptop"], splits=LINKS)
on_films = partial(finding, case="data set", cases="MovieTweetings")  # the pages' own runs
on_p4_t2_f8 = partial(finding, rests_on=["P4-T2-laptop", "P4-F8-laptop"])


# ---- free tables on the films: what the penalty does


@on_films(
    "Without the penalty, at least four fifths of the combinations of one random example's person with another's film "
    "score above one half",
    bound_after=True,
)
def folded_says_yes(shares: Sequence[float]) -> Difference:
    """Share above 1/2 of one random example's person with another's film, minus 0.8; lambda = 0, over seeds."""
    return Difference.above(shares, 0.8)


@on_films(
    "The mean average precision (MAP@10) of the model with the weight λ = 1 of the penalty exceeds five times that of "
    "the model without the penalty"
)
def penalty_finds_more(without: Sequence[float], with_it: Sequence[float]) -> Difference:
    """MAP@10 with lambda = 1 minus five times that with lambda = 0, over seeds."""
    return Difference.paired(with_it, 5 * np.array(without))


@on_films("With the penalty over examples a model finds less than half of what a list by popularity finds")
def popularity_wins(models: Sequence[float], popular: float) -> Difference:
    """Half of the MAP@10 of the list by popularity minus that of the better model, lambda = 1 or 10, over seeds."""
    return Difference.below(models, popular / 2)


@on_films("With the penalty over all pairs evenly the model finds more than a list by popularity")
def even_gravity_wins(models: Sequence[float], popular: float) -> Difference:
    """MAP@10 of the model with weights minus that of the list by popularity; lambda = 10, over seeds."""
    return Difference.above(models, popular)


@on_films("Scores times popularity find more than a list by popularity")
def times_popularity_wins(models: Sequence[float], popular: float) -> Difference:
    """MAP@10 of the scores times the films' counts minus that of the list by popularity; lambda = 10, over seeds."""
    return Difference.above(models, popular)


# ---- free tables on the films: estimators that watch one training


@on_films("On the films SOGram with batches of 128 is closer to the Gramian than sampling with 1024")
def sogram_beats_larger_batches(races: Sequence[Race]) -> Difference:
    """Late error of sampling with 1024 minus that of SOGram (alpha = 0.1) with 128, over seeds."""
    return Difference.above([race.late("sampling", 1024) - race.late("sogram 0.1", 128) for race in races])


@on_films("On the films, with batches of 128, SAGram with β = 1 errs more than twice as much as SOGram")
def beta_one_errs_with_small_batches(races: Sequence[Race]) -> Difference:
    """Late error of SAGram with beta = 1 minus twice that of SOGram (alpha = 0.1), batches of 128."""
    return Difference.above([race.late("sagram 1", 128) - 2 * race.late("sogram 0.1", 128) for race in races])


@on_films("On the films, with batches of 1024, SAGram with β = 1 and SOGram err alike, within an eighth")
def beta_one_is_level_with_large_batches(races: Sequence[Race]) -> Difference:
    """1/8 minus the relative difference of the late errors, alpha = 0.1, batches of 1024, over seeds."""
    return Difference.below(
        [abs(race.late("sagram 1", 1024) / race.late("sogram 0.1", 1024) - 1) for race in races], 1 / 8
    )


@on_films("On the films SAGram with β = b/n starts with a larger error than sampling and ends with a smaller")
def cache_starts_badly(races: Sequence[Race]) -> Difference:
    """The smaller of two differences of errors, over seeds; batches of 128: at the first look, at the last (turned)."""
    gaps = [race.errors["sagram 1/n", 128] - race.errors["sampling", 128] for race in races]
    return Difference.above([min(gap[0], -gap[-1]) for gap in gaps])


@on_films("On the films the corrected start at least halves SOGram's error at the first look")
def corrected_start_helps(races: Sequence[Race]) -> Difference:
    """Half of SOGram's error (alpha = 0.01) after 20 steps minus that with the start corrected, over seeds."""
    plain, corrected = (
        np.array([race.errors[name, 128][0] for race in races]) for name in ("sogram 0.01", "sogram 0.01 corrected")
    )
    return Difference.paired(plain / 2, corrected)


@on_films("At the rate 0.01 a random walk predicts the late error better than a straight line")
def walk_predicts_better(straight: Sequence[float], walk: Sequence[float], measured: Sequence[float]) -> Difference:
    """How far the straight line's prediction is off minus how far the walk's is, over seeds."""
    true = np.array(measured)
    return Difference.paired(abs(np.array(straight) - true), abs(np.array(walk) - true))


# ---- free tables on the films: better Gramian, better model?


@on_films("On the films the draw of the examples makes at least twenty times as much noise as the Gramian")
def examples_make_the_noise(ratios: Sequence[float]) -> Difference:
    """Mean square of one noise over that of the other, minus 20, over seeds; the people's side, batch 1024."""
    return Difference.above(ratios, 20)


@on_films(
    "On the films SOGram with the rate 0.01 ends at a larger objective than sampling, by a tenth or more",
    bound_after=True,
)
def slow_sogram_minimises_less(slow: Sequence[float], sampling: Sequence[float]) -> Difference:
    """The objective of SOGram minus 1.1 times that of sampling, batches of 1024, 500 steps, over seeds."""
    return Difference.paired(slow, 1.1 * np.array(sampling))


@on_films("SOGram with one batch, folded in afterwards, minimises as well as sampling with two, within 1 %")
def one_batch_is_enough(one: Sequence[float], sampling: Sequence[float]) -> Difference:
    """1.01 times the objective of sampling minus that of SOGram (alpha = 0.1) with one batch of 1024, over seeds."""
    return Difference.paired(1.01 * np.array(sampling), one)


# ---- Figure 2 on Wikispeedia: the error over the second half of a run


def _paired(stored: Any, metric: str, larger: Row, smaller: Row) -> Difference:
    """A metric of some cells minus that of others, over the seeds that both have."""
    seeds = tuple(set(stored.distinct("seed", **larger)) & set(stored.distinct("seed", **smaller)))
    return Difference.paired(*(stored.values(metric, seed=seeds, **where) for where in (larger, smaller)))


def _watched(estimator: str, batch: int) -> Row:
    return {"estimator": estimator, "batch": batch}


@on_p4_f2("SOGram is closer to the Gramian than sampling")
def sogram_is_closer(f2: Any, batch: int) -> Difference:
    """Error of sampling minus that of SOGram (α = 0.01) with the same batches, over seeds; Wikispeedia."""
    return _paired(f2, "error late", _watched("sampling", batch), _watched("sogram 0.01", batch))


@on_p4_f2(
    "SOGram with batches of 128 is closer to the Gramian than sampling with 1024", case="data set", cases="Wikispeedia"
)
def sogram_needs_less(f2: Any) -> Difference:
    """Error of sampling with 1024 minus that of SOGram (α = 0.01) with 128, over seeds."""
    return _paired(f2, "error late", _watched("sampling", 1024), _watched("sogram 0.01", 128))


@on_p4_f2("SAGram with β = 1 is the closest of all to the Gramian", claimed={"1024"})
def beta_one_is_closest(f2: Any, batch: int) -> Difference:
    """Least error of the others minus that of SAGram with β = 1, the same batches, over seeds; Wikispeedia."""
    *others, ours = (
        f2.values("error late", **_watched(name, batch))
        for name in ("sampling", "sogram 0.01", "sagram 1/n", "sagram 1")
    )
    return Difference.paired(np.min(others, axis=0), ours)


# ---- Figures 3 and 7 on Wikispeedia: SOGram at several rates


def _errors(stored: Any, when: str, rate: str, **where: Any) -> np.ndarray:
    """Over seeds."""
    return np.array(stored.values(f"error {when}", estimator=f"sogram {rate}", **where))


@on_p4_f3(
    "Of two rates of SOGram the higher one is closer early and the lower one late",
    case="pair of rates",
    cases={
        f"{float(high):g} and {low}": (high, low)
        for high, low in (("1.0", "0.01"), ("0.1", "0.01"), ("0.1", "0.001"), ("0.01", "0.001"))
    },
    claimed={"1 and 0.01", "0.1 and 0.01"},
    family="pairs of rates",
)
def rates_cross(f3: Any, rates: tuple[str, str]) -> Difference:
    """The smaller of two differences: early, lower minus higher rate; late, higher minus lower; over seeds."""
    early, late = (np.subtract(*(_errors(f3, when, rate) for rate in rates)) for when in ("early", "late"))
    return Difference.above(np.minimum(-early, late))


@on_p4_f3(
    "Correcting the start of SOGram at least halves its early error",
    case="rate",
    cases={rate: rate for rate in ("0.01", "0.001")},
    family="early error",
    claimed={"0.001"},
)
def corrected_start_halves(f3: Any, rate: str) -> Difference:
    """Half of the early error minus that with the start corrected, over seeds; Wikispeedia, batches of 128."""
    return Difference.paired(_errors(f3, "early", rate) / 2, _errors(f3, "early", f"{rate} corrected"))


@on_p4_f7(
    "With a learning rate five times lower SOGram's late error is larger",
    case="rate",
    cases=RATES,
    claimed={"0.1", "0.01"},
    family="late error",
)
def slower_training_errs_more(f7: Any, rate: str) -> Difference:
    """Late error at the lower learning rate minus that at the higher one, over seeds; Wikispeedia, batches of 1024."""
    return Difference.paired(*(_errors(f7, "late", rate, lr=lr) for lr in sorted(f7.distinct("lr"))))


@on_p4_f7(
    "For the rate 0.001 SOGram's late error is smaller with a learning rate five times lower",
    case="data set",
    cases="Wikispeedia",
    family="late error",
)
def slower_training_helps_the_lowest_rate(f7: Any) -> Difference:
    """Late error at the higher learning rate minus that at the lower one, over seeds; batches of 1024."""
    slow, fast = sorted(f7.distinct("lr"))
    return Difference.paired(*(_errors(f7, "late", "0.001", lr=lr) for lr in (fast, slow)))


@on_p4_f7(
    "With a learning rate five times lower the Gramian moves by more of its norm in a step",
    case="data set",
    cases="Wikispeedia",
    family="step",
)
def slower_training_moves_more(f7: Any) -> Difference:
    """Mean step over norm in the second half of the run, at the lower learning rate minus the higher, over seeds."""
    fast, slow = sorted(f7.distinct("lr"), reverse=True)
    moves = {
        rate: [f7.values("step / norm", lr=rate, seed=seed) for seed in f7.distinct("seed")] for rate in (fast, slow)
    }
    late = {rate: [np.mean(run[len(run) // 2 :]) for run in runs] for rate, runs in moves.items()}
    return Difference.paired(late[slow], late[fast])


# ---- Table 2 on Wikispeedia and Figure 8 on ratings: MAP@10 at the end of a run


def _method(rate: float) -> Row:
    return {"method": f"sogram {rate:g}"}


SAMPLING: Row = {"method": "sampling"}
SPLITS_OF = {"Wikispeedia": LINKS, "ML-100K": RATINGS}
FOUR_RATES = tuple(_method(rate)["method"] for rate in (0.001, 0.005, 0.01, 0.1))  # of Table 2


@on_p4_t2_f8(
    "SOGram with a rate below 0.1 ends below sampling",
    case="pair of data set and rate",
    claimed={"Wikispeedia, 0.001", "Wikispeedia, 0.005", "ML-100K, 0.001", "ML-100K, 0.01"},
    family="MAP@10",
)
def slow_sogram_ends_below(table_2: Any, figure_8: Any) -> dict[str, Difference]:
    """MAP@10 of sampling minus that of SOGram, over seeds; Wikispeedia and the ratings of ML-100K."""
    rates = {"Wikispeedia": (table_2, (0.001, 0.005, 0.01)), "ML-100K": (figure_8, (0.001, 0.01))}
    return {
        f"{data}, {rate:g}": _paired(stored, "map@10", SAMPLING, _method(rate)).resplit(SPLITS_OF[data])
        for data, (stored, some) in rates.items()
        for rate in some
    }


@finding(
    "Two seeds of one method differ by more than the 2.9 % that P4's Figure 8 gives SOGram over sampling",
    case="method",
    rests_on=["P4-F8-laptop"],
)
def seeds_differ_by_more_than_the_gain(figure_8: Any) -> dict[str, Difference]:
    """(Largest - smallest MAP@10) / mean over seeds, minus 0.029; the ratings of ML-100K."""
    found = {}
    for name, where in (("sampling", SAMPLING), ("SOGram, 0.1", _method(0.1))):
        values = figure_8.values("map@10", **where)
        found[name] = Difference(
            float(np.ptp(values) / np.mean(values)) - FIGURE_8_GAIN, over=f"the range of {len(values)} seeds"
        )
    return found


@on_p4_t2_f8(
    "Against 500 random candidates MAP@10 is more than twice what it is against all",
    case="pair of data set and method",
    claimed={f"Wikispeedia, {method}" for method in ("sampling", *FOUR_RATES)}
    | {f"ML-100K, {method}" for method in ("sampling", "sogram 0.1")},
    family="MAP@10 of 500",
)
def few_candidates_flatter(table_2: Any, figure_8: Any) -> dict[str, Difference]:
    """MAP@10 against 500 candidates minus twice MAP@10 against all, over seeds."""
    return {
        f"{data}, {method}": Difference.paired(
            stored.values("map@10 of 500", method=method), 2 * np.array(stored.values("map@10", method=method))
        ).resplit(SPLITS_OF[data])
        for data, stored in (("Wikispeedia", table_2), ("ML-100K", figure_8))
        for method in stored.distinct("method")
    }


# ---- Figures 5 and 6 on Wikispeedia: what the gravity coefficient does


LOW, HIGH = 0.01, 10.0  # of lambda, in P4's Figure 5


def _by_gravity(stored: Any, metric: str, lam: float, **where: Any) -> np.ndarray:
    """A metric after the last step, over seeds."""
    return np.array(stored.values(metric, **{"lambda": lam}, **where))


@on_p4_f6("With λ = 10 the mean score of observed pairs falls below one half")
def observed_pairs_fall_too(f6: Any) -> Difference:
    """One half minus the mean inner product of observed pairs after the last step, over seeds; Wikispeedia."""
    last = {"pairs": "observed", "step": max(f6.distinct("step"))}
    return Difference.below(_by_gravity(f6, "mean", HIGH, **last), 0.5)


@on_p4_f6("With λ = 0.01 nine tenths of random pairs score above one half, with λ = 10 not a tenth")
def little_gravity_folds(f6: Any) -> Difference:
    """The smaller of two differences, over seeds: share minus 0.9 with 0.01, 0.1 minus share with 10; Wikispeedia."""
    last = {"pairs": "random", "step": max(f6.distinct("step"))}
    low, high = (_by_gravity(f6, "share above 1/2", lam, **last) for lam in (LOW, HIGH))
    return Difference.above(np.minimum(low - 0.9, 0.1 - high))


@on_p4_f6("MAP@10 with λ = 10 is more than ten times that with λ = 0.01")
def gravity_lifts_the_map(f6: Any) -> Difference:
    """MAP@10 with lambda = 10 minus ten times that with 0.01, over seeds; Wikispeedia."""
    low, high = (_by_gravity(f6, "map@10", lam) for lam in (LOW, HIGH))
    return Difference.paired(high, 10 * low)


@on_p4_f6("MAP@10 with λ = 1000 is lower than with λ = 10")
def too_much_gravity_finds_less(f6: Any) -> Difference:
    """MAP@10 with lambda = 10 minus that with 1000, over seeds; Wikispeedia."""
    return Difference.paired(_by_gravity(f6, "map@10", HIGH), _by_gravity(f6, "map@10", 1000.0))

"""The chapter on in-batch sampling: its proofs, the models that it trains, its findings, figures and quiz."""

import itertools
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp
import torch
from drafts import one_quickly
from matplotlib.figure import Figure
from scipy import stats

from course_lib import in_batch, losses
from course_lib.arrays import exact
from course_lib.checking import some
from course_lib.experiments import p3
from course_lib.experiments.core.results import Result
from course_lib.interactions import Interactions
from course_lib.lessons.in_batch_bias import broken, enumeration, films, findings, plots, rates
from course_lib.lessons.in_batch_bias import findings as about
from course_lib.lessons.in_batch_bias import proofs as symbolic
from course_lib.lessons.in_batch_bias.enumeration import SMALL_LABELS, batches, labelled_cases, positives
from course_lib.lessons.in_batch_bias.films import Lists
from course_lib.lessons.shared import house
from course_lib.lessons.shared.counterexample import all_zero
from course_lib.lessons.shared.findings import FindingError
from tests.lessons.in_batch_bias import make_rates
from tests.refused import refused

PARTS = ("batch", "cells", "coefficients", "moments", "objectives", "sampling", "square")


# ---- the checks can fail: put a wrong formula in and see them complain


def replace_everywhere(monkeypatch: pytest.MonkeyPatch, name: str, function) -> None:
    """Puts `function` in the place of in_batch's `name`, in every module of the package that knows it."""
    for module in (in_batch, *(sys.modules[f"course_lib.in_batch.{part}"] for part in PARTS)):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, function)


def found_out(check: Callable[..., Any]) -> bool:
    """Whether a proof or an enumeration names a case that does not hold: up to the first, for all take seconds."""
    return any(sp.simplify(sp.sympify(case)) != 0 for case in check.__wrapped__())


# What is wrong with the coefficients c, where every batch has the factor a and the balance rho.
MISTAKES = {
    "hat missing (E.5)": lambda c, a, rho: replace(c, inverse=c.inverse * rho),
    "popularity kept": lambda c, a, rho: replace(c, power=0),
    "no correction on the diagonal": lambda c, a, rho: replace(c, inverse=0 * a),
    "positives scaled by 2": lambda c, a, rho: replace(c, positive=2 * a),
}


@pytest.mark.parametrize("mistake", one_quickly([*MISTAKES]))
def test_a_wrong_unbiased_loss_is_found_out(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = in_batch.coefficients_from

    def changed(kind: str, *, a: Any, rho: Any) -> in_batch.Coefficients:
        return MISTAKES[mistake](right(kind, a=a, rho=rho), a, rho)

    replace_everywhere(monkeypatch, "coefficients_from", changed)
    assert any(r != 0 for r in symbolic.thm_unbiased_loss())
    assert enumeration.enumerate_expected_weights("unbiased") > 0


@pytest.mark.parametrize(
    ("name", "enumerate_"),
    one_quickly(
        [
            ("expected_positive_sum", "enumerate_positive_sum"),
            ("expected_pair_sum", "enumerate_pair_sum"),
            ("change_of_variables", "enumerate_change_of_variables"),
            ("inclusion_probability", "enumerate_inclusion"),
            ("horvitz_thompson_weight", "enumerate_horvitz_thompson"),
            ("count_weight_second_moment", "enumerate_horvitz_thompson"),
            ("expected_objective", "enumerate_square_closed_form"),
        ]
    ),
)
def test_a_wrong_lemma_is_found_out(name: str, enumerate_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = getattr(in_batch, name)
    replace_everywhere(monkeypatch, name, lambda *args, **kwargs: right(*args, **kwargs) * Fraction(1001, 1000))
    assert getattr(enumeration, enumerate_)() > 0


@pytest.mark.pipeline
@pytest.mark.seconds
def test_a_wrong_variance_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    right = in_batch.inclusion_probability
    replace_everywhere(
        monkeypatch, "inclusion_probability", lambda order, **sizes: right(order, **sizes) * (2 if order == 3 else 1)
    )
    assert found_out(enumeration.enumerate_batch_variance) and found_out(symbolic.thm_batch_variance)


WRONG = [
    (
        enumeration,
        "own_score",
        lambda f: lambda *given: f(*given) * Fraction(99, 100),
        [enumeration.enumerate_shared_groups],
    )
]


# ---- counterexamples: one per dropped assumption, one per formula as printed

LABELS_AND_SIZES = [(labels, s) for labels in SMALL_LABELS[1:] for s in (2, 3)]
CHAIN = SMALL_LABELS[2]


@pytest.mark.parametrize(("labels", "s"), LABELS_AND_SIZES)
def test_sogram_with_one_batch(labels: np.ndarray, s: int) -> None:
    example = broken.sogram_with_one_batch(labels, s)
    assert all_zero(example.unexplained)
    assert all_zero(example.gap) == (s == labels.sum())  # the full batch is no longer random


@pytest.mark.parametrize(("labels", "s"), LABELS_AND_SIZES)
def test_sampling_with_replacement(labels: np.ndarray, s: int) -> None:
    """ex-replacement: the repaired loss is unbiased, and the plain one is not."""
    assert broken.sampling_with_replacement(labels, s).refutes
    assert all_zero(broken.repaired_with_replacement(labels, s).gap)


def test_sampling_with_replacement_breaks_every_kind() -> None:
    for kind in ("in_batch", "popularity", "pos_neg", "masked"):
        assert broken.sampling_with_replacement(CHAIN, 2, kind=kind).refutes


@pytest.mark.parametrize("labels", SMALL_LABELS)
def test_empty_column(labels: np.ndarray) -> None:
    assert broken.empty_column(labels, 2).refutes


@pytest.mark.parametrize("pair", positives(CHAIN))
@pytest.mark.parametrize("s", [2, 3, 5])
def test_duplicate_pairs(pair: tuple[int, int], s: int) -> None:
    example = broken.duplicate_pairs(CHAIN, pair, s)
    assert example.refutes
    assert example.actual[1][pair] < 0


def test_17_is_unbounded_below_for_the_logistic_loss() -> None:
    slope = float(broken.unbounded_slope())
    scores = (10, 100, 1000, 10_000)
    values = [broken.unbounded_below(score).actual for score in scores]
    assert values[-1] < -1000
    assert np.diff(values) / np.diff(scores) == pytest.approx([slope] * 3, rel=1e-4)


def test_the_masked_loss_is_not_always_quieter() -> None:
    """At equal scores the best mix lies between 0, the masked loss, and beyond 1, the unbiased loss."""
    best = []
    for labels in some(one for one in SMALL_LABELS if one.sum() >= 3):
        pos_loss, neg_loss = losses.pair_losses("square", exact(np.ones(labels.shape, dtype=int)) * Fraction(1, 2))
        best.append(in_batch.optimal_mix(pos_loss=pos_loss, neg_loss=neg_loss, labels=labels, batch_size=3).c)
    assert min(best) == 0 and max(best) > 1


def test_softmax_mixed_derivatives() -> None:
    """(-1)^(n-1) (n-1)! / n^n at equal scores."""
    assert [symbolic.softmax_mixed_derivative(n) for n in (2, 3, 4)] == [
        sp.Rational(-1, 4),
        sp.Rational(2, 27),
        sp.Rational(-6, 256),
    ]


def test_symbols_go_through_the_library() -> None:
    """The proof is about the formulas that training runs: symbols in, the coefficients of a real batch out."""
    numbers = {symbolic.M: 7, symbolic.s: 3, symbolic.m: 3, symbolic.n: 4}
    for kind in some(in_batch.KINDS[:2]):
        form = in_batch.coefficients_from(kind, a=symbolic.A, rho=symbolic.RHO)
        real = in_batch.batch_coefficients(kind, batch_size=3, n_positives=7, shape=(3, 4))
        for part in ("positive", "grid", "constant", "inverse"):
            assert sp.sympify(getattr(form, part)).subs(numbers) == sp.Rational(getattr(real, part))


# ==== the four objectives that the chapter trains side by side, and what is said of their lists


@pytest.fixture(scope="module")
def train() -> Interactions:
    """Two tastes and one hit: 20 people like the films of their own half, and all like film 0."""
    rng = np.random.default_rng(0)
    labels = np.zeros((40, 12), dtype=bool)
    labels[:20, 1:6] = labels[20:, 6:] = rng.random((20, 1)) < 0.9
    labels[:, 0] = True
    labels &= rng.random(labels.shape) < 0.9
    users, items = np.nonzero(labels)
    return Interactions(users, items, n_users=40, n_items=12)


def pairs(train: Interactions, *places: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(train.users[list(places)]).long(), torch.from_numpy(train.items[list(places)]).long()


def counts(train: Interactions, i: torch.Tensor, j: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor(train.row_counts[i]).double(), torch.tensor(train.col_counts[j]).double()


def test_the_unbiased_and_the_in_batch_loss_have_the_weights_of_the_library(train: Interactions) -> None:
    i, j = pairs(train, 3, 40, 90)
    scores = torch.arange(9, dtype=torch.float64).reshape(3, 3) / 4 - 1
    pos_loss, neg_loss = losses.pair_losses("logistic", scores)
    for kind in ("unbiased", "in_batch"):
        pull, push = in_batch.batch_weights(
            kind,
            row_counts=train.row_counts[i].astype(float),
            col_counts=train.col_counts[j].astype(float),
            n_positives=len(train),
            shape=train.shape,
        )
        by_hand = (torch.as_tensor(pull) * pos_loss.diagonal()).sum() + (torch.as_tensor(push) * neg_loss).sum()
        assert films.batch_loss(kind, scores, train, *counts(train, i, j)) == pytest.approx(float(by_hand))


def test_logq_takes_the_share_of_each_film_from_its_scores(train: Interactions) -> None:
    i, j = pairs(train, 3, 40, 90)
    scores = torch.arange(9, dtype=torch.float64).reshape(3, 3) / 4
    shares = torch.from_numpy(train.col_counts[j] / len(train))
    by_hand = torch.nn.functional.cross_entropy(scores - torch.log(shares), torch.arange(3))
    assert films.batch_loss("logq", scores, train, *counts(train, i, j)) == pytest.approx(float(by_hand))
    assert films.batch_loss("softmax", scores, train, *counts(train, i, j)) != pytest.approx(float(by_hand))


def test_adding_log_popularity_multiplies_exponentials_by_the_counts(train: Interactions) -> None:
    rng = np.random.default_rng(1)
    users, items = rng.normal(size=(40, 3)), rng.normal(size=(12, 3))
    more_users, more_items = films.plus_log_popularity(users, items, train)
    assert np.allclose(np.exp(more_users @ more_items.T), np.exp(users @ items.T) * train.col_counts)


def test_lists_count_hits_fans_and_different_films() -> None:
    """Two people have seen film 0 and one film hidden; the third has seen two films, and four are left to show."""
    seen = Interactions([0, 1, 2, 2], [0, 0, 4, 5], n_users=3, n_items=6)
    hidden = Interactions([0, 1], [1, 5], n_users=3, n_items=6)
    found = films.lists((np.ones((3, 1)), np.arange(6.0)[:, None]), seen, hidden)
    assert (found.precision, found.films) == (pytest.approx(20), 6)
    assert found.fans == np.median([1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 2])


def test_the_most_popular_film_comes_first_for_those_who_have_not_seen_it(train: Interactions) -> None:
    shown = films.best(films.most_popular(train), train)
    newcomers = np.setdiff1d(np.arange(40), train.users[train.items == 0])
    assert len(newcomers) and (shown[newcomers, 0] == 0).all()


def test_training_is_the_same_for_a_seed_and_refuses_what_it_does_not_know(
    train: Interactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(films, "BATCH", 16)
    one, again, other = (films.trained(train, "logq", seed=seed, passes=2)[1] for seed in (0, 0, 1))
    assert np.array_equal(one, again) and not np.array_equal(one, other)
    with pytest.raises(ValueError, match=r"objective.*unbiased, in_batch, softmax, logq"):
        films.trained(train, "bpr", seed=0)
    with pytest.raises(ValueError, match="rate"):
        films.trained(train, "logq", seed=0, rate=0.0)


# ---- the findings of the page's own run


def runs(**shifts: float) -> list[dict[str, Lists]]:
    """Three seeds in which every objective is at 5 %, 100 fans, 50 films, but for a shift of P@5 and of the fans."""
    names = ("unbiased", "in_batch", "softmax", "logq", "most popular")
    served = ("in_batch, plus log popularity", "softmax, plus log popularity")
    return [
        {
            name: Lists(5 + 0.01 * seed + shifts.get(name, 0), 100 + seed + 10 * shifts.get(name, 0), 50)
            for name in (*names, *served)
        }
        for seed in range(3)
    ]


CORRECTED = runs(**{"in_batch": -3, "softmax": -3, "logq": 1, "in_batch, plus log popularity": 1})


FINDINGS = [  # in a table where all are alike none holds
    (about.correction_finds_more, (CORRECTED,), (runs(),)),
    (about.correction_raises_popularity, (CORRECTED,), (runs(),)),
    (about.log_popularity_at_serving_helps, (CORRECTED,), (runs(),)),
    (about.some_beat_popularity, (CORRECTED,), (runs(),)),
    (about.no_repair_finds_less_than_half, (CORRECTED,), (runs(),)),
]


def test_beating_popularity_is_claimed_of_one_model_and_counted_for_all() -> None:
    assert about.some_beat_popularity.evidence(CORRECTED).support.startswith("2 of 6 models, 3 seeds each")


def test_a_score_that_rises_with_popularity_is_no_lower_score() -> None:
    ranks = [{"in_batch": -0.5, "popularity": -0.4, "unbiased": 0.3 + 0.01 * seed} for seed in range(3)]
    assert about.popular_pairs_score_lower.evidence(ranks).support.startswith("2 of 3 objectives, 3 seeds each")
    with pytest.raises(FindingError, match="in_batch"):
        about.popular_pairs_score_lower.evidence([{**rank, "in_batch": 0.1} for rank in ranks])


@pytest.mark.pipeline
@pytest.mark.seconds
def test_the_stored_table_of_rates_is_what_training_gives() -> None:
    """One of its twenty cells; float32, so another processor may rank a few films otherwise."""
    found = rates.precision(*make_rates.parts(), "in_batch", 0.3)
    assert found == pytest.approx(rates.stored()["in_batch"][3], abs=0.2)


def test_a_model_at_a_rate_of_the_table_finds_more_than_the_most_popular_films(
    train: Interactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(films, "BATCH", 16)
    part, validation = train.split_random(0.8, np.random.default_rng(0))
    popular = films.lists(films.most_popular(part), part, validation).precision
    assert rates.precision(part, validation, "logq", 0.3) > 1.3 * popular


def test_the_stored_looks_along_the_trainings_are_what_training_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """The looks of twenty passes are those that the page takes; stored are five splits of each objective."""
    split = p3.load_split("movietweetings-10core", 1)
    monkeypatch.setattr(rates, "STOPS", (2, 20))
    looks = rates.along(*split, "logq", 1)
    assert looks[-1] == pytest.approx(films.lists(films.trained(split[0], "logq", seed=1), *split)[::2], abs=1e-4)
    monkeypatch.undo()
    for kind in films.RATES:
        assert rates.stops(kind).shape == (5, len(rates.STOPS), 2)
    apart = np.abs(np.array(looks) - rates.stops("logq")[1][[0, 3]])
    assert (apart <= [0.2, 15]).all()  # another processor, or another torch


def test_the_stored_table_chose_the_rates() -> None:
    stored = rates.stored()
    assert {name: rates.TRIED[np.argmax(found)] for name, found in stored.items()} == films.RATES
    assert list(stored) == list(films.RATES) and {len(found) for found in stored.values()} == {len(rates.TRIED)}


# ==== how far another split may be: the interval that decides whether a printed number of P3 reproduces


def table_6(**splits: list[float]) -> Result:
    """A stored Table 6 whose Pos-Neg-ω has these P@5 at the ratios 1, 2, ..."""
    where = {
        "data": "ml-1m",
        "pointwise": "square",
        "loss": "pos_neg_omega",
        "method": "L-BFGS",
        "serving": "raw",
        "metric": "P@5",
    }
    rows = [
        {**where, "ratio": ratio, "seed": seed, "value": value, "paper": 10.0, "stopped": "gradient norm reached"}
        for ratio, values in enumerate(splits.values(), 1)
        for seed, value in enumerate(values)
    ]
    return Result("P3-T6", "laptop", "table 6", rows)


def test_one_more_split_is_students_prediction_interval() -> None:
    """With one cell of n values it is the interval of the textbooks; SciPy has its quantile."""
    values = [10.0, 11.0, 12.5, 9.0]
    half = stats.t.ppf(0.975, 3) * np.std(values, ddof=1) * np.sqrt(1 + 1 / 4)
    assert findings.one_more_split(table_6(one=values), 4) == pytest.approx(half)


def test_the_spread_is_pooled_over_cells_and_not_over_their_levels() -> None:
    """Two cells with the same spread at different levels: as one cell with twice the degrees of freedom."""
    both = findings.one_more_split(table_6(low=[1.0, 2.0, 3.0], high=[21.0, 22.0, 23.0]), 3)
    assert both == pytest.approx(stats.t.ppf(0.975, 4) * 1.0 * np.sqrt(1 + 1 / 3))


def test_a_run_that_did_not_converge_counts_in_no_comparison() -> None:
    stored = table_6(one=[10.0, 10.1, 10.2])
    stored.rows.append({**stored.rows[0], "ratio": 2, "value": 99.0, "stopped": "ABNORMAL"})
    assert list(findings.table_6_agrees.function(stored)) == ["Pos-Neg-ω, 1"]


def test_a_printed_number_just_above_what_another_split_may_change_is_above_it() -> None:
    """The two smallest ratios of a made-up table, whose printed number is 10: 8 lies far below it, 10 does not."""
    stored = table_6(one=[8.0, 8.1], two=[8.0, 8.2])
    for row in stored.rows:
        row["ratio"] = {1: 1e-4, 2: 1e-5}[row["ratio"]]
    about = findings.small_ratios_stay_below  # alone: the table has no other rows for its family
    found = about.judged(about.cases(stored))
    assert found.support.startswith("both batch ratios, 2 seeds each") and set(found.cases) == {"0.0001", "1e-05"}
    for row in stored.rows:
        row["value"] += 2
    with pytest.raises(FindingError, match="small-ratios-stay-below"):
        about.judged(about.cases(stored))


def open_sets(lead: float) -> Result:
    """P3-X1 of the two sets: In-Batch leads by `lead` at both ratios, give or take a point."""
    rows = [
        {"data": data, "k": 8, "loss": loss, "ratio": ratio, "metric": "P@1", "seed": seed, "value": value}
        for data in findings.OPEN
        for seed, noise in enumerate((-1.0, 0.0, 1.0))
        for loss, ratio, value in (
            ("unbiased", None, 50.0),
            ("in_batch", 1e-5, 50 + lead + noise),
            ("in_batch", 1e-3, 50 + lead + noise),
        )
    ]
    return Result("P3-X1", "laptop", "reversal", rows)


def test_an_order_is_open_where_no_interval_leaves_zero_out() -> None:
    about = findings.two_sets_stay_open
    found = about.judged(about.cases(open_sets(0.5)))
    assert found.support == "undecided in all 4 pairs of data set and batch ratio, 3 seeds each: +0.5"
    with pytest.raises(FindingError, match="two-sets-stay-open: is called undecided, but"):
        about.judged(about.cases(open_sets(50.0)))


# ==== the figures of the chapter on in-batch sampling draw what they are given

LABELS = [[0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 1], [1, 0, 0, 1]]


CELLS = [
    {"loss": loss, "ratio": ratio, "value": value, "metric": "P@5"}
    for loss, ratio, value in [
        ("unbiased", 1e-3, 17.0),
        ("unbiased", 1e-3, 18.0),
        ("unbiased", 1e-1, 18.5),
        ("in_batch", 1e-3, 0.5),
        ("popularity", None, 0.3),
    ]
]


FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "sampling_strategies": lambda: plots.sampling_strategies(
        LABELS, naive=[(0, 0), (1, 2), (2, 2), (3, 1)], cross=([0, 2], [1, 3]), in_batch=[(1, 1), (1, 3), (3, 0)]
    ),
    "misclassification_threshold": lambda: plots.misclassification_threshold(1000, popularity=[2, 5, 40]),
    "variance_curve": lambda: plots.variance_curve([2, 3, 4], {"unbiased": [4.0, 1.0, 0.0], "masked": [1.0, 0.5, 0.0]}),
    "metric_against_ratio": lambda: plots.metric_against_ratio(CELLS, paper=CELLS[:1], title="ML-1M"),
    "popularity_profile": lambda: plots.popularity_profile(
        np.arange(1, 101), {"in_batch": np.arange(100)}, label="score"
    ),
    "quality_and_popularity": lambda: plots.quality_and_popularity(
        {"naive": 1.5, "in-batch": 0.4}, {"naive": np.arange(1, 102), "in-batch": [[1, 2], [3, 4]]}
    ),
    "lead_against": lambda: plots.lead_against(
        {"made": [100, 100], "films": [20, 22]},
        {"made": [60, 62], "films": [-5, -7]},
        joined=["made"],
        xlabel="kept",
        ylabel="lead",
    ),
    "along_the_way": lambda: plots.along_the_way(
        {name: {"Unbiased": (np.array([1, 10, 100]), np.array([[1, 9, 4], [2, 8, 5]]))} for name in ("A", "B")},
        printed={"Unbiased": 8.5},
    ),
    "after_passes": lambda: plots.after_passes(
        (2, 20), {"Unbiased": np.array([[[1, 20], [4, 30]], [[2, 22], [5, 40]]])}, (3.0, 25.0)
    ),
}


def line(ax: Any, label: str) -> tuple[np.ndarray, np.ndarray]:
    """x and y of the one line (or error bar) with this label."""
    handles, labels = ax.get_legend_handles_labels()
    (handle,) = [handle for handle, known in zip(handles, labels, strict=True) if known == label]
    return tuple(np.asarray(values, dtype=float) for values in getattr(handle, "lines", [handle])[0].get_data())


def texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_fig2_marks_the_positives_that_the_batch_mistakes() -> None:
    """P3, Section 3.3.1: (R2, C2), (R2, C4) and (R4, C4), and no other."""
    _, axes = FIGURES["sampling_strategies"]()
    crosses = [sum("✕" in text for text in texts(ax)) for ax in axes.ravel()]
    assert crosses == [0, 0, 0, 0, 0, 3]
    hatched = [patch for patch in axes[1, 2].patches if patch.get_hatch()]
    assert sorted((p.get_y() + 0.45, p.get_x() + 0.45) for p in hatched) == [(0, 1), (1, 0), (2, 1)]
    assert [tick.get_text() for tick in axes[1, 2].get_xticklabels()] == ["C2", "C4", "C1"]
    assert [tick.get_text() for tick in axes[1, 2].get_yticklabels()] == ["R2", "R2", "R4"]


test_nonsense_is_named = refused(
    (
        lambda: plots.sampling_strategies(LABELS, naive=[], cross=([], []), in_batch=[(0, 0)]),
        r"in_batch holds \(0, 0\), which is no positive",
    ),
    (
        lambda: plots.variance_curve([2, 3], {"masked": [4.0, -1.0]}),
        r"variances\['masked'\] has shape \(2,\), minimum -1.0; expected 2 values >= 0",
    ),
    (lambda: plots.metric_against_ratio(CELLS, metric="R@5"), "no value of metric 'R@5'"),
    (
        lambda: plots.quality_and_popularity({"a": 1.0}, {"b": [1]}),
        r"quality names \['a'\] but recommended names \['b'\]",
    ),
    (
        lambda: plots.popularity_profile([1, 2, 3], {"a": [1, 2]}, label="score"),
        r"curves\['a'\] has shape \(2,\); expected \(3,\)",
    ),
    (lambda: plots.popularity_profile([0, 2], {"a": [1, 2]}, label="score"), "values above 0"),
    (
        lambda: plots.lead_against({"a": [1]}, {"b": [1]}, xlabel="", ylabel=""),
        "expected the same sets in one order",
    ),
)


def test_threshold_is_the_one_of_in_batch() -> None:
    _, ax = plots.misclassification_threshold(1000, popularity=np.arange(1, 101), quantiles=(0.5,))
    sizes, threshold = line(ax, "threshold 1 + (|O| − 1)/(|Ô| − 1)")
    assert (sizes[0], sizes[-1]) == (2, 1000)
    np.testing.assert_allclose(threshold, 1 + 999 / (sizes - 1))
    assert "50% of positive pairs below" in texts(ax) and 50.5 in [one.get_ydata()[0] for one in ax.lines]


def test_variance_curve_draws_standard_deviations() -> None:
    _, ax = FIGURES["variance_curve"]()
    np.testing.assert_allclose(line(ax, "Unbiased")[1], [2, 1, np.nan])


def test_metric_against_ratio_averages_seeds_and_keeps_the_paper_hollow() -> None:
    _, ax = FIGURES["metric_against_ratio"]()
    ratios, values = line(ax, "Unbiased")
    np.testing.assert_allclose([ratios, values], [[1e-3, 1e-1], [17.5, 18.5]])
    (bars,) = [c for c in ax.containers if c.get_label() == "Unbiased"]
    low, high = bars.lines[2][0].get_segments()[0][:, 1]
    assert (low, high) == (17.0, 18.0)
    (paper,) = [c for c in ax.containers if c.get_label() == "Unbiased, paper"]
    assert paper.lines[0].get_markerfacecolor() == "white" and bars.lines[0].get_markerfacecolor() != "white"
    np.testing.assert_allclose(line(ax, "Popularity")[1], 0.3)  # no ratio: a level
    assert -1 < ax.get_ylim()[0] <= 0  # differences are seen against zero


def test_quality_and_popularity_puts_bars_beside_boxes() -> None:
    _, (left, right) = FIGURES["quality_and_popularity"]()
    assert [bar.get_width() for bar in left.patches] == [1.5, 0.4] and texts(left) == ["1.50", "0.40"]
    medians = [one.get_xdata()[0] for one in right.lines if one.get_color() == house.PUSH]
    assert medians == [51, 2.5]
    whiskers = [one.get_xdata() for one in right.lines if len(set(one.get_ydata())) == 1 and len(one.get_xdata()) == 2]
    assert any(np.allclose(sorted(ends), [6, 26]) for ends in whiskers)  # from the 5 % to the 25 % quantile of 1 to 101


def test_popularity_profile_averages_within_bins() -> None:
    popularity = np.repeat([1, 10, 100], 40)
    _, ax = plots.popularity_profile(popularity, {"in_batch": np.repeat([3.0, 2.0, 1.0], 40)}, label="score", bins=6)
    x, y = line(ax, "In-Batch")
    assert y.tolist() == sorted(y, reverse=True) and y[0] > 2.9 and y[-1] < 2 and x[0] == pytest.approx(1)
    _, ax = plots.popularity_profile(np.arange(1, 7), {"in_batch": np.arange(1.0, 7.0)}, label="score", bins=3)
    assert line(ax, "In-Batch")[1].tolist() == [1.5, 3.5, 5.5]


def test_a_lead_is_drawn_with_its_interval_and_its_name() -> None:
    _, ax = FIGURES["lead_against"]()
    made, films = ax.containers
    for point, at in ((made, (100, 61)), (films, (21, -6))):
        np.testing.assert_allclose(np.array(point.lines[0].get_data(), dtype=float).ravel(), at)
    low, high = films.lines[2][1].get_segments()[0][:, 1]
    assert high - low == pytest.approx(2 * 12.706, rel=1e-3) and texts(ax) == ["made", "films"]  # t of two seeds


# ==== the quiz on in-batch sampling: course_lib decides its answers, and its numbers are right

WRONG_FORMULAS = [
    (
        in_batch,
        "expected_weights",
        lambda right: lambda *a, **k: tuple(w * 2 for w in right(*a, **k)),
        "coefficient",
        "",
    ),
    (in_batch, "misclassification_threshold", lambda right: lambda s, m: -right(s, m), "bigger-batch", ""),
    (in_batch, "pair_popularity", lambda right: lambda r, c: 1 / right(r, c), "serving", ""),
]


def test_the_numbers_in_the_explanations() -> None:
    threshold = in_batch.misclassification_threshold
    assert [round(threshold(s, 10001)) for s in (32, 1024, 101, 51, 1001)] == [324, 11, 101, 201, 11]


# ---- the formulas of the exercises' solutions, by enumeration


@pytest.mark.parametrize(("labels", "size"), list(labelled_cases()))
def test_the_share_of_false_negatives(labels: np.ndarray, size: int) -> None:
    """ex-false-negatives: sum over O of (pop - 1) / (M (M - 1)), for every batch size, by enumeration."""
    shares = []
    for batch in batches(labels, size):
        rows, cols = zip(*batch, strict=True)
        grid = labels[np.ix_(rows, cols)]
        shares.append(Fraction(int(grid.sum()) - size, size * (size - 1)))
    pop = in_batch.pair_popularity(labels.sum(1), labels.sum(0))
    n_positives = int(labels.sum())
    assert sum(shares) / len(shares) == Fraction(int((labels * (pop - 1)).sum()), n_positives * (n_positives - 1))


@pytest.mark.parametrize("labels", [labels for labels in SMALL_LABELS if labels.sum() <= 6])
def test_a_coin_for_every_pair(labels: np.ndarray) -> None:
    """ex-poisson: q in the place of s/M and of rho, over all 2^M batches and every cell;
    and (17) stays unbiased with it.
    """
    q, pairs = Fraction(2, 5), positives(labels)
    pop = in_batch.pair_popularity(exact(labels.sum(1)), exact(labels.sum(0)))
    grid, own = exact(labels * 0), exact(labels * 0)
    for taken in itertools.product([0, 1], repeat=len(pairs)):
        chance = q ** sum(taken) * (1 - q) ** (len(pairs) - sum(taken))
        batch = [pair for pair, one in zip(pairs, taken, strict=True) if one]
        for (i, _), (_, j) in itertools.product(batch, repeat=2):
            grid[i, j] += chance
        for pair in batch:
            own[pair] += chance
    assert (grid == q * ((1 - q) * exact(labels) + q * pop)).all()
    negative = (grid / pop / q - own * ((1 - q) / q / pop + 1)) / q  # (17): a = 1/q in units of 1/(mn), rho = q
    assert (negative == 1 - exact(labels)).all()


@pytest.mark.parametrize("old", [1, 2, 3, 4])
def test_stale_counts(old: int) -> None:
    """ex-stale-counts: negatives weigh pop/pop', liked pairs pop/pop' - 1; the masked loss has no weight below zero."""
    labels = SMALL_LABELS[5]
    rows, cols = exact(labels.sum(1)), exact(labels.sum(0))
    stale = cols.copy()
    stale[0] = Fraction(old)
    ratio = in_batch.pair_popularity(rows, cols) / in_batch.pair_popularity(rows, stale)
    y, total = exact(labels), {"unbiased": exact(labels * 0), "masked": exact(labels * 0)}
    drawn = batches(labels, 3)
    for batch, kind in itertools.product(drawn, total):
        i, j = (list(side) for side in zip(*batch, strict=True))
        _, push = in_batch.batch_weights(
            kind,
            row_counts=rows[i],
            col_counts=stale[j],
            n_positives=int(labels.sum()),
            shape=labels.shape,
            labels=y[np.ix_(i, j)] if kind == "masked" else None,
        )
        np.add.at(total[kind], np.ix_(i, j), push)
    mean = {kind: weights * labels.size / len(drawn) for kind, weights in total.items()}
    assert (mean["unbiased"] == ratio - y).all()
    assert (mean["masked"] == (1 - y) * ratio).all()


def test_one_walk_through_the_data() -> None:
    """ex-epoch: at the fit, batches that share an epoch are worse than independent ones, by exactly 12/7;
    elsewhere better.
    """
    labels = np.array([[1, 1, 0], [0, 1, 1]])
    y = exact(labels)

    def ratio(scores: np.ndarray) -> Fraction:
        pos_loss, neg_loss = losses.pair_losses("square", scores)
        case = {"pos_loss": pos_loss, "neg_loss": neg_loss, "labels": y, "batch_size": 2}
        values = in_batch.enumerate_batch_losses("unbiased", **case)
        drawn = batches(labels, 2)
        assert all(set(a) | set(b) == set(positives(labels)) for a, b in zip(drawn, drawn[::-1], strict=True))
        mean, single = in_batch.exact_moments("unbiased", **case)
        pairs = [(a + b) / 2 for a, b in zip(values, values[::-1], strict=True)]
        assert sum(pairs) / len(pairs) == mean
        return sum((value - mean) ** 2 for value in pairs) / len(pairs) / (single / 2)

    assert ratio(y) == Fraction(12, 7)
    assert ratio((exact(np.indices(labels.shape)[0]) + 2 * exact(np.indices(labels.shape)[1])) / 7) < Fraction(1, 4)


def test_a_small_batch_can_imitate_a_large_one() -> None:
    """ex-bigger-batches: negatives times rho(large)/rho(small) give the small batch the expectation of the large
    one.
    """
    labels = exact(SMALL_LABELS[5])
    n_positives = int(labels.sum())
    (pull, small), (_, large) = (in_batch.expected_weights("in_batch", labels=labels, batch_size=s) for s in (2, 5))
    factor = in_batch.balance(Fraction(5), n_positives) / in_batch.balance(Fraction(2), n_positives)
    assert (small * factor == large).all() and (pull * labels.size == labels).all()

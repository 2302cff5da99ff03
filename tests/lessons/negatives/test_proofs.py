"""Wrong formulas leave a residual, the statements hold on random tables, and the chapter's numbers are those stored."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from course_lib import experiments, losses
from course_lib.experiments.core.results import Result
from course_lib.experiments.practice import negatives
from course_lib.experiments.practice.negatives import PREDICTIONS
from course_lib.experiments.practice.negatives_verdicts import verdicts
from course_lib.lessons.negatives import broken, make_ten_films, plots, proofs, quiz
from course_lib.lessons.negatives import findings as about
from course_lib.lessons.negatives.ten_films import TEMPERATURES, WEIGHTS, TenFilms
from course_lib.losses import floors
from tests.lessons.every import printed
from tests.refused import refused


def test_other_scores_are_no_optimum() -> None:
    """log p, log q and log p - 2 log q leave a slope that log p - log q does not have."""
    p, q = proofs.law(5, 2, 1), proofs.law(1, 1, 4)
    right = [a / b for a, b in zip(p, q, strict=True)]
    assert not any(proofs.slot_gradient(p, q, right, 2))
    for wrong in (p, q, [a / b**2 for a, b in zip(p, q, strict=True)]):
        assert any(proofs.slot_gradient(p, q, wrong, 2))


def test_the_slope_is_that_of_the_loss() -> None:
    """By autograd, over all sets of two candidates."""
    p, q = proofs.law(5, 2, 1), proofs.law(1, 1, 4)
    s = torch.tensor([0.3, -1.0, 0.2], dtype=torch.float64, requires_grad=True)
    loss = sum(
        float(p[y] * q[a] * q[b]) * (torch.logsumexp(s[[y, a, b]], 0) - s[y])
        for y in range(3)
        for a in range(3)
        for b in range(3)
    )
    (slope,) = torch.autograd.grad(loss, s)
    weights = [Fraction(value) for value in s.detach().exp().tolist()]
    assert np.allclose(slope.numpy(), [float(value) for value in proofs.slot_gradient(p, q, weights, 2)], atol=1e-12)


def test_no_table_is_below_the_floor_and_the_simplex_is_on_it() -> None:
    rng = np.random.default_rng(0)

    def loss(u: np.ndarray, v: np.ndarray, tau: float) -> float:
        logits = u @ v.T / tau
        return float(np.mean(np.logaddexp.reduce(logits, axis=1) - np.diag(logits)))

    slack = []
    for _ in range(500):
        n, d, tau = int(rng.integers(2, 9)), int(rng.integers(1, 6)), float(rng.uniform(0.05, 2))
        u = rng.normal(size=(n, d))
        v = u + rng.uniform(0, 1) * rng.normal(size=(n, d))
        u, v = (table / np.linalg.norm(table, axis=1, keepdims=True) for table in (u, v))
        slack.append(loss(u, v, tau) - floors.loss_floor(n, tau))
    assert -1e-12 < min(slack) < 0.05
    for n in (2, 5, 9):
        corners = np.eye(n) - 1 / n
        corners /= np.linalg.norm(corners, axis=1, keepdims=True)
        assert loss(corners, corners, 0.3) == pytest.approx(floors.loss_floor(n, 0.3), abs=1e-12)


def test_the_inverse_of_the_floor() -> None:
    for n in (3, 682, 10**6):
        for p in (0.5, 0.9):
            assert floors.most_probable(n, floors.largest_tau(n, p)) == pytest.approx(p)


test_nonsense_is_named = refused(  # what no temperature reaches
    (lambda: floors.loss_floor(5, 0.0), "tau"),
    (lambda: floors.largest_tau(10, 0.1), "probability is 0.1; expected more than 1/n = 0.1"),
    (lambda: floors.largest_tau(10, 1.0), "probability"),
)


def test_no_people_have_more_than_the_budget_and_some_have_all_of_it() -> None:
    rng, tau = np.random.default_rng(0), 0.3

    def used(people: np.ndarray, v: np.ndarray, w: np.ndarray) -> float:
        """Mean squared and variance, as a share of 4 / τ²."""
        gaps = people @ (v - w) / tau
        return float((gaps.mean() ** 2 + gaps.var()) / (4 / tau**2))

    tables = (rng.normal(size=(int(rng.integers(4, 9)), int(rng.integers(1, 6)))) for _ in range(500))
    rows = [table / np.linalg.norm(table, axis=1, keepdims=True) for table in tables]
    shares = [used(table[2:], table[0], table[1]) for table in rows]
    assert min(shares) >= 0 and 0.9 < max(shares) <= 1 + 1e-12
    v = np.array([0.6, 0.8])
    assert used(np.array([v, v, -v]), v, -v) == pytest.approx(1)


def test_windows_give_no_taste_and_shuffled_batches_do() -> None:
    assert broken.shuffled_optimum(0) == [Fraction(8, 5), Fraction(2, 5), 1, 1]
    assert broken.shuffled_optimum(1) == [Fraction(2, 5), Fraction(8, 5), 1, 1]


def error_of_the_mean_gradient(p: np.ndarray, q: np.ndarray, scores: np.ndarray, m: int, *, refined: bool) -> float:
    """The expected gradient over all candidates minus that of the full softmax, absolute values added up.

    logQ draws its candidates from q, the refined correction from q without the positive.
    """
    n = len(p)
    mean = p - np.exp(scores) / np.exp(scores).sum()
    for y in range(n):
        law = q * (np.arange(n) != y) / (1 - q[y]) if refined else q
        for drawn in map(list, itertools.product(range(n), repeat=m)):
            chance = p[y] * np.prod(law[drawn])
            if not chance:
                continue
            if refined:
                terms = np.exp(scores[drawn]) / law[drawn]
                weight = terms.mean() / (terms.mean() + np.exp(scores[y]))
                np.add.at(mean, drawn, chance * weight * terms / terms.sum())
            else:
                terms = np.exp(scores[[y, *drawn]]) / q[[y, *drawn]]
                np.add.at(mean, [y, *drawn], chance * terms / terms.sum())
                weight = 1.0
            mean[y] -= chance * weight
    return float(np.abs(mean).sum())


def test_enumerated_the_refined_correction_is_less_biased_than_logq_on_most_tables() -> None:
    for m in (1, 2, 4):
        errors = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            table = rng.dirichlet(np.ones(4)), rng.dirichlet(2 * np.ones(4)), rng.normal(size=4)
            errors.append([error_of_the_mean_gradient(*table, m, refined=refined) for refined in (False, True)])
        logq, refined = np.array(errors).T
        assert refined.mean() < 0.8 * logq.mean() and 14 <= (refined < logq).sum() < 20


# ==== the findings of the chapter on rows whose answer is known, and on the stored result


def rows_of(with_hits: float, alone: float, change: float, films: tuple[float, float]) -> Result:
    """Two losses at τ 0.5 on both data sets, plain and logQ, with these differences and films shown."""
    rows: list[dict[str, Any]] = []
    for data in about.SETS.values():
        for loss, shown in zip(("plain", "logQ"), films, strict=True):
            where = {"data": data, "loss": loss, "tau": 0.5}
            for serving, value in (("alone", alone), ("with hits", with_hits)):
                more = {"half": 0.005, "people": 800}
                rows.append({**where, "serving": serving, "metric": "minus the list", "value": value, **more})
                rows += [
                    {**where, "serving": serving, "metric": "films shown", "value": shown + seed, "seed": seed}
                    for seed in (0, 1)
                ]
            if loss == "logQ":
                found = {"metric": "minus plain", "value": change, "half": 0.002, "people": 800}
                rows.append({**where, "serving": "with hits", **found})
    return Result("PRACTICE-2", "laptop", "", rows)


GOOD, BAD = rows_of(0.02, -0.1, 0.003, (100, 20)), rows_of(-0.02, 0.1, 0.03, (30, 20))


TRIED = (
    about.no_model_alone_reaches_the_hits,
    about.with_hits_a_model_beats_the_list,
    about.plain_shows_twice_as_many_films,
    about.losses_agree_with_hits,
)


def popularity_rows(held: list[float], behind: float, more: float) -> Result:
    """PRACTICE-6: what the scores hold at four temperatures, the difference to plain and what a weight adds."""
    rows: list[dict[str, Any]] = []
    for data, (tau, slope), loss in itertools.product(
        about.FIVE_CORE.values(), zip(about.TAUS, held, strict=True), (about.LOGQ, about.NUMBER)
    ):
        where = {"data": data, "tau": tau, "loss": loss}
        for metric, value in {"minus plain": behind, "minus theory": more}.items():
            half = {"value": value, "half": 0.002, "people": 800}
            rows += [{**where, "metric": metric, "weighted": which, **half} for which in ("chosen", "in theory")]
        rows += [{**where, "metric": "held", "value": slope + 0.001 * seed * tau, "seed": seed} for seed in range(3)]
    return Result("PRACTICE-6", "laptop", "", rows)


ALL_HELD, LITTLE_HELD = (popularity_rows(held, -0.005, 0.02) for held in ([1.2, 1.1, 1.0, 0.9], [0.2] * 4))
FAR_BELOW = popularity_rows([0.2] * 4, -0.05, -0.001)
FINDINGS = [
    *((replace(found, claimed=None), (GOOD,), (BAD,)) for found in TRIED),  # the page claims more settings
    (about.logq_holds_less_at_a_higher_temperature, (ALL_HELD,), (LITTLE_HELD,)),
    (about.a_number_for_each_film_holds_it, (ALL_HELD,), (LITTLE_HELD,)),
    (about.a_learned_number_finds_what_counts_find, (ALL_HELD,), (FAR_BELOW,)),
    (about.a_weight_helps_logq, (ALL_HELD,), (FAR_BELOW,)),
]


def test_the_verdicts_are_those_of_the_page() -> None:
    held = {name: holds for name, (_, holds) in verdicts(experiments.load_result("PRACTICE-2", "laptop")).items()}
    assert list(held) == list(PREDICTIONS) and held == HELD


HELD = {name: name != "films" for name in PREDICTIONS}  # on ML-1M plain shows fewer films than logQ


# ==== the figure of the chapter

TAUS = [0.1, 0.2, 0.5, 1.0]
LINES = {
    "plain, alone": (TAUS, [3, 5, 7, 8], [680, 679, 675, 600]),
    "logQ, alone": (TAUS, [9, 13, 15, 15], [500, 400, 300, 80]),
}
HELD_AT = {"plain": (TAUS, [0.2, 0.1, 0.0, 0.0]), "logQ": (TAUS, [1.0, 0.8, 0.6, 0.4])}
AT_WEIGHTS = {"plain": ([0, 1, 2], [5, 12, 11]), "logQ": ([0, 1, 2], [11, 12, 11])}
WEIGHTED, LEVELS = dict.fromkeys(("τ 0.1", "τ 1"), AT_WEIGHTS), {"hits": 20.0, "most popular": 12.0}
CHOSEN = {title: {"plain": 1.0, "logQ": 0.0} for title in ("τ 0.1", "τ 1")}
FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "temperature_sweep": lambda: plots.temperature_sweep(LINES, (24.0, 24.0)),
    "popularity_held": lambda: plots.popularity_held(dict.fromkeys(("small", "large"), HELD_AT)),
    "by_weight": lambda: plots.by_weight(WEIGHTED, LEVELS, CHOSEN),
}


def test_both_panels_hold_every_line_and_the_list() -> None:
    _, axes = plots.temperature_sweep(LINES, (24.0, 24.0))
    assert [len(ax.get_lines()) for ax in axes] == [3, 3]
    assert list(axes[1].get_lines()[2].get_ydata()) == [500, 400, 300, 80]


def test_the_marks_stand_at_the_weight_that_was_chosen() -> None:
    _, axes = plots.by_weight(WEIGHTED, LEVELS, CHOSEN)
    marks = [line.get_xydata().tolist() for line in axes[1].get_lines() if len(line.get_xydata()) == 1]
    assert marks == [[[1.0, 12.0]], [[0.0, 11.0]]]


def test_popularity_held_is_drawn_between_what_the_losses_aim_at() -> None:
    _, axes = plots.popularity_held({"small": HELD_AT, "large": HELD_AT})
    levels, lines = axes[0].get_lines()[:2], axes[0].get_lines()[2:]
    assert [line.get_ydata()[0] for line in levels] == [0, 1]
    assert [list(line.get_ydata()) for line in lines] == [shares for _, shares in HELD_AT.values()]


# ==== the quiz of the chapter: its numbers are right, and a wrong formula is noticed

WRONG_FORMULAS = [
    (floors, "loss_floor", lambda right: lambda *given: 0.5 * right(*given), "least-mean-probability", ""),
    (losses, "mixed_log_q", lambda right: lambda *given: 0.5 * right(*given), "share-of-a-mixture", ""),
]


def test_the_numbers_in_the_explanations() -> None:
    assert np.allclose(quiz.LIKED / quiz.DRAWN, [5 / 6, 1, 2])
    assert round(floors.loss_floor(1001, 0.2), 2) == 2.04 and round(1001 / (1000 * 0.2), 3) == 5.005
    assert round(floors.largest_tau(1001, 0.9), 2) == 0.11 and round(np.exp(5.005)) == 149


# ==== the interactive of the chapter: its lists are those of the models, and its words those of its state

SHOWN: dict[str, dict[str, Any]] = {"ten_films": {"weight": 3}}


def test_the_summary_gives_the_stored_numbers() -> None:
    shown = TenFilms(weight=3)
    recall, films = shown.films["everybody"][0][2][3]
    list_recall, _ = shown.films["list"][0]
    words = shown.summary()
    assert f"find {100 * recall:.0f} %" in words and f"show {films} films" in words
    assert f"the list of hits finds {100 * list_recall:.0f} %" in words and words.startswith("On the first day")
    shown.day = 2
    assert shown.summary().startswith("6 days later")


def test_without_hits_every_bar_is_you() -> None:
    assert "100 % is taste" in TenFilms(weight=0).summary()
    assert "100 % is taste" not in TenFilms(weight=1).summary()


def test_the_ten_films_are_those_with_the_highest_sum_and_none_is_known() -> None:
    shown = TenFilms(temperature=1, weight=4, day=1)
    films = shown.films
    score = [
        films["cosines"][1][k] / TEMPERATURES[1] + WEIGHTS[4] * math.log(films["hits"][1][k] + 0.05)
        for k in range(len(films["titles"]))
    ]
    wanted = sorted((k for k in range(len(score)) if k not in films["seen"][1]), key=lambda k: -score[k])[:10]
    picture = shown.picture().replace("&#39;", "'").replace("&amp;", "&")
    places = [picture.index(f">{films['titles'][k]}<") for k in wanted]
    assert places == sorted(places) and picture.count("<li class") == 10


def test_days_move_pairs_from_later_to_known() -> None:
    known, later = make_ten_films.on_day(0)
    told, rest = make_ten_films.on_day(6)
    assert len(told) > len(known) and len(rest) < len(later)
    assert told.times.max() <= make_ten_films.now(6) < rest.times.min()


def test_the_same_in_python_is_python_that_runs() -> None:
    shown = TenFilms(weight=3, day=1)
    said, names = printed(shown.python())
    recall, films = shown.films["everybody"][1][2][3]
    assert names["recall"] == pytest.approx(recall, abs=0.01) and names["shown"] == pytest.approx(films, abs=12)
    assert "films shown" in said


def test_a_batch_of_512_holds_four_films_of_ten() -> None:
    """As the card on negatives says of the films of the page."""
    train = negatives.windows("movietweetings-10core")[1].train
    order = np.random.default_rng(0).permutation(len(train))
    batches = [train.items[order[start : start + 512]] for start in range(0, len(train) - 512, 512)]
    assert 0.35 < np.mean([len(np.unique(batch)) for batch in batches]) / train.n_items < 0.45

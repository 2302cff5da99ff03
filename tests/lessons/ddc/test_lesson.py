"""The chapter on DDC: its proofs, what its pages measure on the films, its findings, figures and quiz."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from matplotlib.figure import Figure

from course_lib import correction, datasets, losses
from course_lib.debiasing import ddc
from course_lib.lessons.ddc import broken as broken_ddc
from course_lib.lessons.ddc import films, findings, plots, proofs, quiz
from course_lib.lessons.shared.findings import FindingError
from course_lib.popularity import popularity_direction
from course_lib.training import recommenders
from course_lib.training.bpr import bpr_epoch
from tests.lessons.every import explanation

# ---- the formulas of the proofs are those of the library


def one_user(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(s, a, t, b) of two positives and two negatives, with both signs in a and in b."""
    rng = np.random.default_rng(seed)
    s, t = rng.normal(size=(2, 2))
    return s, np.array([1.0, -1.0]) * rng.uniform(0.2, 2, 2), t, np.array([1.0, -1.0]) * rng.uniform(0.2, 2, 2)


def numbers(expression: sp.Expr, user: tuple[np.ndarray, ...], alpha: float, beta: float) -> float:
    s, a, t, b = user
    named = zip((proofs.s, proofs.a, proofs.t, proofs.b), (s, a, t, b), strict=True)
    values = {symbol: value for symbols, row in named for symbol, value in zip(symbols, row, strict=True)}
    return float(expression.subs(values | {proofs.alpha: alpha, proofs.beta: beta}))


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_and_its_slopes_are_those_that_are_proved(seed: int) -> None:
    s, a, t, b = user = one_user(seed)
    at = (0.3, -0.7)
    loss = proofs.loss(proofs.ddc_margin(i, j) for i, j in proofs.PAIRS)
    assert ddc.user_loss(s, t, a, b, *at) == pytest.approx(numbers(loss, user, *at), rel=1e-12)
    slopes = [numbers(loss.diff(scalar), user, *at) for scalar in (proofs.alpha, proofs.beta)]
    assert correction.user_gradient(s, t, a, b, *at) == pytest.approx(slopes, rel=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_levelling_is_the_optimum_of_the_library(seed: int) -> None:
    s, _, t, _ = one_user(seed)
    c, d = 1.5, 0.5
    level = ((t[1] - t[0]) / (2 * d), (s[1] - s[0]) / (2 * c))
    assert ddc.solve_user(s, t, [c, -c], [d, -d]) == pytest.approx(level, abs=1e-6)


def test_the_rules_are_those_of_the_library() -> None:
    assert set(proofs.RULES) == set(correction.RULES) and len(proofs.RULES) == 9


P = proofs
WRONG = [
    # min <= 0 <= max is not enough: a zero among the a_i does not stop beta
    (P, "changes_sign", lambda f: lambda values: min(values) <= 0 <= max(values), [P.enumerate_ddc_minimiser]),
    # sigmoid(x) in place of sigmoid(-x)
    (P, "weight", lambda f: lambda x: 1 / (1 + sp.exp(-x)), [P.prop_sign_of_alpha, P.prop_beta_gradient]),
    (P, "weight", lambda f: lambda x: 1 / (1 + sp.exp(x)) ** 2, [P.thm_ddc_minimiser]),
    (P, "weight", lambda f: lambda x: sp.exp(-x) / 2, [P.thm_objective_not_embedding]),
    # (14) in place of (13): the free margin and the surrogate are statements about (13)
    (P, "ddc_margin", lambda f: P.final_margin, [P.prop_free_margin, P.prop_surrogate]),
]


# ---- counterexamples


def test_six_times_the_margins_leave_less_than_a_hundredth_of_the_loss() -> None:
    user = broken_ddc.TURNED
    margins = [float(s - t) for s in user.positives @ user.vector for t in user.negatives @ user.vector]
    once, six_times = (np.log1p(np.exp(-times * np.array(margins))).mean() for times in (1, 6))
    assert broken_ddc.scaled_margins().actual == 0 and min(margins) > 0
    assert six_times < 0.01 * once and once == pytest.approx(0.0906, abs=5e-5)


# ---- the exercise in words


@pytest.mark.seconds
def test_the_controls_that_the_exercise_names() -> None:
    """ex-design: on the films one c for everyone gains no less than DDC, and moving the origin makes the lists more
    popular, and more accurate.
    """
    films = datasets.load("movietweetings", core=10)
    train, valid, test = recommenders.split_811(films, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    users, items = (rng.normal(scale=0.1, size=(rows, 32)) for rows in train.shape)
    for _ in range(60):
        bpr_epoch(users, items, train, lr=0.05, decay=0.003, rng=rng)

    def measured(left: np.ndarray) -> tuple[float, float]:
        found = recommenders.measure((left, items), train, test, seen=valid)
        return found["mrr"], found["avgpop"]

    def served(shift: float) -> tuple[float, float]:
        pop = popularity_direction(items, train.col_counts)
        model = ddc.DDC(users, items + shift * (items @ pop).std() * pop, train)
        model.solve(3, ridge=1e-3, rng=np.random.default_rng(1))
        return measured(model.final_users().detach().numpy())

    plain, at = measured(users), {shift: served(shift) for shift in (-2, 0, 2)}
    one = measured(users + 2 * ddc.preference_directions(users, items, train))
    assert one[0] > plain[0] and one[0] > at[0][0] - 0.005
    assert at[-2][1] > plain[1] and at[-2][1] > 1.1 * at[2][1]
    assert at[-2][0] > plain[0]  # more popular lists and more accurate ones: not "by" removing popularity


# ==== what the pages measure on the films: checkpoints, changes in percent, losses of triples


def test_a_checkpoint_is_the_model_of_so_many_passes() -> None:
    """Training on changes what comes later, and not what was kept."""
    kept = list(films.checkpoints(0.01, [1, 2], seed=3))
    for passes, tables in zip((1, 2), kept, strict=True):
        for ours, theirs in zip(tables, films.factorise(0.01, passes=passes, seed=3), strict=True):
            assert np.array_equal(ours, theirs)
    assert not np.array_equal(kept[0][0], kept[1][0])


def test_a_change_is_in_percent_of_the_mean_before() -> None:
    rng = np.random.default_rng(0)
    before, after = rng.uniform(1, 2, size=(2, 400))
    found = films.change(after, before)
    assert found.percent == pytest.approx(100 * (after.mean() / before.mean() - 1))
    halves = [films.change(np.tile(after, n), np.tile(before, n)).half for n in (1, 4)]
    assert halves[0] == pytest.approx(2 * halves[1], rel=0.01)  # four times as many people, half the interval


def test_the_margin_is_the_score_of_the_own_film_minus_that_of_the_other() -> None:
    users, items = films.factorise(0.01, passes=1)
    train, (owners, own, others) = films.parts()[0], films.triples()
    at = [0, 1, 500, len(owners) - 1]
    found = films.margins(users, items)
    assert found[at] == pytest.approx([users[owners[k]] @ (items[own[k]] - items[others[k]]) for k in at])
    have = set(zip(train.users.tolist(), train.items.tolist(), strict=True))
    assert all((owners[k], own[k]) in have and (owners[k], others[k]) not in have for k in at)
    assert films.bpr_loss(np.zeros(5)) == pytest.approx(np.log(2))


def test_without_scalars_ddc_has_the_loss_and_the_lists_of_the_model() -> None:
    users, items = films.factorise(0.01, passes=1)
    model = films.DDC(users, items, films.parts()[0])
    assert films.own_loss(model) == pytest.approx(films.bpr_loss(films.margins(users, items)))
    assert np.array_equal(films.lists(*films.served(model)).ranks, films.lists(users, items).ranks)
    assert films.share_below_zero(model) == 0


def test_lists_show_nothing_that_a_person_has() -> None:
    """The popularity of a list is that of films which are in neither of the two parts that are known."""
    users, items = films.factorise(0.01, passes=1)
    train, valid, test = films.parts()
    person = int(np.unique(test.users)[0])
    scores = items @ users[person]
    scores[np.concatenate([train.items_of(person), valid.items_of(person)])] = -np.inf
    ten = np.argsort(-scores)[:10]
    assert films.lists(users, items).popularity[0] == pytest.approx(train.col_counts[ten].mean())


# ---- the findings of the page's own run


def test_one_number_for_each_person_whose_mean_is_the_correlation() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=4000)
    y = 0.6 * x + 0.8 * rng.normal(size=4000)
    each = findings.correlation(x, y)
    assert each.mean() == pytest.approx(np.corrcoef(x, y)[0, 1])
    r = each.mean()
    assert each.std() == pytest.approx(1 - r**2, rel=0.05)  # the variance of r, for normal x and y, is (1 - r^2)^2 / n


def test_the_better_guide_is_found_and_the_worse_one_stops_the_page() -> None:
    rng = np.random.default_rng(2)
    alpha, push = rng.normal(size=(2, 900))
    change = push + 0.5 * rng.normal(size=900)
    shifts = dict.fromkeys(("0", "+1", "+2", "+3"), (alpha, push, change))
    assert findings.lists_follow_the_push.evidence(shifts).support.startswith(
        "all 4 shifts, one seed each, interval over users"
    )
    with pytest.raises(FindingError, match="fails in 0"):
        findings.lists_follow_the_push.evidence({**shifts, "0": (push, alpha, change)})


FINDINGS = [(findings.training_on_makes_the_gain, ([15, 14, 14], [3, 4, 4]), ([5, 3, 4], [4, 5, 3]))]


# ==== the figures of the chapter on DDC

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "decay_and_sign": lambda: plots.decay_and_sign(["a", "b"], {"share": [0.1, 0.9], "change": [-3.0, 4.0]}),
    "differences": lambda: plots.differences(
        {"a": (0.01, 0.002, 3.0, 1.0), "b": (-0.01, 0.002, -3.0, 1.0)}, labels=("MRR", "AvgPop")
    ),
    "frontier": lambda: plots.frontier({"a": ([1, 2], [0.1, 0.2], ["0", ""])}, {"model": (1.5, 0.15)}),
    "loss_and_ranking": lambda: plots.loss_and_ranking(
        {"a": (0.1, 0.12), "b": (0.01, 0.11)}, {1: 0.1, 3: 0.03}, 0.12, marked=["a"]
    ),
    "missing_minimum": lambda: plots.missing_minimum(
        [1, 2], [1.0, 0.5], {"one": ([1, 10], [0.0, 1.0], 1.0), "other": ([1, 10], [0.0, 2.0], None)}
    ),
    "net_push": lambda: plots.net_push(np.linspace(-1, 1, 40), np.linspace(-5, 9, 40), np.linspace(-2, 1, 40)),
    "moved_items": lambda: plots.moved_items(
        [-1, 0, 1], {"own": [50, 20, 2], "served": [80, 80, 90]}, [0, 0.5, 1], {"both": [1.0, 0.0, -9.0]}
    ),
    "losses_after": lambda: plots.losses_after({"MF": {"own": [9.0, 10], "served": [90.0, 95]}}),
    "alone_and_together": lambda: plots.alone_and_together(
        {"MF": (-0.3, {"α": 5.0, "both": 6.0}), "LightGCN": (0.9, {"α": -60.0, "both": -9.0})}
    ),
    "turned_user": lambda: plots.turned_user(
        {"before": [3, 1], "after": [-0.5, 0]}, [[1, 0], [-1, -1]], [[-2, 1], [-2, -1]]
    ),
    "two_users": lambda: plots.two_users([1.5, 1.1], [0.94, -0.34], [0.17, 0.98], alpha=-1.0, beta=1.5),
    "accuracy_and_popularity": lambda: plots.accuracy_and_popularity(
        {"MF": {"DDC": (10.0, 5.0, 3.0, 1.0), "IPS": (-20.0, -9.0, 0.0, 0.0), "new": (-3.0, 1.0, 0.0, 0.0)}}
    ),
    "sign_of_alpha": lambda: plots.sign_of_alpha(
        {
            "MF": {"centroid": [0.2, -0.4], "negative": [0.9, 0.1], "change": [-10.0, 5.0]},
            "moved": {"centroid": [-1.0, 1.0], "negative": [0.0, 1.0], "change": [5.0, -9.0]},
        },
        moved=("moved",),
    ),
}


# ==== the quiz on DDC: verdicts come from course_lib, and so do the numbers in the explanations

WRONG_FORMULAS = [
    (correction, "has_minimiser", lambda f: lambda a, b: not f(a, b), "minimum", "both"),
    (correction, "solve_user", lambda f: lambda s, t, a, b: f(s, t, a, b - b.mean()), "origin", "sign"),
    (losses, "bpr", lambda f: lambda p, n: (p - n).mean() ** 2, "loss-scale", "below"),
    (correction, "user_loss", lambda f: lambda s, t, a, b, x, y: f(s, t, 0 * a, b, x, y), "served", "learned"),
]


def test_the_numbers_in_the_explanations_on_ddc() -> None:
    loss = {margin: float(losses.bpr(np.array([margin]), np.zeros(1))) for margin in (2.0, 6.0, -2.0, -6.0)}
    assert (round(loss[2.0], 3), round(loss[6.0], 4), round(100 * loss[6.0] / loss[2.0])) == (0.127, 0.0025, 2)
    assert "0.127" in explanation("ddc", "loss-scale", "below") and "0.0025" in explanation(
        "ddc", "loss-scale", "below"
    )
    assert (round(loss[-2.0], 2), round(loss[-6.0], 2)) == (2.13, 6.0) and "2.13 to 6.00" in explanation(
        "ddc", "loss-scale", "wrong"
    )
    final = quiz.USER + quiz.BETA * quiz.PREFERENCE
    assert (quiz.POSITIVE @ final).tolist() == [4.5] and (quiz.NEGATIVES @ final).tolist() == [7, 0, 0]
    assert (quiz.NEGATIVES @ quiz.USER).tolist() == [-1, 0, 0] and "−1, 0 and 0" in explanation(
        "ddc", "served", "learned"
    )
    assert pytest.approx(0.25) == quiz.ALPHA + quiz.BETA_GAP * quiz.TILT and "= 0.25" in explanation(
        "ddc", "popularity", "up"
    )

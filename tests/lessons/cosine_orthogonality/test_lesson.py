"""The chapter's proofs, findings, figures and quiz: wrong formulas are found out, the algebra is that of the code."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from matplotlib.quiver import Quiver

from course_lib import datasets, geometry, losses
from course_lib.lessons.cosine_orthogonality import findings as about
from course_lib.lessons.cosine_orthogonality import plots
from course_lib.lessons.cosine_orthogonality import proofs as symbolic
from course_lib.lessons.cosine_orthogonality import quiz as cosine_orthogonality
from course_lib.lessons.shared import plots as shared_plots
from course_lib.lessons.shared.findings import Finding, FindingError
from course_lib.training.free_vectors import Moves, TableRun, train_tables
from tests.refused import refused

# ---- the checks can fail: put a wrong formula in and see them complain

P = symbolic
ABOUT_COSINES = [P.lem_cosine_orthogonality, P.lem_cosine_gradient, P.thm_degree_zero, P.cor_gradient_length]
ABOUT_DOT_PRODUCTS = [*ABOUT_COSINES, P.thm_tangent_gradient, P.cor_pythagoras]


def dot_product(key: str) -> sp.Expr:
    return P.gram("q", key) / sp.sqrt(P.gram(key, key))


def without_the_two(f: sp.Expr, names: list[str]) -> symbolic.Combination:
    """The chain rule, without the factor 2 of the squared length."""
    return P.Combination({**{name: sp.diff(f, P.gram("q", name)) for name in names}, "q": sp.diff(f, P.b)})


def fully_clamped(key: str) -> symbolic.Combination:
    """A clamp that autograd sees."""
    return P.gradient(P.gram("q", key) / (P.eps * sp.sqrt(P.gram(key, key))), [key])


WRONG = [
    (P, "cosine", lambda f: dot_product, ABOUT_DOT_PRODUCTS),
    (P, "cosine", lambda f: lambda key: dot_product(key) / P.b, ABOUT_COSINES),
    (P, "cosine", lambda f: lambda key: P.b - 2 * P.gram("q", key) + P.gram(key, key), ABOUT_COSINES),  # a distance
    (P, "gradient", lambda f: without_the_two, ABOUT_COSINES[:2] + ABOUT_COSINES[3:]),
    (P, "cosine_gradient_as_printed", lambda f: lambda key: sp.Rational(1001, 1000) * f(key), ABOUT_COSINES[1:2]),
    (P, "gradient_of_half_clamped", lambda f: fully_clamped, [P.prop_clamp]),
]


# ---- the scalars of the proofs are those of the code


def values(q: np.ndarray, k: np.ndarray) -> dict[sp.Symbol, float]:
    """The symbols of `gram` for one q (d,) and the rows of k (r, d)."""
    found = {symbolic.b: q @ q}
    for i, left in enumerate(symbolic.keys(len(k))):
        found[symbolic.gram("q", left)] = q @ k[i]
        for j, right in enumerate(symbolic.keys(len(k))):
            found[symbolic.gram(left, right)] = k[i] @ k[j]
    return {symbol: float(x) for symbol, x in found.items()}


@pytest.mark.parametrize("d", [2, 3, 7, 64])
def test_the_symbolic_gradient_is_that_of_the_code(d: int) -> None:
    rng = np.random.default_rng(d)
    q, k = rng.normal(size=d), rng.normal(size=(1, d))
    slope = symbolic.gradient(symbolic.cosine("k1"), ["k1"])
    at = values(q, k)
    vector = float(slope.parts["q"].subs(at)) * q + float(slope.parts["k1"].subs(at)) * k[0]
    np.testing.assert_allclose(vector, geometry.cosine_gradient(q, k[0]), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("InfoNCE", lambda cos, m: losses.infonce(cos, tau=0.3, positives=[0])),
        ("(1 - cos)^2", lambda cos, m: losses.one_minus_cosine_squared(cos[0, 0])),
        ("cosine margin", lambda cos, m: losses.cosine_margin(cos, tau=0.3, margin=m, positives=[0])),
        ("angular margin", lambda cos, m: losses.angular_margin(cos, tau=0.3, margin=m, positives=[0])),
        ("triplet margin, where it is active", lambda cos, m: losses.triplet_margin(cos[0, 0], cos[0, 1], margin=m)),
    ],
)
def test_the_proved_losses_are_those_of_the_code(name: str, loss) -> None:
    rng = np.random.default_rng(3)
    q, k = rng.normal(size=5), rng.normal(size=(3, 5))
    k[0] -= q  # so that the positive loses and the triplet margin is active
    at = {**values(q, k), symbolic.tau: 0.3, sp.Symbol("m", positive=True): 0.2}
    cos = losses.cosine_scores(q[None, :], k)
    assert float(loss(cos, 0.2)) == pytest.approx(float(symbolic.instances()[name].subs(at)), rel=1e-12)


# ==== the chapter's findings on small runs whose answer is known: one that follows the theorem, one that cannot


@pytest.fixture(scope="module")
def runs() -> dict[str, TableRun]:
    films = datasets.load("movietweetings", min_rating=7, core=5)
    return {
        name: train_tables(
            films,
            loss=lambda values: losses.infonce(values, tau=0.1),
            lr=10,
            steps=5,
            scores=scores,
            generator=torch.Generator().manual_seed(0),
        )
        for name, scores in (("cosine", losses.cosine_scores), ("dot", losses.dot_scores))
    }


@pytest.mark.parametrize("found", [about.no_move_shortens, about.pythagoras_adds_up])
def test_what_the_theorem_says_holds_for_the_cosine_and_fails_for_the_dot_product(
    found: Finding, runs: dict[str, TableRun]
) -> None:
    assert found.evidence([runs["cosine"]]).support == "one data set, one seed"
    with pytest.raises(FindingError, match=found.name):
        found.evidence([runs["dot"]])


def test_dot_products_shorten_and_cosines_do_not(runs: dict[str, TableRun]) -> None:
    assert about.dot_moves_shorten.evidence([runs["dot"]])
    with pytest.raises(FindingError, match="dot-moves-shorten"):
        about.dot_moves_shorten.evidence([runs["cosine"]])


def test_the_ratio_of_lengths_compares_the_most_popular_tenth_with_the_rest(runs: dict[str, TableRun]) -> None:
    counts = np.arange(20)[::-1]  # films 0 and 1 are the most popular tenth
    items = torch.ones(20, 1, dtype=torch.float64)
    items[:2] = 3
    run = TableRun(items, items, runs["cosine"].moves, np.zeros(1))
    assert about.length_ratio(run, counts) == pytest.approx(3)
    assert about.popular_films_end_longer.evidence([run], counts).cases["MovieTweetings"].value == pytest.approx(1.75)


# ==== the figures of the chapter on cosine gradients draw what the geometry says

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "angle_paths": lambda: plots.angle_paths(
        {"short": [120.0, 60.0, 20.0], "long": [120.0, 110.0, 101.0]}, label="angle"
    ),
    "clamp_reach": lambda: plots.clamp_reach(
        [0.1, 1.0, 10.0], {"law": [0.6, 0.3, 0.0]}, {"torch": ([0.1, 10.0], [0.6, 0.0])}
    ),
    "gradient_fields": lambda: plots.gradient_fields([0.9, 0.5]),
    "norm_paths": lambda: plots.norm_paths(
        {
            "cosine": Moves(
                *map(np.array, ([0, 1, 0], [1, 1, 2], [1.0, 1.0, 1.2], [1.2, 1.1, 1.3], [1.0] * 3, [0.0] * 3))
            )
        },
        [0, 1],
    ),
    "precision": lambda: plots.precision(
        {"float32": ([1e-3, 1.0], [1e-7, 2e-7]), "float64": ([1e-3, 1.0], [1e-16, 0.0])},
        x_label="x",
        label="y",
        marks={"here": 0.1},
    ),
    "tangent_step": lambda: plots.tangent_step([1.5, 0.2], [0.75, 1.6], lr=2.2),
}


def radii(ax) -> list[float]:
    return sorted(float(patch.radius) for patch in ax.patches if isinstance(patch, Circle))


def arrows(ax) -> np.ndarray:
    """(n, 2, 2): start and end of every arrow."""
    return np.array([(text.xyann, text.xy) for text in ax.texts if getattr(text, "arrow_patch", None)], dtype=float)


def test_the_step_of_the_picture_is_tangent_and_ends_on_the_dashed_circle() -> None:
    q, k = np.array([1.5, 0.2]), np.array([0.75, 1.6])
    _, (left, right) = plots.tangent_step(q, k, lr=2.2)
    assert radii(left) == [1.0]
    before, after = radii(right)
    (step,) = [end - start for start, end in arrows(right) if np.allclose(start, q)]
    np.testing.assert_allclose(step, 2.2 * geometry.cosine_gradient(q, k))
    assert q @ step == pytest.approx(0, abs=1e-12)
    assert (before, after) == pytest.approx((np.linalg.norm(q), np.linalg.norm(q + step)))
    drop = [end - start for start, end in arrows(left) if np.linalg.norm(start) > 1e-9]
    assert np.linalg.norm(drop) == pytest.approx(np.sin(geometry.geodesic(q, k)))


def test_the_left_landscape_is_tangent_and_the_right_one_is_k() -> None:
    k = np.array([0.9, 0.5])
    _, axes = plots.gradient_fields(k)
    fields = [next(c for c in ax.collections if isinstance(c, Quiver)) for ax in axes]
    places = np.stack([fields[0].X, fields[0].Y], axis=1)
    cosines, dots = (np.stack([f.U, f.V], axis=1) for f in fields)
    assert np.abs((places * cosines).sum(axis=1)).max() < 1e-12
    np.testing.assert_allclose(geometry.angle_degrees(dots, k), 0, atol=1e-6)
    lengths = geometry.norm(cosines)
    sines = np.sin(geometry.geodesic(places, k)) / geometry.norm(places)
    np.testing.assert_allclose(lengths / lengths.max(), sines / sines.max(), rtol=1e-9, atol=1e-12)


def test_circles_draw_every_step() -> None:
    path = np.array([[[1.0, 0.0]], [[1.0, 0.5]], [[0.8, 0.9]]])
    _, (ax,) = shared_plots.circles({"one": path})
    np.testing.assert_allclose(arrows(ax), [[path[0, 0], path[1, 0]], [path[1, 0], path[2, 0]]])
    assert [round(patch.width / 2, 6) for patch in ax.patches] == [1.0, round(float(np.hypot(1, 0.5)), 6)]


def test_the_heading_counts_moves() -> None:
    moves = Moves(*map(np.array, ([0, 1, 0], [1, 1, 2], [1.0, 1.0, 1.2], [1.2, 0.9, 1.3], [1.0] * 3, [0.0] * 3)))
    _, (ax,) = plots.norm_paths({"run": moves}, [0, 1])
    assert any("longer 2 times" in text.get_text() and "shorter 1 times" in text.get_text() for text in ax.texts)
    assert sorted(line.get_ydata()[-1] for line in ax.lines) == [0.9, 1.3]


test_nonsense_is_named = refused(
    (lambda: plots.tangent_step([1.0, 0.0, 0.0], [1.0, 1.0], lr=1.0), r"q has shape \(3,\)"),
    (lambda: plots.gradient_fields([1.0]), r"k has shape \(1,\)"),
    (lambda: shared_plots.circles({"flat": np.zeros((3, 2))}), r"'flat' has shape \(3, 2\)"),
    (lambda: plots.tangent_step([0.0, 0.0], [1.0, 1.0], lr=1.0), "zero vector"),
)


# ==== the quiz of the chapter: course_lib decides its answers, and its numbers are right

WRONG_FORMULAS = [
    # a gradient that keeps its part along q
    (geometry, "cosine_gradient", lambda right: lambda q, k: right(q, k) + 0.1 * q, "one-step", ""),
    (geometry, "cosine_gradient", lambda right: lambda q, k: right(q, k) * np.linalg.norm(q), "gradient-length", ""),
    (geometry, "cosine_gradient", lambda right: lambda q, k: 3 * q, "while-training", ""),
    # a cosine that normalises one side only
    (losses, "cosine_scores", lambda right: lambda q, k: q @ geometry.normalise(k).T, "which-losses", ""),
    (losses, "cosine_scores", lambda right: lambda q, k: q @ k.T, "leaves-the-circle", ""),
]


def test_the_numbers_in_the_explanations() -> None:
    assert math.sin(math.radians(30)) / 2 == pytest.approx(0.25) and math.cos(math.radians(30)) / 2 == pytest.approx(
        0.43, abs=0.004
    )
    assert geometry.TORCH_COSINE_EPS == 0.00000001  # "below 0.000 000 01"
    grown = geometry.norm(cosine_orthogonality._train(scale=1, lr=1e-3))
    assert grown[-1] > grown[0] and (np.diff(grown) > 0).all()  # "tiny, but it is there, it has one sign"

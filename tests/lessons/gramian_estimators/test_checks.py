"""The checks of the assignment on Gramians: messages that fit, and the numbers that its solutions quote."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from in_process import functions
from sample_essays import printed, unaccounted

from course_lib import gramians
from course_lib.arrays import exact
from course_lib.lessons.gramian_estimators import broken, checks
from exercises.engine import simulate


def double_sum(U: list, V: list, w: list, z: list, c: Any) -> Any:
    """The definition: every pair, one after another."""
    pairs = ((i, j, sum(a * b for a, b in zip(u, v, strict=True))) for i, u in enumerate(U) for j, v in enumerate(V))
    return sum(w[i] * z[j] * (score - c) ** 2 for i, j, score in pairs)


def in_gramians(batches: list, rates: list) -> list:
    """SOGram from zero, without the correction."""
    return checks._follow([gramians.gramian(exact(batch)) for batch in batches], rates)[0].tolist()


def best_rate(path: list, batches: list, *, power: int = 2, drift: str = "random_walk") -> float:
    steps, errors = np.diff(np.array(path), axis=0), np.array(batches) - np.array(path)
    ratio = np.sqrt((steps**2).sum(axis=(1, 2)).mean() / (errors**2).sum(axis=(1, 2)).mean())
    return gramians.optimal_alpha(float(ratio ** (power / 2)), 1.0, drift)


MESSAGES = [
    ("pairs", lambda U, V, w, z, c: 1.5, "no floats"),
    ("pairs", lambda U, V, w, z, c: double_sum(U, V, w, z, 0), "this is the sum for c = 0"),
    ("pairs", lambda U, V, w, z, c: double_sum(U, V, w, z, -c), "sign of the middle term"),
    ("pairs", lambda U, V, w, z, c: double_sum(U, V, [1] * len(U), [1] * len(V), c), "weights w and z are missing"),
    ("gradient", lambda U, V, pairs, x: U[x][:1], "a list of 2 numbers"),
    ("sogram_constant", lambda batches, rates: [[1.0, 0], [0, 1]], "no floats"),
    ("sogram_constant", in_gramians, "start at zero still has a part"),
    ("sogram_constant", lambda batches, rates: in_gramians(batches[-1:], [1]), "the last batch alone"),
    (
        "sogram_constant",
        lambda batches, rates: in_gramians([[row for batch in batches for row in batch]], [1]),
        "old batches must fade",
    ),
    ("sogram_rates", lambda batches, rates: in_gramians(batches, [1, *rates[1:]]), "start at the first batch"),
    ("sagram_one", lambda tables, beta, b: in_gramians(tables[:1], [1]), "this is the cache"),
    ("leaving", lambda n, beta: ([[1, 0], [1, 0]], [[0, 0], [1, 0]], 0), "no row of now is zero"),
    ("leaving", lambda n, beta: ([[1, 0], [1, 0]], [[1, 0], [1, 0]], 2), "from 0 to 1"),
    ("leaving", lambda n, beta: ([[1, 0], [1, 0]], [[1, 0], [1, 0]], 0), "smallest is 0"),
    ("leaving", lambda n, beta: ([[1.0, 0], [1, 0]], [[1, 0], [1, 0]], 0), "no floats"),
    ("leaving", lambda n, beta: ([[1, 0]], [[1, 0], [1, 0]], 0), "cached has 2 rows of two"),
    ("always", lambda n: ([[1, 0], [0, 1]], [[1, 0], [0, 1]]), "no negative eigenvalue"),
    ("batch_with", lambda share, n: [2.5, 2], "whole number"),
    ("batch_with", lambda share, n: [4, 3] if n == 10 else [11, 7], "one fewer is enough"),
    ("batch_without", lambda share, n: [3, 3] if n == 10 else [10, 10], "this is the batch for draws with replacement"),
    ("rate_small", lambda path, batches: best_rate(path, batches, power=1), "square of delta/sigma"),
    ("rate_small", lambda path, batches: best_rate(path, batches, drift="coherent"), "drift straight on"),
]


def test_the_essay_on_gramians_quotes_the_best_rates() -> None:
    best, films = functions(simulate.reference("gramian-estimators"))["best_rate"], checks.films
    slow, fast = best(*films(64, 5)), best(*films(1024, 50))
    assert slow == pytest.approx(0.01, abs=0.005)  # "about 0.01"
    assert fast == pytest.approx(0.4, abs=0.03) and 1 - fast == pytest.approx(
        0.6, abs=0.03
    )  # "about 60 per cent of it"
    copied = gramians.random_walk_error(
        0.01, delta=fast / np.sqrt(1 - fast), sigma=1
    )  # delta / sigma, from the best rate
    assert round(copied) == 11  # "eleven times the squared error of the batch alone"
    cone, page = broken.leaving_the_cone(), printed("gramian-estimators")
    assert (*cone.actual, *cone.claimed, sum(cone.actual), sum(cone.claimed) / 2) == (-2, 2, 0, 2, 0, 1)
    assert float(page["late-sagram-one"]) > 2 * float(page["late-sogram-128"])  # "more than twice the error"
    errors = [
        f"{100 * float(page[name]):.{digits}f} %" for name, digits in (("same-batch-16", 0), ("same-batch-1024", 1))
    ]
    measured = (f"{slow:.3f}", f"{fast:.3f}", *errors, f"{(2 - 0.01) / 0.01:.0f} times as large")
    settings = ("batches of 64 at learning rate 5", "learning rate of 50", "1,024 at learning rate 50", "1,024 at 50")
    settings += ("16 pairs", "rate 0.1", "1,024")
    example = ("2 and 0 that are now both 0", "$-2$ and 2", "0 and 2", "the mean 0")
    tried = ("256, 512 and 1,024", ", 0.1 and 0.4", "10,000 estimated gradients", "for 16, 128")
    assert not unaccounted("gramian-estimators", *measured, *settings, *example, *tried)


def test_the_films_of_a_path_do_not_depend_on_the_batch_that_is_measured() -> None:
    first, second = (np.array(checks.films(b, 5.0, steps=3)) for b in (8, 900))
    assert (first[0] == second[0]).all() and (first[1] != second[1]).any()
    assert np.linalg.norm(second[1] - second[0]) < np.linalg.norm(first[1] - first[0])


@pytest.mark.parametrize(("beta", "b", "steps"), [(Fraction(1, 3), 1, 3), (Fraction(1), 2, 2), (Fraction(1, 5), 2, 2)])
def test_the_mean_of_sagram_is_that_of_every_sequence_of_batches(beta: Fraction, b: int, steps: int) -> None:
    """The recursion of the solution, against the estimator itself."""
    tables = np.random.default_rng(1).integers(-3, 4, size=(steps + 1, 3, 2)).tolist()
    mean = functions(simulate.reference("gramian-estimators"))["sagram_mean"](tables, beta, b)
    assert (mean == checks.enumerated([exact(table) for table in tables], beta, b)).all()


def test_the_sum_over_pairs_and_its_gradient_are_what_their_definitions_say() -> None:
    names, rng = functions(simulate.reference("gramian-estimators")), np.random.default_rng(2)
    U, V = rng.integers(-3, 4, size=(3, 2)).tolist(), rng.integers(-3, 4, size=(2, 2)).tolist()
    w, z, c = [1, 2, Fraction(1, 3)], [2, 5], Fraction(1, 2)
    assert names["all_pairs"](U, V, w, z, c) == double_sum(U, V, w, z, c)
    pairs = [(0, 0), (0, 1), (2, 1), (0, 1)]

    def gravity(rows: list) -> Fraction:
        lefts, rights = [rows[x] for x, _ in pairs], [V[y] for _, y in pairs]
        return double_sum(lefts, rights, [1] * 4, [1] * 4, 0) / Fraction(16)

    for x, axis in ((0, 0), (0, 1), (1, 0), (2, 1)):  # g is quadratic in u_x: the central difference is exact
        up, down = ([[*row] for row in U] for _ in range(2))
        up[x][axis] += 1
        down[x][axis] -= 1
        assert names["gravity_gradient"](U, V, pairs, x)[axis] == (gravity(up) - gravity(down)) / 2


@pytest.mark.parametrize(("n", "share"), [(7, Fraction(1, 5)), (12, Fraction(2, 7)), (2, Fraction(1, 2))])
def test_the_smallest_batch_is_that_of_a_search(n: int, share: Fraction) -> None:
    found = functions(simulate.reference("gramian-estimators"))["smallest_batches"](share, n)
    assert found[0] == next(b for b in range(1, 1000) if gramians.same_batch_share(Fraction(b)) <= share)
    assert found[1] == next(b for b in range(1, n + 1) if gramians.same_batch_share(Fraction(b), n) <= share)

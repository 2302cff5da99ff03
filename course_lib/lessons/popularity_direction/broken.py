"""Counterexamples to the popularity direction: sentences of P1 taken at their word, assumptions dropped one at a time.

Every function returns a `Counterexample`. The numbers are rational or symbolic; nothing is trained and nothing drawn.
Where a sentence says "aligned" or "proportional", claimed and actual are a squared cosine or a squared
correlation: 1 is aligned, 0 at right angles.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from course_lib import popularity
from course_lib.arrays import exact
from course_lib.lessons.popularity_direction.proofs import LABELS, TABLE
from course_lib.lessons.shared.counterexample import Counterexample
from course_lib.popularity import TripleLaw

# Two groups of three people, two shelves of three films. Within a shelf popularity falls 3, 2, 1; nobody looks at the
# other shelf.
SHELF = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0]])
TWO_TASTES = exact(np.block([[SHELF, 0 * SHELF], [0 * SHELF, SHELF]]))

# ---- "inevitably"


def two_tastes() -> Counterexample:
    """P1: BPR "inevitably" makes popularity the principal axis. Here the taste grows fastest, at right angles to it.

    claimed / actual: squared correlation of the top right singular vector of M with the counts. Swapping the shelves
    turns M into itself, so singular vectors are even or odd; the top one is odd (its largest even rival is smaller:
    `taste_beats_popularity`), and counts are even, so their inner product vanishes exactly.
    """
    odd, even = _halves(popularity.pull_matrix(TWO_TASTES))
    if not _top(odd) > _top(even):
        raise AssertionError("the odd half is not the larger one")
    counts = TWO_TASTES.sum(0)
    direction = np.concatenate([(m := _rational_direction(odd)), -m])  # any odd vector does: only its parity enters
    return Counterexample("one taste", Fraction(1), _correlation_squared(direction, counts), Fraction(-1))


def taste_beats_popularity() -> Counterexample:
    """The same data: claimed the largest singular value of the even (popularity) half, actual that of the odd."""
    odd, even = _halves(popularity.pull_matrix(TWO_TASTES))
    return Counterexample("one taste", _top(even), _top(odd))


def negatives_by_popularity() -> Counterexample:
    """Negatives drawn by popularity, collisions kept: what the mean user does to an item, Pop_i - Neg_i.

    claimed: Pop_i - |O|/N, as with uniform negatives; actual: 0 for every item; formula: |O|/N - Pop_i.
    """
    counts = LABELS.sum(0)
    positives, negatives = popularity.expected_roles(LABELS, TripleLaw("pairs", "popularity", "keep"))
    mean = counts.sum() / Fraction(len(counts))
    return Counterexample("uniform negatives", counts - mean, positives - negatives, mean - counts)


# ---- the mean user


def two_clusters() -> Counterexample:
    """Proposition A.1 (15): users at v + w and v - w, an item that only the first kind likes.

    Its fans' mean is v + w at any popularity.
    """
    v, w = exact(np.array([1, 0])), exact(np.array([0, 2]))
    fans = np.stack([v + w] * 50)  # however many
    return Counterexample("fans independent of the embeddings", v, fans.sum(0) / Fraction(50), w)


def one_percent() -> Counterexample:
    """ "By the law of large numbers": an item with P of m independent users at the start has cos^2 = P/m, here 1/4.

    claimed 1; the square is that of ratios of expectations (thm-mean-user): every set of P = 1 of m = 4 users in one
    dimension, each at 1 or -1.
    """
    table = exact(np.array(list(itertools.product((-1, 1), repeat=4))))  # all starts of four users in one dimension
    inner = norm = square = Fraction(0)
    for users in table:
        mean = users.sum() / Fraction(4)
        square += mean**2
        for one in users:  # the sets of one user
            inner += one * mean / 4
            norm += one**2 / 4
    return Counterexample("P near m", Fraction(1), inner**2 / (norm * square), Fraction(1, 4) - 1)


def negative_role() -> Counterexample:
    """(17): -1/2 Pop E[e_u] as the whole slope of an item. actual: -M'U/2; formula: the negative role.

    Users of LABELS with TABLE's rows.
    """
    users = TABLE[:3]
    claimed = -LABELS.T @ users / Fraction(2)
    actual = -popularity.pull_matrix(LABELS).T @ users / Fraction(2)
    n_u, n = LABELS.sum(1), LABELS.shape[1]
    pushed = (n_u / (n - n_u))[:, None] * (1 - LABELS)
    return Counterexample("no negative role", claimed, actual, pushed.T @ users / Fraction(2))


def below_average() -> Counterexample:
    """(18): every item is drawn along +v. The drift is (Pop_i - Neg_i)/2: an item of one fan moves the other way.

    All users share one embedding v, |v| = 1. claimed: Pop_i/2; actual: the drift of each item; formula: -Neg_i/2.
    """
    counts = LABELS.sum(0)
    positives, negatives = popularity.expected_roles(LABELS)
    return Counterexample(
        "no negative role", counts / Fraction(2), (positives - negatives) / Fraction(2), -negatives / Fraction(2)
    )


def proportional() -> Counterexample:
    """Section 3.1: "Pop(i) is proportional to <e_i, e_pop>". With a mean of 0 projections sum to 0; counts do not.

    Projections of the linear phase, all users alike: e_i = (Pop_i - Neg_i) v/2. claimed: proportional projections with
    the same head-tail gap; actual: these; formula: an intercept.
    """
    counts = LABELS.sum(0)
    positives, negatives = popularity.expected_roles(LABELS, TripleLaw(collision="keep"))
    projections = (positives - negatives) / Fraction(2)
    return Counterexample(
        "an intercept", counts / Fraction(2), projections, -(counts.sum() / Fraction(len(counts))) / 2 + 0 * counts
    )


# ---- the mean item


def negatives_are_centred() -> Counterexample:
    """Section 3.2: E_j[e_j] "strongly aligns with e_pop". From a start of mean 0 the mean item stays 0 under SGD.

    claimed: the mean embedding of the negatives of an all-item law points along e_pop (1); actual: it is 0, after six
    steps of exact SGD.
    """
    users, items = TABLE[:3].copy(), TABLE - TABLE.sum(0) / Fraction(len(TABLE))
    for u, i, j in ((0, 0, 3), (1, 0, 1), (2, 3, 1), (0, 2, 3), (1, 0, 2), (2, 0, 2)):
        w = 1 / (1 + (users[u] @ (items[i] - items[j])) ** 2) / Fraction(4)
        users[u], items[i], items[j] = (
            users[u] + w * (items[i] - items[j]),
            items[i] + w * users[u],
            items[j] - w * users[u],
        )
    mean = items.sum(0) / Fraction(len(items))
    return Counterexample("an optimiser that moves the mean", Fraction(1), (mean**2).sum(), Fraction(-1))


def lazy_decay(decay: Fraction = Fraction(1, 100), lr: Fraction = Fraction(1, 2)) -> Counterexample:
    """Decay of a triple's rows only moves the sum by -2 eta lambda (e_i + e_j) in one step. claimed: it stays."""
    items = TABLE - TABLE.sum(0) / Fraction(len(TABLE))
    after, user = items.copy(), exact(np.array([1, 2]))
    after[0], after[3] = (
        items[0] + lr * (user / 2 - 2 * decay * items[0]),
        items[3] + lr * (-user / 2 - 2 * decay * items[3]),
    )
    return Counterexample("no decay", items.sum(0), after.sum(0), -2 * lr * decay * (items[0] + items[3]))


def sign_steps(lr: Fraction = Fraction(1, 10)) -> Counterexample:
    """Adam's first step moves every coordinate by the sign of its slope: the sum moves against the user.

    One head item, three tail items, one mean user. claimed: it stays; formula: lr (pulled - pushed).
    """
    counts = exact(np.array([9, 1, 1, 1]))
    drift = counts - counts.sum() / Fraction(4)  # along the mean user, laws that keep collisions
    signs = np.array([Fraction(1 if x > 0 else -1) for x in drift])
    return Counterexample(
        "SGD", Fraction(0), (lr * signs).sum(), lr * (int((drift > 0).sum()) - int((drift < 0).sum()))
    )


# ---- the gradient of a user


def aligned_at_zero() -> Counterexample:
    """Theorem A.4: the gradient is "not aligned" with d*. At e_u = 0 all weights are 1/2: squared cosine 1.

    claimed: less than 1 (here what the theorem's picture would give with weights 1 for the first pair only).
    """
    positives, negatives = TABLE[[0, 1]], TABLE[[2, 3]]
    pairs = np.array([p - q for p in positives for q in negatives])
    mean = pairs.sum(0) / Fraction(4)
    confounded, at_zero = pairs[0], pairs.sum(0) / Fraction(8)
    return Counterexample(
        "e_u away from 0",
        _cosine_squared(confounded, mean),
        _cosine_squared(at_zero, mean),
        1 - _cosine_squared(confounded, mean),
    )


def popular_positives_weigh_less() -> Counterexample:
    """Section 3.2: popular positives "disproportionately influence" the gradient; but the weight falls as margins grow.

    sigma(-margin): a popular item at <e_u, e_i> = ln 9 above the negative weighs 1/10, a niche one at 0 weighs 1/2.
    claimed: at least equal weights.
    """
    popular, niche = (1 / (1 + sp.exp(margin)) for margin in (sp.log(9), sp.Integer(0)))
    return Counterexample("margins of 0", sp.Integer(1), popular / niche, sp.Rational(-4, 5))


# ---- Figure 1


def null_of_figure_1(n: int = 20, width: int = 2) -> Counterexample:
    """Figure 1's correlation for embeddings that know nothing: not 0. formula, exact: k E sqrt(B) with Gammas.

    Counts 1 .. n, ratio 0.05; actual is the library's number, claimed 0.
    """
    counts = np.arange(1.0, n + 1)
    k = sp.sqrt(sp.Rational(1, 2 * n)) * (n - 1) / sp.sqrt(sp.Rational(n**2 - 1, 12))
    share = (
        sp.gamma(sp.Rational(width + 1, 2))
        * sp.gamma(sp.Rational(width + n - 2, 2))
        / (sp.gamma(sp.Rational(width, 2)) * sp.gamma(sp.Rational(width + n - 1, 2)))
    )
    actual = popularity.double_dipping_law(counts, width).mean
    formula = float(sp.N(k * share, 17))
    return Counterexample(
        "a direction found on other items",
        0.0,
        actual,
        actual if math.isclose(actual, formula, rel_tol=1e-12) else formula,
    )


# ---- tools


def _halves(pull: np.ndarray) -> tuple[sp.Matrix, sp.Matrix]:
    """A matrix of two equal blocks [[A, B], [B, A]] acts as A - B on odd and as A + B on even vectors."""
    m, n = (size // 2 for size in pull.shape)
    a, b = sp.Matrix(pull[:m, :n]), sp.Matrix(pull[:m, n:])
    if sp.Matrix(pull[m:, n:]) != a or sp.Matrix(pull[m:, :n]) != b:
        raise AssertionError("the matrix is not symmetric under the swap of the halves")
    return a - b, a + b


def _top(matrix: sp.Matrix) -> float:
    """The largest singular value."""
    return float(np.linalg.norm(np.array(matrix, dtype=float), 2))


def _rational_direction(matrix: sp.Matrix) -> np.ndarray:
    """Six steps of the power method, in Fractions: close to the top right singular vector."""
    square = _fractions(matrix.T * matrix)
    vector = exact(np.ones(square.shape[0], dtype=int))
    for _ in range(6):
        vector = square @ vector
    return vector


def _fractions(matrix: sp.Matrix) -> np.ndarray:
    return np.array([[Fraction(int(entry.p), int(entry.q)) for entry in row] for row in matrix.tolist()], dtype=object)


def _correlation_squared(x: np.ndarray, y: np.ndarray) -> Any:
    size = Fraction(len(x))
    x, y = x - x.sum() / size, y - y.sum() / size
    return (x @ y) ** 2 / ((x @ x) * (y @ y))


def _cosine_squared(x: np.ndarray, y: np.ndarray) -> Any:
    return (x @ y) ** 2 / ((x @ x) * (y @ y))

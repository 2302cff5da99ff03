"""Public checks of the assignment gramian-estimators."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import gramians
from course_lib.arrays import exact
from course_lib.lessons.shared.forms import (
    OTHER_VERSION,
    Answer,
    compare,
    compare_exact,
    compare_list,
    each_case,
    expect,
    fraction,
    is_list,
    is_table,
    is_whole,
    public,
)
from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)
from course_lib.lessons.shared.real import film_factors

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
U = [[1, 0], [2, 1], [0, -1]]
V = [[1, 1], [-1, 2]]
PAIRS = [(0, 0), (1, 0), (1, 1), (1, 1)]
BATCHES = [[[1, 0], [1, 2]], [[0, 1]], [[2, 1], [0, 0], [1, 1]]]
MOVING = [[[2, 0], [1, 1]], [[1, 1], [0, 1]], [[1, 0], [0, 2]]]
WALK = [[[1.0, 0.0], [0.0, 1.0]], [[1.5, 0.0], [0.0, 1.0]], [[1.5, 0.25], [0.25, 0.5]], [[1.0, 0.25], [0.25, 0.75]]]
SEEN = [[[2.0, 0.5], [0.5, 0.0]], [[1.0, -0.5], [-0.5, 2.0]], [[1.5, 1.0], [1.0, 1.0]], [[0.5, 0.5], [0.5, 1.25]]]


def films(
    batch_size: int, learning_rate: float, *, steps: int = 60, rank: int = 4, seed: int = 0
) -> tuple[list[Any], list[Any]]:
    """(path, batches): the Gramian of the films while a factorisation is trained, and a batch's estimate at each time.

    path: steps + 1 Gramians (rank, rank) of the film vectors over all training pairs. batches: at the same times, that
    of `batch_size` training pairs, drawn with replacement. The training is plain stochastic gradient descent from the
    SVD of the 0/1 matrix, on batches of 512 of (1 - <u, v>)^2 + gravity.
    """
    users, items, observed, counts = film_factors(rank)
    users, items = users.copy(), items.copy()
    rng = np.random.default_rng([seed, 0])
    draws = np.random.default_rng([seed, 1])  # a generator of its own: the path does not depend on batch_size
    path, batches = [], []
    for _ in range(steps + 1):
        gram = items.T @ (items * counts[:, None]) / len(observed)
        path.append(gram.tolist())
        batches.append(gramians.gramian(items[observed[draws.integers(len(observed), size=batch_size), 1]]).tolist())
        rows, cols = observed[rng.integers(len(observed), size=512)].T
        u, v = users[rows], items[cols]
        pull = 2 * ((u * v).sum(axis=1) - 1)[:, None] / len(rows)
        user_gram = gramians.gramian(users[observed[:, 0]])
        for table, at, slope in (
            (users, rows, pull * v + 2 * u @ gram / len(rows)),
            (items, cols, pull * u + 2 * v @ user_gram / len(rows)),
        ):
            np.subtract.at(table, at, learning_rate * slope)
    return path, batches


# ---- what the checks are made of; the hidden checks call them with other inputs ----


@each_case
def check_pairs(
    answer: Answer, left: list[Any], right_rows: list[Any], w: list[Any], z: list[Any], c: Any, *, times: int = 1
) -> None:
    """Task 1a: `answer(U, V, w, z, c)`; the squares are those of times <u, v> - c."""
    u, v = times * exact(left), exact(right_rows)
    weights: dict[str, Any] = {"left_weights": exact(w), "right_weights": exact(z)}
    one = gramians.all_pairs_square(_beside(exact(left), c), _beside(v, -1), **weights)
    right = gramians.all_pairs_square(_beside(u, c), _beside(v, -1), **weights)  # <u, v> - c = <(u, c), (v, -1)>
    few = len(left) * len(right_rows) <= 1000
    where = f"the sum over {len(left)} x {len(right_rows)} pairs, c = {c}"
    slips = _pair_slips(u, v, exact(w), exact(z), Fraction(c)) if few else []
    compare(answer(left, right_rows, w, z, c), right, where, [(one, OTHER_VERSION), *slips], exact=True)


def _pair_slips(u: np.ndarray, v: np.ndarray, w: np.ndarray, z: np.ndarray, c: Fraction) -> list[tuple[Any, str]]:
    heavy_u, heavy_v = u * w[:, None], v * z[:, None]
    plain = gramians.all_pairs_square(u, v, left_weights=w, right_weights=z)
    middle, weight, count = 2 * c * (w @ u) @ (z @ v), w.sum() * z.sum(), len(u) * len(v)
    right = plain - middle + c**2 * weight
    squared = [
        gramians.all_pairs_square(heavy_u, heavy_v) - middle + c**2 * weight,
        gramians.all_pairs_square(_beside(u, c) * w[:, None], _beside(v, -1) * z[:, None]),
    ]
    return [
        (plain, "this is the sum for c = 0"),
        (plain + c**2 * weight, "(s - c)^2 = s^2 - 2 c s + c^2: the middle term is missing"),
        (plain + middle + c**2 * weight, "the sign of the middle term"),
        (plain - middle / 2 + c**2 * weight, "the middle term has the factor 2"),
        (plain - middle + c**2, "c^2 stands in every pair: it is weighted, too"),
        (plain - middle + c**2 * count, "c^2 is weighted like the rest"),
        (right / weight if weight else None, "the sum is asked for, not the weighted mean"),
        (right / count, "the sum is asked for, not the mean"),
        (gramians.all_pairs_square(_beside(u, c), _beside(v, -1)), "the weights w and z are missing"),
        *((value, "w u u', not (w u)(w u)': the weight is not squared") for value in squared),
    ]


@each_case
def check_gradient(
    answer: Answer, left: list[Any], right_rows: list[Any], examples: list[Any], x: int, *, trace: str = "0"
) -> None:
    """Task 1b: `answer(U, V, pairs, x)`, of g + trace tr G_u."""
    u, v, n = exact(left), exact(right_rows), len(examples)
    rows, cols = ([pair[side] for pair in examples] for side in (0, 1))
    times = rows.count(x)
    gram = gramians.gramian(v[cols])
    plain = gram @ u[x] * 2 * times / Fraction(n)
    gram = gram + Fraction(trace) * np.eye(len(gram), dtype=int).astype(object)  # tr G_u is <G_u, I>
    one = gram @ u[x] * 2 / Fraction(n)
    right = one * times
    distinct = gramians.gramian(v[sorted(set(cols))]) @ u[x] * 2 * times / Fraction(n)
    other = gramians.gramian(u[rows]) @ u[x] * 2 * times / Fraction(n)
    where = f"the gradient for left entity {x} of {len(left)}, {n} training pairs"
    slips = [
        (plain, OTHER_VERSION),
        (right / 2, "the derivative of a square brings a 2"),
        (one, "the entity stands in several training pairs, and each of them pulls"),
        (one / 2, "the entity stands in several training pairs, and the square brings a 2"),
        (gram @ u[x], "this is G_v u: the gradient of g has 2/n before it, for each pair of the entity"),
        (2 * gram @ u[x], "g is a mean over the examples on both sides: 1/n is missing"),
        (2 * gram @ u[x] * times, "g is a mean over the examples on both sides: 1/n is missing"),
        (right / times if times else None, "the entity stands in several training pairs, and each of them pulls"),
        (right * 2, "this is twice the gradient: each of the two Gramians is varied once"),
        (distinct, "the Gramian of the right side is over training pairs, not over distinct entities"),
        (other, "the left embedding meets the Gramian of the right side"),
    ]
    compare_list(answer(left, right_rows, examples, x), right, where, slips)


@each_case
def check_sogram(answer: Answer, batches: list[Any], rates: list[Any]) -> None:
    """Task 2: `answer(batches, rates)`."""
    estimator = gramians.SOGram(len(batches[0][0]), lambda t, rates=rates: rates[t - 1], correct_start=True)
    for batch in batches:
        right = estimator.update(range(len(batch)), exact(batch))
    means = [gramians.gramian(exact(batch)) for batch in batches]
    sums = [mean * len(batch) for mean, batch in zip(means, batches, strict=True)]
    average, weight = _follow(means, rates)
    swapped, swapped_weight = _follow(means, [1 - rate for rate in rates])
    weighed = swapped / swapped_weight if swapped_weight else swapped
    back = means[0] * 0
    reached = Fraction(0)
    for mean, rate in zip(means, rates, strict=True):
        reached = (1 - rate) * reached + rate
        back = ((1 - rate) * back + rate * mean) / reached
    first = means[0]
    for mean, rate in zip(means[1:], rates[1:], strict=True):
        first = (1 - rate) * first + rate * mean
    pooled = gramians.gramian(exact([row for batch in batches for row in batch]))
    last = 1 - (1 - rates[-1]) ** len(rates)
    where = f"SOGram after {len(batches)} batches"
    slips = [
        (average, "the start at zero still has a part in it: divide by the weight of the batches so far"),
        (_follow(sums, rates)[0] / weight, "average over the batch: a sum would go to b G"),
        (_follow(sums, rates)[0], "average over the batch, and divide by the weight of the batches so far"),
        (average / last, "1 - (1 - alpha)^t is right for a constant rate: which weight do the batches have here?"),
        (weighed, "alpha is the weight of the new batch, not of the old estimate"),
        (swapped, "alpha is the weight of the new batch, not of the old estimate"),
        (back, "correct what you return; the average itself goes on without the correction"),
        (first, "a start at the first batch gives that batch far too much weight"),
        (pooled, "this is the Gramian of all rows: old batches must fade"),
        (means[-1], "this is the last batch alone"),
    ]
    compare_exact(answer(batches, rates), right, where, slips)


@each_case
def check_sagram(answer: Answer, tables: list[Any], beta: Any, b: int) -> None:
    """Task 3: `answer(tables, beta, b)`."""
    steps = [exact(table) for table in tables]
    n = len(tables[0])
    right = enumerated(steps, beta, b)
    now = gramians.gramian(steps[-1])
    keep = Fraction(n - 1, n) ** b
    caches = {
        "p": _remembered(steps[:-1], keep),
        "b/n": _remembered(steps[:-1], 1 - Fraction(b, n)),
        "1/n": _remembered(steps[:-1], 1 - Fraction(1, n)),
        "after": _remembered(steps, keep),
        "never": gramians.gramian(steps[0]),
        "always": gramians.gramian(steps[-2]),
    }
    mix = {name: (1 - beta) * cache + beta * now for name, cache in caches.items()}
    if (mix["p"] != right).any():
        raise RuntimeError("the enumeration and the recursion of the mean differ")
    where = f"the mean of SAGram, {n} examples, step {len(tables) - 1}, beta = {beta}, b = {b}"
    slips = [
        (now, "this is the Gramian: only beta = 1 is unbiased"),
        (caches["p"], "this is the cache: the batch corrects it, with weight beta"),
        (mix["b/n"], "an example that is drawn twice is renewed once: what is the chance of being drawn at all?"),
        (mix["1/n"], "there are b draws in a batch, and each renews the cache"),
        (mix["after"], "the estimate is made before the cache is renewed"),
        (mix["never"], "after each step the cache takes in the batch"),
        (mix["always"], "only the examples of the batch are renewed"),
        ((1 - beta) * now + beta * caches["p"], "beta and 1 - beta have changed places"),
        (caches["p"] + beta * b * (now - caches["p"]), "the mean over the batch counts, not the sum"),
    ]
    compare_exact(answer(tables, beta, b), right, where, slips)


def enumerated(steps: list[np.ndarray], beta: Any, b: int) -> np.ndarray:
    """The mean estimate of SAGram in the last step, over every sequence of batches of b draws with replacement."""
    n, T = len(steps[0]), len(steps) - 1
    sequences = list(itertools.product(itertools.product(range(n), repeat=b), repeat=T))
    total: np.ndarray = gramians.gramian(steps[0]) * 0
    for sequence in sequences:
        estimator = gramians.SAGram(n, steps[0].shape[1], beta)
        estimator.start(steps[0])
        for table, batch in zip(steps[1:], sequence, strict=True):
            estimate = estimator.update(list(batch), table[list(batch)])
        total = total + estimate
    return np.asarray(total / Fraction(len(sequences)))


@each_case
def check_leaving(answer: Answer, n: int, beta: Fraction, *, row: list[int] | None = None) -> None:
    """Task 4a: `answer(n, beta)`; every row of `now` is `row`, if that is given."""
    value = answer(n, beta)
    expect(is_list(value, 3), "three things are asked for: return cached, now, i")
    cached, now, i = _rows(value[0], n, "cached"), _rows(value[1], n, "now", row), value[2]
    expect(is_whole(i) and 0 <= i < n, f"i is a whole number from 0 to {n - 1}")
    estimate = looked(cached, now, int(i), beta)
    hint = " The estimate at beta = 1/n is the Gramian of a cache: how far must beta take you beyond it?"
    expect(
        outside(estimate),
        f"n = {n}, beta = {beta}: with your tables the estimate has no negative eigenvalue "
        f"(the smallest is {_smallest(estimate):.6g}).{hint if beta < 1 else ''}",
    )


def always_form(value: Any, n: int, *, row: list[int] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(cached, now), checked for form, and the estimate of the first draw."""
    expect(is_list(value, 2), "two things are asked for: return cached, now")
    cached, now = _rows(value[0], n, "cached"), _rows(value[1], n, "now", row)
    expect(outside(looked(cached, now, 0, 1)), f"n = {n}: the estimate of the first draw has no negative eigenvalue")
    return cached, now


@each_case
def check_always(answer: Answer, n: int, *, row: list[int] | None = None) -> None:
    cached, now = always_form(answer(n), n, row=row)
    inside = [i for i in range(n) if not outside(looked(cached, now, i, 1))]
    expect(
        not inside,
        f"n = {n}: for {len(inside)} of the draws the estimate stays in the cone, as for i = {(inside or [0])[0]}. "
        "The mean of all estimates is a Gramian, so they cannot all fail in one direction: use two",
    )


def looked(cached: np.ndarray, now: np.ndarray, i: int, beta: Any) -> np.ndarray:
    """SAGram's estimate when example i is drawn."""
    estimator = gramians.SAGram(len(now), now.shape[1], beta)
    estimator.start(cached)
    return np.asarray(estimator.look([i], now[[i]]))


def outside(matrix: np.ndarray) -> bool:
    """Whether a symmetric 2 x 2 matrix of Fractions has a negative eigenvalue."""
    (a, b), (_, c) = matrix.tolist()
    return bool(a < 0 or c < 0 or a * c < b * b)


@each_case
def check_batch(answer: Answer, given: Fraction, n: int, *, replace: bool, louder: int = 1) -> None:
    """Task 5: `answer(share, n)`; grad h is so many times as long as grad g, and its part is at most the share."""
    share = given / louder
    right = _smallest_batch(share, None if replace else n)
    got = answer(given, n)
    expect(is_list(got, 2), "two numbers are asked for: with replacement, and without")
    value = got[0 if replace else 1]
    expect(is_whole(value), "the size of a batch is a whole number")
    way = "with" if replace else "without"
    where = f"the smallest batch drawn {way} replacement, share {given}, n = {n}"
    other_way = _smallest_batch(share, n if replace else None)
    at_most_n = None if replace else min(n, _smallest_batch(share, None))
    slips = [
        (_smallest_batch(given, None if replace else n), OTHER_VERSION),
        (right - 1, "the share is then still larger: round up"),
        (right + 1, "one fewer is enough"),
        (other_way, f"this is the batch for draws with{'out' if replace else ''} replacement"),
        (at_most_n, "without replacement no pair comes twice: the share is 0 at b = n"),
        (-(-share * n // 1), "the share of the observed pairs, not the share of the data that is in the batch"),
        (-(-1 // share**2), "the share falls like 1/b, not like 1/sqrt(b)"),
    ]
    compare(int(value), right, where, slips, exact=True)


def check_rate(answer: Answer, path: list[Any], batches: list[Any], *, every: int = 1) -> None:
    """Task 6: `answer(path, batches)`; the training makes so many steps between two moments of the path."""
    grams, seen = np.array(path), np.array(batches)

    def lengths(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.sqrt((x**2).sum(axis=(1, 2))))

    def best(delta: Any, sigma: Any) -> float:
        return gramians.optimal_alpha(float(delta), float(sigma), "random_walk")

    moves, errors = lengths(np.diff(grams, axis=0)), lengths(seen - grams)
    whole, sigma = np.sqrt((moves**2).mean()), np.sqrt((errors**2).mean())
    delta = whole / np.sqrt(every)  # the steps of a random walk add up as squares
    right = best(delta, sigma)
    net = np.sqrt(((grams[-1] - grams[0]) ** 2).sum()) / len(moves)
    ratio, noise = float(delta / sigma), lengths(np.diff(seen, axis=0))
    one_too_many = best(delta, np.sqrt((errors**2).sum() / len(moves)))
    slips = [
        (best(whole, sigma), OTHER_VERSION),
        (best(whole / every, sigma), "the steps of a random walk add up as squares: delta^2 is divided, not delta"),
        (best(np.sqrt(ratio), 1), "r is the square of delta/sigma"),
        (best(moves.mean(), errors.mean()), "delta^2 is the mean of squares, not the square of a mean"),
        (one_too_many, "there is one batch more than there are steps: divide by their number"),
        (best(np.sqrt((moves**2).sum()), np.sqrt((errors**2).sum())), "delta^2 and sigma^2 are means, not sums"),
        (best(sigma, delta), "delta and sigma have changed places"),
        (best(noise.std(), sigma), "the true Gramian moves by delta; the batches differ by their noise as well"),
        (
            best(np.sqrt((noise**2).mean()), sigma),
            "the true Gramian moves by delta; the batches differ by their noise as well",
        ),
        (best(net, sigma), "this is the length of the whole way: the mean square of the single steps is asked for"),
        (gramians.optimal_alpha(float(delta), float(sigma)), "this is the best rate for a drift straight on"),
        ((2 * ratio) ** (2 / 3), "this is the approximation for a drift straight on"),
        (ratio, "delta/sigma is the best rate only while it is small"),
        (ratio**2, "r itself is not the rate: solve alpha^2 = r (1 - alpha)"),
        (ratio**2 / (1 + ratio**2), "the estimate carries its own error, too: solve alpha^2 = r (1 - alpha)"),
    ]
    where = f"the best rate, {len(moves)} steps, {grams.shape[1]} x {grams.shape[1]}"
    compare(answer(path, batches), right, where, slips, exact=False)


def _follow(updates: list[np.ndarray], rates: list[Any]) -> tuple[np.ndarray, Fraction]:
    """(average, weight) of SOGram from zero."""
    average, weight = updates[0] * 0, Fraction(0)
    for update, rate in zip(updates, rates, strict=True):
        average, weight = (1 - rate) * average + rate * update, (1 - rate) * weight + rate
    return average, weight


def _remembered(steps: list[np.ndarray], keep: Fraction) -> np.ndarray:
    """The mean Gramian of SAGram's cache: each example stays with probability `keep`."""
    cache: np.ndarray = gramians.gramian(steps[0])
    for table in steps[1:]:
        cache = keep * cache + (1 - keep) * gramians.gramian(table)
    return cache


def _smallest_batch(share: Fraction, n: int | None) -> int:
    """The smallest b for which `same_batch_share` is at most `share`, by halving."""
    low, high = 0, n or 1
    while n is None and gramians.same_batch_share(Fraction(high)) > share:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if gramians.same_batch_share(Fraction(middle), n) <= share else (middle, high)
    return high


def _rows(value: Any, n: int, name: str, row: list[int] | None = None) -> np.ndarray:
    expect(is_table(value, n, 2), f"{name} has {n} rows of two numbers")
    rows = [[fraction(entry, name) for entry in row] for row in value]
    expect(all(map(any, rows)), f"no row of {name} is zero")
    expect(row is None or all(entries == row for entries in rows), f"every row of {name} is {row}")
    return exact(rows)


def _smallest(matrix: np.ndarray) -> float:
    (a, b), (_, c) = matrix.tolist()
    half, product = (a + c) / 2, a * c - b * b
    return float(half) - math.sqrt(max(0.0, float(half) ** 2 - float(product)))


def _beside(rows: np.ndarray, value: Any) -> np.ndarray:
    """A column of one value beside a table."""
    return np.hstack([rows, exact([[value]] * len(rows))])


# ---- the public checks

# Task 1a, three rows against two
pairs = public(check_pairs, [(U, V, [1, 1, 1], [1, 1], 0), (U, V, [1, 2, 5], [HALF, 3], 2)])
# Task 1b, four training pairs, one of them twice
gradient = public(check_gradient, [(U, V, PAIRS, x) for x in (0, 1)])
# Task 2, one rate
sogram_constant = public(check_sogram, [(BATCHES, [THIRD] * 3), (BATCHES[:2], [HALF] * 2)])
# Task 2, rates that change
sogram_rates = public(check_sogram, [(BATCHES, [HALF, THIRD, Fraction(1, 4)]), (BATCHES[:2], [HALF, Fraction(1, 4)])])
# Task 3, one step
sagram_one = public(check_sagram, [(MOVING[:2], HALF, 1), (MOVING[:2], 1, 2)])
# Task 3, two steps
sagram_steps = public(check_sagram, [(MOVING, HALF, 1), (MOVING, THIRD, 2)])
# Task 4a, for two and three examples and beta = 1
leaving = public(check_leaving, [(2, Fraction(1)), (3, Fraction(1))])
# Task 4b, for two examples
always = public(check_always, [2])
# Task 5, the first of its two numbers
batch_with = public(check_batch, [(Fraction(2, 5), 10), (Fraction(1, 10), 20)], replace=True)
# Task 5, the second of its two numbers
batch_without = public(check_batch, [(Fraction(2, 5), 10), (Fraction(1, 10), 20)], replace=False)
# Task 6, three steps of a 2 x 2 Gramian
rate_small = public(check_rate, WALK, SEEN)
# Task 6, on the Gramian of films while they are trained
rate_films = public(lambda answer, **numbers: check_rate(answer, *films(64, 20.0, steps=20), **numbers))

"""Public checks of the assignment popularity-norm-coupling."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from course_lib import geometry, norms, popularity
from course_lib.lessons.shared.forms import (
    CLOSE,
    OTHER_VERSION,
    PASSED,
    Answer,
    compare,
    each_case,
    expect,
    floats,
    is_list,
    number,
    plain_check,
    public,
)
from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)
from course_lib.lessons.shared.real import film_factors

MOST_KEYS = 1000


@plain_check
def rare(answer: Answer, **numbers: Any) -> None:
    """Task 4a: only the form of the answer is looked at here."""
    rare_form(answer(), **numbers)
    print("the form is right.", PASSED.replace("inputs", "grounds: the two runs are not made here"))


def film_counts() -> list[int]:
    """The number of ratings of each film of the embedded data set."""
    return list(film_factors(8)[3].tolist())


# ---- what the checks are made of; the hidden checks call them with other inputs ----


@each_case
def check_update(
    answer: Answer, count: int, total: int, size: int, extra: int, n_items: int, *, batches: int = 1
) -> None:
    """Task 1: `answer(count, total, batch_size, extra, n_items)`, for at least one of so many batches."""
    p, one = Fraction(count, total), Fraction(1, n_items)
    right = norms.update_probability(p, size, negatives=extra, n_items=n_items)
    plain = 1 - (1 - p) ** size
    missed = Fraction(1)
    for slot in range(size):
        missed *= max(Fraction(total - count - slot, max(total - slot, 1)), Fraction(0))
    slips = [
        (size * p, "the item may fill several slots: B p counts how many, not whether there is one"),
        ((1 - p) ** size * (1 - one) ** extra, "this is the probability that the batch misses the item"),
        (1 - missed * (1 - one) ** extra, "slots are drawn independently here, with replacement"),
        (p**size, "one slot is enough; this is the probability that the item fills all of them"),
    ]
    if extra:
        added = size * p + extra * one
        slips += [
            (added, "probabilities of several chances do not add up: ask how the item is missed by all of them"),
            (plain, "the further negatives can hit the item, too"),
            (1 - (1 - p) ** (size + extra), "further negatives are drawn from all items alike, each with 1/n_items"),
            (plain + 1 - (1 - one) ** extra, "slots and negatives can both hit: multiply the probabilities of a miss"),
        ]
    if batches > 1:
        several = [(right, OTHER_VERSION), (batches * right, "the batches overlap: chances of several do not add up")]
        slips = [*several, *((1 - (1 - slip) ** batches, hint) for slip, hint in slips)]
    where = f"the probability at count {count} of {total}, {size} slots, {extra} further negatives of {n_items} items"
    compare(answer(count, total, size, extra, n_items), 1 - (1 - right) ** batches, where, slips, exact=True)


@each_case
def check_growth(answer: Answer, given: Any, pulls: list[Any], rate: Any, *, slower: str = "1") -> None:
    """Task 2a: `answer(start, squared_pulls, lr)`; after each step the learning rate is multiplied by `slower`."""
    start, lr, asked = Fraction(given), Fraction(rate), [Fraction(pull) for pull in pulls]
    squared = [pull * Fraction(slower) ** (2 * k) for k, pull in enumerate(asked)]  # only lr^2 ||h||^2 matters
    path, constant = (
        norms.squared_norm_path(start, lr=lr, squared_gradients=np.array(each, dtype=object))
        for each in (squared, asked)
    )
    total = sum(squared)
    where = f"||q||^2 from {start} after ||h||^2 = {[str(pull) for pull in asked]} at lr {lr}"
    slips = [
        (constant[-1], OTHER_VERSION),
        (start + lr**2 * total, "h is not yet the gradient: that is h/||q||, shorter for longer vectors"),
        (start + lr**2 * total / start, "the length changes at every step, and the next gradient with it"),
        (start + lr * total, "the step is lr times the gradient, and its length is squared"),
        (start**2 + 2 * lr**2 * total, "this is near ||q||^4; the square of the norm is asked for, and exactly"),
        (start + 2 * lr**2 * total / start, "the factor 2 belongs to the fourth power of the norm"),
    ]
    compare(answer(start, asked, lr), path[-1], where, slips, exact=True)


@each_case
def check_symmetry(answer: Answer, lr: Fraction, norm: Fraction, other: Fraction) -> None:
    """Task 2b: `answer(lr, norm, other_norm)`."""
    got, ratio = answer(lr, norm, other), other / norm
    right = norms.effective_learning_rate(lr, norm=norm) * other**2
    where = f"the learning rate at the norm {other} that matches {lr} at the norm {norm}"
    slips = [
        (lr, "the gradient is h/||q||, and what turns a vector is the step relative to its length"),
        (lr * ratio, "two lengths enter: the gradient is shorter by c, and the vector to be turned is longer by c"),
        (lr / ratio**2, "longer vectors turn less at the same rate, so they need a higher one"),
        (lr / ratio, "longer vectors turn less at the same rate, so they need a higher one"),
        (lr * ratio**4, "the fourth power belongs to the law of growth, where lr is squared"),
    ]
    compare(got, right, where, slips, exact=True)


@each_case
def check_equilibrium(answer: Answer, probability: float, lr: float, decay: float, h: float, lazy: bool) -> None:
    """Task 3: `answer(probability, lr, decay, h, lazy)`."""
    lazily = norms.lazy_decay_equilibrium(lr=lr, decay=decay, h=h)
    every = norms.decay_equilibrium(probability, lr=lr, decay=decay, h=h)
    right = lazily if lazy else every
    kept = 1 - lr * decay
    where = f"the norm at probability {probability}, lr {lr}, decay {decay}, h {h}, {'lazy' if lazy else 'not lazy'}"
    first_order = (right**4 * (1 - kept**2) / (2 * lr * decay)) ** 0.25
    slips = [
        (every, "with lazy decay, growth and shrinking happen equally often: the probability cancels"),
        (lazily, "the embedding shrinks in every batch but grows only in those that hold the item"),
        (right**2, "this is the square of the norm"),
        (right**4, "this is the fourth power of the norm"),
        (first_order, "2 lr decay is only the first order of 1 - (1 - lr decay)^2"),
        ((right**4 * (1 - kept**2) / (1 - kept)) ** 0.25, "the square of the norm shrinks by (1 - lr decay)^2"),
        ((right**4 * (1 - kept**2) / (1 - (1 - decay) ** 2)) ** 0.25, "the decay is multiplied by the learning rate"),
        (float(np.sqrt(right**4)), "the gradient is h/||q||, so the balance is one of fourth powers"),
    ]
    compare(answer(probability, lr, decay, h, lazy), right, where, slips, exact=False)


def rare_form(
    value: Any, *, length: float | None = None, often: int = 10
) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """(start, lr, rare_keys, popular_keys), checked for form; with `length` start has exactly that length."""
    expect(is_list(value, 4), "four things are asked for: return start, lr, rare_keys, popular_keys")
    start, lr = floats(value[0], (2,), "start"), float(number(value[1], "lr"))
    tables = []
    for keys, name in ((value[2], "rare_keys"), (value[3], "popular_keys")):
        expect(is_list(keys) and 1 <= len(keys) <= MOST_KEYS, f"{name} is a list of 1 to {MOST_KEYS} keys")
        tables.append(floats(keys, (None, 2), name))
        expect(bool((np.linalg.norm(tables[-1], axis=1) > 1e-9).all()), f"a key of {name} is zero: it has no direction")
    begun = float(np.linalg.norm(start))
    expect(1e-3 <= begun <= 1e3, "start has a length from 0.001 to 1,000")
    expect(length is None or abs(begun - length) <= CLOSE * length, f"start has the length {begun:.6g}, not {length}")
    expect(0 < lr <= 1e3, "lr is positive and at most 1,000")
    expect(
        len(tables[1]) >= often * len(tables[0]),
        f"the popular item needs at least {'ten' if often == 10 else often} times as many updates: "
        f"{len(tables[1])} against {len(tables[0])}",
    )
    return start, lr, tables[0], tables[1]


def run(start: Any, lr: float, keys: Any, weight: float = 1.0) -> tuple[float, float]:
    """(final norm, sum of ||h||^2) of gradient descent on -weight cos(q, k) through the keys."""
    q, total = np.array(start, dtype=float), 0.0
    for key in np.array(keys, dtype=float):
        gradient = weight * geometry.cosine_gradient(q, key)
        total += float(gradient @ gradient) * float(q @ q)
        q = q + lr * gradient
    return float(np.linalg.norm(q)), total


@each_case
def check_pulls(answer: Answer, start: list[Any], lr: float, keys: list[Any], *, weight: float = 1.0) -> None:
    """Task 4b: `answer(start, lr, keys)`, for the loss -weight cos."""
    got = answer(start, lr, keys)
    _, right = run(start, lr, keys, weight)
    still = weight**2 * sum(float(1 - geometry.cosine(np.array(start), np.array(key)) ** 2) for key in keys)
    where = f"the sum of ||h||^2 over {len(keys)} updates from {start} at lr {lr}"
    of_gradients = _gradients_squared(start, lr, keys)
    slips = [
        (run(start, lr, keys)[1], OTHER_VERSION),
        (weight * run(start, lr, keys)[1], "the weight changes the steps as well, and with them all later pulls"),
        (weight**2 * run(start, lr, keys)[1], "the weight changes the steps as well, and with them all later pulls"),
        (right / weight**2, "h holds the weight of the loss, too"),
        (of_gradients, "h is the gradient times ||q||; this is the sum of the gradients' squares"),
        (still, "q moves: each key meets the q of its own time"),
        (run(start, -lr, keys, weight)[1], "the loss is -cos: the step goes towards the key"),
        (float(len(keys)), "||h||^2 = 1 - cos^2, which is 1 only at a right angle"),
    ]
    compare(got, right, where, slips, exact=False)


def check_slope(answer: Answer, counts: list[int], lengths: list[float], *, least: int = 1) -> None:
    """Task 5a: `answer(counts, norms)`, over the items with at least so many interactions."""
    seen, everyone = np.array(counts) >= least, np.array(counts) > 0
    x, y = np.array(counts, dtype=float)[seen], np.array(lengths)[seen]
    right = float(popularity.log_log_slope(y, x))
    where = f"the slope over {len(counts)} items"
    through_origin = float((np.log(x) @ np.log(y)) / (np.log(x) @ np.log(x)))
    slips = [
        (float(popularity.log_log_slope(np.array(lengths)[everyone], np.array(counts)[everyone])), OTHER_VERSION),
        (float(np.polyfit(np.log(y), np.log(x), 1)[0]), "log norm is explained by log count, not the other way round"),
        (float(np.polyfit(x, y, 1)[0]), "take the logarithms of both"),
        (float(np.polyfit(np.log(x), y, 1)[0]), "take the logarithms of both"),
        (float(popularity.pearson(np.log(x), np.log(y))), "this is the correlation; the slope is asked for"),
        (through_origin, "the line has an intercept: take the means away first"),
    ]
    compare(answer(counts, lengths), right, where, slips, exact=False)


def check_prediction(
    answer: Answer, counts: list[int], cases: list[tuple[int, int, float, float, float]], *, least: int = 1
) -> None:
    """Task 5b: `answer(counts, batch_size, steps, lr, start_norm, h_squared)`."""
    table = np.array(counts, dtype=float)
    for case in cases:
        where = f"the predicted slope over {len(counts)} items at batches of {case[0]}, {case[1]} steps, lr {case[2]}"
        right, slips = _predictions(table, table >= least, *case)
        compare(answer(counts, *case), right, where, slips, exact=False)


def _predictions(
    counts: np.ndarray, seen: np.ndarray, size: int, steps: int, lr: float, start: float, h_squared: float
) -> tuple[float, list[tuple[float, str]]]:
    """(the right slope, usual slips) over the items that are `seen`."""
    shares, h = counts / counts.sum(), float(np.sqrt(h_squared))
    updates = norms.expected_updates(shares, batch_size=size, steps=steps)
    more = lr**2 * h_squared * updates

    def slope_of(lengths: np.ndarray) -> float:
        return float(popularity.log_log_slope(lengths[seen], counts[seen]))

    def law(n: np.ndarray, h: float = h) -> float:
        return slope_of(np.asarray(norms.predicted_norm(start, lr=lr, h=h, updates=n)))

    return law(updates), [
        (law(steps * size * shares), "an item that is in the batch twice is still updated once: 1 - (1 - p)^B"),
        (law(counts), "the number of updates is steps times the probability of an update, not the count"),
        (law(updates, h_squared), "h_squared is ||h||^2 already"),
        (law(updates, h / np.sqrt(2)), "||q||^4 grows by 2 lr^2 ||h||^2 with each update"),
        (slope_of((start**2 + more) ** 0.5), "the gradient is h/||q||: it is the fourth power that grows linearly"),
        (slope_of((start**2 + 2 * more) ** 0.25), "the law starts from the fourth power of start_norm"),
        (0.25, "1/4 is the slope far beyond the crossover, and without saturation"),
    ]


def check_largest(answer: Answer, counts: list[int], cases: list[tuple[int, int, float, float, float]]) -> None:
    """Task 6: `answer(counts, batch_size, steps, start_norm, h_squared, ratio)`."""
    shares = np.array([min(counts), max(counts)]) / sum(counts)
    for size, steps, start, h_squared, ratio in cases:
        least, most = norms.expected_updates(shares, batch_size=size, steps=steps)
        where = f"the largest learning rate for a ratio of {ratio} at batches of {size}, {steps} steps"
        got, fourth = answer(counts, size, steps, start, h_squared, ratio), float(most / least) ** 0.25
        if most <= ratio**4 * least:
            never = f"the norms' ratio never exceeds {fourth:.4g}, the fourth root of that of the updates"
            expect(got is None, f"{where}: {never}, so every learning rate will do: return None")
            continue
        expect(got is not None, f"{where}: at high learning rates the ratio does become larger (up to {fourth:.4g})")
        largest = partial(_largest, start)
        right = largest(ratio**4, h_squared, least, most)
        low, high = steps * size * shares
        slips = [
            (largest(ratio**4, h_squared, 0.0, most), "the least popular item grows, too"),
            (
                largest(ratio**4, h_squared, low, high),
                "an item that is in the batch twice is still updated once: 1 - (1 - p)^B",
            ),
            (
                largest(ratio**2, h_squared, least, most),
                "the law is one of fourth powers: the ratio, too, to the fourth",
            ),
            (largest(ratio**4, 2 * h_squared, least, most), "||q||^4 grows by 2 lr^2 ||h||^2 with each update"),
            (largest(ratio**4, h_squared / 2, least, most), "||q||^4 grows by 2 lr^2 ||h||^2 with each update"),
            (right**2 if right is not None else None, "this is the square of the learning rate"),
        ]
        found = [(value, hint) for value, hint in slips if value is not None]
        compare(got, right, where, found, exact=False, tolerance=1e-4)  # 1 - (1 - p)^B costs single precision a digit


def _largest(start: float, ratio: float, h_squared: float, least: float, most: float) -> float | None:
    """The lr of start^4 + 2 lr^2 h_squared most = ratio (start^4 + 2 lr^2 h_squared least); None if there is none."""
    if most <= ratio * least:
        return None
    return float(np.sqrt(start**4 * (ratio - 1) / (2 * h_squared * (most - ratio * least))))


def _gradients_squared(start: list[Any], lr: float, keys: list[Any]) -> float:
    q, total = np.array(start, dtype=float), 0.0
    for key in np.array(keys, dtype=float):
        gradient = geometry.cosine_gradient(q, key)
        total, q = total + float(gradient @ gradient), q + lr * gradient
    return total


# ---- the public checks

# Task 1, without further negatives
update_plain = public(check_update, [(1, 4, 2, 0, 3), (3, 4, 2, 0, 3)])
# Task 1, with further negatives
update_extra = public(check_update, [(1, 4, 2, 1, 3), (3, 4, 2, 2, 3)])
# Task 2a
growth = public(check_growth, [(1, [1], 1), (Fraction(1, 2), [Fraction(1, 4), Fraction(1, 2)], Fraction(1, 2))])
# Task 2b
symmetry = public(
    check_symmetry, [(Fraction(1, 2), Fraction(1), Fraction(3)), (Fraction(1, 3), Fraction(2), Fraction(1, 2))]
)
# Task 3
equilibrium = public(check_equilibrium, [(0.5, 1.0, 0.1, 2.0, False), (0.5, 1.0, 0.1, 2.0, True)])
# Task 4b
pulls = public(check_pulls, [([3.0, 4.0], 5.0, [[0.0, 1.0]]), ([1.0, 0.0], 1.0, [[0.0, 2.0], [1.0, 0.0]])])
# Task 5a, one item without interactions
slope = public(check_slope, [1, 10, 0, 100], [1.0, 1.5, 1.0, 3.0])
# Task 5b
prediction = public(check_prediction, [1, 10, 50, 200], [(8, 100, 1.0, 1.0, 0.5), (64, 100, 0.1, 1.0, 0.5)])
# Task 6
largest = public(check_largest, [1, 10, 50, 200], [(4, 100, 1.0, 0.5, 1.5), (4, 100, 1.0, 0.5, 10.0)])

"""Public checks of the assignment popularity-direction."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from course_lib import popularity
from course_lib.arrays import exact
from course_lib.lessons.shared.forms import (
    CLOSE,
    OTHER_VERSION,
    Answer,
    compare,
    compare_arrays,
    compare_exact,
    compare_list,
    each_case,
    expect,
    fraction,
    is_list,
    is_table,
    is_whole,
    public,
    unit,
)
from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)
from course_lib.lessons.shared.real import bpr_films

HALF = Fraction(1, 2)
ITEMS = [[1.0, 0.5], [0.0, 2.0], [-1.0, 1.0], [0.5, -1.0], [2.0, 1.0], [-0.5, 0.0], [1.5, -0.5], [0.0, -1.5]]
COUNTS = [9, 4, 2, 4, 7, 1, 3, 2]
EVEN = [[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]
UNEVEN = [[1, 1, 1, 0], [0, 1, 0, 0], [1, 0, 0, 1]]
TASTES = [[2, 1], [1, -1], [3, 0]]
TABLES = ([[0.5, -1.0], [1.0, 2.0]], [[1.0, 0.0], [0.0, 1.0], [-0.5, 0.5]])
TRIPLES = [(0, 0, 1), (1, 1, 2), (0, 0, 2), (0, 2, 1)]


def films(epochs: int, rank: int = 16, *, seed: int = 0) -> tuple[list[Any], list[Any], list[Any]]:
    """(items, counts, users): films and users after `epochs` of plain SGD on BPR; counts are ratings of each film.

    Embeddings of width `rank` start as independent N(0, 0.1^2); learning rate 0.05, batches of 256, negatives uniform
    over the films that a user has not rated, no decay.
    """
    users, items, train, _ = bpr_films(epochs, rank, seed=seed)
    return items.tolist(), np.asarray(train.col_counts).tolist(), users.tolist()


# ---- what the checks are made of; the hidden checks call them with other inputs ----


@each_case
def check_direction(answer: Answer, items: list[Any], counts: list[Any], ratio: float) -> None:
    """Task 1a: `answer(items, counts, ratio)`."""
    table, counted = np.array(items), np.array(counts)
    right, slips = popularity.popularity_direction(table, counted, ratio), _direction_slips(table, counted, ratio)
    where = f"the direction of {len(counts)} items at ratio {ratio}"
    compare_arrays(answer(items, counts, ratio), right, where, slips)


def _direction_slips(items: np.ndarray, counts: np.ndarray, ratio: float) -> list[tuple[Any, str]]:
    order, size = np.argsort(-counts, kind="stable"), head_size(len(counts), ratio)
    backwards = np.lexsort((-np.arange(len(counts)), -counts))  # equal counts by the higher id
    top, bottom = order[:size], order[-size:]
    head, tail = items[top], items[bottom]

    def between(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return unit(first.mean(axis=0) - second.mean(axis=0))

    weighted = [np.average(items[ids], axis=0, weights=counts[ids]) for ids in (top, bottom)]
    rows = items / np.maximum(np.linalg.norm(items, axis=1, keepdims=True), 1e-12)
    centred = items - items.mean(axis=0)
    sizes = [k for k in (size - 1, size + 1, size + 2) if 0 < 2 * k <= len(counts)]
    return [
        (head.mean(axis=0) - tail.mean(axis=0), "a direction has length 1"),
        (between(tail, head), "it points from the tail to the head"),
        (
            between(items[backwards[:size]], items[backwards[-size:]]),
            "among equal counts the lower id is the more popular",
        ),
        (unit(head.mean(axis=0)), "the mean of the tail is missing"),
        (between(head, items), "the mean of the tail, not that of all items"),
        (between(head, items[order[size:]]), "the mean of the tail, not that of all other items"),
        (unit(weighted[0] - weighted[1]), "plain means: the counts choose the items, they do not weigh them"),
        (between(rows[top], rows[bottom]), "the items keep their own lengths"),
        (unit(centred.T @ (counts - counts.mean())), "head and tail alone; this is the direction of a regression"),
        *((between(items[order[:k]], items[order[-k:]]), f"head and tail have {size} items here") for k in sizes),
    ]


@each_case
def check_cross_fitted(
    answer: Answer, items: list[Any], counts: list[Any], ratio: float, fold: list[Any], *, power: float = 1.0
) -> None:
    """Task 1b: `answer(items, counts, ratio, fold)`, with a power of the counts, which leaves head and tail alone."""
    table, counted, part = np.array(items), np.array(counts, dtype=float) ** power, np.array(fold)
    names = sorted(set(fold))
    plain = popularity.correlation_across_parts(table, np.array(counts, dtype=float), part, ratio)
    right = popularity.correlation_across_parts(table, counted, part, ratio)
    twice = popularity.projection_correlation(table, counted, ratio)
    along = partial(_along, table, counted, ratio)
    found = popularity.pearson(along(part == names[0], part != names[0]), counted[part == names[0]])
    own = [popularity.pearson(along(part == k, part == k), counted[part == k]) for k in names]
    swapped = [popularity.pearson(along(part != k, part == k), counted[part != k]) for k in names]
    pooled = np.zeros(len(part))
    for k in names:
        pooled[part == k] = along(part == k, part != k)
    pooled_r = popularity.pearson(pooled, counted)
    everywhere = np.array([popularity.pearson(along(part >= 0, part != k), counted) for k in names])
    where = f"the cross-fitted correlation of {len(fold)} items in {len(names)} folds, ratio {ratio}"
    slips = [
        (plain, OTHER_VERSION),
        (twice, "this uses the items twice: once for the direction, once along it"),
        (float(np.mean(own)), "the direction comes from the items of the other folds"),
        (float(np.mean(swapped)), "direction and projection have changed places: measure inside the fold"),
        (pooled_r, "one correlation for each fold, then their mean: directions of two folds are two axes"),
        (float(everywhere.mean()), "the items that made the direction are measured along it again"),
        (found, "the mean over all folds"),
        (len(names) * right, "the mean over the folds, not the sum"),
    ]
    compare(answer(items, counts, ratio, fold), right, where, slips, exact=False)


def _along(items: np.ndarray, counts: np.ndarray, ratio: float, at: np.ndarray, of: np.ndarray) -> np.ndarray:
    """The projections of the items `at` on the direction that the items `of` have."""
    return np.asarray(items[at] @ popularity.popularity_direction(items[of], counts[of], ratio))


@each_case
def check_pull(answer: Answer, labels: list[Any], users: list[Any], *, lead: int = 1) -> None:
    """Task 2: `answer(Y, users)`; a lead of ln(lead) is demanded, so that the weight at 0 is lead/(1 + lead)."""
    weight = Fraction(lead, 1 + lead)
    y, table = exact(labels), exact(users)
    m, n = y.shape
    sizes = y.sum(axis=1)

    def pull(weights: np.ndarray) -> np.ndarray:
        return np.asarray(weights.T @ table * weight)

    roles = popularity.pull_matrix(y)
    right = pull(roles)
    mean_user, chance = table.sum(axis=0) / Fraction(m), (sizes / Fraction(n))[:, None]
    where = f"the first step of {n} items, {m} users"
    slips = [
        (pull(roles / 2 / weight), OTHER_VERSION),
        (pull(y), "every item is a negative as well, for the users who do not have it"),
        (pull(-roles), "descent goes against the gradient"),
        (pull(roles / weight), f"at a margin of 0 the sigmoid is {weight}"),
        (
            np.outer(y.sum(axis=0), mean_user) * weight,
            "this is Pop(i) times the mean user: the users of an item are not all users, and there is a negative role",
        ),
        (pull(y - (1 - y) / (n - sizes)[:, None]), "a user with many items draws many negatives"),
        (pull(y - chance), "a negative is an item that the user does not have: there are N - n_u of them"),
        (pull(y - (1 - y) * chance), "a negative is one of the N - n_u items that the user does not have"),
        (pull(y - (1 - y)), "a user's negatives together weigh as much as the positives"),
        (pull(roles / y.sum()), "the sum over the observed pairs, not their mean"),
        (pull(roles / sizes[:, None]), "the sum over a user's pairs, not their mean"),
        (pull(-(1 - y) * (sizes / (n - sizes))[:, None]), "this is the negative role alone"),
        *(
            (pull(y - (1 - y) * (size / (n - size))), "every user has an n_u of their own")
            for size in (sizes[0], sizes.mean())
        ),
    ]
    compare_exact(answer(labels, users), right, where, slips)


LAWS = {
    "all": popularity.TripleLaw(negatives="uniform", collision="keep"),
    "unseen": popularity.TripleLaw(negatives="uniform", collision="redraw"),
    "popularity": popularity.TripleLaw(negatives="popularity", collision="redraw"),
}
"""Task 3's names: Spotlight, RecBole and LightFM draw so."""


@each_case
def check_negatives(answer: Answer, labels: list[Any], law: str, *, draws: int = 1) -> None:
    """Task 3: `answer(Y, law)`; every observed pair draws so many negatives."""
    y = exact(labels)
    m, n = y.shape
    sizes, counts = y.sum(axis=1), y.sum(axis=0)
    laws = {name: draws * popularity.expected_roles(y, of_name)[1] for name, of_name in LAWS.items()}
    right = laws[law]
    of_all = popularity.expected_roles(y, popularity.TripleLaw(negatives="popularity", collision="keep"))[1]
    skipped = popularity.expected_roles(y, popularity.TripleLaw(negatives=LAWS[law].negatives, collision="skip"))[1]
    slips = [
        (right / draws, OTHER_VERSION),
        *((other, f'this is the law "{name}"') for name, other in laws.items() if name != law),
        (of_all, "only among the items that the user does not have"),
        (skipped, "a draw that hits an item of the user is not lost: the probabilities of the unseen items sum to 1"),
        (
            (1 - y).sum(axis=0),
            "the number of users who do not have the item: each of them draws once for each item that they have",
        ),
        ((1 / (n - sizes)) @ (1 - y), "one negative for each pair: a user with n_u items draws n_u times"),
        (right / y.sum(), "the expected number in an epoch, not the chance in one draw"),
        (right / m, "the expected number in an epoch, not the mean over the users"),
        (counts, "this is how often the item is a positive"),
        (counts - right, "how often it is a negative; the difference of the two roles is the next question"),
    ]
    if law == "popularity":
        slips.append((_capped(y, counts), "probability proportional to the count, not to the place in the ranking"))
    where = f'the expected numbers of {n} items as negatives, law "{law}"'
    compare_list(answer(labels, law), right, where, slips)


def _capped(y: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """What a draw by rank instead of by count would give."""
    ranks = np.argsort(np.argsort(counts.astype(float), kind="stable"), kind="stable") + 1
    weights = (1 - y) * exact(ranks)
    return np.asarray((y.sum(axis=1) / weights.sum(axis=1)) @ weights)


@each_case
def check_step(
    answer: Answer, users: list[Any], items: list[Any], triples: list[Any], lr: float, *, lead: int = 1
) -> None:
    """Task 4a: `answer(users, items, triples, lr)`, with the lead of task 2."""
    where = f"the tables after {len(triples)} triples at lr {lr}"
    value = answer(users, items, triples, lr)
    expect(
        is_list(value, 2) and all(is_list(table) for table in value),
        f"{where}: two tables are expected, users and items",
    )
    right = descend(users, items, triples, lr, lead=lead)
    hints = {
        "user first": "the item steps use the user's embedding from before the step",
        "batch": "one triple after another: the next margin is that of the moved embeddings",
        "kept negative": "the negative item moves, too: away from the user",
        "frozen user": "the user moves, too",
        "ascent": "this step makes the margin smaller",
        "sigma(s)": "the weight is sigma(-margin): large where the order is wrong",
        "half": "the weight is sigma(-margin), which is 1/2 at a margin of 0 only",
    }
    slips = [(descend(users, items, triples, lr, slip=slip, lead=lead), hint) for slip, hint in hints.items()]
    slips = [(descend(users, items, triples, lr), OTHER_VERSION), *slips]
    shapes = [len(table[0]) for table in (users, items)]
    for place, (name, rows) in enumerate((("users", len(users)), ("items", len(items)))):
        expect(len(value[place]) == rows, f"{where}: the table of {name} has {rows} rows of {shapes[place]}")
        others = [(slip[place], hint) for slip, hint in slips]
        compare_arrays(value[place], right[place], f"{where}: {name}", others)
    before, after = (np.array(table, dtype=float).sum(axis=0) for table in (items, value[1]))
    drift, largest = float(np.abs(before - after).max()), max(1.0, float(np.abs(right[1]).max()))
    expect(
        drift <= CLOSE * largest, f"{where}: the sum of all items has moved by {drift:.3g}, and it may not move at all"
    )


def descend(
    users: Any, items: Any, triples: Any, lr: float, *, slip: str = "", lead: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Plain SGD on BPR, one triple after another; `slip` names a usual mistake."""
    users, items = np.array(users, dtype=float), np.array(items, dtype=float)
    start_users, start_items = users.copy(), items.copy()
    for u, i, j in triples:
        p, q, r = (
            (start_users[u], start_items[i], start_items[j]) if slip == "batch" else (users[u], items[i], items[j])
        )
        p, difference = p.copy(), q - r
        margin = float(p @ difference) - float(np.log(lead))
        weight = {"sigma(s)": _sigmoid(margin), "half": 0.5}.get(slip, _sigmoid(-margin))
        move = (-lr if slip == "ascent" else lr) * weight
        if slip != "frozen user":
            users[u] += move * difference
        arm = users[u].copy() if slip == "user first" else p
        items[i] += move * arm
        if slip != "kept negative":
            items[j] -= move * arm
    return users, items


@each_case
def check_sum(answer: Answer, total: list[Any], lr: Any, decay: Any, steps: int, *, slower: str = "1") -> None:
    """Task 4b: `answer(total, lr, decay, steps)`; after each step the learning rate is multiplied by `slower`."""
    vector = exact(total)
    kept = 1 - 2 * Fraction(lr) * Fraction(decay)
    rest = Fraction(1)
    for step in range(steps):
        rest *= 1 - 2 * Fraction(lr) * Fraction(slower) ** step * Fraction(decay)

    where = f"the sum of the items after {steps} steps at lr {lr}, decay {decay}"
    slips = [
        (kept**steps, OTHER_VERSION),
        (Fraction(1), "the triples leave the sum alone, the decay does not"),
        ((1 - Fraction(lr) * Fraction(decay)) ** steps, "the gradient of decay ||e||^2 is 2 decay e"),
        (1 - 2 * Fraction(lr) * Fraction(decay) * steps, "every step shrinks what the step before has left"),
        ((1 - 2 * Fraction(decay)) ** steps, "the decay is multiplied by the learning rate"),
        ((2 - kept) ** steps, "decay makes the sum smaller"),
        (kept, "there are several steps"),
    ]
    shrunk = [(vector * factor, hint) for factor, hint in slips]
    compare_list(answer(total, lr, decay, steps), vector * rest, where, shrunk)


@each_case
def check_gap(answer: Answer, positives: list[Any], total: list[Any], n: int) -> None:
    """Task 4c: `answer(positives, total, n_items)`."""
    table, whole = exact(positives), exact(total)
    liked = table.sum(axis=0)
    k = Fraction(len(positives))
    mean = liked / k
    right = mean - (whole - liked) / (n - k)
    where = f"g_pos - g_neg with {k} of {n} items, sum of all items {short(total)}"
    slips = [
        (-right, "the positives come first"),
        (mean, "the negatives have a mean, too: whatever the positives have, the others lack"),
        (mean - whole / n, "the mean of the items that the user does NOT have, not that of all items"),
        (mean - whole / (n - k), "take the positives out of the sum before you divide"),
        (mean - (whole - liked) / n, "N - n_u items are left"),
        ((whole - liked) / (n - k), "this is g_neg; the difference is asked for"),
        (liked - (whole - liked), "means, not sums"),
        (mean + (whole - liked) / (n - k), "the difference of the two means"),
    ]
    compare_list(answer(positives, total, n), right, where, slips)


@each_case
def check_two_tastes(answer: Answer, m: int, n: int) -> None:
    """Task 5a: `answer(m, n)`."""
    value, where = answer(m, n), f"{m} users and {n} items"
    expect(is_table(value, m, n), f"{where}: Y is a list of {m} rows of {n} numbers")
    expect(all(is_whole(entry) and entry in (0, 1) for row in value for entry in row), f"{where}: Y holds 0 and 1")
    y = np.array(value, dtype=float)
    sizes, counts = y.sum(axis=1), y.sum(axis=0)
    expect(bool(((sizes > 0) & (sizes < n)).all()), f"{where}: every user has an item, and lacks one")
    expect(bool((counts > 0).all()), f"{where}: every item has a user")
    expect(
        counts.max() >= 2 * counts.min(),
        f"{where}: counts from {counts.min():.0f} to {counts.max():.0f}: "
        "the most popular item needs twice as many users as the least",
    )
    _, values, axes = np.linalg.svd(popularity.pull_matrix(y))
    expect(
        values[0] >= 1.2 * values[1],
        f"{where}: the largest singular value is {values[0]:.4g} and the next {values[1]:.4g}: no axis stands out",
    )
    seen = abs(float(np.corrcoef(axes[0], counts)[0, 1]))
    hint = "What do the users of the most popular items share, and who is against them?"
    expect(
        seen <= 0.1, f"{where}: the axis that BPR draws out first has correlation {seen:.3f} with popularity. {hint}"
    )


@each_case
def check_against(answer: Answer, m: int, count: int, *, longest: int = 1) -> None:
    """Task 5b: `answer(m, count)`; no user is longer than `longest`, and none shorter than half of it."""
    value, where = answer(m, count), f"{m} users, {count} of them like the item"
    expect(is_list(value, 2), f"{where}: two things are asked for: return users, likers")
    rows, likers = value
    expect(is_table(rows, m, 2), f"{where}: users has {m} rows of two numbers")
    users = exact([[fraction(entry, f"{where}: users") for entry in row] for row in rows])
    lengths = (users * users).sum(axis=1)
    expect(
        all(Fraction(longest**2, 4) <= length <= longest**2 for length in lengths),
        f"{where}: every user has a length from {Fraction(longest, 2)} to {longest}; "
        f"the squares run from {float(min(lengths)):.4g} to {float(max(lengths)):.4g}",
    )
    expect(
        is_list(likers, count) and all(is_whole(u) and 0 <= u < m for u in likers) and len(set(likers)) == count,
        f"{where}: likers holds {count} different ids from 0 to {m - 1}",
    )
    mean = users.sum(axis=0) / Fraction(m)
    theirs = users[[int(u) for u in likers]].sum(axis=0) / Fraction(count)
    product = mean @ theirs
    expect(bool(mean.any()), f"{where}: the mean user is zero, so there is no direction to be against")
    hint = "Can those who like it cancel out almost, and lean a little to the other side?"
    expect(
        product < 0,
        f"{where}: the mean user and the mean of those who like the item have the product {float(product):.4g}, "
        f"which is not negative. {hint}",
    )


@each_case
def check_null(answer: Answer, counts: list[Any], d: int, ratio: float, *, power: float = 1.0) -> None:
    """Task 6: `answer(counts, d, ratio)`, with a power of the counts."""
    counted = np.array(counts, dtype=float) ** power
    plain = popularity.chance_cosine(np.array(counts, dtype=float), ratio) * (d / (d + len(counts))) ** 0.5
    n, size = len(counts), head_size(len(counts), ratio)
    ranked = np.sort(counted)[::-1]
    apart = float(ranked[:size].mean() - ranked[-size:].mean())

    sd, head, delta = float(counted.std()), float(ranked[:size].mean()), float(np.sqrt(d / (2 * size)))

    def r0(
        shift: float = delta, *, share: float = size / n, sd: float = sd, apart: float = apart, noise: float = 1.0
    ) -> float:
        return float(share * shift * apart / (sd * np.sqrt(noise + 2 * share * shift**2)))

    where = f"the correlation of {n} random items in {d} dimensions, ratio {ratio}"
    slips = [
        (plain, OTHER_VERSION),
        (0.0, "the head has chosen the direction that it is measured along, so it is not zero on average"),
        (
            size / n * delta * apart / sd,
            "the shift of head and tail is itself a part of the variance of the projections",
        ),
        (r0(sd=float(counted.std(ddof=1))), "the variance over all items: divide by N"),
        (r0(noise=0.0), "around its shift each projection has the variance 1"),
        (r0((d / size) ** 0.5), "v_diff is the difference of two means: its squared length is 2 d / H on average"),
        (r0((2 * d / size) ** 0.5), "delta is half the length of v_diff: one mean of the two"),
        (r0(d / (2 * size)), "delta is a length: take the root"),
        (r0(apart=head), "the tail is shifted as well, to the other side"),
        (r0(apart=head - float(counted.mean())), "the tail is shifted as well, to the other side"),
        (r0(share=1.0), "only head and tail are shifted: H of the N items each"),
    ]
    right = popularity.chance_cosine(counted, ratio) * (d / (d + n)) ** 0.5
    compare(answer(counts, d, ratio), right, where, slips, exact=False)


def head_size(n: int, ratio: float) -> int:
    """The number of items in the head, and in the tail."""
    return max(1, round(ratio * n))


def short(values: Sequence[Any]) -> str:
    return "(" + ", ".join(str(value) for value in values) + ")"


def _sigmoid(x: float) -> float:
    return float(np.exp(-np.logaddexp(0.0, -x)))


# ---- the public checks

# Task 1a, eight items; two counts are equal
direction = public(check_direction, [(ITEMS, COUNTS, 0.125), (ITEMS, COUNTS, 0.25), (ITEMS, COUNTS, 0.375)])
# Task 1b, eight items in two folds, twice
cross_fitted = public(
    check_cross_fitted, [(ITEMS, COUNTS, 0.25, fold) for fold in ([0, 1, 0, 1, 1, 0, 0, 1], [0, 1, 1, 0, 0, 1, 0, 1])]
)
# Task 2, three users with two items each
pull_even = public(check_pull, [(EVEN, TASTES), (EVEN, TASTES[::-1])])
# Task 2, users with one, two and three items
pull_uneven = public(check_pull, [(UNEVEN, TASTES), (UNEVEN, TASTES[::-1])])
# Task 3, for "all" and "unseen"
negatives_uniform = public(check_negatives, [(UNEVEN, law) for law in ("all", "unseen")])
# Task 3, for "popularity"
negatives_popular = public(check_negatives, [(UNEVEN, "popularity"), (EVEN, "popularity")])
# Task 4a, one triple and four
step = public(check_step, [(*TABLES, TRIPLES[:1], 0.5), (*TABLES, TRIPLES, 0.5)])
# Task 4b, one step and three
decayed_sum = public(check_sum, [([1, -2], HALF, Fraction(1, 10), steps) for steps in (1, 3)])
# Task 4c, a sum of zero, and another
gap = public(check_gap, [([[1, 2], [3, -1]], total, 6) for total in ([0, 0], [5, -3])])
# Task 5a, for eight users and eight items, and for more items
two_tastes = public(check_two_tastes, [(8, 8), (8, 12)])
# Task 5b, one liker of three, and two of three
against_the_mean = public(check_against, [(3, 1), (3, 2)])
# Task 6, ten items
null_small = public(check_null, [([30, 20, 9, 9, 5, 3, 2, 1, 1, 1], d, 0.2) for d in (1, 8)])
# Task 6, on the films
null_films = public(lambda answer, **numbers: check_null(answer, [(films(0)[1], 16, 0.05)], **numbers))

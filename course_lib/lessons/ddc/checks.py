"""Public checks of the assignment ddc."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from course_lib import correction, popularity
from course_lib.arrays import exact
from course_lib.interactions import Interactions
from course_lib.lessons.shared.forms import (
    OTHER_VERSION,
    Answer,
    NotYet,
    compare,
    compare_arrays,
    compare_exact,
    each_case,
    expect,
    floats,
    is_list,
    is_whole,
    number,
    public,
    unit,
)
from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)
from course_lib.lessons.shared.real import bpr_films

Case = tuple[list[Any], list[Any], list[Any], list[Any]]
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
ITEMS = [[1.0, 0.0], [0.5, 1.0], [-1.0, 2.0], [2.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]
FOUR = ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5]], ITEMS, [[0, 3], [2, 3, 1], [0, 2, 5], [1, 4]])
ONE = ([0.5, -0.25, 1.0], [0.0, -1.0, 0.5, 0.25], [1.0, -0.5, 0.75], [0.5, -1.0, 2.0, -0.25])
OTHER = ([1.0, 2.0], [0.5, -0.5, 1.5], [2.0, -1.0], [-2.0, -1.0, 0.5])
TOP_HEAVY = ([0.5, 1.0], [2.0, -1.0, -2.0], [1.0, 2.0], [-1.0, 0.5, 1.0])
SMALL = ([2, 0, 1], [0, -1], [1, -1, 1], [1, -2])
LOPSIDED = ([1, HALF], [THIRD, 0, 1], [2, 1], [3, 1, -1])
WORDS = ("none", "one", "many")
SETTLED, MOST_ROWS, MOST_WIDTH = 1e-6, 60, 6


LISTS = ([[1.0, 0.5], [0.0, 1.0], [-1.0, 1.0]], ITEMS, [[3], [2, 1], [5]], [[0, 5], [], [4]], [3, 1, 5, 9, 2, 4], 2)


def films(epochs: int, rank: int = 16, *, seed: int = 0) -> tuple[list[Any], ...]:
    """(users, items, histories, held_out, counts, pop): users and films after `epochs` of plain SGD on BPR.

    histories, held_out: for each user the films that the training has seen, four fifths, and the rest. counts: how
    often each film stands in the histories. pop: the popularity direction of the trained films, head and tail of 5 per
    cent each.
    """
    users, items, train, test = bpr_films(epochs, rank, share=0.8, seed=seed)
    assert test is not None  # there is one for a share below 1
    counts = np.asarray(train.col_counts)
    pop = popularity.popularity_direction(items, counts)
    histories, held_out = ([data.items_of(user).tolist() for user in range(len(users))] for data in (train, test))
    return users.tolist(), items.tolist(), histories, held_out, counts.tolist(), pop.tolist()


def hard(seed: int, positives: int, negatives: int) -> Case:
    """A user with margins of about -25, the wrong way round, whose a and b have very different scales."""
    rng = np.random.default_rng([21, seed])
    a = rng.normal(size=positives) * 0.05 + 0.02
    b = rng.normal(size=negatives) * 8
    a[0], a[1], b[0], b[1] = -abs(a[0]), abs(a[1]), -abs(b[0]), abs(b[1])
    pos_scores, neg_scores = 6 * rng.normal(size=positives) - 25, 6 * rng.normal(size=negatives)
    return pos_scores.tolist(), neg_scores.tolist(), a.tolist(), b.tolist()


def shifted(seed: int, positives: int, negatives: int, d: int) -> Case:
    """(user, positives, negatives, pop): positives that the user likes, half of them against the others."""
    rng = np.random.default_rng([22, seed])
    axis = rng.normal(size=d)
    liked = rng.normal(size=(positives, d)) + 1.5 * axis * rng.choice([-1, 1], size=positives)[:, None]
    user = rng.normal(size=d) * 0.3
    return user.tolist(), liked.tolist(), rng.normal(size=(negatives, d)).tolist(), unit(rng.normal(size=d)).tolist()


# ---- what the checks are made of; the hidden checks call them with other inputs ----


@each_case
def check_preference(answer: Answer, user: list[Any], items: list[Any], history: list[Any], share: Fraction) -> None:
    """Task 1a: `answer(user, items, history, share)`."""
    table, taste, known = np.array(items), np.array(user), np.array(sorted(history))
    scores = table[known] @ taste
    best = known[np.argsort(-scores, kind="stable")]
    size = -(-share * len(history) // 1)
    total = table[best[:size]].sum(axis=0)
    got = answer(user, items, history, share)
    where = f"e_pref from {size} of {len(history)} items"
    if not total.any():
        expect(got is None, f"{where}: the chosen items sum to zero, so there is no direction: return None")
        return
    expect(got is not None, f"{where}: the chosen items do not sum to zero, so there is a direction")
    everything = np.argsort(-(table @ taste), kind="stable")
    backwards = known[np.lexsort((-known, -scores))]
    as_given = np.array(history)[np.argsort(-(table[history] @ taste), kind="stable")]
    worst_first = known[np.argsort(scores, kind="stable")]
    of_all = -(-share * len(items) // 1)
    rows = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)

    def towards(ids: np.ndarray, table: np.ndarray = table) -> np.ndarray:
        return unit(table[ids].sum(axis=0))

    slips = [
        (total, "a direction has length 1"),
        (total / size, "a direction has length 1"),
        (towards(known), "only the best of the items that the user has"),
        (towards(everything[:size]), "the items come from the user's history, not from the whole catalogue"),
        (towards(everything[:of_all]), "the items come from the user's history, not from the whole catalogue"),
        (towards(best[-size:]), "the highest scores, not the lowest"),
        (towards(worst_first[:size]), "the highest scores, not the lowest"),
        (towards(backwards[:size]), "equal scores: the lower id first"),
        (towards(as_given[:size]), "equal scores: the lower id first, in whatever order the history comes"),
        (towards(best[: size - 1]), "round the number of items up"),
        (towards(best[: size + 1]), "that is one item too many: round share times the number up, and no further"),
        (towards(best[:size], rows), "the items keep their own lengths"),
        (unit(np.sort(scores)[::-1][:size] @ table[best[:size]]), "a plain sum: the scores choose, they do not weigh"),
    ]
    compare_arrays(got, unit(total), where, slips)


def raised(neg_scores: Sequence[Any], lead: str) -> list[Any]:
    """The scores of the negatives with the lead that every positive must have: log(1 + exp(lead - margin))."""
    return [score + float(Fraction(lead)) for score in neg_scores]


@each_case
def check_loss(
    answer: Answer,
    s: list[Any],
    plain: list[Any],
    a: list[Any],
    b: list[Any],
    alpha: float,
    beta: float,
    *,
    lead: str = "0",
) -> None:
    """Task 1b: `answer(pos_scores, neg_scores, a, b, alpha, beta)`."""
    t = raised(plain, lead)
    right = correction.user_loss(s, t, a, b, alpha, beta)
    of = partial(correction.user_loss, s, t, a, b)
    at_means = float(np.logaddexp(0, np.mean(t) + alpha * np.mean(b) - np.mean(s) - beta * np.mean(a)))
    slips = [
        (correction.user_loss(s, plain, a, b, alpha, beta), OTHER_VERSION),
        (correction.user_loss(s, raised(plain, f"-{lead}"), a, b, alpha, beta), "the lead makes the task harder"),
        (of(0.0, 0.0), "alpha and beta have no part in it"),
        (of(beta, alpha), "beta belongs to the positives, alpha to the negatives"),
        (of(-alpha, beta), "the negative's score is s_j + alpha b_j, and it is taken away as a whole"),
        (of(alpha, -beta), "the positive's score is s_i + beta a_i"),
        (of(-alpha, -beta), "the scores are s + beta a and s + alpha b"),
        (right * len(s) * len(t), "the mean over all pairs, not the sum"),
        (right * len(s), "the mean over all pairs"),
        (right * len(t), "the mean over all pairs"),
        (correction.user_loss(t, s, b, a, beta, alpha), "the margin is the positive's score minus the negative's"),
        (at_means, "the mean of the losses, not the loss of the mean margin"),
    ]
    if len(s) == len(t):
        paired = np.logaddexp(0, np.array(t) + alpha * np.array(b) - np.array(s) - beta * np.array(a))
        slips.append((float(paired.mean()), "every positive meets every negative"))
    got = answer(s, plain, a, b, alpha, beta)
    where = f"the loss of {len(s)} x {len(t)} pairs at alpha = {alpha}, beta = {beta}"
    if isinstance(got, float) and not np.isfinite(got):
        raise NotYet(
            f"{where}: {got}, which is not finite: exp overflows at large margins. What is log(1 + exp(x)) near, then?"
        )
    compare(got, right, where, slips, exact=False)


@each_case
def check_minimisers(answer: Answer, a: list[Any], b: list[Any]) -> None:
    """Task 2a: `answer(a, b)`."""
    got, where = answer(a, b), f"a = {_short(a)}, b = {_short(b)}"
    expect(isinstance(got, str) and got in WORDS, f'{where}: one of the words "none", "one" and "many" is expected')
    right = count_minimisers(a, b)
    if got == right:
        return
    lopsided = [name for name, values in (("a", a), ("b", b)) if any(values) and _one_sided(values)]
    flat = [name for name, values in (("a", a), ("b", b)) if not any(values)]
    if right == "none":
        scalar = "beta" if lopsided[0] == "a" else "alpha"
        hint = f"{lopsided[0]} has one sign only: in which direction can {scalar} run without raising any term?"
    elif right == "many":
        hint = f"{flat[0]} is zero throughout, so one scalar does not matter; can the other one run away?"
    else:
        hint = "a and b have both signs, strictly: whichever way (alpha, beta) runs, some margin falls without end"
    raise NotYet(f'{where}: "{got}" is not right. {hint}')


def count_minimisers(a: Sequence[float], b: Sequence[float]) -> str:
    """How many minimisers the loss of a user has: none, one or (infinitely) many."""
    if correction.has_minimiser(a, b):
        return "one"
    return "none" if any(any(values) and _one_sided(values) for values in (a, b)) else "many"


def _one_sided(values: Sequence[float] | np.ndarray) -> bool:
    return bool(min(values) >= 0 or max(values) <= 0)


@each_case
def check_without(
    answer: Answer, users: list[Any], items: list[Any], histories: list[Any], pop: list[Any], share: Fraction
) -> None:
    """Task 2b: `answer(users, items, histories, pop, share)`."""
    got = answer(users, items, histories, pop, share)
    where = f"the number of {len(users)} users without a minimiser, share {share}"
    expect(is_whole(got), f"{where}: a whole number is expected")
    missing = partial(_missing, users, items, histories, pop)
    right = missing(share)
    if got == right:
        return
    rows = list(projections(users, items, histories, pop, share))
    lost_both = sum(_one_sided(a) and _one_sided(b) for _, _, a, b in rows)
    slips = [
        (len(users) - right, "this is the number of users who have one"),
        (lost_both, "one of the two, a or b, is enough to lose the minimiser"),
        (sum(_one_sided(a) for _, _, a, _ in rows), "b must have both signs, too"),
        (sum(_one_sided(b) for _, _, _, b in rows), "a must have both signs, too"),
        (missing(share, every=True), "b is taken over the items that the user does not have"),
        (missing(Fraction(1)), "e_pref comes from the best of the user's items"),
        (0, "not every user has an optimum: see task 2a"),
        (missing(share, best=True), "e_pref comes from the best of the user's items; a is taken over all of them"),
    ]
    compare(got, right, where, slips, exact=True)


def _missing(users: list[Any], items: list[Any], histories: list[Any], pop: list[Any], share: Any, **slip: bool) -> int:
    """The number of users without a unique minimiser."""
    return sum(
        not correction.has_minimiser(a, b) for _, _, a, b in projections(users, items, histories, pop, share, **slip)
    )


def projections(
    users: list[Any],
    items: list[Any],
    histories: list[Any],
    pop: list[Any],
    share: Any,
    *,
    every: bool = False,
    best: bool = False,
) -> Iterator[tuple[np.ndarray, ...]]:
    """(positive scores, negative scores, a, b) of each user; `every` and `best` name usual slips."""
    tastes, table, axis = np.array(users), np.array(items), np.array(pop)
    owners = np.repeat(np.arange(len(users)), [len(history) for history in histories])
    data = Interactions(owners, np.concatenate(histories), n_users=len(users), n_items=len(items))
    directions = correction.preference_directions(tastes, table, data, float(share))
    for u, history in enumerate(histories):
        known = np.sort(np.array(history))
        lacking = np.ones(len(items), dtype=bool)
        lacking[known] = every
        scores = table @ tastes[u]
        chosen = known
        if best:
            chosen = known[np.argsort(-scores[known], kind="stable")][: -(-share * len(known) // 1)]
        yield scores[known], scores[lacking], table[chosen] @ directions[u], table[lacking] @ axis


@each_case
def check_surrogate(answer: Answer, case: Case, *, lead: str = "0") -> None:
    """Task 3a: `answer(pos_scores, neg_scores, a, b)`; the expansion is around a margin of `lead`."""
    ahead = Fraction(lead)
    s, t, a, b = (exact(values) for values in case)
    p, q = Fraction(len(s)), Fraction(len(t))
    root = partial(_surrogate, s, t, a, b)
    right = root(2 + ahead)
    got = answer(*case)
    where = f"the quadratic's [alpha, beta], {p} positives and {q} negatives"
    expect(is_list(got, 2), f"{where}: two numbers are expected, alpha and beta")
    if right is None:
        raise RuntimeError("this quadratic has no unique minimum: the case is wrong, not the answer")
    (alpha, beta), lone = right[0], root(2 + ahead, cross=0)
    centred = b - _mean(b)
    regression = [[-_mean(t * centred) / _mean(centred * b), beta]] if any(centred) else None
    slips = [
        (root(2), OTHER_VERSION),
        (root(2 - ahead), "the expansion is around the lead, so x - lead stands in it"),
        ([[beta, alpha]], "alpha comes first"),
        ([[-alpha, beta]], "the sign of alpha: the negative's score is s_j + alpha b_j"),
        (root(1 + ahead), "log(1 + e^-x) = ln 2 - x/2 + x^2/8 - ...: its second derivative at 0 is 1/4"),
        (root(4 + ahead), "log(1 + e^-x) = ln 2 - x/2 + x^2/8 - ...: its second derivative at 0 is 1/4"),
        (root(ahead), "the linear term of the expansion is missing"),
        (lone, "alpha and beta meet in every margin: the mixed term is missing"),
        ([[-_mean(t * b) / _mean(b * b), beta]], "this alpha is right only where the mean of b is zero"),
        (regression, "the regression has no intercept here: b keeps its mean"),
    ]
    compare_exact([got], right, where, slips)


def _surrogate(
    s: np.ndarray, t: np.ndarray, a: np.ndarray, b: np.ndarray, target: Fraction | int, *, cross: int = 1
) -> list[Any] | None:
    """[[alpha, beta]] at which E[(margin - target) a] and E[(margin - target) b] vanish; None where not unique."""
    aa, bb, ab = _mean(a * a), _mean(b * b), _mean(a) * _mean(b) * cross
    first = (target + _mean(t)) * _mean(a) - _mean(s * a)  # aa beta - ab alpha
    second = (target - _mean(s)) * _mean(b) + _mean(t * b)  # ab beta - bb alpha
    determinant = aa * bb - ab * ab
    if not determinant:
        return None
    return [[(ab * first - aa * second) / determinant, (bb * first - ab * second) / determinant]]


def _mean(values: np.ndarray) -> Fraction:
    return Fraction(values.sum()) / len(values)


@each_case
def check_solve(answer: Answer, case: Case, *, lead: str = "0") -> None:
    """Task 3b: `answer(pos_scores, neg_scores, a, b)`."""
    s, plain, a, b = case
    got, where = answer(*case), f"the best [alpha, beta], {len(s)} positives and {len(plain)} negatives"
    t = raised(plain, lead)
    right = correction.solve_user(s, t, a, b)
    if right is None:
        runs = f"a is {_short(a)} and b {_short(b)}, so this user has no minimiser"
        expect(got is None, f"{where}: {runs}: return None")
        return
    expect(got is not None, f"{where}: a and b have both signs, so there is exactly one minimiser")
    alpha, beta = floats(got, (2,), where)
    slope = correction.user_gradient(s, t, a, b, alpha, beta)
    loss = partial(correction.user_loss, s, t, a, b)
    if _near((alpha, beta), right):
        return
    if _near((alpha, beta), correction.solve_user(s, plain, a, b) or right):
        hint = OTHER_VERSION
    elif _near((beta, alpha), right):
        hint = "alpha comes first"
    elif abs(alpha + right[0]) <= SETTLED * max(1.0, abs(right[0])):
        hint = "the sign of alpha: the negative's score is s_j + alpha b_j"
    elif loss(alpha, beta) > loss(0.0, 0.0):
        hint = "The loss is higher there than at (0, 0): a Newton step may be too long, so halve it until it falls"
    elif max(map(abs, slope)) < 1e-3:
        hint = "It is near: go on until the gradient is about 1e-12, or use the second derivatives"
    else:
        hint = "The gradient is not zero there"
    raise NotYet(
        f"{where}: ({alpha:.7g}, {beta:.7g}) is not the minimiser; "
        f"the gradient there is ({slope[0]:.2g}, {slope[1]:.2g}). {hint}."
    )


def _near(found: tuple[float, float], right: tuple[float, float]) -> bool:
    return all(abs(x - y) <= SETTLED * max(1.0, abs(y)) for x, y in zip(found, right, strict=True))


@each_case
def check_sign(
    answer: Answer, s: list[Any], plain: list[Any], a: list[Any], b: list[Any], beta: float, *, lead: str = "0"
) -> None:
    """Task 4a: `answer(pos_scores, neg_scores, a, b, beta)`."""
    got, t = answer(s, plain, a, b, beta), raised(plain, lead)
    where = f"the sign of the best alpha at beta = {beta}, {len(s)} positives and {len(t)} negatives"
    expect(is_whole(got) and got in (-1, 1), f"{where}: -1 or 1 is expected")
    right, at_zero = (-int(np.sign(correction.user_gradient(s, t, a, b, 0.0, at)[0])) for at in (beta, 0.0))
    if got == right:
        return
    if got == -int(np.sign(np.mean(b))):
        hint = (
            "The mean of b is not enough: a negative weighs sigma(-margin), "
            "so the ones that the user would be shown count most"
        )
    elif got == at_zero:
        hint = "The weights are those at beta, not at 0"
    elif right == 1:
        hint = (
            "It does not become negative for everybody: which negatives have the large weights, "
            "and on which side do they lie?"
        )
    else:
        hint = "If the loss rises with alpha at 0, the best alpha lies below"
    raise NotYet(f"{where}: {got} is not right. {hint}.")


@each_case
def check_flip(
    answer: Answer, user: list[Any], liked: list[Any], others: list[Any], pop: list[Any], *, lead: str = "0"
) -> None:
    """Task 4b: `answer(user, positives, negatives, pop)`."""
    where = f"{len(liked)} positives, {len(others)} negatives, {len(user)} dimensions"
    before = settle(user, liked, others, pop, lead)
    if before is None:
        raise RuntimeError("this user has no minimiser to begin with: the case is wrong, not the answer")
    shift = floats(answer(user, liked, others, pop), (len(user),), f"{where}: the vector c")
    expect(float(np.abs(shift).max()) <= 1e3, f"{where}: the entries of c lie between -1,000 and 1,000")
    after = settle(user, np.array(liked) + shift, np.array(others) + shift, pop, lead)
    b = (np.array(others) + shift) @ np.array(pop)
    if after is None:
        runs = (
            "b has one sign: c goes too far along e_pop" if _one_sided(b) else "a has one sign: c turns e_pref too far"
        )
        raise NotYet(f"{where}: after the shift the user has no minimiser ({runs})")
    hint = "b_j becomes b_j + <e_pop, c>: which c lifts the weighted mean of b over zero?"
    expect(
        after[0] * before[0] < 0 and abs(after[0]) >= 0.01,
        f"{where}: alpha is {before[0]:.4g} before the shift and {after[0]:.4g} after it; "
        f"at least 0.01 on the other side is asked for. {hint}",
    )


def settle(user: Any, positives: Any, negatives: Any, pop: Any, lead: str = "0") -> tuple[float, float] | None:
    """The best (alpha, beta) of one user whose e_pref comes from all positives; None where there is none."""
    taste, liked, others = (np.array(values, dtype=float) for values in (user, positives, negatives))
    axis = unit(liked.sum(axis=0))
    b = others @ np.array(pop, dtype=float)
    return correction.solve_user(liked @ taste, raised(others @ taste, lead), liked @ axis, b)


@each_case
def check_worse(answer: Answer, drop: float, *, lead: str = "0", length: int | None = None) -> None:
    """Task 5a: `answer(drop)`; with `length` the user's embedding is so long."""
    value, where = answer(drop), f"drop = {drop}"
    expect(is_list(value, 4), "four things are asked for: return user, positives, negatives, pop")
    user = floats(value[0], (None,), f"{where}: user")
    d = len(user)
    expect(2 <= d <= MOST_WIDTH, f"{where}: embeddings have 2 to {MOST_WIDTH} dimensions")
    long = float(np.linalg.norm(user))
    expect(length is None or abs(long - (length or 0)) <= SETTLED, f"{where}: user is {long:.6g} long, not {length}")
    liked, others = (
        floats(rows, (None, d), f"{where}: {name}")
        for rows, name in zip(value[1:3], ("positives", "negatives"), strict=True)
    )
    expect(max(len(liked), len(others)) <= MOST_ROWS, f"{where}: at most {MOST_ROWS} positives, and as many negatives")
    pop = floats(value[3], (d,), f"{where}: pop")
    expect(max(float(np.abs(x).max()) for x in (user, liked, others, pop)) <= 100, f"{where}: numbers from -100 to 100")
    expect(float(np.linalg.norm(pop)) > 1e-6, f"{where}: pop is not zero")
    expect(
        float(np.linalg.norm(liked.sum(axis=0))) > 1e-6,
        f"{where}: the positives do not sum to zero, else there is no e_pref",
    )
    axis, pop = unit(liked.sum(axis=0)), unit(pop)
    before = ranked_right(user, liked, others)
    expect(
        before == 1,
        f"{where}: before DDC every positive stands above every negative; here {before:.3g} of the pairs do",
    )
    best = settle(user, liked, others, pop, lead)
    if best is None:
        a, b = (f"(from {x.min():.3g} to {x.max():.3g})" for x in (liked @ axis, others @ pop))
        raise NotYet(f"{where}: the user has a minimiser, so a {a} and b {b} have both signs")
    alpha, beta = best
    after = ranked_right(user + alpha * pop + beta * axis, liked, others)
    hint = "e_final carries beta e_pref to the negatives, too, and the objective never looks there"
    expect(
        after <= 1 - drop,
        f"{where}: with e_final (alpha = {alpha:.3g}, beta = {beta:.3g}) {after:.3g} of the pairs are right, "
        f"and at most {1 - drop:.3g} are asked for. {hint}",
    )


def ranked_right(user: np.ndarray, positives: np.ndarray, negatives: np.ndarray) -> float:
    """The share of the pairs whose positive scores higher."""
    return float((positives @ user > (negatives @ user)[:, None]).mean())


@each_case
def check_inflation(answer: Answer, margins: list[Any], fraction: float, *, lead: str = "0") -> None:
    """Task 5b: `answer(margins, fraction)`."""
    ahead = float(Fraction(lead))
    got, right = answer(margins, fraction), smallest_scale(margins, fraction, ahead)
    given = f"{len(margins)} margins, the smallest of them {min(margins):.4g}"
    where = f"the scale that leaves {fraction} of the loss of {given}"
    if right is None:
        expect(got is None, f"{where}: no scale does: what becomes of a margin below zero? Return None")
        return
    expect(got is not None, f"{where}: some scale does")
    value = partial(_scaled_loss, np.array(margins), lead=ahead)
    slips: list[tuple[float | None, str]] = [
        (smallest_scale(margins, fraction), OTHER_VERSION),
        (1 / fraction, "the loss does not fall in proportion to the scale"),
        (float(-np.log(fraction)), "the loss is exp(-c m) nearly, but only for large margins"),
    ]
    mean = float(np.mean(margins))
    if mean > 0:
        slips.append(
            (smallest_scale([mean], fraction, ahead), "the mean of the losses, not the loss of the mean margin")
        )
    itself = smallest_scale(margins, fraction, ahead, below=fraction)
    slips.append((itself, "a fraction of the loss at c = 1, not the loss itself"))
    value_there = f" The loss there is {value(float(number(got, where))) / value(1.0):.6g} of the first."
    try:
        compare(got, right, where, slips, exact=False, tolerance=SETTLED)
    except NotYet as error:
        raise NotYet(f"{error}{value_there}") from None


def smallest_scale(
    margins: Sequence[float], fraction: float, lead: float = 0.0, *, below: float | None = None
) -> float | None:
    """The least c >= 1 where the mean of log(1 + exp(lead - c m)) is at most fraction times that at 1, or `below`."""
    x = np.array(margins, dtype=float)
    value = partial(_scaled_loss, x, lead=lead)

    def falls(c: float) -> bool:
        return float((x * np.exp(-np.logaddexp(0, c * x - lead))).mean()) > 0

    target = fraction * value(1.0) if below is None else below
    low, high = 1.0, 1.0
    while value(high) > target:  # the loss is convex in c: go up while it falls
        if not falls(high) or high > 1e12:
            break
        low, high = high, 2 * high
    if value(high) > target:  # the lowest point may lie between the last two
        left, right = low, high
        for _ in range(200):
            middle = (left + right) / 2
            left, right = (middle, right) if falls(middle) else (left, middle)
        high = left
        if value(high) > target:
            return None
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if value(middle) <= target else (middle, high)
    return high


def _scaled_loss(margins: np.ndarray, c: float, *, lead: float) -> float:
    return float(np.logaddexp(0, lead - c * margins).mean())


class Served(NamedTuple):
    """What task 6 gives: histories and held_out are items of each user, counts those of the items, k the length."""

    users: list[Any]
    items: list[Any]
    histories: list[Any]
    held_out: list[Any]
    counts: list[Any]
    k: int


def check_measure(
    answer: Answer, cases: Sequence[tuple[Any, ...]], *, place: int, power: float = 1, discount: float = 1
) -> None:
    """Task 6: `answer(users, items, histories, held_out, counts, k)`, with powers of the counts and of 1/rank."""
    for case in cases:
        got, given = answer(*case), Served(*case)
        raised = given._replace(counts=[count**power for count in given.counts])
        where = f"{('AvgPop', 'MRR')[place]}@{given.k} of {len(given.users)} users and {len(given.items)} items"
        expect(is_list(got, 2), f"{where}: two numbers are asked for: AvgPop and MRR")
        right = ranking_numbers(raised, discount=discount)[place]
        compare(got[place], right, where, _measure_slips(given, raised, place, discount), exact=False)


def ranking_numbers(
    given: Served, *, seen: bool = False, worst: bool = False, discount: float = 1
) -> tuple[float, float]:
    """(AvgPop@k, MRR@k) of the lists that leave out the histories; `seen` and `worst` name usual slips."""
    lists = top_lists(given._replace(histories=[[]] * len(given.users)) if seen else given, worst=worst)
    ranks = [first_hit(row, wanted) for row, wanted in zip(lists, given.held_out, strict=True) if wanted]
    mrr = float(np.mean([_reciprocal(rank, discount) for rank in ranks]))
    return popularity.average_popularity(lists, np.array(given.counts)), mrr


def top_lists(given: Served, *, worst: bool = False) -> np.ndarray:
    """(m, k) ids by falling score, equal scores by the lower id, without the items of the history."""
    scores = np.array(given.users, dtype=float) @ np.array(given.items, dtype=float).T * (-1 if worst else 1)
    for row, history in zip(scores, given.histories, strict=True):
        row[history] = -np.inf
    return np.argsort(-scores, axis=1, kind="stable")[:, : given.k]


def _reciprocal(rank: int, discount: float) -> float:
    return 1 / rank**discount if rank else 0.0


def first_hit(row: np.ndarray, wanted: list[Any]) -> int:
    """The rank, from 1, of the first wanted item in a list; 0 where there is none."""
    hits = np.flatnonzero(np.isin(row, wanted))
    return int(hits[0]) + 1 if len(hits) else 0


def _measure_slips(plain: Served, given: Served, place: int, discount: float) -> Iterator[tuple[float, str]]:
    """Worked out one after another, and only for a wrong answer."""
    yield ranking_numbers(plain)[place], OTHER_VERSION
    numbers = partial(ranking_numbers, given, discount=discount)
    yield numbers(seen=True)[place], "leave out the items of the history"
    yield numbers(worst=True)[place], "the highest scores come first"
    yield numbers()[1 - place], "AvgPop comes first"
    table, lists = np.array(given.counts), top_lists(given)
    if place == 0:
        yield float(table[lists].sum(axis=1).mean()), "the mean over the items of a list, not their sum"
        yield float(table[np.unique(lists)].mean()), "an item that is shown to many counts for each of them"
        yield float(table.mean()), "only the items that are shown"
        shown = table[lists][[bool(wanted) for wanted in given.held_out]]
        yield float(shown.mean()), "AvgPop is over all users, also those without held-out items"
        return
    pairs = list(zip(lists, given.held_out, strict=True))
    ranks = [first_hit(row, wanted) for row, wanted in pairs]
    known = [rank for rank, (_, wanted) in zip(ranks, pairs, strict=True) if wanted]
    every = [
        sum(1 / (1 + place) ** discount for place in np.flatnonzero(np.isin(row, wanted)))
        for row, wanted in pairs
        if wanted
    ]
    of_all = float(np.mean([_reciprocal(rank, discount) for rank in ranks]))
    of_hits = float(np.mean([_reciprocal(rank, discount) for rank in known if rank] or [0.0]))
    yield of_all, "users without held-out items are left out of MRR"
    yield of_hits, "a user whose list has no hit counts with 0"
    yield float(np.mean([rank > 0 for rank in known])), "the reciprocal rank of the first hit, not whether there is one"
    yield float(np.mean([1 / (rank + 1) ** discount if rank else 0.0 for rank in known])), "ranks begin at 1"
    yield float(np.mean(every)), "only the first hit counts"


def _short(values: Sequence[float]) -> str:
    text = "(" + ", ".join(f"{value:.3g}" for value in values) + ")"
    return text if len(text) < 60 else f"({len(values)} numbers from {min(values):.3g} to {max(values):.3g})"


# ---- the public checks

# Task 1a, six items; a tie, and a sum of zero
preference = public(
    check_preference,
    [
        ([1.0, 1.0], ITEMS, [0, 1, 2, 4, 3], Fraction(3, 5)),
        ([1.0, 1.0], ITEMS, [4, 0, 2], HALF),
        ([0.0, 0.0], ITEMS, [5, 0], Fraction(1)),
    ],
)
# Task 1b, three positives and four negatives
loss = public(check_loss, [(*ONE, 0.0, 0.0), (*ONE, -0.5, 1.25)])
# Task 2a, one of each kind
minimisers = public(
    check_minimisers, [([1.0, -0.5], [2.0, -1.0]), ([1.0, 0.5], [2.0, -1.0]), ([0.0, 0.0], [2.0, -1.0])]
)
# Task 2b, four users of six items
without = public(check_without, [(*FOUR, pop, HALF) for pop in ([0.6, 0.8], [0.0, 1.0])])
# Task 3a, exact
surrogate = public(check_surrogate, [SMALL, LOPSIDED])
# Task 3b, for two users, and for one without a minimiser
solve = public(check_solve, [ONE, OTHER, ([1.0, 2.0], [0.5, -0.5], [2.0, 1.0], [-2.0, 1.0])])
# Task 3b, where a full Newton step from zero goes astray
solve_hard = public(check_solve, [hard(seed, 12, 40) for seed in (1, 2)])
# Task 4a, for three users
sign = public(check_sign, [(*ONE, 0.5), (*OTHER, 0.5), (*TOP_HEAVY, 1.0)])
# Task 4b, two users
flip = public(check_flip, [shifted(0, 6, 20, 3), shifted(3, 6, 20, 4)])
# Task 5a, for a small drop
worse = public(check_worse, [0.125])
# Task 5b, all margins positive, and one that is not
inflation = public(check_inflation, [([1.0, 2.0, 0.5], 0.05), ([1.0, 2.0, -0.01], 0.7), ([1.0, -2.0], 0.05)])
# Task 6, the first of its two numbers
average_popularity = public(check_measure, [LISTS, (*LISTS[:-1], 1)], place=0)
# Task 6, the second of its two numbers
reciprocal_rank = public(check_measure, [LISTS, (*LISTS[:-1], 1)], place=1)

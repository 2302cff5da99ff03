"""Public checks of the assignment cosine-orthogonality."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from course_lib import geometry, norms
from course_lib.lessons.shared.forms import (
    CLOSE,
    OTHER_VERSION,
    PASSED,
    Answer,
    compare,
    compare_arrays,
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

EPS = "1/100"
KEYS = [[1.0, 0.0, 1.0], [0.0, 2.0, 1.0], [1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]


@plain_check
def shrinking(answer: Answer, eps: str = EPS) -> None:
    """Task 3a: only the form of the answer is looked at here."""
    shrinking_form(answer())
    print("the form is right.", PASSED.replace("inputs", "grounds: the step itself is not taken here"))


@plain_check
def share_small(answer: Answer) -> None:
    """Task 5 on three pairs: `answer(users, items, tau, tol, similarity)`."""
    users, items = [[1.0, 0.0], [0.5, 2.0], [-1.0, 1.0]], [[0.5, 1.0], [1.0, 1.0], [-2.0, 0.5]]
    for similarity, tol in (("dot", 0.5), ("dot", 0.9), ("cos", 1e-3)):
        check_share(answer, users, items, tau=0.5, tol=tol, similarity=similarity)
    print(PASSED)


@plain_check
def share_on_films(answer: Answer) -> None:
    """Task 5 on 100 pairs of users and films."""
    users, items = films()
    for similarity, tol in (("dot", 0.1), ("cos", 1e-3)):
        check_share(answer, users, items, tau=1.0, tol=tol, similarity=similarity)
    print(PASSED)


def films(batch_size: int = 100, rank: int = 8, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """A batch of real pairs: (users, films), both batch_size x rank, from the rank-8 SVD of the films data."""
    users, items, pairs, _ = film_factors(rank)
    drawn = pairs[np.random.default_rng(seed).choice(len(pairs), batch_size, replace=False)]
    return users[drawn[:, 0]].tolist(), items[drawn[:, 1]].tolist()


# ---- what the checks are made of; the hidden checks call them with other inputs ----


@each_case
def check_gradient(answer: Answer, first: list[float], second: list[float], *, power: int = 1, linear: int = 0) -> None:
    """Task 1: `answer(q, k)`, of F(cos) with F(x) = x^power + linear x."""
    q, k = np.array(first), np.array(second)
    length, cosine = np.linalg.norm(q), float(geometry.cosine(q, k))
    key = k / np.linalg.norm(k)
    right, slope = geometry.cosine_gradient(q, k), _slope(cosine, power, linear)
    slips = [
        (-right, "this is the gradient of -cos"),
        (key / length, "the part along q must be taken away: moving outward does not change a cosine"),
        (right * length, "the gradient must be divided by ||q||: far away, the same step turns less"),
        (right / length, "divide by ||q|| once, not twice"),
        (right * np.linalg.norm(k), "k's length must not matter: normalise k first"),
        ((key - cosine * q) / length, "what is taken away is cos(q, k) times q/||q||, not times q"),
        (geometry.cosine_gradient(k, q), "this is the gradient with respect to k"),
        (k - (q @ k) / (length * np.linalg.norm(k)) * q, "both vectors must be normalised before they are subtracted"),
    ]
    compare_arrays(
        answer(first, second),
        slope * right,
        f"the gradient of {_named(power, linear)} at q = {first}, k = {second}",
        [(right, OTHER_VERSION), *((slope * slip, hint) for slip, hint in slips)],
    )


@each_case
def check_norm_after(answer: Answer, given: Any, cosine: Any, slope: Any, lr: Any, *, decay: str = "0") -> None:
    """Task 2: `answer(squared_norm, cos_squared, slope, lr)`; the step also takes lr decay q away."""
    square, h = Fraction(given), Fraction(slope) ** 2 * (1 - Fraction(cosine))
    one, shrink = np.array([h], dtype=object), Fraction(decay)
    right = norms.decayed_path(square, lr=Fraction(lr), squared_gradients=one, decay=shrink)[-1]
    where = f"||q'||^2 at ||q||^2 = {square}, cos^2 = {cosine}, slope {slope}, lr {lr}"
    shrunk_once = (1 - lr * shrink) * square + lr**2 * h / square
    slips = [
        (square + lr**2 * h / square, OTHER_VERSION),
        (shrunk_once, "the vector shrinks by 1 - lr decay, its squared length by the square of that"),
        (square, "the step is not zero: to first order nothing changes, to second order the length does"),
        (square + lr**2 * h, "the gradient of a cosine is |sin|/||q|| long: divide by ||q||^2"),
        (square + lr**2 * h * square, "the gradient of a cosine becomes shorter when q becomes longer, not longer"),
        (
            square + lr**2 * slope**2 * cosine / square,
            "the gradient's length is |sin|/||q||, so 1 - cos^2 belongs here",
        ),
        (square + lr**2 * slope**2 / square, "the gradient's length is |sin|/||q||: the sine is missing"),
        (square - lr**2 * h / square, "orthogonal to q: by Pythagoras the squares add"),
        (square + lr * h / square, "the step is lr times the gradient, and it is squared"),
        (square + lr**2 * abs(slope) * (1 - cosine) / square, "the slope is squared, too"),
    ]
    compare(answer(square, Fraction(cosine), Fraction(slope), Fraction(lr)), right, where, slips, exact=True)


def shrinking_form(value: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """(q, k, lr), checked for form."""
    expect(is_list(value, 3), "three things are asked for: return q, k, lr")
    q = floats(value[0], (None,), "q")
    k = floats(value[1], q.shape, "k, of the dimension of q")
    lr = float(number(value[2], "lr"))
    expect(2 <= len(q) <= 8, "q and k have 2 to 8 coordinates")
    expect(
        0 < float(np.linalg.norm(q)) < 1e6 and 0 < float(np.linalg.norm(k)) < 1e6,
        "q and k are not zero (nor longer than a million)",
    )
    expect(0 < lr < 1e6, "lr is a positive number (below a million)")
    return q, k, lr


@each_case
def check_radial(
    answer: Answer, norm: Fraction, cosine: Fraction, eps: Fraction, *, power: int = 1, linear: int = 0
) -> None:
    """Task 3b: `answer(norm, cosine, eps)`, for F(cos_eps) with F(x) = x^power + linear x."""
    plain = norm * cosine / eps
    inside = plain * _slope(plain, power, linear)
    where = f"<q, grad {_named(power, linear, 'cos_eps')}> at ||q|| = {norm}, cos = {cosine}, eps = {eps}"
    at_cosine = plain * _slope(cosine, power, linear) if norm < eps else None
    slips = [
        (plain if norm < eps else None, OTHER_VERSION),
        (at_cosine, "the slope of F is taken at cos_eps, which differs from the cosine below eps"),
        (Fraction(0), "zero is right for the cosine; below eps the clamp makes cos_eps linear in q"),
        (inside, "above eps nothing is clamped: there cos_eps is the cosine, and its gradient is tangent"),
        (cosine / eps, "the gradient is the key's direction over eps; its product with q has q's length in it"),
        (cosine, "below eps the division is by eps, not by ||q||"),
        (norm * cosine, "below eps the gradient is the key's direction divided by eps"),
        (-inside, "this is the radial part of the gradient of -cos_eps"),
    ]
    compare(answer(norm, cosine, eps), inside if norm < eps else Fraction(0), where, slips, exact=True)


@each_case
def check_longer_than_one(answer: Answer, q: list[Any], keys: list[Any], *, power: int = 1, linear: int = 0) -> None:
    """Task 4: more than any single key does."""
    gradients = _gradients(q, keys, power, linear)
    best = float(np.linalg.norm(gradients, axis=1).max())
    length = float(np.linalg.norm(_weights(answer, q, keys) @ gradients))
    expect(
        length > best * (1 + 1e-6),
        f"with {len(keys)} keys your loss has a gradient of length {length:.6g}; all the weight on one key reaches "
        f"{best:.6g}. Forces of several keys can point the same way, or opposite ways: signs of the weights "
        "matter.",
    )


@each_case
def check_longest(answer: Answer, q: list[Any], keys: list[Any], *, power: int = 1, linear: int = 0) -> None:
    """Task 4: more than any other weights do."""
    gradients = _gradients(q, keys, power, linear)
    weights = _weights(answer, q, keys)
    length, most = float(np.linalg.norm(weights @ gradients)), float(np.linalg.norm(gradients, 2))
    sizes = np.linalg.norm(gradients, axis=1)
    unit = np.array(keys) / np.linalg.norm(keys, axis=1)[:, None]
    of_keys = np.linalg.svd(unit)[0][:, 0]
    of_directions = np.linalg.svd(gradients / np.where(sizes > 0, sizes, 1)[:, None])[0][:, 0]
    equal = np.full(len(keys), len(keys) ** -0.5)
    slips = [
        (np.eye(len(keys))[sizes.argmax()], "all the weight on one key is best for sum |a| = 1, not for sum a^2 = 1"),
        (equal, "equal weights are not best: the forces differ in length and direction"),
        (of_keys, "only the parts of the keys that are tangent at q push; take the gradients, not the keys"),
        (of_directions, "a key nearly along q pushes little: keep the gradients' lengths"),
        (
            sizes / np.linalg.norm(sizes),
            "the lengths alone do not decide: forces that point the same way add up, others cancel",
        ),
    ]
    hints = [hint for slip, hint in slips if min(np.abs(weights - slip).max(), np.abs(weights + slip).max()) < 1e-6]
    expect(
        length >= most * (1 - CLOSE),
        f"with {len(keys)} keys your loss has a gradient of length {length:.6g}, and {most:.6g} can be reached. "
        + (f"Perhaps: {hints[0]}." if hints else "Among all a with sum a^2 = 1, which maximises ||G^T a||?"),
    )


def check_share(answer: Answer, users: list[Any], items: list[Any], *, tau: float, tol: float, similarity: str) -> None:
    right, slips = _share_and_slips(np.array(users), np.array(items), tau, tol, similarity)
    where = f"the share of {len(users)} users with a radial part above {tol} ({similarity}, tau {tau})"
    compare(answer(users, items, tau, tol, similarity), right, where, slips, exact=False)


def _share_and_slips(
    users: np.ndarray, items: np.ndarray, tau: float, tol: float, similarity: str
) -> tuple[float, list[Any]]:
    cosines = geometry.cosine(users[:, None], items[None, :])  # (B, B)
    scores = cosines if similarity == "cos" else users @ items.T
    odds = np.exp((scores - scores.max(1, keepdims=True)) / tau)
    pull = odds / odds.sum(1, keepdims=True) - np.eye(len(users))
    each = geometry.cosine_gradient(users[:, None], items[None, :]) if similarity == "cos" else items[None, :]
    gradients = (pull[:, :, None] * each).sum(1)  # (B, d), up to the factor 1 / (tau B) that no share can see
    parts = _relative(gradients, users)

    def share(x: np.ndarray) -> float:
        return float((x > tol).mean())

    no_positive = _relative(((pull + np.eye(len(users)))[:, :, None] * each).sum(1), users)
    other_scores = users @ items.T if similarity == "cos" else cosines
    odds = np.exp((other_scores - other_scores.max(1, keepdims=True)) / tau)
    swapped = ((odds / odds.sum(1, keepdims=True) - np.eye(len(users)))[:, :, None] * each).sum(1)
    signed = _relative(gradients, users, signed=True)
    absolute = share(np.abs((gradients * users).sum(1)) / (tau * len(users)))
    return share(np.abs(parts)), [
        (share(signed), "a radial part may point inward: take its absolute value"),
        (share(-signed), "a radial part may point outward: take its absolute value"),
        (share(np.sqrt(1 - np.minimum(parts**2, 1))), "this is the share by the tangential part"),
        (absolute, "the radial part is asked for relative to ||u|| ||g||"),
        (share(no_positive), "the positive is pulled, too: subtract 1 from its probability"),
        (share(_relative(swapped, users)), 'the scores in the softmax are those of `similarity`: "cos" or "dot"'),
        (100 * share(parts), "a share lies between 0 and 1; this looks like per cent"),
        (1 - share(parts), "this is the share of the users below the tolerance"),
    ]


def _relative(gradients: np.ndarray, users: np.ndarray, *, signed: bool = False) -> np.ndarray:
    """<u, g> / (||u|| ||g||) of each row, its absolute value unless signed."""
    radial, _ = geometry.split_radial(gradients, users)
    sizes = np.sign((gradients * users).sum(1)) * geometry.norm(radial) / geometry.norm(gradients)
    return np.asarray(sizes if signed else np.abs(sizes))


def _gradients(q: list[Any], keys: list[Any], power: int, linear: int) -> np.ndarray:
    vector, table = np.array(q, dtype=float), np.array(keys, dtype=float)
    slopes = _slope(np.asarray(geometry.cosine(vector, table)), power, linear)
    return np.asarray(geometry.cosine_gradient(vector, table) * slopes[:, None])


def _slope(x: Any, power: int, linear: int) -> Any:
    """F'(x) of F(x) = x^power + linear x."""
    return power * x ** (power - 1) + linear


def _named(power: int, linear: int, cosine: str = "cos") -> str:
    return f"{cosine}(q, k)" if (power, linear) == (1, 0) else f"{cosine}(q, k)^{power} + {linear} {cosine}(q, k)"


def _weights(answer: Answer, q: list[Any], keys: list[Any]) -> np.ndarray:
    weights = floats(answer(q, keys), (len(keys),), "the weights, one a key")
    expect(
        abs(float(weights @ weights) - 1) <= CLOSE,
        f"the squares of the weights must sum to 1; yours sum to {weights @ weights:.6g}",
    )
    return weights


# ---- the public checks

# Task 1, for ||q|| = 1
gradient_at_unit_length = public(check_gradient, [([0.6, 0.8], [1.0, 0.0]), ([0.0, 1.0, 0.0], [3.0, 4.0, 0.0])])
# Task 1, for other lengths
gradient_at_any_length = public(check_gradient, [([3.0, 4.0], [0.0, 2.0]), ([0.02, 0.0, 0.0], [1.0, 2.0, 2.0])])
# Task 2
norm_after = public(
    check_norm_after, [(4, Fraction(1, 4), -1, Fraction(1, 2)), (Fraction(1, 9), Fraction(1, 2), 3, Fraction(1, 5))]
)
# Task 3b
radial = public(
    check_radial,
    [(Fraction(1, 500), Fraction(3, 5), Fraction(1, 100)), (Fraction(2), Fraction(1, 3), Fraction(1, 100))],
)
# Task 4, more than any single key does
longer_than_one = public(check_longer_than_one, [([1.0, 1.0, 1.0], KEYS), ([1.0, 0.0, 2.0], KEYS[:3])])
# Task 4, more than any other weights do
longest = public(
    check_longest, [([1.0, 0.0, 0.0], [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [3.0, 1.0, 1.0]]), ([0.0, 1.0, 0.0], KEYS)]
)

"""Proofs for the growth of norms with popularity (P0, Appendix C, and our extensions X5, X6, X8).

One update. Write s = ||q||^2, lr for the learning rate, and g = h / ||q|| with <q, h> = 0 for the gradient of a loss
that sees q only through cosines. Then s' = s + lr^2 ||h||^2 / s. The random part is which batches update the item:
slots are independent, each holds the item with probability p, so a batch updates it with probability pi = 1 - (1 -
p)^B.

A function `thm_...`, `lem_...` or `prop_...` returns sympy residuals, all 0. A function `enumerate_...` visits every
outcome of small cases in rational arithmetic and returns the largest discrepancy, a Fraction that must be 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from course_lib import norms
from course_lib.lessons.shared.counterexample import Counterexample
from course_lib.lessons.shared.symbolic import largest, proof, simplified

s, lr, h, p, pi, T, c = sp.symbols("s eta h p pi T c", positive=True)
rho = sp.symbols("rho", nonnegative=True)
decay = sp.symbols("lambda", positive=True)


# ---- how often: update counts (Lemma of P0, Step 2)


@proof
def lem_update_count() -> Iterator[sp.Expr]:
    """P(N_T = n) summed over all slot patterns - C(T, n) pi^n (1 - pi)^(T - n), as polynomials in p, and d pi / dp.

    For B, T with B T <= 8 and every n. Then pi'(p) - B (1 - p)^(B - 1), which is positive: more popular, more updates.
    """
    for slots, batches in ((1, 1), (1, 4), (2, 2), (2, 3), (2, 4), (3, 2), (4, 2)):
        update = 1 - (1 - p) ** slots
        for n, counted in enumerate(_count_law(slots, batches, p)):
            stated = sp.binomial(batches, n) * update**n * (1 - update) ** (batches - n)
            yield sp.expand(counted - stated)
    size = sp.symbols("B", positive=True, integer=True)
    yield sp.diff(1 - (1 - p) ** size, p) - size * (1 - p) ** (size - 1)


@largest
def enumerate_update_count() -> Iterator[Fraction]:
    """The library's pi(p) and T pi(p) against counting, with and without uniform negatives; slot by slot, in Fractions.

    Uniform negatives: K further slots, each of them the item with probability 1/N.
    """
    for slots, extra, probability in itertools.product((1, 2, 3), (0, 1, 2), (Fraction(1, 7), Fraction(2, 5))):
        n_items = 5
        chances = [probability] * slots + [Fraction(1, n_items)] * extra
        missed = _chance_that(chances, lambda held: not any(held))
        stated = norms.update_probability(probability, slots, negatives=extra, n_items=n_items)
        yield abs(1 - missed - stated)
        if not extra:
            mean = sum(n * chance for n, chance in enumerate(_count_law(slots, 3, probability)))
            yield abs(mean - norms.expected_updates(probability, batch_size=slots, steps=3))


@largest
def enumerate_monotone_coupling() -> Iterator[Fraction]:
    """Shared uniforms: both marginals are binomial and the popular item is never behind. Every outcome of T <= 5 steps.

    A uniform number falls below both update probabilities, between them, or above both: three cells whose probabilities
    are rational. The discrepancy counts an outcome in which the order fails with its whole probability.
    """
    for steps, rare, popular in (
        (5, Fraction(1, 9), Fraction(2, 3)),
        (4, Fraction(1, 2), Fraction(3, 4)),
        (3, Fraction(1, 5), Fraction(1, 5)),
    ):
        cells = [(rare, rare / 2), (popular - rare, (rare + popular) / 2), (1 - popular, (popular + 1) / 2)]
        laws = [[Fraction(0)] * (steps + 1) for _ in range(2)]
        for outcome in itertools.product(cells, repeat=steps):
            chance = math.prod((width for width, _ in outcome), start=Fraction(1))
            uniforms = np.array([middle for _, middle in outcome], dtype=object)
            moved = norms.coupled_updates(np.array([rare, popular], dtype=object), uniforms)
            few, many = (int(row.sum()) for row in moved)
            laws[0][few] += chance
            laws[1][many] += chance
            yield chance if few > many else Fraction(0)
        for law, update in zip(laws, (rare, popular), strict=True):
            yield from (abs(found - _binomial(steps, n, update)) for n, found in enumerate(law))


# ---- Theorem C.2, in its model


@proof
def thm_popularity_norm() -> Iterator[sp.Expr]:
    """d/dpi E f(N_T) - T E[delta_(N+1)] with N ~ Binomial(T - 1, pi), for T = 1 ... 6 and symbolic delta_k.

    f(n) = s_0 + delta_1 + ... + delta_n. The right side is a mean of the delta_k >= 0, so E ||q_T||^2 does not fall as
    pi, and with it p, grows. It says by how much as well.
    """
    for steps in range(1, 7):
        delta = sp.symbols(f"delta1:{steps + 1}", nonnegative=True)
        length = [s + sum(delta[:n]) for n in range(steps + 1)]
        expected = sum(_binomial(steps, n, pi) * length[n] for n in range(steps + 1))
        slope = steps * sum(_binomial(steps - 1, n, pi) * delta[n] for n in range(steps))
        yield sp.expand(sp.diff(expected, pi) - slope)


@largest
def enumerate_popularity_norm() -> Iterator[Fraction]:
    """E ||q_T||^2 by all 2^(B T) slot patterns against the binomial mean of f, and its order in p; in Fractions.

    A pair of probabilities in the wrong order adds its difference to the discrepancy.
    """
    start = Fraction(3, 2)
    for delta in ([Fraction(1), Fraction(0), Fraction(5), Fraction(1, 3)], [Fraction(1, 2**k) for k in range(4)]):
        length = [start + sum(delta[:n]) for n in range(5)]
        means = []
        for probability in (Fraction(1, 10), Fraction(1, 3), Fraction(4, 5)):
            law = _count_law(2, 4, probability)
            means.append(sum(chance * length[n] for n, chance in enumerate(law)))
            update = norms.update_probability(probability, 2)
            yield abs(means[-1] - sum(_binomial(4, n, update) * length[n] for n in range(5)))
        yield from (low - high for low, high in itertools.pairwise(means))


# ---- the true dynamics: the quartic law, the scale symmetry, slow learning (claim X5)


@proof
def thm_quartic_law() -> Iterator[sp.Expr]:
    """s'^2 - (s^2 + 2 lr^2 h^2 + ||dq||^4), s' = s + lr^2 h^2 / s: the induction step; then n = 1 ... 4 steps at once.

    ||dq||^2 = lr^2 h^2 / s. The induction step holds for all positive s, so it can be repeated any number of times.
    """
    step2 = lr**2 * h**2 / s
    yield (s + step2) ** 2 - (s**2 + 2 * lr**2 * h**2 + step2**2)
    h2 = sp.symbols("a1:5", nonnegative=True)  # ||h_k||^2
    length, added = s, s**2
    for k in range(4):
        moved = lr**2 * h2[k] / length
        added += 2 * lr**2 * h2[k] + moved**2
        length = sp.together(length + moved)
        yield sp.cancel(sp.together(length**2 - added))


@largest
def enumerate_quartic_law() -> Iterator[Fraction]:
    """The law along real vectors, exact: gradient descent on -cos^2 with three targets in turn, d = 2, 3.

    cos^2 has a rational gradient, so nothing is rounded. ||h||^2 = ||q||^2 ||grad||^2. Then the same ||h_k||^2 through
    the library.
    """
    for targets in (_vectors("1 2", "3 -1"), _vectors("1 0 2", "0 1 -1", "2 2 1")):
        q, rate = [Fraction(x) for x in range(1, len(targets[0]) + 1)], Fraction(1, 3)
        start, squares, added = _dot(q, q), [], _dot(q, q) ** 2
        for k in itertools.islice(itertools.cycle(targets), 6):
            gradient = _squared_cosine_gradient(q, k)
            h2, step2 = _dot(q, q) * _dot(gradient, gradient), rate**2 * _dot(gradient, gradient)
            yield abs(_dot(q, gradient))
            added += 2 * rate**2 * h2 + step2**2
            squares.append(h2)
            q = [x - rate * g for x, g in zip(q, gradient, strict=True)]
        yield abs(_dot(q, q) ** 2 - added)
        path = norms.squared_norm_path(start, lr=rate, squared_gradients=np.array(squares, dtype=object))
        yield abs(path[-1] - _dot(q, q))


def prop_scale_symmetry() -> list[sp.Expr]:
    """(q_0, lr) -> (c q_0, c^2 lr): the squared norm path is multiplied by c^2, and q_1 by c.

    First on s; then on the vectors, for a loss of degree 0, whose gradient obeys grad L(c q) = grad L(q) / c: c q - c^2
    lr grad L(q) / c - c (q - lr grad L(q)); last the gradient rule itself for cos(q, k) with symbolic q, k in three
    dimensions.
    """
    scaled = (c**2 * s) + (c**2 * lr) ** 2 * h**2 / (c**2 * s)
    q, g = sp.symbols("q g", real=True)
    vector = c * q - c**2 * lr * (g / c) - c * (q - lr * g)
    x, k = sp.symbols("x1:4", positive=True), sp.symbols("k1:4", positive=True)
    cos = sum(a * b for a, b in zip(x, k, strict=True)) / sp.sqrt(sum(a * a for a in x) * sum(b * b for b in k))
    stretch = dict(zip(x, (c * a for a in x), strict=True))
    rule = [sp.simplify(sp.diff(cos, a).subs(stretch, simultaneous=True) * c - sp.diff(cos, a)) for a in x]
    return [sp.simplify(scaled - c**2 * (s + lr**2 * h**2 / s)), sp.expand(vector), *rule]


@largest
def enumerate_scale_symmetry() -> Iterator[Fraction]:
    """Six steps on -cos^2 from q_0 with lr, from c q_0 with c^2 lr: the second path is c times the first, exactly."""
    targets, rate = _vectors("1 2 0", "3 -1 1"), Fraction(1, 4)
    for factor in (Fraction(1, 10), Fraction(7, 3)):
        q = [Fraction(1), Fraction(-1), Fraction(2)]
        scaled = [factor * x for x in q]
        for k in itertools.islice(itertools.cycle(targets), 6):
            q = _descend(q, k, rate)
            scaled = _descend(scaled, k, factor**2 * rate)
            yield from (abs(b - factor * a) for a, b in zip(q, scaled, strict=True))


def prop_slow_learning() -> list[sp.Expr]:
    """Lower lr and train longer, lr T = t fixed: the bound on the growth of ||q||^4 goes to 0 with lr.

    With ||h_k||^2 <= H^2: ||q_T||^4 - ||q_0||^4 <= T (2 lr^2 H^2 + lr^4 H^4 / ||q_0||^4), here with T = t / lr.
    Residuals: the per-step excess of the quartic law over that bound at the worst case s = s_0, h = H, and the limit.
    """
    bound = T * (2 * lr**2 * h**2 + lr**4 * h**4 / s**2)
    worst_step = (s + lr**2 * h**2 / s) ** 2 - s**2
    time = sp.symbols("t", positive=True)
    return [sp.simplify(worst_step - bound.subs(T, 1)), sp.limit(bound.subs(T, time / lr), lr, 0, "+")]


# ---- copies in a batch: saturation (claim X5)


@proof
def prop_saturation() -> Iterator[sp.Expr]:
    """E ||sum of copies' gradients||^2 over all batches - h_0^2 [B p + rho B (B - 1) p^2], B = 1 ... 6; its slope.

    k copies have squared length h_0^2 (k + rho k (k - 1)). The slope residual is d log E / d log p - (1 + 2x)/(1 + x),
    x = rho (B - 1) p, and its limits are 1 (x -> 0) and 2 (x -> oo): a quarter of it is the slope of log ||q||.
    """
    for slots in range(1, 7):
        copies = sum(_binomial(slots, k, p) * (k + rho * k * (k - 1)) for k in range(slots + 1))
        yield sp.expand(copies - (slots * p + rho * slots * (slots - 1) * p**2))
    size, x = sp.symbols("B x", positive=True)
    expected = size * p + rho * size * (size - 1) * p**2
    slope = p * sp.diff(sp.log(expected), p)
    load = rho * (size - 1) * p
    yield slope - (1 + 2 * load) / (1 + load)
    ratio = (1 + 2 * x) / (1 + x)
    yield from [sp.limit(ratio, x, 0) - 1, sp.limit(ratio, x, sp.oo) - 2]


@largest
def enumerate_saturation() -> Iterator[Fraction]:
    """The library's E||h||^2 and slope against counted slot patterns, exactly, at more points than their degree."""
    for slots in range(1, 5):
        for probability, coherence in itertools.product(
            [Fraction(k, 7) for k in range(7)], (Fraction(0), Fraction(1, 3), Fraction(1))
        ):
            counted = sum(_binomial(slots, k, probability) * (k + coherence * k * (k - 1)) for k in range(slots + 1))
            arguments: dict[str, Any] = {"batch_size": slots, "coherence": coherence}
            yield abs(counted - norms.expected_squared_gradient(probability, **arguments))
            if probability:
                derivative = sum(
                    (k + coherence * k * (k - 1)) * _binomial_slope(slots, k, probability) for k in range(slots + 1)
                )
                slope = norms.expected_squared_gradient_slope(probability, **arguments)
                yield abs(derivative * probability / counted - slope)


# ---- weight decay (claim X6)


def thm_decay_equilibrium() -> list[sp.Expr]:
    """Where growth and decay balance: s -> a s + b lr^2 h^2 / s, a = (1 - lr lambda)^2, b = 1 in a share pi of steps.

    Residuals, with x = sqrt(pi lr^2 h^2 / (1 - a)): (1) x is a fixed point of the mean map; (2) the only positive one:
    map(s) - s = (1 - a)(x - s)(x + s)/s; (3) the distance to it, map(s) - x = (s - x)(a - pi lr^2 h^2 / (s x)), which
    gives convergence for pi = 1; (4) ||q||^4 = x^2 is proportional to pi, so ||q|| to pi^(1/4); (5) the exact second
    moment of one random step, E s'^2 = a^2 s^2 + 2 a pi lr^2 h^2 + pi lr^4 h^4 / s^2.
    """
    a, gain = sp.symbols("a C", positive=True)  # C = lr^2 h^2
    x = sp.sqrt(pi * gain / (1 - a))
    move = a * s + pi * gain / s
    moment = pi * (a * s + gain / s) ** 2 + (1 - pi) * (a * s) ** 2
    return [
        sp.simplify(move.subs(s, x) - x),
        sp.simplify(move - s - (1 - a) * (x - s) * (x + s) / s),
        sp.simplify(move - x - (s - x) * (a - pi * gain / (s * x))),
        sp.simplify(sp.diff(sp.log(x**2), pi) - 1 / pi),
        sp.expand(moment - (a**2 * s**2 + 2 * a * pi * gain + pi * gain**2 / s**2)),
    ]


@largest
def enumerate_decay_equilibrium() -> Iterator[Fraction]:
    """One step of the library from its own equilibrium, in Fractions chosen so that no root is needed (pi = 1).

    a = (1 - lr lambda)^2 = 9/25 and lr^2 h^2 = 16/25 x^2: x' = x exactly.
    """
    for x in (Fraction(1), Fraction(5, 3)):
        h2 = Fraction(16, 25) * x**2
        path = norms.decayed_path(
            x, lr=Fraction(1), decay=Fraction(2, 5), squared_gradients=np.array([h2] * 3, dtype=object)
        )
        yield from (abs(value - x) for value in path)


def prop_lazy_decay() -> list[sp.Expr]:
    """Decay at updates only: one update of a vector, the length after n updates with and without pauses, the balance.

    Residuals: ||(1 - lr lambda) q - lr g||^2 minus the update of s = ||q||^2, for every tangent g of the plane; all
    patterns of 3 updates in 5 steps with symbolic ||h_k||^2, minus the run without pauses; and the equilibrium of
    `thm_decay_equilibrium` at pi = 1, which an update leaves where it is.
    """
    h2 = sp.symbols("a1:4", positive=True)
    keep = (1 - lr * decay) ** 2

    def updated_once(current: sp.Expr, squared: sp.Expr) -> sp.Expr:
        return keep * current + lr**2 * squared / current

    def length(pattern: Sequence[int]) -> sp.Expr:
        current, left = s, iter(h2)
        for updated in pattern:
            current = updated_once(current, next(left)) if updated else current
        return current

    x, y, turn = sp.symbols("x y t", positive=True)
    after = [(1 - lr * decay) * a - lr * turn * b for a, b in ((x, -y), (y, x))]
    square = x**2 + y**2  # ||h||^2 = ||q||^2 ||g||^2 is the square of turn square
    vector = sum(entry**2 for entry in after) - updated_once(square, (turn * square) ** 2)
    straight = updated_once(updated_once(updated_once(s, h2[0]), h2[1]), h2[2])
    patterns = [bits for bits in itertools.product((0, 1), repeat=5) if sum(bits) == 3]
    balance = sp.sqrt(lr**2 * h**2 / (1 - keep))
    rest = updated_once(balance, h**2) - balance
    return simplified(vector, *(length(bits) - straight for bits in patterns), rest)


def enumerate_lazy_decay() -> Fraction:
    """The library's lazy path for every pattern of 3 updates in 5 steps: one end for all; and the eager ends differ.

    The discrepancy is 1 if the eager ends were all equal too, for then the word lazy would say nothing.
    """
    amounts = [Fraction(1), Fraction(2, 3), Fraction(5, 2)]
    ends: dict[bool, set[Fraction]] = {True: set(), False: set()}
    for bits in itertools.product((0, 1), repeat=5):
        if sum(bits) != 3:
            continue
        left = iter(amounts)
        squares = np.array([next(left) if bit else Fraction(0) for bit in bits], dtype=object)
        for lazy in ends:
            path = norms.decayed_path(
                Fraction(3), lr=Fraction(1, 2), decay=Fraction(1, 5), squared_gradients=squares, lazy=lazy
            )
            ends[lazy].add(path[-1])
    return (max(ends[True]) - min(ends[True])) + (1 if len(ends[False]) == 1 else 0)


# ---- the corrected theorem (claim X8)


def thm_coupling_corrected() -> list[sp.Expr]:
    """E[s'^2 | s] - s^2 - 2 pi lr^2 E||h||^2 - pi E||dq||^4, ||h||^2 any two-point number; then the comparison.

    With l <= E||h||^2 <= u at every update the sum over T steps lies between 2 lr^2 l T pi and 2 lr^2 u T pi. The
    second residual: the lower bound of the item with l and pi_2 minus the upper bound of the one with u, fourth moment
    m and pi_1 is 2 T lr^2 pi_1 l times (pi_2 / pi_1 - (u / l) (1 + lr^2 m / (2 u s^2))).
    """
    low, high, chance, m = sp.symbols("A1 A2 w m", positive=True)
    mean = chance * low + (1 - chance) * high
    moved = [lr**2 * x / s for x in (low, high)]
    after = pi * (chance * (s + moved[0]) ** 2 + (1 - chance) * (s + moved[1]) ** 2) + (1 - pi) * s**2
    fourth = pi * (chance * moved[0] ** 2 + (1 - chance) * moved[1] ** 2)
    pi1, pi2, least, most = sp.symbols("pi1 pi2 l u", positive=True)
    lower = s**2 + 2 * lr**2 * least * T * pi2
    upper = s**2 + 2 * lr**2 * most * T * pi1 + T * pi1 * lr**4 * m / s**2
    compared = 2 * T * lr**2 * pi1 * least * (pi2 / pi1 - most / least * (1 + lr**2 * m / (2 * most * s**2)))
    return [sp.expand(after - s**2 - 2 * pi * lr**2 * mean - fourth), sp.expand(lower - upper - compared)]


def enumerate_coupling_corrected() -> Fraction:
    """E||q_T||^4 over all 3^T courses (no update, a small h, a large h) against the theorem; in Fractions, T = 1 ... 5.

    The law of h depends on the past: its mean square falls from u to l with the number of updates, and its spread
    grows. First with l < u, then with l = u, where both bounds are one. What an expectation misses a bound by is added.
    """
    return max(_outside_the_bounds(Fraction(1), Fraction(3, 2)), _outside_the_bounds(Fraction(3, 2), Fraction(3, 2)))


def _outside_the_bounds(least: Fraction, most: Fraction) -> Fraction:
    worst = Fraction(0)
    start, rate = Fraction(2), Fraction(1, 2)
    for probability, slots in ((Fraction(1, 6), 1), (Fraction(1, 3), 2)):
        update = norms.update_probability(probability, slots)
        for steps in range(1, 6):
            fourth_norm = excess = Fraction(0)
            for course in itertools.product((None, -1, 1), repeat=steps):
                chance, length, updates, fourth = Fraction(1), start, 0, Fraction(0)
                for sign in course:
                    if sign is None:
                        chance *= 1 - update
                        continue
                    updates += 1
                    mean = least + (most - least) / updates
                    h2 = mean + sign * mean * Fraction(updates, updates + 1)
                    chance *= update / 2
                    step2 = rate**2 * h2 / length
                    length, fourth = length + step2, fourth + step2**2
                fourth_norm += chance * length**2
                excess += chance * fourth
            grown = fourth_norm - start**2 - excess
            once = 2 * rate**2 * steps * update
            worst = max(worst, once * least - grown, grown - once * most)
    return worst


# ---- what is not true: long without being popular


def prop_growth_without_popularity() -> list[sp.Expr]:
    """Loss -cos. One target: h = 0 at q = c k, no more growth. Two orthogonal targets: h_1^2 + h_2^2 = 1.

    First the three components of the gradient at q = c k, for symbolic k. Then ||h_1||^2 + ||h_2||^2 - 1 for the
    targets (1, 0) and (0, 1) at any q of the plane, with ||h||^2 = ||q||^2 ||grad cos||^2: no direction is at rest for
    both. So taken in turn they keep sum ||h||^2 growing, and by the quartic law the length has no bound.
    """
    k = sp.symbols("k1:4", real=True)
    x, y = sp.symbols("x y", positive=True)
    arrived = _cosine_gradient(tuple(c * a for a in k), k)
    both = sum((x**2 + y**2) * sum(g**2 for g in _cosine_gradient((x, y), target)) for target in ((1, 0), (0, 1)))
    return simplified(*arrived, both - 1)


def growth_without_popularity(updates: tuple[int, int] = (6, 3)) -> Counterexample:
    """P0's title of Section 3, 'the norm is monotonic in item popularity', for two items of one training run.

    Loss -cos^2, learning rate 1/2, both start at (1, 1). The popular item is always asked for (1, 0): it turns there
    and stops growing. The rare one is asked for (1, 0) and (0, 1) in turn: it never comes to rest. claimed: the popular
    item is at least as long, so popular - rare of ||q||^2 is at least 0; actual: that difference, exact and negative.
    Keep the updates few: the digits of the exact numbers grow fourfold with each.
    """
    popular, rare = (
        _squared_norm_after(n, targets) for n, targets in zip(updates, (("1 0",), ("1 0", "0 1")), strict=True)
    )
    return Counterexample("the increments of two items are the same", claimed=Fraction(0), actual=popular - rare)


def conflicting_items(updates: tuple[int, int] = (1000, 100), *, rate: float = 0.5) -> tuple[float, float]:
    """(||q|| of the consistent item, of the conflicting one) in float64: loss -cos, start (1, 1)/sqrt 2, norm 1.

    The consistent item is asked for (1, 0) in updates[0] updates, the conflicting one for (1, 0) and (0, 1) in turn in
    updates[1] updates. The audit's numbers for claim P0-Abs.3.
    """
    from course_lib.geometry import cosine_gradient, norm

    found = []
    for n, targets in zip(updates, (((1.0, 0.0),), ((1.0, 0.0), (0.0, 1.0))), strict=True):
        q = np.array([1.0, 1.0]) / math.sqrt(2)
        for k in itertools.islice(itertools.cycle(targets), n):
            q = q + rate * cosine_gradient(q, np.array(k))
        found.append(float(norm(q)))
    return found[0], found[1]


# ---- counting


def _binomial(n: int, k: int, chance: Any) -> Any:
    """C(n, k) chance^k (1 - chance)^(n - k), for a Fraction or a symbol."""
    return math.comb(n, k) * chance**k * (1 - chance) ** (n - k)


def _binomial_slope(n: int, k: int, chance: Fraction) -> Fraction:
    """d/d chance of `_binomial`, for 0 < chance < 1."""
    slope: Fraction = _binomial(n, k, chance) * (Fraction(k) / chance - Fraction(n - k) / (1 - chance))
    return slope


def _patterns(length: int) -> Iterator[tuple[int, ...]]:
    return itertools.product((0, 1), repeat=length)


def _count_law(slots: int, batches: int, chance: Any) -> list[Any]:
    """P(N = n), n = 0 ... batches, over every pattern of slots; exact for a Fraction, a polynomial for a symbol."""
    law = [0] * (batches + 1)
    for held in _patterns(slots * batches):
        updated = sum(any(held[b * slots : (b + 1) * slots]) for b in range(batches))
        law[updated] += chance ** sum(held) * (1 - chance) ** (len(held) - sum(held))
    return law


def _chance_that(chances: Sequence[Fraction], event: Callable[..., bool]) -> Fraction:
    """The probability of an event of independent slots with these chances."""
    total = Fraction(0)
    for held in _patterns(len(chances)):
        weight = math.prod(q if bit else 1 - q for q, bit in zip(chances, held, strict=True))
        total += weight if event(held) else 0
    return total


# ---- vectors


def _cosine_gradient(q: Sequence[Any], k: Sequence[Any]) -> list[Any]:
    """(k/||k|| - cos q/||q||) / ||q||, in symbols."""
    inner, length, target = (sum(a * b for a, b in zip(v, w, strict=True)) for v, w in ((q, k), (q, q), (k, k)))
    return [(b - inner / length * a) / sp.sqrt(length * target) for a, b in zip(q, k, strict=True)]


def _vectors(*rows: str) -> list[list[Fraction]]:
    return [[Fraction(x) for x in row.split()] for row in rows]


def _dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def _squared_cosine_gradient(q: Sequence[Fraction], k: Sequence[Fraction]) -> list[Fraction]:
    """The gradient of -cos(q, k)^2 at q: -2 <q, k> / (||q||^2 ||k||^2) (k - <q, k>/||q||^2 q).

    Rational for rational q, k.
    """
    inner, length = _dot(q, k), _dot(q, q)
    factor = -2 * inner / (length * _dot(k, k))
    return [factor * (b - inner / length * a) for a, b in zip(q, k, strict=True)]


def _descend(q: Sequence[Fraction], k: Sequence[Fraction], rate: Fraction) -> list[Fraction]:
    return [x - rate * g for x, g in zip(q, _squared_cosine_gradient(q, k), strict=True)]


def _squared_norm_after(updates: int, targets: Sequence[str]) -> Fraction:
    q = [Fraction(1), Fraction(1)]
    for k in itertools.islice(itertools.cycle(_vectors(*targets)), updates):
        q = _descend(q, k, Fraction(1, 2))
    return _dot(q, q)

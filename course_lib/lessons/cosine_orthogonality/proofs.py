"""Symbolic proofs about cosines and their gradients (P0, Section 2.5, Appendix B, and our sharper statements).

For every dimension at once. A function of the inner products a_s = <q, k_s> and b = <q, q> has the gradient

    grad_q f = sum_s (df/da_s) k_s + 2 (df/db) q,

because grad_q <q, k> = k and grad_q <q, q> = 2 q; `lem_cosine_gradient` proves these two rules with sums over a
symbolic number of coordinates. So a gradient is a linear combination of q and the k_s, a `Combination`, and its inner
products are expressions in the entries of their Gram matrix. No coordinate and no dimension is left. Next to the first
proofs stands the same statement written out in coordinates for d = 2, 3, 4, which shares no line with the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import sympy as sp

from course_lib.lessons.shared.symbolic import proof, simplified

a = sp.Symbol("a", real=True)  # <q, k>, where there is one k
b, c = sp.symbols("b c", positive=True)  # <q, q> and <k, k>
lr, eps, tau, t = sp.symbols("eta epsilon tau t", positive=True)
DIMENSIONS = (2, 3, 4)


# ---- vectors without coordinates


@dataclass(frozen=True)
class Combination:
    """A linear combination of named vectors: {"q": x, "k1": y} stands for x q + y k1."""

    parts: Mapping[str, sp.Expr]

    def __add__(self, other: Combination) -> Combination:
        names = {*self.parts, *other.parts}
        return Combination({n: self.parts.get(n, sp.S.Zero) + other.parts.get(n, sp.S.Zero) for n in names})

    def __mul__(self, factor: sp.Expr) -> Combination:
        return Combination({name: factor * x for name, x in self.parts.items()})

    __rmul__ = __mul__

    def dot(self, other: Combination, gram: Callable[[str, str], sp.Expr]) -> sp.Expr:
        """The inner product, by bilinearity, from the inner products `gram(name, name)` of the named vectors."""
        return sum(
            (x * y * gram(left, right) for left, x in self.parts.items() for right, y in other.parts.items()), sp.S.Zero
        )


Q = Combination({"q": sp.S.One})


def keys(count: int) -> list[str]:
    """The names k1, k2, ... of the other vectors."""
    return [f"k{s}" for s in range(1, count + 1)]


def gram(left: str, right: str) -> sp.Expr:
    """<left, right> as a symbol: b for <q, q>, a_k for <q, k>, positive c_kk for <k, k>."""
    left, right = sorted((left, right), reverse=True)  # q before k
    if left == right == "q":
        return b
    if left == "q":
        return sp.Symbol(f"a_{right}", real=True)
    return sp.Symbol(f"c_{left}{right}", positive=True if left == right else None, real=True)


def cosine(key: str) -> sp.Expr:
    """cos(q, key) = <q, key> / (||q|| ||key||) in the scalars of `gram` (P0, equation 25)."""
    return gram("q", key) / sp.sqrt(b * gram(key, key))


def gradient(f: sp.Expr, names: list[str]) -> Combination:
    """The gradient of f(<q, k_s>, <q, q>) with respect to q, for every dimension."""
    parts = {name: sp.diff(f, gram("q", name)) for name in names}
    return Combination({**parts, "q": 2 * sp.diff(f, b)})


def radial(f: sp.Expr, names: list[str]) -> sp.Expr:
    """<q, grad_q f>: what must be zero for a loss that cannot see ||q||."""
    return Q.dot(gradient(f, names), gram)


# ---- the lemma


def lem_cosine_gradient() -> list[sp.Expr]:
    """grad_q cos(q, k) - (k - (<q, k>/||q||^2) q) / (||q|| ||k||) (P0, equation 27), and the two rules it rests on.

    Residuals: the rules for a symbolic number n of coordinates; the formula for every dimension; both written out for
    d = 2, 3, 4.
    """
    found = gradient(cosine("k1"), ["k1"])
    claimed = cosine_gradient_as_printed("k1")
    difference = [sp.simplify(found.parts[name] - claimed.parts[name]) for name in ("q", "k1")]
    return indexed_rules() + difference + [r for d in DIMENSIONS for r in _gradient_in_coordinates(d)]


def cosine_gradient_as_printed(key: str) -> Combination:
    """(27): (key - (<q, key>/||q||^2) q) / (||q|| ||key||)."""
    scale = 1 / sp.sqrt(b * gram(key, key))
    printed: Combination = scale * Combination({key: sp.S.One, "q": -gram("q", key) / b})
    return printed


def indexed_rules() -> list[sp.Expr]:
    """d<q, k>/dq_j - k_j and d<q, q>/dq_j - 2 q_j with sums over a symbolic number n of coordinates, 1 <= j <= n."""
    n = sp.Symbol("n", integer=True, positive=True)
    i, j = sp.symbols("i j", integer=True, positive=True)
    q, k = sp.IndexedBase("q"), sp.IndexedBase("k")
    cases = ((sp.Sum(q[i] * k[i], (i, 1, n)), k[j]), (sp.Sum(q[i] ** 2, (i, 1, n)), 2 * q[j]))
    return [_inside(sp.diff(total, q[j]).doit(), j, n) - claimed for total, claimed in cases]


def _inside(expression: sp.Expr, j: sp.Symbol, n: sp.Symbol) -> sp.Expr:
    """The branch of a Piecewise that holds for 1 <= j <= n."""
    inside, outside = sp.piecewise_fold(expression).args
    if inside.cond != (j <= n) or outside.expr != 0:
        raise ArithmeticError(f"sympy split the sum in a way that this proof does not know: {expression}")
    return sp.simplify(inside.expr)


def lem_cosine_orthogonality() -> list[sp.Expr]:
    """q^T grad_q cos(q, k) = 0 (P0, Lemma B.1): for every dimension, then written out for d = 2, 3, 4."""
    by_scalars = sp.simplify(radial(cosine("k1"), ["k1"]))
    printed = sp.simplify(Q.dot(cosine_gradient_as_printed("k1"), gram))
    expanded = []
    for d in DIMENSIONS:
        q, k = _coordinates("q", d), _coordinates("k", d)
        expanded.append(sp.simplify(sum(x * sp.diff(_cosine(q, k), x) for x in q)))
    return [by_scalars, printed, *expanded]


def cor_gradient_length() -> list[sp.Expr]:
    """||grad_q cos||^2 - (1 - cos^2)/||q||^2, for every dimension; ||q|| ||grad|| does not change under q -> t q."""
    slope = gradient(cosine("k1"), ["k1"])
    squared = slope.dot(slope, gram)
    stretched = {b: t**2 * b, gram("q", "k1"): t * gram("q", "k1")}
    return simplified(
        squared - (1 - cosine("k1") ** 2) / b, (b * squared).subs(stretched, simultaneous=True) - b * squared
    )


# ---- any function of cosines; degree zero; Pythagoras


def thm_tangent_gradient() -> list[sp.Expr]:
    """<q, grad_q F(cos(q, k_1), ..., cos(q, k_r))> = 0 (P0, equations 13-16).

    Residuals: an undetermined differentiable F of r = 1, 2, 3 cosines, by sympy's chain rule; the sum over a symbolic
    number r of cosines, term by term; and the losses of `instances`.
    """
    generic = []
    for r in (1, 2, 3):
        names = keys(r)
        F = sp.Function("F")(*(cosine(name) for name in names))
        generic.append(sp.simplify(radial(F, names)))
    return [*generic, radial_of_any_number(), *(sp.simplify(radial(f, keys(3))) for f in instances().values())]


def radial_of_any_number() -> sp.Expr:
    """sum_(s=1)^r F_s <q, grad_q cos(q, k_s)> with a symbolic r (P0, equation 16): each term vanishes."""
    r, s = sp.Symbol("r", integer=True, positive=True), sp.Symbol("s", integer=True, positive=True)
    F, inner, squared = sp.IndexedBase("F"), sp.IndexedBase("a"), sp.IndexedBase("c")
    term = sp.diff(a / sp.sqrt(b * c), a) * a + 2 * sp.diff(a / sp.sqrt(b * c), b) * b
    term = term.subs({a: inner[s], c: squared[s]})
    return sp.Sum(sp.simplify(F[s] * term), (s, 1, r)).doit()


def instances() -> dict[str, sp.Expr]:
    """Losses of one q with three candidates, the first of which is its positive, in the scalars of `gram`."""
    margin = sp.Symbol("m", positive=True)
    cos = [cosine(name) for name in keys(3)]
    sine = sp.sqrt(1 - cos[0] ** 2)
    arc = cos[0] * sp.cos(margin) - sine * sp.sin(margin)
    return {
        "InfoNCE": _softmax_loss(cos, cos[0]),
        "(1 - cos)^2": (1 - cos[0]) ** 2,
        "cosine margin": _softmax_loss([cos[0] - margin, *cos[1:]], cos[0] - margin),
        "angular margin": _softmax_loss([arc, *cos[1:]], arc),
        "triplet margin, where it is active": margin + cos[1] - cos[0],
    }


def _softmax_loss(scores: list[sp.Expr], positive: sp.Expr) -> sp.Expr:
    return sp.log(sum(sp.exp(s / tau) for s in scores)) - positive / tau


@proof
def thm_degree_zero() -> Iterator[sp.Expr]:
    """t (d/dt) f(t q) - <t q, (grad f)(t q)> = 0 for an undetermined differentiable f of d = 2, 3, 4 coordinates.

    Read at t = 1 it gives "f(t q) = f(q) for all t > 0 implies <q, grad f> = 0". Read at every t it gives the converse:
    if the right-hand side is zero along the whole ray, the derivative along the ray is zero, and f is constant on it.
    Last residuals: the cosine, in the scalars, does not change under q -> t q; and the identity for functions of the
    inner products in every dimension.
    """
    for d in DIMENSIONS:
        q, x = _coordinates("q", d), _coordinates("x", d)
        f = sp.Function("f")
        along = t * sp.diff(f(*(t * y for y in q)), t).doit()
        at = dict(zip(x, (t * y for y in q), strict=True))
        inner = sum(t * y * sp.diff(f(*x), z).subs(at).doit() for y, z in zip(q, x, strict=True))
        yield (along - inner).doit()
    names = keys(2)
    inner = {gram("q", name): t * gram("q", name) for name in names}
    F = sp.Function("F")
    f = F(b, *(gram("q", name) for name in names))
    along = sp.diff(F(t**2 * b, *inner.values()), t).subs(t, 1).doit()
    stretched = cosine("k1").subs({b: t**2 * b, **inner}, simultaneous=True)
    yield from [stretched - cosine("k1"), (along - radial(f, names)).doit()]


def cor_pythagoras() -> list[sp.Expr]:
    """||q - lr grad||^2 - ||q||^2 - ||lr grad||^2 = 0 for the gradient of any F of cosines (P0, equation 18).

    Second residual: for any step dq whatever, ||q + dq||^2 - ||q||^2 - ||dq||^2 = 2 <q, dq>.
    """
    names = keys(2)
    slope = gradient(sp.Function("F")(*(cosine(name) for name in names)), names)
    return [_pythagoras(-lr * slope), sp.simplify(_pythagoras(Combination({"k1": sp.S.One})) - 2 * gram("q", "k1"))]


def _pythagoras(step: Combination) -> sp.Expr:
    moved = Q + step
    return sp.simplify(sp.expand(moved.dot(moved, gram) - b - step.dot(step, gram)))


def prop_effective_rate() -> list[sp.Expr]:
    """One step turns the direction by the angle atan(s ||h||), s = lr/||q||^2, h = ||q|| grad the scale-free gradient.

    With u = q/||q||, <u, h> = 0: the new direction is (u - s h)/sqrt(1 + s^2 ||h||^2) and the new norm ||q|| times that
    root. Neither lr nor ||q|| enters the direction except through s. Residuals: the coefficients of u and h in the new
    direction, the new squared norm, and the tangent of the angle.
    """
    length, h2 = sp.symbols("r h2", positive=True)  # ||q||, ||h||^2
    frame = {("u", "u"): sp.S.One, ("u", "h"): sp.S.Zero, ("h", "u"): sp.S.Zero, ("h", "h"): h2}
    s = lr / length**2
    moved = Combination({"u": length, "h": -lr / length})
    squared = moved.dot(moved, lambda left, right: frame[left, right])
    found = {name: x / sp.sqrt(squared) for name, x in moved.parts.items()}
    claimed = {"u": 1 / sp.sqrt(1 + s**2 * h2), "h": -s / sp.sqrt(1 + s**2 * h2)}
    tangent = sp.sqrt(found["h"] ** 2 * h2) / found["u"]
    return simplified(
        *(found[name] ** 2 - claimed[name] ** 2 for name in found),
        *(sp.sign(found[name]) - sp.sign(claimed[name]) for name in found),
        squared - length**2 * (1 + s**2 * h2),
        tangent - s * sp.sqrt(h2),
    )


# ---- what breaks it


def prop_dot_radial() -> list[sp.Expr]:
    """<q, grad_q F(<q, k_1>, ..., <q, k_r>)> - sum_s F_s <q, k_s>; for InfoNCE (mean of softmax p - positive) / tau.

    Residuals: an undetermined F of two dot products; InfoNCE of three candidates; its value at equal dot products (0);
    and the norm's first-order change over a step, d||q||^2 = -2 lr <q, grad>.
    """
    names = keys(3)
    dots = [gram("q", name) for name in names]
    F = sp.Function("F")(*dots[:2])
    generic = radial(F, names[:2]) - sum(sp.diff(F, x) * x for x in dots[:2])
    weights = [sp.exp(x / tau) for x in dots]
    mean = sum(w * x for w, x in zip(weights, dots, strict=True)) / sum(weights)
    loss = _softmax_loss(dots, dots[0])
    pull = radial(loss, names)
    slope = gradient(loss, names)
    moved = Q + -lr * slope
    first_order = sp.diff(moved.dot(moved, gram), lr).subs(lr, 0)
    return simplified(generic, pull - (mean - dots[0]) / tau, pull.subs(dict.fromkeys(dots, a)), first_order + 2 * pull)


def prop_clamp() -> list[sp.Expr]:
    """Below the clamp, ||q|| = rho eps with 0 < rho < 1, the cosine's stand-in <q, k'>/eps has a gradient along q.

    With C = cos(q, k), ||k|| = 1 and u = q/||q||. Residuals: the true gradient is k'/eps, its part along u is C/eps and
    its angle to q is that of k; what autograd returns for torch's cosine_similarity, which keeps d||q||/dq = u although
    it divides by eps, has the part C (1 - rho)/eps and the cosine C (1 - rho)/sqrt(1 - 2 rho C^2 + rho^2 C^2) with q;
    at rho = 1 that is 0 (it joins the gradient outside continuously), at rho = 0 it is the true one.
    """
    C, rho = sp.symbols("C rho", positive=True)
    at = {gram("q", "k1"): C * rho * eps, b: (rho * eps) ** 2, gram("k1", "k1"): sp.S.One}
    unit = (1 / sp.sqrt(b)) * Q

    def value(combination: Combination, other: Combination) -> sp.Expr:
        return sp.simplify(combination.dot(other, gram).subs(at))

    true = gradient(gram("q", "k1") / (eps * sp.sqrt(gram("k1", "k1"))), ["k1"])
    torch = gradient_of_half_clamped("k1")
    claimed = C * (1 - rho) / sp.sqrt(1 - 2 * rho * C**2 + rho**2 * C**2)
    torch_cosine = value(unit, torch) / sp.sqrt(value(torch, torch))
    return [
        sp.simplify(true.parts["q"]),
        value(unit, true) - C / eps,
        sp.simplify(value(unit, true) / sp.sqrt(value(true, true)) - C),
        sp.simplify(value(unit, torch) - C * (1 - rho) / eps),
        sp.simplify(torch_cosine**2 - claimed**2),
        sp.simplify(value(unit, torch).subs(rho, 1)),
        sp.simplify(value(unit, torch).subs(rho, 0) - C / eps),
    ]


def gradient_of_half_clamped(key: str) -> Combination:
    """Autograd's gradient of <q, key> / (N ||key||) with N = eps in the value and dN/dq = q/||q|| in the derivative."""
    N = sp.Symbol("N", positive=True)
    value = gram("q", key) / (N * sp.sqrt(gram(key, key)))
    explicit = gradient(value, [key])
    through_norm = (sp.diff(value, N) / sp.sqrt(b)) * Q
    total = explicit + through_norm
    return Combination({name: x.subs(N, eps) for name, x in total.parts.items()})


@proof
def prop_shift() -> Iterator[sp.Expr]:
    """A shift inside the cosine: <q, grad_q cos(q + w, k)> = -<w, grad>, and the gradient is orthogonal to q + w.

    So a bias inside the cosine breaks tangency; a bias outside it, F(cos(q, k) + w), does not (last residual).
    d = 2, 3, 4 in coordinates.
    """
    for d in DIMENSIONS:
        q, k, w = (_coordinates(name, d) for name in "qkw")
        shifted = [x + y for x, y in zip(q, w, strict=True)]
        f = _cosine(shifted, k)
        slope = [sp.diff(f, x) for x in q]
        yield from [
            sum(x * g for x, g in zip(shifted, slope, strict=True)),
            sum((x + y) * g for x, y, g in zip(q, w, slope, strict=True)),
        ]
    outside = sp.Symbol("w", real=True)
    yield radial(sp.Function("F")(cosine("k1") + outside), ["k1"])


def prop_shared_vector() -> list[sp.Expr]:
    """If k holds q, only the sum is tangent: f(x, y) = cos(x, x + y) has <x, f_x> + <y, f_y> = 0, but <x, f_x> != 0.

    In the scalars of x, y, for every dimension. Residuals: the sum; and <x, f_x> minus
    (||x||^2 ||y||^2 - <x, y>^2) / (||x|| ||x + y||^3), which is positive unless x and y are parallel.
    """
    xx, yy = sp.symbols("X Y", positive=True)
    xy = sp.Symbol("Z", real=True)
    f = (xx + xy) / sp.sqrt(xx * (xx + 2 * xy + yy))
    of_x = 2 * xx * sp.diff(f, xx) + xy * sp.diff(f, xy)  # <x, grad_x f>: grad_x <x, x> = 2 x, grad_x <x, y> = y
    of_y = 2 * yy * sp.diff(f, yy) + xy * sp.diff(f, xy)
    claimed = (xx * yy - xy**2) / (sp.sqrt(xx) * (xx + 2 * xy + yy) ** sp.Rational(3, 2))
    return simplified(of_x + of_y, of_x - claimed)


# ---- coordinates


def _coordinates(name: str, d: int) -> list[sp.Symbol]:
    return list(sp.symbols(f"{name}1:{d + 1}", real=True))


def _cosine(q: list[sp.Expr], k: list[sp.Expr]) -> sp.Expr:
    dot = sum(x * y for x, y in zip(q, k, strict=True))
    return dot / sp.sqrt(sum(x**2 for x in q) * sum(y**2 for y in k))


def _gradient_in_coordinates(d: int) -> list[sp.Expr]:
    """The d partial derivatives of the cosine minus equation (27), and the norm's square minus sin^2/||q||^2."""
    q, k = _coordinates("q", d), _coordinates("k", d)
    dot, qq, kk = (sum(x * y for x, y in zip(u, v, strict=True)) for u, v in ((q, k), (q, q), (k, k)))
    claimed = [(y - dot / qq * x) / sp.sqrt(qq * kk) for x, y in zip(q, k, strict=True)]
    slope = [sp.diff(_cosine(q, k), x) for x in q]
    length = sum(g**2 for g in claimed) - (1 - dot**2 / (qq * kk)) / qq
    return simplified(*(g - f for g, f in zip(slope, claimed, strict=True)), length)

"""Symbolic proofs about Jacobians and motion (P0, Sections 2.1-2.6 and Appendix A; claims X6 and X7).

Where a statement is linear algebra it is proved for matrices of symbolic size: J_i of a linear layer is the Kronecker
product I (x) x_i^T, and the rules of that product do the rest. Where it is calculus, q(theta) is differentiated in
coordinates at small sizes, which shares no line with the first.

A loss is F(cos_1, ..., cos_r) with F unknown. With D = sum_w w d/dw, the Euler operator of some parameters, the chain
rule gives <w, grad_w L> = D L = sum_s F_s D cos_s, so D cos_s = 0 for every s settles it for every F. For cos = u /
sqrt(n k) with u = <q, k>, n = ||q||^2 and k = ||k||^2 the sign of the root drops out: D cos = 0 exactly when the
polynomial 2 n k Du - u (k Dn + n Dk) is zero, which is what `euler` returns.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import sympy as sp
from sympy.matrices.expressions.kronecker import KroneckerProduct, combine_kronecker

from course_lib.lessons.shared.symbolic import proof, simplified

lr, mu, decay, eps = sp.symbols("eta mu lambda epsilon", positive=True)
d, h, r, n, p = sp.symbols("d h r n p", integer=True, positive=True)  # sizes
Vector = Sequence[sp.Expr]

# ---- equations (1)-(6): the kernel


def lem_kernel() -> list[sp.Expr]:
    """(2)-(4), (6): with dtheta = -lr sum_j J_j^T g_j, J_i dtheta + lr sum_j J_i J_j^T g_j; any d, P; three in a batch.

    Then the same for a tower that is not linear, q = (theta_1 theta_2, theta_1^2): what is left over has no term of
    order lr.
    """
    jacobians = [sp.MatrixSymbol(f"J{j}", d, p) for j in range(3)]
    gradients = [sp.MatrixSymbol(f"g{j}", d, 1) for j in range(3)]
    theta = sp.MatrixSymbol("theta", p, 1)
    change = -lr * sum(
        (J.T * g for J, g in zip(jacobians[1:], gradients[1:], strict=True)), jacobians[0].T * gradients[0]
    )
    kernel = sum(
        (jacobians[0] * J.T * g for J, g in zip(jacobians[1:], gradients[1:], strict=True)),
        jacobians[0] * jacobians[0].T * gradients[0],
    )
    linear = (jacobians[0] * (theta + change) - jacobians[0] * theta + lr * kernel).expand().doit()
    return [_zero(linear), *_first_order_gap()]


def _first_order_gap() -> list[sp.Expr]:
    theta, g = _vector("theta", 2), _vector("g", 2)
    q = [theta[0] * theta[1], theta[0] ** 2]
    jacobian = sp.Matrix(q).jacobian(theta)
    stepped = _substituted(q, theta, sp.Matrix(theta) - lr * jacobian.T * sp.Matrix(g))
    gap = sp.Matrix(stepped) - sp.Matrix(q) + lr * jacobian * jacobian.T * sp.Matrix(g)
    return [sp.expand(entry).coeff(lr, 1) for entry in gap] + [sp.expand(entry).coeff(lr, 0) for entry in gap]


# ---- appendix A: the Jacobians of the towers


def lem_embedding_kernel() -> list[sp.Expr]:
    """(8), (19), (20): J_i = e_i^T (x) I_d, so K_ij = (e_i^T e_j) I_d, any n and d; by differentiation for n = d = 3.

    (9): with c_i equal inputs, dq_i = -lr c_i times the mean of their gradients.
    """
    rows = [sp.MatrixSymbol(f"e{i}", n, 1) for i in range(2)]
    general = _kernel(rows[0].T, sp.Identity(d), rows[1].T, sp.Identity(d)) - KroneckerProduct(
        rows[0].T * rows[1], sp.Identity(d)
    )
    table = _matrix("E", 3, 3)
    theta = list(table)  # row by row
    found = [table.row(i).jacobian(theta) for i in range(3)]
    printed = [sp.KroneckerProduct(sp.eye(3).row(i), sp.eye(3)).doit() for i in range(3)]
    coordinates = [entry for i in range(3) for entry in found[i] - printed[i]]
    products = [
        entry
        for i, j in itertools.product(range(3), repeat=2)
        for entry in found[i] * found[j].T - sp.KroneckerDelta(i, j) * sp.eye(3)
    ]
    g = [sp.Matrix(_vector(f"g{j}", 3)) for j in range(3)]  # inputs 0, 0, 2: c_0 = 2
    moved = -lr * sum((found[0] * found[x].T * g[j] for j, x in enumerate((0, 0, 2))), sp.zeros(3, 1))
    return [_zero(general), *coordinates, *products, *sp.expand(moved + lr * 2 * (g[0] + g[1]) / 2)]


def lem_linear_kernel() -> list[sp.Expr]:
    """(10), (21), (22): J_i = I_d (x) x_i^T, so K_ij = (x_i . x_j) I_d, for any d and h; a bias adds I_d to every K_ij.

    (11), (12): dq_i is minus lr times the sum of (x_i . x_j) g_j; orthogonal inputs leave ||x_i||^2 times those of
    equal inputs.
    """
    x, y = sp.MatrixSymbol("x", h, 1), sp.MatrixSymbol("y", h, 1)
    general = _kernel(sp.Identity(d), x.T, sp.Identity(d), y.T) - KroneckerProduct(sp.Identity(d), x.T * y)
    weight, bias = _matrix("W", 2, 3), sp.Matrix(_vector("b", 2))
    inputs = [sp.Matrix(_vector(f"x{i}", 3)) for i in range(2)]
    theta = [*weight, *bias]
    found = [(weight * x_i + bias).jacobian(theta) for x_i in inputs]
    printed = [sp.Matrix.hstack(sp.KroneckerProduct(sp.eye(2), x_i.T).doit(), sp.eye(2)) for x_i in inputs]
    kernel = found[0] * found[1].T - (inputs[0].dot(inputs[1]) + 1) * sp.eye(2)
    coordinates = [entry for a, b in zip(found, printed, strict=True) for entry in a - b]
    return [_zero(general), *coordinates, *sp.expand(kernel), *_linear_motion()]


def _linear_motion() -> list[sp.Expr]:
    """(11) for inputs x, x, y, and (12) for x = (3, 4), y = (-8, 6)."""
    weight = _matrix("W", 2, 2)
    x, y = sp.Matrix(_vector("x", 2)), sp.Matrix(_vector("y", 2))
    g = [sp.Matrix(_vector(f"g{j}", 2)) for j in range(3)]
    slope = g[0] * x.T + g[1] * x.T + g[2] * y.T  # dL/dW
    moved = (weight - lr * slope) * x - weight * x
    eq11 = moved + lr * x.dot(x) * (g[0] + g[1]) + lr * x.dot(y) * g[2]
    orthogonal = dict(zip([*x, *y], (3, 4, -8, 6), strict=True))
    eq12 = (moved + lr * 2 * x.dot(x) * (g[0] + g[1]) / 2).subs(orthogonal)
    return [sp.expand(entry) for entry in [*eq11, *eq12]]


def lem_two_layer_kernel() -> list[sp.Expr]:
    """(23), (24): J_i = [I (x) z_i^T | B (x) x_i^T] with z = A x, so K_ij = (z_i . z_j) I + (x_i . x_j) B B^T.

    And what P0 says cannot be had, the exact motion at any lr (second list):
    dq_i = -lr sum_j K_ij g_j + lr^2 sum_jk g_j <q_j, g_k> (x_k . x_i).
    """
    x, y = sp.MatrixSymbol("x", h, 1), sp.MatrixSymbol("y", h, 1)
    z, w, B = sp.MatrixSymbol("z", r, 1), sp.MatrixSymbol("w", r, 1), sp.MatrixSymbol("B", d, r)
    general = [
        _kernel(sp.Identity(d), z.T, sp.Identity(d), w.T) - KroneckerProduct(sp.Identity(d), z.T * w),
        _kernel(B, x.T, B, y.T) - KroneckerProduct(B * B.T, x.T * y),
    ]
    return [*map(_zero, general), *_two_layer_coordinates(), *two_layer_step()]


def _two_layer_coordinates() -> list[sp.Expr]:
    first, second, x = _matrix("A", 2, 3), _matrix("B", 2, 2), sp.Matrix(_vector("x", 3))
    found = (second * first * x).jacobian([*second, *first])
    printed = sp.Matrix.hstack(
        sp.KroneckerProduct(sp.eye(2), (first * x).T).doit(), sp.KroneckerProduct(second, x.T).doit()
    )
    return [sp.expand(entry) for entry in found - printed]


@proof
def two_layer_step() -> Iterator[sp.Expr]:
    """One SGD step of two layers, minus the closed form, for two examples with h = r = d = 2 and free gradients."""
    first, second = _matrix("A", 2, 2), _matrix("B", 2, 2)
    x = [sp.Matrix(_vector(f"x{i}", 2)) for i in range(2)]
    g = [sp.Matrix(_vector(f"g{i}", 2)) for i in range(2)]
    z = [first * x_i for x_i in x]
    q = [second * z_i for z_i in z]
    slope_second = sum((g[j] * z[j].T for j in range(2)), sp.zeros(2))
    slope_first = sum((second.T * g[j] * x[j].T for j in range(2)), sp.zeros(2))
    for i in range(2):
        moved = (second - lr * slope_second) * (first - lr * slope_first) * x[i] - q[i]
        kernel = sum(
            (z[i].dot(z[j]) * g[j] + x[i].dot(x[j]) * second * second.T * g[j] for j in range(2)), sp.zeros(2, 1)
        )
        pairs = itertools.product(range(2), repeat=2)
        square = sum((g[j] * q[j].dot(g[k]) * x[k].dot(x[i]) for j, k in pairs), sp.zeros(2, 1))
        yield from [sp.expand(entry) for entry in moved + lr * kernel - lr**2 * square]


# ---- Theorem 2.1 and the sharp criterion


@proof
def thm_orthogonal_motion() -> Iterator[sp.Expr]:
    """Theorem 2.1: <q_i, dq_i> of one SGD step of a lookup table on any F(cosines), any lr; d = 2, 3, 4.

    dq_i = -lr grad_{E_i} L however often i stands in the batch (`lem_embedding_kernel`), so the product is -lr D L with
    D over row i; only cosines that contain row i count, those with keys and those with other rows. Then (18). Last a
    layer without bias on the inputs x, x and y with <x, y> = 0, a lookup-equivalent tower that is no table: one step
    with any gradients that are tangent in the plane.
    """
    for size in (2, 3, 4):
        row, other, key = (_vector(name, size) for name in ("E1", "E2", "k"))
        yield from [euler(row, key, row), euler(row, other, row), euler(other, row, row), *_growth(size)]
    weight, x, y = _matrix("W", 2, 2), sp.Matrix([3, 4]), sp.Matrix([-8, 6])
    turn, lengths = sp.Matrix([[0, -1], [1, 0]]), sp.symbols("t1:4", real=True)
    gradients = [t * turn * weight * z for t, z in zip(lengths, (x, x, y), strict=True)]
    moved = weight - lr * sum((g * z.T for g, z in zip(gradients, (x, x, y), strict=True)), sp.zeros(2))
    yield from [(weight * z).dot(moved * z - weight * z) for z in (x, y)]


@proof
def thm_sharp_criterion() -> Iterator[sp.Expr]:
    """Claim X7 for a pair (i, j), w = K_ji q_i, P = I - q_j q_j^T / ||q_j||^2, d = 2, 3, 4; pairs are independent.

    If w = c q_j, then <w, g> = 0 for every tangent g = P v. If not, the tangent g = P w has <w, g> = ||P w||^2, and
    P w = 0 only for w along q_j: ||q_j||^2 ||P w||^2 is the sum of the squared 2 x 2 minors of (q_j, w).
    """
    for size in (2, 3, 4):
        q, w, v = (sp.Matrix(_vector(name, size)) for name in ("q", "w", "v"))
        c = sp.Symbol("c")
        projected, tangent = w - q * q.dot(w) / q.dot(q), v - q * q.dot(v) / q.dot(q)
        minors = sum((q[a] * w[b] - q[b] * w[a]) ** 2 for a, b in itertools.combinations(range(size), 2))
        yield from [
            q.dot(tangent),  # P v is tangent
            (c * q).dot(tangent),  # sufficient
            w.dot(projected) - projected.dot(projected),  # necessary: this gradient sees all of P w
            q.dot(q) * projected.dot(projected) - minors,  # and P w = 0 only if w is along q
        ]


def thm_layer_law() -> list[sp.Expr]:
    """Euler: a loss that does not feel W scaled has <W, grad_W> = 0; an SGD step adds lr^2 ||grad_W||^2 to ||W||^2.

    For q = B M A x, F any function of cosines: M = diag(0 or 1) is a ReLU away from its kinks, and B, A are two layers
    without bias. Then a table that both towers share (the user is the mean of two items), where only the sum over rows
    vanishes. Last, the growth.
    """
    first, second, x = _matrix("A", 2, 2), _matrix("B", 2, 2), sp.Matrix(_vector("x", 2))
    key, residuals = _vector("k", 2), []
    for mask in (sp.diag(1, 1), sp.diag(1, 0)):
        q = list(second * mask * first * x)
        residuals += [euler(q, key, layer) for layer in (first, second)]
    rows = [_vector(f"E{i}", 2) for i in range(3)]
    user, table = [(a + b) / 2 for a, b in zip(rows[0], rows[1], strict=True)], [entry for row in rows for entry in row]
    return [*residuals, *(euler(user, row, table) for row in rows), *_growth(3)]


def shared_row_product() -> sp.Expr:
    """What sharing loses: <E_1, grad_{E_1} cos(user, E_3)>, user = (E_1 + E_2)/2, E_1 = (1, 0), E_2 = E_3 = (0, 1)."""
    row = _vector("E", 2)
    user, item = [(row[0] + 0) / 2, (row[1] + 1) / 2], [sp.S.Zero, sp.S.One]
    product = sum(entry * sp.diff(_cosine(user, item), entry) for entry in row)
    return sp.nsimplify(product.subs(dict(zip(row, (1, 0), strict=True))))


def _growth(size: int) -> list[sp.Expr]:
    w, slope = _vector("w", size), _vector("s", size)
    after = [a - lr * b for a, b in zip(w, slope, strict=True)]
    return [sp.expand(_dot(after, after) - _dot(w, w) - lr**2 * _dot(slope, slope) + 2 * lr * _dot(w, slope))]


def prop_beyond_lookup() -> list[sp.Expr]:
    """Towers outside P0's two premises, one SGD step on any F(cosines), any lr; d = 2, 3, 4 (4 for the product).

    q_i = s E_i and q_i = e^{b_i} E_i: s and b_i stay, and dq_i = -lr s^2 g_i, -lr e^{2b} g_i exactly. q = E / ||E||^2:
    J J^T = I / ||E||^4, and ||q||^-2 grows by lr^2 ||q||^4 ||g||^2, so the norm SHRINKS. q = a b, the product of two
    quaternions: J J^T = (||a||^2 + ||b||^2) I with eight parameters for four coordinates.
    """
    return [*_scaled_lookup(), *_exponential_lookup(), *_inverted_lookup(), *_quaternion_product()]


def _scaled_lookup() -> list[sp.Expr]:
    """D cos = 0 over s and over each row: s has no gradient, and q' = s (E - lr s g) = q - lr s^2 g with <q, g> = 0."""
    s, residuals = sp.Symbol("s", positive=True), []
    for size in (2, 3, 4):
        row, key, g = (_vector(name, size) for name in ("E", "k", "g"))
        q = [s * e for e in row]
        moved = [s * (e - lr * s * slope) - a + lr * s**2 * slope for e, slope, a in zip(row, g, q, strict=True)]
        residuals += [euler(q, key, [s]), euler(q, key, row), *map(sp.expand, moved)]
    return residuals


def _exponential_lookup() -> list[sp.Expr]:
    """d/db of anything at e^b E is D over s = e^b, so b stays, and the rest is a lookup scaled by s."""
    b, s, residuals = sp.Symbol("b", real=True), sp.Symbol("s", positive=True), []
    for size in (2, 3, 4):
        row, key = _vector("E", size), _vector("k", size)
        same = sp.diff(sp.exp(b), b) - (s * sp.diff(s, s)).subs(s, sp.exp(b))
        residuals += [same, euler([s * e for e in row], key, [s])]
    return residuals


def _inverted_lookup() -> list[sp.Expr]:
    E, t = _positive_first("E", 2), sp.Symbol("t", real=True)
    q = [e / _dot(E, E) for e in E]
    jacobian = sp.Matrix(q).jacobian(E)
    g = [-t * q[1], t * q[0]]  # every tangent gradient in the plane
    after = sp.Matrix(E) - lr * jacobian.T * sp.Matrix(g)
    moved = [e / after.dot(after) for e in after]
    shrunk = 1 / _dot(moved, moved) - 1 / _dot(q, q) - lr**2 * _dot(q, q) ** 2 * _dot(g, g)
    kernel = jacobian * jacobian.T - sp.eye(2) / _dot(E, E) ** 2
    return simplified(*kernel, shrunk)


def _quaternion_product() -> list[sp.Expr]:
    a, b = _vector("a", 4), _vector("b", 4)
    q = [
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ]
    jacobian = sp.Matrix(q).jacobian([*a, *b])
    return list(sp.expand(jacobian * jacobian.T - (_dot(a, a) + _dot(b, b)) * sp.eye(4)))


# ---- optimisers (claim X6)


def prop_momentum() -> list[sp.Expr]:
    """Heavy ball: <q_t, dq_t> = lr^2 sum_s mu^(t-s) ||v_s||^2, where v_t = mu v_{t-1} + g_t and <q_t, g_t> = 0.

    q_{t+1} = q_t - lr v_t; s = 1, ..., t - 1. By induction, in any dimension: <q_t, v_t> = mu <q_{t-1} - lr v_{t-1},
    v_{t-1}>, since a tangent g_t adds nothing, so <q_t, dq_t> = mu (<q_{t-1}, dq_{t-1}> + lr^2 ||v_{t-1}||^2); and the
    sum satisfies the same recursion, from 0 at t = 1 (checked up to t = 8). Then three steps in coordinates.
    """
    product, square = sp.symbols("a w", real=True)  # <q, v> and ||v||^2, one step earlier
    step = -lr * mu * (product - lr * square) - mu * (-lr * product + lr**2 * square)
    squares = sp.symbols("w1:9", nonnegative=True)

    def claimed(t: int) -> sp.Expr:
        return lr**2 * sum(mu ** (t - s) * squares[s - 1] for s in range(1, t))

    recursion = [claimed(t) - mu * (claimed(t - 1) + lr**2 * squares[t - 2]) for t in range(2, 9)]
    return [sp.expand(step), sp.sympify(claimed(1)), *map(sp.expand, recursion), *_momentum_in_coordinates()]


def _momentum_in_coordinates() -> list[sp.Expr]:
    """Three steps in the plane, with tangent gradients t_k (-q_2, q_1) of free lengths."""
    q, v = _vector("q", 2), [sp.S.Zero, sp.S.Zero]
    lengths = sp.symbols("t1 t2 t3", real=True)
    squares: list[sp.Expr] = []
    residuals: list[sp.Expr] = []
    for at, length in enumerate(lengths):
        v = [mu * v[0] - length * q[1], mu * v[1] + length * q[0]]
        step = [-lr * entry for entry in v]
        claimed = lr**2 * sum(mu ** (at - s) * square for s, square in enumerate(squares))
        residuals.append(sp.expand(_dot(q, step) - claimed))
        squares.append(_dot(v, v))
        q = [a + b for a, b in zip(q, step, strict=True)]
    return residuals


def prop_row_adagrad() -> list[sp.Expr]:
    """Row-wise Adagrad moves a row along its gradient: <q, dq> for a tangent g; ||q||^2 grows by lr^2 ||g||^2 / S.

    d = 2, 3, 4 with g = P v and S = S_0 + mean g^2, eps left out; entry-wise Adagrad is in `radial_parts`.
    """
    residuals, start = [], sp.Symbol("S_0", positive=True)
    for size in (2, 3, 4):
        q, v = (sp.Matrix(_vector(name, size)) for name in ("q", "v"))
        g = v - q * q.dot(v) / q.dot(q)
        total = start + g.dot(g) / size
        step = -lr * g / sp.sqrt(total)
        after = q + step
        residuals += [sp.simplify(q.dot(step)), sp.simplify(after.dot(after) - q.dot(q) - lr**2 * g.dot(g) / total)]
    return residuals


def prop_adam() -> list[sp.Expr]:
    """Adam's first step, bias-corrected, is -lr g / (|g| + eps) entry by entry: -lr sign(g) as eps -> 0, any betas.

    At q = (2, 1), g = (1, -2) that is tangent no more: <q, dq> = -lr, and with -g it is +lr.
    """
    beta1, beta2 = sp.symbols("beta_1 beta_2", positive=True)
    g = sp.Symbol("g", real=True, nonzero=True)
    first, second = (1 - beta1) * g / (1 - beta1), (1 - beta2) * g**2 / (1 - beta2)
    step = -lr * first / (sp.sqrt(second) + eps)
    limit = sp.limit(step.subs(g, sp.Symbol("x", positive=True)), eps, 0)
    inward, outward = (radial_parts("adam", (2, 1), slope) for slope in ((1, -2), (-1, 2)))
    return [sp.simplify(step + lr * g / (sp.Abs(g) + eps)), limit + lr, inward + lr, outward - lr]


def radial_parts(optimiser: str, q: Sequence[int], g: Sequence[int]) -> sp.Expr:
    """<q, dq> of the FIRST step of an optimiser from rest, exactly, for rational q and g (eps = 0).

    "sgd", "row_adagrad", "adagrad", "adam", or "decay" (SGD with weight decay lambda). Raises ValueError for a g that
    is not tangent, or that has a zero entry where an optimiser divides by it.
    """
    if _dot(q, g) != 0:
        raise ValueError(f"g must be tangent, but <q, g> = {_dot(q, g)} for q = {tuple(q)} and g = {tuple(g)}")
    g = [sp.Rational(entry) for entry in g]
    if optimiser in ("adam", "adagrad") and 0 in g:
        raise ValueError(f"g = {tuple(g)} has a zero entry, and {optimiser} divides by its size; expected none")
    mean = sum(entry**2 for entry in g) / len(g)
    steps = {
        "sgd": lambda: [-lr * entry for entry in g],
        "row_adagrad": lambda: [-lr * entry / sp.sqrt(mean) for entry in g],
        "adagrad": lambda: [-lr * entry / sp.sqrt(entry**2) for entry in g],
        "adam": lambda: [-lr * sp.sign(entry) for entry in g],
        "decay": lambda: [-lr * (entry + decay * x) for entry, x in zip(g, q, strict=True)],
    }
    if optimiser not in steps:
        raise ValueError(f"optimiser is {optimiser!r}; expected one of {tuple(steps)}")
    return sp.simplify(_dot(q, steps[optimiser]()))


# ---- what they are made of


def _kernel(a: sp.MatrixExpr, b: sp.MatrixExpr, c: sp.MatrixExpr, e: sp.MatrixExpr) -> sp.MatrixExpr:
    """(a (x) b)(c (x) e)^T by the rules of the Kronecker product, for matrices of any size."""
    return combine_kronecker((KroneckerProduct(a, b) * KroneckerProduct(c, e).T).doit())


def _zero(expression: sp.MatrixExpr) -> sp.Expr:
    """0 for a matrix expression that is the zero matrix, itself otherwise."""
    done = expression.doit()
    return sp.S.Zero if isinstance(done, sp.ZeroMatrix) else done


def euler(q: Vector, k: Vector, parameters: Sequence[sp.Symbol]) -> sp.Expr:
    """2 n k Du - u (k Dn + n Dk), zero exactly where D cos(q, k) is; D = sum of w d/dw over the parameters."""
    u, n_q, n_k = _dot(q, k), _dot(q, q), _dot(k, k)
    du, dn, dk = (sum(w * sp.diff(f, w) for w in parameters) for f in (u, n_q, n_k))
    return sp.expand(2 * n_q * n_k * du - u * (n_k * dn + n_q * dk))


def _cosine(q: Vector, k: Vector) -> sp.Expr:
    return _dot(q, k) / (sp.sqrt(_dot(q, q)) * sp.sqrt(_dot(k, k)))


def _dot(a: Vector, b: Vector) -> sp.Expr:
    return sum((x * y for x, y in zip(a, b, strict=True)), sp.S.Zero)


def _vector(name: str, size: int) -> list[sp.Symbol]:
    return [sp.Symbol(f"{name}_{k}", real=True) for k in range(1, size + 1)]


def _positive_first(name: str, size: int) -> list[sp.Symbol]:
    """A vector whose first entry is positive: then it is not zero, and sympy may divide by its length."""
    return [sp.Symbol(f"{name}_1", positive=True), *_vector(name, size)[1:]]


def _matrix(name: str, rows: int, columns: int) -> sp.Matrix:
    return sp.Matrix(rows, columns, lambda i, j: sp.Symbol(f"{name}_{i + 1}{j + 1}", real=True))


def _substituted(expressions: Sequence[sp.Expr], symbols: Vector, values: Sequence[sp.Expr]) -> list[sp.Expr]:
    return [e.subs(dict(zip(symbols, values, strict=True)), simultaneous=True) for e in expressions]

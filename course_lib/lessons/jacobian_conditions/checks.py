"""Public checks of the assignment jacobian-conditions.

The student works with plain numbers. The right answers come from `models.encoders` and `models.jacobians`, which
differentiate real torch towers; torch is loaded by the first check that has an answer to compare.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from course_lib import datasets, geometry
from course_lib.lessons.shared.forms import (
    OTHER_VERSION,
    PASSED,
    Answer,
    compare,
    compare_exact,
    each_case,
    expect,
    floats,
    is_list,
    is_whole,
    plain_check,
    public,
)
from course_lib.lessons.shared.grading.hand_in import hand_in  # noqa: F401 (the last cell of an assignment)
from course_lib.lessons.shared.real import film_factors
from course_lib.papers import p0

Matrix = list[list[int]]
LARGEST_ENTRY = 9
PRODUCTS = 1e-6  # by how much a product of two inputs may be off


@plain_check
def tower_i(answer: Answer, product: int | None = None) -> None:
    """Task 4, condition (i): that it is violated (by `product`, if given), and that everything stays tangent."""
    A, B = tower_form(answer("i"))
    codes = np.array(A).T @ np.array(A)  # K_ij is a_i . a_j times the identity, for i != j
    products = codes[~np.eye(len(codes), dtype=bool)]
    expect(bool(products.any()), "your tower meets condition (i): no two codes overlap")
    expect(product is None or product in products, f"no K_ij between different users is {product} times the identity")
    expect_tangent(_two_layers(A, B, np.eye(len(A[0])).tolist()), len(A[0]))
    print(PASSED.replace("inputs", "grounds, too"))


@plain_check
def tower_ii(answer: Answer, difference: int | None = None) -> None:
    """Task 4, condition (ii): only the form is looked at here."""
    tower_form(answer("ii"))
    print("the form is right.", PASSED.replace("inputs", "grounds: the tower itself is not differentiated here"))


@plain_check
def share(answer: Answer, *, within: float = 10) -> None:
    """Task 6a on three examples, and on 50 films."""
    gradients = [[0.0, 1.0], [1.0, 0.0], [0.5, -0.5]]
    check_share(answer, [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], gradients, within=within)
    check_share(answer, *films(4, n=50, seed=3), within=within)
    print(PASSED)


def films(d: int, n: int = 200, seed: int = 0) -> tuple[list[Any], list[Any], list[Any]]:
    """(weights (d, genres), inputs (n, genres), gradients (n, d)) of a linear tower on n films' genres.

    Weights are standard normal, a film's input has a 1 for each of its genres, and the loss is -sum_i cos(q_i, k_i)
    with k_i the film's vector in the rank-d SVD of the data.
    """
    rng = np.random.default_rng(seed)
    data = datasets.load("movietweetings", min_rating=7, core=10)
    words = [set(genres.split("|")) for genres in data.item_table["genres"]]
    names = sorted(set().union(*words))
    chosen = rng.choice(len(words), n, replace=False)
    inputs = np.array([[float(name in words[film]) for name in names] for film in chosen])
    weights = rng.normal(size=(d, len(names)))
    keys = film_factors(d)[1][chosen]
    return weights.tolist(), inputs.tolist(), (-geometry.cosine_gradient(inputs @ weights.T, keys)).tolist()


# ---- what the checks are made of; the hidden checks call them with other inputs ----


@each_case
def check_kernel(
    answer: Answer, A: Matrix, B: Matrix, first: list[int], second: list[int], *, bias: bool, scale: int = 1
) -> None:
    """Task 1: `answer(A, B, x_i, x_j, bias)`; scale times B A x is the output, and then the bias."""
    got = answer(A, B, first, second, bias)
    a, b, x, y = (np.array(part, dtype=object) for part in (A, B, first, second))
    layers, unscaled = (
        np.array(_whole(_blocks(_two_layers(A, B, [first, second], bias=with_bias))[0][1]), dtype=object)
        for with_bias in (False, bias)
    )
    right = scale**2 * layers + (unscaled - layers)  # the scale stands before the layers, not before the bias
    one, codes, inputs = np.eye(len(B), dtype=int).astype(object), (a @ x) @ (a @ y), x @ y
    extra = one if bias else 0 * one
    first_alone = inputs * (b @ b.T) + extra
    slips = [
        (unscaled, OTHER_VERSION),
        (scale**2 * unscaled, "the bias is added after the scale: its part is the identity as it is"),
        (scale * layers + (unscaled - layers), "the scale stands in both Jacobians, so it is squared"),
        (codes * one + inputs * (b @ b.T), "the trained bias is the same for all: it adds the identity to every block"),
        (codes * one + inputs * (b @ b.T) + one, "there is no bias here: the identity is one too many"),
        (codes * one + extra, "A is trained, too: its part is (x_i . x_j) B B^T"),
        (first_alone, "B is trained, too: its part is the product of the codes A x_i and A x_j, times I"),
        (inputs * one + extra, "this is the block of a single linear layer"),
        (inputs * one + inputs * (b @ b.T) + extra, "B sees the codes z = A x, not the inputs"),
        (codes * one + codes * (b @ b.T) + extra, "A sees the inputs, so its part has x_i . x_j"),
    ]
    if bias:
        slips.append(
            (codes * one, "A is trained, too: its part is (x_i . x_j) B B^T; and so is the bias: it adds the identity")
        )
    if b.shape[0] == b.shape[1]:
        slips.append((codes * one + inputs * (b.T @ b) + extra, "a change of A passes through B: B B^T, not B^T B"))
    where = f"K_ij at A = {A}, B = {B}, x_i = {first}, x_j = {second}, {'with' if bias else 'without'} bias"
    compare_exact(got, right, where, slips)


TOWERS: dict[str, str] = {
    "lookup": "a lookup moves each embedding along its own gradient",
    "lookup with repeats": "an input that occurs twice adds its own tangent gradients",
    "scaled lookup": "blocks need be no multiples of the identity: what counts is where they send tangent gradients",
    "exponential lookup": (
        "blocks need be no multiples of the identity: what counts is where they send tangent gradients"
    ),
    "biased lookup": "a shared bias carries the gradient of one to all the others",
    "orthogonal features": "orthogonal inputs share all weights and still do not push each other",
    "correlated features": "K_ij = (x_i . x_j) I passes on a gradient that is tangent at q_j, not at q_i",
    "two layers": "B B^T turns a tangent gradient, and codes that are not orthogonal pass it on",
    "two layers, eigenvectors": "embeddings that are eigenvectors of B B^T, with orthogonal codes, stay tangent",
    "two layers, one code not orthogonal": "look at all pairs, and at both orders of each",
    "collinear embeddings": (
        "embeddings on one line have the same tangent gradients: blocks between them may be any multiple of I"
    ),
}


def check_tangent(answer: Answer, names: list[str]) -> None:
    """Task 2."""
    """Whether the student's verdict on each tower is X7's."""
    from course_lib import jacobians

    for name in names:
        tower, inputs = _tower(name)
        blocks, embeddings = jacobians.kernel_blocks(tower, inputs), tower(inputs)
        kernel = [[_whole(block) for block in row] for row in blocks.detach().numpy()]
        got = answer(kernel, _whole(embeddings.detach().numpy()))
        expect(isinstance(got, (bool, np.bool_)), "return True or False")
        right = bool(jacobians.tangent_criterion(tower, inputs))
        expect(bool(got) == right, f"the tower '{name}' {'does' if right else 'does not'} stay tangent: {TOWERS[name]}")


@each_case
def check_momentum(answer: Answer, turns: list[Any], lr: Any, mu: Any, *, decay: str = "0") -> None:
    """Task 3: `answer(start, squared_velocities, lr, momentum)`; each step also takes lr decay q away."""
    start, squares, right = heavy_ball(turns, lr, mu, Fraction(decay))
    cross = [mu ** (t - s) * squares[s] for t in range(len(squares)) for s in range(t)]
    late = [mu ** (t - s - 1) * squares[s] for t in range(len(squares)) for s in range(t)]
    pythagoras = start + lr**2 * sum(squares)
    where = f"||q_T||^2 from {start}, squared velocities {[str(x) for x in squares]}, lr {lr}, momentum {mu}"
    inward = pythagoras - 2 * lr**2 * sum(cross)
    early = pythagoras + 2 * lr**2 * sum(late)
    with_own = pythagoras + 2 * lr**2 * (sum(cross) + sum(squares))
    slips = [
        (pythagoras + 2 * lr**2 * sum(cross), OTHER_VERSION),
        (pythagoras, "under momentum the step is not orthogonal to q: 2 <q, dq> is missing"),
        (pythagoras + lr**2 * sum(cross), "<q, dq> enters twice in ||q + dq||^2"),
        (inward, "<q, v> is negative, so the step -lr v points outward: momentum adds length"),
        (early, "v_s is met again t - s steps later, each time times the momentum: mu^(t - s)"),
        (with_own, "the gradient of step t itself is orthogonal to q_t: only s < t count"),
        (pythagoras + 2 * lr * sum(cross), "the step and the way to it both have the learning rate: lr^2"),
    ]
    compare(answer(start, squares, lr, mu), right, where, slips, exact=True)


def heavy_ball(
    turns: list[Any], lr: Any, mu: Any, decay: Fraction = Fraction(0)
) -> tuple[Fraction, list[Fraction], Fraction]:
    """(||q_0||^2, [||v_t||^2], ||q_T||^2), exact, in the plane: gradient t is turns[t] times q turned by 90 degrees."""
    kept = 1 - lr * decay
    q, v = (Fraction(2), Fraction(1)), (Fraction(0), Fraction(0))
    squares = []
    for turn in turns:
        v = (mu * v[0] - turn * q[1], mu * v[1] + turn * q[0])
        q = (kept * q[0] - lr * v[0], kept * q[1] - lr * v[1])
        squares.append(v[0] ** 2 + v[1] ** 2)
    return Fraction(5), squares, q[0] ** 2 + q[1] ** 2


def tower_form(value: Any) -> tuple[Matrix, Matrix]:
    """(A, B), checked for form."""
    expect(is_list(value, 2), "two matrices are asked for: return A, B")
    A, B = (_whole_matrix(part, name) for part, name in zip(value, "AB", strict=True))
    hidden, users, d = len(A), len(A[0]), len(B)
    expect(
        2 <= users <= 4 and 1 <= hidden <= 4,
        f"A is h x n with 2 to 4 users and h from 1 to 4; yours is {hidden} x {users}",
    )
    expect(2 <= d <= 4, f"B is d x h with d from 2 to 4; yours has {d} rows")
    expect(len(B[0]) == hidden, f"B A must exist: A has {hidden} rows, B has {len(B[0])} columns")
    expect(bool((np.array(B) @ np.array(A)).any(axis=0).all()), "an embedding q_i = B a_i is zero: it has no direction")
    return A, B


def expect_tangent(tower: Any, n: int) -> None:
    """No tangent gradient at one of n users pushes another, or the same, in or out."""
    import torch

    from course_lib import jacobians

    report = jacobians.tangent_criterion(tower, torch.arange(n))
    leaks = report.leak.detach().numpy()
    i, j = np.unravel_index(int(leaks.argmax()), leaks.shape)
    expect(
        bool(report),
        f"the tower is not tangent: some gradient at user {j} pushes user {i} in or out. "
        f"K_{j}{i} q_{i} must be along q_{j}.",
    )


def check_inputs(answer: Answer, counts: list[int], *, bias: bool, own: int | None = None) -> None:
    """Task 5: `answer(n, bias)`; with `own` every K_ii is that number times the identity."""
    import torch

    from course_lib import encoders, jacobians

    for n in counts:
        inputs = floats(answer(n, bias), (n, None), f"{n} inputs{' for a tower with a bias' if bias else ''}")
        expect(inputs.shape[1] <= 16, "at most 16 features")
        expect(float(np.abs(inputs).max()) <= 1e3, "no entry larger than a thousand")
        expect(
            bool(((np.abs(inputs) > 0.01).sum(1) >= 2).all()),
            "each input needs at least two entries that are not zero (above 0.01)",
        )
        tower = encoders.DenseLinear(inputs, 3, bias, generator=torch.Generator().manual_seed(1)).double()
        products = inputs @ inputs.T
        if jacobians.lookup_equivalent(tower, torch.arange(n), tol=PRODUCTS):
            found = np.diag(products) + bias
            expect(
                own is None or bool(np.abs(found - own).max() <= PRODUCTS * own),
                f"n = {n}: it moves like a lookup, but K_ii is {found[0]:.6g} times the identity, not {own}",
            )
            continue
        away = products[~np.eye(n, dtype=bool)]
        hint = ""
        if bias and np.abs(away).max() <= PRODUCTS:
            hint = " Your inputs are orthogonal: that is right without a bias, which adds 1 to every product."
        elif not bias and np.abs(away + 1).max() <= PRODUCTS:
            hint = " Your inputs have products of -1: that is right with a bias."
        most = f"{np.abs(away).max():.3g}"
        told = f"n = {n}: K_ij is not zero between different inputs; the products x_i . x_j of yours reach {most}."
        expect(False, told + hint)


def check_share(
    answer: Answer, weights: list[Any], inputs: list[Any], gradients: list[Any], *, within: float = 10
) -> None:
    """Task 6a: `answer(weights, inputs, gradients)`."""
    got = answer(weights, inputs, gradients)
    right = _share(weights, inputs, gradients, within)
    near = partial(_near, low=90 - within, high=90 + within)
    w, x, g = (np.array(part) for part in (weights, inputs, gradients))
    own = -(x * x).sum(1, keepdims=True) * g
    slips = [
        (_share(weights, inputs, gradients, 10), OTHER_VERSION),
        (near(x @ w.T, own), "a step on W moves every example: add up (x_i . x_j) g_j over all j"),
        (near(x @ w.T, -(x @ x.T + 1) @ g), "there is no bias: K_ij = (x_i . x_j) I"),
        (near(x @ w.T, -g.sum(0) + 0 * g), "each gradient counts by the product of the inputs, x_i . x_j"),
        (_near(x @ w.T, -(x @ x.T) @ g, 90 - within, 180), f"within {within:g} degrees of 90, on either side"),
        (1 - right, "this is the share of the others"),
        (100 * right, "a share lies between 0 and 1; this looks like per cent"),
    ]
    where = f"the share of {len(inputs)} examples within 90 +- {within:g} degrees in {len(weights)} dimensions"
    compare(got, right, where, slips, exact=False)


@each_case
def check_chance(answer: Answer, d: int, *, within: float = 10) -> None:
    """Task 6b: `answer(d)`."""
    right = p0.chance_of_right_angle(d, within=within)
    wider = p0.chance_of_right_angle(d + 1, within=within)
    of_cosine = 1 - p0.chance_of_right_angle(d, within=90 - within)
    slips = [
        (p0.chance_of_right_angle(d, within=10), OTHER_VERSION),
        (
            within / 90,
            f"{2 * within:g} of 180 degrees is right in the plane only: in more dimensions most directions are "
            "nearly orthogonal",
        ),
        (right / 2, "both sides of 90 degrees count"),
        (of_cosine, f"the cosine of {90 - within:g} degrees is the sine of {within:g}: |cos| < sin {within:g}"),
        (wider, "the sphere in d dimensions has d - 1 of its own: Beta(1/2, (d - 1)/2)"),
        (100 * right, "a probability lies between 0 and 1; this looks like per cent"),
    ]
    where = f"the chance of 90 +- {within:g} degrees in {d} dimensions"
    compare(answer(d), right, where, slips, exact=False, tolerance=1e-6)


# ---- towers ----


def _two_layers(A: Matrix, B: Matrix, features: Any, *, bias: bool = False) -> Any:
    """encoders.TwoLayers with these weights, in float64; with `bias` a trained one at the end."""
    import torch

    from course_lib import encoders

    tower: Any = encoders.TwoLayers(features, len(A), len(B)).double()
    if bias:
        tower[2] = torch.nn.Linear(len(A), len(B), bias=True).double()
    with torch.no_grad():
        tower[1].weight.copy_(torch.tensor(A))
        tower[2].weight.copy_(torch.tensor(B))
    return tower


def _blocks(tower: Any) -> np.ndarray:
    import torch

    from course_lib import jacobians

    return jacobians.kernel_blocks(tower, torch.arange(2)).detach().numpy()


def _tower(name: str) -> tuple[Any, Any]:
    """A tower with whole-numbered weights in float64, and the inputs of a batch."""
    import torch

    from course_lib import encoders

    table = torch.tensor([[1, 2], [3, -1], [-2, 2]], dtype=torch.float64)
    ids = torch.tensor([0, 1, 0, 2]) if name == "lookup with repeats" else torch.arange(3)
    kinds = {
        "scaled lookup": encoders.ScaledLookup,
        "exponential lookup": encoders.ExponentialLookup,
        "biased lookup": encoders.BiasedLookup,
    }
    layers = {
        "two layers": ([[1, 0, 1], [0, 1, 1]], [[1, 0], [1, 2]]),
        "two layers, eigenvectors": ([[1, 0], [0, 3]], [[1, 0], [0, 2]]),
        "two layers, one code not orthogonal": ([[1, 0, 0], [0, 1, 0], [0, 1, 1]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        "collinear embeddings": ([[1, 1], [0, 2]], [[2, 0], [0, 0]]),
    }
    if name in layers:
        A, B = layers[name]
        return _two_layers(A, B, np.eye(len(A[0])).tolist()), torch.arange(len(A[0]))
    if "features" in name:
        features = (
            [[1, 1, 0], [1, -1, 0], [0, 0, 2]] if name.startswith("orthogonal") else [[1, 1, 0], [1, 0, 1], [0, 0, 2]]
        )
        tower: Any = encoders.DenseLinear(features, 2).double()
        with torch.no_grad():
            tower[1].weight.copy_(torch.tensor([[1, 2, -1], [3, -1, 1]]))
        return tower, ids
    tower = kinds.get(name, encoders.Lookup)(3, 2).double()
    with torch.no_grad():
        for parameter in tower.parameters():
            whole = torch.zeros_like(parameter) if name == "exponential lookup" else torch.full_like(parameter, 2)
            parameter.copy_(table if parameter.shape == table.shape else whole)
    return tower, ids


def _share(weights: list[Any], inputs: list[Any], gradients: list[Any], within: float) -> float:
    import torch

    from course_lib import encoders, jacobians

    tower: Any = encoders.DenseLinear(inputs, len(weights)).double()
    with torch.no_grad():
        tower[1].weight.copy_(torch.tensor(weights, dtype=torch.float64))
    ids = torch.arange(len(inputs))
    steps = jacobians.first_order_motion(tower, ids, torch.tensor(gradients, dtype=torch.float64), lr=1.0).detach()
    angles = geometry.angle_degrees(tower(ids).detach(), steps)
    return jacobians.share_near_tangent(angles, within)


def _near(embeddings: np.ndarray, steps: np.ndarray, low: float = 80, high: float = 100) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        cosines = (embeddings * steps).sum(1) / (np.linalg.norm(embeddings, axis=1) * np.linalg.norm(steps, axis=1))
    angles = np.degrees(np.arccos(np.clip(cosines, -1, 1)))
    return float(((angles >= low) & (angles <= high)).mean())


def _whole(block: np.ndarray) -> Matrix:
    """A float matrix of whole numbers as a list of lists of ints."""
    rounded = np.round(block)
    if not np.array_equal(rounded, block):
        raise ValueError(f"the block {block} is not made of whole numbers")
    return [[int(entry) for entry in row] for row in rounded]


def _whole_matrix(value: Any, name: str) -> Matrix:
    expect(
        is_list(value) and 0 < len(value) <= 4 and all(is_list(row) and 0 < len(row) <= 4 for row in value),
        f"{name} is a matrix, a list of 1 to 4 lists of 1 to 4 whole numbers",
    )
    expect(len({len(row) for row in value}) == 1, f"all rows of {name} have the same length")
    expect(
        all(is_whole(entry) and abs(entry) <= LARGEST_ENTRY for row in value for entry in row),
        f"the entries of {name} are whole numbers from -{LARGEST_ENTRY} to {LARGEST_ENTRY}",
    )
    return [[int(entry) for entry in row] for row in value]


# ---- the public checks

KERNELS = [([[1, 2], [0, 1]], [[1, 0], [1, 1]], [1, 0], [1, 1]), ([[1, 2], [0, 1]], [[1, 0], [1, 1]], [2, 1], [1, 0])]

# Task 1, without a bias
kernel_plain = public(check_kernel, KERNELS, bias=False)
# Task 1, with a bias
kernel_bias = public(check_kernel, KERNELS, bias=True)
# Task 2, on a lookup, on a lookup with a learned scale, and on a linear tower with correlated inputs
tangent = public(check_tangent, ["lookup", "scaled lookup", "correlated features"])
# Task 3, on runs in the plane
momentum = public(
    check_momentum, [([1, 1], Fraction(1, 2), Fraction(1, 2)), ([1, -1, 2], Fraction(1, 3), Fraction(3, 4))]
)
# Task 5, without a bias
inputs_plain = public(check_inputs, [2, 3], bias=False)
# Task 5, with a bias
inputs_bias = public(check_inputs, [2, 3], bias=True)
# Task 6b
chance = public(check_chance, [2, 3])

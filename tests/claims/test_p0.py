"""The statements of P0, each recomputed; `book/claims/P0.yml` names these tests.

Formulas are written out here as the paper prints them, with torch's own layers and optimisers, and never taken from
`course_lib`: where the library states the same, a test compares the two. Exact arithmetic wherever a statement is
exact.
"""

import inspect
import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
import sympy
import torch
from torch import nn
from torch.func import functional_call, jacrev, jvp

from course_lib.lessons.popularity_norm_coupling.proofs import conflicting_items
from course_lib.papers import p0, table
from tests import errata_numbers

TAU = 0.2
EXACT = 1e-12  # float64, after one step


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def normal(*shape, seed=0):
    return torch.randn(shape, generator=generator(seed), dtype=torch.float64)


def infonce(left, right, *, similarity="cos"):
    """Mean over the rows of a batch of the cross entropy of the diagonal; cosine or dot product, temperature TAU."""
    if similarity == "cos":
        left, right = (x / x.norm(dim=-1, keepdim=True) for x in (left, right))
    return nn.functional.cross_entropy(left @ right.T / TAU, torch.arange(len(left)))


def squared_cosine_distance(left, right):
    """(1 - cos)^2 of each pair of a batch, in the mean."""
    return (1 - (left * right).sum(-1) / (left.norm(dim=-1) * right.norm(dim=-1))).square().mean()


def margin_loss(left, right):
    """A margin loss with a kink: every wrong cosine pushes until it is 0.3 below the right one."""
    left, right = (x / x.norm(dim=-1, keepdim=True) for x in (left, right))
    cosines = left @ right.T
    return (cosines - cosines.diagonal()[:, None] + 0.3).clamp(min=0).square().mean()


COSINE_LOSSES = {"infonce": infonce, "squared": squared_cosine_distance, "margin": margin_loss}


def module(build, seed=1):
    """A module in float64 with parameters drawn from N(0, 1)."""
    made = build().double()
    with torch.no_grad():
        for number, parameter in enumerate(made.parameters()):
            parameter.copy_(normal(*parameter.shape, seed=seed + number))
    return made


class Scaled(nn.Module):
    """q_i = s E_i with one learned number s."""

    def __init__(self, n=4, d=3):
        super().__init__()
        self.table, self.scale = nn.Embedding(n, d), nn.Parameter(torch.ones(()))

    def forward(self, x):
        return self.scale * self.table(x)


class Exponential(nn.Module):
    """q_i = exp(b_i) E_i with a learned number b_i for each item."""

    def __init__(self, n=4, d=3):
        super().__init__()
        self.table, self.log_scale = nn.Embedding(n, d), nn.Embedding(n, 1)

    def forward(self, x):
        return self.log_scale(x).exp() * self.table(x)


class Inverted(nn.Module):
    """q_i = E_i / |E_i|^2: each item inverted at the unit sphere, a Moebius map."""

    def __init__(self, n=4, d=3):
        super().__init__()
        self.table = nn.Embedding(n, d)

    def forward(self, x):
        row = self.table(x)
        return row / row.square().sum(-1, keepdim=True)


def two_layers(features=4, hidden=5, d=3):
    return nn.Sequential(nn.Linear(features, hidden, bias=False), nn.Linear(hidden, d, bias=False))


INDICES = torch.tensor([0, 1, 2, 3])
REPEATED = torch.tensor([0, 2, 0, 0, 1])
ONE_HOT = torch.eye(4, dtype=torch.float64)
DENSE = normal(4, 4, seed=9)
ORTHOGONAL = torch.linalg.qr(normal(4, 4, seed=8))[0] * torch.tensor([1.0, 2.0, 0.5, 3.0], dtype=torch.float64)[:, None]


def jacobian(made, inputs):
    """(batch, d, number of parameters): dq_i/dtheta, parameters in the order of the module, row by row."""
    parameters = dict(made.named_parameters())
    parts = jacrev(lambda p: functional_call(made, p, (inputs,)))(parameters)
    return torch.cat([part.reshape(*part.shape[:2], -1).detach() for part in parts.values()], dim=-1)


def kernel(made, inputs):
    """(batch, batch, d, d): J_i J_j^T."""
    J = jacobian(made, inputs)
    return torch.einsum("iap,jbp->ijab", J, J)


def output_gradients(made, inputs, loss):
    """Embeddings q (batch, d) and g_j = dL/dq_j, the other tower held fixed."""
    q = made(inputs).detach().requires_grad_()
    (g,) = torch.autograd.grad(loss(q), q)
    return q.detach(), g


def step(made, inputs, loss, *, lr, optimiser=None):
    """dq (batch, d) of one real optimiser step (plain SGD unless one is given)."""
    optimiser = optimiser or torch.optim.SGD(made.parameters(), lr=lr)
    before = made(inputs).detach()
    optimiser.zero_grad()
    loss(made(inputs)).backward()
    optimiser.step()
    return made(inputs).detach() - before


def first_order(made, inputs, loss, *, lr):
    """dq (batch, d) to first order in the learning rate: -lr J (sum_j J_j^T g_j)."""
    parameters = {name: p.detach() for name, p in made.named_parameters()}
    gradients = torch.func.grad(lambda p: loss(functional_call(made, p, (inputs,))))(parameters)
    direction = {name: -lr * gradient for name, gradient in gradients.items()}
    return jvp(lambda p: functional_call(made, p, (inputs,)), (parameters,), (direction,))[1]


def cosines(q, dq):
    return (q * dq).sum(-1) / (q.norm(dim=-1) * dq.norm(dim=-1))


def radial_share(q, dq):
    """|<q, dq>| / (|q| (|q| + |dq|)): the radial part of a move; unlike the cosine it is also defined for no move."""
    return (q * dq).sum(-1).abs() / (q.norm(dim=-1) * (q.norm(dim=-1) + dq.norm(dim=-1)))


def against(loss, n, d=3, seed=5):
    """A loss of the left embeddings alone: the right ones are fixed."""
    right = normal(n, d, seed=seed)
    return lambda left: loss(left, right)


def close(a, b, tolerance=1e-10):
    return torch.allclose(a, b, rtol=tolerance, atol=tolerance)


# ------------------------------------------------------------------------------- Section 2.1 to 2.4: one equation,
# kernels


@pytest.mark.parametrize(
    "build", [lambda: nn.Embedding(4, 3), two_layers, Scaled], ids=["embedding", "two layers", "scaled"]
)
def test_eq2_and_eq3_are_what_autograd_and_sgd_compute(build):
    made = module(build)
    inputs = ONE_HOT if isinstance(made, nn.Sequential) else REPEATED
    loss = against(infonce, len(inputs))
    _, g = output_gradients(made, inputs, loss)
    J = jacobian(made, inputs)
    by_hand = torch.einsum("jap,ja->p", J, g)  # (2): sum_j J_j^T g_j
    loss(made(inputs)).backward()
    assert close(by_hand, torch.cat([p.grad.reshape(-1) for p in made.parameters()]))
    before = torch.cat([p.detach().reshape(-1).clone() for p in made.parameters()])
    torch.optim.SGD(made.parameters(), lr=0.7).step()
    after = torch.cat([p.detach().reshape(-1) for p in made.parameters()])
    assert close(after - before, -0.7 * by_hand)  # (3)
    # (2) prints (dq/dtheta)(dL/dq): with J_j of shape (d, parameters), as in (1), only the transpose fits
    with pytest.raises(RuntimeError):
        J[0] @ g[0]


def test_eq4_is_exact_for_an_affine_tower_and_off_by_the_square_of_the_learning_rate_for_two_layers():
    loss = against(infonce, 4)
    for build in (lambda: nn.Linear(4, 3, bias=False), lambda: nn.Linear(4, 3)):
        made = module(build)
        _, g = output_gradients(made, DENSE, loss)
        predicted = -5.0 * torch.einsum("ijab,jb->ia", kernel(made, DENSE), g)
        assert close(step(made, DENSE, loss, lr=5.0), predicted)
    errors = []
    for lr in (1e-2, 5e-3):
        made = module(two_layers)
        predicted = first_order(made, ONE_HOT, loss, lr=lr)
        errors.append((step(made, ONE_HOT, loss, lr=lr) - predicted).norm())
    assert errors[0] > 1e-8 and errors[0] / errors[1] == pytest.approx(4, rel=0.02)


def shared_table_step(seed):
    """A table that both towers use: users are the mean of two items.

    <q, dL/dq> and <q, dq> of each item, and the sums.
    """
    items = module(lambda: nn.Embedding(6, 3), seed=seed).weight
    history = torch.tensor([[0, 1], [2, 3], [4, 5]])
    target = torch.tensor([2, 4, 0])
    loss = infonce(items[history].mean(1), items[target])
    (gradient,) = torch.autograd.grad(loss, items)
    return (items * gradient).sum(-1).detach(), items.detach(), gradient


def test_towers_that_share_a_table_move_off_the_tangent_and_only_the_sum_vanishes():
    """Section 2.1 asks for disjoint parameters. Without them Theorem 2.1 fails, although every score is a cosine."""
    for seed in range(5):
        radial, items, gradient = shared_table_step(seed)
        assert radial.abs().max() > 0.01
        assert radial.sum().abs() < EXACT
        lr = 0.5
        dq = -lr * gradient
        assert ((items * dq).sum(-1) / (items.norm(dim=-1) * dq.norm(dim=-1))).abs().max() > 0.05


def test_eq5_parameter_linear_towers_have_a_constant_jacobian():
    for build, inputs, linear in (
        (lambda: nn.Embedding(4, 3), INDICES, True),
        (lambda: nn.Linear(4, 3, bias=False), DENSE, True),
        (two_layers, ONE_HOT, False),
        (Scaled, INDICES, False),
        (Exponential, INDICES, False),
        (Inverted, INDICES, False),
    ):
        one, other = module(build, seed=1), module(build, seed=7)
        J, theta = jacobian(one, inputs), torch.cat([p.detach().reshape(-1) for p in one.parameters()])
        assert close(J, jacobian(other, inputs)) == linear
        assert close(J @ theta, one(inputs).detach()) == linear  # q = J theta


def test_the_gradient_that_moves_an_embedding_is_the_one_of_the_output():
    """Section 2.4 prints g_i as the gradient in x_i, which is the input:
    an index has none, a vector the wrong direction.
    """
    made = module(lambda: nn.Linear(3, 3, bias=False))
    inputs = torch.linalg.qr(normal(3, 3, seed=4))[0].requires_grad_()
    loss = against(infonce, 3)
    (by_input,) = torch.autograd.grad(loss(made(inputs)), inputs)
    _, by_output = output_gradients(made, inputs.detach(), loss)
    dq = step(made, inputs.detach(), loss, lr=1.0)
    assert (cosines(by_output, dq) + 1).abs().max() < EXACT
    assert cosines(by_input, dq).abs().max() < 0.99
    with pytest.raises(RuntimeError):
        nn.Embedding(4, 3)(torch.tensor([0.0, 1.0]).requires_grad_())


def test_eq7_isotropic_blocks_without_cross_terms_move_along_the_gradient():
    """(i), (ii): J_i J_j^T = 0 and J_i J_i^T = alpha_i I; here each item has a fixed scale of its own."""
    scales = torch.tensor([0.5, 1.0, 2.0, 3.0], dtype=torch.float64)[:, None]

    class FixedScales(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(4, 3)

        def forward(self, x):
            return scales[x] * self.table(x)

    made, loss = module(FixedScales), against(infonce, 4)
    blocks = kernel(made, INDICES)
    wanted = torch.einsum("ij,i,ab->ijab", torch.eye(4).double(), scales[:, 0] ** 2, torch.eye(3).double())
    assert close(blocks, wanted)
    _, g = output_gradients(made, INDICES, loss)
    assert close(step(made, INDICES, loss, lr=9.0), -9.0 * scales**2 * g)


def test_the_lookup_equivalent_towers_are_the_two_of_the_definition_and_more():
    """(8) holds for a table and for a bias-free layer on one-hot inputs; isotropy also on other orthogonal inputs."""
    identity = torch.eye(3).double()
    table_blocks = kernel(module(lambda: nn.Embedding(4, 3)), INDICES)
    layer_blocks = kernel(module(lambda: nn.Linear(4, 3, bias=False)), ONE_HOT)
    assert close(table_blocks, torch.einsum("ij,ab->ijab", torch.eye(4).double(), identity))
    assert close(layer_blocks, table_blocks)
    gram = ORTHOGONAL @ ORTHOGONAL.T
    assert close(
        kernel(module(lambda: nn.Linear(4, 3, bias=False)), ORTHOGONAL), torch.einsum("ij,ab->ijab", gram, identity)
    )
    assert (gram - torch.diag(gram.diagonal())).abs().max() < EXACT and gram[0, 0] != gram[1, 1]
    assert not close(kernel(module(lambda: nn.Linear(4, 3)), ONE_HOT), layer_blocks)  # nn.Linear has a bias unless told


def test_eq8_eq19_eq20_the_jacobian_of_a_table():
    made = module(lambda: nn.Embedding(4, 3))
    J = jacobian(made, REPEATED).reshape(5, 3, 4, 3)  # [example, output m, row i', column n']
    for e, m, row, column in itertools.product(range(5), range(3), range(4), range(3)):
        assert J[e, m, row, column] == float(row == REPEATED[e] and column == m)  # (19)
    for e in range(5):
        i = int(REPEATED[e])
        blocks = [torch.zeros(3, 3 * i), torch.eye(3), torch.zeros(3, 3 * (3 - i))]
        assert torch.equal(J[e].reshape(3, 12), torch.cat(blocks, dim=1).double())  # (20)
    same = REPEATED[:, None] == REPEATED
    assert torch.equal(kernel(made, REPEATED), torch.einsum("ij,ab->ijab", same.double(), torch.eye(3).double()))  # (8)


def test_eq9_duplicates_sum_up():
    made, loss = module(lambda: nn.Embedding(4, 3)), against(infonce, 5)
    q, g = output_gradients(made, REPEATED, loss)
    dq = step(made, REPEATED, loss, lr=2.0)
    for e, i in enumerate(REPEATED):
        copies = g[i == REPEATED]
        assert close(dq[e], -2.0 * len(copies) * copies.mean(0))
    assert cosines(q, dq).abs().max() < EXACT


def test_eq10_eq11_eq12_eq21_eq22_the_jacobian_of_a_linear_layer():
    made, loss = module(lambda: nn.Linear(4, 3, bias=False)), against(infonce, 5)
    for inputs in (DENSE[[0, 1, 0, 2, 3]], ORTHOGONAL[[0, 1, 0, 2, 3]]):
        made = module(lambda: nn.Linear(4, 3, bias=False))
        J = jacobian(made, inputs).reshape(5, 3, 3, 4)  # [example, output m, row m', column n']
        for e, m, row, column in itertools.product(range(5), range(3), range(3), range(4)):
            assert J[e, m, row, column] == (inputs[e, column] if row == m else 0)  # (21)
        for e in range(5):
            assert close(J[e].reshape(3, 12), torch.kron(torch.eye(3).double(), inputs[e]))  # (22): I (x) x^T
        gram = inputs @ inputs.T
        assert close(kernel(made, inputs), torch.einsum("ij,ab->ijab", gram, torch.eye(3).double()))  # (10)
        q, g = output_gradients(made, inputs, loss)
        dq = step(made, inputs, loss, lr=0.3)
        same = (inputs[:, None] == inputs).all(-1)
        own = gram.diagonal()[:, None] * (same.double() @ g)
        cross = (gram * ~same) @ g
        assert close(dq, -0.3 * own - 0.3 * cross)  # (11)
        orthogonal = cross.abs().max() < EXACT
        assert orthogonal == (inputs is not DENSE and close(gram * ~same, 0 * gram))
        assert (cosines(q, dq).abs().max() < EXACT) == orthogonal  # (12): only then along the gradient


def test_a_bias_appends_an_identity_block():
    made = module(lambda: nn.Linear(4, 3))
    J = jacobian(made, DENSE)
    assert close(J[:, :, 12:], torch.eye(3).double().expand(4, 3, 3))
    gram = DENSE @ DENSE.T + 1
    assert close(kernel(made, DENSE), torch.einsum("ij,ab->ijab", gram, torch.eye(3).double()))


def test_eq23_eq24_the_jacobian_of_two_layers_depends_on_both():
    made = module(two_layers)
    A, B = (p.detach() for p in made.parameters())
    J = jacobian(made, DENSE)
    by_a, by_b = J[:, :, :20].reshape(4, 3, 5, 4), J[:, :, 20:].reshape(4, 3, 3, 5)
    z = DENSE @ A.T
    for e, m in itertools.product(range(4), range(3)):
        assert close(by_a[e, m], torch.outer(B[m], DENSE[e]))  # (24)
        for row in range(3):
            assert close(by_b[e, m, row], z[e] if row == m else 0 * z[e])  # (23)
    blocks = torch.einsum("ij,ab->ijab", z @ z.T, torch.eye(3).double()) + torch.einsum(
        "ij,ab->ijab", DENSE @ DENSE.T, B @ B.T
    )
    assert close(kernel(made, DENSE), blocks)
    for index in (0, 1):  # the paper says "through B"; a change of A alone changes J as well
        changed = module(two_layers)
        with torch.no_grad():
            list(changed.parameters())[index].mul_(2)
        assert not close(jacobian(changed, DENSE), J)


# ---------------------------------------------------------------------------------------- Section 2.5: tangent
# gradients


def test_the_cosine_does_not_see_positive_scale():
    d = 3
    q, k = sympy.symbols(f"q:{d}", real=True), sympy.symbols(f"k:{d}", real=True)
    c = sympy.symbols("c", positive=True)
    cosine = sum(a * b for a, b in zip(q, k)) / sympy.sqrt(sum(a * a for a in q)) / sympy.sqrt(sum(b * b for b in k))
    scaled = cosine.subs({a: c * a for a in q}, simultaneous=True)
    assert sympy.simplify(scaled - cosine) == 0
    flipped = cosine.subs({a: -a for a in q}, simultaneous=True)
    assert sympy.simplify(flipped + cosine) == 0  # a negative scale flips the sign


def test_torch_clamps_the_norm_of_tiny_vectors_and_their_gradient_is_not_tangent():
    k = normal(3, seed=2)
    for size, tangent in ((1e-3, True), (1e-7, True), (5e-9, False)):
        q = (size * nn.functional.normalize(normal(3, seed=1), dim=0)).requires_grad_()
        (gradient,) = torch.autograd.grad(torch.cosine_similarity(q, k, dim=0), q)
        assert (cosines(q.detach(), gradient).abs() < 1e-6) == tangent


def test_eq13_the_derivative_of_a_function_of_cosines_needs_a_nonzero_embedding_and_a_smooth_function():
    k = normal(2, 3, seed=3)
    q = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(((k @ q) / (q.norm() * k.norm(dim=1))).sum(), q)
    assert gradient.isnan().any()
    # |cos| has no derivative where the cosine is 0: the slopes on the two sides differ
    perpendicular, direction = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    slope = [
        abs((perpendicular + h * direction)[1] / np.linalg.norm(perpendicular + h * direction)) / h
        for h in (1e-6, -1e-6)
    ]
    assert slope[0] == pytest.approx(1) and slope[1] == pytest.approx(-1)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_eq14_eq15_eq16_by_symbols(d):
    """F any function of two cosines: its gradient is the printed sum, and its product with q is zero, term by term."""
    q = sympy.symbols(f"q:{d}", real=True)
    ks = [sympy.symbols(f"k{s}_:{d}", real=True) for s in range(2)]
    norm = sympy.sqrt(sum(a * a for a in q))
    cos = [sum(a * b for a, b in zip(q, k)) / norm / sympy.sqrt(sum(b * b for b in k)) for k in ks]
    c0, c1 = sympy.symbols("c0 c1")
    function = sympy.Function("F")(c0, c1)
    loss = function.subs({c0: cos[0], c1: cos[1]})
    weights = [function.diff(c).subs({c0: cos[0], c1: cos[1]}) for c in (c0, c1)]
    for a in q:
        printed = sum(weight * one.diff(a) for weight, one in zip(weights, cos))  # (14)
        assert sympy.simplify(loss.diff(a).doit() - printed.doit()) == 0
    for one in cos:
        assert sympy.simplify(sum(a * one.diff(a) for a in q)) == 0  # (16), and with it (15)


@pytest.mark.parametrize("name", COSINE_LOSSES)
def test_the_gradient_of_a_cosine_loss_is_tangent_and_that_of_a_dot_product_is_not(name):
    q = normal(5, 3, seed=4)
    loss = against(COSINE_LOSSES[name], 5)
    q.requires_grad_()
    (g,) = torch.autograd.grad(loss(q), q)
    assert radial_share(q.detach(), g).max() < EXACT and g.norm() > 1e-3
    (g,) = torch.autograd.grad(infonce(q, normal(5, 3, seed=5), similarity="dot"), q)
    assert cosines(q.detach(), g).abs().max() > 0.1


def test_eq17_and_eq18_a_step_along_a_tangent_gradient_adds_its_square():
    made, loss = module(lambda: nn.Embedding(4, 3)), against(infonce, 4)
    for _ in range(20):
        q, g = output_gradients(made, INDICES, loss)
        dq = step(made, INDICES, loss, lr=3.0)
        assert cosines(g, dq).add(1).abs().max() < 1e-9  # parallel
        assert cosines(q, dq).abs().max() < 1e-9  # (17)
        assert close(made(INDICES).detach().square().sum(-1) - q.square().sum(-1), dq.square().sum(-1))  # (18), (29)


# --------------------------------------------------------------------------------------------- Section 2.6: the theorem


@pytest.mark.parametrize("name", COSINE_LOSSES)
@pytest.mark.parametrize("lr", [0.01, 50.0])
def test_thm_2_1_at_any_learning_rate_with_duplicates_and_own_negatives(name, lr):
    """Both towers are tables; an item that stands twice in a batch is a negative of itself."""
    users, items = module(lambda: nn.Embedding(6, 3), seed=1), module(lambda: nn.Embedding(4, 3), seed=2)
    optimiser = torch.optim.SGD([*users.parameters(), *items.parameters()], lr=lr)
    rng, moved_furthest = generator(3), 0.0
    for _ in range(10):
        rows, columns = torch.randint(6, (8,), generator=rng), torch.randint(4, (8,), generator=rng)
        before = users.weight.detach().clone(), items.weight.detach().clone()
        optimiser.zero_grad()
        COSINE_LOSSES[name](users(rows), items(columns)).backward()
        optimiser.step()
        for old, new, used in ((before[0], users.weight, rows), (before[1], items.weight, columns)):
            dq = (new.detach() - old)[used.unique()]
            moved_furthest = max(moved_furthest, float((dq.norm(dim=1) / old[used.unique()].norm(dim=1)).max()))
            assert radial_share(old[used.unique()], dq).max() < EXACT
    assert moved_furthest > lr / 1000  # the steps were not all zero


def test_condition_2_of_thm_2_1_follows_from_condition_3():
    """Both lookup-equivalent towers are parameter-linear: their Jacobian is the same at any parameters."""
    for build, inputs in ((lambda: nn.Embedding(4, 3), INDICES), (lambda: nn.Linear(4, 3, bias=False), ONE_HOT)):
        assert torch.equal(jacobian(module(build, seed=1), inputs), jacobian(module(build, seed=2), inputs))


OUTSIDE = {
    "scaled": (Scaled, INDICES),
    "exponential": (Exponential, INDICES),
    "orthogonal dense inputs": (lambda: nn.Linear(4, 3, bias=False), ORTHOGONAL),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_towers_outside_the_premises_that_move_orthogonally_at_a_large_step(name):
    build, inputs = OUTSIDE[name]
    made, loss = module(build), against(infonce, 4)
    q, g = output_gradients(made, inputs, loss)
    scale = made.scale.item() if name == "scaled" else None
    dq = step(made, inputs, loss, lr=50.0)
    assert cosines(q, dq).abs().max() < 1e-9
    if scale is not None:
        assert close(dq, -50.0 * scale**2 * g)  # no term of the shared number s is left
        assert made.scale.item() == pytest.approx(scale, abs=1e-12)


def test_row_wise_adagrad_moves_orthogonally():
    """One accumulator for each row divides the whole row: the direction stays that of the gradient."""
    q, right = normal(4, 3, seed=1), normal(4, 3, seed=5)
    total = torch.zeros(4, 1, dtype=torch.float64)
    for _ in range(30):
        q.requires_grad_()
        (g,) = torch.autograd.grad(infonce(q, right), q)
        total += g.square().mean(1, keepdim=True)
        dq = -0.5 * g / total.sqrt()
        q = q.detach()
        assert cosines(q, dq).abs().max() < 1e-9
        q = q + dq
    made = module(lambda: nn.Embedding(4, 3))  # the usual Adagrad has an accumulator for each number, and is not
    usual = torch.optim.Adagrad(made.parameters(), lr=0.5)
    assert (
        cosines(made.weight.detach().clone(), step(made, INDICES, against(infonce, 4), lr=None, optimiser=usual))
        .abs()
        .max()
        > 0.05
    )


def test_the_inversion_satisfies_the_two_conditions_and_is_not_parameter_linear():
    """(i), (ii) of Section 2.4 hold exactly for q = theta/|theta|^2, with alpha = 1/|theta|^4."""
    made = module(Inverted)
    norms = made.table.weight.detach().norm(dim=1)
    wanted = torch.einsum("ij,i,ab->ijab", torch.eye(4).double(), norms**-4, torch.eye(3).double())
    assert close(kernel(made, INDICES), wanted)
    for size in (2, 3):
        theta = sympy.symbols(f"t:{size}", real=True)
        square = sum(t * t for t in theta)
        J = sympy.Matrix([t / square for t in theta]).jacobian(theta)
        assert (J * J.T - sympy.eye(size) / square**2).applyfunc(sympy.simplify) == sympy.zeros(size)


def test_a_shared_scale_breaks_the_two_conditions_and_keeps_the_motion():
    """q = s E_i violates (i): J_i J_j^T = E_i E_j^T is not zero. It maps the tangent gradients of E_j to zero."""
    blocks = kernel(module(Scaled), INDICES)
    assert blocks[0, 1].abs().max() > 0.1
    made, loss = module(Scaled), against(infonce, 4)
    _, g = output_gradients(made, INDICES, loss)
    assert torch.einsum("ab,b->a", blocks[0, 1], g[1]).abs().max() < EXACT


def test_inputs_that_share_every_weight_and_move_orthogonally():
    """(1, 1)/sqrt 2 and (1, -1)/sqrt 2: each weight of the layer is used by both inputs."""
    inputs = torch.tensor([[1.0, 1.0], [1.0, -1.0]], dtype=torch.float64) / math.sqrt(2)
    assert (inputs != 0).all()
    made, loss = module(lambda: nn.Linear(2, 3, bias=False)), against(infonce, 2)
    q, _ = output_gradients(made, inputs, loss)
    assert cosines(q, step(made, inputs, loss, lr=20.0)).abs().max() < EXACT


def test_bias_and_two_layers_move_off_the_tangent_by_a_known_amount():
    """The analytical explanation that Section 4.1 says cannot be had, for one-hot inputs:
    both radial parts in closed form.
    """
    loss, lr = against(infonce, 4), 1e-3
    made = module(lambda: nn.Linear(4, 3))
    q, g = output_gradients(made, ONE_HOT, loss)
    radial = (q * step(made, ONE_HOT, loss, lr=lr)).sum(-1)
    assert close(radial, -lr * q @ g.sum(0)) and radial.abs().max() > 1e-6  # -lr <q_i, sum_j g_j>
    made = module(two_layers)
    A, B = (p.detach().clone() for p in made.parameters())
    q, g = output_gradients(made, ONE_HOT, loss)
    z = A.T  # the hidden codes of one-hot inputs
    between = (z @ z.T).fill_diagonal_(0)
    wanted = -lr * (torch.einsum("ij,ia,ja->i", between, q, g) + torch.einsum("ia,ab,ib->i", q, B @ B.T, g))
    radial = (q * first_order(made, ONE_HOT, loss, lr=lr)).sum(-1)
    assert close(radial, wanted) and radial.abs().max() > 1e-6


def test_two_layers_have_norms_that_a_step_can_shrink():
    """ "After update, the norm always increases" fails for outputs of two layers (Section 2.7 is right to object)."""
    made, loss = module(two_layers), against(infonce, 4)
    before = made(ONE_HOT).detach().norm(dim=1)
    step(made, ONE_HOT, loss, lr=0.05)
    assert (made(ONE_HOT).detach().norm(dim=1) < before).any()


def test_each_layer_of_a_homogeneous_tower_grows_by_the_square_of_its_step():
    """What survives of the criticised sentence:
    the loss does not see the scale of a bias-free layer, so its norm grows.
    """
    made = module(
        lambda: nn.Sequential(
            nn.Linear(4, 6, bias=False),
            nn.LeakyReLU(),
            nn.Linear(6, 5, bias=False),
            nn.LeakyReLU(),
            nn.Linear(5, 3, bias=False),
        )
    )
    inputs, loss = normal(4, 4, seed=6), against(infonce, 4)
    for _ in range(5):
        before = [p.detach().clone() for p in made.parameters()]
        step(made, inputs, loss, lr=0.5)
        for old, p in zip(before, made.parameters()):
            change = p.detach() - old
            assert abs((old * change).sum()) < 1e-12 * (1 + old.norm() * change.norm())
            assert p.detach().square().sum() == pytest.approx(
                float(old.square().sum() + change.square().sum()), rel=1e-12
            )
            assert change.norm() > 1e-6


def test_momentum_pushes_outwards_by_a_known_amount():
    """Heavy ball: <q_t, dq_t> = lr^2 sum_{s<t} mu^(t-s) |v_s|^2, never negative: the norm still grows, and faster."""
    made, loss, lr, mu = module(lambda: nn.Embedding(4, 3)), against(infonce, 4), 0.3, 0.9
    optimiser = torch.optim.SGD(made.parameters(), lr=lr, momentum=mu)
    velocities = []
    for t in range(15):
        q = made.weight.detach().clone()
        dq = step(made, INDICES, loss, lr=None, optimiser=optimiser)
        wanted = lr**2 * sum(
            (mu ** (t - s) * v.square().sum(-1) for s, v in enumerate(velocities)), torch.zeros(4).double()
        )
        assert close((q * dq).sum(-1), wanted)
        assert (cosines(q, dq).abs().max() < EXACT) == (t == 0)  # it leaves the tangent at the second step
        velocities.append(-dq / lr)


# ------------------------------------------------------------------------------------ Section 3 and Appendix C:
# popularity


def simulate_cosine_steps(targets, *, lr, start):
    """|q| after one step of -cos(q, k) for each target k."""
    q = np.array(start, dtype=float)
    for k in targets:
        size = np.linalg.norm(q)
        q = q + lr * (k - (q @ k) * q / size**2) / (size * np.linalg.norm(k))
    return float(np.linalg.norm(q))


def test_an_item_updated_ten_times_as_often_can_stay_shorter():
    """Same start, same loss, same learning rate:
    the popular item agrees with its users, the rare one is pulled both ways.
    """
    agree = [np.array([0.8, 0.6])] * 1000
    conflict = [np.array([0.0, 1.0]), np.array([0.0, -1.0])] * 50
    popular = simulate_cosine_steps(agree, lr=0.5, start=(1.0, 0.0))
    rare = simulate_cosine_steps(conflict, lr=0.5, start=(1.0, 0.0))
    assert popular < 1.2 and rare > 2
    consistent, conflicting = conflicting_items((1000, 100), rate=0.5)  # the pair of the chapter, another start
    corner = np.array([1.0, 1.0]) / np.sqrt(2)
    assert consistent == pytest.approx(
        simulate_cosine_steps([np.array([1.0, 0.0])] * 1000, lr=0.5, start=corner), rel=1e-12
    )
    turns = [np.array([1.0, 0.0]), np.array([0.0, 1.0])] * 50
    assert conflicting == pytest.approx(simulate_cosine_steps(turns, lr=0.5, start=corner), rel=1e-12)
    assert consistent < 1.1 and conflicting > 2.3
    # in time each norm only grows, as (18) says
    sizes = [simulate_cosine_steps(conflict[:n], lr=0.5, start=(1.0, 0.0)) for n in range(0, 101, 10)]
    assert all(a < b for a, b in itertools.pairwise(sizes))


def test_enumerate_a_slot_draws_an_item_in_proportion_to_its_count():
    counts = {"a": 3, "b": 1, "c": 2}
    interactions = [item for item, count in counts.items() for _ in range(count)]
    for item, count in counts.items():
        assert F(sum(drawn == item for drawn in interactions), len(interactions)) == F(count, 6)
    # batches cut from one shuffled pass are not i.i.d.: in every pass each item comes exactly as often as it occurs
    passes = set(itertools.permutations(interactions))
    appearances = {sum("a" in order[i : i + 2] for i in (0, 2, 4)) for order in passes}
    assert appearances == {2, 3} and 1 - (1 - F(3, 6)) ** 2 == F(3, 4)  # (30) would put 9/4 batches out of three


def test_enumerate_eq30_and_eq31_over_all_batches():
    """Three items, batches of two slots, three batches: every outcome, in fractions."""
    p, size, steps = {0: F(1, 2), 1: F(1, 3), 2: F(1, 6)}, 2, 3
    for item, chance in p.items():
        pi = sum(math.prod(p[slot] for slot in batch) for batch in itertools.product(p, repeat=size) if item in batch)
        assert pi == 1 - (1 - chance) ** size  # (30)
        law = [F(0)] * (steps + 1)
        for batches in itertools.product(itertools.product(p, repeat=size), repeat=steps):
            weight = math.prod(p[slot] for batch in batches for slot in batch)
            law[sum(item in batch for batch in batches)] += weight
        assert law == [math.comb(steps, n) * pi**n * (1 - pi) ** (steps - n) for n in range(steps + 1)]  # (31)


def test_enumerate_the_coupling_keeps_the_more_popular_item_ahead_on_every_path():
    """Shared uniforms on a grid of 6: for each path both counts are compared; and both marginals are binomial."""
    low, high, cells, steps = F(2, 6), F(5, 6), 6, 3
    paths = list(itertools.product(range(cells), repeat=steps))
    counts = [tuple(sum(F(u, cells) < pi for u in path) for pi in (low, high)) for path in paths]
    assert all(a <= b for a, b in counts) and any(a < b for a, b in counts)
    for index, pi in enumerate((low, high)):
        for n in range(steps + 1):
            share = F(sum(count[index] == n for count in counts), len(paths))
            assert share == math.comb(steps, n) * pi**n * (1 - pi) ** (steps - n)


def test_enumerate_eq32_eq33_eq34_for_fixed_increments():
    """f(n) = |q_0|^2 + delta_1 + ... + delta_n along the coupling: path by path, and in expectation."""
    deltas, start = [F(0), F(3), F(1, 2)], F(2)
    f = [start + sum(deltas[:n]) for n in range(4)]
    assert all(a <= b for a, b in itertools.pairwise(f))
    means = []
    for pi in (F(1, 6), F(2, 6), F(5, 6), F(1)):
        means.append(sum(math.comb(3, n) * pi**n * (1 - pi) ** (3 - n) * f[n] for n in range(4)))
    assert all(a < b for a, b in itertools.pairwise(means))
    paths = itertools.product(range(6), repeat=3)
    assert all(f[sum(u < 2 for u in path)] <= f[sum(u < 5 for u in path)] for path in paths)  # (33)
    # the same with any weights that are not negative and any f that does not fall: nothing of training is used
    flat = [start] * 4
    assert sum(math.comb(3, n) * F(1, 6) ** 3 * 5 ** (3 - n) * flat[n] for n in range(4)) == start


def test_eq32_is_the_sum_of_the_squared_steps_of_a_real_run():
    items, users = module(lambda: nn.Embedding(4, 3), seed=1), normal(5, 3, seed=2)
    optimiser, rng = torch.optim.SGD(items.parameters(), lr=1.0), generator(0)
    start, total = items.weight.detach().square().sum(-1), torch.zeros(4).double()
    for _ in range(25):
        columns, before = torch.randint(4, (5,), generator=rng), items.weight.detach().clone()
        optimiser.zero_grad()
        infonce(users, items(columns)).backward()
        optimiser.step()
        total += (items.weight.detach() - before).square().sum(-1)
    assert close(items.weight.detach().square().sum(-1), start + total)


def test_negatives_drawn_uniformly_flatten_how_often_items_are_updated():
    """(30) counts in-batch negatives only. With K uniform extra negatives of N items: 1 - (1-p)^B (1-1/N)^K."""
    N, size, extra = 3, 1, 2
    p = [F(1, 2), F(1, 3), F(1, 6)]
    for item in range(N):
        hit = F(0)
        for slots in itertools.product(range(N), repeat=size + extra):
            weight = p[slots[0]] * F(1, N) ** extra
            hit += weight if item in slots else 0
        assert hit == 1 - (1 - p[item]) ** size * (1 - F(1, N)) ** extra
    ratio = [1 - (1 - F(1, 2)) * F(4, 9), 1 - (1 - F(1, 6)) * F(4, 9)]
    assert ratio[0] / ratio[1] < F(1, 2) / F(1, 6)


# -------------------------------------------------------------------------------------------- Section 4 and 5:
# experiments


def toy_run(build_user, user_inputs, loss, *, lr=0.5, momentum=0.0, steps=40, d=2, seed=0):
    """|cos(q, dq)| of all user and item moves of a short run on toy data; users in order, six items, full batches."""
    users, items = module(build_user, seed=seed + 1), module(lambda: nn.Embedding(6, d), seed=seed + 4)
    optimiser = torch.optim.SGD(
        [p for m in (users, items) for p in m.parameters() if p.requires_grad], lr=lr, momentum=momentum
    )
    columns = torch.arange(6)
    angles = {"user": [], "item": []}
    for _ in range(steps):
        before = users(user_inputs).detach(), items.weight.detach().clone()
        optimiser.zero_grad()
        loss(users(user_inputs), items(columns)).backward()
        optimiser.step()
        for side, old, new in (("user", before[0], users(user_inputs)), ("item", before[1], items.weight)):
            angles[side].append(cosines(old, new.detach() - old).abs())
    return {side: torch.stack(values) for side, values in angles.items()}


def dot_infonce(left, right):
    return infonce(left, right, similarity="dot")


def embedding_then_linear(frozen):
    made = nn.Sequential(nn.Embedding(6, 4), nn.Linear(4, 2, bias=False))
    made[0].weight.requires_grad_(not frozen)
    return made


class History(nn.Module):
    """A small BERT-like tower: attention over the items of a history, then the mean; all in float64."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(8, 4)
        self.layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.layer(self.table(x)).mean(1))


SIX = torch.arange(6)
HISTORIES = torch.tensor([[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6], [5, 6, 7]])
TABLE_1 = {
    1: (lambda: nn.Embedding(6, 2), SIX, infonce),
    2: (lambda: nn.Embedding(6, 2), SIX, dot_infonce),
    3: (History, HISTORIES, infonce),
    4: (lambda: embedding_then_linear(False), SIX, infonce),
    5: (lambda: embedding_then_linear(True), SIX, infonce),
    6: (lambda: nn.Linear(6, 2, bias=False), torch.eye(6, dtype=torch.float64), infonce),
    7: (lambda: nn.Embedding(6, 2), SIX, squared_cosine_distance),
}


@pytest.mark.parametrize("experiment", TABLE_1)
def test_table_1_row_by_row(experiment):
    """Each tick of Table 1 is an exact zero at every step, each cross a move that is far from tangent."""
    row = next(row for row in table("P0", "T1") if row["experiment"] == experiment)
    found = toy_run(*TABLE_1[experiment])
    for side, orthogonal in (("user", row["left_orthogonal"]), ("item", row["item_orthogonal"])):
        assert (found[side].max() < 1e-7) == orthogonal, (side, found[side].max())
        assert orthogonal or found[side].median() > 0.05, (side, found[side].median())


def test_table_1_row_6_needs_a_layer_without_bias():
    found = toy_run(lambda: nn.Linear(6, 2), torch.eye(6, dtype=torch.float64), infonce)
    assert found["user"].max() > 0.1 and found["item"].max() < 1e-7


def test_experiment_0_momentum_breaks_orthogonality_from_the_second_step():
    found = toy_run(lambda: nn.Embedding(6, 2), SIX, infonce, momentum=0.9)
    for side in ("user", "item"):
        assert found[side][0].max() < 1e-7
        assert (found[side][1:].max(dim=1).values > 0.1).all()


def test_the_share_near_a_right_angle_says_little_without_its_null():
    """About 20 % of the angles of Figure 3 lie within 90 +- 10 degrees. Directions drawn at random:
    11 % to 22 % for d up to 4.
    """
    printed = p0.printed(4, "share_near_90")
    by_chance = {d: p0.chance_of_right_angle(d) for d in (2, 3, 4, 64)}
    assert by_chance[2] < by_chance[3] < printed < by_chance[4] < 0.25 < by_chance[64]
    assert by_chance[64] > 4 * printed


def test_shares_below_chance_and_correlations_that_any_large_catalogue_calls_significant():
    """Experiment 9: 0.007 of the top 100 are top 1 % items, fewer than in a list drawn at random.

    p < 0.05 needs |r| < 0.01.
    """
    assert p0.share_against_chance(9, "share_dot") == p0.share_against_chance(9, "share_cos") == pytest.approx(0.7)
    assert p0.smallest_significant_correlation(80_000) < 0.01
    assert min(p0.printed(8, "pearson"), p0.printed(10, "pearson")) > 50 * p0.smallest_significant_correlation(80_000)


def test_the_shares_of_experiment_10_are_nearly_doubled():
    assert p0.printed(10, "share_dot") / p0.printed(10, "share_cos") == pytest.approx(1.97, abs=0.005)
    assert p0.ratio_of_shares(10) == p0.printed(10, "share_dot") / p0.printed(10, "share_cos")


def test_a_tangential_step_changes_the_norm_by_the_square_of_its_length():
    t, size = sympy.symbols("t r", positive=True)
    series = sympy.series(sympy.sqrt(size**2 + t**2), t, 0, 4).removeO()
    assert sympy.simplify(series - size - t**2 / (2 * size)) == 0
    grown = [float(sympy.sqrt(1 + step**2) - 1) for step in (1e-2, 1e-3)]
    assert grown[0] / grown[1] == pytest.approx(100, rel=1e-3)


def scaled_run(start, lr, steps=30):
    items, users = normal(4, 3, seed=1) * start, normal(4, 3, seed=2)
    for _ in range(steps):
        items.requires_grad_()
        (g,) = torch.autograd.grad(infonce(users, items), items)
        items = items.detach() - lr * g
    return items


def test_only_the_learning_rate_over_the_squared_start_matters():
    """(q_0, lr) -> (c q_0, c^2 lr) scales the whole run by c: a high learning rate is a short start."""
    base = scaled_run(1.0, 2.0)
    assert close(scaled_run(0.1, 0.02), 0.1 * base)
    assert close(scaled_run(10.0, 200.0), 10.0 * base)
    grown = [float(scaled_run(start, 0.1).norm() / scaled_run(start, 0.0).norm()) for start in (1.0, 0.05)]
    assert grown[0] < 1.05 and grown[1] > 3  # the learning rate of Experiment 9, and a start that makes it a high one


def test_an_embedding_tower_moves_orthogonally_whatever_the_other_tower_is():
    for experiment in (3, 4, 5):
        assert toy_run(*TABLE_1[experiment], steps=10)["item"].max() < 1e-7


# ------------------------------------------------------------------------------------------------ Appendix B: Lemma B.1


@pytest.mark.parametrize("d", [2, 3, 4])
def test_eq25_to_eq28_by_symbols(d):
    q, k = sympy.symbols(f"q:{d}", real=True), sympy.symbols(f"k:{d}", real=True)
    dot = sum(a * b for a, b in zip(q, k))
    size_q, size_k = (sympy.sqrt(sum(a * a for a in x)) for x in (q, k))
    u, v = dot, size_q * size_k
    f = u / v  # (25)
    square_q = sum(a * a for a in q)
    for a, b in zip(q, k):
        quotient = (v * u.diff(a) - u * v.diff(a)) / v**2
        assert sympy.simplify(f.diff(a) - quotient) == 0  # (26)
        assert sympy.simplify(v.diff(a) - size_k / size_q * a) == 0
        assert sympy.simplify(f.diff(a) - (b - dot / square_q * a) / (size_q * size_k)) == 0  # (27)
    assert sympy.simplify(sum(a * f.diff(a) for a in q)) == 0  # (28)
    length = sum(f.diff(a) ** 2 for a in q)
    assert sympy.simplify(length - (1 - f**2) / square_q) == 0  # |grad|^2 = (1 - cos^2)/|q|^2


# ---------------------------------------------------------------------------------------------- the prose of the errata


def errata_numbers_of_p0():
    """Each decimal of the errata that no scalar of its row holds, and the number it stands for."""
    popular, rare = conflicting_items()
    by_chance = {f"{100 * p0.chance_of_right_angle(d):.1f}": 100 * p0.chance_of_right_angle(d) for d in (2, 3, 4, 64)}
    printed = {"0.007": p0.printed(9, "share_dot"), "0.1": p0.printed(9, "learning_rate"), "0.01": 0.01}
    printed |= {
        "0.7": 100 * p0.printed(9, "share_cos"),
        "0.5": inspect.signature(conflicting_items).parameters["rate"].default,
    }
    return {"1.0895": popular, "2.3227": rare} | by_chance | printed


def test_every_decimal_in_the_errata_comes_from_a_table_or_a_computation():
    known = errata_numbers_of_p0()
    for text, number in known.items():
        assert float(text) == pytest.approx(number, abs=0.5 * 10.0 ** -len(text.split(".")[1])), text
    assert errata_numbers.unknown("P0", set(known)) == []
    assert len(errata_numbers.decimals("P0")) > 8

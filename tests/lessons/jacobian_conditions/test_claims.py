"""The statements of P0 in this chapter, each recomputed; the lesson's claims.yml names these tests.

Formulas are written out here as the paper prints them, with torch's own layers and optimisers, and never taken from
`course_lib`: where the library states the same, a test compares the two. Exact arithmetic wherever a statement is
exact.
"""

import itertools
import math

import pytest
import sympy
import torch
from torch import nn
from torch.func import functional_call, jacrev, jvp

from course_lib.papers import p0
from tests.torch_steps import (
    COSINE_LOSSES,
    EXACT,
    INDICES,
    ONE_HOT,
    SIX,
    TABLE_1,
    against,
    close,
    cosines,
    generator,
    infonce,
    module,
    normal,
    output_gradients,
    radial_share,
    step,
    toy_run,
    two_layers,
)


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


REPEATED = torch.tensor([0, 2, 0, 0, 1])
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


def first_order(made, inputs, loss, *, lr):
    """dq (batch, d) to first order in the learning rate: -lr J (sum_j J_j^T g_j)."""
    parameters = {name: p.detach() for name, p in made.named_parameters()}
    gradients = torch.func.grad(lambda p: loss(functional_call(made, p, (inputs,))))(parameters)
    direction = {name: -lr * gradient for name, gradient in gradients.items()}
    return jvp(lambda p: functional_call(made, p, (inputs,)), (parameters,), (direction,))[1]


# ---- Section 2.1 to 2.4: one equation, kernels


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


# ---- Section 2.6: the theorem


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


# ---- Section 4 and 5: experiments


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


def test_an_embedding_tower_moves_orthogonally_whatever_the_other_tower_is():
    for experiment in (3, 4, 5):
        assert toy_run(*TABLE_1[experiment], steps=10)["item"].max() < 1e-7

"""The statements of P0 in this chapter, each recomputed; `book/claims/jacobian-conditions.yml` names these tests.

Formulas are written out here as the paper prints them, with torch's own layers and optimisers, and never taken from
`course_lib`: where the library states the same, a test compares the two. Exact arithmetic wherever a statement is
exact.
"""

import pytest
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


def test_a_shared_scale_breaks_the_two_conditions_and_keeps_the_motion():
    """q = s E_i violates (i): J_i J_j^T = E_i E_j^T is not zero. It maps the tangent gradients of E_j to zero."""
    blocks = kernel(module(Scaled), INDICES)
    assert blocks[0, 1].abs().max() > 0.1
    made, loss = module(Scaled), against(infonce, 4)
    _, g = output_gradients(made, INDICES, loss)
    assert torch.einsum("ab,b->a", blocks[0, 1], g[1]).abs().max() < EXACT


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

"""Jacobians, kernels, criteria and steps: against autograd, against formulas, for any module, and what they refuse."""

from __future__ import annotations

import copy

import every_tower
import pytest
import torch
from every_tower import HISTORIES, N
from refused import refused
from torch import nn

from course_lib import encoders, jacobians, losses
from course_lib.checking import some
from course_lib.jacobians import (
    Motion,
    kernel_blocks,
    measure_step,
    per_example_jacobian,
)

H, D = 5, 3
X = torch.tensor([0, 3, 1, 3])


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def features(seed: int = 5) -> torch.Tensor:
    return torch.randn(N, H, generator=generator(seed), dtype=torch.float64)


def orthogonal_features() -> torch.Tensor:
    return torch.linalg.qr(torch.randn(N, N, generator=generator(5), dtype=torch.float64))[0] * 2


TOWERS = every_tower.of_width(D, features())
TOWERS["dense, orthogonal"] = lambda g: encoders.DenseLinear(orthogonal_features(), D, generator=g)
LOOKUPS = {"lookup", "one-hot", "dense, orthogonal", "inverted"}
TANGENT = LOOKUPS | {"scaled", "exponential"}
LINEAR = {"lookup", "one-hot", "one-hot with bias", "dense", "dense, orthogonal", "frozen"}
LINEAR |= {"lookup and bias", "mean of history"}
DEGREES = dict.fromkeys(LINEAR, 1) | {"two layers": 2, "embedding, linear": 2, "scaled": 2, "inverted": -1}
DEGREES |= {"exponential": None, "transformer": None}


def tower(name: str, seed: int = 0) -> nn.Module:
    """In float64, off its start: a scale of 1 and biases of 0 are special."""
    made = TOWERS[name](generator(seed)).double()
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.ndim < 2:
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator(seed + 1), dtype=torch.float64))
    return made


def infonce(users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
    return losses.infonce(losses.cosine_scores(users, items), tau=0.2)


# ---- Jacobians


def jacobian_by_autograd(module: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """torch.autograd.functional instead of torch.func: one tensor of all parameters, cut into pieces inside."""
    named = {name: value for name, value in module.named_parameters() if value.requires_grad}

    def embed(flat: torch.Tensor) -> torch.Tensor:
        parts = flat.split([value.numel() for value in named.values()])
        values = {name: part.view(value.shape) for (name, value), part in zip(named.items(), parts, strict=True)}
        return torch.func.functional_call(module, values, (inputs,))

    flat = torch.cat([value.detach().flatten() for value in named.values()])
    return torch.autograd.functional.jacobian(embed, flat)


@pytest.mark.parametrize("name", TOWERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_jacobians_are_those_of_autograd(name: str, dtype: torch.dtype) -> None:
    module = tower(name).to(dtype)
    found = per_example_jacobian(module, X)
    assert found.dtype == dtype and found.shape[:2] == (4, D)
    torch.testing.assert_close(found, jacobian_by_autograd(module, X))
    torch.testing.assert_close(kernel_blocks(module, X), torch.einsum("iap,jbp->ijab", found, found))
    named = dict(module.named_parameters())
    assert sum(named[key].numel() for key in jacobians.parameter_names(module)) == found.shape[2]


class Recurrent(nn.Module):
    """Batch statistics, dropout and a layer whose derivative torch.func may not batch."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.norm, self.drop = nn.LSTM(2, D, batch_first=True), nn.BatchNorm1d(D), nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(self.norm(self.lstm(x)[0][:, -1]))


def test_a_reader_module_with_buffers_is_left_as_it_was() -> None:
    module, x = Recurrent().double(), torch.randn(4, 7, 2, dtype=torch.float64)
    state, training = copy.deepcopy(module.state_dict()), module.training
    assert per_example_jacobian(module, x).abs().max() > 0
    jacobians.lookup_equivalent(module, x)
    assert module.training == training
    assert all(torch.equal(value, state[key]) for key, value in some(module.state_dict().items()))
    torch.testing.assert_close(per_example_jacobian(module.eval(), x), jacobian_by_autograd(module, x))


def test_a_module_that_torch_func_refuses_is_differentiated_row_by_row() -> None:
    class Stubborn(torch.autograd.Function):  # no vmap rule and no setup_context: torch.func raises
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, slope):
            return 3 * ctx.saved_tensors[0] ** 2 * slope

    class Module(nn.Module):
        def __init__(self, cube) -> None:
            super().__init__()
            self.rows, self.cube = encoders.Lookup(N, D, generator=generator()).double(), cube
            self.unused = nn.Parameter(torch.zeros(2, dtype=torch.float64))

        def forward(self, x):
            return self.cube(self.rows(x))

    stubborn, plain = (per_example_jacobian(Module(cube), X) for cube in (Stubborn.apply, lambda x: x**3))
    torch.testing.assert_close(stubborn, plain)


def test_shared_and_tied_parameters_count_once() -> None:
    items = encoders.Lookup(N, D, generator=generator()).double()
    towers = encoders.TwoTower(encoders.MeanHistory(items, HISTORIES), items)
    assert per_example_jacobian(towers, (X, X)).shape == (8, D, N * D)
    assert type(items.weight) is nn.Parameter and copy.deepcopy(towers) is not None
    tied = nn.Sequential(nn.Linear(D, D, bias=False), nn.Linear(D, D, bias=False)).double()
    tied[1].weight = tied[0].weight
    x = torch.randn(2, D, dtype=torch.float64)
    found, weight = per_example_jacobian(tied, x), tied[0].weight.detach()
    torch.testing.assert_close(found, torch.autograd.functional.jacobian(lambda w: x @ w.T @ w.T, weight).flatten(2))


def test_two_towers_are_laid_below_each_other() -> None:
    towers = encoders.TwoTower(tower("dense"), tower("lookup"))
    kernel = kernel_blocks(towers, (X, X[:2]))
    assert kernel.shape == (6, 6, D, D) and kernel[:4, 4:].abs().max() == 0
    torch.testing.assert_close(kernel[:4, :4], kernel_blocks(towers.left, X))


# ---- kernels: the formulas of the paper


def same() -> torch.Tensor:
    return (X[:, None] == X).double()


def test_kernels_of_the_towers() -> None:
    eye, x = torch.eye(D, dtype=torch.float64), features()[X]

    def kron(scalars: torch.Tensor, matrix: torch.Tensor = eye) -> torch.Tensor:
        return scalars[..., None, None] * matrix

    torch.testing.assert_close(kernel_blocks(tower("lookup"), X), kron(same()))  # (8)
    torch.testing.assert_close(kernel_blocks(tower("one-hot"), X), kron(same()))
    torch.testing.assert_close(kernel_blocks(tower("one-hot with bias"), X), kron(same() + 1))
    torch.testing.assert_close(kernel_blocks(tower("dense"), X), kron(x @ x.T))  # (10)
    torch.testing.assert_close(kernel_blocks(tower("lookup and bias"), X), kron(same() + 1))
    two = tower("two layers")
    z, second = x @ two[1].weight.detach().T, two[2].weight.detach()
    torch.testing.assert_close(kernel_blocks(two, X), kron(z @ z.T) + kron(x @ x.T, second @ second.T))  # (23), (24)
    torch.testing.assert_close(kernel_blocks(two, X, parameters=["2.weight"]), kron(z @ z.T))
    inverted = tower("inverted")
    torch.testing.assert_close(kernel_blocks(inverted, X), kron(same() / inverted.rows(X).norm(dim=1) ** 4))


@pytest.mark.parametrize("name", TOWERS)
def test_first_order_motion_is_what_a_step_does(name: str) -> None:
    """Equation (4): exact at any rate for parameter-linear towers, an error of second order for the others."""
    gaps = {}
    for lr in (1e-3, 1e-4) if name not in LINEAR else (1.0, 50.0):
        module = tower(name)
        keys = torch.randn(len(X), D, generator=generator(4), dtype=torch.float64)
        optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=lr)
        motion = measure_step(module, X, lambda q, keys=keys: infonce(q, keys), optimizer)
        predicted = jacobians.first_order_motion(tower(name), X, motion.gradient, lr=lr)
        gaps[lr] = float((motion.step - predicted).norm() / predicted.norm())
    if name in LINEAR:
        assert max(gaps.values()) < 1e-9
    else:
        assert gaps[1e-4] < 1e-9 or gaps[1e-4] == pytest.approx(gaps[1e-3] / 10, rel=0.1)


# ---- criteria


@pytest.mark.parametrize("name", TOWERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_which_towers_are_lookups_tangent_and_linear(name: str, dtype: torch.dtype) -> None:
    module = tower(name).to(dtype)
    lookup, tangent = jacobians.lookup_equivalent(module, X), jacobians.tangent_criterion(module, X)
    assert bool(lookup) == (name in LOOKUPS) and bool(tangent) == (name in TANGENT)
    assert jacobians.parameter_linear(module, X, generator=generator(3)) == (name in LINEAR)
    assert jacobians.euler_degree(module, X) == DEGREES[name]
    if name not in TANGENT:
        assert tangent.worst > 0.02  # a leak that one can see, not a tolerance that was missed


class Offset(nn.Module):
    """q = J theta + c: a tower that is linear but for a fixed c."""

    def __init__(self, offset: float) -> None:
        super().__init__()
        self.linear, self.offset = encoders.OneHotLinear(N, D, generator=generator()).double(), offset

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + self.offset


class Normalised(Offset):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.normalize(super().forward(x), dim=-1)


def test_normalised_embeddings_are_homogeneous_of_degree_0() -> None:
    assert jacobians.euler_degree(Normalised(0.0), X) == 0
    assert jacobians.euler_degree(Normalised(2.0), X) is None


def test_a_fixed_offset_is_not_parameter_linear_though_its_jacobian_is_constant() -> None:
    """Equation (5) asks for q = J theta itself; the motion (4) is exact with the offset as without."""
    assert jacobians.parameter_linear(Offset(0.0), X, generator=generator(3))
    assert not jacobians.parameter_linear(Offset(2.0), X, generator=generator(3))
    assert jacobians.euler_degree(Offset(2.0), X) is None
    with_offset, without = (jacobians.per_example_jacobian(Offset(offset), X) for offset in (2.0, 0.0))
    assert torch.equal(with_offset, without)


def test_the_report_of_a_lookup_gives_alpha_and_the_two_failures() -> None:
    report = jacobians.lookup_equivalent(tower("dense, orthogonal"), X)
    torch.testing.assert_close(report.alpha, torch.full((4,), 4.0, dtype=torch.float64))
    frozen, two = (jacobians.lookup_equivalent(tower(name), X) for name in ("frozen", "embedding, linear"))
    assert frozen.leak > 0.05 and frozen.anisotropy < 1e-12  # (i) fails and (ii) holds
    assert two.leak > 0.05 and two.anisotropy > 0.05
    assert not jacobians.lookup_equivalent(tower("frozen"), X, tol=1e-3)
    assert jacobians.lookup_equivalent(tower("frozen"), X, tol=2.0)


@pytest.mark.parametrize("name", sorted(set(TOWERS) - TANGENT))
def test_the_worst_gradient_of_a_report_really_moves_the_embedding_outwards(name: str) -> None:
    """The criterion is necessary: the tangent gradient it names breaks orthogonality, by the amount it says."""
    module = tower(name)
    report = jacobians.tangent_criterion(module, X)
    q = module(X).detach()
    i, j = divmod(int(report.leak.argmax()), len(X))
    gradients = torch.zeros(len(X), D, dtype=torch.float64)
    gradients[j] = -report.pushes[i, j] / report.pushes[i, j].norm()
    assert abs(float(q[j] @ gradients[j])) < 1e-12
    motion = jacobians.first_order_motion(module, X, gradients, lr=1.0)
    assert float(motion[i] @ q[i] / q[i].norm()) == pytest.approx(report.worst * report.scale, rel=1e-9)


# ---- the measuring itself


def test_a_motion_knows_its_angles() -> None:
    before = torch.tensor([[2.0, 0.0]] * 5, dtype=torch.float64)
    after = before + torch.tensor([[0.0, 1.0], [1.0, 0.0], [-1.0, 0.0], [1.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
    motion = Motion(before, after)
    torch.testing.assert_close(motion.angle[:4], torch.tensor([90.0, 0.0, 180.0, 45.0], dtype=torch.float64))
    assert motion.angle[4].isnan() and motion.moved.tolist() == [True] * 4 + [False]
    assert motion.radial.tolist() == [0, 2, -2, 2, 0] and motion.growth.tolist() == [1, 5, -3, 6, 0]
    assert motion.worst == 1.0 and Motion(before, before).worst == 0.0
    assert jacobians.share_near_tangent(motion.angle) == 0.25
    assert jacobians.share_near_tangent(motion.angle, within=45) == 0.5
    with pytest.raises(ValueError, match="no embedding moved"):
        jacobians.share_near_tangent(motion.angle[4:])


def test_a_probe_sees_what_is_not_in_the_batch() -> None:
    everything = torch.arange(N)
    keys = torch.randn(len(X), D, generator=generator(4), dtype=torch.float64)
    moved = {}
    for name in ("lookup", "dense"):
        module = tower(name)
        motion = measure_step(
            module, X, lambda q: infonce(q, keys), torch.optim.SGD(module.parameters(), lr=0.1), probe=everything
        )
        assert motion.gradient is None
        moved[name] = motion.moved.tolist()
    assert moved == {"lookup": [True, True, False, True, False, False], "dense": [True] * N}


def test_a_measured_step_is_the_same_step() -> None:
    """Nothing but the optimiser moves the module: parameters, buffers and modes end as without measuring."""
    plain, measured = Recurrent(), None
    measured = copy.deepcopy(plain)
    measured.norm.eval(), plain.norm.eval()
    x = torch.randn(4, 7, 2)
    for module in (plain, measured):
        torch.manual_seed(0)
        optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
        if module is measured:
            measure_step(module, x, lambda q: q.square().sum(), optimiser)
        else:
            module(x).square().sum().backward()
            optimiser.step()
    states = (module.state_dict().values() for module in (plain, measured))
    assert all(torch.equal(a, b) for a, b in some(zip(*states, strict=True)))
    assert measured.training and not measured.norm.training


def test_gradients_from_before_take_no_part_in_a_measured_step() -> None:
    module = nn.Linear(2, 2, bias=False)
    module.weight.grad = torch.full((2, 2), 100.0)
    weight, x = module.weight.detach().clone(), torch.tensor([[1.0, 2.0], [0.0, 1.0]])
    measure_step(module, x, lambda q: q.sum(), torch.optim.SGD(module.parameters(), lr=0.1))
    torch.testing.assert_close(module.weight.detach(), weight - 0.1 * torch.tensor([1.0, 3.0]))  # the sum of the inputs


def test_several_optimisers_step_together() -> None:
    towers = encoders.TwoTower(tower("two layers"), tower("lookup"))
    optimisers = [
        torch.optim.Adam(towers.left.parameters(), lr=0.1),
        torch.optim.SGD(towers.right.parameters(), lr=0.1),
    ]
    left, right = measure_step(towers, (X, X), infonce, optimisers)
    assert left.worst > 1e-3 and right.worst < 1e-12


test_refusals = refused(
    (lambda: per_example_jacobian(len, X), "module is <built-in function len>; expected a torch.nn.Module"),
    (lambda: jacobians.first_order_motion(tower("lookup"), X, None, lr=1), "gradients must be .* got NoneType"),
    (lambda: jacobians.first_order_motion(tower("lookup"), X, torch.ones(4, 3), lr="1"), "lr is '1'"),
    (lambda: jacobians.euler_degree(tower("lookup"), X, tol="1"), "tol is '1'"),
    (lambda: jacobians.euler_degree(encoders.Lookup(N, D, scale=0.0), X), "module gives zeros only"),
    (lambda: jacobians.tangent_criterion(encoders.Lookup(N, D, scale=0.0).double(), X), "example 0 is zero"),
    (lambda: per_example_jacobian(encoders.Features(features()), X), "no trainable parameter"),
    (lambda: per_example_jacobian(nn.Conv1d(1, 1, 1), torch.ones(2, 1, 3)), r"shape \(B, d\).*\(2, 1, 3\)"),
    (lambda: per_example_jacobian(tower("lookup"), X, parameters=["bias"]), "parameters names"),
    (lambda: jacobians.first_order_motion(tower("lookup"), X, torch.ones(4, 2), lr=1), r"\(B, d\) = \(4, 3\)"),
    (lambda: measure_step(tower("lookup"), X, lambda q: q.sum(1), []), "one number"),
    (lambda: measure_step(tower("lookup"), X, lambda q: 1.0, []), "loss must give one number, a tensor .*, got float"),
)

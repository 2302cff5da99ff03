"""Hidden checks of the assignment jacobian-conditions. They run in the judge's process, with a pristine course_lib.

Each takes the student's function as an object that asks the student's process; what it returns is always plain.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from course_lib.lessons.jacobian_conditions import checks as public
from course_lib.lessons.shared.forms import expect
from exercises.engine.inputs import Answer, drawn, generator


def kernel_plain(answer: Answer, **numbers: Any) -> None:
    """Task 1: other shapes, an input met by itself, orthogonal inputs with codes that are not."""
    public.check_kernel(answer, _kernel_cases(), bias=False, **numbers)


def kernel_bias(answer: Answer, **numbers: Any) -> None:
    """Task 1: the same with a bias."""
    public.check_kernel(answer, _kernel_cases(), bias=True, **numbers)


def tangent(answer: Answer) -> None:
    """Task 2: every tower of the collection."""
    public.check_tangent(answer, list(public.TOWERS))


def momentum(answer: Answer, **numbers: Any) -> None:
    """Task 3: no momentum, one step, a long run with turns to both sides."""
    half, third = Fraction(1, 2), Fraction(1, 3)
    cases: list[Any] = [
        ([2, 1, 3], third, Fraction(0)),
        ([3], half, Fraction(9, 10)),
        ([1, 2, -1, half, -2, 1], Fraction(1, 5), Fraction(9, 10)),
    ]
    public.check_momentum(answer, cases, **numbers)


def tower_i(answer: Answer, product: int | None = None) -> None:
    """Task 4: some K_ij with i != j is not zero (but `product` times I, if given), and everything stays tangent."""
    tower, blocks, n = _differentiated(answer("i"))
    away = [(i, j) for i in range(n) for j in range(n) if i != j and np.any(blocks[i, j])]
    expect(
        bool(away),
        "your tower meets condition (i): every K_ij between different users is zero. Which codes make it non-zero?",
    )
    identity = np.eye(blocks.shape[-1])
    expect(
        product is None or any(np.array_equal(blocks[i, j], product * identity) for i, j in away),
        f"no K_ij between different users is {product} times the identity",
    )
    public.expect_tangent(tower, n)


def tower_ii(answer: Answer, difference: int | None = None) -> None:
    """Task 4: some K_ii is no multiple of I (its first two diagonal entries differ by `difference`, if given)."""
    tower, blocks, n = _differentiated(answer("ii"))
    identity = np.eye(blocks.shape[-1])
    broken = [i for i in range(n) if not np.array_equal(blocks[i, i], blocks[i, i, 0, 0] * identity)]
    expect(
        bool(broken),
        "your tower meets condition (ii): every K_ii is a multiple of the identity. What must B B^T not be?",
    )
    expect(
        difference is None or any(blocks[i, i, 0, 0] - blocks[i, i, 1, 1] == difference for i in broken),
        f"no K_ii has a first diagonal entry that is its second plus {difference}",
    )
    public.expect_tangent(tower, n)


def inputs_plain(answer: Answer, **numbers: Any) -> None:
    """Task 5: three to six inputs."""
    public.check_inputs(answer, [3, 4, 6], bias=False, **numbers)


def inputs_bias(answer: Answer, **numbers: Any) -> None:
    """Task 5: three to six inputs, against a trained bias."""
    public.check_inputs(answer, [3, 4, 6], bias=True, **numbers)


def share(answer: Answer, **numbers: Any) -> None:
    """Task 6: random towers, then films in 2 and in 8 dimensions."""
    rng = generator(26)
    for d, f in ((2, 3), (5, 4)):
        weights, inputs = rng.normal(size=(d, f)), rng.normal(size=(40, f))
        embeddings = inputs @ weights.T
        gradients = rng.normal(size=(40, d))
        gradients -= (gradients * embeddings).sum(1, keepdims=True) / (embeddings**2).sum(1, keepdims=True) * embeddings
        public.check_share(answer, weights.tolist(), inputs.tolist(), gradients.tolist(), **numbers)
    public.check_share(answer, *public.films(2, n=120, seed=drawn(101)), **numbers)
    public.check_share(answer, *public.films(8, n=120, seed=drawn(102)), **numbers)


def chance(answer: Answer, **numbers: Any) -> None:
    """Task 6: few and many dimensions."""
    public.check_chance(answer, [2, 4, 5, 64, 1000], **numbers)


def _kernel_cases() -> list[tuple[list[Any], list[Any], list[Any], list[Any]]]:
    A, B = [[2, -1, 0], [1, 1, 3]], [[1, 2], [0, -1], [3, 1]]
    same = [1, 2, -1]
    return [
        (A, B, [1, 0, 2], [0, 1, 1]),
        (A, B, same, same),
        (A, B, [1, 0, 0], [0, 1, 0]),
        ([[3]], [[2], [-1]], [1], [-4]),
    ]


def _differentiated(value: Any) -> tuple[Any, np.ndarray, int]:
    import torch

    from course_lib import jacobians

    A, B = public.tower_form(value)
    n = len(A[0])
    tower = public._two_layers(A, B, np.eye(n, dtype=int).tolist())
    return tower, jacobians.kernel_blocks(tower, torch.arange(n)).detach().numpy(), n

"""The quiz of the chapter: course_lib decides its answers, and its numbers are right."""

from __future__ import annotations

import torch

from course_lib import encoders, jacobians, losses
from course_lib.lessons.jacobian_conditions import quiz as jacobian_conditions
from course_lib.papers import p0


class ElementwiseAdagrad(torch.optim.Adagrad):
    """What row-wise Adagrad would be with a rate for each number."""


class NoBias(torch.nn.Linear):
    """A linear layer that forgets the bias it is asked for."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__(inputs, outputs, bias=False)


WRONG_FORMULAS = [
    (jacobians, "kernel_blocks", lambda right: lambda *a: 6 / 5 * right(*a), "linear-kernel", ""),
    (jacobians, "RowWiseAdagrad", lambda right: ElementwiseAdagrad, "which-optimisers", ""),
    (losses, "cosine_scores", lambda right: lambda q, k: q @ k.T, "which-towers", ""),
    (losses, "cosine_scores", lambda right: lambda q, k: q @ k.T, "deep-tower", ""),
    (encoders, "ScaledLookup", lambda right: encoders.BiasedLookup, "which-towers", ""),
    (torch.nn, "Linear", lambda right: NoBias, "deep-tower", ""),
    (p0, "chance_of_right_angle", lambda right: lambda d: 20 / 180, "twenty-per-cent", ""),
]


def test_the_numbers_in_the_explanations() -> None:
    assert [round(100 * p0.chance_of_right_angle(d)) for d in (2, 3, 4, 64)] == [11, 17, 22, 83]
    with_bias = encoders.DenseLinear(torch.tensor([[1.0, 2.0], [3.0, 1.0]]), 8, bias=True)
    torch.testing.assert_close(jacobians.kernel_blocks(with_bias, torch.arange(2))[0, 1], 6 * torch.eye(8))


def test_momentum_is_perpendicular_once() -> None:
    """ "The first step is perpendicular, the second is not." """
    worst = [
        jacobian_conditions._worst(
            encoders.Lookup(6, 3, generator=jacobian_conditions._generator()),
            lambda p: torch.optim.SGD(p, 0.3, momentum=0.9),
            steps,
        )
        for steps in (1, 2, 3)
    ]
    assert worst[0] < 1e-12 and max(worst[1:]) > 1e-3

"""What is right in the quiz "cosine-orthogonality": a function for each question, {answer id: is it right?}.

The numbers of the questions stand here once more, on purpose: the test compares them with what the file marks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from course_lib import geometry, losses

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # of q (d,) and keys (r, d), the positive first


def gradient_length() -> dict[str, bool]:
    """||q|| = 2, ||k|| = 10, 30 degrees between them: the length of the gradient of their cosine at q."""
    angle = math.radians(30)
    q, k = np.array([2.0, 0.0]), 10 * np.array([math.cos(angle), math.sin(angle)])
    length = float(geometry.norm(geometry.cosine_gradient(q, k)))
    answers = {"by-norm": 0.25, "sine": 0.5, "by-key": 2.5, "cosine": math.sqrt(3) / 4}
    return {name: math.isclose(length, value, rel_tol=1e-12) for name, value in answers.items()}


def which_losses() -> dict[str, bool]:
    """Whether the gradient is perpendicular to q, for random q and keys."""

    def cosines(q: Any, keys: Any) -> Any:
        return losses.cosine_scores(q[None], keys)

    asked: dict[str, Loss] = {
        "square": lambda q, keys: losses.one_minus_cosine_squared(geometry.cosine(q, keys[0])),
        "dot": lambda q, keys: losses.infonce(losses.dot_scores(q[None], keys), tau=0.5, positives=[0]),
        "arcface": lambda q, keys: losses.angular_margin(cosines(q, keys), tau=0.5, margin=0.3, positives=[0]),
        "one-side": lambda q, keys: -(q * geometry.normalise(keys[0])).sum(),
        "decay": lambda q, keys: losses.infonce(cosines(q, keys), tau=0.5, positives=[0]) + 0.01 * (q * q).sum(),
    }
    return {name: _worst_radial(loss) < 1e-12 for name, loss in asked.items()}


def one_step() -> dict[str, bool]:
    """||q|| = 3 and a gradient step of a cosine loss that is 4 long: the new length."""
    q, k = np.array([3.0, 0.0, 0.0]), np.array([1.0, 2.0, -1.0])
    gradient = -geometry.cosine_gradient(q, k)  # of the loss 1 - cos
    step = -4 / geometry.norm(gradient) * gradient
    length = float(geometry.norm(q + step))
    answers = {"pythagoras": 5, "sum": 7, "sphere": 3, "difference": 1}
    return {name: math.isclose(length, value, rel_tol=1e-12) for name, value in answers.items()}


def while_training() -> dict[str, bool]:
    """A free vector, one positive, one negative, 200 steps of InfoNCE on cosines."""
    base = _train(scale=1, lr=0.3)
    lengths = geometry.norm(base)
    turned = geometry.angle_degrees(_train(scale=3, lr=0.3)[:-1], _train(scale=3, lr=0.3)[1:])
    slower = geometry.norm(_train(scale=1, lr=1e-3))
    same = geometry.normalise(_train(scale=2, lr=4 * 0.3))
    pushed = _push_away(np.array([1.0, 0.2]), np.array([1.0, 1.0]))
    return {
        "never-shorter": bool((np.diff(lengths) >= 0).all()),
        "push-shortens": bool(geometry.norm(pushed) < geometry.norm(np.array([1.0, 0.2]))),
        "symmetry": bool(np.allclose(same, geometry.normalise(base), atol=1e-9)),
        "long-is-fast": bool(turned[0] > geometry.angle_degrees(base[0], base[1])),
        "small-steps": bool(slower[-1] == slower[0]),
    }


def leaves_the_circle() -> dict[str, bool]:
    """Whether a step of gradient descent on q stands at another angle than 90 degrees."""
    rng = np.random.default_rng(0)
    q, k, shift = (torch.tensor(rng.normal(size=3)) for _ in range(3))
    tiny = 1e-9 * q
    asked: dict[str, tuple[torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]] = {
        "large-rate": (q, lambda x: -100 * geometry.cosine(x, k)),
        "clamp": (tiny, lambda x: -torch.nn.functional.cosine_similarity(x, k, dim=0)),
        "three-times": (
            q,
            lambda x: losses.infonce(
                losses.cosine_scores(torch.stack([x, x, x]), torch.stack([k, shift, k + shift])), tau=0.2
            ),
        ),
        "shift": (q, lambda x: -geometry.cosine(x + shift, k)),
        "part-of-key": (q, lambda x: -geometry.cosine(x, x + k)),
    }
    return {name: abs(_radial_share(loss, point)) > 1e-6 for name, (point, loss) in asked.items()}


# ---- helpers


def _gradient(loss: Callable[[torch.Tensor], torch.Tensor], point: torch.Tensor) -> torch.Tensor:
    point = point.clone().requires_grad_()
    return torch.autograd.grad(loss(point), point)[0]


def _radial_share(loss: Callable[[torch.Tensor], torch.Tensor], point: torch.Tensor) -> float:
    """cos(q, gradient)."""
    return float(geometry.cosine(point, _gradient(loss, point)))


def _worst_radial(loss: Loss) -> float:
    """max |<q, gradient>| over a few random q and keys."""
    rng = np.random.default_rng(1)
    cases = [(torch.tensor(rng.normal(size=4)), torch.tensor(rng.normal(size=(3, 4)))) for _ in range(20)]

    def radial(q: torch.Tensor, keys: torch.Tensor) -> float:
        return abs(float(q @ _gradient(lambda x: loss(x, keys), q)))

    return max(radial(q, keys) for q, keys in cases)


def _train(*, scale: float, lr: float, steps: int = 200) -> np.ndarray:
    """(steps + 1, 2): gradient descent from scale (1, 0.2) on InfoNCE of two cosines."""
    keys = torch.tensor([[0.3, 1.0], [-1.0, 0.5]], dtype=torch.float64)
    points = [scale * torch.tensor([1.0, 0.2], dtype=torch.float64)]
    for _ in range(steps):
        slope = _gradient(
            lambda q: losses.infonce(losses.cosine_scores(q[None], keys), tau=0.5, positives=[0]), points[-1]
        )
        points.append(points[-1] - lr * slope)
    return torch.stack(points).numpy()


def _push_away(q: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """One step that lowers the cosine with a negative."""
    return np.asarray(q - 0.5 * geometry.cosine_gradient(q, negative))

"""The motion of one vector: course_lib against autograd, JavaScript against course_lib."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from course_lib import geometry, losses
from course_lib.lessons.cosine_orthogonality.cosine_motion import CosineMotion
from course_lib.lessons.shared.widgets import motion
from tests.widget_pages import replacing

CASES = 120


def random_case(rng: np.random.Generator) -> dict[str, Any]:
    d, count = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    return {
        "q": (rng.normal(size=d) * 10 ** rng.uniform(-1, 1)).tolist(),
        "keys": rng.normal(size=(count, d)).tolist(),
        "loss": sorted(motion.LOSSES)[int(rng.integers(len(motion.LOSSES)))],
        "lr": float(10 ** rng.uniform(-2, 0)),
        "tau": float(rng.uniform(0.2, 2)),
        "steps": int(rng.integers(0, 12)),
    }


def random_state(rng: np.random.Generator) -> dict[str, Any]:
    """Arguments of CosineMotion."""
    case = random_case(rng)
    points = np.round(rng.normal(scale=1.5, size=(5, 2)), 2).tolist()
    return {
        "q": points[0],
        "k": points[1],
        "negatives": points[2 : 2 + int(rng.integers(4))],
        "loss": case["loss"],
        "lr": round(case["lr"], 2),
        "tau": round(case["tau"], 2),
        "steps": case["steps"],
    }


def by_autograd(case: dict[str, Any]) -> tuple[float, np.ndarray]:
    """Loss and gradient by torch, from course_lib.losses alone."""
    q = torch.tensor(case["q"], dtype=torch.float64, requires_grad=True)
    keys = torch.tensor(case["keys"], dtype=torch.float64)
    cos, dots = losses.cosine_scores(q[None], keys), losses.dot_scores(q[None], keys)
    loss = {
        "cosine": lambda: 1 - cos[0, 0],
        "cosine_squared": lambda: losses.one_minus_cosine_squared(cos[0, 0]),
        "infonce": lambda: losses.infonce(cos, tau=case["tau"], positives=[0]),
        "dot": lambda: -dots[0, 0],
        "infonce_dot": lambda: losses.infonce(dots, tau=case["tau"], positives=[0]),
    }[case["loss"]]()
    loss.backward()
    return loss.item(), q.grad.numpy()


def test_gradients_agree_with_autograd() -> None:
    rng = np.random.default_rng(0)
    for case in [random_case(rng) for _ in range(CASES)]:
        loss, gradient, _ = motion.loss_and_gradient(
            case["loss"], np.array(case["q"]), np.array(case["keys"]), case["tau"]
        )
        expected, slope = by_autograd(case)
        assert loss == pytest.approx(expected, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-12)


def test_cosine_losses_step_along_the_circle_and_dot_products_do_not() -> None:
    rng = np.random.default_rng(1)
    found = dict.fromkeys(motion.LOSSES, 0.0)
    for case in [random_case(rng) for _ in range(CASES)]:
        q = np.array(case["q"])
        _, gradient, _ = motion.loss_and_gradient(case["loss"], q, np.array(case["keys"]), case["tau"])
        found[case["loss"]] = max(found[case["loss"]], abs(gradient @ q) / np.linalg.norm(q))
    assert {name for name, radial in found.items() if radial > 1e-3} == {"dot", "infonce_dot"}
    assert max(found[name] for name in ("cosine", "cosine_squared", "infonce")) < 1e-12


def test_a_trace_of_cosine_steps_follows_the_quartic_law() -> None:
    shown = CosineMotion(loss="infonce", negatives=[(1.5, -0.8), (-1.0, 0.4)], lr=0.7, steps=60)
    trace, moves = shown.trace, np.diff(shown.trace, axis=0)
    step = geometry.norm(moves)
    h = step * geometry.norm(trace[:-1]) / shown.lr
    assert geometry.norm(trace[-1]) == pytest.approx(
        geometry.quartic_norm(geometry.norm(trace[0]), lr=0.7, h=h, step=step), rel=1e-12
    )


EVALUATE = """(cases) => cases.map(({ q, keys, loss, lr, tau, steps }) => {
  const found = lib.lossAndGradient(loss, q, keys, tau);
  return {
    loss: found.loss, gradient: found.gradient, scores: found.scores,
    cosine: lib.cosine(q, keys[0]), cosineGradient: lib.cosineGradient(q, keys[0]), angle: lib.angleDegrees(q, keys[0]),
    trace: lib.descend({ q, keys, loss, lr, tau, steps }),
  };
})"""


def python_answer(case: dict[str, Any]) -> dict[str, Any]:
    q, keys = np.array(case["q"]), np.array(case["keys"])
    loss, gradient, scores = motion.loss_and_gradient(case["loss"], q, keys, case["tau"])
    return {
        "loss": loss,
        "gradient": gradient,
        "scores": scores,
        "cosine": geometry.cosine(q, keys[0]),
        "cosineGradient": geometry.cosine_gradient(q, keys[0]),
        "angle": geometry.angle_degrees(q, keys[0]),
        "trace": motion.descend(case["loss"], q, keys, lr=case["lr"], tau=case["tau"], steps=case["steps"]),
    }


def disagreements(cases: list[dict[str, Any]], answers: list[dict[str, Any]]) -> list[str]:
    found = []
    for case, answer in zip(cases, answers, strict=True):
        ours, theirs = python_answer(case), answer
        for name in ours:
            a, b = np.asarray(ours[name], dtype=float), np.asarray(theirs[name], dtype=float)
            if a.shape != b.shape or not np.allclose(a, b, rtol=1e-9, atol=1e-11):
                found.append(f"{name}: {a.tolist()} and {b.tolist()} for {case}")
    return found


def test_javascript_agrees_with_course_lib(library: Callable[..., Any]) -> None:
    rng = np.random.default_rng(2)
    cases = [random_case(rng) for _ in range(CASES)]
    assert {case["loss"] for case in cases} == set(motion.LOSSES)
    assert disagreements(cases, library("motion_math")(EVALUATE, cases)) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("scale(add(target, unit, -dot(unit, target)), 1 / norm(q))", "scale(target, 1 / norm(q))"),
        ("scale(add(target, unit, -dot(unit, target)), 1 / norm(q))", "add(target, unit, -dot(unit, target))"),
        ("-2 * (1 - c)", "2 * (1 - c)"),
        ("(p - (s === 0 ? 1 : 0)) / tau", "p - (s === 0 ? 1 : 0)"),
        (".gradient, -lr)", ".gradient, lr)"),
    ],
)
def test_a_wrong_formula_is_noticed(library: Callable[..., Any], right: str, wrong: str) -> None:
    rng = np.random.default_rng(2)
    cases = [random_case(rng) for _ in range(CASES)]
    assert disagreements(cases, library("motion_math", replacing(right, wrong))(EVALUATE, cases)) != []

"""What a seed changes in cosine-orthogonality."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from exercises.engine.variants import pick, whole

CHECKS = {
    "test_gradient_unit": ("power", "linear"),
    "test_gradient_any": ("power", "linear"),
    "test_norm_after": ("decay",),
    "test_shrinking": ("eps",),
    "test_radial_part": ("power", "linear"),
    "test_longer_than_one": ("power", "linear"),
    "test_longest": ("power", "linear"),
}
FOLLOWS = ("test_longer_than_one", "test_longest")  # they ask for task 1's gradients


def numbers(rng: np.random.Generator) -> dict[str, Any]:
    power, linear = whole(rng, 2, 4), whole(rng, -9, 9, but=[0])
    return {
        "power": power,
        "linear": linear,
        "phi": f"x^{power}{linear:+}x".replace("1x", "x"),
        "decay": Fraction(1, whole(rng, 4, 24)),
        "eps": Fraction(1, pick(rng, 7, 17, 40, 250, 600, 1500, 4000)),
    }


CELLS = {
    "task1": [
        (
            r"Write the gradient of $\cos(q,k)$ with respect to $q$",
            r"Let $\varphi(x)=«phi»$. Write the gradient of $\varphi(\cos(q,k))$ with respect to $q$",
        ),
    ],
    "cosine_gradient": [
        ("The gradient of cos(q, k)", "The gradient of phi(cos(q, k))"),
        (
            "    return (key - (direction @ key) * direction) / length\n",
            "    cosine = direction @ key\n"
            "    slope = «power» * cosine ** («power» - 1) + «linear»\n"
            "    return slope * (key - cosine * direction) / length\n",
        ),
    ],
    "task2": [
        (
            "takes one step of gradient descent. You know",
            r"takes one step of gradient descent with weight decay, "
            r"$q'=(1-\eta\lambda)\,q-\eta\nabla_qL$ with $\lambda=«decay»$. You know",
        ),
    ],
    "squared_norm_after": [
        (
            "return squared_norm + lr**2",
            "return (1 - lr * «decay») ** 2 * squared_norm + lr**2",
        )
    ],
    "task3": [
        (r"$\varepsilon=\frac1{100}$", r"$\varepsilon=«eps»$"),
        (
            r"Write the radial part $\langle q,\nabla_q\cos_\varepsilon(q,k)\rangle$, **exactly**",
            r"With the $\varphi$ of task 1, write the radial part "
            r"$\langle q,\nabla_q\,\varphi(\cos_\varepsilon(q,k))\rangle$, **exactly**",
        ),
    ],
    "shrinking_step": [
        ("eps = 1/100", "eps = «eps»"),
        (
            "return [-0.001, 0.0002], [1.0, 0.0], 1e-5",
            "eps = float(«eps»)\n    return [-eps / 10, eps / 50], [1.0, 0.0], eps**2 / 10",
        ),
    ],
    "radial_part": [
        ("gradient of cos_eps(q, k)", "gradient of phi(cos_eps(q, k))"),
        (
            "    return norm * cosine / Fraction(eps) if",
            "    x = norm * cosine / Fraction(eps)\n    return («power» * x ** («power» - 1) + «linear») * x if",
        ),
    ],
    "task4": [
        (
            r"Consider all losses $L=\sum_s a_s\cos(q,k_s)$",
            r"With the $\varphi$ of task 1, consider all losses $L=\sum_s a_s\,\varphi(\cos(q,k_s))$",
        )
    ],
    "longest_loss": [("sum_s a_s cos(q, k_s)", "sum_s a_s phi(cos(q, k_s))")],
}

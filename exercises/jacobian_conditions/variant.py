"""What a seed changes in jacobian-conditions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from course_lib.papers import p0
from exercises.engine.variants import whole

CHECKS = {
    "test_kernel_plain": ("scale",),
    "test_kernel_bias": ("scale",),
    "test_momentum": ("decay",),
    "test_tower_i": ("product",),
    "test_tower_ii": ("difference",),
    "test_inputs_plain": ("own",),
    "test_inputs_bias": ("own",),
    "test_share": ("within",),
    "test_chance": ("within",),
}
FOLLOWS = ()


def numbers(rng: np.random.Generator) -> dict[str, Any]:
    left, right = (whole(rng, -9, 9, but=[-1, 0, 1]) for _ in range(2))
    first = whole(rng, 3, 9)
    second, within = whole(rng, 1, 9, but=[first]), whole(rng, 4, 15, but=[10])
    return {
        "scale": whole(rng, 2, 9),
        "decay": Fraction(1, whole(rng, 3, 13)),
        "left": left,
        "right": right,
        "product": left * right,
        "first": first,
        "second": second,
        "difference": first**2 - second**2,
        "own": whole(rng, 7, 19),
        "within": within,
        "low": 90 - within,
        "high": 90 + within,
        "plane": f"{100 * p0.chance_of_right_angle(2, within=within):.1f}",
        "chance": f"{100 * p0.chance_of_right_angle(64, within=within):.1f}",
        "seen": f"{100 * p0.chance_of_right_angle(64, within=within):.0f}",
        "rest": f"{100 - 100 * p0.chance_of_right_angle(64, within=within):.0f}",
    }


CELLS = {
    "task1": [("$q=BAx$, or with `bias` $q=BAx+b$", "$q=«scale»BAx$, or with `bias` $q=«scale»BAx+b$")],
    "kernel_block": [
        ("K_ij of q = B A x (+ b)", "K_ij of q = «scale» B A x (+ b)"),
        (
            "[inputs * dot(B[r], B[c]) + (codes + bool(bias) if r == c else 0) for c in range(d)]",
            "[«scale» ** 2 * (inputs * dot(B[r], B[c]) + codes * (r == c)) + bool(bias) * (r == c) for c in range(d)]",
        ),
    ],
    "task3": [
        (
            r"and $q_{t+1}=q_t-\eta v_t$, where",
            r"and $q_{t+1}=(1-\eta\lambda)\,q_t-\eta v_t$ with the weight decay $\lambda=«decay»$, where",
        )
    ],
    "squared_norm_with_momentum": [
        (
            "        after = square - 2 * lr * inner + lr**2 * velocity\n"
            "        inner = momentum * (inner - lr * velocity)",
            "        kept = 1 - lr * «decay»\n"
            "        after = kept**2 * square - 2 * lr * kept * inner + lr**2 * velocity\n"
            "        inner = momentum * (kept * inner - lr * velocity)",
        )
    ],
    "task4": [
        (
            r"some $K_{ij}$ with $i\ne j$ is not zero;",
            r"some $K_{ij}$ with $i\ne j$ is **$«product»$ times the identity**;",
        ),
        (
            "some $K_{ii}$ is no multiple of the identity.",
            "some $K_{ii}$ is no multiple of the identity: **its "
            "first diagonal entry is its second plus $«difference»$**.",
        ),
    ],
    "tangent_tower": [
        ("return [[1, 1], [0, 1]], [[1, 0], [0, 0]]", "return [[«left», «right»], [0, 1]], [[1, 0], [0, 0]]"),
        (
            "return [[1, 0], [0, 1]], [[1, 0], [0, 2]]  # B B^T = diag(1, 4), and",
            "return [[1, 0], [0, 1]], [[«first», 0], [0, «second»]]  # B B^T is diagonal, and",
        ),
    ],
    "task5": [
        (
            "meets the conditions (i) and (ii) whatever $W$ is.",
            "meets the conditions (i) and (ii), **with $K_{ii}=«own»I$**, whatever $W$ is.",
        )
    ],
    "dense_inputs": """    gram = «own» * np.eye(n)
    if bias:  # K_ij = (x_i . x_j + 1) I
        gram -= 1
    inputs = np.linalg.cholesky(gram) / np.sqrt(2)
    return np.hstack([inputs, inputs])
""",
    "task6": [
        (
            r"between $q_i$ and $\Delta q_i$ is within $90\pm10$ degrees",
            r"between $q_i$ and $\Delta q_i$ is within $90\pm«within»$ degrees",
        ),
        (r"is within $90\pm10$ degrees of a fixed one", r"is within $90\pm«within»$ degrees of a fixed one"),
    ],
    "share_near_right_angle": [
        ("within 80 to 100 degrees", "within «low» to «high» degrees"),
        ("<= 10))", "<= «within»))"),
    ],
    "chance_share": [
        ("within 80 to 100 degrees", "within «low» to «high» degrees"),
        ("np.radians(10)", "np.radians(«within»)"),
    ],
    "task7": [
        (r"83 % of the embeddings moved within $90\pm10$", r"«seen» % of the embeddings moved within $90\pm«within»$")
    ],
    "criticise": [
        (
            "83.3 % of all random directions lie within ten degrees",
            "«chance» % of all random directions lie within «within» degrees",
        ),
        ("In two dimensions chance gives 11.1 %.", "In two dimensions chance gives «plane» %."),
        ("(On the films with genre features", "(With a window of ten degrees, on the films with genre features"),
        ("17 % of embeddings at more than ten degrees off", "«rest» % of embeddings at more than «within» degrees off"),
    ],
}

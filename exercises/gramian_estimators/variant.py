"""What a seed changes in gramian-estimators."""

from __future__ import annotations

from typing import Any

import numpy as np

from exercises.engine.variants import fraction, pick, whole

CHECKS = {
    "test_pairs": ("times",),
    "test_gradient": ("trace",),
    "test_leaving": ("row",),
    "test_always": ("row",),
    "test_batch_with": ("louder",),
    "test_batch_without": ("louder",),
    "test_rate_small": ("every",),
    "test_rate_films": ("every",),
}
FOLLOWS = ()


def numbers(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "times": pick(rng, -5, -4, -3, -2, 2, 3, 4, 5),
        "trace": fraction(rng, "1/2", "1/3", "2/3", "3/4", "3/2", "2", "3", "4", "5", "5/2"),
        "row": [whole(rng, 2, 7), whole(rng, -7, 7, but=[0])],
        "louder": whole(rng, 2, 12),
        "every": whole(rng, 2, 12),
    }


CELLS = {
    "task1": [
        (
            r"\bigl(\langle u_i,v_j\rangle-c\bigr)^2",
            r"\bigl(«times»\,\langle u_i,v_j\rangle-c\bigr)^2",
        ),
        (
            r"Return the gradient of $g=\langle G_u,G_v\rangle$ with",
            r"Return the gradient of $\langle G_u,G_v\rangle+«trace»\,\mathrm{tr}\,G_u$ with",
        ),
    ],
    "all_pairs": [
        ("(<u_i, v_j> - c)^2", "(«times» <u_i, v_j> - c)^2"),
        ("# <u, v> - c = <(u, c), (v, -1)>", "# «times» <u, v> - c = <(«times» u, c), (v, -1)>"),
        ("[[*row, c] for row in U]", "[[*(«times» * x for x in row), c] for row in U]"),
    ],
    "gravity_gradient": [
        ("The gradient of g with", "The gradient of g + trace with"),
        ("return (gram @ U[x]) *", "return (gram @ U[x] + «trace» * U[x]) *"),
    ],
    "task4": [
        (
            "and **no row may be zero**.",
            "**no row may be zero, and every row of `now` is $«row»$**.",
        )
    ],
    "leaving_the_cone": [
        ("# first entry of the estimate: M^2/n", "# along the row, the estimate is its square times M^2/n"),
        (
            "    cached = [[large, 0]] + [[0, 1]] * (n - 1)\n    return cached, [[1, 0]] * n, 0",
            "    a, b = «row»\n    cached = [[large * a, large * b]] + [[-b, a]] * (n - 1)\n"
            "    return cached, [[a, b]] * n, 0",
        ),
    ],
    "always_outside": [
        (
            "    return [[2 * n, 0]] + [[0, 2 * n]] * (n - 1), [[1, 1]] * n",
            "    a, b = «row»  # half the sum of two vectors at a right angle: itself plus and minus its quarter turn\n"
            "    return [[n * (a - b), n * (a + b)]] + [[n * (a + b), n * (b - a)]] * (n - 1), [[a, b]] * n",
        )
    ],
    "task5": [
        (
            "the smallest $b$ for which $s$ is at most `share`",
            r"the smallest $b$ for which $«louder»\,s$ is at most `share`, "
            r"as $\nabla h$ is «louder» times as long here as $\nabla g$",
        )
    ],
    "smallest_batches": [("    with_replacement =", "    share = share / «louder»\n    with_replacement =")],
    "task6": [
        (
            "at $T+1$ moments of a training run, `batches`",
            "at $T+1$ moments of a training run, **«every» steps apart**, `batches`",
        ),
        (
            r"- $\delta^2$: the mean, over the $T$ steps, of the "
            r"squared Frobenius length of a step of the true Gramian;",
            r"- $\delta^2$: the mean squared Frobenius length of **one** step of "
            r"the true Gramian, which makes «every» of them between two moments;",
        ),
        ("returns `path` and `batches`.", "returns `path` and `batches`; take every «every»-th entry of both."),
    ],
    "best_rate": [
        (
            "r = (steps**2).sum(axis=(1, 2)).mean() /",
            "r = (steps**2).sum(axis=(1, 2)).mean() / «every» /",
        )
    ],
}

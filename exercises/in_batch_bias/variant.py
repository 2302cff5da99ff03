"""What a seed changes in in-batch-bias."""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib.lessons.in_batch_bias import checks
from exercises.engine.variants import fraction, whole

CHECKS = {
    "test_negative_weight_outside": ("beside",),
    "test_negative_weight_inside": ("beside", "diagonal"),
    "test_best_score": ("high", "low"),
    "test_counterexample": ("rows", "columns", "positives", "size"),
    "test_gap": ("rows", "columns", "positives", "size"),
    "test_shard_negatives": ("negative",),
    "test_shard_positives": ("negative", "positive"),
    "test_share_small": ("odds",),
    "test_share_data": ("odds",),
}
FOLLOWS = ()


def numbers(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "beside": fraction(rng, "2", "3", "3/2", "5/2", "2/3", "3/4", "5/4", "2/5", "3/5", "7/2"),
        "diagonal": fraction(rng, "1/2", "1/3", "1/4", "1/5", "2/3", "3/4", "2/5", "3/5"),
        "high": whole(rng, 2, 9),
        "low": whole(rng, -5, -1),
        **_counterexample(rng),
        "negative": fraction(rng, "1/2", "1/3", "1/4", "2/3", "3/4", "2/5", "3/5", "2", "3", "3/2"),
        "positive": fraction(rng, "1/6", "1/7", "1/8", "1/9", "1/10", "1/5", "2/9", "3/10"),
        "odds": whole(rng, 2, 7),
    }


def _counterexample(rng: np.random.Generator) -> dict[str, Any]:
    """The shape that is asked for, and labels of that shape with a negative cell where the loss is biased."""
    while True:
        rows, columns, size = whole(rng, 2, 4), whole(rng, 3, 5), whole(rng, 2, 3)
        positives = whole(rng, max(rows, columns), min(8, rows * columns - 1))
        labels = (rng.permutation(rows * columns) < positives).astype(int).reshape(rows, columns)
        if labels.any(0).all() and labels.any(1).all() and (rows, columns, positives) != (2, 3, 3):
            biased = np.argwhere((checks.local_count_gap(labels, size) != 0) & (labels == 0)).tolist()
            if biased:
                shape = {"rows": rows, "columns": columns, "positives": positives, "size": size}
                return {**shape, "labels": labels.tolist(), "cell": tuple(biased[0])}


CELLS = {
    "task1": [
        (
            "scaled by $M/(mns)$ per sampled pair). Write",
            "scaled by $M/(mns)$ per sampled pair). **But now the labels are smoothed**: a pair "
            "beside the diagonal is a negative with the weight $«beside»$, and a pair on the "
            "diagonal is, besides being a positive, a negative with the weight $«diagonal»$. Write",
        )
    ],
    "negative_weight": [
        (
            "return rho * (rows * cols - labels[i][j])",
            "return «beside» * rho * (rows * cols - labels[i][j]) + «diagonal» * labels[i][j]",
        )
    ],
    "task2": [
        (
            r"$\ell^+=\frac12(1-x)^2$ and $\ell^-=\frac12x^2$",
            r"but with other targets, $\ell^+=\frac12(«high»-x)^2$ and $\ell^-=\frac12(«low»-x)^2$",
        )
    ],
    "best_score": [
        (
            "return 1 / (1 + Fraction(omega) * rho * (pop - 1))",
            "down = Fraction(omega) * rho * (pop - 1)\n    return («high» + «low» * down) / (1 + down)",
        )
    ],
    "task3": [
        (
            "(a list of lists, at most 5 by 5, at most 8 positives, at least "
            "one in every row and column), a `batch_size` of at least 2, a cell",
            "(a list of lists, **«rows» by «columns», with «positives» positives**, at "
            "least one in every row and column), the `batch_size` **«size»**, a cell",
        )
    ],
    "counterexample": [
        ("labels, size, cell = [[1, 1, 0], [0, 0, 1]], 2, (0, 2)", "labels, size, cell = «labels», «size», «cell»"),
        (
            "for i in range(2) for j in range(3) if",
            "for i in range(«rows») for j in range(«columns») if",
        ),
    ],
    "task4": [
        (
            "that make the step's expectation the average over all pairs.",
            r"with which, in the step's expectation, $\ell^-$ has **the weight $«negative»\cdot\frac1{mn}$ "
            r"on every negative pair and $«positive»\cdot\frac1{mn}$ on every positive one**.",
        )
    ],
    "shard_weights": [
        ("weights = [[scale * inverse_rho", "weights = [[«negative» * scale * inverse_rho"),
        ("scale * (Fraction(1, pop) - 1)", "scale * («positive» - «negative» * (1 - Fraction(1, pop)))"),
    ],
    "task5": [
        ("whose score is negative when", r"whose score is below $-\ln«odds»$ when"),
        ("for batches of 16, 64 and 256, before", "for batches of 16, 64 and 256, with 1 in place of «odds», before"),
    ],
    "share_pushed_down": [
        ("logistic score is negative", "logistic score is below -ln «odds»"),
        ("> len(users) - 1))", "> «odds» * (len(users) - 1)))"),
    ],
}

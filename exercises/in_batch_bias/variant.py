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

"""The public checks: what a student runs on Colab or at home, without nbgrader."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from in_process import functions
from sample_essays import unaccounted

from course_lib import datasets
from course_lib.lessons.in_batch_bias import checks
from course_lib.lessons.shared import forms
from exercises.engine import simulate
from exercises.in_batch_bias import hidden

MESSAGES = [
    ("weight_of_negatives", lambda y, i, j, s: Fraction(s - 1, 80) * sum(y[i]) * sum(r[j] for r in y), "times m n"),
    ("weight_of_negatives", lambda y, i, j, s: 0.5, "no floats"),
    ("weight_of_negatives", lambda y, i, j, s: Fraction(17, 3), "No usual slip"),
    ("weight_of_negatives", lambda y, i, j, s: "1", "a number is expected"),
    ("best_score", lambda pop, omega, s, m: 1 / (1 + Fraction(omega) * Fraction(s - 1, m - 1) * pop), "not rho pop"),
    ("best_score", lambda pop, omega, s, m: 1 / (1 + Fraction(s - 1, m - 1) * (pop - 1)), "omega multiplies every l-"),
    ("counterexample", lambda: 3, "four things"),
    ("counterexample", lambda: ([[1, 0]], 2, (0, 1), 1), "cold film"),
    ("counterexample", lambda: ([[1, 1]], 3, (0, 1), 1), "2 to M = 2"),
    ("counterexample", lambda: ([[1, 1]], 2, (0, 2), 1), "outside"),
    ("counterexample", lambda: ([[1] * 5] * 2, 2, (0, 2), 1), "at most 8 positives"),
    ("shard_weights", lambda *a: [[1]], "h x h"),
    ("share_pushed_down", lambda u, i, s: 200 / 6 if s == 3 else 50.0, "per cent"),
]


def test_any_true_counterexample_counts() -> None:
    """Not only the reference: a 3 x 3 identity with one more positive, found by listing."""
    labels = [[1, 1, 0], [0, 1, 0], [0, 0, 1]]
    gaps = checks.local_count_gap(np.array(labels), 2)
    biased = [(i, j) for i in range(3) for j in range(3) if gaps[i, j] != 0]
    assert biased
    for cell in biased:
        hidden.counterexample_is_biased(lambda cell=cell: (labels, 2, cell, 0))
        hidden.counterexample_gap(lambda cell=cell: (labels, 2, cell, gaps[cell]))
    fair = next((i, j) for i in range(3) for j in range(3) if gaps[i, j] == 0)
    with pytest.raises(forms.NotYet):
        hidden.counterexample_is_biased(lambda: (labels, 2, fair, 1))


def test_rho_of_the_whole_batch_does_not_repair_a_shard() -> None:
    reference = functions(simulate.reference())["shard_weights"]
    for copied in (4, 6):  # the batch size of all devices together, in place of the shard's

        def wrong(rows: Any, cols: Any, total: int, shape: Any, devices: int, s: int = copied) -> list[list[Fraction]]:
            return [
                [w * Fraction(len(rows) - 1, s - 1) if a != b else w for b, w in enumerate(row)]
                for a, row in enumerate(reference(rows, cols, total, shape, devices))
            ]

        with pytest.raises(forms.NotYet, match="which batch size"):
            hidden.shard_negatives(wrong)


def test_no_shard_belongs_to_a_batch_that_is_larger_than_the_data() -> None:
    """A solution may hold the statement to its word: s = h D positives are drawn without replacement, so s <= M."""
    reference = functions(simulate.reference())["shard_weights"]

    def careful(rows: Any, cols: Any, total: int, shape: Any, devices: int) -> list[list[Fraction]]:
        assert devices >= 1 and len(rows) >= 2 and len(rows) * devices <= total
        return reference(rows, cols, total, shape, devices)  # type: ignore[no-any-return]

    for check in (checks.shard_weights, checks.shard_of_everything, hidden.shard_negatives, hidden.shard_positives):
        check(careful)


# One wrong cell for each check that no typical wrong submission loses.
SPOILT = {
    "test_counterexample": "def counterexample():\n    return [[1, 0], [0, 1]], 2, (0, 0), 0",
    "test_shard_negatives": "def shard_weights(r, c, m, shape, d):\n    return [[Fraction(1)] * len(c)] * len(r)",
}


def test_the_public_checks_of_tasks_3_and_4_look_at_more_than_form() -> None:
    with pytest.raises(forms.NotYet, match="is not 1/\\(mn\\)"):
        checks.shard_weights(lambda rows, cols, *_: [[7] * len(cols) for _ in rows])
    with pytest.raises(forms.NotYet, match="nothing is disproved"):
        checks.counterexample(lambda: ([[1, 0], [0, 1]], 2, (0, 0), 1))


def test_the_sample_essays_quote_the_shares_of_the_films() -> None:
    share, films = functions(simulate.reference())["share_pushed_down"], datasets.load("movietweetings")
    small, large = (f"{100 * share(films.users, films.items, size):.0f} %" for size in (16, 256))
    batches, asked = ("batches of 16", "batches of 256"), ("for 1 and 0", "against 1 and 0", "instead of 1")
    assert not unaccounted("in-batch-bias", small, large, *batches, *asked)

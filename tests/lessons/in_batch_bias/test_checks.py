"""The public checks: what a student runs on Colab or at home, without nbgrader."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sample_essays import unaccounted

from course_lib import datasets
from course_lib.lessons.in_batch_bias import checks
from course_lib.lessons.shared import forms
from exercises.engine import simulate
from exercises.in_batch_bias import hidden

ROOT = Path(__file__).resolve().parents[3]
TASKS = {
    "weight_of_negatives": "negative_weight",
    "weight_of_positives": "negative_weight",
    "best_score": "best_score",
    "counterexample": "counterexample",
    "shard_weights": "shard_weights",
    "share_pushed_down": "share_pushed_down",
}


def answers(notebook: dict) -> dict[str, Any]:
    """The functions that a notebook's answer cells define."""
    names: dict[str, Any] = {"Fraction": Fraction, "np": np}
    for cell in notebook["cells"]:
        about = cell["metadata"]["nbgrader"]
        if about["solution"] and cell["cell_type"] == "code":
            exec(cell["source"], names)
    return names


@pytest.mark.parametrize("check", TASKS)
def test_the_reference_passes_and_is_told_what_that_means(check: str, capsys: pytest.CaptureFixture[str]) -> None:
    getattr(checks, check)(answers(simulate.reference())[TASKS[check]])
    assert "not full marks" in capsys.readouterr().out


@pytest.mark.parametrize("check", TASKS)
def test_an_untouched_answer_does_not_pass(check: str) -> None:
    with pytest.raises(NotImplementedError):
        getattr(checks, check)(answers(simulate.empty())[TASKS[check]])


def test_every_student_can_run_them_without_nbgrader() -> None:
    """The reference notebook, cell by cell, where nbgrader and the exercises folder cannot be imported."""
    code = ["import sys", "sys.modules['nbgrader'] = sys.modules['exercises'] = None"]
    cells = [cell for cell in simulate.reference()["cells"] if cell["cell_type"] == "code"]
    code += [line for cell in cells for line in cell["source"].split("\n") if "%pip" not in line]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(code)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("not full marks") == 9


@pytest.mark.parametrize(
    ("check", "answer", "hint"),
    [
        (
            "weight_of_positives",
            lambda y, i, j, s: Fraction(s - 1, 5) * sum(y[i]) * sum(r[j] for r in y),
            "its own negative",
        ),
        ("weight_of_negatives", lambda y, i, j, s: Fraction(s, 6) * sum(y[i]) * sum(r[j] for r in y), "not s/M"),
        ("weight_of_negatives", lambda y, i, j, s: Fraction(s - 1, 80) * sum(y[i]) * sum(r[j] for r in y), "times m n"),
        ("weight_of_negatives", lambda y, i, j, s: 0.5, "no floats"),
        ("weight_of_negatives", lambda y, i, j, s: Fraction(17, 3), "No usual slip"),
        ("weight_of_negatives", lambda y, i, j, s: "1", "a number is expected"),
        (
            "best_score",
            lambda pop, omega, s, m: 1 / (1 + Fraction(omega) * Fraction(s - 1, m - 1) * pop),
            "not rho pop",
        ),
        (
            "best_score",
            lambda pop, omega, s, m: 1 / (1 + Fraction(s - 1, m - 1) * (pop - 1)),
            "omega multiplies every l-",
        ),
        ("counterexample", lambda: 3, "four things"),
        ("counterexample", lambda: ([[1, 0]], 2, (0, 1), 1), "cold film"),
        ("counterexample", lambda: ([[1, 1]], 3, (0, 1), 1), "2 to M = 2"),
        ("counterexample", lambda: ([[1, 1]], 2, (0, 2), 1), "outside"),
        ("counterexample", lambda: ([[1] * 5] * 2, 2, (0, 2), 1), "at most 8 positives"),
        ("shard_weights", lambda *a: [[1]], "h x h"),
        ("share_pushed_down", lambda u, i, s: 200 / 6 if s == 3 else 50.0, "per cent"),
    ],
)
def test_a_message_names_the_misconception(check: str, answer: Any, hint: str) -> None:
    with pytest.raises(forms.NotYet, match=hint):
        getattr(checks, check)(answer)


def test_the_hidden_checks_use_other_inputs_than_the_public_ones() -> None:
    assert checks.FIG2 not in (hidden.UNSEEN, hidden.HIT)


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
    reference = answers(simulate.reference())["shard_weights"]
    for copied in (4, 6):  # the batch size of all devices together, in place of the shard's

        def wrong(rows: Any, cols: Any, total: int, shape: Any, devices: int, s: int = copied) -> list[list[Fraction]]:
            return [
                [w * Fraction(len(rows) - 1, s - 1) if a != b else w for b, w in enumerate(row)]
                for a, row in enumerate(reference(rows, cols, total, shape, devices))
            ]

        with pytest.raises(forms.NotYet, match="which batch size"):
            hidden.shard_negatives(wrong)


def test_the_assignment_states_points_difficulty_importance_and_minutes() -> None:
    cells = simulate.source()["cells"]
    tasks = ["".join(c["source"]) for c in cells if "".join(c["source"]).startswith("## Task")]
    assert len(tasks) == 6
    for text in tasks:
        for word in ("points", "difficulty ★", "importance ★", "minutes*"):
            assert word in text, text[:40]
    graded = [c["metadata"]["nbgrader"] for c in cells if c["metadata"]["nbgrader"]["grade"]]
    assert sum(about["points"] for about in graded) == 34


def test_the_lock_brings_nbgrader() -> None:
    assert "\nnbgrader==" in (ROOT / "requirements.txt").read_text(encoding="utf-8")


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
    share, films = answers(simulate.reference())["share_pushed_down"], datasets.load("movietweetings")
    small, large = (f"{100 * share(films.users, films.items, size):.0f} %" for size in (16, 256))
    assert not unaccounted(
        "in-batch-bias",
        f"about {small} of the pairs were pushed down with batches of 16",
        f"{large} of the liked pairs have a negative best score with batches of 256",
        f"With batches of 256, {large} of the liked pairs",
        f"your {large}",
        "instead of 1",
        "all pairs ask for 1 and 0",
        "against 1 and 0",
    )

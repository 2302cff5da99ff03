"""The quiz of the chapter: course_lib decides its answers, and its numbers are right."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib import geometry, norms
from course_lib.lessons.popularity_norm_coupling import norm_growth
from course_lib.lessons.popularity_norm_coupling import quiz as popularity_norm_coupling
from tests.lessons.every import explanation

NAME = "popularity-norm-coupling"


WRONG_FORMULAS = [
    (norms, "predicted_norm", lambda f: lambda *a, **k: f(*a, **k) ** 2, "sixteen-times", ""),
    (norms, "crossover_count", lambda f: lambda norm, **k: f(norm, **k) * norm, "same-picture", ""),
    (geometry, "cosine_gradient", lambda f: lambda q, k: f(q, k) * geometry.norm(q)[..., None], "same-picture", ""),
    (geometry, "cosine_gradient", lambda f: lambda q, k: f(q, k) - 0.5 * q, "who-grows", ""),
    (
        norms,
        "expected_squared_gradient",
        lambda f: lambda p, **k: f(p, **{**k, "coherence": 1.0}),
        "head-of-the-catalogue",
        "",
    ),
    (norms, "decay_equilibrium", lambda f: lambda p, **k: f(1.0, **k), "weight-decay", ""),
    (norms, "decayed_path", lambda f: lambda *a, **k: f(*a, **{**k, "lazy": False}), "weight-decay", ""),
    (geometry, "normalise", lambda f: lambda x: x / geometry.norm(x).mean(), "serving", ""),
]


def test_the_numbers_in_the_explanations() -> None:
    consistent, conflicting = popularity_norm_coupling.conflicting_items((1000, 100))
    assert f"from 1 to {consistent:.2f}" in explanation(NAME, "who-grows", "more-is-longer").replace("\n", " ")
    assert f"reaches {conflicting:.2f} in 100" in explanation(NAME, "who-grows", "more-is-longer")
    assert pytest.approx(1.19, abs=0.005) == 2**0.25
    assert norms.update_probability(0.01, 1024) > 0.9999  # "in practically every step"
    coherent = norms.expected_squared_gradient(np.array([0.01, 0.02]), batch_size=1024, coherence=1.0)
    assert (coherent[1] / coherent[0]) ** 0.25 == pytest.approx(1.40, abs=0.005)  # the answer for copies that agree


def test_the_statistical_claims_of_the_norm_quiz_show_in_the_interactive() -> None:
    """'A law that holds on average': in the interactive single items differ from the predicted line, the mean
    hardly.
    """
    run = norm_growth.NormGrowth(lr=1.0).run()
    ratio = run.norms / norms.predicted_norm(1.0, lr=1.0, h=run.h, updates=run.counts)
    assert ratio.std() > 0.02 and abs(ratio.mean() - 1) < 0.1

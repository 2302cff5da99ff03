"""The quiz of the chapter: course_lib decides its answers, and its numbers are right."""

from __future__ import annotations

import math

import numpy as np
import pytest

from course_lib import geometry, losses
from course_lib.lessons.cosine_orthogonality import quiz as cosine_orthogonality

WRONG_FORMULAS = [
    # a gradient that keeps its part along q
    (geometry, "cosine_gradient", lambda right: lambda q, k: right(q, k) + 0.1 * q, "one-step", ""),
    (geometry, "cosine_gradient", lambda right: lambda q, k: right(q, k) * np.linalg.norm(q), "gradient-length", ""),
    (geometry, "cosine_gradient", lambda right: lambda q, k: right(q, k) * np.linalg.norm(k), "gradient-length", ""),
    (geometry, "cosine_gradient", lambda right: lambda q, k: 3 * q, "while-training", ""),
    # a cosine that normalises one side only
    (losses, "cosine_scores", lambda right: lambda q, k: q @ geometry.normalise(k).T, "which-losses", ""),
    (losses, "cosine_scores", lambda right: lambda q, k: q @ k.T, "while-training", ""),
    (losses, "cosine_scores", lambda right: lambda q, k: q @ k.T, "leaves-the-circle", ""),
    (geometry, "cosine", lambda right: lambda q, k: (q * k).sum(), "which-losses", ""),
]


def test_the_numbers_in_the_explanations() -> None:
    assert math.sin(math.radians(30)) / 2 == pytest.approx(0.25) and math.cos(math.radians(30)) / 2 == pytest.approx(
        0.43, abs=0.004
    )
    assert geometry.TORCH_COSINE_EPS == 0.00000001  # "below 0.000 000 01"
    grown = geometry.norm(cosine_orthogonality._train(scale=1, lr=1e-3))
    assert grown[-1] > grown[0] and (np.diff(grown) > 0).all()  # "tiny, but it is there, it has one sign"

"""The figures of the chapter on cosine gradients draw what the geometry says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from matplotlib.quiver import Quiver

from course_lib import geometry
from course_lib.lessons.cosine_orthogonality import plots
from course_lib.lessons.shared import plots as shared_plots
from course_lib.training.free_vectors import Moves

FIGURES: dict[str, Callable[[], tuple[Figure, Any]]] = {
    "angle_paths": lambda: plots.angle_paths(
        {"short": [120.0, 60.0, 20.0], "long": [120.0, 110.0, 101.0]}, label="angle"
    ),
    "clamp_reach": lambda: plots.clamp_reach(
        [0.1, 1.0, 10.0], {"law": [0.6, 0.3, 0.0]}, {"torch": ([0.1, 10.0], [0.6, 0.0])}
    ),
    "gradient_fields": lambda: plots.gradient_fields([0.9, 0.5]),
    "norm_paths": lambda: plots.norm_paths(
        {
            "cosine": Moves(
                *map(np.array, ([0, 1, 0], [1, 1, 2], [1.0, 1.0, 1.2], [1.2, 1.1, 1.3], [1.0] * 3, [0.0] * 3))
            )
        },
        [0, 1],
    ),
    "precision": lambda: plots.precision(
        {"float32": ([1e-3, 1.0], [1e-7, 2e-7]), "float64": ([1e-3, 1.0], [1e-16, 0.0])},
        x_label="x",
        label="y",
        marks={"here": 0.1},
    ),
    "tangent_step": lambda: plots.tangent_step([1.5, 0.2], [0.75, 1.6], lr=2.2),
}


def radii(ax) -> list[float]:
    return sorted(float(patch.radius) for patch in ax.patches if isinstance(patch, Circle))


def arrows(ax) -> np.ndarray:
    """(n, 2, 2): start and end of every arrow."""
    return np.array([(text.xyann, text.xy) for text in ax.texts if getattr(text, "arrow_patch", None)], dtype=float)


def test_the_step_of_the_picture_is_tangent_and_ends_on_the_dashed_circle() -> None:
    q, k = np.array([1.5, 0.2]), np.array([0.75, 1.6])
    _, (left, right) = plots.tangent_step(q, k, lr=2.2)
    assert radii(left) == [1.0]
    before, after = radii(right)
    (step,) = [end - start for start, end in arrows(right) if np.allclose(start, q)]
    np.testing.assert_allclose(step, 2.2 * geometry.cosine_gradient(q, k))
    assert q @ step == pytest.approx(0, abs=1e-12)
    assert (before, after) == pytest.approx((np.linalg.norm(q), np.linalg.norm(q + step)))
    drop = [end - start for start, end in arrows(left) if np.linalg.norm(start) > 1e-9]
    assert np.linalg.norm(drop) == pytest.approx(np.sin(geometry.geodesic(q, k)))


def test_the_left_landscape_is_tangent_and_the_right_one_is_k() -> None:
    k = np.array([0.9, 0.5])
    _, axes = plots.gradient_fields(k)
    fields = [next(c for c in ax.collections if isinstance(c, Quiver)) for ax in axes]
    places = np.stack([fields[0].X, fields[0].Y], axis=1)
    cosines, dots = (np.stack([f.U, f.V], axis=1) for f in fields)
    assert np.abs((places * cosines).sum(axis=1)).max() < 1e-12
    np.testing.assert_allclose(geometry.angle_degrees(dots, k), 0, atol=1e-6)
    lengths = geometry.norm(cosines)
    sines = np.sin(geometry.geodesic(places, k)) / geometry.norm(places)
    np.testing.assert_allclose(lengths / lengths.max(), sines / sines.max(), rtol=1e-9, atol=1e-12)


def test_circles_draw_every_step() -> None:
    path = np.array([[[1.0, 0.0]], [[1.0, 0.5]], [[0.8, 0.9]]])
    _, (ax,) = shared_plots.circles({"one": path})
    np.testing.assert_allclose(arrows(ax), [[path[0, 0], path[1, 0]], [path[1, 0], path[2, 0]]])
    assert [round(patch.width / 2, 6) for patch in ax.patches] == [1.0, round(float(np.hypot(1, 0.5)), 6)]


def test_the_heading_counts_moves() -> None:
    moves = Moves(*map(np.array, ([0, 1, 0], [1, 1, 2], [1.0, 1.0, 1.2], [1.2, 0.9, 1.3], [1.0] * 3, [0.0] * 3)))
    _, (ax,) = plots.norm_paths({"run": moves}, [0, 1])
    assert any("longer 2 times" in text.get_text() and "shorter 1 times" in text.get_text() for text in ax.texts)
    assert sorted(line.get_ydata()[-1] for line in ax.lines) == [0.9, 1.3]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plots.tangent_step([1.0, 0.0, 0.0], [1.0, 1.0], lr=1.0), r"q has shape \(3,\)"),
        (lambda: plots.gradient_fields([1.0]), r"k has shape \(1,\)"),
        (lambda: shared_plots.circles({"flat": np.zeros((3, 2))}), r"'flat' has shape \(3, 2\)"),
        (lambda: plots.tangent_step([0.0, 0.0], [1.0, 1.0], lr=1.0), "zero vector"),
    ],
)
def test_errors(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()

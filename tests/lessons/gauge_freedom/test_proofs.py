"""The proofs of the chapter can fail, and what they say is said by the library too."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from course_lib import gauge as room
from course_lib.arrays import as_table
from course_lib.checking import some
from course_lib.lessons.gauge_freedom import proofs as gauge
from course_lib.lessons.shared.symbolic import simplified


@pytest.mark.seconds
def test_an_enumeration_can_fail(monkeypatch):
    """With the rank computed from the rows instead of their squares, the enumeration notices."""
    monkeypatch.setattr("course_lib.gauge.counting.squares", lambda A: as_table(A, "A"))
    assert gauge.enumerate_diagonal_gauge() > 0


@pytest.mark.seconds
def test_the_plane_enumeration_can_fail(monkeypatch):
    good = room.second_plane_gauge
    monkeypatch.setattr(room, "second_plane_gauge", lambda a1, a2, b: good(a2, a1, a1))
    assert gauge.enumerate_plane_gauge() > 0


def test_a_residual_can_fail():
    """The same machinery on P2's sentence "D applied to both vectors preserves their inner product"."""
    x, y, d = sp.symbols("x y d", positive=True)
    assert simplified((d * x) * (d * y) - x * y) != [0]


def test_the_circle_is_the_circle():
    points = gauge.rational_circle()
    assert len(points) == len(set(points)) == 28 and all(x * x + y * y == 1 for x, y in some(points))


def test_the_second_derivative_explains_why_a_first_order_freedom_may_be_refused():
    """Along S = I + tE with b^T E b = 0 the second table grows by t^2 ||Eb||^2: measured against the formula."""
    E, b, t = np.array([[1.0, 0], [0, -1]]), np.array([1.0, 1]) / np.sqrt(2), 1e-4
    grown = b @ np.linalg.inv(np.eye(2) + t * E) @ b - 1
    assert grown / t**2 == pytest.approx((E @ b) @ (E @ b), rel=1e-6)

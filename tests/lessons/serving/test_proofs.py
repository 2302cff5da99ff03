"""The proofs of the chapter can fail, and faiss does what they speak of."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from course_lib import gauge, index
from course_lib.lessons.serving import ivf, proofs
from course_lib.lessons.shared.symbolic import simplified
from tests.lessons.every import broken


def test_the_order_of_a_coordinate_that_is_too_small_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, proofs, "_lifted", lambda right: lambda u, v, longest: right(u, v, 0) + proofs._dot(v, v))
    assert proofs.enumerate_one_more_coordinate() == 1


def test_cells_by_distance_do_depend_on_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    def nearest(centroids: tuple[proofs.Row, ...], row: proofs.Row) -> int:
        longer = [tuple((k + 1) * x for x in centroid) for k, centroid in enumerate(centroids)]
        return min(range(4), key=lambda k: (sum((a - b) ** 2 for a, b in zip(longer[k], row, strict=True)), k))

    broken(monkeypatch, proofs, "_best", lambda right: nearest)
    assert proofs.enumerate_cells_of_directions() == 1


def test_half_the_bound_and_half_the_margin_are_found_out() -> None:
    step, part = Fraction(1, 3), 1
    assert abs(part * step / 2) > step / 4  # the worst error exceeds half the bound
    exact, rounded = (4, 6), (5, 5)  # each moved by 1: a margin of 0 certifies nothing
    assert int(np.argmax(rounded)) != int(np.argmax(exact))


def test_a_wrong_size_of_the_error_is_no_zero() -> None:
    s1, s2 = sp.symbols("s1 s2", positive=True)
    assert simplified(s1**2 + s2**2 - s2**2) != [0]


@pytest.mark.seconds
def test_faiss_looks_at_the_same_items_at_every_length() -> None:
    """With the centroids kept; and its own centroids have length 1 where inner products are searched."""
    faiss = pytest.importorskip("faiss")
    people, films = ivf.directions(8, passes=2)
    built = index.build(films, "ivf", cells=16, probes=2)
    centroids = built.quantizer.reconstruct_n(0, 16)
    assert np.linalg.norm(centroids, axis=1) == pytest.approx(1, abs=1e-5)

    def looked_at(items: np.ndarray) -> np.ndarray:
        quantizer = faiss.IndexFlatIP(8)
        quantizer.add(centroids)
        other = faiss.IndexIVFFlat(quantizer, 8, 16, faiss.METRIC_INNER_PRODUCT)
        other.train(items)
        other.add(items)
        other.nprobe = 2
        return np.sort(index.nearest(other, people[:50], 300), axis=1)

    longer = ivf.with_lengths(films, 0.5)
    assert (looked_at(films.astype(np.float32)) == looked_at(longer.astype(np.float32))).all()
    lists = ivf.exact(people[:50], films), ivf.exact(people[:50], longer)
    assert (lists[0] != lists[1]).any()


def test_no_random_gauge_cuts_with_a_smaller_error_than_the_svd_gauge() -> None:
    rng = np.random.default_rng(0)
    users, items = rng.normal(size=(30, 5)), rng.normal(size=(20, 5))
    scores, sigma = users @ items.T, np.linalg.svd(users @ items.T, compute_uv=False)

    def error(left: np.ndarray, right: np.ndarray, r: int) -> float:
        return float(((scores - left[:, :r] @ right[:, :r].T) ** 2).sum())

    balanced = gauge.balance_tables(users, items)
    for r in (1, 2, 4):
        assert error(*balanced, r) == pytest.approx((sigma[r:5] ** 2).sum())
        others = [error(*gauge.apply_linear_gauge(users, items, rng.normal(size=(5, 5))), r) for _ in range(50)]
        assert min(others) > error(*balanced, r)

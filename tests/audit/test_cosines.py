"""The practitioner's diagnostic: tables whose answer is known, the sentences that follow, and what is refused."""

import itertools
from typing import Any

import numpy as np
import pytest

from course_lib import gauge, geometry
from course_lib.audit import audit, cosines, evidence
from course_lib.audit.tables import table_of


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def words(report: cosines.Cosines) -> str:
    """The report on one line, as wrapping may fall anywhere."""
    return " ".join(report.text().split()).replace("- ", "")


def look(
    items: np.ndarray,
    users: np.ndarray | None = None,
    counts: np.ndarray | None = None,
    *,
    rng: np.random.Generator,
    wide: bool = False,
) -> cosines.Cosines:
    """What `audit(...).cosines` holds, without the other questions."""
    tables = [None if table is None else table_of(table, "table").rows for table in (items, users)]
    counts = None if counts is None else np.asarray(counts, dtype=float)
    seen = evidence.Evidence(*tables, counts, seed=int(rng.integers(2**32)))
    return cosines.look(seen, wide=wide)


def unit(n: int, k: int, seed: int = 0) -> np.ndarray:
    return geometry.normalise(rng(seed).standard_normal((n, k)))


def test_a_long_table_on_the_sphere_is_fixed() -> None:
    report = look(unit(200, 8), unit(100, 8, 1), rng=rng())
    assert report.verdict == "fixed"
    assert (report.items.diagonal, report.items.linear, report.two_sided) == (0, 0, 0)
    assert report.items.margin == pytest.approx(gauge.weakest_direction(unit(200, 8))[0])
    assert 0.7 < report.firm_overlap < 1 and "How firmly: if lengths may vary by 1 %" in words(report)
    assert "no linear gauge except rotations" in words(report) and "check the training code" in words(report)


def test_hardly_more_rows_than_a_gauge_has_numbers_fix_it_barely() -> None:
    """37 rows of width 8 hold 36 numbers. No gauge keeps all lengths; one that moves them by 1 % spoils the lists."""
    report = look(unit(37, 8), rng=rng())
    assert report.items.linear == 0 and report.firm_overlap < 0.9 and report.verdict == "barely fixed"
    assert "alone leave the gauge barely fixed." in report.text()


def test_free_lengths_leave_the_gauge_free() -> None:
    report = look(rng().standard_normal((200, 8)), rng=rng())
    assert report.verdict == "free" and not report.items.on_sphere
    assert "35 free parameters" in words(report)  # 8 * 9 / 2 - 1
    assert "No user table" in words(report)


def test_sign_codes_on_the_sphere_are_partly_free() -> None:
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=4))) / 2
    report = look(signs, rng=rng())
    assert report.verdict == "partly free"
    assert (report.items.diagonal, report.items.linear, report.items.margin) == (3, 3, None)
    assert "3 free dimensions" in words(report)
    assert report.allowed_overlap < 0.95 and "Random gauges that keep all lengths and all scores" in words(report)


def test_users_on_the_sphere_can_close_what_items_leave() -> None:
    items, users = unit(12, 5), unit(12, 5, 1)  # 15 unknowns; 12 rows alone leave 3
    alone, both = look(items, rng=rng()), look(items, users, rng=rng())
    assert alone.items.linear == 3 and alone.verdict == "partly free"
    assert both.two_sided == 0 and both.verdict == "fixed"
    assert "no gauge is left near" in words(both)


def test_a_table_of_low_rank_is_judged_by_what_its_cosines_feel() -> None:
    flat = unit(100, 3) @ np.linalg.qr(rng(1).standard_normal((6, 6)))[0][:3]
    report = look(flat, rng=rng())
    assert report.items.rank == 3 and report.items.linear == 0 and report.verdict == "fixed"


def test_neighbours_move_more_under_wider_gauges_and_never_below_zero() -> None:
    report = look(rng().standard_normal((400, 8)), rng=rng())
    shares = list(report.overlap.values())
    assert 1 > shares[0] > shares[1] > shares[2] > report.chance
    assert report.chance == pytest.approx(10 / 399)


def test_overlap_is_that_of_a_gauge_that_keeps_scores() -> None:
    """The same gauge applied by the room `gauge`: identical neighbours, identical scores."""
    A, B = rng().standard_normal((30, 6)), rng(1).standard_normal((60, 6))
    R = gauge.random_linear_gauge(6, spread=0.5, rng=rng(5), rows=B)
    new_A, new_B = gauge.apply_linear_gauge(A, B, R)
    np.testing.assert_allclose(new_A @ new_B.T, A @ B.T, atol=1e-10)
    queries = np.arange(60)
    before = gauge.neighbours(B, 10)
    expected = gauge.neighbour_overlap(before, gauge.neighbours(new_B, 10)).mean()
    assert cosines._survivors(B, before, queries, 0.5, 1, rng(5)) == pytest.approx(expected)


def test_overlaps_do_not_depend_on_the_axes_in_which_a_table_is_given() -> None:
    """Signs of singular vectors, their order, any rotation: a processor may choose, the report may not show it."""
    A, B = rng().standard_normal((60, 6)), rng(1).standard_normal((90, 6)) * [3, 2, 1, 1, 0.5, 0.2]
    Q = np.linalg.qr(rng(2).standard_normal((6, 6)))[0]
    expected = look(B, A, rng=rng())
    for turn in (np.diag([1.0, -1, 1, -1, -1, 1]), np.eye(6)[[2, 0, 1, 5, 4, 3]], Q):
        found = look(B @ turn, A @ turn, rng=rng())
        assert found.overlap == expected.overlap and found.score_overlap == expected.score_overlap


def test_balance_and_gauge_free_neighbours() -> None:
    A, B = gauge.balance_tables(rng().standard_normal((80, 6)), rng(1).standard_normal((90, 6)))
    level = look(B, A, rng=rng())
    assert level.imbalance < 1e-12 and "balanced, as equal weight decay" in words(level)
    A, B = gauge.apply_gauge(A, B, gauge.random_diagonal_gauge(6, spread=1, rng=rng()))
    tilted = look(B, A, rng=rng())
    assert tilted.imbalance > 0.3 and "not balanced" in words(tilted)
    assert tilted.score_overlap < level.score_overlap


def test_imbalance_is_the_difference_over_the_sum_of_the_norms() -> None:
    A, B = rng().standard_normal((80, 6)), rng(1).standard_normal((90, 6)) * [4, 2, 1, 1, 1, 0.5]
    report = look(B, A, rng=rng())
    G, H = A.T @ A, B.T @ B
    c = (np.linalg.norm(H) / np.linalg.norm(G)) ** 0.25  # A c and B / c have Gramians of one norm
    G, H = G * c**2, H / c**2
    share = np.linalg.norm(G - H) / (np.linalg.norm(G) + np.linalg.norm(H))
    assert report.imbalance == pytest.approx(share)
    assert f"differ by {100 * share:.1f} % of the sum of their norms" in words(report)
    assert f"differ by {100 * share:.0f} % of the sum of their norms" in cosines.free_gauge(report).support


def test_counts_that_follow_lengths_are_reported() -> None:
    table = unit(100, 5) * np.linspace(1, 3, 100)[:, None]
    assert look(table, counts=np.linspace(1, 3, 100), rng=rng()).norm_count_correlation == pytest.approx(1)
    assert look(table, counts=np.linspace(3, 1, 100), rng=rng()).norm_count_correlation == pytest.approx(-1)
    level = look(unit(100, 5), counts=np.arange(100), rng=rng())
    assert level.norm_count_correlation is None and "lengths know nothing of popularity" in words(level)


def test_popularity_in_the_directions_of_a_sphere_is_reported() -> None:
    """A cosine sees a direction as well as a dot product does: equal lengths hide no popularity."""
    counts = np.arange(1, 401)
    toward = np.zeros((400, 8))
    toward[:, 0] = counts / 400
    popular = look(geometry.normalise(unit(400, 8) + toward), counts=counts, rng=rng())
    assert popular.axis.correlation > 0.5 > 5 * popular.axis.chance
    assert "Dot products and cosines see directions alike" in words(popular)
    assert abs(look(unit(400, 8), counts=counts, rng=rng()).axis.correlation) < 0.2


def test_what_is_not_printed_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Off the sphere every gauge is free: the slow counts of free dimensions would change no sentence."""
    for name in ("visible_diagonal_dimension", "visible_linear_dimension"):
        monkeypatch.setattr(gauge, name, lambda *_: pytest.fail("counted"))
    assert look(rng().standard_normal((200, 8)), rng=rng()).items.linear is None


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8])
def test_stored_precision_does_not_change_the_verdict(dtype: type[np.generic]) -> None:
    table = unit(100, 4)
    table = np.round(table * 100) if dtype == np.int8 else table
    report = look(table.astype(dtype), rng=rng())
    assert report.verdict == ("free" if dtype == np.int8 else "fixed")


def test_large_tables_are_sampled_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "CANDIDATES", 50)
    report = look(unit(120, 3), rng=rng())
    assert report.candidates == 50 and "drawn at random out of 120" in words(report)


def test_wide_tables_are_counted_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cosines, "LINEAR_WIDTH", 3)
    quick, full = look(unit(60, 4), rng=rng()), look(unit(60, 4), rng=rng(), wide=True)
    assert quick.items.linear is None and "--wide" in words(quick) and quick.verdict == "diagonally fixed"
    assert full.items.linear == 0


def test_fewer_rows_than_a_wide_table_needs_leave_a_gauge_without_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """21 conditions are needed at width 6; the rows of a second table on the sphere count as well."""
    monkeypatch.setattr(cosines, "LINEAR_WIDTH", 5)
    few = look(unit(14, 6), rng=rng())
    assert few.items.linear is None and few.items.least == 21 - 14 == gauge.linear_gauge_dimension(unit(14, 6))
    assert few.verdict == "partly free" and "14 rows are too few for 6 numbers each" in words(few)
    assert look(unit(14, 6), unit(30, 6, 1), rng=rng()).verdict == "diagonally fixed"
    assert look(unit(14, 6), rng(1).standard_normal((30, 6)), rng=rng()).verdict == "partly free"


@pytest.mark.parametrize(("rows", "least"), [(4, 2), (6, 0), (30, 0)])
def test_a_table_of_rank_3_needs_six_rows_whatever_its_width(rows: int, least: int) -> None:
    """A symmetric matrix on its three dimensions has six numbers, and each length fixes one."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(rows, 3)) @ np.linalg.qr(rng.normal(size=(12, 3)))[0].T
    made = table / np.linalg.norm(table, axis=1, keepdims=True)
    assert cosines._facts(made, evidence.reduced(made)).least == least


def test_the_sample_shortcut_agrees_with_the_whole_table() -> None:
    sizes = []

    def dimension(rows: np.ndarray) -> int:
        sizes.append(len(rows))
        return gauge.visible_linear_dimension(rows)

    assert cosines._left(dimension, unit(5000, 4), 4, rng()) == 0 and sizes == [40]
    signs = np.tile(np.array(list(itertools.product((1.0, -1.0), repeat=4))) / 2, (50, 1))
    assert cosines._left(dimension, signs, 4, rng()) == 3  # a sample that leaves freedom proves nothing
    assert sizes == [40, 40, len(signs)]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"items": np.ones(3)}, r"items has shape \(3,\) .*; expected numbers of shape \(n, d\)"),
        ({"items": unit(20, 3), "users": unit(5, 4)}, "users has width 4"),
        ({"items": unit(20, 3), "counts": np.ones(3)}, r"counts has shape \(3,\); expected \(20,\)"),
        ({"items": np.full((20, 3), np.nan)}, "NaN or infinity in 20 rows, the first is row 0"),
    ],
)
def test_bad_tables_are_refused(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        audit(**arguments, rng=rng())

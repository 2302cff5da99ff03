"""The practitioner's diagnostic: tables whose answer is known, the sentences that follow, and what is refused."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from course_lib import audit as room
from course_lib import gauge, geometry
from course_lib.__main__ import main
from course_lib.audit import audit


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def words(report: room.Report) -> str:
    """The report on one line, as wrapping may fall anywhere."""
    return " ".join(report.text().split()).replace("- ", "")


def unit(n: int, k: int, seed: int = 0) -> np.ndarray:
    return geometry.normalise(rng(seed).standard_normal((n, k)))


def test_a_long_table_on_the_sphere_is_fixed():
    report = audit(unit(200, 8), unit(100, 8, 1), rng=rng())
    assert report.verdict == "fixed"
    assert (report.items.diagonal, report.items.linear, report.two_sided) == (0, 0, 0)
    assert report.items.stiffness > 0.01
    assert "no linear gauge except rotations" in words(report) and "check the training code" in words(report)


def test_free_lengths_leave_the_gauge_free():
    report = audit(rng().standard_normal((200, 8)), rng=rng())
    assert report.verdict == "free" and not report.items.on_sphere
    assert "35 free parameters" in words(report)  # 8 * 9 / 2 - 1
    assert "No user table" in words(report)


def test_sign_codes_on_the_sphere_are_partly_free():
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=4))) / 2
    report = audit(signs, rng=rng())
    assert report.verdict == "partly free"
    assert (report.items.diagonal, report.items.linear, report.items.stiffness) == (3, 3, 0.0)
    assert "3 free dimensions" in words(report)
    assert report.allowed_overlap < 0.95 and "Random gauges that keep all lengths and all scores" in words(report)


def test_users_on_the_sphere_can_close_what_items_leave():
    items, users = unit(12, 5), unit(12, 5, 1)  # 15 unknowns; 12 rows alone leave 3
    alone, both = audit(items, rng=rng()), audit(items, users, rng=rng())
    assert alone.items.linear == 3 and alone.verdict == "partly free"
    assert both.two_sided == 0 and both.verdict == "fixed"
    assert "no gauge is left near" in words(both)


def test_a_table_of_low_rank_is_judged_by_what_its_cosines_feel():
    flat = unit(100, 3) @ np.linalg.qr(rng(1).standard_normal((6, 6)))[0][:3]
    report = audit(flat, rng=rng())
    assert report.items.rank == 3 and report.items.linear == 0 and report.verdict == "fixed"


def test_neighbours_move_more_under_wider_gauges_and_never_below_zero():
    report = audit(rng().standard_normal((400, 8)), rng=rng())
    shares = list(report.overlap.values())
    assert 1 > shares[0] > shares[1] > shares[2] > report.chance
    assert report.chance == pytest.approx(10 / 399)


def test_overlap_is_that_of_a_gauge_that_keeps_scores():
    """The same gauge applied by the room `gauge`: identical neighbours, identical scores."""
    A, B = rng().standard_normal((30, 6)), rng(1).standard_normal((60, 6))
    R = gauge.random_linear_gauge(6, spread=0.5, rng=rng(5), rows=B)
    new_A, new_B = gauge.apply_linear_gauge(A, B, R)
    np.testing.assert_allclose(new_A @ new_B.T, A @ B.T, atol=1e-10)
    queries = np.arange(60)
    before = gauge.neighbours(B, 10)
    expected = gauge.neighbour_overlap(before, gauge.neighbours(new_B, 10)).mean()
    assert room._survivors(B, before, queries, 0.5, 1, rng(5)) == pytest.approx(expected)


def test_overlaps_do_not_depend_on_the_axes_in_which_a_table_is_given():
    """Signs of singular vectors, their order, any rotation: a processor may choose, the report may not show it."""
    A, B = rng().standard_normal((60, 6)), rng(1).standard_normal((90, 6)) * [3, 2, 1, 1, 0.5, 0.2]
    Q = np.linalg.qr(rng(2).standard_normal((6, 6)))[0]
    expected = audit(B, A, rng=rng())
    for turn in (np.diag([1.0, -1, 1, -1, -1, 1]), np.eye(6)[[2, 0, 1, 5, 4, 3]], Q):
        found = audit(B @ turn, A @ turn, rng=rng())
        assert found.overlap == expected.overlap and found.score_overlap == expected.score_overlap


def test_balance_and_gauge_free_neighbours():
    A, B = gauge.balance_tables(rng().standard_normal((80, 6)), rng(1).standard_normal((90, 6)))
    level = audit(B, A, rng=rng())
    assert level.imbalance < 1e-12 and "balanced, as weight decay" in words(level)
    A, B = gauge.apply_gauge(A, B, gauge.random_diagonal_gauge(6, spread=1, rng=rng()))
    tilted = audit(B, A, rng=rng())
    assert tilted.imbalance > 0.3 and "not balanced" in words(tilted)
    assert tilted.score_overlap < level.score_overlap


def test_counts_that_follow_lengths_are_reported():
    table = unit(100, 5) * np.linspace(1, 3, 100)[:, None]
    assert audit(table, counts=np.linspace(1, 3, 100), rng=rng()).norm_count_correlation == pytest.approx(1)
    assert audit(table, counts=np.linspace(3, 1, 100), rng=rng()).norm_count_correlation == pytest.approx(-1)
    level = audit(unit(100, 5), counts=np.arange(100), rng=rng())
    assert level.norm_count_correlation is None and "no correlation" in words(level)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8])
def test_stored_precision_does_not_change_the_verdict(dtype):
    table = unit(100, 4)
    table = np.round(table * 100) if dtype == np.int8 else table
    report = audit(table.astype(dtype), rng=rng())
    assert report.verdict == ("free" if dtype == np.int8 else "fixed")


def test_large_tables_are_sampled_and_say_so(monkeypatch):
    monkeypatch.setattr(room, "CANDIDATES", 50)
    report = audit(unit(120, 3), rng=rng())
    assert report.candidates == 50 and "drawn at random out of 120" in words(report)


def test_wide_tables_are_counted_only_when_asked(monkeypatch):
    monkeypatch.setattr(room, "LINEAR_WIDTH", 3)
    quick, full = audit(unit(60, 4), rng=rng()), audit(unit(60, 4), rng=rng(), wide=True)
    assert quick.items.linear is None and "--wide" in words(quick) and quick.verdict == "diagonally fixed"
    assert full.items.linear == 0


def test_the_sample_shortcut_agrees_with_the_whole_table():
    table = unit(5000, 4)
    assert len(room._enough_rows(table, rng())) < 5000
    signs = np.tile(np.array(list(itertools.product((1.0, -1.0), repeat=4))) / 2, (50, 1))
    assert len(room._enough_rows(signs, rng())) == len(signs)  # a sample that leaves freedom proves nothing


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"items": np.ones(3)}, r"items has shape \(3,\) .*; expected numbers of shape \(n, d\)"),
        ({"items": np.array([["a", "b"]])}, "dtype"),
        ({"items": np.ones((5, 2))}, "5 rows; 10 neighbours need at least 12"),
        ({"items": np.eye(12, 3)}, "9 zero rows, the first is row 3"),
        ({"items": unit(20, 3), "users": unit(5, 4)}, "users has width 4"),
        ({"items": unit(20, 3), "counts": np.ones(3)}, "each of the 20 items"),
        ({"items": np.full((20, 3), np.nan)}, "NaN or infinity in 20 rows, the first is row 0"),
    ],
)
def test_bad_tables_are_refused(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        audit(**arguments, rng=rng())


def test_the_command_prints_a_report(tmp_path, capsys):
    for name, table in (("items", 3 * unit(60, 4)), ("users", unit(30, 4, 1)), ("counts", np.arange(60))):
        np.save(tmp_path / f"{name}.npy", table)
    where = [
        str(tmp_path / "items.npy"),
        "--users",
        str(tmp_path / "users.npy"),
        "--counts",
        str(tmp_path / "counts.npy"),
    ]
    assert main(["audit", *where]) == 0
    assert capsys.readouterr().out.startswith("Verdict: the lengths of the rows leave the gauge FIXED.")
    assert main(["audit", *where, "--json", "-k", "5"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "fixed" and found["k"] == 5 and set(found["overlap"]) == {"0.25", "0.5", "1"}


def test_the_command_refuses_with_a_reason(tmp_path, capsys):
    np.savez(tmp_path / "several.npz", a=np.ones(3))
    (tmp_path / "text.npy").write_text("not an array")
    for path, reason in (
        ("missing.npy", "there is no file"),
        ("several.npz", "archive"),
        ("text.npy", "no array that numpy.save wrote"),
    ):
        assert main(["audit", str(tmp_path / path)]) == 2
        assert reason in capsys.readouterr().err

"""PRACTICE-4: an index that looks everywhere loses nothing, groups add up, and short tables are cut as they say."""

import numpy as np
import pytest

from course_lib import hits, index
from course_lib.experiments.practice import serving
from course_lib.interactions import Interactions

RNG = np.random.default_rng(0)
USERS, ITEMS = RNG.normal(size=(80, 64)).astype(np.float32), RNG.normal(size=(300, 64)).astype(np.float32)
COUNTS = np.arange(1.0, 301.0)


def test_an_index_that_looks_everywhere_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "SHARE_VISITED", 1)
    cell = serving.ServingCell(part="index", data="movietweetings", seed=0)
    rows = list(serving.searched(cell, USERS, ITEMS, COUNTS, "count^(1/4)"))
    found = {(row["metric"], row.get("space"), row.get("index")): row["value"] for row in rows}
    for space in ("inner product", "one more coordinate"):
        assert [found["recall", space, "ivf"], found["recall 1", space, "ivf"]] == [1.0, 1.0]
    assert found["recall", None, "most popular"] < 0.5


def test_the_quarters_of_popularity_hold_a_quarter_of_the_pairs_each() -> None:
    group = serving.quarters(COUNTS, COUNTS)
    held = np.bincount(group, weights=COUNTS) / COUNTS.sum()
    assert held == pytest.approx(1 / 4, abs=0.01) and group[-1] == 0 and group[0] == 3
    few = np.array([2.0, 1.0, 1.0])
    assert serving.quarters(few, few).tolist() == [0, 2, 3]  # by where an item begins


def test_lengths_are_what_they_are_called() -> None:
    assert serving.with_lengths(ITEMS, COUNTS, "trained") is ITEMS
    lengths = np.linalg.norm(serving.with_lengths(ITEMS, COUNTS, "count^(1/4)"), axis=1)
    assert lengths == pytest.approx(COUNTS**0.25, rel=1e-5)


def test_all_numbers_keep_the_whole_list_in_every_gauge() -> None:
    for left, right in serving.gauges(USERS, ITEMS).values():
        assert serving.kept(left, right, 64, USERS, ITEMS) > 0.99 > serving.kept(left, right, 8, USERS, ITEMS)


def test_the_served_tables_are_those_of_hits() -> None:
    today = np.arange(5.0)
    unit = ITEMS[:5] / np.linalg.norm(ITEMS[:5], axis=1, keepdims=True)
    ours = serving.with_today(unit, unit, today)
    theirs = hits.with_hits(unit, unit, today, tau=serving.TAU, weight=serving.WEIGHT)
    assert all(np.allclose(a, b) for a, b in zip(ours, theirs, strict=True))


def test_recall_and_films_shown_are_of_the_people_who_are_asked_about() -> None:
    later = Interactions([0, 0], [1, 11], n_users=2, n_items=20)
    lists = np.array([range(10), range(10, 20)])
    assert serving.recall(lists, later) == 0.5 and serving.shown_films(lists, later) == 10


def test_shortened_lists_are_compared_with_the_full_ones_and_chance_is_a_mean_over_people() -> None:
    train = Interactions([0, 0, 0, 1], [0, 1, 2, 0], n_users=80, n_items=300)
    later, today = Interactions([0, 1], [5, 6], n_users=80, n_items=300), np.ones(300)
    found = serving.of_cuts(USERS, ITEMS, False, (USERS, ITEMS), today, train, later)
    assert found["cut to 8"] == serving.kept(USERS[:, :8], ITEMS[:, :8], 8, USERS, ITEMS) < 0.9
    chance = serving.of_hit_lists(train, later)["recall@10 chance"]
    assert chance == pytest.approx((10 / 297 + 10 / 299) / 2, rel=1e-12)


def test_certificates_look_at_one_candidate_more_than_they_are_called_by(monkeypatch: pytest.MonkeyPatch) -> None:
    users, items = USERS[:, :2], ITEMS[:, :2]
    rounded, bounds = index.int8_table(items)[0], index.int8_bound(users, items)
    scores = -np.sort(-(users.astype(float) @ rounded.T), axis=1)
    monkeypatch.setattr(serving, "CANDIDATES", (11, 12))
    wanted = {f"certified by {n}": index.certified(scores[:, : n + 1], bounds, 10).mean() for n in (11, 12)}
    assert dict(serving.certificates(users, items)) == wanted
    assert index.certified(scores[:, :12], bounds, 10).mean() < wanted["certified by 12"]


def test_data_with_times_are_split_in_time() -> None:
    train, test = serving.split("movietweetings-10core")
    earlier, later = serving.RECIPES.load("movietweetings-10core").split_by_time(0.9)
    assert train == earlier.compact() and 0 < len(test) <= len(later)


def test_a_cell_has_rows_for_numbers_only() -> None:
    cell = serving.ServingCell(part="index", data="gowalla", seed=3)
    rows = serving.rows_of(cell, {"recall": 0.123456, "recall 4": float("nan")}, index="ivf")
    assert rows == [{"data": "gowalla", "index": "ivf", "seed": 3, "metric": "recall", "value": 0.1235}]


def test_an_index_that_looks_everywhere_finds_every_list_with_hits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "LOOKED_INTO", (serving.number_of_cells(len(ITEMS)),))
    cell = serving.ServingCell(part="hits", data="ml-1m", seed=0)
    rows = list(serving.found_with_hits(cell, USERS, ITEMS, COUNTS))
    found = {(row.get("space"), row["index"], row["metric"]): row["value"] for row in rows}
    for space in ("inner product", "one more coordinate"):
        assert [found[space, "ivf", f"{what} in 16"] for what in ("recall", "visited")] == [1.0, 1.0]
    assert 0 < found[None, "decayed hits", "recall"] < 1

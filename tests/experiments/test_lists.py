"""Lists without a model: chance shows no known item, hits are one list, and the time split has its own."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib import experiments, metrics
from course_lib.experiments import lists
from course_lib.interactions import Interactions


def test_chance_shows_each_item_that_a_user_lacks_alike_and_never_a_known_one() -> None:
    train = Interactions([0, 0, 1], [0, 1, 2], n_users=3, n_items=4)
    drawn = np.stack([lists.by_chance(train, 6, np.random.default_rng(seed)) for seed in range(300)])
    assert {tuple(sorted(row)) for row in drawn[:, 0]} == {(-1, -1, -1, -1, 2, 3)}
    assert {tuple(sorted(row)) for row in drawn[:, 2]} == {(-1, -1, 0, 1, 2, 3)}
    assert np.bincount(drawn[:, 2, 0], minlength=4) / 300 == pytest.approx(1 / 4, abs=0.1)


def test_a_cell_has_the_metrics_of_its_lists() -> None:
    cell = lists.ListCell(data="movietweetings-10core", split="random 9:1", list="most popular", seed=0)
    train, _, test = lists.split_of(cell)
    found = {row["metric"]: row["value"] for row in lists.list_cell(cell)}
    popular = metrics.evaluate(np.ones((train.n_users, 1)), train.col_counts[:, None].astype(float), train, test, 10)
    assert found["recall@10"] == pytest.approx(popular["recall@10"], abs=0.01)  # which has the mean over ties
    assert 0 < found["coverage@10"] < 0.1 and found["mean count@10"] > train.col_counts.mean()


def test_recent_hits_beat_old_ones_later_in_time_and_chance_is_far_below() -> None:
    stored = experiments.load_result("LISTS-X1", "laptop")
    in_time = {"data": "movietweetings-10core", "split": "last tenth in time"}
    recent, old, chance = (
        stored.mean("recall@10", list=kind, **in_time) for kind in ("popular lately", "most popular", "chance")
    )
    assert recent > old > 5 * chance


def test_only_data_with_times_have_a_split_in_time() -> None:
    cells = lists.plan("laptop", (0, 1))
    assert {cell["data"] for cell in cells if cell["split"] == lists.SPLITS[2]} == {
        "movietweetings-5core",
        "movietweetings-10core",
        "ml-100k",
        "ml-1m",
        "ml-1m-10core",
    }
    assert not any(
        cell["list"] == "popular lately" for cell in cells if cell["data"] in ("wikispeedia", "lastfm-10core")
    )

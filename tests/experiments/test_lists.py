"""Lists without a model: chance shows no known item, hits are one list, and the time split has its own."""

from pathlib import Path

import numpy as np
import pytest

from course_lib.experiments import lists
from course_lib.experiments.core.data import drop_untrained
from course_lib.interactions import Interactions


def test_chance_shows_each_item_that_a_user_lacks_alike_and_never_a_known_one() -> None:
    train = Interactions([0, 0, 1], [0, 1, 2], n_users=3, n_items=4)
    drawn = np.stack([lists.by_chance(train, 6, np.random.default_rng(seed)) for seed in range(300)])
    assert {tuple(sorted(row)) for row in drawn[:, 0]} == {(-1, -1, -1, -1, 2, 3)}
    assert {tuple(sorted(row)) for row in drawn[:, 2]} == {(-1, -1, 0, 1, 2, 3)}
    assert np.bincount(drawn[:, 2, 0], minlength=4) / 300 == pytest.approx(1 / 4, abs=0.1)


def test_without_an_item_in_the_middle_the_later_ones_move_up_in_both_parts() -> None:
    train = Interactions([0, 2, 2], [0, 2, 3], n_users=3, n_items=4)
    test = Interactions([0, 0, 0, 1, 2], [1, 2, 3, 0, 0], n_users=3, n_items=4)
    smaller, kept = drop_untrained(train, test)
    assert smaller.shape == kept.shape == (2, 3)
    assert (smaller.pairs.tolist(), kept.pairs.tolist()) == ([[0, 0], [1, 1], [1, 2]], [[0, 1], [0, 2], [1, 0]])


def test_every_seed_has_a_split_of_its_own() -> None:
    cells = (
        lists.ListCell(data="movietweetings-10core", split="random 9:1", list="chance", seed=seed) for seed in (0, 0, 1)
    )
    first, again, other = map(lists.split_of, cells)
    assert first.train == first.known == again.train != other.train
    assert not first.train.contains(first.test.users, first.test.items).any()


def test_lists_are_counted_in_the_training_part_and_judged_where_somebody_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Person 0 lacks items 18 to 29, and is to find item 20: of the training's two pairs, of all known pairs' two."""
    shape, own = {"n_users": 4, "n_items": 30}, list(range(18))
    train = Interactions([*18 * [0], 1, 2, 1], [*own, 20, 20, 21], **shape)
    known = Interactions([*train.users, 2, 3], [*train.items, 21, 21], **shape)
    split, drawn = lists.Split(train, known, Interactions([0], [20], **shape)), []
    monkeypatch.setattr(lists, "split_of", lambda cell: split)
    cell = lists.ListCell(data="made", split=lists.KNOWN_TOO, list="most popular", seed=0)
    found = {row["metric"]: row["value"] for row in lists.list_cell(cell)}
    assert [found[name] for name in ("recall@1", "coverage@10", "mean count@10")] == [1, 10 / 30, 3 / 10]
    monkeypatch.setattr(
        lists, "by_chance", lambda known, k, rng: drawn.append(rng.random()) or np.tile(range(k), (4, 1))
    )
    for seed in (0, 0, 1):
        lists.list_cell({**cell, "list": "chance", "seed": seed})
    assert drawn[0] == drawn[1] != drawn[2]


SMALL = ("movietweetings-5core", "movietweetings-10core", "ml-100k-ratings", "wikispeedia")


def test_what_a_user_has_in_the_validation_part_is_in_no_list() -> None:
    cell = lists.ListCell(data="movietweetings-10core", split=lists.KNOWN_TOO, list="chance", seed=0)
    train, known, test = lists.split_of(cell)
    assert len(known) > len(train) and known.contains(train.users, train.items).all()
    drawn = lists.by_chance(known, 10, np.random.default_rng(0))
    users, items = np.repeat(np.arange(len(drawn)), 10), drawn.ravel()
    assert not known.contains(users[items >= 0], items[items >= 0]).any()
    assert not known.contains(test.users, test.items).any()


@pytest.mark.data
def test_what_P4_tests_keeps_every_pair(course_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_DATA", str(course_data))
    train, _, test = lists.split_of(
        lists.ListCell(data="wikispeedia", split="random 9:1, untrained kept", list="chance", seed=0)
    )
    assert len(train) + len(test) == len(lists.RECIPES.load("wikispeedia"))


@pytest.mark.data
def test_only_data_with_times_have_a_split_in_time(course_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_DATA", str(course_data))
    cells = lists.plan("laptop", (0, 1))
    assert {cell["data"] for cell in cells if cell["split"] == lists.SPLITS[2]} == lists.TIMES
    assert all((lists.RECIPES.load(name).times is not None) == (name in lists.TIMES) for name in SMALL)
    assert not any(
        cell["list"] == "popular lately" for cell in cells if cell["data"] in ("wikispeedia", "lastfm-10core")
    )

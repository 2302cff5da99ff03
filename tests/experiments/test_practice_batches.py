"""PRACTICE-5: what both losses aim at, who chooses the settings, and that its differences are those of its people."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib import experiments
from course_lib.experiments.practice import batches, negatives, scoreboard
from course_lib.experiments.practice.batches import Setting
from course_lib.experiments.practice.scoreboard import Window
from course_lib.interactions import Interactions

TRAIN = Interactions([0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 0, 3], n_users=3, n_items=4, times=range(6))
LATER = Interactions([0, 1, 2], [2, 3, 1], n_users=3, n_items=4)
WINDOW = Window(TRAIN, LATER, np.arange(3), np.arange(4), 5.0)
TABLES = np.random.default_rng(0).normal(size=(3, 5)), np.random.default_rng(1).normal(size=(4, 5))


def test_plain_gets_the_log_of_the_counts_back_and_logq_does_not() -> None:
    users, items = (table / np.linalg.norm(table, axis=1, keepdims=True) for table in TABLES)
    plain, logq = (
        np.matmul(a, b.T) for a, b in (batches.popularity_back(k, TABLES, WINDOW, 0.2) for k in batches.LOSSES)
    )
    np.testing.assert_allclose(logq, users @ items.T / 0.2)
    added = plain - logq
    np.testing.assert_allclose(added - added[:, :1], np.log([1.0, 1 / 3, 1 / 3, 1 / 3]) * np.ones((3, 1)), atol=0.05)


def test_windows_are_those_of_practice_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "RECIPES", negatives.RECIPES)
    ours, theirs = (module.windows("movietweetings-10core") for module in (batches, negatives))
    for one, other in zip(ours, theirs, strict=True):
        for a, b in ((one.train, other.train), (one.later, other.later)):
            assert a.users.tolist() == b.users.tolist() and a.items.tolist() == b.items.tolist()
        assert one.now == other.now and len(one.films) == len(other.films)


def test_the_setting_is_that_of_the_best_look_of_all_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def path(
        loss: str, window: Window, size: int, setting: Setting, seed: int, look: object
    ) -> tuple[None, list[float]]:
        assert window is WINDOW and (loss, size, seed) == ("plain", 8, 0)
        tried.append(setting[:2])
        return None, [0.1, 0.2 + setting.tau * setting.rate, 0.15]

    monkeypatch.setattr(batches, "trained", path)
    setting, looks = batches.chosen("plain", WINDOW, 8, 3, scoreboard.recall)
    assert setting == (max(batches.TEMPERATURES), max(batches.RATES), 2) and looks[1] == max(looks)
    assert len(set(tried)) == len(tried) == len(batches.TEMPERATURES) * len(batches.RATES)


def test_settings_come_from_the_window_before_and_differences_are_of_people(monkeypatch: pytest.MonkeyPatch) -> None:
    before = WINDOW._replace(now=4.0)
    monkeypatch.setattr(batches, "windows", lambda data: (before, WINDOW))

    def chosen(loss: str, window: Window, *_: object) -> tuple[Setting, list[float]]:
        assert window is before
        return Setting(0.2, 0.01, 1), [0.5]

    def trained(loss: str, window: Window, size: int, *_: object) -> tuple[int, list[float]]:
        assert window is WINDOW
        return size, []  # in the place of its tables

    monkeypatch.setattr(batches, "chosen", chosen)
    monkeypatch.setattr(batches, "trained", trained)
    monkeypatch.setattr(
        scoreboard, "chosen_list", lambda window, *_: 2.0 if window is before else pytest.fail("not before")
    )
    people = {32: np.array([0.0, 1.0, 0.5]), 1024: np.array([0.25, 0.25, 1.0])}  # recall, with either of two seeds
    monkeypatch.setattr(batches, "popularity_back", lambda loss, tables, *_: tables)
    monkeypatch.setattr(negatives, "described", lambda tables, *_: {"recall@10": float(people[tables].mean())})
    monkeypatch.setattr(batches, "rate_of", lambda data: lambda tables, _: people.get(tables, np.zeros(3)))
    monkeypatch.setattr(scoreboard, "list_tables", lambda *_: None)
    rows = batches.batches_cell({"data": "x", "loss": "plain", "sizes": [32, 1024], "passes": [1, 1], "seeds": [0, 1]})
    found = {(row["batch"], row["metric"]): row["value"] for row in rows}
    assert found[32, "minus the largest"] == pytest.approx(0.0) and (1024, "minus the largest") not in found
    assert found[1024, "minus the list"] == found[32, "minus the list"] == pytest.approx(0.5)


def test_a_small_run_has_the_lists_and_two_sizes() -> None:
    result = experiments.run("PRACTICE-5", progress=False)
    assert result.distinct("batch") == [32, 256]
    assert {"hits", "most popular", "chance"} <= set(result.distinct("loss"))
    assert len(result.select(metric="validation recall@10")[0]["path"]) == 1


def test_the_predictions_that_the_lab_counts() -> None:
    held = batches.verdicts(experiments.load_result("PRACTICE-5", "laptop"))
    assert {name: holds for name, (_, holds) in held.items()} == {name: name == "logQ" for name in batches.PREDICTIONS}

"""Neighbours of items and EASE, by their definitions on small data; settings come from the window before."""

from itertools import product

import numpy as np
import pytest

from course_lib import hits
from course_lib.experiments.practice import neighbours
from course_lib.interactions import Interactions

DAY = 86_400.0
PAIRS = [(user, item) for user, item in product(range(12), range(15)) if (3 * user + item * item) % 4 < 2]
TRAIN = Interactions(*zip(*PAIRS, strict=True), n_users=12, n_items=15, times=DAY * np.arange(len(PAIRS)) % 37)


def test_neighbours_are_weighted_by_the_users_that_they_share() -> None:
    sets = [{user for user, item in PAIRS if item == j} for j in range(15)]

    def cosine(i: int, j: int) -> float:
        return float(len(sets[i] & sets[j]) / np.sqrt(len(sets[i]) * len(sets[j])))

    by_hand = [[sum(cosine(i, j) for v, j in PAIRS if v == user and j != i) for i in range(15)] for user in range(12)]
    assert neighbours.by_cosine(TRAIN) == pytest.approx(np.array(by_hand), rel=1e-12)


def test_ease_is_ridge_regression_of_each_item_on_the_others() -> None:
    seen = np.zeros((12, 15))
    seen[TRAIN.users, TRAIN.items] = 1
    found = neighbours.ease(TRAIN, 3.0)
    for item in range(15):
        others = np.delete(seen, item, axis=1)
        weights = np.linalg.solve(others.T @ others + 3.0 * np.eye(14), others.T @ seen[:, item])
        assert found[:, item] == pytest.approx(others @ weights, abs=1e-12)


def test_lists_hold_no_known_item_and_settings_are_those_of_the_window_before(monkeypatch: pytest.MonkeyPatch) -> None:
    before, asked = hits.known_later(TRAIN)
    monkeypatch.setattr(neighbours, "TEN", 2)
    monkeypatch.setattr(neighbours, "WEIGHTS", (0.5, 50.0))
    monkeypatch.setattr(neighbours, "_recall", lambda lists, among: float(among == asked and lists.sum()))
    lists = dict(neighbours.neighbour_lists(TRAIN, 3.0))
    assert [*lists] == ["item neighbours", "item neighbours with hits", "EASE", "EASE with hits"]
    assert not any((user, item) in PAIRS for found in lists.values() for user, row in enumerate(found) for item in row)
    scored = neighbours.by_cosine(before), hits.decayed_counts(before, 3.0)
    sums = [neighbours.ten(neighbours.with_log_hits(*scored, weight), before).sum() for weight in (0.5, 50.0)]
    chosen = (0.5, 50.0)[int(np.argmax(sums))]
    now = neighbours.with_log_hits(neighbours.by_cosine(TRAIN), hits.decayed_counts(TRAIN, 3.0), chosen)
    assert sums[0] != sums[1] and (lists["item neighbours with hits"] == neighbours.ten(now, TRAIN)).all()

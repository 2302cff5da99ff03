"""PRACTICE-7: what the bias learns, what each repair learns beside it, and settings from the window before."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib import experiments
from course_lib.experiments.practice import batches, negatives, scoreboard, sigmoid
from course_lib.experiments.practice.scoreboard import Window
from course_lib.experiments.practice.sigmoid import LOGQ, ONE, OWN, REPAIRS, Model
from course_lib.interactions import Interactions

TRAIN = Interactions([0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 0, 1], n_users=3, n_items=4, times=range(6))  # film 3: no pair
LATER = Interactions([0, 1, 2], [2, 1, 2], n_users=3, n_items=4)
WINDOW = Window(TRAIN, LATER, np.arange(3), np.arange(4), 5.0)


@pytest.mark.seconds
def test_without_cosines_the_bias_learns_the_number_of_negatives(monkeypatch: pytest.MonkeyPatch) -> None:
    """-log sigma(b) - (B - 1) log sigma(-b) is least at -log(B - 1)."""
    monkeypatch.setattr(sigmoid, "START", -1.0)
    for size, passes in ((2, 100), (6, 200)):
        model, path = sigmoid.trained(ONE, WINDOW, size, 1e-9, passes, 0)
        np.testing.assert_allclose(model.bias, -np.log(size - 1), atol=0.05)
        assert path[0] == -1 and len(path) == passes + 1


def test_only_one_repair_learns_a_bias_for_each_film_and_a_film_of_no_batch_gets_the_least() -> None:
    for repair in REPAIRS:
        model, path = sigmoid.trained(repair, WINDOW, 6, None, 5, 0, lambda *_: np.array([0.5]))
        assert path == [0.5] * 5 and model.scale != sigmoid.SCALE
        assert (len(set(model.bias)) > 1) == (repair == OWN) and model.bias[3] == model.bias[:3].min()
        np.testing.assert_allclose(np.linalg.norm(model.films, axis=1), 1, rtol=1e-6)


@pytest.mark.seconds
def test_with_logq_one_bias_is_best_for_shifted_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where cosines can learn nothing, the derivative of the whole batch's loss in the bias is 0."""
    monkeypatch.setattr(sigmoid, "START", -1.5)
    (one, _), (logq, _) = (sigmoid.trained(repair, WINDOW, 6, 1e-9, 200, 0) for repair in (ONE, LOGQ))
    z, q = logq.bias[0], np.log([3, 2, 1, 1]) - np.log([3, 2, 1, 1]).mean()
    cells = z - q[TRAIN.items]
    # each pair's film stands once as its person's own, and five times as another's
    assert np.sum(-1 / (1 + np.exp(cells)) + 5 / (1 + np.exp(-cells))) == pytest.approx(0, abs=0.02)
    assert not np.isclose(one.bias[0], z, atol=0.01)


def test_the_scores_are_scale_cosine_bias_and_count_and_the_slope_is_that_of_the_biases() -> None:
    rng = np.random.default_rng(0)
    people, films = (table / np.linalg.norm(table, axis=1, keepdims=True) for table in rng.normal(size=(2, 4, 3)))
    bias = np.array([0.3, 0.0, -0.2, 0.1])
    users, items = sigmoid.served(Model(people, films, bias, 4.0), WINDOW, 1.0)
    counts = np.log(TRAIN.col_counts + 0.05)
    np.testing.assert_allclose(users @ items.T, 4 * people @ films.T + bias + counts)
    many = np.array([8, 4, 2, 1, 0])
    line = Model(people, films, np.append(1 - 0.4 * np.log(many[:4]), 99.0), 1.0)  # a film without a pair counts not
    assert sigmoid.slope(line, many) == pytest.approx(-0.4)


def test_the_passes_come_from_the_window_before_and_people_are_compared_with_its_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, best = WINDOW._replace(now=4.0), Model(np.eye(3, 5), np.eye(4, 5), np.zeros(4), 2.0)
    monkeypatch.setattr(batches, "windows", lambda data: (before, WINDOW))

    def trained(repair: str, window: Window, size: int, scale: object, passes: int, *_: object) -> object:
        assert (size, scale) == (sigmoid.BATCH, None) and passes == (3 if window is before else 2)
        return best, [0.1, 0.3, 0.2]

    def chosen_list(window: Window, *_: object) -> float:
        assert window is before
        return 2.0

    monkeypatch.setattr(sigmoid, "trained", trained)
    monkeypatch.setattr(scoreboard, "chosen_list", chosen_list)
    monkeypatch.setattr(scoreboard, "list_tables", lambda *_: "list")
    monkeypatch.setattr(negatives, "described", lambda *_: {"recall@10": 0.0})
    monkeypatch.setattr(
        sigmoid, "rate_of", lambda data: lambda tables, _: np.array([0.0, 0.5, 0.25 if tables == "list" else 1.0])
    )
    cell: sigmoid.SigmoidCell = {"data": "x", "repair": ONE, "sizes": [], "passes": 3, "seeds": [0, 1]}
    rows = sigmoid.sigmoid_cell(cell)
    over = [row for row in rows if row["metric"] == "minus the list"]
    assert [row["weight"] for row in over] == [0.0, 1.0] and over[0]["value"] == pytest.approx(0.25)
    assert [row["value"] for row in rows if row["metric"] == "passes"] == [2]


@pytest.mark.seconds
def test_a_small_run_has_the_lists_the_bias_and_one_repair() -> None:
    result = experiments.run("PRACTICE-7", progress=False)
    assert {"hits", "most popular", "chance", ONE} == set(result.distinct("loss")) - {
        "popular lately",
        "hits, chosen in hindsight",
    }
    assert [len(one["path"]) for one in result.select(metric="bias on its way")] == [2] * 4


def test_the_predictions_that_the_lab_counts() -> None:
    held = sigmoid.verdicts(experiments.load_result("PRACTICE-7", "laptop"))
    assert list(held) == list(sigmoid.PREDICTIONS)
    assert [name for name, (_, holds) in held.items() if holds] == ["fixed", "counts", "own"]

"""PRACTICE-6: what is served, how much of popularity scores hold, and that settings come from the window before."""

from __future__ import annotations

import numpy as np
import pytest

from course_lib import experiments
from course_lib.experiments.practice import negatives, popularity_held, scoreboard
from course_lib.experiments.practice.popularity_held import LOGQ, OWN, PLAIN, Model
from course_lib.experiments.practice.scoreboard import Window
from course_lib.hits import with_hits
from course_lib.interactions import Interactions

TRAIN = Interactions([0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 0, 1], n_users=3, n_items=4, times=range(6))  # film 3: no pair
LATER = Interactions([0, 1, 2], [2, 1, 2], n_users=3, n_items=4)
WINDOW = Window(TRAIN, LATER, np.arange(3), np.arange(4), 5.0)
COUNTS = np.array([8, 4, 2, 1, 0])


def test_the_scores_are_cosine_number_and_count() -> None:
    rng = np.random.default_rng(0)
    people, films = (table / np.linalg.norm(table, axis=1, keepdims=True) for table in rng.normal(size=(2, 4, 3)))
    people, own = people[:3], np.array([0.3, 0.0, -0.2, 0.1])
    users, items = popularity_held.served((people, films, own), WINDOW, 0.2, 0.75)
    left, right = with_hits(people, films, TRAIN.col_counts, tau=0.2, weight=0.75)
    np.testing.assert_allclose(users @ items.T, left @ right.T + own)


def test_a_film_of_no_batch_gets_the_least_number_and_only_one_loss_learns_any() -> None:
    for loss in popularity_held.LOSSES:
        (people, films, own), path = popularity_held.trained(loss, WINDOW, 0.5, 5, 0)
        np.testing.assert_allclose(np.linalg.norm(people, axis=1), 1, rtol=1e-6)
        assert path == [] and films.shape == (4, negatives.WIDTH)
        assert own[3] == own[:3].min() and (len(set(own)) > 1) == (loss == OWN)


def test_the_tables_are_those_of_the_best_look() -> None:
    looks = iter([0.1, 0.3, 0.2])
    best, path = popularity_held.trained(PLAIN, WINDOW, 0.5, 3, 0, lambda *_: np.array([next(looks)]))
    two, _ = popularity_held.trained(PLAIN, WINDOW, 0.5, 2, 0)
    assert path == [0.1, 0.3, 0.2] and all(np.array_equal(a, b) for a, b in zip(best, two, strict=True))


@pytest.mark.parametrize("slope", [0.0, 0.4, 1.0])
def test_held_is_the_slope_of_the_mean_score_and_common_its_share(slope: float) -> None:
    """The first coordinate is common to two people; the second is a taste in which they are opposite."""
    known = COUNTS > 0
    level = np.where(known, slope * np.log(np.maximum(COUNTS, 1)), 7.0)  # a film without a pair counts for nothing
    taste = np.array([1.0, -1.0, 2.0, 0.5, 9.0])
    tables = np.array([[1.0, 1.0], [1.0, -1.0]]), np.column_stack((level, taste))
    found = popularity_held.held(tables, COUNTS)
    assert found["held"] == pytest.approx(slope)
    shares = COUNTS / COUNTS.sum()
    common, own = (shares @ (part - shares @ part) ** 2 for part in (level, taste))
    assert found["common"] == pytest.approx(common / (common + own))


def test_settings_come_from_the_window_before_and_differences_are_to_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    before = WINDOW._replace(now=4.0)
    monkeypatch.setattr(scoreboard, "windows", lambda *_: [before, WINDOW])
    monkeypatch.setitem(popularity_held.RECIPES.table, "x", {})
    monkeypatch.setattr(type(popularity_held.RECIPES), "load", lambda *_: TRAIN)
    best = {PLAIN: 1.5, LOGQ: 0.5, OWN: 0.0}  # the weight that finds most, in either window
    state: dict[str, object] = {}

    def trained(loss: str, window: Window, tau: float, passes: int, *rest: object) -> tuple[Model, list[float]]:
        assert (passes, len(rest)) == ((4, 2) if window is before else (2, 1))  # the best look is the second
        state["loss"] = loss
        return (np.eye(3, 5), np.eye(4, 5), np.zeros(4)), [0.1, 0.3, 0.2, 0.2] if window is before else []

    def served(tables: Model, window: Window, tau: float, weight: float) -> scoreboard.Tables:
        state["weight"] = weight
        return tables[0], tables[1]

    def rate(tables: scoreboard.Tables, window: Window) -> np.ndarray:
        loss, weight = str(state["loss"]), float(str(state["weight"]))
        return np.full(3, 0.5 - abs(weight - best[loss]) / 10 - (loss == LOGQ) / 20)

    monkeypatch.setattr(popularity_held, "trained", trained)
    monkeypatch.setattr(popularity_held, "served", served)
    monkeypatch.setattr(popularity_held, "rate_of", lambda data: rate)
    monkeypatch.setattr(negatives, "described", lambda *_: {"recall@10": 0.0})
    rows = popularity_held.held_cell({"data": "x", "tau": 0.5, "passes": 4, "seeds": [0, 1]})
    chosen = {row["loss"]: row["value"] for row in rows if row["metric"] == "weight"}
    assert chosen == best
    apart = {(row["loss"], row["weighted"]): row["value"] for row in rows if row["metric"] == "minus plain"}
    # plain at its weight of theory, 1, loses .05; logQ at 0 loses .05, too, and .05 in any case
    wanted = {(LOGQ, "chosen"): -0.05, (LOGQ, "in theory"): -0.05, (OWN, "chosen"): 0.0, (OWN, "in theory"): 0.05}
    assert apart == pytest.approx(wanted)
    more = {row["loss"]: row["value"] for row in rows if row["metric"] == "minus theory"}
    assert more == pytest.approx({PLAIN: 0.05, LOGQ: 0.05, OWN: 0.0})
    before_it = {row["loss"]: row["value"] for row in rows if row["metric"] == "found_before"}
    assert before_it == pytest.approx({PLAIN: 0.5, LOGQ: 0.45, OWN: 0.5})


def test_a_small_run_has_the_lists_and_three_losses() -> None:
    result = experiments.run("PRACTICE-6", progress=False)
    assert {"hits", "most popular", "chance", *popularity_held.LOSSES} <= set(result.distinct("loss"))
    assert len(result.select(metric="validation recall@10")[0]["path"]) == 1


def test_the_predictions_that_the_lab_counts() -> None:
    held = popularity_held.verdicts(experiments.load_result("PRACTICE-6", "laptop"))
    assert [name for name, (_, holds) in held.items() if not holds] == ["plain", "order", "same"]
    assert list(held) == list(popularity_held.PREDICTIONS)


def test_what_the_lab_says_of_caps_and_lists() -> None:
    """Sentences beside its table: where a limit was met, and which lists the curves rise above."""
    stored = experiments.load_result("PRACTICE-6", "laptop")
    at_limit = [
        (data, loss, tau)
        for data, most in popularity_held.PASSES.items()
        for loss in popularity_held.LOSSES
        for tau in popularity_held.TEMPERATURES
        if stored.mean("passes", data=data, loss=loss, tau=tau) == most
    ]
    of_all = [("ml-1m", loss, 0.2) for loss in popularity_held.LOSSES]
    assert at_limit == [("movietweetings-5core", PLAIN, 0.1), *of_all]
    assert stored.values("weight").count(popularity_held.WEIGHTS[-1]) == 3

    def tops(data: str) -> list[float]:
        """The highest point of each curve."""
        return [
            max(stored.curve("recall@10", "weight", data=data, loss=loss, tau=tau)[1])
            for loss in popularity_held.LOSSES
            for tau in popularity_held.TEMPERATURES
        ]

    lists = {
        data: [stored.mean("recall@10", data=data, loss=name) for name in ("hits", "most popular")]
        for data in popularity_held.PASSES
    }
    assert max(tops("movietweetings-5core")) < lists["movietweetings-5core"][0]
    assert min(tops("ml-1m")) > max(lists["ml-1m"])
    low = [stored.mean("held", data=data, loss=LOGQ, tau=0.1) for data in popularity_held.PASSES]
    assert min(low) > 1  # "no slope there is too small"

"""The interactive on several trainings: its lists are those of course_lib, and what is stored can be made again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import words

from course_lib import correction, metrics, popularity
from course_lib.lessons.ddc import make_over_seeds, over_seeds
from course_lib.lessons.ddc.over_seeds import OverSeeds
from course_lib.lessons.shared import film_models
from course_lib.lessons.shared.widgets import tables
from tests.widget_pages import replacing, settled

pytestmark = pytest.mark.seconds

STATES = [(1.0, 1.0, 0), (1.0, 0.0, 0), (0.0, 1.0, 2), (0.45, 1.5, -1), (0.0, 0.0, -2)]

LOOK = """(states) => states.map((state) => {
  const found = lib.analyseAll(state, lib.markAll(state.models.map((model) => lib.trainingOf(model, state)), state));
  return found.map(({ now, negative, marks: { model } }) => [now.popular, now.mrr, negative, model.popular, model.mrr]);
})"""


def looked_at(shown: OverSeeds) -> np.ndarray:
    """(seeds, 5) popularity and MRR@10 now, share of negative alphas, popularity and MRR@10 of the model."""
    counts, found = np.array(shown.counts), []
    for users, items, alpha, beta in shown.trainings():
        pop = popularity.popularity_direction(items, counts)
        pref = correction.preference_directions(users, items, shown.train)
        served = users + shown.alpha * alpha[:, None] * pop + shown.beta * beta[:, None] * pref
        lists = []
        for table in (served, users):
            ranked = metrics.top_k(table, items, shown.known, 10)
            lists.append((counts[ranked].mean(), metrics.metrics_from_ranking(ranked, shown.tested, (10,))["mrr@10"]))
        found.append([*lists[0], (alpha < 0).mean(), *lists[1]])
    return np.array(found)


def test_the_page_finds_the_lists_of_course_lib(library: Callable[..., Any]) -> None:
    shown = [OverSeeds(alpha=alpha, beta=beta, shift=shift) for alpha, beta, shift in STATES]
    answers = library("two_scalars_math")(LOOK, [one.state() for one in shown])
    for one, answer in zip(shown, answers, strict=True):
        np.testing.assert_allclose(answer, looked_at(one), rtol=1e-12)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("+ y * a[item] + x * b[item]", "+ x * a[item] + y * b[item]"),
        ("best[at - 1] < score", "best[at - 1] > score"),
        ("[...history[k], ...seen[k]]", "history[k]"),
        ("2 * lean * along", "lean * along"),
        ("1 / (place + 1)", "1 / (place + 2)"),
        ("+ y * lean, y]", ", y]"),
    ],
)
def test_a_wrong_list_would_be_found(library: Callable[..., Any], right: str, wrong: str) -> None:
    shown = OverSeeds(alpha=0.8, beta=1.0, shift=1)
    (answer,) = library("two_scalars_math", replacing(right, wrong))(LOOK, [shown.state()])
    assert not np.allclose(answer, looked_at(shown), rtol=1e-9)


def test_the_worlds_are_the_same(library: Callable[..., Any]) -> None:
    assert tuple(library("two_scalars_math")("() => lib.SHIFTS")) == over_seeds.SHIFTS


def test_the_same_in_python_computes_the_numbers_of_the_table() -> None:
    shown = OverSeeds(alpha=0.9, beta=0.3, shift=-1)
    names: dict[str, Any] = {}
    exec(shown.python(), names)
    assert names["shown"].state() == shown.state()
    assert shown.list_popularity().tolist() == [popular for popular, _ in names["lists"]]
    heads, rows = shown.table()
    for row, (popular, mrr) in zip(rows, names["lists"], strict=True):
        assert row[heads.index("Popularity now")] == words.number(popular)
        assert row[heads.index("MRR@10 now")] == f"{mrr:.4f}"


def test_a_change_that_counts_as_a_rise_is_not_written_as_0() -> None:
    told = OverSeeds(alpha=0.15, beta=0.15, shift=-2).summary()
    assert "change in popularity by −2 to +0.4 %, more popular in 2 " in told


# ---- what is stored


def test_the_stored_scalars_are_the_minimum_of_ddc() -> None:
    """Solved again for the first training, with the tables as they are stored: people of the sample alone."""
    stored = json.loads(over_seeds.STORED.read_text(encoding="utf-8"))
    model, shift = stored["models"][0], 1
    users, items = np.array(model["users"]), tables.unpack(model["items"])
    shown = OverSeeds(shift=shift)
    moved, train = over_seeds.moved(items, stored["counts"], shift), shown.train
    pop = popularity.popularity_direction(moved, stored["counts"])
    pref = correction.preference_directions(users, moved, train)
    place = over_seeds.SHIFTS.index(shift)
    for person in (0, 7, 70):
        own = train.items_of(person)
        others = np.setdiff1d(np.arange(len(items)), own)
        scores = moved @ users[person]
        a, b = (moved @ pref[person])[own], (moved @ pop)[others]
        alpha, beta = (model[name][place][person] for name in ("alpha", "beta"))

        places = [(alpha, beta), (0.0, 0.0), (alpha + 0.5, beta), (alpha - 0.5, beta), (alpha, beta + 0.5)]
        here, *elsewhere = (
            correction.user_loss(scores[own], scores[others], a, b, *place)
            + make_over_seeds.RIDGE / 2 * (place[0] ** 2 + place[1] ** 2)
            for place in places
        )
        assert min(elsewhere) > here - 1e-4


def test_the_stored_people_are_those_of_the_data_set() -> None:
    stored = json.loads(over_seeds.STORED.read_text(encoding="utf-8"))
    parts, people = film_models.parts(), make_over_seeds.chosen()
    assert stored["counts"] == parts[0].col_counts.tolist()
    for name, part in zip(("history", "seen", "test"), parts, strict=True):
        assert stored[name] == [part.items_of(person).tolist() for person in people]


def test_the_models_can_be_trained_again() -> None:
    """One epoch of one seed: what comes out has the form of what is stored."""
    made = make_over_seeds.data(range(1), epochs=1)
    stored = json.loads(over_seeds.STORED.read_text(encoding="utf-8"))
    assert made.keys() == stored.keys() and len(stored["models"]) == 5
    assert made["models"][0].keys() == stored["models"][0].keys()
    assert np.shape(made["models"][0]["alpha"]) == np.shape(stored["models"][0]["alpha"])


# ---- in the browser


def test_all_trainings_move_by_keyboard(site_page: Callable[..., Any]) -> None:
    page = site_page(OverSeeds().static_html())
    before = page.locator("circle.cw-item.cw-plain").evaluate_all("dots => dots.map((dot) => dot.getAttribute('cx'))")
    page.locator('[data-preset="alpha"]').focus()
    page.keyboard.press("Enter")
    settled(page, OverSeeds(alpha=1.0, beta=0.0).summary())
    assert page.locator('[data-preset][aria-pressed="true"]').get_attribute("data-preset") == "alpha"
    after = page.locator("circle.cw-item.cw-plain").evaluate_all("dots => dots.map((dot) => dot.getAttribute('cx'))")
    assert len(before) == len(after) == 5 and all(one != other for one, other in zip(before, after, strict=True))
    page.locator('input[name="beta"]').focus()
    page.keyboard.press("ArrowRight")
    settled(page, OverSeeds(alpha=1.0, beta=0.05).summary())
    page.locator('input[name="shift"]').focus()
    page.keyboard.press("ArrowLeft")
    settled(page, OverSeeds(alpha=1.0, beta=0.05, shift=-1).summary())
